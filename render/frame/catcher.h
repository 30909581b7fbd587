/* Shadow catchers: surfaces that the camera sees only by the shadows on them, as coverage. */
#ifndef KD_RENDER_FRAME_CATCHER_H
#define KD_RENDER_FRAME_CATCHER_H
#include "render/frame/pixel.h"

/* Returns true if a material of the scene catches shadows. */
bool catcher_exists(const scene_view *scene);

/* If the sample's camera ray meets a shadow catcher first, makes the sample black, and its coverage
   the fraction of the direct light that is blocked, estimated by CATCHER_LIGHTS samples of the
   lights, and returns true. `number` determines the camera ray, `cutouts` is that of path_options.
 */
enum { CATCHER_LIGHTS = 16 };
bool catcher_take(const pixel_view *view, bool cutouts, int32_t x, int32_t y, uint32_t number,
                  pixel_sample *sample);

#endif
