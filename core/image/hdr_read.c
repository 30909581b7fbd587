#include "core/files/file.h"
#include "core/image/hdr.h"
#include "core/math/primaries.h"
#include "core/memory.h"
#include "core/status.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct hdr_header {
    int32_t scanlines, length; /* size as stored, before the orientation is applied */
    bool by_columns;           /* scanlines are columns of the picture */
    bool from_right, from_bottom;
    bool converts;      /* `to_rec709` is not the identity */
    float to_rec709[9]; /* row major; multiplies a column vector of file values */
    double gamma;       /* value of the header line; 1: linear */
    double aspect;      /* height of a pixel by its width */
    size_t pixels;      /* offset of the pixels in the file */
} hdr_header;

/* Reads and validates the header. Returns KD_ERROR_INPUT with the reason; messages begin with
   `path`. */
kd_status hdr_header_read(hdr_header *out, const char *path, const file_view *file);

/* Header of a Radiance picture.
   Source: G. Ward, "Radiance File Formats": a first line "#?RADIANCE", lines of NAME=VALUE, an
           empty line, and the resolution, such as "-Y 480 +X 640": the first axis counts scanlines,
           the sign gives the direction; X points right, Y up.
   Idea: EXPOSURE and COLORCORR are factors by which the values in the file have been multiplied.
         Either may occur several times; radiance is the value divided by all of them. Factors and
         primaries are combined into one matrix.
   Differs from the source in: any first line that begins with "#?" is accepted; the white point of
                               PRIMARIES is adapted to that of Rec. 709 (Bradford), so that (1, 1,
                               1) remains white; GAMMA, which is not part of Radiance's format, is
                               ignored with a warning, the shape of the pixels with a note. */

typedef struct line_cursor {
    const char *at, *end; /* rest of the file */
    const char *line;     /* current line */
    size_t count;         /* length of `line` without its terminator */
} line_cursor;

static bool line_take(line_cursor *cursor) {
    const size_t left = (size_t)(cursor->end - cursor->at);
    const char *stop = left ? (const char *)memchr(cursor->at, '\n', left) : NULL;
    if (!stop) return false;
    cursor->line = cursor->at;
    cursor->count = (size_t)(stop - cursor->at);
    cursor->at = stop + 1;
    if (cursor->count && cursor->line[cursor->count - 1] == '\r') --cursor->count;
    return true;
}

/* --- values --- */

/* Returns the value if the line is NAME=VALUE, truncated to the buffer; else NULL. */
static const char *value_of(const line_cursor *cursor, const char *name, char text[256]) {
    const size_t length = strlen(name);
    if (cursor->count < length + 1 || memcmp(cursor->line, name, length) ||
        cursor->line[length] != '=')
        return NULL;
    size_t count = cursor->count - length - 1;
    if (count > 255) count = 255;
    memcpy(text, cursor->line + length + 1, count);
    text[count] = '\0';
    return text;
}

static const char *spaces_skip(const char *at) {
    return at + strspn(at, " \t");
}

/* Parses a decimal number independently of the locale. Returns the end of the number, or NULL if
   there is none. */
static const char *number_take(double *out, const char *at) {
    double value = 0, sign = 1;
    int scale = 0, digits = 0;
    at = spaces_skip(at);
    if (*at == '-' || *at == '+') sign = *at++ == '-' ? -1 : 1;
    for (; *at >= '0' && *at <= '9'; ++at, ++digits) value = 10 * value + (*at - '0');
    if (*at == '.')
        for (++at; *at >= '0' && *at <= '9'; ++at, ++digits, --scale)
            value = 10 * value + (*at - '0');
    if (!digits) return NULL;
    if (*at == 'e' || *at == 'E') {
        const char *power = at + 1;
        const bool falls = *power == '-';
        int size = 0;
        if (*power == '-' || *power == '+') ++power;
        if (*power < '0' || *power > '9') return NULL;
        for (; *power >= '0' && *power <= '9'; ++power)
            if (size < 10000) size = 10 * size + (*power - '0');
        scale += falls ? -size : size;
        at = power;
    }
    *out = sign * (scale < 0 ? value / pow(10, -scale) : value * pow(10, scale));
    return at;
}

/* Parses exactly `count` numbers. */
static bool numbers_take(double *out, int count, const char *text) {
    for (int i = 0; i < count && text; ++i) text = number_take(out + i, text);
    return text && *spaces_skip(text) == '\0';
}

/* --- colours --- */

/* Colour properties collected from the header lines. */
typedef struct hdr_values {
    bool is_xyz, has_primaries;
    double gamma, aspect, factor[3];
    double primaries[8];
} hdr_values;

static bool matrix_make(hdr_header *out, const hdr_values *values) {
    colour_matrix made = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    if (values->is_xyz) {
        if (!primaries_from_xyz(made)) return false;
    } else if (values->has_primaries && !primaries_to_rec709(made, values->primaries)) {
        return false;
    }
    out->converts = values->is_xyz || values->has_primaries;
    for (int i = 0; i < 9; ++i) {
        out->to_rec709[i] = (float)(made[i] / values->factor[i % 3]);
        out->converts |= values->factor[i % 3] != 1;
        if (!isfinite(out->to_rec709[i])) return false;
    }
    return true;
}

/* --- lines --- */

static kd_status format_take(hdr_values *values, const char *path, const char *text) {
    const char *name = spaces_skip(text);
    const size_t length = strcspn(name, " \t");
    const bool is_single = length == 15 && *spaces_skip(name + length) == '\0';
    values->is_xyz = is_single && memcmp(name, "32-bit_rle_xyze", length) == 0;
    KD_REQUIRE(values->is_xyz || (is_single && memcmp(name, "32-bit_rle_rgbe", length) == 0),
               KD_ERROR_INPUT,
               "%s: found FORMAT=%.64s, expected 32-bit_rle_rgbe or 32-bit_rle_xyze", path, text);
    return KD_OK;
}

static kd_status value_take(hdr_values *values, const char *path, const line_cursor *cursor) {
    char buffer[256];
    const char *text;
    double value[8];
    if ((text = value_of(cursor, "FORMAT", buffer))) return format_take(values, path, text);
    if ((text = value_of(cursor, "EXPOSURE", buffer))) {
        KD_REQUIRE(numbers_take(value, 1, text) && value[0] > 0, KD_ERROR_INPUT,
                   "%s: found EXPOSURE=%.64s, expected a positive number", path, text);
        for (int c = 0; c < 3; ++c) values->factor[c] *= value[0];
    } else if ((text = value_of(cursor, "COLORCORR", buffer))) {
        KD_REQUIRE(numbers_take(value, 3, text) && value[0] > 0 && value[1] > 0 && value[2] > 0,
                   KD_ERROR_INPUT, "%s: found COLORCORR=%.64s, expected three positive numbers",
                   path, text);
        for (int c = 0; c < 3; ++c) values->factor[c] *= value[c];
    } else if ((text = value_of(cursor, "PRIMARIES", buffer))) {
        KD_REQUIRE(numbers_take(value, 8, text), KD_ERROR_INPUT,
                   "%s: found PRIMARIES=%.64s, expected eight numbers", path, text);
        memcpy(values->primaries, value, sizeof value);
        values->has_primaries = !primaries_are_rec709(value);
    } else if ((text = value_of(cursor, "GAMMA", buffer))) {
        KD_REQUIRE(numbers_take(value, 1, text), KD_ERROR_INPUT,
                   "%s: found GAMMA=%.64s, expected a number", path, text);
        values->gamma = value[0];
    } else if ((text = value_of(cursor, "PIXASPECT", buffer))) {
        KD_REQUIRE(numbers_take(value, 1, text) && value[0] > 0, KD_ERROR_INPUT,
                   "%s: found PIXASPECT=%.64s, expected a positive number", path, text);
        values->aspect *= value[0];
    }
    return KD_OK;
}

/* Parses an axis such as "-Y 480": name, direction and size. */
static const char *axis_take(char *axis, bool *falls, int32_t *size, const char *at) {
    at = spaces_skip(at);
    if ((*at != '-' && *at != '+') || (at[1] != 'X' && at[1] != 'Y')) return NULL;
    *falls = *at == '-';
    *axis = at[1];
    at = spaces_skip(at + 2);
    const size_t digits = strspn(at, "0123456789");
    if (digits < 1 || digits > 9) return NULL;
    *size = atoi(at);
    return *size > 0 ? at + digits : NULL;
}

static kd_status resolution_take(hdr_header *out, const char *path, const line_cursor *cursor) {
    char text[128], axes[2] = {0, 0};
    bool falls[2] = {false, false};
    const size_t count = cursor->count < sizeof text - 1 ? cursor->count : sizeof text - 1;
    memcpy(text, cursor->line, count);
    text[count] = '\0';
    const char *at = axis_take(&axes[0], &falls[0], &out->scanlines, text);
    if (at) at = axis_take(&axes[1], &falls[1], &out->length, at);
    KD_REQUIRE(at && *spaces_skip(at) == '\0' && axes[0] != axes[1], KD_ERROR_INPUT,
               "%s: resolution \"%.64s\", expected one like \"-Y 480 +X 640\"", path, text);
    out->by_columns = axes[0] == 'X';
    out->from_right = falls[out->by_columns ? 0 : 1];
    out->from_bottom = !falls[out->by_columns ? 1 : 0];
    return KD_OK;
}

kd_status hdr_header_read(hdr_header *out, const char *path, const file_view *file) {
    line_cursor lines = {file->bytes, file->bytes + file->count, file->bytes, 0};
    hdr_values values = {.gamma = 1, .aspect = 1, .factor = {1, 1, 1}};
    memset(out, 0, sizeof *out);
    KD_REQUIRE(line_take(&lines) && lines.count >= 2 && !memcmp(lines.line, "#?", 2),
               KD_ERROR_INPUT, "%s: not a Radiance image: the first line must be #?RADIANCE", path);
    for (;;) {
        KD_REQUIRE(line_take(&lines), KD_ERROR_INPUT,
                   "%s: truncated: the file ends within its header", path);
        if (lines.count == 0) break;
        KD_TRY(value_take(&values, path, &lines));
    }
    KD_REQUIRE(line_take(&lines), KD_ERROR_INPUT, "%s: truncated: the file ends before its pixels",
               path);
    KD_TRY(resolution_take(out, path, &lines));
    KD_REQUIRE(matrix_make(out, &values), KD_ERROR_INPUT,
               "%s: the values of EXPOSURE, COLORCORR or PRIMARIES do not define colours", path);
    out->gamma = values.gamma;
    out->aspect = values.aspect;
    out->pixels = (size_t)(lines.at - file->bytes);
    return KD_OK;
}

/* Pixels of a Radiance picture.
   Source: G. Ward, "Real Pixels", Graphics Gems II, and the file formats of the Radiance reference
           manual: a pixel has three mantissas and an exponent. A scanline is stored with run-length
           encoding of each of the four components (header 2, 2, length), with repeated pixels (1,
           1, 1, count), or uncompressed.
   Idea: each scanline is decoded into a row of pixels, with every read checked against the end of
         the file, then stored according to the orientation in the header.
   Work: O(bytes + pixels). A scanline takes the bytes of at least one pixel, so the file size
         bounds the number of scanlines before memory is allocated.
   Differs from the source in: mantissas are not offset by one half; a run beyond the end of its
                               scanline, or a repetition before the first pixel, is an error. */

enum { PACKED_MIN = 8, PACKED_MAX = 0x7fff }; /* encodable lengths */

typedef struct hdr_scan {
    const uint8_t *at, *end;
    const char *path;
    int32_t line, lines, length;
    uint8_t *pixels; /* length * 4 bytes */
} hdr_scan;

static kd_status damage(const hdr_scan *scan, bool is_cut) {
    KD_FAIL(KD_ERROR_INPUT, "%s: %s in scanline %d of %d", scan->path,
            is_cut ? "truncated: the file ends" : "damaged: a run exceeds its scanline",
            scan->line + 1, scan->lines);
}

/* Component-wise run-length encoding: a count above 128 repeats one byte, other counts copy that
   many bytes. */
static kd_status unpack_planes(hdr_scan *scan) {
    for (int c = 0; c < 4; ++c)
        for (int32_t x = 0; x < scan->length;) {
            if (scan->end - scan->at < 2) return damage(scan, true);
            const int32_t code = *scan->at++;
            const int32_t run = code > 128 ? code - 128 : code, bytes = code > 128 ? 1 : code;
            if (run < 1 || run > scan->length - x) return damage(scan, false);
            if (scan->end - scan->at < bytes) return damage(scan, true);
            for (int32_t i = 0; i < run; ++i)
                scan->pixels[4 * (x + i) + c] = scan->at[code > 128 ? 0 : i];
            scan->at += bytes;
            x += run;
        }
    return KD_OK;
}

/* Old encoding: a pixel with mantissas 1, 1, 1 is a repeat count of the preceding pixel;
   consecutive counts are digits of base 256, least significant first. */
static kd_status unpack_pixels(hdr_scan *scan) {
    int shift = 0;
    for (int32_t x = 0; x < scan->length; scan->at += 4) {
        if (scan->end - scan->at < 4) return damage(scan, true);
        const uint8_t *from = scan->at;
        if (from[0] != 1 || from[1] != 1 || from[2] != 1) {
            memcpy(scan->pixels + 4 * x++, from, 4);
            shift = 0;
            continue;
        }
        const int64_t run = shift < 32 ? (int64_t)from[3] << shift : (int64_t)from[3] << 32;
        if (run > scan->length - x || x == 0) return damage(scan, false);
        for (int64_t i = 0; i < run; ++i, ++x)
            memcpy(scan->pixels + 4 * x, scan->pixels + 4 * (x - 1), 4);
        shift += shift < 32 ? 8 : 0;
    }
    return KD_OK;
}

static kd_status scanline_unpack(hdr_scan *scan) {
    const uint8_t *from = scan->at;
    if (scan->length < PACKED_MIN || scan->length > PACKED_MAX || scan->end - from < 4 ||
        from[0] != 2 || from[1] != 2 || from[2] >= 128)
        return unpack_pixels(scan);
    const int32_t length = from[2] << 8 | from[3];
    KD_REQUIRE(length == scan->length, KD_ERROR_INPUT,
               "%s: damaged: scanline %d of %d has %d pixels; expected %d", scan->path,
               scan->line + 1, scan->lines, length, scan->length);
    scan->at += 4;
    return unpack_planes(scan);
}

static void pixel_convert(float to[3], const uint8_t from[4], const hdr_header *header) {
    float value[3] = {0, 0, 0};
    if (from[3]) {
        const float unit = ldexpf(1, from[3] - (128 + 8));
        for (int c = 0; c < 3; ++c) value[c] = unit * (float)from[c];
    }
    for (int c = 0; c < 3; ++c) {
        const float *row = header->to_rec709 + 3 * c;
        to[c] =
            header->converts ? row[0] * value[0] + row[1] * value[1] + row[2] * value[2] : value[c];
    }
}

/* Stores a scanline at its position in the picture. */
static void scanline_scatter(float *texels, const hdr_scan *scan, const hdr_header *header) {
    const int64_t width = header->by_columns ? header->scanlines : header->length;
    const int64_t height = header->by_columns ? header->length : header->scanlines;
    for (int64_t i = 0; i < scan->length; ++i) {
        int64_t x = header->by_columns ? scan->line : i, y = header->by_columns ? i : scan->line;
        if (header->from_right) x = width - 1 - x;
        if (header->from_bottom) y = height - 1 - y;
        pixel_convert(texels + 3 * (y * width + x), scan->pixels + 4 * i, header);
    }
}

static kd_status scanlines_read(float *texels, hdr_scan *scan, const hdr_header *header) {
    for (scan->line = 0; scan->line < scan->lines; ++scan->line) {
        KD_TRY(scanline_unpack(scan));
        scanline_scatter(texels, scan, header);
    }
    return KD_OK;
}

/* Checks that the file can hold all scanlines, which take at least four bytes each. */
static kd_status header_check(hdr_header *out, const char *path, const file_view *file) {
    KD_TRY(hdr_header_read(out, path, file));
    KD_REQUIRE((uint64_t)out->scanlines * 4 <= file->count - out->pixels, KD_ERROR_INPUT,
               "%s: truncated: found %d scanlines of %d pixels in a file of only %zu bytes", path,
               out->scanlines, out->length, file->count);
    return KD_OK;
}

kd_status hdr_inspect(int32_t *width, int32_t *height, const char *path, const file_view *file) {
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
        log_message(LOG_WARNING, "%s: GAMMA=%g is ignored; the values are read as linear", path,
                    header.gamma);
    if (fabs(header.aspect - 1) > 1e-3)
        log_message(LOG_INFO,
                    "%s: its pixels are %g times as wide as high; they are read as squares", path,
                    1 / header.aspect);
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
