/* The packed form made on a CPU: the oracle of packed_make.cu, which makes the same bytes. */
#ifndef KD_ACCEL_PACKED_PACKED_MAKE_H
#define KD_ACCEL_PACKED_PACKED_MAKE_H
#include "accel/packed/packed_form.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct packed_tree {
    uint8_t *units; /* PACKED_UNIT bytes each; NULL: the tree has no packed form */
    uint64_t unit_count;
    uint32_t nodes, leaves, depth;
    uint64_t triangles; /* in all leaves */
} packed_tree;

/* A tree has no packed form if nothing in it can be hit, if it would be deeper than
   PACKED_MAX_DEPTH, or of more units than a node can name. */
kd_status packed_tree_open(packed_tree *out, const tritree_view *from);
void packed_tree_close(packed_tree *owned); /* takes a zeroed one */
/* What the form of a mesh's tree takes, before there is a tree. */
uint64_t packed_tree_bytes_most(uint64_t triangles);

/* The smallest side of a node's grid in a tree of that box: finer ones are lost in rays' slacks. */
float packed_least_side(box3 box);
/* Units that bases can name. */
#define PACKED_MOST_UNITS ((uint64_t)1 << (PACKED_INNER_SHIFT + 2))

#ifdef __cplusplus
}
#endif
#endif
