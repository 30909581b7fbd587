/* PNG through stb: 8 bit sRGB out; 8 or 16 bit in, decoded to linear.
   An image in memory holds colours multiplied by alpha (as OpenEXR does), PNG holds them not
   multiplied: where 0 < A < 1 they are divided on the way out and multiplied on the way in; where
   A is 0 the colour (a visible environment, say) passes as it is.
   Differs from stb in: every chunk's checksum is verified before anything is decoded. */
#include "core/image/formats.h"
#include "core/image/picture.h"
#include "core/image/stb.h"
#include "core/image/tonemap.h"
#include "core/memory.h"
#include <limits.h>
#include <stb/stb_image_write.h>
#include <string.h>

/* stb counts bytes in int: 8 a pixel while decoding, twice what it compresses while encoding */
enum { PNG_PIXELS = INT_MAX / 16 };

static const char *const colours[] = {"R", "G", "B"};

/* --- out --- */

static void bytes_put(void *context, void *bytes, int count) {
    fwrite(bytes, 1, (size_t)count, (FILE *)context); /* the stream remembers a failure */
}

static int alpha_is_used(const float *alpha, size_t count) {
    for (size_t i = 0; alpha && i < count; ++i)
        if (alpha[i] < 1) return 1;
    return 0;
}

static void pixels_encode(uint8_t *to, const image *from, const float *alpha,
                          const image_encoding *encoding) {
    const float *r = image_plane(from, "R"), *g = image_plane(from, "G"),
                *b = image_plane(from, "B");
    const float scale = exp2f(encoding->exposure);
    const size_t count = (size_t)from->width * (size_t)from->height;
    for (size_t i = 0; i < count; ++i) {
        const float covered = alpha && alpha[i] > 0 && alpha[i] < 1 ? alpha[i] : 1;
        const vec3 shown = tonemap_apply(
            vec3_make(scale * r[i] / covered, scale * g[i] / covered, scale * b[i] / covered),
            encoding->tonemap);
        *to++ = unit_to_byte(srgb_encode(shown.x));
        *to++ = unit_to_byte(srgb_encode(shown.y));
        *to++ = unit_to_byte(srgb_encode(shown.z));
        if (alpha) *to++ = unit_to_byte(alpha[i]);
    }
}

typedef struct png_compression {
    FILE *to;
    const uint8_t *bytes;
    int width, height, samples;
} png_compression;

/* Writes nothing unless it ends: the file is compressed in memory. */
static void compress(void *context) {
    const png_compression *work = (const png_compression *)context;
    stbi_write_png_to_func(bytes_put, work->to, work->width, work->height, work->samples,
                           work->bytes, work->samples * work->width);
}

static kd_status png_write(const image *from, const image_encoding *encoding, file_output *file) {
    const size_t count = (size_t)from->width * (size_t)from->height;
    const float *alpha = image_plane(from, "A");
    if (!alpha_is_used(alpha, count)) alpha = NULL;
    const int samples = alpha ? 4 : 3;
    KD_REQUIRE(count <= PNG_PIXELS, KD_ERROR_USAGE,
               "%s: %d x %d pixels, a PNG file may have %d: write EXR or PFM", file->path,
               from->width, from->height, PNG_PIXELS);
    uint8_t *bytes = NULL;
    KD_TRY(KD_RESERVE(bytes, count * (size_t)samples));
    pixels_encode(bytes, from, alpha, encoding);
    png_compression work = {file->stream, bytes, from->width, from->height, samples};
    const kd_status status = stb_run(compress, &work, STB_UNLIMITED, file->path);
    memory_free(bytes);
    KD_TRY(status);
    return KD_OK;
}

/* --- in --- */

static uint32_t big_endian(const char *bytes) {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | (uint8_t)bytes[i];
    return value;
}

/* CRC-32 of ISO 3309, bits in reversed order (PNG specification, annex D), four bits at a time. */
static uint32_t checksum(const char *bytes, size_t count) {
    uint32_t table[16];
    for (uint32_t i = 0; i < 16; ++i) {
        uint32_t v = i;
        for (int k = 0; k < 4; ++k) v = v & 1 ? 0xedb88320u ^ v >> 1 : v >> 1;
        table[i] = v;
    }
    uint32_t crc = ~0u;
    for (size_t i = 0; i < count; ++i) {
        crc ^= (uint8_t)bytes[i];
        crc = table[crc & 15] ^ crc >> 4;
        crc = table[crc & 15] ^ crc >> 4;
    }
    return ~crc;
}

/* Every chunk up to IEND lies in the file and is undamaged, and there are not too many pixels. */
static kd_status png_check(const char *path, const file_view *file) {
    static const uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    KD_REQUIRE(file->count >= 33 && !memcmp(file->bytes, signature, 8) &&
                   !memcmp(file->bytes + 12, "IHDR", 4),
               KD_ERROR_INPUT, "%s: not a PNG file: expected its signature and an IHDR chunk",
               path);
    const uint64_t width = big_endian(file->bytes + 16), height = big_endian(file->bytes + 20);
    KD_REQUIRE(width && height && width * height <= PNG_PIXELS, KD_ERROR_INPUT,
               "%s: %llu x %llu pixels cannot come from a PNG file of %zu bytes", path,
               (unsigned long long)width, (unsigned long long)height, file->count);
    for (size_t at = 8;;) {
        KD_REQUIRE(file->count - at >= 12, KD_ERROR_INPUT,
                   "%s: the file ends at byte %zu, expected an IEND chunk", path, file->count);
        const size_t length = big_endian(file->bytes + at);
        KD_REQUIRE(length <= file->count - at - 12, KD_ERROR_INPUT,
                   "%s: a chunk of %zu bytes at byte %zu goes beyond the file's end at %zu", path,
                   length, at, file->count);
        KD_REQUIRE(
            checksum(file->bytes + at + 4, length + 4) == big_endian(file->bytes + at + 8 + length),
            KD_ERROR_INPUT, "%s: the chunk at byte %zu is damaged: wrong checksum", path, at);
        if (!memcmp(file->bytes + at + 4, "IEND", 4)) return KD_OK;
        at += 12 + length;
    }
}

/* `samples` are four a pixel, up to `white`; `linear` has white + 1 entries. */
static kd_status pixels_decode(image *out, const uint16_t *samples, uint32_t white,
                               const float *linear) {
    const size_t count = (size_t)out->width * (size_t)out->height;
    float *planes[4] = {NULL, NULL, NULL, NULL};
    for (int c = 0; c < 3; ++c) KD_TRY(image_add(out, colours[c], &planes[c]));
    for (size_t i = 0; i < count && !planes[3]; ++i)
        if (samples[4 * i + 3] < white) KD_TRY(image_add(out, "A", &planes[3]));
    for (size_t i = 0; i < count; ++i) {
        const uint32_t alpha = samples[4 * i + 3];
        const float covered = alpha ? (float)alpha / (float)white : 1;
        for (size_t c = 0; c < 3; ++c) planes[c][i] = covered * linear[samples[4 * i + c]];
        if (planes[3]) planes[3][i] = (float)alpha / (float)white;
    }
    return KD_OK;
}

static kd_status linear_decode(image *out, const picture *decoded) {
    const picture_info *info = &decoded->info;
    const uint32_t white = info->is_wide ? 65535 : 255;
    uint16_t *samples = (uint16_t *)decoded->texels;
    float *linear = NULL;
    KD_TRY(image_open(out, info->width, info->height));
    KD_TRY(KD_RESERVE(linear, white + 1));
    for (uint32_t i = 0; i <= white; ++i) linear[i] = srgb_decode((float)i / (float)white);
    if (!info->is_wide) /* stb widened 8 bits to 16 by repeating them */
        for (size_t i = 0; i < 4 * (size_t)info->width * (size_t)info->height; ++i)
            samples[i] >>= 8;
    const kd_status status = pixels_decode(out, samples, white, linear);
    memory_free(linear);
    KD_TRY(status);
    return KD_OK;
}

static kd_status png_read(image *out, const char *path, const file_view *file) {
    picture decoded;
    KD_TRY(png_check(path, file));
    kd_status status = picture_open(&decoded, path, file, PICTURE_WORDS);
    if (status == KD_OK) status = linear_decode(out, &decoded);
    picture_close(&decoded);
    KD_TRY(status);
    return KD_OK;
}

const image_format image_format_png = {
    .suffix = ".png", .read = png_read, .write = png_write, .display = true};
