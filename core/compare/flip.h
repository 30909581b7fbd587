/* FLIP: how different two pictures look when one flips between them, from 0 (the same) to 1. */
#ifndef KD_CORE_COMPARE_FLIP_H
#define KD_CORE_COMPARE_FLIP_H
#include "core/compare/image_rows.h"

/* The display and the viewer that the paper assumes: 0.7 m before a 0.7 m wide screen of 3840
   pixels, in pixels per degree of sight. */
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

#endif
