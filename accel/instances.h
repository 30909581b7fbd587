/* Instancing: the triangles and the tree of a mesh are stored once, and a top-level tree of boxes
   holds its instances.
   Idea: a hit is decided by the triangle in world space. A corner of an instance is the mesh's
   corner, transformed and rounded as in a mesh that is copied there (transform_point). So the
   result equals, bit for bit, that of the scene in which the instances are copies, appended one
   after another to the triangles that are not instanced. Traversal in the mesh's object space only
   finds which triangles to test.
   Memory: 184 bytes per instance, 32 per box, at most two boxes per instance; each mesh's tree
   once.
   Invariants: an instance's inverse scales by at most INSTANCE_ANISOTROPY_MAX. An instance that
   mirrors has a shape whose triangles are stored with reversed winding, so that front faces stay
   front faces.
   Differs from a copy in: a triangle without area in its own mesh is in no tree and never hit, even
   if rounding gives it an area in world space. */
#ifndef KD_ACCEL_INSTANCE_H
#define KD_ACCEL_INSTANCE_H
#include "accel/tree/layout.h"
#include "accel/tree/tritree.h"
#include "core/job.h"
#include "core/math/transform.h"

#ifdef __cplusplus
extern "C" {
#endif

#define INSTANCE_ANISOTROPY_MAX 0x1p16 /* limit of transform_anisotropy */

/* A mesh that is instanced: a range of the scene's triangles, in object space. */
typedef struct instanced_shape {
    uint32_t first, count;
    box3 box; /* bounds of the triangles that can be hit */
    /* tree of these triangles, numbered from 0, of which only nodes and references are used; its
       `nodes` is NULL until it is built */
    tritree_view tree;
} instanced_shape;

typedef struct instance {
    transform to_world;
    double back[3][3]; /* inverse of the matrix of to_world */
    float spread;      /* infinity norm of `back`: the largest sum of |numbers| of a row */
    uint32_t shape;
} instance;

/* A node of the top-level tree, 32 bytes. */
typedef struct instance_node {
    box3 box; /* world space, rounded outwards */
    /* first of its instances in `order`, or its first child; the second child follows */
    uint32_t first;
    uint32_t count; /* number of instances; 0: inner node */
} instance_node;

enum { INSTANCE_STACK = 96 }; /* capacity of a ray's stack; no tree is deeper */

/* A scene's instances. Owns nothing. */
typedef struct instance_view {
    const instanced_shape *shapes;
    const instance *list;
    const instance_node *nodes;
    const uint32_t *order; /* indices of instances, one leaf after another */
    uint32_t count;        /* number of instances */
    uint32_t shape_count, node_count;
} instance_view;

/* Returns a corner of a shape's triangle in world space. */
KD_FN vec3 instance_corner(const instance *instance, vec3 corner) {
    return transform_point(&instance->to_world, corner);
}

/* The trees of instanced meshes: one per mesh, and the top-level tree. */

/* Computes the inverse and the fields that depend on it. KD_ERROR_INPUT: the transform is singular
   or its inverse scales too much. */
kd_status instance_make(instance *out, const transform *to_world, uint32_t shape);
/* Returns the world-space bounds of a mesh with the bounds `local_box`, including the rounding of
   corners. */
box3 instance_box(const instance *instance, box3 local_box);

/* The owner of the trees. */
typedef struct instance_trees {
    tritree *trees; /* one per shape */
    instanced_shape *shapes;
    instance_node *nodes;
    uint32_t *order;
    uint32_t shape_count, node_count;
} instance_trees;

/* Builds the trees that are NULL in `view`: those of shapes (`builder` as in tritree_open), over
   the scene's triangles and positions, and the top-level tree. `view` then points to them; its list
   must outlive them. */
kd_status instance_trees_open(instance_trees *out, instance_view *view, const tritree_input *scene,
                              const tritree_options *options, const char *builder,
                              job_control *job);
void instance_trees_close(instance_trees *owned); /* accepts a zeroed struct */

/* Builds only the top-level tree: nodes and order of `out`, which must be zeroed. */
kd_status instance_boxes_build(instance_trees *out, const instance_view *view);

/* Builds a top-level tree of the instances order[begin] to order[end - 1], which it reorders, from
   their boxes, indexed by instance. The nodes from `root` on, at most 2 (end - begin) and at least
   one, are the tree's; returns their number. */
uint32_t instance_tree_build(instance_node *nodes, uint32_t root, uint32_t *order,
                             const box3 *boxes, uint32_t begin, uint32_t end);

#ifdef __cplusplus
}
#endif

#endif
