#include "points/brute/brute.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <stdatomic.h>

enum { CHECK_GRAIN = 256, MIDDLE_SAMPLES = 4096 };

typedef struct check_work {
    const point_array *points;
    _Atomic uint64_t bad; /* the first point that is not finite */
} check_work;

static void check_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    check_work *work = (check_work *)context;
    for (uint64_t i = (uint64_t)begin; i < (uint64_t)end; ++i) {
        double poison = 0; /* c * 0 is 0 for finite coordinates, else NaN */
        for (uint32_t axis = 0; axis < work->points->dims; ++axis)
            poison += point_array_coordinate(work->points, i, axis) * 0;
        if (poison == 0) continue;
        uint64_t first = atomic_load(&work->bad);
        while (i < first && !atomic_compare_exchange_weak(&work->bad, &first, i)) {
        }
        return;
    }
}

kd_status brute_check(const point_array *points) {
    check_work work = {points, UINT64_MAX};
    parallel_for((int64_t)points->count, CHECK_GRAIN, check_piece, &work);
    const uint64_t bad = atomic_load(&work.bad);
    for (uint32_t axis = 0; bad != UINT64_MAX && axis < points->dims; ++axis) {
        const double x = point_array_coordinate(points, bad, axis);
        KD_REQUIRE(isfinite(x), KD_ERROR_INPUT,
                   "coordinate %u of point %llu is %g; coordinates must be finite", axis,
                   (unsigned long long)bad, x);
    }
    return KD_OK;
}

/* --- tiles ---------------------------------------------------------------------------------- */

typedef struct tile_work {
    brute_points *out;
    const point_array *points;
    double *extents; /* of each tile: the largest distance from the middle along an axis */
} tile_work;

static void tile_fill(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const tile_work *work = (const tile_work *)context;
    const brute_points *out = work->out;
    for (uint64_t t = (uint64_t)begin; t < (uint64_t)end; ++t) {
        double extent = 0;
        for (uint32_t lane = 0; lane < BRUTE_LANES; ++lane) {
            const uint32_t i = (uint32_t)t * BRUTE_LANES + lane;
            for (uint32_t axis = 0; axis < out->dims; ++axis) {
                const double x =
                    i < out->count ? point_array_coordinate(work->points, i, axis) : 0.0;
                const double away = fabs(x - out->middle[axis]);
                const uint64_t at = brute_at(out, i, axis);
                if (out->scalar == POINT_DOUBLE)
                    ((double *)out->tiles)[at] = x;
                else
                    ((float *)out->tiles)[at] = (float)x;
                if (i < out->count && away > extent) extent = away;
            }
        }
        work->extents[t] = extent;
    }
}

/* A length that is not finite is replaced by one that excludes nothing. */
static void tile_round(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const tile_work *work = (const tile_work *)context;
    const brute_points *out = work->out;
    for (uint64_t t = (uint64_t)begin; t < (uint64_t)end; ++t)
        for (uint32_t lane = 0; lane < BRUTE_LANES; ++lane) {
            const uint32_t i = (uint32_t)t * BRUTE_LANES + lane;
            double length2 = 0;
            for (uint32_t axis = 0; axis < out->dims; ++axis) {
                const double x = brute_coordinate(out, i, axis) - out->middle[axis];
                const float rough = i < out->count ? (float)(x * out->scale) : 0.0f;
                out->rough[brute_at(out, i, axis)] = rough;
                length2 += (double)rough * (double)rough;
            }
            out->halves[i] =
                length2 < 1e37 ? (float)(length2 / 2 * (1 - out->tolerance)) : -INFINITY;
        }
}

/* The middle of some of the points: results do not depend on it. */
static void find_middle(brute_points *out, const point_array *points) {
    const uint64_t step = points->count / MIDDLE_SAMPLES + 1;
    const uint64_t samples = (points->count + step - 1) / step;
    for (uint64_t i = 0; i < points->count; i += step)
        for (uint32_t axis = 0; axis < out->dims; ++axis)
            out->middle[axis] += point_array_coordinate(points, i, axis) / (double)samples;
}

static kd_status fill(brute_points *out, const point_array *points) {
    const uint64_t tiles = ((uint64_t)out->count + BRUTE_LANES - 1) / BRUTE_LANES;
    const uint64_t places = tiles * BRUTE_LANES;
    tile_work work = {out, points, NULL};
    double extent = 0;
    int exponent = 0;
    KD_TRY(memory_reserve(&out->tiles, places * out->dims, point_scalar_bytes(out->scalar)));
    KD_TRY(KD_RESERVE(out->rough, places * out->dims));
    KD_TRY(KD_RESERVE(out->halves, places));
    KD_TRY(KD_RESERVE_ZEROED(out->middle, out->dims));
    KD_TRY(KD_RESERVE(work.extents, tiles));
    find_middle(out, points);
    parallel_for((int64_t)tiles, 8, tile_fill, &work);
    for (uint64_t t = 0; t < tiles; ++t)
        extent = work.extents[t] > extent ? work.extents[t] : extent;
    memory_free(work.extents);
    if (extent > 0 && isfinite(extent)) (void)frexp(extent, &exponent);
    out->scale = ldexp(1, exponent < -1000 ? 1000 : -exponent);
    out->tolerance = (4.0 * out->dims + 16) * 0x1p-24;
    parallel_for((int64_t)tiles, 8, tile_round, &work);
    return KD_OK;
}

kd_status brute_open(brute_points **out, const point_array *points, point_box *box) {
    brute_points *opened = NULL;
    *box = point_box_empty();
    KD_TRY(brute_check(points));
    for (uint64_t i = 0; i < points->count; ++i)
        for (uint32_t axis = 0; axis < POINT_DIMS_MAX; ++axis)
            point_box_include(box, axis, point_array_coordinate(points, i, axis));
    KD_TRY(KD_RESERVE_ZEROED(opened, 1));
    opened->count = (uint32_t)points->count;
    opened->dims = points->dims;
    opened->scalar = points->scalar;
    const kd_status status = fill(opened, points);
    if (status != KD_OK) {
        brute_close(opened);
        opened = NULL;
    }
    *out = opened;
    return status;
}

void brute_close(brute_points *points) {
    if (!points) return;
    memory_free(points->tiles);
    memory_free(points->rough);
    memory_free(points->halves);
    memory_free(points->middle);
    memory_free(points);
}

uint64_t brute_bytes(const brute_points *points) {
    const uint64_t tiles = ((uint64_t)points->count + BRUTE_LANES - 1) / BRUTE_LANES;
    const uint64_t a_point =
        points->dims * (point_scalar_bytes(points->scalar) + sizeof(float)) + sizeof(float);
    return sizeof *points + tiles * BRUTE_LANES * a_point + points->dims * sizeof(double);
}

void brute_copy(const brute_points *points, void *coordinates) {
    for (uint32_t i = 0; i < points->count; ++i)
        for (uint32_t axis = 0; axis < points->dims; ++axis) {
            const uint64_t to = (uint64_t)i * points->dims + axis, at = brute_at(points, i, axis);
            if (points->scalar == POINT_DOUBLE)
                ((double *)coordinates)[to] = ((const double *)points->tiles)[at];
            else
                ((float *)coordinates)[to] = ((const float *)points->tiles)[at];
        }
}

uint64_t brute_hash(const brute_points *points) {
    const uint64_t tiles = ((uint64_t)points->count + BRUTE_LANES - 1) / BRUTE_LANES;
    return hash_bytes(points->tiles,
                      tiles * BRUTE_LANES * points->dims * point_scalar_bytes(points->scalar));
}
