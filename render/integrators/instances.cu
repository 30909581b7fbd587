/* Launches for scenes with instances on a CUDA device: one thread per pixel, whose rays traverse
   the trees of the instances by accel/instance_walk.h. Also the launch of `path` and `direct`,
   which traces wavefronts if there are no instances. */
#include "render/frame/waves.h"
#include "render/integrators/methods.cuh"

kd_status path_launch(const frame *frame, const sample_range *range) {
    if (frame->scene->instances.count)
        return launch_method<path_method<SCENE_INSTANCED>, path_options>(frame, range);
    return waves_take_paths(frame, (const path_options *)frame->state, range);
}

kd_status whitted_launch_instanced(const frame *frame, const sample_range *range) {
    return launch_method<whitted_method<SCENE_INSTANCED>, whitted_options>(frame, range);
}

kd_status ambient_launch_instanced(const frame *frame, const sample_range *range) {
    return launch_method<ambient_method<SCENE_INSTANCED>, whitted_options>(frame, range);
}
