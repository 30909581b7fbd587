/* A warp for 8 neighbouring queries, four lanes a query, for tens of neighbours.
   Idea: the warp visits the leaves that any of its queries needs, as in query_cuda_packets.cuh;
   each of a query's four lanes looks at every fourth point and puts those in reach into a column of
   its own. When a column is full, all queries at once find a bound that keeps the k nearest and a
   few more: regula falsi on dist2, whose count grows smoothly with it, bisection of its bits where
   that fails. The end is exact: k answers, sorted by rounded dist2 in registers, then looked at as
   they are. Work: 12 instructions a point and 8 queries; a new bound costs some 100 a query. */
#ifndef KD_PHOTON_QUERY_CUDA_GROUPS_CUH
#define KD_PHOTON_QUERY_CUDA_GROUPS_CUH
#include "photon/query_cuda_packets.cuh"
#include "photon/warp_sort.cuh"

namespace point_index {

constexpr uint32_t GROUP_WARPS = 4, GROUP_LANES = 4, GROUPS = 32 / GROUP_LANES;
constexpr uint32_t GROUP_STEP = 32 / GROUP_LANES; /* points of a leaf to a lane */
constexpr uint32_t COLUMN_STEP = 8;               /* of whole columns */
constexpr uint32_t COLUMN_ROW = 32 * sizeof(uint32_t);
constexpr int FALSI_ROUNDS = 6;

template <int ROOM> struct group_shared {
    descent path;
    uint32_t dist2[ROOM][32], id[ROOM][32];
};

template <class OPERATION>
__device__ inline uint32_t group_reduce(uint32_t x, const OPERATION &of) {
    x = of(x, __shfl_xor_sync(ALL_LANES, x, 1));
    return of(x, __shfl_xor_sync(ALL_LANES, x, 2));
}

__device__ inline uint32_t group_sum(uint32_t x) {
    return group_reduce(x, [](uint32_t a, uint32_t b) { return a + b; });
}

__device__ inline uint32_t group_most(uint32_t x) {
    return group_reduce(x, [](uint32_t a, uint32_t b) { return max(a, b); });
}

__device__ inline uint32_t group_least(uint32_t x) {
    return group_reduce(x, [](uint32_t a, uint32_t b) { return min(a, b); });
}

/* What a lane knows of its query. All but `next` is the same in the four lanes. */
struct group_lane {
    uint32_t next; /* place in this lane's column of dist2 */
    uint32_t k;
    float bound2; /* negative: nothing is wanted */
};

template <int ROOM>
__device__ inline uint32_t column_count(group_shared<ROOM> &sh, const group_lane &mine) {
    return (mine.next - warp_columns::place_of(&sh.dist2[0][lane_id()])) / COLUMN_ROW;
}

/* Where count(dist2 <= place) goes from less than k to k or more. */
struct bracket {
    uint32_t lo, hi;             /* bits */
    uint32_t lo_count, hi_count; /* below lo; up to hi */
};

__device__ inline uint32_t bracket_guess(const bracket &in, uint32_t target, int round) {
    const uint32_t middle = in.lo + (in.hi - in.lo) / 2;
    if (round >= FALSI_ROUNDS || in.lo >= in.hi) return middle;
    const float part =
        ((float)target - (float)in.lo_count) / ((float)in.hi_count - (float)in.lo_count);
    const float lo = __uint_as_float(in.lo), hi = __uint_as_float(in.hi);
    const uint32_t guess = __float_as_uint(lo + (hi - lo) * part);
    return max(in.lo, min(guess, in.hi - 1));
}

/* Among those at dist2 `tie`, the id up to which k are kept in all; for queries with `open`. */
template <int ROOM>
__device__ uint32_t group_id_limit(const group_shared<ROOM> &sh, uint32_t held, uint32_t k,
                                   uint32_t tie, bool open) {
    uint32_t lo = 0, hi = KD_NONE;
    while (__any_sync(ALL_LANES, open && lo < hi)) {
        const uint32_t middle = lo + (hi - lo) / 2;
        uint32_t within = 0;
        for (uint32_t i = 0; i < held; ++i) {
            const uint32_t d = sh.dist2[i][lane_id()];
            within += d < tie || (d == tie && sh.id[i][lane_id()] <= middle);
        }
        within = group_sum(within);
        if (lo >= hi) continue;
        if (within >= k)
            hi = middle;
        else
            lo = middle + 1;
    }
    return open ? hi : KD_NONE;
}

/* How many of a column, filled up to whole steps of `rows`, have at most this dist2. */
__device__ inline uint32_t count_within(const uint32_t *column, uint32_t rows, uint32_t dist2) {
    uint32_t within = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < rows; i += COLUMN_STEP)
#pragma unroll
        for (uint32_t j = 0; j < COLUMN_STEP; ++j) within += column[32 * (i + j)] <= dist2;
    return within;
}

/* Finds a place such that k to `most` points of each query with `open` lie up to it. */
__device__ inline bracket find_bracket(const uint32_t *column, uint32_t rows, uint32_t k,
                                       uint32_t most, uint32_t total, bool open) {
    int last = 0; /* what fills up is negative */
#pragma unroll 1
    for (uint32_t i = 0; i < rows; i += COLUMN_STEP)
#pragma unroll
        for (uint32_t j = 0; j < COLUMN_STEP; ++j) last = max(last, (int)column[32 * (i + j)]);
    bracket in = {0, group_most((uint32_t)last), 0, total};
#pragma unroll 1
    for (int round = 0; __any_sync(ALL_LANES, open); ++round) {
        const uint32_t guess = bracket_guess(in, (k + most) / 2, round);
        const uint32_t within = group_sum(count_within(column, rows, guess));
        if (open && within >= k)
            in.hi = guess, in.hi_count = within;
        else if (open)
            in.lo = guess + 1, in.lo_count = within;
        open = open && in.hi_count > most && in.lo < in.hi;
    }
    return in;
}

/* Queries with more than `most` points keep the k nearest, and up to `most` in all. */
template <int ROOM>
__device__ __noinline__ group_lane group_shrink(group_shared<ROOM> &sh, group_lane mine,
                                                uint32_t most) {
    __syncwarp();
    const uint32_t held = column_count(sh, mine), total = group_sum(held);
    const bool shrinks = total > most;
    if (!__any_sync(ALL_LANES, shrinks)) return mine;
    const uint32_t longest = __reduce_max_sync(ALL_LANES, held);
    const uint32_t rows = (longest + COLUMN_STEP - 1) / COLUMN_STEP * COLUMN_STEP;
    uint32_t *column = &sh.dist2[0][lane_id()], *kept = column;
    for (uint32_t i = held; i < rows; ++i) column[32 * i] = KD_NONE;
    const bracket in = find_bracket(column, rows, mine.k, most, total, shrinks);
    const bool tied = shrinks && in.hi_count > most;
    const uint32_t last_id =
        __any_sync(ALL_LANES, tied) ? group_id_limit(sh, held, mine.k, in.hi, tied) : KD_NONE;
    const answer_key last = shrinks ? (answer_key)in.hi << 32 | last_id : ~0ull >> 1;
#pragma unroll 1
    for (uint32_t i = 0; i < rows; i += COLUMN_STEP) {
        uint32_t d[COLUMN_STEP], id[COLUMN_STEP];
#pragma unroll
        for (uint32_t j = 0; j < COLUMN_STEP; ++j)
            d[j] = column[32 * (i + j)], id[j] = column[32 * (ROOM + i + j)];
#pragma unroll
        for (uint32_t j = 0; j < COLUMN_STEP; ++j)
            if (((answer_key)d[j] << 32 | id[j]) <= last) {
                kept[0] = d[j], kept[32 * ROOM] = id[j];
                kept += 32;
            }
    }
    mine.next = warp_columns::place_of(kept);
    if (shrinks && mine.bound2 >= 0) mine.bound2 = __uint_as_float(in.hi);
    __syncwarp();
    return mine;
}

/* Fullest columns give to the emptiest of their query until none has more than `most`; seldom
   needed. */
template <int ROOM>
__device__ __noinline__ group_lane group_level(group_shared<ROOM> &sh, group_lane mine,
                                               uint32_t most) {
    for (;;) {
        const uint32_t held = column_count(sh, mine);
        if (!__any_sync(ALL_LANES, held > most)) return mine;
        const uint32_t lane = lane_id() % GROUP_LANES, code = held << 2 | lane;
        const uint32_t fullest = group_most(code), emptiest = group_least(code);
        const bool moves = fullest >> 2 > most;
        const uint32_t from = lane_id() - lane + fullest % 4;
        __syncwarp();
        if (moves && lane == emptiest % 4) {
            const uint32_t last = (fullest >> 2) - 1;
            warp_columns::store_apart<ROOM * COLUMN_ROW>(mine.next, sh.dist2[last][from],
                                                         sh.id[last][from]);
            mine.next += COLUMN_ROW;
        }
        if (moves && lane == fullest % 4) mine.next -= COLUMN_ROW;
        __syncwarp();
    }
}

/* Points of a leaf, POINTS a lane; fewer if not FULL. */
template <int ROOM, int POINTS, bool FULL>
__device__ inline void offer_points(const view &index, uint32_t begin, uint32_t end, vec3 q,
                                    group_lane &mine) {
    const uint32_t first = begin + lane_id() % GROUP_LANES;
    const float4 *from = index.points + first;
    float4 p[POINTS];
    float dist2[POINTS];
#pragma unroll
    for (uint32_t i = 0; i < POINTS; ++i) p[i] = from[GROUP_LANES * i];
#pragma unroll
    for (uint32_t i = 0; i < POINTS; ++i) dist2[i] = pointtree_dist2(q, xyz(p[i]));
#pragma unroll
    for (uint32_t i = 0; i < POINTS; ++i)
        if ((dist2[i] <= mine.bound2) & (FULL || first + GROUP_LANES * i < end)) {
            warp_columns::store_apart<ROOM * COLUMN_ROW>(mine.next, __float_as_uint(dist2[i]),
                                                         __float_as_uint(p[i].w));
            mine.next += COLUMN_ROW;
        }
}

template <int ROOM>
__device__ inline void offer_leaf(const view &index, group_shared<ROOM> &sh, uint32_t leaf, vec3 q,
                                  group_lane &mine) {
    const leaf_halves of = halves_of(index, leaf);
    const uint32_t wanted = wanted_halves(of, q, mine.bound2);
    const uint32_t width = half_width(of.end - of.begin);
    const uint32_t full = warp_columns::place_of(&sh.dist2[ROOM - GROUP_STEP][lane_id()]);
    uint32_t at = wanted & 1 ? of.begin : min(of.begin + width, of.end);
    const uint32_t end = wanted & 2 ? of.end : min(of.begin + width, of.end);
    while (at < end) {
        const bool whole = at + 32 <= end;
        if (whole)
            offer_points<ROOM, GROUP_STEP, true>(index, at, end, q, mine);
        else
            offer_points<ROOM, GROUP_STEP / 2, false>(index, at, end, q, mine);
        at += whole ? 32 : 16;
        if (!__any_sync(ALL_LANES, mine.next > full)) continue;
        mine = group_shrink(sh, mine, mine.k + mine.k / 4 + GROUP_LANES);
        mine = group_level(sh, mine, ROOM - GROUP_STEP);
    }
}

/* A query's answers, in order: lane l of the four has numbers l * SORTED and on. */
template <int SORTED, int ROOM>
__device__ inline void sort_columns(const group_shared<ROOM> &sh, uint32_t held,
                                    answer_key (&key)[SORTED]) {
    uint32_t d[SORTED], least = KD_NONE, most = 0, code[SORTED];
#pragma unroll
    for (int i = 0; i < SORTED; ++i) {
        d[i] = i < held ? sh.dist2[i][lane_id()] : KD_NONE;
        least = min(least, d[i]);
        most = i < held ? max(most, d[i]) : most;
    }
    const float lo =
        __uint_as_float(group_reduce(least, [](uint32_t a, uint32_t b) { return min(a, b); }));
    const float range = __uint_as_float(group_most(most)) - lo;
    const float scale = range > 0 ? 16777214.0f / range : 0; /* 24 bits, but the last value */
#pragma unroll
    for (int i = 0; i < SORTED; ++i) {
        const float at = (__uint_as_float(d[i]) - lo) * scale;
        const uint32_t rounded = (uint32_t)fminf(at, 16777214.0f);
        code[i] = i < held ? rounded << 8 | (lane_id() % GROUP_LANES) << 6 | i : KD_NONE;
    }
    warp_sort::sort_lanes(code, GROUP_LANES);
    const uint32_t first_lane = lane_id() & ~(GROUP_LANES - 1);
#pragma unroll
    for (int i = 0; i < SORTED; ++i) {
        const uint32_t lane = first_lane + (code[i] >> 6) % GROUP_LANES, at = code[i] % 64;
        key[i] =
            code[i] == KD_NONE ? ~0ull : (answer_key)sh.dist2[at][lane] << 32 | sh.id[at][lane];
    }
    const answer_key next = __shfl_down_sync(ALL_LANES, key[0], 1);
    bool wrong = lane_id() % GROUP_LANES != GROUP_LANES - 1 && next < key[SORTED - 1];
#pragma unroll
    for (int i = 0; i + 1 < SORTED; ++i) wrong |= key[i + 1] < key[i];
    if (__any_sync(ALL_LANES, wrong)) warp_sort::sort_lanes(key, GROUP_LANES);
}

/* Two neighbouring answers of a row. */
__device__ inline void store_two(const answer_rows &out, uint64_t at, const uint32_t (&id)[2],
                                 const uint32_t (&dist2)[2]) {
    if (out.ids) *(uint2 *)(out.ids + at) = make_uint2(id[0], id[1]);
    if (out.dist2) *(uint2 *)(out.dist2 + at) = make_uint2(dist2[0], dist2[1]);
}

/* Rows one after the other, each by the whole warp: whole sectors of memory. */
template <int SORTED, int ROOM>
__device__ inline void store_rows(const answer_rows &out, group_shared<ROOM> &sh, uint32_t which,
                                  uint32_t k, uint32_t count, const answer_key (&key)[SORTED]) {
    constexpr uint32_t PITCH = SORTED + 1; /* no two lanes in one bank */
    static_assert(32 * PITCH <= 32 * ROOM, "rows take the place of columns");
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
    for (uint32_t group = 0; group < GROUPS; ++group) {
        const uint32_t row = __shfl_sync(ALL_LANES, which, group * GROUP_LANES);
        const uint32_t there = __shfl_sync(ALL_LANES, count, group * GROUP_LANES);
        if (row == KD_NONE) continue;
        for (uint32_t i = 2 * lane_id(); i < k; i += 64) {
            const uint32_t at = (group * GROUP_LANES + i / SORTED) * PITCH + i % SORTED;
            const uint32_t ids[2] = {i < there ? id[at] : KD_NONE,
                                     i + 1 < there ? id[at + 1] : KD_NONE};
            const uint32_t far = __float_as_uint(INFINITY);
            const uint32_t dists[2] = {i < there ? dist2[at] : far,
                                       i + 1 < there ? dist2[at + 1] : far};
            const uint64_t to = (uint64_t)row * k + i;
            if (twos) {
                store_two(out, to, ids, dists);
            } else {
                store_answer(out, to, ids[0], dists[0]);
                if (i + 1 < k) store_answer(out, to + 1, ids[1], dists[1]);
            }
        }
        if (out.counts && lane_id() == 0) out.counts[row] = there;
    }
}

/* Eight queries' answers into columns. */
template <int ROOM>
__device__ inline void visit_group(const view &index, const asked &queries, group_shared<ROOM> &sh,
                                   uint32_t place, vec3 q, bool on, group_lane &mine) {
    const float limit = mine.bound2;
    home_order homes = home_order_of(index, queries, place, q, on);
    float found = limit;
    while (homes.to_come) {
        const bool now = homes.next();
        mine.bound2 = now ? limit : -1.0f;
        uint32_t bound = most_bound(mine.bound2);
        visit_leaves(
            index, sh.path, box_of_queries(q, now), true, [&] { return bound; },
            [&](uint32_t leaf) {
                offer_leaf(index, sh, leaf, q, mine);
                bound = most_bound(mine.bound2);
            });
        if (now) found = mine.bound2;
    }
    mine.bound2 = found;
}

/* A query whose k nearest are known bounds those of one beside it. Room for rounding. */
struct known_query {
    vec3 q;
    float bound2; /* INFINITY: nothing is known */
};

__device__ inline float bound2_beside(const known_query &known, vec3 q) {
    const float reach = sqrtf(known.bound2) + sqrtf(pointtree_dist2(q, known.q));
    const float reach2 = reach * reach * 1.00001f + 1e-40f;
    return reach2 >= 0 ? reach2 : INFINITY;
}

__device__ inline known_query known_of(const known_query &known, uint32_t lane) {
    return {vec3_make(__shfl_sync(ALL_LANES, known.q.x, lane),
                      __shfl_sync(ALL_LANES, known.q.y, lane),
                      __shfl_sync(ALL_LANES, known.q.z, lane)),
            __shfl_sync(ALL_LANES, known.bound2, lane)};
}

template <int ROOM, int SORTED>
__global__ __launch_bounds__(32 *
                             GROUP_WARPS) void nearest_by_groups(const __grid_constant__ view index,
                                                                 asked queries, uint32_t k,
                                                                 uint32_t turns, answer_rows out) {
    extern __shared__ __align__(16) char shared[];
    group_shared<ROOM> &sh = ((group_shared<ROOM> *)shared)[threadIdx.x / 32];
    const uint32_t warp = blockIdx.x * GROUP_WARPS + threadIdx.x / 32;
    known_query known = {vec3_all(0), INFINITY};
#pragma unroll 1
    for (uint32_t turn = warp * turns; turn < (warp + 1) * turns; ++turn) {
        const uint32_t own = turn * GROUPS + lane_id() / GROUP_LANES;
        if (turn * GROUPS >= queries.count) return;
        const bool there = own < queries.count;
        const uint32_t place = there ? own : queries.count - 1;
        const uint32_t which = queries.order ? queries.order[place] : place;
        const vec3 q = asked_point(queries, which);
        const float limit = there ? asked_bound2(queries, which, q) : -1.0f;
        const float beside = fminf(bound2_beside(known, q), bound2_beside(known_of(known, 31), q));
        group_lane mine = {warp_columns::place_of(&sh.dist2[0][lane_id()]), k,
                           limit < 0 ? limit : fminf(limit, beside)};
        visit_group(index, queries, sh, place, q, limit >= 0, mine);
        mine = group_shrink(sh, mine, GROUP_LANES * SORTED - GROUP_LANES);
        mine = group_level(sh, mine, SORTED);
        const uint32_t held = column_count(sh, mine), total = group_sum(held);
        known = {q, total >= k ? mine.bound2 : INFINITY};
        answer_key key[SORTED];
        sort_columns<SORTED>(sh, held, key);
        store_rows<SORTED>(out, sh, there ? which : KD_NONE, k, min(total, k), key);
        __syncwarp();
    }
}

} // namespace point_index
#endif
