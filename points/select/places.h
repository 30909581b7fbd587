/* 32-bit keys for doubles that are nearly order-preserving: the place of a coordinate is its
   position between the minimum and the maximum of its axis, quantised. Records with the same place
   but different coordinates are compared by coordinate.
   Idea: few points share a place, and even fewer are in the same split while they do; so no ranks
         are computed, which would take a sort per axis. With a power of two as scale, grids,
         integers and floats converted to doubles are represented exactly: equal places then mean
         equal coordinates, and coordinates need not be compared.
   Invariants: places are monotone: subtraction, multiplication by a power of two, another
               subtraction and truncation to an integer preserve the order.
   Differs: an axis on which too many coordinates would share places (most of them close together)
            uses the ranks of points/tree/coordinate_keys.h, the reference for this file. */
#ifndef KD_POINTS_SELECT_PLACES_H
#define KD_POINTS_SELECT_PLACES_H
#include "points/select/columns.h"
#include "points/tree/point_array.h"

typedef struct point_places {
    const point_array *points; /* packed doubles; NULL: places are not used */
    double lo[POINT_DIMS_MAX], scale[POINT_DIMS_MAX], step[POINT_DIMS_MAX];
    uint32_t rough[POINT_DIMS_MAX]; /* not 0: equal places may be different coordinates */
} point_places;

/* Decides whether places are suitable, and initialises them. `points` must be packed and must
   outlive *out. */
void point_places_choose(point_places *out, const point_array *points, const point_box *box);

/* As column_pivot_select, in the order (coordinate, id). *differ is set if keys equal to the
   pivot's belong to different coordinates. */
column_pivot point_places_select(const point_places *places, const int32_t *keys,
                                 const int32_t *ids, uint32_t count, uint32_t rank, uint32_t axis,
                                 int32_t *scratch[3], bool *differ);

/* As columns_partition, for a pivot whose key is shared by different coordinates. */
void point_places_partition(const point_places *places, columns_source from, columns_target to,
                            column_pivot pivot, uint32_t columns);

/* In each lane with `equal` set, sets *wrong to whether record `a` comes after `b`. */
void point_places_compare(const point_places *places, const int32x8 *equal, int32x8 *wrong,
                          const int32x8 *a_ids, const int32x8 *b_ids, const int32x8 *axes);

COLUMN_FN double point_places_coordinate(const point_places *places, int32_t id, uint32_t axis) {
    const double *doubles = (const double *)places->points->coordinates;
    return doubles[(uint64_t)(uint32_t)id * places->points->dims + axis];
}

/* Prefetches the coordinates of records that will be read soon. */
COLUMN_FN void point_places_call(const point_places *places, const int32_t *ids, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t dims = places->points->dims;
        const double *at =
            (const double *)places->points->coordinates + (uint64_t)(uint32_t)ids[i] * dims;
        __builtin_prefetch(at);
        __builtin_prefetch(at + dims - 1);
    }
}

/* Never returns INT32_MAX, which selection reserves. */
COLUMN_FN int32_t point_places_key(const point_places *places, double x, uint32_t axis) {
    return (int32_t)((x - places->lo[axis]) * places->scale[axis] - 0x1p31);
}

/* Returns whether the key represents the coordinate exactly. */
COLUMN_FN bool point_places_holds(const point_places *places, int32_t key, double x,
                                  uint32_t axis) {
    return places->lo[axis] + ((double)key + 0x1p31) * places->step[axis] == x;
}

#endif
