/* The header of a Radiance picture, for its reader. */
#ifndef KD_CORE_IMAGE_HDR_HEADER_H
#define KD_CORE_IMAGE_HDR_HEADER_H
#include "core/files/file.h"
#include <stdint.h>

typedef struct hdr_header {
    int32_t scanlines, length; /* in the file's order */
    bool by_columns;           /* a scanline is a column of the picture */
    bool from_right, from_bottom;
    bool converts;      /* `to_rec709` is not the identity */
    float to_rec709[9]; /* row major; multiplies a column of the file's values */
    double gamma;       /* as a line says; 1: the values are linear */
    size_t pixels;      /* where they begin in the file */
} hdr_header;

/* KD_ERROR_INPUT with the reason; `path` is for messages. */
kd_status hdr_header_read(hdr_header *out, const char *path, const file_view *file);

#endif
