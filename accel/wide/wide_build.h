/* Decides which k-d subtrees become leaves of the wide tree and which become the children of each
   wide node.
   Source: Wald, Benthin, Boulos 2008, section 3.2, and Ylitie, Karras, Laine 2017, "Efficient
   incoherent ray traversal on GPUs through compressed wide BVHs": collapse of least cost.
   Idea: dynamic programming from the leaves up, with the surface area heuristic and the costs of
   wide traversal. For each subtree and each number of children that it may take up, compute the
   least cost. One child: a leaf with all its triangles, if there are at most eight, or a node of
   its own. More: the best distribution over its two halves.
   Work: O(nodes cells^2 + references), vectorised; subtrees are processed in parallel.
   Memory: 33 bytes per node, temporarily. */
#ifndef KD_ACCEL_WIDE_WIDE_BUILD_H
#define KD_ACCEL_WIDE_WIDE_BUILD_H
#include "accel/wide/wide_tree.h"

/* The kind of a subtree that becomes one child: the number of its triangles, 1 to 8, if it becomes
   a leaf, or one of these values: */
enum { WIDE_EMPTY = 0, WIDE_OPEN = WIDE_LEAF_MAX + 1 };

typedef struct wide_children {
    const tritree_view *tree;
    uint32_t children;
    box3 *boxes; /* per node: bounds of its triangles' boxes, each clipped to its leaf's cell */
    /* per inner node, one nibble per number of children. Nibble k - 1, k > 1: the number of
       children that the left half gets if the subtree is divided into k. Nibble 0: the subtree is
       divided if it may take up more children than this number; 0: never */
    uint64_t *choices;
    uint8_t *kinds; /* kind of each node */
} wide_children;

/* The triangles of a leaf, without duplicates. */
typedef struct wide_ids {
    uint32_t count, ids[WIDE_LEAF_MAX]; /* count WIDE_OPEN: more than WIDE_LEAF_MAX */
} wide_ids;

/* SAH costs of a wide node, of a leaf, and of each triangle in it. */
static const float wide_node_cost = 1, wide_leaf_cost = 0.8f, wide_triangle_cost = 0.3f;

kd_status wide_children_open(wide_children *out, const tritree_view *tree, uint32_t children);
void wide_children_close(wide_children *owned);
uint64_t wide_children_bytes(uint64_t nodes); /* for a tree of that many nodes */

void wide_ids_add(wide_ids *ids, uint32_t id);
/* Adds the triangles of a subtree. */
void wide_ids_collect(wide_ids *wide_ids, const tritree_view *tree, uint32_t node);
box3 wide_box_of(const triangle_rows *rows);
/* Returns the intersection of a box and a cell. */
box3 wide_box_cut(box3 box, box3 cell);
double wide_area(box3 box); /* half the surface area; 0 if empty */

/* The subtrees that become the children of a wide node, and their order for rays of each octant. */

/* A subtree, or a range of references of a large leaf. */
typedef struct wide_part {
    uint32_t node;
    uint32_t first, count; /* count > 0: these references of a large leaf */
    uint32_t triangles;    /* as a leaf, 1 ... 8; WIDE_OPEN: becomes a node */
    box3 box;
} wide_part;

/* A part, or the splitting plane between two groups of parts. */
typedef struct wide_split {
    int axis, low, high; /* axis WIDE_PART: part `low`; WIDE_ROW: parts low ... high - 1 */
} wide_split;
enum { WIDE_PART = 3, WIDE_ROW = 4 };

typedef struct wide_parts {
    wide_part parts[WIDE_CHILDREN_MAX];
    wide_split splits[2 * WIDE_CHILDREN_MAX - 1]; /* the first is the root */
    int count, split_count;
} wide_parts;

/* Returns the part that is the whole tree, which must not be empty. */
wide_part wide_part_of_all(const wide_children *children);
/* Lists the children of the node that `part` becomes. boxes: with their boxes. */
void wide_parts_list(wide_parts *out, const wide_children *children, const wide_part *part,
                     bool boxes);
/* Lists the indices of the parts in front-to-back order for rays of this octant. */
void wide_parts_order(const wide_parts *parts, int octant, uint8_t order[WIDE_CHILDREN_MAX]);
/* Lists the triangles of a part that becomes a leaf. */
void wide_part_ids(const wide_children *children, const wide_part *part, wide_ids *ids);

#endif
