#include "core/memory.h"
#include "points/brute/brute.h"
#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

/* --- bounds --------------------------------------------------------------------------------- */

/* Sets bit i of within[q] unless point i of a tile is certainly farther from query q than its
   limit: the reference is the plain version at the end. */
#ifdef __AVX512F__
typedef __m512 wide;
#define WIDE_LOAD _mm512_loadu_ps
#define WIDE_SPREAD _mm512_set1_ps
#define WIDE_TAKE _mm512_fnmadd_ps /* c - a * b */
#define WIDE_NOT_ABOVE(a, b) (uint32_t) _mm512_cmp_ps_mask(a, b, _CMP_NGT_UQ)
#elif defined(__AVX2__) && defined(__FMA__)
typedef __m256 wide;
#define WIDE_LOAD _mm256_loadu_ps
#define WIDE_SPREAD _mm256_set1_ps
#define WIDE_TAKE _mm256_fnmadd_ps
#define WIDE_NOT_ABOVE(a, b) (uint32_t) _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NGT_UQ))
#endif

#ifdef WIDE_TAKE
#define EACH_QUERY(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
static void bound_tile(const float *tile, const float *halves, const float *queries, uint32_t dims,
                       const float *limits, uint32_t within[BRUTE_GROUP]) {
    enum { WIDTH = sizeof(wide) / sizeof(float) };
    memset(within, 0, BRUTE_GROUP * sizeof *within);
    for (uint32_t lane = 0; lane < BRUTE_LANES; lane += 2 * WIDTH) {
        const float *x = tile + lane, *q = queries;
        const wide low = WIDE_LOAD(halves + lane), high = WIDE_LOAD(halves + lane + WIDTH);
#define BEGIN(i) wide low##i = low, high##i = high;
        EACH_QUERY(BEGIN)
        for (uint32_t axis = 0; axis < dims; ++axis, x += BRUTE_LANES, q += BRUTE_GROUP) {
            const wide x0 = WIDE_LOAD(x), x1 = WIDE_LOAD(x + WIDTH);
            wide spread;
#define TAKE(i)                                                                                    \
    spread = WIDE_SPREAD(q[i]);                                                                    \
    low##i = WIDE_TAKE(spread, x0, low##i);                                                        \
    high##i = WIDE_TAKE(spread, x1, high##i);
            EACH_QUERY(TAKE)
        }
#define END(i)                                                                                     \
    within[i] |= WIDE_NOT_ABOVE(low##i, WIDE_SPREAD(limits[i])) << lane |                          \
                 WIDE_NOT_ABOVE(high##i, WIDE_SPREAD(limits[i])) << (lane + WIDTH);
        EACH_QUERY(END)
    }
}
#else
static void bound_tile(const float *tile, const float *halves, const float *queries, uint32_t dims,
                       const float *limits, uint32_t within[BRUTE_GROUP]) {
    for (int i = 0; i < BRUTE_GROUP; ++i) {
        float sum[BRUTE_LANES];
        memcpy(sum, halves, sizeof sum);
        for (uint32_t axis = 0; axis < dims; ++axis)
            for (int lane = 0; lane < BRUTE_LANES; ++lane)
                sum[lane] -= queries[axis * BRUTE_GROUP + (uint32_t)i] *
                             tile[axis * BRUTE_LANES + (uint32_t)lane];
        within[i] = 0;
        for (int lane = 0; lane < BRUTE_LANES; ++lane)
            within[i] |= (uint32_t) !(sum[lane] > limits[i]) << lane;
    }
}
#endif

/* Sets the limit of the bounds of a query: half of (the bound on dist2 - the query's squared
   length), scaled and rounded up. 1e-36 per axis covers products that underflow. */
static void set_limit(brute_block *block, uint32_t q) {
    const brute_points *points = block->points;
    const bool is_double = points->scalar == POINT_DOUBLE;
    const double dims = (double)points->dims;
    const double rounding = (2 * dims + 8) * (is_double ? 0x1p-53 : 0x1p-24);
    const double least = dims * (is_double ? 0x1p-1073 : 0x1p-148);
    const double bound2 =
        (block->rows[q].bound + least) * (1 + rounding) * points->scale * points->scale +
        dims * 1e-36;
    const double limit = (bound2 - block->lengths2[q] * (1 - points->tolerance)) / 2;
    block->limits[q] = !(fabs(limit) < 1e37) ? INFINITY : nextafterf((float)limit, INFINITY);
}

void brute_prepare(brute_block *block) {
    const brute_points *points = block->points;
    const uint32_t padded = (block->count + BRUTE_GROUP - 1) / BRUTE_GROUP * BRUTE_GROUP;
    for (uint32_t q = 0; q < padded; ++q) {
        const void *at = block->rows[q < block->count ? q : 0].at;
        float *to = block->rough + q / BRUTE_GROUP * BRUTE_GROUP * points->dims + q % BRUTE_GROUP;
        double length2 = 0;
        for (uint32_t axis = 0; axis < points->dims; ++axis) {
            const double x = point_coordinate(at, points->scalar, axis);
            const float rough = (float)((x - points->middle[axis]) * points->scale);
            to[axis * BRUTE_GROUP] = rough;
            length2 += (double)rough * (double)rough;
        }
        block->lengths2[q] = length2 < 1e37 ? length2 : (double)INFINITY;
        block->limits[q] = -INFINITY;
        if (q < block->count) set_limit(block, q);
    }
}

/* --- distances ------------------------------------------------------------------------------ */

typedef float float_lanes __attribute__((vector_size(32)));
typedef int32_t float_lane_bits __attribute__((vector_size(32)));
typedef double double_lanes __attribute__((vector_size(32)));
typedef int64_t double_lane_bits __attribute__((vector_size(32)));

#define LANE_SQUARE(i) a##i += (q - x[i]) * (q - x[i]);
#define LANE_SUM(i) a##i += (lanes)((lane_bits)(q - x[i]) & positive);
#define LANE_MAX(i)                                                                                \
    d = (lanes)((lane_bits)(q - x[i]) & positive);                                                 \
    more = d > a##i;                                                                               \
    a##i = (lanes)(((lane_bits)d & more) | ((lane_bits)a##i & ~more));
#define LANE_LOOP(DO)                                                                              \
    for (uint32_t axis = 0; axis < dims; ++axis, x += BRUTE_LANES / WIDTH) {                       \
        const element q = query[axis];                                                             \
        DO(0) DO(1) DO(2) DO(3)                                                                    \
    }
/* Measures the points of a tile, summing axis by axis as points/tree/walk_nd.h does. */
#define MEASURE_TILE(name, real, lanes_type, bits_type, positive_bits)                             \
    static void name(const real *tile, const real *query, uint32_t dims, point_norm norm,          \
                     double out[BRUTE_LANES]) {                                                    \
        typedef lanes_type lanes;                                                                  \
        typedef bits_type lane_bits;                                                               \
        typedef real element;                                                                      \
        enum { WIDTH = sizeof(lanes) / sizeof(real), PARTS = BRUTE_LANES / (4 * WIDTH) };          \
        const lane_bits positive = (lane_bits){0} + positive_bits;                                 \
        for (uint32_t part = 0; part < PARTS; ++part) {                                            \
            const lanes *x = (const lanes *)(const void *)(tile + part * 4 * WIDTH);               \
            lanes a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0}, d;                                       \
            lane_bits more;                                                                        \
            if (norm == POINT_NORM_2)                                                              \
                LANE_LOOP(LANE_SQUARE)                                                             \
            else if (norm == POINT_NORM_1)                                                         \
                LANE_LOOP(LANE_SUM)                                                                \
            else                                                                                   \
                LANE_LOOP(LANE_MAX)                                                                \
            for (uint32_t i = 0; i < WIDTH; ++i) {                                                 \
                double *to = out + part * 4 * WIDTH + i;                                           \
                to[0] = (double)a0[i];                                                             \
                to[WIDTH] = (double)a1[i];                                                         \
                to[2 * WIDTH] = (double)a2[i];                                                     \
                to[3 * WIDTH] = (double)a3[i];                                                     \
            }                                                                                      \
        }                                                                                          \
    }
MEASURE_TILE(measure_floats, float, float_lanes, float_lane_bits, INT32_MAX)
MEASURE_TILE(measure_doubles, double, double_lanes, double_lane_bits, INT64_MAX)

/* --- results -------------------------------------------------------------------------------- */

static bool append(brute_row *row, neighbour_nd item) {
    if (row->count == row->capacity) {
        const uint64_t capacity = 2 * row->capacity + 16;
        if (KD_GROW(row->list, row->count, capacity) != KD_OK) return false;
        row->capacity = capacity;
    }
    row->list[row->count++] = item;
    return true;
}

static void accept(brute_block *block, brute_row *row, neighbour_nd item) {
    uint32_t count = (uint32_t)row->count;
    switch (block->kind) {
    case BRUTE_NEAREST:
        row->bound = neighbour_nd_offer(row->list, &count, block->k, item, row->bound);
        row->count = count;
        break;
    case BRUTE_COUNT: ++row->count; break;
    case BRUTE_FILL:
    case BRUTE_VISIT:
        if (!append(row, item)) block->exhausted = true;
        break;
    }
}

/* Measures the points `within` of a tile for query q. */
static void examine(brute_block *block, uint32_t q, uint64_t tile, uint32_t within) {
    const brute_points *points = block->points;
    brute_row *row = &block->rows[q];
    const double bound = row->bound;
    const uint64_t at = tile * BRUTE_LANES * points->dims;
    double dist2[BRUTE_LANES];
    if (points->scalar == POINT_DOUBLE)
        measure_doubles((const double *)points->tiles + at, (const double *)row->at, points->dims,
                        block->norm, dist2);
    else
        measure_floats((const float *)points->tiles + at, (const float *)row->at, points->dims,
                       block->norm, dist2);
    for (; within; within &= within - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(within);
        const uint32_t id = (uint32_t)tile * BRUTE_LANES + lane;
        if (!(dist2[lane] <= row->bound) || id == row->self) continue;
        accept(block, row, (neighbour_nd){dist2[lane], id, 0});
    }
    if (row->bound != bound) set_limit(block, q);
}

void brute_scan(brute_block *block, uint64_t begin, uint64_t end) {
    const brute_points *points = block->points;
    const uint32_t dims = points->dims;
    for (uint64_t t = begin; t < end && !block->exhausted; ++t) {
        const uint32_t rest = points->count - (uint32_t)t * BRUTE_LANES;
        const uint32_t valid = rest < BRUTE_LANES ? (1u << rest) - 1 : ~0u;
        for (uint32_t first = 0; first < block->count; first += BRUTE_GROUP) {
            uint32_t within[BRUTE_GROUP] = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u};
            if (block->norm == POINT_NORM_2)
                bound_tile(points->rough + t * BRUTE_LANES * dims, points->halves + t * BRUTE_LANES,
                           block->rough + (uint64_t)first * dims, dims, block->limits + first,
                           within);
            for (uint32_t i = 0; i < BRUTE_GROUP && first + i < block->count; ++i)
                if (within[i] & valid) examine(block, first + i, t, within[i] & valid);
        }
    }
}
