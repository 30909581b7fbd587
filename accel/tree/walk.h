/* Rays through the triangle k-d tree: the plain walk that every faster kernel is compared with, and
   that accel/rays/cast.h takes where a tree has no other form. What is asked of a leaf is given, so
   that placed meshes (accel/placed) are walked by it, too.
   Idea: front to back with a stack of {far child, its part of the ray}; near and far are told by
   the direction's sign.
   Invariants: a leaf is visited unless the ray surely misses it. Where the ray meets a plane is
   known up to `slack` (walk_bounds.h), so a triangle that triangle_meet would report is never lost
   between two leaves, and the answer is that of testing all triangles: nearest t, then smallest id,
   whatever the tree. */
#ifndef KD_ACCEL_TREE_WALK_H
#define KD_ACCEL_TREE_WALK_H
#include "accel/tree/walk_device.h"

/* What one ray, or many, had to do. */
typedef struct tritree_counts {
    uint64_t nodes;     /* read, leaves included */
    uint64_t leaves;    /* visited, empty ones included */
    uint64_t triangles; /* tested */
} tritree_counts;

/* What is asked of each leaf that the ray visits: takes its triangles into account; true if that
   improved the nearest hit. */
typedef bool (*tritree_leaf_test)(void *asked, tritree_node leaf);

#ifdef __CUDACC__
#define TRITREE_WALK_FN static __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define TRITREE_WALK_FN static inline __attribute__((always_inline))
#else
#define TRITREE_WALK_FN static inline
#endif

/* The walk itself: front to back, the far child waits on a stack. `nearest`: t of the nearest hit
   so far, which `test` keeps. `any`: the first hit will do; true: there was one. */
TRITREE_WALK_FN bool tritree_walk_leaves(const tritree_node *nodes, const tritree_walk *walk,
                                         tritree_leaf_test test, void *asked, const float *nearest,
                                         bool any, tritree_counts *counts) {
    tritree_stack_entry stack[TRITREE_MAX_DEPTH + 2];
    int waiting = 0;
    tritree_node node = nodes[0];
    float near = walk->near, far = walk->far;
    for (;;) {
        if (counts) ++counts->nodes;
        while (!tritree_is_leaf(node)) {
            /* the children lie in one place: both are read while the plane's distance is computed;
               whether the far one must wait is hard to predict, so that costs no branch */
            const int axis = tritree_axis(node);
            const tritree_node *child = nodes + tritree_left(node);
            const uint64_t lower = tritree_bits(child[0]), upper = tritree_bits(child[1]);
            const uint64_t swap = (lower ^ upper) & walk->negative[axis];
            const float t = (node.split - walk->origin[axis]) * walk->inverse[axis];
            const float low = t - walk->slack[axis], high = t + walk->slack[axis];
            const bool only_first = low > far;
            const bool only_second = near > high;
            stack[waiting].node = upper ^ swap;
            stack[waiting].near = float_max(low, near);
            stack[waiting].far = far;
            waiting += !(only_second | only_first);
            node = tritree_from_bits(only_second ? upper ^ swap : lower ^ swap);
            far = only_second ? far : float_min(high, far);
            if (counts) ++counts->nodes;
        }
        if (counts) {
            ++counts->leaves;
            counts->triangles += tritree_count(node);
        }
        if (test(asked, node) && any) return true;
        do {
            if (waiting == 0) return false;
            --waiting;
        } while (stack[waiting].near > *nearest + walk->slack_t);
        node = tritree_from_bits(stack[waiting].node);
        near = stack[waiting].near;
        far = stack[waiting].far;
    }
}

/* A ray at a tree's own triangles. */
typedef struct tritree_asked {
    const tritree_view *tree;
    triangle_caster caster;
    float tmin;
    ray_hit best;
} tritree_asked;

/* A leaf's triangles by their rows, where the tree has them, else by their vertices. */
KD_FN bool tritree_leaf_meet(void *asked, tritree_node leaf) {
    tritree_asked *on = (tritree_asked *)asked;
    const tritree_view *tree = on->tree;
    const uint32_t *ids = tree->references + tritree_first(leaf);
    const uint32_t count = tritree_count(leaf);
    bool found = false;
    for (uint32_t i = 0; i < count; ++i) {
        vec3 corner[3];
        if (tree->rows) {
            const triangle_rows *rows = tree->rows + ids[i];
            if (triangle_rows_missed(rows, &on->caster)) continue;
            for (int k = 0; k < 3; ++k) corner[k] = triangle_rows_corner(rows, k);
        } else {
            const uint32_t *index = tree->triangles + 3 * (uint64_t)ids[i];
            for (int k = 0; k < 3; ++k) corner[k] = tree->positions[index[k]];
        }
        found |= tritree_triangle_meet(&on->caster, corner[0], corner[1], corner[2], ids[i],
                                       on->tmin, &on->best);
    }
    return found;
}

/* A ray at the whole tree. `any`: the first hit will do. */
KD_FN ray_hit tritree_cast(const tritree_view *tree, ray cast, bool any, tritree_counts *counts) {
    tritree_asked asked;
    tritree_walk walk;
    asked.tree = tree;
    asked.tmin = cast.tmin;
    asked.best.t = cast.tmax;
    asked.best.u = asked.best.v = 0;
    asked.best.triangle = KD_NONE;
    if (!tritree_walk_begin(&walk, tree, cast)) return asked.best;
    asked.caster = triangle_caster_make(cast);
    tritree_walk_leaves(tree->nodes, &walk, tritree_leaf_meet, &asked, &asked.best.t, any, counts);
    return asked.best;
}

/* The nearest hit in the ray's range, of hits at the same t the one with the smallest id; and
   whether there is any hit in it. Both add to *counts; without counts: accel/rays/cast.h. */
KD_FN ray_hit tritree_closest_counted(const tritree_view *tree, ray cast, tritree_counts *counts) {
    return tritree_cast(tree, cast, false, counts);
}
KD_FN bool tritree_occluded_counted(const tritree_view *tree, ray cast, tritree_counts *counts) {
    return tritree_cast(tree, cast, true, counts).triangle != KD_NONE;
}

#endif
