/* `whitted` and `ao` on a CUDA device: one thread per pixel. */
#include "render/integrators/methods.cuh"

kd_status whitted_launch(const frame *frame, const sample_range *range) {
    if (frame->scene->instances.count) return whitted_launch_instanced(frame, range);
    return launch_method<whitted_method<SCENE_TREE>, whitted_options>(frame, range);
}

kd_status ambient_launch(const frame *frame, const sample_range *range) {
    if (frame->scene->instances.count) return ambient_launch_instanced(frame, range);
    return launch_method<ambient_method<SCENE_TREE>, whitted_options>(frame, range);
}
