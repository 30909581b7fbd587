/* Kernel template that takes pixel samples, for any integrator whose sample function is a KD_FN.
   Idea: one thread per pixel takes the samples of the pass in order and adds them in that order, so
         the film's sums have the same bits as on the CPU. A warp covers 8 x 4 pixels, so that its
         rays are coherent. `method` is a trivially copyable struct with the member
             operator()(const pixel_view *, int32_t x, int32_t y, uint32_t sample) const
         which returns a pixel_sample.
   Data flow: each thread reads the film_pixel of its pixel into registers, adds the samples, and
              writes it back; no other thread accesses it. Each warp adds its counts of rays and
              NaNs to `counts` by an atomic. */
#ifndef KD_RENDER_FRAME_TAKE_SAMPLES_CUH
#define KD_RENDER_FRAME_TAKE_SAMPLES_CUH
#include "core/device/cuda.h"
#include "render/frame/frame.h"

enum {
    TAKE_BLOCK = 128,
    TAKE_EACH = 8 /* blocks per multiprocessor: at most 64 registers per thread */,
    TAKE_WIDTH = 16,
    TAKE_HEIGHT = 8
};

struct sample_work {
    pixel_view view; /* `scene` is set by each thread */
    sample_range range;
    film_pixel *pixels;
    sample_counts *counts;
};

/* Adds the counts of all lanes of a warp, with one atomic for each count. */
__device__ __forceinline__ void take_counts(sample_counts *counts, uint32_t rays, uint32_t nans) {
    rays = __reduce_add_sync(0xffffffffu, rays);
    nans = __reduce_add_sync(0xffffffffu, nans);
    if (threadIdx.x % 32 != 0) return;
    if (rays) atomicAdd((unsigned long long *)&counts->rays, (unsigned long long)rays);
    if (nans) atomicAdd((unsigned long long *)&counts->nan_samples, (unsigned long long)nans);
}

template <class method>
__global__ __launch_bounds__(TAKE_BLOCK,
                             TAKE_EACH) void take_samples(const __grid_constant__ scene_view scene,
                                                          const __grid_constant__ sample_work work,
                                                          const __grid_constant__ method sampler) {
    const sample_range &range = work.range;
    const int32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int32_t x = (int32_t)blockIdx.x * TAKE_WIDTH + warp % 2 * 8 + lane % 8;
    const int32_t y = range.top + (int32_t)blockIdx.y * TAKE_HEIGHT + warp / 2 * 4 + lane / 8;
    uint32_t rays = 0, nans = 0;
    if (x < range.width && y < range.bottom) {
        pixel_view view = work.view;
        view.scene = &scene;
        film_pixel *to = work.pixels + (int64_t)y * range.width + x;
        film_pixel sum = *to;
        const uint32_t first = sum.samples > range.begin ? sum.samples : range.begin;
        for (uint32_t s = first; s < range.begin + range.count; ++s) {
            pixel_sample sample = sampler(&view, range.x0 + x, range.y0 + y, s);
            pixel_weigh(&view, range.x0 + x, range.y0 + y, s, &sample);
            rays += sample.rays;
            nans += !film_pixel_add(&sum, &sample);
        }
        *to = sum;
    }
    take_counts(work.counts, rays, nans);
}

template <class method>
kd_status take_samples_launch(const frame *frame, const sample_range *range,
                              const method &sampler) {
    sample_work work;
    work.view = integrator_view(frame);
    work.range = *range;
    work.pixels = frame->device_frame->pixels;
    work.counts = frame->device_frame->counts;
    const dim3 blocks((unsigned)((range->width + TAKE_WIDTH - 1) / TAKE_WIDTH),
                      (unsigned)((range->bottom - range->top + TAKE_HEIGHT - 1) / TAKE_HEIGHT));
    take_samples<<<blocks, TAKE_BLOCK>>>(frame->device_frame->scene.view, work, sampler);
    KD_CUDA_LAUNCHED("take_samples");
    return KD_OK;
}

#endif
