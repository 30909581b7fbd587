/* The integrator `debug`: images of surface and photon map data instead of radiance
   (render/integrators/debug_channel.h). */
#include "core/memory.h"
#include "render/integrators/debug_channel.h"
#include "render/integrators/integrators.h"
#include "render/photon_mapping/photon.h"

typedef struct debug_state {
    debug_pixels shown; /* must be the first member: debug.cu casts the state to it */
    photon_options options;
    photon_maps maps;           /* built only for channels that use photons */
    photon_cuda device_photons; /* used instead of `maps` on a CUDA device */
} debug_state;

/* `name` is known to be valid. */
static int32_t find_channel(const char *name) {
    int32_t i = 0;
    while (i + 1 < DEBUG_CHANNELS && strcmp(debug_channel_name(i), name) != 0) ++i;
    return i;
}

/* Channels from DEBUG_DENSITY on need the global photon map. */
static uint32_t debug_maps(const kd_render_options *options) {
    for (int i = DEBUG_DENSITY; i < DEBUG_CHANNELS; ++i)
        if (strcmp(debug_channel_name(i), options->channel) == 0) return MAPS_GLOBAL;
    return MAPS_NONE;
}

static kd_status make_maps(debug_state *state, frame *frame, const photon_options *options) {
    KD_TRY(photon_maps_open(&state->maps, frame->scene, options, frame->job));
    state->shown.photons.global = photon_maps_global(&state->maps);
    state->shown.photons.tiles = photon_maps_tiles(&state->maps);
    frame->statistics.photons_stored = state->maps.global.count;
    frame->statistics.photons_emitted = state->maps.global.emitted;
    return KD_OK;
}

static kd_status make_device_maps(debug_state *state, frame *frame, const photon_options *options) {
    const photon_map_cuda *global = &state->device_photons.maps.map[PHOTON_LIST_GLOBAL];
    KD_TRY(photon_cuda_make_maps(&state->device_photons, frame, options, true));
    if (global->radius > 0)
        KD_TRY(photon_cuda_find_tiles(&state->device_photons, frame, global->radius));
    state->shown.photons.global =
        photon_maps_cuda_view(&state->device_photons.maps, PHOTON_LIST_GLOBAL);
    state->shown.photons.tiles = state->device_photons.maps.tiles;
    frame->statistics.photons_stored = global->list.count;
    frame->statistics.photons_emitted = global->list.emitted;
    return KD_OK;
}

static void debug_show_light(const frame *frame, light_source *out) {
    const debug_state *state = (const debug_state *)frame->state;
    if (state)
        *out =
            (light_source){&state->options, &state->maps, &state->device_photons.maps, NULL, NULL};
}

static void debug_close(frame *closed) {
    debug_state *state = (debug_state *)closed->state;
    if (!state) return;
    photon_maps_close(&state->maps);
    photon_cuda_close(&state->device_photons);
    memory_free(state);
    closed->state = NULL;
}

static kd_status debug_prepare(frame *prepared) {
    kd_status status = KD_OK;
    photon_options options;
    debug_state *state = NULL;
    KD_TRY(photon_read_options(&options, prepared->options));
    KD_TRY(KD_RESERVE_ZEROED(state, 1));
    prepared->state = state;
    state->shown.channel = find_channel(prepared->options->channel);
    options.caustics = options.volume_photons = 0;
    options.comm = prepared->comm;
    if (photon_estimators[options.estimator].one_radius)
        options.estimator = PHOTON_ESTIMATOR_NEAREST;
    if (state->shown.channel >= DEBUG_DENSITY)
        KD_TRY_GOTO(prepared->device_frame ? make_device_maps(state, prepared, &options)
                                           : make_maps(state, prepared, &options));
    state->options = options;
    state->shown.straight.max_depth = state->shown.straight.scatterings = 1;
    state->shown.straight.cutouts = integrator_has_cutouts(prepared->scene);
    return KD_OK;
done:
    debug_close(prepared);
    return status;
}

static pixel_sample debug_sample(const frame *frame, int32_t x, int32_t y, uint32_t sample) {
    const pixel_view view = integrator_view(frame);
    return debug_pixel(&view, &((const debug_state *)frame->state)->shown, x, y, sample);
}

const integrator integrator_debug = {.name = "debug",
                                     .source =
                                         "normals, depth, ids and photon statistics (--channel)",
                                     .box_alone = true,
                                     .prepare = debug_prepare,
                                     .sample = debug_sample,
                                     .close = debug_close,
                                     .launch = KD_IF_CUDA(debug_launch),
                                     .show_light = debug_show_light,
                                     .maps = debug_maps};
