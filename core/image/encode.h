/* Between an image's radiance and the 8 or 16 bits a channel of files for a screen. */
#ifndef KD_CORE_IMAGE_ENCODE_H
#define KD_CORE_IMAGE_ENCODE_H
#include "core/image/image.h"
#include <stdbool.h>

/* *bytes = the picture through exposure, tone curve and sRGB, rows from the top; owned, by
   memory_free. *samples of a pixel: 3, or 4 where alpha is wanted and some pixel is not covered;
   colours are divided by it then, else they lie over black. The same for any number of threads. */
kd_status image_encode(uint8_t **bytes, int *samples, const image *from,
                       const image_encoding *encoding, bool alpha);

/* Opens `out` from samples of 4 a pixel, 0 to `white`, sRGB; alpha only where there is some. */
kd_status image_decode(image *out, int32_t width, int32_t height, const uint16_t *samples,
                       uint32_t white);

#endif
