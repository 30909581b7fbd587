/* Keyframe interpolation: exact at keys, linear between keys on a line, and smooth. */
#include "scenes/describe/keyframes.h"
#include "tests/test.h"

static const double frames[5] = {1, 2, 5, 6, 20};
static const double values[10] = {3, 1, -1, 2, 4, 5, 4, 6, 0, 20};

static void test_at_keys(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 5; ++i) {
        double at[2];
        keyframes_at(frames, values, 5, 2, frames[i], at);
        assert_true(at[0] == values[2 * i] && at[1] == values[2 * i + 1]);
    }
    double before[2], after[2];
    keyframes_at(frames, values, 5, 2, -7, before);
    keyframes_at(frames, values, 5, 2, 1e9, after);
    assert_true(before[0] == 3 && before[1] == 1 && after[0] == 0 && after[1] == 20);
    keyframes_at(frames, values, 1, 2, 3, before);
    assert_true(before[0] == 3 && before[1] == 1);
}

static void test_lines(void **state) {
    (void)state;
    double lines[5], at;
    for (int i = 0; i < 5; ++i) lines[i] = 2 - 3 * frames[i];
    for (double frame = 1; frame <= 20; frame += 0.125) {
        keyframes_at(frames, lines, 5, 1, frame, &at);
        assert_true(fabs(at - (2 - 3 * frame)) < 1e-12);
    }
}

/* The slope at a key is that between its neighbours, from either side. */
static void test_smooth(void **state) {
    (void)state;
    const double step = 1e-6;
    for (uint32_t i = 1; i < 4; ++i) {
        double current[2], sooner[2], later[2];
        keyframes_at(frames, values, 5, 2, frames[i], current);
        keyframes_at(frames, values, 5, 2, frames[i] - step, sooner);
        keyframes_at(frames, values, 5, 2, frames[i] + step, later);
        for (uint32_t k = 0; k < 2; ++k) {
            const double slope =
                (values[2 * i + 2 + k] - values[2 * i - 2 + k]) / (frames[i + 1] - frames[i - 1]);
            assert_true(fabs((current[k] - sooner[k]) / step - slope) < 1e-3);
            assert_true(fabs((later[k] - current[k]) / step - slope) < 1e-3);
        }
    }
}

static void test_camera(void **state) {
    (void)state;
    camera_key keys[5];
    for (int i = 0; i < 5; ++i) {
        memset(&keys[i], 0, sizeof keys[i]);
        keys[i].frame = frames[i];
        keys[i].view.eye = vec3_make((float)values[2 * i], (float)values[2 * i + 1], 7);
        keys[i].view.fov_degrees = 30;
        keys[i].view.lens_radius = i == 2 ? 1.0f : 0.0f;
    }
    for (double frame = 0; frame <= 21; frame += 0.25) {
        double at[2];
        keyframes_at(frames, values, 5, 2, frame, at);
        const camera view = keyframes_camera(keys, 5, frame);
        assert_true(view.eye.x == (float)at[0] && view.eye.y == (float)at[1]);
        assert_true(view.eye.z == 7 && view.fov_degrees == 30 && view.lens_radius >= 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_at_keys), cmocka_unit_test(test_lines),
                                       cmocka_unit_test(test_smooth),
                                       cmocka_unit_test(test_camera)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
