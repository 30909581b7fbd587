/* What is done to a rendered picture: cropping, resizing, denoising. */
#ifndef KD_CORE_IMAGE_PROCESSING_DEVELOP_H
#define KD_CORE_IMAGE_PROCESSING_DEVELOP_H
#include "core/image/image.h"

/* Keeps the pixels x0 <= x < x1, y0 <= y < y1 of all planes. KD_ERROR_USAGE if they do not lie in
   it. */
kd_status image_crop(image *of, const int32_t crop[4]);

/* To width x height; 0 for one of the two: as the other one asks. By a tent as wide as the larger
   of two pixels' distances, so that nothing becomes darker than black beside a lamp, and means are
   kept. R, G, B and A stay; the other planes, whose means say nothing, are dropped. The same for
   any number of threads. KD_ERROR_USAGE for sizes that are none. */
kd_status image_resize(image *of, int32_t width, int32_t height);

/* Denoising by Open Image Denoise, which is looked for when it is asked for: no package of the
   system has it, so nothing is linked to it. Looked for in KANDELA_OIDN (the library or its
   folder); without that where the system looks for libraries, and in build-denoise beside the
   program's build folder, which tools/quickstart --denoise makes. Nowhere else: code is loaded from
   places that the user has named alone. */

/* KD_ERROR_USAGE, with what to do, if it is not here. */
kd_status denoise_check(void);

/* R, G and B without noise. Takes "Albedo.R" "Albedo.G" "Albedo.B" and "N.X" "N.Y" "N.Z" into
   account where the picture has them; they are cleaned for that themselves and stay as they are.
   The same bytes from run to run. KD_ERROR_USAGE as denoise_check, KD_ERROR_RUNTIME with the
   library's words, KD_ERROR_MEMORY. */
kd_status denoise_image(image *of);

#endif
