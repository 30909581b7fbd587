/* One mesh, many placements: the mesh's triangles and its tree are there once, and a tree of boxes
   above them says where it has been put.
   Idea: what is a hit is decided by the triangle as it lies in the world: a placement's corner is
   the mesh's, transformed and rounded as in a mesh that is copied to that place (transform_point).
   So the answer is, bit for bit, that of the scene in which every placement is a copy, behind the
   triangles that are in no mesh placed, one after the other; only which triangles are asked is
   found in the mesh's own space.
   Memory: 184 bytes a placement, 32 a box, two boxes a placement at most; a mesh's tree once.
   Invariants: a placement squeezes by at most PLACED_SQUEEZE; one that mirrors has a shape whose
   triangles are stored turned round, so that fronts stay fronts.
   Differs from a copy in: a triangle without area in its own mesh is in no tree, so it is hit
   nowhere, though rounding may give it an area elsewhere. */
#ifndef KD_ACCEL_PLACED_H
#define KD_ACCEL_PLACED_H
#include "accel/tree/layout.h"
#include "accel/tree/tritree.h"
#include "core/job.h"
#include "core/math/transform.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLACED_SQUEEZE 0x1p16 /* transform_squeeze */

/* A mesh that is placed: a run of the scene's triangles, in a space of its own. */
typedef struct placed_shape {
    uint32_t first, count;
    box3 box;          /* of the triangles that can be hit */
    tritree_view tree; /* of these triangles, numbered from 0; nodes and references alone are read;
                          nodes NULL: none has been built */
} placed_shape;

typedef struct placement {
    transform to_world;
    double back[3][3]; /* inverse of to_world's matrix */
    float spread;      /* its largest sum of a row's |numbers| */
    uint32_t shape;
} placement;

/* A box around placements, or around two boxes. 32 bytes. */
typedef struct placed_node {
    box3 box;       /* world space, rounded outwards */
    uint32_t first; /* of its placements in `order`, or its first child; the other is behind it */
    uint32_t count; /* of placements; 0: it has children */
} placed_node;

enum { PLACED_STACK = 96 }; /* boxes that wait while a ray goes down; no tree is deeper */

/* Borrows everything. */
typedef struct placed_view {
    const placed_shape *shapes;
    const placement *list;
    const placed_node *nodes;
    const uint32_t *order; /* numbers of placements, leaf after leaf */
    uint32_t count;        /* of placements; 0: nothing is placed */
    uint32_t shape_count, node_count;
} placed_view;

/* A corner of a shape's triangle as it lies in the world. */
KD_FN vec3 placed_corner(const placement *by, vec3 corner) {
    return transform_point(&by->to_world, corner);
}

/* The trees of placed meshes: each mesh's own, and the boxes above them. */

/* The inverse and what follows from it. KD_ERROR_INPUT: it squeezes too much. */
kd_status placement_make(placement *out, const transform *to_world, uint32_t shape);
/* Around everything of a mesh in `own` that is put there, corners as rounded. */
box3 placement_box(const placement *of, box3 own);

/* Owner. */
typedef struct placed_trees {
    tritree *trees; /* one a shape */
    placed_shape *shapes;
    placed_node *nodes;
    uint32_t *order;
    uint32_t shape_count, node_count;
} placed_trees;

/* Builds what is NULL in `view`: trees of shapes (builder as of tritree_open) over the triangles
   and positions of the scene, and boxes. `view` then has them; its list must outlive them. */
kd_status placed_trees_open(placed_trees *out, placed_view *view, const tritree_input *scene,
                            const tritree_options *options, const char *builder, job *watched);
void placed_trees_close(placed_trees *owned); /* takes a zeroed one */
/* Bytes of all of it. */
uint64_t placed_trees_bytes(const placed_trees *of);

/* The boxes alone: nodes of out, which has been zeroed. */
kd_status placed_boxes_build(placed_trees *out, const placed_view *view);

#ifdef __cplusplus
}
#endif

#endif
