/* Radiance pictures: the writer, with run-length encoding and rows from the top, and the format's
   registration. Negative and NaN colours become 0. The reader is in core/image/hdr_read.c. */
#include "core/image/formats.h"
#include "core/image/picture.h"
#include "core/memory.h"
#include <math.h>
#include <string.h>

static const char *const colours[] = {"R", "G", "B"};

/* Scanline lengths that may be run-length encoded; minimum length of a run, since shorter ones save
   nothing. */
enum { PACKED_MIN = 8, PACKED_MAX = 0x7fff, RUN_MIN = 4, RUN_MAX = 127, COPY_MAX = 128 };

/* --- writing --- */

static float light_of(float value) {
    return value > 0 ? fminf(value, 1e38f) : 0;
}

/* Converts to RGBE; mantissas are truncated, as in Radiance. */
static void pixel_pack(uint8_t to[4], float r, float g, float b) {
    const float rgb[3] = {light_of(r), light_of(g), light_of(b)};
    const float largest = fmaxf(rgb[0], fmaxf(rgb[1], rgb[2]));
    int exponent;
    memset(to, 0, 4);
    if (!(largest > 1e-32f)) return;
    frexpf(largest, &exponent);
    for (int c = 0; c < 3; ++c) to[c] = (uint8_t)ldexpf(rgb[c], 8 - exponent);
    to[3] = (uint8_t)(exponent + 128);
}

static int32_t run_at(const uint8_t *plane, int32_t left) {
    int32_t run = 1;
    while (run < left && run < RUN_MAX && plane[run] == plane[0]) ++run;
    return run;
}

/* Run-length encodes a plane and returns the end of the output, which grows by at most one byte per
   128. */
static uint8_t *plane_pack(uint8_t *to, const uint8_t *plane, int32_t length) {
    for (int32_t x = 0; x < length;) {
        const int32_t run = run_at(plane + x, length - x);
        if (run >= RUN_MIN) {
            *to++ = (uint8_t)(128 + run);
            *to++ = plane[x];
            x += run;
            continue;
        }
        int32_t copied = run;
        while (x + copied < length && copied < COPY_MAX &&
               run_at(plane + x + copied, length - x - copied) < RUN_MIN)
            ++copied;
        *to++ = (uint8_t)copied;
        memcpy(to, plane + x, (size_t)copied);
        to += copied;
        x += copied;
    }
    return to;
}

typedef struct hdr_row {
    uint8_t *pixels; /* 4 bytes per pixel */
    uint8_t *planes; /* one of the four components */
    uint8_t *packed; /* capacity for all planes and their run headers */
} hdr_row;

static void row_write(FILE *file, const image *image, int64_t y, const hdr_row *row) {
    const size_t width = (size_t)image->width, begin = (size_t)y * width;
    const float *rgb[3];
    for (int c = 0; c < 3; ++c) rgb[c] = image_plane(image, colours[c]) + begin;
    for (size_t x = 0; x < width; ++x)
        pixel_pack(row->pixels + 4 * x, rgb[0][x], rgb[1][x], rgb[2][x]);
    if (width < PACKED_MIN || width > PACKED_MAX) {
        fwrite(row->pixels, 4, width, file);
        return;
    }
    uint8_t *end = row->packed;
    *end++ = 2;
    *end++ = 2;
    *end++ = (uint8_t)(width >> 8);
    *end++ = (uint8_t)width;
    for (size_t c = 0; c < 4; ++c) {
        for (size_t x = 0; x < width; ++x) row->planes[x] = row->pixels[4 * x + c];
        end = plane_pack(end, row->planes, image->width);
    }
    fwrite(row->packed, 1, (size_t)(end - row->packed), file);
}

static kd_status hdr_write(const image *image, const image_encoding *encoding, file_output *file) {
    hdr_row row = {NULL, NULL, NULL};
    const uint64_t width = (uint64_t)image->width;
    kd_status status = KD_OK;
    (void)encoding;
    KD_TRY_GOTO(KD_RESERVE(row.pixels, 4 * width));
    KD_TRY_GOTO(KD_RESERVE(row.planes, width));
    KD_TRY_GOTO(KD_RESERVE(row.packed, 4 + 5 * width + 4));
    fprintf(file->stream, "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y %d +X %d\n", image->height,
            image->width);
    for (int64_t y = 0; y < image->height; ++y) row_write(file->stream, image, y, &row);
done:
    memory_free(row.pixels);
    memory_free(row.planes);
    memory_free(row.packed);
    return status;
}

/* --- reading --- */

static kd_status planes_fill(image *out, const float *texels) {
    for (int c = 0; c < 3; ++c) {
        float *plane;
        KD_TRY(image_add(out, colours[c], &plane));
        for (size_t i = 0; i < (size_t)out->width * (size_t)out->height; ++i)
            plane[i] = texels[3 * i + (size_t)c];
    }
    return KD_OK;
}

static kd_status hdr_read(image *out, const char *path, const file_view *file) {
    picture decoded;
    KD_REQUIRE(picture_kind_of(file) == PICTURE_HDR, KD_ERROR_INPUT,
               "%s: not a Radiance image: the first line must be #?RADIANCE", path);
    kd_status status = picture_open(&decoded, path, file, PICTURE_FLOATS);
    if (status == KD_OK) status = image_open(out, decoded.info.width, decoded.info.height);
    if (status == KD_OK) status = planes_fill(out, (const float *)decoded.texels);
    picture_close(&decoded);
    KD_TRY(status);
    return KD_OK;
}

const image_format image_format_hdr = {.suffix = ".hdr", .read = hdr_read, .write = hdr_write};
const image_format image_format_pic = {.suffix = ".pic", .read = hdr_read, .write = hdr_write};
