/* Sampling of lights against areas, solid angles and integrals that are known by other means. */
#include "scene_fixture.h"
#include "shaders/light_sampling.h"
#include "test.h"

static scene_fixture stage;

static rng_block numbers(uint64_t i) {
    return rng_draw(rng_key_make(11, 0, i), 0, 0);
}

static uint32_t lamp_material(vec3 emission, bool two_sided) {
    material made = material_default();
    made.emission = emission;
    made.two_sided = two_sided;
    return fixture_material(&stage, made);
}

/* Solid angle of a triangle (Van Oosterom and Strackee 1983). */
static double solid_angle(vec3 from, vec3 a, vec3 b, vec3 c) {
    const vec3 x = vec3_normalize(vec3_sub(a, from)), y = vec3_normalize(vec3_sub(b, from)),
               z = vec3_normalize(vec3_sub(c, from));
    const double top = (double)vec3_dot(x, vec3_cross(y, z));
    const double below = (double)(1 + vec3_dot(x, y) + vec3_dot(y, z) + vec3_dot(z, x));
    return 2 * fabs(atan2(top, below));
}

/* The mean of 1/pdf over samples of one light equals its solid angle; the density that a ray to the
   sampled point computes is the same. */
static void test_triangle(void **state) {
    (void)state;
    fixture_clear(&stage);
    const uint32_t lamp = lamp_material(vec3_make(3, 2, 1), false);
    const uint32_t dim = lamp_material(vec3_make(0.5f, 0.5f, 0.5f), true);
    const vec3 one[3] = {{-1, 2, -1}, {2, 2, -0.5f}, {0.3f, 2.5f, 1.5f}};
    const vec3 two[3] = {{3, 0, 0}, {3, 1, 0.5f}, {3.5f, 0.2f, 1}};
    fixture_triangle(&stage, lamp, one, NULL);
    fixture_triangle(&stage, dim, two, NULL);
    fixture_finish(&stage);
    const scene_view scene = fixture_view(&stage);
    const vec3 from = vec3_make(0.2f, 0.1f, -0.3f);
    double sum[2] = {0};
    const int count = 40000;
    for (int i = 0; i < count; ++i) {
        const light_sample s = light_draw(&scene, from, vec3_make(0, 1, 0), numbers((uint64_t)i));
        assert_true(s.light < 2 && !s.delta);
        if (!(s.pdf_solid_angle > 0)) continue;
        sum[s.light] += 1 / (double)s.pdf_solid_angle;
        ray towards = ray_make(from, s.direction, 0, INFINITY);
        ray_hit hit = {0};
        const uint32_t triangle = stage.lights[s.light].triangle;
        const vec3 *corner = triangle ? two : one;
        const precomputed_ray precomputed = precomputed_ray_make(towards);
        assert_true(triangle_intersect(&precomputed, corner[0], corner[1], corner[2], &hit.t,
                                       &hit.u, &hit.v));
        hit.triangle = triangle;
        const surface surface_hit = surface_at(&scene, &towards, hit);
        const float pdf = light_pdf_of_hit(&scene, from, vec3_make(0, 1, 0), &surface_hit);
        expect_near((double)pdf, (double)s.pdf_solid_angle, 1e-3 * (double)pdf);
        expect_near((double)hit.t, (double)s.distance, 1e-4 * (double)hit.t);
        expect_near((double)vec3_largest(surface_hit.emission), (double)vec3_largest(s.radiance),
                    0);
    }
    expect_near(sum[1] / count, solid_angle(from, two[0], two[1], two[2]), 0.01);
    /* the dark side of the first light faces the point */
    const vec3 normal = triangle_unit_normal(one[0], one[1], one[2]);
    const bool dark = vec3_dot(normal, vec3_sub(from, one[0])) <= 0;
    expect_near(sum[0] / count, dark ? 0 : solid_angle(from, one[0], one[1], one[2]), 0.02);
    /* and now its bright side faces a point on the other side */
    double above = 0;
    const vec3 over = vec3_make(0.2f, 5, 0.1f);
    for (int i = 0; i < count; ++i) {
        const light_sample s = light_draw(&scene, over, vec3_make(0, 1, 0), numbers((uint64_t)i));
        if (s.light == 0 && s.pdf_solid_angle > 0) above += 1 / (double)s.pdf_solid_angle;
    }
    expect_near(above / count, dark ? solid_angle(over, one[0], one[1], one[2]) : 0, 0.02);
}

/* Lights of zero size: the inverse square law, the edge of a spotlight, the selection
   probability. */
static void test_delta(void **state) {
    (void)state;
    fixture_clear(&stage);
    light lamp;
    memset(&lamp, 0, sizeof lamp);
    lamp.kind = LIGHT_POINT;
    lamp.position = vec3_make(0, 3, 0);
    lamp.emitted = vec3_all(9);
    lamp.power = 1;
    fixture_light(&stage, lamp);
    lamp.kind = LIGHT_SPOT;
    lamp.direction = vec3_make(0, -1, 0);
    lamp.cos_inner = 0.95f;
    lamp.cos_outer = 0.9f;
    fixture_light(&stage, lamp);
    lamp.kind = LIGHT_DIRECTIONAL;
    lamp.power = 2;
    fixture_light(&stage, lamp);
    fixture_finish(&stage);
    const scene_view scene = fixture_view(&stage);
    double mean[2] = {0};
    const vec3 places[2] = {{0, 0, 0}, {4, 0, 0}};
    const int count = 20000;
    for (int place = 0; place < 2; ++place)
        for (int i = 0; i < count; ++i) {
            const light_sample s =
                light_draw(&scene, places[place], vec3_make(0, 1, 0), numbers((uint64_t)i));
            assert_true(s.delta);
            if (s.pdf_solid_angle > 0)
                mean[place] += (double)s.radiance.x / (double)s.pdf_solid_angle / count;
        }
    expect_near(mean[0], 1 + 1 + 9, 0.15);
    expect_near(mean[1], 9.0 / 25 + 0 + 9, 0.15);
}

/* A sky of four by two texels: the mean of radiance / pdf over samples equals its integral. */
static void test_sky(void **state) {
    (void)state;
    enum { WIDTH = 4, HEIGHT = 2 };
    static const float texels[WIDTH * HEIGHT * 3] = {0, 0, 0, 1, 1, 1, 8, 8, 8, 0, 0, 0,
                                                     2, 2, 2, 0, 0, 0, 1, 1, 1, 5, 5, 5};
    /* any table with positive entries where there is light gives the right mean, so these values
       deliberately do not match the picture */
    static const float rows[HEIGHT + 1] = {0, 0.4f, 1};
    static const float columns[HEIGHT * (WIDTH + 1)] = {0, 0.2f, 0.4f, 0.9f, 1,
                                                        0, 0.3f, 0.5f, 0.6f, 1};
    texture_view map;
    memset(&map, 0, sizeof map);
    map.floats = texels;
    map.width = WIDTH;
    map.height = HEIGHT;
    map.scale = vec2_make(1, 1);
    fixture_clear(&stage);
    light sky;
    memset(&sky, 0, sizeof sky);
    sky.kind = LIGHT_ENVIRONMENT;
    sky.emitted = vec3_make(2, 1, 1);
    sky.power = 3;
    fixture_light(&stage, sky);
    sky.kind = LIGHT_POINT; /* a second light, so that the selection matters */
    sky.power = 1;
    fixture_light(&stage, sky);
    fixture_finish(&stage);
    for (int textured = 0; textured < 2; ++textured) {
        scene_view scene = fixture_view(&stage);
        scene.environment.rotation = 0.7f;
        if (textured) {
            scene.textures = &map;
            scene.environment.texture = 0;
            scene.environment.width = WIDTH;
            scene.environment.height = HEIGHT;
            scene.environment.row_cdf = rows;
            scene.environment.column_cdf = columns;
        }
        const vec3 normal = vec3_normalize(vec3_make(1, 2, -0.5f));
        double drawn = 0, even = 0, density = 0;
        const int count = 200000;
        for (int i = 0; i < count; ++i) {
            const rng_block r = numbers((uint64_t)i);
            const light_sample s = light_draw(&scene, vec3_all(0), normal, r);
            if (s.light == stage.sky && s.pdf_solid_angle > 0) {
                const float cosine = float_max(0, vec3_dot(s.direction, normal));
                drawn += (double)(s.radiance.x * cosine / s.pdf_solid_angle) / count;
            }
            const vec3 lamp_direction = sample_sphere(r.value[0], r.value[1]);
            const float cosine = float_max(0, vec3_dot(lamp_direction, normal));
            even += (double)(environment_radiance(&scene, lamp_direction).x * cosine) *
                    12.566370614 / count;
            density +=
                (double)environment_pdf(&scene, normal, lamp_direction) * 12.566370614 / count;
        }
        expect_near(drawn, even, 0.02 * even);
        expect_near(density, 0.75, 0.02); /* the selection probability */
    }
}

/* Lights of all kinds: those at infinity are chosen by power whatever the point, the others by what
   they send there, and alone by power. */
static void test_choice(void **state) {
    (void)state;
    for (int several = 0; several < 2; ++several) {
        fixture_clear(&stage);
        light lamp;
        memset(&lamp, 0, sizeof lamp);
        lamp.kind = LIGHT_DIRECTIONAL;
        lamp.emitted = vec3_all(1);
        lamp.power = 5;
        fixture_light(&stage, lamp);
        lamp.kind = LIGHT_POINT;
        lamp.power = 1;
        for (int i = 0; i < (several ? 9 : 1); ++i) {
            lamp.position = vec3_make(3 * (float)i, 2, 0);
            fixture_light(&stage, lamp);
        }
        fixture_finish(&stage);
        const scene_view scene = fixture_view(&stage);
        const uint32_t distant = scene.light_count - 1;
        const vec3 from = vec3_make(0.3f, 0, 0.2f);
        assert_int_equal(scene.lights[distant].kind, LIGHT_DIRECTIONAL);
        assert_true(light_probability(&scene, distant, from, vec3_all(0)) ==
                    light_choice(&scene, distant));
        const double nearest = (double)light_probability(&scene, 0, from, vec3_all(0));
        const double by_power = (double)light_choice(&scene, 0);
        assert_true(several ? nearest > 2 * by_power : nearest == by_power);
        double chosen = 0;
        const int draws = 10000;
        for (int i = 0; i < draws; ++i) {
            float chance;
            const float u = ((float)i + 0.5f) / (float)draws;
            chosen += light_choose(&scene, from, vec3_all(0), u, &chance) == distant;
        }
        expect_near(chosen / draws, (double)light_choice(&scene, distant), 1e-3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triangle),
        cmocka_unit_test(test_delta),
        cmocka_unit_test(test_sky),
        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
