/* Cropping and resizing.
   Idea: resizes both directions one after the other. Each output sample is the mean of the input
         weighted by a tent; the weights are computed once per direction. */
#include "core/image_processing/develop.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <math.h>
#include <string.h>

enum { SIDE_MAX = 65536, ROW_GRAIN = 8 };

kd_status image_crop(image *image, const int32_t crop[4]) {
    KD_REQUIRE(crop[0] >= 0 && crop[1] >= 0 && crop[0] < crop[2] && crop[1] < crop[3] &&
                   crop[2] <= image->width && crop[3] <= image->height,
               KD_ERROR_USAGE, "crop %d,%d,%d,%d is empty or exceeds the image of %d x %d pixels",
               crop[0], crop[1], crop[2], crop[3], image->width, image->height);
    const int32_t width = crop[2] - crop[0], height = crop[3] - crop[1];
    for (int32_t c = 0; c < image->channel_count; ++c) /* in place, towards the front */
        for (int32_t y = 0; y < height; ++y)
            memmove(image->planes[c] + (size_t)y * (size_t)width,
                    image->planes[c] + (size_t)(y + crop[1]) * (size_t)image->width + crop[0],
                    (size_t)width * sizeof(float));
    image->width = width;
    image->height = height;
    image->left = image->top = image->whole_width = image->whole_height = 0;
    image->corner[0] = image->corner[1] = 0;
    return KD_OK;
}

/* Filter of one direction: output i is the weighted sum of `count` inputs from first[i] on. */
typedef struct resize_taps {
    int32_t from, to; /* input and output sizes */
    int32_t count;
    int32_t *first;
    float *weights; /* to * count */
} resize_taps;

static void taps_close(resize_taps *owned) {
    memory_free(owned->first);
    memory_free(owned->weights);
}

static kd_status taps_open(resize_taps *out, int32_t from, int32_t to) {
    const double pitch = (double)from / to, radius = pitch > 1 ? pitch : 1;
    memset(out, 0, sizeof *out);
    out->from = from;
    out->to = to;
    out->count = (int32_t)ceil(2 * radius) + 1;
    if (out->count > from) out->count = from;
    KD_TRY(KD_RESERVE(out->first, (uint64_t)to));
    KD_TRY(KD_RESERVE(out->weights, (uint64_t)to * (uint64_t)out->count));
    for (int32_t i = 0; i < to; ++i) {
        const double centre = (i + 0.5) * pitch - 0.5;
        int32_t first = (int32_t)ceil(centre - radius);
        if (first > from - out->count) first = from - out->count;
        if (first < 0) first = 0;
        float *weights = out->weights + (size_t)i * (size_t)out->count;
        double sum = 0;
        out->first[i] = first;
        for (int32_t k = 0; k < out->count; ++k)
            sum += fmax(0, 1 - fabs(first + k - centre) / radius);
        for (int32_t k = 0; k < out->count; ++k)
            weights[k] = (float)(fmax(0, 1 - fabs(first + k - centre) / radius) / sum);
    }
    return KD_OK;
}

typedef struct resize_work {
    const resize_taps *across, *down;
    const float *from;
    float *middle, *to; /* to.width * from.height, to.width * to.height */
} resize_work;

static void rows_across(void *context, int64_t begin, int64_t end, int thread) {
    const resize_work *work = (const resize_work *)context;
    const resize_taps *taps = work->across;
    (void)thread;
    for (int64_t y = begin; y < end; ++y) {
        const float *row = work->from + y * taps->from;
        float *made = work->middle + y * taps->to;
        for (int32_t x = 0; x < taps->to; ++x) {
            const float *weights = taps->weights + (size_t)x * (size_t)taps->count;
            float sum = 0;
            for (int32_t k = 0; k < taps->count; ++k) sum += weights[k] * row[taps->first[x] + k];
            made[x] = sum;
        }
    }
}

static void rows_down(void *context, int64_t begin, int64_t end, int thread) {
    const resize_work *work = (const resize_work *)context;
    const resize_taps *taps = work->down;
    const int32_t width = work->across->to;
    (void)thread;
    for (int64_t y = begin; y < end; ++y) {
        float *made = work->to + y * width;
        const float *weights = taps->weights + y * taps->count;
        memset(made, 0, (size_t)width * sizeof *made);
        for (int32_t k = 0; k < taps->count; ++k) {
            const float *row = work->middle + (int64_t)(taps->first[y] + k) * width;
            for (int32_t x = 0; x < width; ++x) made[x] += weights[k] * row[x];
        }
    }
}

static kd_status planes_resize(image *to, const image *from, const resize_taps *across,
                               const resize_taps *down) {
    static const char *const kept[] = {"R", "G", "B", "A"};
    resize_work work = {.across = across, .down = down};
    KD_TRY(KD_RESERVE(work.middle, (uint64_t)across->to * (uint64_t)down->from));
    kd_status status = KD_OK;
    for (int i = 0; i < 4; ++i) {
        work.from = image_plane(from, kept[i]);
        if (!work.from) continue;
        KD_TRY_GOTO(image_add(to, kept[i], &work.to));
        parallel_for(down->from, ROW_GRAIN, rows_across, &work);
        parallel_for(down->to, ROW_GRAIN, rows_down, &work);
    }
done:
    memory_free(work.middle);
    return status;
}

static int32_t side_of(int32_t requested, int32_t other, int32_t own_size, int32_t other_size) {
    if (requested > 0) return requested;
    const int64_t side = ((int64_t)other * own_size + other_size / 2) / other_size;
    return side < 1 ? 1 : side > SIDE_MAX ? SIDE_MAX : (int32_t)side;
}

kd_status image_resize(image *picture, int32_t width, int32_t height) {
    KD_REQUIRE(width >= 0 && height >= 0 && width <= SIDE_MAX && height <= SIDE_MAX &&
                   (width || height),
               KD_ERROR_USAGE,
               "the new size is %d x %d pixels; expected at most %d per side, and not 0 x 0", width,
               height, SIDE_MAX);
    resize_taps across, down;
    image made;
    memset(&down, 0, sizeof down);
    memset(&made, 0, sizeof made);
    kd_status status = KD_OK;
    KD_TRY_GOTO(taps_open(&across, picture->width,
                          side_of(width, height, picture->width, picture->height)));
    KD_TRY_GOTO(
        taps_open(&down, picture->height, side_of(height, width, picture->height, picture->width)));
    KD_TRY_GOTO(image_open(&made, across.to, down.to));
    memcpy(made.world_to_camera, picture->world_to_camera, sizeof made.world_to_camera);
    made.samples_per_pixel = picture->samples_per_pixel;
    made.render_seconds = picture->render_seconds;
    memcpy(made.method, picture->method, sizeof made.method);
    memcpy(made.scene_origin, picture->scene_origin, sizeof made.scene_origin);
    KD_TRY_GOTO(planes_resize(&made, picture, &across, &down));
done:
    taps_close(&across);
    taps_close(&down);
    if (status != KD_OK) {
        image_close(&made);
        return status;
    }
    image_close(picture);
    *picture = made;
    return KD_OK;
}
