/* Sample functions in the form that take_samples (render/frame/take_samples.cuh) expects. Whether
   rays have to visit instances is a template parameter, so that kernels for scenes without
   instances do not spend registers on them. */
#ifndef KD_RENDER_INTEGRATORS_METHODS_CUH
#define KD_RENDER_INTEGRATORS_METHODS_CUH
#include "render/frame/take_samples.cuh"
#include "render/integrators/integrators.h"
#include "render/integrators/pixel_methods.h"

template <scene_extent extent> struct path_method {
    path_options options;
    __device__ __forceinline__ pixel_sample operator()(const pixel_view *view, int32_t x, int32_t y,
                                                       uint32_t sample) const {
        return path_pixel(view, extent, &options, x, y, sample);
    }
};

template <scene_extent extent> struct whitted_method {
    whitted_options options;
    __device__ __forceinline__ pixel_sample operator()(const pixel_view *view, int32_t x, int32_t y,
                                                       uint32_t sample) const {
        return whitted_pixel(view, extent, &options, x, y, sample);
    }
};

template <scene_extent extent> struct ambient_method {
    whitted_options options;
    __device__ __forceinline__ pixel_sample operator()(const pixel_view *view, int32_t x, int32_t y,
                                                       uint32_t sample) const {
        return ambient_pixel(view, extent, &options, x, y, sample);
    }
};

/* Launches a method whose options are the integrator's state. */
template <class method, class method_options>
kd_status launch_method(const frame *frame, const sample_range *range) {
    const method sampler = {*(const method_options *)frame->state};
    return take_samples_launch(frame, range, sampler);
}

#endif
