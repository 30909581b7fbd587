/* The best plane of a large node, from histograms.
   Source: Hunt, Mark, Stoll 2006, and Shevtsov, Soupikov, Kapustin 2007 (binned SAH, counts of
   begins and ends), Popov et al. 2006 (bounds).
   Idea: for each axis one histogram of where boxes begin and one of where they end. Their prefix
   sums are exact counts at the bins' edges. Counts are monotone in between, so each bin has a lower
   bound of its cost; the bin of the lowest bound, if it promises more than the best edge, is
   divided again. Two passes see as well as 16384 bins. One warp an axis. */
#ifndef KD_ACCEL_KANDELA_BINS_CUH
#define KD_ACCEL_KANDELA_BINS_CUH
#include "accel/kandela_clip.cuh"

enum {
    BINS = 128,
    BINS_EACH = BINS / 32,
    SIDES_MOST = 6 * CHUNK,
    LARGE_WARPS = LARGE_BLOCK / 32,
    WARP_ALL = 0xffffffff
};

/* The best plane of a node so far. Of equal costs the first by (axis, side, position). */
struct plane_choice {
    float cost, plane;
    uint32_t code; /* axis | 4 if references in the plane go right */
};

__device__ __forceinline__ bool is_better(const plane_choice &a, const plane_choice &b) {
    return a.cost < b.cost ||
           (a.cost == b.cost && (a.code < b.code || (a.code == b.code && a.plane < b.plane)));
}

/* The best of groups of LANES lanes, for all of them. */
template <int LANES> __device__ __forceinline__ plane_choice best_of_lanes(plane_choice best) {
#pragma unroll
    for (int step = LANES / 2; step; step >>= 1) {
        plane_choice other;
        other.cost = __shfl_xor_sync(WARP_ALL, best.cost, step);
        other.plane = __shfl_xor_sync(WARP_ALL, best.plane, step);
        other.code = __shfl_xor_sync(WARP_ALL, best.code, step);
        if (is_better(other, best)) best = other;
    }
    return best;
}

/* What is chosen for an axis: its best edge, and where looking closer promises most. */
struct axis_choice {
    float cost, plane;
    float bound;
    float lo, hi;          /* of that bin */
    uint32_t begun, ended; /* references that begin, and end, below it */
    int bin;               /* BINS: none */
};

struct big_split {
    axis_choice axes[3];
    float cost, plane;
    int axis;
    bool refine[3];
    uint32_t first, children; /* rooms for both children's references, left first; raw nodes */
};

typedef uint32_t bin_counts[3][2][BINS]; /* begins, ends */

/* What a block knows of the node that it works on. */
struct large_shared {
    float lo[3][CHUNK], hi[3][CHUNK]; /* references of a chunk */
    uint32_t id[CHUNK];
    uint32_t ref_count;
    work node;
    sah_axis of[3];
    float scale[3];     /* bins a length */
    bin_counts bins[2]; /* the node's in the first, or both children's */
    float child_lo[2][3], child_scale[2][3];
    big_split split;
    uint32_t sorted[LARGE_WARPS]; /* scatter's counts by warps */
    union {
        uint16_t straddlers[CHUNK]; /* places in the chunk */
        uint16_t sides[SIDES_MOST]; /* kandela_sides.cuh */
    };
    uint32_t base_left, base_right, children;
    work child[2];
    bool waits[2]; /* a child that is large too */
    bool stop, last;
    uint32_t promised[3]; /* sides of each axis */
    plane_choice best[LARGE_WARPS];
    bool right_side;           /* of references in the plane */
    uint32_t first_task, span; /* chunks a task: several where there is enough for all blocks */
};

__device__ __forceinline__ int bin_of(float x, float lo, float scale) {
    return min(max((int)((x - lo) * scale), 0), BINS - 1);
}

__device__ __forceinline__ float bin_edge(float lo, float hi, int bin) {
    return bin == BINS ? hi : lo + (hi - lo) * ((float)bin * (1.0f / BINS));
}

__device__ __forceinline__ float bin_scale(float lo, float hi) {
    return hi > lo ? fminf(BINS / (hi - lo), FLT_MAX) : 0;
}

__device__ __forceinline__ void clear_bins(bin_counts *bins, int nodes) {
    for (int i = threadIdx.x; i < nodes * 6 * BINS; i += LARGE_BLOCK) (&bins[0][0][0][0])[i] = 0;
}

__device__ __forceinline__ void count_bins(bin_counts &bins, const float *lo, const float *hi,
                                           const float *from, const float *scale) {
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        atomicAdd(&bins[a][0][bin_of(lo[a], from[a], scale[a])], 1u);
        atomicAdd(&bins[a][1][bin_of(hi[a], from[a], scale[a])], 1u);
    }
}

/* The same for what begins or ends in the bin that is divided again. */
__device__ __forceinline__ void count_fine_bins(large_shared &s, const float *lo, const float *hi) {
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        if (!s.split.refine[a]) continue;
        const axis_choice &in = s.split.axes[a];
        const float scale = bin_scale(in.lo, in.hi);
        if (bin_of(lo[a], s.node.lo[a], s.scale[a]) == in.bin)
            atomicAdd(&s.bins[0][a][0][bin_of(lo[a], in.lo, scale)], 1u);
        if (bin_of(hi[a], s.node.lo[a], s.scale[a]) == in.bin)
            atomicAdd(&s.bins[0][a][1][bin_of(hi[a], in.lo, scale)], 1u);
    }
}

__device__ __forceinline__ uint32_t warp_scan(uint32_t value) { /* inclusive */
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
        const uint32_t other = __shfl_up_sync(WARP_ALL, value, step);
        if (lane >= step) value += other;
    }
    return value;
}

/* No plane in a bin costs less, if `begun` references begin below it and `right` end above it. */
__device__ __forceinline__ float bin_bound(const sah_costs &costs, const sah_axis &of, float edge,
                                           float next, uint32_t begun, uint32_t right) {
    const float meets = (of.base + of.slope * (edge - of.lo)) * (float)begun +
                        (of.base + of.slope * (of.hi - next)) * (float)right;
    const float factor = begun == 0 || right == 0 ? costs.empty_factor : 1;
    return costs.traversal + costs.intersect * factor * meets;
}

/* By one warp: the best edge of axis a between lo and hi, where `begun` references begin below lo
   and `ended` end there. With `bounds` also the bin of the lowest bound. */
__device__ __forceinline__ axis_choice choose_edge(const large_shared &s, const sah_costs &costs,
                                                   int a, float lo, float hi, uint32_t begun,
                                                   uint32_t ended, bool bounds) {
    const int lane = threadIdx.x & 31;
    const sah_axis of = s.of[a];
    const uint32_t count = s.node.count;
    uint32_t begins[BINS_EACH], ends[BINS_EACH], sum_begins = 0, sum_ends = 0;
#pragma unroll
    for (int i = 0; i < BINS_EACH; ++i) {
        sum_begins += begins[i] = s.bins[0][a][0][lane * BINS_EACH + i];
        sum_ends += ends[i] = s.bins[0][a][1][lane * BINS_EACH + i];
    }
    uint32_t before = begun + warp_scan(sum_begins) - sum_begins;
    uint32_t behind = ended + warp_scan(sum_ends) - sum_ends;
    axis_choice best = {INFINITY, 0, INFINITY, lo, hi, begun, ended, BINS};
#pragma unroll
    for (int i = 0; i < BINS_EACH; ++i) {
        const int bin = lane * BINS_EACH + i;
        const float edge = bin_edge(lo, hi, bin), next = bin_edge(lo, hi, bin + 1);
        if (edge > of.lo && edge < of.hi) {
            const float cost = cost_of(costs, of, edge, before, count - behind, count);
            if (cost < best.cost) best.cost = cost, best.plane = edge;
        }
        if (bounds && begins[i] + ends[i] > 0) {
            const uint32_t right = count - behind - ends[i];
            const float bound = bin_bound(costs, of, edge, next, before, right);
            if (bound < best.bound) {
                best.bound = bound;
                best.bin = bin;
                best.begun = before;
                best.ended = behind;
            }
        }
        before += begins[i];
        behind += ends[i];
    }
#pragma unroll
    for (int step = 16; step; step >>= 1) {
        const float cost = __shfl_xor_sync(WARP_ALL, best.cost, step);
        const float plane = __shfl_xor_sync(WARP_ALL, best.plane, step);
        if (cost < best.cost || (cost == best.cost && plane < best.plane))
            best.cost = cost, best.plane = plane;
        if (!bounds) continue;
        const float bound = __shfl_xor_sync(WARP_ALL, best.bound, step);
        const int bin = __shfl_xor_sync(WARP_ALL, best.bin, step);
        const uint32_t b = __shfl_xor_sync(WARP_ALL, best.begun, step);
        const uint32_t e = __shfl_xor_sync(WARP_ALL, best.ended, step);
        if (bound < best.bound || (bound == best.bound && bin < best.bin))
            best.bound = bound, best.bin = bin, best.begun = b, best.ended = e;
    }
    if (bounds && best.bin < BINS) {
        best.lo = bin_edge(lo, hi, best.bin);
        best.hi = bin_edge(lo, hi, best.bin + 1);
    }
    return best;
}

/* Each axis's choice by its warp; the block waits before and after. */
__device__ __forceinline__ void choose_edges(large_shared &s, const sah_costs &costs, bool bounds) {
    const int warp = threadIdx.x >> 5;
    __syncthreads();
    if (warp < 3) {
        const axis_choice best =
            choose_edge(s, costs, warp, pick(s.node.lo, warp), pick(s.node.hi, warp), 0, 0, bounds);
        if ((threadIdx.x & 31) == 0) s.split.axes[warp] = best;
    }
    __syncthreads();
}

/* Which edge is best, and which axes are worth a second look. One thread. */
__device__ __forceinline__ void choose_axis(big_split &split) {
    split.axis = 0;
    for (int a = 1; a < 3; ++a)
        if (split.axes[a].cost < split.axes[split.axis].cost) split.axis = a;
    split.cost = split.axes[split.axis].cost;
    split.plane = split.axes[split.axis].plane;
    for (int a = 0; a < 3; ++a)
        split.refine[a] = split.axes[a].bin < BINS && split.axes[a].bound < split.cost;
}

__device__ __forceinline__ bool wants_refinement(const big_split &split) {
    return split.refine[0] || split.refine[1] || split.refine[2];
}

/* After count_fine_bins: takes finer edges that are better. */
__device__ __forceinline__ void choose_fine_edges(large_shared &s, const sah_costs &costs) {
    const int warp = threadIdx.x >> 5;
    __syncthreads();
    if (warp < 3 && s.split.refine[warp]) {
        const axis_choice in = s.split.axes[warp];
        const axis_choice best =
            choose_edge(s, costs, warp, in.lo, in.hi, in.begun, in.ended, false);
        __syncwarp(); /* all have read what one writes */
        if ((threadIdx.x & 31) == 0 && best.cost < in.cost) {
            s.split.axes[warp].cost = best.cost;
            s.split.axes[warp].plane = best.plane;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) choose_axis(s.split);
    __syncthreads();
}

#endif
