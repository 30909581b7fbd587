/* Nearest-triangle queries: the tree's results equal brute force bit for bit, and distances equal
   those of an independent method in long double. */
#include "accel/rays/nearest_walk.h"
#include "core/parallel/parallel.h"
#include "nearest_points.h"
#include <kandela/triangles.h>

enum { POINTS = 400 };

static const vec3 *corners_of(const triangle_set *set, uint32_t id) {
    return set->positions + 3 * (uint64_t)id;
}

static double distance2_of(const vec3 *corner, vec3 from) {
    int order[3];
    near3 p[3];
    near_order(corner, order);
    for (int k = 0; k < 3; ++k) p[k] = near3_between(from, corner[order[k]]);
    return near_triangle_distance2(p[0], p[1], p[2]);
}

static near_place brute_force(const triangle_set *set, vec3 from, float max_distance) {
    double best = (double)max_distance * (double)max_distance;
    uint32_t nearest = KD_NONE;
    for (uint32_t id = 0; id < set->input.triangle_count && vec3_is_finite(from); ++id) {
        const double distance2 = distance2_of(corners_of(set, id), from);
        if (distance2 > best || (distance2 == best && nearest != KD_NONE)) continue;
        best = distance2;
        nearest = id;
    }
    return nearest == KD_NONE ? near_place_none()
                              : near_describe(from, corners_of(set, nearest), nearest);
}

static kd_triangles *open_set(const triangle_set *set) {
    kd_triangles *tree = NULL;
    kd_triangles_options options;
    const kd_triangle_mesh mesh = kd_triangle_mesh_make(
        &set->positions[0].x, set->input.position_count, set->triangles, set->input.triangle_count);
    kd_triangles_options_default(&options);
    snprintf(options.device, sizeof options.device, "cpu");
    assert_int_equal(kd_triangles_open(&tree, &mesh, &options), KD_OK);
    return tree;
}

static void expect_same(const char *label, uint32_t i, const void *actual,
                        const near_place *expected) {
    near_place got;
    memcpy(&got, actual, sizeof got);
    if (memcmp(&got, expected, sizeof got) != 0)
        fail_msg("%s, point %u: triangle %u, feature %u at %.9g, expected %u, %u at %.9g", label, i,
                 got.triangle, got.feature, (double)got.distance, expected->triangle,
                 expected->feature, (double)expected->distance);
}

static void query_set(case_triangles which, uint32_t count, float reach) {
    static vec3 points[POINTS];
    static kd_near_triangle nearest[POINTS];
    triangle_set set = triangle_set_make(which, count);
    kd_triangles *tree = open_set(&set);
    nearest_tree plain;
    const float maximum = reach * set.size;
    for (uint32_t i = 0; i < POINTS; ++i) points[i] = nearest_point_case(&set, i);
    points[8].y = NAN;
    points[16].x = -INFINITY;
    assert_int_equal(kd_triangles_closest_point(tree, &points[0].x, POINTS, maximum, nearest),
                     KD_OK);
    assert_int_equal(nearest_tree_open(&plain, set.positions, set.triangles, count), KD_OK);
    for (uint32_t i = 0; i < POINTS; ++i) {
        const near_place expected = brute_force(&set, points[i], maximum);
        const near_place one = nearest_plain(&plain.view, points[i], maximum);
        expect_same(case_triangles_name(which), i, &nearest[i], &expected);
        expect_same("plain walk", i, &one, &expected);
    }
    nearest_tree_close(&plain);
    kd_triangles_close(tree);
    triangle_set_close(&set);
}

static void test_results_match_brute_force(void **state) {
    (void)state;
    static const uint32_t counts[] = {0, 1, 2, 7, 8, 9, 64, 65, 129, 600};
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
            query_set((case_triangles)which, counts[c], c % 3 ? INFINITY : 0.01f);
}

/* Squared distance to a triangle in long double, as the minimum over corners, edges and the plane
   (Lagrange), without barycentric weights. */
static long double square(const long double a[3], const long double b[3]) {
    long double sum = 0;
    for (int k = 0; k < 3; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}
static long double dot(const long double a[3], const long double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static long double edge_distance2(const long double a[3], const long double b[3],
                                  const long double p[3]) {
    long double d[3], ap[3], q[3];
    for (int k = 0; k < 3; ++k) {
        d[k] = b[k] - a[k];
        ap[k] = p[k] - a[k];
    }
    const long double length2 = dot(d, d);
    long double t = length2 > 0 ? dot(ap, d) / length2 : 0;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    for (int k = 0; k < 3; ++k) q[k] = a[k] + t * d[k];
    return square(p, q);
}

/* The foot of the perpendicular lies in the triangle if it is on the inner side of each edge's
   plane. */
static long double face_distance2(long double c[3][3], const long double p[3]) {
    long double u[3], v[3], n[3], ap[3];
    for (int k = 0; k < 3; ++k) {
        u[k] = c[1][k] - c[0][k];
        v[k] = c[2][k] - c[0][k];
        ap[k] = p[k] - c[0][k];
    }
    for (int k = 0; k < 3; ++k)
        n[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
    const long double n2 = dot(n, n);
    if (!(n2 > 0)) return (long double)INFINITY;
    for (int edge = 0; edge < 3; ++edge) {
        const long double *a = c[edge], *b = c[(edge + 1) % 3];
        long double d[3], inward[3], to[3];
        for (int k = 0; k < 3; ++k) d[k] = b[k] - a[k];
        for (int k = 0; k < 3; ++k) {
            inward[k] = n[(k + 1) % 3] * d[(k + 2) % 3] - n[(k + 2) % 3] * d[(k + 1) % 3];
            to[k] = p[k] - a[k];
        }
        if (dot(inward, to) < 0) return (long double)INFINITY;
    }
    return dot(ap, n) * dot(ap, n) / n2;
}

static void test_distances_are_correct(void **state) {
    (void)state;
    for (int which = 0; which < CASE_TRIANGLE_SETS; ++which) {
        triangle_set set = triangle_set_make((case_triangles)which, 200);
        for (uint32_t i = 0; i < POINTS; ++i) {
            const vec3 from = nearest_point_case(&set, i);
            const vec3 *corner = corners_of(&set, i % 200);
            const long double p[3] = {(long double)from.x, (long double)from.y,
                                      (long double)from.z};
            long double c[3][3], far2 = 0;
            for (int k = 0; k < 3; ++k) {
                for (int axis = 0; axis < 3; ++axis)
                    c[k][axis] = (long double)vec3_axis(corner[k], axis);
                far2 = fmaxl(far2, square(c[k], p));
            }
            const long double expected2 =
                fminl(fminl(face_distance2(c, p), edge_distance2(c[0], c[1], p)),
                      fminl(edge_distance2(c[1], c[2], p), edge_distance2(c[2], c[0], p)));
            const double got = sqrt(distance2_of(corner, from));
            if (fabsl((long double)got - sqrtl(expected2)) > 0x1p-48L * sqrtl(far2))
                fail_msg("%s, point %u: %.17g away, expected %.17Lg, farthest corner %.9Lg",
                         case_triangles_name((case_triangles)which), i, got, sqrtl(expected2),
                         sqrtl(far2));
        }
        triangle_set_close(&set);
    }
}

/* The point, weights and feature returned describe the same place, at the distance returned. */
static void test_closest_points_are_on_the_triangle(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 300);
    kd_triangles *tree = open_set(&set);
    uint32_t seen[7] = {0};
    for (uint32_t i = 0; i < 2000; ++i) {
        const vec3 from = nearest_point_case(&set, i);
        kd_near_triangle nearest;
        assert_int_equal(kd_triangles_closest_point(tree, &from.x, 1, INFINITY, &nearest), KD_OK);
        assert_true(nearest.triangle < 300 && nearest.feature <= 6);
        ++seen[nearest.feature];
        const vec3 *corner = corners_of(&set, nearest.triangle);
        const vec3 at = triangle_point(corner[0], corner[1], corner[2], nearest.u, nearest.v);
        const vec3 point = vec3_make(nearest.point[0], nearest.point[1], nearest.point[2]);
        assert_true(vec3_length(vec3_sub(at, point)) <= 1e-6f * set.size);
        assert_true(fabsf(vec3_length(vec3_sub(from, point)) - nearest.distance) <=
                    1e-6f * (set.size + nearest.distance));
        const float weight[3] = {1 - nearest.u - nearest.v, nearest.u, nearest.v};
        if (nearest.feature >= 4) assert_true(weight[nearest.feature - 4] == 1);
        if (nearest.feature >= 1 && nearest.feature <= 3)
            assert_true(fabsf(weight[(nearest.feature + 1) % 3]) <= 1e-6f);
    }
    for (int feature = 0; feature < 7; ++feature) assert_true(seen[feature] > 10);
    kd_triangles_close(tree);
    triangle_set_close(&set);
}

static void test_results_are_independent_of_threads(void **state) {
    (void)state;
    static vec3 points[5000];
    static kd_near_triangle one[5000], many[5000];
    triangle_set set = triangle_set_make(CASE_LAYERS, 20000);
    for (uint32_t i = 0; i < 5000; ++i) points[i] = nearest_point_case(&set, i);
    for (int threads = 1; threads <= 5; threads += 2) {
        parallel_set_threads(threads);
        kd_triangles *tree = open_set(&set);
        kd_near_triangle *to = threads == 1 ? one : many;
        assert_int_equal(kd_triangles_closest_point(tree, &points[0].x, 5000, INFINITY, to), KD_OK);
        if (threads > 1) assert_memory_equal(one, many, sizeof one);
        kd_triangles_close(tree);
    }
    parallel_set_threads(0);
    triangle_set_close(&set);
}

/* A query tests only few of the triangles; the test counts them in single steps of the reference
   traversal. */
static void test_most_triangles_are_culled(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 20000);
    for (uint32_t i = 0; i < 60000; ++i) /* make the triangles small */
        set.positions[i] = vec3_along(set.positions[i / 3 * 3], 0.05f,
                                      vec3_sub(set.positions[i], set.positions[i / 3 * 3]));
    nearest_tree tree;
    uint64_t leaves = 0;
    assert_int_equal(nearest_tree_open(&tree, set.positions, set.triangles, 20000), KD_OK);
    for (uint32_t i = 0; i < 200; ++i) {
        nearest_walk walk;
        nearest_entry stack[NEAREST_STACK];
        int waiting = 0;
        assert_true(nearest_begin(&walk, &tree.view, nearest_point_case(&set, 8 * i), INFINITY));
        nearest_visit_node(&walk, &tree.view, stack, &waiting, tree.view.levels - 1, 0);
        while (waiting > 0) {
            const nearest_entry next = stack[--waiting];
            if (next.distance2 > walk.bound) continue;
            leaves += next.level == 0;
            if (next.level == 0)
                nearest_visit_leaf(&walk, &tree.view, next.index);
            else
                nearest_visit_node(&walk, &tree.view, stack, &waiting, next.level - 1, next.index);
        }
    }
    assert_true(leaves >= 200 && leaves < 200 * 12);
    nearest_tree_close(&tree);
    triangle_set_close(&set);
}

static void test_invalid_arguments_are_rejected(void **state) {
    (void)state;
    triangle_set set = triangle_set_make(CASE_SOUP, 10);
    kd_triangles *tree = open_set(&set);
    kd_near_triangle nearest;
    const float point[3] = {0, 0, 0};
    assert_int_equal(kd_triangles_closest_point(NULL, point, 1, 1, &nearest), KD_ERROR_USAGE);
    assert_int_equal(kd_triangles_closest_point(tree, NULL, 1, 1, &nearest), KD_ERROR_USAGE);
    assert_int_equal(kd_triangles_closest_point(tree, point, 1, 1, NULL), KD_ERROR_USAGE);
    assert_int_equal(kd_triangles_closest_point(tree, point, 1, -1, &nearest), KD_ERROR_USAGE);
    assert_int_equal(kd_triangles_closest_point(tree, point, 1, NAN, &nearest), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "`max_distance` is"));
    assert_int_equal(
        kd_triangles_closest_point(tree, (const float *)((const char *)point + 1), 1, 1, &nearest),
        KD_ERROR_USAGE);
    assert_int_equal(kd_triangles_closest_point(tree, NULL, 0, 1, NULL), KD_OK);
    kd_triangles_info before, after;
    kd_triangles_describe(tree, &before);
    assert_int_equal(kd_triangles_closest_point(tree, point, 1, 0, &nearest), KD_OK);
    assert_int_equal(nearest.triangle, KD_NO_TRIANGLE);
    kd_triangles_describe(tree, &after);
    assert_true(after.bytes > before.bytes);
    kd_triangles_close(tree);
    triangle_set_close(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_match_brute_force),
        cmocka_unit_test(test_distances_are_correct),
        cmocka_unit_test(test_closest_points_are_on_the_triangle),
        cmocka_unit_test(test_results_are_independent_of_threads),
        cmocka_unit_test(test_most_triangles_are_culled),
        cmocka_unit_test(test_invalid_arguments_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
