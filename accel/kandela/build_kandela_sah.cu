/* The SAH builder on a CUDA device.
   Source: after Zhou, Hou, Wang, Guo 2008 (level by level, large and small nodes) and Wu, Zhao,
           Liu 2011 (SAH everywhere); binning after Hunt et al. 2006 and Popov et al. 2006.
   Idea: large nodes are split at the best of 128 bins an axis, looked at twice (bins.cuh), as
         tasks that blocks list for each other (task_list.cuh): those of several chunks in
         large_nodes.cuh, the rest, at the best box side, in one_block_node.cuh. Nodes of at most
         64 references are split exactly, by a warp or part of one (small_nodes.cuh); what
         straddles is clipped from the original triangle to a box that is never too small
         (clip.cuh); nodes then find their places in the layout (place.cuh).
   Work: O(n log n).
   Memory: see lay_out; about 4.6 kB a triangle and 0.4 GB, most of it room for the references
           of all levels, which are handed out once and never taken back.
   Invariants: decisions rest on counts, smallest and largest values, never on an order of
               atomics or of tasks, so the tree is a function of its input; every leaf that a
               triangle meets holds it.
   Differs from the papers in: no spatial median, no candidate masks; large nodes have no levels;
         nothing comes back to the host before the end; in nodes of up to 4 references no plane
         leaves all on one side and some on the other; nodes of at most 512 are cut in their own
         side too, to part what lies in it from all else (in larger ones a bin's edge close to it
         does nearly as well).
   Data flow: clear: counters and the task list to 0. set_up, a thread a triangle: input ->
              corners, the root's references, the box and the root's bins. Then large_nodes,
              small_nodes, smallest_nodes (raw nodes, pairs of children, ids), sum_sizes,
              place_nodes (the layout): six kernels on one stream, each reads what those before
              it wrote. */
#include "accel/kandela/large_nodes.cuh"
#include "accel/kandela/place.cuh"
#include "accel/kandela/small_nodes.cuh"
#include "accel/tree/build_launch.cuh"
#include "accel/tree/set_up.cuh"
#include "core/device/cuda.h"

namespace {

enum {
    CLEAR_BLOCK = 256,
    BLOCKS_A_PROCESSOR = 8,
    BLOCKS_MOST = 16384 /* that run at the same time */
};

/* Counters, and the list of tasks, whose entries are 0 until they are written. */
__global__ __launch_bounds__(CLEAR_BLOCK) void clear(const kandela k) {
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

/* Corners in one place, a reference for each triangle that can be hit, the box of all. */
__global__ __launch_bounds__(SET_UP_BLOCK) void set_up(const kandela k) {
    __shared__ set_up_shared s;
    float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    const uint32_t count = k.input.triangle_count, step = gridDim.x * SET_UP_BLOCK;
    for (uint32_t begin = blockIdx.x * SET_UP_BLOCK; begin < count; begin += step) {
        const uint32_t id = begin + threadIdx.x;
        bool valid = id < count, flat = false;
        box3 box = box3_empty();
        if (valid) {
            const uint32_t *index = k.input.triangles + 3 * (uint64_t)id;
            const vec3 a = k.input.positions[index[0]], b = k.input.positions[index[1]],
                       c = k.input.positions[index[2]];
            float4 *corner = k.corners + 3 * (uint64_t)id;
            corner[0] = make_float4(a.x, a.y, a.z, 0);
            corner[1] = make_float4(b.x, b.y, b.z, 0);
            corner[2] = make_float4(c.x, c.y, c.z, 0);
            flat = triangle_is_degenerate(a, b, c);
            valid = !flat;
            if (valid) box = triangle_box(a, b, c);
        }
        const uint32_t place = set_up_place(s, valid, flat, &k.count->valid, &k.count->degenerate);
        if (!valid) continue;
        clipped *ref = k.pool + place;
        ref->lo = make_float4(box.lo.x, box.lo.y, box.lo.z, __uint_as_float(id));
        ref->hi = make_float4(box.hi.x, box.hi.y, box.hi.z, 0);
        for (int a = 0; a < 3; ++a) {
            lo[a] = fminf(lo[a], vec3_axis(box.lo, a));
            hi[a] = fmaxf(hi[a], vec3_axis(box.hi, a));
        }
    }
    const int least[3] = {ordered(lo[0]), ordered(lo[1]), ordered(lo[2])};
    const int most[3] = {ordered(hi[0]), ordered(hi[1]), ordered(hi[2])};
    set_up_box(s, least, most, k.count->box_lo, k.count->box_hi);
}

uint32_t room_of(uint64_t count, uint32_t doubled) {
    const uint64_t most = UINT32_MAX / 2;
    return (uint32_t)(count < most >> doubled ? count << doubled : most);
}

/* Rooms by triangle count. The constant part is what warps take ahead (warp_storage.cuh), each of
   those that run a piece of every kind, twice; small inputs whose triangles all overlap double them
   some times. */
void lay_out(kandela *k, cuda_arena *arena, uint64_t n, uint32_t doubled) {
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

} // namespace

static void build_kandela_sah_plan(tritree_build_cuda *build) {
    kandela k;
    cuda_arena arena = {NULL, 0};
    lay_out(&k, &arena, build->input.triangle_count, build->doubled);
    build->scratch_bytes = arena.used;
    build->node_room = k.raw_room;
    build->reference_room = k.leaf_room;
}

static kd_status build_kandela_sah(const tritree_build_cuda *build) {
    const uint32_t n = build->input.triangle_count;
    KD_TRY(build_check_count(build));
    cudaStream_t stream = (cudaStream_t)build->stream;
    kandela k;
    memset(&k, 0, sizeof k);
    cuda_arena arena = {(char *)build->scratch, 0};
    lay_out(&k, &arena, n, build->doubled);
    KD_TRY(build_check_scratch(build, arena.used));
    k.input = build->input;
    k.costs = build_costs(build);
    k.max_depth = (uint32_t)tritree_depth_limit(&build->options, n);
    k.nodes = build->nodes;
    k.references = build->references;
    k.node_room = build->node_room;
    k.reference_room = build->reference_room;
    k.built = build->built;
    KD_TRY(build_mark(build, TRITREE_INIT));
    unsigned processors = 0;
    KD_TRY(cuda_processors(&processors));
    const unsigned blocks = processors * BLOCKS_A_PROCESSOR;
    clear<<<blocks, CLEAR_BLOCK, 0, stream>>>(k);
    KD_CUDA_LAUNCHED("clear");
    set_up<<<set_up_blocks(processors, n), SET_UP_BLOCK, 0, stream>>>(k);
    KD_CUDA_LAUNCHED("set_up");
    KD_TRY(build_mark(build, TRITREE_LARGE));
    KD_TRY(launch_cooperative(large_nodes, LARGE_BLOCK, &k, stream, "large_nodes"));
    KD_TRY(build_mark(build, TRITREE_SMALL));
    KD_TRY(launch_cooperative(small_nodes, SMALL_BLOCK, &k, stream, "small_nodes"));
    KD_TRY(launch_cooperative(smallest_nodes, SMALL_BLOCK, &k, stream, "smallest_nodes"));
    KD_TRY(build_mark(build, TRITREE_OTHER));
    sum_sizes<<<blocks, PLACE_BLOCK, 0, stream>>>(k);
    KD_CUDA_LAUNCHED("sum_sizes");
    const uint32_t passes = (k.max_depth + PLACE_STEP_MOST - 1) / PLACE_STEP_MOST;
    const uint32_t step = (k.max_depth + passes - 1) / passes;
    for (uint32_t above = 0; above < k.max_depth; above += step) {
        place_nodes<<<blocks, PLACE_BLOCK, 0, stream>>>(k, above, step);
        KD_CUDA_LAUNCHED("place_nodes");
    }
    return build_mark(build, TRITREE_STAGES);
}

extern "C" {
extern const tritree_builder_cuda tritree_builder_cuda_kandela;
const tritree_builder_cuda tritree_builder_cuda_kandela = {
    "kandela",
    "binned SAH, exact below 64 references; after Zhou et al. 2008",
    build_kandela_sah_plan,
    build_kandela_sah,
    true,
    1.15};
}
