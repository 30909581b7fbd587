/* Builds a compressed wide node and its leaves from the plans of k-d subtrees
   (compressed_measure.h). The result is the same on CPU and GPU, bit for bit.
   Idea: the subtree of a node is opened according to its plan; the subtrees that remain become its
   children. A k-d leaf with more triangles than a leaf may have becomes a node whose children share
   its triangles; their cells are empty, so that a hit in one of them never ends the traversal
   early. Occlusion queries visit children in lane order; so the lanes that come first are given to
   leaves, then to children with large boxes. */
#ifndef KD_ACCEL_WIDE_COMPRESSED_NODE_H
#define KD_ACCEL_WIDE_COMPRESSED_NODE_H
#include "accel/wide/compressed_measure.h"

enum { COMPRESSED_OPENED = 2 * COMPRESSED_CHILDREN - 1, COMPRESSED_NOWHERE = 255 };

/* A k-d tree with the plans of its nodes. Owns nothing. */
typedef struct compressed_source {
    tritree_view tree;            /* with the same nodes as `at` */
    const compressed_subtree *at; /* one per node */
    float min_side;               /* smallest side of a node's grid */
    bool indexed;                 /* leaves list their triangles */
    uint32_t alignment;           /* of blocks, in units: compressed_alignment */
} compressed_source;

/* A future node: a subtree of the k-d tree, or a range of references of a large leaf. */
typedef struct compressed_item {
    box3 cell; /* in the k-d tree; infinite on sides without a plane */
    uint32_t node;
    uint32_t first, count; /* references; count 0: the whole subtree */
} compressed_item;

/* A node of the binary tree that opening a subtree produces. */
typedef struct compressed_part {
    compressed_item item;
    uint8_t axis, low, high, lane, slots; /* low, high: the parts that this one was opened into */
} compressed_part;

/* The part of a subtree's data that suffices to descend. */
typedef struct compressed_head {
    tritree_node node;
    uint64_t plan;
} compressed_head;

KD_FN compressed_head compressed_head_of(const compressed_source *source, uint32_t node) {
    compressed_head head;
    head.node = source->at[node].node;
    head.plan = source->at[node].plan;
    return head;
}

/* Descends past nodes with one empty child, to the smallest subtree that contains all of the item's
   triangles, and sets *head to the head of that subtree. Returns the number of its triangles if it
   becomes a leaf, 0 if it becomes a node or is opened further. The item's cell stays valid, because
   only empty space is left out. */
KD_FN uint32_t compressed_resolve(const compressed_source *source, compressed_item *item,
                                  compressed_head *head) {
    for (;;) {
        *head = compressed_head_of(source, item->node);
        const int kind = compressed_kind(head->plan);
        if (kind != COMPRESSED_LOW && kind != COMPRESSED_HIGH) break;
        item->node = tritree_left(head->node) + (kind == COMPRESSED_HIGH ? 1 : 0);
    }
    if (compressed_kind(head->plan) == COMPRESSED_INNER) return 0;
    if (!tritree_is_leaf(head->node)) return compressed_distinct(head->plan);
    if (tritree_count(head->node) <= COMPRESSED_LEAF_MAX) return tritree_count(head->node);
    item->first = tritree_first(head->node);
    item->count = tritree_count(head->node);
    return 0;
}

/* Returns the lanes of all parts in front-to-back order for rays of this octant, a nibble each. */
KD_FN uint32_t compressed_order(const compressed_part *parts, int octant) {
    uint8_t stack[COMPRESSED_CHILDREN];
    int waiting = 0, taken = 0, at = 0;
    uint32_t order = 0;
    for (;;) {
        const compressed_part *p = parts + at;
        if (p->low != COMPRESSED_NOWHERE) {
            const bool backwards = octant >> p->axis & 1;
            stack[waiting++] = backwards ? p->low : p->high;
            at = backwards ? p->high : p->low;
            continue;
        }
        order |= (uint32_t)p->lane << (4 * taken++);
        if (waiting == 0) break;
        at = stack[--waiting];
    }
    for (; taken < COMPRESSED_CHILDREN; ++taken) order |= (uint32_t)taken << (4 * taken);
    return order;
}

/* Returns the lane of the next child if `taken` of `count` children have one: lanes are assigned in
   the order in which occlusion queries visit them. */
KD_FN int compressed_lane(int taken, int count) {
    const uint32_t sequence = 0x04152637; /* 7, 3, 6, 2, 5, 1, 4, 0 */
    for (int k = 0;; ++k) {
        const int lane = (int)(sequence >> (4 * k) & 15);
        if (lane < count && taken-- == 0) return lane;
    }
}

/* Sort key of a child for occlusion queries: leaves come first, then large boxes. */
KD_FN uint32_t compressed_priority(box3 box, bool leaf) {
    const float area = compressed_area(box);
    return float_bits(area <= FLT_MAX ? area : FLT_MAX) | (leaf ? 1u << 31 : 0);
}

/* The references of a large leaf are divided among compressed_shares children; child i gets
   compressed_share_of references. */
KD_FN uint32_t compressed_shares(uint32_t count) {
    const uint32_t leaves = (count + COMPRESSED_LEAF_MAX - 1) / COMPRESSED_LEAF_MAX;
    return leaves < COMPRESSED_CHILDREN ? leaves : (uint32_t)COMPRESSED_CHILDREN;
}
KD_FN uint32_t compressed_share_begin(uint32_t count, uint32_t i) {
    return (uint32_t)((uint64_t)count * i / compressed_shares(count));
}
KD_FN uint32_t compressed_share_of(uint32_t count, uint32_t i) {
    return compressed_share_begin(count, i + 1) - compressed_share_begin(count, i);
}

KD_FN uint32_t compressed_aligned(const compressed_source *source, uint32_t units) {
    return (units + source->alignment - 1) / source->alignment * source->alignment;
}

KD_FN uint8_t compressed_byte(double x) {
    return x > 0 ? (uint8_t)(x < 255 ? x : 255) : (uint8_t)0;
}

KD_FN compressed_leaf compressed_leaf_make(const compressed_item *item) {
    compressed_leaf leaf;
    for (int axis = 0; axis < 3; ++axis) {
        leaf.lo[axis] = item->count ? INFINITY : vec3_axis(item->cell.lo, axis);
        leaf.hi[axis] = item->count ? -INFINITY : vec3_axis(item->cell.hi, axis);
    }
    leaf.padding[0] = leaf.padding[1] = 0;
    return leaf;
}

/* Finds the grid plane nearest to x, but not outside the cell that x bounds; returns false if there
   is none. */
KD_FN bool compressed_plane_inside(compressed_grid grid, int axis, bool high, float x,
                                   uint32_t *plane) {
    const float at = (x - vec3_axis(grid.origin, axis)) / grid.step;
    const float limit = (float)COMPRESSED_PLANE_MAX;
    *plane = (uint32_t)float_max(0, float_min(limit, high ? floorf(at) : ceilf(at)));
    for (int turn = 0; turn < 4; ++turn) { /* the quotient is rounded */
        const float y = compressed_plane_at(grid, axis, *plane);
        if (high ? y <= x : y >= x) return true;
        if (*plane == (high ? 0 : (uint32_t)COMPRESSED_PLANE_MAX)) return false;
        *plane += high ? UINT32_MAX : 1;
    }
    return false;
}

KD_FN compressed_indexed_leaf compressed_indexed_leaf_make(const compressed_source *source,
                                                           const compressed_item *item) {
    const compressed_grid grid = compressed_grid_make(source->tree.box);
    compressed_indexed_leaf leaf;
    uint32_t above = 0;
    bool open = item->count || !(grid.step > 0 && grid.step <= FLT_MAX);
    for (int axis = 0; axis < 3; ++axis) {
        uint32_t low = 0, high = COMPRESSED_PLANE_MAX;
        const float lo = vec3_axis(item->cell.lo, axis), hi = vec3_axis(item->cell.hi, axis);
        if (!open && lo > -INFINITY) open = !compressed_plane_inside(grid, axis, false, lo, &low);
        if (!open && hi < INFINITY) open = !compressed_plane_inside(grid, axis, true, hi, &high);
        leaf.planes[axis] = low | high << 21;
        above |= high >> 11 << (10 * axis);
    }
    leaf.planes[3] = above | (open ? COMPRESSED_LAST : 0);
    for (int i = 0; i < 4; ++i) leaf.list[i] = 0;
    return leaf;
}

KD_FN compressed_triangle compressed_triangle_make(const tritree_view *tree, uint32_t id,
                                                   bool last) {
    compressed_triangle made;
    for (int k = 0; k < 3; ++k) {
        const vec3 p = tree->positions[tree->triangles[3 * (uint64_t)id + (uint32_t)k]];
        for (int axis = 0; axis < 3; ++axis) made.axis[axis].corner[k] = vec3_axis(p, axis);
    }
    for (int axis = 0; axis < 3; ++axis) made.axis[axis].word = id | (last ? COMPRESSED_LAST : 0);
    return made;
}

#endif
