/* Image difference metrics, including FLIP, which estimates the difference that a viewer perceives
   when alternating between two pictures, from 0 (none) to 1. Metrics compare channels R, G and B as
   they are in memory, that is linear radiance, with PNG files decoded from sRGB; they ignore alpha
   and other channels. The second image, b, is the reference. Rows are converted to float on demand:
   a picture of 8 or 16 bits is never converted as a whole. */
#ifndef KD_CORE_IMAGE_PROCESSING_COMPARE_H
#define KD_CORE_IMAGE_PROCESSING_COMPARE_H
#include "core/image/image.h"
#include <stdbool.h>

struct picture; /* core/image/picture.h */

typedef struct image_rows {
    int32_t width, height;
    const float *planes[3];        /* channels of an image, borrowed; or NULL */
    const struct picture *packed;  /* an 8-bit or 16-bit picture, borrowed; or NULL */
    float *linear;                 /* linear values of `packed` samples, owned */
    const struct image_rows *base; /* borrowed: the rows are means of its blocks; or NULL */
    int32_t block;                 /* side of these blocks in pixels */
} image_rows;

/* Opens the rows of an image. Returns KD_ERROR_INPUT if it lacks R, G or B; `which` names the image
   in messages. */
kd_status image_rows_of_image(image_rows *out, const image *image, const char *which);
kd_status image_rows_of_picture(image_rows *out, const struct picture *picture);
void image_rows_of_blocks(image_rows *out, const image_rows *base, int32_t block);
void image_rows_close(image_rows *owned); /* accepts a zeroed struct */

/* Writes R, G and B of row `y`, `width` floats each. Thread-safe. May return KD_ERROR_MEMORY. */
kd_status image_rows_get(const image_rows *rows, int64_t y, float *const planes[3]);

/* Viewing conditions assumed by FLIP (Andersson et al. 2020): a distance of 0.7 m to a monitor 0.7
   m wide with 3840 pixels, as pixels per degree of visual angle. */
#define FLIP_PIXELS_PER_DEGREE 67.0206f

/* Three planes of finite linear Rec. 709 values, width * height each. */
typedef struct flip_picture {
    const float *planes[3];
} flip_picture;

/* Computes the FLIP error of each pixel of two display-referred pictures; values are clamped to [0,
   1]. Symmetric in its arguments. */
kd_status flip_errors(float *error, const flip_picture *test, const flip_picture *reference,
                      int32_t width, int32_t height);

/* Number of neighbouring rows on either side that affect the error of a pixel. */
enum { FLIP_REACH = 15 };

/* Exposures for HDR-FLIP in stops, evenly spaced from first to last. */
typedef struct flip_exposures {
    float first, last;
    int count;
} flip_exposures;

/* Computes the exposures from the reference. May return KD_ERROR_MEMORY. */
kd_status flip_exposures_find(flip_exposures *out, const image_rows *reference);

/* Computes the HDR-FLIP error of each pixel of two radiance maps: the maximum over the exposures,
   with a filmic tone curve. */
kd_status flip_errors_hdr(float *error, const flip_picture *test, const flip_picture *reference,
                          int32_t width, int32_t height, const flip_exposures *exposures);

/* COMPARE_RELMSE counts colours that are shorter than this share of the reference's mean length as
   about that long, so that dark pixels do not decide. Being relative to the picture it keeps the
   value of a scene in other units of radiance. */
#define COMPARE_DARK 0.05

typedef enum compare_metric {
    COMPARE_RMSE,   /* square root of the mean of (a - b)^2 over pixels and channels */
    COMPARE_RELMSE, /* mean over pixels of |a - b|^2 / (|b|^2 + (COMPARE_DARK m)^2), |b| the length
                       of the colour (R, G, B) and m the mean of |b| over b's pixels; infinite if b
                       is black and a is not */
    COMPARE_PSNR,   /* -10 log10 of the mean of (a - b)^2, in dB relative to white (1); infinite if
                       equal */
    COMPARE_FLIP,   /* mean FLIP error of values clamped to [0, 1], for display-referred pictures */
    COMPARE_FLIP_HDR, /* mean HDR-FLIP error with exposures from b, for radiance maps */
    COMPARE_MAX       /* maximum of |a - b| */
} compare_metric;

/* Finds a metric by name: "rmse", "relmse", "psnr", "flip", "max". "flip" is COMPARE_FLIP if both
   paths end in .png, else COMPARE_FLIP_HDR. Returns KD_ERROR_USAGE, with the list of names, for an
   unknown name. */
kd_status compare_metric_find(compare_metric *out, const char *name, const char *path_a,
                              const char *path_b);

/* Returns true if `value` is worse than `limit`: below it for PSNR, above it for all other
   metrics. */
bool compare_is_worse(compare_metric metric, double value, double limit);

/* Compares two images of the same size. If block > 1, compares the means of blocks of block x block
   pixels (smaller at the right and bottom border), each counting as one pixel; 0 and 1 compare
   pixels.
   If `difference` is not NULL, it is opened and the caller closes it. Its "Error" channel is the
   error e of each pixel: |a - b| for max, its root mean square over channels for rmse and psnr, the
   pixel's term for relmse, the FLIP error for flip. R, G, B show log2(1 + 1023
   e) / 10 in a colour map from black through red and yellow to white, so that e = 1 is white and e
   = 0.001 is a tenth of the range.
   Returns KD_ERROR_INPUT if sizes differ, or if values are NaN or infinite, with their number and
   the position of the first one. The result does not depend on the number of threads. */
kd_status compare_images(double *value, const image *a, const image *b, compare_metric metric,
                         int32_t block, image *difference);

/* As compare_images, for rows. Besides `difference`, this takes about 30 floats per pixel of a
   strip of 2^19 pixels. */
kd_status compare_rows(double *value, const image_rows *a, const image_rows *b,
                       compare_metric metric, int32_t block, image *difference);

#endif
