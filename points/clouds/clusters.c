/* Density-based clusters on a grid.
   Source: Ester, Kriegel, Sander, Xu 1996; cells: Gunawan 2013, de Berg, Gunawan, Roeloffzen 2019
   Idea: all points of a cell of side radius / sqrt(dims) are within the radius of each other. A cell
         with enough points has only core points, the core points of a cell are in one cluster, and
         two cells are joined by the first pair found. No list of neighbours is made, and dense
   cells cost no distances except those between cells. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/clouds/cells.h"
#include "points/clouds/clouds.h"
#include <math.h>
#include <string.h>

/* CLUSTER_QUARTERS: least mean of points per cell, in quarters, with four axes, whose 343 rows cost
   more than a search by a tree */
enum { CLUSTER_GRAIN = 256, CLUSTER_DIMS_MAX = 4, CLUSTER_LANES = 16, CLUSTER_QUARTERS = 5 };
/* relative: covers the rounding of indices below 2^31 and of distances */
#define CLUSTER_SLACK 1e-5

#define real float
#define CLUSTERS(name) name##_float
#include "points/clouds/cluster_steps.h"
#undef real
#undef CLUSTERS
#define real double
#define CLUSTERS(name) name##_double
#include "points/clouds/cluster_steps.h"

kd_status cloud_clusters(const point_array *points, double radius, uint64_t least, int64_t *labels,
                         bool *done) {
    const bool wide = points->scalar == POINT_DOUBLE;
    const double bound2 = wide ? radius * radius : (double)((float)radius * (float)radius);
    cell_grid grid;
    cell_rows rows;
    *done = false;
    if (points->dims > CLUSTER_DIMS_MAX || !(bound2 > (wide ? 1e-280 : 1e-30)) ||
        !(bound2 < (wide ? 1e280 : 1e30)))
        return KD_OK;
    const double side = radius / sqrt((double)points->dims) * (1 - CLUSTER_SLACK);
    const int bits = cells_layout(&grid, points, NULL, side, 0);
    if (!bits) return KD_OK;
    KD_TRY(cells_open(&grid, points, bits));
    if (points->dims == CLUSTER_DIMS_MAX && 4 * points->count < CLUSTER_QUARTERS * grid.cells) {
        cells_close(&grid);
        return KD_OK;
    }
    *done = true;
    cell_rows_fill(&rows, &grid);
    const kd_status status =
        wide ? clusters_double(points, &grid, &rows, bound2, least, labels)
             : clusters_float(points, &grid, &rows, (float)bound2, least, labels);
    cells_close(&grid);
    return status;
}
