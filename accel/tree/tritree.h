/* What a triangle k-d tree is, whoever built it (accel/builders.h). */
#ifndef KD_ACCEL_TREE_TRITREE_H
#define KD_ACCEL_TREE_TRITREE_H
#include "accel/tree/layout.h"
#include "core/job.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tritree_input {
    const vec3 *positions;
    const uint32_t *triangles; /* 3 per triangle, in range of position_count */
    uint32_t position_count;
    uint32_t triangle_count;
} tritree_input;

typedef struct tritree_options {
    float traversal_cost; /* C_t: one step through an inner node */
    float intersect_cost; /* C_i: one triangle test */
    float empty_factor;   /* cost factor of a split with an empty side, (0, 1] */
    int32_t max_depth;    /* 0: 8 + 1.3 log2 n, at most TRITREE_MAX_DEPTH */
} tritree_options;

typedef struct tritree_statistics {
    uint64_t nodes, leaves, empty_leaves, references;
    uint64_t degenerate_triangles; /* zero area: in no leaf */
    uint32_t depth;                /* edges from the root to the deepest leaf */
    double references_per_triangle;
    double sah_cost; /* C_t sum A(inner)/A(root) + C_i sum n A(leaf)/A(root) */
    double build_seconds;
    double widen_seconds; /* of the form that rays on a CPU walk */
} tritree_statistics;

/* Stages of builders that tell their time apart (zhou), as in table II of Choi and Ye 2020. */
enum { TRITREE_INIT, TRITREE_LARGE, TRITREE_SMALL, TRITREE_OTHER, TRITREE_STAGES };

typedef struct tritree {
    tritree_node *nodes;
    uint32_t *references;
    uint32_t node_count, reference_count;
    triangle_rows *rows;    /* one a triangle */
    struct wide_tree *wide; /* NULL: rays walk the nodes */
    box3 box;
    tritree_input input; /* borrowed */
    tritree_options options;
    tritree_statistics statistics;
    double stage_seconds[TRITREE_STAGES]; /* 0 by builders that have no stages */
} tritree;

/* The deepest leaf that the options allow for so many triangles. */
int32_t tritree_depth_limit(const tritree_options *options, uint32_t triangle_count);

kd_status tritree_check_options(const tritree_options *options); /* KD_ERROR_USAGE */
tritree_options tritree_options_default(void); /* C_t 1.5, C_i 1, empty factor 1: best for rays */

tritree_view tritree_get_view(const tritree *from);
uint64_t tritree_hash(const tritree *from); /* of nodes and references */

/* The invariants of a triangle tree, executed. Knows the layout, and no builder.
     T1  each node is reached once
     T2  each split lies inside its box
     T3  every triangle that meets a leaf's interior is in that leaf, none twice; one that lies in a
         split's plane is on either side of it
     T4  references are of triangles that can be hit, each leaf's its own
     T5  no leaf is deeper than the limit
     T6  the leaves' volumes add up to that of the box of all triangles
     T7  the recomputed statistics, SAH cost included, equal the reported ones */

/* KD_ERROR_CHECK and "T<n>: what is wrong where" for the first invariant that does not hold. */
kd_status tritree_check(const tritree *tree);

/* What a CPU tests rays against: each triangle's corners as vectors. */

/* Fills rows from the input. Memory: 48 bytes a triangle. */
kd_status tree_rows_fill(tritree *tree);

#ifdef __cplusplus
}
#endif

#endif
