/* The photon integrator: maps are made once, then each pixel sample looks things up. */
#include "core/memory.h"
#include "photon/photon_file.h"
#include "photon/photon_map.h"
#include "render/integrators.h"
#include "scenes/scene_hash.h"
#include "shaders/photon_eye.h"

typedef struct photon_state {
    photon_maps maps;
    photon_view view;
} photon_state;

kd_status photon_read_options(photon_options *out, const kd_render_options *options) {
    *out = photon_options_default();
    KD_REQUIRE(options->gather >= 2 && options->gather <= (int32_t)ESTIMATE_GATHER_MAX,
               KD_ERROR_USAGE, "gather of %d photons, expected 2 to %u", options->gather,
               ESTIMATE_GATHER_MAX);
    KD_REQUIRE(options->final_gather >= 0 && options->final_gather <= 65536, KD_ERROR_USAGE,
               "%d final gather rays, expected 0 to 65536", options->final_gather);
    KD_TRY(photon_kernel_find(&out->kernel, options->kernel));
    KD_TRY(photon_estimator_find(&out->estimator, options->estimator));
    out->seed = options->seed;
    out->photons = options->photons;
    out->caustics = options->caustic_photons ? options->caustic_photons : options->photons;
    out->max_depth = (uint32_t)options->max_depth;
    out->gather = (uint32_t)options->gather;
    out->radius = options->radius;
    return KD_OK;
}

static void note_statistics(frame_statistics *to, const photon_maps *maps) {
    const photon_ledger *ledger = &maps->global.ledger;
    to->photon_rays = maps->global.rays + maps->caustic.rays;
    to->photons_emitted = maps->global.emitted + maps->caustic.emitted;
    to->photons_stored = maps->global.count;
    to->caustics_stored = maps->caustic.count;
    to->photon_hash = photon_maps_hash(maps);
    to->watts_emitted = ledger->emitted;
    to->watts_absorbed = ledger->absorbed;
    to->watts_escaped = ledger->escaped;
    to->watts_ended = ledger->ended + ledger->cut;
}

/* Whether gather rays will ask more often than there are photons. A crop does not change that: its
   pixels are those of the whole picture. */
static bool precomputation_pays(const kd_render_options *options, const photon_maps *maps) {
    const double asked = (double)options->width * (double)options->height * (double)options->spp *
                         (double)options->final_gather;
    return options->precompute && asked > (double)maps->global.count;
}

/* Emitted, or from the file that the options name. */
static kd_status open_maps(photon_maps *out, const frame *of, const photon_options *options) {
    const char *path = of->options->photon_map;
    if (!path) return photon_maps_open(out, of->scene, options, of->watched);
    photon_file file;
    KD_TRY(photon_file_open(&file, path));
    kd_status status = photon_file_check_scene(&file, path, of->scene, scene_hash(of->scene));
    if (status == KD_OK)
        status = photon_maps_plant(out, of->scene, file.lists, options, of->watched);
    photon_file_close(&file);
    return status;
}

kd_status photon_prepare(frame *prepared) {
    kd_status status = KD_OK;
    photon_options options;
    photon_state *state = NULL;
    KD_TRY_GOTO(photon_read_options(&options, prepared->options));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(state, 1));
    KD_TRY_GOTO(open_maps(&state->maps, prepared, &options));
    if (precomputation_pays(prepared->options, &state->maps))
        KD_TRY_GOTO(
            photon_maps_precompute(&state->maps, &prepared->scene->mesh, prepared->watched));
    state->view.global = photon_maps_global(&state->maps);
    state->view.caustic = photon_maps_caustic(&state->maps);
    state->view.creases = crease_set_get_view(&state->maps.creases);
    state->view.path.max_depth = prepared->options->max_depth;
    state->view.path.scatterings = INT32_MAX;
    state->view.path.cutouts = integrator_has_cutouts(prepared->scene);
    state->view.final_gather = (uint32_t)prepared->options->final_gather;
    /* an estimate's usual radius */
    state->view.near =
        (options.estimator == PHOTON_ESTIMATOR_FIXED ? 1 : 0.5f) * state->view.global.radius;
    note_statistics(&prepared->statistics, &state->maps);
    prepared->state = state;
    return KD_OK;
done:
    if (state) photon_maps_close(&state->maps);
    memory_free(state);
    return status;
}

void photon_close(frame *closed) {
    photon_state *state = (photon_state *)closed->state;
    if (!state) return;
    photon_maps_close(&state->maps);
    memory_free(state);
    closed->state = NULL;
}

pixel_sample photon_sample(const frame *of, int32_t x, int32_t y, uint32_t sample) {
    const photon_state *state = (const photon_state *)of->state;
    const rng_key key = integrator_key(of, x, y, sample);
    const ray cast = integrator_camera_ray(of, x, y, key);
    const path_result found = photon_eye_radiance(of->scene, &state->view, cast, key);
    return integrator_pixel(of, &cast, &found.first, found.radiance, found.rays);
}
