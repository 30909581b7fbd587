/* Two rooms with a gap between them; the lamp is in the one that the camera does not see. */
#ifndef KD_TESTS_DOORWAY_H
#define KD_TESTS_DOORWAY_H
#include "tests/render/still_life.h"

static inline void doorway_block(scene_fixture *stage, uint32_t made_of, vec3 lo, vec3 hi,
                                 bool inward) {
    const uint32_t walls[6] = {made_of, made_of, made_of, made_of, made_of, made_of};
    fixture_box(stage, walls, lo, hi, inward);
}

/* `gap`: its width. */
static inline void doorway_build(scene_fixture *stage, float gap) {
    fixture_clear(stage);
    const uint32_t white = still_life_diffuse(stage, 0.7f, 0);
    const uint32_t lamp = still_life_diffuse(stage, 0, 20);
    const float left = 1.2f, right = left + gap;
    doorway_block(stage, white, vec3_make(-2, 0, -4), vec3_make(2, 2.4f, 2), true);
    doorway_block(stage, white, vec3_make(-2, 0, -1.05f), vec3_make(left, 2.4f, -0.95f), false);
    doorway_block(stage, white, vec3_make(right, 0, -1.05f), vec3_make(2, 2.4f, -0.95f), false);
    doorway_block(stage, white, vec3_make(left, 2, -1.05f), vec3_make(right, 2.4f, -0.95f), false);
    fixture_quad(stage, lamp, vec3_make(-1, 2.39f, -3), vec3_make(1, 2.39f, -3),
                 vec3_make(1, 2.39f, -2), vec3_make(-1, 2.39f, -2));
    fixture_finish(stage);
}

static const camera doorway_camera = {{-0.8f, 1.4f, 1.9f}, {0.2f, 1, -1}, {0, 1, 0}, 60, 0, 0, 0};

#endif
