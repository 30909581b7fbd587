/* Rays through the triangle k-d tree: the plain walk that every faster kernel is compared with.
   Idea: front to back with a stack of {far child, its part of the ray}; near and far are told by
   the direction's sign.
   Invariants: a leaf is visited unless the ray surely misses it. Where the ray meets a plane is
   known up to `slack`, which covers the rounding of that distance (3 units in the last place of
   |plane - origin|) and that of the triangle test (5 units of the largest |corner - origin|), so a
   triangle that triangle_meet would report is never lost between two leaves, and the answer is that
   of testing all triangles: nearest t, then smallest id, whatever the tree.
   A direction component of zero counts as 2^-26 of the largest one: within the slack, and no
   product with it is NaN. */
#ifndef KD_SHADERS_TRITREE_TRACE_H
#define KD_SHADERS_TRITREE_TRACE_H
#include "shaders/triangle.h"
#include "shaders/tritree.h"

/* What one ray, or many, had to do. */
typedef struct tritree_counts {
    uint64_t nodes;     /* read, leaves included */
    uint64_t leaves;    /* visited, empty ones included */
    uint64_t triangles; /* tested */
} tritree_counts;

/* A ray prepared for planes. */
typedef struct tritree_walk {
    float origin[3], inverse[3], slack[3];
    uint64_t negative[3]; /* all bits set where the direction is negative */
    float slack_t;        /* what a hit's t may be off */
    float near, far;      /* where the ray is in the tree's box, widened by the slack */
} tritree_walk;

typedef struct tritree_stack_entry {
    uint64_t node; /* the node itself, tritree_bits */
    float near, far;
} tritree_stack_entry;

/* False if the ray misses the tree's box. */
KD_FN bool tritree_walk_begin(tritree_walk *walk, const tritree_view *tree, ray cast) {
    const vec3 d = cast.direction, o = cast.origin;
    const float largest = float_max(fabsf(d.x), float_max(fabsf(d.y), fabsf(d.z)));
    if (!(largest > 0 && largest <= FLT_MAX) || tree->reference_count == 0) return false;
    const vec3 lo = vec3_sub(tree->box.lo, o), hi = vec3_sub(tree->box.hi, o);
    const float reach =
        vec3_largest(vec3_max(vec3_max(hi, vec3_negate(hi)), vec3_max(lo, vec3_negate(lo))));
    float near = cast.tmin, far = cast.tmax;
    for (int axis = 0; axis < 3; ++axis) {
        const float along = vec3_axis(d, axis);
        const float safe =
            fabsf(along) > largest * 0x1p-26f ? along : copysignf(largest * 0x1p-26f, along);
        const float inverse = 1 / safe;
        const float slack = reach * fabsf(inverse) * 0x1p-21f;
        const float t0 = vec3_axis(lo, axis) * inverse, t1 = vec3_axis(hi, axis) * inverse;
        near = float_max(float_min(t0, t1) - slack, near);
        far = float_min(float_max(t0, t1) + slack, far);
        walk->origin[axis] = vec3_axis(o, axis);
        walk->inverse[axis] = inverse;
        walk->slack[axis] = slack;
        walk->negative[axis] = inverse < 0 ? ~(uint64_t)0 : 0;
    }
    walk->slack_t = reach / largest * 0x1p-17f; /* a triangle seen nearly edge-on */
    walk->near = near;
    walk->far = far;
    return near <= far;
}

/* Takes a triangle's hit into account if the ray's range holds it and it beats `best`: nearest
   first, then smallest id; a ray's end itself is outside its range. */
KD_FN bool tritree_triangle_meet(const triangle_caster *caster, vec3 a, vec3 b, vec3 c, uint32_t id,
                                 float tmin, ray_hit *best) {
    float t = 0, u = 0, v = 0;
    if (!triangle_meet(caster, a, b, c, &t, &u, &v)) return false;
    if (!(t > tmin &&
          (t < best->t || (t == best->t && best->triangle != KD_NONE && id < best->triangle))))
        return false;
    best->t = t;
    best->u = u;
    best->v = v;
    best->triangle = id;
    return true;
}

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

/* A kernel that casts from many places defines this as KD_FN_APART: one copy of the walk. */
#ifndef TRITREE_CAST_FN
#define TRITREE_CAST_FN KD_FN
#endif
TRITREE_CAST_FN ray_hit tritree_cast(const tritree_view *tree, ray cast, bool any,
                                     tritree_counts *counts) {
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

/* The nearest hit in the ray's range; of hits at the same t the one with the smallest id. */
KD_FN ray_hit tritree_closest(const tritree_view *tree, ray cast) {
    return tritree_cast(tree, cast, false, (tritree_counts *)0);
}
/* Whether anything is hit in the ray's range. */
KD_FN bool tritree_occluded(const tritree_view *tree, ray cast) {
    return tritree_cast(tree, cast, true, (tritree_counts *)0).triangle != KD_NONE;
}
/* The same, adding up what was done. */
KD_FN ray_hit tritree_closest_counted(const tritree_view *tree, ray cast, tritree_counts *counts) {
    return tritree_cast(tree, cast, false, counts);
}
KD_FN bool tritree_occluded_counted(const tritree_view *tree, ray cast, tritree_counts *counts) {
    return tritree_cast(tree, cast, true, counts).triangle != KD_NONE;
}

#endif
