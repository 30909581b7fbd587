/* What a picture's file claims, held against its bytes. Each bound is the least number of bytes
   from which a format can make so many pixels, so that no honest file is refused. */
#include "core/image/picture.h"
#include <string.h>

static uint32_t byte_at(const file_view *file, size_t at) {
    return at < file->count ? (uint8_t)file->bytes[at] : 0;
}

static uint32_t word_at(const file_view *file, size_t at) {
    return byte_at(file, at) | byte_at(file, at + 1) << 8;
}

static uint32_t long_at(const file_view *file, size_t at) {
    return word_at(file, at) | word_at(file, at + 2) << 16;
}

static bool begins(const file_view *file, const char *with, size_t count) {
    return file->count >= count && memcmp(file->bytes, with, count) == 0;
}

/* TGA has no signature: its second byte, 0 or 1, tells it from the others. */
picture_kind picture_kind_of(const file_view *file) {
    if (begins(file, "\x89PNG\r\n\x1a\n", 8)) return PICTURE_PNG;
    if (begins(file, "\xff\xd8", 2) || begins(file, "\xff\xff", 2)) return PICTURE_JPEG;
    if (begins(file, "BM", 2)) return PICTURE_BMP;
    if (begins(file, "#?", 2)) return PICTURE_HDR;
    if (begins(file, "\x76\x2f\x31\x01", 4)) return PICTURE_EXR;
    return file->count >= 18 && byte_at(file, 1) <= 1 ? PICTURE_TGA : PICTURE_UNKNOWN;
}

/* Rows of bits and a filter's byte each through deflate, which expands by 1032 at most. */
static uint64_t png_least(const file_view *file, uint64_t width, uint64_t height) {
    const uint64_t depth = byte_at(file, 24), colour = byte_at(file, 25);
    const uint64_t samples = colour == 2 ? 3 : colour == 4 ? 2 : colour == 6 ? 4 : 1;
    return height * (1 + width * samples * (depth ? depth : 1) / 8) / 1040;
}

/* A block is coded in one bit at least; components of 4 x 1 and 1 x 4 make eight blocks of 32 x 32
   pixels. */
static uint64_t jpeg_least(uint64_t width, uint64_t height) {
    return width * height / (8 * 1024);
}

/* Rows as they are: run lengths are not read. */
static uint64_t bmp_least(const file_view *file, uint64_t width, uint64_t height) {
    const uint32_t bits = word_at(file, long_at(file, 14) == 12 ? 24 : 28);
    return height * (width * (bits ? bits : 1) / 8);
}

/* Four bytes a scanline, which may be a column: old run lengths repeat a pixel any number of times.
 */
static uint64_t hdr_least(uint64_t width, uint64_t height) {
    return 4 * (width < height ? width : height);
}

/* A palette, then pixels or runs of up to 128. */
static uint64_t tga_least(const file_view *file, uint64_t width, uint64_t height) {
    const uint64_t palette =
        byte_at(file, 1) ? (uint64_t)word_at(file, 5) * ((byte_at(file, 7) + 7) / 8) : 0;
    const uint64_t pixel = (byte_at(file, 16) + 7) / 8;
    const uint64_t data =
        byte_at(file, 2) & 8 ? (width * height + 127) / 128 * (1 + pixel) : width * height * pixel;
    return 18 + byte_at(file, 0) + palette + data;
}

static uint64_t least_bytes(const file_view *file, const picture_info *claimed) {
    const uint64_t width = (uint64_t)claimed->width, height = (uint64_t)claimed->height;
    switch (claimed->kind) {
    case PICTURE_PNG: return png_least(file, width, height);
    case PICTURE_JPEG: return jpeg_least(width, height);
    case PICTURE_BMP: return bmp_least(file, width, height);
    case PICTURE_HDR: return hdr_least(width, height);
    case PICTURE_TGA: return tga_least(file, width, height);
    case PICTURE_EXR:
    case PICTURE_UNKNOWN: break;
    }
    return UINT64_MAX;
}

/* Floats of a Radiance picture take twelve bytes a pixel: old run lengths must not make any number
   of them out of nothing. */
enum { FREE_PIXELS = 1 << 24, PACKED_PIXELS = 256 };

kd_status picture_check_size(const char *path, const file_view *file, const picture_info *claimed) {
    KD_REQUIRE(claimed->width > 0 && claimed->height > 0 &&
                   least_bytes(file, claimed) <= file->count,
               KD_ERROR_INPUT, "%s: %d x %d pixels cannot come from a file of %zu bytes", path,
               claimed->width, claimed->height, file->count);
    const uint64_t pixels = (uint64_t)claimed->width * (uint64_t)claimed->height;
    KD_REQUIRE(claimed->kind != PICTURE_HDR || pixels <= FREE_PIXELS ||
                   pixels / PACKED_PIXELS <= file->count,
               KD_ERROR_INPUT,
               "%s: %d x %d pixels from a file of %zu bytes, at most %d a byte are read of one of "
               "more than 4096 x 4096",
               path, claimed->width, claimed->height, file->count, PACKED_PIXELS);
    KD_REQUIRE(pixels <= PICTURE_PIXELS, KD_ERROR_INPUT,
               "%s: a picture of %d x %d pixels, this program reads pictures of up to %d in all",
               path, claimed->width, claimed->height, PICTURE_PIXELS);
    return KD_OK;
}

/* The segment of tables whose length stands at `at`: class and number, 16 counts, the values. */
static bool tables_fit(const file_view *file, size_t at) {
    size_t end = at + (byte_at(file, at) << 8 | byte_at(file, at + 1));
    if (end > file->count) end = file->count;
    for (at += 2; at < end;) {
        uint32_t codes = 0;
        for (size_t i = 1; i <= 16; ++i) codes += byte_at(file, at + i);
        if (codes > 256) return false;
        at += 17 + codes;
    }
    return true;
}

static bool is_skipped(uint32_t marker) { /* APP0 to APP15 and comments may hold anything */
    return (marker >= 0xe0 && marker <= 0xef) || marker == 0xfe;
}

/* Only the leading APP segments and comments are skipped by their length, as every decoder does it;
   from there on all that looks like a table is held to be one, wherever a decoder may find itself.
 */
kd_status picture_check_huffman(const char *path, const file_view *file) {
    bool is_behind = false;
    for (size_t at = 0; at + 1 < file->count;) {
        if (byte_at(file, at) != 0xff || byte_at(file, at + 1) == 0xff) {
            ++at;
            continue;
        }
        const uint32_t marker = byte_at(file, at + 1);
        at += 2;
        KD_REQUIRE(marker != 0xc4 || tables_fit(file, at), KD_ERROR_INPUT,
                   "%s: damaged: a Huffman table of more than 256 codes at byte %zu", path, at - 2);
        if (marker != 0xd8 && !is_skipped(marker)) is_behind = true;
        if (!is_behind && is_skipped(marker)) at += byte_at(file, at) << 8 | byte_at(file, at + 1);
    }
    return KD_OK;
}

/* SOF0 to SOF15, but for tables and extensions. */
static bool is_frame(uint32_t marker) {
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

static uint32_t big_word_at(const file_view *file, size_t at) {
    return byte_at(file, at) << 8 | byte_at(file, at + 1);
}

kd_status picture_look_jpeg(picture_info *out, const char *path, const file_view *file) {
    for (size_t at = 0; at + 1 < file->count;) {
        const uint32_t marker = byte_at(file, at + 1);
        if (byte_at(file, at) != 0xff || marker == 0xff || marker == 0 || marker == 0xd8) {
            at += marker == 0xd8 && byte_at(file, at) == 0xff ? 2 : 1;
            continue;
        }
        if (is_frame(marker)) {
            const uint32_t components = byte_at(file, at + 9);
            KD_REQUIRE(byte_at(file, at + 4) == 8, KD_ERROR_INPUT,
                       "%s: a JPEG file of %u bits a sample, expected 8", path,
                       byte_at(file, at + 4));
            out->height = (int32_t)big_word_at(file, at + 5);
            out->width = (int32_t)big_word_at(file, at + 7);
            out->channels = components >= 3 ? 3 : 1;
            return KD_OK;
        }
        if (marker == 0xda || marker == 0xd9) break; /* data or the end: no frame before it */
        at += 2 + big_word_at(file, at + 2);
    }
    KD_FAIL(KD_ERROR_INPUT, "%s: not an image that can be read: a JPEG file without a frame", path);
}
