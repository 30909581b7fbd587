/* Points sorted by the cells of a regular grid.
   Idea: the indices of a cell along all axes are packed into one key, the first axis on top, so that
         ascending keys are the lexicographic order of the cells. A margin of empty cells around the
         grid lets an offset between cells be added to a key without a carry between axes. Cells
         that differ along the last axis only have consecutive keys: those near a cell form one run
         per row of the grid.
   Memory: 28 bytes per point while sorting, afterwards 4, and 16 per cell. */
#ifndef KD_POINTS_CLOUDS_CELLS_H
#define KD_POINTS_CLOUDS_CELLS_H
#include "core/status.h"
#include "points/tree/point_array.h"
#include <math.h>

/* CELL_MARGIN: empty cells on either side; ROWS_MAX: rows near a cell, with four axes */
enum { CELL_MARGIN = 3, ROWS_MAX = 343 };

typedef struct cell_grid {
    uint32_t dims;
    double origin[POINT_DIMS_MAX], size;
    int64_t least[POINT_DIMS_MAX]; /* least index of a point's cell */
    int shift[POINT_DIMS_MAX];     /* first bit of an axis in a key */
    uint64_t cells;
    uint64_t *keys;  /* keys of the cells, ascending */
    uint64_t *begin; /* first of the points of a cell in `order`; cells + 1 entries */
    uint32_t *order; /* points by cell, in a cell ascending */
} cell_grid;

/* The rows of cells that can hold points within the radius of those of a cell. */
typedef struct cell_rows {
    uint32_t count;
    uint64_t offset[ROWS_MAX]; /* to the key of the row's middle cell; wraps */
    uint32_t reach[ROWS_MAX];  /* cells to either side of it */
} cell_rows;

/* Cells [begin, end). */
typedef struct cell_run {
    uint64_t begin, end;
} cell_run;

/* Lays out a grid: the index of a point's cell along an axis is floor((x - origin) / size) in
   double precision. `origin` NULL: the least coordinates minus `before` sizes. Returns the number
   of bits of a key, at most 63; 0 if a coordinate is not finite, if there are too many cells for a
   key, or no points. */
int cells_layout(cell_grid *grid, const point_array *points, const double *origin, double size,
                 double before);

/* Returns the key of the cell of the point at `at`. */
static inline uint64_t cell_key(const cell_grid *grid, const void *at, point_scalar scalar) {
    uint64_t key = 0;
    for (uint32_t axis = 0; axis < grid->dims; ++axis) {
        const double x = point_coordinate(at, scalar, axis);
        const double cell = floor((x - grid->origin[axis]) / grid->size);
        key |= (uint64_t)((int64_t)cell - grid->least[axis] + CELL_MARGIN) << grid->shift[axis];
    }
    return key;
}

/* Sorts the points by the keys of a layout of `bits`. */
kd_status cells_open(cell_grid *grid, const point_array *points, int bits);
void cells_close(cell_grid *grid);

/* Fills `rows` for cells of side radius / sqrt(dims), the nearest rows first. dims: 1 to 4. */
void cell_rows_fill(cell_rows *rows, const cell_grid *grid);

/* Sets the cursors of all rows for the cells from `cell` on. */
void cell_rows_begin(const cell_rows *rows, const cell_grid *grid, uint64_t cell,
                     uint64_t *cursors);

/* Finds the cells near `cell`, at most one run per row, and returns the number of runs. Cells must
   be passed in ascending order. */
uint32_t cell_rows_next(const cell_rows *rows, const cell_grid *grid, uint64_t cell,
                        uint64_t *cursors, cell_run *runs);
#endif
