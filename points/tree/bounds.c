#include "points/tree/bounds.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

enum { SCAN_GRAIN = 1 << 16 };

typedef struct scan_piece_result {
    point_box box;
    uint64_t bad; /* first non-finite point of the piece, or UINT64_MAX */
} scan_piece_result;

typedef struct scan_work {
    const point_array *points;
    scan_piece_result *results;
} scan_work;

/* The box of one piece. `poison` sums c * 0, which is 0 for finite coordinates and NaN
   otherwise. */
static void scan_three_floats(scan_piece_result *result, const point_array *points, int64_t begin,
                              int64_t end) {
    const vec3 *p = (const vec3 *)points->coordinates;
    float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    float poison = 0;
    for (int64_t i = begin; i < end; ++i) {
        const float c[3] = {p[i].x, p[i].y, p[i].z};
        for (int axis = 0; axis < 3; ++axis) {
            poison += c[axis] * 0;
            lo[axis] = c[axis] < lo[axis] ? c[axis] : lo[axis];
            hi[axis] = c[axis] > hi[axis] ? c[axis] : hi[axis];
        }
    }
    for (uint32_t axis = 0; axis < 3; ++axis) {
        result->box.lo[axis] = (double)lo[axis] + 0.0;
        result->box.hi[axis] = (double)hi[axis] + 0.0;
    }
    if (poison == 0) return;
    int64_t i = begin;
    while (vec3_is_finite(p[i])) ++i;
    result->bad = (uint64_t)i;
}

/* The same for packed doubles, four points at a time. */
static inline __attribute__((always_inline)) void scan_doubles_of(uint32_t dims,
                                                                  scan_piece_result *result,
                                                                  const double *x, int64_t begin,
                                                                  int64_t end) {
    enum { ROWS = 4 };
    double lo[ROWS * POINT_DIMS_MAX], hi[ROWS * POINT_DIMS_MAX], poison[ROWS * POINT_DIMS_MAX];
    for (uint32_t j = 0; j < ROWS * dims; ++j) {
        lo[j] = (double)INFINITY;
        hi[j] = -(double)INFINITY;
        poison[j] = 0;
    }
    int64_t i = begin;
    for (; i + ROWS <= end; i += ROWS)
        for (uint32_t j = 0; j < ROWS * dims; ++j) {
            const double c = x[(uint64_t)i * dims + j];
            poison[j] += c * 0;
            lo[j] = c < lo[j] ? c : lo[j];
            hi[j] = c > hi[j] ? c : hi[j];
        }
    double sum = 0;
    for (; i < end; ++i)
        for (uint32_t axis = 0; axis < dims; ++axis) {
            const double c = x[(uint64_t)i * dims + axis];
            sum += c * 0;
            point_box_include(&result->box, axis, c);
        }
    for (uint32_t j = 0; j < ROWS * dims; ++j) {
        sum += poison[j];
        if (lo[j] > hi[j]) continue; /* no point was assigned to this slot */
        point_box_include(&result->box, j % dims, lo[j]);
        point_box_include(&result->box, j % dims, hi[j]);
    }
    if (sum == 0) return;
    for (i = begin; result->bad == UINT64_MAX; ++i)
        for (uint32_t axis = 0; axis < dims; ++axis)
            if (!isfinite(x[(uint64_t)i * dims + axis])) result->bad = (uint64_t)i;
}

static void scan_doubles(scan_piece_result *result, const point_array *points, int64_t begin,
                         int64_t end) {
    const double *x = (const double *)points->coordinates;
    switch (points->dims) {
    case 2: scan_doubles_of(2, result, x, begin, end); break;
    case 3: scan_doubles_of(3, result, x, begin, end); break;
    default: scan_doubles_of(points->dims, result, x, begin, end); break;
    }
}

static void scan_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const scan_work *work = (const scan_work *)context;
    const point_array *points = work->points;
    scan_piece_result *result = &work->results[begin / SCAN_GRAIN];
    result->box = point_box_empty();
    result->bad = UINT64_MAX;
    if (points->dims == 3 && points->scalar == POINT_FLOAT &&
        points->stride_bytes == sizeof(vec3)) {
        scan_three_floats(result, points, begin, end);
        return;
    }
    if (points->scalar == POINT_DOUBLE && points->stride_bytes == points->dims * sizeof(double)) {
        scan_doubles(result, points, begin, end);
        return;
    }
    for (int64_t i = begin; i < end; ++i)
        for (uint32_t axis = 0; axis < points->dims; ++axis) {
            const double x = point_array_coordinate(points, (uint64_t)i, axis);
            if (!isfinite(x) && result->bad == UINT64_MAX) result->bad = (uint64_t)i;
            point_box_include(&result->box, axis, x);
        }
}

static kd_status refuse(const point_array *points, uint64_t bad) {
    for (uint32_t axis = 0; axis < points->dims; ++axis) {
        const double x = point_array_coordinate(points, bad, axis);
        KD_REQUIRE(isfinite(x), KD_ERROR_INPUT,
                   "coordinate %u of point %llu is %g; coordinates must be finite", axis,
                   (unsigned long long)bad, x);
    }
    return KD_OK;
}

kd_status point_scan(point_box *box, const point_array *points) {
    const uint64_t pieces = (points->count + SCAN_GRAIN - 1) / SCAN_GRAIN;
    scan_piece_result one; /* avoids an allocation for a single piece, such as one query */
    scan_work work = {points, &one};
    if (pieces > 1) KD_TRY(KD_RESERVE(work.results, pieces));
    parallel_for((int64_t)points->count, SCAN_GRAIN, scan_piece, &work);
    *box = point_box_empty();
    uint64_t bad = UINT64_MAX;
    for (uint64_t i = 0; i < pieces; ++i) {
        if (bad == UINT64_MAX) bad = work.results[i].bad;
        for (uint32_t axis = 0; axis < points->dims; ++axis) {
            point_box_include(box, axis, work.results[i].box.lo[axis]);
            point_box_include(box, axis, work.results[i].box.hi[axis]);
        }
    }
    if (pieces > 1) memory_free(work.results);
    if (bad != UINT64_MAX) KD_TRY(refuse(points, bad));
    return KD_OK;
}
