/* Rays through the triangle k-d tree: the plain walk that every faster kernel is compared with, and
   that accel/rays/cast.h takes where a tree has no other form.
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

/* Tests a leaf's triangles; true if something was hit that improves `best`. */
KD_FN bool tritree_leaf_meet(const tritree_view *tree, tritree_node leaf,
                             const triangle_caster *caster, float tmin, ray_hit *best) {
    const uint32_t first = tritree_first(leaf), count = tritree_count(leaf);
    bool found = false;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t id = tree->references[first + i];
        const uint32_t *corner = tree->triangles + 3 * (uint64_t)id;
        found |=
            tritree_triangle_meet(caster, tree->positions[corner[0]], tree->positions[corner[1]],
                                  tree->positions[corner[2]], id, tmin, best);
    }
    return found;
}

/* The same with the triangles' rows. */
KD_FN bool tritree_rows_meet(const tritree_view *tree, tritree_node leaf,
                             const triangle_caster *caster, float tmin, ray_hit *best) {
    const uint32_t *ids = tree->references + tritree_first(leaf);
    const uint32_t count = tritree_count(leaf);
    bool found = false;
    for (uint32_t i = 0; i < count; ++i) {
        const triangle_rows *rows = tree->rows + ids[i];
        if (triangle_rows_missed(rows, caster)) continue;
        found |= tritree_triangle_meet(caster, triangle_rows_corner(rows, 0),
                                       triangle_rows_corner(rows, 1), triangle_rows_corner(rows, 2),
                                       ids[i], tmin, best);
    }
    return found;
}

/* The same by the fast test. */
KD_FN bool tritree_fast_meet(const tritree_view *tree, tritree_node leaf, const ray *cast,
                             ray_hit *best) {
    const uint32_t first = tritree_first(leaf), count = tritree_count(leaf);
    bool found = false;
    for (uint32_t i = first; i < first + count; ++i) {
        float t = 0, u = 0, v = 0;
        if (!triangle_fast_meet(tree->fast + i, cast, best->t, &t, &u, &v)) continue;
        best->t = t;
        best->u = u;
        best->v = v;
        best->triangle = tree->references[i];
        found = true;
    }
    return found;
}

/* The walk itself: front to back, the far child waits on a stack. `any`: the first hit will do. */
KD_FN ray_hit tritree_cast(const tritree_view *tree, ray cast, bool any, tritree_counts *counts) {
    ray_hit best;
    best.t = cast.tmax;
    best.u = best.v = 0;
    best.triangle = KD_NONE;
    tritree_walk walk;
    if (!tritree_walk_begin(&walk, tree, cast)) return best;
    const triangle_caster caster = triangle_caster_make(cast);
    tritree_stack_entry stack[TRITREE_MAX_DEPTH + 2];
    int waiting = 0;
    const tritree_node *nodes = tree->nodes;
    tritree_node node = nodes[0];
    float near = walk.near, far = walk.far;
    for (;;) {
        if (counts) ++counts->nodes;
        while (!tritree_is_leaf(node)) {
            /* the children lie in one place: both are read while the plane's distance is computed;
               whether the far one must wait is hard to predict, so that costs no branch */
            const int axis = tritree_axis(node);
            const tritree_node *child = nodes + tritree_left(node);
            const uint64_t lower = tritree_bits(child[0]), upper = tritree_bits(child[1]);
            const uint64_t swap = (lower ^ upper) & walk.negative[axis];
            const float t = (node.split - walk.origin[axis]) * walk.inverse[axis];
            const float low = t - walk.slack[axis], high = t + walk.slack[axis];
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
        bool found = false;
        if (tree->fast)
            found = tritree_fast_meet(tree, node, &cast, &best);
        else if (tree->rows)
            found = tritree_rows_meet(tree, node, &caster, cast.tmin, &best);
        else
            found = tritree_leaf_meet(tree, node, &caster, cast.tmin, &best);
        if (found && any) return best;
        do {
            if (waiting == 0) return best;
            --waiting;
        } while (stack[waiting].near > best.t + walk.slack_t);
        node = tritree_from_bits(stack[waiting].node);
        near = stack[waiting].near;
        far = stack[waiting].far;
    }
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
