/* `path` and `direct` on a CUDA device: by waves. */
#include "render/integrators/launches.h"
#include "render/waves/waves.h"

kd_status path_launch(const frame *of, const sample_range *range) {
    return waves_take_paths(of, (const path_options *)of->state, range);
}
