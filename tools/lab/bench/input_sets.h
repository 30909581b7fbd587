/* Point sets for benchmarks, as pure functions of (set, index, count). */
#ifndef KD_TOOLS_LAB_BENCH_INPUT_SETS_H
#define KD_TOOLS_LAB_BENCH_INPUT_SETS_H
#include "core/math/geometry.h"
#include "core/status.h"
#include "points/tree/point_array.h"

/* "uniform" in the unit cube; "photon": 60 % on six axis-aligned walls, 25 % on three spheres, 15 %
   in one tight spot; "clustered": nine in ten in a spot of 1e-4; "stretched": 100 : 1 : 1;
   "sorted"; "ties": 8 x 3 x 100 values; "equal". */
extern const char *const bench_sets[]; /* ends with NULL */

/* KD_ERROR_USAGE if there is no such set. */
kd_status bench_set_fill(vec3 *points, uint64_t count, const char *set);
/* The same to memory laid out as `points` says; each three axes are a point of the set. */
kd_status bench_set_fill_nd(void *to, const point_array *points, const char *set);
/* What a camera inside the walls of "photon" sees, pixel by pixel, row by row, 1600 a row. */
void bench_image_fill(vec3 *points, uint64_t count);

#endif
