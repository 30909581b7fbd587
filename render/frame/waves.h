/* Path tracing as wavefronts on a CUDA device: a pool of paths advances by one surface at a time,
   in kernels for single steps; and the same on a CPU. C interface. */
#ifndef KD_RENDER_FRAME_WAVES_H
#define KD_RENDER_FRAME_WAVES_H
#include "render/frame/frame.h"
#include "render/frame/pixel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WAVE_PATHS = 1 << 23,     /* paths in flight, unless fewer are requested */
    WAVE_PATHS_MIN = 1 << 10, /* lower limit for --max-memory */
    WAVE_SAMPLES_EACH = 4     /* samples of a launch per path in flight */
};

/* Returns the maximum number of paths in flight. */
uint64_t waves_paths(const kd_render_options *options);
/* Members of integrator rows (integrator.h). */
uint64_t waves_samples(const kd_render_options *options);
uint64_t waves_bytes(const scene_view *scene, const kd_render_options *options);

/* Returns true if the scene needs the general form of paths, for cut-outs or media. */
bool waves_are_general(const scene_view *scene);
/* Bytes per path of the pool and per sample of a launch. */
uint64_t waves_path_bytes(bool general);
uint64_t waves_sample_bytes(void);

/* Device memory of a launch that takes so many samples of each pixel, with at most `paths` in
   flight of `path_bytes` each. */
uint64_t waves_launch_bytes(const kd_render_options *options, uint64_t samples, uint64_t paths,
                            uint64_t path_bytes);

/* Takes the samples of `range` by path_radiance. Ends early, with frame->device_frame->stopped set,
   if frame_is_waited_for returns true; each pixel then has the first of its samples. */
kd_status waves_take_paths(const frame *frame, const path_options *options,
                           const sample_range *range);

/* --- on a CPU --------------------------------------------------------------------------------- */

/* Sets samples[i] to path_pixel of request[i] (render/integrators/pixel_methods.h), bit for bit, by
   advancing some hundred paths together, and adds their parts to films of light groups, unless
   `groups` is NULL. Returns false, and does nothing, if there is not enough memory. */
bool path_pool_take(const pixel_view *view, const path_options *options,
                    const pixel_request *request, uint32_t count, pixel_sample *samples,
                    const struct light_groups *groups);

#ifdef __cplusplus
}
#endif

#endif
