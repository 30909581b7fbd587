/* Progressive photon mapping: the integrator `sppm`.
   Source: Hachisuka and Jensen 2009, "Stochastic progressive photon mapping"; Hachisuka, Ogaki
           and Jensen 2008, "Progressive photon mapping"; Knaus and Zwicker 2011, "Progressive
           photon mapping: a probabilistic approach".
   Idea: each pass emits new photons, builds photon maps of them, and takes one sample of every
         pixel. Following Knaus and Zwicker, all lookups of a pass into the same map use the same
         radius, which shrinks from pass to pass (photon/density/estimate_radius.h), and the image
         is the mean of all passes. No statistics are kept per pixel, so a pass depends on the pass
         number and the initial radii only: it has the same bits on any device with any number of
         threads, and a rendering is resumed from the film and the initial radii.
         Media: every pass draws new points along the camera rays. The cube of the media map's
         radius shrinks as the square of a surface map's radius does; the radius of beams, which
         blur along one dimension only, shrinks as that square itself (Jarosz et al. 2011,
         "Progressive photon beams", section 4.2).
   Memory: the photon maps of one pass; two passes on a CUDA device that builds them ahead. With
           --batches m, each pass becomes m passes of 1/m of the photons and equal radius: a sum
           over the photons within a fixed radius is the sum of its parts.
   Differs from the papers in: the initial radius of a map is the median distance from its photons
         to their k-th nearest neighbour in pass 0; direct light is estimated by shadow rays, not by
         photons. */
#include "core/device/async.h"
#include "core/hash.h"
#include "core/memory.h"
#include "render/photon_mapping/distributed_lookups.h"
#include "render/photon_mapping/eye_path.h"
#include "render/photon_mapping/photon.h"
#include "render/photon_mapping/pilot.h"

/* Indices into frame.carried, which is saved with the film: values fixed by pass 0, and sums over
   passes. */
enum {
    CARRIED_RADIUS, /* initial radii of the global and the caustic map (2 values), scene units; 0:
                       that map is empty */
    CARRIED_PASSES = 2,    /* number of passes that the sums include */
    CARRIED_EMITTED_WATTS, /* W, summed over passes, as are the next three */
    CARRIED_ABSORBED_WATTS,
    CARRIED_ESCAPED_WATTS,
    CARRIED_ENDED_WATTS,
    CARRIED_MEDIA_RADIUS, /* initial radius of the media map */
    CARRIED_MEDIA_WATTS,  /* W absorbed by media, summed over passes */
    CARRIED_CUT_WATTS     /* the part of CARRIED_ENDED_WATTS cut by the limits of the path length */
};

/* --- prefetched maps --------------------------------------------------------------------------
   On a CUDA device the maps of the next pass are built on a second stream while this pass takes its
   samples: the wavefronts of photons and those of camera paths each leave much of the GPU idle when
   they run alone. */

typedef struct maps_ahead {
    photon_maps_cuda maps;
    photon_options options; /* options of the pass for which the maps are built */
    photon_order orders[PHOTON_LISTS];
    scene_view scene; /* device pointers */
    bool ordered;     /* see photon_cuda_make_maps */
    async_task *task; /* the asynchronous task that builds the maps; NULL: none is running */
    bool too_large;   /* device memory does not suffice for the maps of two passes */
} maps_ahead;

static kd_status make_ahead(void *context, job_control *job) {
    maps_ahead *ahead = (maps_ahead *)context;
    KD_TRY(photon_maps_cuda_emit(&ahead->maps, &ahead->scene, ahead->orders, job));
    return photon_maps_cuda_build_trees(&ahead->maps, &ahead->options, ahead->ordered, job);
}

/* Starts building the maps of the pass that `options` describe; `device_photons`, the integrator's
   state on the device, has built maps before. Does nothing if a task is already running or memory
   ran short before. If no thread can be started, the maps are built later, when they are needed. */
static void maps_ahead_begin(maps_ahead *out, photon_cuda *device_photons, const frame *frame,
                             const photon_options *options, bool ordered) {
    if (out->task || out->too_large) return;
    photon_cuda_renew_orders(device_photons, options);
    memcpy(out->orders, device_photons->orders, sizeof out->orders);
    out->options = *options;
    out->ordered = ordered;
    out->scene = frame->device_frame->scene.view;
    /* built later, when needed */
    if (async_begin(&out->task, make_ahead, out) != KD_OK) status_clear();
}

static void exchange_maps(photon_maps_cuda *a, photon_maps_cuda *b) {
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        const photon_map_cuda map = a->map[l];
        a->map[l] = b->map[l];
        b->map[l] = map;
    }
}

/* Waits for the task, if one is running. If it built the maps of the pass that `options` describe,
   moves them into `device_photons` and sets *taken; otherwise *taken is false and the caller has to
   build them. The wait counts as the job's stage "emit". */
static kd_status maps_ahead_take(maps_ahead *ahead, photon_cuda *device_photons, const frame *frame,
                                 const photon_options *options, bool *taken) {
    *taken = false;
    if (!ahead->task) return KD_OK;
    job_stage_begin(frame->job, "emit", 0);
    const kd_status status = async_end(ahead->task, frame->job);
    job_stage_end(frame->job);
    ahead->task = NULL;
    if (status == KD_ERROR_MEMORY) {
        status_clear();
        photon_maps_cuda_close(&ahead->maps);
        ahead->too_large = true;
        return KD_OK;
    }
    KD_TRY(status);
    if (ahead->options.pass != options->pass) return KD_OK;
    exchange_maps(&ahead->maps, &device_photons->maps);
    *taken = true;
    return KD_OK;
}

static void maps_ahead_close(maps_ahead *owned) {
    async_drop(owned->task);
    photon_maps_cuda_close(&owned->maps);
    memset(owned, 0, sizeof *owned);
}

/* --- passes ----------------------------------------------------------------------------------- */

typedef struct progressive_state {
    photon_options photons;
    photon_maps maps; /* maps of the current pass; empty on a CUDA device */
    tile_set tiles;
    bool tiled;                 /* the tiles have been found, on the host or on the device */
    photon_cuda device_photons; /* maps and tiles on a CUDA device, instead of the two above */
    maps_ahead ahead;           /* maps of the next pass on the device */
    bool has_capacity;          /* a launch has allocated the device buffers for samples */
    photon_view view;
} progressive_state;

static kd_status check_distributed(const frame *frame, const photon_options *photons) {
    KD_REQUIRE(
        !frame->distributed || !frame->device_frame || !photon_lookups[photons->lookup].walks,
        KD_ERROR_USAGE,
        "--lookup %s does not support distributed photon maps on CUDA devices; use auto or leaves",
        photon_lookups[photons->lookup].name);
    return KD_OK;
}

static kd_status progressive_prepare(frame *prepared) {
    kd_status status = KD_OK;
    const kd_render_options *options = prepared->options;
    progressive_state *state = NULL;
    KD_TRY(KD_RESERVE_ZEROED(state, 1));
    KD_TRY_GOTO(photon_read_options(&state->photons, options));
    status =
        options->passes >= 1 && options->alpha > 0 && options->alpha <= 1
            ? KD_OK
            : status_fail(
                  KD_ERROR_USAGE, __FILE__, __LINE__,
                  "--passes is %d and --alpha %g; expected at least 1, and above 0 and at most 1",
                  options->passes, (double)options->alpha);
    if (status != KD_OK) goto done;
    photon_share_options(&state->photons, options);
    state->photons.comm = prepared->comm;
    KD_TRY_GOTO(check_distributed(prepared, &state->photons));
    state->photons.tiles = false;
    state->photons.estimator = PHOTON_ESTIMATOR_NEAREST; /* only fixed radii are used */
    state->view.path.max_depth = options->max_depth;
    state->view.path.max_specular = options->max_specular;
    state->view.path.scatterings = INT32_MAX;
    state->view.path.cutouts = integrator_has_cutouts(prepared->scene);
    KD_TRY_GOTO(
        pilot_run(&state->photons, prepared, (double)options->width * (double)options->height));
    prepared->state = state;
    return KD_OK;
done:
    memory_free(state);
    return status;
}

static void progressive_show_light(const frame *frame, light_source *out) {
    const progressive_state *state = (const progressive_state *)frame->state;
    if (state)
        *out = (light_source){&state->photons, &state->maps, &state->device_photons.maps,
                              &state->view, NULL};
}

static void progressive_close(frame *closed) {
    progressive_state *state = (progressive_state *)closed->state;
    if (!state) return;
    photon_cuda_report_figures(&state->device_photons, &closed->statistics);
    closed->statistics.lookups_bounded += tile_set_lookups_bounded(&state->tiles);
    photon_maps_close(&state->maps);
    tile_set_close(&state->tiles);
    maps_ahead_close(&state->ahead);
    photon_cuda_close(&state->device_photons);
    memory_free(state);
    closed->state = NULL;
}

/* Adds the counts and energies of a pass to the statistics. A resumed pass that was counted before
   the interruption is skipped, and so is one whose maps a deadline truncated, since no sample uses
   them. */
static void note_statistics(frame *frame, const photon_figures *figures, uint32_t pass) {
    double *carried = frame->carried;
    if (pass < (uint32_t)carried[CARRIED_PASSES] || (frame->maps_cut && pass > 0)) return;
    frame_statistics *to = &frame->statistics;
    const photon_ledger *ledger = &figures->ledger;
    to->photon_rays += figures->rays;
    to->photons_emitted += figures->emitted;
    to->photons_stored += figures->stored;
    to->caustics_stored += figures->caustics;
    to->volume_stored += figures->volume_photons;
    to->photon_hash = hash_combine(to->photon_hash, &figures->hash, sizeof figures->hash);
    carried[CARRIED_PASSES] = pass + 1;
    carried[CARRIED_EMITTED_WATTS] += ledger->emitted;
    carried[CARRIED_ABSORBED_WATTS] += ledger->absorbed;
    carried[CARRIED_MEDIA_WATTS] += ledger->media;
    carried[CARRIED_ESCAPED_WATTS] += ledger->escaped;
    carried[CARRIED_ENDED_WATTS] += ledger->ended + ledger->cut;
    carried[CARRIED_CUT_WATTS] += ledger->cut;
    to->watts_emitted = carried[CARRIED_EMITTED_WATTS] / (pass + 1.0);
    to->watts_absorbed = carried[CARRIED_ABSORBED_WATTS] / (pass + 1.0);
    to->watts_media = carried[CARRIED_MEDIA_WATTS] / (pass + 1.0);
    to->watts_escaped = carried[CARRIED_ESCAPED_WATTS] / (pass + 1.0);
    to->watts_ended = carried[CARRIED_ENDED_WATTS] / (pass + 1.0);
    to->watts_cut = carried[CARRIED_CUT_WATTS] / (pass + 1.0);
}

/* `scene_radius`, the radius of a map, is the largest that a k-nearest-neighbour estimate may use:
   twice the median distance to the k-th neighbour. */
static double first_radius(const kd_render_options *options, uint64_t photons, float scene_radius) {
    if (photons == 0) return 0;
    return (double)(options->radius > 0 ? options->radius : 0.5f * scene_radius);
}

/* The radius of a beam set is not doubled, in contrast to that of a photon map. */
static double first_media_radius(const progressive_state *state, const kd_render_options *options,
                                 uint64_t photons, float scene_radius) {
    const bool beams = photon_media_rows[state->photons.media].beams;
    return first_radius(options, photons, beams ? 2 * scene_radius : scene_radius);
}

/* Emits the photons of this pass and builds their maps; on the first pass also sets the initial
   radii. */
static kd_status make_maps(progressive_state *state, frame *frame, bool first) {
    double *radius = frame->carried + CARRIED_RADIUS;
    photon_maps_close(&state->maps);
    KD_TRY(photon_maps_open(&state->maps, frame->scene, &state->photons, frame->job));
    const photon_map *maps[2] = {&state->maps.global, &state->maps.caustic};
    for (int m = 0; m < 2 && first; ++m)
        radius[m] = first_radius(frame->options, maps[m]->count, maps[m]->radius);
    const photon_map *media = &state->maps.media;
    if (first)
        frame->carried[CARRIED_MEDIA_RADIUS] =
            first_media_radius(state, frame->options, media->count, media->radius);
    return KD_OK;
}

static bool walks_trees(const progressive_state *state) {
    return photon_lookups[state->photons.lookup].walks;
}

static kd_status make_device_maps(progressive_state *state, frame *frame, bool first) {
    double *radius = frame->carried + CARRIED_RADIUS;
    bool made;
    KD_TRY(maps_ahead_take(&state->ahead, &state->device_photons, frame, &state->photons, &made));
    if (!made)
        KD_TRY(photon_cuda_make_maps(&state->device_photons, frame, &state->photons,
                                     walks_trees(state)));
    const photon_map_cuda *maps = state->device_photons.maps.map;
    for (int m = 0; m < 2 && first; ++m)
        radius[m] = first_radius(frame->options, maps[m].list.count, maps[m].radius);
    const photon_map_cuda *media = &maps[PHOTON_LIST_MEDIA];
    if (first)
        frame->carried[CARRIED_MEDIA_RADIUS] =
            first_media_radius(state, frame->options, media->list.count, media->radius);
    return KD_OK;
}

static kd_status find_tiles_cpu(progressive_state *state, const frame *frame, float radius) {
    job_stage_begin(frame->job, "surface", 0);
    const kd_status status =
        tile_set_open(&state->tiles, frame->scene, NULL, radius, true, frame->job);
    job_stage_end(frame->job);
    return status;
}

/* The tiles depend on the scene only, so they are found once. */
static kd_status find_tiles(progressive_state *state, frame *frame, float radius) {
    if (state->tiled) return KD_OK;
    if (frame->device_frame)
        KD_TRY(photon_cuda_find_tiles(&state->device_photons, frame, radius));
    else
        KD_TRY(find_tiles_cpu(state, frame, radius));
    state->tiled = true;
    return KD_OK;
}

static void view_maps(progressive_state *state, const frame *frame, uint32_t pass) {
    const double share = progressive_radius_share(pass / (uint32_t)frame->options->batches,
                                                  (double)frame->options->alpha);
    const double *radius = frame->carried + CARRIED_RADIUS;
    photon_view *view = &state->view;
    const photon_maps_cuda *maps = &state->device_photons.maps;
    view->global = frame->device_frame ? photon_maps_cuda_view(maps, PHOTON_LIST_GLOBAL)
                                       : photon_maps_global(&state->maps);
    view->caustic = frame->device_frame ? photon_maps_cuda_view(maps, PHOTON_LIST_CAUSTIC)
                                        : photon_maps_caustic(&state->maps);
    view->tiles = frame->device_frame ? maps->tiles : tile_set_get_view(&state->tiles);
    view->media = frame->device_frame ? photon_maps_cuda_view(maps, PHOTON_LIST_MEDIA)
                                      : photon_maps_media(&state->maps);
    view->global.gather = view->caustic.gather = view->media.gather = 0;
    view->global.adaptive = view->caustic.adaptive = false;
    view->global.radius = (float)(radius[PHOTON_LIST_GLOBAL] * share);
    view->caustic.radius = (float)(radius[PHOTON_LIST_CAUSTIC] * share);
    view->media.radius = (float)(frame->carried[CARRIED_MEDIA_RADIUS] * cbrt(share * share));
    view->beams = frame->device_frame ? maps->beams : photon_maps_beams(&state->maps);
    view->beams.radius = (float)(frame->carried[CARRIED_MEDIA_RADIUS] * share * share);
}

/* For passes after the first: a map that was empty in pass 0 is not emitted again. */
static void omit_empty_maps(photon_options *options, const frame *frame) {
    const double *radius = frame->carried + CARRIED_RADIUS;
    options->radius = 1; /* any value above 0 skips the search for a radius, which is not used */
    if (!(radius[PHOTON_LIST_GLOBAL] > 0)) options->photons = 0;
    if (!(radius[PHOTON_LIST_CAUSTIC] > 0)) options->caustics = 0;
    if (!(frame->carried[CARRIED_MEDIA_RADIUS] > 0)) options->volume_photons = 0;
}

/* Starts building the next pass's maps on the device, unless a time limit may make this pass the
   last one, ranks share the photons, or the media use beams, which the host builds. Waits for the
   first launch to allocate the sample buffers, since the samples take precedence when memory is
   short. */
static void emit_ahead(progressive_state *state, const frame *frame, uint32_t pass) {
    const bool timed = frame->deadline > 0 || (frame->job && frame->job->deadline > 0);
    if (!frame->device_frame || !frame->options->maps_ahead || !state->has_capacity || timed ||
        frame->maps_cut || pass + 1 >= frame_end(frame))
        return;
    if (ranks_shared(frame->comm) || photon_media_rows[state->photons.media].beams) return;
    photon_options next = state->photons;
    next.pass = pass + 1;
    omit_empty_maps(&next, frame);
    maps_ahead_begin(&state->ahead, &state->device_photons, frame, &next, walks_trees(state));
}

static kd_status progressive_pass(frame *frame, uint32_t pass) {
    progressive_state *state = (progressive_state *)frame->state;
    const double *radius = frame->carried + CARRIED_RADIUS;
    const bool first = pass == 0 && frame->carried[CARRIED_PASSES] == 0;
    photon_options *options = &state->photons;
    options->pass = pass;
    /* On a device, the initial radii are derived from the photons of all ranks, so the first pass
       keeps all of them on each rank; photons are distributed from the next pass on. */
    options->distributed =
        frame->distributed && !(frame->device_frame && first && !(frame->options->radius > 0));
    state->device_photons.distributed = options->distributed && frame->device_frame;
    photon_limit_time(options, frame, pass == 0);
    if (!first) omit_empty_maps(options, frame);
    KD_TRY(frame->device_frame ? make_device_maps(state, frame, first)
                               : make_maps(state, frame, first));
    frame->maps_cut = frame->device_frame ? photon_maps_cuda_cut(&state->device_photons.maps)
                                          : photon_maps_cut(&state->maps);
    const float largest = (float)(radius[PHOTON_LIST_GLOBAL] > radius[PHOTON_LIST_CAUSTIC]
                                      ? radius[PHOTON_LIST_GLOBAL]
                                      : radius[PHOTON_LIST_CAUSTIC]);
    if (largest > 0) KD_TRY(find_tiles(state, frame, largest));
    view_maps(state, frame, pass);
    const photon_figures figures = frame->device_frame ? photon_cuda_figures(&state->device_photons)
                                                       : photon_figures_of(&state->maps);
    note_statistics(frame, &figures, pass);
    emit_ahead(state, frame, pass);
    return KD_OK;
}

static pixel_sample sppm_sample(const frame *frame, int32_t x, int32_t y, uint32_t sample) {
    const progressive_state *state = (const progressive_state *)frame->state;
    const pixel_view pixels = integrator_view(frame);
    const rng_key key = pixel_key(&pixels, x, y, sample);
    const ray ray = pixel_ray(&pixels, x, y, key);
    const light_parts parts = photon_light_parts(frame, x, y);
    const photon_view *view = &state->view;
    photon_view divided;
    if (parts.groups) {
        divided = *view;
        divided.parts = &parts;
        view = &divided;
    }
    const path_result result = photon_eye_radiance(frame->scene, view, ray, key);
    return pixel_of(&pixels, &ray, &result.first, result.radiance, result.rays);
}

static kd_status sppm_take_distributed(frame *frame, film *film, const distributed_range *range,
                                       struct sample_counts *counts, bool *over) {
    const progressive_state *state = (const progressive_state *)frame->state;
    return distributed_lookups_take(frame, film, &state->maps, &state->view, range, counts, over);
}

static kd_status sppm_launch(const frame *frame, const struct sample_range *range) {
    progressive_state *state = (progressive_state *)frame->state;
    KD_TRY(photon_cuda_take(&state->device_photons, frame, &state->view, range));
    state->has_capacity = true;
    return KD_OK;
}

static int32_t progressive_batches_max(const kd_render_options *options) {
    (void)options;
    return BATCHES_MAX;
}

const integrator integrator_sppm = {.name = "sppm",
                                    .lens = true,
                                    .source = "Hachisuka and Jensen 2009; Knaus and Zwicker 2011",
                                    .prepare = progressive_prepare,
                                    .sample = sppm_sample,
                                    .close = progressive_close,
                                    .pass = progressive_pass,
                                    .launch = sppm_launch,
                                    .take_distributed = sppm_take_distributed,
                                    .device_distributed = true,
                                    .show_light = progressive_show_light,
                                    .maps = photon_all_maps,
                                    .light_groups = photon_light_groups,
                                    .batches_max = progressive_batches_max};
