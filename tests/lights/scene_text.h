/* Scenes and options from text, for tests. */
#ifndef KD_TESTS_LIGHTS_SCENE_TEXT_H
#define KD_TESTS_LIGHTS_SCENE_TEXT_H
#include "tests/test.h"
#include <kandela/render.h>
#include <string.h>

static inline kd_status open_text(kd_scene **scene, const char *text, kd_render_options *options) {
    kd_render_options_default(options);
    return kd_scene_parse(scene, text, strlen(text), NULL, NULL, 0, options);
}

static inline void set(kd_render_options *options, const char *name, const char *value) {
    assert_int_equal(kd_render_options_set(options, name, value), KD_OK);
}
#endif
