/* SIMD kernels that test eight boxes or sixteen points, of any dimensions, against one query: AVX2,
   AVX-512 where it is faster, and a plain version of each, which is the reference implementation.
   `dims` is a compile-time constant where that pays off. Distances are summed axis by axis, as in
   points/tree/walk_nd.h. */
#ifndef KD_POINTS_NEIGHBOURS_LANES_H
#define KD_POINTS_NEIGHBOURS_LANES_H
#include "core/math/geometry.h"
#include "points/tree/point_array.h"
#include <stdbool.h>
#ifdef __AVX2__
#include "core/math/bits.h"
#include <immintrin.h>
#endif
#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#define LANES_512
#endif

#define LANES_FN static inline __attribute__((always_inline))

enum { LEAF_POINTS = 16, LEAF_GROUP = 8 };
#define LANE_NEVER INT32_MAX /* greater than the bits of every distance */

/* A bucket of sixteen or eight slots: one column per axis, then the ids. Unused slots are NaN,
   which is within no distance. */
typedef struct leaf_points {
    const void *at; /* the columns, aligned to 32 bytes */
    const uint32_t *id;
    int places;
} leaf_points;

/* Returns a view of the bucket at address `at`. */
static inline leaf_points leaf_points_at(const void *at, uint32_t dims, uint32_t scalar_bytes,
                                         int places) {
    const leaf_points leaf = {
        at,
        (const uint32_t *)(const void *)((const char *)at + dims * scalar_bytes * (uint32_t)places),
        places};
    return leaf;
}

/* Computes lower bounds on the dist2 from a query to eight boxes, given as eight lower and eight
   upper sides per axis. Each result is the float's bits with the lane in the lowest three, an
   integer of almost the same order that never exceeds the exact value. The query lies between the
   floats `below` and `above`, or equals both. */
LANES_FN void lanes_boxes_plain(const float *sides, const float *below, const float *above,
                                uint32_t dims, int32_t out[LEAF_GROUP]) {
    float sum[LEAF_GROUP] = {0};
    for (uint32_t axis = 0; axis < dims; ++axis, sides += 2 * LEAF_GROUP)
        for (int lane = 0; lane < LEAF_GROUP; ++lane) {
            const float under = sides[lane] - above[axis];
            const float over = below[axis] - sides[LEAF_GROUP + lane];
            const float d = float_max(float_max(under, over), 0);
            sum[lane] = sum[lane] + d * d;
        }
    for (uint32_t lane = 0; lane < LEAF_GROUP; ++lane)
        out[lane] = (int32_t)((float_bits(sum[lane]) & ~7u) | lane);
}

static inline int32_t lanes_min_plain(const int32_t lanes[LEAF_GROUP]) {
    int32_t minimum = lanes[0];
    for (int lane = 1; lane < LEAF_GROUP; ++lane)
        minimum = lanes[lane] < minimum ? lanes[lane] : minimum;
    return minimum;
}

/* Computes the dist2 of all points of a bucket; returns a bit mask of those <= bound2. */
#define LANES_POINTS_PLAIN(name, real)                                                             \
    LANES_FN uint32_t name(const leaf_points *leaf, const real *query, uint32_t dims, real bound2, \
                           real dist2[LEAF_POINTS]) {                                              \
        uint32_t within = 0;                                                                       \
        for (int i = 0; i < leaf->places; ++i) {                                                   \
            const real *x = (const real *)leaf->at + i;                                            \
            dist2[i] = (query[0] - x[0]) * (query[0] - x[0]);                                      \
            for (uint32_t axis = 1; axis < dims; ++axis) {                                         \
                const real d = query[axis] - x[axis * (uint32_t)leaf->places];                     \
                dist2[i] = dist2[i] + d * d;                                                       \
            }                                                                                      \
            within |= (uint32_t)(dist2[i] <= bound2) << i;                                         \
        }                                                                                          \
        return within;                                                                             \
    }
LANES_POINTS_PLAIN(lanes_points_plain, float)

/* The nearest point of a bucket in the order (dist2, id), if any is within bound2 (`valid`). */
typedef struct lanes_one {
    bool valid;
    float dist2;
    uint32_t id;
} lanes_one;

LANES_FN lanes_one lanes_closest_plain(const leaf_points *leaf, const float *query, uint32_t dims,
                                       float bound2) {
    float dist2[LEAF_POINTS];
    uint32_t within = lanes_points_plain(leaf, query, dims, bound2, dist2);
    lanes_one one = {within != 0, 0, 0};
    if (!within) return one;
    int nearest = __builtin_ctz(within);
    for (within &= within - 1; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        if (dist2[i] < dist2[nearest] ||
            (dist2[i] == dist2[nearest] && leaf->id[i] < leaf->id[nearest]))
            nearest = i;
    }
    one.dist2 = dist2[nearest];
    one.id = leaf->id[nearest];
    return one;
}

/* The eight nearest points so far in the order (dist2, id); dist2 as float bits, LANE_NEVER for
   none. */
typedef struct lanes_nearest {
    int32_t dist2[LEAF_GROUP] __attribute__((aligned(32))); /* attribute syntax that nvcc also
                                                               accepts */
    int32_t id[LEAF_GROUP] __attribute__((aligned(32)));
} lanes_nearest;

/* Inserts the points of a bucket whose bits are set; each insertion shifts the later elements by
   one. */
static inline void lanes_nearest_take_plain(lanes_nearest *list, const float dist2[LEAF_POINTS],
                                            const uint32_t id[LEAF_POINTS], uint32_t within) {
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        int32_t near = (int32_t)float_bits(dist2[i]), near_id = (int32_t)id[i];
        for (int lane = 0; lane < LEAF_GROUP; ++lane) {
            const int32_t lane_dist2 = list->dist2[lane], here_id = list->id[lane];
            const bool behind = lane_dist2 > near || (lane_dist2 == near && here_id > near_id);
            list->dist2[lane] = behind ? near : lane_dist2;
            list->id[lane] = behind ? near_id : here_id;
            near = behind ? lane_dist2 : near;
            near_id = behind ? here_id : near_id;
        }
    }
}

/* Appends the keys (dist2 bits above, id below) of the points of a bucket whose bits are set; there
   must be room for sixteen. Returns their number. */
static inline uint32_t lanes_keys_plain(const leaf_points *leaf, const float dist2[LEAF_POINTS],
                                        uint32_t within, uint64_t *keys) {
    uint32_t count = 0;
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        keys[count++] = (uint64_t)float_bits(dist2[i]) << 32 | leaf->id[i];
    }
    return count;
}

#ifdef __AVX2__
typedef __m256i lanes_set; /* the results of lanes_boxes_plain in a register */

/* The squared distance from a query to eight boxes along one axis. */
LANES_FN __m256 lanes_outside2(const float *sides, float below, float above) {
    const __m256 under = _mm256_sub_ps(_mm256_load_ps(sides), _mm256_set1_ps(above));
    const __m256 over = _mm256_sub_ps(_mm256_set1_ps(below), _mm256_load_ps(sides + LEAF_GROUP));
    const __m256 d = _mm256_max_ps(_mm256_max_ps(under, over), _mm256_setzero_ps());
    return _mm256_mul_ps(d, d);
}

LANES_FN lanes_set lanes_of_boxes(const float *sides, const float *below, const float *above,
                                  uint32_t dims) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256 sum = lanes_outside2(sides, below[0], above[0]);
    for (uint32_t axis = 1; axis < dims; ++axis)
        sum = _mm256_add_ps(
            sum, lanes_outside2(sides + 2 * LEAF_GROUP * axis, below[axis], above[axis]));
    return _mm256_or_si256(_mm256_andnot_si256(_mm256_set1_epi32(7), _mm256_castps_si256(sum)),
                           lanes);
}

static inline int32_t lanes_set_min(lanes_set all) {
    __m128i minimum = _mm_min_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    minimum = _mm_min_epi32(minimum, _mm_shuffle_epi32(minimum, _MM_SHUFFLE(1, 0, 3, 2)));
    minimum = _mm_min_epi32(minimum, _mm_shuffle_epi32(minimum, _MM_SHUFFLE(2, 3, 0, 1)));
    return _mm_cvtsi128_si32(minimum);
}

/* Removes the lane with this value, of which there is exactly one. */
static inline lanes_set lanes_set_strike(lanes_set all, int32_t value) {
    const __m256i struck = _mm256_cmpeq_epi32(all, _mm256_set1_epi32(value));
    return _mm256_or_si256(_mm256_andnot_si256(struck, all), _mm256_srli_epi32(struck, 1));
}

/* Removes the lanes from `count` on. */
static inline lanes_set lanes_set_limit(lanes_set all, uint32_t count) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i missing = _mm256_cmpgt_epi32(lanes, _mm256_set1_epi32((int32_t)count - 1));
    return _mm256_or_si256(_mm256_andnot_si256(missing, all), _mm256_srli_epi32(missing, 1));
}

static inline int32_t lanes_set_at(lanes_set all, uint32_t lane) {
    const __m256i at = _mm256_set1_epi32((int32_t)lane);
    return _mm_cvtsi128_si32(_mm256_castsi256_si128(_mm256_permutevar8x32_epi32(all, at)));
}

/* Insertion into a sorted list: the list shifted by one lane is merged with x, distances by minima
   and maxima, ids by masks. */
static inline void lanes_nearest_take(lanes_nearest *list, const float dist2[LEAF_POINTS],
                                      const uint32_t id[LEAF_POINTS], uint32_t within) {
    const __m256i on = _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6);
    const __m256i not_first = _mm256_setr_epi32(0, -1, -1, -1, -1, -1, -1, -1);
    __m256i near = _mm256_load_si256((const __m256i *)(const void *)list->dist2);
    __m256i ids = _mm256_load_si256((const __m256i *)(const void *)list->id);
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        const __m256i x = _mm256_castps_si256(_mm256_set1_ps(dist2[i]));
        const __m256i x_id = _mm256_set1_epi32((int32_t)id[i]);
        const __m256i equal = _mm256_cmpeq_epi32(near, x);
        __m256i behind = _mm256_cmpgt_epi32(near, x);
        if (!_mm256_testz_si256(equal, equal))
            behind =
                _mm256_or_si256(behind, _mm256_and_si256(equal, _mm256_cmpgt_epi32(ids, x_id)));
        const __m256i moved = _mm256_and_si256(_mm256_permutevar8x32_epi32(near, on), not_first);
        const __m256i moved_ids = _mm256_permutevar8x32_epi32(ids, on);
        const __m256i moved_in =
            _mm256_and_si256(_mm256_permutevar8x32_epi32(behind, on), not_first);
        near = _mm256_max_epi32(moved, _mm256_min_epi32(near, x));
        ids = _mm256_blendv_epi8(_mm256_blendv_epi8(ids, x_id, behind), moved_ids, moved_in);
    }
    _mm256_store_si256((__m256i *)(void *)list->dist2, near);
    _mm256_store_si256((__m256i *)(void *)list->id, ids);
}

enum { LANES_HALF = 4 }; /* number of axes, of six or more, after which a bucket may be abandoned */

/* dist2 of eight points of a bucket. If, with many axes, all partial sums already exceed the bound,
   returns these. */
LANES_FN __m256 lanes_dist2(const leaf_points *leaf, int half, const float *query, uint32_t dims,
                            __m256 bound) {
    const float *x = (const float *)leaf->at + half;
    const __m256 first = _mm256_sub_ps(_mm256_set1_ps(query[0]), _mm256_load_ps(x));
    __m256 sum = _mm256_mul_ps(first, first);
    for (uint32_t axis = 1; axis < dims; ++axis) {
        x += leaf->places;
        const __m256 d = _mm256_sub_ps(_mm256_set1_ps(query[axis]), _mm256_load_ps(x));
        sum = _mm256_add_ps(sum, _mm256_mul_ps(d, d));
        if (axis + 1 == LANES_HALF && dims > LANES_HALF + 1 &&
            !_mm256_movemask_ps(_mm256_cmp_ps(sum, bound, _CMP_LE_OQ)))
            break;
    }
    return sum;
}

LANES_FN uint32_t lanes_points(const leaf_points *leaf, const float *query, uint32_t dims,
                               float bound2, float dist2[LEAF_POINTS]) {
    const __m256 bound = _mm256_set1_ps(bound2);
    uint32_t within = 0;
    for (int half = 0; half < leaf->places; half += 8) {
        const __m256 d = lanes_dist2(leaf, half, query, dims, bound);
        _mm256_store_ps(dist2 + half, d);
        within |= (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(d, bound, _CMP_LE_OQ)) << half;
    }
    return within;
}

/* Compaction without a branch on the number of points. */
static inline uint32_t lanes_keys(const leaf_points *leaf, const float dist2[LEAF_POINTS],
                                  uint32_t within, uint64_t *keys) {
    const __m256i shift = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    uint32_t count = 0;
    for (int half = 0; half < leaf->places; half += 8, within >>= 8) {
        const __m256i order = _mm256_srlv_epi32(
            _mm256_set1_epi32((int32_t)lanes_compress[within & 255]), shift); /* three bits per
                                                                                 lane */
        const __m256i near =
            _mm256_castps_si256(_mm256_permutevar8x32_ps(_mm256_load_ps(dist2 + half), order));
        const __m256i id = _mm256_permutevar8x32_epi32(
            _mm256_load_si256((const __m256i *)(const void *)(leaf->id + half)), order);
        const __m256i even = _mm256_unpacklo_epi32(id, near), odd = _mm256_unpackhi_epi32(id, near);
        __m256i *to = (__m256i *)(void *)(keys + count);
        _mm256_storeu_si256(to, _mm256_permute2x128_si256(even, odd, 0x20));
        _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(even, odd, 0x31));
        count += (uint32_t)__builtin_popcount(within & 255);
    }
    return count;
}

#ifdef LANES_512
enum { LANES_KEYS_MAX = 24 };

/* dist2 of sixteen points as one vector. */
LANES_FN __m512 lanes_dist2_sixteen(const leaf_points *leaf, const float *query, uint32_t dims) {
    const float *x = (const float *)leaf->at;
    const __m512 first = _mm512_sub_ps(_mm512_set1_ps(query[0]), _mm512_loadu_ps(x));
    __m512 sum = _mm512_mul_ps(first, first);
    for (uint32_t axis = 1; axis < dims; ++axis) {
        x += LEAF_POINTS;
        const __m512 d = _mm512_sub_ps(_mm512_set1_ps(query[axis]), _mm512_loadu_ps(x));
        sum = _mm512_add_ps(sum, _mm512_mul_ps(d, d));
    }
    return sum;
}

static inline uint32_t lanes_collect_eight(uint64_t *keys, __m256 dist2, const uint32_t *id,
                                           __mmask8 within, uint64_t bound_key) {
    const __m512i ids = _mm512_cvtepu32_epi64(_mm256_load_si256((const __m256i *)(const void *)id));
    const __m512i all = _mm512_or_si512(
        _mm512_slli_epi64(_mm512_cvtepu32_epi64(_mm256_castps_si256(dist2)), 32), ids);
    const __mmask8 kept =
        _mm512_mask_cmple_epu64_mask(within, all, _mm512_set1_epi64((int64_t)bound_key));
    _mm512_storeu_si512((void *)keys, _mm512_maskz_compress_epi64(kept, all));
    return (uint32_t)__builtin_popcount(kept);
}

/* Appends the keys of the points that are not after the bound in the order (dist2, id); there must
   be room for sixteen and eight more. Returns their number. */
LANES_FN uint32_t lanes_collect(uint64_t *keys, const leaf_points *leaf, const float *query,
                                uint32_t dims, uint64_t bound_key) {
    const float bound2 = float_from_bits((uint32_t)(bound_key >> 32));
    if (leaf->places != LEAF_POINTS) {
        const __m256 bound = _mm256_set1_ps(bound2), d = lanes_dist2(leaf, 0, query, dims, bound);
        return lanes_collect_eight(keys, d, leaf->id, _mm256_cmp_ps_mask(d, bound, _CMP_LE_OQ),
                                   bound_key);
    }
    const __m512 d = lanes_dist2_sixteen(leaf, query, dims);
    const __mmask16 within = _mm512_cmp_ps_mask(d, _mm512_set1_ps(bound2), _CMP_LE_OQ);
    if (!within) return 0;
    const uint32_t first =
        lanes_collect_eight(keys, _mm512_castps512_ps256(d), leaf->id, (__mmask8)within, bound_key);
    return first + lanes_collect_eight(keys + first, _mm512_extractf32x8_ps(d, 1), leaf->id + 8,
                                       (__mmask8)(within >> 8), bound_key);
}

/* Inserts keys into a sorted list of vectors of eight keys; each insertion shifts the later
   elements by one. */
static inline __attribute__((always_inline)) void
lanes_keys_take(uint64_t *list, int vectors, const uint64_t *keys, uint32_t count) {
    __m512i near[LANES_KEYS_MAX / 8];
    for (int v = 0; v < vectors; ++v) near[v] = _mm512_loadu_si512((const void *)(list + 8 * v));
    for (uint32_t i = 0; i < count; ++i) {
        const __m512i key = _mm512_set1_epi64((int64_t)keys[i]);
        for (int v = vectors; v-- > 0;) {
            const __m512i before = v > 0 ? near[v - 1] : _mm512_setzero_si512();
            near[v] = _mm512_max_epu64(_mm512_alignr_epi64(near[v], before, 7),
                                       _mm512_min_epu64(near[v], key));
        }
    }
    for (int v = 0; v < vectors; ++v) _mm512_storeu_si512((void *)(list + 8 * v), near[v]);
}

#endif

/* Keeps distances in registers: finds the minimum, then the lanes that attain it, and the least id
   of these. */
LANES_FN lanes_one lanes_closest(const leaf_points *leaf, const float *query, uint32_t dims,
                                 float bound2) {
    const __m256 bound = _mm256_set1_ps(bound2);
    lanes_one one = {false, 0, 0};
    const int halves = leaf->places / 8;
    __m256 d[2], within[2];
    d[1] = _mm256_set1_ps(NAN);
    within[1] = _mm256_setzero_ps();
    for (int half = 0; half < halves; ++half) {
        d[half] = lanes_dist2(leaf, 8 * half, query, dims, bound);
        within[half] = _mm256_cmp_ps(d[half], bound, _CMP_LE_OQ);
    }
    if (!_mm256_movemask_ps(_mm256_or_ps(within[0], within[1]))) return one;
    /* _mm256_min_ps returns its second operand if the first is NaN. */
    const __m256 never = _mm256_set1_ps(INFINITY);
    const __m256 minimum_of_two = _mm256_min_ps(d[0], _mm256_min_ps(d[1], never));
    __m128 minimum = _mm_min_ps(_mm256_castps256_ps128(minimum_of_two),
                                _mm256_extractf128_ps(minimum_of_two, 1));
    minimum = _mm_min_ps(minimum, _mm_movehl_ps(minimum, minimum));
    minimum = _mm_min_ss(minimum, _mm_shuffle_ps(minimum, minimum, 1));
    const __m256 all = _mm256_broadcastss_ps(minimum);
    uint32_t at = 0;
    for (int half = 0; half < 2; ++half) /* NaN of unused slots equals nothing */
        at |= (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(d[half], all, _CMP_EQ_OQ)) << 8 * half;
    one.valid = true;
    one.dist2 = _mm_cvtss_f32(minimum);
    one.id = leaf->id[__builtin_ctz(at)];
    for (at &= at - 1; at; at &= at - 1) {
        const uint32_t other = leaf->id[__builtin_ctz(at)];
        one.id = other < one.id ? other : one.id;
    }
    return one;
}
#else
typedef struct lanes_set {
    int32_t lane[LEAF_GROUP];
} lanes_set;

LANES_FN lanes_set lanes_of_boxes(const float *sides, const float *below, const float *above,
                                  uint32_t dims) {
    lanes_set all;
    lanes_boxes_plain(sides, below, above, dims, all.lane);
    return all;
}
static inline int32_t lanes_set_min(lanes_set all) {
    return lanes_min_plain(all.lane);
}
static inline lanes_set lanes_set_strike(lanes_set all, int32_t value) {
    if (value != LANE_NEVER) all.lane[value & 7] = LANE_NEVER;
    return all;
}
static inline lanes_set lanes_set_limit(lanes_set all, uint32_t count) {
    for (uint32_t lane = count; lane < LEAF_GROUP; ++lane) all.lane[lane] = LANE_NEVER;
    return all;
}
static inline int32_t lanes_set_at(lanes_set all, uint32_t lane) {
    return all.lane[lane];
}
#define lanes_nearest_take lanes_nearest_take_plain
#define lanes_closest lanes_closest_plain
#define lanes_points lanes_points_plain
#define lanes_keys lanes_keys_plain
#endif

#ifndef LANES_512
LANES_FN uint32_t lanes_collect(uint64_t *keys, const leaf_points *leaf, const float *query,
                                uint32_t dims, uint64_t bound_key) {
    float dist2[LEAF_POINTS] __attribute__((aligned(32))); /* attribute syntax that nvcc also
                                                              accepts */
    const float bound2 = float_from_bits((uint32_t)(bound_key >> 32));
    const uint32_t within = lanes_points(leaf, query, dims, bound2, dist2);
    return lanes_keys(leaf, dist2, within, keys);
}
#endif

#endif
