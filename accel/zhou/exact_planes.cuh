/* The best plane of a large node of at most CHUNK references, exactly.
   Idea: a bin's lower bound (bins.cuh) rules it out if the best edge costs no more. What
   begins or ends in the bins that are left is listed bin by bin; each of these sides is tried as a
   plane. All before its bin is known from the bins' sums, so only its own bin's sides are
   counted. */
#ifndef KD_ACCEL_ZHOU_EXACT_PLANES_CUH
#define KD_ACCEL_ZHOU_EXACT_PLANES_CUH
#include "accel/zhou/references.cuh"

/* A side of a reference: its place in the chunk, its axis << 9, and where it ends, not begins. */
enum { SIDE_ENDS = 1 << 11 };

__device__ __forceinline__ float side_at(const large_shared &s, uint32_t side, int axis) {
    const uint32_t i = side & (CHUNK - 1);
    return side & SIDE_ENDS ? s.hi[axis][i] : s.lo[axis][i];
}

/* Of s.bins[1] in this file: for a bin of an axis, the first of its listed sides and how many they
   are; and how many references begin, and end, below it. Both pairs take 16 bits a number. */
__device__ __forceinline__ uint32_t pack_pair(uint32_t low, uint32_t high) {
    return low | high << 16;
}

/* By one warp: which bins of axis a promise more than the best edge, and rooms for their sides,
   from 0 on. Returns how many sides these are. s.bins[0] becomes zero, to count what is listed. */
__device__ __forceinline__ uint32_t promise_bins(large_shared &s, const sah_costs &costs, int a) {
    const int lane = threadIdx.x & 31;
    const sah_axis of = s.of[a];
    const uint32_t count = s.node.count;
    uint32_t both[BINS_EACH], sum = 0; /* begins, ends */
#pragma unroll
    for (int i = 0; i < BINS_EACH; ++i) {
        const int bin = lane * BINS_EACH + i;
        sum += both[i] = pack_pair(s.bins[0][a][0][bin], s.bins[0][a][1][bin]);
        s.bins[0][a][0][bin] = 0;
    }
    uint32_t below = warp_scan(sum) - sum, listed[BINS_EACH], all = 0;
#pragma unroll
    for (int i = 0; i < BINS_EACH; ++i) {
        const int bin = lane * BINS_EACH + i;
        const float edge = bin_edge(of.lo, of.hi, bin), next = bin_edge(of.lo, of.hi, bin + 1);
        const uint32_t begun = below & 0xffff, right = count - (below >> 16) - (both[i] >> 16);
        listed[i] = bin_bound(costs, of, edge, next, begun, right) < s.split.cost
                        ? (both[i] & 0xffff) + (both[i] >> 16)
                        : 0;
        s.bins[1][a][1][bin] = below;
        all += listed[i];
        below += both[i];
    }
    const uint32_t upto = warp_scan(all);
    uint32_t first = upto - all;
#pragma unroll
    for (int i = 0; i < BINS_EACH; ++i) {
        s.bins[1][a][0][lane * BINS_EACH + i] = pack_pair(first, listed[i]);
        first += listed[i];
    }
    return __shfl_sync(WARP_ALL, upto, 31);
}

/* By the whole block; returns how many sides there are. */
__device__ __forceinline__ uint32_t promise_sides(large_shared &s, const sah_costs &costs) {
    const int warp = threadIdx.x >> 5;
    __syncthreads(); /* the best edge is known */
    if (warp < 3) {
        const uint32_t promised = promise_bins(s, costs, warp);
        if ((threadIdx.x & 31) == 0) s.promised[warp] = promised;
    }
    __syncthreads();
    return s.promised[0] + s.promised[1] + s.promised[2];
}

__device__ __forceinline__ void list_sides(large_shared &s) {
    FOR_OWN(s, i) {
        uint32_t first = 0;
#pragma unroll
        for (int a = 0; a < 3; ++a) {
#pragma unroll
            for (int ends = 0; ends < 2; ++ends) {
                const int bin = bin_of(ends ? s.hi[a][i] : s.lo[a][i], s.node.lo[a], s.scale[a]);
                const uint32_t room = s.bins[1][a][0][bin];
                if (room >> 16 == 0) continue;
                const uint32_t at = (room & 0xffff) + atomicAdd(&s.bins[0][a][0][bin], 1u);
                s.sides[first + at] =
                    (uint16_t)(i | (uint32_t)a << 9 | (ends ? (uint32_t)SIDE_ENDS : 0u));
            }
            first += s.promised[a];
        }
    }
}

/* Tries a listed side. */
__device__ __forceinline__ void try_side(plane_choice &best, const large_shared &s,
                                         const sah_costs &costs, uint32_t side) {
    const int axis = (int)(side >> 9 & 3);
    const uint32_t ref = side & (CHUNK - 1);
    const float plane = side_at(s, side, axis);
    const sah_axis of = s.of[axis];
    if (!is_candidate(of, plane, s.lo[axis][ref] == s.hi[axis][ref])) return;
    const int bin = bin_of(plane, s.node.lo[axis], s.scale[axis]);
    const uint32_t room = s.bins[1][axis][0][bin], below = s.bins[1][axis][1][bin];
    uint32_t begin = room & 0xffff, in = 0;
    if (axis > 0) begin += s.promised[0];
    if (axis > 1) begin += s.promised[1];
    uint32_t left = below & 0xffff, ended = below >> 16;
#pragma unroll 1
    for (uint32_t j = begin, end = begin + (room >> 16); j < end; ++j) {
        const uint32_t other = s.sides[j];
        const float at = side_at(s, other, axis);
        if (other & SIDE_ENDS) {
            ended += at <= plane;
            in += at == plane && s.lo[axis][other & (CHUNK - 1)] == plane;
        } else {
            left += at < plane;
        }
    }
    /* what lies in the plane has ended, and not begun before it */
    const uint32_t count = s.node.count, right = count - ended;
    plane_choice tried = {cost_of(costs, of, plane, left + in, right, count), plane,
                          (uint32_t)axis};
    if (plane < of.hi && is_better(tried, best)) best = tried;
    if (in == 0 || plane == of.lo) return;
    tried.cost = cost_of(costs, of, plane, left, right + in, count);
    tried.code |= 4;
    if (is_better(tried, best)) best = tried;
}

/* s.split, an edge until now, becomes the best of all planes. By the whole block. */
__device__ __forceinline__ void choose_side(large_shared &s, const sah_costs &costs,
                                            uint32_t promised) {
    const int warp = threadIdx.x >> 5;
    list_sides(s);
    __syncthreads();
    plane_choice best = {INFINITY, 0, 8};
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < promised; i += LARGE_BLOCK)
        try_side(best, s, costs, s.sides[i]);
    best = best_of_lanes<32>(best);
    if ((threadIdx.x & 31) == 0) s.best[warp] = best;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < LARGE_WARPS; ++w)
            if (is_better(s.best[w], best)) best = s.best[w];
        if (best.cost < s.split.cost) {
            s.split.cost = best.cost;
            s.split.plane = best.plane;
            s.split.axis = (int)(best.code & 3);
            s.right_side = (best.code & 4) != 0;
        }
    }
    __syncthreads();
}

#endif
