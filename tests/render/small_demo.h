/* The demo scene at a small size, rendered with photons. */
#ifndef KD_TESTS_RENDER_SMALL_DEMO_H
#define KD_TESTS_RENDER_SMALL_DEMO_H
#include "render/api/render.h"
#include "test.h"

static const char *const demo = KD_TEST_SOURCE_DIR "/scenes/cornell_caustic.json";

static inline kd_render_options small_options(const char *name) {
    kd_render_options options;
    kd_render_options_default(&options);
    strcpy(options.integrator, name);
    options.width = options.height = 32;
    options.spp = options.passes = 24;
    options.photons = options.caustic_photons = 24000;
    options.gather = 40;
    return options;
}

static inline kd_status shoot(render_result *out, const kd_render_options *options,
                              const render_keeping *keeping) {
    scene *made = NULL;
    kd_render_options unused;
    kd_render_options_default(&unused);
    assert_int_equal(scene_open(&made, demo, &unused, NULL), KD_OK);
    const kd_status status = render_run_kept(out, made, options, keeping, NULL);
    scene_close(made);
    return status;
}

#endif
