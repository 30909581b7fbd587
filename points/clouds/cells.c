#include "points/clouds/cells.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"

enum { CELL_BITS_MAX = 63, CELL_GRAIN = 1 << 14 };

typedef struct cell_work {
    const point_array *points;
    const cell_grid *grid;
} cell_work;

static void keys_fill(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const cell_work *work = (const cell_work *)context;
    const cell_grid *grid = work->grid;
    for (uint64_t i = (uint64_t)begin; i < (uint64_t)end; ++i) {
        grid->keys[i] = cell_key(grid, point_array_at(work->points, i), work->points->scalar);
        grid->order[i] = (uint32_t)i;
    }
}

/* Returns false if a coordinate is not finite. */
static bool box_of(const point_array *points, double *lo, double *hi) {
    bool finite = true;
    for (uint32_t axis = 0; axis < points->dims; ++axis) {
        lo[axis] = (double)INFINITY;
        hi[axis] = -(double)INFINITY;
    }
    for (uint64_t i = 0; i < points->count; ++i) {
        const void *at = point_array_at(points, i);
        for (uint32_t axis = 0; axis < points->dims; ++axis) {
            const double x = point_coordinate(at, points->scalar, axis);
            lo[axis] = x < lo[axis] ? x : lo[axis];
            hi[axis] = x > hi[axis] ? x : hi[axis];
            finite &= fabs(x) <= 1.7976931348623157e308;
        }
    }
    return finite;
}

int cells_layout(cell_grid *grid, const point_array *points, const double *origin, double size,
                 double before) {
    double lo[POINT_DIMS_MAX], hi[POINT_DIMS_MAX];
    int bits[POINT_DIMS_MAX], sum = 0;
    *grid = (cell_grid){.dims = points->dims, .size = size};
    if (!points->count || points->count > UINT32_MAX || !box_of(points, lo, hi)) return 0;
    for (uint32_t axis = 0; axis < points->dims; ++axis) {
        grid->origin[axis] = origin ? origin[axis] : lo[axis] - size * before;
        const double first = floor((lo[axis] - grid->origin[axis]) / size),
                     last = floor((hi[axis] - grid->origin[axis]) / size);
        if (!(fabs(first) < 0x1p52 && fabs(last) < 0x1p52 && last - first < 0x1p31 - 8)) return 0;
        grid->least[axis] = (int64_t)first;
        const uint64_t cells = (uint64_t)(last - first) + 1 + 2 * CELL_MARGIN;
        for (bits[axis] = 1; cells >> bits[axis]; ++bits[axis]) continue;
        sum += bits[axis];
    }
    if (sum > CELL_BITS_MAX) return 0;
    int shift = sum;
    for (uint32_t axis = 0; axis < points->dims; ++axis) grid->shift[axis] = shift -= bits[axis];
    return sum;
}

/* Moves the key of each cell to the front of `keys` and notes the cell's first point. */
static kd_status cells_list(cell_grid *grid, uint64_t count) {
    uint64_t *keys = grid->keys;
    uint64_t cells = count > 0;
    for (uint64_t i = 1; i < count; ++i) cells += keys[i] != keys[i - 1];
    KD_TRY(KD_RESERVE(grid->begin, cells + 1));
    grid->cells = cells;
    uint64_t cell = 0;
    for (uint64_t i = 0; i < count; ++i) {
        if (i && keys[i] == keys[cell - 1]) continue;
        grid->begin[cell] = i;
        keys[cell++] = keys[i];
    }
    grid->begin[cells] = count;
    return KD_OK;
}

kd_status cells_open(cell_grid *grid, const point_array *points, int bits) {
    cell_work work = {points, grid};
    kd_status status = KD_OK;
    void *scratch = NULL;
    KD_TRY_GOTO(KD_RESERVE(grid->keys, points->count));
    KD_TRY_GOTO(KD_RESERVE(grid->order, points->count));
    KD_TRY_GOTO(memory_reserve(&scratch, radix_sort_pairs_scratch_bytes(points->count), 1));
    parallel_for((int64_t)points->count, CELL_GRAIN, keys_fill, &work);
    radix_sort_pairs(grid->keys, grid->order, points->count, 0, bits, scratch);
    KD_TRY_GOTO(cells_list(grid, points->count));
done:
    memory_free(scratch);
    if (status != KD_OK) cells_close(grid);
    return status;
}

void cells_close(cell_grid *grid) {
    memory_free(grid->keys);
    memory_free(grid->begin);
    memory_free(grid->order);
    *grid = (cell_grid){0};
}

/* Two cells at an offset of n along an axis are max(|n| - 1, 0) sides apart. In a sphere of the
   radius, sqrt(dims) sides, the sum of the squares of these gaps is at most dims. */
void cell_rows_fill(cell_rows *rows, const cell_grid *grid) {
    const int dims = (int)grid->dims, most = dims < 4 ? 2 : 3, side = 2 * most + 1;
    int total = 1;
    for (int axis = 0; axis + 1 < dims; ++axis) total *= side;
    rows->count = 0;
    for (int sum = 0; sum <= dims; ++sum)
        for (int row = 0; row < total; ++row) {
            uint64_t offset = 0;
            int gaps = 0, rest = row;
            for (int axis = 0; axis + 1 < dims; ++axis, rest /= side) {
                const int step = rest % side - most, away = step < 0 ? -step : step;
                gaps += away > 1 ? (away - 1) * (away - 1) : 0;
                offset += (uint64_t)(int64_t)step << grid->shift[axis];
            }
            if (gaps != sum) continue;
            uint32_t reach = 1;
            while (gaps + (int)(reach * reach) <= dims) ++reach;
            rows->offset[rows->count] = offset;
            rows->reach[rows->count++] = reach;
        }
}

void cell_rows_begin(const cell_rows *rows, const cell_grid *grid, uint64_t cell,
                     uint64_t *cursors) {
    for (uint32_t row = 0; row < rows->count; ++row) {
        const uint64_t key = grid->keys[cell] + rows->offset[row] - rows->reach[row];
        uint64_t lo = 0, hi = grid->cells;
        while (lo < hi) {
            const uint64_t middle = lo + (hi - lo) / 2;
            if (grid->keys[middle] < key)
                lo = middle + 1;
            else
                hi = middle;
        }
        cursors[row] = lo;
    }
}

uint32_t cell_rows_next(const cell_rows *rows, const cell_grid *grid, uint64_t cell,
                        uint64_t *cursors, cell_run *runs) {
    uint32_t count = 0;
    const uint64_t *keys = grid->keys, cells = grid->cells;
    for (uint32_t row = 0; row < rows->count; ++row) {
        const uint64_t middle = keys[cell] + rows->offset[row];
        uint64_t at = cursors[row];
        while (at < cells && keys[at] < middle - rows->reach[row]) ++at;
        cursors[row] = at;
        uint64_t end = at;
        while (end < cells && keys[end] <= middle + rows->reach[row]) ++end;
        if (end > at) runs[count++] = (cell_run){at, end};
    }
    return count;
}
