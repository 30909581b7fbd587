/* Light tracing: paths from the light sources, each vertex connected to the camera.
   Source: Dutre, Lafortune and Willems 1993, "Monte Carlo light tracing with direct computation of
           pixel intensities".
   Idea: a pass traces --photons paths and adds their contributions to pixels as 64-bit fixed-point
         numbers. Integer sums do not depend on the order, so images have the same bits for any
         number of threads. Light sources seen directly are added by camera rays. Caustics are
         sharp; a mirror shows light sources only, since no light path can hit a pinhole by
         specular reflection.
   Memory: 24 bytes per pixel.
   Invariants: no overflow: a splat is at most 2^36 units, and a pass has at most 2^20 paths of at
               most 64 surfaces. Larger splats, from surfaces closer than about 1/256 of the
               scene's size, are clamped, counted and reported. */
#include "render/integrators/light.h"
#include "core/device/device_memory.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/status.h"
#include "distributed/ranks/ranks.h"
#include "render/frame/frame.h"
#include "render/integrators/integrators.h"

enum { PATHS_MAX = 1 << 20, PATH_GRAIN = 1 << 10, LIGHT_DEPTH_MAX = 255 };

/* Used for frames on a device only, so never NULL when used. */
static const light_device *const on_device = KD_IF_CUDA(&light_on_device);

typedef struct light_work {
    light_state *state;
    const scene_view *scene;
} light_work;

static kd_status light_prepare(frame *prepared) {
    const kd_render_options *options = prepared->options;
    const scene_view *scene = prepared->scene;
    const uint64_t pixels = (uint64_t)options->width * (uint64_t)options->height;
    light_state *state = NULL;
    KD_REQUIRE(
        options->photons >= 1 && options->photons <= PATHS_MAX, KD_ERROR_USAGE,
        "--photons is %llu; light tracing supports 1 to %d per pass: increase --passes instead",
        (unsigned long long)options->photons, PATHS_MAX);
    KD_REQUIRE(options->passes >= 1, KD_ERROR_USAGE, "--passes is %d; expected at least 1",
               options->passes);
    KD_REQUIRE(!(prepared->view.tall > 0), KD_ERROR_USAGE,
               "light tracing does not support orthographic cameras; use another integrator, such "
               "as path");
    KD_REQUIRE(!(prepared->view.lens_radius > 0), KD_ERROR_USAGE,
               "light tracing supports only pinhole cameras, but the lens radius is %g; set it to "
               "0, or use another integrator",
               (double)prepared->view.lens_radius);
    for (uint32_t i = 0; i < scene->material_count; ++i)
        KD_REQUIRE(
            !(scene->materials[i].flags & MATERIAL_HIDDEN), KD_ERROR_USAGE,
            "light tracing does not support `camera_visible`: false; choose another integrator");
    KD_TRY(KD_RESERVE_ZEROED(state, 1));
    const kd_status status = prepared->device_frame ? on_device->place(state, 3 * pixels)
                                                    : KD_RESERVE_ZEROED(state->sums, 3 * pixels);
    if (status != KD_OK) {
        memory_free(state);
        return status_pass(status, __FILE__, __LINE__, "sums of splats");
    }
    const float diagonal = vec3_length(box3_size(scene->box));
    state->eye.view = prepared->view;
    state->eye.width = options->width;
    state->eye.height = options->height;
    state->eye.max_depth =
        options->max_depth < LIGHT_DEPTH_MAX ? options->max_depth : LIGHT_DEPTH_MAX;
    state->eye.max_specular = options->max_specular;
    state->eye.cutouts = integrator_has_cutouts(scene);
    state->straight.max_depth = state->straight.scatterings = 1;
    state->straight.cutouts = state->eye.cutouts;
    /* 2^20 units: the contribution of one path to a pixel if light were spread evenly over the
       scene */
    state->unit = scene->total_power / (KD_PI * diagonal * diagonal) * (float)pixels * 0x1p-20f;
    state->paths = (uint32_t)options->photons;
    prepared->state = state;
    return KD_OK;
}

static void light_close(frame *closed) {
    light_state *state = (light_state *)closed->state;
    if (!state) return;
    if (state->counts.cut)
        log_message(LOG_WARNING,
                    "%llu splats very near to the camera were clamped to the range of the sums",
                    (unsigned long long)state->counts.cut);
    if (state->device_counts)
        on_device->leave(state);
    else
        memory_free(state->sums);
    memory_free(state);
    closed->state = NULL;
}

static void add_splat(const light_state *state, const light_splat *splat, uint32_t *cut) {
    const int64_t pixel = (int64_t)splat->y * state->eye.width + splat->x;
    const float value[3] = {splat->radiance.x, splat->radiance.y, splat->radiance.z};
    for (int c = 0; c < 3; ++c)
        __atomic_fetch_add(state->sums + 3 * pixel + c,
                           light_splat_units(value[c], state->unit, cut), __ATOMIC_RELAXED);
}

static void trace_paths(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const light_work *work = (const light_work *)context;
    light_state *state = work->state;
    uint64_t rays = 0;
    uint32_t cut = 0;
    for (int64_t i = begin; i < end; ++i) {
        const uint64_t number = state->first + (uint64_t)i;
        light_path path = light_path_begin(work->scene, &state->emission, number);
        light_splat splat;
        while (light_path_next(work->scene, &state->eye, &path))
            if (light_path_splat(work->scene, &state->eye, &path, &splat))
                add_splat(state, &splat, &cut);
        rays += path.rays;
    }
    __atomic_fetch_add(&state->counts.rays, rays, __ATOMIC_RELAXED);
    __atomic_fetch_add(&state->counts.cut, cut, __ATOMIC_RELAXED);
}

static kd_status trace_pass(frame *frame, light_state *state) {
    if (frame->device_frame) return on_device->trace(state, &frame->device_frame->scene.view);
    light_work work = {state, frame->scene};
    memset(state->sums, 0,
           3 * (size_t)state->eye.width * (size_t)state->eye.height * sizeof *state->sums);
    parallel_for(state->share, PATH_GRAIN, trace_paths, &work);
    return KD_OK;
}

/* Adds the splats of all ranks; as integers, they have the same sums as on a single rank. */
static kd_status add_ranks(const frame *frame, light_state *state) {
    int64_t counts[2] = {(int64_t)state->counts.rays, (int64_t)state->counts.cut};
    const uint64_t count = 3 * (uint64_t)state->eye.width * (uint64_t)state->eye.height;
    if (!ranks_shared(frame->comm)) return KD_OK;
    KD_TRY(frame->device_frame ? ranks_device_sum(frame->comm, state->sums, count)
                               : ranks_all_sum(frame->comm, state->sums, count));
    KD_TRY(ranks_all_sum(frame->comm, counts, 2));
    state->counts.rays = (uint64_t)counts[0];
    state->counts.cut = (uint64_t)counts[1];
    return KD_OK;
}

static kd_status light_pass(frame *frame, uint32_t pass) {
    light_state *state = (light_state *)frame->state;
    const scene_view *scene = frame->scene;
    const bool dark = scene->light_count == 0 || !(state->unit > 0);
    if (dark) state->paths = 0;
    state->emission = photon_emission_make(frame->options->seed, pass, box3_centre(scene->box),
                                           0.5f * vec3_length(box3_size(scene->box)), false);
    uint64_t begin, end, cut = state->counts.cut;
    ranks_part(frame->comm, frame->comm ? frame->comm->rank : 0, state->paths, &begin, &end);
    state->first = (uint32_t)begin;
    state->share = (uint32_t)(end - begin);
    state->counts.cut = 0;
    job_stage_begin(frame->job, "emit", state->paths);
    kd_status status = trace_pass(frame, state);
    if (status == KD_OK) status = add_ranks(frame, state);
    job_stage_end(frame->job);
    KD_TRY(status);
    state->counts.cut += cut;
    const uint64_t rays = state->counts.rays;
    state->counts.rays = 0;
    /* a resumed pass is already in the statistics */
    if (dark || pass < (uint32_t)frame->carried[0]) return KD_OK;
    frame->carried[0] = pass + 1;
    frame->statistics.photon_rays += rays;
    frame->statistics.photons_emitted += state->paths;
    return KD_OK;
}

light_pixels light_state_pixels(const light_state *state) {
    light_pixels pixels;
    pixels.straight = state->straight;
    pixels.sums = state->sums;
    pixels.weight = state->paths ? (double)state->unit / state->paths : 0;
    return pixels;
}

static pixel_sample light_sample_pixel(const frame *frame, int32_t x, int32_t y, uint32_t sample) {
    const pixel_view view = integrator_view(frame);
    const light_pixels pixels = light_state_pixels((const light_state *)frame->state);
    return light_pixel(&view, &pixels, x, y, sample);
}

static uint64_t sums_bytes(const kd_render_options *options) {
    return 3 * (uint64_t)options->width * (uint64_t)options->height * sizeof(int64_t);
}

const integrator integrator_light = {.name = "light",
                                     .source = "Dutre, Lafortune and Willems 1993",
                                     .omits = OMITS_SPECULAR | OMITS_SKY,
                                     .depth_probe = &integrator_path,
                                     .box_alone = true,
                                     .prepare = light_prepare,
                                     .sample = light_sample_pixel,
                                     .close = light_close,
                                     .pass = light_pass,
                                     .launch = KD_IF_CUDA(light_launch),
                                     .state_bytes = sums_bytes};
