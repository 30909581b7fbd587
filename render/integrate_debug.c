/* Pictures of what an estimate works with instead of light (shaders/debug_channel.h). */
#include "core/memory.h"
#include "render/integrators.h"
#include "shaders/debug_channel.h"

typedef struct debug_state {
    photon_maps maps; /* only if the channel looks at photons */
    photon_view view;
    path_options straight;
    int32_t channel;
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
    KD_TRY_GOTO(find_channel(&state->channel, prepared->options->channel));
    options.caustics = 0;
    if (options.estimator == PHOTON_ESTIMATOR_FIXED) options.estimator = PHOTON_ESTIMATOR_NEAREST;
    if (state->channel >= DEBUG_DENSITY)
        KD_TRY_GOTO(photon_maps_open(&state->maps, prepared->scene, &options, prepared->watched));
    state->view.global = photon_maps_global(&state->maps);
    state->view.creases = crease_set_get_view(&state->maps.creases);
    state->straight.max_depth = state->straight.scatterings = 1;
    state->straight.cutouts = integrator_has_cutouts(prepared->scene);
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
    const debug_state *state = (const debug_state *)of->state;
    const rng_key key = integrator_key(of, x, y, sample);
    const ray cast = integrator_camera_ray(of, x, y, key);
    const path_result met = path_radiance(of->scene, &state->straight, cast, key);
    pixel_sample found = integrator_pixel(of, &cast, &met.first, vec3_all(0), met.rays);
    if (met.first.triangle == KD_NONE) return found;
    found.radiance = debug_value(&state->view, state->channel, &met.first,
                                 vec3_negate(cast.direction), found.depth);
    return found;
}
