/* Vertex connection and merging (vcm.h), and light tracing, its technique splat alone: the passes.
   Idea: a pass traces light paths by chunks of consecutive paths, adds their splats, as integers, to
         the sums, and lists their photons. The lists of all chunks and ranks, in order, are the
         photons of the pass.
   Memory: 24 bytes per pixel for splats, and about 100 per photon (more with ranks): in scenes with
           lenses about one per pixel; on a CUDA device also the wavefronts' (vcm_waves.cuh). */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/status.h"
#include "distributed/ranks/ranks.h"
#include "render/frame/frame.h"
#include "render/integrators/integrators.h"
#include "render/integrators/vcm_device.h"
#include "render/integrators/vcm_eye.h"
#include "render/integrators/vcm_techniques.h"
#include "render/photon_mapping/photon.h"
#include <stdlib.h>

enum { CHUNK = 1 << 10, FOOTPRINTS = 32, VCM_DEPTH_MAX = 255, PHOTON_BYTES = 100 };
enum { LIGHT_PATHS_MAX = 1 << 30 };

typedef struct vcm_chunk {
    vcm_photon *photons;
    uint64_t count, capacity;
    uint64_t rays;
    uint32_t cut; /* splats clamped */
    kd_status status;
} vcm_chunk;

typedef struct vcm_state {
    vcm_view view; /* the first member, which launches read */
    vcm_cuda device;
    emission_target aims[EMISSION_TARGETS];
    uint32_t aim_count;
    bool disperses;
    float first_radius;
    uint32_t first, share; /* this rank's part of the pass's light paths */
    vcm_chunk *chunks;
    uint32_t chunk_count;
    vcm_photon *photons; /* of all ranks, and sorted by cells; on the host */
    vcm_photon *sorted;
    uint32_t *ends;
    float strongest; /* largest channel of a photon's power */
    uint64_t cut;
} vcm_state;

/* --- preparation ------------------------------------------------------------------------------ */

static int compare_floats(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Sets *size to the median size of a pixel on the surfaces that rays through pixels' centres hit;
   to 0 if there are none. */
static kd_status median_footprint(float *size, const frame *frame, const vcm_view *view) {
    float found[FOOTPRINTS * FOOTPRINTS];
    const float pixel = view->viewer.sight.pixel;
    size_t count = 0;
    if (frame->device_frame)
        KD_TRY(vcm_cuda_footprints(found, FOOTPRINTS, view, &frame->device_frame->scene.view));
    for (int32_t i = 0; i < FOOTPRINTS * FOOTPRINTS; ++i) {
        if (!frame->device_frame) {
            const ray ray = vcm_footprint_ray(&view->viewer, FOOTPRINTS, i);
            const ray_hit hit = tritree_closest(&frame->scene->tree, ray);
            found[i] = hit.triangle == KD_NONE ? INFINITY : hit.t;
        }
        if (!(found[i] < INFINITY)) continue;
        found[count++] = view->viewer.pixels.eye.tall > 0 ? pixel : found[i] * pixel;
    }
    qsort(found, count, sizeof *found, compare_floats);
    *size = count ? found[count / 2] : 0;
    return KD_OK;
}

static uint64_t pixels_of(const kd_render_options *options) {
    return (uint64_t)options->width * (uint64_t)options->height;
}

/* `paths`: light paths per pass. */
static void set_view(vcm_state *state, const frame *frame, uint64_t paths) {
    const kd_render_options *options = frame->options;
    const scene_view *scene = frame->scene;
    vcm_view *view = &state->view;
    const pixel_view pixels = integrator_view(frame);
    view->viewer = vcm_viewer_of(&pixels);
    view->path.max_depth = options->max_depth < VCM_DEPTH_MAX ? options->max_depth : VCM_DEPTH_MAX;
    view->path.max_specular = options->max_specular;
    view->path.scatterings = INT32_MAX;
    view->path.cutouts = integrator_has_cutouts(scene);
    view->clamp = options->clamp;
    view->limits.max_depth = view->path.max_depth;
    view->limits.max_specular = options->max_specular;
    view->paths = (uint32_t)(paths < UINT32_MAX ? paths : UINT32_MAX);
    /* 2^20 units: the contribution of one path to a pixel if light were spread evenly over the
       scene. A splat is at most 2^36 units, and a path has at most 64 of them: coarser where more
       than 2^20 paths could overflow a sum. */
    const float diagonal = vec3_length(box3_size(scene->box));
    const float coarser = float_max(1, (float)view->paths * 0x1p-20f);
    view->unit = scene->total_power / (KD_PI * diagonal * diagonal) * (float)pixels_of(options) *
                 0x1p-20f * coarser;
    if (!(view->unit > 0)) view->unit = 1;
}

static void free_photons(vcm_state *state) {
    memory_free(state->photons);
    memory_free(state->sorted);
    memory_free(state->ends);
    state->photons = state->sorted = NULL;
    state->ends = NULL;
    state->view.grid.count = 0;
}

static void vcm_close(frame *closed) {
    vcm_state *state = (vcm_state *)closed->state;
    if (!state) return;
    if (state->cut)
        log_message(LOG_WARNING,
                    "%llu splats very near to the camera were clamped to the range of the sums",
                    (unsigned long long)state->cut);
    for (uint32_t i = 0; state->chunks && i < state->chunk_count; ++i)
        memory_free(state->chunks[i].photons);
    memory_free(state->chunks);
    if (state->device.counts)
        vcm_cuda_close(&state->device);
    else
        memory_free(state->view.sums);
    free_photons(state);
    memory_free(state);
    closed->state = NULL;
}

static kd_status reserve_sums(vcm_state *state, const frame *frame) {
    const uint64_t sums = vcm_sums(&state->view);
    if (!frame->device_frame) return KD_RESERVE_ZEROED(state->view.sums, sums);
    KD_TRY(vcm_cuda_open(&state->device, sums));
    state->view.sums = state->device.sums;
    return KD_OK;
}

/* `techniques`, `shown`: TECHNIQUE_EYE and so on. */
static kd_status prepare(frame *prepared, int32_t techniques, int32_t shown, uint64_t paths) {
    const kd_render_options *options = prepared->options;
    const scene_view *scene = prepared->scene;
    kd_status status = KD_OK;
    vcm_state *state = NULL;
    KD_TRY(KD_RESERVE_ZEROED(state, 1));
    prepared->state = state;
    set_view(state, prepared, paths);
    vcm_set_techniques(&state->view, techniques, shown, scene);
    state->disperses = vcm_scene_disperses(scene);
    state->view.apart = state->disperses && !state->view.merge;
    state->first_radius = options->radius;
    if (state->view.merge && !(options->radius > 0))
        KD_TRY_GOTO(median_footprint(&state->first_radius, prepared, &state->view));
    uint64_t begin, end;
    ranks_part(prepared->comm, prepared->comm ? prepared->comm->rank : 0,
               state->view.traces_light ? state->view.paths : 0, &begin, &end);
    state->first = (uint32_t)begin;
    state->share = (uint32_t)(end - begin);
    state->chunk_count = prepared->device_frame ? 1 : (state->share + CHUNK - 1) / CHUNK;
    KD_TRY_GOTO(reserve_sums(state, prepared));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(state->chunks, state->chunk_count));
    if (state->view.needs_light)
        KD_TRY_GOTO(vcm_aim(state->aims, &state->aim_count, &state->view, scene));
    if (state->view.traces_light)
        KD_TRY_GOTO(vcm_guide_find(&state->view, state->aims, &state->aim_count, prepared));
done:
    if (status != KD_OK) vcm_close(prepared);
    return status;
}

static kd_status vcm_prepare(frame *prepared) {
    const int32_t techniques = techniques_named(prepared->options->techniques);
    const int32_t shown = techniques_named(prepared->options->show_techniques);
    vcm_report_techniques(techniques, shown, prepared->scene);
    return prepare(prepared, techniques, shown, pixels_of(prepared->options));
}

static kd_status light_prepare(frame *prepared) {
    const uint64_t paths = prepared->options->photons;
    KD_REQUIRE(paths >= 1 && paths <= LIGHT_PATHS_MAX, KD_ERROR_USAGE,
               "--photons is %llu; light tracing supports 1 to %d per pass; raise --passes",
               (unsigned long long)paths, LIGHT_PATHS_MAX);
    return prepare(prepared, TECHNIQUE_SPLAT, TECHNIQUE_SPLAT | TECHNIQUE_EYE, paths);
}

/* --- light paths ------------------------------------------------------------------------------ */

static kd_status list_photon(vcm_chunk *to, const vcm_photon *landed) {
    if (to->count == to->capacity) {
        const uint64_t capacity = to->capacity ? 2 * to->capacity : CHUNK / 4;
        KD_TRY(KD_GROW(to->photons, to->count, capacity));
        to->capacity = capacity;
    }
    to->photons[to->count++] = *landed;
    return KD_OK;
}

static void add_splat(const vcm_view *view, const scene_view *scene, const vcm_splat *splat,
                      vcm_chunk *to) {
    vec3 radiance;
    uint32_t rays = 0;
    const vec3 visible = vcm_splat_visible(scene, splat, view->path.cutouts, &rays);
    to->rays += rays;
    if (!vcm_splat_light(splat, visible, &radiance)) return;
    int64_t *sum = view->sums + 3 * ((int64_t)splat->y * view->viewer.pixels.width + splat->x);
    const float value[3] = {radiance.x, radiance.y, radiance.z};
    for (int c = 0; c < 3; ++c)
        __atomic_fetch_add(sum + c, light_splat_units(value[c], view->unit, &to->cut),
                           __ATOMIC_RELAXED);
}

static void trace_path(const vcm_view *view, const scene_view *scene, uint64_t number,
                       vcm_chunk *to) {
    vcm_light_path path = vcm_light_begin(view, scene, number);
    vcm_splat splat;
    vcm_photon landed;
    bool goes_on = !light_path_is_over(&view->limits, &path.base);
    while (goes_on && vcm_light_next(view, scene, &path)) {
        if (view->shows_splat && vcm_light_connect(view, scene, &path, &splat))
            add_splat(view, scene, &splat, to);
        if (to->status == KD_OK && vcm_light_photon(view, scene, &path, &landed))
            to->status = list_photon(to, &landed);
        goes_on = vcm_light_go_on(view, scene, &path);
    }
    to->rays += path.base.rays;
}

typedef struct vcm_work {
    vcm_state *state;
    const scene_view *scene;
} vcm_work;

static void trace_chunks(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const vcm_work *work = (const vcm_work *)context;
    const vcm_state *state = work->state;
    for (int64_t c = begin; c < end; ++c) {
        vcm_chunk *to = state->chunks + c;
        const uint32_t last = state->share - (uint32_t)c * CHUNK;
        to->count = to->rays = 0;
        to->cut = 0;
        to->status = KD_OK;
        for (uint32_t i = 0; i < CHUNK && i < last; ++i)
            trace_path(&state->view, work->scene, (uint64_t)state->first + (uint64_t)c * CHUNK + i,
                       to);
        if (to->status != KD_OK || to->count == to->capacity || to->count == 0) continue;
        to->status = KD_GROW(to->photons, to->count, to->count); /* free the rest */
        to->capacity = to->count;
    }
}

/* Traces the rank's light paths on the device, as a single chunk. The photons of a single process
   stay there. */
static kd_status trace_on_device(vcm_state *state, const frame *frame) {
    vcm_chunk *to = state->chunks;
    vcm_counts counts;
    KD_TRY(
        vcm_cuda_trace(&state->device, frame, &state->view, state->first, state->share, &counts));
    to->count = counts.photons;
    to->rays = counts.samples.rays;
    to->cut = (uint32_t)counts.cut;
    state->strongest = float_from_bits(counts.strongest);
    if (!ranks_shared(frame->comm) || to->count == 0) return KD_OK;
    memory_free(to->photons);
    to->photons = NULL;
    KD_TRY(KD_RESERVE(to->photons, to->count));
    return vcm_cuda_fetch(&state->device, to->photons, to->count);
}

static kd_status trace_on_host(vcm_state *state, const frame *frame) {
    vcm_work work = {state, frame->scene};
    if (state->view.shows_splat)
        memset(state->view.sums, 0, vcm_sums(&state->view) * sizeof *state->view.sums);
    parallel_for(state->chunk_count, 1, trace_chunks, &work);
    return KD_OK; /* chunks have their own status */
}

/* Adds the splats of all ranks, and sets counts->photons to the number of this rank's photons,
 *begins to the places of all ranks' photons (one more than ranks). `status`: of tracing. */
static kd_status add_ranks(const frame *frame, vcm_state *state, kd_status status,
                           vcm_counts *counts, uint64_t **begins) {
    const uint64_t size = ranks_shared(frame->comm) ? (uint64_t)frame->comm->size : 1;
    uint64_t *all = NULL;
    for (uint32_t c = 0; c < state->chunk_count && status == KD_OK; ++c) {
        status = state->chunks[c].status;
        counts->photons += state->chunks[c].count;
        counts->samples.rays += state->chunks[c].rays;
        counts->cut += state->chunks[c].cut;
    }
    if (status == KD_OK) status = KD_RESERVE_ZEROED(*begins, size + 1);
    if (status == KD_OK) status = KD_RESERVE_ZEROED(all, 3 * size);
    const uint64_t own[3] = {counts->photons, counts->samples.rays, counts->cut};
    if (size > 1)
        status = ranks_agree_on(frame->comm, status, own, 3, all);
    else if (status == KD_OK)
        memcpy(all, own, sizeof own);
    if (status == KD_OK) {
        counts->samples.rays = counts->cut = 0;
        for (uint64_t r = 0; r < size; ++r) {
            (*begins)[r + 1] = (*begins)[r] + all[3 * r];
            counts->samples.rays += all[3 * r + 1];
            counts->cut += all[3 * r + 2];
        }
    }
    memory_free(all);
    KD_TRY(status);
    if (size == 1 || !state->view.shows_splat) return KD_OK;
    const uint64_t sums = vcm_sums(&state->view);
    return frame->device_frame ? ranks_device_sum(frame->comm, state->view.sums, sums)
                               : ranks_all_sum(frame->comm, state->view.sums, sums);
}

/* Fills `all` with the photons of all ranks. */
static kd_status join_photons(const frame *frame, const vcm_state *state, uint64_t *begins,
                              vcm_photon *all) {
    uint64_t at = begins[frame->comm->rank];
    for (uint32_t c = 0; c < state->chunk_count; ++c) {
        memcpy(all + at, state->chunks[c].photons, state->chunks[c].count * sizeof *all);
        at += state->chunks[c].count;
    }
    for (int32_t r = 0; r <= frame->comm->size; ++r) begins[r] *= sizeof *all;
    return ranks_all_gather(frame->comm, all, begins);
}

/* Sorts the photons of all parts by the buckets of their cells. */
static kd_status build_grid(vcm_state *state, const vcm_chunk *parts, uint32_t part_count,
                            uint64_t count) {
    vcm_grid grid = vcm_grid_make(count, state->view.radius);
    uint32_t begin = 0;
    KD_TRY(KD_RESERVE_ZEROED(state->ends, (uint64_t)grid.mask + 1));
    KD_TRY(KD_RESERVE(state->sorted, count));
    state->strongest = 0;
    for (uint32_t p = 0; p < part_count; ++p)
        for (uint64_t i = 0; i < parts[p].count; ++i) {
            const vcm_photon *one = parts[p].photons + i;
            ++state->ends[vcm_grid_bucket(&grid, one->place)];
            state->strongest = float_max(state->strongest, vec3_largest(one->power));
        }
    for (uint64_t bucket = 0; bucket <= grid.mask; ++bucket) {
        const uint32_t held = state->ends[bucket];
        state->ends[bucket] = begin;
        begin += held;
    }
    for (uint32_t p = 0; p < part_count; ++p)
        for (uint64_t i = 0; i < parts[p].count; ++i) {
            const vcm_photon *one = parts[p].photons + i;
            state->sorted[state->ends[vcm_grid_bucket(&grid, one->place)]++] = *one;
        }
    grid.photons = state->sorted;
    grid.ends = state->ends;
    state->view.grid = grid;
    return KD_OK;
}

/* Joins the photons of all ranks. */
static kd_status gather_photons(vcm_state *state, const frame *frame, uint64_t *begins,
                                uint64_t count) {
    kd_status status = ranks_agree(frame->comm, KD_RESERVE(state->photons, count));
    if (status == KD_OK) status = join_photons(frame, state, begins, state->photons);
    state->strongest = 0;
    for (uint64_t i = 0; status == KD_OK && i < count; ++i)
        state->strongest = float_max(state->strongest, vec3_largest(state->photons[i].power));
    return status;
}

static kd_status make_photons(vcm_state *state, const frame *frame, uint64_t *begins) {
    const bool shared = ranks_shared(frame->comm), on_device = frame->device_frame != NULL;
    const uint64_t count = begins[shared ? frame->comm->size : 1];
    kd_status status = KD_OK;
    free_photons(state);
    if (count == 0) return KD_OK;
    KD_REQUIRE(count <= VCM_PHOTONS_MAX, KD_ERROR_USAGE,
               "%llu photons of a pass of vcm exceed the limit of 2^31: decrease --resolution",
               (unsigned long long)count);
    job_stage_begin(frame->job, "photon_tree", (int64_t)count);
    if (shared) status = gather_photons(state, frame, begins, count);
    const vcm_chunk joined = {.photons = state->photons, .count = count};
    if (status == KD_OK)
        status = on_device ? vcm_cuda_build(&state->device, state->photons, count, &state->view)
                 : shared  ? build_grid(state, &joined, 1, count)
                           : build_grid(state, state->chunks, state->chunk_count, count);
    job_stage_end(frame->job);
    state->view.scale = flux_scale(state->strongest);
    return status;
}

/* --- passes ----------------------------------------------------------------------------------- */

static void begin_pass(vcm_state *state, const frame *frame, uint32_t pass) {
    const scene_view *scene = frame->scene;
    const uint64_t seed = frame->options->seed;
    vcm_view *view = &state->view;
    view->emission = photon_emission_make(seed, pass, box3_centre(scene->box),
                                          0.5f * vec3_length(box3_size(scene->box)), false);
    vcm_aim_emission(view, state->aims, state->aim_count);
    view->radius = (float)((double)state->first_radius *
                           progressive_radius_share(pass, (double)frame->options->alpha));
    view->merges = view->merge ? KD_PI * view->radius * view->radius * (float)view->paths : 0;
    view->merges_in = view->merges * (4.0f / 3) * view->radius;
    if (!state->disperses) return;
    view->wavelength = vcm_pass_wavelength(seed, pass);
    view->tint = spectrum_colour(view->wavelength, vec3_all(1));
}

static kd_status vcm_pass(frame *frame, uint32_t pass) {
    vcm_state *state = (vcm_state *)frame->state;
    vcm_counts counts = {{0, 0}, 0, 0, 0};
    uint64_t *begins = NULL;
    begin_pass(state, frame, pass);
    if (!state->view.traces_light) return KD_OK;
    job_stage_begin(frame->job, "emit", state->view.paths);
    const kd_status traced =
        frame->device_frame ? trace_on_device(state, frame) : trace_on_host(state, frame);
    kd_status status = add_ranks(frame, state, traced, &counts, &begins);
    job_stage_end(frame->job);
    if (status == KD_OK) status = make_photons(state, frame, begins);
    memory_free(begins);
    KD_TRY(status);
    /* a resumed pass is already in the statistics */
    if (pass < (uint32_t)frame->carried[0]) return KD_OK;
    frame->carried[0] = pass + 1;
    state->cut += counts.cut;
    frame->statistics.photon_rays += counts.samples.rays;
    frame->statistics.photons_emitted += state->view.paths;
    frame->statistics.caustics_stored += state->view.grid.count;
    if (state->view.merge) frame->statistics.radius = (double)state->view.radius;
    return KD_OK;
}

static pixel_sample vcm_sample(const frame *frame, int32_t x, int32_t y, uint32_t sample) {
    const pixel_view pixels = integrator_view(frame);
    return vcm_pixel(&((const vcm_state *)frame->state)->view, &pixels, x, y, sample);
}

static vec3 vcm_splats(const frame *frame, int32_t x, int32_t y, uint32_t sample) {
    const pixel_view pixels = integrator_view(frame);
    return vcm_splats_of(&((const vcm_state *)frame->state)->view, &pixels, x, y,
                         pixel_key(&pixels, x, y, sample));
}

static void vcm_show_light(const frame *frame, light_source *out) {
    const vcm_state *state = (const vcm_state *)frame->state;
    if (state && state->view.needs_light) out->vcm = &state->view;
}

static uint64_t vcm_bytes(const kd_render_options *options) {
    return pixels_of(options) * (3 * sizeof(int64_t) + PHOTON_BYTES);
}

static uint64_t vcm_launch_bytes(const scene_view *scene, const kd_render_options *options) {
    return waves_launch_bytes(options, 1, vcm_wave_paths(options),
                              waves_path_bytes(waves_are_general(scene)));
}

static uint64_t light_bytes(const kd_render_options *options) {
    return pixels_of(options) * 3 * sizeof(int64_t);
}

/* Light paths and eye paths use the same memory, one after the other. */
static uint64_t light_launch_bytes(const scene_view *scene, const kd_render_options *options) {
    const uint64_t eye = vcm_launch_bytes(scene, options), flying = vcm_wave_paths(options);
    const uint64_t paths = options->photons < flying ? options->photons : flying;
    const uint64_t light = waves_launch_bytes(options, 0, 0, 0) + paths * VCM_LIGHT_BYTES;
    return light > eye ? light : eye;
}

const integrator integrator_vcm = {.name = "vcm",
                                   .lens = true,
                                   .source = "Georgiev et al. 2012; Hachisuka et al. 2012",
                                   .prepare = vcm_prepare,
                                   .sample = vcm_sample,
                                   .splats = vcm_splats,
                                   .close = vcm_close,
                                   .pass = vcm_pass,
                                   .launch = KD_IF_CUDA(vcm_launch),
                                   .launch_bytes = vcm_launch_bytes,
                                   .passes_are_samples = true,
                                   .show_light = vcm_show_light,
                                   .depth_probe = &integrator_path,
                                   .state_bytes = vcm_bytes};

const integrator integrator_light = {.name = "light",
                                     .source = "Dutre, Lafortune and Willems 1993",
                                     .omits = OMITS_SPECULAR,
                                     .prepare = light_prepare,
                                     .sample = vcm_sample,
                                     .splats = vcm_splats,
                                     .close = vcm_close,
                                     .pass = vcm_pass,
                                     .launch = KD_IF_CUDA(vcm_launch),
                                     .launch_bytes = light_launch_bytes,
                                     .show_light = vcm_show_light,
                                     .depth_probe = &integrator_path,
                                     .state_bytes = light_bytes};
