/* Motion blur of objects on a CUDA device has the bits of the CPU. */
#include "tests/api/moving_box.h"
#include "tests/gpu.h"

int main(void) {
    static const char *const methods[] = {"path", "whitted", "photon", "sppm", "light", "debug"};
    if (gpu_is_missing()) return TEST_SKIPPED;
    kd_render_options options;
    kd_scene *opened = moving_open(&options);
    options.shutter = 6;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i) {
        snprintf(options.integrator, sizeof options.integrator, "%s", methods[i]);
        strcpy(options.device, "cpu");
        const uint64_t expected = moving_hash(opened, &options);
        strcpy(options.device, "cuda:0");
        if (moving_hash(opened, &options) != expected) fail_msg("%s differs", methods[i]);
    }
    kd_scene_close(opened);
    return 0;
}
