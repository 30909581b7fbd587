/* The tree by which light sampling chooses one of many lights: probabilities, reachability, noise,
   depth, scale. */
#include "scene_fixture.h"
#include "shaders/light_sampling.h"
#include "test.h"

static scene_fixture stage;

/* Uniform numbers in [0, 1). */
static rng_key stream;
static rng_block numbers(void) {
    ++stream.path;
    return rng_draw(stream, 0, 0);
}
static vec3 point_in(vec3 half) {
    const rng_block r = numbers();
    return vec3_make(half.x * (2 * r.value[0] - 1), half.y * (2 * r.value[1] - 1),
                     half.z * (2 * r.value[2] - 1));
}
static vec3 any_direction(void) {
    const rng_block r = numbers();
    return sample_sphere(r.value[0], r.value[1]);
}

static uint32_t lamp_material(float emission, bool two_sided) {
    material made = material_default();
    made.emission = vec3_all(emission);
    made.two_sided = two_sided;
    return fixture_material(&stage, made);
}

/* Lights of all kinds in a box: triangles large and small, one-sided and two-sided, points, narrow
   and wide spots, and one at infinity. */
static scene_view make_mixture(uint32_t count) {
    fixture_clear(&stage);
    const uint32_t lamps[2] = {lamp_material(1, false), lamp_material(3, true)};
    const vec3 half = vec3_make(4, 1, 9);
    light other;
    memset(&other, 0, sizeof other);
    for (uint32_t i = 0; i < count; ++i) {
        const vec3 at = point_in(half);
        const rng_block r = numbers();
        if (i % 3 < 2) {
            const float size = r.value[0] < 0.2f ? 2 : 0.1f;
            const vec3 corner[3] = {at, vec3_along(at, size, any_direction()),
                                    vec3_along(at, size, any_direction())};
            fixture_triangle(&stage, lamps[i % 3], corner, NULL);
            continue;
        }
        other.kind = r.value[0] < 0.4f ? LIGHT_POINT : LIGHT_SPOT;
        other.position = at;
        other.direction = any_direction();
        other.cos_outer = 2 * r.value[1] - 1;
        other.cos_inner = other.cos_outer + (1 - other.cos_outer) * r.value[2];
        other.emitted = vec3_all(0.1f + r.value[3]);
        other.power = 10 * other.emitted.x;
        fixture_light(&stage, other);
    }
    other.kind = LIGHT_DIRECTIONAL;
    fixture_light(&stage, other);
    fixture_finish(&stage);
    return fixture_view(&stage);
}

/* Returns true if the light surely illuminates the receiver, seen from its front if `normal` is not
   zero. */
static bool illuminates(const scene_view *scene, const light *lamp, vec3 from, vec3 normal) {
    for (int i = 0; i < 30; ++i) {
        const rng_block r = numbers();
        light_sample drawn;
        memset(&drawn, 0, sizeof drawn);
        if (lamp->kind == LIGHT_TRIANGLE)
            light_draw_triangle(scene, lamp, from, r.value[0], r.value[1], &drawn);
        else
            light_draw_point(lamp, from, &drawn);
        if (drawn.pdf_solid_angle > 0 && vec3_largest(drawn.radiance) > 0 &&
            (vec3_is_zero(normal) || vec3_dot(drawn.direction, normal) > 0))
            return true;
        if (lamp->kind != LIGHT_TRIANGLE) break;
    }
    return false;
}

static void check_receiver(const scene_view *scene, vec3 from, vec3 normal) {
    static uint32_t drawn[FIXTURE_TRIANGLES];
    const uint32_t near_count = scene->light_tree.light_count;
    const double share = (double)scene->light_cdf[near_count];
    double sum = 0;
    uint32_t lost = 0; /* draws that end at a node whose lights do not reach the receiver */
    memset(drawn, 0, sizeof drawn);
    const int draws = 4000;
    for (int i = 0; i < draws; ++i) {
        float chance;
        const float u = ((float)i + 0.5f) / (float)draws;
        const uint32_t which = light_choose(scene, from, normal, u, &chance);
        lost += chance > 0 ? 0 : 1;
        if (!(chance > 0)) continue;
        ++drawn[which];
        const float again = light_probability(scene, which, from, normal);
        assert_int_equal(float_bits(chance), float_bits(again));
    }
    for (uint32_t i = 0; i < near_count; ++i) {
        const double chance = (double)light_probability(scene, i, from, normal);
        sum += chance;
        assert_true(chance >= 0 && chance <= 1);
        expect_near((double)drawn[i] / draws, chance, 1.01 / draws); /* numbers are equidistant */
        if (chance == 0 && illuminates(scene, scene->lights + i, from, normal))
            fail_msg("light %u illuminates the receiver, but is never chosen", i);
    }
    expect_near(sum, share - (double)lost / draws, lost ? 0.01 : 1.0 / draws);
}

/* The probabilities of all lights sum to one, except for draws that find no light, draws follow
   them and return the same bits, and no light that illuminates the receiver is left out. */
static void test_probabilities(void **state) {
    (void)state;
    static const uint32_t counts[] = {2, 3, 4, 5, 17, 64, 65, 300};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        const scene_view scene = make_mixture(counts[i]);
        assert_int_equal(scene.light_tree.light_count, counts[i]);
        for (int k = 0; k < 120; ++k) {
            vec3 from = point_in(vec3_make(5, 2, 10));
            const light *beside = scene.lights + (size_t)k % counts[i];
            if (k % 4 == 0) from = vec3_along(beside->position, 0.02f, any_direction());
            check_receiver(&scene, from, k % 3 ? any_direction() : vec3_all(0));
        }
    }
}

/* Every light reaches every receiver: the sum is one without exception. */
static void test_sum(void **state) {
    (void)state;
    fixture_clear(&stage);
    light lamp;
    memset(&lamp, 0, sizeof lamp);
    lamp.kind = LIGHT_POINT;
    lamp.emitted = vec3_all(1);
    for (int i = 0; i < 1000; ++i) {
        lamp.position = point_in(vec3_make(3, 3, 3));
        lamp.power = numbers().value[0];
        fixture_light(&stage, lamp);
    }
    fixture_finish(&stage);
    const scene_view scene = fixture_view(&stage);
    for (int k = 0; k < 50; ++k) {
        const vec3 from = point_in(vec3_make(4, 4, 4));
        double sum = 0;
        for (uint32_t i = 0; i < 1000; ++i)
            sum += (double)light_probability(&scene, i, from, vec3_all(0));
        expect_near(sum, 1, 1e-5);
    }
}

/* Receivers just inside a spot's cone, just above the horizon of a lamp, and with a lamp just above
   their own. */
static void test_edges(void **state) {
    (void)state;
    fixture_clear(&stage);
    const uint32_t made = lamp_material(1, false);
    const vec3 corner[3] = {{2, 1, 0}, {2.1f, 1, 0}, {2, 1, 0.1f}}; /* faces down */
    fixture_triangle(&stage, made, corner, NULL);
    light spot;
    memset(&spot, 0, sizeof spot);
    spot.kind = LIGHT_SPOT;
    spot.position = vec3_make(0, 3, 0);
    spot.direction = vec3_make(0, -1, 0);
    spot.emitted = vec3_all(1);
    spot.power = 1;
    spot.cos_inner = 0.95f;
    spot.cos_outer = 0.9f;
    fixture_light(&stage, spot);
    fixture_finish(&stage);
    const scene_view scene = fixture_view(&stage);
    const uint32_t lamp = scene.lights[0].kind == LIGHT_TRIANGLE ? 0 : 1;
    for (int i = 1; i < 2000; ++i) {
        const float rest = 1e-6f * (float)i;
        const float cosine = 0.9f + rest, sine = sqrtf(1 - cosine * cosine);
        const vec3 inside = vec3_make(3 * sine, 3 - 3 * cosine, 0);
        assert_true(light_probability(&scene, 1 - lamp, inside, vec3_all(0)) > 0);
        const vec3 below = vec3_make(-2, 1 - rest, 0);
        assert_true(light_probability(&scene, lamp, below, vec3_all(0)) > 0);
        /* the lamp's nearest edge is `rest` above the plane through the receiver */
        const vec3 up = vec3_normalize(vec3_make(rest, 1, 0));
        assert_true(light_probability(&scene, lamp, vec3_make(-2, 0.999999f, 0), up) > 0);
    }
    /* outside, all draws go to the other light */
    const vec3 outside = vec3_make(4, 0, 0);
    expect_near((double)light_probability(&scene, lamp, outside, vec3_all(0)), 1, 0);
}

/* Irradiance of a triangle of radiance 1 that is entirely above the horizon (Lambert 1760). */
static double irradiance_of(const vec3 corner[3], vec3 from, vec3 normal) {
    double sum = 0;
    for (int i = 0; i < 3; ++i) {
        const vec3 a = vec3_normalize(vec3_sub(corner[i], from)),
                   b = vec3_normalize(vec3_sub(corner[(i + 1) % 3], from));
        const vec3 across = vec3_cross(a, b);
        const double angle = atan2((double)vec3_length(across), (double)vec3_dot(a, b));
        sum += angle * (double)vec3_dot(vec3_normalize(across), normal);
    }
    return 0.5 * fabs(sum);
}

/* Two rows of square lamps above a long floor. Returns the relative variance of the irradiance on
   the floor by one sample, the mean over places between the first lamps. */
static double corridor_noise(uint32_t lamps) {
    fixture_clear(&stage);
    const uint32_t made = lamp_material(1, false);
    for (uint32_t i = 0; i < lamps; ++i) {
        const vec3 at = vec3_make(i % 2 ? 1 : -1, 3, -1.5f * (float)(i / 2));
        fixture_quad(&stage, made, at, vec3_add(at, vec3_make(0.5f, 0, 0)),
                     vec3_add(at, vec3_make(0.5f, 0, 0.5f)), vec3_add(at, vec3_make(0, 0, 0.5f)));
    }
    fixture_finish(&stage);
    const scene_view scene = fixture_view(&stage);
    const vec3 up = vec3_make(0, 1, 0);
    const int places = 40, draws = 2000;
    double noise = 0;
    for (int p = 0; p < places; ++p) {
        const vec3 from = vec3_make(0.9f * (float)(p % 5 - 2), 0, -0.3f * (float)(p / 5) - 2);
        double expected = 0, mean = 0, square = 0;
        for (uint32_t t = 0; t < stage.triangle_count; ++t)
            expected += irradiance_of(stage.positions + 3 * t, from, up);
        for (int i = 0; i < draws; ++i) {
            const light_sample s = light_draw(&scene, from, up, numbers());
            if (!(s.pdf_solid_angle > 0)) continue;
            const double value =
                (double)(s.radiance.x * vec3_dot(s.direction, up) / s.pdf_solid_angle);
            mean += value / draws;
            square += value * value / draws;
        }
        const double variance = square - mean * mean;
        expect_near(mean, expected, 5 * sqrt(variance / draws));
        noise += variance / (expected * expected) / places;
    }
    return noise;
}

/* Noise stays small with any number of lamps. By power alone it is proportional to their number. */
static void test_noise(void **state) {
    (void)state;
    const double few = corridor_noise(32);
    assert_true(few < 0.03);
    assert_true(corridor_noise(33) < 1.2 * few);
    static const uint32_t counts[] = {64, 200, 4000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        const double many = corridor_noise(counts[i]);
        if (!(many < 0.1)) fail_msg("%u lamps: relative variance %g", counts[i], many);
    }
}

/* Point lights at places where any split leaves almost all on one side, or at one place: the depth
   stays bounded, and each trail leads to its light. */
static void test_depth(void **state) {
    (void)state;
    for (int same = 0; same < 2; ++same) {
        fixture_clear(&stage);
        light lamp;
        memset(&lamp, 0, sizeof lamp);
        lamp.kind = LIGHT_POINT;
        lamp.emitted = vec3_all(1);
        lamp.power = 1;
        for (int i = 0; i < 3000; ++i) {
            lamp.position = vec3_all(0);
            if (!same) lamp.position.x = ldexpf(1, -i / 25);
            fixture_light(&stage, lamp);
        }
        fixture_finish(&stage);
        const light_tree_view *tree = &stage.light_tree;
        assert_true(tree->node_count <= light_tree_nodes_max(3000));
        for (uint32_t i = 0; i < 3000; ++i) {
            uint32_t child = 0, levels = 0;
            for (uint32_t trail = tree->trails[i]; !(child & LIGHT_NODE_LEAF); trail >>= 2) {
                assert_true(child < tree->node_count && levels++ < LIGHT_TREE_DEPTH);
                child = tree->nodes[child].child[trail & 3];
            }
            assert_int_equal(child & ~LIGHT_NODE_LEAF, i);
        }
    }
}

/* The unit of length does not matter: a power of two changes no bit. */
static void test_scale(void **state) {
    (void)state;
    float expected[300];
    stream.path = 77;
    make_mixture(300);
    static scene_fixture model;
    model = stage;
    for (int k = 0; k < 3; ++k) {
        const float scale = k == 0 ? 1 : k == 1 ? 0x1p-90f : 0x1p40f;
        stage = model;
        stage.light_count = 0;
        for (uint32_t v = 0; v < stage.vertex_count; ++v)
            stage.positions[v] = vec3_scale(stage.positions[v], scale);
        for (uint32_t i = 0; i < model.light_count; ++i) {
            stage.lights[i] = model.lights[i];
            stage.lights[i].position = vec3_scale(model.lights[i].position, scale);
        }
        const light_tree_input input = {stage.lights,
                                        300,
                                        stage.triangles,
                                        stage.positions,
                                        vec3_scale(model.light_tree.centre, scale),
                                        scale / model.light_tree.per_unit};
        assert_int_equal(
            light_tree_build(&stage.light_tree, stage.light_nodes, stage.light_trails, &input),
            KD_OK);
        for (uint32_t i = 0; i < 300; ++i) {
            const vec3 from = vec3_scale(vec3_make(0.7f, -0.2f, 3), scale);
            const float chance =
                light_tree_probability(&stage.light_tree, i, from, vec3_make(0, 1, 0), 1);
            if (k == 0) expected[i] = chance;
            assert_int_equal(float_bits(chance), float_bits(expected[i]));
        }
    }
}

int main(void) {
    stream = rng_key_make(5, 0, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probabilities), cmocka_unit_test(test_sum),
        cmocka_unit_test(test_edges),         cmocka_unit_test(test_noise),
        cmocka_unit_test(test_depth),         cmocka_unit_test(test_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
