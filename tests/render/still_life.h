/* A floor, a wall and a sphere of every material under a lamp and a sky, for tests that compare
   pictures. */
#ifndef KD_TESTS_STILL_LIFE_H
#define KD_TESTS_STILL_LIFE_H
#include "scene_fixture.h"

static inline uint32_t still_life_diffuse(scene_fixture *stage, float albedo, float emission) {
    material made = material_default();
    made.diffuse = vec3_all(albedo);
    made.emission = vec3_all(emission);
    return fixture_material(stage, made);
}

/* Everything but fixture_finish, so that more can be added. */
static inline void still_life_begin(scene_fixture *stage) {
    fixture_clear(stage);
    const uint32_t white = still_life_diffuse(stage, 0.7f, 0);
    fixture_quad(stage, white, vec3_make(-3, -1, 3), vec3_make(3, -1, 3), vec3_make(3, -1, -2),
                 vec3_make(-3, -1, -2));
    fixture_quad(stage, white, vec3_make(-3, -1, -2), vec3_make(3, -1, -2), vec3_make(3, 3, -2),
                 vec3_make(-3, 3, -2));
    const uint32_t lamp = still_life_diffuse(stage, 0, 6);
    fixture_quad(stage, lamp, vec3_make(-1, 2, -1), vec3_make(1, 2, -1), vec3_make(1, 2, 1),
                 vec3_make(-1, 2, 1));
    for (int i = 0; i < 6; ++i) {
        material made = material_default();
        made.kind = i < 3 ? MATERIAL_GLASS + i : i - 3 < 2 ? MATERIAL_MIRROR + 3 * (i - 3) : 2;
        made.specular = vec3_make(0.9f, 0.7f, 0.5f);
        made.diffuse = vec3_make(0.5f, 0.6f, 0.7f);
        made.roughness = i == 4 || i == 5 ? 0 : 0.6f;
        made.opacity = i == 0 ? 0.8f : 1;
        fixture_ball(stage, fixture_material(stage, made),
                     vec3_make(-1.6f + 0.64f * (float)i, -0.7f, 0.3f * (float)(i % 2)), 0.3f, 10);
    }
    light sky;
    memset(&sky, 0, sizeof sky);
    sky.kind = LIGHT_ENVIRONMENT;
    sky.emitted = vec3_make(0.3f, 0.5f, 0.8f);
    sky.power = 20;
    stage->sky = stage->light_count;
    fixture_light(stage, sky);
}

static inline void still_life_build(scene_fixture *stage) {
    still_life_begin(stage);
    fixture_finish(stage);
}

static const camera still_life_camera = {{0, 0.5f, 5}, {0, -0.2f, 0}, {0, 1, 0}, 40, 0, 0, 0};

#endif
