/* The kernels of lanes.h for doubles. */
#ifndef KD_POINTS_NEIGHBOURS_LANES_DOUBLES_H
#define KD_POINTS_NEIGHBOURS_LANES_DOUBLES_H
#include "points/neighbours/lanes.h"

LANES_POINTS_PLAIN(doubles_points_plain, double)

/* The eight nearest points so far in the order (dist2, id); INFINITY and INT64_MAX for none. */
typedef struct doubles_nearest {
    double dist2[LEAF_GROUP] __attribute__((aligned(32)));
    int64_t id[LEAF_GROUP] __attribute__((aligned(32)));
} doubles_nearest;

static inline void doubles_nearest_take_plain(doubles_nearest *list,
                                              const double dist2[LEAF_POINTS],
                                              const uint32_t id[LEAF_POINTS], uint32_t within) {
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        double near = dist2[i];
        int64_t near_id = (int64_t)id[i];
        for (int lane = 0; lane < LEAF_GROUP; ++lane) {
            const double lane_dist2 = list->dist2[lane];
            const int64_t here_id = list->id[lane];
            const bool behind = lane_dist2 > near || (lane_dist2 == near && here_id > near_id);
            list->dist2[lane] = behind ? near : lane_dist2;
            list->id[lane] = behind ? near_id : here_id;
            near = behind ? lane_dist2 : near;
            near_id = behind ? here_id : near_id;
        }
    }
}

#if defined(LANES_512)
/* Sixteen doubles. Excludes the points at distance bound2 whose ids are greater than bound_id. */
LANES_FN uint32_t doubles_points(const leaf_points *leaf, const double *query, uint32_t dims,
                                 double bound2, uint32_t bound_id, double dist2[LEAF_POINTS]) {
    const __m512d bound = _mm512_set1_pd(bound2);
    uint32_t within = 0, equal = 0;
    for (int i = 0; i < LEAF_POINTS; i += 8) {
        const double *x = (const double *)leaf->at + i;
        const __m512d first = _mm512_sub_pd(_mm512_set1_pd(query[0]), _mm512_loadu_pd(x));
        __m512d sum = _mm512_mul_pd(first, first);
        for (uint32_t axis = 1; axis < dims; ++axis) {
            x += LEAF_POINTS;
            const __m512d d = _mm512_sub_pd(_mm512_set1_pd(query[axis]), _mm512_loadu_pd(x));
            sum = _mm512_add_pd(sum, _mm512_mul_pd(d, d));
        }
        _mm512_storeu_pd(dist2 + i, sum);
        within |= (uint32_t)_mm512_cmp_pd_mask(sum, bound, _CMP_LE_OQ) << i;
        equal |= (uint32_t)_mm512_cmp_pd_mask(sum, bound, _CMP_EQ_OQ) << i;
    }
    return within & ~(uint32_t)_mm512_mask_cmpgt_epu32_mask(
                        (__mmask16)equal, _mm512_loadu_si512((const void *)leaf->id),
                        _mm512_set1_epi32((int32_t)bound_id));
}

/* The list is one vector: lanes after x take the value of the lane before them, the first of them
   x. */
static inline void doubles_nearest_take(doubles_nearest *list, const double dist2[LEAF_POINTS],
                                        const uint32_t id[LEAF_POINTS], uint32_t within) {
    __m512d near = _mm512_loadu_pd(list->dist2);
    __m512i ids = _mm512_loadu_si512((const void *)list->id);
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        const __m512d x = _mm512_set1_pd(dist2[i]);
        const __m512i x_id = _mm512_set1_epi64((int64_t)id[i]);
        const __mmask8 equal = _mm512_cmp_pd_mask(near, x, _CMP_EQ_OQ);
        const __mmask8 behind = (__mmask8)(_mm512_cmp_pd_mask(near, x, _CMP_GT_OQ) |
                                           _mm512_mask_cmpgt_epi64_mask(equal, ids, x_id));
        const __m512i moved =
            _mm512_alignr_epi64(_mm512_castpd_si512(near), _mm512_castpd_si512(x), 7);
        const __m512i moved_ids = _mm512_alignr_epi64(ids, x_id, 7);
        const __mmask8 enters = (__mmask8)(behind & ~(behind << 1));
        near = _mm512_mask_mov_pd(near, behind, _mm512_castsi512_pd(moved));
        ids = _mm512_mask_mov_epi64(ids, behind, moved_ids);
        near = _mm512_mask_mov_pd(near, enters, x);
        ids = _mm512_mask_mov_epi64(ids, enters, x_id);
    }
    _mm512_storeu_pd(list->dist2, near);
    _mm512_storeu_si512((void *)list->id, ids);
}
#elif defined(__AVX2__)
LANES_FN uint32_t doubles_points(const leaf_points *leaf, const double *query, uint32_t dims,
                                 double bound2, uint32_t bound_id, double dist2[LEAF_POINTS]) {
    enum { LANES = 4, VECTORS = LEAF_POINTS / LANES };
    const __m256d bound = _mm256_set1_pd(bound2);
    const double *x = (const double *)leaf->at;
    __m256d sums[VECTORS];
    uint32_t within = 0, equal = 0;
    for (int v = 0; v < VECTORS; ++v) {
        const __m256d d = _mm256_sub_pd(_mm256_set1_pd(query[0]), _mm256_load_pd(x + v * LANES));
        sums[v] = _mm256_mul_pd(d, d);
    }
    for (uint32_t axis = 1; axis < dims; ++axis) {
        const __m256d q = _mm256_set1_pd(query[axis]);
        x += LEAF_POINTS;
        for (int v = 0; v < VECTORS; ++v) {
            const __m256d d = _mm256_sub_pd(q, _mm256_load_pd(x + v * LANES));
            sums[v] = _mm256_add_pd(sums[v], _mm256_mul_pd(d, d));
        }
        if (axis + 1 == LANES_HALF && dims > LANES_HALF + 1) {
            __m256d any = _mm256_cmp_pd(sums[0], bound, _CMP_LE_OQ);
            for (int v = 1; v < VECTORS; ++v)
                any = _mm256_or_pd(any, _mm256_cmp_pd(sums[v], bound, _CMP_LE_OQ));
            if (_mm256_testz_pd(any, any)) return 0;
        }
    }
    for (int v = 0; v < VECTORS; ++v) {
        _mm256_store_pd(dist2 + v * LANES, sums[v]);
        within |= (uint32_t)_mm256_movemask_pd(_mm256_cmp_pd(sums[v], bound, _CMP_LE_OQ))
                  << v * LANES;
    }
    if (!within) return 0;
    for (int v = 0; v < VECTORS; ++v)
        equal |= (uint32_t)_mm256_movemask_pd(_mm256_cmp_pd(sums[v], bound, _CMP_EQ_OQ))
                 << v * LANES;
    for (; equal; equal &= equal - 1) {
        const int i = __builtin_ctz(equal);
        if (leaf->id[i] > bound_id) within &= ~(1u << i);
    }
    return within;
}

/* Inserts x into four lanes of the list: lanes after x (`behind`) shift by one. `moved` and
   `moved_ids` are the shifted lanes, used where `moved_in` is set; the first lane after x takes
   x. */
static inline void list_move(__m256d *near, __m256i *ids, __m256d behind, __m256d moved,
                             __m256i moved_ids, __m256d moved_in, __m256d x, __m256i x_id) {
    *near = _mm256_blendv_pd(_mm256_blendv_pd(*near, x, behind), moved, moved_in);
    *ids = _mm256_castpd_si256(_mm256_blendv_pd(
        _mm256_blendv_pd(_mm256_castsi256_pd(*ids), _mm256_castsi256_pd(x_id), behind),
        _mm256_castsi256_pd(moved_ids), moved_in));
}

static inline __m256d list_behind(__m256d near, __m256i ids, __m256d x, __m256i x_id) {
    const __m256d equal = _mm256_cmp_pd(near, x, _CMP_EQ_OQ);
    const __m256d later = _mm256_castsi256_pd(_mm256_cmpgt_epi64(ids, x_id));
    return _mm256_or_pd(_mm256_cmp_pd(near, x, _CMP_GT_OQ), _mm256_and_pd(equal, later));
}

static inline void doubles_nearest_take(doubles_nearest *list, const double dist2[LEAF_POINTS],
                                        const uint32_t id[LEAF_POINTS], uint32_t within) {
    enum { ON = 0x90, LAST = 0xff }; /* lane permutations 0 0 1 2 and 3 3 3 3 */
    __m256d near = _mm256_load_pd(list->dist2), far = _mm256_load_pd(list->dist2 + 4);
    __m256i ids = _mm256_load_si256((const __m256i *)(const void *)list->id);
    __m256i far_ids = _mm256_load_si256((const __m256i *)(const void *)(list->id + 4));
    const __m256d none = _mm256_setzero_pd();
    for (; within; within &= within - 1) {
        const int i = __builtin_ctz(within);
        const __m256d x = _mm256_broadcast_sd(dist2 + i);
        const __m256i x_id = _mm256_set1_epi64x((int64_t)id[i]);
        const __m256d behind = list_behind(near, ids, x, x_id);
        const __m256d far_behind = list_behind(far, far_ids, x, x_id);
        const __m256d on = _mm256_permute4x64_pd(near, ON);
        const __m256i on_ids = _mm256_permute4x64_epi64(ids, ON);
        const __m256d on_behind = _mm256_blend_pd(_mm256_permute4x64_pd(behind, ON), none, 1);
        const __m256d far_on =
            _mm256_blend_pd(_mm256_permute4x64_pd(far, ON), _mm256_permute4x64_pd(near, LAST), 1);
        const __m256i far_on_ids = _mm256_castpd_si256(
            _mm256_blend_pd(_mm256_castsi256_pd(_mm256_permute4x64_epi64(far_ids, ON)),
                            _mm256_castsi256_pd(_mm256_permute4x64_epi64(ids, LAST)), 1));
        const __m256d far_on_behind = _mm256_blend_pd(_mm256_permute4x64_pd(far_behind, ON),
                                                      _mm256_permute4x64_pd(behind, LAST), 1);
        list_move(&near, &ids, behind, on, on_ids, on_behind, x, x_id);
        list_move(&far, &far_ids, far_behind, far_on, far_on_ids, far_on_behind, x, x_id);
    }
    _mm256_store_pd(list->dist2, near);
    _mm256_store_pd(list->dist2 + 4, far);
    _mm256_store_si256((__m256i *)(void *)list->id, ids);
    _mm256_store_si256((__m256i *)(void *)(list->id + 4), far_ids);
}
#else
LANES_FN uint32_t doubles_points(const leaf_points *leaf, const double *query, uint32_t dims,
                                 double bound2, uint32_t bound_id, double dist2[LEAF_POINTS]) {
    (void)bound_id;
    return doubles_points_plain(leaf, query, dims, bound2, dist2);
}
#define doubles_nearest_take doubles_nearest_take_plain
#endif

#endif
