/* How far one image is from another. Colours R, G, B are compared as they are in memory: linear
   radiance, PNG files decoded from sRGB; alpha and other channels are not looked at. The second
   image, b, is the reference. */
#ifndef KD_CORE_COMPARE_COMPARE_H
#define KD_CORE_COMPARE_COMPARE_H
#include "core/compare/image_rows.h"
#include <stdbool.h>

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
