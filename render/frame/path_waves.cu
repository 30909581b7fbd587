/* Path tracing as wavefronts on a CUDA device.
   Source: Laine, Karras, Aila 2013, "Megakernels considered harmful: wavefront path tracing on
           GPUs".
   Idea: a pool of paths. A wavefront advances each path by one surface, in these steps: new paths
         fill the pool, closest hits are traced, paths are listed by the kind of surface, three
         kernels shade diffuse surfaces, plastic and all others, and shadow rays are traced and
         their contributions added. Kernels read the amount of work from the wavefront's record;
         their grids have the size that the device can hold. So the host launches ahead, and checks
         only after every fourth wavefront. When all samples have been started and few paths are
         left, these are completed by one thread each. If the film has to be saved or shown, no more
         paths are started, and the launch ends in the same way.
   Memory: see path_store.cuh.
   Invariants: the film has the bits of path_pixel, sample by sample: the same functions are called
               in the same order for each path, and each sample has its own sum. */
#include "render/frame/frame.h"
#include "render/frame/path_run.cuh"
#include "render/frame/path_shade.cuh"
#include "render/frame/path_store.cuh"
#include "render/frame/take_samples.cuh"
#include "render/frame/waves.h"

namespace {

/* --- completion of the last few paths, and the film ------------------------------------------- */

enum {
    WAVE_FEW = 1 << 14, /* wavefronts of fewer paths are not worth a launch: one of 100 paths takes
                           as long as one of this many */
    FINISH_BLOCK = 32,
    FINISH_EACH = 8,
    FILM_BLOCK = 128
};

/* Traces the last few paths to their ends, one thread each.
   Data flow: reads the paths of the wavefront; adds to radiance, first surfaces, counts. */
__global__ __launch_bounds__(FINISH_BLOCK,
                             FINISH_EACH) void wave_finish(const __grid_constant__ scene_view scene,
                                                           const __grid_constant__ path_waves w,
                                                           uint32_t wave) {
    const uint32_t count = wave_at(w, wave)->rays;
    uint32_t rays = 0;
    for (uint32_t i = blockIdx.x * FINISH_BLOCK + threadIdx.x; i < count;
         i += gridDim.x * FINISH_BLOCK) {
        wave_path p = load_path(w.stores[wave % 2], i);
        if (p.slot == KD_NONE) continue;
        const ray first = p.state.ray;
        const rng_key key = key_of_slot(w, place_of_slot(w, p.slot));
        path_result result;
        result.radiance = first_three(w.radiance[p.slot]);
        result.first.triangle = KD_NONE;
        result.rays = 0;
        p.state.flies = scene.medium_count != 0;
        path_follow(&scene, SCENE_TREE, &w.options, &p.state, (int32_t)p.depth, key, &result);
        w.radiance[p.slot] = with_fourth(result.radiance, 0);
        if (p.depth == 1) store_first(scene, w, p.slot, &first, &result.first);
        rays += result.rays;
    }
    take_counts(w.counts, rays, 0);
}

/* Adds the samples of each pixel in order, one thread per pixel.
   Data flow: reads the slots before the wavefront's end; adds to the film and the counts. */
__global__ __launch_bounds__(FILM_BLOCK) void wave_film(const __grid_constant__ path_waves w,
                                                        uint32_t wave) {
    const uint32_t pixel = blockIdx.x * FILM_BLOCK + threadIdx.x, end = wave_at(w, wave)->end;
    uint32_t nans = 0;
    const slot_place at = place_of_slot(w, pixel < w.tiled ? pixel : 0);
    if (pixel < w.tiled && slot_is_inside(w, at)) {
        film_pixel *to = w.pixels + (int64_t)at.y * w.range.width + at.x;
        film_pixel sum = *to;
        const uint32_t begin = w.range.begin;
        for (uint32_t k = sum.samples > begin ? sum.samples - begin : 0; k < w.range.count; ++k) {
            const uint32_t slot = slot_of_pixel(w, pixel, k);
            if (slot >= end) break;
            pixel_sample sample = sample_of_slot(w, slot);
            pixel_weigh(&w.view, w.range.x0 + at.x, w.range.y0 + at.y, begin + k, &sample);
            nans += !film_pixel_add(&sum, &sample);
        }
        *to = sum;
    }
    take_counts(w.counts, 0, nans);
}

/* --- host code -------------------------------------------------------------------------------- */

enum { POLL_EVERY = 4, RESERVE_TRIES = 8 };

/* --- memory ----------------------------------------------------------------------------------- */

/* Reserves memory, with fewer paths in flight if the device is short of it. */
kd_status reserve(wave_run *run) {
    path_waves *w = &run->work;
    device_buffer *memory = &run->frame->device_frame->work;
    kd_status status = KD_OK;
    for (int tried = 0; tried < RESERVE_TRIES; ++tried) {
        cuda_arena arena = {NULL, 0};
        lay_out_waves(w, &arena, run->general);
        status = device_buffer_reserve(memory, arena.used);
        if (status == KD_OK) {
            arena.base = (char *)memory->memory;
            arena.used = 0;
            lay_out_waves(w, &arena, run->general);
            return KD_OK;
        }
        if (status != KD_ERROR_MEMORY || w->capacity <= WAVE_PATHS_MIN) break;
        w->capacity /= 2;
    }
    return status_pass(status, __FILE__, __LINE__, "device_buffer_reserve");
}

/* Returns a bit for each kernel that the scene's materials need; misses count as diffuse. */
uint32_t shade_kernels(const scene_view *scene) {
    uint32_t kernels = 1u << SHADE_DIFFUSE;
    for (uint32_t m = 0; m < scene->material_count; ++m)
        kernels |= 1u << shade_kernel_of(list_of_kind(scene->materials[m].kind));
    return kernels;
}

/* Returns true if some surface has a texture or vertex colours. */
bool has_textures(const scene_view *scene) {
    bool has = scene->mesh.colours != NULL;
    for (uint32_t m = 0; m < scene->material_count; ++m) {
        const material *made = scene->materials + m;
        has = has || (made->diffuse_map & made->specular_map & made->emission_map &
                      made->opacity_map & made->roughness_map & made->metallic_map &
                      made->normal_map & made->bump_map) != KD_NONE;
    }
    return has;
}

kd_status run_open(wave_run *out, const frame *frame, const path_options *options,
                   const sample_range *range) {
    path_waves *w = &out->work;
    memset(out, 0, sizeof *out);
    out->frame = frame;
    out->general = waves_are_general(frame->scene);
    out->kernels = shade_kernels(frame->scene);
    out->textured = has_textures(frame->scene);
    w->view = integrator_view(frame);
    w->view.scene = NULL;
    w->range = *range;
    w->options = *options;
    if (w->options.max_depth > DEPTH_MAX) w->options.max_depth = DEPTH_MAX;
    assert(options->scatterings <= PATH_SCATTERED_MAX || options->scatterings == INT32_MAX);
    w->pixels = frame->device_frame->pixels;
    w->counts = frame->device_frame->counts;
    w->across = (uint32_t)(range->width + 7) / 8;
    const uint64_t tiled = frame_cuda_tiled_pixels(range->width, range->bottom - range->top);
    const uint64_t paths = waves_samples(frame->options) / WAVE_SAMPLES_EACH;
    KD_REQUIRE(tiled * range->count < KD_NONE, KD_ERROR_USAGE,
               "%llu samples in one launch (%u per pixel) exceed the limit of 2^32",
               (unsigned long long)(tiled * range->count), range->count);
    w->tiled = (uint32_t)tiled;
    w->slots = (uint32_t)(tiled * range->count);
    w->capacity = paths < w->slots ? (uint32_t)paths : w->slots;
    KD_TRY(reserve(out));
    KD_TRY(tritree_cuda_pack(&frame->device_frame->tree, NULL));
    KD_CUDA(cudaMemsetAsync(w->ring, 0, WAVE_RING * sizeof(wave_record)));
    return KD_OK;
}

/* --- one wavefront ---------------------------------------------------------------------------- */

template <bool general, shade_kernel kernel> kd_status shade(const wave_run *run) {
    if (!(run->kernels >> kernel & 1u)) return KD_OK;
    if constexpr (general || kernel == SHADE_OTHERS)
        return start(run, wave_shade<general, kernel>, SHADE_BLOCK, "wave_shade");
    else if (run->textured)
        return start(run, wave_shade_kind<true, kernel>, SHADE_BLOCK, "wave_shade_kind");
    else
        return start(run, wave_shade_kind<false, kernel>, SHADE_BLOCK, "wave_shade_kind");
}

template <bool general> kd_status run_wave(const wave_run *run) {
    KD_TRY(start(run, wave_begin<general>, BEGIN_BLOCK, "wave_begin"));
    KD_TRY(cast_paths(run, run->wave == 0));
    KD_TRY(start(run, wave_list, KIND_BLOCK, "wave_list"));
    KD_TRY((shade<general, SHADE_OTHERS>(run)));
    KD_TRY((shade<general, SHADE_PLASTIC>(run)));
    KD_TRY((shade<general, SHADE_DIFFUSE>(run)));
    KD_TRY(cast_shadows(run));
    return add_shadows<general>(run);
}

/* --- all wavefronts --------------------------------------------------------------------------- */

/* Returns true if the launch should end. It does not end for a save before there is something new
   to save. */
bool is_to_end(const wave_run *run, const wave_record *seen) {
    const uint32_t begin = run->work.range.begin;
    return seen->fresh ? frame_is_waited_for(run->frame, begin) : frame_is_over(run->frame, begin);
}

/* Runs wavefronts until all samples have been started, or the film has to be saved or shown, and
   few paths are left. Sets *seen to the last record. */
kd_status run_waves(wave_run *run, wave_record *seen) {
    const uint32_t few = min((uint32_t)WAVE_FEW, run->work.capacity / 8);
    bool more = true;
    for (;; ++run->wave) {
        KD_TRY(plan_wave(run, more));
        if (run->wave % POLL_EVERY == POLL_EVERY - 1) {
            KD_TRY(device_memory_download(seen, record_of(run), sizeof *seen));
            more = more && !is_to_end(run, seen);
            const bool begun = (!more || seen->end == run->work.slots) && seen->begin == seen->end;
            if (begun && seen->rays <= few) return KD_OK;
        }
        KD_TRY(run->general ? run_wave<true>(run) : run_wave<false>(run));
    }
}

kd_status end_waves(const wave_run *run) {
    KD_TRY(start(run, wave_finish, FINISH_BLOCK, "wave_finish"));
    wave_film<<<(run->work.tiled + FILM_BLOCK - 1) / FILM_BLOCK, FILM_BLOCK>>>(run->work,
                                                                               run->wave);
    KD_CUDA_LAUNCHED("wave_film");
    return KD_OK;
}

} // namespace

extern "C" kd_status waves_take_paths(const frame *frame, const path_options *options,
                                      const sample_range *range) {
    wave_run run;
    wave_record seen;
    KD_TRY(run_open(&run, frame, options, range));
    KD_TRY(run_waves(&run, &seen));
    frame->device_frame->stopped = seen.end < run.work.slots;
    return end_waves(&run);
}
