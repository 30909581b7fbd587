/* The pipeline of the CUDA builders: the code that they share and the order of the stages. The
   treatment of nodes is a policy class, the "rule", passed as a template parameter.
   Source: Zhou, Hou, Wang, Guo 2008, "Real-time kd-tree construction on graphics hardware".
   Idea: initialise (compute each triangle's box and that of all triangles; gather its corners),
   split large nodes, split small nodes, emit the layout. A rule provides its state, a struct that
   begins with build_state, and its stages:
     static void plan(state *, const tritree_build_cuda *)   capacities for nodes and references
     static void lay_out(state *, cuda_arena *, const tritree_build_cuda *)   scratch memory
     static set_up_counts counts(const state &)
     static const bool positive_zero              whether -0 becomes 0
     static kd_status clear / large / small(const state *, unsigned blocks, cudaStream_t)
     static kd_status finish(const state *, unsigned blocks, cudaStream_t)   after emit.cuh
   and the device functions that emit.cuh calls.
   Data flow: clear: the rule's counters. set_up, one thread per triangle: input -> corners, parts,
   the box of all; its blocks reduce in shared memory first, so that each does one atomic addition
   per round and one update of the box. (An atomic per warp on seven shared words took 42 us of the
   bunny's builds.) large, small, emit: on one stream; each reads the output of the previous
   ones. */
#ifndef KD_ACCEL_ZHOU_PIPELINE_CUH
#define KD_ACCEL_ZHOU_PIPELINE_CUH
#include "accel/zhou/emit.cuh"
#include "accel/zhou/state.cuh"

/* --- Initialisation --- */

/* Counters that set_up fills. */
struct set_up_counts {
    uint32_t *valid, *degenerate; /* triangles */
    int *box_lo, *box_hi;         /* ordered integers */
};

enum { SET_UP_BLOCK = 256, SET_UP_WARPS = SET_UP_BLOCK / 32, BLOCKS_A_PROCESSOR = 8 };

struct set_up_shared {
    /* triangles of each warp; later of all earlier warps */
    uint32_t valid[SET_UP_WARPS], flat[SET_UP_WARPS];
    uint32_t first;
    int box[6][SET_UP_WARPS];
};

/* Returns a unique index for each thread that passes `valid`; counts those, and the threads that
   pass `flat`. All threads of a block must call it. */
__device__ __forceinline__ uint32_t set_up_place(set_up_shared &s, bool valid, bool flat,
                                                 uint32_t *valid_count, uint32_t *flat_count) {
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const unsigned lanes = __ballot_sync(0xffffffff, valid);
    const unsigned flats = __ballot_sync(0xffffffff, flat);
    __syncthreads(); /* protects shared memory from the previous round */
    if (lane == 0) s.valid[warp] = (uint32_t)__popc(lanes), s.flat[warp] = (uint32_t)__popc(flats);
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t valid_sum = 0, flat_sum = 0;
        for (int w = 0; w < SET_UP_WARPS; ++w) {
            const uint32_t value = s.valid[w];
            s.valid[w] = valid_sum;
            valid_sum += value;
            flat_sum += s.flat[w];
        }
        s.first = atomicAdd(valid_count, valid_sum);
        if (flat_sum) atomicAdd(flat_count, flat_sum);
    }
    __syncthreads();
    return s.first + s.valid[warp] + (uint32_t)__popc(lanes & ((1u << lane) - 1));
}

/* Reduces the minima and maxima of all threads, given as ordered integers. All threads of a block
   must call it. */
__device__ __forceinline__ void set_up_box(set_up_shared &s, const int minimum[3],
                                           const int maximum[3], int *box_lo, int *box_hi) {
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        const int lo = __reduce_min_sync(0xffffffff, minimum[a]);
        const int hi = __reduce_max_sync(0xffffffff, maximum[a]);
        if (lane == 0) s.box[a][warp] = lo, s.box[3 + a][warp] = hi;
    }
    __syncthreads();
    if (threadIdx.x >= 6) return;
    const bool is_hi = threadIdx.x >= 3;
    const int *values = s.box[threadIdx.x];
    int best = values[0];
    for (int w = 1; w < SET_UP_WARPS; ++w)
        best = is_hi ? max(best, values[w]) : min(best, values[w]);
    if (is_hi)
        atomicMax(&box_hi[threadIdx.x - 3], best);
    else
        atomicMin(&box_lo[threadIdx.x], best);
}

/* Gathers corners unless `corners` is NULL, writes a part for each triangle that can be hit, and
   computes the box of all. */
template <bool positive_zero>
__global__ __launch_bounds__(SET_UP_BLOCK) void set_up(const tritree_input input, float4 *corners,
                                                       clipped *parts, const set_up_counts to) {
    __shared__ set_up_shared s;
    float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    const uint32_t count = input.triangle_count, step = gridDim.x * SET_UP_BLOCK;
    for (uint32_t begin = blockIdx.x * SET_UP_BLOCK; begin < count; begin += step) {
        const uint32_t id = begin + threadIdx.x;
        bool valid = id < count, flat = false;
        box3 box = box3_empty();
        if (valid) {
            const uint32_t *index = input.triangles + 3 * (uint64_t)id;
            vec3 corner[3];
            for (int i = 0; i < 3; ++i) {
                const vec3 at = input.positions[index[i]];
                corner[i] = positive_zero ? vec3_add(at, vec3_all(0)) : at;
                if (corners)
                    corners[3 * (uint64_t)id + i] =
                        make_float4(corner[i].x, corner[i].y, corner[i].z, 0);
            }
            flat = triangle_is_degenerate(corner[0], corner[1], corner[2]);
            valid = !flat;
            if (valid) box = triangle_box(corner[0], corner[1], corner[2]);
        }
        const uint32_t place = set_up_place(s, valid, flat, to.valid, to.degenerate);
        if (!valid) continue;
        clipped *part = parts + place;
        part->lo = make_float4(box.lo.x, box.lo.y, box.lo.z, __uint_as_float(id));
        part->hi = make_float4(box.hi.x, box.hi.y, box.hi.z, 0);
        for (int a = 0; a < 3; ++a) {
            lo[a] = fminf(lo[a], vec3_axis(box.lo, a));
            hi[a] = fmaxf(hi[a], vec3_axis(box.hi, a));
        }
    }
    const int minimum[3] = {ordered(lo[0]), ordered(lo[1]), ordered(lo[2])};
    const int maximum[3] = {ordered(hi[0]), ordered(hi[1]), ordered(hi[2])};
    set_up_box(s, minimum, maximum, to.box_lo, to.box_hi);
}

/* --- Host --- */

template <class item> inline void take(item **out, cuda_arena *arena, uint64_t count) {
    *out = (item *)cuda_arena_take(arena, count, sizeof(item));
}

/* Launches as many blocks as are resident at once, so that they can synchronise. */
template <class kernel, class state>
kd_status launch_cooperative(kernel body, int block, state *k, cudaStream_t stream,
                             const char *name) {
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, body, block));
    void *arguments[] = {k};
    KD_CUDA(cuda_launch_cooperative(body, blocks, block, arguments, stream));
    KD_CUDA_LAUNCHED(name);
    return KD_OK;
}

/* Records the beginning of a stage if the caller requests times. */
static inline kd_status build_mark(const tritree_build_cuda *build, int stage) {
    if (!build->marks) return KD_OK;
    KD_CUDA(cudaEventRecord((cudaEvent_t)build->marks[stage], (cudaStream_t)build->stream));
    return KD_OK;
}

/* Returns no more blocks than needed for the triangles, but at least one. */
static inline unsigned set_up_blocks(uint32_t triangle_count, unsigned maximum) {
    const uint32_t blocks = (triangle_count + SET_UP_BLOCK - 1) / SET_UP_BLOCK;
    return blocks < 1 ? 1 : blocks < maximum ? blocks : maximum;
}

/* Computes the memory that a build by the rule needs. */
template <class rule> void pipeline_plan(tritree_build_cuda *build) {
    typename rule::state k;
    cuda_arena arena = {NULL, 0};
    memset(&k, 0, sizeof k);
    rule::plan(&k, build);
    rule::lay_out(&k, &arena, build);
    build->scratch_bytes = arena.used;
    build->node_capacity = k.node_capacity;
    build->reference_capacity = k.reference_capacity;
}

/* Sets up the state of a build in the memory that the caller has reserved. */
template <class rule>
kd_status pipeline_open(typename rule::state *k, const tritree_build_cuda *build) {
    const uint32_t n = build->input.triangle_count;
    KD_REQUIRE(n <= TRITREE_CUDA_TRIANGLES_MAX, KD_ERROR_USAGE,
               "the mesh has %u triangles; the device builder supports at most %d", n,
               TRITREE_CUDA_TRIANGLES_MAX);
    memset(k, 0, sizeof *k);
    k->node_capacity = build->node_capacity;
    k->reference_capacity = build->reference_capacity;
    cuda_arena arena = {(char *)build->scratch, 0};
    rule::lay_out(k, &arena, build);
    KD_REQUIRE(arena.used <= build->scratch_bytes, KD_ERROR_MEMORY,
               "`scratch_bytes` is %llu; %zu are needed", (unsigned long long)build->scratch_bytes,
               (size_t)arena.used);
    k->input = build->input;
    k->costs.traversal = build->options.traversal_cost;
    k->costs.intersect = build->options.intersect_cost;
    k->costs.empty_factor = build->options.empty_factor;
    k->max_depth = (uint32_t)tritree_depth_limit(&build->options, n);
    k->node_capacity = build->node_capacity;
    k->reference_capacity = build->reference_capacity;
    k->nodes = build->nodes;
    k->references = build->references;
    k->built = build->built;
    return KD_OK;
}

template <class rule> kd_status pipeline_build(const tritree_build_cuda *build) {
    typename rule::state k;
    cudaStream_t stream = (cudaStream_t)build->stream;
    unsigned processors = 0;
    KD_TRY(pipeline_open<rule>(&k, build));
    KD_TRY(build_mark(build, TRITREE_INIT));
    KD_TRY(cuda_processors(&processors));
    const unsigned blocks = processors * BLOCKS_A_PROCESSOR;
    KD_TRY(rule::clear(&k, blocks, stream));
    set_up<rule::positive_zero>
        <<<set_up_blocks(k.input.triangle_count, blocks), SET_UP_BLOCK, 0, stream>>>(
            k.input, k.corners, k.pool, rule::counts(k));
    KD_CUDA_LAUNCHED("set_up");
    KD_TRY(build_mark(build, TRITREE_LARGE));
    KD_TRY(rule::large(&k, blocks, stream));
    KD_TRY(build_mark(build, TRITREE_SMALL));
    KD_TRY(rule::small(&k, blocks, stream));
    KD_TRY(build_mark(build, TRITREE_OTHER));
    KD_TRY(emit(k, blocks, stream));
    KD_TRY(rule::finish(&k, blocks, stream));
    return build_mark(build, TRITREE_STAGES);
}

#endif
