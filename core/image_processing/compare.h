/* How far one image is from another, by several metrics, FLIP (how different two pictures look when
   one flips between them, from 0, the same, to 1) among them. Metrics compare the colours R, G, B
   as they are in memory: linear radiance, PNG files decoded from sRGB; they ignore alpha and other
   channels. The second image, b, is the reference. Rows of a picture are made into floats when they
   are needed: a picture of 8 or 16 bits is never whole in memory as floats. */
#ifndef KD_CORE_IMAGE_PROCESSING_COMPARE_H
#define KD_CORE_IMAGE_PROCESSING_COMPARE_H
#include "core/image/image.h"
#include <stdbool.h>

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

/* FLIP (Andersson et al. 2020). The display and the viewer that the paper assumes: 0.7 m before a
   0.7 m wide screen of 3840 pixels, in pixels per degree of sight. */
#define FLIP_PIXELS_PER_DEGREE 67.0206f

/* Three planes of linear Rec. 709, finite, width x height each. */
typedef struct flip_picture {
    const float *planes[3];
} flip_picture;

/* error[pixel] of two pictures for a display: values are cut to [0, 1]. Symmetric. */
kd_status flip_errors(float *error, const flip_picture *test, const flip_picture *reference,
                      int32_t width, int32_t height);

/* Rows around a pixel that its error may depend on. */
enum { FLIP_REACH = 15 };

/* The exposures at which radiance maps are shown, in stops, evenly from first to last. */
typedef struct flip_exposures {
    float first, last;
    int count;
} flip_exposures;

/* Of the reference. KD_ERROR_MEMORY. */
kd_status flip_exposures_find(flip_exposures *out, const image_rows *reference);

/* error[pixel] of two radiance maps: the largest over these exposures, each passed through a filmic
   curve. */
kd_status flip_errors_hdr(float *error, const flip_picture *test, const flip_picture *reference,
                          int32_t width, int32_t height, const flip_exposures *exposures);

typedef enum compare_metric {
    COMPARE_RMSE,     /* sqrt of the mean over pixels and channels of (a - b)^2 */
    COMPARE_RELMSE,   /* mean over pixels and channels of (a - b)^2 / (b^2 + 0.01) */
    COMPARE_PSNR,     /* -10 log10 of the mean of (a - b)^2, dB below white (1); same: infinity */
    COMPARE_FLIP,     /* mean FLIP error, values cut to [0, 1]: for pictures */
    COMPARE_FLIP_HDR, /* mean HDR-FLIP error, exposures from b: for radiance maps */
    COMPARE_MAX       /* largest |a - b| */
} compare_metric;

/* "rmse", "relmse", "psnr", "flip", "max". "flip" is COMPARE_FLIP if both paths end in .png, else
   COMPARE_FLIP_HDR. KD_ERROR_USAGE with the list. */
kd_status compare_metric_find(compare_metric *out, const char *name, const char *path_a,
                              const char *path_b);

/* Whether `value` is worse than `limit`: above it; for PSNR, where more is better, below it. */
bool compare_is_worse(compare_metric metric, double value, double limit);

/* block > 1: compares the means of block x block pixels (less at the right and lower border), each
   block counting as one pixel; 0 and 1: the pixels.
   difference, if not NULL, is opened, to be closed by the caller: R, G, B a colour map (black, red,
   yellow, white) of log2(1 + 1023 e) / 10, so that an error e of 1 is white, one of 0.001 a tenth
   of the way, and "Error" the error e itself: |a - b| for max, its root mean square over channels
   for rmse and psnr, the mean of (a - b)^2 / (b^2 + 0.01) for relmse, FLIP's error.
   KD_ERROR_INPUT if sizes differ, or with a count and the first place if a value is NaN or
   infinite: no metric says anything then. The same bits for any number of threads. */
kd_status compare_images(double *value, const image *a, const image *b, compare_metric metric,
                         int32_t block, image *difference);

/* The same of rows; beside the difference, about 30 floats a pixel of 2^19 of them are in memory.
 */
kd_status compare_rows(double *value, const image_rows *a, const image_rows *b,
                       compare_metric metric, int32_t block, image *difference);

#endif
