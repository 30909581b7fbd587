/* The integrator `photon`: photon maps are built once, then looked up by every pixel sample.
   Source: Jensen 2001, "Realistic Image Synthesis Using Photon Mapping".
   Memory: with --batches m, a rendering holds one of m maps at a time: the samples of a pixel are
           divided among m maps of 1/m of the photons each, with estimates of k/m photons. Each map
           represents all the light, and a disc that holds k/m of 1/m of the photons is as large as
           one that holds k of all of them, so the mean over the samples has the same expected value
           as with a single map. */
#include "render/photon_mapping/photon.h"
#include "core/hash.h"
#include "core/job.h"
#include "core/memory.h"
#include "photon/maps/photon_file.h"
#include "photon/maps/photon_map.h"
#include "render/frame/light_groups.h"
#include "render/photon_mapping/distributed_lookups.h"
#include "render/photon_mapping/eye_path.h"
#include "render/photon_mapping/kept_maps.h"
#include "render/photon_mapping/pilot.h"
#include "scenes/assembly/scene.h"

/* index into frame.carried: number of batches that the statistics include */
enum { CARRIED_BATCHES };

typedef struct photon_state {
    photon_options options;     /* options of one batch */
    photon_maps maps;           /* maps of the current batch */
    photon_options made;        /* options that made them */
    bool taken;                 /* set if kept maps were reused before `pilot_run` */
    photon_cuda device_photons; /* the maps on a CUDA device, instead of `maps` */
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
    out->volume_photons = options->media_photons ? options->media_photons : options->photons;
    out->max_depth = (uint32_t)options->max_depth;
    out->max_specular = (uint32_t)options->max_specular;
    out->gather = (uint32_t)options->gather;
    out->radius = options->radius;
    return KD_OK;
}

void photon_share_options(photon_options *photon_options, const kd_render_options *options) {
    const uint64_t batches = (uint64_t)options->batches;
    photon_options->photons = (photon_options->photons + batches - 1) / batches;
    photon_options->caustics = (photon_options->caustics + batches - 1) / batches;
    photon_options->volume_photons = (photon_options->volume_photons + batches - 1) / batches;
    photon_options->gather = (photon_options->gather + (uint32_t)batches - 1) / (uint32_t)batches;
    if (photon_options->gather < 2) photon_options->gather = 2;
}

void photon_limit_time(photon_options *options, const frame *frame, bool first) {
    memset(options->deadlines, 0, sizeof options->deadlines);
    if (!(frame->deadline > 0)) return;
    /* Precomputing the irradiance at every photon takes about as long as emission. */
    const double share = frame->options->final_gather && frame->options->precompute ? 0.25 : 0.5;
    const double now = timing_now();
    if (first) photon_options_limit(options, now + share * (frame->deadline - now));
    for (int i = 0; i < PHOTON_LISTS && !first; ++i) options->deadlines[i] = frame->deadline;
}

photon_figures photon_figures_of(const photon_maps *maps) {
    photon_figures figures;
    figures.emitted = maps->global.emitted + maps->caustic.emitted + maps->media.emitted;
    figures.rays = maps->global.rays + maps->caustic.rays + maps->media.rays;
    figures.stored = maps->global.count;
    figures.caustics = maps->caustic.count;
    figures.volume_photons = maps->media.count;
    figures.hash = photon_maps_hash(maps);
    figures.ledger = maps->global.ledger;
    return figures;
}

/* Adds the counts of a batch to the statistics. A resumed batch that was counted before the
   interruption is skipped, and so is one whose maps a deadline truncated, since no sample uses
   them. The energies are means over batches, as the ledger of each batch accounts for all the
   light. */
static void note_statistics(frame *frame, const photon_figures *figures, uint32_t batch) {
    frame_statistics *to = &frame->statistics;
    const photon_ledger *ledger = &figures->ledger;
    const uint64_t hash = figures->hash;
    if (batch < (uint32_t)frame->carried[CARRIED_BATCHES] || (frame->maps_cut && batch > 0)) return;
    frame->carried[CARRIED_BATCHES] = batch + 1;
    to->photon_rays += figures->rays;
    to->photons_emitted += figures->emitted;
    to->photons_stored += figures->stored;
    to->caustics_stored += figures->caustics;
    to->volume_stored += figures->volume_photons;
    to->photon_hash = batch ? hash_combine(to->photon_hash, &hash, sizeof hash) : hash;
    const double share = 1 / (batch + 1.0);
    to->watts_emitted += share * (ledger->emitted - to->watts_emitted);
    to->watts_absorbed += share * (ledger->absorbed - to->watts_absorbed);
    to->watts_media += share * (ledger->media - to->watts_media);
    to->watts_escaped += share * (ledger->escaped - to->watts_escaped);
    to->watts_ended += share * (ledger->ended + ledger->cut - to->watts_ended);
    to->watts_cut += share * (ledger->cut - to->watts_cut);
}

/* Returns true if there are more gather rays than photons. Cropping does not change the answer,
   since the number of pixels is that of the whole image. */
static bool precomputation_pays(const kd_render_options *options, uint64_t photons) {
    const double lookups = (double)options->width * (double)options->height * (double)options->spp *
                           (double)options->final_gather / (double)options->batches;
    return options->precompute && lookups > (double)photons;
}

/* Keeps every `batches`-th photon of a map file, starting with number `batch`, and scales the
   powers so that each batch carries the power of all photons. */
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

/* Final gather, the adaptive estimator and --lookup walk traverse the tree itself. */
static bool walks_trees(const photon_state *state) {
    return state->view.final_gather || photon_estimators[state->options.estimator].adaptive ||
           photon_lookups[state->options.lookup].walks;
}

static kd_status maps_from_lists(photon_state *state, const frame *frame,
                                 photon_list lists[PHOTON_LISTS]) {
    if (!frame->device_frame)
        return photon_maps_build_trees(&state->maps, frame->scene, lists, &state->options,
                                       frame->job);
    return photon_cuda_take_lists(&state->device_photons, lists, &state->options,
                                  walks_trees(state), frame->job);
}

static kd_status photon_identify(frame *frame) {
    const char *path = frame->options->photon_map;
    if (!path) return KD_OK;
    return photon_file_read_content(&frame->photon_map_hash, path);
}

/* With batches, each of which replaces the maps of the last one, and with a file nothing is kept.
 */
static kept_maps *kept_for(const frame *frame) {
    const kd_render_options *options = frame->options;
    return options->batches > 1 || options->photon_map || frame->device_frame ? NULL
                                                                              : frame->kept_maps;
}

static bool take_kept(photon_state *state, const frame *frame) {
    return kept_maps_take(&state->maps, &state->made, kept_for(frame), KEPT_MAPS, frame,
                          &state->options);
}

/* Emits the photons, or reads them from the file of --photon-map. */
static kd_status open_maps(photon_state *state, const frame *frame) {
    const photon_options *options = &state->options;
    const char *path = frame->options->photon_map;
    if (!path && frame->device_frame)
        return photon_cuda_make_maps(&state->device_photons, frame, options, walks_trees(state));
    if (!path && take_kept(state, frame)) return KD_OK;
    state->made = *options;
    if (!path) return photon_maps_open(&state->maps, frame->scene, options, frame->job);
    KD_REQUIRE(
        !photon_media_rows[options->media].beams, KD_ERROR_USAGE,
        "%s: a photon map file contains points of media, but --media is beams; set --media points",
        path);
    photon_file file;
    KD_TRY(photon_file_open(&file, path));
    if (file.content != frame->photon_map_hash) {
        photon_file_close(&file);
        KD_FAIL(KD_ERROR_INPUT, "%s: the file was replaced while it was in use; start again", path);
    }
    kd_status status = photon_file_check_scene(&file, path, frame->scene, scene_hash(frame->scene));
    for (int i = 0; i < PHOTON_LISTS && status == KD_OK && frame->options->batches > 1; ++i)
        status = take_share(&file.lists[i], options->pass, (uint32_t)frame->options->batches);
    if (status == KD_OK) status = maps_from_lists(state, frame, file.lists);
    photon_file_close(&file);
    return status;
}

static kd_status view_maps(photon_state *state, frame *frame) {
    const bool pays = precomputation_pays(frame->options, state->maps.global.count);
    if (pays && !state->maps.global.irradiance)
        KD_TRY(photon_maps_precompute(&state->maps, frame->job));
    state->view.global = photon_maps_global(&state->maps);
    if (!pays && !state->taken) state->view.global.irradiance = NULL; /* of maps that are kept */
    state->view.caustic = photon_maps_caustic(&state->maps);
    state->view.media = photon_maps_media(&state->maps);
    state->view.beams = photon_maps_beams(&state->maps);
    state->view.tiles = photon_maps_tiles(&state->maps);
    return KD_OK;
}

static kd_status view_device_maps(photon_state *state, frame *frame) {
    photon_maps_cuda *maps = &state->device_photons.maps;
    const float largest =
        float_max(maps->map[PHOTON_LIST_GLOBAL].radius, maps->map[PHOTON_LIST_CAUSTIC].radius);
    if (largest > 0) KD_TRY(photon_cuda_find_tiles(&state->device_photons, frame, largest));
    if (precomputation_pays(frame->options, maps->map[PHOTON_LIST_GLOBAL].list.count))
        KD_TRY(photon_maps_cuda_precompute(maps, frame->job));
    state->view.global = photon_maps_cuda_view(maps, PHOTON_LIST_GLOBAL);
    state->view.caustic = photon_maps_cuda_view(maps, PHOTON_LIST_CAUSTIC);
    state->view.media = photon_maps_cuda_view(maps, PHOTON_LIST_MEDIA);
    state->view.beams = maps->beams;
    state->view.tiles = maps->tiles;
    return KD_OK;
}

/* Replaces the maps of the previous batch by those of this one. */
static kd_status begin_batch(frame *frame, uint32_t batch) {
    photon_state *state = (photon_state *)frame->state;
    frame->statistics.lookups_bounded += tile_set_lookups_bounded(&state->maps.tiles);
    if (!state->taken) photon_maps_close(&state->maps);
    state->options.pass = batch;
    photon_limit_time(&state->options, frame, batch == 0);
    if (!state->taken) KD_TRY(open_maps(state, frame));
    frame->maps_cut = frame->device_frame ? photon_maps_cuda_cut(&state->device_photons.maps)
                                          : photon_maps_cut(&state->maps);
    KD_TRY(frame->device_frame ? view_device_maps(state, frame) : view_maps(state, frame));
    /* Near a surface, gather rays go on within the radius that an estimate typically has. */
    state->view.near = (photon_estimators[state->options.estimator].one_radius ? 1 : 0.5f) *
                       state->view.global.radius;
    frame->statistics.radius = (double)state->view.near;
    const photon_figures figures = frame->device_frame ? photon_cuda_figures(&state->device_photons)
                                                       : photon_figures_of(&state->maps);
    note_statistics(frame, &figures, batch);
    return KD_OK;
}

/* At most one batch per sample, and at least BATCH_GATHER_MIN photons per estimate. */
static int32_t photon_batches_max(const kd_render_options *options) {
    const int32_t samples = options->spp < BATCHES_MAX ? options->spp : BATCHES_MAX;
    if (photon_estimator_named(options->estimator)->one_radius) return samples;
    const int32_t maximum = options->gather / BATCH_GATHER_MIN;
    return maximum < 1 ? 1 : maximum < samples ? maximum : samples;
}

static void photon_show_light(const frame *frame, light_source *out) {
    const photon_state *state = (const photon_state *)frame->state;
    if (state)
        *out = (light_source){&state->options, &state->maps, &state->device_photons.maps,
                              &state->view, NULL};
}

static void photon_close(frame *closed) {
    photon_state *state = (photon_state *)closed->state;
    if (!state) return;
    photon_cuda_report_figures(&state->device_photons, &closed->statistics);
    closed->statistics.lookups_bounded += tile_set_lookups_bounded(&state->maps.tiles);
    kept_maps_give(kept_for(closed), KEPT_MAPS, closed, &state->made, &state->maps);
    photon_cuda_close(&state->device_photons);
    memory_free(state);
    closed->state = NULL;
}

/* Number of lookups of camera paths into the maps of a batch, for LOOKUP_SAMPLES samples per pixel
   whatever their number is: the error of a map is the same in all samples, and a state can be
   resumed with more of them. */
static double lookups_expected(const kd_render_options *options) {
    enum { LOOKUP_SAMPLES = 8 };
    return (double)options->width * (double)options->height * LOOKUP_SAMPLES /
           (double)options->batches;
}

static kd_status photon_prepare(frame *prepared) {
    kd_status status = KD_OK;
    const kd_render_options *options = prepared->options;
    photon_state *state = NULL;
    KD_TRY(KD_RESERVE_ZEROED(state, 1));
    prepared->state = state;
    KD_TRY_GOTO(photon_read_options(&state->options, options));
    status = options->batches <= photon_batches_max(options)
                 ? KD_OK
                 : status_fail(KD_ERROR_USAGE, __FILE__, __LINE__,
                               "--batches is %d; expected at most %d: one per sample of --spp, and "
                               "one per %d photons of --gather",
                               options->batches, photon_batches_max(options), BATCH_GATHER_MIN);
    if (status != KD_OK) goto done;
    photon_share_options(&state->options, options);
    state->options.comm = prepared->comm;
    state->options.distributed = prepared->distributed;
    state->view.path.max_depth = options->max_depth;
    state->view.path.max_specular = options->max_specular;
    state->view.path.scatterings = INT32_MAX;
    state->view.path.cutouts = integrator_has_cutouts(prepared->scene);
    state->view.final_gather = (uint32_t)options->final_gather;
    /* a preview takes what there is, whatever its camera sees */
    state->taken = prepared->kept_maps && prepared->kept_maps->rough && take_kept(state, prepared);
    if (!options->photon_map && !state->taken)
        KD_TRY_GOTO(pilot_run(&state->options, prepared, lookups_expected(options)));
    if (options->batches == 1) KD_TRY_GOTO(begin_batch(prepared, 0));
    if (options->batches > 1) prepared->begin_batch = begin_batch;
    return KD_OK;
done:
    photon_close(prepared);
    return status;
}

/* Takes the samples of an image tile in one call, so that consecutive lookups are close to each
   other and can start from the result of the last one. */
static void photon_samples(const frame *frame, const pixel_request *request, uint32_t count,
                           pixel_sample *out) {
    const photon_state *state = (const photon_state *)frame->state;
    const pixel_view pixels = integrator_view(frame);
    photon_view view = state->view;
    photon_last last[PHOTON_LISTS];
    view.global = photon_map_followed(&state->view.global, &last[PHOTON_LIST_GLOBAL]);
    view.caustic = photon_map_followed(&state->view.caustic, &last[PHOTON_LIST_CAUSTIC]);
    view.media = photon_map_followed(&state->view.media, &last[PHOTON_LIST_MEDIA]);
    for (uint32_t i = 0; i < count; ++i) {
        const light_parts parts = photon_light_parts(frame, request[i].x, request[i].y);
        view.parts = parts.groups ? &parts : NULL;
        const rng_key key = pixel_key(&pixels, request[i].x, request[i].y, request[i].sample);
        const ray ray = pixel_ray(&pixels, request[i].x, request[i].y, key);
        const path_result result = photon_eye_radiance(frame->scene, &view, ray, key);
        out[i] = pixel_of(&pixels, &ray, &result.first, result.radiance, result.rays);
    }
}

static pixel_sample photon_sample(const frame *frame, int32_t x, int32_t y, uint32_t sample) {
    const pixel_request request = {x, y, sample};
    pixel_sample samples;
    photon_samples(frame, &request, 1, &samples);
    return samples;
}

static kd_status photon_take_distributed(frame *frame, film *film, const distributed_range *range,
                                         struct sample_counts *counts, bool *over) {
    const photon_state *state = (const photon_state *)frame->state;
    return distributed_lookups_take(frame, film, &state->maps, &state->view, range, counts, over);
}

/* Final gather and the adaptive estimator need the photons themselves, not sums over them, which is
   all that ranks exchange; a map file is read whole by every rank. */
static bool photon_can_distribute(const kd_render_options *options) {
    return options->final_gather == 0 && !options->photon_map &&
           !photon_estimator_named(options->estimator)->adaptive;
}

static kd_status photon_launch(const frame *frame, const struct sample_range *range) {
    photon_state *state = (photon_state *)frame->state;
    return photon_cuda_take(&state->device_photons, frame, &state->view, range);
}

bool photon_light_groups(const kd_render_options *options, const scene_view *scene) {
    return options->final_gather == 0 && scene->medium_count == 0 &&
           scene->light_count <= UINT16_MAX + 1u;
}

light_parts photon_light_parts(const frame *frame, int32_t x, int32_t y) {
    const bool opened = frame->groups && frame->groups->sums;
    return (light_parts){opened ? frame->groups : NULL, frame->scene, x, y};
}

uint32_t photon_all_maps(const kd_render_options *options) {
    (void)options;
    return MAPS_ALL;
}

/* Both the precomputation of irradiance and the assignment of samples to batches depend on spp. */
static bool photon_counts_samples(const kd_render_options *options) {
    return (options->final_gather && options->precompute) || options->batches > 1;
}

const integrator integrator_photon = {.name = "photon",
                                      .lens = true,
                                      .source = "Jensen 2001",
                                      .prepare = photon_prepare,
                                      .sample = photon_sample,
                                      .samples = photon_samples,
                                      .close = photon_close,
                                      .launch = photon_launch,
                                      .take_distributed = photon_take_distributed,
                                      .can_distribute = photon_can_distribute,
                                      .identify = photon_identify,
                                      .show_light = photon_show_light,
                                      .maps = photon_all_maps,
                                      .light_groups = photon_light_groups,
                                      .batches_max = photon_batches_max,
                                      .counts_samples = photon_counts_samples};
