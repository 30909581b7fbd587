/* Points of any dimension through every builder: the tree holds its invariants, and queries return
   the neighbours that brute force finds. */
#include "points/neighbours/query.h"
#include "points/select/builders.h"
#include "points/tree/check.h"
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/fuzz.h"
#include <math.h>
#include <string.h>

enum { POINTS_MAX = 300, QUERIES = 8, K_MAX = 20, DIMS_MAX = 8 };

static float cloud[POINTS_MAX * DIMS_MAX], query_points[QUERIES * DIMS_MAX];
static double cloud_double[POINTS_MAX * DIMS_MAX], queries_double[QUERIES * DIMS_MAX];

typedef struct answers {
    uint32_t ids[QUERIES * K_MAX], counts[QUERIES];
    double dist2[QUERIES * K_MAX]; /* or floats */
} answers;

static double dist2_of(uint32_t point, uint32_t query, uint32_t dims, point_scalar scalar) {
    float sum = 0;
    double sum_double = 0;
    for (uint32_t axis = 0; axis < dims; ++axis) {
        const float d = query_points[query * dims + axis] - cloud[point * dims + axis];
        const double e = queries_double[query * dims + axis] - cloud_double[point * dims + axis];
        sum = sum + d * d;
        sum_double = sum_double + e * e;
    }
    return scalar == POINT_DOUBLE ? sum_double : (double)sum;
}

/* Each result of a query is the nearest of those not returned before it. */
static void check_row(const answers *results, const point_array *points, uint32_t query, uint32_t k,
                      double max_radius) {
    const uint32_t *ids = results->ids + query * k;
    const bool is_double = points->scalar == POINT_DOUBLE;
    const double bound =
        is_double ? max_radius * max_radius : (double)((float)max_radius * (float)max_radius);
    bool taken[POINTS_MAX] = {false};
    for (uint32_t i = 0; i < k; ++i) {
        uint32_t expected = KD_NONE;
        double best = (double)INFINITY;
        for (uint32_t p = 0; p < points->count; ++p) {
            const double d = dist2_of(p, query, points->dims, points->scalar);
            if (taken[p] || d > bound || (expected != KD_NONE && d >= best)) continue;
            best = d;
            expected = p;
        }
        FUZZ_REQUIRE(ids[i] == expected);
        if (expected == KD_NONE) continue;
        const double said =
            is_double ? results->dist2[query * k + i]
                      : (double)((const float *)(const void *)results->dist2)[query * k + i];
        FUZZ_REQUIRE(said == best && i < results->counts[query]);
        taken[expected] = true;
    }
}

static void query_tree(const point_target *target, const point_array *points, uint32_t k,
                       double radius) {
    static answers results;
    const point_rows rows = {results.ids, results.dist2, results.counts};
    const bool is_double = points->scalar == POINT_DOUBLE;
    const point_queries queries = {
        point_array_make(is_double ? (void *)queries_double : (void *)query_points, QUERIES,
                         points->dims, points->scalar),
        NULL,
        radius,
        NULL,
        false,
        NULL};
    FUZZ_REQUIRE(point_query_nearest(target, &queries, k, &rows, NULL) == KD_OK);
    for (uint32_t query = 0; query < QUERIES; ++query)
        check_row(&results, points, query, k, radius);
}

static void build_and_query(const char *builder, const point_array *points,
                            const pointtree_options *options, uint32_t k, double radius) {
    pointtree tree;
    leafindex index;
    FUZZ_REQUIRE(pointtree_open_nd(&tree, points, options, builder, NULL) == KD_OK);
    const pointtree_nd_view view = pointtree_get_nd_view(&tree);
    if (pointtree_check_nd(&view, points) != KD_OK)
        fprintf(stderr, "%s: %s\n", builder, kd_last_error());
    FUZZ_REQUIRE(pointtree_check_nd(&view, points) == KD_OK);
    point_target target = {view, NULL, NULL};
    query_tree(&target, points, k, radius);
    if (points->count) {
        FUZZ_REQUIRE(leafindex_open(&index, &view, false) == KD_OK);
        target.index = &index;
        query_tree(&target, points, k, radius);
        leafindex_close(&index);
    }
    pointtree_close(&tree);
}

static void read_numbers(fuzz_bytes *bytes, float *floats, double *doubles, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) doubles[i] = (double)(floats[i] = fuzz_number(bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    fuzz_bytes from = {bytes, count, 0};
    from.kind = fuzz_byte(&from);
    const uint8_t switches = fuzz_byte(&from);
    const uint32_t dims = 1u + switches % 8u, k = 1u + fuzz_byte(&from) % K_MAX;
    const double radius = switches & 128 ? (double)fabsf(fuzz_number(&from)) : (double)INFINITY;
    const pointtree_options options = {switches & 64 ? POINTTREE_WIDEST : POINTTREE_ROUND_ROBIN,
                                       false, 0};
    read_numbers(&from, query_points, queries_double, QUERIES * dims);
    uint32_t points = (uint32_t)(from.left / (2 * dims));
    if (points > POINTS_MAX) points = POINTS_MAX;
    read_numbers(&from, cloud, cloud_double, points * dims);
    const bool is_double = (switches & 32) != 0;
    const point_array array =
        point_array_make(is_double ? (void *)cloud_double : (void *)cloud, points, dims,
                         is_double ? POINT_DOUBLE : POINT_FLOAT);
    for (const pointtree_builder *const *row = pointtree_builders; *row; ++row)
        build_and_query((*row)->name, &array, &options, k, radius);
    return 0;
}
