/* Portable float maps.
   Source: P. Debevec's portable float map: "PF" (colour) or "Pf" (grey), width, height, a scale
           whose sign gives the byte order (negative: little-endian), then rows of 32-bit floats
           from the bottom up.
   Differs from the source in: the magnitude of the scale is not applied, so that values are read
                               back bit for bit. */
#include "core/image/formats.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const colours[] = {"R", "G", "B"};

static int host_is_little_endian(void) {
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return first;
}

static uint32_t bytes_swap(uint32_t v) {
    return v >> 24 | (v >> 8 & 0xff00u) | (v << 8 & 0xff0000u) | v << 24;
}

typedef struct pfm_cursor {
    const char *at, *end;
} pfm_cursor;

static int is_space(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Reads the next word of the header, truncated to the buffer, and skips the single white-space
   character that ends it. */
static void word_take(pfm_cursor *cursor, char word[32]) {
    int length = 0;
    while (cursor->at < cursor->end && is_space(*cursor->at)) ++cursor->at;
    for (; cursor->at < cursor->end && !is_space(*cursor->at); ++cursor->at)
        if (length < 31) word[length++] = *cursor->at;
    if (cursor->at < cursor->end) ++cursor->at;
    word[length] = '\0';
}

static kd_status size_take(pfm_cursor *cursor, const char *path, const char *name, int32_t *size) {
    char word[32];
    word_take(cursor, word);
    const size_t digits = strspn(word, "0123456789");
    KD_REQUIRE(digits && digits < 10 && !word[digits] && atoi(word) > 0, KD_ERROR_INPUT,
               "%s: found the PFM %s \"%s\", expected a whole number from 1 to 999999999", path,
               name, word);
    *size = atoi(word);
    return KD_OK;
}

static void rows_unpack(image *out, const char *bytes, uint32_t samples, int swap) {
    const size_t width = (size_t)out->width, height = (size_t)out->height;
    for (size_t y = 0; y < height; ++y) {
        const char *row = bytes + (height - 1 - y) * width * samples * 4;
        for (size_t x = 0; x < width; ++x)
            for (uint32_t c = 0; c < 3; ++c) {
                uint32_t bits;
                memcpy(&bits, row + 4 * (x * samples + (samples == 3 ? c : 0)), 4);
                if (swap) bits = bytes_swap(bits);
                memcpy(&out->planes[c][y * width + x], &bits, 4);
            }
    }
}

static kd_status pfm_read(image *out, const char *path, const file_view *file) {
    pfm_cursor cursor = {file->bytes, file->bytes + file->count};
    char word[32];
    word_take(&cursor, word);
    KD_REQUIRE(!strcmp(word, "PF") || !strcmp(word, "Pf"), KD_ERROR_INPUT,
               "%s: not a PFM file: the first line must be PF or Pf", path);
    const uint32_t samples = word[1] == 'F' ? 3 : 1;
    int32_t width = 0, height = 0;
    KD_TRY(size_take(&cursor, path, "width", &width));
    KD_TRY(size_take(&cursor, path, "height", &height));
    word_take(&cursor, word);
    char *end = word;
    const float scale = strtof(word, &end);
    KD_REQUIRE(end != word && !*end && isfinite(scale) && scale != 0, KD_ERROR_INPUT,
               "%s: found the PFM scale \"%s\", expected a number other than 0", path, word);
    const uint64_t expected = (uint64_t)width * (uint64_t)height * samples * 4;
    const uint64_t bytes = (uint64_t)(cursor.end - cursor.at);
    KD_REQUIRE(bytes == expected, KD_ERROR_INPUT,
               "%s: found %llu bytes of pixels, expected %llu (%d x %d pixels of %u floats)", path,
               (unsigned long long)bytes, (unsigned long long)expected, width, height, samples);
    KD_TRY(image_open(out, width, height));
    for (int c = 0; c < 3; ++c) {
        float *plane;
        KD_TRY(image_add(out, colours[c], &plane));
    }
    rows_unpack(out, cursor.at, samples, (scale < 0) != host_is_little_endian());
    return KD_OK;
}

/* Rows that all threads convert before they are written. */
enum { ROWS_TOGETHER = 64 };

typedef struct rows_packing {
    const float *planes[3];
    size_t width, lowest; /* row to convert first, because files begin at the bottom */
    uint32_t *to;
} rows_packing;

static void rows_pack(void *context, int64_t begin, int64_t end, int thread) {
    const rows_packing *work = (const rows_packing *)context;
    const int swap = !host_is_little_endian();
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const size_t from = (work->lowest - (size_t)i) * work->width;
        uint32_t *row = work->to + 3 * work->width * (size_t)i;
        for (size_t x = 0; x < work->width; ++x)
            for (size_t c = 0; c < 3; ++c) {
                memcpy(&row[3 * x + c], &work->planes[c][from + x], 4);
                if (swap) row[3 * x + c] = bytes_swap(row[3 * x + c]);
            }
    }
}

static kd_status pfm_write(const image *image, const image_encoding *encoding, file_output *file) {
    (void)encoding;
    rows_packing work = {.width = (size_t)image->width};
    for (int c = 0; c < 3; ++c) work.planes[c] = image_plane(image, colours[c]);
    KD_TRY(KD_RESERVE(work.to, ROWS_TOGETHER * 3 * work.width));
    fprintf(file->stream, "PF\n%d %d\n-1.0\n", image->width, image->height);
    for (size_t left = (size_t)image->height; left > 0;) {
        const size_t rows = left < ROWS_TOGETHER ? left : ROWS_TOGETHER;
        work.lowest = left - 1;
        parallel_for((int64_t)rows, 1, rows_pack, &work);
        if (fwrite(work.to, 12 * work.width, rows, file->stream) != rows)
            break; /* reported by the commit */
        left -= rows;
    }
    memory_free(work.to);
    return KD_OK;
}

const image_format image_format_pfm = {.suffix = ".pfm", .read = pfm_read, .write = pfm_write};
