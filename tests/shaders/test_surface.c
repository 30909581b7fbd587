/* Surfaces: normals are on the correct side, mirror directions are above the surface, normal maps
   have the correct orientation, and rays do not hit the surface they leave. */
#include "core/math/sampling.h"
#include "scene_fixture.h"
#include "shaders/bsdf.h"
#include "test.h"

static scene_fixture stage;

static rng_block numbers(uint32_t pass, uint64_t i) {
    return rng_draw(rng_key_make(21, pass, i), 0, 0);
}

static vec3 unit(uint32_t pass, uint64_t i) {
    const rng_block r = numbers(pass, i);
    return sample_sphere(r.value[0], r.value[1]);
}

/* Makes one triangle with arbitrary vertex normals, hit from a random direction. */
static void make_triangle(int32_t kind, uint64_t i) {
    const vec3 corner[3] = {unit(1, 3 * i), unit(1, 3 * i + 1), unit(1, 3 * i + 2)};
    const vec3 normal[3] = {unit(2, 3 * i), unit(2, 3 * i + 1), unit(2, 3 * i + 2)};
    material made = material_default();
    made.kind = kind;
    fixture_clear(&stage);
    fixture_triangle(&stage, fixture_material(&stage, made), corner, normal);
    fixture_finish(&stage);
}

static ray_hit middle_hit(uint64_t i) {
    const rng_block r = numbers(3, i);
    const vec2 at = sample_triangle(r.value[0], r.value[1]);
    ray_hit hit = {1, at.x, at.y, 0};
    return hit;
}

static void test_normals_and_mirrors(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 20000; ++i) {
        make_triangle(i & 1 ? MATERIAL_MIRROR : MATERIAL_DIFFUSE, i);
        const scene_view scene = fixture_view(&stage);
        const ray_hit hit = middle_hit(i);
        const vec3 direction = unit(4, i);
        const ray ray = ray_make(vec3_all(0), direction, 0, INFINITY);
        const surface at = surface_at(&scene, &ray, hit);
        const float facing = -vec3_dot(direction, at.geometric);
        assert_true(at.front == (facing > 0));
        expect_near((double)vec3_length(at.normal), 1, 1e-5);
        expect_near((double)vec3_length(at.geometric), 1, 1e-5);
        if (at.kind == MATERIAL_DIFFUSE) {
            assert_true(vec3_dot(at.normal, at.geometric) >= 0);
        } else if (fabsf(facing) > 1e-4f) { /* the mirror direction is on the viewer's side */
            const vec3 mirrored = fresnel_reflect(vec3_negate(direction), at.normal);
            assert_true(vec3_dot(mirrored, at.geometric) * facing > 0);
            assert_true(-vec3_dot(direction, at.normal) * facing > 0);
        }
    }
}

/* Triangles of sizes from 1e-30 to 1e30 have the same normal. */
static void test_normal_of_any_size(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 1000; ++i) {
        const vec3 a = unit(5, 3 * i), b = unit(5, 3 * i + 1), c = unit(5, 3 * i + 2);
        const vec3 expected = triangle_unit_normal(a, b, c);
        for (int e = -100; e <= 100; e += 25) {
            const float s = ldexpf(1, e);
            const vec3 actual =
                triangle_unit_normal(vec3_scale(a, s), vec3_scale(b, s), vec3_scale(c, s));
            expect_near((double)vec3_length(vec3_sub(actual, expected)), 0, 2e-5);
        }
    }
    assert_true(vec3_is_zero(triangle_unit_normal(vec3_all(1), vec3_all(1), vec3_all(2))));
}

/* From any point in any direction, a ray does not hit its own triangle again, and the ends of a
   connection do not occlude each other, except where arbitrary normals pretend a smooth surface. */
static void test_offset_rays_leave_the_surface(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 20000; ++i) {
        make_triangle(MATERIAL_DIFFUSE, i);
        const vec3 far = vec3_scale(unit(6, i), ldexpf(1, (int)(i % 16)));
        for (int k = 0; k < 3; ++k) stage.positions[k] = vec3_add(stage.positions[k], far);
        const scene_view scene = fixture_view(&stage);
        const vec3 direction = unit(7, i);
        const ray primary = ray_make(vec3_all(0), direction, 0, INFINITY);
        const surface at = surface_at(&scene, &primary, middle_hit(i));
        if (vec3_is_zero(at.geometric)) continue;
        const vec3 next = unit(8, i);
        const float side = at.front ? 1 : -1;
        if (at.smooth_height > 0 && side * vec3_dot(next, at.geometric) < 0) continue;
        const ray left = surface_leave(&at, next, INFINITY);
        const ray connected = surface_connect(&at, vec3_add(at.position, next));
        const ray rays[2] = {left, connected};
        /* a point within rounding of the triangle may be occluded by it */
        const bool separated = fabsf(vec3_dot(next, at.geometric)) > 16 * at.error;
        for (int k = 0; k < 1 + separated; ++k) {
            const precomputed_ray precomputed = precomputed_ray_make(rays[k]);
            float t = 0, u = 0, v = 0;
            if (triangle_intersect(&precomputed, stage.positions[0], stage.positions[1],
                                   stage.positions[2], &t, &u, &v) &&
                t > rays[k].tmin && t < rays[k].tmax)
                fail_msg("ray %u meets its own triangle at %g", (unsigned)i, (double)t);
        }
    }
}

/* Returns the nearest triangle of the fixture that the ray hits, by trying all of them. */
static ray_hit nearest_hit(ray ray) {
    const precomputed_ray precomputed = precomputed_ray_make(ray);
    ray_hit nearest = {ray.tmax, 0, 0, KD_NONE};
    for (uint32_t i = 0; i < stage.triangle_count; ++i) {
        const vec3 *corner = stage.positions + 3 * (size_t)i;
        ray_hit hit = {0, 0, 0, i};
        if (triangle_intersect(&precomputed, corner[0], corner[1], corner[2], &hit.t, &hit.u,
                               &hit.v) &&
            hit.t > ray.tmin && hit.t < nearest.t)
            nearest = hit;
    }
    return nearest;
}

/* A coarse ball with smooth normals: seen from outside, light from all directions above the shading
   normal's plane arrives without hitting the ball. From inside, it is that of the triangles. */
static void test_coarse_ball_does_not_shadow_itself(void **state) {
    (void)state;
    int below = 0;
    fixture_clear(&stage);
    fixture_ball(&stage, fixture_material(&stage, material_default()), vec3_all(0), 1, 6);
    fixture_finish(&stage);
    const scene_view scene = fixture_view(&stage);
    for (uint64_t i = 0; i < 20000; ++i) {
        const bool outside = i % 4 != 0;
        const vec3 eye = vec3_scale(unit(9, i), outside ? 3 : 0.5f);
        const vec3 gaze = vec3_sub(vec3_scale(unit(10, i), 0.5f), eye);
        const ray primary = ray_make(eye, vec3_normalize(gaze), 0, INFINITY);
        const ray_hit hit = nearest_hit(primary);
        assert_true(hit.triangle != KD_NONE);
        const surface at = surface_at(&scene, &primary, hit);
        assert_true(at.front == outside && (outside || at.smooth_height == 0));
        const vec3 light = unit(11, i), wo = vec3_negate(primary.direction);
        const vec3 up = outside ? at.normal : vec3_negate(at.geometric);
        const vec3 f = bsdf_evaluate(&at, wo, light, BSDF_RADIANCE);
        if (vec3_dot(light, up) < 0) assert_true(vec3_is_zero(f));
        if (!outside || vec3_dot(light, up) < 0.01f) continue;
        assert_true(f.x > 0);
        below += vec3_dot(light, at.geometric) < 0;
        if (nearest_hit(surface_leave(&at, light, INFINITY)).triangle != KD_NONE ||
            nearest_hit(surface_connect(&at, vec3_scale(light, 1000))).triangle != KD_NONE)
            fail_msg("ray %u hits the ball that it leaves", (unsigned)i);
    }
    assert_true(below > 100);
}

/* A square in the xy plane, u along x, v along y: a normal map with a large red value leans to +x;
   a height that rises along u leans to -x by its slope. */
static void test_maps_turn_normals(void **state) {
    (void)state;
    static const float leaning[3] = {0.8f, 0.5f, 0.9f};
    static const float rising[4 * 3] = {0,    0,    0,    0.25f, 0.25f, 0.25f,
                                        0.5f, 0.5f, 0.5f, 0.75f, 0.75f, 0.75f};
    texture_view maps[2];
    memset(maps, 0, sizeof maps);
    maps[0].floats = leaning;
    maps[0].width = maps[0].height = 1;
    maps[1].floats = rising;
    maps[1].width = 4;
    maps[1].height = 1;
    maps[0].scale = maps[1].scale = vec2_make(1, 1);
    const vec2 texcoords[3] = {{0, 0}, {1, 0}, {0, 1}};
    const uint32_t indices[3] = {0, 1, 2};
    const vec3 corner[3] = {{0, 0, 0}, {2, 0, 0}, {0, 2, 0}};
    for (int bump = 0; bump < 2; ++bump) {
        material made = material_default();
        if (bump)
            made.bump_map = 1;
        else
            made.normal_map = 0;
        made.bump_scale = 0.5f;
        fixture_clear(&stage);
        fixture_triangle(&stage, fixture_material(&stage, made), corner, NULL);
        fixture_finish(&stage);
        scene_view scene = fixture_view(&stage);
        scene.textures = maps;
        scene.mesh.texcoords = texcoords;
        scene.mesh.texcoord_indices = indices;
        const ray ray = ray_make(vec3_make(0.5f, 0.5f, 1), vec3_make(0, 0, -1), 0, INFINITY);
        /* u = 1/2 lies between texels, away from the edge */
        const ray_hit hit = {1, 0.5f, 0.25f, 0};
        const surface at = surface_at(&scene, &ray, hit);
        const vec3 expected =
            vec3_normalize(bump ? vec3_make(-0.5f, 0, 1) : vec3_make(0.6f, 0, 0.8f));
        expect_near((double)vec3_length(vec3_sub(at.normal, expected)), 0, 1e-4);
        expect_near((double)at.texcoord.x, 0.5, 1e-6);
    }
}

/* Without maps, the properties of a material equal those of its surface at any point. (A separate
   function, because gcc warns if it copies layers that other surfaces lack.) */
static __attribute__((noinline)) void expect_one_answer(const material *made,
                                                        const principled *layers) {
    const vec3 corner[3] = {vec3_make(0, 0, 0), vec3_make(1, 0, 0), vec3_make(0, 1, 0)};
    fixture_clear(&stage);
    fixture_triangle(&stage, fixture_material(&stage, *made), corner, NULL);
    fixture_finish(&stage);
    scene_view scene = fixture_view(&stage);
    scene.layers = layers;
    const ray ray = ray_make(vec3_make(0.25f, 0.25f, 1), vec3_make(0, 0, -1), 0, INFINITY);
    const ray_hit hit = {1, 0.25f, 0.25f, 0};
    const surface at = surface_at(&scene, &ray, hit);
    const bool holds = surface_holds_photons(&at), mirrors = surface_mirrors(&at);
    assert_true(material_holds_photons(made, layers) == holds);
    if (!holds || mirrors) assert_true(material_passes_on(made, layers));
    if (made->metallic == 0 && vec3_is_zero(layers->sheen))
        assert_true(material_passes_on(made, layers) == (!holds || mirrors));
    if (surface_is_specular(&at)) assert_true(!holds);
}

static void test_transmitting_materials(void **state) {
    (void)state;
    static const float shares[] = {0, 0.4f, 1}, roughness[] = {0, 0.02f, 0.5f};
    for (uint32_t i = 0; i < MATERIAL_KINDS * 3 * 3 * 2 * 3 * 3 * 2; ++i) {
        uint32_t left = i / MATERIAL_KINDS;
        material made = material_default();
        principled layers = principled_default();
        made.kind = (int32_t)(i % MATERIAL_KINDS);
        made.roughness = roughness[left % 3], left /= 3;
        made.metallic = shares[left % 3], left /= 3;
        made.diffuse = vec3_all(shares[left % 2]), left /= 2;
        layers.transmission = shares[left % 3], left /= 3;
        layers.coat = shares[left % 3], left /= 3;
        layers.coat_roughness = made.roughness;
        layers.sheen = vec3_all(shares[left % 2]);
        if (made.kind == MATERIAL_PRINCIPLED && layers.transmission > 0)
            made.flags |= MATERIAL_PASSES;
        expect_one_answer(&made, &layers);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normals_and_mirrors),
        cmocka_unit_test(test_normal_of_any_size),
        cmocka_unit_test(test_offset_rays_leave_the_surface),
        cmocka_unit_test(test_coarse_ball_does_not_shadow_itself),
        cmocka_unit_test(test_maps_turn_normals),
        cmocka_unit_test(test_transmitting_materials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
