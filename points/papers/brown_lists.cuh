/* What the stages of build_brown.cu share: presorted lists of a tree's points, one an axis, and
   what is known of each point.
   Idea: a list that is split down to level d holds the points of each sub-tree of that level, in
   the order of its axis, at the place that they have in the tree read from left to right: where a
   segment lies is known before a point is read. A point's tag remembers on which side of its last
   ancestors it lies, so a list may lag some levels behind. A tag is a byte: random reads of it hit
   the cache. */
#ifndef KD_POINTS_PAPERS_BROWN_LISTS_CUH
#define KD_POINTS_PAPERS_BROWN_LISTS_CUH
#include "points/tree/inorder.cuh"

namespace lists {

using kandela::ALL_LANES;
using kandela::layout;
using kandela::layout_of;
using kandela::segment;

constexpr uint32_t PLACED = 0x80, HISTORY = 0x7f; /* of a tag */
constexpr int BLOCK = 256;                        /* threads, where nothing else matters */

/* The `index`-th sub-tree from the left with `height` levels of a tree with `low` last nodes. */
__host__ __device__ inline segment segment_of(uint32_t low, uint32_t height, uint32_t index) {
    return height ? kandela::subtree_segment(low, height, index) : segment{0, 0, 0};
}

__host__ __device__ inline segment list_segment(const layout &tree, uint32_t level,
                                                uint32_t index) {
    return segment_of(tree.low, tree.levels - level, index);
}

inline unsigned blocks_for(uint64_t count, unsigned threads) {
    return (unsigned)((count + threads - 1) / threads);
}

/* Coordinates as integers of the same order. */
template <typename real> struct sort_key;
template <> struct sort_key<float> { typedef uint32_t type; };
template <> struct sort_key<double> { typedef uint64_t type; };

struct stage {
    layout tree;
    const void *points;
    uint64_t stride; /* scalars from a point to the next */
    uint32_t dims;
    uint32_t *tree_ids;
    uint8_t *tree_axes; /* NULL for round robin */
    point_box *box;     /* with axes */
    uint8_t *tags;      /* by point: on the left (0) or the right (1) of its ancestors, the nearest
                           in the lowest bit; PLACED if it is a node already */
    uint8_t *moving;    /* the tags by place in the list that is moved */
    uint32_t *counts;   /* of points per segment, digit and tile */
    uint32_t *nodes;    /* by point: the node it is under; in the end its place in the first list
                           of its bottom, 16 bits each */
};

/* Where all lists lie. */
struct list_set {
    const uint32_t *list[POINT_DIMS_MAX];
};

} // namespace lists
#endif
