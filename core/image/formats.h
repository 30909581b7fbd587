/* One kind of image file: a row in image.c's table. Readers get the mapped bytes and trust none of
   them; writers get a stream that appears under its name only if they succeed. */
#ifndef KD_CORE_IMAGE_FORMATS_H
#define KD_CORE_IMAGE_FORMATS_H
#include "core/files/file.h"
#include "core/image/image.h"

typedef struct image_format {
    const char *suffix; /* with its dot, lower case */
    /* `out` is zeroed; the caller closes it after a failure. Messages name `path`. */
    kd_status (*read)(image *out, const char *path, const file_view *file);
    /* R, G and B exist. */
    kd_status (*write)(const image *from, const image_encoding *encoding, file_output *file);
} image_format;

extern const image_format image_format_png, image_format_pfm;
#ifdef KD_HAVE_OPENEXR
extern const image_format image_format_exr;
#endif

#endif
