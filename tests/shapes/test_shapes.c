/* The shapes of scene descriptions (lathe, torus, cylinder, box with rounding): closed surfaces,
   areas and volumes, normals, edges, texture coordinates, errors. */
#include "core/memory.h"
#include "core/status.h"
#include "scenes/assembly/scene.h"
#include "tests/scenes/files.h"

static const double pi = 3.14159265358979323846;

static kd_render_options options;

/* Opens a scene of one entry of `meshes`; `format` may contain one %llu for a number. */
static scene *open_shape(const char *format, uint64_t triangles) {
    char entry[4096], text[4400];
    scene *made = NULL;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(entry, sizeof entry, format, (unsigned long long)triangles);
#pragma GCC diagnostic pop
    snprintf(text, sizeof text, "{\"kandela\": 1, \"meshes\": [{%s}]}", entry);
    file_put_text("shape.json", text);
    kd_render_options_default(&options);
    const kd_status status = scene_open(&made, file_in("shape.json"), &options, NULL);
    if (status != KD_OK) print_error("%s\n", kd_last_error());
    assert_int_equal(status, KD_OK);
    return made;
}

/* --- measures --------------------------------------------------------------------------------- */

typedef struct measures {
    double area, volume;
    int64_t euler;     /* vertices - edges + triangles */
    uint64_t unpaired; /* directed edges without exactly one opposite */
    uint64_t turned;   /* corners whose normal points to the back of the triangle */
} measures;

static int compare_pairs(const void *a, const void *b) {
    return memcmp(a, b, 2 * sizeof(uint32_t));
}

/* Counts edges that do not occur exactly once in each direction, and adds to the characteristic. */
static void count_edges(const mesh_view *mesh, measures *made) {
    const uint64_t count = 3 * (uint64_t)mesh->triangle_count;
    uint32_t(*edges)[3] = NULL;
    bool *used = NULL;
    assert_int_equal(KD_RESERVE(edges, count), KD_OK);
    assert_int_equal(KD_RESERVE_ZEROED(used, mesh->position_count), KD_OK);
    for (uint64_t i = 0; i < count; ++i) {
        const uint32_t a = mesh->triangles[i], b = mesh->triangles[i % 3 == 2 ? i - 2 : i + 1];
        edges[i][0] = a < b ? a : b;
        edges[i][1] = a < b ? b : a;
        edges[i][2] = a < b;
        made->euler += !used[a];
        used[a] = true;
    }
    qsort(edges, count, sizeof *edges, compare_pairs);
    for (uint64_t i = 0, end; i < count; i = end) {
        uint64_t forward = 0;
        for (end = i; end < count && compare_pairs(edges[i], edges[end]) == 0; ++end)
            forward += edges[end][2];
        made->unpaired += end - i != 2 || forward != 1;
        --made->euler;
    }
    memory_free(edges);
    memory_free(used);
}

static measures measure(const mesh_view *mesh) {
    measures made;
    memset(&made, 0, sizeof made);
    for (uint64_t i = 0; i < mesh->triangle_count; ++i) {
        vec3 at[3];
        for (int k = 0; k < 3; ++k) at[k] = mesh->positions[mesh->triangles[3 * i + (uint64_t)k]];
        const vec3 face = vec3_cross(vec3_sub(at[1], at[0]), vec3_sub(at[2], at[0]));
        made.area += (double)vec3_length(face) / 2;
        made.volume += (double)vec3_dot(at[0], vec3_cross(at[1], at[2])) / 6;
        for (uint64_t k = 0; k < 3; ++k)
            made.turned +=
                vec3_dot(mesh->normals[mesh->normal_indices[3 * i + k]], face) > 0 ? 0 : 1;
    }
    made.euler += mesh->triangle_count;
    count_edges(mesh, &made);
    return made;
}

/* A half circle from (0, -1) to (0, 1). */
static const char *half_circle(const char *keys) {
    static char text[4096];
    size_t used = (size_t)snprintf(text, sizeof text, "\"lathe\": {%s, \"profile\": [", keys);
    for (int i = 0; i <= 32; ++i) {
        const double angle = pi * (i / 32.0 - 0.5);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s[%.9f, %.9f]", i ? ", " : "",
                                 i % 32 ? cos(angle) : 0, sin(angle));
    }
    snprintf(text + used, sizeof text - used, "]}");
    return text;
}

typedef struct closed_case {
    const char *shape;
    double area, volume;
    int64_t euler;
} closed_case;

/* Returns the larger of the relative errors of area and volume. */
static double shape_error(const closed_case *row, uint64_t triangles) {
    scene *made = open_shape(row->shape, triangles);
    const scene_view view = scene_get_view(made);
    const measures got = measure(&view.mesh);
    assert_true(view.mesh.triangle_count > 0.8 * (double)triangles);
    assert_true(view.mesh.triangle_count < 1.2 * (double)triangles);
    assert_int_equal(got.unpaired, 0);
    assert_int_equal(got.euler, row->euler);
    assert_int_equal(got.turned, 0);
    assert_true(got.volume > 0);
    scene_close(made);
    return fmax(fabs(got.volume / row->volume - 1), fabs(got.area / row->area - 1));
}

/* Expects 16 times the triangles to have at most a sixth of the error. */
static void check_convergence(const closed_case *rows, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const double coarse = shape_error(&rows[i], 2000), fine = shape_error(&rows[i], 32000);
        if (!(fine < 2e-3 && fine < coarse / 6 + 2e-6))
            print_error("%s: errors %g, %g\n", rows[i].shape, coarse, fine);
        assert_true(fine < 2e-3 && fine < coarse / 6 + 2e-6);
    }
}

static void test_tori_and_cylinders_converge(void **state) {
    (void)state;
    const closed_case rows[] = {
        {"\"torus\": {\"radius\": 2, \"tube_radius\": 0.5, \"triangles\": %llu}", 4 * pi * pi,
         pi * pi, 0},
        {"\"torus\": {\"centre\": [1, 2, 3], \"tube_radius\": 0.9, \"triangles\": %llu}",
         4 * pi * pi * 0.9, 2 * pi * pi * 0.81, 0},
        {"\"cylinder\": {\"radius\": 0.5, \"height\": 3, \"triangles\": %llu}", 3.5 * pi, 0.75 * pi,
         2},
        {"\"cylinder\": {\"radius\": 3, \"top_radius\": 0, \"height\": 4, \"triangles\": %llu}",
         24 * pi, 12 * pi, 2},
        {"\"cylinder\": {\"radius\": 0, \"top_radius\": 3, \"height\": 4, \"triangles\": %llu}",
         24 * pi, 12 * pi, 2}};
    check_convergence(rows, sizeof rows / sizeof *rows);
}

static void test_rounded_boxes_converge(void **state) {
    (void)state;
    const double r = 0.1, x = 1 - 2 * r, y = 2 - 2 * r, z = 3 - 2 * r;
    const double faces = x * y + y * z + z * x, edges = x + y + z;
    const closed_case rows[] = {
        {"\"box\": {\"lo\": [0, 0, 0], \"hi\": [1, 2, 3], \"rounding\": 0.1, "
         "\"triangles\": %llu}",
         2 * faces + 2 * pi * r * edges + 4 * pi * r * r,
         x * y * z + 2 * r * faces + pi * r * r * edges + 4 * pi / 3 * r * r * r, 2},
        /* a rod with round ends, and a ball */
        {"\"box\": {\"lo\": [0, 0, 0], \"hi\": [1, 3, 1], \"rounding\": 0.5, "
         "\"triangles\": %llu}",
         2 * pi + pi, 0.5 * pi + pi / 6, 2},
        {"\"box\": {\"rounding\": 1, \"triangles\": %llu}", 4 * pi, 4 * pi / 3, 2}};
    check_convergence(rows, sizeof rows / sizeof *rows);
}

#define LATHE(keys) "\"lathe\": {\"triangles\": %llu, " keys "}"

/* Both directions of a profile; each shape of a lathe faces outwards. */
static void test_lathes_converge(void **state) {
    (void)state;
    const closed_case rows[] = {
        {LATHE("\"closed\": true, \"profile\": [[1, 0], [2, 0], [2, 1], [1, 1]]"), 12 * pi, 3 * pi,
         0},
        {LATHE("\"closed\": true, \"profile\": [[1, 1], [2, 1], [2, 0], [1, 0]]"), 12 * pi, 3 * pi,
         0},
        {LATHE("\"closed\": true, \"profile\": [[0, 0], [3, 0], [0, 4]]"), 24 * pi, 12 * pi, 2},
        {LATHE("\"profile\": [[0, 0], [3, 0], [0, 4]]"), 24 * pi, 12 * pi, 2},
        {LATHE("\"profile\": [[0, 4], [3, 0], [0, 0]]"), 24 * pi, 12 * pi, 2},
        {LATHE("\"caps\": true, \"profile\": [[3, 4], [3, 0]]"), 42 * pi, 36 * pi, 2},
        {LATHE("\"caps\": true, \"smooth\": true, \"profile\": [[3, 0], [3, 2], [3, 4]]"), 42 * pi,
         36 * pi, 2}};
    check_convergence(rows, sizeof rows / sizeof *rows);
    const closed_case ball = {half_circle("\"smooth\": true, \"triangles\": %llu"), 4 * pi,
                              4 * pi / 3, 2};
    check_convergence(&ball, 1);
}

/* --- normals ---------------------------------------------------------------------------------- */

static vec3 ball_normal(vec3 at) {
    return vec3_normalize(at);
}

static vec3 torus_normal(vec3 at) { /* radius 2 */
    const float out = sqrtf(at.x * at.x + at.z * at.z);
    return vec3_normalize(vec3_make(at.x - 2 * at.x / out, at.y, at.z - 2 * at.z / out));
}

static vec3 rod_normal(vec3 at) { /* the box 1 x 2 x 3 with rounding 0.1 */
    const vec3 inner =
        vec3_make(float_min(float_max(at.x, 0.1f), 0.9f), float_min(float_max(at.y, 0.1f), 1.9f),
                  float_min(float_max(at.z, 0.1f), 2.9f));
    return vec3_normalize(vec3_sub(at, inner));
}

/* The wall of a cone of radius 3 and height 4, and its bottom. At the tip there is no normal. */
static vec3 cone_normal(vec3 at) {
    const float out = sqrtf(at.x * at.x + at.z * at.z);
    if (out < 1e-6f) return vec3_all(0);
    return vec3_make(0.8f * at.x / out, 0.6f, 0.8f * at.z / out);
}

static void test_normals_are_those_of_the_surfaces(void **state) {
    (void)state;
    char ball[4096];
    snprintf(ball, sizeof ball, "%s", half_circle("\"smooth\": true"));
    const struct {
        const char *shape;
        vec3 (*normal)(vec3 at);
        double tolerance;
    } cases[] = {
        {"\"torus\": {\"radius\": 2, \"tube_radius\": 0.5}", torus_normal, 1e-5},
        {"\"box\": {\"lo\": [0, 0, 0], \"hi\": [1, 2, 3], \"rounding\": 0.1}", rod_normal, 1e-5},
        {"\"box\": {\"rounding\": 1}", ball_normal, 1e-6},
        {"\"cylinder\": {\"radius\": 3, \"top_radius\": 0, \"height\": 4, \"caps\": false}",
         cone_normal, 1e-6},
        {"\"lathe\": {\"profile\": [[3, 0], [2, 1.33333333], [0, 4]]}", cone_normal, 1e-6},
        {ball, ball_normal, 2e-3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        scene *made = open_shape(cases[i].shape, 0);
        const scene_view view = scene_get_view(made);
        assert_true(view.mesh.triangle_count > 1500);
        double worst = 0;
        for (uint64_t k = 0; k < 3 * (uint64_t)view.mesh.triangle_count; ++k) {
            const vec3 at = view.mesh.positions[view.mesh.triangles[k]];
            const vec3 exact = cases[i].normal(at);
            const vec3 off = vec3_sub(view.mesh.normals[view.mesh.normal_indices[k]], exact);
            if (!vec3_is_zero(exact)) worst = fmax(worst, (double)vec3_length(off));
        }
        if (worst > cases[i].tolerance) print_error("%s: %g\n", cases[i].shape, worst);
        assert_true(worst <= cases[i].tolerance);
        scene_close(made);
    }
}

/* Counts corners whose normal differs from another one at the same vertex. */
static uint64_t creased_corners(const mesh_view *mesh) {
    const uint64_t count = 3 * (uint64_t)mesh->triangle_count;
    vec3 *first = NULL;
    uint64_t creased = 0;
    assert_int_equal(KD_RESERVE_ZEROED(first, mesh->position_count), KD_OK);
    for (uint64_t i = 0; i < count; ++i) {
        const vec3 normal = mesh->normals[mesh->normal_indices[i]];
        vec3 *seen = &first[mesh->triangles[i]];
        if (vec3_is_zero(*seen)) *seen = normal;
        creased += vec3_length(vec3_sub(normal, *seen)) > 1e-5f;
    }
    memory_free(first);
    return creased;
}

static void test_edges_are_where_the_profile_says(void **state) {
    (void)state;
    static const struct {
        const char *shape;
        bool creased;
    } cases[] = {
        {"\"torus\": {}", false},
        {"\"box\": {\"rounding\": 0.2}", false},
        {"\"cylinder\": {}", true},
        {"\"cylinder\": {\"caps\": false}", false},
        {"\"lathe\": {\"profile\": [[1, 0], [1, 1], [1.2, 2]]}", false}, /* 11 degrees */
        {"\"lathe\": {\"profile\": [[1, 0], [1, 1], [1.2, 2]], \"crease_degrees\": 11}", true},
        {"\"lathe\": {\"profile\": [[1, 0], [1, 1, \"sharp\"], [1.2, 2]]}", true},
        {"\"lathe\": {\"profile\": [[1, 0], [1, 1], [2, 2]]}", true}, /* 45 degrees */
        {"\"lathe\": {\"profile\": [[1, 0], [1, 1], [2, 2]], \"crease_degrees\": 46}", false},
        {"\"lathe\": {\"profile\": [[1, 0], [1, 1], [2, 2]], \"smooth\": true}", false},
        {"\"lathe\": {\"profile\": [[1, 0], [1, 1, \"sharp\"], [2, 2]], \"smooth\": true}", true},
        {"\"lathe\": {\"profile\": [[1, 0], [2, 0], [2, 1], [1, 1]], \"smooth\": true, "
         "\"closed\": true}",
         false},
        {"\"lathe\": {\"profile\": [[0, 0], [1, 1], [0, 2]], \"smooth\": true}", false},
        {"\"lathe\": {\"profile\": [[0, 0, \"sharp\"], [1, 1], [0, 2]], \"smooth\": true}", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        scene *made = open_shape(cases[i].shape, 0);
        const scene_view view = scene_get_view(made);
        if ((creased_corners(&view.mesh) > 0) != cases[i].creased)
            print_error("%s\n", cases[i].shape);
        assert_int_equal(creased_corners(&view.mesh) > 0, cases[i].creased);
        scene_close(made);
    }
}

/* --- open profiles, texture coordinates ------------------------------------------------------- */

/* A wall without thickness: the direction of the profile and `inward` say where its front is. */
static void test_open_profiles(void **state) {
    (void)state;
    static const char *const shapes[] = {
        "\"lathe\": {\"profile\": [[1, 0], [1, 1]]}", "\"lathe\": {\"profile\": [[1, 1], [1, 0]]}",
        "\"lathe\": {\"profile\": [[1, 0], [1, 1]]}, \"inward\": true",
        "\"cylinder\": {\"caps\": false}"};
    static const double signs[] = {1, -1, -1, 1};
    for (int i = 0; i < 4; ++i) {
        scene *made = open_shape(shapes[i], 0);
        const scene_view view = scene_get_view(made);
        const measures got = measure(&view.mesh);
        assert_int_equal(got.turned, 0);
        assert_true(got.unpaired > 0);
        assert_true(fabs(got.area / (2 * pi) - 1) < 1e-4);
        assert_true(fabs(got.volume * signs[i] / (2 * pi / 3) - 1) < 1e-4);
        scene_close(made);
    }
}

static void test_texture_coordinates(void **state) {
    (void)state;
    static const char *const shapes[] = {
        "\"uv\": [3, 2], \"cylinder\": {\"radius\": 2, \"height\": 4, \"caps\": false}",
        "\"uv\": [3, 2], \"lathe\": {\"profile\": [[2, 0], [2, 1], [2, 4]]}",
        "\"uv\": [3, 2], \"lathe\": {\"profile\": [[2, 0], [2, 1], [2, 4]], \"smooth\": true}"};
    for (int i = 0; i < 3; ++i) {
        scene *made = open_shape(shapes[i], 0);
        const scene_view view = scene_get_view(made);
        for (uint64_t k = 0; k < 3 * (uint64_t)view.mesh.triangle_count; ++k) {
            const vec3 at = view.mesh.positions[view.mesh.triangles[k]];
            const vec2 uv = view.mesh.texcoords[view.mesh.texcoord_indices[k]];
            const double turn = 2 * pi * (double)uv.x / 3;
            assert_true(fabs(2 * sin(turn) - (double)at.x) < 1e-5);
            assert_true(fabs(2 * cos(turn) - (double)at.z) < 1e-5);
            assert_true(fabs((double)uv.y / 2 - (double)at.y / 4) < 1e-6);
        }
        scene_close(made);
    }
    scene *made = open_shape("\"box\": {\"rounding\": 0.5}", 0);
    const scene_view view = scene_get_view(made);
    for (uint64_t k = 0; k < 3 * (uint64_t)view.mesh.triangle_count; ++k) {
        const vec2 uv = view.mesh.texcoords[view.mesh.texcoord_indices[k]];
        assert_true(uv.x >= 0 && uv.x <= 1 && uv.y >= 0 && uv.y <= 1);
    }
    scene_close(made);
}

static void test_thin_torus_keeps_its_number_of_triangles(void **state) {
    (void)state;
    scene *made = open_shape("\"torus\": {\"tube_radius\": 1e-9, \"triangles\": 12000}", 0);
    assert_int_equal(scene_get_view(made).mesh.triangle_count, 12000); /* 6 rows */
    scene_close(made);
}

/* A shape far from the origin is as round as a near one. */
static void test_far_shapes(void **state) {
    (void)state;
    scene *made = open_shape("\"torus\": {\"centre\": [1e8, 0, 5e8]}", 0);
    const scene_view view = scene_get_view(made);
    const measures got = measure(&view.mesh);
    assert_int_equal(got.euler, 0);
    assert_true(fabs(got.area / (pi * pi) - 1) < 1e-3);
    scene_close(made);
}

/* --- errors ----------------------------------------------------------------------------------- */

static void test_impossible_values_are_refused(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"\"torus\": {\"radius\": -1}", "meshes[0].torus.radius: found -1, expected a number > 0"},
        {"\"torus\": {\"radius\": 0.2}",
         "meshes[0].torus.tube_radius: found 0.25, expected less than `radius`, 0.200000003"},
        {"\"torus\": {\"triangles\": 0}", "meshes[0].torus.triangles: found 0"},
        {"\"cylinder\": {\"radius\": -2}", "meshes[0].cylinder.radius: found -2"},
        {"\"cylinder\": {\"radius\": 0}",
         "meshes[0].cylinder: `radius` and `top_radius` are 0; expected one of them > 0"},
        {"\"cylinder\": {\"height\": 0}", "meshes[0].cylinder.height: found 0"},
        {"\"cylinder\": {\"heightx\": 1}", "unknown key, did you mean \"height\"?"},
        {"\"box\": {\"rounding\": -1}", "meshes[0].box.rounding: found -1"},
        {"\"box\": {\"rounding\": 1.01}",
         "meshes[0].box.rounding: found 1.01, expected at most half the smallest side"},
        {"\"lathe\": {}", "meshes[0].lathe: `profile` is required"},
        {"\"lathe\": {\"profile\": 1}", "meshes[0].lathe.profile: found 1, expected a list of"},
        {"\"lathe\": {\"profile\": [[1, 0]]}", "profile: found 1 points, expected 2 to 100000"},
        {"\"lathe\": {\"closed\": true, \"profile\": [[1, 0], [2, 0]]}",
         "profile: found 2 points, expected 3 to 100000"},
        {"\"lathe\": {\"profile\": [[1, 0], [-1, 1]]}",
         "profile[1][0]: found -1, expected a number"},
        {"\"lathe\": {\"profile\": [[1, 0], [1, 1e999]]}", "profile[1][1]: found"},
        {"\"lathe\": {\"profile\": [[1, 0], [1, \"x\"]]}", "profile[1][1]: found \"x\""},
        {"\"lathe\": {\"profile\": [[1, 0], [1, 1, \"soft\"]]}",
         "expected [radius, height] or [radius, height, \"sharp\"]"},
        {"\"lathe\": {\"profile\": [[1, 0], 5]}", "profile[1]: found 5, expected [radius, height]"},
        {"\"lathe\": {\"profile\": [[1, 0], [1, 0]]}",
         "profile[1]: the point equals the one before it; remove it"},
        {"\"lathe\": {\"closed\": true, \"profile\": [[1, 0], [2, 0], [1, 0]]}",
         "profile[2]: the last point of a closed profile equals the first; remove it"},
        {"\"lathe\": {\"profile\": [[0, 0], [0, 1]]}", "profile: all points lie on the axis"},
        {"\"lathe\": {\"closed\": true, \"caps\": true, \"profile\": [[1, 0], [2, 0], [1, 1]]}",
         "meshes[0].lathe: set only one of `closed` and `caps`"},
        {"\"lathe\": {\"smooth\": true, \"profile\": [[3, 0], [0.01, 1], [0.01, 2], [3, 3]]}",
         "profile[1]: the smooth curve after this point crosses the axis"},
        {"\"lathe\": {\"profile\": [[1, 0], [1, 1]], \"crease_degrees\": 181}",
         "crease_degrees: found 181"},
        {"\"torus\": {}, \"box\": {}", "found 2 of the keys"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char text[512];
        scene *made = NULL;
        snprintf(text, sizeof text, "{\"kandela\": 1, \"meshes\": [{%s}]}", cases[i][0]);
        file_put_text("bad.json", text);
        assert_int_equal(scene_open(&made, file_in("bad.json"), &options, NULL), KD_ERROR_INPUT);
        if (!strstr(kd_last_error(), cases[i][1]))
            print_error("%s:\n  %s\n", cases[i][0], kd_last_error());
        assert_non_null(strstr(kd_last_error(), cases[i][1]));
        assert_null(strchr(kd_last_error(), '\n'));
        assert_null(made);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tori_and_cylinders_converge),
        cmocka_unit_test(test_rounded_boxes_converge),
        cmocka_unit_test(test_lathes_converge),
        cmocka_unit_test(test_normals_are_those_of_the_surfaces),
        cmocka_unit_test(test_edges_are_where_the_profile_says),
        cmocka_unit_test(test_open_profiles),
        cmocka_unit_test(test_texture_coordinates),
        cmocka_unit_test(test_thin_torus_keeps_its_number_of_triangles),
        cmocka_unit_test(test_far_shapes),
        cmocka_unit_test(test_impossible_values_are_refused),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
