/* scenes/assembly/scene.h: lights and their powers, sampling tables, the default camera and light,
   transforms. */
#include "shaders/light_sampling.h"
/* included before the type `scene`, because parameters of the header above have that name */
#include "core/memory.h"
#include "core/status.h"
#include "scenes/assembly/scene.h"
#include "tests/scenes/files.h"
#include <glob.h>

static const double pi = 3.14159265358979323846;

static kd_render_options options;

static scene *open_path(const char *path) {
    scene *made = NULL;
    kd_render_options_default(&options);
    const kd_status status = scene_open(&made, path, &options, NULL);
    if (status != KD_OK) print_error("%s\n", kd_last_error());
    assert_int_equal(status, KD_OK);
    return made;
}

static scene *open_text(const char *text) {
    file_put_text("scene.json", text);
    return open_path(file_in("scene.json"));
}

static bool near(double a, double b) {
    return fabs(a - b) <= 2e-5 * fabs(b);
}

/* --- powers ----------------------------------------------------------------------------------- */

static void check_table(const scene_view *view) {
    double total = 0;
    for (uint32_t i = 0; i < view->light_count; ++i) {
        total += (double)view->lights[i].power;
        assert_true(view->lights[i].power > 0);
        assert_true(view->light_cdf[i + 1] >= view->light_cdf[i]);
        const double share = (double)(view->light_cdf[i + 1] - view->light_cdf[i]);
        assert_true(fabs(share - (double)(view->lights[i].power / view->total_power)) < 1e-6);
        if (view->lights[i].kind != LIGHT_TRIANGLE) continue;
        assert_int_equal(view->triangle_lights[view->lights[i].triangle], i);
        light placed = view->lights[i];
        const uint32_t *corner = view->mesh.triangles + 3 * (size_t)placed.triangle;
        const vec3 *at = view->mesh.positions;
        light_on_triangle(&placed, at[corner[0]], at[corner[1]], at[corner[2]]);
        assert_memory_equal(&placed, &view->lights[i], sizeof placed);
    }
    assert_true(view->light_cdf[0] == 0 && view->light_cdf[view->light_count] == 1);
    assert_true(near((double)view->total_power, total));
    uint64_t linked = 0, triangles = 0;
    for (uint32_t i = 0; view->triangle_lights && i < view->mesh.triangle_count; ++i)
        linked += view->triangle_lights[i] != KD_NONE;
    for (uint32_t i = 0; i < view->light_count; ++i)
        triangles += view->lights[i].kind == LIGHT_TRIANGLE;
    assert_int_equal(linked, triangles);
}

static scene *open_with(const char *mesh_text, const char *light_text, const char *rest) {
    char text[2048];
    snprintf(text, sizeof text,
             "{\"kandela\": 1, \"meshes\": [{\"quad\": [[-1,0,1],[1,0,1],"
             "[1,0,-1],[-1,0,-1]]}%s], \"lights\": [%s] %s}",
             mesh_text, light_text, rest);
    return open_text(text);
}

static void test_power_of_each_light_kind(void **state) {
    (void)state;
    static const struct {
        const char *mesh_text, *light_text, *rest;
        double power;
    } cases[] = {
        {", {\"quad\": [[0,1,0],[0,1,2],[3,1,2],[3,1,0]], \"material\": {\"emission\": [1,2,6]}}",
         "", "", 3.14159265 * 6 * 3},
        {", {\"quad\": [[0,1,0],[0,1,2],[3,1,2],[3,1,0]], \"material\": {\"emission\": [1,2,6],"
         "\"two_sided\": true}}",
         "", "", 2 * 3.14159265 * 6 * 3},
        {"", "{\"kind\": \"point\", \"intensity\": [1, 2, 3]}", "", 4 * 3.14159265 * 2},
        {"", "{\"kind\": \"point\", \"power\": 5}", "", 5},
        {"", "{\"kind\": \"spot\", \"power\": [3, 6, 9], \"inner_degrees\": 5}", "", 6},
        {"", "{\"kind\": \"spot\", \"power\": 2, \"inner_degrees\": 0, \"outer_degrees\": 180}", "",
         2},
        {"", "{\"kind\": \"area\", \"power\": 7, \"edge_u\": [3, 0, 0]}", "", 7},
        {"", "{\"kind\": \"area\", \"power\": 7, \"two_sided\": true}", "", 7},
        {"", "{\"kind\": \"area\", \"radiance\": 2, \"edge_v\": [0, 1, 1]}", "",
         2 * 3.14159265 * 1.41421356},
        /* the floor's bounding disc has radius sqrt 2 */
        {"", "{\"kind\": \"directional\", \"irradiance\": 3}", "", 3.14159265 * 2 * 3},
        {"", "", ", \"environment\": {\"radiance\": [1, 2, 3]}",
         4 * 3.14159265 * 3.14159265 * 2 * 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        scene *made = open_with(cases[i].mesh_text, cases[i].light_text, cases[i].rest);
        const scene_view view = scene_get_view(made);
        assert_true(near((double)view.total_power, cases[i].power));
        check_table(&view);
        scene_close(made);
    }
}

/* A light of P lumens or candelas equals one of P / 683 W or W/sr, of any kind and colour. */
static void test_photometric_units(void **state) {
    (void)state;
    static const char *const cases[][3] = {{"point", "intensity", "_candelas"},
                                           {"point", "power", "_lumens"},
                                           {"spot", "intensity", "_candelas"},
                                           {"spot", "power", "_lumens"},
                                           {"area", "power", "_lumens"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        vec3 emitted[2];
        for (int p = 0; p < 2; ++p) {
            char text[256];
            snprintf(text, sizeof text, "{\"kind\": \"%s\", \"%s%s\": [%s]}", cases[i][0],
                     cases[i][1], p ? cases[i][2] : "", p ? "683, 0, 2049" : "1, 0, 3");
            scene *made = open_with("", text, "");
            emitted[p] = scene_get_view(made).lights[0].emitted;
            scene_close(made);
        }
        assert_true(emitted[0].x > 0 && near((double)emitted[0].x, (double)emitted[1].x));
        assert_true(emitted[1].y == 0 && near((double)emitted[0].z, (double)emitted[1].z));
    }
}

/* The same for the keys whose name differs: lux on the ground, nits of a panel, a surface and the
   sky give the same radiometric quantities. */
static void test_photometric_keys(void **state) {
    (void)state;
    static const struct {
        const char *mesh_text, *light_text, *rest;
    } cases[] = {
        {"", "{\"kind\": \"directional\", \"illuminance_lux\": 1366}", ""},
        {"", "{\"kind\": \"area\", \"luminance_nits\": 1366}", ""},
        {", {\"quad\": [[0,1,0],[0,1,2],[3,1,2],[3,1,0]], \"material\": {\"emission_nits\": 1366}}",
         "", ""},
        {"", "", ", \"environment\": {\"luminance_nits\": 1366}"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        scene *made = open_with(cases[i].mesh_text, cases[i].light_text, cases[i].rest);
        assert_true(near((double)scene_get_view(made).lights[0].emitted.x, 2));
        scene_close(made);
    }
}

/* The power of a spotlight equals the integral of its intensity over all directions. */
static void test_spots_integrate_to_their_power(void **state) {
    (void)state;
    scene *made = open_with("",
                            "{\"kind\": \"spot\", \"power\": 1, \"inner_degrees\": 25,"
                            "\"outer_degrees\": 70}",
                            "");
    const scene_view view = scene_get_view(made);
    double sum = 0;
    const int steps = 100000;
    for (int i = 0; i < steps; ++i) {
        const double cosine = -1 + 2 * (i + 0.5) / steps;
        sum +=
            (double)(light_spot_falloff(&view.lights[0], (float)cosine) * view.lights[0].emitted.x);
    }
    assert_true(fabs(sum * 2 * pi * 2 / steps - 1) < 1e-4);
    scene_close(made);
}

/* Writes a BMP of 2 x 1 texels: black, white. */
static void write_half_white(void) {
    static const char bmp[] = "BM\x3e\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\2\0\0\0\1\0\0\0\1\0\x18\0"
                              "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                              "\0\0\0\xff\xff\xff\0";
    file_put("half.bmp", bmp, 62);
}

static void test_textured_emission_is_averaged_over_triangle(void **state) {
    (void)state;
    write_half_white();
    scene *made = open_text("{\"kandela\": 1, \"meshes\": [{\"quad\": "
                            "[[0,0,0],[2,0,0],[2,1,0],[0,1,0]], \"uv\": [16, 1],"
                            "\"material\": {\"emission\": 3, \"emission_map\": \"half.bmp\"}}]}");
    const scene_view view = scene_get_view(made);
    assert_int_equal(view.light_count, 2);
    /* The image repeats 16 times: half of it is white, with linear ramps between texel centres. The
       single triangle is wider where u is large: its mean is 1/2 + 1/128. */
    const double half = pi * 3 * 0.5;
    assert_true(fabs((double)view.lights[0].power / half - (1 + 1.0 / 64)) < 2e-3);
    assert_true(fabs((double)view.lights[1].power / half - (1 - 1.0 / 64)) < 2e-3);
    assert_true(near((double)view.lights[0].emitted.x, 3));
    scene_close(made);
}

static void test_black_lights_are_omitted(void **state) {
    (void)state;
    scene *made = open_with("",
                            "{\"kind\": \"point\", \"power\": 0}, {\"kind\": \"point\", \"power\":"
                            "[0, 0, 1]}",
                            ", \"environment\": {\"radiance\": 0}");
    const scene_view view = scene_get_view(made);
    assert_int_equal(view.light_count, 1);
    assert_int_equal(view.environment.light, KD_NONE);
    check_table(&view);
    scene_close(made);
}

/* --- sky -------------------------------------------------------------------------------------- */

/* Writes a Radiance HDR without compression: a dim sky with one bright texel. */
static void write_sky(int width, int height, int sun_x, int sun_y) {
    char file[20000];
    int used = snprintf(file, sizeof file, "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y %d +X %d\n",
                        height, width);
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            const bool sun = x == sun_x && y == sun_y;
            const uint8_t texel[4] = {64, (uint8_t)(32 + x), 128, sun ? 137 : 128};
            memcpy(file + used, texel, 4);
            used += 4;
        }
    file_put("sky.hdr", file, (size_t)used);
}

static void check_cdf(const float *cdf, int count) {
    assert_true(cdf[0] == 0 && cdf[count] == 1);
    for (int i = 0; i < count; ++i) assert_true(cdf[i + 1] >= cdf[i]);
}

static void test_sky_sampling_is_proportional_to_radiance(void **state) {
    (void)state;
    enum { W = 7, H = 6, STEPS = 840 }; /* rows of fewer than 8 texels are not compressed */
    write_sky(W, H, 2, 1);
    scene *made = open_with("", "",
                            ", \"environment\": {\"image\": \"sky.hdr\", \"radiance\": 2,"
                            "\"rotation_degrees\": 50}");
    const scene_view view = scene_get_view(made);
    const environment_view *sky = &view.environment;
    assert_int_equal(sky->width, W);
    assert_int_equal(sky->height, H);
    check_cdf(sky->row_cdf, H);
    for (int y = 0; y < H; ++y) check_cdf(sky->column_cdf + y * (W + 1), W);
    double pdf = 0, power = 0, ratio_low = 1e30;
    for (int i = 0; i < STEPS; ++i)
        for (int j = 0; j < STEPS; ++j) {
            const double theta = (i + 0.5) / STEPS * pi;
            const vec3 direction = latlong_to_direction(
                vec2_make(((float)j + 0.5f) / STEPS, ((float)i + 0.5f) / STEPS), sky->rotation);
            const double solid = sin(theta) * pi / STEPS * 2 * pi / STEPS;
            const double density = (double)environment_pdf(&view, vec3_all(0), direction);
            const vec3 light_in = environment_radiance(&view, direction);
            const double mean = (double)(light_in.x + light_in.y + light_in.z) / 3;
            pdf += density * solid;
            power += mean * solid * pi * 2; /* the scene's bounding disc of radius sqrt 2 */
            if (mean > 0 && density == 0) ratio_low = 0;
            /* the table's cells are uniform in theta, a poor approximation near the poles */
            if (sin(theta) < 0.3) continue;
            ratio_low = fmin(ratio_low, density / mean);
        }
    assert_true(fabs(pdf - 1) < 2e-3);
    assert_true(fabs(power - (double)view.total_power) < 2e-3 * power);
    /* the probability is never far below the radiance: the worst place is one texel diagonally from
       the sun */
    assert_true(ratio_low * power / (2 * pi) > 1.0 / 20);
    scene_close(made);
}

static void test_missing_sky_is_an_error(void **state) {
    (void)state;
    scene *made = NULL;
    file_put_text("scene.json", "{\"kandela\": 1, \"meshes\": [{\"box\": {}}], \"environment\":"
                                "{\"image\": \"none.hdr\"}}");
    kd_render_options_default(&options);
    assert_int_equal(scene_open(&made, file_in("scene.json"), &options, NULL), KD_ERROR_INPUT);
    assert_non_null(strstr(kd_last_error(), "none.hdr"));
    assert_null(made);
}

/* --- defaults --------------------------------------------------------------------------------- */

static char last_message[1024];

static void keep_message(void *context, log_level level, const char *message) {
    (void)context, (void)level;
    snprintf(last_message, sizeof last_message, "%s", message);
}

static void test_unlit_scene_gets_default_sky(void **state) {
    (void)state;
    log_set_sink(keep_message, NULL);
    scene *made = open_path("gen:sphere:100");
    assert_string_equal(last_message, ""); /* commands that do not render print nothing */
    scene_report_default_light(made);
    log_set_sink(NULL, NULL);
    const scene_view view = scene_get_view(made);
    assert_non_null(strstr(last_message, "no light"));
    assert_int_equal(view.light_count, 1);
    assert_int_equal(view.lights[0].kind, LIGHT_ENVIRONMENT);
    check_table(&view);
    scene_close(made);
}

/* Returns the largest image coordinate of the box's corners: 1 is the edge of the picture. */
static double picture_extent(const scene *scene, double aspect) {
    const camera view = scene_camera(scene);
    const box3 box = scene_get_view(scene).box;
    const vec3 back = vec3_normalize(vec3_sub(view.eye, view.look_at));
    const vec3 right = vec3_normalize(vec3_cross(view.up, back)), up = vec3_cross(back, right);
    const double tangent = tan((double)view.fov_degrees * pi / 360);
    double extent = 0;
    for (int i = 0; i < 8; ++i) {
        const vec3 corner = vec3_make(i & 1 ? box.hi.x : box.lo.x, i & 2 ? box.hi.y : box.lo.y,
                                      i & 4 ? box.hi.z : box.lo.z);
        const vec3 to = vec3_sub(corner, view.eye);
        const double depth = -(double)vec3_dot(to, back);
        assert_true(depth > 0);
        extent = fmax(extent, fabs((double)vec3_dot(to, up)) / (depth * tangent));
        extent = fmax(extent, fabs((double)vec3_dot(to, right)) / (depth * tangent * aspect));
    }
    return extent;
}

static void test_default_cameras_frame_the_box(void **state) {
    (void)state;
    static const char *const meshes[] = {
        "{\"box\": {}}",
        "{\"box\": {\"lo\": [0,0,0], \"hi\": [10,1,1]}}",
        "{\"box\": {\"lo\": [0,0,0], \"hi\": [1,10,1]}}",
        "{\"box\": {\"lo\": [0,0,0], \"hi\": [1,1,10]}}",
        "{\"quad\": [[0,0,0],[1,0,0],[1,0,-1],[0,0,-1]]}",
        "{\"box\": {}, \"transform\": [{\"scale\": 1e-6}, {\"translate\": [1e-3,0,0]}]}",
        "{\"box\": {}, \"transform\": [{\"scale\": 1e6}]}"};
    static const int sizes[][2] = {{512, 512}, {1920, 1080}, {300, 900}};
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; ++i)
        for (int j = 0; j < 3; ++j) {
            char text[512];
            snprintf(text, sizeof text,
                     "{\"kandela\": 1, \"meshes\": [%s], \"render\": {\"resolution\": [%d, %d]}}",
                     meshes[i], sizes[j][0], sizes[j][1]);
            scene *made = open_text(text);
            const double extent = picture_extent(made, (double)sizes[j][0] / sizes[j][1]);
            assert_true(extent < 1 && extent > 0.8);
            assert_true(scene_camera(made).eye.z > scene_get_view(made).box.hi.z);
            scene_close(made);
        }
}

static void test_default_camera_of_room_is_inside(void **state) {
    (void)state;
    static const char *const paths[] = {"gen:room:20000", "gen:hall:5000"};
    for (int i = 0; i < 2; ++i) {
        scene *made = open_path(paths[i]);
        const box3 box = scene_get_view(made).box;
        const vec3 eye = scene_camera(made).eye;
        assert_true(eye.x > box.lo.x && eye.x < box.hi.x && eye.y > box.lo.y && eye.y < box.hi.y);
        scene_close(made);
    }
}

/* --- transforms ------------------------------------------------------------------------------- */

static double signed_volume(const scene_view *view) {
    double sum = 0;
    for (uint32_t i = 0; i < view->mesh.triangle_count; ++i) {
        const uint32_t *t = view->mesh.triangles + 3 * (size_t)i;
        const vec3 a = view->mesh.positions[t[0]], b = view->mesh.positions[t[1]];
        sum += (double)vec3_dot(a, vec3_cross(b, view->mesh.positions[t[2]])) / 6;
    }
    return sum;
}

/* Expects the normals of a sphere to point away from its centre, after any transform. */
static void check_outward(const scene_view *view, vec3 centre, float sign) {
    for (uint32_t i = 0; i < 3 * view->mesh.triangle_count; ++i) {
        const vec3 from = vec3_sub(view->mesh.positions[view->mesh.triangles[i]], centre);
        const vec3 normal = view->mesh.normals[view->mesh.normal_indices[i]];
        assert_true(sign * vec3_dot(from, normal) > 0);
    }
}

static void test_transformed_meshes_keep_orientation(void **state) {
    (void)state;
    static const struct {
        const char *steps;
        double volume;
        vec3 centre;
    } cases[] = {
        {"{\"translate\": [1,2,3]}", 4.1888, {1, 2, 3}},
        {"{\"scale\": [1,2,3]}", 25.1327, {0, 0, 0}},
        {"{\"scale\": [-1,1,1]}", 4.1888, {0, 0, 0}},
        {"{\"scale\": -2}, {\"translate\": [1,0,0]}", 33.5103, {1, 0, 0}},
        {"{\"translate\": [1,0,0]}, {\"rotate\": [0,0,1], \"degrees\": 90}", 4.1888, {0, 1, 0}},
        {"{\"rotate\": [0,2,0], \"degrees\": -450}, {\"translate\": [0,0,5]},"
         "{\"rotate\": [1,0,0], \"degrees\": 180}",
         4.1888,
         {0, 0, -5}},
        {"{\"matrix\": [0,1,0,7, 1,0,0,8, 0,0,1,9]}", 4.1888, {7, 8, 9}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        for (int inward = 0; inward < 2; ++inward) {
            char text[512];
            snprintf(text, sizeof text,
                     "{\"kandela\": 1, \"meshes\": [{\"file\": \"gen:sphere:5000\", \"inward\": %s,"
                     "\"transform\": [%s]}]}",
                     inward ? "true" : "false", cases[i].steps);
            scene *made = open_text(text);
            const scene_view view = scene_get_view(made);
            const double sign = inward ? -1 : 1;
            assert_true(fabs(sign * signed_volume(&view) / cases[i].volume - 1) < 0.01);
            check_outward(&view, cases[i].centre, (float)sign);
            const vec3 off = vec3_sub(box3_centre(view.box), cases[i].centre);
            assert_true(vec3_length(off) < 1e-4f);
            scene_close(made);
        }
}

static void test_overrides(void **state) {
    (void)state;
    scene *made = open_text(
        "{\"kandela\": 1, \"materials\": {\"tin\": {\"kind\": \"conductor\", \"roughness\": 0.3}},"
        "\"meshes\": [{\"file\": \"gen:cornell\", \"materials\": {\"red\": \"tin\","
        "\"green\": {\"diffuse\": [0, 0, 1]}}}, {\"box\": {}, \"material\": \"tin\"}]}");
    const scene_view view = scene_get_view(made);
    uint32_t tin = 0, blue = 0;
    for (uint32_t i = 0; i < view.mesh.triangle_count; ++i) {
        const material *record = &view.materials[view.mesh.triangle_materials[i]];
        tin += record->kind == MATERIAL_CONDUCTOR && record->specular.x == 1 &&
               record->roughness == 0.3f;
        blue += record->diffuse.z == 1 && record->diffuse.x == 0;
    }
    assert_int_equal(view.mesh.triangle_count, 36 + 12);
    assert_int_equal(tin, 2 + 12);
    assert_int_equal(blue, 2);
    assert_int_equal(view.material_count, 4); /* light, white, tin, the modified green */
    scene_close(made);
}

static void test_shipped_scenes_open(void **state) {
    (void)state;
    glob_t matches;
    assert_int_equal(glob(KD_TEST_SOURCE_DIR "/scenes/*.json", 0, NULL, &matches), 0);
    assert_true(matches.gl_pathc >= 7);
    for (size_t i = 0; i < matches.gl_pathc; ++i) {
        if (test_leaves_out((uint32_t)i, 3)) continue;
        scene *made = open_path(matches.gl_pathv[i]);
        const scene_view view = scene_get_view(made);
        assert_true(view.light_count > 0 && !scene_is_unlit(made));
        check_table(&view);
        scene_close(made);
    }
    globfree(&matches);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_of_each_light_kind),
        cmocka_unit_test(test_photometric_units),
        cmocka_unit_test(test_photometric_keys),
        cmocka_unit_test(test_spots_integrate_to_their_power),
        cmocka_unit_test(test_textured_emission_is_averaged_over_triangle),
        cmocka_unit_test(test_black_lights_are_omitted),
        cmocka_unit_test(test_sky_sampling_is_proportional_to_radiance),
        cmocka_unit_test(test_missing_sky_is_an_error),
        cmocka_unit_test(test_unlit_scene_gets_default_sky),
        cmocka_unit_test(test_default_cameras_frame_the_box),
        cmocka_unit_test(test_default_camera_of_room_is_inside),
        cmocka_unit_test(test_transformed_meshes_keep_orientation),
        cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_shipped_scenes_open),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
