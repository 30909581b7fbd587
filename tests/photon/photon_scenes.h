/* Small scenes with their trees, for the tests of photon mapping. */
#ifndef KD_TESTS_PHOTON_SCENES_H
#define KD_TESTS_PHOTON_SCENES_H
#include "accel/builders.h"
#include "tests/scene_fixture.h"
#include "tests/test.h"

typedef struct photon_scene {
    scene_fixture fixture;
    tritree tree;
    scene_view view;
} photon_scene;

static inline photon_scene *photon_scene_new(void) {
    photon_scene *made = (photon_scene *)calloc(1, sizeof *made);
    assert_non_null(made);
    fixture_clear(&made->fixture);
    return made;
}

static inline material photon_scene_diffuse(float albedo, float emission) {
    material made = material_default();
    made.diffuse = vec3_all(albedo);
    made.emission = vec3_all(emission);
    return made;
}

static inline void photon_scene_finish(photon_scene *scene) {
    fixture_finish(&scene->fixture);
    scene->view = fixture_view(&scene->fixture);
    const tritree_input input = {scene->fixture.positions, scene->fixture.triangles,
                                 scene->fixture.vertex_count, scene->fixture.triangle_count};
    const tritree_options options = tritree_options_default();
    assert_int_equal(tritree_open(&scene->tree, &input, &options, "auto", NULL), KD_OK);
    scene->view.tree = tritree_get_view(&scene->tree);
}

/* Adds a lamp of this kind (light_kind) 5 m above the middle, or a sky. */
static inline void photon_scene_put_lamp(scene_fixture *fixture, int kind) {
    light lamp;
    memset(&lamp, 0, sizeof lamp);
    lamp.kind = kind;
    lamp.position = vec3_make(0, 5, 0);
    lamp.direction = vec3_normalize(vec3_make(0.1f, -1, 0.2f));
    lamp.emitted = vec3_make(1, 2, 3);
    lamp.cos_inner = 0.9f;
    lamp.cos_outer = 0.7f;
    lamp.power = 2;
    if (kind == LIGHT_ENVIRONMENT) fixture->sky = 0;
    fixture_light(fixture, lamp);
}

static inline void photon_scene_free(photon_scene *scene) {
    tritree_close(&scene->tree);
    free(scene);
}

/* Makes a closed box from lo to hi whose faces point inward; all are diffuse with one albedo and
   one emitted radiance. */
static inline photon_scene *photon_scene_furnace(vec3 lo, vec3 hi, float albedo, float emission) {
    photon_scene *scene = photon_scene_new();
    const uint32_t wall = fixture_material(&scene->fixture, photon_scene_diffuse(albedo, emission));
    const uint32_t walls[6] = {wall, wall, wall, wall, wall, wall};
    fixture_box(&scene->fixture, walls, lo, hi, true);
    photon_scene_finish(scene);
    return scene;
}

/* Adds the unit box with one open side, a lamp under its ceiling, a glass sphere and a mirror
   sphere. */
static inline void photon_scene_put_balls(scene_fixture *fixture) {
    material glass = material_default(), mirror = material_default();
    glass.kind = MATERIAL_GLASS;
    mirror.kind = MATERIAL_MIRROR;
    mirror.specular = vec3_all(0.9f);
    const uint32_t white = fixture_material(fixture, photon_scene_diffuse(0.7f, 0));
    const uint32_t lamp = fixture_material(fixture, photon_scene_diffuse(0, 10));
    const uint32_t ball = fixture_material(fixture, glass),
                   shiny = fixture_material(fixture, mirror);
    const vec3 p[8] = {{0, 0, 0}, {1, 0, 0}, {1, 0, 1}, {0, 0, 1},
                       {0, 1, 0}, {1, 1, 0}, {1, 1, 1}, {0, 1, 1}};
    fixture_quad(fixture, white, p[3], p[2], p[1], p[0]); /* floor, up */
    fixture_quad(fixture, white, p[4], p[5], p[6], p[7]); /* ceiling, down */
    fixture_quad(fixture, white, p[0], p[1], p[5], p[4]); /* back */
    fixture_quad(fixture, white, p[3], p[0], p[4], p[7]); /* left */
    fixture_quad(fixture, white, p[1], p[2], p[6], p[5]); /* right */
    const vec3 q[4] = {
        {0.4f, 0.99f, 0.4f}, {0.6f, 0.99f, 0.4f}, {0.6f, 0.99f, 0.6f}, {0.4f, 0.99f, 0.6f}};
    fixture_quad(fixture, lamp, q[0], q[1], q[2], q[3]);
    fixture_ball(fixture, ball, vec3_make(0.65f, 0.25f, 0.6f), 0.2f, 16);
    fixture_ball(fixture, shiny, vec3_make(0.25f, 0.2f, 0.3f), 0.15f, 12);
}

static inline photon_scene *photon_scene_balls(void) {
    photon_scene *scene = photon_scene_new();
    photon_scene_put_balls(&scene->fixture);
    photon_scene_finish(scene);
    return scene;
}

/* The same scene filled with fog, with a box of dense smoke, and ink, which only absorbs. */
static inline photon_scene *photon_scene_fog(void) {
    photon_scene *scene = photon_scene_new();
    scene_fixture *to = &scene->fixture;
    material smoke = material_default(), ink = material_default();
    photon_scene_put_balls(to);
    to->fog = fixture_medium(to, vec3_all(0.05f), vec3_make(0.6f, 0.7f, 0.8f), 0.4f);
    smoke.opacity = 0;
    smoke.medium = fixture_medium(to, vec3_make(1, 2, 3), vec3_make(15, 12, 9), -0.3f);
    ink.kind = MATERIAL_GLASS;
    ink.medium = fixture_medium(to, vec3_make(9, 3, 1), vec3_all(0), 0);
    const uint32_t smoky = fixture_material(to, smoke);
    const uint32_t faces[6] = {smoky, smoky, smoky, smoky, smoky, smoky};
    fixture_box(to, faces, vec3_make(0.1f, 0.4f, 0.5f), vec3_make(0.4f, 0.7f, 0.8f), false);
    fixture_ball(to, fixture_material(to, ink), vec3_make(0.7f, 0.7f, 0.4f), 0.12f, 8);
    photon_scene_finish(scene);
    return scene;
}

#endif
