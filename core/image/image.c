#include "core/image/image.h"
#include "core/hash.h"
#include "core/image/encode.h"
#include "core/image/formats.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define IMAGE_FORMAT_ROW(name) &image_format_##name,
const image_format *const image_formats[] = {IMAGE_FORMAT_ROWS(IMAGE_FORMAT_ROW) NULL};

kd_status image_open(image *out, int32_t width, int32_t height) {
    memset(out, 0, sizeof *out);
    KD_REQUIRE(width > 0 && height > 0, KD_ERROR_USAGE,
               "the image size is %d x %d pixels; expected at least 1 x 1", width, height);
    out->width = width;
    out->height = height;
    for (int i = 0; i < 4; ++i) out->world_to_camera[5 * i] = 1;
    return KD_OK;
}

/* Clears in parallel, because page faults on untouched memory cost more than clearing it. */
static void clear_pixels(void *context, int64_t begin, int64_t end, int worker) {
    float *plane = (float *)context;
    (void)worker;
    memset(plane + begin, 0, (size_t)(end - begin) * sizeof *plane);
}

kd_status image_add(image *image, const char *name, float **plane) {
    enum { CLEAR_GRAIN = 1 << 18 };
    const int64_t count = (int64_t)image->width * image->height;
    *plane = NULL;
    KD_REQUIRE(image->channel_count < IMAGE_CHANNELS, KD_ERROR_USAGE,
               "cannot add channel %s: an image has at most %d channels", name, IMAGE_CHANNELS);
    KD_REQUIRE(*name && strlen(name) < sizeof image->names[0], KD_ERROR_USAGE,
               "the channel name \"%s\" must have 1 to %zu characters", name,
               sizeof image->names[0] - 1);
    KD_REQUIRE(!image_plane(image, name), KD_ERROR_USAGE, "the image already has a channel %s",
               name);
    KD_TRY(KD_RESERVE(*plane, (uint64_t)count));
    large_pages_prefer(*plane, (uint64_t)count * sizeof **plane);
    parallel_for(count, CLEAR_GRAIN, clear_pixels, *plane);
    const int32_t index = image->channel_count++;
    strcpy(image->names[index], name);
    image->planes[index] = *plane;
    return KD_OK;
}

float *image_plane(const image *image, const char *name) {
    for (int32_t i = 0; i < image->channel_count; ++i)
        if (!strcmp(image->names[i], name)) return image->planes[i];
    return NULL;
}

void image_close(image *owned) {
    for (int32_t i = 0; i < owned->channel_count; ++i) memory_free(owned->planes[i]);
    memset(owned, 0, sizeof *owned);
}

static const char *stdout_suffix = ""; /* suffix of the format of pictures on standard output */

const image_format *image_format_find(const char *path) {
    const char *suffix = file_is_stdout(path) ? stdout_suffix : file_suffix(path);
    for (const image_format *const *row = image_formats; *row; ++row)
        if (strcasecmp(suffix, (*row)->suffix) == 0) return *row;
    return NULL;
}

const char *image_format_suffix(int index) {
    for (const image_format *const *row = image_formats; *row; ++row)
        if (!(*row)->lacks && index-- == 0) return (*row)->suffix;
    return NULL;
}

const char *image_format_name(int index) {
    const char *suffix = image_format_suffix(index);
    return suffix ? suffix + 1 : NULL;
}

kd_status image_use_stdout(const char *format) {
    for (int i = 0; image_format_suffix(i); ++i)
        if (strcmp(image_format_name(i), format) == 0) stdout_suffix = image_format_suffix(i);
    KD_TRY(file_take_stdout());
    return KD_OK;
}

static kd_status format_find(const image_format **out, const char *path, kd_status otherwise) {
    char suffixes[256] = "";
    for (int i = 0; image_format_suffix(i); ++i) {
        const size_t used = strlen(suffixes);
        snprintf(suffixes + used, sizeof suffixes - used, "%s%s", used ? ", " : "",
                 image_format_suffix(i));
    }
    *out = image_format_find(path);
    KD_REQUIRE(*out, otherwise, "%s: unknown image suffix \"%s\"; expected one of %s", path,
               file_suffix(path), suffixes);
    KD_REQUIRE(!(*out)->lacks, otherwise,
               "%s: this build lacks %s, which the format needs; use one of %s", path,
               (*out)->lacks, suffixes);
    return KD_OK;
}

kd_status image_writable(const char *path) {
    const image_format *format = NULL;
    KD_TRY(format_find(&format, path, KD_ERROR_USAGE));
    return KD_OK;
}

static kd_status write_bytes(const image_format *format, const image *image,
                             const image_encoding *encoding, file_output *file) {
    uint8_t *bytes = NULL;
    int samples = 0;
    const int32_t side_max = format->side_max;
    KD_REQUIRE(!side_max || (image->width <= side_max && image->height <= side_max), KD_ERROR_USAGE,
               "%s: the image has %d x %d pixels; %s files have at most %d per side", file->path,
               image->width, image->height, format->suffix, side_max);
    KD_TRY(image_encode(&bytes, &samples, image, encoding, format->alpha));
    const kd_status status = format->write_bytes(bytes, image->width, image->height, samples, file);
    memory_free(bytes);
    return status;
}

kd_status image_write(const image *image, const char *path, const image_encoding *encoding) {
    static const image_encoding plain = {.tonemap = KD_TONEMAP_LINEAR};
    const image_format *format = NULL;
    KD_TRY(format_find(&format, path, KD_ERROR_USAGE));
    KD_REQUIRE(image_plane(image, "R") && image_plane(image, "G") && image_plane(image, "B"),
               KD_ERROR_USAGE, "%s: cannot write an image without the channels R, G and B", path);
    image_encoding resolved = encoding ? *encoding : plain;
    if (isnan(resolved.exposure)) KD_TRY(image_exposure(&resolved.exposure, image));
    file_output file;
    KD_TRY(file_output_open(&file, path));
    const kd_status status = format->write ? format->write(image, &resolved, &file)
                                           : write_bytes(format, image, &resolved, &file);
    if (status != KD_OK) {
        file_output_discard(&file);
        return status_pass(status, __FILE__, __LINE__, "format->write");
    }
    KD_TRY(file_output_commit(&file));
    return KD_OK;
}

kd_status image_format_read(const image_format *format, image *out, const char *path,
                            const file_view *file, bool colours_alone) {
    if (colours_alone && format->read_colours) return format->read_colours(out, path, file);
    if (format->read) return format->read(out, path, file);
    picture decoded;
    memset(&decoded, 0, sizeof decoded);
    kd_status status = format->read_packed(&decoded, path, file);
    if (status == KD_OK) status = image_decode(out, &decoded);
    picture_close(&decoded);
    return status;
}

static kd_status read_planes(image *out, const char *path, bool colours_alone) {
    memset(out, 0, sizeof *out);
    const image_format *format = NULL;
    KD_TRY(format_find(&format, path, KD_ERROR_INPUT));
    file_view file;
    KD_TRY(file_open(&file, path));
    const kd_status status = image_format_read(format, out, path, &file, colours_alone);
    file_close(&file);
    if (status != KD_OK) {
        image_close(out);
        return status_pass(status, __FILE__, __LINE__, "format->read");
    }
    return KD_OK;
}

kd_status image_read(image *out, const char *path) {
    return read_planes(out, path, false);
}

kd_status image_read_colours(image *out, const char *path) {
    return read_planes(out, path, true);
}

kd_status image_read_packed(picture *out, const char *path) {
    memset(out, 0, sizeof *out);
    const image_format *format = NULL;
    KD_TRY(format_find(&format, path, KD_ERROR_INPUT));
    if (!format->read_packed) return KD_OK;
    file_view file;
    KD_TRY(file_open(&file, path));
    const kd_status status = format->read_packed(out, path, &file);
    file_close(&file);
    KD_TRY(status);
    return KD_OK;
}

uint64_t image_hash(const image *image) {
    static const char *const colours[] = {"R", "G", "B"};
    const int32_t size[] = {image->width, image->height};
    uint64_t hash = hash_bytes(size, sizeof size);
    for (int i = 0; i < 3; ++i) {
        const float *plane = image_plane(image, colours[i]);
        if (plane)
            hash = hash_combine(hash, plane,
                                (size_t)image->width * (size_t)image->height * sizeof *plane);
    }
    return hash;
}
