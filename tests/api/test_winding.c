/* Winding numbers and crossings: closed surfaces at lattice points whose rays meet edges and
   vertices, the sum over all triangles, and the error of dipoles. */
#include "core/math/geometry.h"
#include "tests/test.h"
#include <kandela/triangles.h>

enum { RINGS = 24, SECTORS = 48, MESH_MAX = 2 * 2 * RINGS * SECTORS, POINTS = 2000, FEW = 200 };

static float vertices[MESH_MAX * 3];
static uint32_t indices[MESH_MAX * 3], vertex_count, triangle_count;
static float points[POINTS * 3];
static double numbers[POINTS], exact[POINTS];
static uint32_t crossings[POINTS];
static int32_t winding[POINTS];
static kd_near_triangle nearest[POINTS];

static void add_triangle(uint32_t a, uint32_t b, uint32_t c, bool inwards) {
    indices[3 * triangle_count] = a;
    indices[3 * triangle_count + 1] = inwards ? c : b;
    indices[3 * triangle_count++ + 2] = inwards ? b : c;
}

static void add_box(float lo, float hi, float shift, bool inwards) {
    static const uint32_t faces[12][3] = {{0, 1, 3}, {0, 3, 2}, {4, 6, 7}, {4, 7, 5},
                                          {0, 4, 5}, {0, 5, 1}, {2, 3, 7}, {2, 7, 6},
                                          {0, 2, 6}, {0, 6, 4}, {1, 5, 7}, {1, 7, 3}};
    const uint32_t first = vertex_count;
    for (uint32_t i = 0; i < 8; ++i, ++vertex_count)
        for (uint32_t axis = 0; axis < 3; ++axis)
            vertices[3 * vertex_count + axis] =
                (i >> (2 - axis) & 1 ? hi : lo) + (axis == 0 ? shift : 0);
    for (int i = 0; i < 12; ++i)
        add_triangle(first + faces[i][0], first + faces[i][1], first + faces[i][2], inwards);
}

/* A torus about the z axis with radii 1 and 0.4. */
static void add_torus(void) {
    const float turn = 2 * KD_PI;
    const uint32_t first = vertex_count;
    for (uint32_t i = 0; i < SECTORS * RINGS; ++i) {
        const float p = turn * (float)(i / RINGS) / SECTORS, q = turn * (float)(i % RINGS) / RINGS;
        const float r = 1 + 0.4f * cosf(q);
        vertices[3 * vertex_count] = r * cosf(p);
        vertices[3 * vertex_count + 1] = r * sinf(p);
        vertices[3 * vertex_count++ + 2] = 0.4f * sinf(q);
    }
    for (uint32_t i = 0; i < SECTORS * RINGS; ++i) {
        const uint32_t row = i / RINGS * RINGS, next = (row + RINGS) % (SECTORS * RINGS);
        const uint32_t at = i % RINGS, up = (at + 1) % RINGS;
        add_triangle(first + row + at, first + next + at, first + next + up, false);
        add_triangle(first + row + at, first + next + up, first + row + up, false);
    }
}

static void clear(void) {
    vertex_count = triangle_count = 0;
}

static kd_triangles *open_mesh(void) {
    kd_triangles *tree = NULL;
    kd_triangles_options options;
    const kd_triangle_mesh mesh =
        kd_triangle_mesh_make(vertices, vertex_count, indices, triangle_count);
    kd_triangles_options_default(&options);
    snprintf(options.device, sizeof options.device, "cpu");
    assert_int_equal(kd_triangles_open(&tree, &mesh, &options), KD_OK);
    return tree;
}

/* Points of a lattice of 13 positions from -0.5 to 2.5 along each axis, most of them on planes of
   the boxes below, and then points in general position. */
static void make_points(void) {
    uint32_t state = 7;
    for (uint32_t i = 0; i < POINTS; ++i)
        for (uint32_t axis = 0, at = i; axis < 3; ++axis, at /= 13) {
            state = state * 1664525u + 1013904223u;
            points[3 * i + axis] = i < 13 * 13 * 13 - 400
                                       ? -0.5f + 0.25f * (float)(at % 13)
                                       : 3.2f * (float)(state >> 8) * 0x1p-24f - 1.6f;
        }
}

static bool is_in_box(const float *p, float lo, float hi, float shift) {
    return p[0] - shift > lo && p[0] - shift < hi && p[1] > lo && p[1] < hi && p[2] > lo &&
           p[2] < hi;
}

/* Two boxes that touch in a face, one of them with a cavity, and one that overlaps both. */
static void boxes_are_counted(void **test) {
    (void)test;
    make_points();
    for (int overlaps = 0; overlaps < 2; ++overlaps) {
        clear();
        add_box(0, 1, 0, false);
        add_box(0, 1, 1, false);
        add_box(0.25f, 0.75f, 0, true);
        if (overlaps) add_box(-0.125f, 0.625f, 0.5f, false);
        kd_triangles *tree = open_mesh();
        assert_int_equal(kd_triangles_crossings(tree, points, POINTS, crossings, winding), KD_OK);
        assert_int_equal(kd_triangles_winding_number(tree, points, POINTS, (double)INFINITY, exact),
                         KD_OK);
        assert_int_equal(kd_triangles_closest_point(tree, points, POINTS, INFINITY, nearest),
                         KD_OK);
        for (uint32_t i = 0; i < POINTS; ++i) {
            const float *p = points + 3 * i;
            if (nearest[i].distance < 1e-6f) {
                assert_true(winding[i] == 0 && crossings[i] == 0);
                continue;
            }
            const int bodies = is_in_box(p, 0, 1, 0) + is_in_box(p, 0, 1, 1) -
                               is_in_box(p, 0.25f, 0.75f, 0) +
                               (overlaps && is_in_box(p, -0.125f, 0.625f, 0.5f));
            assert_int_equal(winding[i], bodies);
            assert_int_equal(crossings[i] & 1, bodies & 1);
            assert_true(fabs(exact[i] - bodies) < 1e-9);
        }
        kd_triangles_close(tree);
    }
}

/* The error of dipoles falls with the accuracy, also for an open surface. */
static void dipoles_approximate_the_sum(void **test) {
    static const double bounds[][2] = {{2, 0.05}, {4, 0.01}, {8, 0.003}, {1e9, 1e-12}};
    (void)test;
    make_points();
    const float *some = points + 3 * (POINTS - FEW); /* in general position */
    for (int open = 0; open < 2; ++open) {
        clear();
        add_torus();
        if (open) triangle_count -= triangle_count / 4;
        kd_triangles *tree = open_mesh();
        assert_int_equal(kd_triangles_winding_number(tree, some, FEW, (double)INFINITY, exact),
                         KD_OK);
        for (size_t b = 0; b < sizeof bounds / sizeof *bounds; ++b) {
            assert_int_equal(kd_triangles_winding_number(tree, some, FEW, bounds[b][0], numbers),
                             KD_OK);
            for (uint32_t i = 0; i < FEW; ++i)
                assert_true(fabs(numbers[i] - exact[i]) < bounds[b][1]);
        }
        if (!open) {
            assert_int_equal(kd_triangles_crossings(tree, some, FEW, NULL, winding), KD_OK);
            for (uint32_t i = 0; i < FEW; ++i) assert_true(fabs(exact[i] - winding[i]) < 1e-9);
        }
        kd_triangles_close(tree);
    }
}

static void meshes_are_downloaded(void **test) {
    static float downloaded[MESH_MAX * 3];
    static uint32_t corners[MESH_MAX * 3];
    (void)test;
    clear();
    add_torus();
    kd_triangles *tree = open_mesh();
    assert_int_equal(kd_triangles_download(tree, downloaded, corners), KD_OK);
    assert_memory_equal(downloaded, vertices, 3 * vertex_count * sizeof *vertices);
    assert_memory_equal(corners, indices, 3 * triangle_count * sizeof *indices);
    assert_int_equal(kd_triangles_download(tree, NULL, NULL), KD_OK);
    assert_int_equal(kd_triangles_download(NULL, downloaded, NULL), KD_ERROR_USAGE);
    kd_triangles_close(tree);
}

static void wrong_arguments_are_refused(void **test) {
    (void)test;
    clear();
    kd_triangles *tree = open_mesh();
    points[0] = points[1] = 0;
    points[2] = NAN;
    assert_int_equal(kd_triangles_winding_number(tree, points, 1, 2, numbers), KD_OK);
    assert_true(isnan(numbers[0]));
    points[2] = 0;
    assert_int_equal(kd_triangles_winding_number(tree, points, 1, 2, numbers), KD_OK);
    assert_int_equal(kd_triangles_crossings(tree, points, 1, crossings, NULL), KD_OK);
    assert_true(numbers[0] == 0 && crossings[0] == 0);
    assert_int_equal(kd_triangles_winding_number(tree, points, 1, 0.5, numbers), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "`accuracy` is 0.5"));
    assert_int_equal(kd_triangles_winding_number(tree, points, 1, (double)NAN, numbers),
                     KD_ERROR_USAGE);
    assert_int_equal(kd_triangles_winding_number(tree, NULL, 1, 2, numbers), KD_ERROR_USAGE);
    assert_int_equal(kd_triangles_winding_number(tree, points, 1, 2, NULL), KD_ERROR_USAGE);
    assert_int_equal(kd_triangles_winding_number(NULL, points, 1, 2, numbers), KD_ERROR_USAGE);
    assert_int_equal(kd_triangles_crossings(NULL, points, 1, crossings, NULL), KD_ERROR_USAGE);
    assert_int_equal(kd_triangles_crossings(tree, points, 0, NULL, NULL), KD_OK);
    kd_triangles_close(tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_are_counted),
        cmocka_unit_test(dipoles_approximate_the_sum),
        cmocka_unit_test(meshes_are_downloaded),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
