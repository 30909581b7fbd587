/* Launches for scenes with instances on a CUDA device: one thread per pixel, whose rays traverse
   the trees of the instances by accel/instance_walk.h. Also the launch of `path` and `direct`,
   which traces wavefronts if there are no instances. */
#include "render/frame/waves.h"
#include "render/integrators/methods.cuh"

kd_status path_launch(const frame *of, const sample_range *range) {
    if (of->scene->instances.count)
        return launch_method<path_method<SCENE_INSTANCED>, path_options>(of, range);
    return waves_take_paths(of, (const path_options *)of->state, range);
}

kd_status whitted_launch_instanced(const frame *of, const sample_range *range) {
    return launch_method<whitted_method<SCENE_INSTANCED>, whitted_options>(of, range);
}

kd_status ambient_launch_instanced(const frame *of, const sample_range *range) {
    return launch_method<ambient_method<SCENE_INSTANCED>, whitted_options>(of, range);
}
