/* Camera paths on a CUDA device by waves: all paths of a pool go one surface further at a time, in
   kernels that do one thing each. C face. */
#ifndef KD_RENDER_WAVES_WAVES_H
#define KD_RENDER_WAVES_WAVES_H
#include "render/frame/frame.h"
#include "render/frame/pixel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WAVE_PATHS = 1 << 23,       /* at a time, unless fewer are asked for */
    WAVE_PATHS_LEAST = 1 << 10, /* what --max-memory may leave */
    WAVE_SAMPLES_EACH = 4       /* samples of a launch for each of these paths */
};

/* Rows of the table of integrators (integrator.h). */
uint64_t waves_samples(const kd_render_options *options);
uint64_t waves_bytes(const scene_view *scene, const kd_render_options *options);

/* Whether paths of the scene need the general form: through cut-outs or media. */
bool waves_are_general(const scene_view *scene);
/* Memory of a pool, and of the samples of a launch. */
uint64_t waves_path_bytes(bool general);
uint64_t waves_sample_bytes(void);

/* The samples of the range by path_radiance. Ends early, with of->there->stopped, if somebody waits
   (frame_is_waited_for): each pixel then has the first of its samples. */
kd_status waves_take_paths(const frame *of, const path_options *options, const sample_range *range);

/* Camera paths on a CPU, some hundreds at a time going one surface further together. */

/* samples[i] is path_pixel of asked[i] (render/integrators/pixel_methods.h), to the bit. False:
   there is no memory for so many paths, and none was followed. */
bool path_pool_take(const pixel_view *of, const path_options *options, const pixel_request *asked,
                    uint32_t count, pixel_sample *samples);

#ifdef __cplusplus
}
#endif

#endif
