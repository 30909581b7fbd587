/* Source: G. Ward, "Real Pixels", Graphics Gems II, and the Radiance reference manual's file formats:
           a pixel is three mantissas and an exponent, in scanlines that are packed by runs of each
           of the four (2, 2, length), by repeated pixels (1, 1, 1, count), or not at all.
   Idea: each scanline is unpacked into a row of pixels against the end of the file, then scattered
         to where the header's orientation puts it.
   Work: O(bytes + pixels). A scanline takes at least one pixel's bytes, so that the number of
         scanlines is bounded by the file's size before anything is reserved.
   Differs from it in: mantissas are not moved by a half; a run that would go beyond its scanline,
         or that repeats a pixel before the first, is damage. */
#include "core/image/hdr.h"
#include "core/image/hdr_header.h"
#include "core/log.h"
#include "core/memory.h"
#include <math.h>
#include <string.h>

enum { PACKED_LEAST = 8, PACKED_MOST = 0x7fff }; /* lengths that may be packed by mantissas */

typedef struct hdr_scan {
    const uint8_t *at, *end;
    const char *path;
    int32_t line, lines, length;
    uint8_t *pixels; /* length x 4 */
} hdr_scan;

static kd_status damage(const hdr_scan *of, bool is_cut) {
    KD_FAIL(KD_ERROR_INPUT, "%s: %s in scanline %d of %d", of->path,
            is_cut ? "truncated: the file ends" : "damaged: a run goes beyond its scanline",
            of->line + 1, of->lines);
}

/* Each of the four for itself: a count above 128 repeats one byte, others copy so many. */
static kd_status unpack_planes(hdr_scan *of) {
    for (int c = 0; c < 4; ++c)
        for (int32_t x = 0; x < of->length;) {
            if (of->end - of->at < 2) return damage(of, true);
            const int32_t code = *of->at++;
            const int32_t run = code > 128 ? code - 128 : code, bytes = code > 128 ? 1 : code;
            if (run < 1 || run > of->length - x) return damage(of, false);
            if (of->end - of->at < bytes) return damage(of, true);
            for (int32_t i = 0; i < run; ++i)
                of->pixels[4 * (x + i) + c] = of->at[code > 128 ? 0 : i];
            of->at += bytes;
            x += run;
        }
    return KD_OK;
}

/* Pixels, and where the mantissas are 1, 1, 1 a count of repetitions; of several such counts in
   turn each has eight bits more. */
static kd_status unpack_pixels(hdr_scan *of) {
    int shift = 0;
    for (int32_t x = 0; x < of->length; of->at += 4) {
        if (of->end - of->at < 4) return damage(of, true);
        const uint8_t *from = of->at;
        if (from[0] != 1 || from[1] != 1 || from[2] != 1) {
            memcpy(of->pixels + 4 * x++, from, 4);
            shift = 0;
            continue;
        }
        const int64_t run = shift < 32 ? (int64_t)from[3] << shift : (int64_t)from[3] << 32;
        if (run > of->length - x || x == 0) return damage(of, false);
        for (int64_t i = 0; i < run; ++i, ++x)
            memcpy(of->pixels + 4 * x, of->pixels + 4 * (x - 1), 4);
        shift += shift < 32 ? 8 : 0;
    }
    return KD_OK;
}

static kd_status scanline_unpack(hdr_scan *of) {
    const uint8_t *from = of->at;
    if (of->length < PACKED_LEAST || of->length > PACKED_MOST || of->end - from < 4 ||
        from[0] != 2 || from[1] != 2 || from[2] >= 128)
        return unpack_pixels(of);
    const int32_t length = from[2] << 8 | from[3];
    KD_REQUIRE(length == of->length, KD_ERROR_INPUT,
               "%s: damaged: scanline %d of %d has %d pixels, expected %d", of->path, of->line + 1,
               of->lines, length, of->length);
    of->at += 4;
    return unpack_planes(of);
}

static void pixel_convert(float to[3], const uint8_t from[4], const hdr_header *by) {
    float value[3] = {0, 0, 0};
    if (from[3]) {
        const float unit = ldexpf(1, from[3] - (128 + 8));
        for (int c = 0; c < 3; ++c) value[c] = unit * (float)from[c];
    }
    for (int c = 0; c < 3; ++c) {
        const float *row = by->to_rec709 + 3 * c;
        to[c] = by->converts ? row[0] * value[0] + row[1] * value[1] + row[2] * value[2] : value[c];
    }
}

/* Where scanline and pixel lie in the picture. */
static void scanline_scatter(float *texels, const hdr_scan *from, const hdr_header *by) {
    const int64_t width = by->by_columns ? by->scanlines : by->length;
    const int64_t height = by->by_columns ? by->length : by->scanlines;
    for (int64_t i = 0; i < from->length; ++i) {
        int64_t x = by->by_columns ? from->line : i, y = by->by_columns ? i : from->line;
        if (by->from_right) x = width - 1 - x;
        if (by->from_bottom) y = height - 1 - y;
        pixel_convert(texels + 3 * (y * width + x), from->pixels + 4 * i, by);
    }
}

static kd_status scanlines_read(float *texels, hdr_scan *from, const hdr_header *by) {
    for (from->line = 0; from->line < from->lines; ++from->line) {
        KD_TRY(scanline_unpack(from));
        scanline_scatter(texels, from, by);
    }
    return KD_OK;
}

/* A scanline takes four bytes at least. */
static kd_status header_check(hdr_header *out, const char *path, const file_view *file) {
    KD_TRY(hdr_header_read(out, path, file));
    KD_REQUIRE((uint64_t)out->scanlines * 4 <= file->count - out->pixels, KD_ERROR_INPUT,
               "%s: truncated: %d scanlines of %d pixels cannot come from a file of %zu bytes",
               path, out->scanlines, out->length, file->count);
    return KD_OK;
}

kd_status hdr_look(int32_t *width, int32_t *height, const char *path, const file_view *file) {
    hdr_header header;
    KD_TRY(header_check(&header, path, file));
    *width = header.by_columns ? header.scanlines : header.length;
    *height = header.by_columns ? header.length : header.scanlines;
    return KD_OK;
}

kd_status hdr_decode(float **texels, const char *path, const file_view *file) {
    hdr_header header;
    *texels = NULL;
    KD_TRY(header_check(&header, path, file));
    if (header.gamma != 1)
        log_message(LOG_WARNING, "%s: GAMMA=%g is not applied: its values are taken as linear",
                    path, header.gamma);
    const uint8_t *bytes = (const uint8_t *)file->bytes;
    hdr_scan scan = {.at = bytes + header.pixels,
                     .end = bytes + file->count,
                     .path = path,
                     .lines = header.scanlines,
                     .length = header.length,
                     .pixels = NULL};
    float *made = NULL;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(made, 3 * (uint64_t)header.scanlines * (uint64_t)header.length));
    KD_TRY_GOTO(KD_RESERVE(scan.pixels, 4 * (uint64_t)header.length));
    KD_TRY_GOTO(scanlines_read(made, &scan, &header));
    *texels = made;
    made = NULL;
done:
    memory_free(scan.pixels);
    memory_free(made);
    return status;
}
