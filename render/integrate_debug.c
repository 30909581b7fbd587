/* Pictures of what an estimate works with instead of light (shaders/debug_channel.h). */
#include "core/memory.h"
#include "render/integrators.h"
#include "shaders/debug_channel.h"

typedef struct debug_state {
    debug_pixels shown; /* first: what a device needs */
    photon_maps maps;   /* only if the channel looks at photons */
} debug_state;

static kd_status find_channel(int32_t *out, const char *name) {
    for (int i = 0; debug_channel_name(i); ++i)
        if (strcmp(debug_channel_name(i), name) == 0) {
            *out = i;
            return KD_OK;
        }
    KD_FAIL(KD_ERROR_USAGE,
            "channel \"%s\", expected normals, depth, ids, density, radius or distance", name);
}

kd_status debug_prepare(frame *prepared) {
    kd_status status = KD_OK;
    photon_options options;
    debug_state *state = NULL;
    KD_TRY(photon_read_options(&options, prepared->options));
    KD_TRY(KD_RESERVE_ZEROED(state, 1));
    KD_TRY_GOTO(find_channel(&state->shown.channel, prepared->options->channel));
    options.caustics = 0;
    if (options.estimator == PHOTON_ESTIMATOR_FIXED) options.estimator = PHOTON_ESTIMATOR_NEAREST;
    if (state->shown.channel >= DEBUG_DENSITY)
        KD_TRY_GOTO(photon_maps_open(&state->maps, prepared->scene, &options, prepared->watched));
    state->shown.photons.global = photon_maps_global(&state->maps);
    state->shown.photons.creases = crease_set_get_view(&state->maps.creases);
    state->shown.straight.max_depth = state->shown.straight.scatterings = 1;
    state->shown.straight.cutouts = integrator_has_cutouts(prepared->scene);
    prepared->statistics.photons_stored = state->maps.global.count;
    prepared->statistics.photons_emitted = state->maps.global.emitted;
    prepared->state = state;
    return KD_OK;
done:
    memory_free(state);
    return status;
}

void debug_close(frame *closed) {
    debug_state *state = (debug_state *)closed->state;
    if (!state) return;
    photon_maps_close(&state->maps);
    memory_free(state);
    closed->state = NULL;
}

pixel_sample debug_sample(const frame *of, int32_t x, int32_t y, uint32_t sample) {
    const pixel_view view = integrator_view(of);
    return debug_pixel(&view, &((const debug_state *)of->state)->shown, x, y, sample);
}
