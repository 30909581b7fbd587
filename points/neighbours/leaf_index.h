/* The fast way to ask a tree of two or three floats on a CPU: its points in buckets of up to 16,
   and boxes over them in groups of eight. The answers are those of points/tree/walk.h, bit for bit.
 */
#ifndef KD_POINTS_NEIGHBOURS_LEAF_INDEX_H
#define KD_POINTS_NEIGHBOURS_LEAF_INDEX_H
#include "core/status.h"
#include "points/neighbours/lanes.h"
#include "points/tree/visitor.h"
#include "points/tree/walk.h"

enum { LEAF_LEVELS_MAX = 10 };

/* How buckets and groups lie over a tree of `count` points. */
typedef struct leaf_shape {
    uint32_t level_begin[LEAF_LEVELS_MAX]; /* first group of each level */
    uint32_t levels;                       /* of groups; 0: one leaf alone */
    uint32_t groups;
    uint32_t leaf_count;
    uint32_t wide_leaves; /* the first of them, of more than eight points */
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

/* The box of a child of groups of this level. */
void leaf_group_set(leaf_group *groups, const leaf_shape *shape, uint32_t level, uint32_t child,
                    const box3 *box, uint32_t least_id);
/* All levels of groups but the lowest, from it. */
void leaf_groups_fill(leaf_group *groups, const leaf_shape *shape);

/* Below this, squares of floats may be denormal, and their rounding is not small beside them. */
#define UNDERFLOWN 0x1p-100f

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

typedef struct leafindex {
    float *leaves; /* bucket by bucket (leaf_points_at): 16 places, from wide_leaves on eight */
    leaf_group *groups; /* level by level from the root; the children of group g are 8g ... 8g+7 */
    uint32_t *nodes;    /* of each id: its place in the tree; NULL if not wanted */
    leaf_shape shape;
} leafindex;

/* From any tree of one to three floats, the others being 0 then. `places`: neighbours will be asked
   for with their nodes. Work: one pass over the points. Memory: 18 to 21 bytes a point, 4 more with
   places. */
kd_status leafindex_open(leafindex *out, const pointtree_nd_view *tree, bool places);
void leafindex_close(leafindex *owned); /* takes a zeroed one */
uint64_t leafindex_bytes(const leafindex *index);
uint64_t leafindex_bytes_of(uint64_t count, bool places); /* before it is opened */

/* Bucket s. */
static inline leaf_points leafindex_bucket(const leafindex *index, uint32_t s) {
    const uint64_t wide = index->shape.wide_leaves;
    return s < wide ? leaf_points_at(index->leaves + 64 * (uint64_t)s, LEAF_POINTS)
                    : leaf_points_at(index->leaves + 32 * (s + wide), LEAF_POINTS / 2);
}

/* The tree that it was made from, which may be gone: coordinates of `dims` floats and ids, by
   nodes. Either may be NULL. */
void leafindex_restore(const leafindex *index, uint32_t dims, float *coordinates, uint32_t *ids);

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

/* The `k` nearest with dist2 <= bound2, as ordered keys in keys[0 ...]; there is room for
   leafindex_room(k) of them, the rest is working room. `near`, for queries that follow each other
   closely: where the last one began, 0 at first; or NULL. Returns how many there are. */
uint32_t leafindex_nearest_keys(const leafindex *index, vec3 query, uint32_t k, float bound2,
                                uint64_t *keys, uint32_t *near);
uint64_t leafindex_room(uint32_t k);

/* How many points have dist2 <= bound2; keys of the first `capacity` that are met go to `keys`. */
uint32_t leafindex_within_keys(const leafindex *index, vec3 query, float bound2, uint32_t capacity,
                               uint64_t *keys);

/* Tells all points within to->bound, which may shrink meanwhile; the order depends on the query
   alone. */
void leafindex_tell(const leafindex *index, vec3 query, point_visitor *to);

/* As pointtree_nearest_k, of an index with places; `keys` has room for leafindex_room(k). */
uint32_t leafindex_nearest_k(const leafindex *index, vec3 query, uint32_t k, float max_radius,
                             uint64_t *keys, neighbour *out);
/* The same by `near` of leafindex_nearest_keys; but for `in_order` those found are in any order,
   the farthest last. */
uint32_t leafindex_nearest_some(const leafindex *index, vec3 query, uint32_t k, float max_radius,
                                bool in_order, uint32_t *near, uint64_t *keys, neighbour *out);

void leaf_keys_sort(uint64_t *keys, uint32_t count);

#endif
