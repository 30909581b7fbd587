/* The rows of images for the metrics of compare.h. */
#include "core/image/encode.h"
#include "core/image/picture.h"
#include "core/image_processing/compare.h"
#include "core/memory.h"
#include <string.h>

kd_status image_rows_of_image(image_rows *out, const image *image, const char *which) {
    static const char *const colours[] = {"R", "G", "B"};
    memset(out, 0, sizeof *out);
    out->width = image->width;
    out->height = image->height;
    for (int c = 0; c < 3; ++c) {
        out->planes[c] = image_plane(image, colours[c]);
        KD_REQUIRE(out->planes[c], KD_ERROR_INPUT, "%s image has no channel %s", which, colours[c]);
    }
    return KD_OK;
}

kd_status image_rows_of_picture(image_rows *out, const picture *picture) {
    memset(out, 0, sizeof *out);
    out->width = picture->info.width;
    out->height = picture->info.height;
    out->packed = picture;
    KD_TRY(image_linear_open(&out->linear, picture));
    return KD_OK;
}

void image_rows_of_blocks(image_rows *out, const image_rows *base, int32_t block) {
    memset(out, 0, sizeof *out);
    out->width = (int32_t)(((int64_t)base->width + block - 1) / block);
    out->height = (int32_t)(((int64_t)base->height + block - 1) / block);
    out->base = base;
    out->block = block;
}

void image_rows_close(image_rows *owned) {
    memory_free(owned->linear);
    memset(owned, 0, sizeof *owned);
}

/* Adds a row to the sums of its blocks, from left to right. */
static void row_sum(double *sums, const float *row, int32_t width, int32_t block) {
    for (int64_t i = 0; i < width; ++i) sums[i / block] += (double)row[i];
}

static kd_status blocks_get(const image_rows *image, int64_t y, float *const planes[3]) {
    const image_rows *base = image->base;
    const int64_t block = image->block, first = y * block;
    const int64_t last = first + block < base->height ? first + block : base->height;
    const size_t wide = (size_t)image->width, base_wide = (size_t)base->width;
    double *sums = NULL;
    float *rows = NULL;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(sums, 3 * wide));
    KD_TRY_GOTO(KD_RESERVE(rows, 3 * base_wide));
    float *const row[3] = {rows, rows + base_wide, rows + 2 * base_wide};
    for (int64_t j = first; j < last; ++j) {
        KD_TRY_GOTO(image_rows_get(base, j, row));
        for (size_t c = 0; c < 3; ++c) row_sum(sums + c * wide, row[c], base->width, image->block);
    }
    for (size_t c = 0; c < 3; ++c)
        for (int64_t x = 0; x < image->width; ++x) {
            const int64_t x0 = x * block, x1 = x0 + block < base->width ? x0 + block : base->width;
            planes[c][x] =
                (float)(sums[c * wide + (size_t)x] / (double)((x1 - x0) * (last - first)));
        }
done:
    memory_free(sums);
    memory_free(rows);
    return status;
}

kd_status image_rows_get(const image_rows *rows, int64_t y, float *const planes[3]) {
    const uint64_t width = (uint64_t)rows->width, begin = (uint64_t)y * width;
    if (rows->base) return blocks_get(rows, y, planes);
    if (rows->packed) {
        float *const all[4] = {planes[0], planes[1], planes[2], NULL};
        image_texels_decode(all, rows->packed, begin, width, rows->linear);
        return KD_OK;
    }
    for (int c = 0; c < 3; ++c) memcpy(planes[c], rows->planes[c] + begin, width * sizeof(float));
    return KD_OK;
}
