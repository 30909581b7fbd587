/* The trees of placed meshes: each mesh's own, and the boxes above them. */
#ifndef KD_ACCEL_PLACED_PLACED_TREE_H
#define KD_ACCEL_PLACED_PLACED_TREE_H
#include "accel/placed/placed.h"
#include "accel/tree/tritree.h"
#include "core/job.h"

#ifdef __cplusplus
extern "C" {
#endif

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
