/* The kernels of lanes.h and lanes_doubles.h for the norms 1 and infinity and for periodic space.
   Idea: along a periodic axis a difference d counts as min(d, |period - d|). Over a box this is
         least at the least or the greatest d, so that no images of the query are needed.
   Invariants: every step is rounded as in metric_distance of points/tree/walk_nd.h. The distance to
               a box takes the same steps as that to a point in it, and rounding is monotone. */
#ifndef KD_POINTS_NEIGHBOURS_LANES_METRIC_H
#define KD_POINTS_NEIGHBOURS_LANES_METRIC_H
#include "points/neighbours/lanes_doubles.h"
#include "points/tree/walk_nd.h"

/* The metric of a search, a compile-time constant: a norm and whether any axis is periodic; 0 for
   the Euclidean norm in space without a period, which lanes.h implements. */
enum { LEAF_EUCLID = 0, LEAF_NORM_1 = 1, LEAF_NORM_MAX = 2, LEAF_NORM_BITS = 3, LEAF_PERIODIC = 4 };

static inline uint32_t leaf_metric_of(const point_metric *metric) {
    uint32_t out = LEAF_EUCLID;
    if (!metric) return out;
    if (metric->norm == POINT_NORM_1) out = LEAF_NORM_1;
    if (metric->norm == POINT_NORM_MAX) out = LEAF_NORM_MAX;
    for (uint32_t axis = 0; axis < POINT_DIMS_MAX; ++axis)
        if (metric->period[axis] > 0) out |= LEAF_PERIODIC;
    return out;
}

/* Define the functions NAME_part, the contribution of one axis; NAME_join, which adds one more to
   the distance of the previous ones; NAME_wrapped, the difference in space with a period (INFINITY:
   not periodic); and NAME_outside, the least difference to a box of which the sides are `under`
   above and `over` below the query. min and max return the second operand if either is NaN. The
   first column of an unused slot or a removed point is NaN; NAME_join keeps it. */
#define LANES_METRIC(name, real, add, sub, mul, min, max, zero)                                    \
    LANES_FN real name##_part(real d, uint32_t metric) {                                           \
        return (metric & LEAF_NORM_BITS) == LEAF_EUCLID ? mul(d, d) : d;                           \
    }                                                                                              \
    LANES_FN real name##_join(real sum, real d, uint32_t metric) {                                 \
        if ((metric & LEAF_NORM_BITS) == LEAF_NORM_MAX) return max(d, sum);                        \
        return add(sum, name##_part(d, metric));                                                   \
    }                                                                                              \
    LANES_FN real name##_wrapped(real difference, real period, uint32_t metric) {                  \
        const real d = max(difference, sub(zero, difference));                                     \
        if (!(metric & LEAF_PERIODIC)) return d;                                                   \
        const real other = sub(period, d);                                                         \
        return min(max(other, sub(zero, other)), d);                                               \
    }                                                                                              \
    LANES_FN real name##_outside(real under, real over, real period, uint32_t metric) {            \
        const real d = max(max(under, over), zero);                                                \
        if (!(metric & LEAF_PERIODIC)) return d;                                                   \
        return min(max(add(period, min(under, over)), zero), d);                                   \
    }

#define PLAIN_ADD(a, b) ((a) + (b))
#define PLAIN_SUB(a, b) ((a) - (b))
#define PLAIN_MUL(a, b) ((a) * (b))
#define PLAIN_MIN(a, b) ((a) < (b) ? (a) : (b))
#define PLAIN_MAX(a, b) ((a) > (b) ? (a) : (b))
LANES_METRIC(float_metric, float, PLAIN_ADD, PLAIN_SUB, PLAIN_MUL, PLAIN_MIN, PLAIN_MAX, 0.0f)
LANES_METRIC(double_metric, double, PLAIN_ADD, PLAIN_SUB, PLAIN_MUL, PLAIN_MIN, PLAIN_MAX, 0.0)

#ifdef __AVX2__
LANES_METRIC(floats8, __m256, _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_min_ps,
             _mm256_max_ps, _mm256_setzero_ps())
LANES_METRIC(doubles4, __m256d, _mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd, _mm256_min_pd,
             _mm256_max_pd, _mm256_setzero_pd())

/* lanes_of_boxes of the metric. A period must be rounded down by more than the rounding errors of
   the differences. */
LANES_FN lanes_set metric_boxes(const float *sides, const float *below, const float *above,
                                const float *period, uint32_t dims, uint32_t metric) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256 sum = _mm256_setzero_ps();
    for (uint32_t axis = 0; axis < dims; ++axis, sides += 2 * LEAF_GROUP) {
        const __m256 under = _mm256_sub_ps(_mm256_load_ps(sides), _mm256_set1_ps(above[axis]));
        const __m256 over =
            _mm256_sub_ps(_mm256_set1_ps(below[axis]), _mm256_load_ps(sides + LEAF_GROUP));
        const __m256 d = floats8_outside(under, over, _mm256_set1_ps(period[axis]), metric);
        sum = floats8_join(sum, d, metric);
    }
    return _mm256_or_si256(_mm256_andnot_si256(_mm256_set1_epi32(7), _mm256_castps_si256(sum)),
                           lanes);
}

/* dist (or dist2) of all points of a bucket, and the bit mask of those within the bound. `period`
   is INFINITY along an axis that is not periodic. */
LANES_FN uint32_t float_metric_points(const leaf_points *leaf, const float *query,
                                      const float *period, uint32_t dims, float bound,
                                      uint32_t metric, float dist[LEAF_POINTS]) {
    uint32_t within = 0;
    for (int half = 0; half < leaf->places; half += 8) {
        const float *x = (const float *)leaf->at + half;
        __m256 sum = _mm256_setzero_ps();
        for (uint32_t axis = 0; axis < dims; ++axis, x += leaf->places) {
            const __m256 d =
                floats8_wrapped(_mm256_sub_ps(_mm256_set1_ps(query[axis]), _mm256_load_ps(x)),
                                _mm256_set1_ps(period[axis]), metric);
            sum = axis ? floats8_join(sum, d, metric) : floats8_part(d, metric);
        }
        _mm256_store_ps(dist + half, sum);
        within |=
            (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(sum, _mm256_set1_ps(bound), _CMP_LE_OQ))
            << half;
    }
    return within;
}

LANES_FN uint32_t double_metric_points(const leaf_points *leaf, const double *query,
                                       const double *period, uint32_t dims, double bound,
                                       uint32_t metric, double dist[LEAF_POINTS]) {
    uint32_t within = 0;
    for (int part = 0; part < LEAF_POINTS; part += 4) {
        const double *x = (const double *)leaf->at + part;
        __m256d sum = _mm256_setzero_pd();
        for (uint32_t axis = 0; axis < dims; ++axis, x += LEAF_POINTS) {
            const __m256d d =
                doubles4_wrapped(_mm256_sub_pd(_mm256_set1_pd(query[axis]), _mm256_load_pd(x)),
                                 _mm256_set1_pd(period[axis]), metric);
            sum = axis ? doubles4_join(sum, d, metric) : doubles4_part(d, metric);
        }
        _mm256_store_pd(dist + part, sum);
        within |=
            (uint32_t)_mm256_movemask_pd(_mm256_cmp_pd(sum, _mm256_set1_pd(bound), _CMP_LE_OQ))
            << part;
    }
    return within;
}
#else
#define LANES_METRIC_POINTS_PLAIN(name, real)                                                      \
    LANES_FN uint32_t name##_metric_points(const leaf_points *leaf, const real *query,             \
                                           const real *period, uint32_t dims, real bound,          \
                                           uint32_t metric, real dist[LEAF_POINTS]) {              \
        uint32_t within = 0;                                                                       \
        for (int i = 0; i < leaf->places; ++i) {                                                   \
            const real *x = (const real *)leaf->at + i;                                            \
            real sum = 0;                                                                          \
            for (uint32_t axis = 0; axis < dims; ++axis, x += leaf->places) {                      \
                const real d = name##_metric_wrapped(query[axis] - *x, period[axis], metric);      \
                sum = axis ? name##_metric_join(sum, d, metric) : name##_metric_part(d, metric);   \
            }                                                                                      \
            dist[i] = sum;                                                                         \
            within |= (uint32_t)(sum <= bound) << i;                                               \
        }                                                                                          \
        return within;                                                                             \
    }
LANES_METRIC_POINTS_PLAIN(float, float)
LANES_METRIC_POINTS_PLAIN(double, double)

LANES_FN void metric_boxes_plain(const float *sides, const float *below, const float *above,
                                 const float *period, uint32_t dims, uint32_t metric,
                                 int32_t out[LEAF_GROUP]) {
    float sum[LEAF_GROUP] = {0};
    for (uint32_t axis = 0; axis < dims; ++axis, sides += 2 * LEAF_GROUP)
        for (int lane = 0; lane < LEAF_GROUP; ++lane) {
            const float under = sides[lane] - above[axis];
            const float over = below[axis] - sides[LEAF_GROUP + lane];
            const float d = float_metric_outside(under, over, period[axis], metric);
            sum[lane] = float_metric_join(sum[lane], d, metric);
        }
    for (uint32_t lane = 0; lane < LEAF_GROUP; ++lane)
        out[lane] = (int32_t)((float_bits(sum[lane]) & ~7u) | lane);
}

LANES_FN lanes_set metric_boxes(const float *sides, const float *below, const float *above,
                                const float *period, uint32_t dims, uint32_t metric) {
    lanes_set all;
    metric_boxes_plain(sides, below, above, period, dims, metric, all.lane);
    return all;
}
#endif

#endif
