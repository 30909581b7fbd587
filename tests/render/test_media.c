/* Media in pictures: Beer's law, single scattering in a slab, white furnaces, cameras inside media,
   and the energy ledger of photons. */
#include "accel/builders.h"
#include "photon/maps/photon_map.h"
#include "shoot.h"
#include "test.h"

static scene_fixture stage;

static kd_render_options options_for(const char *name, int32_t size, int32_t spp) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, name);
    options.width = options.height = size;
    options.spp = options.passes = spp;
    options.max_depth = 1000;
    options.photons = 1000;
    return options;
}

/* Returns the mean of a channel of a successful rendering. */
static double mean_of(const camera *view, const kd_render_options *options, const char *channel) {
    shot taken = shoot(&stage, view, options, NULL);
    assert_int_equal(taken.status, KD_OK);
    assert_int_equal(taken.statistics.nan_samples, 0);
    const double mean = shot_mean(&taken, channel);
    image_close(&taken.picture);
    return mean;
}

static void add_sky(float radiance) {
    light sky;
    memset(&sky, 0, sizeof sky);
    sky.kind = LIGHT_ENVIRONMENT;
    sky.triangle = KD_NONE;
    sky.emitted = vec3_all(radiance);
    vec3 low = stage.positions[0], high = low;
    for (uint32_t i = 0; i < stage.vertex_count; ++i) {
        low = vec3_min(low, stage.positions[i]);
        high = vec3_max(high, stage.positions[i]);
    }
    sky.power = 4 * KD_PI * KD_PI * radiance * 0.25f * vec3_length2(vec3_sub(high, low));
    stage.sky = stage.light_count;
    fixture_light(&stage, sky);
}

/* Adds a closed box of one material. */
static void add_box(material record, vec3 lo, vec3 hi) {
    const uint32_t made = fixture_material(&stage, record);
    const uint32_t faces[6] = {made, made, made, made, made, made};
    fixture_box(&stage, faces, lo, hi, false);
}

static material boundary_of(uint32_t in) {
    material made = material_default();
    made.opacity = 0;
    made.medium = in;
    return made;
}

static const camera camera_ahead = {{0, 0, 5}, {0, 0, 0}, {0, 1, 0}, 0.05f, 0, 0, 0};

/* --- absorption ------------------------------------------------------------------------------- */

/* An absorbing slab in front of a sky of radiance 1, without a surface and as glass of index 1. */
static void test_absorbing_slab_follows_beers_law(void **state) {
    (void)state;
    static const char *const names[] = {"path", "direct", "whitted", "photon", "sppm", "light"};
    for (int glass = 0; glass < 2; ++glass) {
        fixture_clear(&stage);
        material record =
            boundary_of(fixture_medium(&stage, vec3_make(0.5f, 1, 2), vec3_all(0), 0));
        if (glass) {
            record.kind = MATERIAL_GLASS;
            record.ior = record.opacity = 1;
        }
        add_box(record, vec3_make(-2, -2, -0.75f), vec3_make(2, 2, 0.75f));
        add_sky(1);
        fixture_finish(&stage);
        for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
            kd_render_options options = options_for(names[i], 4, 2);
            if (strcmp(names[i], "sppm") == 0 || (glass && strcmp(names[i], "light") != 0))
                options.photons = 0; /* no photons could be stored */
            expect_near(mean_of(&camera_ahead, &options, "R"), exp(-0.75), 1e-3 * exp(-0.75));
            expect_near(mean_of(&camera_ahead, &options, "G"), exp(-1.5), 1e-3 * exp(-1.5));
            expect_near(mean_of(&camera_ahead, &options, "B"), exp(-3.0), 1e-3 * exp(-3.0));
        }
    }
}

/* A box of one medium inside a box of another; rays from the centre, the outer medium and its edge
   cross different lengths of each. Media nest, and the medium at the camera is determined
   correctly. */
static void test_camera_inside_nested_media(void **state) {
    (void)state;
    fixture_clear(&stage);
    const uint32_t thin = fixture_medium(&stage, vec3_all(0.25f), vec3_all(0), 0);
    const uint32_t thick = fixture_medium(&stage, vec3_all(2), vec3_all(0), 0);
    material outer = boundary_of(thin), inner = boundary_of(thick);
    inner.medium_outside = thin;
    add_box(outer, vec3_all(-2), vec3_all(2));
    add_box(inner, vec3_all(-0.5f), vec3_all(0.5f));
    add_sky(1);
    fixture_finish(&stage);
    camera inside = camera_ahead;
    const float eyes[3] = {0, 1, -1.5f}; /* z of cameras that look along -z */
    const double lost[3] = {0.5 * 2 + 1.5 * 0.25, 1 * 2 + 2 * 0.25, 0.5 * 0.25};
    for (int i = 0; i < 3; ++i) {
        inside.eye = vec3_make(0, 0, eyes[i]);
        inside.look_at = vec3_make(0, 0, eyes[i] - 1);
        const kd_render_options options = options_for(i == 2 ? "photon" : "path", 4, 2);
        expect_near(mean_of(&inside, &options, "G"), exp(-lost[i]), 1e-3);
    }
}

/* --- scattering ------------------------------------------------------------------------------- */

/* Sunlight on a slab, seen from above: the light scattered once equals the integral along the
   ray. */
static void test_single_scattering_matches_integral(void **state) {
    (void)state;
    static const char *const names[] = {"direct", "whitted", "photon"};
    const double absorbed = 0.4, scattered = 0.9, lost = absorbed + scattered, depth = 1.5;
    const double slope = 0.6, cosine = 0.8; /* direction of the sun inside the slab */
    for (int k = 0; k < 3; ++k) {
        const float g = k == 0 ? 0 : k == 1 ? 0.5f : -0.7f;
        fixture_clear(&stage);
        const uint32_t in =
            fixture_medium(&stage, vec3_all((float)absorbed), vec3_all((float)scattered), g);
        add_box(boundary_of(in), vec3_make(-40, -40, 0), vec3_make(40, 40, (float)depth));
        light sun;
        memset(&sun, 0, sizeof sun);
        sun.kind = LIGHT_DIRECTIONAL;
        sun.direction = vec3_make((float)slope, 0, (float)-cosine);
        sun.emitted = vec3_all(3);
        sun.power = 1;
        fixture_light(&stage, sun);
        fixture_finish(&stage);
        const int steps = 20000; /* the integral along the ray, as a sum */
        double expected = 0;
        for (int i = 0; i < steps; ++i) {
            const double t = (i + 0.5) * depth / steps;
            expected += 3 * scattered * (double)medium_phase(g, (float)-cosine) *
                        exp(-lost * (t + t / cosine)) * depth / steps;
        }
        for (int i = 0; i < 3; ++i) {
            kd_render_options options = options_for(names[i], 8, 512);
            options.photons = 0; /* direct light only */
            options.gather = 2;
            if (i == 2) options.spp = 32;
            expect_near(mean_of(&camera_ahead, &options, "G"), expected, 6e-3 * expected);
        }
    }
}

/* The total transmittance and reflectance of a slab at normal incidence: van de Hulst 1980,
   "Multiple Light Scattering" (optical thickness 2, albedo 0.9, g = 0.75), as quoted by Wang,
   Jacques and Zheng 1995. Computed in reverse: a uniform lamp behind the slab, or before it. */
static void test_thick_fog_matches_published_tables(void **state) {
    (void)state;
    const double expected[2] = {0.66096, 0.09739}, tolerance[2] = {0.002, 0.0013};
    const float extinction = 4.5f, depth = 2 / extinction, wide = 300;
    for (int before = 0; before < 2; ++before) {
        fixture_clear(&stage);
        const uint32_t in =
            fixture_medium(&stage, vec3_all(0.1f * extinction), vec3_all(0.9f * extinction), 0.75f);
        add_box(boundary_of(in), vec3_make(-200, -200, 0), vec3_make(200, 200, depth));
        material lamp = material_default();
        lamp.diffuse = vec3_all(0);
        lamp.emission = vec3_all(1);
        /* the lamp faces the slab */
        const float z = before ? 8 : -0.05f, x = before ? -wide : wide;
        fixture_quad(&stage, fixture_material(&stage, lamp), vec3_make(-x, -wide, z),
                     vec3_make(x, -wide, z), vec3_make(x, wide, z), vec3_make(-x, wide, z));
        fixture_finish(&stage);
        const kd_render_options options = options_for("path", 16, 2048);
        expect_near(mean_of(&camera_ahead, &options, "G"), expected[before], tolerance[before]);
    }
}

/* A cloud without absorption is invisible in front of a white sky: coloured, with multiple
   scattering, for any phase function. */
static void test_cloud_in_white_furnace_is_invisible(void **state) {
    (void)state;
    for (int fog = 0; fog < 2; ++fog) {
        fixture_clear(&stage);
        const uint32_t in = fixture_medium(&stage, vec3_all(0), vec3_make(1, 2, 4), 0.6f);
        material white = material_default();
        white.diffuse = vec3_all(1);
        add_box(white, vec3_make(-0.3f, -0.3f, -0.3f), vec3_make(0.3f, 0.2f, 0.1f));
        add_box(boundary_of(fog ? KD_NONE : in), vec3_all(-0.6f), vec3_all(0.6f));
        if (fog) stage.fog = in;
        add_sky(1);
        fixture_finish(&stage);
        camera view = camera_ahead;
        view.fov_degrees = 10;
        kd_render_options options = options_for("path", 8, 512);
        expect_near(mean_of(&view, &options, "R"), 1, 0.02);
        expect_near(mean_of(&view, &options, "B"), 1, 0.02);
        options = options_for("photon", 8, 32);
        options.photons = options.media_photons = 60000;
        /* less accurate, because the photons' balls extend beyond the cloud */
        expect_near(mean_of(&view, &options, "R"), 1, 0.04);
        options = options_for("sppm", 8, 32);
        options.media_photons = 3000;
        strcpy(options.media, "beams");
        expect_near(mean_of(&view, &options, "R"), 1, 0.04);
    }
}

/* --- photons ---------------------------------------------------------------------------------- */

/* A lamp in fog between black walls, seen through the fog beside it: path tracing and photon maps
   give the same single scattering for any seed. If only points of the lamp were sampled, with
   weights of 1 over the squared distance, errors would be 5 %, up to a factor of 8. */
static void test_fog_near_lamp_has_no_outliers(void **state) {
    (void)state;
    const camera inside = {{0, 0, 0.95f}, {0, 0.3f, -1}, {0, 1, 0}, 80, 0, 0, 0};
    fixture_clear(&stage);
    stage.fog = fixture_medium(&stage, vec3_all(0.1f), vec3_all(2.5f), 0.5f);
    material wall = material_default(), lamp = material_default();
    wall.diffuse = lamp.diffuse = vec3_all(0);
    lamp.emission = vec3_all(9);
    add_box(wall, vec3_all(-1), vec3_all(1));
    fixture_quad(&stage, fixture_material(&stage, lamp), vec3_make(-0.3f, 0.9f, -0.3f),
                 vec3_make(0.3f, 0.9f, -0.3f), vec3_make(0.3f, 0.9f, 0.3f),
                 vec3_make(-0.3f, 0.9f, 0.3f));
    fixture_finish(&stage);
    kd_render_options options = options_for("direct", 16, 2048);
    const double expected = mean_of(&inside, &options, "G");
    double squares = 0;
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        options = options_for("photon", 16, 64);
        options.photons = 0; /* direct light only */
        options.gather = 2;
        options.final_gather = 0;
        options.seed = seed;
        const double share = mean_of(&inside, &options, "G") / expected;
        expect_near(share, 1, 0.03);
        squares += (share - 1) * (share - 1);
    }
    expect_near(sqrt(squares / 8), 0, 0.02);
}

/* A furnace filled with fog: the energy ledger closes and has a row for media, and photons store
   their medium. */
static void test_energy_ledger_includes_media(void **state) {
    (void)state;
    fixture_clear(&stage);
    stage.fog = fixture_medium(&stage, vec3_make(0.1f, 0.2f, 0.3f), vec3_make(0.9f, 1.5f, 2), 0.3f);
    const uint32_t thick = fixture_medium(&stage, vec3_all(1), vec3_make(5, 0, 1), -0.4f);
    material wall = material_default();
    wall.diffuse = vec3_all(0.6f);
    wall.emission = vec3_make(1, 2, 3);
    const uint32_t made = fixture_material(&stage, wall);
    const uint32_t walls[6] = {made, made, made, made, made, made};
    fixture_box(&stage, walls, vec3_all(-1), vec3_all(1), true);
    material glass = boundary_of(thick);
    glass.opacity = 1;
    glass.kind = MATERIAL_GLASS;
    glass.dispersion = DISPERSION_CAUCHY;
    glass.index_terms[0] = 1.5f;
    glass.index_terms[1] = 0.01f;
    add_box(glass, vec3_all(-0.4f), vec3_make(0.5f, 0.3f, 0.2f));
    fixture_finish(&stage);
    scene_view room = fixture_view(&stage);
    const tritree_input input = {room.mesh.positions, room.mesh.triangles, room.mesh.position_count,
                                 room.mesh.triangle_count};
    const tritree_options tree_options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &input, &tree_options, "auto", NULL), KD_OK);
    room.tree = tritree_get_view(&tree);
    photon_options options = photon_options_default();
    options.photons = options.caustics = options.volume_photons = 20000;
    photon_maps maps;
    assert_int_equal(photon_maps_open(&maps, &room, &options, NULL), KD_OK);
    const photon_map *all[3] = {&maps.global, &maps.caustic, &maps.media};
    for (int i = 0; i < 3; ++i) {
        const photon_ledger *sums = &all[i]->ledger;
        const double end = sums->absorbed + sums->media + sums->escaped + sums->ended + sums->cut;
        expect_near(end, sums->emitted, 1e-6 * sums->emitted);
        expect_near(sums->escaped, 0, 1e-9);
        /* few paths from these lamps reach the glass, so the caustic map ends before it is full */
        assert_true(sums->media > 0.01 * sums->emitted && all[i]->count >= (i == 1 ? 2000 : 20000));
        if (i != 1) expect_near(sums->ended / sums->emitted, 0, 0.02);
    }
    uint32_t inside[2] = {0, 0};
    for (uint64_t i = 0; i < maps.media.count; ++i) {
        const photon *p = &maps.media.photons[i];
        const vec3 at = p->position;
        const bool in_glass = at.x > -0.4f && at.y > -0.4f && at.z > -0.4f && at.x < 0.5f &&
                              at.y < 0.3f && at.z < 0.2f;
        assert_int_equal(p->triangle, in_glass ? 1 : 0);
        assert_true(p->kind != PHOTON_DIRECT && p->bounce > 0);
        ++inside[in_glass];
    }
    assert_true(inside[0] > 100 && inside[1] > 100);
    photon_maps_close(&maps);
    tritree_close(&tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_absorbing_slab_follows_beers_law),
        cmocka_unit_test(test_camera_inside_nested_media),
        cmocka_unit_test(test_single_scattering_matches_integral),
        cmocka_unit_test(test_thick_fog_matches_published_tables),
        cmocka_unit_test(test_cloud_in_white_furnace_is_invisible),
        cmocka_unit_test(test_fog_near_lamp_has_no_outliers),
        cmocka_unit_test(test_energy_ledger_includes_media),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
