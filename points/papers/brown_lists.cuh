/* Definitions shared by the stages of build_brown.cu: presorted lists of a tree's points, one per
   axis, and the per-point state.
   Idea: a list partitioned down to level d holds the points of each sub-tree of that level, sorted
         along the list's axis, at the position that they have in the tree read from left to right;
         so the position of a segment is known before any point is read. A point's tag records on
         which side of its last ancestors it lies, so a list may lag some levels behind. A tag is
         one byte, so that random reads hit the cache. */
#ifndef KD_POINTS_PAPERS_BROWN_LISTS_CUH
#define KD_POINTS_PAPERS_BROWN_LISTS_CUH
#include "points/tree/inorder.cuh"

namespace lists {

using kandela::ALL_LANES;
using kandela::layout;
using kandela::layout_of;
using kandela::segment;

constexpr uint32_t PLACED = 0x80, HISTORY = 0x7f; /* bits of a tag */
constexpr int BLOCK = 256;                        /* threads per block of simple kernels */

/* The segment of the `index`-th sub-tree from the left, of `height` levels, in a tree with `low`
   nodes on its last level. */
__host__ __device__ inline segment segment_of(uint32_t low, uint32_t height, uint32_t index) {
    return height ? kandela::subtree_segment(low, height, index) : segment{0, 0, 0};
}

__host__ __device__ inline segment list_segment(const layout &tree, uint32_t level,
                                                uint32_t index) {
    return segment_of(tree.low, tree.levels - level, index);
}

/* Unsigned integer type for coordinates of the same order. */
template <typename real> struct sort_key;
template <> struct sort_key<float> { typedef uint32_t type; };
template <> struct sort_key<double> { typedef uint64_t type; };

struct stage {
    layout tree;
    const void *points;
    uint64_t stride; /* scalars from one point to the next */
    uint32_t dims;
    uint32_t *tree_ids;
    uint8_t *tree_axes; /* NULL for round robin */
    point_box *box;     /* used only with axes */
    uint8_t *tags;      /* by point: left (0) or right (1) of its ancestors, the nearest in the
                           lowest bit; PLACED once the point is a node */
    uint8_t *moving;    /* the tags in the order of the list being moved */
    uint32_t *counts;   /* number of points per segment, digit and tile */
    uint32_t *nodes;    /* by point: the node of the sub-tree that contains it; at the end its
                           position in the first list of its bottom sub-tree, 16 bits each */
};

/* The current buffers of all lists. */
struct list_set {
    const uint32_t *list[POINT_DIMS_MAX];
};

} // namespace lists
#endif
