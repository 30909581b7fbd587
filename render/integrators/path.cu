/* `path` and `direct` on a CUDA device: shaders/path.h for every pixel sample. */
#include "render/frame/take_samples.cuh"
#include "render/integrators/launches.h"
#include "render/integrators/pixel_methods.h"

namespace {

struct path_method {
    path_options options;
    __device__ __forceinline__ pixel_sample operator()(const pixel_view *of, int32_t x, int32_t y,
                                                       uint32_t sample) const {
        return path_pixel(of, &options, x, y, sample);
    }
};

} // namespace

kd_status path_launch(const frame *of, const sample_range *range) {
    const path_method how = {*(const path_options *)of->state};
    return take_samples_launch(of, range, how);
}
