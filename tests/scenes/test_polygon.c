/* scenes/mesh/polygon.c: a polygon of n corners becomes n - 2 triangles of the same total area,
   none reversed, in every plane and at every scale. */
#include "core/job.h"
#include "core/math/rng.h"
#include "core/memory.h"
#include "scenes/mesh/mesh_cleanup.h"
#include "tests/test.h"

typedef struct flat {
    double x, y;
} flat;

/* The plane in which a polygon is placed. */
typedef struct plane {
    vec3 origin, u, v;
} plane;

static double shoelace(const flat *p, uint32_t count) {
    double sum = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const flat a = p[i], b = p[(i + 1) % count];
        sum += a.x * b.y - a.y * b.x;
    }
    return sum / 2;
}

static void check_cut(const flat *p, uint32_t count, const plane *plane) {
    vec3 *corners = NULL;
    uint32_t *triangles = NULL, *used = NULL;
    assert_int_equal(KD_RESERVE(corners, count), KD_OK);
    assert_int_equal(KD_RESERVE(triangles, 3 * (uint64_t)(count - 2)), KD_OK);
    assert_int_equal(KD_RESERVE_ZEROED(used, count), KD_OK);
    for (uint32_t i = 0; i < count; ++i)
        corners[i] =
            vec3_along(vec3_along(plane->origin, (float)p[i].x, plane->u), (float)p[i].y, plane->v);
    assert_int_equal(polygon_triangulate(corners, count, triangles), KD_OK);
    double sum = 0, turned = 0;
    const double whole = shoelace(p, count);
    for (uint32_t t = 0; t + 2 < count; ++t) {
        const uint32_t *c = &triangles[3 * (size_t)t];
        for (int k = 0; k < 3; ++k) {
            assert_true(c[k] < count);
            ++used[c[k]];
        }
        const flat corner[3] = {p[c[0]], p[c[1]], p[c[2]]};
        const double area = shoelace(corner, 3) * (whole < 0 ? -1 : 1);
        sum += fabs(area);
        if (area < 0) turned -= area;
    }
    for (uint32_t i = 0; i < count; ++i) assert_true(used[i] > 0);
    if (fabs(sum - fabs(whole)) > 1e-5 * fabs(whole) || turned > 1e-6 * fabs(whole)) {
        print_error("%u corners: area %g, expected %g, turned %g\n", count, sum, fabs(whole),
                    turned);
        fail();
    }
    memory_free(corners);
    memory_free(triangles);
    memory_free(used);
}

static const plane planes[] = {{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}},
                               {{5, 5, 5}, {0, 0, 1}, {1, 0, 0}},
                               {{0, 0, 0}, {0, 1e-5f, 0}, {0, 0, 1e-5f}},
                               {{0, 0, 0}, {3e4f, 3e4f, 0}, {0, 3e4f, 3e4f}},
                               {{1, -2, 3}, {0.6f, 0.48f, 0.64f}, {0, 0.8f, -0.6f}}};
enum { PLANES = sizeof planes / sizeof *planes };

static void check_all(flat *p, uint32_t count) {
    for (int i = 0; i < PLANES; ++i) check_cut(p, count, &planes[i]);
    for (uint32_t i = 0; i < count / 2; ++i) { /* the opposite winding */
        const flat swapped = p[i];
        p[i] = p[count - 1 - i];
        p[count - 1 - i] = swapped;
    }
    for (int i = 0; i < PLANES; ++i) check_cut(p, count, &planes[i]);
}

static flat *flat_allocate(uint32_t count) {
    flat *p = NULL;
    assert_int_equal(KD_RESERVE(p, count), KD_OK);
    return p;
}

static void test_known_shapes(void **state) {
    (void)state;
    for (uint32_t n = 4; n <= test_size(2048, 512); n = n * 3 / 2 + 1) {
        flat *p = flat_allocate(4 * n);
        for (uint32_t i = 0; i < n; ++i) {
            const double a = 6.283185307179586 * i / n;
            p[i] = (flat){cos(a), sin(a)};
        }
        check_all(p, n);
        for (uint32_t i = 0; i < 2 * n; ++i) {
            const double a = 3.141592653589793 * i / n, r = i % 2 ? 0.3 : 1;
            p[i] = (flat){r * cos(a), r * sin(a)};
        }
        check_all(p, 2 * n);
        for (uint32_t i = 0; i < n; ++i) { /* a row of teeth, closed along its base */
            p[2 * i] = (flat){(double)i, 0.5 + (i % 3)};
            p[2 * i + 1] = (flat){i + 0.5, 5};
        }
        p[2 * n] = (flat){(double)n, 0};
        p[2 * n + 1] = (flat){0, 0};
        check_all(p, 2 * n + 2);
        for (uint32_t i = 0; i < n; ++i) { /* a spiral band */
            const double a = 0.2 * i;
            p[i] = (flat){(1 + a) * cos(a), (1 + a) * sin(a)};
            p[2 * n - 1 - i] = (flat){(3 + a) * cos(a), (3 + a) * sin(a)};
        }
        check_all(p, 2 * n);
        memory_free(p);
    }
}

/* Polygons with vertices on straight edges, with repeated vertices, and with a hole connected by a
   bridge. */
static void test_special_polygons(void **state) {
    (void)state;
    static flat arrow[] = {{0, 0}, {4, 0}, {4, 4}, {2, 1}, {0, 4}};
    static flat quad[] = {{0, 0}, {2, 1}, {4, 0}, {2, 4}};
    static flat edges[] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {3, 1}, {3, 2}, {3, 3}, {0, 3}, {0, 1}};
    static flat repeated[] = {{0, 0}, {2, 0}, {2, 0}, {2, 2}, {1, 1}, {0, 2}, {0, 2}};
    static flat hole[] = {{0, 0}, {6, 0}, {6, 6}, {0, 6}, {0, 0},
                          {2, 2}, {2, 4}, {4, 4}, {4, 2}, {2, 2}};
    static flat ring[] = {{3, 0}, {3, 1}, {2, 2}, {1, 3}, {0, 3}, {0, 2}, {1, 2}, {2, 1}, {2, 0}};
    check_all(arrow, 5);
    check_all(quad, 4);
    check_all(edges, 9);
    check_all(repeated, 7);
    check_all(hole, 10);
    check_all(ring, 9);
}

/* Random star-shaped polygons: random radii around a centre. */
static void test_random_stars(void **state) {
    (void)state;
    for (uint32_t seed = 0; seed < test_size(300, 50); ++seed) {
        const uint32_t n = 4 + seed % 40;
        flat *p = flat_allocate(n);
        for (uint32_t i = 0; i < n; ++i) {
            const rng_block r = rng_draw(rng_key_make(3, seed, i), 0, 0);
            const double a = 6.283185307179586 * (i + 0.8 * (double)r.value[1]) / n;
            const double radius = 0.05 + (double)r.value[0];
            p[i] = (flat){radius * cos(a), radius * sin(a)};
        }
        check_all(p, n);
        memory_free(p);
    }
}

/* Polygons that intersect themselves, are degenerate or lie in one place still give n - 2 triangles
   with valid indices. */
static void test_any_polygon_yields_n_minus_2_triangles(void **state) {
    (void)state;
    for (uint32_t seed = 0; seed < test_size(400, 80); ++seed) {
        const uint32_t n = 3 + seed % 60;
        vec3 *corners = NULL;
        uint32_t *triangles = NULL;
        assert_int_equal(KD_RESERVE(corners, n), KD_OK);
        assert_int_equal(KD_RESERVE(triangles, 3 * (uint64_t)(n - 2)), KD_OK);
        for (uint32_t i = 0; i < n; ++i) {
            const rng_block r = rng_draw(rng_key_make(4, seed, i), 0, 0);
            const float scale = seed % 5 == 0 ? 1e38f : seed % 5 == 1 ? 1e-42f : 4;
            corners[i] = vec3_scale(vec3_make(r.value[0], r.value[1], r.value[2]), scale);
            if (seed % 3 == 0) corners[i].z = 0;
            if (seed % 7 == 0) corners[i].y = 0;
            if (seed % 4 == 0)
                corners[i] = vec3_make(floorf(corners[i].x), floorf(corners[i].y), 0);
        }
        memset(triangles, 0xff, 12 * (size_t)(n - 2));
        assert_int_equal(polygon_triangulate(corners, n, triangles), KD_OK);
        for (size_t i = 0; i < 3 * (size_t)(n - 2); ++i) assert_true(triangles[i] < n);
        memory_free(corners);
        memory_free(triangles);
    }
}

/* A star of 100,000 corners takes milliseconds, so the time is not O(n^2). */
static void test_large_polygons_are_fast(void **state) {
    (void)state;
    const uint32_t n = test_size(100000, 20000);
    flat *p = flat_allocate(n);
    for (uint32_t i = 0; i < n; ++i) {
        const double a = 6.283185307179586 * i / n, r = i % 2 ? 0.9 : 1;
        p[i] = (flat){r * cos(a), r * sin(a)};
    }
    const double begin = timing_now();
    check_cut(p, n, &planes[0]);
    assert_true(timing_now() - begin < 10);
    memory_free(p);
}

/* A disc is triangulated such that in each round the diagonals become twice as long. A fan of
   needles would overlap every node of a tree. */
static void test_discs_are_triangulated_without_needles(void **state) {
    (void)state;
    enum { COUNT = 4096 };
    static vec3 corners[COUNT];
    static uint32_t triangles[3 * (COUNT - 2)];
    for (int i = 0; i < COUNT; ++i) {
        const double a = 6.283185307179586 * i / COUNT;
        corners[i] = vec3_make((float)cos(a), (float)sin(a), 0);
    }
    assert_int_equal(polygon_triangulate(corners, COUNT, triangles), KD_OK);
    double length = 0;
    for (int i = 0; i < 3 * (COUNT - 2); ++i) {
        const uint32_t *t = triangles + i / 3 * 3;
        length += (double)vec3_length(vec3_sub(corners[t[i % 3]], corners[t[(i + 1) % 3]]));
    }
    assert_true(length < 300); /* at most 12 rounds of total length 6.3 x 4; a fan has 10,000 */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_shapes),
        cmocka_unit_test(test_special_polygons),
        cmocka_unit_test(test_random_stars),
        cmocka_unit_test(test_any_polygon_yields_n_minus_2_triangles),
        cmocka_unit_test(test_large_polygons_are_fast),
        cmocka_unit_test(test_discs_are_triangulated_without_needles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
