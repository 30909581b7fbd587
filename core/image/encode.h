/* Conversion between linear images and display-referred pixels of 8 or 16 bits per channel. */
#ifndef KD_CORE_IMAGE_ENCODE_H
#define KD_CORE_IMAGE_ENCODE_H
#include "core/image/image.h"
#include "core/image/picture.h"
#include <stdbool.h>

/* Applies exposure, tone curve and the sRGB transfer function. Allocates *bytes, rows from the top,
   which the caller frees with memory_free. Sets *samples to 4 if `alpha` is requested and some
   pixel is not fully covered, else to 3; with alpha the colours are divided by it, without it they
   are composited over black. The result does not depend on the number of threads. */
kd_status image_encode(uint8_t **bytes, int *samples, const image *image,
                       const image_encoding *encoding, bool alpha);

/* Opens `out` from a decoded sRGB picture of 8 or 16 bits, with an alpha channel only if some pixel
   is not opaque. */
kd_status image_decode(image *out, const picture *picture);

/* Allocates a table of the linear value of each colour value of the picture, which the caller frees
   with memory_free. */
kd_status image_linear_open(float **linear, const picture *picture);
/* Decodes texels [begin, begin + count) to premultiplied linear colours, and to alpha unless
   planes[3] is NULL. Element 0 of each plane is texel `begin`. */
void image_texels_decode(float *const planes[4], const picture *picture, uint64_t begin,
                         uint64_t count, const float *linear);

#endif
