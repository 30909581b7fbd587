/* Identification, validation and decoding of pictures, by stb_image with a memory budget; Radiance
   pictures are decoded by core/image/hdr_read.c. Each size bound below is the minimum length of a
   valid file with that many pixels, so no valid file is rejected. */
#include "core/image/picture.h"
#include "core/files/content.h"
#include "core/image/hdr.h"
#include "core/image/stb.h"
#include "core/memory.h"
#include <limits.h>
#include <math.h>
#include <stb/stb_image.h>
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

static bool begins(const file_view *file, const char *prefix, size_t count) {
    return file->count >= count && memcmp(file->bytes, prefix, count) == 0;
}

/* TGA has no signature; it is recognised by its second byte, 0 or 1, after all others. */
picture_kind picture_kind_of(const file_view *file) {
    if (begins(file, "\x89PNG\r\n\x1a\n", 8)) return PICTURE_PNG;
    if (begins(file, "\xff\xd8", 2) || begins(file, "\xff\xff", 2)) return PICTURE_JPEG;
    if (begins(file, "BM", 2)) return PICTURE_BMP;
    if (begins(file, "GIF87a", 6) || begins(file, "GIF89a", 6)) return PICTURE_GIF;
    if (begins(file, "#?", 2)) return PICTURE_HDR;
    if (begins(file, "\x76\x2f\x31\x01", 4)) return PICTURE_EXR;
    if (begins(file, "RIFF", 4) && file->count >= 12 && memcmp(file->bytes + 8, "WEBP", 4) == 0)
        return PICTURE_WEBP;
    if (begins(file, "II*\0", 4) || begins(file, "MM\0*", 4) || begins(file, "II+\0", 4) ||
        begins(file, "MM\0+", 4))
        return PICTURE_TIFF;
    if (file->count > 2 && byte_at(file, 0) == 'P' && byte_at(file, 1) >= '1' &&
        byte_at(file, 1) <= '7' && strchr(" \t\r\n#", (int)byte_at(file, 2)))
        return PICTURE_PNM;
    if (file_content_of(file->bytes, file->count).name) return PICTURE_UNKNOWN;
    return file->count >= 18 && byte_at(file, 1) <= 1 ? PICTURE_TGA : PICTURE_UNKNOWN;
}

const char *picture_foreign_name(const file_view *file) {
    const picture_kind kind = picture_kind_of(file);
    const bool reads = kind != PICTURE_UNKNOWN && (kind != PICTURE_WEBP || picture_reads_webp()) &&
                       (kind != PICTURE_TIFF || picture_reads_tiff());
    return reads ? NULL : file_content_of(file->bytes, file->count).name;
}

/* Rows of samples with a filter byte each; deflate compresses by a factor of at most 1032. */
static uint64_t png_min(const file_view *file, uint64_t width, uint64_t height) {
    const uint64_t depth = byte_at(file, 24), colour = byte_at(file, 25);
    const uint64_t samples = colour == 2 ? 3 : colour == 4 ? 2 : colour == 6 ? 4 : 1;
    return height * (1 + width * samples * (depth ? depth : 1) / 8) / 1040;
}

/* A block takes at least one bit. There may be as few as eight blocks per 32 x 32 pixels, with
   sampling factors of 4 x 1 and 1 x 4. */
static uint64_t jpeg_min(uint64_t width, uint64_t height) {
    return width * height / (8 * 1024);
}

/* Uncompressed rows; run-length encoding is not supported. */
static uint64_t bmp_min(const file_view *file, uint64_t width, uint64_t height) {
    const uint32_t bits = word_at(file, long_at(file, 14) == 12 ? 24 : 28);
    return height * (width * (bits ? bits : 1) / 8);
}

/* Four bytes per scanline, which may be a row or a column: the old run-length encoding can repeat a
   pixel any number of times. */
static uint64_t hdr_min(uint64_t width, uint64_t height) {
    return 4 * (width < height ? width : height);
}

/* A palette, then pixels or runs of up to 128 pixels. */
static uint64_t tga_min(const file_view *file, uint64_t width, uint64_t height) {
    const uint64_t palette =
        byte_at(file, 1) ? (uint64_t)word_at(file, 5) * ((byte_at(file, 7) + 7) / 8) : 0;
    const uint64_t pixel = (byte_at(file, 16) + 7) / 8;
    const uint64_t data =
        byte_at(file, 2) & 8 ? (width * height + 127) / 128 * (1 + pixel) : width * height * pixel;
    return 18 + byte_at(file, 0) + palette + data;
}

static uint64_t min_bytes(const file_view *file, const picture_info *claimed) {
    const uint64_t width = (uint64_t)claimed->width, height = (uint64_t)claimed->height;
    switch (claimed->kind) {
    case PICTURE_PNG: return png_min(file, width, height);
    case PICTURE_JPEG: return jpeg_min(width, height);
    case PICTURE_BMP: return bmp_min(file, width, height);
    case PICTURE_HDR: return hdr_min(width, height);
    case PICTURE_TGA: return tga_min(file, width, height);
    case PICTURE_GIF: /* a frame may be smaller than the picture */
    case PICTURE_WEBP:
    case PICTURE_TIFF:
    case PICTURE_PNM: return 0; /* their own functions compare the size with the bytes */
    case PICTURE_EXR:
    case PICTURE_UNKNOWN: break;
    }
    return UINT64_MAX;
}

/* Limits of Radiance and GIF pictures: without them the old run-length encoding, and frames smaller
   than the picture, could produce any number of pixels from a few bytes. */
enum { FREE_PIXELS = 1 << 24, PACKED_PIXELS = 256 };

kd_status picture_check_size(const char *path, const file_view *file, const picture_info *claimed) {
    KD_REQUIRE(claimed->width > 0 && claimed->height > 0 && min_bytes(file, claimed) <= file->count,
               KD_ERROR_INPUT,
               "%s: damaged: found a size of %d x %d pixels in a file of only %zu bytes", path,
               claimed->width, claimed->height, file->count);
    const uint64_t pixels = (uint64_t)claimed->width * (uint64_t)claimed->height;
    const bool is_free = claimed->kind == PICTURE_HDR || claimed->kind == PICTURE_GIF;
    KD_REQUIRE(!is_free || pixels <= FREE_PIXELS || pixels / PACKED_PIXELS <= file->count,
               KD_ERROR_INPUT,
               "%s: %d x %d pixels in a file of %zu bytes exceed the limit of %d pixels per byte "
               "for images above 4096 x 4096",
               path, claimed->width, claimed->height, file->count, PACKED_PIXELS);
    KD_REQUIRE(pixels <= PICTURE_PIXELS, KD_ERROR_INPUT,
               "%s: the image has %d x %d pixels; supported: at most %d in all", path,
               claimed->width, claimed->height, PICTURE_PIXELS);
    return KD_OK;
}

/* Checks a segment of Huffman tables, whose length field is at `at`. A table has a byte of class
   and number, 16 counts and the values. */
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

static bool is_skipped(uint32_t marker) { /* APP0 to APP15 and comments have arbitrary contents */
    return (marker >= 0xe0 && marker <= 0xef) || marker == 0xfe;
}

/* Only leading APP segments and comments are skipped by their length, as all decoders do. Behind
   them every marker of a table is checked, wherever a decoder might resynchronise. */
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
                   "%s: damaged: found a Huffman table of more than 256 codes at byte %zu", path,
                   at - 2);
        if (marker != 0xd8 && !is_skipped(marker)) is_behind = true;
        if (!is_behind && is_skipped(marker)) at += byte_at(file, at) << 8 | byte_at(file, at + 1);
    }
    return KD_OK;
}

/* Returns true for SOF0 to SOF15, except for DHT, JPG and DAC, which lie between them. */
static bool is_frame(uint32_t marker) {
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

static uint32_t big_word_at(const file_view *file, size_t at) {
    return byte_at(file, at) << 8 | byte_at(file, at + 1);
}

kd_status picture_inspect_jpeg(picture_info *out, const char *path, const file_view *file) {
    for (size_t at = 0; at + 1 < file->count;) {
        const uint32_t marker = byte_at(file, at + 1);
        if (byte_at(file, at) != 0xff || marker == 0xff || marker == 0 || marker == 0xd8) {
            at += marker == 0xd8 && byte_at(file, at) == 0xff ? 2 : 1;
            continue;
        }
        if (is_frame(marker)) {
            const uint32_t components = byte_at(file, at + 9);
            KD_REQUIRE(byte_at(file, at + 4) == 8, KD_ERROR_INPUT,
                       "%s: found a JPEG file with %u bits per sample, expected 8", path,
                       byte_at(file, at + 4));
            out->height = (int32_t)big_word_at(file, at + 5);
            out->width = (int32_t)big_word_at(file, at + 7);
            out->channels = components >= 3 ? 3 : 1;
            return KD_OK;
        }
        if (marker == 0xda || marker == 0xd9) break; /* data or end: no frame header */
        at += 2 + big_word_at(file, at + 2);
    }
    KD_FAIL(KD_ERROR_INPUT, "%s: damaged: found no frame in the JPEG file", path);
}

typedef struct decoding {
    const stbi_uc *bytes;
    int count;
    picture_form form;
    int width, height, channels, is_known, is_wide;
    void *texels;
} decoding;

static void inspect(void *context) {
    decoding *job = (decoding *)context;
    job->is_known =
        stbi_info_from_memory(job->bytes, job->count, &job->width, &job->height, &job->channels);
    job->is_wide = job->is_known && stbi_is_16_bit_from_memory(job->bytes, job->count);
}

static void decode(void *context) {
    decoding *job = (decoding *)context;
    int *w = &job->width, *h = &job->height, *c = &job->channels;
    if (job->form == PICTURE_DEEP && job->is_wide)
        job->texels = stbi_load_16_from_memory(job->bytes, job->count, w, h, c, 0);
    else
        job->texels = stbi_load_from_memory(job->bytes, job->count, w, h, c, 0);
    stb_keep(job->texels);
}

enum { INSPECTED_BYTES = 1 << 20 };

static kd_status inspect_radiance(picture_info *out, const char *path, const file_view *file) {
    KD_TRY(hdr_inspect(&out->width, &out->height, path, file));
    out->channels = 3;
    KD_TRY(picture_check_size(path, file, out));
    return KD_OK;
}

/* Fails with what the file is, if that is known, and the list of the kinds that are read. */
static kd_status fail_unknown(const char *path, const file_view *file) {
    const char *found = file_content_of(file->bytes, file->count).name;
    KD_FAIL(KD_ERROR_INPUT, "%s: found %s; expected PNG, JPEG, BMP, TGA, GIF, PNM, HDR, EXR%s%s%s",
            path, found ? found : "an unknown image format", picture_reads_webp() ? ", WebP" : "",
            picture_reads_tiff() ? ", TIFF" : "",
            found ? "; convert it, for example by: magick FILE FILE.png" : "");
}

kd_status picture_inspect(picture_info *out, const char *path, const file_view *file) {
    memset(out, 0, sizeof *out);
    KD_REQUIRE(file->count <= INT_MAX, KD_ERROR_INPUT,
               "%s: the file has %zu bytes; images of at most %d bytes are supported", path,
               file->count, INT_MAX);
    decoding decoding;
    memset(&decoding, 0, sizeof decoding);
    decoding.bytes = (const stbi_uc *)file->bytes;
    decoding.count = (int)file->count;
    out->kind = picture_kind_of(file);
    if (out->kind == PICTURE_HDR) return inspect_radiance(out, path, file);
    if (out->kind == PICTURE_JPEG) {
        KD_TRY(picture_check_huffman(path, file));
        KD_TRY(picture_inspect_jpeg(out, path, file));
        return picture_check_size(path, file, out);
    }
    if (out->kind == PICTURE_WEBP || out->kind == PICTURE_TIFF || out->kind == PICTURE_PNM ||
        out->kind == PICTURE_GIF) {
        KD_TRY(out->kind == PICTURE_WEBP   ? picture_inspect_webp(out, path, file)
               : out->kind == PICTURE_TIFF ? picture_inspect_tiff(out, path, file)
               : out->kind == PICTURE_GIF  ? picture_inspect_gif(out, path, file)
                                           : picture_inspect_pnm(out, path, file));
        return picture_check_size(path, file, out);
    }
    if (out->kind != PICTURE_UNKNOWN) KD_TRY(stb_run(inspect, &decoding, INSPECTED_BYTES, path));
    if (!decoding.is_known) return fail_unknown(path, file);
    if (decoding.height < 0 && decoding.height > INT_MIN)
        decoding.height = -decoding.height; /* top-down BMP */
    out->width = decoding.width;
    out->height = decoding.height;
    out->channels = decoding.channels;
    out->is_wide = decoding.is_wide != 0;
    KD_TRY(picture_check_size(path, file, out));
    return KD_OK;
}

/* For PNG counts the unfiltered bytes, the picture and one converted form; for other formats all
   channels, including the coefficients of JPEG. */
uint64_t picture_bytes(const picture_info *info, picture_form form) {
    const uint64_t width = (uint64_t)info->width + 64, height = (uint64_t)info->height + 64;
    const uint64_t texel = ((uint64_t)info->channels + 1) * (info->is_wide ? 2 : 1);
    if (info->kind == PICTURE_HDR) return (form == PICTURE_FLOATS ? 12 : 15) * width * height;
    return (info->kind == PICTURE_PNG ? 3 * texel : 24) * width * height;
}

/* Adds the memory in which stb may concatenate the file's bytes, in blocks that double. */
static uint64_t budget(const picture_info *info, const file_view *file, picture_form form) {
    return INSPECTED_BYTES + picture_bytes(info, form) + 8 * file->count;
}

/* Gamma 2.2. Radiance files used for data other than light have always been read with this
   curve. */
static uint32_t shown_byte(float radiance) {
    const float shown = radiance > 0 ? (float)pow((double)radiance, (double)(1 / 2.2f)) : 0;
    return (uint32_t)fminf(shown * 255 + 0.5f, 255);
}

static kd_status open_radiance(picture *out, const char *path, const file_view *file,
                               picture_form form) {
    const uint64_t samples = 3 * (uint64_t)out->info.width * (uint64_t)out->info.height;
    float *floats;
    uint8_t *bytes = NULL;
    KD_TRY(hdr_decode(&floats, path, file));
    out->reserved = true;
    out->samples = 3;
    out->sample_bytes = form == PICTURE_FLOATS ? 4 : 1;
    out->texels = floats;
    if (form == PICTURE_FLOATS) return KD_OK;
    const kd_status status = KD_RESERVE(bytes, samples);
    for (uint64_t i = 0; bytes && i < samples; ++i) bytes[i] = (uint8_t)shown_byte(floats[i]);
    out->texels = bytes;
    memory_free(floats);
    KD_TRY(status);
    return KD_OK;
}

kd_status picture_open(picture *out, const char *path, const file_view *file, picture_form form) {
    memset(out, 0, sizeof *out);
    KD_TRY(picture_inspect(&out->info, path, file));
    if (out->info.kind == PICTURE_HDR) return open_radiance(out, path, file, form);
    KD_REQUIRE(form != PICTURE_FLOATS, KD_ERROR_USAGE, "%s: the image has no floating-point values",
               path);
    if (out->info.kind == PICTURE_WEBP) return picture_decode_webp(out, path, file);
    out->sample_bytes = form == PICTURE_DEEP && out->info.is_wide ? 2 : 1;
    if (out->info.kind == PICTURE_TIFF) return picture_decode_tiff(out, path, file);
    if (out->info.kind == PICTURE_PNM) return picture_decode_pnm(out, path, file);
    if (out->info.kind == PICTURE_GIF) return picture_decode_gif(out, path, file);
#if KD_HAVE_JPEG
    if (out->info.kind == PICTURE_JPEG) return picture_decode_jpeg(out, path, file);
#endif
    decoding decoding;
    memset(&decoding, 0, sizeof decoding);
    decoding.bytes = (const stbi_uc *)file->bytes;
    decoding.count = (int)file->count;
    decoding.form = form;
    decoding.is_wide = out->info.is_wide;
    KD_TRY(stb_run(decode, &decoding, budget(&out->info, file, form), path));
    KD_REQUIRE(decoding.texels, KD_ERROR_INPUT, "%s: damaged image: %s", path,
               stbi_failure_reason());
    out->texels = decoding.texels;
    out->samples = decoding.channels;
    out->sample_bytes = form == PICTURE_DEEP && out->info.is_wide ? 2 : 1;
    KD_REQUIRE(decoding.width == out->info.width && decoding.height == out->info.height,
               KD_ERROR_INPUT, "%s: damaged image: found two different sizes", path);
    KD_REQUIRE(decoding.channels >= 1 && decoding.channels <= 4, KD_ERROR_INPUT,
               "%s: found %d channels, expected 1 to 4", path, decoding.channels);
    return KD_OK;
}

void picture_close(picture *owned) {
    if (owned->reserved)
        memory_free(owned->texels);
    else if (owned->texels)
        stbi_image_free(owned->texels);
    memset(owned, 0, sizeof *owned);
}
