/* Progressive photon mapping: `sppm` and `ppm`.
   Source: Hachisuka and Jensen 2009, "Stochastic progressive photon mapping"; Hachisuka, Ogaki and
           Jensen 2008, "Progressive photon mapping"; Knaus and Zwicker 2011, "Progressive photon
           mapping: a probabilistic approach".
   Idea: a pass makes photon maps of its own and takes one sample of every pixel with one radius per
         map for the whole picture (shaders/photon_fixed.h). The picture is the mean of all passes.
   Why one radius and no statistics per pixel: a pass is then a pure function of its number and two
         lengths, so it is the same bits on any device and thread, and a rendering goes on from the
         film and those lengths alone.
   Media: places on the ray are drawn anew in each pass; the cube of their map's radius shrinks
          as the squares of the others do.
   Memory: the maps of one pass. In m batches a pass is m passes of 1/m of the photons each and of
           the same radius: the sum over photons within a radius is the sum of its parts.
   Differs from the papers in: a map's first radius is the median distance from its photons to their
         k-th neighbours in pass 0; direct light comes from shadow rays, not from photons. `ppm`
         draws spp rays a pixel once and takes them again in turn, as its fixed measurement points,
         but draws the ways through rough lenses behind them anew. */
#include "core/hash.h"
#include "core/memory.h"
#include "render/integrators.h"
#include "shaders/photon_eye.h"

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

typedef struct progressive_state {
    photon_options photons;
    photon_maps maps; /* of this pass */
    crease_set creases;
    photon_view view;
} progressive_state;

kd_status progressive_prepare(frame *prepared) {
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
    state->photons.outlines = false;
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

void progressive_close(frame *closed) {
    progressive_state *state = (progressive_state *)closed->state;
    if (!state) return;
    photon_maps_close(&state->maps);
    crease_set_close(&state->creases);
    memory_free(state);
    closed->state = NULL;
}

/* A pass that was begun before counts once. */
static void note_statistics(frame *of, const photon_maps *maps, uint32_t pass) {
    double *carried = of->carried;
    if (pass < (uint32_t)carried[CARRIED_PASSES]) return;
    frame_statistics *to = &of->statistics;
    const photon_ledger *ledger = &maps->global.ledger;
    const uint64_t hash = photon_maps_hash(maps);
    to->photon_rays += maps->global.rays + maps->caustic.rays + maps->media.rays;
    to->photons_emitted += maps->global.emitted + maps->caustic.emitted + maps->media.emitted;
    to->photons_stored += maps->global.count;
    to->caustics_stored += maps->caustic.count;
    to->strayed_stored += maps->media.count;
    to->photon_hash = hash_combine(to->photon_hash, &hash, sizeof hash);
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
static float first_radius(const kd_render_options *options, const photon_map *map) {
    if (map->count == 0) return 0;
    return options->radius > 0 ? options->radius : 0.5f * map->radius;
}

kd_status progressive_pass(frame *of, uint32_t pass) {
    progressive_state *state = (progressive_state *)of->state;
    double *radius = of->carried + CARRIED_RADIUS,
           *media_radius = of->carried + CARRIED_MEDIA_RADIUS;
    const bool first = pass == 0 && of->carried[CARRIED_PASSES] == 0;
    photon_maps_close(&state->maps);
    photon_options *options = &state->photons;
    options->pass = pass;
    if (!first) {
        options->radius = 1; /* not looked at: no need to find one */
        if (!(radius[0] > 0)) options->photons = 0;
        if (!(radius[1] > 0)) options->caustics = 0;
        if (!(*media_radius > 0)) options->strayed = 0;
    }
    KD_TRY(photon_maps_open(&state->maps, of->scene, options, of->watched));
    if (first) {
        radius[0] = (double)first_radius(of->options, &state->maps.global);
        radius[1] = (double)first_radius(of->options, &state->maps.caustic);
        *media_radius = (double)first_radius(of->options, &state->maps.media);
    }
    const float largest = (float)(radius[0] > radius[1] ? radius[0] : radius[1]);
    if (largest > 0 && !state->creases.flips)
        KD_TRY(crease_set_open(&state->creases, &of->scene->mesh, 2 * largest, of->watched));
    const double share =
        progressive_radius_share(pass / (uint32_t)of->options->batches, (double)of->options->alpha);
    state->view.global = photon_maps_global(&state->maps);
    state->view.caustic = photon_maps_caustic(&state->maps);
    state->view.media = photon_maps_media(&state->maps);
    state->view.global.gather = state->view.caustic.gather = state->view.media.gather = 0;
    state->view.global.radius = (float)(radius[0] * share);
    state->view.caustic.radius = (float)(radius[1] * share);
    state->view.media.radius = (float)(*media_radius * cbrt(share * share));
    state->view.creases = crease_set_get_view(&state->creases);
    note_statistics(of, &state->maps, pass);
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

pixel_sample sppm_sample(const frame *of, int32_t x, int32_t y, uint32_t sample) {
    return sample_pass(of, x, y, sample, sample);
}

pixel_sample ppm_sample(const frame *of, int32_t x, int32_t y, uint32_t sample) {
    return sample_pass(of, x, y, sample, sample % (uint32_t)of->options->spp);
}
