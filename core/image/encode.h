/* Between an image's radiance and the 8 or 16 bits a channel of files for a screen. */
#ifndef KD_CORE_IMAGE_ENCODE_H
#define KD_CORE_IMAGE_ENCODE_H
#include "core/image/image.h"
#include "core/image/picture.h"
#include <stdbool.h>

/* *bytes = the picture through exposure, tone curve and sRGB, rows from the top; owned, by
   memory_free. *samples of a pixel: 3, or 4 where alpha is wanted and some pixel is not covered;
   colours are divided by it then, else they lie over black. The same for any number of threads. */
kd_status image_encode(uint8_t **bytes, int *samples, const image *from,
                       const image_encoding *encoding, bool alpha);

/* Opens `out` from a decoded picture of 8 or 16 bits, sRGB; alpha only where there is some. */
kd_status image_decode(image *out, const picture *from);

/* *linear = what each value of such a picture's colours is; owned, by memory_free. */
kd_status image_linear_open(float **linear, const picture *from);
/* Texels [begin, begin + count) as colours multiplied by alpha, and alpha unless planes[3] is NULL;
   each plane's first is that of `begin`. */
void image_texels_decode(float *const planes[4], const picture *from, uint64_t begin,
                         uint64_t count, const float *linear);

#endif
