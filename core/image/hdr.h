/* Radiance pictures (.hdr, .pic): pixels of three mantissas and a common exponent. */
#ifndef KD_CORE_IMAGE_HDR_H
#define KD_CORE_IMAGE_HDR_H
#include "core/files/file.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The size as shown, after the header and whether the file can hold so many scanlines have been
   checked. KD_ERROR_INPUT with the reason; `path` is for messages. */
kd_status hdr_look(int32_t *width, int32_t *height, const char *path, const file_view *file);

/* *texels = linear Rec. 709 radiance, 3 floats a pixel, rows from the top; owned, by memory_free.
   KD_ERROR_INPUT if anything is damaged or missing, KD_ERROR_MEMORY; *texels is NULL then. */
kd_status hdr_decode(float **texels, const char *path, const file_view *file);

#ifdef __cplusplus
}
#endif
#endif
