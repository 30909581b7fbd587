/* A picture cut and made larger or smaller. */
#ifndef KD_CORE_DEVELOP_RESIZE_H
#define KD_CORE_DEVELOP_RESIZE_H
#include "core/image/image.h"

/* Keeps the pixels x0 <= x < x1, y0 <= y < y1 of all planes. KD_ERROR_USAGE if they do not lie in
   it. */
kd_status image_crop(image *of, const int32_t crop[4]);

/* To width x height; 0 for one of the two: as the other one asks. By a tent as wide as the larger
   of two pixels' distances, so that nothing becomes darker than black beside a lamp, and means are
   kept. R, G, B and A stay; the other planes, whose means say nothing, are dropped. The same for
   any number of threads. KD_ERROR_USAGE for sizes that are none. */
kd_status image_resize(image *of, int32_t width, int32_t height);

#endif
