/* The rule `zhou` of the pipeline on a CUDA device (pipeline.cuh).
   Source: Zhou, Hou, Wang, Guo 2008, "Real-time kd-tree construction on graphics hardware", as
           built and timed by Choi and Ye 2020.
   Idea: that of build_zhou.c, whose tree this one is, bit for bit: both call stages.h.
         Stages: set_up, large_nodes.cuh, small_nodes.cuh, place.cuh.
   Work: O(n log n).
   Memory: see lay_out_zhou; about 1 kB a triangle and 0.1 GB.
   Invariants: lists have no order that anything depends on; nothing is allocated and nothing
               comes back to the host before the end.
   Differs from the paper in: what stages.h says; a level of the large stage is one pass, in
         which the children's boxes are reduced as their parts are written; a small root's
         subtree is built by one warp, depth first, its masks in shared memory.
   Data flow: zhou_clear, set_up (a thread a triangle: input -> corners, the root's parts
              and box), zhou_large_nodes (parts -> raw nodes, small roots), zhou_small_nodes
              (small roots -> segments of nodes and ids), then the launches of place.cuh: one
              stream, each reads what those before it wrote. */
#include "accel/zhou/large_nodes.cuh"
#include "accel/zhou/place.cuh"
#include "accel/zhou/small_nodes.cuh"

namespace {

__global__ void zhou_clear(const zhou_device k) {
    zhou_counters *c = k.count;
    for (uint32_t i = threadIdx.x; i < sizeof *c / 4; i += blockDim.x) ((uint32_t *)c)[i] = 0;
    __syncthreads();
    if (threadIdx.x != 0) return;
    c->raw = 2; /* the root; 1 is nobody's, so that pairs begin at even numbers */
    k.sizes[0] = make_uint2(0, 0);
    for (int a = 0; a < 3; ++a) {
        c->box_lo[a] = ordered(INFINITY);
        c->box_hi[a] = ordered(-INFINITY);
    }
}

uint32_t at_most_2_31(uint64_t count) {
    return (uint32_t)(count < 1ull << 31 ? count : 1ull << 31);
}

/* Rooms by triangle count. References of the large stage are bounded by ZHOU_GROWTH_MOST, twice as
   many where two children share the room for both; most meshes need less than a fourth of that. The
   rest is a budget, whose constant part is for what warps take ahead. */
void lay_out_zhou(zhou_device *k, cuda_arena *arena, uint64_t n, uint32_t doubled) {
    const uint64_t growth =
        doubled < 2 ? (uint64_t)ZHOU_GROWTH_MOST >> (2 - doubled) : (uint64_t)ZHOU_GROWTH_MOST;
    const uint64_t most = growth * n + n / 64 + 4096;
    k->part_room = at_most_2_31(2 * most);
    k->small_room = k->id_room = at_most_2_31(most);
    k->node_room_level = k->leaf_room = at_most_2_31((n / 16 + 16384) << doubled);
    k->task_room = at_most_2_31((n / 8 + 16384) << doubled);
    k->root_room = at_most_2_31((n / 4 + 16384) << doubled);
    k->raw_room = at_most_2_31((n / 2 + 65536) << doubled);
    take(&k->corners, arena, 3 * n);
    take(&k->small_parts, arena, k->small_room);
    for (int i = 0; i < 2; ++i) {
        take(&k->parts[i], arena, k->part_room);
        take(&k->level_nodes[i], arena, k->node_room_level);
        take(&k->tasks[i], arena, k->task_room);
        take(&k->merges[i], arena, k->node_room_level);
    }
    take(&k->roots, arena, k->root_room);
    take(&k->raw, arena, k->raw_room);
    take(&k->pairs, arena, k->raw_room / 2);
    take(&k->sizes, arena, k->raw_room);
    take(&k->ids, arena, k->id_room);
    take(&k->leaves, arena, k->leaf_room);
    /* segments that warps have begun and will not fill: one for each warp that runs */
    k->segment_room = k->node_room / ZHOU_SEGMENT + 16384;
    k->id_segment_room = k->reference_room / ZHOU_SEGMENT + 16384;
    take(&k->segments, arena, (uint64_t)k->segment_room * ZHOU_SEGMENT);
    take(&k->id_segments, arena, (uint64_t)k->id_segment_room * ZHOU_SEGMENT);
    take(&k->node_next, arena, k->segment_room);
    take(&k->id_next, arena, k->id_segment_room);
    take(&k->count, arena, 1);
}

/* Large nodes at the spatial median, empty space cut off; small ones by sets of triangles. */
struct zhou_rule {
    typedef zhou_device state;
    static const bool positive_zero = true; /* zhou_corner */

    static void plan(zhou_device *k, uint64_t n, uint32_t doubled) {
        k->node_room = at_most_2_31((12 * n + 1000000) << doubled);
        k->reference_room = at_most_2_31((10 * n + 2000000) << doubled);
    }
    static void lay_out(zhou_device *k, cuda_arena *arena, uint64_t n, uint32_t doubled) {
        lay_out_zhou(k, arena, n, doubled);
        k->memory_bytes = arena->used + (uint64_t)k->node_room * sizeof(tritree_node) +
                          (uint64_t)k->reference_room * sizeof(uint32_t);
    }
    static clipped *first_parts(const zhou_device &k) { return k.parts[0]; }
    static set_up_counts counts(const zhou_device &k) {
        return {&k.count->valid, &k.count->degenerate, k.count->box_lo, k.count->box_hi};
    }
    static kd_status clear(const zhou_device *k, unsigned, cudaStream_t stream) {
        zhou_clear<<<1, 128, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_clear");
        return KD_OK;
    }
    static kd_status large(zhou_device *k, unsigned, cudaStream_t stream) {
        return launch_cooperative(zhou_large_nodes, ZHOU_BLOCK, k, stream, "zhou_large_nodes");
    }
    static kd_status small(const zhou_device *k, unsigned, cudaStream_t stream) {
        unsigned blocks = 0;
        KD_TRY(cuda_resident_blocks(&blocks, zhou_small_nodes, ZHOU_SMALL_BLOCK));
        zhou_small_nodes<<<blocks, ZHOU_SMALL_BLOCK, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_small_nodes");
        return KD_OK;
    }
    static kd_status emit(const zhou_device *k, unsigned blocks, cudaStream_t stream) {
        zhou_sum_sizes<<<blocks, ZHOU_PLACE_BLOCK, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_sum_sizes");
        zhou_sort_leaves<<<blocks, ZHOU_SORT_BLOCK, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_sort_leaves");
        zhou_place_raw<<<blocks, ZHOU_PLACE_BLOCK, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_place_raw");
        zhou_move_roots<<<blocks, ZHOU_PLACE_BLOCK, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_move_roots");
        zhou_move_leaves<<<blocks, ZHOU_PLACE_BLOCK, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_move_leaves");
        zhou_report<<<1, 1, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_report");
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
    1.3 /* a spatial median is no plane that was searched for */};
}
