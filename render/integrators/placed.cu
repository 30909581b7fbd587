/* Methods that look at placements, on a CUDA device: a thread a pixel, whose rays walk the trees of
   placed meshes by accel/placed/placed_walk.h. Kernels of their own, so that the others need no
   registers for what they do not meet. */
#define KD_CALL_ALL
#define KD_PLACED
#include "render/frame/take_samples.cuh"
#include "render/integrators/launches.h"
#include "render/integrators/pixel_methods.h"

namespace {

struct placed_path_method {
    path_options options;
    __device__ __forceinline__ pixel_sample operator()(const pixel_view *of, int32_t x, int32_t y,
                                                       uint32_t sample) const {
        return path_pixel(of, &options, x, y, sample);
    }
};

struct placed_whitted_method {
    whitted_options options;
    __device__ __forceinline__ pixel_sample operator()(const pixel_view *of, int32_t x, int32_t y,
                                                       uint32_t sample) const {
        return whitted_pixel(of, &options, x, y, sample);
    }
};

struct placed_ambient_method {
    whitted_options options;
    __device__ __forceinline__ pixel_sample operator()(const pixel_view *of, int32_t x, int32_t y,
                                                       uint32_t sample) const {
        return ambient_pixel(of, &options, x, y, sample);
    }
};

} // namespace

kd_status path_launch_placed(const frame *of, const sample_range *range) {
    const placed_path_method how = {*(const path_options *)of->state};
    return take_samples_launch(of, range, how);
}

kd_status whitted_launch_placed(const frame *of, const sample_range *range) {
    const placed_whitted_method how = {*(const whitted_options *)of->state};
    return take_samples_launch(of, range, how);
}

kd_status ambient_launch_placed(const frame *of, const sample_range *range) {
    const placed_ambient_method how = {*(const whitted_options *)of->state};
    return take_samples_launch(of, range, how);
}
