/* Conversion of a large k-d tree to compressed nodes in slabs: subtrees of bounded size, converted
   one after another with the same scratch memory (compressed_make.cu), below a few nodes, the top,
   that are made on the host.
   Idea: the root of a slab is always a node of the compressed form, so that a slab does not depend
   on what is above it. All builders store nodes depth first, so the nodes of a slab are contiguous,
   except that its root lies beside its sibling. */
#ifndef KD_ACCEL_WIDE_COMPRESSED_TOP_H
#define KD_ACCEL_WIDE_COMPRESSED_TOP_H
#include "accel/wide/compressed_list.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct compressed_slab {
    uint32_t root, first, end; /* its nodes: `root` and [first, end) */
    box3 cell;
    /* results of its conversion */
    compressed_subtree subtree; /* subtree of the root */
    float cost;                 /* cost of the root as one slot */
    uint32_t depth;             /* levels of compressed nodes */
    bool empty;
    compressed_node node; /* compressed root */
} compressed_slab;

typedef struct compressed_top {
    /* The nodes above the slabs, slabs and empty leaves; the root first, siblings adjacent. For a
       slab, unused[0] is its number + 1. */
    compressed_subtree *at;
    uint64_t count, capacity;
    compressed_slab *slabs;
    uint64_t slab_count, slab_capacity;
    float min_side;
    uint32_t alignment; /* of blocks of the form, set by the caller */
    /* results of compressed_top_write */
    uint8_t *units;
    uint32_t unit_count, depth;
} compressed_top;

/* Divides a tree in device memory into slabs of at most `maximum` nodes. Leaves out->slabs empty if
   the tree's nodes are not in depth-first order. The caller closes the top even on failure. */
kd_status compressed_top_open(compressed_top *out, const tritree_view *tree, uint32_t maximum);
void compressed_top_close(compressed_top *owned); /* accepts a zeroed top */
/* Returns an upper bound of the units that the top takes. */
uint64_t compressed_top_units(const compressed_top *top);
/* Makes the top's nodes, of which the first is the root of the whole form, once all slabs have been
   converted. Those of the slabs' roots are copied. Sets `depth` to the levels of the whole form. */
kd_status compressed_top_write(compressed_top *top);

#ifdef __cplusplus
}
#endif
#endif
