/* scenes/prism.json: the heights of its colours on the wall against Snell's law, and their order in
   a picture. */
#include "accel/builders.h"
#include "photon/maps/photon_map.h"
#include "render/api/render.h"
#include "shaders/material.h"
#include "test.h"

static const char *const path = KD_TEST_SOURCE_DIR "/scenes/prism.json";
enum { BANDS = 64 };

typedef struct flat {
    double x, y;
} flat;

static double dot(flat a, flat b) {
    return a.x * b.x + a.y * b.y;
}

/* Intersects a ray with the line through `at` that has this unit normal. */
static flat intersection(flat from, flat direction, flat at, flat normal) {
    const flat to = {at.x - from.x, at.y - from.y};
    const double t = dot(to, normal) / dot(direction, normal);
    return (flat){from.x + t * direction.x, from.y + t * direction.y};
}

/* Refracts by Snell's law. The normal points against the ray; eta is the index behind the surface
   over the index in front. */
static flat refract(flat direction, flat normal, double eta) {
    const double cosine = -dot(direction, normal),
                 beyond2 = 1 - (1 - cosine * cosine) / (eta * eta);
    assert_true(beyond2 > 0);
    const double along = cosine / eta - sqrt(beyond2);
    return (flat){direction.x / eta + along * normal.x, direction.y / eta + along * normal.y};
}

/* Returns the height at which the centre of the beam hits the wall. */
static double height_on_wall(double index) {
    const flat left = {-sqrt(0.75), 0.5}, back = {-sqrt(0.75), -0.5}; /* normals, against the ray */
    const flat apex = {0, 2.4 + sqrt(0.75)}, lamp = {-2.853, 1.342}, wall = {3.5, 0}, x = {-1, 0};
    const flat through = {-0.944, 2.435}; /* the centre of the slit */
    flat direction = {through.x - lamp.x, through.y - lamp.y};
    const double length = sqrt(dot(direction, direction));
    direction = (flat){direction.x / length, direction.y / length};
    flat at = intersection(lamp, direction, apex, left);
    direction = refract(direction, left, index);
    at = intersection(at, direction, apex, back);
    direction = refract(direction, back, 1 / index);
    return intersection(at, direction, wall, x).y;
}

static const material *flint_of(const scene_view *view) {
    for (uint32_t i = 0; i < view->material_count; ++i)
        if (view->materials[i].dispersion) return view->materials + i;
    fail_msg("the scene has no glass that disperses");
    return NULL;
}

/* Computes the mean height of each channel over all wavelengths, weighted by their colours. */
static void expected_heights(const material *flint, double height[3]) {
    double sum[3] = {0};
    height[0] = height[1] = height[2] = 0;
    for (int i = 0; i < 3 * 256; ++i) {
        for (int j = 0; j < 64; ++j) {
            const float one =
                spectrum_draw(vec3_all(1), ((float)i + 0.5f) / (3 * 256), ((float)j + 0.5f) / 64);
            const vec3 colour = spectrum_colour(one, vec3_all(1));
            const double y = height_on_wall((double)spectrum_index(flint, one));
            const double share[3] = {(double)colour.x, (double)colour.y, (double)colour.z};
            for (int c = 0; c < 3; ++c) {
                height[c] += share[c] * y;
                sum[c] += share[c];
            }
        }
    }
    for (int c = 0; c < 3; ++c) height[c] /= sum[c];
}

/* Returns true for photons of the beam on the wall, near the middle of the slit's length. */
static bool is_of_beam(const photon *p) {
    return fabsf(p->position.x - 3.5f) < 1e-3f && fabsf(p->position.z) < 0.1f && p->position.y < 2;
}

static void test_photons_follow_snells_law(void **state) {
    (void)state;
    scene *made = NULL;
    kd_render_options unused;
    kd_render_options_default(&unused);
    assert_int_equal(scene_open(&made, path, &unused, NULL), KD_OK);
    scene_view view = scene_get_view(made);
    const tritree_input input = {view.mesh.positions, view.mesh.triangles, view.mesh.position_count,
                                 view.mesh.triangle_count};
    const tritree_options tree_options = tritree_options_default();
    tritree tree;
    assert_int_equal(tritree_open(&tree, &input, &tree_options, "auto", NULL), KD_OK);
    view.tree = tritree_get_view(&tree);
    photon_options options = photon_options_default();
    options.photons = 0;
    options.caustics = 200000;
    photon_maps maps;
    assert_int_equal(photon_maps_open(&maps, &view, &options, NULL), KD_OK);
    double sum[3] = {0}, height[3] = {0}, expected[3];
    for (uint64_t i = 0; i < maps.caustic.count; ++i) {
        const photon *p = &maps.caustic.photons[i];
        if (view.lights[p->light].kind != LIGHT_SPOT || !is_of_beam(p)) continue;
        const double watts[3] = {(double)p->power.x, (double)p->power.y, (double)p->power.z};
        for (int c = 0; c < 3; ++c) {
            sum[c] += watts[c];
            height[c] += watts[c] * (double)p->position.y;
        }
    }
    expected_heights(flint_of(&view), expected);
    for (int c = 0; c < 3; ++c) {
        assert_true(sum[c] > 0);
        print_message("channel %d: %.4f m, by Snell's law %.4f m, %.4g W\n", c, height[c] / sum[c],
                      expected[c], sum[c]);
        assert_true(fabs(height[c] / sum[c] - expected[c]) < 0.015);
        /* the sum of all colours is nearly white */
        assert_true(fabs(sum[c] - sum[1]) < 0.1 * sum[1]);
    }
    assert_true(expected[0] > expected[1] + 0.05 && expected[1] > expected[2] + 0.05);
    photon_maps_close(&maps);
    tritree_close(&tree);
    scene_close(made);
}

/* A picture of the wall shows from above red, green and blue. */
static void test_picture_shows_spectrum(void **state) {
    (void)state;
    scene *made = NULL;
    kd_render_options options;
    kd_render_options_default(&options);
    assert_int_equal(scene_open(&made, path, &options, NULL), KD_OK);
    const camera view = {{1.5f, 0.9f, 0.3f}, {3.5f, 0.9f, 0}, {0, 1, 0}, 45, 0, 0, 0};
    scene_set_camera(made, &view);
    options.width = 16;
    options.height = BANDS;
    options.crop[0] = 6, options.crop[1] = 0, options.crop[2] = 10, options.crop[3] = BANDS;
    options.spp = 4;
    options.photons = 1000;
    options.caustic_photons = 100000;
    render_result seen;
    assert_int_equal(render_run(&seen, made, &options, NULL), KD_OK);
    assert_int_equal(seen.frame.nan_samples, 0);
    static const char *const names[3] = {"R", "G", "B"};
    int32_t row[3] = {0};
    for (int c = 0; c < 3; ++c) {
        const float *plane = image_plane(&seen.picture, names[c]);
        double best = 0;
        for (int32_t y = 0; y < BANDS; ++y) { /* rows from the top */
            double sum = 0;
            for (int32_t x = 0; x < 4; ++x) sum += (double)plane[4 * y + x];
            if (sum > best) row[c] = y;
            best = sum > best ? sum : best;
        }
    }
    print_message("brightest rows: red %d, green %d, blue %d\n", row[0], row[1], row[2]);
    assert_true(row[0] + 2 <= row[1] && row[1] + 2 <= row[2]);
    render_close(&seen);
    scene_close(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_photons_follow_snells_law),
        cmocka_unit_test(test_picture_shows_spectrum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
