/* Doubles as 32-bit keys that are nearly their order: a coordinate's place between the least and
   the largest of its axis. Where records of one place differ, their coordinates are asked.
   Idea: few points share a place, and fewer meet in a split while they do; so no ranks are made,
         which took a sort an axis. A scale that is a power of two keeps grids, integers and floats
         made doubles exact: there equal places are equal coordinates, and nobody is asked.
   Invariants: places do not fall as coordinates rise: a difference, a product with a power of two, a
               difference again and a cut to an integer keep the order.
   Differs: what would share places too often (an axis of which most lies close together) takes the
            ranks of points/tree/coordinate_keys.h, the oracle of this. */
#ifndef KD_POINTS_SELECT_PLACES_H
#define KD_POINTS_SELECT_PLACES_H
#include "points/select/columns.h"
#include "points/tree/point_array.h"

typedef struct point_places {
    const point_array *points; /* packed doubles, or NULL: places are not used */
    double lo[POINT_DIMS_MAX], scale[POINT_DIMS_MAX], step[POINT_DIMS_MAX];
    uint32_t rough[POINT_DIMS_MAX]; /* not 0: equal places may be different coordinates */
} point_places;

/* Takes places if they serve; `points` are packed, and live as long. */
void point_places_choose(point_places *out, const point_array *points, const point_box *box);

/* As column_pivot_select, in the order (coordinate, id). *differ: keys as the pivot's are of
   different coordinates. */
column_pivot point_places_select(const point_places *places, const int32_t *keys,
                                 const int32_t *ids, uint32_t count, uint32_t rank, uint32_t axis,
                                 int32_t *room[3], bool *differ);

/* columns_partition for a pivot whose key others share that differ. */
void point_places_partition(const point_places *places, columns_source from, columns_target to,
                            column_pivot pivot, uint32_t columns);

/* *wrong, where `equal` is set: whether record `a` comes after `b`. */
void point_places_compare(const point_places *places, const int32x8 *equal, int32x8 *wrong,
                          const int32x8 *a_ids, const int32x8 *b_ids, const int32x8 *axes);

COLUMN_FN double point_places_coordinate(const point_places *places, int32_t id, uint32_t axis) {
    const double *doubles = (const double *)places->points->coordinates;
    return doubles[(uint64_t)(uint32_t)id * places->points->dims + axis];
}

/* Asks for the coordinates of records that will be read soon. */
COLUMN_FN void point_places_call(const point_places *places, const int32_t *ids, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t dims = places->points->dims;
        const double *at =
            (const double *)places->points->coordinates + (uint64_t)(uint32_t)ids[i] * dims;
        __builtin_prefetch(at);
        __builtin_prefetch(at + dims - 1);
    }
}

/* Never INT32_MAX, which a selection takes for none. */
COLUMN_FN int32_t point_places_key(const point_places *places, double x, uint32_t axis) {
    return (int32_t)((x - places->lo[axis]) * places->scale[axis] - 0x1p31);
}

/* Whether the key says all of the coordinate. */
COLUMN_FN bool point_places_holds(const point_places *places, int32_t key, double x,
                                  uint32_t axis) {
    return places->lo[axis] + ((double)key + 0x1p31) * places->step[axis] == x;
}

#endif
