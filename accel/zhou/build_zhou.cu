/* Builder `zhou` on a CUDA device, as a policy ("rule") of the pipeline (pipeline.cuh).
   Source: Zhou, Hou, Wang, Guo 2008, "Real-time kd-tree construction on graphics hardware", as
   built and timed by Choi and Ye 2020.
   Idea: that of build_zhou.c, with the same tree, bit for bit; both use stages.h. Stages: set_up,
   zhou_large.cuh, zhou_small.cuh, emit.cuh.
   Work: O(n log n).
   Memory: see lay_out_zhou; about 720 bytes per triangle and 0.1 GB; from 8 million triangles on
   155, and twice that each time that does not suffice.
   Invariants: nothing depends on the order of lists; nothing is allocated, and nothing is copied to
   the host before the end.
   Differs from the paper in: the points listed in stages.h; a level of the large-node stage is one
   pass, in which the children's boxes are reduced while their parts are written; a small root's
   subtree is built by one warp, depth first, with its masks in shared memory.
   Data flow: zhou_clear, set_up (one thread per triangle: input -> the root's parts and box),
   zhou_large_nodes (parts -> raw nodes, small roots), zhou_small_nodes (small roots ->
   segments of nodes and ids); for a large mesh the former only down to nodes that wait, then both
   for each slab (nodes that wait -> the same); then sum_sizes, place_nodes, zhou_move_roots,
   zhou_move_leaves (the layout): all on one stream; each reads the output of the previous ones. */
#include "accel/zhou/zhou_large.cuh"
#include "accel/zhou/zhou_small.cuh"
#include "accel/zhou/zhou_state.cuh"

/* From raw nodes to the layout: emit.cuh places raw nodes, small roots and large leaves. Subtrees
   of small roots are already in order and are only moved (zhou_move_roots, one warp per root); ids
   of large leaves are sorted and moved (zhou_move_leaves, one block per leaf). */

enum { ZHOU_MOVE_BLOCK = 256, ZHOU_SORT_BLOCK = 512 };

/* Returns the numbers of inner nodes and of references below a raw leaf; for a small root, `split`
   holds the number of inner nodes. */
__device__ __forceinline__ uint2 size_of(const zhou_device &, const raw_node &leaf) {
    return make_uint2(__float_as_uint(leaf.split), leaf.count);
}

__device__ __forceinline__ tritree_node zhou_moved(tritree_node node, uint32_t nodes,
                                                   uint32_t ids) {
    if (tritree_is_leaf(node)) return tritree_leaf(tritree_first(node) + ids, tritree_count(node));
    return tritree_inner(tritree_axis(node), node.split, tritree_left(node) + nodes);
}

/* A leaf's `first` is the index of its first id in k.ids; that of a small root is its index in
   k.roots. */
__device__ __forceinline__ void place_leaf(const zhou_device &k, uint32_t id, const raw_node &leaf,
                                           uint32_t index, uint2 place) {
    if (leaf.kind == RAW_LEAF) {
        k.nodes[index] = tritree_leaf(place.y, leaf.count);
        k.raw[id].split = __uint_as_float(place.y); /* for zhou_move_leaves */
        return;
    }
    zhou_small_root *root = k.roots + leaf.first;
    root->first = place.x, root->count = place.y;
    k.nodes[index] = zhou_moved(root->top, place.x, place.y);
}

/* If the small-node stage exceeded its segments, it kept counting, so the required memory is
   known. */
__device__ __forceinline__ uint64_t needed_bytes(const zhou_device &k, const tritree_built &built) {
    if (!built.exhausted || k.count->exhausted & zhou_device::SIZES_UNKNOWN) return 0;
    uint64_t needed = k.memory_bytes;
    if (built.node_count > k.node_capacity)
        needed += 2ull * sizeof(tritree_node) * (built.node_count - k.node_capacity);
    if (built.reference_count > k.reference_capacity)
        needed += 2ull * sizeof(uint32_t) * (built.reference_count - k.reference_capacity);
    return needed;
}

/* Moves the subtrees of small roots, one warp each. */
__global__ __launch_bounds__(ZHOU_MOVE_BLOCK) void zhou_move_roots(const zhou_device k) {
    if (!layout_fits(k)) return;
    const uint32_t lane = threadIdx.x & 31, warps = gridDim.x * ZHOU_MOVE_BLOCK / 32;
    for (uint32_t i = (blockIdx.x * ZHOU_MOVE_BLOCK + threadIdx.x) / 32; i < k.count->roots;
         i += warps) {
        const zhou_small_root *root = k.roots + i;
        const uint32_t nodes = root->first, ids = root->count;
        const uint2 size = size_of(k, k.raw[root->at]);
        uint32_t from = root->node_first;
        for (uint32_t done = 0, all = 2 * size.x; done < all;) {
            const uint32_t step = min(all - done, ZHOU_SEGMENT - from % ZHOU_SEGMENT);
            for (uint32_t j = lane; j < step; j += 32)
                k.nodes[nodes + done + j] = zhou_moved(k.segments[from + j], nodes, ids);
            done += step;
            if (done < all) from = k.node_next[from / ZHOU_SEGMENT] * ZHOU_SEGMENT;
        }
        from = root->id_first;
        for (uint32_t done = 0, all = size.y; done < all;) {
            const uint32_t step_count = min(all - done, ZHOU_SEGMENT - from % ZHOU_SEGMENT);
            for (uint32_t j = lane; j < step_count; j += 32)
                k.references[ids + done + j] = k.id_segments[from + j];
            done += step_count;
            if (done < all) from = k.id_next[from / ZHOU_SEGMENT] * ZHOU_SEGMENT;
        }
    }
}

/* Sorts the ids of large leaves, one block per leaf, by a bitonic network for arbitrary counts, in
   which all comparators have the same direction; then moves them. */
__global__ __launch_bounds__(ZHOU_SORT_BLOCK) void zhou_move_leaves(const zhou_device k) {
    if (!layout_fits(k)) return;
    for (uint32_t i = blockIdx.x; i < k.count->leaves; i += gridDim.x) {
        const raw_node leaf = k.raw[k.leaves[i]];
        uint32_t *ids = k.ids + leaf.first, *to = k.references + __float_as_uint(leaf.split);
        for (uint32_t size = 2; size / 2 < leaf.count; size *= 2)
            for (uint32_t step = size / 2; step; step /= 2) {
                for (uint32_t j = threadIdx.x; j < leaf.count; j += ZHOU_SORT_BLOCK) {
                    const uint32_t other = step == size / 2 ? j ^ (size - 1) : j ^ step;
                    if (other <= j || other >= leaf.count) continue;
                    const uint32_t a = ids[j], b = ids[other];
                    if (a > b) ids[j] = b, ids[other] = a;
                }
                __syncthreads();
            }
        for (uint32_t j = threadIdx.x; j < leaf.count; j += ZHOU_SORT_BLOCK) to[j] = ids[j];
    }
}

namespace {

__global__ void zhou_clear(const zhou_device k) {
    clear_counters(k);
}

uint32_t at_most_2_31(uint64_t count) {
    return (uint32_t)(count < 1ull << 31 ? count : 1ull << 31);
}
uint32_t nodes_at_most(uint64_t count) {
    return (uint32_t)(count < TRITREE_NODES_MAX ? count : TRITREE_NODES_MAX);
}

/* From this number of triangles on, the tree is built in slabs of an eighth of the triangles. */
enum { ZHOU_MANY = 8000000, ZHOU_SLABS = 8 };

/* Capacities that are estimates; those of lists count what is in one slab. */
void lay_out_lists(zhou_device *k, cuda_arena *arena) {
    for (int i = 0; i < 2; ++i) {
        take(&k->level_nodes[i], arena, k->level_capacity);
        take(&k->tasks[i], arena, k->task_capacity);
        take(&k->merges[i], arena, k->level_capacity);
    }
    take(&k->slabs, arena, k->slab_capacity);
    take(&k->roots, arena, k->root_capacity);
    take(&k->raw, arena, k->raw_capacity);
    take(&k->pairs, arena, k->raw_capacity / 2);
    take(&k->ids, arena, k->id_capacity);
    take(&k->leaves, arena, k->leaf_capacity);
    take(&k->node_next, arena, k->segment_capacity);
    take(&k->id_next, arena, k->id_segment_capacity);
    take(&k->count, arena, 1);
}

/* The pool of the first levels, or of all, shares its memory with the segments of small nodes and,
   behind them, the pool of slabs. */
void lay_out_pools(zhou_device *k, cuda_arena *arena) {
    cuda_arena shared = *arena;
    take(&k->segments, &shared, (uint64_t)k->segment_capacity * ZHOU_SEGMENT);
    take(&k->id_segments, &shared, (uint64_t)k->id_segment_capacity * ZHOU_SEGMENT);
    take(&k->slab_pool, &shared, k->slab_max ? k->slab_part_capacity : 0);
    take(&k->pool, arena, k->part_capacity);
    if (arena->used < shared.used) *arena = shared;
    take(&k->small_parts, arena, k->small_capacity);
}

/* Capacities if the tree is built at once. ZHOU_GROWTH_MAX bounds the references of the large-node
   stage, of which two levels are in the pool, with twice the space where both children share it;
   most meshes need less than a fourth of that. */
void size_whole(zhou_device *k, uint64_t n, uint32_t doubled) {
    const uint64_t growth = (uint64_t)ZHOU_GROWTH_MAX >> (doubled < 2 ? 2 - doubled : 0);
    const uint64_t maximum = growth * n + n / 64 + 4096;
    k->part_capacity = at_most_2_31(3 * maximum);
    k->small_capacity = k->id_capacity = at_most_2_31(maximum);
    k->level_capacity = k->leaf_capacity = at_most_2_31((n / 16 + 16384) << doubled);
    k->task_capacity = at_most_2_31((n / 8 + 16384) << doubled);
    k->root_capacity = at_most_2_31((n / 4 + 16384) << doubled);
    k->raw_capacity = at_most_2_31((n / 2 + 65536) << doubled);
    k->slab_capacity = 0;
}

/* Capacities if it is built in slabs: large meshes have small triangles, of which planes cut few.
   Two of the first levels have some 2.3 parts per triangle, two levels of a slab at most 3. */
void size_slabs(zhou_device *k, uint64_t n, uint32_t doubled) {
    const uint64_t slab = k->slab_max;
    k->is_tight = doubled == 0;
    k->part_capacity = at_most_2_31((5 * n / 2 + 4096) << doubled);
    k->slab_part_capacity = at_most_2_31((4 * slab + 65536) << doubled);
    k->small_capacity = at_most_2_31((2 * slab + 65536) << doubled);
    k->id_capacity = at_most_2_31((n / 2 + 65536) << doubled);
    k->leaf_capacity = at_most_2_31((n / 64 + 16384) << doubled);
    k->level_capacity = at_most_2_31((slab / 16 + 16384) << doubled);
    k->task_capacity = at_most_2_31((slab / 8 + n / 128 + 16384) << doubled);
    k->root_capacity = at_most_2_31((n / 8 + 16384) << doubled);
    k->raw_capacity = at_most_2_31((n / 4 + 65536) << doubled);
    k->slab_capacity = at_most_2_31((n / 4096 + 1024) << doubled);
}

/* Returns the triangles of a slab; 0: the tree is built at once. */
uint32_t slab_of(const tritree_build_cuda *build) {
    const uint32_t n = build->input.triangle_count;
    return build->slab_triangles ? build->slab_triangles : n < ZHOU_MANY ? 0 : n / ZHOU_SLABS;
}

void lay_out_zhou(zhou_device *k, cuda_arena *arena, uint64_t n, uint32_t doubled) {
    k->slab_max ? size_slabs(k, n, doubled) : size_whole(k, n, doubled);
    /* One partly filled segment for each resident warp, in each launch. */
    const uint32_t launches = k->slab_max ? 2 * ZHOU_SLABS : 1;
    k->segment_capacity = k->node_capacity / ZHOU_SEGMENT + 16384 + 4096 * launches;
    k->id_segment_capacity = k->reference_capacity / ZHOU_SEGMENT + 16384 + 4096 * launches;
    lay_out_lists(k, arena);
    lay_out_pools(k, arena);
}

/* Returns the parts that can wait: 16 bytes each where the nodes will be, and as many in the place
   of the references. */
uint32_t waiting_of(const zhou_device *k) {
    const uint64_t parts = (uint64_t)ZHOU_GROWTH_MAX * k->input.triangle_count + 1;
    const uint32_t fit = k->node_capacity / 2 < k->reference_capacity / 4
                             ? k->node_capacity / 2
                             : k->reference_capacity / 4;
    return parts < fit ? (uint32_t)parts : fit;
}

kd_status launch_large(zhou_device *k, cudaStream_t stream) {
    return launch_cooperative(zhou_large_nodes, ZHOU_BLOCK, k, stream, "zhou_large_nodes");
}

kd_status launch_small(const zhou_device *k, cudaStream_t stream) {
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, zhou_small_nodes, ZHOU_SMALL_BLOCK));
    zhou_small_nodes<<<blocks, ZHOU_SMALL_BLOCK, 0, stream>>>(*k);
    KD_CUDA_LAUNCHED("zhou_small_nodes");
    return KD_OK;
}

/* Builds the subtrees of the nodes that wait. Of two successive slabs the nodes do not fit into
   one, so their number is bounded; a launch without a slab ends at once. */
kd_status build_slabs(zhou_device *k, cudaStream_t stream) {
    const uint64_t launches = 2 * (uint64_t)k->waiting_capacity / k->slab_max + 1;
    k->stops = false;
    k->resumes = true;
    k->pool = k->slab_pool;
    k->part_capacity = k->slab_part_capacity;
    for (uint64_t i = 0; i < launches; ++i) {
        KD_TRY(launch_large(k, stream));
        KD_TRY(launch_small(k, stream));
    }
    return KD_OK;
}

/* Large nodes are split at the spatial median, with empty space cut off; small ones by SAH with bit
   masks. */
struct zhou_rule {
    typedef zhou_device state;
    static const bool positive_zero = true; /* zhou_corner */

    static void plan(zhou_device *k, const tritree_build_cuda *build) {
        const uint64_t n = build->input.triangle_count;
        const bool many = slab_of(build) > 0;
        k->node_capacity = nodes_at_most(((many ? 3 : 12) * n + 1000000) << build->doubled);
        k->reference_capacity = at_most_2_31(((many ? 5 : 10) * n + 2000000) << build->doubled);
    }
    static void lay_out(zhou_device *k, cuda_arena *arena, const tritree_build_cuda *build) {
        k->slab_max = slab_of(build);
        lay_out_zhou(k, arena, build->input.triangle_count, build->doubled);
        k->memory_bytes = arena->used + (uint64_t)k->node_capacity * sizeof(tritree_node) +
                          (uint64_t)k->reference_capacity * sizeof(uint32_t);
    }
    static set_up_counts counts(const zhou_device &k) {
        return {&k.count->valid, &k.count->degenerate, k.count->box_lo, k.count->box_hi};
    }
    static kd_status clear(const zhou_device *k, unsigned, cudaStream_t stream) {
        zhou_clear<<<1, 128, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_clear");
        return KD_OK;
    }
    static kd_status large(zhou_device *k, unsigned, cudaStream_t stream) {
        k->stops = k->slab_max > 0;
        k->waiting_lo = (float4 *)k->nodes;
        k->waiting_hi = (float4 *)k->references;
        k->waiting_capacity = waiting_of(k);
        return launch_large(k, stream);
    }
    static kd_status small(const zhou_device *k, unsigned, cudaStream_t stream) {
        zhou_device slabs = *k;
        KD_TRY(launch_small(k, stream));
        return k->slab_max ? build_slabs(&slabs, stream) : KD_OK;
    }
    static kd_status finish(const zhou_device *k, unsigned blocks, cudaStream_t stream) {
        zhou_move_roots<<<blocks, ZHOU_MOVE_BLOCK, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_move_roots");
        zhou_move_leaves<<<blocks, ZHOU_SORT_BLOCK, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_move_leaves");
        return KD_OK;
    }
};

} // namespace

extern "C" {
extern const tritree_builder_cuda tritree_builder_cuda_zhou;
const tritree_builder_cuda tritree_builder_cuda_zhou = {
    "zhou",
    "Zhou, Hou, Wang, Guo 2008: the CPU's tree",
    pipeline_plan<zhou_rule>,
    pipeline_build<zhou_rule>,
    true,
    1.3 /* the spatial median is not chosen by cost */};
}
