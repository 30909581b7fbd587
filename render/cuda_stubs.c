/* The build without CUDA: frame_cuda_open fails, so nothing of this is ever reached. */
#include "render/frame_cuda.h"
#include "render/integrate_light.h"
#include "render/integrators.h"
#ifndef KD_HAVE_CUDA

static kd_status no_cuda(void) {
    return status_fail(KD_ERROR_DEVICE, __FILE__, __LINE__, "this build has no CUDA");
}

#define NO_LAUNCH(name)                                                                            \
    kd_status name(const frame *of, const sample_range *range) {                                   \
        (void)of, (void)range;                                                                     \
        return no_cuda();                                                                          \
    }
NO_LAUNCH(path_launch)
NO_LAUNCH(whitted_launch)
NO_LAUNCH(ambient_launch)
NO_LAUNCH(debug_launch)
NO_LAUNCH(light_launch)

kd_status light_state_place(light_state *to, uint64_t sums) {
    (void)to, (void)sums;
    return no_cuda();
}

void light_state_leave(light_state *owned) {
    (void)owned;
}

kd_status light_state_trace(light_state *of, const scene_view *scene) {
    (void)of, (void)scene;
    return no_cuda();
}
#endif
