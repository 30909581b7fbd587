/* Memory needed by wavefronts. */
#include "render/frame/waves.h"

/* Bytes per path and per sample as laid out by path_store.cuh; each array is aligned to 256
   bytes. */
enum { PLAIN_PATH = 283, GENERAL_PATH = 315, SAMPLE_BYTES = 48, WAVE_ARRAYS_BYTES = 48 * 256 };

uint64_t waves_paths(const kd_render_options *options) {
    const uint64_t requested = options->device_paths ? options->device_paths : WAVE_PATHS;
    return requested < WAVE_PATHS_MIN ? WAVE_PATHS_MIN
           : requested > 1u << 28     ? 1u << 28
                                      : requested;
}

uint64_t waves_samples(const kd_render_options *options) {
    return WAVE_SAMPLES_EACH * waves_paths(options);
}

bool waves_are_general(const scene_view *scene) {
    return scene->medium_count != 0 || integrator_has_cutouts(scene);
}

uint64_t waves_path_bytes(bool general) {
    return general ? GENERAL_PATH : PLAIN_PATH;
}

uint64_t waves_sample_bytes(void) {
    return SAMPLE_BYTES;
}

uint64_t waves_launch_bytes(const kd_render_options *options, uint64_t samples, uint64_t paths,
                            uint64_t path_bytes) {
    const int32_t *crop = options->crop;
    const uint64_t pixels = crop[2] > 0
                                ? frame_cuda_tiled_pixels(crop[2] - crop[0], crop[3] - crop[1])
                                : frame_cuda_tiled_pixels(options->width, options->height);
    const uint64_t all = pixels * samples, maximum = waves_samples(options);
    const uint64_t taken = all < maximum ? all : maximum;
    return (paths < taken ? paths : taken) * path_bytes + taken * SAMPLE_BYTES + WAVE_ARRAYS_BYTES;
}

uint64_t waves_bytes(const scene_view *scene, const kd_render_options *options) {
    return waves_launch_bytes(options, (uint64_t)options->spp, waves_paths(options),
                              waves_path_bytes(waves_are_general(scene)));
}
