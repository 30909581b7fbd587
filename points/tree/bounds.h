/* One pass over points: their bounding box, and the refusal of what is not finite. */
#ifndef KD_POINTS_TREE_BOUNDS_H
#define KD_POINTS_TREE_BOUNDS_H
#include "core/math/geometry.h"
#include "core/status.h"
#include "points/tree/point_array.h"

/* KD_ERROR_INPUT names the first point with NaN or infinity. */
kd_status point_scan(point_box *box, const point_array *points);

#endif
