/* `debug` on a CUDA device: one thread per pixel. */
#include "render/frame/take_samples.cuh"
#include "render/integrators/debug_channel.h"
#include "render/integrators/integrators.h"

namespace {

struct debug_method {
    debug_pixels shown;
    __device__ __forceinline__ pixel_sample operator()(const pixel_view *view, int32_t x, int32_t y,
                                                       uint32_t sample) const {
        return debug_pixel(view, &shown, x, y, sample);
    }
};

} // namespace

kd_status debug_launch(const frame *frame, const sample_range *range) {
    const debug_method method = {*(const debug_pixels *)frame->state};
    return take_samples_launch(frame, range, method);
}
