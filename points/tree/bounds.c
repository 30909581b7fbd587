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

/* The box of one piece of packed points, eight floats or four doubles of each axis at a time.
   `poison` sums c * 0, which is 0 for finite coordinates and NaN otherwise. */
#define SCAN_PACKED(name, real)                                                                    \
    static inline __attribute__((always_inline)) void name(                                        \
        uint32_t dims, scan_piece_result *result, const real *x, int64_t begin, int64_t end) {     \
        enum { ROWS = 32 / sizeof(real) };                                                         \
        real lo[ROWS * POINT_DIMS_MAX], hi[ROWS * POINT_DIMS_MAX], poison[ROWS * POINT_DIMS_MAX];  \
        for (uint32_t j = 0; j < ROWS * dims; ++j) {                                               \
            lo[j] = (real)INFINITY;                                                                \
            hi[j] = -(real)INFINITY;                                                               \
            poison[j] = 0;                                                                         \
        }                                                                                          \
        int64_t i = begin;                                                                         \
        for (; i + ROWS <= end; i += ROWS)                                                         \
            for (uint32_t j = 0; j < ROWS * dims; ++j) {                                           \
                const real c = x[(uint64_t)i * dims + j];                                          \
                poison[j] += c * 0;                                                                \
                lo[j] = c < lo[j] ? c : lo[j];                                                     \
                hi[j] = c > hi[j] ? c : hi[j];                                                     \
            }                                                                                      \
        real sum = 0;                                                                              \
        for (; i < end; ++i)                                                                       \
            for (uint32_t axis = 0; axis < dims; ++axis) {                                         \
                const real c = x[(uint64_t)i * dims + axis];                                       \
                sum += c * 0;                                                                      \
                point_box_include(&result->box, axis, (double)c);                                  \
            }                                                                                      \
        for (uint32_t j = 0; j < ROWS * dims; ++j) {                                               \
            sum += poison[j];                                                                      \
            if (lo[j] > hi[j]) continue; /* no point was assigned to this slot */                  \
            point_box_include(&result->box, j % dims, (double)lo[j]);                              \
            point_box_include(&result->box, j % dims, (double)hi[j]);                              \
        }                                                                                          \
        if (sum == 0) return;                                                                      \
        for (i = begin; result->bad == UINT64_MAX; ++i)                                            \
            for (uint32_t axis = 0; axis < dims; ++axis)                                           \
                if (!isfinite(x[(uint64_t)i * dims + axis])) result->bad = (uint64_t)i;            \
    }
SCAN_PACKED(scan_floats_of, float)
SCAN_PACKED(scan_doubles_of, double)

#define SCAN_BY_DIMS(dims, scan, ...)                                                              \
    switch (dims) {                                                                                \
    case 2: scan(2, __VA_ARGS__); break;                                                           \
    case 3: scan(3, __VA_ARGS__); break;                                                           \
    case 8: scan(8, __VA_ARGS__); break;                                                           \
    default: scan(dims, __VA_ARGS__); break;                                                       \
    }

static void scan_floats(scan_piece_result *result, const point_array *points, int64_t begin,
                        int64_t end) {
    const float *x = (const float *)points->coordinates;
    SCAN_BY_DIMS(points->dims, scan_floats_of, result, x, begin, end)
}

static void scan_doubles(scan_piece_result *result, const point_array *points, int64_t begin,
                         int64_t end) {
    const double *x = (const double *)points->coordinates;
    SCAN_BY_DIMS(points->dims, scan_doubles_of, result, x, begin, end)
}

static void scan_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const scan_work *work = (const scan_work *)context;
    const point_array *points = work->points;
    scan_piece_result *result = &work->results[begin / SCAN_GRAIN];
    result->box = point_box_empty();
    result->bad = UINT64_MAX;
    if (points->stride_bytes == points->dims * point_scalar_bytes(points->scalar)) {
        (points->scalar == POINT_FLOAT ? scan_floats : scan_doubles)(result, points, begin, end);
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
