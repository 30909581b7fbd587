/* `path` and `direct` on a CUDA device: by waves, but for what is placed. */
#include "render/integrators/launches.h"
#include "render/waves/waves.h"

kd_status path_launch(const frame *of, const sample_range *range) {
    if (of->scene->placed.count) return path_launch_placed(of, range);
    return waves_take_paths(of, (const path_options *)of->state, range);
}
