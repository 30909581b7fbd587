/* A k-d tree over triangles that knows their boxes: for the triangle nearest to a point.
   Idea: triangles' centres are halved again and again at the median across the widest axis, a
         left half being the largest power of two times eight that leaves something. So leaves
         are of eight triangles each, one after the other, and eight leaves, or eight nodes, are
         the children of a node by their place alone: there are no pointers. A node has its
         children's boxes side by side. Unlike the tree for rays it holds every triangle once,
         and those without area, too.
   Work: O(n log n), halves side by side.
   Memory: 44 bytes a triangle; 24 more while it is made.
   Invariants: the same tree for any number of threads. Boxes are times a power of two, so that
               the squares of distances are in a float's range whatever the mesh's size. */
#ifndef KD_ACCEL_RAYS_NEAREST_TREE_H
#define KD_ACCEL_RAYS_NEAREST_TREE_H
#include "accel/rays/nearest_triangle.h"
#include "core/math/geometry.h"
#include "core/status.h"

enum {
    NEAREST_WIDE = 8,
    NEAREST_LEVELS = 11,
    NEAREST_LEAF_FLOATS = 10 * NEAREST_WIDE, /* by corner and axis; then ids */
    NEAREST_STACK = (NEAREST_WIDE - 1) * NEAREST_LEVELS + NEAREST_WIDE
};

typedef struct nearest_node {
    float bound[6][NEAREST_WIDE]; /* lo x, hi x, lo y, ...; where there is no child: 0 */
} nearest_node;

/* What a search reads, on a CPU or a device; borrows everything. */
typedef struct nearest_view {
    const nearest_node *nodes; /* level by level, the lowest first; the root is the last */
    const float *leaves;       /* NEAREST_LEAF_FLOATS each; a place left over has corners at 0 */
    const vec3 *positions;
    const uint32_t *triangles; /* 3 vertex indices each */
    uint32_t triangle_count;
    uint32_t leaf_count, levels;
    uint32_t first[NEAREST_LEVELS]; /* node of a level */
    uint32_t count[NEAREST_LEVELS]; /* nodes of a level */
    float scale;                    /* of boxes, a power of two */
    box3 box;                       /* of all triangles, not scaled */
} nearest_view;

typedef struct nearest_tree {
    nearest_view view;
    nearest_node *nodes;
    float *leaves;
    uint32_t node_count;
} nearest_tree;

#ifdef __cplusplus
extern "C" {
#endif

/* Of a mesh that was checked; borrows its arrays. */
kd_status nearest_tree_open(nearest_tree *out, const vec3 *positions, const uint32_t *triangles,
                            uint32_t triangle_count);
void nearest_tree_close(nearest_tree *owned); /* takes a zeroed one */
uint64_t nearest_tree_bytes(const nearest_tree *of);

/* nearest[i]: what is nearest to points[i], no farther than max_distance. */
void nearest_find(const nearest_view *view, const vec3 *points, uint64_t count, float max_distance,
                  near_place *nearest);

#ifdef __cplusplus
}
#endif
#endif
