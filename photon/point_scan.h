/* One pass over points: their bounding box, and the refusal of what is not finite. */
#ifndef KD_PHOTON_POINT_SCAN_H
#define KD_PHOTON_POINT_SCAN_H
#include "core/status.h"
#include "shaders/points.h"
#include "shaders/vec3.h"

/* KD_ERROR_INPUT names the first point with NaN or infinity. */
kd_status point_scan(point_box *box, const point_array *points);

#endif
