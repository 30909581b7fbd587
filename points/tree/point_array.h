/* Arrays of points in 1 to 8 dimensions, float or double, as passed by the caller, and
   axis-aligned bounding boxes. */
#ifndef KD_POINTS_TREE_POINT_ARRAY_H
#define KD_POINTS_TREE_POINT_ARRAY_H
#include "core/math/platform.h"

#define POINT_DIMS_MIN 1u
#define POINT_DIMS_MAX 8u

typedef enum point_scalar { POINT_FLOAT = 0, POINT_DOUBLE = 1 } point_scalar;

typedef struct point_array {
    const void *coordinates;
    uint64_t count;
    uint64_t stride_bytes; /* distance from one point to the next */
    uint32_t dims;
    point_scalar scalar;
} point_array;

KD_FN uint64_t point_scalar_bytes(point_scalar scalar) {
    return scalar == POINT_DOUBLE ? sizeof(double) : sizeof(float);
}

KD_FN point_array point_array_make(const void *coordinates, uint64_t count, uint32_t dims,
                                   point_scalar scalar) {
    point_array points;
    points.coordinates = coordinates;
    points.count = count;
    points.stride_bytes = dims * point_scalar_bytes(scalar);
    points.dims = dims;
    points.scalar = scalar;
    return points;
}

KD_FN const void *point_array_at(const point_array *points, uint64_t i) {
    return (const char *)points->coordinates + i * points->stride_bytes;
}

/* Returns one coordinate of the point whose scalars begin at `point`, as a double, which
   represents every float exactly. */
KD_FN double point_coordinate(const void *point, point_scalar scalar, uint32_t axis) {
    return scalar == POINT_DOUBLE ? ((const double *)point)[axis]
                                  : (double)((const float *)point)[axis];
}

KD_FN double point_array_coordinate(const point_array *points, uint64_t i, uint32_t axis) {
    return point_coordinate(point_array_at(points, i), points->scalar, axis);
}

/* Axis-aligned box; only the first `dims` sides are used. An empty box has lo > hi. */
typedef struct point_box {
    double lo[POINT_DIMS_MAX], hi[POINT_DIMS_MAX];
} point_box;

KD_FN point_box point_box_empty(void) {
    point_box box;
    for (uint32_t axis = 0; axis < POINT_DIMS_MAX; ++axis) {
        box.lo[axis] = (double)INFINITY;
        box.hi[axis] = -(double)INFINITY;
    }
    return box;
}

/* Adding +0 turns -0 into +0, so the box does not depend on which of the two zeros comes first. */
KD_FN void point_box_include(point_box *box, uint32_t axis, double coordinate) {
    if (coordinate < box->lo[axis]) box->lo[axis] = coordinate + 0.0;
    if (coordinate > box->hi[axis]) box->hi[axis] = coordinate + 0.0;
}

/* Clips the box to the half-space right or left of a plane. */
KD_FN void point_box_clip(point_box *box, uint32_t axis, double plane, bool right) {
    if (right) {
        if (plane > box->lo[axis]) box->lo[axis] = plane;
    } else {
        if (plane < box->hi[axis]) box->hi[axis] = plane;
    }
}

/* Returns the axis of the widest side, the first of equally wide ones, comparing sizes rounded
   to the points' scalar. */
KD_FN uint32_t point_box_widest(const point_box *box, uint32_t dims, point_scalar scalar) {
    uint32_t widest = 0;
    double maximum = -(double)INFINITY;
    for (uint32_t axis = 0; axis < dims; ++axis) {
        double size = box->hi[axis] - box->lo[axis];
        if (scalar == POINT_FLOAT) size = (double)(float)size;
        if (size > maximum) {
            maximum = size;
            widest = axis;
        }
    }
    return widest;
}

#endif
