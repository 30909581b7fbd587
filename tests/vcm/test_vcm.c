/* Vertex connection and merging: every set of techniques that can find a scene's light gives the
   picture of path tracing, for all materials, lights and cameras; nothing leaks. */
#include "render/integrators/vcm_techniques.h"
#include "test.h"
#include "tests/render/shoot.h"
#include "tests/render/still_life.h"

static scene_fixture stage;

static kd_render_options small_options(const char *name, int32_t size, int32_t spp) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, name);
    options.width = options.height = size;
    options.spp = spp;
    options.max_depth = 12;
    return options;
}

/* Means of the quarters of a picture, and of the whole. */
typedef struct quarters {
    double mean[5];
} quarters;

static quarters take(const camera *view, const kd_render_options *options) {
    shot s = shoot(&stage, view, options, NULL);
    quarters made = {{0}};
    assert_int_equal(s.status, KD_OK);
    assert_int_equal(s.statistics.nan_samples, 0);
    const float *plane = image_plane(&s.picture, "G");
    const int32_t width = s.picture.width, height = s.picture.height;
    for (int32_t y = 0; y < height; ++y)
        for (int32_t x = 0; x < width; ++x) {
            const double value = (double)plane[y * width + x] / (width * height);
            made.mean[(2 * x >= width) + 2 * (2 * y >= height)] += 4 * value;
            made.mean[4] += value;
        }
    image_close(&s.picture);
    return made;
}

static void expect_same(const char *name, const quarters *got, const quarters *expected,
                        double tolerance) {
    for (int i = 0; i < 5; ++i)
        if (!(fabs(got->mean[i] - expected->mean[i]) <=
              (i < 4 ? 2 : 1) * tolerance * expected->mean[4]))
            fail_msg("%s, quarter %d: %.5g, expected %.5g", name, i, got->mean[i],
                     expected->mean[i]);
}

/* Compares sets of techniques with path tracing. */
static void expect_path(const camera *view, const kd_render_options *base,
                        const char *const *techniques, double tolerance) {
    kd_render_options options = *base;
    strcpy(options.integrator, "path");
    options.spp = 8 * base->spp;
    const quarters expected = take(view, &options);
    for (uint32_t i = 0; techniques[i]; ++i) {
        if (test_leaves_out(i, 3)) continue;
        options = *base;
        strcpy(options.techniques, techniques[i]);
        if (strcmp(techniques[i], "splat") == 0) options.spp *= 8; /* noisy alone */
        const quarters got = take(view, &options);
        expect_same(techniques[i], &got, &expected, tolerance);
    }
}

static const char *const every[] = {"all",
                                    "eye",
                                    "eye+lamps",
                                    "eye+splat",
                                    "eye+merge",
                                    "eye+lamps+splat",
                                    "eye+lamps+merge",
                                    "eye+splat+merge",
                                    NULL};
static const char *const all[] = {"all", NULL};

/* Every material, smooth and rough, lit by a sky and a lamp. */
static void test_materials(void **state) {
    (void)state;
    still_life_build(&stage);
    const kd_render_options options = small_options("vcm", 32, 48);
    expect_path(&still_life_camera, &options, every, 0.015);
}

/* The same with two discs at infinity, one behind the other, that camera rays, sampled lights and
   light paths find. */
static void test_discs(void **state) {
    (void)state;
    static const char *const sets[] = {"all", "eye+lamps", "lamps+splat+merge", NULL};
    light sun;
    memset(&sun, 0, sizeof sun);
    sun.kind = LIGHT_DIRECTIONAL;
    sun.direction = vec3_normalize(vec3_make(0.5f, -1, -0.6f));
    still_life_begin(&stage);
    for (int i = 0; i < 2; ++i) {
        sun.area = i ? 0.01f : 0.05f; /* angular radii of 18 and 8 degrees */
        sun.emitted = i ? vec3_make(1, 2, 3) : vec3_make(3, 2, 1);
        sun.power = 100;
        fixture_light(&stage, sun);
    }
    fixture_finish(&stage);
    const kd_render_options options = small_options("vcm", 16, 48);
    expect_path(&still_life_camera, &options, sets, 0.025);
}

static void box_with(uint32_t floor, float emission) {
    const uint32_t grey = still_life_diffuse(&stage, 0.6f, 0);
    const uint32_t lamp = still_life_diffuse(&stage, 0, emission);
    const uint32_t walls[6] = {grey, grey, floor, emission > 0 ? lamp : grey, grey, grey};
    fixture_box(&stage, walls, vec3_make(-1, -1, -1), vec3_make(1, 1, 1), true);
}

static const camera inside = {{0.1f, -0.2f, 0.9f}, {0, -0.4f, 0}, {0, 1, 0}, 70, 0, 0, 0};

/* Lights without size are found by sampled lights and by light paths. */
static void test_delta_lights(void **state) {
    (void)state;
    static const char *const found[] = {"all",   "lamps",       "lamps+splat", "lamps+merge",
                                        "splat", "splat+merge", NULL};
    static const char *const sun[] = {"all", "lamps", "lamps+splat", NULL}; /* splat is noisy */
    for (int kind = 0; kind < 3; ++kind) {
        fixture_clear(&stage);
        const uint32_t grey = still_life_diffuse(&stage, 0.7f, 0);
        box_with(grey, 0);
        light lamp;
        memset(&lamp, 0, sizeof lamp);
        lamp.kind = kind ? LIGHT_SPOT : LIGHT_POINT;
        lamp.position = vec3_make(0.2f, 0.6f, -0.1f);
        lamp.direction = vec3_make(0, -1, 0);
        lamp.cos_inner = 0.8f;
        lamp.cos_outer = 0.5f;
        lamp.emitted = vec3_all(1);
        lamp.power = 9;
        if (kind == 2) { /* the sun on a floor without walls */
            lamp.kind = LIGHT_DIRECTIONAL;
            lamp.direction = vec3_normalize(vec3_make(0.3f, -1, 0.2f));
            fixture_clear(&stage);
            const uint32_t clay = still_life_diffuse(&stage, 0.7f, 0);
            fixture_quad(&stage, clay, vec3_make(-3, -1, 3), vec3_make(3, -1, 3),
                         vec3_make(3, -1, -3), vec3_make(-3, -1, -3));
            const uint32_t clays[6] = {clay, clay, clay, clay, clay, clay};
            fixture_box(&stage, clays, vec3_make(-0.4f, -0.9f, -0.4f), vec3_make(0.4f, 0, 0.4f),
                        false);
        }
        fixture_light(&stage, lamp);
        fixture_finish(&stage);
        const kd_render_options options = small_options("vcm", 16, 64);
        expect_path(&inside, &options, kind == 2 ? sun : found, 0.02);
    }
}

/* Cameras and pixel filters: splats land as camera rays do. */
static void test_cameras(void **state) {
    (void)state;
    fixture_clear(&stage);
    const uint32_t floor = still_life_diffuse(&stage, 0.3f, 0);
    box_with(floor, 3);
    fixture_finish(&stage);
    static const camera views[] = {
        {{0.1f, -0.2f, 0.9f}, {0, -0.4f, 0}, {0, 1, 0}, 70, 0.2f, 0.6f, 0},
        {{0.1f, -0.2f, 0.9f}, {0, -0.9f, 0}, {0, 1, 0}, 70, 0, 0, 1.2f},
        {{0.1f, -0.2f, 0.9f}, {0, -0.4f, 0}, {0, 1, 0}, 70, 0.1f, 0.5f, 1}};
    static const char *const two[] = {"all", "splat", NULL};
    for (int v = 0; v < 3; ++v)
        for (int32_t filter = 0; filter < PIXEL_FILTERS; ++filter) {
            if (test_leaves_out((uint32_t)(v + filter), 4)) continue;
            kd_render_options options = small_options("vcm", 16, 64);
            options.filter = filter;
            expect_path(&views[v], &options, v == 0 || filter == 0 ? two : all, 0.02);
        }
}

/* A limit so low that only direct light is left: in techniques that connect to the camera, and in
   those that start there. */
static void test_clamp(void **state) {
    (void)state;
    static const char *const sets[] = {"all", "lamps", "splat", NULL};
    kd_render_options options = small_options("vcm", 12, 48);
    options.clamp = 1e-6f;
    fixture_clear(&stage);
    const uint32_t floor = still_life_diffuse(&stage, 0.5f, 0);
    box_with(floor, 3);
    fixture_finish(&stage);
    expect_path(&inside, &options, sets, 0.02);
}

/* A closed box of glass around a lamp, and a lens: light that only light paths find well. */
static void test_glass(void **state) {
    (void)state;
    fixture_clear(&stage);
    const uint32_t floor = still_life_diffuse(&stage, 0.5f, 0);
    box_with(floor, 3);
    material made = material_default();
    made.kind = MATERIAL_GLASS;
    made.transmission = vec3_all(1);
    const uint32_t glass = fixture_material(&stage, made);
    fixture_ball(&stage, glass, vec3_make(0.1f, -0.5f, -0.1f), 0.4f, 12);
    fixture_finish(&stage);
    const kd_render_options options = small_options("vcm", 24, 96);
    static const char *const sets[] = {
        "all", "eye+merge", "eye+lamps+splat", "lamps+splat+merge", "lamps+merge", NULL};
    expect_path(&inside, &options, sets, 0.03);
}

/* A smooth interface with this medium behind it; without index of refraction only the medium's. */
static uint32_t interface_to(float ior, uint32_t medium) {
    material made = material_default();
    if (ior > 0) {
        made.kind = MATERIAL_GLASS;
        made.transmission = vec3_all(1);
        made.ior = ior;
    } else {
        made.opacity = 0;
    }
    made.medium = medium;
    return fixture_material(&stage, made);
}

/* A foggy room under a lamp, with a ball of milk in glass, and smoke. Of the channels that scatter,
   green, which is compared, differs most from the mean. */
static void foggy_room(void) {
    fixture_clear(&stage);
    const uint32_t floor = still_life_diffuse(&stage, 0.5f, 0);
    stage.fog = fixture_medium(&stage, vec3_all(0.05f), vec3_make(0.5f, 0.2f, 0.4f), 0.4f);
    const uint32_t smoke =
        fixture_medium(&stage, vec3_make(0.1f, 0.2f, 0.3f), vec3_make(1, 3, 1.5f), -0.3f);
    const uint32_t milk =
        fixture_medium(&stage, vec3_make(0.2f, 0, 0.3f), vec3_make(5, 2, 4), 0.6f);
    box_with(floor, 3);
    fixture_ball(&stage, interface_to(1.4f, milk), vec3_make(0.3f, -0.5f, -0.1f), 0.4f, 12);
    const uint32_t veil = interface_to(0, smoke);
    const uint32_t veils[6] = {veil, veil, veil, veil, veil, veil};
    fixture_box(&stage, veils, vec3_make(-0.7f, -0.95f, -0.6f), vec3_make(-0.1f, -0.3f, 0), false);
    fixture_finish(&stage);
}

/* Paths that scatter in media behind glass find each other there. */
static void test_media(void **state) {
    (void)state;
    foggy_room();
    kd_render_options options = small_options("vcm", 24, 64);
    options.max_depth = 40;
    options.radius = 0.06f;
    static const char *const sets[] = {
        "all", "eye+merge", "eye+lamps+splat", "lamps+splat+merge", "eye+splat+merge", NULL};
    expect_path(&inside, &options, sets, 0.03);
}

/* Milk in glass that does not refract, under a light without size, which only merging finds there;
   without the glass, sampled lights find it. */
static void test_milk(void **state) {
    (void)state;
    light lamp;
    memset(&lamp, 0, sizeof lamp);
    lamp.kind = LIGHT_POINT;
    lamp.position = vec3_make(0.2f, 0.8f, 0.5f);
    lamp.emitted = vec3_all(1);
    lamp.power = 9;
    quarters expected = {{0}};
    for (int glass = 0; glass < 2; ++glass) {
        fixture_clear(&stage);
        const uint32_t milk =
            fixture_medium(&stage, vec3_make(0.2f, 0, 0.3f), vec3_make(5, 2, 4), 0.6f);
        fixture_ball(&stage, interface_to(glass ? 1 : 0, milk), vec3_make(0, -0.3f, 0), 0.6f, 12);
        fixture_light(&stage, lamp);
        fixture_finish(&stage);
        kd_render_options options = small_options(glass ? "vcm" : "path", 24, 256);
        options.max_depth = 60;
        options.radius = 0.06f;
        if (!glass) {
            expected = take(&inside, &options);
            continue;
        }
        const quarters got = take(&inside, &options);
        expect_same("milk", &got, &expected, 0.05);
        options.spp = 16;
        strcpy(options.techniques, "eye+lamps+splat");
        assert_true(take(&inside, &options).mean[4] < 0.5 * expected.mean[4]);
    }
}

/* Rays of light end at walls: a sealed room stays black. */
static void test_sealed_room(void **state) {
    (void)state;
    fixture_clear(&stage);
    const uint32_t grey = still_life_diffuse(&stage, 0.6f, 0);
    box_with(grey, 0);
    material made = material_default();
    made.kind = MATERIAL_MIRROR;
    const uint32_t mirror = fixture_material(&stage, made);
    const uint32_t lamp = still_life_diffuse(&stage, 0, 5);
    const uint32_t outside[6] = {grey, mirror, grey, lamp, grey, mirror};
    fixture_box(&stage, outside, vec3_make(-1.4f, -1.4f, -1.4f), vec3_make(1.4f, 1.4f, 1.4f), true);
    fixture_finish(&stage);
    const kd_render_options options = small_options("vcm", 16, 8);
    assert_true(take(&inside, &options).mean[4] == 0);
    /* also in fog, where walls are thicker than the radius */
    const uint32_t greys[6] = {grey, grey, grey, grey, grey, grey};
    fixture_box(&stage, greys, vec3_make(-1.2f, -1.2f, -1.2f), vec3_make(1.2f, 1.2f, 1.2f), false);
    stage.fog = fixture_medium(&stage, vec3_all(0), vec3_all(2), 0);
    fixture_finish(&stage);
    assert_true(take(&inside, &options).mean[4] == 0);
}

/* A white room, where a path scatters 33 times on average, has the radiance 0.3 / (1 - 0.97); also
   with fog and milk that absorb nothing. */
static void test_white_room(void **state) {
    (void)state;
    for (int foggy = 0; foggy < 2; ++foggy) {
        fixture_clear(&stage);
        const uint32_t white = still_life_diffuse(&stage, foggy ? 0.7f : 0.97f, foggy ? 3 : 0.3f);
        const uint32_t walls[6] = {white, white, white, white, white, white};
        fixture_box(&stage, walls, vec3_make(-1, -1, -1), vec3_make(1, 1, 1), true);
        if (foggy) {
            stage.fog = fixture_medium(&stage, vec3_all(0), vec3_make(0.5f, 0.2f, 0.4f), 0.4f);
            const uint32_t milk = fixture_medium(&stage, vec3_all(0), vec3_make(4, 2, 1), -0.4f);
            fixture_ball(&stage, interface_to(1.4f, milk), vec3_make(0, -0.4f, -0.2f), 0.5f, 12);
        }
        fixture_finish(&stage);
        kd_render_options options = small_options("vcm", 8, foggy ? 96 : 32);
        options.max_depth = 255;
        options.radius = 0.05f;
        const double mean = take(&inside, &options).mean[4];
        if (!(fabs(mean - 10) < 0.25)) fail_msg("%g, expected 10", mean);
    }
}

/* The shares of single techniques add up to the picture, pixel by pixel; the share of the only
   technique is the picture; with others, each loses weight. */
static void test_shares(void **state) {
    (void)state;
    enum { SIZE = 12 };
    static const char *const names[] = {"all", "eye", "lamps", "splat", "merge"};
    still_life_build(&stage);
    float planes[5][SIZE * SIZE];
    double means[5] = {0};
    for (int i = 0; i < 5; ++i) {
        kd_render_options options = small_options("vcm", SIZE, 4);
        strcpy(options.show_techniques, names[i]);
        shot part = shoot(&stage, &still_life_camera, &options, NULL);
        assert_int_equal(part.status, KD_OK);
        memcpy(planes[i], image_plane(&part.picture, "G"), sizeof planes[i]);
        means[i] = shot_mean(&part, "G");
        image_close(&part.picture);
        assert_true(means[i] > 0);
        if (i == 0) continue;
        strcpy(options.techniques, names[i]);
        shot own = shoot(&stage, &still_life_camera, &options, NULL);
        strcpy(options.show_techniques, "all");
        shot alone = shoot(&stage, &still_life_camera, &options, NULL);
        if (i == 1)
            assert_memory_equal(image_plane(&own.picture, "G"), image_plane(&alone.picture, "G"),
                                SIZE * SIZE * sizeof(float));
        assert_true(means[i] < shot_mean(&alone, "G"));
        image_close(&own.picture);
        image_close(&alone.picture);
    }
    for (int p = 0; p < SIZE * SIZE; ++p) {
        const double sum = (double)planes[1][p] + (double)planes[2][p] + (double)planes[3][p] +
                           (double)planes[4][p];
        assert_true(fabs(sum - (double)planes[0][p]) <= 1e-6 * (double)planes[0][p]);
    }
}

/* Light tracing alone does not aim at a ball that many light paths meet; vcm always does. */
static void test_aim(void **state) {
    (void)state;
    for (int i = 0; i < 3; ++i) {
        emission_target targets[EMISSION_TARGETS];
        vcm_view view;
        uint32_t count = 0;
        memset(&view, 0, sizeof view);
        view.weighs = i == 2;
        fixture_clear(&stage);
        const uint32_t floor = still_life_diffuse(&stage, 0.5f, 0);
        box_with(floor, 3);
        material made = material_default();
        made.kind = MATERIAL_GLASS;
        const uint32_t glass = fixture_material(&stage, made);
        fixture_ball(&stage, glass, vec3_make(0, -0.3f, 0), i ? 0.6f : 0.1f, 4);
        fixture_finish(&stage);
        const scene_view scene = fixture_view(&stage);
        assert_int_equal(vcm_aim(targets, &count, &view, &scene), KD_OK);
        assert_int_equal(count > 0, i != 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_materials),    cmocka_unit_test(test_discs),
        cmocka_unit_test(test_delta_lights), cmocka_unit_test(test_cameras),
        cmocka_unit_test(test_clamp),        cmocka_unit_test(test_glass),
        cmocka_unit_test(test_sealed_room),  cmocka_unit_test(test_white_room),
        cmocka_unit_test(test_shares),       cmocka_unit_test(test_aim),
        cmocka_unit_test(test_media),        cmocka_unit_test(test_milk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
