/* Builds the tree by which light sampling chooses lights (shaders/light_tree.h). */
#ifndef KD_SCENES_ASSEMBLY_SCENE_LIGHT_TREE_H
#define KD_SCENES_ASSEMBLY_SCENE_LIGHT_TREE_H
#include "core/status.h"
#include "shaders/scene_view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The lights of a scene, borrowed. */
typedef struct light_tree_input {
    const light *lights;       /* `count` of kinds that are not at infinity */
    uint32_t count;            /* 2 .. 2^31 - 1 */
    const uint32_t *triangles; /* 3 indices into `positions` per triangle of the mesh */
    const vec3 *positions;
    vec3 centre;  /* centre of the scene's bounding sphere */
    float radius; /* m, >= 0 */
} light_tree_input;

/* Returns the largest number of nodes that a tree of `count` >= 2 lights can have. */
uint32_t light_tree_nodes_max(uint32_t count);

/* Builds a tree into `nodes`, of light_tree_nodes_max(count) items, and `trails`, of count, which
   the caller owns and to which *out then points. The tree is a function of the input alone. Returns
   KD_ERROR_MEMORY if there is no memory for about 140 bytes per light while building. */
kd_status light_tree_build(light_tree_view *out, light_node *nodes, uint32_t *trails,
                           const light_tree_input *input);

#ifdef __cplusplus
}
#endif

#endif
