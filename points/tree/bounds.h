/* Computes the bounding box of a set of points and rejects NaN and infinite coordinates, in one
   pass. */
#ifndef KD_POINTS_TREE_BOUNDS_H
#define KD_POINTS_TREE_BOUNDS_H
#include "core/math/geometry.h"
#include "core/status.h"
#include "points/tree/point_array.h"

/* Stores the bounding box of `points` in *box. Returns KD_ERROR_INPUT, with the coordinate and
   the index of the first offending point in the message, if any coordinate is NaN or infinite. */
kd_status point_scan(point_box *box, const point_array *points);

#endif
