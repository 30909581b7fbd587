/* One warp for 8 neighbouring queries, four lanes per query, for tens of neighbours; for more
   neighbours 4 queries with eight lanes each.
   Kept because for k from 17 to 112 of dense queries it is 2.0 to 2.3 x as fast as a warp per
   query, and each kernel 1.10 to 1.20 x as fast as that for more neighbours
   (tools/bench/results/h200-variants.txt).
   Idea: the warp visits the leaves that any of its queries needs, as in query_packets.cuh; each
         lane of a query tests every fourth point and appends those within the bound to its own
         column. The first bound comes from the previous group (prior_bound.cuh). When a column is
         full, all queries at once find a bound that keeps the k nearest and a few more: regula
         falsi on dist2, whose count grows smoothly with it, or bisection of its bits if that does
         not converge. The final result is exact: k points, sorted by rounded dist2 in registers,
         then verified with the exact keys.
   Work: 12 instructions per point and 8 queries; a new bound costs some 100 per query.
   Data flow: one warp per several groups of queries in sequence: queries in curve order, index ->
              columns in shared memory -> the row of each query. */
#ifndef KD_POINTS_NEIGHBOURS_QUERY_GROUPS_CUH
#define KD_POINTS_NEIGHBOURS_QUERY_GROUPS_CUH
#include "core/device/warp_sort.cuh"
#include "points/neighbours/candidates.cuh"
#include "points/neighbours/query_packets.cuh"

namespace point_index {

constexpr uint32_t GROUP_WARPS = 4;

/* Loads every LANES-th point from `first` on; the array is padded after the last leaf. */
template <class SHAPE, int POINTS>
__device__ inline void load_points(const view &index, uint32_t first, float4 (&p)[POINTS]) {
    const float4 *from = index.points + first;
#pragma unroll
    for (uint32_t i = 0; i < POINTS; ++i) p[i] = from[SHAPE::LANES * i];
}

/* Offers those of the loaded points that lie before `end`, or all. */
template <class SHAPE, bool ALL, int POINTS>
__device__ inline void offer_points(const float4 (&p)[POINTS], uint32_t first, uint32_t end, vec3 q,
                                    group_lane &state) {
    float dist2[POINTS];
#pragma unroll
    for (uint32_t i = 0; i < POINTS; ++i) dist2[i] = pointtree_dist2(q, xyz(p[i]));
#pragma unroll
    for (uint32_t i = 0; i < POINTS; ++i)
        if ((dist2[i] <= state.bound2) & (ALL || first + SHAPE::LANES * i < end)) {
            warp_columns::store_apart<SHAPE::CAPACITY * COLUMN_ROW>(
                state.next, __float_as_uint(dist2[i]), __float_as_uint(p[i].w));
            state.next += COLUMN_ROW;
        }
}

/* Returns which halves of a leaf any of the queries reaches, as two bits. Each query has at least
   two lanes: even ones test the box of the first half, odd ones that of the second. */
__device__ inline uint32_t halves_in_reach(const float4 *record, vec3 q, float bound2) {
    const float2 *box = (const float2 *)record + 3 * (lane_id() & 1);
    const float2 a = box[0], b = box[1], c = box[2];
    const float dist2 = boxes_dist2(vec3_make(a.x, a.y, b.x), vec3_make(b.y, c.x, c.y), {q, q});
    const unsigned reached = __ballot_sync(ALL_LANES, dist2 <= bound2);
    return (reached & 0x55555555u ? 1u : 0u) | (reached & 0xaaaaaaaau ? 2u : 0u);
}

/* Returns the halves of a leaf to search. A leaf that no query reaches decrements `patience`; if
   halves are not tested, every leaf does, and once it is exhausted the first leaf not reached ends
   the search. */
template <class SHAPE>
__device__ inline uint32_t halves_of_use(const view &index, uint32_t leaf, vec3 q, float bound2,
                                         uint32_t &patience, uint32_t &bound) {
    if (!SHAPE::HALVES && --patience) return 3;
    const uint32_t halves = halves_in_reach(halves_record(index, leaf), q, bound2);
    if (!SHAPE::HALVES) patience = 1;
    if (!halves && (!SHAPE::HALVES || --patience == 0)) bound = NO_MORE;
    return halves;
}

/* Offers the points of a leaf; `bound` is the largest bound of the lanes as float bits. */
template <class SHAPE>
__device__ inline void offer_leaf(const view &index, group_shared<SHAPE> &sh, uint32_t leaf,
                                  point_range range, vec3 q, group_lane &state, uint32_t &patience,
                                  uint32_t &bound) {
    float4 p[SHAPE::STEP];
    const uint32_t halves = halves_of_use<SHAPE>(index, leaf, q, state.bound2, patience, bound);
    if (!halves) return;
    const uint32_t width = half_width(range.end - range.begin);
    const uint32_t full =
        warp_columns::place_of(&sh.dist2[SHAPE::CAPACITY - SHAPE::STEP][lane_id()]);
    uint32_t at = halves & 1 ? range.begin : min(range.begin + width, range.end);
    const uint32_t end = halves & 2 ? range.end : min(range.begin + width, range.end);
    while (at < end) {
        const bool whole = at + 32 <= end;
        const uint32_t first = at + lane_id() % SHAPE::LANES;
        if (whole) {
            load_points<SHAPE>(index, first, p);
            offer_points<SHAPE, true>(p, first, end, q, state);
        } else {
            float4 half[SHAPE::STEP / 2];
            load_points<SHAPE>(index, first, half);
            offer_points<SHAPE, false>(half, first, end, q, state);
        }
        at += whole ? 32 : 16;
        if (!__any_sync(ALL_LANES, state.next > full)) continue;
        state = group_shrink(
            sh, state,
            min(state.k + state.k / 4, SHAPE::LANES * (SHAPE::CAPACITY - SHAPE::STEP - 2)) +
                SHAPE::LANES);
        state = group_level(sh, state, SHAPE::CAPACITY - SHAPE::STEP);
        bound = max_bound(state.bound2);
    }
}

/* Sorts the results of each query: lane l holds numbers l * SORTED to l * SORTED + SORTED - 1. */
template <class SHAPE>
__device__ inline void sort_columns(const group_shared<SHAPE> &sh, uint32_t held,
                                    answer_key (&key)[SHAPE::SORTED]) {
    constexpr uint32_t LANES = SHAPE::LANES, PLACES = 256 / LANES;
    constexpr int SORTED = SHAPE::SORTED;
    static_assert(SORTED <= PLACES, "places of a column");
    uint32_t d[SORTED], minimum = KD_NONE, maximum = 0, code[SORTED];
#pragma unroll
    for (int i = 0; i < SORTED; ++i) {
        d[i] = i < held ? sh.dist2[i][lane_id()] : KD_NONE;
        minimum = min(minimum, d[i]);
        maximum = i < held ? max(maximum, d[i]) : maximum;
    }
    const float lo = __uint_as_float(
        group_reduce<SHAPE>(minimum, [](uint32_t a, uint32_t b) { return min(a, b); }));
    const float range = __uint_as_float(group_max<SHAPE>(maximum)) - lo;
    const float scale = range > 0 ? 16777214.0f / range : 0; /* 24 bits, except for the last
                                                                value */
#pragma unroll
    for (int i = 0; i < SORTED; ++i) {
        const float at = (__uint_as_float(d[i]) - lo) * scale;
        const uint32_t rounded = (uint32_t)fminf(at, 16777214.0f);
        code[i] = i < held ? rounded << 8 | (lane_id() % LANES * PLACES + i) : KD_NONE;
    }
    warp_sort::sort_lanes(code, LANES);
    const uint32_t first_lane = lane_id() & ~(LANES - 1);
#pragma unroll
    for (int i = 0; i < SORTED; ++i) {
        const uint32_t lane = first_lane + code[i] / PLACES % LANES, at = code[i] % PLACES;
        key[i] =
            code[i] == KD_NONE ? ~0ull : (answer_key)sh.dist2[at][lane] << 32 | sh.id[at][lane];
    }
    const answer_key next = __shfl_down_sync(ALL_LANES, key[0], 1);
    bool wrong = lane_id() % LANES != LANES - 1 && next < key[SORTED - 1];
#pragma unroll
    for (int i = 0; i + 1 < SORTED; ++i) wrong |= key[i + 1] < key[i];
    if (__any_sync(ALL_LANES, wrong)) warp_sort::sort_lanes(key, LANES);
}

__host__ __device__ inline uint32_t more_of(const point_queries &) {
    return 0;
}
__host__ __device__ inline uint32_t more_of(const self_queries &queries) {
    return queries.skips;
}

/* Stores two adjacent results of a row. */
__device__ inline void store_two(const answer_rows &out, uint64_t at, const uint32_t (&id)[2],
                                 const uint32_t (&dist2)[2]) {
    if (out.ids) *(uint2 *)(out.ids + at) = make_uint2(id[0], id[1]);
    if (out.dist2) *(uint2 *)(out.dist2 + at) = make_uint2(dist2[0], dist2[1]);
}

/* The whole warp writes one row after another, so that whole memory sectors are written. */
constexpr int row_pitch(int sorted) {
    return sorted + 1; /* avoids bank conflicts */
}

template <class SHAPE, bool SELF>
__device__ inline void store_rows(const answer_rows &out, group_shared<SHAPE> &sh, uint32_t which,
                                  uint32_t k, uint32_t count, uint32_t skipped,
                                  const answer_key (&key)[SHAPE::SORTED]) {
    constexpr uint32_t SORTED = SHAPE::SORTED;
    constexpr uint32_t PITCH = row_pitch(SORTED);
    static_assert(32 * PITCH <= 32 * SHAPE::CAPACITY, "rows take the place of columns");
    uint32_t *dist2 = &sh.dist2[0][0], *id = &sh.id[0][0];
    const bool twos = k % 2 == 0 && ((uintptr_t)out.ids | (uintptr_t)out.dist2) % 8 == 0;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < SORTED; ++i) {
        dist2[lane_id() * PITCH + i] = (uint32_t)(key[i] >> 32);
        id[lane_id() * PITCH + i] = (uint32_t)key[i];
    }
    __syncwarp();
#pragma unroll 1
    for (uint32_t group = 0; group < SHAPE::QUERIES; ++group) {
        const uint32_t row = __shfl_sync(ALL_LANES, which, group * SHAPE::LANES);
        const uint32_t held = __shfl_sync(ALL_LANES, count, group * SHAPE::LANES);
        const uint32_t no = SELF ? __shfl_sync(ALL_LANES, skipped, group * SHAPE::LANES) : KD_NONE;
        if (row == KD_NONE) continue;
        for (uint32_t i = 2 * lane_id(); i < k; i += 64) {
            const uint32_t at = (group * SHAPE::LANES + i / SORTED) * PITCH + i % SORTED;
            uint32_t places[2] = {at, at + 1};
            if (SELF && no != KD_NONE) { /* elements after the excluded query point move up */
                const uint32_t second = at + 2 + ((i + 2) % SORTED ? 0 : PITCH - SORTED);
                if (!answer_before(dist2[at], id[at], 0, no)) places[0] = at + 1;
                if (!answer_before(dist2[at + 1], id[at + 1], 0, no)) places[1] = second;
            }
            const uint32_t ids[2] = {i < held ? id[places[0]] : KD_NONE,
                                     i + 1 < held ? id[places[1]] : KD_NONE};
            const uint32_t far = __float_as_uint(INFINITY);
            const uint32_t dists[2] = {i < held ? dist2[places[0]] : far,
                                       i + 1 < held ? dist2[places[1]] : far};
            const uint64_t to = (uint64_t)row * k + i;
            if (twos) {
                store_two(out, to, ids, dists);
            } else {
                store_answer(out, to, ids[0], dists[0]);
                if (i + 1 < k) store_answer(out, to + 1, ids[1], dists[1]);
            }
        }
        if (out.counts && lane_id() == 0) out.counts[row] = held;
    }
}

/* The k-th dist2 of this lane's query; valid after store_rows. */
template <class SHAPE>
__device__ inline float kth_dist2(const group_shared<SHAPE> &sh, uint32_t k) {
    const uint32_t lane = lane_id() / SHAPE::LANES * SHAPE::LANES + (k - 1) / SHAPE::SORTED;
    return __uint_as_float(
        (&sh.dist2[0][0])[lane * row_pitch(SHAPE::SORTED) + (k - 1) % SHAPE::SORTED]);
}

/* Collects the candidates of a group of queries in columns. Returns whether this lane's query is to
   be split off from the group. */
template <class SHAPE, class QUERY_BATCH>
__device__ inline bool visit_group(const view &index, const QUERY_BATCH &queries,
                                   group_shared<SHAPE> &sh, uint32_t place, vec3 q, bool on,
                                   const query_handover &handover, group_lane &state) {
    const float limit = state.bound2;
    home_order homes = home_order_of(index, queries, place, q, on);
    float best_bound2 = limit;
    bool parts = false;
    while (homes.to_come) {
        const bool now = homes.next();
        state.bound2 = now ? limit : -1.0f;
        uint32_t bound = max_bound(state.bound2), patience = handover.patience;
        visit_leaves(
            index, sh.path, box_of_queries(q, now), true, [&] { return bound; },
            [&](uint32_t leaf, point_range range) {
                offer_leaf(index, sh, leaf, range, q, state, patience, bound);
            });
        if (now) best_bound2 = state.bound2;
        parts = parts || (now && bound == NO_MORE);
    }
    state.bound2 = best_bound2;
    return parts;
}

/* Each warp processes `turns` groups. Self-queries that exclude their own point search for one
   more. */
template <class SHAPE, class QUERY_BATCH>
__global__ __launch_bounds__(32 * GROUP_WARPS, SHAPE::BLOCKS) void nearest_by_groups(
    const __grid_constant__ view index, QUERY_BATCH queries, uint32_t row_length, uint32_t turns,
    float reach_factor, query_handover to, answer_rows out) {
    extern __shared__ __align__(16) char shared[];
    grid_lets_next_begin();
    group_shared<SHAPE> &sh = ((group_shared<SHAPE> *)shared)[threadIdx.x / 32];
    const uint32_t warp = blockIdx.x * GROUP_WARPS + threadIdx.x / 32;
    const uint32_t first = warp_columns::place_of(&sh.dist2[0][lane_id()]);
    const uint32_t k = row_length + more_of(queries);
    previous_query previous = {vec3_all(0), INFINITY};
#pragma unroll 1
    for (uint32_t turn = warp * turns; turn < (warp + 1) * turns; ++turn) {
        if (turn * SHAPE::QUERIES >= queries.count) return;
        const turn_query query =
            query_of_turn(queries, turn * SHAPE::QUERIES + lane_id() / SHAPE::LANES);
        const query_bounds bounds = bounds_of(previous, query.q, query.limit, reach_factor);
        group_lane state = {first, k, bounds.expected};
        bool on = query.limit >= 0, parts = false;
        uint32_t total;
        for (float tried = bounds.expected;; tried = bounds.sure) {
            parts |= visit_group(index, queries, sh, query.place, query.q, on, to, state);
            state = group_shrink(sh, state, SHAPE::LANES * (SHAPE::SORTED - 1));
            total = group_sum<SHAPE>(column_count(sh, state));
            on = on && !parts && total < k && tried < bounds.sure;
            if (!__any_sync(ALL_LANES, on)) break;
            if (on) state.next = first, state.bound2 = bounds.sure;
        }
        state = group_level(sh, state, SHAPE::SORTED);
        answer_key key[SHAPE::SORTED];
        sort_columns(sh, column_count(sh, state), key);
        part_from_warp(to, turn * SHAPE::QUERIES + lane_id() / SHAPE::LANES,
                       parts && lane_id() % SHAPE::LANES == 0);
        store_rows<SHAPE, QUERY_BATCH::SELF>(out, sh, query.valid && !parts ? query.which : KD_NONE,
                                             row_length, min(total, k) - (k - row_length),
                                             query.skipped, key);
        previous = {query.q, total >= k && !parts ? kth_dist2(sh, k) : INFINITY};
        __syncwarp();
    }
}

} // namespace point_index
#endif
