/* CPU index for nearest-neighbour queries: a tree with eight children per node (BVH8-like) over
   buckets of up to 16 points, built on top of a left-balanced point k-d tree. Supports 1 to 8
   dimensions, float or double. Results are bit for bit those of points/tree/walk_nd.h.
   Source: the wide nodes of Wald, Benthin, Boulos 2008, "Getting rid of packets", over the buckets
           that the lowest levels of a left-balanced tree form anyway.
   Idea: a bucket consists of a sub-tree of four levels and the node that follows it in order, so
         the buckets from left to right hold all points in order. Three levels of the k-d tree
         collapse into one group: a wide node that stores the bounding boxes of its eight children.
         A query tests eight boxes or up to sixteen points at once with SIMD, and visits the nearest
         box first.
   Memory: 16 slots per bucket, or 8 where a bucket of up to three floats has no more points; a slot
           takes the point's scalars and 4 bytes for the id. A group takes 64 bytes per axis for
           boxes and 32 bytes for ids. The buckets contain all data of the tree. With ties there are
           twice as many buckets.
   Invariants: the distance to a box never exceeds that of a point in it, so results are exact.
               Boxes of doubles are rounded outwards to floats, where these are too coarse relative
               to a position in the group (`frames`). */
#ifndef KD_POINTS_NEIGHBOURS_LEAF_INDEX_H
#define KD_POINTS_NEIGHBOURS_LEAF_INDEX_H
#include "core/status.h"
#include "points/neighbours/lanes.h"
#include "points/tree/visitor.h"
#include "points/tree/walk.h"

enum { LEAF_LEVELS_MAX = 10, LEAF_COLUMNS_MIN = 3 };

/* Layout of the buckets and groups over a tree of `count` points. */
typedef struct leaf_shape {
    uint32_t level_begin[LEAF_LEVELS_MAX]; /* index of the first group of each level */
    uint32_t levels;                       /* number of levels of groups; 0: a single bucket */
    uint32_t groups;
    uint32_t leaf_count;
    uint32_t wide_leaves; /* the first `wide_leaves` buckets have sixteen slots, the others eight */
    uint32_t root_children;
    uint32_t bucket_level; /* level of the k-d tree that holds the buckets' roots */
    uint32_t count;        /* number of points */
    bool ties;             /* twice as many buckets, filled by leaf_slots */
} leaf_shape;

leaf_shape leaf_shape_of(uint32_t count);
/* leaf_shape_of, but sets `ties` if many splitting planes contain several points. */
leaf_shape leaf_shape_tied(const pointtree_nd_view *tree);
uint32_t leaf_groups(const leaf_shape *shape, uint32_t level);
/* Stores the tree nodes whose points are in bucket s; returns their number, at most LEAF_POINTS. */
uint32_t leaf_members(const leaf_shape *shape, uint32_t s, uint32_t nodes[LEAF_POINTS]);

/* Assignment of points to buckets that keeps points with equal coordinates together; used if the
   shape has ties. */
typedef struct leaf_slots {
    uint32_t *nodes;  /* LEAF_POINTS tree nodes per bucket */
    uint32_t *filled; /* number of points in each bucket */
} leaf_slots;

kd_status leaf_slots_open(leaf_slots *out, const pointtree_nd_view *tree, const leaf_shape *shape);
void leaf_slots_close(leaf_slots *owned); /* accepts a zeroed struct */

typedef struct leafindex {
    void *leaves; /* the buckets, one after the other; see leafindex_bucket */
    float *boxes; /* boxes level by level from the root; for each group and axis 8 lower sides,
                     then 8 upper sides. Child i of group g is group 8g + i of the next level, or
                     bucket 8g + i. */
    /* for each child box the least id of the points in it, which decides ties at the bound */
    uint32_t *min_ids;
    /* tree node of each id; NULL unless opened with `places` */
    uint32_t *nodes;
    leaf_shape shape;
    /* dims: of the points; columns: of a bucket, at least three, the surplus ones being 0 */
    uint32_t dims, columns;
    point_scalar scalar;
    /* the position, `columns` doubles, to which the boxes of each group are relative; NULL: the
       origin for all groups */
    double *frames;
} leafindex;

/* Builds the index of a tree in one pass over its points. `places`: also record the tree node of
   each id, which leafindex_nearest_some needs. Only trees of more than three dimensions are
   checked for ties. */
kd_status leafindex_open(leafindex *out, const pointtree_nd_view *tree, bool places);
void leafindex_close(leafindex *owned); /* accepts a zeroed struct */
uint64_t leafindex_bytes(const leafindex *index);
/* Returns the memory in bytes that the index of a tree of up to three floats will take. */
uint64_t leafindex_bytes_of(uint64_t count, bool places);

/* Round a double to the next float downwards or upwards, for the sides of boxes. */
static inline float rounded_down(double x) {
    if (x > (double)FLT_MAX) return FLT_MAX;
    if (x < -(double)FLT_MAX) return -INFINITY;
    const float f = (float)x;
    if (!((double)f > x)) return f;
    const uint32_t bits = float_bits(f); /* the float below f, as float_down */
    return float_from_bits(f > 0 ? bits - 1 : f < 0 ? bits + 1 : 0x80000001u);
}
static inline float rounded_up(double x) {
    return -rounded_down(-x);
}

/* Computes bounds of x - frame: both are that difference if it is exact. */
static inline void difference_bounds(double x, double frame, double *low, double *high) {
    const double d = x - frame, z = d - x;
    const double error = (x - (d - z)) - (frame + z); /* x - frame = d + error */
    *low = error < 0 ? d - fabs(d) * 0x1p-52 : d;
    *high = error > 0 ? d + fabs(d) * 0x1p-52 : d;
}

/* Returns the frame of a group; NULL if it is the origin. */
static inline const double *leafindex_frame(const leafindex *index, uint32_t level,
                                            uint32_t group) {
    const uint64_t at = (uint64_t)index->shape.level_begin[level] + group;
    return index->frames ? index->frames + at * index->columns : NULL;
}

/* Returns a view of bucket s. */
static inline leaf_points leafindex_bucket(const leafindex *index, uint32_t s) {
    const uint32_t bytes = (uint32_t)point_scalar_bytes(index->scalar);
    const uint64_t wide = index->shape.wide_leaves,
                   place = index->columns * bytes + sizeof(uint32_t);
    return leaf_points_at((const char *)index->leaves +
                              LEAF_POINTS / 2 * place * (s + (s < wide ? s : wide)),
                          index->columns, bytes, s < wide ? LEAF_POINTS : LEAF_POINTS / 2);
}

/* Restores the coordinates and ids of the tree, in tree order, from the buckets; the tree itself
   may have been freed. Trees of one to three floats only. Either output may be NULL. */
void leafindex_restore(const leafindex *index, float *coordinates, uint32_t *ids);

/* A result (dist2, id) as a 64-bit integer of the same order: non-negative floats are ordered
   like their bits. */
static inline uint64_t leaf_key(float dist2, uint32_t id) {
    return (uint64_t)float_bits(dist2) << 32 | id;
}
static inline float leaf_key_dist2(uint64_t key) {
    return float_from_bits((uint32_t)(key >> 32));
}
static inline uint32_t leaf_key_id(uint64_t key) {
    return (uint32_t)key;
}

/* In the following functions a query is an array of `dims` scalars, and `metric` is NULL for
   Euclidean distances; in other norms bound2 is the distance, not its square. `near` is a hint for
   coherent queries: the last-level group in which the previous search started, 0 for the first
   one; updated by the search. NULL disables it. */

/* Finds the `k` nearest points of floats with dist2 <= bound2 and stores them as sorted keys in
   keys[0 ...]; returns their number. `keys` needs leafindex_capacity(k) elements, of which the rest
   is scratch. */
uint32_t leafindex_nearest_keys(const leafindex *index, const point_metric *metric,
                                const float *query, uint32_t k, float bound2, uint64_t *keys,
                                uint32_t *near);
uint64_t leafindex_capacity(uint32_t k);
/* Returns the number of points with dist2 <= bound2 and stores the keys of the first `capacity`
   visited in `keys`. */
uint32_t leafindex_within_keys(const leafindex *index, const point_metric *metric,
                               const float *query, float bound2, uint32_t capacity, uint64_t *keys);
/* As leafindex_nearest_keys, with the tree node of each neighbour; requires an index opened with
   `places`. `keys` is scratch of leafindex_capacity(k) elements. Unless `in_order`, the neighbours
   are unsorted except that the farthest comes last. */
uint32_t leafindex_nearest_some(const leafindex *index, vec3 query, uint32_t k, float max_radius,
                                bool in_order, uint32_t *near, uint64_t *keys, neighbour *out);
void leaf_keys_sort(uint64_t *keys, uint32_t count);

/* As pointtree_nd_nearest_k and pointtree_nd_within, for doubles, but neighbour_nd.node is not
   set. */
uint32_t leafindex_nearest_doubles(const leafindex *index, const point_metric *metric,
                                   const double *query, uint32_t k, double bound2,
                                   neighbour_nd *out, uint32_t *near);
uint32_t leafindex_within_doubles(const leafindex *index, const point_metric *metric,
                                  const double *query, double bound2, uint32_t capacity,
                                  neighbour_nd *out);

/* Calls the visitor for each point, of floats or doubles, within visitor->bound, which may shrink
   meanwhile. The order of the calls depends only on the query. */
void leafindex_report(const leafindex *index, const point_metric *metric, const void *query,
                      point_visitor *visitor);

#endif
