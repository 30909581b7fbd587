/* Means of the points in the cubes of a grid. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/clouds/cells.h"
#include "points/clouds/clouds.h"

enum { MEAN_GRAIN = 1 << 12 };

typedef struct mean_work {
    const point_array *points;
    const cell_grid *grid;
    void *means;
} mean_work;

static void mean_store(const point_array *points, const double *sum, double count, void *means,
                       uint64_t row) {
    const uint32_t dims = points->dims;
    for (uint32_t axis = 0; axis < dims; ++axis)
        if (points->scalar == POINT_DOUBLE)
            ((double *)means)[row * dims + axis] = sum[axis] / count;
        else
            ((float *)means)[row * dims + axis] = (float)(sum[axis] / count);
}

static void means_fill(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const mean_work *work = (const mean_work *)context;
    const point_array *points = work->points;
    const uint32_t dims = points->dims;
    for (uint64_t cell = (uint64_t)begin; cell < (uint64_t)end; ++cell) {
        const uint64_t first = work->grid->begin[cell], last = work->grid->begin[cell + 1];
        double sum[POINT_DIMS_MAX] = {0};
        for (uint64_t i = first; i < last; ++i) {
            const void *at = point_array_at(points, work->grid->order[i]);
            for (uint32_t axis = 0; axis < dims; ++axis)
                sum[axis] += point_coordinate(at, points->scalar, axis);
        }
        mean_store(points, sum, (double)(last - first), work->means, cell);
    }
}

/* With far fewer cells than points: sums the points without sorting them. A record of `sums` is a
   number of points and their sum. */
static uint64_t sums_fill(const cell_grid *grid, const point_array *points, double *sums,
                          uint64_t records, void *means) {
    const uint32_t dims = points->dims;
    uint64_t voxels = 0;
    for (uint64_t i = 0; i < points->count; ++i) {
        const void *at = point_array_at(points, i);
        double *record = sums + cell_key(grid, at, points->scalar) * (dims + 1);
        record[0] += 1;
        for (uint32_t axis = 0; axis < dims; ++axis)
            record[axis + 1] += point_coordinate(at, points->scalar, axis);
    }
    for (uint64_t i = 0; i < records; ++i) {
        const double *record = sums + i * (dims + 1);
        if (record[0] > 0) mean_store(points, record + 1, record[0], means, voxels++);
    }
    return voxels;
}

kd_status cloud_downsample(const point_array *points, double size, const double *origin,
                           void *means, uint64_t *voxels, bool *done) {
    cell_grid grid;
    const int bits = cells_layout(&grid, points, origin, size, 0.5);
    *done = bits > 0;
    if (!bits) return KD_OK;
    if (bits < 32 && (UINT64_C(4) << bits) <= points->count) {
        double *sums = NULL;
        KD_TRY(KD_RESERVE_ZEROED(sums, (points->dims + 1) * (UINT64_C(1) << bits)));
        *voxels = sums_fill(&grid, points, sums, UINT64_C(1) << bits, means);
        memory_free(sums);
        return KD_OK;
    }
    KD_TRY(cells_open(&grid, points, bits));
    mean_work work = {points, &grid, means};
    const kd_status status =
        parallel_for_stage("query", (int64_t)grid.cells, MEAN_GRAIN, means_fill, &work);
    *voxels = grid.cells;
    cells_close(&grid);
    return status;
}
