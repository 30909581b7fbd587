/* The photon integrator: maps are made once, then each pixel sample looks things up.
   In batches (options->batches = m): the samples of a pixel are shared among m maps of 1/m of the
   photons each, with estimates of k/m of them. Each map holds all the light, and a disc that holds
   k/m of 1/m of the photons is as large as one that holds k of all: the mean over the samples has
   the expected value that it has with one map. */
#include "render/photon_mapping/photon.h"
#include "core/hash.h"
#include "core/job.h"
#include "core/memory.h"
#include "photon/maps/photon_file.h"
#include "photon/maps/photon_map.h"
#include "render/photon_mapping/eye_path.h"
#include "render/photon_mapping/looks_apart.h"
#include "scenes/assembly/scene.h"

enum { CARRIED_BATCHES }; /* frame.carried: batches whose photons are in the statistics */

typedef struct photon_state {
    photon_options options; /* of a batch */
    photon_maps maps;       /* of this batch */
    photon_cuda there;      /* the same on a CUDA device */
    photon_view view;
} photon_state;

kd_status photon_read_options(photon_options *out, const kd_render_options *options) {
    *out = photon_options_default();
    KD_TRY(photon_kernel_find(&out->kernel, options->kernel));
    KD_TRY(photon_estimator_find(&out->estimator, options->estimator));
    KD_TRY(photon_lookup_find(&out->lookup, options->lookup));
    KD_TRY(photon_media_find(&out->media, options->media));
    out->seed = options->seed;
    out->photons = options->photons;
    out->caustics = options->caustic_photons ? options->caustic_photons : options->photons;
    out->strayed = options->media_photons ? options->media_photons : options->photons;
    out->max_depth = (uint32_t)options->max_depth;
    out->gather = (uint32_t)options->gather;
    out->radius = options->radius;
    return KD_OK;
}

void photon_share_options(photon_options *of, const kd_render_options *options) {
    const uint64_t batches = (uint64_t)options->batches;
    of->photons = (of->photons + batches - 1) / batches;
    of->caustics = (of->caustics + batches - 1) / batches;
    of->strayed = (of->strayed + batches - 1) / batches;
    of->gather = (of->gather + (uint32_t)batches - 1) / (uint32_t)batches;
    if (of->gather < 2) of->gather = 2;
}

void photon_limit_time(photon_options *to, const frame *of, bool first) {
    memset(to->deadlines, 0, sizeof to->deadlines);
    if (!(of->deadline > 0)) return;
    /* irradiance at every photon takes about as long as emission */
    const double share = of->options->final_gather && of->options->precompute ? 0.25 : 0.5;
    const double now = timing_now();
    if (first) photon_options_limit(to, now + share * (of->deadline - now));
    for (int i = 0; i < PHOTON_LISTS && !first; ++i) to->deadlines[i] = of->deadline;
}

photon_figures photon_figures_of(const photon_maps *maps) {
    photon_figures figures;
    figures.emitted = maps->global.emitted + maps->caustic.emitted + maps->media.emitted;
    figures.rays = maps->global.rays + maps->caustic.rays + maps->media.rays;
    figures.stored = maps->global.count;
    figures.caustics = maps->caustic.count;
    figures.strayed = maps->media.count;
    figures.hash = photon_maps_hash(maps);
    figures.ledger = maps->global.ledger;
    return figures;
}

/* A batch that was begun before counts once, one that was cut and will not be seen not at all. Each
 * batch's ledger is of all the light. */
static void note_statistics(frame *of, const photon_figures *figures, uint32_t batch) {
    frame_statistics *to = &of->statistics;
    const photon_ledger *ledger = &figures->ledger;
    const uint64_t hash = figures->hash;
    if (batch < (uint32_t)of->carried[CARRIED_BATCHES] || (of->maps_cut && batch > 0)) return;
    of->carried[CARRIED_BATCHES] = batch + 1;
    to->photon_rays += figures->rays;
    to->photons_emitted += figures->emitted;
    to->photons_stored += figures->stored;
    to->caustics_stored += figures->caustics;
    to->strayed_stored += figures->strayed;
    to->photon_hash = batch ? hash_combine(to->photon_hash, &hash, sizeof hash) : hash;
    const double share = 1 / (batch + 1.0);
    to->watts_emitted += share * (ledger->emitted - to->watts_emitted);
    to->watts_absorbed += share * (ledger->absorbed - to->watts_absorbed);
    to->watts_media += share * (ledger->media - to->watts_media);
    to->watts_escaped += share * (ledger->escaped - to->watts_escaped);
    to->watts_ended += share * (ledger->ended + ledger->cut - to->watts_ended);
}

/* Whether gather rays will ask more often than there are photons. A crop does not change that: its
   pixels are those of the whole picture. */
static bool precomputation_pays(const kd_render_options *options, uint64_t photons) {
    const double asked = (double)options->width * (double)options->height * (double)options->spp *
                         (double)options->final_gather / (double)options->batches;
    return options->precompute && asked > (double)photons;
}

/* Every so many-th photon of a file is a batch of its own, with the power of all. */
static kd_status take_share(photon_list *list, uint32_t batch, uint32_t batches) {
    photon *kept = NULL;
    uint64_t count = 0;
    KD_TRY(KD_RESERVE(kept, list->count / batches + 1));
    for (uint64_t i = batch; i < list->count; i += batches) {
        kept[count] = list->photons[i];
        kept[count].power = vec3_scale(list->photons[i].power, (float)batches);
        ++count;
    }
    if (!list->borrowed) memory_free(list->photons);
    list->photons = kept;
    list->count = count;
    list->borrowed = false;
    list->nodes = NULL;
    return KD_OK;
}

/* A final gather, an estimate of as many photons as the light allows, and whoever is told to, walk
   the trees. */
static bool walks_trees(const photon_state *of) {
    return of->view.final_gather || photon_estimators[of->options.estimator].adaptive ||
           photon_lookups[of->options.lookup].walks;
}

static kd_status maps_from_lists(photon_state *to, const frame *of,
                                 photon_list lists[PHOTON_LISTS]) {
    if (!of->there)
        return photon_maps_plant(&to->maps, of->scene, lists, &to->options, of->watched);
    return photon_cuda_take_lists(&to->there, lists, &to->options, walks_trees(to), of->watched);
}

static kd_status photon_identify(frame *of) {
    const char *path = of->options->photon_map;
    if (!path) return KD_OK;
    return photon_file_read_content(&of->photon_map_hash, path);
}

/* Emitted, or from the file that the options name. */
static kd_status open_maps(photon_state *to, const frame *of) {
    const photon_options *options = &to->options;
    const char *path = of->options->photon_map;
    if (!path && of->there) return photon_cuda_make_maps(&to->there, of, options, walks_trees(to));
    if (!path) return photon_maps_open(&to->maps, of->scene, options, of->watched);
    KD_REQUIRE(!photon_media_rows[options->media].beams, KD_ERROR_USAGE,
               "%s: a photon map's file holds points of the media, but --media is beams", path);
    photon_file file;
    KD_TRY(photon_file_open(&file, path));
    if (file.content != of->photon_map_hash) {
        photon_file_close(&file);
        KD_FAIL(KD_ERROR_INPUT, "%s: another file took its place while it was in use", path);
    }
    kd_status status = photon_file_check_scene(&file, path, of->scene, scene_hash(of->scene));
    for (int i = 0; i < PHOTON_LISTS && status == KD_OK && of->options->batches > 1; ++i)
        status = take_share(&file.lists[i], options->pass, (uint32_t)of->options->batches);
    if (status == KD_OK) status = maps_from_lists(to, of, file.lists);
    photon_file_close(&file);
    return status;
}

static kd_status view_maps(photon_state *to, frame *of) {
    if (precomputation_pays(of->options, to->maps.global.count))
        KD_TRY(photon_maps_precompute(&to->maps, of->watched));
    to->view.global = photon_maps_global(&to->maps);
    to->view.caustic = photon_maps_caustic(&to->maps);
    to->view.media = photon_maps_media(&to->maps);
    to->view.beams = photon_maps_beams(&to->maps);
    to->view.tiles = photon_maps_tiles(&to->maps);
    return KD_OK;
}

static kd_status view_maps_there(photon_state *to, frame *of) {
    photon_maps_cuda *maps = &to->there.maps;
    const float largest =
        float_max(maps->map[PHOTON_LIST_GLOBAL].radius, maps->map[PHOTON_LIST_CAUSTIC].radius);
    if (largest > 0) KD_TRY(photon_cuda_find_tiles(&to->there, of, largest));
    if (precomputation_pays(of->options, maps->map[PHOTON_LIST_GLOBAL].list.count))
        KD_TRY(photon_maps_cuda_precompute(maps, of->watched));
    to->view.global = photon_maps_cuda_view(maps, PHOTON_LIST_GLOBAL);
    to->view.caustic = photon_maps_cuda_view(maps, PHOTON_LIST_CAUSTIC);
    to->view.media = photon_maps_cuda_view(maps, PHOTON_LIST_MEDIA);
    to->view.beams = maps->beams;
    to->view.tiles = maps->tiles;
    return KD_OK;
}

/* The maps of a batch, instead of those of the one before. */
static kd_status begin_batch(frame *of, uint32_t batch) {
    photon_state *state = (photon_state *)of->state;
    of->statistics.looks_bounded += tile_set_looks_bounded(&state->maps.tiles);
    photon_maps_close(&state->maps);
    state->options.pass = batch;
    photon_limit_time(&state->options, of, batch == 0);
    KD_TRY(open_maps(state, of));
    of->maps_cut =
        of->there ? photon_maps_cuda_cut(&state->there.maps) : photon_maps_cut(&state->maps);
    KD_TRY(of->there ? view_maps_there(state, of) : view_maps(state, of));
    /* an estimate's usual radius */
    state->view.near = (photon_estimators[state->options.estimator].one_radius ? 1 : 0.5f) *
                       state->view.global.radius;
    of->statistics.radius = (double)state->view.near;
    const photon_figures figures =
        of->there ? photon_cuda_figures(&state->there) : photon_figures_of(&state->maps);
    note_statistics(of, &figures, batch);
    return KD_OK;
}

/* A batch of each sample, and an estimate of BATCH_GATHER_LEAST photons each. */
static int32_t photon_batches_most(const kd_render_options *options) {
    const int32_t samples = options->spp < BATCHES_MOST ? options->spp : BATCHES_MOST;
    if (photon_estimator_named(options->estimator)->one_radius) return samples;
    const int32_t most = options->gather / BATCH_GATHER_LEAST;
    return most < 1 ? 1 : most < samples ? most : samples;
}

static void photon_close(frame *closed) {
    photon_state *state = (photon_state *)closed->state;
    if (!state) return;
    photon_cuda_tell_figures(&state->there, &closed->statistics);
    closed->statistics.looks_bounded += tile_set_looks_bounded(&state->maps.tiles);
    photon_maps_close(&state->maps);
    photon_cuda_close(&state->there);
    memory_free(state);
    closed->state = NULL;
}

static kd_status photon_prepare(frame *prepared) {
    kd_status status = KD_OK;
    const kd_render_options *options = prepared->options;
    photon_state *state = NULL;
    KD_TRY(KD_RESERVE_ZEROED(state, 1));
    prepared->state = state;
    KD_TRY_GOTO(photon_read_options(&state->options, options));
    status = options->batches <= photon_batches_most(options)
                 ? KD_OK
                 : status_fail(KD_ERROR_USAGE, __FILE__, __LINE__,
                               "%d batches, expected at most %d: one for each of --spp samples and "
                               "for each %d photons of --gather",
                               options->batches, photon_batches_most(options), BATCH_GATHER_LEAST);
    if (status != KD_OK) goto done;
    photon_share_options(&state->options, options);
    state->options.among = prepared->among;
    state->options.apart = prepared->apart;
    state->view.path.max_depth = options->max_depth;
    state->view.path.scatterings = INT32_MAX;
    state->view.path.cutouts = integrator_has_cutouts(prepared->scene);
    state->view.final_gather = (uint32_t)options->final_gather;
    if (options->batches == 1) KD_TRY_GOTO(begin_batch(prepared, 0));
    if (options->batches > 1) prepared->begin_batch = begin_batch;
    return KD_OK;
done:
    photon_close(prepared);
    return status;
}

/* A tile's, whose looks into the caustic map, and into the global one without a final gather, lie
   side by side. */
static void photon_samples(const frame *of, const pixel_request *asked, uint32_t count,
                           pixel_sample *out) {
    const photon_state *state = (const photon_state *)of->state;
    const pixel_view pixels = integrator_view(of);
    photon_view view = state->view;
    photon_last last[PHOTON_LISTS];
    view.global = photon_map_followed(&state->view.global, &last[PHOTON_LIST_GLOBAL]);
    view.caustic = photon_map_followed(&state->view.caustic, &last[PHOTON_LIST_CAUSTIC]);
    view.media = photon_map_followed(&state->view.media, &last[PHOTON_LIST_MEDIA]);
    for (uint32_t i = 0; i < count; ++i) {
        const rng_key key = pixel_key(&pixels, asked[i].x, asked[i].y, asked[i].sample);
        const ray cast = pixel_ray(&pixels, asked[i].x, asked[i].y, key);
        const path_result found = photon_eye_radiance(of->scene, &view, cast, key);
        out[i] = pixel_of(&pixels, &cast, &found.first, found.radiance, found.rays);
    }
}

static pixel_sample photon_sample(const frame *of, int32_t x, int32_t y, uint32_t sample) {
    const pixel_request asked = {x, y, sample};
    pixel_sample found;
    photon_samples(of, &asked, 1, &found);
    return found;
}

static kd_status photon_take_apart(frame *of, film *to, const apart_range *range,
                                   struct sample_counts *counts, bool *over) {
    const photon_state *state = (const photon_state *)of->state;
    return looks_apart_take(of, to, &state->maps, &state->view, range, 0, counts, over);
}

/* A final gather and an adaptive estimate ask for photons, not for sums of them; a file has all. */
static bool photon_may_be_apart(const kd_render_options *options) {
    return options->final_gather == 0 && !options->photon_map &&
           !photon_estimator_named(options->estimator)->adaptive;
}

static kd_status photon_launch(const frame *of, const struct sample_range *range) {
    photon_state *state = (photon_state *)of->state;
    return photon_cuda_take(&state->there, of, &state->view, range, 0);
}

uint32_t photon_all_maps(const kd_render_options *options) {
    (void)options;
    return MAPS_ALL;
}

/* Whether irradiance is precomputed, and which batch a sample is in, hang on spp. */
static bool photon_counts_samples(const kd_render_options *options) {
    return (options->final_gather && options->precompute) || options->batches > 1;
}

const integrator integrator_photon = {.name = "photon",
                                      .source = "Jensen 2001",
                                      .prepare = photon_prepare,
                                      .sample = photon_sample,
                                      .samples = photon_samples,
                                      .close = photon_close,
                                      .launch = photon_launch,
                                      .take_apart = photon_take_apart,
                                      .may_be_apart = photon_may_be_apart,
                                      .identify = photon_identify,
                                      .maps = photon_all_maps,
                                      .batches_most = photon_batches_most,
                                      .counts_samples = photon_counts_samples};
