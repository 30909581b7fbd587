/* Idea: how much light of the image a map holds is estimated from a small map, by camera paths that
         are spread over the image and are followed with and without it. The share is a mean over
         camera paths of part / (all + median of all), so that a sky in view does not outweigh what
         is visible beside it, and shadows count by their brightness.
   Work: PILOT_PROBES paths per list; for sparse lists, PILOT_PATHS paths, a map of their photons
         and PILOT_SAMPLES camera paths.
   Invariants: runs on the CPU even if a device renders, and on every rank. */
#include "render/photon_mapping/pilot.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "photon/maps/photon_map.h"
#include "render/photon_mapping/eye_path.h"
#include "render/photon_mapping/kept_maps.h"
#include <stdlib.h>

enum { SAMPLE_REQUESTS = 8 }; /* lookups that are kept of a camera path */
/* Pass number of the trial's photons, beyond those of an image. */
enum { PILOT_PASS = 0x10000000 };

/* A camera path. */
typedef struct pilot_sample {
    float part[PHOTON_LISTS]; /* radiance from each map, mean of the channels */
    float all;                /* brightness of the path */
    vec3 place;               /* position of the first lookup */
    bool has_place;
} pilot_sample;

typedef struct pilot {
    const struct frame *rendered;
    photon_view view;
    bool has_media;
    pilot_sample *samples;
} pilot;

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Sets *sparse if few paths leave a photon, and PILOT_PATHS do not fill the list. */
static kd_status probe(bool *sparse, const scene_view *scene, photon_order order,
                       job_control *job) {
    photon_list list;
    const uint64_t target = order.target;
    *sparse = false;
    if (target == 0 || emit_paths_max(&order) <= PILOT_PATHS) return KD_OK;
    order.target = smaller(target, PILOT_PROBES);
    order.paths_max = PILOT_PROBES;
    KD_TRY(photon_list_open(&list, scene, &order, job));
    *sparse = list.emitted > 0 && list.count * PILOT_YIELD < list.emitted &&
              (double)target * (double)list.emitted > (double)list.count * PILOT_PATHS;
    photon_list_close(&list);
    return KD_OK;
}

/* The options of the trial's maps. */
static photon_options trial_options(const photon_options *options) {
    photon_options trial = *options;
    trial.pass = PILOT_PASS;
    trial.photons = smaller(options->photons, PILOT_PATHS);
    trial.caustics = smaller(options->caustics, PILOT_PATHS);
    trial.volume_photons = smaller(options->volume_photons, PILOT_PATHS);
    trial.radius = 0;
    trial.estimator = PHOTON_ESTIMATOR_NEAREST;
    trial.lookup = photon_options_default().lookup;
    trial.tiles = true;
    trial.comm = NULL;
    trial.distributed = false;
    memset(trial.deadlines, 0, sizeof trial.deadlines);
    memset(trial.suit, 0, sizeof trial.suit);
    for (int l = 0; l < PHOTON_LISTS; ++l) trial.suit[l].paths_max = PILOT_PATHS;
    return trial;
}

static float mean_channel(vec3 radiance) {
    const float mean = (radiance.x + radiance.y + radiance.z) / 3;
    return mean >= 0 && mean <= FLT_MAX ? mean : 0;
}

static eye_path follow(const pilot *work, uint32_t number, const photon_view *view) {
    const pixel_view eye = integrator_view(work->rendered);
    /* points of the lattice of two dimensions that is built like that of the emission */
    const uint32_t u = 0xc13fa9a9u * (number + 1), v = 0x91e10da5u * (number + 1);
    const int32_t x = (int32_t)((uint64_t)u * (uint32_t)eye.width >> 32),
                  y = (int32_t)((uint64_t)v * (uint32_t)eye.height >> 32);
    const rng_key key = pixel_key(&eye, x, y, number);
    return photon_eye_path(work->rendered->scene, view, LOOKUP_INLINE, pixel_ray(&eye, x, y, key),
                           key);
}

static void take_sample(const pilot *work, uint32_t number) {
    pilot_sample *out = &work->samples[number];
    eye_request requests[SAMPLE_REQUESTS];
    eye_request_counts counts;
    photon_view view = work->view;
    memset(&counts, 0, sizeof counts);
    memset(out, 0, sizeof *out);
    view.later.list = requests;
    view.later.counts = &counts;
    view.later.capacity = SAMPLE_REQUESTS;
    const float rest = mean_channel(follow(work, number, &view).result.radiance);
    const uint32_t found = (uint32_t)smaller(counts.requests, SAMPLE_REQUESTS);
    for (uint32_t i = 0; i < found; ++i) {
        const eye_request *at = &requests[i];
        const vec3 global = photon_map_radiance(&view.global, &view.tiles, &at->at, at->wo),
                   caustic = photon_map_radiance(&view.caustic, &view.tiles, &at->at, at->wo);
        out->part[PHOTON_LIST_GLOBAL] += mean_channel(vec3_mul(at->throughput, global));
        out->part[PHOTON_LIST_CAUSTIC] += mean_channel(vec3_mul(at->throughput, caustic));
    }
    out->has_place = found > 0;
    if (found) out->place = requests[0].at.position;
    out->all = rest + out->part[PHOTON_LIST_GLOBAL] + out->part[PHOTON_LIST_CAUSTIC];
    if (!work->has_media) return;
    counts.requests = 0;
    view.media.tree.count = 0;
    view.beams.node_count = 0;
    const float without = mean_channel(follow(work, number, &view).result.radiance);
    out->part[PHOTON_LIST_MEDIA] = float_max(0, rest - without);
}

static void take_samples(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    for (int64_t i = begin; i < end; ++i) take_sample((const pilot *)context, (uint32_t)i);
}

/* Follows the camera paths with the trial's maps. */
static kd_status follow_all(pilot *work, const photon_options *trial) {
    photon_maps maps;
    const frame *frame = work->rendered;
    photon_options made;
    if (!kept_maps_take(&maps, &made, frame->kept_maps, KEPT_TRIAL, frame, trial))
        KD_TRY(photon_maps_open(&maps, frame->scene, trial, frame->job));
    memset(&work->view, 0, sizeof work->view);
    work->view.global = photon_maps_global(&maps);
    work->view.caustic = photon_maps_caustic(&maps);
    work->view.media = photon_maps_media(&maps);
    work->view.beams = photon_maps_beams(&maps);
    work->view.tiles = photon_maps_tiles(&maps);
    work->view.path.max_depth = frame->options->max_depth;
    work->view.path.max_specular = frame->options->max_specular;
    work->view.path.scatterings = INT32_MAX;
    work->view.path.cutouts = integrator_has_cutouts(frame->scene);
    work->has_media = maps.media.count > 0;
    parallel_for(PILOT_SAMPLES, 16, take_samples, work);
    kept_maps_give(frame->kept_maps, KEPT_TRIAL, frame, trial, &maps);
    return KD_OK;
}

static int compare_floats(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Median radiance of the camera paths that are not black; 0 if all are. */
static kd_status median_radiance(float *out, const pilot_sample *samples) {
    float *values = NULL;
    uint32_t count = 0;
    KD_TRY(KD_RESERVE(values, PILOT_SAMPLES));
    for (uint32_t i = 0; i < PILOT_SAMPLES; ++i)
        if (samples[i].all > 0) values[count++] = samples[i].all;
    qsort(values, count, sizeof *values, compare_floats);
    *out = count ? values[count / 2] : 0;
    memory_free(values);
    return KD_OK;
}

/* Light of map `l` in a camera path, about as a part of the path's light; at most 2. */
static float sample_share(const pilot_sample *sample, int l, float median) {
    return sample->part[l] > 0 ? 2 * sample->part[l] / (sample->all + median) : 0;
}

/* Spheres around the lookups that see light of the map; around all if none does. */
static kd_status guide(photon_suit *suit, const scene_view *scene, const pilot_sample *samples,
                       int l, float median) {
    vec3 *places = NULL;
    float *weights = NULL;
    double sum = 0;
    uint32_t count = 0;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(places, PILOT_SAMPLES));
    KD_TRY_GOTO(KD_RESERVE(weights, PILOT_SAMPLES));
    for (uint32_t i = 0; i < PILOT_SAMPLES; ++i) {
        if (!samples[i].has_place) continue;
        places[count] = samples[i].place;
        weights[count] = sample_share(&samples[i], l, median);
        sum += (double)weights[count++];
    }
    for (uint32_t i = 0; i < count && !(sum > 0); ++i) weights[i] = 1;
    status = aim_guides(suit->guides, &suit->guide_count, scene, places, weights, count);
done:
    memory_free(places);
    memory_free(weights);
    return status;
}

static kd_status suit_list(photon_suit *suit, const pilot *work, int l, double lookups) {
    float median = 0;
    double share = 0;
    KD_TRY(median_radiance(&median, work->samples));
    for (uint32_t i = 0; i < PILOT_SAMPLES; ++i)
        share += (double)sample_share(&work->samples[i], l, median) / PILOT_SAMPLES;
    suit->faint = share < PILOT_FAINT;
    suit->paths_max = PILOT_PATHS;
    if (suit->faint) return KD_OK;
    if (l != PHOTON_LIST_CAUSTIC)
        KD_TRY(guide(suit, work->rendered->scene, work->samples, l, median));
    /* The variance of the image by a map of share s and n paths is about s^2 / n; with n in
       proportion to s, all maps together have that of one that holds all light. */
    const double limit =
        lookups * share * (suit->guide_count ? PATHS_PER_GUIDED : PATHS_PER_LOOKUP);
    if (limit > PILOT_PATHS) suit->paths_max = limit < 0x1p62 ? (uint64_t)limit : 1ull << 62;
    return KD_OK;
}

kd_status pilot_run(photon_options *options, const frame *frame, double lookups) {
    kd_status status = KD_OK;
    photon_options trial = trial_options(options);
    photon_order orders[PHOTON_LISTS];
    bool sparse[PHOTON_LISTS], any = false;
    pilot work;
    memset(&work, 0, sizeof work);
    work.rendered = frame;
    memset(options->suit, 0, sizeof options->suit);
    KD_TRY(photon_options_check(options));
    KD_TRY(photon_orders_make(orders, frame->scene, &trial));
    const uint64_t targets[PHOTON_LISTS] = {options->photons, options->caustics,
                                            options->volume_photons};
    job_stage_begin(frame->job, "emit", 0);
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        if (orders[l].target) orders[l].target = targets[l];
        orders[l].paths_max = 0;
        KD_TRY_GOTO(probe(&sparse[l], frame->scene, orders[l], frame->job));
        any |= sparse[l];
    }
    if (!any) goto done;
    KD_TRY_GOTO(KD_RESERVE(work.samples, PILOT_SAMPLES));
    KD_TRY_GOTO(follow_all(&work, &trial));
    for (int l = 0; l < PHOTON_LISTS; ++l)
        if (sparse[l]) KD_TRY_GOTO(suit_list(&options->suit[l], &work, l, lookups));
done:
    job_stage_end(frame->job);
    memory_free(work.samples);
    return status;
}

uint64_t pilot_bytes_max(const uint64_t photons[PHOTON_LISTS]) {
    uint64_t bytes = 0, batch = 0;
    for (int l = 0; l < PHOTON_LISTS; ++l) {
        const uint64_t stored = smaller(photons[l], PILOT_PATHS);
        const uint64_t traced = photon_batch_bytes(stored);
        bytes += photon_list_bytes(stored) + photon_map_bytes_max(stored);
        batch = traced > batch ? traced : batch;
    }
    return bytes ? bytes + batch + PILOT_SAMPLES * sizeof(pilot_sample) : 0;
}
