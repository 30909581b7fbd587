/* Pixel filters: samples follow the filter's density, a picture equals the scene filtered by it,
   and pixels are independent. */
#include "core/math/rng.h"
#include "render/frame/pixel.h"
#include "tests/test.h"
#include <kandela/render.h>
#include <math.h>

static const double pi = 3.14159265358979323846;

static double window(double x) { /* Blackman-Harris on -1.5 .. 1.5, not normalised */
    const double t = 2 * pi * (x / 3 + 0.5);
    return 0.35875 - 0.48829 * cos(t) + 0.14128 * cos(2 * t) - 0.01168 * cos(3 * t);
}

/* Mitchell and Netravali's filter with B = C = 1/3, as in their paper. */
static double mitchell(double x) {
    const double t = fabs(x), b = 1.0 / 3, c = 1.0 / 3;
    if (t >= 2) return 0;
    if (t < 1)
        return ((12 - 9 * b - 6 * c) * t * t * t + (-18 + 12 * b + 6 * c) * t * t + 6 - 2 * b) / 6;
    return ((-b - 6 * c) * t * t * t + (6 * b + 30 * c) * t * t + (-12 * b - 48 * c) * t + 8 * b +
            24 * c) /
           6;
}

static double reach(int filter) {
    return filter == PIXEL_FILTER_MITCHELL ? 2 : 1.5;
}

/* Density along one axis; the Gaussian is cut to a disc of radius 1.5, so it is integrated over
   chords. */
static double density(int filter, double x) {
    enum { STEPS = 200 };
    if (filter == PIXEL_FILTER_BOX) return fabs(x) < 0.5;
    if (filter == PIXEL_FILTER_MITCHELL) return mitchell(x);
    if (fabs(x) >= 1.5) return 0;
    if (filter == PIXEL_FILTER_BLACKMAN_HARRIS) return window(x);
    const double half = sqrt(1.5 * 1.5 - x * x);
    double sum = 0;
    for (int i = 0; i < STEPS; ++i) {
        const double y = half * ((i + 0.5) / STEPS * 2 - 1);
        sum += exp(-2 * (x * x + y * y)) * 2 * half / STEPS;
    }
    return sum;
}

/* Returns the largest distance between the samples' distribution and the filter's integral, over
   both axes. */
static void test_samples_follow_the_filter(void **state) {
    (void)state;
    enum { CELLS = 60, SAMPLES = 400 };
    for (int filter = 0; pixel_filter_name(filter); ++filter) {
        const double far = reach(filter);
        double seen[2][CELLS] = {{0}}, curve[CELLS], total = 0, weights = 0;
        for (int i = 0; i < CELLS; ++i) {
            curve[i] = 0;
            for (int k = 0; k < 20; ++k)
                curve[i] += fabs(density(filter, far * (2 * (i + (k + 0.5) / 20) / CELLS - 1)));
            total += curve[i];
        }
        for (int i = 0; i < SAMPLES; ++i)
            for (int j = 0; j < SAMPLES; ++j) {
                const vec2 at = pixel_filter_draw(filter, ((float)i + 0.5f) / SAMPLES,
                                                  ((float)j + 0.5f) / SAMPLES);
                weights += (double)pixel_filter_weight(filter, at) / (SAMPLES * SAMPLES);
                const double place[2] = {(double)at.x - 0.5, (double)at.y - 0.5};
                for (int a = 0; a < 2; ++a) {
                    assert_true(fabs(place[a]) <= far + 1e-5);
                    int cell = (int)((place[a] / far + 1) / 2 * CELLS);
                    cell = cell < 0 ? 0 : cell >= CELLS ? CELLS - 1 : cell;
                    seen[a][cell] += 1.0 / (SAMPLES * SAMPLES);
                }
            }
        if (fabs(weights - 1) > 0.01)
            fail_msg("%s: samples count %g in the mean", pixel_filter_name(filter), weights);
        for (int a = 0; a < 2; ++a) {
            double share = 0, meant = 0;
            for (int i = 0; i < CELLS; ++i) {
                share += seen[a][i];
                meant += curve[i] / total;
                if (fabs(share - meant) > 4e-3)
                    fail_msg("%s, axis %d, cell %d: %g, expected %g", pixel_filter_name(filter), a,
                             i, share, meant);
            }
        }
    }
}

/* The edge of a lamp against black: its ramp across pixels equals the filter's integral. */
static void test_edge_ramp_matches_filter_integral(void **state) {
    (void)state;
    enum { SIDE = 16 };
    FILE *file = fopen("filter.json", "w");
    assert_non_null(file);
    fputs("{\"kandela\": 1, \"materials\": {\"lamp\": {\"emission\": 1, \"two_sided\": true}},\n"
          "\"meshes\": [{\"quad\": [[0, -9, 0], [9, -9, 0], [9, 9, 0], [0, 9, 0]],"
          "\"material\": \"lamp\"}],\n"
          "\"camera\": {\"eye\": [0, 0, 100], \"look_at\": [0, 0, 0], \"fov\": 2}}\n",
          file);
    fclose(file);
    for (int filter = 0; pixel_filter_name(filter); ++filter) {
        kd_render_options options;
        kd_scene *scene = NULL;
        kd_image *image = NULL;
        kd_render_options_default(&options);
        assert_int_equal(kd_scene_load(&scene, "filter.json", &options), KD_OK);
        strcpy(options.device, "cpu");
        options.width = options.height = SIDE;
        options.spp = 1024;
        options.filter = filter;
        assert_int_equal(kd_render(&image, scene, &options, NULL, NULL), KD_OK);
        const float *red = kd_image_channel(image, "R");
        double total = 0;
        for (int k = 0; k < 4000; ++k) total += density(filter, -2 + (k + 0.5) / 1000);
        for (int x = 0; x < SIDE; ++x) {
            /* fraction of the filter to the right of the edge, seen from the centre of pixel x */
            double meant = 0;
            for (int k = 0; k < 4000; ++k) {
                const double offset = -2 + (k + 0.5) / 1000;
                if (x + 0.5 + offset > SIDE / 2.0) meant += density(filter, offset) / total;
            }
            const double actual = (double)red[SIDE * SIDE / 2 + x];
            if (fabs(actual - meant) > 0.02)
                fail_msg("%s, pixel %d: %g, expected %g", pixel_filter_name(filter), x, actual,
                         meant);
        }
        kd_image_close(image);
        kd_scene_close(scene);
    }
    remove("filter.json");
}

static void test_debug_rejects_filters(void **state) {
    (void)state;
    kd_render_options options;
    kd_scene *scene = NULL;
    kd_image *image = NULL;
    kd_render_options_default(&options);
    assert_int_equal(kd_scene_load(&scene, "gen:blob:20", &options), KD_OK);
    strcpy(options.device, "cpu");
    options.width = options.height = 4;
    options.filter = PIXEL_FILTER_GAUSSIAN;
    strcpy(options.integrator, "debug");
    assert_int_equal(kd_render(&image, scene, &options, NULL, NULL), KD_ERROR_USAGE);
    assert_non_null(strstr(kd_last_error(), "gaussian"));
    strcpy(options.integrator, "path");
    options.filter = 4;
    assert_int_equal(kd_render(&image, scene, &options, NULL, NULL), KD_ERROR_USAGE);
    kd_scene_close(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_follow_the_filter),
        cmocka_unit_test(test_edge_ramp_matches_filter_integral),
        cmocka_unit_test(test_debug_rejects_filters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
