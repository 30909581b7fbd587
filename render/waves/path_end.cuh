/* How a launch ends: the last few paths, and the film. */
#ifndef KD_RENDER_WAVES_PATH_END_CUH
#define KD_RENDER_WAVES_PATH_END_CUH
#include "render/frame/take_samples.cuh"
#include "render/waves/path_shade.cuh"

enum {
    WAVE_FEW =
        1 << 14, /* paths that are not worth a wave: one of 100 takes as long as of so many */
    FINISH_BLOCK = 32,
    FINISH_EACH = 8,
    FILM_BLOCK = 128
};

/* The last few paths, a thread each, to their ends.
   Data flow: paths of the wave -> radiance, first surfaces, counts. */
static __global__ __launch_bounds__(FINISH_BLOCK, FINISH_EACH) void wave_finish(
    const __grid_constant__ scene_view scene, const __grid_constant__ path_waves w, uint32_t wave) {
    const uint32_t count = wave_at(w, wave)->rays;
    uint32_t rays = 0;
    for (uint32_t i = blockIdx.x * FINISH_BLOCK + threadIdx.x; i < count;
         i += gridDim.x * FINISH_BLOCK) {
        wave_path p = load_path(w.stores[wave % 2], i);
        if (p.slot == KD_NONE) continue;
        const ray first = p.state.cast;
        const rng_key key = key_of_slot(w, place_of_slot(w, p.slot));
        path_result found;
        found.radiance = first_three(w.radiance[p.slot]);
        found.first.triangle = KD_NONE;
        found.rays = 0;
        p.state.flies = scene.medium_count != 0;
        path_follow(&scene, SCENE_TREE, &w.options, &p.state, (int32_t)p.depth, key, &found);
        w.radiance[p.slot] = with_fourth(found.radiance, 0);
        if (p.depth == 1) store_first(scene, w, p.slot, &first, &found.first);
        rays += found.rays;
    }
    take_counts(w.counts, rays, 0);
}

/* A thread a pixel adds up its samples in their order.
   Data flow: slots before the wave's end -> film, counts. */
static __global__ __launch_bounds__(FILM_BLOCK) void wave_film(const __grid_constant__ path_waves w,
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
            const float4 depth = w.first[2 * (uint64_t)slot],
                         albedo = w.first[2 * (uint64_t)slot + 1];
            pixel_sample sample;
            sample.radiance = first_three(w.radiance[slot]);
            sample.depth = depth.x;
            sample.normal = vec3_make(depth.y, depth.z, depth.w);
            sample.albedo = first_three(albedo);
            sample.alpha = albedo.w;
            sample.rays = 0;
            pixel_weigh(&w.view, w.range.x0 + at.x, w.range.y0 + at.y, begin + k, &sample);
            nans += !film_pixel_add(&sum, &sample);
        }
        *to = sum;
    }
    take_counts(w.counts, 0, nans);
}

#endif
