/* `path` and `direct` on a CUDA device: by waves. */
#include "render/frame/launches.h"
#include "render/waves/waves.h"

kd_status path_launch(const frame *of, const sample_range *range) {
    return waves_take_paths(of, (const path_options *)of->state, range);
}
