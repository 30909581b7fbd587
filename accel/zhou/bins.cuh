/* The best plane of a large node, from histograms.
   Source: Hunt, Mark, Stoll 2006, and Shevtsov, Soupikov, Kapustin 2007 (binned SAH, counts of
   starts and ends), Popov et al. 2006 (bounds).
   Idea: for each axis, one histogram of where boxes begin and one of where they end. Their prefix
   sums are exact counts at the edges of bins. Counts are monotonic in between, so each bin has a
   lower bound of its cost. Bins whose bound is below the cost of the best edge are refined
   (binned_large.cuh, binned_one_block.cuh). One warp per axis. */
#ifndef KD_ACCEL_ZHOU_BINS_CUH
#define KD_ACCEL_ZHOU_BINS_CUH
#include "accel/zhou/binned_state.cuh"

/* Clips a triangle: a box around its part on one side of a plane, inside a given box.
   Idea: the corners on that side and the points where edges cross the plane bound the part in the
   half-space. That box and the given one both contain the part, and so does their intersection. The
   triangle's plane then bounds each coordinate in terms of the other two. This takes half the
   operations of clipping against all six planes and gives trees of the same cost.
   Invariants: the box is never too small. A crossing is computed with an error of at most 2^-20 of
   the edge's coordinates, is widened by that, and never leaves the interval of the edge, so flat
   boxes stay flat. The bounds from the plane are widened by 2^-20 of the terms of their sums. */

__device__ __forceinline__ void clip_axis(float from, float to, float s, float *lo, float *hi) {
    const float at = from + s * (to - from);
    const float off = fmaxf(fabsf(from), fabsf(to)) * 0x1p-20f;
    *lo = fminf(*lo, fmaxf(at - off, fminf(from, to)));
    *hi = fmaxf(*hi, fminf(at + off, fmaxf(from, to)));
}

/* One coordinate of a cross product, and the scale of its rounding error. */
__device__ __forceinline__ void normal_axis(float u, float v, float w, float x, float *normal,
                                            float *terms) {
    const float plus = u * x, minus = v * w;
    *normal = plus - minus;
    *terms = fabsf(plus) + fabsf(minus);
}

/* Narrows lo, hi of one coordinate x by the plane: normal (x - at) lies between `minimum` and
   `maximum`. NaN bounds nothing. */
__device__ __forceinline__ void narrow_axis(float at, float normal, float minimum, float maximum,
                                            float *lo, float *hi) {
    const float inverse = __fdividef(1, normal), p = minimum * inverse, q = maximum * inverse;
    const float off = (fabsf(at) + fmaxf(fabsf(p), fabsf(q))) * 0x1p-20f;
    *lo = fmaxf(*lo, at + fminf(p, q) - off);
    *hi = fminf(*hi, at + fmaxf(p, q) + off);
}

/* Narrows a box that contains a part of the triangle: with the normal n and the first corner a, n_x
   (x - a_x) = -n_y (y - a_y) - n_z (z - a_z) in the triangle's plane, which y and z bound. */
__device__ __forceinline__ void narrow_to_plane(const float4 corner[3], float4 *lo, float4 *hi) {
    const float4 a = corner[0], b = corner[1], c = corner[2];
    const float bx = b.x - a.x, by = b.y - a.y, bz = b.z - a.z;
    const float cx = c.x - a.x, cy = c.y - a.y, cz = c.z - a.z;
    float nx, ny, nz, tx, ty, tz;
    normal_axis(by, bz, cy, cz, &nx, &tx);
    normal_axis(bz, bx, cz, cx, &ny, &ty);
    normal_axis(bx, by, cx, cy, &nz, &tz);
    const float x0 = lo->x - a.x, y0 = lo->y - a.y, z0 = lo->z - a.z;
    const float x1 = hi->x - a.x, y1 = hi->y - a.y, z1 = hi->z - a.z;
    const float reach_x = fmaxf(fabsf(x0), fabsf(x1)), reach_y = fmaxf(fabsf(y0), fabsf(y1)),
                reach_z = fmaxf(fabsf(z0), fabsf(z1));
    const float off = (tx * reach_x + ty * reach_y + tz * reach_z) * 0x1p-20f;
    /* Skipped where underflow could exceed `off`, or where a reciprocal could be flushed to 0. */
    if (!(off > 1e-30f * (1 + reach_x + reach_y + reach_z) && tx + ty + tz < 0x1p120f)) return;
    const float px = nx * x0, qx = nx * x1, py = ny * y0, qy = ny * y1, pz = nz * z0, qz = nz * z1;
    const float min_x = fminf(px, qx), min_y = fminf(py, qy), min_z = fminf(pz, qz);
    const float max_x = fmaxf(px, qx), max_y = fmaxf(py, qy), max_z = fmaxf(pz, qz);
    narrow_axis(a.x, nx, -(max_y + max_z) - off, off - (min_y + min_z), &lo->x, &hi->x);
    narrow_axis(a.y, ny, -(max_z + max_x) - off, off - (min_z + min_x), &lo->y, &hi->y);
    narrow_axis(a.z, nz, -(max_x + max_y) - off, off - (min_x + min_y), &lo->z, &hi->z);
}

/* Shrinks `part`, which is already cut at the plane, to the triangle's part in it. */
__device__ __noinline__ clipped clip_half(const float4 *corners, int axis, float plane, bool right,
                                          clipped part) {
    const float4 corner[3] = {__ldg(corners), __ldg(corners + 1), __ldg(corners + 2)};
    float4 lo = make_float4(INFINITY, INFINITY, INFINITY, 0);
    float4 hi = make_float4(-INFINITY, -INFINITY, -INFINITY, 0);
#pragma unroll
    for (int e = 0; e < 3; ++e) {
        const float4 p = corner[e], q = corner[e == 2 ? 0 : e + 1];
        const float cp = pick4(p, axis), cq = pick4(q, axis);
        if (right ? cp >= plane : cp <= plane) {
            lo = make_float4(fminf(lo.x, p.x), fminf(lo.y, p.y), fminf(lo.z, p.z), 0);
            hi = make_float4(fmaxf(hi.x, p.x), fmaxf(hi.y, p.y), fmaxf(hi.z, p.z), 0);
        }
        if ((cp < plane && cq > plane) || (cp > plane && cq < plane)) {
            const float s = __fdividef(plane - cp, cq - cp);
            clip_axis(p.x, q.x, s, &lo.x, &hi.x);
            clip_axis(p.y, q.y, s, &lo.y, &hi.y);
            clip_axis(p.z, q.z, s, &lo.z, &hi.z);
        }
    }
    lo = make_float4(fmaxf(lo.x, part.lo.x), fmaxf(lo.y, part.lo.y), fmaxf(lo.z, part.lo.z),
                     part.lo.w);
    hi = make_float4(fminf(hi.x, part.hi.x), fminf(hi.y, part.hi.y), fminf(hi.z, part.hi.z), 0);
    narrow_to_plane(corner, &lo, &hi);
    /* An empty result keeps the wide box. */
    if (lo.x <= hi.x && lo.y <= hi.y && lo.z <= hi.z) {
        part.lo = lo;
        part.hi = hi;
    }
    return part;
}

/* Returns one side's part of a reference that straddles the plane. */
__device__ __forceinline__ clipped clip_side(const binned &k, clipped ref, int axis, float plane,
                                             bool right) {
    if (right)
        put4(&ref.lo, axis, plane);
    else
        put4(&ref.hi, axis, plane);
    return clip_half(k.corners + 3 * (uint64_t)__float_as_uint(ref.lo.w), axis, plane, right, ref);
}

enum {
    BIN_BITS = 7,
    BINS = 1 << BIN_BITS,
    BINS_EACH = BINS / 32,
    SIDES_MAX = 6 * CHUNK,
    LARGE_WARPS = LARGE_BLOCK / 32
};

/* A candidate for the best plane of a node. Of equal costs the first by (axis, side, position)
   wins. */
struct plane_choice {
    float cost, plane;
    uint32_t code; /* axis | 4 if references in the plane go right */
};

__device__ __forceinline__ bool is_better(const plane_choice &a, const plane_choice &b) {
    return a.cost < b.cost ||
           (a.cost == b.cost && (a.code < b.code || (a.code == b.code && a.plane < b.plane)));
}

/* Returns the best of groups of LANES lanes, in all of them. */
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

struct big_split {
    plane_choice axes[3]; /* best edge of each axis */
    float cost, plane;
    int axis;
    uint32_t promised[3], refined[3]; /* binned_large.cuh */
    uint32_t first, children;         /* children's references, left first; children's raw nodes */
};

typedef uint32_t bin_counts[3][2][BINS]; /* begins, ends */

/* A block's data about the node that it processes. */
struct large_shared {
    float lo[3][CHUNK], hi[3][CHUNK]; /* references of a chunk */
    uint32_t id[CHUNK];
    uint32_t ref_count;
    work node;
    sah_axis areas[3];
    float scale[3];     /* bins per unit of length */
    bin_counts bins[2]; /* the node's in the first, or those of both children */
    float child_lo[2][3], child_scale[2][3];
    float refined_scale[3]; /* subdivisions of bins per unit of length */
    big_split split;
    uint32_t sorted[LARGE_WARPS]; /* counts of the scatter, per warp */
    union {
        uint16_t straddlers[CHUNK]; /* indices in the chunk */
        uint16_t sides[SIDES_MAX];  /* binned_one_block.cuh */
        uint8_t slots[3][BINS];     /* binned_large.cuh */
    };
    uint32_t base_left, base_right, children;
    work child[2];
    bool waits[2]; /* the child is large, too */
    bool stop, last;
    uint32_t promised[3]; /* sides listed per axis */
    plane_choice best[LARGE_WARPS];
    bool right_side; /* references in the plane go right */
    /* chunks per task: several if there are enough tasks for all blocks */
    uint32_t first_task, span;
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

/* Returns a lower bound of the cost of planes in a bin, if `begun` references begin below it and
   `right` end above it. */
__device__ __forceinline__ float bin_bound(const sah_costs &costs, const sah_axis &areas,
                                           float edge, float next, uint32_t begun, uint32_t right) {
    const float expected = (areas.base + areas.slope * (edge - areas.lo)) * (float)begun +
                           (areas.base + areas.slope * (areas.hi - next)) * (float)right;
    const float factor = begun == 0 || right == 0 ? costs.empty_factor : 1;
    return costs.traversal + costs.intersect * factor * expected;
}

/* Loads a lane's bins of an axis, and the sums of their starts and ends. */
__device__ __forceinline__ void load_bins(const large_shared &s, int a,
                                          uint32_t (&begins)[BINS_EACH],
                                          uint32_t (&ends)[BINS_EACH], uint32_t &sum_begins,
                                          uint32_t &sum_ends) {
    const int first = (threadIdx.x & 31) * BINS_EACH;
    sum_begins = sum_ends = 0;
#pragma unroll
    for (int i = 0; i < BINS_EACH; ++i) {
        sum_begins += begins[i] = s.bins[0][a][0][first + i];
        sum_ends += ends[i] = s.bins[0][a][1][first + i];
    }
}

/* Tries the edges where a lane's bins begin; `begun` and `ended` are the counts below the first of
   them; edge_of(i) is the edge of its bin i. */
template <class edges>
__device__ __forceinline__ void
try_edges(plane_choice &best, const sah_costs &costs, const sah_axis &areas,
          const uint32_t (&begins)[BINS_EACH], const uint32_t (&ends)[BINS_EACH], uint32_t begun,
          uint32_t ended, uint32_t count, edges edge_of) {
#pragma unroll
    for (int i = 0; i < BINS_EACH; ++i) {
        const float edge = edge_of(i);
        if (edge > areas.lo && edge < areas.hi) {
            const float cost = cost_of(costs, areas, edge, begun, count - ended, count);
            if (cost < best.cost) best.cost = cost, best.plane = edge;
        }
        begun += begins[i];
        ended += ends[i];
    }
}

/* Returns the best edge of axis a. All lanes of a warp must call it. */
__device__ __forceinline__ plane_choice choose_edge(const large_shared &s, const sah_costs &costs,
                                                    int a) {
    const int lane = threadIdx.x & 31;
    const sah_axis areas = s.areas[a];
    const uint32_t count = s.node.count;
    uint32_t begins[BINS_EACH], ends[BINS_EACH], sum_begins, sum_ends;
    load_bins(s, a, begins, ends, sum_begins, sum_ends);
    const uint32_t begun = warp_scan(sum_begins) - sum_begins,
                   ended = warp_scan(sum_ends) - sum_ends;
    plane_choice best = {INFINITY, 0, (uint32_t)a};
    try_edges(best, costs, areas, begins, ends, begun, ended, count,
              [&](int i) { return bin_edge(areas.lo, areas.hi, lane * BINS_EACH + i); });
    return best_of_lanes<32>(best);
}

/* Chooses each axis' best edge, one warp per axis; synchronises the block before and after. */
__device__ __forceinline__ void choose_edges(large_shared &s, const sah_costs &costs) {
    const int warp = threadIdx.x >> 5;
    __syncthreads();
    if (warp < 3) {
        const plane_choice best = choose_edge(s, costs, warp);
        if ((threadIdx.x & 31) == 0) s.split.axes[warp] = best;
    }
    __syncthreads();
}

/* Chooses the best axis. Called by one thread. */
__device__ __forceinline__ void choose_axis(big_split &split) {
    split.axis = 0;
    for (int a = 1; a < 3; ++a)
        if (split.axes[a].cost < split.axes[split.axis].cost) split.axis = a;
    split.cost = split.axes[split.axis].cost;
    split.plane = split.axes[split.axis].plane;
}

#endif
