/* The noise of direct light does not grow with the number of lamps. */
#include "shoot.h"
#include "test.h"

static scene_fixture stage;

enum { WIDTH = 32, HEIGHT = 24 };

static shot corridor_shoot(uint32_t lamps, int32_t spp, uint64_t seed) {
    static const camera view = {{0, 2.5f, 4}, {0, 0.5f, -3}, {0, 1, 0}, 50, 0, 0, 0};
    const float end = -1.5f * (float)lamps - 2;
    material made = material_default();
    fixture_clear(&stage);
    made.diffuse = vec3_all(0.6f);
    const uint32_t white = fixture_material(&stage, made);
    made.diffuse = vec3_all(0);
    made.emission = vec3_all(18);
    const uint32_t lamp = fixture_material(&stage, made);
    fixture_quad(&stage, white, vec3_make(-4, 0, 2), vec3_make(4, 0, 2), vec3_make(4, 0, end),
                 vec3_make(-4, 0, end));
    const uint32_t all_white[6] = {white, white, white, white, white, white};
    fixture_box(&stage, all_white, vec3_make(-1, 0, -4), vec3_make(0, 1, -3), false);
    for (uint32_t i = 0; i < lamps; ++i) {
        const float z = -1.5f * (float)i;
        fixture_quad(&stage, lamp, vec3_make(-0.3f, 3, z - 0.3f), vec3_make(0.3f, 3, z - 0.3f),
                     vec3_make(0.3f, 3, z + 0.3f), vec3_make(-0.3f, 3, z + 0.3f));
    }
    fixture_finish(&stage);
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, "path");
    options.width = WIDTH;
    options.height = HEIGHT;
    options.spp = spp;
    options.max_depth = 3;
    options.seed = seed;
    const shot taken = shoot(&stage, &view, &options, NULL);
    assert_int_equal(taken.status, KD_OK);
    return taken;
}

/* Mean over the floor of the squared difference of two samples per pixel and many, relative to the
   square of the latter. */
static double corridor_error(uint32_t lamps) {
    shot few = corridor_shoot(lamps, 2, 1), many = corridor_shoot(lamps, 256, 2);
    const float *a = image_plane(&few.picture, "R"), *b = image_plane(&many.picture, "R");
    double sum = 0;
    int count = 0;
    for (int i = WIDTH * HEIGHT / 3; i < WIDTH * HEIGHT; ++i) {
        const double expected = (double)b[i], difference = (double)a[i] - expected;
        if (!(expected > 0)) continue;
        sum += difference * difference / (expected * expected);
        ++count;
    }
    assert_true(count > WIDTH * HEIGHT / 3);
    image_close(&few.picture);
    image_close(&many.picture);
    return sum / count;
}

/* A choice by power alone has 12 times the error with 33 lamps, and 240 times with 200. */
static void test_noise(void **state) {
    (void)state;
    const double expected = corridor_error(32);
    static const uint32_t counts[] = {33, 200, 2000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        const double error = corridor_error(counts[i]);
        print_message("%u lamps: relmse %.5f, 32: %.5f\n", counts[i], error, expected);
        assert_true(error < 1.2 * expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_noise)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
