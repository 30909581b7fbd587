/* Camera paths on a CPU, some hundreds at a time going one surface further together. */
#ifndef KD_RENDER_WAVES_PATH_POOL_H
#define KD_RENDER_WAVES_PATH_POOL_H
#include "render/frame/pixel.h"

/* samples[i] is path_pixel of asked[i] (render/integrators/pixel_methods.h), to the bit. False:
   there is no memory for so many paths, and none was followed. */
bool path_pool_take(const pixel_view *of, const path_options *options, const pixel_request *asked,
                    uint32_t count, pixel_sample *samples);

#endif
