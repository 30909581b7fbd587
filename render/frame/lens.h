/* Lens samples: camera rays that are not shaded, for what a pixel's samples see directly. */
#ifndef KD_RENDER_FRAME_LENS_H
#define KD_RENDER_FRAME_LENS_H
#include "render/frame/pixel.h"

/* Replaces the light that the sample's camera ray sees directly (lamps, the sky), its coverage, and
   depth, normal and albedo by means over `count` other rays through the pixel and the lens, which
   costs count + 1 rays. The sample has been weighed (pixel_weigh); `number` determines its camera
   ray, `cutouts` is that of path_options.
   Idea: the expectation of the light reflected by what the ray meets does not change, and the rest
         converges with the number of lens samples, without more shading. */
void lens_take(const pixel_view *view, int32_t count, bool cutouts, int32_t x, int32_t y,
               uint32_t number, pixel_sample *sample);

#endif
