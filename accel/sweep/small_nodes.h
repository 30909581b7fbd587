/* The exact SAH builders' last levels: nodes of a few triangles, without bins.
   Idea: a node of n triangles has at most 2 n planes an axis; counting for each what lies left and
   right of it takes n comparisons, eight planes at a time, which beats counting in bins while n
   is small. The planes, their counts and costs, and so the tree, are those of the sweep. */
#ifndef KD_ACCEL_SWEEP_SMALL_NODES_H
#define KD_ACCEL_SWEEP_SMALL_NODES_H
#include "accel/geometry/triangle_rows.h"
#include "accel/geometry/vector8.h"
#include "accel/tree/build_exact.h"
#include "accel/tree/sah.h"
#include "accel/tree/writer.h"

enum { SMALL_NODE_MOST = 56, SMALL_NODE_ROOM = SMALL_NODE_MOST + VECTOR8_LANES };
static_assert((int)SMALL_NODE_MOST <= (int)EXACT_SMALL_MOST, "their growth does not matter");

typedef struct small_node {
    box3 box;
    uint32_t at; /* index in the tree */
    int32_t depth;
    uint32_t count;
    uint32_t place[SMALL_NODE_ROOM];                      /* among the ids; ascending */
    float lo[3][SMALL_NODE_ROOM], hi[3][SMALL_NODE_ROOM]; /* of the triangles' parts in the node */
} small_node;

typedef struct small_build {
    const tritree_input *input;
    sah_costs costs;
    int32_t max_depth;
    tree_writer *writer;
    const uint32_t *ids;   /* the triangles', ascending */
    const float4v *corner; /* theirs, three each: read once for all times that they are clipped */
} small_build;

/* Writes the whole subtree below `node`; sets the build's corners. */
kd_status small_nodes_build(small_build *build, small_node *node);

#endif
