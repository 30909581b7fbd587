/* `whitted` and `ao` on a CUDA device. */
#define KD_CALL_ALL
#include "render/frame/take_samples.cuh"
#include "render/integrators/launches.h"
#include "render/integrators/pixel_methods.h"

namespace {

struct whitted_method {
    whitted_options options;
    __device__ __forceinline__ pixel_sample operator()(const pixel_view *of, int32_t x, int32_t y,
                                                       uint32_t sample) const {
        return whitted_pixel(of, &options, x, y, sample);
    }
};

struct ambient_method {
    whitted_options options;
    __device__ __forceinline__ pixel_sample operator()(const pixel_view *of, int32_t x, int32_t y,
                                                       uint32_t sample) const {
        return ambient_pixel(of, &options, x, y, sample);
    }
};

} // namespace

kd_status whitted_launch(const frame *of, const sample_range *range) {
    if (of->scene->placed.count) return whitted_launch_placed(of, range);
    const whitted_method how = {*(const whitted_options *)of->state};
    return take_samples_launch(of, range, how);
}

kd_status ambient_launch(const frame *of, const sample_range *range) {
    if (of->scene->placed.count) return ambient_launch_placed(of, range);
    const ambient_method how = {*(const whitted_options *)of->state};
    return take_samples_launch(of, range, how);
}
