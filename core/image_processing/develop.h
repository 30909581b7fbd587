/* Post-processing of rendered images: merging, cropping, resizing, denoising. */
#ifndef KD_CORE_IMAGE_PROCESSING_DEVELOP_H
#define KD_CORE_IMAGE_PROCESSING_DEVELOP_H
#include "core/image/image.h"

/* Crops all planes to x0 <= x < x1, y0 <= y < y1 (crop is x0, y0, x1, y1). Returns KD_ERROR_USAGE
   if the rectangle is not inside the image. */
kd_status image_crop(image *image, const int32_t crop[4]);

/* Reads the files as parts of one picture and puts them together; `keeps_window` of `reading` is
   not used. Where they do not cover the picture, `out` is a part of it and the rest is black, with
   a warning. Returns KD_ERROR_INPUT if two of them overlap, or are of pictures of different size,
   channels or camera. On failure `out` is closed. */
kd_status image_merge(image *out, char *const *paths, int count, const image_reading *reading);

/* Resizes the image to width x height; if one of them is 0, it follows from the aspect ratio. The
   filter is a tent whose radius is the larger of the two pixel spacings, which does not overshoot
   at bright edges and preserves means. Keeps R, G, B and A and drops other planes, which cannot be
   averaged meaningfully. The result does not depend on the number of threads. Returns
   KD_ERROR_USAGE for invalid sizes. */
kd_status image_resize(image *picture, int32_t width, int32_t height);

/* Denoising by Open Image Denoise, which is loaded at run time, since distributions do not package
   it. It is searched for in KANDELA_OIDN (the library or its directory) if that is set; otherwise
   in the system's library path and in build-denoise next to the build directory of the program,
   which tools/quickstart --denoise creates. No other place is searched: code is loaded only from
   where the user has put it. */

/* Returns KD_ERROR_USAGE, with instructions, if the library was not found. */
kd_status denoise_check(void);

/* Denoises R, G and B. Uses "Albedo.R", "Albedo.G", "Albedo.B" and "N.X", "N.Y", "N.Z" as guides if
   present; copies of them are prefiltered, the image's own are unchanged. Deterministic. Returns
   KD_ERROR_USAGE as denoise_check, KD_ERROR_RUNTIME with the library's message, or
   KD_ERROR_MEMORY. */
kd_status denoise_image(image *image);

#endif
