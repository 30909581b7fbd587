/* The registry of image file formats. A format is implemented in a file that ends with its row,
   image_format_NAME, and NAME is listed below. Readers get the bytes of the file and must validate
   all of them; writers get a stream, which replaces the file only on success. */
#ifndef KD_CORE_IMAGE_FORMATS_H
#define KD_CORE_IMAGE_FORMATS_H
#include "core/files/file.h"
#include "core/image/image.h"

struct picture; /* core/image/picture.h */

typedef struct image_format {
    const char *suffix; /* lower case, with its dot */
    /* Reads a file. `out` is zeroed; the caller closes it on failure. Messages begin with `path`.
       NULL: the image is decoded from what `read_packed` reads. */
    kd_status (*read)(image *out, const char *path, const file_view *file);
    /* As `read`, for a format with layers and windows; NULL: use `read`. */
    kd_status (*read_as)(image *out, const char *path, const file_view *file,
                         const image_reading *reading);
    /* Reads the samples as stored, with 8 or 16 bits each. The caller closes `out`, on failure too.
       NULL: not supported by the format. */
    kd_status (*read_packed)(struct picture *out, const char *path, const file_view *file);
    /* Writes an image that has the planes R, G and B. NULL: `write_bytes` writes it. */
    kd_status (*write)(const image *image, const image_encoding *encoding, file_output *file);
    /* Writes 8-bit samples, row by row from the top, 3 per pixel or, if `alpha`, 3 or 4. */
    kd_status (*write_bytes)(const uint8_t *bytes, int32_t width, int32_t height, int samples,
                             file_output *file);
    /* Properties of the format. */
    bool alpha;        /* write_bytes takes pixels with alpha */
    int32_t side_max;  /* pixels that write_bytes accepts along a side; 0: any number */
    bool display;      /* 8 bits, written through exposure and tone curve */
    bool windows;      /* supports any channels and data windows */
    const char *lacks; /* NULL, or the library that this build lacks */
} image_format;

#define IMAGE_FORMAT_ROWS(ROW)                                                                     \
    ROW(png) ROW(jpg) ROW(jpeg) ROW(webp) ROW(exr) ROW(hdr) ROW(pic) ROW(pfm)

#define IMAGE_FORMAT_DECLARE(name) extern const image_format image_format_##name;
IMAGE_FORMAT_ROWS(IMAGE_FORMAT_DECLARE)
#undef IMAGE_FORMAT_DECLARE

extern const image_format *const image_formats[];        /* terminated by NULL */
const image_format *image_format_find(const char *path); /* by suffix; NULL: none */
const char *image_format_name(int index);                /* the suffix without the dot */
/* Returns the suffixes of all formats that this build supports, ".png" first; NULL after the
   last. */
const char *image_format_suffix(int index);

/* Reads a file in the format of its contents or suffix; out->texels is NULL if the format has no
   packed form. The caller closes `out` with picture_close, on failure too. */
kd_status image_read_packed(struct picture *out, const char *path);
/* Reads the file, which is open, as an image. `out` is zeroed; the caller closes it on failure. */
kd_status image_format_read(const image_format *format, image *out, const char *path,
                            const file_view *file, const image_reading *reading);

#endif
