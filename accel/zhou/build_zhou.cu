/* The builder of Zhou et al. on a CUDA device.
   Source: Zhou, Hou, Wang, Guo 2008, "Real-time kd-tree construction on graphics hardware", as
           built and timed by Choi and Ye 2020.
   Idea: that of build_zhou.c, whose tree this one is, bit for bit: both call stages.h.
         Stages: set_up, large_nodes.cuh, small_nodes.cuh, place.cuh.
   Work: O(n log n).
   Memory: see lay_out; about 1 kB a triangle and 0.1 GB.
   Invariants: lists have no order that anything depends on; nothing is allocated and nothing
               comes back to the host before the end.
   Differs from the paper in: what stages.h says; a level of the large stage is one pass, in
         which the children's boxes are reduced as their parts are written; a small root's
         subtree is built by one warp, depth first, its masks in shared memory.
   Data flow: zhou_clear, zhou_set_up (a thread a triangle: input -> corners, the root's parts
              and box), zhou_large_nodes (parts -> raw nodes, small roots), zhou_small_nodes
              (small roots -> segments of nodes and ids), then the launches of place.cuh: one
              stream, each reads what those before it wrote. */
#include "accel/tree/build_launch.cuh"
#include "accel/tree/set_up.cuh"
#include "accel/zhou/large_nodes.cuh"
#include "accel/zhou/place.cuh"
#include "accel/zhou/small_nodes.cuh"

namespace {

enum { BLOCKS_A_PROCESSOR = 8 };

__global__ void zhou_clear(const zhou_device k) {
    zhou_counters *c = k.count;
    for (uint32_t i = threadIdx.x; i < sizeof *c / 4; i += blockDim.x) ((uint32_t *)c)[i] = 0;
    __syncthreads();
    if (threadIdx.x != 0) return;
    c->raw = 2; /* the root; 1 is nobody's, so that pairs begin at even numbers */
    k.sizes[0] = make_uint2(0, 0);
    for (int a = 0; a < 3; ++a) {
        c->box_lo[a] = zhou_ordered(INFINITY);
        c->box_hi[a] = zhou_ordered(-INFINITY);
    }
}

/* Corners in one place, a part for each triangle that can be hit, the box of all. */
__global__ __launch_bounds__(SET_UP_BLOCK) void zhou_set_up(const zhou_device k) {
    __shared__ set_up_shared s;
    float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    const uint32_t count = k.input.triangle_count, step = gridDim.x * SET_UP_BLOCK;
    for (uint32_t begin = blockIdx.x * SET_UP_BLOCK; begin < count; begin += step) {
        const uint32_t id = begin + threadIdx.x;
        bool valid = id < count, flat = false;
        box3 box = box3_empty();
        if (valid) {
            const uint32_t *index = k.input.triangles + 3 * (uint64_t)id;
            vec3 corner[3];
            for (int i = 0; i < 3; ++i) {
                corner[i] = zhou_corner(k.input.positions[index[i]]);
                k.corners[3 * (uint64_t)id + i] =
                    make_float4(corner[i].x, corner[i].y, corner[i].z, 0);
            }
            flat = triangle_is_degenerate(corner[0], corner[1], corner[2]);
            valid = !flat;
            if (valid) box = triangle_box(corner[0], corner[1], corner[2]);
        }
        const uint32_t place = set_up_place(s, valid, flat, &k.count->valid, &k.count->degenerate);
        if (!valid) continue;
        zhou_clipped *part = k.parts[0] + place;
        part->lo = make_float4(box.lo.x, box.lo.y, box.lo.z, __uint_as_float(id));
        part->hi = make_float4(box.hi.x, box.hi.y, box.hi.z, 0);
        for (int a = 0; a < 3; ++a) {
            lo[a] = fminf(lo[a], vec3_axis(box.lo, a));
            hi[a] = fmaxf(hi[a], vec3_axis(box.hi, a));
        }
    }
    const int least[3] = {zhou_ordered(lo[0]), zhou_ordered(lo[1]), zhou_ordered(lo[2])};
    const int most[3] = {zhou_ordered(hi[0]), zhou_ordered(hi[1]), zhou_ordered(hi[2])};
    set_up_box(s, least, most, k.count->box_lo, k.count->box_hi);
}

uint32_t at_most_2_31(uint64_t count) {
    return (uint32_t)(count < 1ull << 31 ? count : 1ull << 31);
}

/* Rooms by triangle count. References of the large stage are bounded by ZHOU_GROWTH_MOST, twice as
   many where two children share the room for both; most meshes need less than a fourth of that. The
   rest is a budget, whose constant part is for what warps take ahead. */
void lay_out(zhou_device *k, cuda_arena *arena, uint64_t n, uint32_t doubled) {
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
        take(&k->nodes[i], arena, k->node_room_level);
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

kd_status run_small(const zhou_device *k, cudaStream_t stream) {
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, zhou_small_nodes, ZHOU_SMALL_BLOCK));
    zhou_small_nodes<<<blocks, ZHOU_SMALL_BLOCK, 0, stream>>>(*k);
    KD_CUDA_LAUNCHED("zhou_small_nodes");
    return KD_OK;
}

kd_status run_place(const zhou_device *k, unsigned blocks, cudaStream_t stream) {
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

} // namespace

static void build_zhou_cuda_plan(tritree_build_cuda *build) {
    const uint64_t n = build->input.triangle_count;
    zhou_device k;
    const uint32_t doubled = build->doubled;
    build->node_room = k.node_room = at_most_2_31((12 * n + 1000000) << doubled);
    build->reference_room = k.reference_room = at_most_2_31((10 * n + 2000000) << doubled);
    cuda_arena arena = {NULL, 0};
    lay_out(&k, &arena, n, doubled);
    build->scratch_bytes = arena.used;
}

static kd_status build_zhou_cuda(const tritree_build_cuda *build) {
    const uint32_t n = build->input.triangle_count;
    KD_TRY(build_check_count(build));
    cudaStream_t stream = (cudaStream_t)build->stream;
    zhou_device k;
    memset(&k, 0, sizeof k);
    k.node_room = build->node_room;
    k.reference_room = build->reference_room;
    cuda_arena arena = {(char *)build->scratch, 0};
    lay_out(&k, &arena, n, build->doubled);
    KD_TRY(build_check_scratch(build, arena.used));
    k.input = build->input;
    k.costs = build_costs(build);
    k.max_depth = (uint32_t)tritree_depth_limit(&build->options, n);
    k.out_nodes = build->nodes;
    k.out_references = build->references;
    k.memory_bytes = build->scratch_bytes + (uint64_t)k.node_room * sizeof(tritree_node) +
                     (uint64_t)k.reference_room * sizeof(uint32_t);
    k.built = build->built;
    KD_TRY(build_mark(build, TRITREE_INIT));
    unsigned processors = 0;
    KD_TRY(cuda_processors(&processors));
    const unsigned blocks = processors * BLOCKS_A_PROCESSOR;
    zhou_clear<<<1, 128, 0, stream>>>(k);
    KD_CUDA_LAUNCHED("zhou_clear");
    zhou_set_up<<<set_up_blocks(processors, n), SET_UP_BLOCK, 0, stream>>>(k);
    KD_CUDA_LAUNCHED("zhou_set_up");
    KD_TRY(build_mark(build, TRITREE_LARGE));
    KD_TRY(launch_cooperative(zhou_large_nodes, ZHOU_BLOCK, &k, stream, "zhou_large_nodes"));
    KD_TRY(build_mark(build, TRITREE_SMALL));
    KD_TRY(run_small(&k, stream));
    KD_TRY(build_mark(build, TRITREE_OTHER));
    KD_TRY(run_place(&k, blocks, stream));
    return build_mark(build, TRITREE_STAGES);
}

extern "C" {
extern const tritree_builder_cuda tritree_builder_cuda_zhou;
const tritree_builder_cuda tritree_builder_cuda_zhou = {
    "zhou",
    "Zhou, Hou, Wang, Guo 2008: the CPU's tree",
    build_zhou_cuda_plan,
    build_zhou_cuda,
    true,
    1.3 /* a spatial median is no plane that was searched for */};
}
