/* What a builder on a CPU offers: its row, tritree_builder_NAME, ends its file; its NAME stands in
   the list of accel/builders.h. */
#ifndef KD_ACCEL_TREE_BUILD_H
#define KD_ACCEL_TREE_BUILD_H
#include "accel/tree/tritree.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tritree_builder {
    const char *name;
    const char *source; /* paper */
    uint64_t (*scratch_bytes)(uint32_t triangle_count);
    uint32_t references; /* a triangle of a mesh: so many are planned for, and as many nodes */
    /* Fills nodes, references and their counts; box, input and options of `out` are set. */
    kd_status (*build)(tritree *out, const tritree_input *input, const tritree_options *options,
                       job *watched);
    /* What others have to know of it. */
    bool exact;     /* it makes the tree of `exact`, bit for bit */
    bool all_cores; /* it uses all of them, and makes the same tree on any number */
} tritree_builder;

/* Refuses what no builder could work with; finds the box of all triangles that can be hit. */
kd_status tritree_check_triangles(tritree *out);
/* Fills the statistics that follow from nodes, references and box. */
void tritree_take_stock(tritree *tree);

#ifdef __cplusplus
}
#endif
#endif
