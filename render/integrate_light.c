/* Light tracing: paths from the lamps, each of their surfaces connected to the eye.
   Source: Dutre, Lafortune and Willems 1993, "Monte Carlo light tracing with direct computation of
           pixel intensities".
   Idea: a pass traces --photons paths and adds what they send to the eye into pixels as 64-bit
         fixed point numbers: integers add up to the same in any order, so that pictures are the
         same bits on any number of threads. What lamps send straight to the eye comes by a camera
         ray. Caustics are sharp; a mirror shows nothing but lamps, since no path of light hits a
         pinhole through it.
   Memory: 24 bytes a pixel.
   Invariants: no overflow: a splat is at most 2^36 units, a pass has at most 2^20 paths of at most
   64 surfaces. Larger splats (of a surface nearer than about 1/256 of the scene's size) are cut to
         that, counted and reported. */
#include "core/log.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "render/integrators.h"
#include "shaders/light_path.h"
#include <stdatomic.h>

enum { PATHS_MOST = 1 << 20, PATH_GRAIN = 1 << 10, LIGHT_DEPTH_MOST = 64 };
#define SPLAT_LIMIT 0x1p36f

typedef struct light_state {
    const scene_view *scene;
    light_eye eye;
    photon_emission emission;
    path_options straight; /* from the eye to the lamps */
    atomic_llong *sums;    /* 3 per pixel, in units */
    float unit;            /* W/(sr m^2) */
    uint32_t paths;        /* a pass */
    atomic_ullong rays, cut;
} light_state;

kd_status light_prepare(frame *prepared) {
    const kd_render_options *options = prepared->options;
    const scene_view *scene = prepared->scene;
    const uint64_t pixels = (uint64_t)options->width * (uint64_t)options->height;
    light_state *state = NULL;
    KD_REQUIRE(options->photons >= 1 && options->photons <= PATHS_MOST, KD_ERROR_USAGE,
               "%llu photons a pass, expected 1 to %d for light tracing: give more passes instead",
               (unsigned long long)options->photons, PATHS_MOST);
    KD_REQUIRE(options->passes >= 1, KD_ERROR_USAGE, "%d passes, expected at least 1",
               options->passes);
    KD_REQUIRE(!(prepared->view.lens_radius > 0), KD_ERROR_USAGE,
               "light tracing sees through a pinhole only: this camera has a lens of radius %g",
               (double)prepared->view.lens_radius);
    KD_TRY(KD_RESERVE_ZEROED(state, 1));
    void *sums = NULL;
    const kd_status status = memory_reserve_zeroed(&sums, 3 * pixels, sizeof *state->sums);
    if (status != KD_OK) {
        memory_free(state);
        return status_pass(status, __FILE__, __LINE__, "memory_reserve_zeroed");
    }
    state->sums = (atomic_llong *)sums;
    const float diagonal = vec3_length(box3_size(scene->box));
    state->scene = scene;
    state->eye.view = prepared->view;
    state->eye.width = options->width;
    state->eye.height = options->height;
    state->eye.max_depth =
        options->max_depth < LIGHT_DEPTH_MOST ? options->max_depth : LIGHT_DEPTH_MOST;
    state->eye.cutouts = integrator_has_cutouts(scene);
    state->straight.max_depth = state->straight.scatterings = 1;
    state->straight.cutouts = state->eye.cutouts;
    /* 2^20 units are what one path sends to a pixel if light is spread evenly over the scene */
    state->unit = scene->total_power / (KD_PI * diagonal * diagonal) * (float)pixels * 0x1p-20f;
    state->paths = (uint32_t)options->photons;
    prepared->state = state;
    return KD_OK;
}

void light_close(frame *closed) {
    light_state *state = (light_state *)closed->state;
    if (!state) return;
    if (atomic_load(&state->cut))
        log_message(LOG_WARNING, "%llu splats very near to the camera are cut to what a sum holds",
                    (unsigned long long)atomic_load(&state->cut));
    memory_free(state->sums);
    memory_free(state);
    closed->state = NULL;
}

static void add_splat(light_state *state, const light_splat *splat) {
    const int64_t pixel = (int64_t)splat->y * state->eye.width + splat->x;
    const float value[3] = {splat->radiance.x, splat->radiance.y, splat->radiance.z};
    for (int c = 0; c < 3; ++c) {
        float units = value[c] / state->unit;
        if (units > SPLAT_LIMIT) {
            units = SPLAT_LIMIT;
            atomic_fetch_add(&state->cut, 1);
        }
        atomic_fetch_add(state->sums + 3 * pixel + c, llrintf(units));
    }
}

static void trace_paths(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    light_state *state = (light_state *)context;
    uint64_t rays = 0;
    for (int64_t i = begin; i < end; ++i) {
        light_path path = light_path_begin(state->scene, &state->emission, (uint64_t)i);
        light_splat splat;
        while (light_path_next(state->scene, &state->eye, &path))
            if (light_path_splat(state->scene, &state->eye, &path, &splat))
                add_splat(state, &splat);
        rays += path.rays;
    }
    atomic_fetch_add(&state->rays, rays);
}

kd_status light_pass(frame *of, uint32_t pass) {
    light_state *state = (light_state *)of->state;
    const scene_view *scene = of->scene;
    const int64_t sums = 3 * (int64_t)state->eye.width * state->eye.height;
    for (int64_t i = 0; i < sums; ++i) atomic_store(state->sums + i, 0);
    if (scene->light_count == 0 || !(state->unit > 0)) return KD_OK;
    state->emission = photon_emission_make(of->options->seed, pass, box3_centre(scene->box),
                                           0.5f * vec3_length(box3_size(scene->box)), false);
    job_stage_begin(of->watched, "emit", state->paths);
    parallel_for(state->paths, PATH_GRAIN, trace_paths, state);
    job_stage_end(of->watched);
    const uint64_t rays = atomic_exchange(&state->rays, 0);
    if (pass < (uint32_t)of->carried[0]) return KD_OK; /* begun before: counted before */
    of->carried[0] = pass + 1;
    of->statistics.photon_rays += rays;
    of->statistics.photons_emitted += state->paths;
    return KD_OK;
}

pixel_sample light_sample_pixel(const frame *of, int32_t x, int32_t y, uint32_t sample) {
    light_state *state = (light_state *)of->state;
    const rng_key key = integrator_key(of, x, y, sample);
    const ray cast = integrator_camera_ray(of, x, y, key);
    const path_result found = path_radiance(of->scene, &state->straight, cast, key);
    atomic_llong *sums = state->sums + 3 * ((int64_t)y * state->eye.width + x);
    const double weight = (double)state->unit / state->paths;
    const vec3 splats = vec3_make((float)((double)atomic_load(sums) * weight),
                                  (float)((double)atomic_load(sums + 1) * weight),
                                  (float)((double)atomic_load(sums + 2) * weight));
    return integrator_pixel(of, &cast, &found.first, vec3_add(found.radiance, splats), found.rays);
}
