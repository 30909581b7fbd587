/* A picture format for nightly_one_row.sh: width and height, then red, green and blue of each
   pixel, as native floats. */
#include "core/image/formats.h"
#include <string.h>

static const char *const colours[] = {"R", "G", "B"};

static kd_status toy_read(image *out, const char *path, const file_view *file) {
    int32_t size[2] = {0, 0};
    if (file->count >= sizeof size) memcpy(size, file->bytes, sizeof size);
    const uint64_t pixels = size[0] > 0 && size[1] > 0 ? (uint64_t)size[0] * (uint64_t)size[1] : 0;
    KD_REQUIRE(pixels > 0 && pixels < UINT32_MAX && file->count == sizeof size + 12 * pixels,
               KD_ERROR_INPUT, "%s: %zu bytes, expected a toy picture of %d x %d pixels", path,
               file->count, size[0], size[1]);
    KD_TRY(image_open(out, size[0], size[1]));
    const char *at = file->bytes + sizeof size;
    for (int c = 0; c < 3; ++c) {
        float *plane = NULL;
        KD_TRY(image_add(out, colours[c], &plane));
        for (uint64_t i = 0; i < pixels; ++i)
            memcpy(&plane[i], at + 12 * i + 4 * (uint64_t)c, sizeof plane[i]);
    }
    return KD_OK;
}

static kd_status toy_write(const image *image, const image_encoding *encoding, file_output *file) {
    const int32_t size[2] = {image->width, image->height};
    const size_t pixels = (size_t)image->width * (size_t)image->height;
    (void)encoding;
    fwrite(size, sizeof size, 1, file->stream); /* the stream keeps the error state */
    for (size_t i = 0; i < pixels; ++i)
        for (int c = 0; c < 3; ++c)
            fwrite(&image_plane(image, colours[c])[i], sizeof(float), 1, file->stream);
    return KD_OK;
}

const image_format image_format_toy = {.suffix = ".toy", .read = toy_read, .write = toy_write};
