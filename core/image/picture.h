/* Pictures from files that nobody vouches for: PNG, JPEG, BMP, TGA and Radiance HDR, told apart by
   their bytes; EXR is told, too. Before anything is decoded, the size that a file claims is held
   against its bytes: so many pixels must be able to come out of so many bytes of its format. */
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
    PICTURE_EXR /* known here, read by core/image/image.h alone */
} picture_kind;

typedef struct picture_info {
    picture_kind kind;
    int32_t width, height;
    int32_t channels; /* in the file, 1 to 4 */
    bool is_wide;     /* 16 bits a channel */
} picture_info;

enum { PICTURE_PIXELS = 1 << 28 }; /* 16384 x 16384: larger ones are refused */

typedef enum picture_form {
    PICTURE_BYTES,  /* uint8_t; of 16 bits the upper ones */
    PICTURE_DEEP,   /* uint16_t where the file has 16 bits a channel, else uint8_t */
    PICTURE_FLOATS, /* 3 a texel, linear, of Radiance pictures alone */
} picture_form;

typedef struct picture {
    picture_info info;
    int32_t samples;      /* a texel: 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA */
    int32_t sample_bytes; /* 1, 2 or, of floats, 4 */
    void *texels;         /* owned; rows from the top */
    bool reserved;        /* by core/memory.h, not by stb */
} picture;

/* Which of a texel's samples is its red, green, blue (0 to 2), alpha (3); -1: there is no alpha. */
static inline int32_t picture_sample(const picture *of, int32_t channel) {
    const bool has_alpha = of->samples % 2 == 0;
    if (channel == 3) return has_alpha ? of->samples - 1 : -1;
    return of->samples < 3 ? 0 : channel;
}

/* Of 8 and 16 bits: the largest value of a sample, and the value of sample number `index`. */
static inline uint32_t picture_white(const picture *of) {
    return of->sample_bytes == 2 ? 65535 : 255;
}
static inline uint32_t picture_value(const picture *of, uint64_t index) {
    return of->sample_bytes == 2 ? ((const uint16_t *)of->texels)[index]
                                 : ((const uint8_t *)of->texels)[index];
}

/* What the file is and claims, found possible. KD_ERROR_INPUT with the reason if it is not,
   KD_ERROR_MEMORY. `path` is for messages. */
kd_status picture_look(picture_info *out, const char *path, const file_view *file);
/* The same, and decodes it, with as many samples a texel as the file has; a palette's are those of
   its colours. */
kd_status picture_open(picture *out, const char *path, const file_view *file, picture_form form);
/* Bytes that picture_open takes at most, with what it gives, beside the file. */
uint64_t picture_bytes(const picture_info *of, picture_form form);
void picture_close(picture *owned); /* takes a zeroed one */

/* For readers of one format: the first bytes name the kind; nothing else is looked at. */
picture_kind picture_kind_of(const file_view *file);
/* Whether width x height pixels can come out of this file of this kind; `path` for the message. */
kd_status picture_check_size(const char *path, const file_view *file, const picture_info *claimed);
/* JPEG: what the frame's header says; it stands before the data. */
kd_status picture_look_jpeg(picture_info *out, const char *path, const file_view *file);
/* core/image/jpeg.c, in builds with libjpeg: the samples of a picture whose `info` is known. */
kd_status picture_decode_jpeg(picture *out, const char *path, const file_view *file);
/* JPEG: no Huffman table that a decoder could meet has more than 256 codes. */
kd_status picture_check_huffman(const char *path, const file_view *file);

#ifdef __cplusplus
}
#endif
#endif
