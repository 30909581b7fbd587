/* The second look into a node of several chunks.
   Idea: all bins that promise more than the best edge are divided, evenly, into as many parts as
   the histogram has room for: of m bins an axis each into 128 / m or more, m up to 16. Where the
   one bin of the lowest bound is divided instead, the best plane is missed in scenes with small
   things far apart (the notebook). A part is a bin of a finer histogram, of which only what
   begins or ends in promising bins is counted; each of them has a slot, its parts are next to each
   other. */
#ifndef KD_ACCEL_ZHOU_REFINE_BINS_CUH
#define KD_ACCEL_ZHOU_REFINE_BINS_CUH
#include "accel/zhou/references.cuh"

enum {
    SLOT_BITS = 4,
    SLOTS = 1 << SLOT_BITS,
    NO_SLOT = 255,
    LIMIT_HALVED_MOST = 6,
    SLOT_WORDS = BINS / 4 /* a byte a bin */
};

static_assert(BINS_EACH == 4 && BINS / SLOTS >= BINS_EACH, "a lane's parts are of one bin");

/* Where a node is looked at again: each bin's slot, and what is known of each slot's bin. */
struct bin_refinement {
    uint32_t slots[3][SLOT_WORDS];
    uint32_t bin[3][SLOTS];
    uint32_t begun[3][SLOTS], ended[3][SLOTS]; /* references that begin, and end, below it */
};

/* By one warp: which bins of axis a promise more than the best edge. Of more than SLOTS the ones
   that promise most, by a limit halfway to the lowest bound, and halfway again. */
__device__ __forceinline__ void promise_axis(large_shared &s, const sah_costs &costs, int a,
                                             bin_refinement *look) {
    const int lane = threadIdx.x & 31;
    const sah_axis of = s.of[a];
    const uint32_t *begins = s.bins[0][a][0] + lane * BINS_EACH,
                   *ends = s.bins[0][a][1] + lane * BINS_EACH;
    uint32_t sum_begins = 0, sum_ends = 0;
#pragma unroll
    for (int i = 0; i < BINS_EACH; ++i) sum_begins += begins[i], sum_ends += ends[i];
    const uint32_t first_begun = warp_scan(sum_begins) - sum_begins;
    const uint32_t first_ended = warp_scan(sum_ends) - sum_ends;
    uint32_t begun = first_begun, ended = first_ended;
    float bound[BINS_EACH], least = INFINITY;
#pragma unroll
    for (int i = 0; i < BINS_EACH; ++i) {
        const int bin = lane * BINS_EACH + i;
        const uint32_t right = s.node.count - ended - ends[i];
        bound[i] = begins[i] + ends[i] == 0
                       ? INFINITY
                       : bin_bound(costs, of, bin_edge(of.lo, of.hi, bin),
                                   bin_edge(of.lo, of.hi, bin + 1), begun, right);
        least = fminf(least, bound[i]);
        begun += begins[i], ended += ends[i];
    }
#pragma unroll
    for (int step = 16; step; step >>= 1)
        least = fminf(least, __shfl_xor_sync(WARP_ALL, least, step));
    float limit = s.split.cost;
    uint32_t slot = 0, all = 0;
#pragma unroll 1
    for (int halved = 0;; ++halved) {
        uint32_t own = 0;
#pragma unroll
        for (int i = 0; i < BINS_EACH; ++i) own += bound[i] < limit ? 1 : 0;
        const uint32_t upto = warp_scan(own);
        slot = upto - own;
        all = __shfl_sync(WARP_ALL, upto, 31);
        if (all <= SLOTS || halved == LIMIT_HALVED_MOST) break;
        limit = least + (limit - least) * 0.5f;
    }
    uint32_t word = 0;
    begun = first_begun, ended = first_ended;
#pragma unroll
    for (int i = 0; i < BINS_EACH; ++i) {
        const bool has = bound[i] < limit && slot < SLOTS;
        word |= (has ? slot : (uint32_t)NO_SLOT) << 8 * i;
        if (has) {
            look->bin[a][slot] = (uint32_t)(lane * BINS_EACH + i);
            look->begun[a][slot] = begun;
            look->ended[a][slot] = ended;
            ++slot;
        }
        begun += begins[i], ended += ends[i];
    }
    look->slots[a][lane] = word;
    if (lane != 0) return;
    const uint32_t promised = min(all, (uint32_t)SLOTS);
    s.split.promised[a] = promised;
    s.split.refined[a] = BIN_BITS - (promised > 1 ? 32 - __clz((int)promised - 1) : 0);
}

/* By the whole block, once the best edge is known. */
__device__ __forceinline__ void promise_refined(large_shared &s, const sah_costs &costs,
                                                bin_refinement *look) {
    const int warp = threadIdx.x >> 5;
    __syncthreads();
    if (warp < 3) promise_axis(s, costs, warp, look);
    __syncthreads();
}

__device__ __forceinline__ bool wants_refinement(const big_split &split) {
    return split.promised[0] || split.promised[1] || split.promised[2];
}

/* What a block needs to count by; it waits for the next barrier. */
__device__ __forceinline__ void begin_refined(large_shared &s, const bin_refinement &look) {
    for (int i = threadIdx.x; i < 3 * SLOT_WORDS; i += LARGE_BLOCK)
        ((uint32_t *)&s.slots[0][0])[i] = (&look.slots[0][0])[i];
    if (threadIdx.x < 3)
        s.refined_scale[threadIdx.x] =
            fminf(s.scale[threadIdx.x] * (float)(1u << s.split.refined[threadIdx.x]), FLT_MAX);
}

__device__ __forceinline__ void count_refined(large_shared &s, int a, int ends, float x) {
    const int refined = (int)s.split.refined[a], parts = 1 << refined;
    const int part =
        min(max((int)((x - s.node.lo[a]) * s.refined_scale[a]), 0), (BINS << refined) - 1);
    const uint32_t slot = s.slots[a][part >> refined];
    if (slot != NO_SLOT)
        atomicAdd(&s.bins[0][a][ends][(slot << refined) + (uint32_t)(part & (parts - 1))], 1u);
}

__device__ __forceinline__ void count_refs_refined(large_shared &s) {
    FOR_OWN(s, i) {
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            if (s.split.promised[a] == 0) continue;
            count_refined(s, a, 0, s.lo[a][i]);
            count_refined(s, a, 1, s.hi[a][i]);
        }
    }
}

/* By one warp: the best edge of axis a between the parts of bins. */
__device__ __forceinline__ plane_choice choose_part(const large_shared &s, const sah_costs &costs,
                                                    int a, const bin_refinement &look) {
    const int first = (threadIdx.x & 31) * BINS_EACH, refined = (int)s.split.refined[a];
    const uint32_t slot = (uint32_t)(first >> refined), count = s.node.count;
    const sah_axis of = s.of[a];
    uint32_t begins[BINS_EACH], ends[BINS_EACH], sum_begins, sum_ends;
    load_bins(s, a, begins, ends, sum_begins, sum_ends);
    const int width = (1 << refined) / BINS_EACH;
    uint32_t begun = group_scan(sum_begins, width) - sum_begins;
    uint32_t ended = group_scan(sum_ends, width) - sum_ends;
    plane_choice best = {INFINITY, 0, (uint32_t)a};
    if (slot < s.split.promised[a]) {
        begun += look.begun[a][slot];
        ended += look.ended[a][slot];
        const int part = ((int)look.bin[a][slot] << refined) + (first & ((1 << refined) - 1));
        const float share = 1.0f / (float)(BINS << refined);
        try_edges(best, costs, of, begins, ends, begun, ended, count,
                  [&](int i) { return of.lo + (of.hi - of.lo) * ((float)(part + i) * share); });
    }
    return best_of_lanes<32>(best);
}

/* s.bins[0] holds all that was counted: takes finer edges that are better. By the whole block. */
__device__ __forceinline__ void choose_refined(large_shared &s, const sah_costs &costs,
                                               const bin_refinement &look) {
    const int warp = threadIdx.x >> 5;
    __syncthreads();
    if (warp < 3 && s.split.promised[warp]) {
        const plane_choice best = choose_part(s, costs, warp, look);
        if ((threadIdx.x & 31) == 0 && best.cost < s.split.axes[warp].cost)
            s.split.axes[warp] = best;
    }
    __syncthreads();
    if (threadIdx.x == 0) choose_axis(s.split);
    __syncthreads();
}

#endif
