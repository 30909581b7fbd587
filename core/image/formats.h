/* What kinds of image files there are: each is a file that ends with its row, image_format_NAME,
   and its NAME in the list. Readers get the file's bytes and trust none of them; writers get a
   stream that appears under its name only if they succeed. */
#ifndef KD_CORE_IMAGE_FORMATS_H
#define KD_CORE_IMAGE_FORMATS_H
#include "core/files/file.h"
#include "core/image/image.h"

struct picture; /* core/image/picture.h */

typedef struct image_format {
    const char *suffix; /* with its dot, lower case */
    /* `out` is zeroed; the caller closes it after a failure. Messages name `path`. */
    kd_status (*read)(image *out, const char *path, const file_view *file);
    /* The same, but perhaps without planes other than R, G, B and A; NULL: `read` it. */
    kd_status (*read_colours)(image *out, const char *path, const file_view *file);
    /* The same as it lies in the file, of 8 or 16 bits a sample; the caller closes `out`, too.
       NULL: the format has no such form. */
    kd_status (*read_packed)(struct picture *out, const char *path, const file_view *file);
    /* R, G and B exist. */
    kd_status (*write)(const image *from, const image_encoding *encoding, file_output *file);
    /* What others have to know of it. */
    bool display;      /* 8 bits a channel, for a screen: written through exposure and tone map */
    const char *lacks; /* NULL, or what this build was made without: nothing is read or written */
} image_format;

#define IMAGE_FORMAT_ROWS(ROW)                                                                     \
    ROW(png) ROW(jpg) ROW(jpeg) ROW(webp) ROW(exr) ROW(hdr) ROW(pic) ROW(pfm)

#define IMAGE_FORMAT_DECLARE(name) extern const image_format image_format_##name;
IMAGE_FORMAT_ROWS(IMAGE_FORMAT_DECLARE)
#undef IMAGE_FORMAT_DECLARE

extern const image_format *const image_formats[];        /* ends with NULL */
const image_format *image_format_find(const char *path); /* by its suffix; NULL: there is none */
/* Suffixes of all that this build reads and writes, ".png" the first; NULL beyond the last. */
const char *image_format_suffix(int index);

/* By suffix; out->texels is NULL if the format has no such form. To picture_close, on failure too.
 */
kd_status image_read_packed(struct picture *out, const char *path);
/* An image of a picture that `open` makes, for rows that have both. */
kd_status image_read_unpacked(image *out, const char *path, const file_view *file,
                              kd_status (*open)(struct picture *out, const char *path,
                                                const file_view *file));

#endif
