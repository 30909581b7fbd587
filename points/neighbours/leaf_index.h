/* The fast way to ask a tree on a CPU: its points in buckets of up to 16, and boxes over them in
   groups of eight; of any dimensions, float or double. The answers are those of
   points/tree/walk_nd.h, bit for bit.
   Source: the wide nodes of Wald, Benthin, Boulos 2008, "Getting rid of packets", on the buckets
           that the lowest levels of a left-balanced tree are anyway.
   Idea: a bucket is a sub-tree of four levels with the node that follows it in order, so the
         buckets in order are all points in order, and three levels of the tree are a group of eight
         boxes. A query looks at eight boxes or sixteen points at once, nearest box first.
   Memory: 16 places a bucket, or 8 of up to three floats where it has no more points, each place of
           the point's scalars and 4 bytes; boxes of 64 bytes an axis and 32 bytes more a group. The
           buckets hold all that the tree does. With ties twice as many buckets.
   Invariants: a box's distance is never above that of a point in it: the answers are exact. Boxes of
               doubles are rounded outwards to floats. */
#ifndef KD_POINTS_NEIGHBOURS_LEAF_INDEX_H
#define KD_POINTS_NEIGHBOURS_LEAF_INDEX_H
#include "core/status.h"
#include "points/neighbours/lanes.h"
#include "points/tree/visitor.h"
#include "points/tree/walk.h"

enum { LEAF_LEVELS_MAX = 10, LEAF_COLUMNS_LEAST = 3 };

/* How buckets and groups lie over a tree of `count` points. */
typedef struct leaf_shape {
    uint32_t level_begin[LEAF_LEVELS_MAX]; /* first group of each level */
    uint32_t levels;                       /* of groups; 0: one leaf alone */
    uint32_t groups;
    uint32_t leaf_count;
    uint32_t wide_leaves; /* the first of them, of sixteen places */
    uint32_t root_children;
    uint32_t bucket_level; /* of the tree: where the buckets' roots are */
    uint32_t count;        /* points */
    bool ties;             /* twice as many buckets, of leaf_slots */
} leaf_shape;

leaf_shape leaf_shape_of(uint32_t count);
/* The same, with ties seen to where many of the tree's planes go through several points. */
leaf_shape leaf_shape_tied(const pointtree_nd_view *tree);
uint32_t leaf_groups(const leaf_shape *shape, uint32_t level);
/* The nodes of bucket s; returns how many, at most LEAF_POINTS. */
uint32_t leaf_members(const leaf_shape *shape, uint32_t s, uint32_t nodes[LEAF_POINTS]);

/* Points shared out to buckets so that equal coordinates stay together, for a shape with ties. */
typedef struct leaf_slots {
    uint32_t *nodes;  /* LEAF_POINTS of each bucket */
    uint32_t *filled; /* of each bucket */
} leaf_slots;

kd_status leaf_slots_open(leaf_slots *out, const pointtree_nd_view *tree, const leaf_shape *shape);
void leaf_slots_close(leaf_slots *owned); /* takes a zeroed one */

typedef struct leafindex {
    void *leaves; /* bucket by bucket (leafindex_bucket) */
    float *boxes; /* level by level from the root, of each group and axis: 8 lower sides, 8 upper
                     ones; the children of group g are 8g ... 8g+7 */
    uint32_t *least_ids; /* of each group: of the points below each box, what ties are decided by */
    uint32_t *nodes;     /* of each id: its place in the tree; NULL if not wanted */
    leaf_shape shape;
    uint32_t dims, columns; /* of the points; of a bucket: at least three, the others being 0 */
    point_scalar scalar;
} leafindex;

/* From any tree. `places`: neighbours will be asked for with their nodes. More than three
   dimensions may have ties. Work: one pass over the points. */
kd_status leafindex_open(leafindex *out, const pointtree_nd_view *tree, bool places);
void leafindex_close(leafindex *owned); /* takes a zeroed one */
uint64_t leafindex_bytes(const leafindex *index);
/* Of up to three floats, before it is opened. */
uint64_t leafindex_bytes_of(uint64_t count, bool places);

/* The floats next to a double: sides of boxes, which are rounded outwards. */
static inline float rounded_down(double x) {
    if (x > (double)FLT_MAX) return FLT_MAX;
    if (x < -(double)FLT_MAX) return -INFINITY;
    const float f = (float)x;
    if (!((double)f > x)) return f;
    const uint32_t bits = float_bits(f); /* the one below it, as float_down has it */
    return float_from_bits(f > 0 ? bits - 1 : f < 0 ? bits + 1 : 0x80000001u);
}
static inline float rounded_up(double x) {
    return -rounded_down(-x);
}

/* Bucket s. */
static inline leaf_points leafindex_bucket(const leafindex *index, uint32_t s) {
    const uint32_t bytes = (uint32_t)point_scalar_bytes(index->scalar);
    const uint64_t wide = index->shape.wide_leaves,
                   place = index->columns * bytes + sizeof(uint32_t);
    return leaf_points_at((const char *)index->leaves +
                              LEAF_POINTS / 2 * place * (s + (s < wide ? s : wide)),
                          index->columns, bytes, s < wide ? LEAF_POINTS : LEAF_POINTS / 2);
}

/* The tree of one to three floats that it was made from, which may be gone: coordinates and ids, by
   nodes. Either may be NULL. */
void leafindex_restore(const leafindex *index, float *coordinates, uint32_t *ids);

/* An answer as one number whose order is (dist2, id): for dist2 >= 0 the order of a float is that
   of its bits. */
static inline uint64_t leaf_key(float dist2, uint32_t id) {
    return (uint64_t)float_bits(dist2) << 32 | id;
}
static inline float leaf_key_dist2(uint64_t key) {
    return float_from_bits((uint32_t)(key >> 32));
}
static inline uint32_t leaf_key_id(uint64_t key) {
    return (uint32_t)key;
}

/* A query is the tree's `dims` scalars. `near`, for queries that follow each other closely: where
   the last one began, 0 at first; or NULL. */

/* Of floats the `k` nearest with dist2 <= bound2, as ordered keys in keys[0 ...]; there is room for
   leafindex_room(k) of them, the rest is working room. Returns how many there are. */
uint32_t leafindex_nearest_keys(const leafindex *index, const float *query, uint32_t k,
                                float bound2, uint64_t *keys, uint32_t *near);
uint64_t leafindex_room(uint32_t k);
/* How many points have dist2 <= bound2; keys of the first `capacity` that are met go to `keys`. */
uint32_t leafindex_within_keys(const leafindex *index, const float *query, float bound2,
                               uint32_t capacity, uint64_t *keys);
/* The nearest of an index with places; but for `in_order` those found are in any order, the
   farthest last. */
uint32_t leafindex_nearest_some(const leafindex *index, vec3 query, uint32_t k, float max_radius,
                                bool in_order, uint32_t *near, uint64_t *keys, neighbour *out);
void leaf_keys_sort(uint64_t *keys, uint32_t count);

/* Of doubles, as pointtree_nd_nearest_k and pointtree_nd_within, but the answers' nodes are not
   set. */
uint32_t leafindex_nearest_doubles(const leafindex *index, const double *query, uint32_t k,
                                   double bound2, neighbour_nd *out, uint32_t *near);
uint32_t leafindex_within_doubles(const leafindex *index, const double *query, double bound2,
                                  uint32_t capacity, neighbour_nd *out);

/* Tells all points within to->bound, which may shrink meanwhile; the order depends on the query
   alone. Of floats or doubles. */
void leafindex_tell(const leafindex *index, const void *query, point_visitor *to);

#endif
