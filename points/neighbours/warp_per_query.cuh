/* One warp per query, over leaves of about 32 points under boxes in groups of 32.
   Kept because, for few queries and k from 8 on, it is 1.5 to 3.2 times as fast as the next best
   method, because only it and the walk support k above 112, and for all queries within a radius.
   Its kernels for few neighbours are 1.09 to 2.4 times as fast as those for more
   (tools/bench/results/h200-variants.txt).
   Idea: each lane computes the distance to one of the 32 boxes of a group, and the warp continues
         with the nearest box; the distances are kept in shared memory. In a leaf, each lane tests
         one point. Points within the bound go to a buffer of more than k; when it is full, a
         bisection of the bits of dist2, counted by ballots, keeps the k nearest or a few more and
         lowers the bound. Only the final step is exact, by dist2 and then by id.
   Work: a step costs a load of 1 KiB or 512 bytes, a minimum and a ballot.
   Data flow: one warp per query: query, boxes, leaves -> a buffer in shared memory -> its row;
              packets, groups -> the list of queries split off -> nearest_split, in the same way;
              count_by_leaves -> counts, which become offsets; fill_by_leaves: the same search ->
              the row from its offset on. */
#ifndef KD_POINTS_NEIGHBOURS_WARP_PER_QUERY_CUH
#define KD_POINTS_NEIGHBOURS_WARP_PER_QUERY_CUH
#include "core/device/dependent_launch.cuh"
#include "points/neighbours/leaf_index.cuh"
#include <limits.h>

namespace point_index {

constexpr int LEAVES_WARPS = 4; /* per block */

struct descent {
    /* for each group above the current one: distances of the boxes not visited yet */
    int left[POINT_BOX_LEVELS][32];
};

__device__ inline uint32_t lane_id() {
    return threadIdx.x & 31;
}

/* The bounding box of several queries, or a single query. */
struct query_box {
    vec3 lo, hi;
};

/* Lower bound of dist2 between a point in a box and a query in another; rounded as in
   pointtree_dist2, so it never exceeds that of any such pair. */
__device__ inline float boxes_dist2(vec3 lo, vec3 hi, const query_box &q) {
    const float x = fmaxf(fmaxf(lo.x - q.hi.x, q.lo.x - hi.x), 0.0f);
    const float y = fmaxf(fmaxf(lo.y - q.hi.y, q.lo.y - hi.y), 0.0f);
    const float z = fmaxf(fmaxf(lo.z - q.hi.z, q.lo.z - hi.z), 0.0f);
    return x * x + y * y + z * z;
}

/* Sort key of a box: the bits of its dist2. Boxes that touch the queries' box come first, and among
   these the one nearest to its centre. */
__device__ inline int box_order(vec3 lo, vec3 hi, const query_box &q, bool many) {
    const float dist2 = boxes_dist2(lo, hi, q);
    if (!many || dist2 > 0) return (int)__float_as_uint(dist2);
    const vec3 middle = vec3_scale(vec3_add(q.lo, q.hi), 0.5f);
    return (int)__float_as_uint(boxes_dist2(lo, hi, {middle, middle})) - INT_MAX;
}

/* This lane's box of a group. */
struct lane_box {
    int order;          /* INT_MAX: no box */
    point_range points; /* points of a leaf */
};

__device__ inline lane_box box_of_lane(const view &index, uint32_t level, uint32_t group,
                                       const query_box &q, bool many) {
    const uint32_t box = group * 32 + lane_id();
    if (box >= index.box_count[level]) return {INT_MAX, {0, 0}};
    const float4 *at = index.boxes + 2 * (index.box_begin[level] + (uint64_t)box);
    const float4 a = at[0], b = at[1];
    return {box_order(xyz(a), vec3_make(a.w, b.x, b.y), q, many),
            {__float_as_uint(b.z), __float_as_uint(b.w)}};
}

/* Calls visit(leaf, its points) for every leaf that the bound does not exclude, the nearest of each
   group first. bound() returns the float bits of the largest bound of any of the queries. */
template <class BOUND, class VISIT>
__device__ inline void visit_leaves(const view &index, descent &path, const query_box &q, bool many,
                                    const BOUND &bound, const VISIT &visit) {
    int *above = &path.left[0][lane_id()]; /* the next level follows after 32 elements */
    uint32_t level = index.box_levels - 1, group = 0;
    lane_box lane_box = box_of_lane(index, level, 0, q, many);
    int left = lane_box.order;
    for (;;) {
        const int minimum = __reduce_min_sync(ALL_LANES, left);
        if (minimum > (int)bound()) {
            if (++level == index.box_levels) return;
            left = above[32 * level];
            group >>= 5;
            continue;
        }
        const uint32_t nearest =
            (uint32_t)__ffs((int)__ballot_sync(ALL_LANES, left == minimum)) - 1;
        if (lane_id() == nearest) left = INT_MAX;
        const uint32_t box = group * 32 + nearest;
        if (level > 0) {
            above[32 * level] = left;
            group = box;
            lane_box = box_of_lane(index, --level, group, q, many);
            left = lane_box.order;
            continue;
        }
        visit(box, {__shfl_sync(ALL_LANES, lane_box.points.begin, nearest),
                    __shfl_sync(ALL_LANES, lane_box.points.end, nearest)});
    }
}

/* For one query: calls take(dist2 bits, id) with one point per lane, or KD_NONE for none. */
template <class BOUND, class TAKE>
__device__ inline void visit_points(const view &index, descent &path, vec3 q, const BOUND &bound,
                                    const TAKE &take) {
    visit_leaves(index, path, {q, q}, false, bound, [&](uint32_t, point_range range) {
        for (uint32_t at = range.begin; at < range.end; at += 32) {
            uint32_t dist2 = KD_NONE, id = 0;
            if (at + lane_id() < range.end) {
                const float4 p = index.points[at + lane_id()];
                dist2 = __float_as_uint(pointtree_dist2(q, xyz(p)));
                id = __float_as_uint(p.w);
            }
            take(dist2, id);
        }
    });
}

/* The nearest points so far, at most 32 * PARTS, and the resulting bound. */
template <int PARTS> struct nearest_buffer {
    static constexpr uint32_t CAPACITY = 32 * PARTS;
    uint32_t *dist2, *id; /* in shared memory, per warp */
    uint32_t k, count, bound;

    __device__ void offer(uint32_t new_dist2, uint32_t new_id) {
        const bool useful = new_dist2 <= bound; /* KD_NONE exceeds every bound */
        const unsigned all = __ballot_sync(ALL_LANES, useful);
        if (!all) return;
        const uint32_t at = count + __popc(all & ((1u << lane_id()) - 1));
        if (useful) dist2[at] = new_dist2, id[at] = new_id;
        count += __popc(all);
        if (count > CAPACITY - 32) shrink((k + CAPACITY - 32) / 2);
    }

    /* Keeps the k nearest and at most `maximum` in all. */
    __device__ void shrink(uint32_t maximum) {
        uint32_t d[PARTS], i[PARTS], minimum = KD_NONE, last = 0;
        __syncwarp();
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            const uint32_t at = part * 32 + lane_id();
            d[part] = at < count ? dist2[at] : KD_NONE;
            i[part] = at < count ? id[at] : KD_NONE;
            minimum = min(minimum, d[part]);
            last = max(last, at < count ? d[part] : 0);
        }
        uint32_t lo = __reduce_min_sync(ALL_LANES, minimum),
                 hi = __reduce_max_sync(ALL_LANES, last);
        uint32_t within = count; /* points up to hi */
        while (lo < hi && within > maximum) {
            const uint32_t middle = lo + (hi - lo) / 2;
            uint32_t below = 0;
#pragma unroll
            for (int part = 0; part < PARTS; ++part)
                below += __popc(__ballot_sync(ALL_LANES, d[part] <= middle));
            if (below >= k)
                hi = middle, within = below;
            else
                lo = middle + 1;
        }
        const uint32_t last_id = within > maximum ? id_limit(d, i, hi) : KD_NONE;
        __syncwarp();
        count = 0;
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
            const bool keep = d[part] < hi || (d[part] == hi && i[part] <= last_id);
            const unsigned all = __ballot_sync(ALL_LANES, keep);
            const uint32_t at = count + __popc(all & ((1u << lane_id()) - 1));
            if (keep) dist2[at] = d[part], id[at] = i[part];
            count += __popc(all);
        }
        __syncwarp();
        bound = hi;
    }

    /* Returns the greatest id that is kept among the points with dist2 equal to `tie`, so that k
       are kept in all. */
    __device__ uint32_t id_limit(const uint32_t (&d)[PARTS], const uint32_t (&i)[PARTS],
                                 uint32_t tie) const {
        uint32_t before = 0, lo = 0, hi = KD_NONE;
#pragma unroll
        for (int part = 0; part < PARTS; ++part)
            before += __popc(__ballot_sync(ALL_LANES, d[part] < tie));
        while (lo < hi) {
            const uint32_t middle = lo + (hi - lo) / 2;
            uint32_t within = before;
#pragma unroll
            for (int part = 0; part < PARTS; ++part)
                within += __popc(__ballot_sync(ALL_LANES, d[part] == tie && i[part] <= middle));
            if (within >= k)
                hi = middle;
            else
                lo = middle + 1;
        }
        return hi;
    }
};

__device__ inline bool answer_before(uint32_t dist2, uint32_t id, uint32_t other_dist2,
                                     uint32_t other_id) {
    return (dist2 < other_dist2) | ((dist2 == other_dist2) & (id < other_id));
}

/* A warp sorts `count` results by (dist2, id) in place with a bitonic network in the form whose
   comparisons all have the same direction: elements beyond the end count as greatest and never
   move. */
__device__ inline void sort_answers(uint32_t *dist2, uint32_t *id, uint32_t count) {
    for (uint32_t run = 2; run < 2 * count; run *= 2)
        for (uint32_t step = run / 2; step > 0; step /= 2) {
            __syncwarp();
            for (uint32_t pair = lane_id(); pair < (count + run) / 2; pair += 32) {
                const uint32_t low = pair / step * 2 * step + pair % step;
                const uint32_t high =
                    step == run / 2 ? low / run * run + run - 1 - low % run : low + step;
                if (high >= count) continue;
                const uint32_t d = dist2[low], i = id[low], e = dist2[high], j = id[high];
                if (!answer_before(e, j, d, i)) continue;
                dist2[low] = e, id[low] = j;
                dist2[high] = d, id[high] = i;
            }
        }
    __syncwarp();
}

struct answer_rows {
    uint32_t *ids;
    float *dist2;
    uint32_t *counts;
};

/* Stores one result; either array may be NULL. */
__device__ inline void store_answer(const answer_rows &out, uint64_t at, uint32_t id,
                                    uint32_t dist2) {
    if (out.ids) out.ids[at] = id;
    if (out.dist2) out.dist2[at] = __uint_as_float(dist2);
}

/* Bitonic sort of 32 * PARTS keys of a warp: key e is in lane e % 32, part e / 32. */
template <int PARTS> __device__ inline void sort_keys(unsigned long long (&key)[PARTS]) {
#pragma unroll
    for (uint32_t run = 2; run <= 32 * PARTS; run *= 2)
#pragma unroll
        for (uint32_t step = run / 2; step > 0; step /= 2)
#pragma unroll
            for (int part = 0; part < PARTS; ++part) {
                const uint32_t e = part * 32 + lane_id();
                if (step >= 32) {
                    const int other = part ^ (int)(step / 32);
                    if (other < part) continue;
                    const bool up = (part * 32 & run) == 0;
                    const unsigned long long a = key[part], b = key[other];
                    key[part] = (b < a) == up ? b : a;
                    key[other] = (b < a) == up ? a : b;
                } else {
                    const unsigned long long other = __shfl_xor_sync(ALL_LANES, key[part], step);
                    const bool minimum = ((e & run) == 0) == ((e & step) == 0);
                    key[part] = (other < key[part]) == minimum ? other : key[part];
                }
            }
}

/* Sorts at most 32 * PARTS results and stores the first k. */
template <int PARTS>
__device__ inline void store_sorted(const answer_rows &out, uint64_t row, uint32_t k,
                                    const uint32_t *dist2, const uint32_t *id, uint32_t count) {
    unsigned long long key[PARTS];
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
        const uint32_t at = part * 32 + lane_id();
        key[part] = at < count ? (unsigned long long)dist2[at] << 32 | id[at] : ~0ull;
    }
    sort_keys<PARTS>(key);
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
        const uint32_t at = part * 32 + lane_id();
        if (at < k && at < count)
            store_answer(out, row + at, (uint32_t)key[part], (uint32_t)(key[part] >> 32));
    }
}

/* Stores the first k results: few are sorted in registers, including those beyond k; many are
   reduced to k and sorted in place. */
template <int PARTS>
__device__ inline void store_row(const answer_rows &out, uint32_t which,
                                 nearest_buffer<PARTS> &best) {
    const uint32_t k = best.k, sorted = k <= 32 ? 32 : k <= 64 ? 64 : k <= 128 ? 128 : k;
    const uint64_t row = (uint64_t)which * k;
    __syncwarp();
    if (best.count > sorted) best.shrink(sorted);
    const uint32_t count = best.count < k ? best.count : k;
    if (PARTS <= 3 && k <= 32)
        store_sorted<1>(out, row, k, best.dist2, best.id, best.count);
    else if (PARTS >= 3 && PARTS <= 4 && k <= 64)
        store_sorted<2>(out, row, k, best.dist2, best.id, best.count);
    else if (PARTS >= 4 && PARTS <= 6 && k <= 128)
        store_sorted<4>(out, row, k, best.dist2, best.id, best.count);
    else {
        sort_answers(best.dist2, best.id, best.count);
        for (uint32_t i = lane_id(); i < count; i += 32)
            store_answer(out, row + i, best.id[i], best.dist2[i]);
    }
    for (uint32_t i = count + lane_id(); i < k; i += 32)
        store_answer(out, row + i, KD_NONE, __float_as_uint(INFINITY));
    if (out.counts && lane_id() == 0) out.counts[which] = count;
}

/* The query of a warp. */
struct warp_query {
    uint32_t which, skipped; /* row of the results; id to exclude, or KD_NONE */
    vec3 q;
    float bound2;
};

__device__ inline warp_query query_of_warp(const point_queries &queries, uint32_t turn) {
    const uint32_t which = queries.order ? queries.order[turn] : turn;
    const vec3 q = query_point(queries, which);
    return {which, KD_NONE, q, query_limit2(queries, which, q)};
}

__device__ inline warp_query query_of_warp(const self_queries &queries, uint32_t turn) {
    const self_query_turn query = self_query_of(queries, turn); /* index order without gaps */
    return {query.row, query.skipped, query.q, pointtree_bound2(queries.max_radius)};
}

template <int PARTS, bool SELF>
__device__ inline void answer_by_leaves(const view &index, descent &path,
                                        uint32_t (&buffer)[2][32 * PARTS], const warp_query &query,
                                        uint32_t k, const answer_rows &out) {
    nearest_buffer<PARTS> best = {buffer[0], buffer[1], k, 0, __float_as_uint(query.bound2)};
    if (query.bound2 >= 0)
        visit_points(
            index, path, query.q, [&] { return best.bound; },
            [&](uint32_t dist2, uint32_t id) {
                best.offer(SELF && id == query.skipped ? KD_NONE : dist2, id);
            });
    store_row(out, query.which, best);
}

template <int PARTS, class QUERY_BATCH>
__global__ __launch_bounds__(32 * LEAVES_WARPS) void nearest_by_leaves(
    const __grid_constant__ view index, QUERY_BATCH queries, uint32_t k, answer_rows out) {
    __shared__ descent paths[LEAVES_WARPS];
    __shared__ uint32_t buffers[LEAVES_WARPS][2][32 * PARTS];
    const uint32_t warp = threadIdx.x / 32, turn = blockIdx.x * LEAVES_WARPS + warp;
    if (turn >= queries.count) return;
    const warp_query query = query_of_warp(queries, turn);
    answer_by_leaves<PARTS, QUERY_BATCH::SELF>(index, paths[warp], buffers[warp], query, k, out);
}

/* --- queries split off from a warp ---------------------------------------------------------- */

constexpr uint32_t NO_MORE = 0x80000000u; /* as a bound: no box is within it */
constexpr uint32_t SPLIT_BLOCKS = 1584;   /* maximum: enough to fill a large device */

/* Packets and groups search with one box around their queries. If that surrounds a cluster or
   crosses the edge of a wall, it contains leaves that none of the queries needs, in the worst case
   many of all points, and one such warp delays all others. So a warp counts the leaves that it
   visits in vain; at a limit it appends its queries to this list and continues. Queries that need
   the same leaves stay together, however many leaves these are: all points may be equal. */
struct query_handover {
    uint32_t *count, *turns; /* length of the list; turn of each query in it */
    /* limit on leaves that no query reaches; KD_NONE: unlimited */
    uint32_t patience;
};

/* Appends the turns of the lanes with `goes` to the list. */
__device__ inline void part_from_warp(const query_handover &handover, uint32_t turn, bool goes) {
    const unsigned all = __ballot_sync(ALL_LANES, goes);
    if (!all) return;
    uint32_t at = 0;
    if (lane_id() == 0) at = atomicAdd(handover.count, (unsigned)__popc(all));
    at = __shfl_sync(ALL_LANES, at, 0);
    if (goes) handover.turns[at + (uint32_t)__popc(all & ((1u << lane_id()) - 1))] = turn;
}

/* One warp per query of the list, launched to start when all kernels that append to it have
   finished. */
template <int PARTS, class QUERY_BATCH>
__global__
__launch_bounds__(32 * LEAVES_WARPS) void nearest_split(const __grid_constant__ view index,
                                                        QUERY_BATCH queries, uint32_t k,
                                                        query_handover from, answer_rows out) {
    __shared__ descent paths[LEAVES_WARPS];
    __shared__ uint32_t buffers[LEAVES_WARPS][2][32 * PARTS];
    grid_waits_for_last();
    const uint32_t warp = threadIdx.x / 32, count = *from.count;
    for (uint32_t i = blockIdx.x * LEAVES_WARPS + warp; i < count; i += gridDim.x * LEAVES_WARPS) {
        const warp_query query = query_of_warp(queries, from.turns[i]);
        answer_by_leaves<PARTS, QUERY_BATCH::SELF>(index, paths[warp], buffers[warp], query, k,
                                                   out);
        __syncwarp();
    }
}

/* --- all points within a radius ------------------------------------------------------------- */

/* Counts the points within the radius of each query. */
template <class QUERY_BATCH>
__global__
__launch_bounds__(32 * LEAVES_WARPS) void count_by_leaves(const __grid_constant__ view index,
                                                          QUERY_BATCH queries, uint64_t *counts) {
    __shared__ descent paths[LEAVES_WARPS];
    const uint32_t warp = threadIdx.x / 32, turn = blockIdx.x * LEAVES_WARPS + warp;
    if (turn >= queries.count) return;
    const warp_query query = query_of_warp(queries, turn);
    const uint32_t bound = __float_as_uint(query.bound2);
    uint64_t count = 0;
    if (query.bound2 >= 0)
        visit_points(
            index, paths[warp], query.q, [&] { return bound; },
            [&](uint32_t dist2, uint32_t id) {
                const bool in = dist2 <= bound && !(QUERY_BATCH::SELF && id == query.skipped);
                count += __popc(__ballot_sync(ALL_LANES, in));
            });
    if (lane_id() == 0) counts[query.which] = count;
}

/* Stores the same points, sorted, at their offsets. Neither ids nor dist2 may be NULL. */
template <class QUERY_BATCH>
__global__
__launch_bounds__(32 * LEAVES_WARPS) void fill_by_leaves(const __grid_constant__ view index,
                                                         QUERY_BATCH queries,
                                                         const uint64_t *offsets, answer_rows out) {
    __shared__ descent paths[LEAVES_WARPS];
    const uint32_t warp = threadIdx.x / 32, turn = blockIdx.x * LEAVES_WARPS + warp;
    if (turn >= queries.count) return;
    const warp_query query = query_of_warp(queries, turn);
    if (!(query.bound2 >= 0)) return;
    const uint32_t bound = __float_as_uint(query.bound2);
    const uint64_t begin = offsets[query.which], fit = offsets[query.which + 1] - begin;
    uint32_t *dist2 = (uint32_t *)out.dist2 + begin, *ids = out.ids + begin, count = 0;
    visit_points(
        index, paths[warp], query.q, [&] { return bound; },
        [&](uint32_t d, uint32_t id) {
            const bool in = d <= bound && !(QUERY_BATCH::SELF && id == query.skipped);
            const unsigned all = __ballot_sync(ALL_LANES, in);
            const uint32_t at = count + __popc(all & ((1u << lane_id()) - 1));
            if (in && at < fit) dist2[at] = d, ids[at] = id;
            count += __popc(all);
        });
    sort_answers(dist2, ids, (uint32_t)(count < fit ? count : fit));
}

} // namespace point_index
#endif
