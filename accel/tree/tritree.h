/* A triangle k-d tree with its options and statistics, independent of the builder
   (accel/builders.h). */
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
    const uint32_t *triangles; /* 3 per triangle, each below position_count */
    uint32_t position_count;
    uint32_t triangle_count;
} tritree_input;

typedef struct tritree_options {
    float traversal_cost; /* C_t: cost of a step through an inner node */
    float intersect_cost; /* C_i: cost of a triangle test */
    float empty_factor;   /* cost factor of a split with an empty side, (0, 1] */
    int32_t max_depth;    /* 0: 8 + 1.3 log2 n, at most TRITREE_MAX_DEPTH */
} tritree_options;

typedef struct tritree_statistics {
    uint64_t nodes, leaves, empty_leaves, references;
    uint64_t degenerate_triangles; /* without area, in no leaf */
    uint32_t depth;                /* edges from the root to the deepest leaf */
    double references_per_triangle;
    double sah_cost; /* C_t sum A(inner)/A(root) + C_i sum n A(leaf)/A(root) */
    double build_seconds;
    double widen_seconds; /* time to build the wide tree */
} tritree_statistics;

/* Stages of builders that report times per stage (zhou), as in table II of Choi and Ye 2020. */
enum { TRITREE_INIT, TRITREE_LARGE, TRITREE_SMALL, TRITREE_OTHER, TRITREE_STAGES };

typedef struct tritree {
    tritree_node *nodes;
    uint32_t *references;
    uint32_t node_count, reference_count;
    triangle_rows *rows;    /* one per triangle */
    struct wide_tree *wide; /* NULL: rays traverse `nodes` */
    box3 box;
    tritree_input input; /* borrowed */
    tritree_options options;
    tritree_statistics statistics;
    double stage_seconds[TRITREE_STAGES]; /* 0 if the builder has no stages */
} tritree;

/* Returns the greatest depth that the options allow for a leaf. */
int32_t tritree_depth_limit(const tritree_options *options, uint32_t triangle_count);

kd_status tritree_check_options(const tritree_options *options); /* KD_ERROR_USAGE if invalid */
tritree_options tritree_options_default(void); /* C_t 1.5, C_i 1, empty factor 1: fastest rays */

tritree_view tritree_get_view(const tritree *tree);
uint64_t tritree_hash(const tritree *tree); /* XXH3 of nodes and references */

/* Checker for the invariants of a triangle tree. It depends on the layout and on no builder.
     T1  each node is reached exactly once
     T2  each split lies inside its box
     T3  a leaf contains every triangle that intersects its interior, none twice; a triangle that
         lies in a splitting plane may be in either child
     T4  each reference is to a triangle that can be hit and belongs to exactly one leaf
     T5  no leaf is deeper than the limit
     T6  the volumes of the leaves add up to that of the box of all triangles
     T7  the recomputed statistics, SAH cost included, equal the reported ones */

/* Returns KD_ERROR_CHECK and "T<n>: what is wrong where" for the first invariant that does not
   hold. */
kd_status tritree_check(const tritree *tree);

/* The triangles' corners as vectors, for ray tests on a CPU. */

/* Fills `rows` from the input. Memory: 48 bytes per triangle. */
kd_status tree_rows_fill(tritree *tree);

#ifdef __cplusplus
}
#endif

#endif
