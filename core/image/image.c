#include "core/image/image.h"
#include "core/hash.h"
#include "core/image/encode.h"
#include "core/image/formats.h"
#include "core/image/picture.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/system/machine.h"
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

/* The columns [from, to) of the picture that the part covers. */
static void row_place(float *to, const float *from, const image *part) {
    const int64_t first = part->left > 0 ? part->left : 0;
    const int64_t right = (int64_t)part->left + part->width;
    const int64_t last = right < part->whole_width ? right : part->whole_width;
    if (last > first)
        memcpy(to + first, from + (first - part->left), (size_t)(last - first) * sizeof *to);
}

kd_status image_fill(image *part) {
    image whole;
    if (!part->whole_width) return KD_OK;
    if (part->left == 0 && part->top == 0 && part->width == part->whole_width &&
        part->height == part->whole_height) {
        part->whole_width = part->whole_height = part->corner[0] = part->corner[1] = 0;
        return KD_OK;
    }
    const uint64_t bytes = sizeof(float) * (uint64_t)part->channel_count *
                           (uint64_t)part->whole_width * (uint64_t)part->whole_height;
    const uint64_t machine = machine_bytes(); /* a small file can claim a large window */
    KD_REQUIRE(
        !machine || bytes <= machine / 4 * 3, KD_ERROR_MEMORY,
        "a picture of %d x %d pixels with %d channels takes %llu MB; the machine has %llu MB",
        part->whole_width, part->whole_height, part->channel_count,
        (unsigned long long)(bytes >> 20), (unsigned long long)(machine >> 20));
    KD_TRY(image_open(&whole, part->whole_width, part->whole_height));
    for (int32_t c = 0; c < part->channel_count; ++c) {
        float *plane;
        const kd_status status = image_add(&whole, part->names[c], &plane);
        if (status != KD_OK) image_close(&whole);
        KD_TRY(status);
        for (int64_t y = 0; y < part->height; ++y)
            if (part->top + y >= 0 && part->top + y < part->whole_height)
                row_place(plane + (part->top + y) * part->whole_width,
                          part->planes[c] + y * part->width, part);
        memory_free(part->planes[c]);
        part->planes[c] = NULL;
    }
    memcpy(part->planes, whole.planes, sizeof part->planes);
    part->width = part->whole_width;
    part->height = part->whole_height;
    part->left = part->top = part->whole_width = part->whole_height = 0;
    part->corner[0] = part->corner[1] = 0;
    return KD_OK;
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

/* Finds the format of a file's contents; NULL: it has no signature. */
static const image_format *format_of_contents(const file_view *file) {
    switch (picture_kind_of(file)) {
    case PICTURE_PNG: return &image_format_png;
    case PICTURE_JPEG: return &image_format_jpg;
    case PICTURE_WEBP: return &image_format_webp;
    case PICTURE_EXR: return &image_format_exr;
    case PICTURE_HDR: return &image_format_hdr;
    default: return NULL;
    }
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

/* Finds the format by the contents of `file`, which may be NULL, then by the suffix. */
static kd_status format_find(const image_format **out, const char *path, const file_view *file,
                             kd_status otherwise) {
    char suffixes[256] = "";
    for (int i = 0; image_format_suffix(i); ++i) {
        const size_t used = strlen(suffixes);
        snprintf(suffixes + used, sizeof suffixes - used, "%s%s", used ? ", " : "",
                 image_format_suffix(i));
    }
    *out = file ? format_of_contents(file) : NULL;
    if (!*out) *out = image_format_find(path);
    KD_REQUIRE(*out, otherwise, "%s: unknown image suffix \"%s\"; expected one of %s", path,
               file_suffix(path), suffixes);
    KD_REQUIRE(!(*out)->lacks, otherwise,
               "%s: this build lacks %s, which the format needs; use one of %s", path,
               (*out)->lacks, suffixes);
    return KD_OK;
}

kd_status image_writable(const char *path) {
    const image_format *format = NULL;
    KD_REQUIRE(path[0], KD_ERROR_USAGE, "the name of an output file must not be empty");
    KD_TRY(format_find(&format, path, NULL, KD_ERROR_USAGE));
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
    KD_TRY(format_find(&format, path, NULL, KD_ERROR_USAGE));
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
                            const file_view *file, const image_reading *reading) {
    if (format->read_as) return format->read_as(out, path, file, reading);
    KD_REQUIRE(!reading->layer, KD_ERROR_INPUT, "%s: %s files have no layers; found the layer %s",
               path, format->suffix, reading->layer);
    if (format->read) return format->read(out, path, file);
    picture decoded;
    memset(&decoded, 0, sizeof decoded);
    kd_status status = format->read_packed(&decoded, path, file);
    if (status == KD_OK) status = image_decode(out, &decoded);
    picture_close(&decoded);
    return status;
}

kd_status image_read_as(image *out, const char *path, const image_reading *reading) {
    memset(out, 0, sizeof *out);
    const image_format *format = NULL;
    file_view file;
    KD_TRY(file_open(&file, path));
    kd_status status = format_find(&format, path, &file, KD_ERROR_INPUT);
    if (status == KD_OK) status = image_format_read(format, out, path, &file, reading);
    file_close(&file);
    if (status != KD_OK) {
        image_close(out);
        return status_pass(status, __FILE__, __LINE__, "format->read");
    }
    return KD_OK;
}

kd_status image_read(image *out, const char *path) {
    const image_reading reading = {.layer = NULL};
    return image_read_as(out, path, &reading);
}

kd_status image_read_packed(picture *out, const char *path) {
    memset(out, 0, sizeof *out);
    const image_format *format = NULL;
    file_view file;
    KD_TRY(file_open(&file, path));
    kd_status status = format_find(&format, path, &file, KD_ERROR_INPUT);
    if (status == KD_OK && format->read_packed) status = format->read_packed(out, path, &file);
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
