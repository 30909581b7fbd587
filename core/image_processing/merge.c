/* Merging the parts of a picture, such as crops that several machines rendered.
   Idea: the first part gives the channels and the size; the others are copied into its place. Parts
         are disjoint, so that each pixel has the bits of one part, and their areas tell whether
         they cover the picture. */
#include "core/image/formats.h"
#include "core/image_processing/develop.h"
#include "core/memory.h"
#include <string.h>

typedef struct merge_box {
    const char *path;
    int64_t x0, y0, x1, y1; /* half open */
} merge_box;

typedef struct merging {
    image *out;
    merge_box *boxes; /* positions of the parts so far */
    int count;
} merging;

static kd_status windows_check(const char *path) {
    const image_format *format = image_format_find(path);
    KD_REQUIRE(!format || format->windows, KD_ERROR_INPUT,
               "%s: %s files do not contain their place in a picture; expected .exr", path,
               format->suffix);
    return KD_OK;
}

static int64_t clamp(int64_t value, int64_t top) {
    return value < 0 ? 0 : value < top ? value : top;
}

static merge_box box_of(const image *part, const char *path) {
    const merge_box box = {path, clamp(part->left, part->whole_width),
                           clamp(part->top, part->whole_height),
                           clamp((int64_t)part->left + part->width, part->whole_width),
                           clamp((int64_t)part->top + part->height, part->whole_height)};
    return box;
}

/* Writes a picture without a window as a part that covers it. */
static void window_complete(image *part) {
    if (part->whole_width) return;
    part->whole_width = part->width;
    part->whole_height = part->height;
}

static kd_status first_take(image *out, const image *first) {
    KD_TRY(image_open(out, first->whole_width, first->whole_height));
    for (int32_t c = 0; c < first->channel_count; ++c) {
        float *plane;
        KD_TRY(image_add(out, first->names[c], &plane));
    }
    memcpy(out->world_to_camera, first->world_to_camera, sizeof out->world_to_camera);
    memcpy(out->scene_origin, first->scene_origin, sizeof out->scene_origin);
    memcpy(out->corner, first->corner, sizeof out->corner);
    memcpy(out->method, first->method, sizeof out->method);
    out->samples_per_pixel = first->samples_per_pixel;
    return KD_OK;
}

/* Checks that a part belongs to the same picture as the first one. */
static kd_status part_check(const merging *work, const image *part, const char *path) {
    const image *out = work->out;
    const char *first = work->boxes[0].path;
    KD_REQUIRE(
        part->whole_width == out->width && part->whole_height == out->height &&
            memcmp(part->corner, out->corner, sizeof out->corner) == 0,
        KD_ERROR_INPUT,
        "%s: its display window has %d x %d pixels from (%d, %d), but that of %s has %d x %d "
        "from (%d, %d)",
        path, part->whole_width, part->whole_height, part->corner[0], part->corner[1], first,
        out->width, out->height, out->corner[0], out->corner[1]);
    for (int32_t c = 0; c < out->channel_count; ++c)
        KD_REQUIRE(image_plane(part, out->names[c]), KD_ERROR_INPUT,
                   "%s: found no channel %s, which %s has", path, out->names[c], first);
    for (int32_t c = 0; c < part->channel_count; ++c)
        KD_REQUIRE(image_plane(out, part->names[c]), KD_ERROR_INPUT,
                   "%s: found the channel %s, which %s lacks", path, part->names[c], first);
    KD_REQUIRE(memcmp(part->world_to_camera, out->world_to_camera, sizeof out->world_to_camera) ==
                       0 &&
                   memcmp(part->scene_origin, out->scene_origin, sizeof out->scene_origin) == 0,
               KD_ERROR_INPUT, "%s: its camera is not that of %s", path, first);
    return KD_OK;
}

static kd_status overlap_check(const merging *work, const merge_box *box) {
    for (int i = 0; i < work->count; ++i) {
        const merge_box *other = &work->boxes[i];
        KD_REQUIRE(box->x1 <= other->x0 || other->x1 <= box->x0 || box->y1 <= other->y0 ||
                       other->y1 <= box->y0,
                   KD_ERROR_INPUT,
                   "%s: its pixels from (%lld, %lld) to (%lld, %lld) overlap those of %s, from "
                   "(%lld, %lld) to (%lld, %lld)",
                   box->path, (long long)box->x0, (long long)box->y0, (long long)box->x1,
                   (long long)box->y1, other->path, (long long)other->x0, (long long)other->y0,
                   (long long)other->x1, (long long)other->y1);
    }
    return KD_OK;
}

static void part_copy(image *out, const image *part, const merge_box *box) {
    for (int32_t c = 0; c < out->channel_count; ++c) {
        const float *from = image_plane(part, out->names[c]);
        for (int64_t y = box->y0; y < box->y1; ++y)
            memcpy(out->planes[c] + y * out->width + box->x0,
                   from + (y - part->top) * part->width + (box->x0 - part->left),
                   (size_t)(box->x1 - box->x0) * sizeof *from);
    }
}

static kd_status part_add(merging *work, image *part, const char *path) {
    window_complete(part);
    const merge_box box = box_of(part, path);
    if (work->count) {
        KD_TRY(part_check(work, part, path));
        KD_TRY(overlap_check(work, &box));
    } else {
        KD_TRY(first_take(work->out, part));
    }
    part_copy(work->out, part, &box);
    if (part->samples_per_pixel < work->out->samples_per_pixel)
        work->out->samples_per_pixel = part->samples_per_pixel;
    work->out->render_seconds += part->render_seconds;
    work->boxes[work->count++] = box;
    return KD_OK;
}

/* Cuts the picture to the rectangle around all parts. */
static kd_status finish(const merging *work) {
    image *out = work->out;
    merge_box around = work->boxes[0];
    int64_t covered = 0;
    for (int i = 0; i < work->count; ++i) {
        const merge_box *box = &work->boxes[i];
        covered += (box->x1 - box->x0) * (box->y1 - box->y0);
        around.x0 = box->x0 < around.x0 ? box->x0 : around.x0;
        around.y0 = box->y0 < around.y0 ? box->y0 : around.y0;
        around.x1 = box->x1 > around.x1 ? box->x1 : around.x1;
        around.y1 = box->y1 > around.y1 ? box->y1 : around.y1;
    }
    const int64_t pixels = (int64_t)out->width * out->height;
    if (covered == pixels && !out->corner[0] && !out->corner[1]) return KD_OK;
    if (covered < pixels)
        log_message(LOG_WARNING, "%lld of the %lld pixels are in no file; they are black",
                    (long long)(pixels - covered), (long long)pixels);
    const int32_t crop[4] = {(int32_t)around.x0, (int32_t)around.y0, (int32_t)around.x1,
                             (int32_t)around.y1};
    const int32_t corner[2] = {out->corner[0], out->corner[1]};
    const int32_t width = out->width, height = out->height;
    KD_TRY(image_crop(out, crop));
    out->left = crop[0];
    out->top = crop[1];
    out->whole_width = width;
    out->whole_height = height;
    memcpy(out->corner, corner, sizeof corner);
    return KD_OK;
}

kd_status image_merge(image *out, char *const *paths, int count, const image_reading *reading) {
    merging work = {.out = out};
    image_reading part_of = *reading;
    part_of.keeps_window = true;
    memset(out, 0, sizeof *out);
    KD_TRY(KD_RESERVE(work.boxes, (uint64_t)count));
    kd_status status = KD_OK;
    for (int i = 0; i < count && status == KD_OK; ++i) {
        image part;
        memset(&part, 0, sizeof part);
        status = windows_check(paths[i]);
        if (status == KD_OK) status = image_read_as(&part, paths[i], &part_of);
        if (status == KD_OK) status = part_add(&work, &part, paths[i]);
        image_close(&part);
    }
    if (status == KD_OK) status = finish(&work);
    if (status != KD_OK) image_close(out);
    memory_free(work.boxes);
    KD_TRY(status);
    return KD_OK;
}
