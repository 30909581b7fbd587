/* Builder `binned`: binned SAH on a CUDA device, as a policy ("rule") of the pipeline
   (pipeline.cuh).
   Source: after Zhou, Hou, Wang, Guo 2008 (level by level, large and small nodes) and Wu, Zhao, Liu
   2011 (SAH everywhere); binning after Hunt et al. 2006 and Popov et al. 2006.
   Idea: large nodes are split at the best of 128 bins per axis, refined once (bins.cuh), as tasks
   that blocks add to a shared list: nodes of several chunks in binned_large.cuh, the others, at the
   best box side, in binned_one_block.cuh. Nodes of at most 64 references are split exactly, by a
   warp or part of one (binned_small.cuh). Straddling references are clipped from the original
   triangle to a box that is never too small (bins.cuh). Finally nodes are assigned their places in
   the layout (sum_sizes, place_nodes).
   Work: O(n log n).
   Memory: see lay_out_binned; about 4.6 kB per triangle and 0.4 GB, most of it for the references
   of all levels, which are allocated once and never reused.
   Invariants: decisions depend on counts, minima and maxima, never on the order of atomics or of
   tasks, so the tree is a function of its input; every leaf that a triangle intersects contains it.
   Differs from the papers in: no spatial median, no candidate masks; large nodes are not processed
   in levels; nothing is copied to the host before the end; in nodes of up to 4 references no plane
   leaves all on one side and some on the other; nodes of at most 512 references are also split in
   one of their faces, to separate references in it from all others (in larger nodes an edge of a
   bin close to the face does nearly as well).
   Data flow: binned_clear: counters and the task list to 0. set_up, one thread per triangle: input
   -> corners, the root's references and the box. Then large_nodes, small_nodes,
   smallest_nodes (raw nodes, pairs of children, ids), sum_sizes, place_nodes (the layout): six
   kernels on one stream, each of which reads the output of the previous ones. */
#include "accel/zhou/binned_large.cuh"
#include "accel/zhou/binned_small.cuh"
#include "accel/zhou/binned_state.cuh"

enum { RANKED_MAX = 64 };

/* Restores the heap order below `at`. */
__device__ inline void sift(uint32_t *ids, uint32_t at, uint32_t count) {
    const uint32_t moved = ids[at];
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && ids[child + 1] > ids[child]) ++child;
        if (ids[child] <= moved) break;
        ids[at] = ids[child];
    }
    ids[at] = moved;
}

/* Sorts at most LIMIT ids in registers. */
template <int LIMIT>
__device__ __forceinline__ void copy_ranked(uint32_t *to, const uint32_t *from, uint32_t count) {
    uint32_t id[LIMIT];
#pragma unroll
    for (int i = 0; i < LIMIT; ++i) id[i] = (uint32_t)i < count ? from[i] : KD_NONE;
#pragma unroll
    for (int i = 0; i < LIMIT; ++i) {
        uint32_t rank = 0;
#pragma unroll
        for (int j = 0; j < LIMIT; ++j) rank += id[j] < id[i];
        if ((uint32_t)i < count) to[rank] = id[i];
    }
}

__device__ inline void copy_sorted(uint32_t *to, const uint32_t *from, uint32_t count) {
    if (count <= 4) {
        copy_ranked<4>(to, from, count);
        return;
    }
    if (count <= 8) {
        copy_ranked<8>(to, from, count);
        return;
    }
    if (count <= RANKED_MAX) {
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t id = from[i];
            uint32_t rank = 0;
            for (uint32_t j = 0; j < count; ++j) rank += from[j] < id;
            to[rank] = id;
        }
        return;
    }
    for (uint32_t i = 0; i < count; ++i) to[i] = from[i];
    for (uint32_t i = count / 2; i-- > 0;) sift(to, i, count);
    for (uint32_t end = count - 1; end > 0; --end) {
        const uint32_t last = to[0];
        to[0] = to[end];
        to[end] = last;
        sift(to, 0, end);
    }
}

/* Returns the numbers of inner nodes and of references below a raw leaf. */
__device__ __forceinline__ uint2 size_of(const binned &, const raw_node &leaf) {
    return make_uint2(0, leaf.count);
}

/* A leaf's `first` is the index of its first id in k.leaf_ids. One with at most RAW_IDS ids has the
   first and the last of them in `first` and `split`. */
__device__ __forceinline__ void place_leaf(const binned &k, uint32_t, const raw_node &leaf,
                                           uint32_t index, uint2 place) {
    k.nodes[index] = tritree_leaf(place.y, leaf.count);
    if (leaf.count > RAW_IDS) {
        copy_sorted(k.references + place.y, k.leaf_ids + leaf.first, leaf.count);
    } else if (leaf.count > 0) {
        const uint32_t last = __float_as_uint(leaf.split);
        k.references[place.y] = min(leaf.first, last);
        if (leaf.count == 2) k.references[place.y + 1] = max(leaf.first, last);
    }
}

__device__ __forceinline__ uint64_t needed_bytes(const binned &, const tritree_built &) {
    return 0; /* unknown */
}

namespace {

enum {
    CLEAR_BLOCK = 256,
    BLOCKS_MAX = 16384 /* maximum number of resident blocks */
};

/* Clears the counters and the list of tasks, whose entries are 0 until they are written. */
__global__ __launch_bounds__(CLEAR_BLOCK) void binned_clear(const binned k) {
    const uint32_t entries = k.queue_capacity + BLOCKS_MAX;
    for (uint32_t i = blockIdx.x * CLEAR_BLOCK + threadIdx.x; i < entries;
         i += gridDim.x * CLEAR_BLOCK)
        k.queue[i] = 0;
    if (blockIdx.x != 0) return;
    clear_counters(k);
    if (threadIdx.x != 0) return;
    k.count->pool = k.input.triangle_count;
    k.count->pending = 1;
    k.count->queue_end = UINT32_MAX;
}

uint32_t capacity_of(uint64_t count, uint32_t doubled) {
    const uint64_t maximum = UINT32_MAX / 2;
    return (uint32_t)(count < maximum >> doubled ? count << doubled : maximum);
}

/* Capacities by triangle count. The constant part is what warps allocate in advance
   (binned_small.cuh), twice one piece of each kind per resident warp. For small inputs whose
   triangles all overlap, the capacities are doubled a few times. */
void lay_out_binned(binned *k, cuda_arena *arena, uint64_t n, uint32_t doubled) {
    k->pool_capacity = capacity_of(64 * n + 6000000, doubled);
    k->raw_capacity = capacity_of(20 * n + 1000000, doubled);
    k->leaf_capacity = capacity_of(12 * n + 4000000, doubled);
    k->small_capacity = capacity_of(2 * n + 65536, doubled);
    k->big_capacity = capacity_of(n / 16 + 16384, doubled);
    k->medium_capacity = capacity_of(n / 4 + 65536, doubled);
    k->queue_capacity = capacity_of(n / 2 + 131072, doubled);
    take(&k->corners, arena, 3 * n);
    take(&k->pool, arena, k->pool_capacity);
    take(&k->raw, arena, k->raw_capacity);
    take(&k->pairs, arena, k->raw_capacity / 2);
    take(&k->leaf_ids, arena, k->leaf_capacity);
    for (int i = 0; i < 2; ++i) {
        for (int size = 0; size < SMALL_CLASSES; ++size)
            take(&k->small[i][size], arena, k->small_capacity);
    }
    take(&k->medium, arena, k->medium_capacity);
    take(&k->big, arena, k->big_capacity);
    take(&k->queue, arena, k->queue_capacity + BLOCKS_MAX);
    take(&k->count, arena, 1);
}

/* Large nodes are split by binned SAH, small ones by exact SAH. */
struct binned_rule {
    typedef binned state;
    static const bool positive_zero = false;

    static void plan(binned *, const tritree_build_cuda *) {}
    static void lay_out(binned *k, cuda_arena *arena, const tritree_build_cuda *build) {
        lay_out_binned(k, arena, build->input.triangle_count, build->doubled);
        k->node_capacity =
            k->raw_capacity < TRITREE_NODES_MAX ? k->raw_capacity : TRITREE_NODES_MAX;
        k->reference_capacity = k->leaf_capacity;
    }
    static set_up_counts counts(const binned &k) {
        return {&k.count->valid, &k.count->degenerate, k.count->box_lo, k.count->box_hi};
    }
    static kd_status clear(const binned *k, unsigned blocks, cudaStream_t stream) {
        binned_clear<<<blocks, CLEAR_BLOCK, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("binned_clear");
        return KD_OK;
    }
    static kd_status large(binned *k, unsigned, cudaStream_t stream) {
        return launch_cooperative(large_nodes, LARGE_BLOCK, k, stream, "large_nodes");
    }
    static kd_status small(binned *k, unsigned, cudaStream_t stream) {
        KD_TRY(launch_cooperative(small_nodes, SMALL_BLOCK, k, stream, "small_nodes"));
        return launch_cooperative(smallest_nodes, SMALL_BLOCK, k, stream, "smallest_nodes");
    }
    static kd_status finish(const binned *, unsigned, cudaStream_t) { return KD_OK; }
};

} // namespace

extern "C" {
extern const tritree_builder_cuda tritree_builder_cuda_binned;
const tritree_builder_cuda tritree_builder_cuda_binned = {
    "binned",
    "binned SAH, exact below 64 references; after Zhou et al. 2008",
    pipeline_plan<binned_rule>,
    pipeline_build<binned_rule>,
    true,
    1.15};
}
