/* PNG: writes 8-bit sRGB, compressed on all threads or by stb; reads 8 or 16 bits, converted to
   linear. Images in memory have premultiplied colours (as in OpenEXR), PNG stores unpremultiplied
   ones: where 0 < A < 1 colours are divided by A when written and multiplied when read; where A is
   0 (a visible environment, for example) they are unchanged.
   Differs from stb in: the checksum of every chunk is verified before anything is decoded. */
#include "core/image/encode.h"
#include "core/image/formats.h"
#include "core/image/picture.h"
#include "core/image/stb.h"
#include "core/memory.h"
#include "core/parallel/deflate.h"
#include "core/parallel/parallel.h"
#include <limits.h>
#include <pthread.h>
#include <stb/stb_image_write.h>
#include <string.h>

/* stb counts bytes in int, up to twice the size of the uncompressed data */
enum { PNG_PIXELS = INT_MAX / 16 };

/* Filter of all rows (PNG specification, section 9): stb's search among five filters costs more
   time than it saves. Filter 2, the difference to the row above, has no dependency between the
   pixels of a row. */
enum { PNG_FILTER = 2, FILTER_GRAIN = 16 };

/* --- writing --- */

static void bytes_put(void *context, void *bytes, int count) {
    fwrite(bytes, 1, (size_t)count, (FILE *)context); /* file_output_commit reports errors */
}

typedef struct png_pixels {
    const uint8_t *bytes;
    int32_t width, height, samples; /* samples per pixel: 3 or 4 */
} png_pixels;

typedef struct png_compression {
    FILE *file;
    const uint8_t *bytes;
    int width, height, samples;
    bool made;
} png_compression;

/* Compresses in memory, so that nothing is written if the run is aborted. */
static void compress(void *context) {
    png_compression *work = (png_compression *)context;
    work->made = stbi_write_png_to_func(bytes_put, work->file, work->width, work->height,
                                        work->samples, work->bytes, work->samples * work->width);
}

static void choose_filter(void) {
    stbi_write_force_png_filter = PNG_FILTER;
}

typedef struct png_filtering {
    const png_pixels *pixels;
    uint8_t *rows; /* each row is preceded by its filter byte */
} png_filtering;

static void filter_rows(void *context, int64_t begin, int64_t end, int thread) {
    const png_filtering *work = (const png_filtering *)context;
    const size_t bytes = (size_t)work->pixels->width * (size_t)work->pixels->samples;
    (void)thread;
    for (int64_t y = begin; y < end; ++y) {
        const uint8_t *row = work->pixels->bytes + (size_t)y * bytes;
        uint8_t *to = work->rows + (size_t)y * (bytes + 1);
        *to++ = PNG_FILTER;
        for (size_t i = 0; i < bytes; ++i)
            to[i] = y ? (uint8_t)(row[i] - (row - bytes)[i]) : row[i];
    }
}

static void big_endian_put(uint8_t *to, uint32_t value) {
    for (int i = 0; i < 4; ++i) to[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void chunk_write(FILE *file, const char *type, const uint8_t *bytes, uint64_t count) {
    uint8_t head[8], tail[4];
    big_endian_put(head, (uint32_t)count);
    memcpy(head + 4, type, 4);
    big_endian_put(tail, deflate_crc32(deflate_crc32(0, head + 4, 4), bytes, count));
    fwrite(head, 1, sizeof head, file);
    fwrite(bytes, 1, (size_t)count, file);
    fwrite(tail, 1, sizeof tail, file);
}

static void write_chunks(FILE *file, const png_pixels *pixels, const deflated *packed) {
    static const uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    uint8_t header[13] = {0};
    big_endian_put(header, (uint32_t)pixels->width);
    big_endian_put(header + 4, (uint32_t)pixels->height);
    header[8] = 8;                            /* bits per sample */
    header[9] = pixels->samples == 4 ? 6 : 2; /* colour type: truecolour, with or without alpha */
    fwrite(signature, 1, sizeof signature, file);
    chunk_write(file, "IHDR", header, sizeof header);
    for (uint64_t i = 0; i < packed->pieces; ++i)
        chunk_write(file, "IDAT", packed->bytes + i * packed->capacity, packed->made[i]);
    chunk_write(file, "IEND", header, 0);
}

/* Writes one IDAT chunk per piece; writes nothing if the data could not be compressed in pieces. */
static kd_status write_by_pieces(const png_pixels *pixels, FILE *file, bool *written) {
    const uint64_t row = (uint64_t)pixels->width * (uint64_t)pixels->samples + 1;
    png_filtering work = {pixels, NULL};
    deflated packed;
    KD_TRY(KD_RESERVE(work.rows, (uint64_t)pixels->height * row));
    parallel_for(pixels->height, FILTER_GRAIN, filter_rows, &work);
    const kd_status status = deflate_open(&packed, work.rows, (uint64_t)pixels->height * row);
    memory_free(work.rows);
    KD_TRY(status);
    *written = packed.pieces > 0;
    if (*written) write_chunks(file, pixels, &packed);
    deflate_close(&packed);
    return KD_OK;
}

static kd_status write_by_stb(const png_pixels *pixels, const file_output *file) {
    png_compression work = {file->stream,   pixels->bytes,   pixels->width,
                            pixels->height, pixels->samples, false};
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose_filter);
    KD_TRY(stb_run(compress, &work, STB_UNLIMITED, file->path));
    KD_REQUIRE(work.made, KD_ERROR_MEMORY, "%s: out of memory for the image", file->path);
    return KD_OK;
}

static kd_status png_write(const uint8_t *bytes, int32_t width, int32_t height, int samples,
                           file_output *file) {
    const png_pixels pixels = {bytes, width, height, samples};
    bool written = false;
    KD_REQUIRE(
        (size_t)width * (size_t)height <= PNG_PIXELS, KD_ERROR_USAGE,
        "%s: the image has %d x %d pixels; PNG files are limited to %d pixels: write EXR or PFM",
        file->path, width, height, PNG_PIXELS);
    KD_TRY(write_by_pieces(&pixels, file->stream, &written));
    return written ? KD_OK : write_by_stb(&pixels, file);
}

/* --- reading --- */

static uint32_t big_endian(const char *bytes) {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | (uint8_t)bytes[i];
    return value;
}

/* Checks that every chunk up to IEND is complete and has a valid checksum. */
static kd_status png_check(const char *path, const file_view *file) {
    static const uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    KD_REQUIRE(file->count >= 33 && !memcmp(file->bytes, signature, 8) &&
                   !memcmp(file->bytes + 12, "IHDR", 4),
               KD_ERROR_INPUT, "%s: not a PNG file: the signature or the IHDR chunk is missing",
               path);
    for (size_t at = 8;;) {
        KD_REQUIRE(file->count - at >= 12, KD_ERROR_INPUT,
                   "%s: truncated: the file ends at byte %zu without an IEND chunk", path,
                   file->count);
        const size_t length = big_endian(file->bytes + at);
        KD_REQUIRE(length <= file->count - at - 12, KD_ERROR_INPUT,
                   "%s: truncated: a chunk of %zu bytes at byte %zu exceeds the file size of %zu",
                   path, length, at, file->count);
        KD_REQUIRE(deflate_crc32(0, file->bytes + at + 4, length + 4) ==
                       big_endian(file->bytes + at + 8 + length),
                   KD_ERROR_INPUT,
                   "%s: damaged: the checksum of the chunk at byte %zu does not match", path, at);
        if (!memcmp(file->bytes + at + 4, "IEND", 4)) return KD_OK;
        at += 12 + length;
    }
}

static kd_status png_open(picture *out, const char *path, const file_view *file) {
    KD_TRY(png_check(path, file));
    KD_TRY(picture_open(out, path, file, PICTURE_DEEP));
    return KD_OK;
}

const image_format image_format_png = {.suffix = ".png",
                                       .read_packed = png_open,
                                       .write_bytes = png_write,
                                       .alpha = true,
                                       .display = true};
