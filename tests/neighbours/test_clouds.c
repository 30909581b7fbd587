/* <kandela/clouds.h> against the definitions, on degenerate and far sets of points. */
#include "tests/cases.h"
#include "tests/test.h"
#include <kandela/clouds.h>

enum { CLOUD_MAX = 600 };
static double wide[4 * CLOUD_MAX];
static float narrow[4 * CLOUD_MAX];

static double dist2(kd_scalar scalar, uint32_t dims, uint32_t a, uint32_t b) {
    double sum = 0;
    float sum_float = 0;
    for (uint32_t axis = 0; axis < dims; ++axis) {
        const double d = wide[a * dims + axis] - wide[b * dims + axis];
        const float d_float = narrow[a * dims + axis] - narrow[b * dims + axis];
        sum = sum + d * d;
        sum_float = sum_float + d_float * d_float;
    }
    return scalar == KD_DOUBLE ? sum : (double)sum_float;
}

/* Labels by the definition: clusters grow from their first core point; a border point takes the
   least label. */
static void clusters_by_definition(kd_scalar scalar, uint32_t dims, uint32_t count, double bound2,
                                   uint32_t least, int64_t *labels) {
    static bool near[CLOUD_MAX][CLOUD_MAX], core[CLOUD_MAX];
    static uint32_t stack[CLOUD_MAX];
    int64_t clusters = 0;
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t found = 0;
        for (uint32_t j = 0; j < count; ++j)
            found += near[i][j] = dist2(scalar, dims, i, j) <= bound2;
        core[i] = found >= least;
        labels[i] = -1;
    }
    for (uint32_t i = 0; i < count; ++i) {
        if (!core[i] || labels[i] >= 0) continue;
        uint32_t waiting = 0;
        labels[i] = clusters;
        stack[waiting++] = i;
        while (waiting) {
            const uint32_t at = stack[--waiting];
            for (uint32_t j = 0; j < count; ++j)
                if (core[j] && near[at][j] && labels[j] < 0) {
                    labels[j] = clusters;
                    stack[waiting++] = j;
                }
        }
        ++clusters;
    }
    for (uint32_t i = 0; i < count; ++i) {
        if (core[i]) continue;
        for (uint32_t j = 0; j < count; ++j)
            if (core[j] && near[i][j] && (labels[i] < 0 || labels[j] < labels[i]))
                labels[i] = labels[j];
    }
}

/* Returns whether cells suit the set. */
static bool clusters_compare(kd_scalar scalar, uint32_t dims, uint32_t count, double radius,
                             uint32_t least) {
    static int64_t labels[CLOUD_MAX], expected[CLOUD_MAX];
    const kd_point_array points =
        kd_point_array_make(scalar == KD_DOUBLE ? (const void *)wide : narrow, count, dims, scalar);
    const double bound2 =
        scalar == KD_DOUBLE ? radius * radius : (double)((float)radius * (float)radius);
    int32_t suited = -1;
    assert_int_equal(kd_clouds_cluster(&points, radius, least, labels, &suited), KD_OK);
    if (!suited) return false;
    clusters_by_definition(scalar, dims, count, bound2, least, expected);
    assert_memory_equal(labels, expected, count * sizeof *labels);
    return true;
}

/* Fills the arrays with a set, `shift` from the origin; the fourth axis repeats the first in
   reverse. */
static void cloud_fill(case_points set, uint32_t dims, uint32_t count, double shift) {
    for (uint32_t i = 0; i < count; ++i) {
        const vec3 at = case_point(set, i, count);
        const double x[4] = {(double)at.x, (double)at.y, (double)at.z,
                             (double)case_point(set, count - 1 - i, count).x};
        for (uint32_t axis = 0; axis < dims; ++axis) {
            narrow[i * dims + axis] = (float)(x[axis] + shift);
            wide[i * dims + axis] = (double)narrow[i * dims + axis] * (shift != 0 ? 1 : 1 + 1e-9);
        }
    }
}

static void test_clusters(void **state) {
    static const double radii[] = {0.02, 0.125, 0.25, 0.6, 3}, shifts[] = {0, 1e3, 1e7};
    static const uint32_t leasts[] = {1, 2, 5, 40};
    uint32_t number = 0, suited = 0, asked = 0;
    (void)state;
    for (int set = 0; set < CASE_POINT_SETS; ++set)
        for (uint32_t dims = 1; dims <= 4; ++dims)
            for (int shift = 0; shift < 3; ++shift) {
                const uint32_t count = test_size(++number % 5 ? 300 : CLOUD_MAX, 100);
                cloud_fill((case_points)set, dims, count, shifts[shift]);
                for (uint32_t ask = 0; ask < 10; ++ask) {
                    const double scale = set == CASE_HUGE && !shift   ? 1e30
                                         : set == CASE_TINY && !shift ? 1e-30
                                         : set == CASE_WILD           ? 0x1p57
                                                                      : 1;
                    ++asked;
                    suited += clusters_compare(ask % 2 ? KD_DOUBLE : KD_FLOAT, dims, count,
                                               radii[ask / 2] * scale, leasts[(number + ask) % 4]);
                }
            }
    assert_true(suited > asked / 2);
}

static void test_clusters_refuse(void **state) {
    int64_t labels[4] = {7, 7, 7, 7};
    int32_t suited = -1;
    kd_point_array points = kd_point_array_make(narrow, 4, 3, KD_FLOAT);
    (void)state;
    for (int i = 0; i < 12; ++i) narrow[i] = (float)i;
    narrow[7] = NAN;
    assert_int_equal(kd_clouds_cluster(&points, 1, 1, labels, &suited), KD_OK);
    assert_int_equal(suited, 0);
    assert_int_equal(labels[0], 7);
    narrow[7] = INFINITY;
    assert_int_equal(kd_clouds_cluster(&points, 1, 1, labels, &suited), KD_OK);
    assert_int_equal(suited, 0);
    narrow[7] = 7;
    assert_int_equal(kd_clouds_cluster(&points, (double)NAN, 1, labels, &suited), KD_ERROR_INPUT);
    assert_int_equal(kd_clouds_cluster(&points, 1, 0, labels, &suited), KD_ERROR_INPUT);
    assert_int_equal(kd_clouds_cluster(NULL, 1, 1, labels, &suited), KD_ERROR_USAGE);
    assert_int_equal(kd_clouds_cluster(&points, 1, 1, NULL, &suited), KD_ERROR_USAGE);
    assert_int_equal(kd_clouds_cluster(&points, 1, 1, labels, NULL), KD_ERROR_USAGE);
    points.dims = 9;
    assert_int_equal(kd_clouds_cluster(&points, 1, 1, labels, &suited), KD_ERROR_USAGE);
    points.dims = 3;
    points.count = 0;
    assert_int_equal(kd_clouds_cluster(&points, 1, 1, labels, &suited), KD_OK);
    assert_int_equal(suited, 0);
}

static void test_downsample(void **state) {
    const double x[] = {0.1, 5, 0.2, 5.5, 3, 5, 0.3, 5.75}, origin[] = {0, 5};
    kd_point_array points = kd_point_array_make(x, 4, 2, KD_DOUBLE);
    double means[8];
    uint64_t voxels = 0;
    int32_t suited = 0;
    (void)state;
    assert_int_equal(kd_clouds_downsample(&points, 1, origin, means, &voxels, &suited), KD_OK);
    assert_int_equal(suited, 1);
    assert_int_equal(voxels, 2);
    assert_true(fabs(means[0] - 0.2) < 1e-15 && fabs(means[1] - 16.25 / 3) < 1e-15);
    assert_true(means[2] == 3 && means[3] == 5);
    assert_int_equal(kd_clouds_downsample(&points, 1e-12, NULL, means, &voxels, &suited), KD_OK);
    assert_int_equal(suited, 0); /* more than 2^31 cubes along an axis */
    assert_int_equal(kd_clouds_downsample(&points, 0, NULL, means, &voxels, &suited),
                     KD_ERROR_INPUT);
    assert_int_equal(kd_clouds_downsample(&points, 1, NULL, NULL, &voxels, &suited),
                     KD_ERROR_USAGE);
    points.count = 0;
    assert_int_equal(kd_clouds_downsample(&points, 1, NULL, NULL, &voxels, &suited), KD_OK);
    assert_true(suited == 1 && voxels == 0);
}

static void test_normals(void **state) {
    const float x[] = {0, 0, 5, 1, 0, 5, 0, 1, 5, 1, 1, 5};
    uint32_t ids[] = {0, 1, 2, 3, KD_NO_POINT, 2, 1, 0};
    const double below[] = {0, 0, -1};
    float normals[6];
    kd_point_array points = kd_point_array_make(x, 4, 3, KD_FLOAT), queries = points;
    (void)state;
    queries.count = 2;
    assert_int_equal(kd_clouds_normals(&points, &queries, ids, 4, NULL, normals), KD_OK);
    assert_true(normals[2] == 1 && normals[5] == 1);
    assert_int_equal(kd_clouds_normals(&points, &queries, ids, 4, below, normals), KD_OK);
    assert_true(normals[2] == -1 && normals[5] == -1);
    ids[6] = 4;
    assert_int_equal(kd_clouds_normals(&points, &queries, ids, 4, NULL, normals), KD_ERROR_INPUT);
    assert_int_equal(kd_clouds_normals(&points, &queries, ids, 0, NULL, normals), KD_ERROR_INPUT);
    assert_int_equal(kd_clouds_normals(&points, &queries, NULL, 4, NULL, normals), KD_ERROR_USAGE);
    points.dims = 2;
    assert_int_equal(kd_clouds_normals(&points, &queries, ids, 4, NULL, normals), KD_ERROR_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clusters), cmocka_unit_test(test_clusters_refuse),
        cmocka_unit_test(test_downsample), cmocka_unit_test(test_normals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
