/* Reads EXR files as radiance, for colour maps and environments.
   Source: OpenEXR's technical introduction: the six faces of a cube, +X -X +Y -Y +Z -Z from the
           top, with the centres of the outer pixels on the edges of the cube; an image by latitude
           and longitude has +Z in its middle and +X left of it.
   Idea: a cube is resampled to an image of latitude and longitude with two pixels per pixel of a
         face along the horizon. */
#include "core/image/formats.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/assembly/scene_parts.h"
#include <math.h>
#include <string.h>

static kd_status keep_planes(texture_image *texture_image, const image *decoded) {
    const uint64_t texels = (uint64_t)decoded->width * (uint64_t)decoded->height;
    const float *const planes[3] = {image_plane(decoded, "R"), image_plane(decoded, "G"),
                                    image_plane(decoded, "B")};
    KD_TRY(texture_check_size(texture_image, decoded->width, decoded->height));
    texture_image->width = decoded->width;
    texture_image->height = decoded->height;
    KD_TRY(KD_RESERVE(texture_image->floats, 3 * texels));
    for (uint64_t c = 0; c < 3; ++c)
        texture_keep_light(texture_image, texture_image->floats + c, 3, planes[c], texels);
    return KD_OK;
}

/* Finds the face of a direction, and the position in it from -1 to 1, right and down. */
static int32_t face_find(vec3 d, float *right, float *down) {
    const float x = fabsf(d.x), y = fabsf(d.y), z = fabsf(d.z);
    if (x >= y && x >= z) {
        *right = d.x > 0 ? d.z / x : -d.z / x;
        *down = -d.y / x;
        return d.x > 0 ? 0 : 1;
    }
    if (y >= z) {
        *right = d.x / y;
        *down = d.y > 0 ? -d.z / y : d.z / y;
        return d.y > 0 ? 2 : 3;
    }
    *right = d.z > 0 ? -d.x / z : d.x / z;
    *down = -d.y / z;
    return d.z > 0 ? 4 : 5;
}

typedef struct cube_work {
    const image *cube;
    const float *planes[3];
    float *floats;
    int32_t width, height;
} cube_work;

static void texel_resample(const cube_work *work, int64_t x, int64_t y) {
    const double turn = 2 * 3.14159265358979323846;
    const double latitude = turn * (0.25 - 0.5 * ((double)y + 0.5) / work->height);
    const double longitude = turn * (0.5 - ((double)x + 0.5) / work->width);
    const vec3 d = vec3_make((float)(sin(longitude) * cos(latitude)), (float)sin(latitude),
                             (float)(cos(longitude) * cos(latitude)));
    const int64_t side = work->cube->width;
    float right, down;
    const int64_t face = face_find(d, &right, &down);
    right = 0.5f * (right + 1) * (float)(side - 1);
    down = 0.5f * (down + 1) * (float)(side - 1);
    const int64_t x0 = (int64_t)right, y0 = (int64_t)down;
    const int64_t x1 = x0 + 1 < side ? x0 + 1 : x0, y1 = y0 + 1 < side ? y0 + 1 : y0;
    const float u = right - (float)x0, v = down - (float)y0;
    for (int64_t c = 0; c < 3; ++c) {
        const float *from = work->planes[c] + face * side * side;
        const float upper = (1 - u) * from[y0 * side + x0] + u * from[y0 * side + x1];
        const float lower = (1 - u) * from[y1 * side + x0] + u * from[y1 * side + x1];
        work->floats[3 * (y * work->width + x) + c] = texture_light((1 - v) * upper + v * lower);
    }
}

static void rows_resample(void *context, int64_t begin, int64_t end, int thread) {
    const cube_work *work = (const cube_work *)context;
    (void)thread;
    for (int64_t y = begin; y < end; ++y)
        for (int64_t x = 0; x < work->width; ++x) texel_resample(work, x, y);
}

static kd_status keep_cube(texture_image *texture_image, const image *decoded) {
    KD_REQUIRE(decoded->height == 6 * (int64_t)decoded->width, KD_ERROR_INPUT,
               "%s: found the faces of a cube in %d x %d pixels, expected six squares",
               texture_image->path, decoded->width, decoded->height);
    cube_work work = {
        .cube = decoded,
        .planes = {image_plane(decoded, "R"), image_plane(decoded, "G"), image_plane(decoded, "B")},
        .width = 4 * decoded->width,
        .height = 2 * decoded->width};
    KD_TRY(texture_check_size(texture_image, work.width, work.height));
    KD_TRY(KD_RESERVE(work.floats, 3 * (uint64_t)work.width * (uint64_t)work.height));
    texture_image->floats = work.floats;
    texture_image->width = work.width;
    texture_image->height = work.height;
    parallel_for(work.height, 8, rows_resample, &work);
    return KD_OK;
}

static int64_t int_at(const char *at) {
    int32_t value;
    memcpy(&value, at, sizeof value); /* EXR files are little-endian */
    return value;
}

/* Returns true if the sky of the file has 8/6 of its pixels: keep_cube. */
static bool header_has_cube(const file_view *file) {
    static const char attribute[] = "envmap\0envmap\0\1\0\0\0\1";
    enum { BYTES = sizeof attribute - 1, SEARCHED = 1 << 16 };
    for (size_t at = 0; at + BYTES <= file->count && at < SEARCHED; ++at)
        if (memcmp(file->bytes + at, attribute, BYTES) == 0) return true;
    return false;
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
    image->kept = 3 * sizeof(float) * (header_has_cube(file) ? (4 * texels + 2) / 3 : texels);
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
    const image_reading reading = {.colours_alone = true};
    kd_status status = image_format_exr.read_as(&decoded, texture_image->path, file, &reading);
    const bool is_cube = decoded.is_cube && texture_image->role == TEXTURE_SKY;
    if (status == KD_OK)
        status =
            is_cube ? keep_cube(texture_image, &decoded) : keep_planes(texture_image, &decoded);
    image_close(&decoded);
    KD_TRY(status);
    texture_image->loaded = true;
    return KD_OK;
}
