/* Decoding of untrusted picture files: PNG, JPEG, BMP, TGA, GIF, PNM, Radiance HDR, WebP and
   TIFF, identified by content; EXR is identified only. Before a file is decoded, the size that it
   claims is validated against its length: the format must be able to represent that many pixels in
   that many bytes. */
#ifndef KD_CORE_IMAGE_PICTURE_H
#define KD_CORE_IMAGE_PICTURE_H
#include "core/files/file.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum picture_kind {
    PICTURE_UNKNOWN,
    PICTURE_PNG,
    PICTURE_JPEG,
    PICTURE_BMP,
    PICTURE_HDR,
    PICTURE_TGA,
    PICTURE_EXR,  /* identified here, but read only by core/image/image.h */
    PICTURE_WEBP, /* read in builds with libwebp */
    PICTURE_PNM,
    PICTURE_TIFF, /* read in builds with libtiff */
    PICTURE_GIF   /* the first frame */
} picture_kind;

typedef struct picture_info {
    picture_kind kind;
    int32_t width, height;
    int32_t channels; /* channels in the file, 1 to 4 */
    bool is_wide;     /* 16 bits per channel */
} picture_info;

enum { PICTURE_PIXELS = 1 << 28 }; /* maximum number of pixels, such as 16384 x 16384 */

typedef enum picture_form {
    PICTURE_BYTES,  /* uint8_t; the upper 8 of 16 bits */
    PICTURE_DEEP,   /* uint16_t if the file has 16 bits per channel, else uint8_t */
    PICTURE_FLOATS, /* linear float, 3 per texel; Radiance pictures only */
} picture_form;

typedef struct picture {
    picture_info info;
    int32_t samples;      /* per texel: 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA */
    int32_t sample_bytes; /* 1, 2 or 4 (float) */
    void *texels;         /* owned; rows from the top */
    bool reserved;        /* allocated by core/memory.h, not by stb */
} picture;

/* Returns the index of a texel's sample for red, green, blue (0 to 2) or alpha (3); -1 if there is
   no alpha. */
static inline int32_t picture_sample(const picture *picture, int32_t channel) {
    const bool has_alpha = picture->samples % 2 == 0;
    if (channel == 3) return has_alpha ? picture->samples - 1 : -1;
    return picture->samples < 3 ? 0 : channel;
}

/* For 8-bit and 16-bit samples: the maximum value of a sample, and the value of sample `index`. */
static inline uint32_t picture_white(const picture *picture) {
    return picture->sample_bytes == 2 ? 65535 : 255;
}
static inline uint32_t picture_value(const picture *picture, uint64_t index) {
    return picture->sample_bytes == 2 ? ((const uint16_t *)picture->texels)[index]
                                      : ((const uint8_t *)picture->texels)[index];
}

/* Reads and validates the properties of a file without decoding it. Returns KD_ERROR_INPUT with the
   reason, or KD_ERROR_MEMORY; messages begin with `path`. */
kd_status picture_inspect(picture_info *out, const char *path, const file_view *file);
/* Validates and decodes a file, with as many samples per texel as the file has; for a palette, as
   its colours have. */
kd_status picture_open(picture *out, const char *path, const file_view *file, picture_form form);
/* Returns an upper bound of the memory that picture_open uses in addition to the file, including
   its result. */
uint64_t picture_bytes(const picture_info *info, picture_form form);
void picture_close(picture *owned); /* accepts a zeroed struct */

/* For readers of a single format: identifies the format by its signature only. */
picture_kind picture_kind_of(const file_view *file);
/* Returns KD_ERROR_INPUT unless a file of this format and length can represent width x height
   pixels; messages begin with `path`. */
kd_status picture_check_size(const char *path, const file_view *file, const picture_info *claimed);
/* Reads the size and channels from the frame header of a JPEG file, which precedes its data. */
kd_status picture_inspect_jpeg(picture_info *out, const char *path, const file_view *file);
/* Decodes a JPEG file whose `info` is known; in builds with libjpeg (core/image/jpeg.c). */
kd_status picture_decode_jpeg(picture *out, const char *path, const file_view *file);
/* Reads the size and channels of a WebP file, and decodes one. Return KD_ERROR_INPUT in builds
   without libwebp (core/image/webp.c). */
kd_status picture_inspect_webp(picture_info *out, const char *path, const file_view *file);
kd_status picture_decode_webp(picture *out, const char *path, const file_view *file);
/* Returns true if this build has libwebp. */
bool picture_reads_webp(void);
bool picture_reads_tiff(void); /* the same for libtiff */
/* The same for TIFF files (core/image/tiff.c), in builds with libtiff, for GIF files
   (core/image/gif.c), and for PBM, PGM, PPM and PAM files (core/image/pnm.c). `out` has its `info`
   and `sample_bytes`. */
kd_status picture_inspect_tiff(picture_info *out, const char *path, const file_view *file);
kd_status picture_decode_tiff(picture *out, const char *path, const file_view *file);
kd_status picture_inspect_gif(picture_info *out, const char *path, const file_view *file);
kd_status picture_decode_gif(picture *out, const char *path, const file_view *file);
kd_status picture_inspect_pnm(picture_info *out, const char *path, const file_view *file);
kd_status picture_decode_pnm(picture *out, const char *path, const file_view *file);
/* Returns the file's kind, such as "a GIF image", if it is a picture or another file that this
   build cannot decode; else NULL. */
const char *picture_foreign_name(const file_view *file);
/* Checks that no JPEG Huffman table that a decoder could encounter has more than 256 codes. */
kd_status picture_check_huffman(const char *path, const file_view *file);

#ifdef __cplusplus
}
#endif
#endif
