/* Guiding through openings: densities integrate to one and are those of the samples, the pilot
   finds a gap, and every set of techniques gives the same picture as path, which is not guided. */
#include "render/integrators/vcm_techniques.h"
#include "test.h"
#include "tests/render/shoot.h"
#include "tests/vcm/doorway.h"

static scene_fixture stage;

static vcm_guide two_openings(void) {
    vcm_guide guide;
    memset(&guide, 0, sizeof guide);
    guide.count = 2;
    guide.openings[0].box = (box3){{0.5f, -0.4f, 1}, {0.9f, 0.6f, 1.3f}};
    guide.openings[1].box = (box3){{-0.8f, 0.2f, 0.7f}, {-0.5f, 0.4f, 1.4f}};
    guide.openings[0].through = vec3_normalize(vec3_make(0.3f, 0, 1));
    guide.openings[1].through = vec3_make(0, 0, 1);
    return guide;
}

/* A surface at the origin, and the direction that a path comes from; the normal is +z. */
static surface surface_of(uint32_t kind, float albedo) {
    surface at;
    memset(&at, 0, sizeof at);
    at.kind = (uint8_t)kind;
    at.diffuse = vec3_all(albedo);
    at.specular = vec3_all(0.3f);
    at.alpha = 0.4f;
    at.ior = 1.5f;
    at.normal = at.geometric = at.mapped = vec3_make(0, 0, 1);
    at.front = true;
    return at;
}

static const vec3 comes_from = {0.6f, 0, 0.8f};

static void test_density(void **state) {
    (void)state;
    enum { COUNT = 1 << 20 };
    const vcm_guide guide = two_openings();
    for (int i = 0; i < 4; ++i) {
        const surface at = surface_of(i % 2 ? MATERIAL_PLASTIC : MATERIAL_DIFFUSE, 0.6f);
        const guide_way way = i < 2 ? GUIDE_LIGHT : GUIDE_EYE;
        vcm_guide turned = guide;
        for (int k = 0; way == GUIDE_EYE && k < 2; ++k)
            turned.openings[k].through = vec3_negate(guide.openings[k].through);
        assert_int_equal(guide_ahead(&turned, way, &at, comes_from), 3);
        assert_int_equal(guide_ahead(&guide, way, &at, vec3_make(0, 0, -1)), 0);
        double sum = 0, plain = 0; /* some of a rough lobe lies below the surface */
        for (uint32_t n = 0; n < COUNT; ++n) {
            const rng_block u = rng_draw(rng_key_make(7, 1, n), 0, 0);
            /* above the surface, one in each cell of a grid */
            const float z = ((float)(n % 1024) + u.value[0]) / 1024, r = sqrtf(1 - z * z);
            const float turn = 2 * KD_PI * ((float)(n / 1024) + u.value[1]) / 1024;
            const vec3 to = vec3_make(r * cosf(turn), r * sinf(turn), z);
            const float pdf = bsdf_pdf(&at, comes_from, to);
            sum += (double)guide_pdf(&turned, way, &at, comes_from, to, pdf);
            plain += (double)pdf;
        }
        const double share = (double)guide_share(&at), all = 2 * (double)KD_PI / COUNT;
        if (!(fabs(all * (sum - (1 - share) * plain) - share) < 0.005))
            fail_msg("%d: %.4f, expected %.4f", i, all * (sum - (1 - share) * plain), share);
    }
}

/* Samples have the density that guide_pdf returns, and scatter what the surface scatters. */
static void test_samples(void **state) {
    (void)state;
    enum { COUNT = 1 << 17 };
    const vcm_guide guide = two_openings();
    for (int i = 0; i < 2; ++i) {
        const surface at = surface_of(i ? MATERIAL_PLASTIC : MATERIAL_DIFFUSE, 0.6f);
        double sum = 0, plain = 0;
        uint32_t guided = 0;
        for (uint32_t n = 0; n < COUNT; ++n) {
            const rng_key key = rng_key_make(5, 1, n);
            bsdf_sample drawn = bsdf_draw(&at, comes_from, rng_draw(key, 0, 0), BSDF_FLUX);
            plain += (double)drawn.weight.x / COUNT;
            guided += guide_draw(&guide, GUIDE_LIGHT, &at, comes_from, rng_draw(key, 0, 1), &drawn);
            sum += (double)drawn.weight.x / COUNT;
            const float pdf = guide_pdf(&guide, GUIDE_LIGHT, &at, comes_from, drawn.direction,
                                        bsdf_pdf(&at, comes_from, drawn.direction));
            assert_true(fabsf(drawn.pdf - pdf) <= 1e-4f * pdf);
        }
        assert_true(fabs(sum / plain - 1) < 0.01);
        assert_true(fabs(guided / (double)COUNT - (double)guide_share(&at)) < 0.01);
    }
}

static kd_render_options options_of(const char *techniques, int32_t spp) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, "vcm");
    strcpy(options.techniques, techniques);
    options.width = options.height = 16;
    options.spp = spp;
    options.max_depth = 8;
    return options;
}

/* The gap is found, and a room that its lamp lights directly has none. */
static void test_pilot(void **state) {
    (void)state;
    for (int i = 0; i < 2; ++i) {
        doorway_build(&stage, i ? 0.8f : 0.06f);
        scene_view shown = fixture_view(&stage);
        const tritree_input input = {shown.mesh.positions, shown.mesh.triangles,
                                     shown.mesh.position_count, shown.mesh.triangle_count};
        const tritree_options tree_options = tritree_options_default();
        const kd_render_options options = options_of("all", 1);
        emission_target aims[EMISSION_TARGETS];
        uint32_t count = 0;
        tritree tree;
        memset(&tree, 0, sizeof tree);
        assert_int_equal(tritree_open(&tree, &input, &tree_options, "auto", NULL), KD_OK);
        shown.tree = tritree_get_view(&tree);
        const frame frame = {.scene = &shown, .options = &options, .view = doorway_camera};
        const pixel_view pixels = integrator_view(&frame);
        vcm_view view;
        memset(&view, 0, sizeof view);
        view.viewer = vcm_viewer_of(&pixels);
        view.paths = 1 << 14;
        view.limits.max_depth = view.path.max_depth = options.max_depth;
        view.path.scatterings = INT32_MAX;
        vcm_set_techniques(&view, 15, 15, &shown);
        assert_int_equal(vcm_guide_find(&view, aims, &count, &frame), KD_OK);
        if (i) {
            assert_int_equal(view.guide.count, 0);
            assert_int_equal(count, 0);
        } else {
            const box3 box = view.guide.openings[0].box;
            assert_true(view.guide.count >= 1);
            assert_true(count >= 8);
            assert_true(box.lo.x > 1.1f && box.hi.x < 1.36f && box.lo.x < 1.21f &&
                        box.hi.x > 1.25f);
            assert_true(box.lo.z > -1.3f && box.hi.z < -0.7f);
            assert_true(view.guide.openings[0].through.z > 0.3f);
        }
        tritree_close(&tree);
    }
}

/* `techniques`: of vcm; "": path, which is not guided. */
static image take(const char *techniques, int32_t spp, uint64_t seed) {
    kd_render_options options = options_of(techniques, spp);
    options.seed = seed;
    if (!techniques[0]) {
        strcpy(options.integrator, "path");
        strcpy(options.techniques, "all");
    }
    shot taken = shoot(&stage, &doorway_camera, &options, NULL);
    assert_int_equal(taken.status, KD_OK);
    assert_int_equal(taken.statistics.nan_samples, 0);
    return taken.picture;
}

static double mean_of(const image *picture) {
    const float *plane = image_plane(picture, "G");
    double sum = 0;
    for (int32_t i = 0; i < picture->width * picture->height; ++i)
        sum += (double)plane[i] / (picture->width * picture->height);
    return sum;
}

static void test_techniques(void **state) {
    (void)state;
    static const char *const sets[] = {"all", "splat", "lamps+splat", "eye+splat"};
    doorway_build(&stage, 0.06f);
    image expected = take("all", 384, 9);
    for (int i = 0; i < 4; ++i) {
        if (test_leaves_out((uint32_t)i, 2)) continue;
        image got = take(sets[i], 128, 1);
        const double ratio = mean_of(&got) / mean_of(&expected);
        if (!(fabs(ratio - 1) < 0.05)) fail_msg("%s: %.4f", sets[i], ratio);
        image_close(&got);
    }
    image plain = take("", 1024, 3);
    const double ratio = mean_of(&plain) / mean_of(&expected);
    if (!(fabs(ratio - 1) < 0.08)) fail_msg("path: %.4f", ratio);
    image_close(&plain);
    image_close(&expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_density),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_pilot),
        cmocka_unit_test(test_techniques),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
