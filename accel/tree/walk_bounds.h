/* What every walk through the triangle k-d tree begins with, and how it takes a hit into account.
   Invariants: let P be the point that a hit names (triangle.h), R the largest distance along an
   axis from the origin to the tree's box, and a unit 2^-24 of R. P is in some leaf's cell, and the
   leaf has the triangle. The ray is within 6 units of P; where it meets a plane of that cell is
   computed to 4 units (the difference, 1 / direction, their product, and the slack's sum): so with
   a slack of 12 units to either side no cell of P is taken for missed. A direction component of
   zero counts as 2^-26 of the largest one: another quarter of a unit, and no product with it is
   NaN. A hit's t is within 104 units of P's. So cells that begin no later than slack_t, 128 units,
   behind the nearest hit are visited, as are those that end no earlier than that before the ray's
   begin, or begin no later behind its end: a hit in its range may have its P beyond. */
#ifndef KD_ACCEL_TREE_WALK_BOUNDS_H
#define KD_ACCEL_TREE_WALK_BOUNDS_H
#include "accel/geometry/triangle.h"
#include "accel/tree/layout.h"

/* Of the largest distance to the tree's box: what planes' and hits' places may be off. */
#define TRITREE_SLACK 0x1.8p-21f
#define TRITREE_SLACK_T 0x1p-17f

/* A ray prepared for planes. */
typedef struct tritree_walk {
    float origin[3], inverse[3], slack[3];
    uint64_t negative[3]; /* all bits set where the direction is negative */
    float reach;          /* the largest distance along an axis to the tree's box; a slack is
                             TRITREE_SLACK reach |inverse| */
    float slack_t;        /* what a hit's t may be off */
    float near, far;      /* where the ray is in the tree's box, widened by the slacks */
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
    const float slack_t = reach / largest * TRITREE_SLACK_T;
    float near = cast.tmin - slack_t, far = cast.tmax + slack_t;
    for (int axis = 0; axis < 3; ++axis) {
        const float along = vec3_axis(d, axis);
        const float safe =
            fabsf(along) > largest * 0x1p-26f ? along : copysignf(largest * 0x1p-26f, along);
        const float inverse = 1 / safe;
        const float slack = reach * fabsf(inverse) * TRITREE_SLACK;
        const float t0 = vec3_axis(lo, axis) * inverse, t1 = vec3_axis(hi, axis) * inverse;
        near = float_max(float_min(t0, t1) - slack, near);
        far = float_min(float_max(t0, t1) + slack, far);
        walk->origin[axis] = vec3_axis(o, axis);
        walk->inverse[axis] = inverse;
        walk->slack[axis] = slack;
        walk->negative[axis] = inverse < 0 ? ~(uint64_t)0 : 0;
    }
    walk->reach = reach;
    walk->slack_t = slack_t;
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

#endif
