/* Reads EXR files as radiance, for colour maps and environments. */
#include "core/image/formats.h"
#include "core/memory.h"
#include "scenes/assembly/scene_parts.h"
#include <string.h>

static kd_status keep_planes(texture_image *texture_image, const image *decoded) {
    const uint64_t texels = (uint64_t)decoded->width * (uint64_t)decoded->height;
    const float *const planes[3] = {image_plane(decoded, "R"), image_plane(decoded, "G"),
                                    image_plane(decoded, "B")};
    KD_TRY(texture_check_size(texture_image, decoded->width, decoded->height));
    texture_image->width = decoded->width;
    texture_image->height = decoded->height;
    KD_TRY(KD_RESERVE(texture_image->floats, 3 * texels));
    for (uint64_t i = 0; i < texels; ++i)
        for (uint64_t c = 0; c < 3; ++c)
            texture_image->floats[3 * i + c] = texture_light(planes[c][i]);
    return KD_OK;
}

static int64_t int_at(const char *at) {
    int32_t value;
    memcpy(&value, at, sizeof value); /* EXR files are little-endian */
    return value;
}

/* Scans for data and display windows without parsing the header, and takes the largest, which is
   an upper bound. Reading the file rejects malformed ones. */
void texture_measure_exr(texture_image *image, const file_view *file) {
    static const char window[] = "Window\0box2i\0\x10\0\0";
    const char *at = file->bytes, *const end = file->bytes + file->count;
    uint64_t texels = 0;
    while (end - at >= (ptrdiff_t)sizeof window + 16 &&
           (at = (const char *)memchr(at, 'W', (size_t)(end - at - 16) - sizeof window + 1))) {
        const char *box = at++ + sizeof window;
        if (memcmp(at - 1, window, sizeof window) != 0) continue;
        const int64_t width = int_at(box + 8) - int_at(box) + 1;
        const int64_t height = int_at(box + 12) - int_at(box + 4) + 1;
        if (width > 0 && height > 0 && width <= INT32_MAX && height <= INT32_MAX &&
            (uint64_t)(width * height) > texels)
            texels = (uint64_t)(width * height);
    }
    image->kept = 3 * sizeof(float) * texels;
    image->passing = 5 * sizeof(float) * texels; /* four planes, and one that is being placed */
}

kd_status texture_read_exr(texture_image *texture_image, const file_view *file) {
    image decoded;
    memset(&decoded, 0, sizeof decoded);
    KD_REQUIRE(
        texture_image->role == TEXTURE_COLOUR || texture_image->role == TEXTURE_SKY, KD_ERROR_INPUT,
        "%s: found an EXR image, expected one of 8 or 16 bits (only colours and skies may be EXR)",
        texture_image->path);
    KD_REQUIRE(!image_format_exr.lacks, KD_ERROR_INPUT,
               "%s: this build has no %s; convert the image to PNG or HDR", texture_image->path,
               image_format_exr.lacks);
    const image_reading how = {.colours_alone = true};
    kd_status status = image_format_exr.read_as(&decoded, texture_image->path, file, &how);
    if (status == KD_OK && decoded.is_cube && texture_image->role == TEXTURE_SKY)
        status = status_fail(KD_ERROR_INPUT, __FILE__, __LINE__,
                             "%s: found the faces of a cube, expected latitude and longitude; "
                             "exrenvmap -l converts it",
                             texture_image->path);
    if (status == KD_OK) status = keep_planes(texture_image, &decoded);
    image_close(&decoded);
    KD_TRY(status);
    texture_image->loaded = true;
    return KD_OK;
}
