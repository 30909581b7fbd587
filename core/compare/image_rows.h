/* Rows of a picture's colours as floats, made when they are asked for: a picture of 8 or 16 bits is
   never whole in memory as floats. */
#ifndef KD_CORE_COMPARE_IMAGE_ROWS_H
#define KD_CORE_COMPARE_IMAGE_ROWS_H
#include "core/image/image.h"

struct picture; /* core/image/picture.h */

typedef struct image_rows {
    int32_t width, height;
    const float *planes[3];        /* borrowed from an image, or */
    const struct picture *packed;  /* borrowed, */
    float *linear;                 /* what its values are, owned; or */
    const struct image_rows *base; /* borrowed: rows are means of its blocks of */
    int32_t block;                 /* pixels a side */
} image_rows;

/* KD_ERROR_INPUT if the image lacks R, G or B; `which` is for messages. */
kd_status image_rows_of_image(image_rows *out, const image *from, const char *which);
kd_status image_rows_of_picture(image_rows *out, const struct picture *from);
void image_rows_of_blocks(image_rows *out, const image_rows *base, int32_t block);
void image_rows_close(image_rows *owned); /* takes a zeroed one */

/* R, G and B of row `y`, `width` floats each. Thread-safe. KD_ERROR_MEMORY. */
kd_status image_rows_get(const image_rows *from, int64_t y, float *const planes[3]);

#endif
