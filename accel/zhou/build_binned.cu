/* The rule `binned` of the pipeline on a CUDA device (pipeline.cuh).
   Source: after Zhou, Hou, Wang, Guo 2008 (level by level, large and small nodes) and Wu, Zhao,
           Liu 2011 (SAH everywhere); binning after Hunt et al. 2006 and Popov et al. 2006.
   Idea: large nodes are split at the best of 128 bins an axis, looked at twice (bins.cuh), as
         tasks that blocks list for each other: those of several chunks in binned_large.cuh, the
         rest, at the best box side, in binned_one_block.cuh. Nodes of at most 64 references are
   split exactly, by a warp or part of one (binned_small.cuh); what straddles is clipped from the
   original triangle to a box that is never too small (binned_clip.cuh); nodes then find their
   places in the layout (binned_place.cuh).
   Work: O(n log n).
   Memory: see lay_out_binned; about 4.6 kB a triangle and 0.4 GB, most of it room for the references
           of all levels, which are handed out once and never taken back.
   Invariants: decisions rest on counts, smallest and largest values, never on an order of
               atomics or of tasks, so the tree is a function of its input; every leaf that a
               triangle meets holds it.
   Differs from the papers in: no spatial median, no candidate masks; large nodes have no levels;
         nothing comes back to the host before the end; in nodes of up to 4 references no plane
         leaves all on one side and some on the other; nodes of at most 512 are cut in their own
         side too, to part what lies in it from all else (in larger ones a bin's edge close to it
         does nearly as well).
   Data flow: binned_clear: counters and the task list to 0. set_up, a thread a triangle: input ->
              corners, the root's references, the box and the root's bins. Then large_nodes,
              small_nodes, smallest_nodes (raw nodes, pairs of children, ids), sum_sizes,
              place_nodes (the layout): six kernels on one stream, each reads what those before
              it wrote. */
#include "accel/zhou/binned_large.cuh"
#include "accel/zhou/binned_place.cuh"
#include "accel/zhou/binned_small.cuh"

namespace {

enum {
    CLEAR_BLOCK = 256,
    BLOCKS_MOST = 16384 /* that run at the same time */
};

/* Counters, and the list of tasks, whose entries are 0 until they are written. */
__global__ __launch_bounds__(CLEAR_BLOCK) void binned_clear(const binned k) {
    const uint32_t entries = k.queue_room + BLOCKS_MOST;
    for (uint32_t i = blockIdx.x * CLEAR_BLOCK + threadIdx.x; i < entries;
         i += gridDim.x * CLEAR_BLOCK)
        k.queue[i] = 0;
    if (blockIdx.x != 0) return;
    counters *c = k.count;
    for (uint32_t i = threadIdx.x; i < sizeof *c / 4; i += CLEAR_BLOCK) ((uint32_t *)c)[i] = 0;
    __syncthreads();
    if (threadIdx.x != 0) return;
    c->pool = k.input.triangle_count;
    c->nodes = 2;
    c->pending = 1;
    c->queue_end = UINT32_MAX;
    for (int a = 0; a < 3; ++a) {
        c->box_lo[a] = ordered(INFINITY);
        c->box_hi[a] = ordered(-INFINITY);
    }
    k.pairs[0].state = PAIR_HOLE;
}

uint32_t room_of(uint64_t count, uint32_t doubled) {
    const uint64_t most = UINT32_MAX / 2;
    return (uint32_t)(count < most >> doubled ? count << doubled : most);
}

/* Rooms by triangle count. The constant part is what warps take ahead (binned_small.cuh), each of
   those that run a piece of every kind, twice; small inputs whose triangles all overlap double them
   some times. */
void lay_out_binned(binned *k, cuda_arena *arena, uint64_t n, uint32_t doubled) {
    k->pool_room = room_of(64 * n + 6000000, doubled);
    k->raw_room = room_of(20 * n + 1000000, doubled);
    k->leaf_room = room_of(12 * n + 4000000, doubled);
    k->small_room = room_of(2 * n + 65536, doubled);
    k->big_room = room_of(n / 16 + 16384, doubled);
    k->medium_room = room_of(n / 4 + 65536, doubled);
    k->queue_room = room_of(n / 2 + 131072, doubled);
    take(&k->corners, arena, 3 * n);
    take(&k->pool, arena, k->pool_room);
    take(&k->raw, arena, k->raw_room);
    take(&k->pairs, arena, k->raw_room / 2);
    take(&k->places, arena, k->raw_room);
    take(&k->leaf_ids, arena, k->leaf_room);
    for (int i = 0; i < 2; ++i) {
        for (int size = 0; size < SMALL_CLASSES; ++size)
            take(&k->small[i][size], arena, k->small_room);
    }
    take(&k->medium, arena, k->medium_room);
    take(&k->big, arena, k->big_room);
    take(&k->queue, arena, k->queue_room + BLOCKS_MOST);
    take(&k->count, arena, 1);
}

/* Large nodes at the best of binned planes, small ones exactly. */
struct binned_rule {
    typedef binned state;
    static const bool positive_zero = false;

    static void plan(binned *, uint64_t, uint32_t) {}
    static void lay_out(binned *k, cuda_arena *arena, uint64_t n, uint32_t doubled) {
        lay_out_binned(k, arena, n, doubled);
        k->node_room = k->raw_room;
        k->reference_room = k->leaf_room;
    }
    static clipped *first_parts(const binned &k) { return k.pool; }
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
    static kd_status emit(const binned *k, unsigned blocks, cudaStream_t stream) {
        sum_sizes<<<blocks, PLACE_BLOCK, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("sum_sizes");
        const uint32_t passes = (k->max_depth + PLACE_STEP_MOST - 1) / PLACE_STEP_MOST;
        const uint32_t step = (k->max_depth + passes - 1) / passes;
        for (uint32_t above = 0; above < k->max_depth; above += step) {
            place_nodes<<<blocks, PLACE_BLOCK, 0, stream>>>(*k, above, step);
            KD_CUDA_LAUNCHED("place_nodes");
        }
        return KD_OK;
    }
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
