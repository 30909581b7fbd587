/* Pictures that need no light to have bounced: `whitted`, and `ao`, ambient occlusion. */
#include "core/memory.h"
#include "render/integrators.h"
#include "shaders/pixel_methods.h"

kd_status whitted_prepare(frame *prepared) {
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

void whitted_close(frame *closed) {
    memory_free(closed->state);
    closed->state = NULL;
}

pixel_sample whitted_sample(const frame *of, int32_t x, int32_t y, uint32_t sample) {
    const pixel_view view = integrator_view(of);
    return whitted_pixel(&view, (const whitted_options *)of->state, x, y, sample);
}

pixel_sample ambient_sample(const frame *of, int32_t x, int32_t y, uint32_t sample) {
    const pixel_view view = integrator_view(of);
    return ambient_pixel(&view, (const whitted_options *)of->state, x, y, sample);
}
