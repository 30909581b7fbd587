/* The best plane of a node by bounding the costs of bins; sweep.h describes the algorithm. */
#include "accel/sweep/sweep.h"
#include "core/memory.h"

enum { LANES = VECTOR8_LANES, TRIANGLES_A_BIN = 8 };

void sweep_bins_close(sweep_bins *owned) {
    memory_free(owned->events);
    memory_free(owned->scratch);
    owned->events = owned->scratch = NULL;
    owned->capacity = 0;
}

/* More bins would cost more than they save. */
static uint32_t bins_for(uint32_t triangles) {
    uint32_t bins = 2 * LANES;
    while (TRIANGLES_A_BIN * bins < triangles && bins < SWEEP_BINS_MAX) bins *= 2;
    return bins;
}

static void open_bins(sweep_bins *bins, const sweep_line *line) {
    const float length = line->areas.hi - line->areas.lo;
    memset(bins->flat, 0, sizeof bins->flat);
    bins->count = 0;
    if (!(line->areas.lo < line->areas.hi)) return;
    bins->count = bins_for(line->count);
    bins->scale = (float)bins->count / length;
    bins->width = length / (float)bins->count;
    /* rounding would break the order of bins */
    if (!(bins->width > 0x1p-100f && bins->width < 0x1p100f)) {
        bins->count = 1;
        bins->scale = 0;
        bins->width = length;
    }
    memset(bins->begun, 0, (bins->count + LANES) * sizeof *bins->begun);
    memset(bins->ended, 0, (bins->count + LANES) * sizeof *bins->ended);
}

/* Monotonic: larger positions never map to smaller bins. */
VECTOR8_FN int8 bins_of(const sweep_bins *bins, const sweep_line *line, float8 at) {
    const float8 last = float8_all((float)(bins->count - 1));
    return __builtin_convertvector(float8_min((at - line->areas.lo) * bins->scale, last), int8);
}
VECTOR8_FN void count_ends(sweep_bins *bins, const sweep_line *line) {
    uint32_t lower = 0, upper = 0;
    for (uint32_t k = 0; k < line->count; k += LANES) {
        const uint32_t rest = line->count - k, lanes_left = rest < LANES ? rest : LANES;
        const uint32_t valid = (1u << lanes_left) - 1;
        const float8 lo = float8_load(line->lo + k), hi = float8_load(line->hi + k);
        const int8 first = bins_of(bins, line, lo), last = bins_of(bins, line, hi);
        lower += (uint32_t)__builtin_popcount(int8_bits(hi == line->areas.lo) & valid);
        upper += (uint32_t)__builtin_popcount(int8_bits(lo == line->areas.hi) & valid);
        int32_t begin[LANES], end[LANES];
        memcpy(begin, &first, sizeof begin);
        memcpy(end, &last, sizeof end);
        if (lanes_left == LANES) {
            for (uint32_t i = 0; i < LANES; ++i) {
                ++bins->begun[begin[i]];
                ++bins->ended[end[i]];
            }
        } else {
            for (uint32_t i = 0; i < lanes_left; ++i) {
                ++bins->begun[begin[i]];
                ++bins->ended[end[i]];
            }
        }
    }
    bins->flat[0] = lower;
    bins->flat[1] = upper;
}

/* Replaces the counts per bin by counts before each bin. */
static void sum_up(sweep_bins *bins) {
    int32_t begun = 0, ended = 0;
    for (uint32_t b = 0; b < bins->count; ++b) {
        const int32_t begin = bins->begun[b], end = bins->ended[b];
        bins->begun[b] = begun;
        bins->ended[b] = ended;
        begun += begin;
        ended += end;
    }
    for (uint32_t b = bins->count; b < bins->count + 2 * LANES; ++b) {
        bins->begun[b] = begun;
        bins->ended[b] = ended;
    }
}

/* Computes the lower bounds of all bins. */
VECTOR8_FN void bound_bins(sweep_bins *bins, const sweep_line *line, const sah_costs *costs) {
    const float8 number = {0, 1, 2, 3, 4, 5, 6, 7};
    const int32_t triangles = (int32_t)line->count;
    const float8 zero = float8_all(0), all = float8_all(costs->intersect);
    const float8 reduced = float8_all(costs->intersect * costs->empty_factor);
    const float8 nothing = float8_all(INFINITY), bins8 = float8_all((float)bins->count);
    const sah_axis *areas = &line->areas;
    for (uint32_t b = 0; b < bins->count; b += LANES) {
        /* A margin of a hundredth of a bin exceeds all rounding errors. */
        const float8 bin = number + (float)b;
        const float8 near = float8_max((bin - 0.01f) * bins->width, zero);
        const float8 far = float8_max((bins8 - bin - 1.01f) * bins->width, zero);
        const int8 begun = int8_load(bins->begun + b), ended = int8_load(bins->ended + b);
        const int8 begun_max = int8_load(bins->begun + b + 1);
        const int8 left_max = triangles - ended, right = triangles - int8_load(bins->ended + b + 1);
        const int8 empty = (begun == begun_max) & (left_max == right);
        /* sah_split_cost8 with the lower bound of each term. */
        const float8 expected =
            (areas->base + areas->slope * near) * __builtin_convertvector(begun, float8) +
            (areas->base + areas->slope * far) * __builtin_convertvector(right, float8);
        const float8 minimum =
            costs->traversal + float8_select((begun == 0) | (right == 0), reduced, all) * expected;
        const float8 bound = float8_select(empty, nothing, minimum);
        float8_store(bins->bound + b, bound);
    }
    for (uint32_t b = bins->count; b % LANES; ++b) bins->bound[b] = INFINITY;
}

void sweep_bins_count(sweep_bins *bins, const sweep_line *line, const sah_costs *costs) {
    open_bins(bins, line);
    if (bins->count == 0) return;
    count_ends(bins, line);
    sum_up(bins);
    bound_bins(bins, line, costs);
}

/* State of a sweep over sorted events. */
typedef struct axis_walk {
    const sah_costs *costs;
    const sah_axis *areas;
    const sweep_event *event, *end;
    uint32_t left, right; /* triangles that have begun; that have not ended */
    float minimum, position;
} axis_walk;

/* Tries the plane of the current event, or of a group of planar events, and advances. Where several
   events share a position, intermediate counts are too high but never too low, so only a true cost
   can win. */
static inline void try_event(axis_walk *walk, float plane) {
    const uint32_t type = sweep_event_type(*walk->event);
    walk->right -= type != EVENT_START;
    float cost = sah_split_cost(walk->costs, walk->areas, plane, walk->left, walk->right);
    if (type == EVENT_PLANAR) {
        uint32_t planar = 1;
        while (walk->event + 1 < walk->end && sweep_event_position(walk->event[1]) == plane &&
               sweep_event_type(walk->event[1]) == EVENT_PLANAR) {
            ++walk->event;
            ++planar;
            --walk->right;
        }
        cost = float_min(
            sah_split_cost(walk->costs, walk->areas, plane, walk->left + planar, walk->right),
            sah_split_cost(walk->costs, walk->areas, plane, walk->left, walk->right + planar));
        walk->left += planar - 1;
    }
    walk->left += type != EVENT_END;
    ++walk->event;
    if (plane > walk->areas->lo && plane < walk->areas->hi && cost < walk->minimum) {
        walk->minimum = cost;
        walk->position = plane;
    }
}

static kd_status reserve(sweep_bins *bins, uint64_t count) {
    if (count <= bins->capacity) return KD_OK;
    sweep_bins_close(bins);
    KD_TRY(KD_RESERVE(bins->events, count + count / 2));
    KD_TRY(KD_RESERVE(bins->scratch, count + count / 2));
    bins->capacity = count + count / 2;
    return KD_OK;
}

/* Collects the ends in bins [first, beyond) as events. */
VECTOR8_FN uint64_t collect(const sweep_bins *bins, const sweep_line *line, uint32_t first,
                            uint32_t beyond) {
    uint64_t count = 0;
    const int32_t from = (int32_t)first, to = (int32_t)beyond;
    for (uint32_t k = 0; k < line->count; k += LANES) {
        const uint32_t rest = line->count - k;
        const uint32_t valid = rest < LANES ? (1u << rest) - 1 : 0xffu;
        const float8 lo = float8_load(line->lo + k), hi = float8_load(line->hi + k);
        const int8 begin = bins_of(bins, line, lo), end = bins_of(bins, line, hi);
        uint32_t begins = int8_bits((begin >= from) & (begin < to)) & valid;
        uint32_t ends = int8_bits((end >= from) & (end < to) & (lo != hi)) & valid;
        for (; begins; begins &= begins - 1) {
            const uint32_t i = k + (uint32_t)__builtin_ctz(begins);
            const uint32_t type = line->lo[i] == line->hi[i] ? EVENT_PLANAR : EVENT_START;
            bins->events[count++] = sweep_event_make(line->lo[i], type, i);
        }
        for (; ends; ends &= ends - 1) {
            const uint32_t i = k + (uint32_t)__builtin_ctz(ends);
            bins->events[count++] = sweep_event_make(line->hi[i], EVENT_END, i);
        }
    }
    return count;
}

/* Stores the lanes of `from` selected by `mask`, compressed to the front; may write all eight
   numbers at `to`. */
VECTOR8_FN void pack(float *to, float8 from, uint32_t mask) {
#if defined(__AVX2__) && defined(__BMI2__)
    const uint64_t bytes = _pdep_u64(mask, 0x0101010101010101u) * 0xff;
    const uint64_t places = _pext_u64(0x0706050403020100u, bytes);
    const __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)places));
    _mm256_storeu_ps(to, _mm256_permutevar8x32_ps((__m256)from, order));
#else
    for (; mask; mask &= mask - 1) *to++ = from[__builtin_ctz(mask)];
#endif
}

enum { ENDS_MAX = 256, ENDS_CAPACITY = ENDS_MAX + 4 * LANES };

/* Unsorted ends of triangles, when there are few. */
typedef struct few_ends {
    /* `planar` repeats the positions of planar triangles, which are in `begin` and `end` as well */
    float begin[ENDS_CAPACITY], end[ENDS_CAPACITY], planar[ENDS_CAPACITY];
    uint32_t begins, ends, planars;
} few_ends;

/* Collects the ends in bins [first, beyond). */
VECTOR8_FN void collect_few(few_ends *few, const sweep_bins *bins, const sweep_line *line,
                            uint32_t first, uint32_t beyond) {
    const float from = (float)first, to = beyond < bins->count ? (float)beyond : INFINITY;
    few->begins = few->ends = few->planars = 0;
    for (uint32_t k = 0; k < line->count; k += LANES) {
        const uint32_t rest = line->count - k;
        const uint32_t valid = rest < LANES ? (1u << rest) - 1 : 0xffu;
        const float8 lo = float8_load(line->lo + k), hi = float8_load(line->hi + k);
        const float8 begin = (lo - line->areas.lo) * bins->scale;
        const float8 end = (hi - line->areas.lo) * bins->scale;
        const uint32_t begins = ~int8_bits((begin < from) | (begin >= to)) & valid;
        const uint32_t ends = ~int8_bits((end < from) | (end >= to)) & valid;
        const uint32_t planars = begins & int8_bits(lo == hi);
        pack(few->begin + few->begins, lo, begins);
        pack(few->end + few->ends, hi, ends);
        few->begins += (uint32_t)__builtin_popcount(begins);
        few->ends += (uint32_t)__builtin_popcount(ends);
        if (!planars) continue;
        pack(few->planar + few->planars, lo, planars);
        few->planars += (uint32_t)__builtin_popcount(planars);
    }
}

/* The cheapest plane so far per lane; of equal costs the first. */
typedef struct best8 {
    float8 cost, position;
} best8;

/* Tries two vectors of planes. */
VECTOR8_FN void try_planes(best8 *best, const few_ends *few, const float *planes, int32_t begun,
                           int32_t open, const sah_axis *areas, const sah_costs *costs) {
    const float8 plane[2] = {float8_load(planes), float8_load(planes + LANES)};
    int8 left[2] = {{0}, {0}}, gone[2] = {{0}, {0}}, planar[2] = {{0}, {0}};
    for (uint32_t i = 0; i < few->begins; ++i)
        for (int k = 0; k < 2; ++k) left[k] -= few->begin[i] < plane[k];
    for (uint32_t i = 0; i < few->ends; ++i)
        for (int k = 0; k < 2; ++k) gone[k] -= few->end[i] <= plane[k];
    for (uint32_t i = 0; i < few->planars; ++i)
        for (int k = 0; k < 2; ++k) planar[k] -= few->planar[i] == plane[k];
    for (int k = 0; k < 2; ++k) {
        const int8 before_it = left[k] + begun, behind = open - gone[k];
        float8 cost = sah_split_cost8(costs, areas, plane[k], before_it + planar[k], behind);
        if (few->planars)
            cost = float8_min(
                cost, sah_split_cost8(costs, areas, plane[k], before_it, behind + planar[k]));
        const int8 inside = (plane[k] > areas->lo) & (plane[k] < areas->hi);
        const int8 before =
            inside & ((cost < best->cost) | ((cost == best->cost) & (plane[k] < best->position)));
        best->cost = float8_select(before, cost, best->cost);
        best->position = float8_select(before, plane[k], best->position);
    }
}

static void search_few(const sweep_bins *bins, const sweep_line *line, const sah_costs *costs,
                       int axis, uint32_t first, uint32_t beyond, sah_split *best) {
    few_ends few;
    collect_few(&few, bins, line, first, beyond);
    const float8 never = float8_all(INFINITY);
    for (uint32_t k = 0; k < few.ends; k += LANES) /* appends the ends to the starts */
        float8_store(few.begin + few.begins + k, float8_load(few.end + k));
    const uint32_t planes = few.begins + few.ends;
    float8_store(few.begin + planes, never);
    float8_store(few.begin + planes + LANES, never);
    best8 minimum = {never, never};
    const int32_t begun = bins->begun[first], open = (int32_t)line->count - bins->ended[first];
    for (uint32_t k = 0; k < planes; k += 2 * LANES)
        try_planes(&minimum, &few, few.begin + k, begun, open, &line->areas, costs);
    sah_split split = {best->cost, 0, axis, true};
    for (int lane = 0; lane < LANES; ++lane) {
        split.cost = minimum.cost[lane];
        split.position = minimum.position[lane];
        if (split.cost < INFINITY && sah_split_before(&split, best)) *best = split;
    }
}

static kd_status search_many(sweep_bins *bins, const sweep_line *line, const sah_costs *costs,
                             int axis, uint32_t first, uint32_t beyond, uint64_t expected,
                             sah_split *best) {
    KD_TRY(reserve(bins, expected));
    const uint64_t count = collect(bins, line, first, beyond);
    sweep_events_sort(bins->events, bins->scratch, count);
    axis_walk walk = {.costs = costs, .areas = &line->areas, .minimum = INFINITY};
    walk.left = (uint32_t)bins->begun[first];
    walk.right = line->count - (uint32_t)bins->ended[first];
    walk.end = bins->events + count;
    for (walk.event = bins->events; walk.event < walk.end;)
        try_event(&walk, sweep_event_position(*walk.event));
    const sah_split split = {walk.minimum, walk.position, axis, true};
    if (walk.minimum < INFINITY && sah_split_before(&split, best)) *best = split;
    return KD_OK;
}

kd_status sweep_bins_search(sweep_bins *bins, const sweep_line *line, const sah_costs *costs,
                            int axis, uint32_t first, uint32_t beyond, sah_split *best) {
    const float maximum = best->cost;
    while (first < beyond) {
        if (!(bins->bound[first] <= maximum)) {
            ++first;
            continue;
        }
        uint32_t end = first;
        for (; end < beyond && bins->bound[end] <= maximum; ++end) bins->bound[end] = INFINITY;
        const uint64_t ends = (uint64_t)(bins->begun[end] - bins->begun[first]) +
                              (uint64_t)(bins->ended[end] - bins->ended[first]);
        if (ends <= ENDS_MAX)
            search_few(bins, line, costs, axis, first, end, best);
        else
            KD_TRY(search_many(bins, line, costs, axis, first, end, ends, best));
        first = end;
    }
    return KD_OK;
}

void sweep_try_sides(const sweep_bins *bins, const sweep_line *line, const sah_costs *costs,
                     int axis, sah_split *best) {
    for (int upper = 0; upper < 2; ++upper) {
        const uint32_t flat = bins->flat[upper], rest = line->count - flat;
        if (bins->count == 0 || flat == 0) continue;
        const float plane = upper ? line->areas.hi : line->areas.lo;
        const sah_split split = {
            sah_split_cost(costs, &line->areas, plane, upper ? rest : flat, upper ? flat : rest),
            plane, axis, true};
        if (split.cost < INFINITY && sah_split_before(&split, best)) *best = split;
    }
}

VECTOR8_FN sweep_sides count_sides(const sweep_line *line, float position) {
    sweep_sides sides = {0, 0, 0};
    uint32_t some = 0;
    for (uint32_t k = 0; k < line->count; k += LANES) {
        const uint32_t rest = line->count - k;
        const uint32_t valid = rest < LANES ? (1u << rest) - 1 : 0xffu;
        const uint32_t left = int8_bits(float8_load(line->lo + k) < position) & valid;
        const uint32_t right = int8_bits(float8_load(line->hi + k) > position) & valid;
        sides.left += (uint32_t)__builtin_popcount(left);
        sides.right += (uint32_t)__builtin_popcount(right);
        some += (uint32_t)__builtin_popcount(left | right);
    }
    sides.planar = line->count - some;
    return sides;
}

sweep_sides sweep_count_sides(const sweep_line *line, float position) {
    return count_sides(line, position);
}
