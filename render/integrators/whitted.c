/* Pictures that need no light to have bounced: `whitted`, and `ao`, ambient occlusion. */
#include "core/memory.h"
#include "render/integrators/launches.h"
#include "render/integrators/pixel_methods.h"

static kd_status whitted_prepare(frame *prepared) {
    whitted_options *state = NULL;
    const float radius = prepared->options->radius;
    KD_REQUIRE(radius >= 0, KD_ERROR_USAGE, "radius %g, expected a length, or 0", (double)radius);
    KD_TRY(KD_RESERVE_ZEROED(state, 1));
    state->path.max_depth = prepared->options->max_depth;
    state->path.scatterings = 1;
    state->path.cutouts = integrator_has_cutouts(prepared->scene);
    /* a tenth of the scene's diagonal: rooms are no black boxes then */
    state->reach = radius > 0 ? radius : 0.1f * vec3_length(box3_size(prepared->scene->box));
    prepared->state = state;
    return KD_OK;
}

static void whitted_close(frame *closed) {
    memory_free(closed->state);
    closed->state = NULL;
}

static pixel_sample whitted_sample(const frame *of, int32_t x, int32_t y, uint32_t sample) {
    const pixel_view view = integrator_view(of);
    return whitted_pixel(&view, SCENE_PLACED, (const whitted_options *)of->state, x, y, sample);
}

static pixel_sample ambient_sample(const frame *of, int32_t x, int32_t y, uint32_t sample) {
    const pixel_view view = integrator_view(of);
    return ambient_pixel(&view, SCENE_PLACED, (const whitted_options *)of->state, x, y, sample);
}

const integrator integrator_whitted = {.name = "whitted",
                                       .source = "Whitted 1980",
                                       .prepare = whitted_prepare,
                                       .sample = whitted_sample,
                                       .close = whitted_close,
                                       .launch = KD_IF_CUDA(whitted_launch),
                                       .placed = true};

const integrator integrator_ao = {.name = "ao",
                                  .source = "Zhukov, Iones and Kronin 1998",
                                  .prepare = whitted_prepare,
                                  .sample = ambient_sample,
                                  .close = whitted_close,
                                  .launch = KD_IF_CUDA(ambient_launch),
                                  .placed = true};
