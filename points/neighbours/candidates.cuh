/* Columns of candidates in shared memory, one per lane and several per query, and their reduction
   to the k nearest.
   Idea: a lane appends to its own column without communication. When a column is full, all queries
         of the warp at once find a bound that keeps the k nearest and a few more: regula falsi on
         dist2, whose count grows smoothly with it, or bisection of its bits if that does not
         converge. Only ties at the last position take ids into account.
   Work: each round reads each column once. */
#ifndef KD_POINTS_NEIGHBOURS_CANDIDATES_CUH
#define KD_POINTS_NEIGHBOURS_CANDIDATES_CUH
#include "core/device/warp_sort.cuh"
#include "points/neighbours/warp_per_query.cuh"

namespace point_index {

constexpr uint32_t COLUMN_STEP = 8; /* columns are padded to multiples of this */
constexpr uint32_t COLUMN_ROW = 32 * sizeof(uint32_t);
constexpr int FALSI_ROUNDS = 6;

/* Parameters of a kernel: LANES per query; column capacity CAPACITY; at the end SORTED elements of
   a column remain; BLOCKS per multiprocessor, which limits the registers per thread; HALVES: test
   the halves of a leaf separately. */
template <int LANES_, int CAPACITY_, int SORTED_, int BLOCKS_, bool HALVES_> struct group_shape {
    static constexpr uint32_t LANES = LANES_, CAPACITY = CAPACITY_, SORTED = SORTED_;
    static constexpr int BLOCKS = BLOCKS_;
    static constexpr bool HALVES = HALVES_;
    static constexpr uint32_t QUERIES = 32 / LANES; /* per warp */
    static constexpr uint32_t STEP = 32 / LANES;    /* points of a leaf per lane */
    static_assert(CAPACITY % COLUMN_STEP == 0, "columns are filled up to whole steps");
};

template <class SHAPE> struct group_shared {
    descent path;
    uint32_t dist2[SHAPE::CAPACITY][32], id[SHAPE::CAPACITY][32];
};

template <class SHAPE, class OPERATION>
__device__ inline uint32_t group_reduce(uint32_t x, const OPERATION &operation) {
#pragma unroll
    for (uint32_t step = 1; step < SHAPE::LANES; step *= 2)
        x = operation(x, __shfl_xor_sync(ALL_LANES, x, step));
    return x;
}

template <class SHAPE> __device__ inline uint32_t group_sum(uint32_t x) {
    return group_reduce<SHAPE>(x, [](uint32_t a, uint32_t b) { return a + b; });
}

template <class SHAPE> __device__ inline uint32_t group_max(uint32_t x) {
    return group_reduce<SHAPE>(x, [](uint32_t a, uint32_t b) { return max(a, b); });
}

template <class SHAPE> __device__ inline uint32_t group_min(uint32_t x) {
    return group_reduce<SHAPE>(x, [](uint32_t a, uint32_t b) { return min(a, b); });
}

/* State of a lane's query. All lanes of a query have the same values, except for `next`. */
struct group_lane {
    uint32_t next; /* shared-memory address of the next free element in this lane's column of
                      dist2 */
    uint32_t k;
    float bound2; /* bound on dist2; negative: the query is inactive */
};

template <class SHAPE>
__device__ inline uint32_t column_count(group_shared<SHAPE> &sh, const group_lane &state) {
    return (state.next - warp_columns::place_of(&sh.dist2[0][lane_id()])) / COLUMN_ROW;
}

/* Interval of dist2 in which count(dist2 <= x) passes from less than k to k or more. */
struct bracket {
    uint32_t lo, hi;             /* ends as float bits */
    uint32_t lo_count, hi_count; /* counts below lo, and up to hi */
};

__device__ inline uint32_t bracket_guess(const bracket &bracket, uint32_t target, int round) {
    const uint32_t middle = bracket.lo + (bracket.hi - bracket.lo) / 2;
    if (round >= FALSI_ROUNDS || bracket.lo >= bracket.hi) return middle;
    const float part = ((float)target - (float)bracket.lo_count) /
                       ((float)bracket.hi_count - (float)bracket.lo_count);
    const float lo = __uint_as_float(bracket.lo), hi = __uint_as_float(bracket.hi);
    const uint32_t guess = __float_as_uint(lo + (hi - lo) * part);
    return max(bracket.lo, min(guess, bracket.hi - 1));
}

/* Returns the greatest id that is kept among the candidates with dist2 equal to `tie`, so that k
   are kept in all; for queries with `open`. */
template <class SHAPE>
__device__ uint32_t group_id_limit(const group_shared<SHAPE> &sh, uint32_t held, uint32_t k,
                                   uint32_t tie, bool open) {
    uint32_t lo = 0, hi = KD_NONE;
    while (__any_sync(ALL_LANES, open && lo < hi)) {
        const uint32_t middle = lo + (hi - lo) / 2;
        uint32_t within = 0;
        for (uint32_t i = 0; i < held; ++i) {
            const uint32_t d = sh.dist2[i][lane_id()];
            within += d < tie || (d == tie && sh.id[i][lane_id()] <= middle);
        }
        within = group_sum<SHAPE>(within);
        if (lo >= hi) continue;
        if (within >= k)
            hi = middle;
        else
            lo = middle + 1;
    }
    return open ? hi : KD_NONE;
}

/* Counts the elements of a column, padded to `rows`, with dist2 up to the given one. */
__device__ inline uint32_t count_within(const uint32_t *column, uint32_t rows, uint32_t dist2) {
    uint32_t within = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < rows; i += COLUMN_STEP)
#pragma unroll
        for (uint32_t j = 0; j < COLUMN_STEP; ++j) within += column[32 * (i + j)] <= dist2;
    return within;
}

/* For each query with `open`, finds a dist2 up to which k to `maximum` candidates lie. */
template <class SHAPE>
__device__ inline bracket find_bracket(const uint32_t *column, uint32_t rows, uint32_t k,
                                       uint32_t maximum, uint32_t total, bool open) {
    int last = 0; /* the padding is negative as an integer */
#pragma unroll 1
    for (uint32_t i = 0; i < rows; i += COLUMN_STEP)
#pragma unroll
        for (uint32_t j = 0; j < COLUMN_STEP; ++j) last = max(last, (int)column[32 * (i + j)]);
    bracket in = {0, group_max<SHAPE>((uint32_t)last), 0, total};
#pragma unroll 1
    for (int round = 0; __any_sync(ALL_LANES, open); ++round) {
        const uint32_t guess = bracket_guess(in, (k + maximum) / 2, round);
        const uint32_t within = group_sum<SHAPE>(count_within(column, rows, guess));
        if (open && within >= k)
            in.hi = guess, in.hi_count = within;
        else if (open)
            in.lo = guess + 1, in.lo_count = within;
        open = open && in.hi_count > maximum && in.lo < in.hi;
    }
    return in;
}

/* Keeps the elements of a column up to (dist2, id) = (last, last_id); compares ids only if TIED.
   Returns the address of the next free element. */
template <class SHAPE, bool TIED>
__device__ inline uint32_t keep_up_to(uint32_t *column, uint32_t rows, uint32_t last,
                                      uint32_t last_id) {
    uint32_t *kept = column;
#pragma unroll 1
    for (uint32_t i = 0; i < rows; i += COLUMN_STEP) {
        uint32_t d[COLUMN_STEP], id[COLUMN_STEP];
#pragma unroll
        for (uint32_t j = 0; j < COLUMN_STEP; ++j)
            d[j] = column[32 * (i + j)], id[j] = column[32 * (SHAPE::CAPACITY + i + j)];
#pragma unroll
        for (uint32_t j = 0; j < COLUMN_STEP; ++j)
            if (TIED ? d[j] < last || (d[j] == last && id[j] <= last_id) : d[j] <= last) {
                kept[0] = d[j], kept[32 * SHAPE::CAPACITY] = id[j];
                kept += 32;
            }
    }
    return warp_columns::place_of(kept);
}

/* Reduces each query with more than `maximum` candidates to the k nearest and at most `maximum` in
   all. */
template <class SHAPE>
__device__ __noinline__ group_lane group_shrink(group_shared<SHAPE> &sh, group_lane state,
                                                uint32_t maximum) {
    __syncwarp();
    const uint32_t held = column_count(sh, state), total = group_sum<SHAPE>(held);
    const bool shrinks = total > maximum;
    if (!__any_sync(ALL_LANES, shrinks)) return state;
    const uint32_t longest = __reduce_max_sync(ALL_LANES, held);
    const uint32_t rows = (longest + COLUMN_STEP - 1) / COLUMN_STEP * COLUMN_STEP;
    uint32_t *column = &sh.dist2[0][lane_id()];
    for (uint32_t i = held; i < rows; ++i) column[32 * i] = KD_NONE;
    const bracket in = find_bracket<SHAPE>(column, rows, state.k, maximum, total, shrinks);
    const bool tied = shrinks && in.hi_count > maximum;
    const bool any_tied = __any_sync(ALL_LANES, tied);
    const uint32_t last_id = any_tied ? group_id_limit(sh, held, state.k, in.hi, tied) : KD_NONE;
    const uint32_t last = shrinks ? in.hi : KD_NONE - 1;
    state.next = any_tied ? keep_up_to<SHAPE, true>(column, rows, last, last_id)
                          : keep_up_to<SHAPE, false>(column, rows, last, last_id);
    if (shrinks && state.bound2 >= 0) state.bound2 = __uint_as_float(in.hi);
    __syncwarp();
    return state;
}

/* Rebalances the columns of each query: moves elements from the fullest to the emptiest until none
   has more than `maximum`. Rarely needed. */
template <class SHAPE>
__device__ __noinline__ group_lane group_level(group_shared<SHAPE> &sh, group_lane state,
                                               uint32_t maximum) {
    for (;;) {
        const uint32_t held = column_count(sh, state);
        if (!__any_sync(ALL_LANES, held > maximum)) return state;
        const uint32_t lane = lane_id() % SHAPE::LANES, code = held * SHAPE::LANES + lane;
        const uint32_t fullest = group_max<SHAPE>(code), emptiest = group_min<SHAPE>(code);
        const bool moves = fullest / SHAPE::LANES > maximum;
        const uint32_t from = lane_id() - lane + fullest % SHAPE::LANES;
        __syncwarp();
        if (moves && lane == emptiest % SHAPE::LANES) {
            const uint32_t last = fullest / SHAPE::LANES - 1;
            warp_columns::store_apart<SHAPE::CAPACITY * COLUMN_ROW>(
                state.next, sh.dist2[last][from], sh.id[last][from]);
            state.next += COLUMN_ROW;
        }
        if (moves && lane == fullest % SHAPE::LANES) state.next -= COLUMN_ROW;
        __syncwarp();
    }
}

} // namespace point_index
#endif
