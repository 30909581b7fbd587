/* Progressive photon mapping: `sppm` and `ppm`.
   Source: Hachisuka and Jensen 2009, "Stochastic progressive photon mapping"; Hachisuka, Ogaki
           and Jensen 2008, "Progressive photon mapping"; Knaus and Zwicker 2011, "Progressive
           photon mapping: a probabilistic approach".
   Idea: a pass makes photon maps of its own and takes one sample of every pixel with one radius
         per map for the whole picture (photon/density/estimate_radius.h). The picture is the mean
         of all passes. Why one radius and no statistics per pixel: a pass is then a pure
         function of its number and two lengths, so it is the same bits on any device and thread,
         and a rendering goes on from the film and those lengths alone. Media: places on the ray
         are drawn anew in each pass; the cube of their map's radius shrinks as the squares of
         the others do, and so does that of beams, which are blurred along lines (Jarosz et al.
         2011, "Progressive photon beams", section 4.2).
   Memory: the maps of one pass. In m batches a pass is m passes of 1/m of the photons each and
           of the same radius: the sum over photons within a radius is the sum of its parts.
   Differs from the papers in: a map's first radius is the median distance from its photons to
         their k-th neighbours in pass 0; direct light comes from shadow rays, not from photons.
         `ppm` draws spp rays a pixel once and takes them again in turn, as its fixed measurement
         points, but draws the ways through rough lenses behind them anew. */
#include "core/device/beside.h"
#include "core/hash.h"
#include "core/memory.h"
#include "distributed/ranks/ranks.h"
#include "render/photon_mapping/eye_path.h"
#include "render/photon_mapping/looks_apart.h"
#include "render/photon_mapping/photon.h"

/* frame.carried: what is fixed by pass 0, and sums over passes */
enum {
    CARRIED_RADIUS,        /* of pass 0: global, caustic; 0: that map stores nothing */
    CARRIED_PASSES = 2,    /* whose photons are in the sums */
    CARRIED_EMITTED_WATTS, /* sums over passes */
    CARRIED_ABSORBED_WATTS,
    CARRIED_ESCAPED_WATTS,
    CARRIED_ENDED_WATTS,
    CARRIED_MEDIA_RADIUS, /* as CARRIED_RADIUS */
    CARRIED_MEDIA_WATTS
};

/* --- maps ahead -------------------------------------------------------------------------------
   The next pass's maps on a CUDA device, made beside this pass's samples: waves of photons and
   waves of the eye's paths each leave much of a device idle when they are alone. */

typedef struct maps_ahead {
    photon_maps_cuda maps;
    photon_options options; /* of their pass */
    photon_order orders[PHOTON_LISTS];
    scene_view scene; /* the device's */
    bool ordered;     /* as of photon_cuda_make_maps */
    beside_task *by;  /* who makes them; NULL: nobody */
    bool too_large;   /* the device has no memory for two passes' maps */
} maps_ahead;

static kd_status make_ahead(void *context, job *watched) {
    maps_ahead *ahead = (maps_ahead *)context;
    KD_TRY(photon_maps_cuda_emit(&ahead->maps, &ahead->scene, ahead->orders, watched));
    return photon_maps_cuda_plant(&ahead->maps, &ahead->options, ahead->ordered, watched);
}

/* Begins with the maps of these options' pass; `there` has made maps before. Nothing is begun where
   they are being made already, memory was short before, or no thread is to be had. */
static void maps_ahead_begin(maps_ahead *out, photon_cuda *there, const frame *of,
                             const photon_options *options, bool ordered) {
    if (out->by || out->too_large) return;
    photon_cuda_renew_orders(there, options);
    memcpy(out->orders, there->orders, sizeof out->orders);
    out->options = *options;
    out->ordered = ordered;
    out->scene = of->there->scene.view;
    if (beside_begin(&out->by, make_ahead, out) != KD_OK) status_clear(); /* when they are due */
}

static void exchange_maps(photon_maps_cuda *a, photon_maps_cuda *b) {
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        const photon_map_cuda map = a->map[l];
        a->map[l] = b->map[l];
        b->map[l] = map;
    }
}

/* Waits for them, if they were begun; those of the options' pass become the maps of `to`. `taken`:
   false if there are none: they are to be made now. Stage of the frame's job: emit. */
static kd_status maps_ahead_take(maps_ahead *from, photon_cuda *to, const frame *of,
                                 const photon_options *options, bool *taken) {
    *taken = false;
    if (!from->by) return KD_OK;
    job_stage_begin(of->watched, "emit", 0);
    const kd_status status = beside_end(from->by, of->watched);
    job_stage_end(of->watched);
    from->by = NULL;
    if (status == KD_ERROR_MEMORY) {
        status_clear();
        photon_maps_cuda_close(&from->maps);
        from->too_large = true;
        return KD_OK;
    }
    KD_TRY(status);
    if (from->options.pass != options->pass) return KD_OK;
    exchange_maps(&from->maps, &to->maps);
    *taken = true;
    return KD_OK;
}

static void maps_ahead_close(maps_ahead *owned) {
    beside_drop(owned->by);
    photon_maps_cuda_close(&owned->maps);
    memset(owned, 0, sizeof *owned);
}

/* --- passes ----------------------------------------------------------------------------------- */

typedef struct progressive_state {
    photon_options photons;
    photon_maps maps; /* of this pass */
    tile_set tiles;
    bool tiled;        /* these are found, here or there */
    photon_cuda there; /* instead of both, on a CUDA device */
    maps_ahead ahead;  /* of the next pass there */
    bool has_room;     /* what samples take there is reserved */
    photon_view view;
} progressive_state;

static kd_status check_apart(const frame *of, const photon_options *photons) {
    KD_REQUIRE(!of->apart || !of->there || !photon_lookups[photons->lookup].walks, KD_ERROR_USAGE,
               "photons apart on CUDA devices by --lookup %s, expected auto or leaves",
               photon_lookups[photons->lookup].name);
    return KD_OK;
}

static kd_status progressive_prepare(frame *prepared) {
    kd_status status = KD_OK;
    const kd_render_options *options = prepared->options;
    progressive_state *state = NULL;
    KD_TRY(KD_RESERVE_ZEROED(state, 1));
    KD_TRY_GOTO(photon_read_options(&state->photons, options));
    status = options->passes >= 1 && options->alpha > 0 && options->alpha <= 1
                 ? KD_OK
                 : status_fail(KD_ERROR_USAGE, __FILE__, __LINE__,
                               "%d passes with alpha %g, expected at least 1, and more than 0 to 1",
                               options->passes, (double)options->alpha);
    if (status != KD_OK) goto done;
    photon_share_options(&state->photons, options);
    state->photons.among = prepared->among;
    KD_TRY_GOTO(check_apart(prepared, &state->photons));
    state->photons.tiles = false;
    state->photons.estimator = PHOTON_ESTIMATOR_NEAREST; /* its radii are its own */
    state->view.path.max_depth = options->max_depth;
    state->view.path.scatterings = INT32_MAX;
    state->view.path.cutouts = integrator_has_cutouts(prepared->scene);
    prepared->state = state;
    return KD_OK;
done:
    memory_free(state);
    return status;
}

static void progressive_close(frame *closed) {
    progressive_state *state = (progressive_state *)closed->state;
    if (!state) return;
    photon_cuda_tell_figures(&state->there, &closed->statistics);
    closed->statistics.looks_bounded += tile_set_looks_bounded(&state->tiles);
    photon_maps_close(&state->maps);
    tile_set_close(&state->tiles);
    maps_ahead_close(&state->ahead);
    photon_cuda_close(&state->there);
    memory_free(state);
    closed->state = NULL;
}

/* A pass that was begun before counts once, one that was cut and will not be seen not at all. */
static void note_statistics(frame *of, const photon_figures *figures, uint32_t pass) {
    double *carried = of->carried;
    if (pass < (uint32_t)carried[CARRIED_PASSES] || (of->maps_cut && pass > 0)) return;
    frame_statistics *to = &of->statistics;
    const photon_ledger *ledger = &figures->ledger;
    to->photon_rays += figures->rays;
    to->photons_emitted += figures->emitted;
    to->photons_stored += figures->stored;
    to->caustics_stored += figures->caustics;
    to->strayed_stored += figures->strayed;
    to->photon_hash = hash_combine(to->photon_hash, &figures->hash, sizeof figures->hash);
    carried[CARRIED_PASSES] = pass + 1;
    carried[CARRIED_EMITTED_WATTS] += ledger->emitted;
    carried[CARRIED_ABSORBED_WATTS] += ledger->absorbed;
    carried[CARRIED_MEDIA_WATTS] += ledger->media;
    carried[CARRIED_ESCAPED_WATTS] += ledger->escaped;
    carried[CARRIED_ENDED_WATTS] += ledger->ended + ledger->cut;
    to->watts_emitted = carried[CARRIED_EMITTED_WATTS] / (pass + 1.0);
    to->watts_absorbed = carried[CARRIED_ABSORBED_WATTS] / (pass + 1.0);
    to->watts_media = carried[CARRIED_MEDIA_WATTS] / (pass + 1.0);
    to->watts_escaped = carried[CARRIED_ESCAPED_WATTS] / (pass + 1.0);
    to->watts_ended = carried[CARRIED_ENDED_WATTS] / (pass + 1.0);
}

/* The maps' own radius is the largest one of an estimate by k nearest: twice the usual. */
static double first_radius(const kd_render_options *options, uint64_t photons, float own) {
    if (photons == 0) return 0;
    return (double)(options->radius > 0 ? options->radius : 0.5f * own);
}

/* A radius of beams is the usual one already. */
static double first_media_radius(const progressive_state *state, const kd_render_options *options,
                                 uint64_t photons, float own) {
    const bool beams = photon_media_rows[state->photons.media].beams;
    return first_radius(options, photons, beams ? 2 * own : own);
}

/* This pass's maps, and on the first one the radii. */
static kd_status make_maps(progressive_state *state, frame *of, bool first) {
    double *radius = of->carried + CARRIED_RADIUS;
    photon_maps_close(&state->maps);
    KD_TRY(photon_maps_open(&state->maps, of->scene, &state->photons, of->watched));
    const photon_map *maps[2] = {&state->maps.global, &state->maps.caustic};
    for (int m = 0; m < 2 && first; ++m)
        radius[m] = first_radius(of->options, maps[m]->count, maps[m]->radius);
    const photon_map *media = &state->maps.media;
    if (first)
        of->carried[CARRIED_MEDIA_RADIUS] =
            first_media_radius(state, of->options, media->count, media->radius);
    return KD_OK;
}

static bool walks_trees(const progressive_state *state) {
    return photon_lookups[state->photons.lookup].walks;
}

static kd_status make_maps_there(progressive_state *state, frame *of, bool first) {
    double *radius = of->carried + CARRIED_RADIUS;
    bool made;
    KD_TRY(maps_ahead_take(&state->ahead, &state->there, of, &state->photons, &made));
    if (!made)
        KD_TRY(photon_cuda_make_maps(&state->there, of, &state->photons, walks_trees(state)));
    const photon_map_cuda *maps = state->there.maps.map;
    for (int m = 0; m < 2 && first; ++m)
        radius[m] = first_radius(of->options, maps[m].list.count, maps[m].radius);
    const photon_map_cuda *media = &maps[PHOTON_LIST_MEDIA];
    if (first)
        of->carried[CARRIED_MEDIA_RADIUS] =
            first_media_radius(state, of->options, media->list.count, media->radius);
    return KD_OK;
}

static kd_status find_tiles_here(progressive_state *state, const frame *of, float radius) {
    job_stage_begin(of->watched, "surface", 0);
    const kd_status status =
        tile_set_open(&state->tiles, of->scene, NULL, radius, true, of->watched);
    job_stage_end(of->watched);
    return status;
}

/* Once: they are of the scene, not of the pass. */
static kd_status find_tiles(progressive_state *state, frame *of, float radius) {
    if (state->tiled) return KD_OK;
    if (of->there)
        KD_TRY(photon_cuda_find_tiles(&state->there, of, radius));
    else
        KD_TRY(find_tiles_here(state, of, radius));
    state->tiled = true;
    return KD_OK;
}

static void view_maps(progressive_state *state, const frame *of, uint32_t pass) {
    const double share =
        progressive_radius_share(pass / (uint32_t)of->options->batches, (double)of->options->alpha);
    const double *radius = of->carried + CARRIED_RADIUS;
    photon_view *view = &state->view;
    const photon_maps_cuda *there = &state->there.maps;
    view->global = of->there ? photon_maps_cuda_view(there, PHOTON_LIST_GLOBAL)
                             : photon_maps_global(&state->maps);
    view->caustic = of->there ? photon_maps_cuda_view(there, PHOTON_LIST_CAUSTIC)
                              : photon_maps_caustic(&state->maps);
    view->tiles = of->there ? there->tiles : tile_set_get_view(&state->tiles);
    view->media = of->there ? photon_maps_cuda_view(there, PHOTON_LIST_MEDIA)
                            : photon_maps_media(&state->maps);
    view->global.gather = view->caustic.gather = view->media.gather = 0;
    view->global.adaptive = view->caustic.adaptive = false;
    view->global.radius = (float)(radius[PHOTON_LIST_GLOBAL] * share);
    view->caustic.radius = (float)(radius[PHOTON_LIST_CAUSTIC] * share);
    view->media.radius = (float)(of->carried[CARRIED_MEDIA_RADIUS] * cbrt(share * share));
    view->beams = of->there ? there->beams : photon_maps_beams(&state->maps);
    view->beams.radius = (float)(of->carried[CARRIED_MEDIA_RADIUS] * share * share);
}

/* Of passes whose radii are known. */
static void leave_out_empty(photon_options *options, const frame *of) {
    const double *radius = of->carried + CARRIED_RADIUS;
    options->radius = 1; /* not looked at: no need to find one */
    if (!(radius[PHOTON_LIST_GLOBAL] > 0)) options->photons = 0;
    if (!(radius[PHOTON_LIST_CAUSTIC] > 0)) options->caustics = 0;
    if (!(of->carried[CARRIED_MEDIA_RADIUS] > 0)) options->strayed = 0;
}

/* Begins with the next pass's maps beside this one's samples, where there is a next pass for sure,
   its photons are this process's alone, and the host makes no beams of them. Not before samples
   have taken their memory: these cannot do without. */
static void look_ahead(progressive_state *state, const frame *of, uint32_t pass) {
    const uint32_t passes = (uint32_t)integrator_samples(of->how, of->options);
    const bool timed = of->deadline > 0 || (of->watched && of->watched->deadline > 0);
    if (!of->there || !of->options->maps_ahead || !state->has_room || timed || of->maps_cut ||
        pass + 1 >= passes)
        return;
    if (ranks_shared(of->among) || photon_media_rows[state->photons.media].beams) return;
    photon_options next = state->photons;
    next.pass = pass + 1;
    leave_out_empty(&next, of);
    maps_ahead_begin(&state->ahead, &state->there, of, &next, walks_trees(state));
}

static kd_status progressive_pass(frame *of, uint32_t pass) {
    progressive_state *state = (progressive_state *)of->state;
    const double *radius = of->carried + CARRIED_RADIUS;
    const bool first = pass == 0 && of->carried[CARRIED_PASSES] == 0;
    photon_options *options = &state->photons;
    options->pass = pass;
    /* a device's radius is chosen among all photons: they lie apart from the next pass on */
    options->apart = of->apart && !(of->there && first && !(of->options->radius > 0));
    state->there.apart = options->apart && of->there;
    photon_limit_time(options, of, pass == 0);
    if (!first) leave_out_empty(options, of);
    KD_TRY(of->there ? make_maps_there(state, of, first) : make_maps(state, of, first));
    of->maps_cut =
        of->there ? photon_maps_cuda_cut(&state->there.maps) : photon_maps_cut(&state->maps);
    const float largest = (float)(radius[PHOTON_LIST_GLOBAL] > radius[PHOTON_LIST_CAUSTIC]
                                      ? radius[PHOTON_LIST_GLOBAL]
                                      : radius[PHOTON_LIST_CAUSTIC]);
    if (largest > 0) KD_TRY(find_tiles(state, of, largest));
    view_maps(state, of, pass);
    const photon_figures figures =
        of->there ? photon_cuda_figures(&state->there) : photon_figures_of(&state->maps);
    note_statistics(of, &figures, pass);
    look_ahead(state, of, pass);
    return KD_OK;
}

/* One sample whose camera ray is drawn by `camera_sample`. */
static pixel_sample sample_pass(const frame *of, int32_t x, int32_t y, uint32_t sample,
                                uint32_t camera_sample) {
    const progressive_state *state = (const progressive_state *)of->state;
    const pixel_view view = integrator_view(of);
    const rng_key key = pixel_key(&view, x, y, sample);
    const ray cast = pixel_ray(&view, x, y, pixel_key(&view, x, y, camera_sample));
    const path_result found = photon_eye_radiance(of->scene, &state->view, cast, key);
    return pixel_of(&view, &cast, &found.first, found.radiance, found.rays);
}

static pixel_sample sppm_sample(const frame *of, int32_t x, int32_t y, uint32_t sample) {
    return sample_pass(of, x, y, sample, sample);
}

static pixel_sample ppm_sample(const frame *of, int32_t x, int32_t y, uint32_t sample) {
    return sample_pass(of, x, y, sample, sample % (uint32_t)of->options->spp);
}

static kd_status sppm_take_apart(frame *of, film *to, const apart_range *range,
                                 struct sample_counts *counts, bool *over) {
    const progressive_state *state = (const progressive_state *)of->state;
    return looks_apart_take(of, to, &state->maps, &state->view, range, 0, counts, over);
}

static kd_status ppm_take_apart(frame *of, film *to, const apart_range *range,
                                struct sample_counts *counts, bool *over) {
    const progressive_state *state = (const progressive_state *)of->state;
    return looks_apart_take(of, to, &state->maps, &state->view, range, (uint32_t)of->options->spp,
                            counts, over);
}

static kd_status take_there(const frame *of, const struct sample_range *range, uint32_t period) {
    progressive_state *state = (progressive_state *)of->state;
    KD_TRY(photon_cuda_take(&state->there, of, &state->view, range, period));
    state->has_room = true;
    return KD_OK;
}

static kd_status sppm_launch(const frame *of, const struct sample_range *range) {
    return take_there(of, range, 0);
}

static kd_status ppm_launch(const frame *of, const struct sample_range *range) {
    return take_there(of, range, (uint32_t)of->options->spp);
}

static int32_t progressive_batches_most(const kd_render_options *options) {
    (void)options;
    return BATCHES_MOST;
}

/* Its rays are taken again after spp of them. */
static bool ppm_counts_samples(const kd_render_options *options) {
    (void)options;
    return true;
}

const integrator integrator_sppm = {.name = "sppm",
                                    .source = "Hachisuka and Jensen 2009; Knaus and Zwicker 2011",
                                    .prepare = progressive_prepare,
                                    .sample = sppm_sample,
                                    .close = progressive_close,
                                    .pass = progressive_pass,
                                    .launch = sppm_launch,
                                    .take_apart = sppm_take_apart,
                                    .apart_there = true,
                                    .maps = photon_all_maps,
                                    .batches_most = progressive_batches_most};

const integrator integrator_ppm = {.name = "ppm",
                                   .source =
                                       "Hachisuka, Ogaki and Jensen 2008; Knaus and Zwicker 2011",
                                   .prepare = progressive_prepare,
                                   .sample = ppm_sample,
                                   .close = progressive_close,
                                   .pass = progressive_pass,
                                   .launch = ppm_launch,
                                   .take_apart = ppm_take_apart,
                                   .apart_there = true,
                                   .maps = photon_all_maps,
                                   .batches_most = progressive_batches_most,
                                   .counts_samples = ppm_counts_samples};
