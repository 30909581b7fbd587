/* Radiance pictures (.hdr, .pic), whose pixels have three mantissas and a shared exponent. */
#ifndef KD_CORE_IMAGE_HDR_H
#define KD_CORE_IMAGE_HDR_H
#include "core/files/file.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the size of the picture as displayed, after checking the header and that the file can hold
   that many scanlines. Returns KD_ERROR_INPUT with the reason; messages begin with `path`. */
kd_status hdr_inspect(int32_t *width, int32_t *height, const char *path, const file_view *file);

/* Allocates *texels: linear Rec. 709 radiance, 3 floats per pixel, rows from the top, which the
   caller frees with memory_free. On failure *texels is NULL: KD_ERROR_INPUT if the file is damaged
   or truncated, KD_ERROR_MEMORY. */
kd_status hdr_decode(float **texels, const char *path, const file_view *file);

#ifdef __cplusplus
}
#endif
#endif
