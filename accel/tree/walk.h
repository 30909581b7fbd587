/* Rays through the triangle k-d tree: the plain walk that every faster kernel is compared with, and
   that accel/rays/batch.h takes where a tree has no other form. What is asked of a leaf is given,
   so that placed meshes (accel/placed_walk.h) are walked by it, too.
   Idea: front to back with a stack of {far child, its part of the ray}; near and far are told by
   the direction's sign.
   Invariants: a leaf is visited unless the ray surely misses it. Where the ray meets a plane is
   known up to `slack` (the sum is below), so a triangle that triangle_meet would report is never
   lost between two leaves, and the answer is that of testing all triangles: nearest t, then
   smallest id, whatever the tree. */
#ifndef KD_ACCEL_TREE_WALK_H
#define KD_ACCEL_TREE_WALK_H
#include "accel/tree/layout.h"
#include "accel/tree/triangle.h"

/* How every traversal begins, and how it takes a hit into account.
   Invariants: let P be the point that a hit names (triangle.h), R the largest distance along an
   axis from the origin to the tree's box, and a unit 2^-24 of R. P is in some leaf's cell, and the
   leaf has the triangle. The ray is within 6 units of P; where it meets a plane of that cell is
   computed to 4 units (the difference, 1 / direction, their product, and the slack's sum): so with
   a slack of 12 units to either side no cell of P is taken for missed. A direction component of
   zero counts as 2^-26 of the largest one: another quarter of a unit, and no product with it is
   NaN. A hit's t is within 104 units of P's. So cells that begin no later than slack_t, 128 units,
   behind the nearest hit are visited, as are those that end no earlier than that before the ray's
   begin, or begin no later behind its end: a hit in its range may have its P beyond. */

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

/* Rays through the triangle k-d tree on a device: the answers of tritree_cast, bit for bit.
   Idea: the same visits (a plane is both nearer and farther than computed, by the slack) and the
   same triangle_meet, but what a step needs lies in one place: a node is one 8-byte read, a pair of
   children 16 aligned bytes, a leaf's triangles three 16-byte rows each, in the leaf's order. A row
   is one axis of the three corners, so that the axes as the ray sees them are a matter of which row
   is read, and each row has the triangle's id, so that the last one brings it.
   The slack of an axis is computed from one number where it is needed; a fused product is right
   there, for it decides on visits alone. The stack is an array apart from the walk, which thus
   stays in registers. */

#ifdef __CUDACC__
#define TRITREE_DEVICE_FN static __device__ __forceinline__

/* The compiler is told that a value might change here, from triangle to triangle. What follows from
   the ray's direction is needed where a triangle is asked for in double, which is rare: it must not
   be computed for every ray and kept; and three pointers that walk along are more registers than
   one number. (64 registers, words spilled and read back: 26 and 41, now 17 and 34.) */
#ifdef KD_CUDA_EMULATED
#define TRITREE_DEVICE_CHANGES(value, kind) (void)(value)
#else
#define TRITREE_DEVICE_CHANGES(value, kind) asm("" : kind(value))
#endif

enum { TRITREE_DEVICE_STACK = TRITREE_MAX_DEPTH + 2 };

typedef float4 tritree_device_entry; /* bits of a node's place in pairs, near, far */

/* A ray on its way. */
typedef struct tritree_device_walk {
    float ox, oy, oz; /* origin */
    float ix, iy, iz; /* 1 / direction */
    float slack;      /* of a plane, where 1 / direction is 1 */
    float slack_t;    /* of a hit */
    float near, far;
    int kz;               /* the axis of the direction's largest component */
    triangle_caster with; /* its axes are those of the triangles' rows kx, ky, kz */
    float tmin;
    ray_hit best;
    uint32_t at, end; /* a node, or what is left of a leaf */
    int waiting;      /* on the stack */
} tritree_device_walk;

/* The ray with the axes that its triangles are seen along as 0, 1, 2. */
TRITREE_DEVICE_FN triangle_caster triangle_caster_turned(const triangle_caster *from) {
    triangle_caster turned = *from;
    turned.origin = vec3_make(vec3_axis(from->origin, from->kx), vec3_axis(from->origin, from->ky),
                              vec3_axis(from->origin, from->kz));
    turned.direction =
        vec3_make(vec3_axis(from->direction, from->kx), vec3_axis(from->direction, from->ky),
                  vec3_axis(from->direction, from->kz));
    turned.kx = 0, turned.ky = 1, turned.kz = 2;
    return turned;
}

/* False if the ray misses the tree's box; the hit says so already. */
TRITREE_DEVICE_FN bool tritree_device_begin(tritree_device_walk *on, const box3 *box, bool empty,
                                            ray cast) {
    tritree_view box_only;
    tritree_walk begun;
    box_only.box = *box;
    box_only.reference_count = empty ? 0 : 1;
    on->best.t = cast.tmax;
    on->best.u = on->best.v = 0;
    on->best.triangle = KD_NONE;
    if (!tritree_walk_begin(&begun, &box_only, cast)) return false;
    const triangle_caster caster = triangle_caster_make(cast);
    on->kz = caster.kz;
    on->with = triangle_caster_turned(&caster);
    on->tmin = cast.tmin;
    on->ox = cast.origin.x, on->oy = cast.origin.y, on->oz = cast.origin.z;
    on->ix = begun.inverse[0], on->iy = begun.inverse[1], on->iz = begun.inverse[2];
    on->slack = begun.reach * (TRITREE_SLACK * 1.000001f);
    on->slack_t = begun.slack_t;
    on->near = begun.near;
    on->far = begun.far;
    on->at = 1;
    on->waiting = 0;
    return true;
}

/* To the next leaf. */
TRITREE_DEVICE_FN void tritree_device_descend(tritree_device_walk *on, const uint2 *pairs,
                                              tritree_device_entry *stack) {
    uint2 node = __ldg(pairs + on->at);
    while ((node.y & 3) != TRITREE_LEAF) {
        const float inverse = node.y & 2 ? on->iz : node.y & 1 ? on->iy : on->ix;
        const float origin = node.y & 2 ? on->oz : node.y & 1 ? on->oy : on->ox;
        const float t = (__uint_as_float(node.x) - origin) * inverse;
        const float low = fmaf(-on->slack, fabsf(inverse), t);
        const float high = fmaf(on->slack, fabsf(inverse), t);
        const uint32_t closer = (node.y >> 2) + (__float_as_uint(inverse) >> 31);
        on->at = closer;
        if (high < on->near) {
            on->at = closer ^ 1;
        } else if (!(low > on->far)) {
            tritree_device_entry *to = stack + on->waiting++;
            to->x = __uint_as_float(closer ^ 1);
            to->y = fmaxf(low, on->near);
            to->z = on->far;
            on->far = fminf(high, on->far);
        }
        node = __ldg(pairs + on->at);
    }
    on->at = node.x;
    on->end = on->at + (node.y >> 2);
}

/* The leaf's triangles; true if one of them improves the hit. */
TRITREE_DEVICE_FN bool tritree_device_meet(tritree_device_walk *on, const float4 *leaf_rows) {
    const uint32_t kz = (uint32_t)on->kz, kx = kz == 2 ? 0 : kz + 1, ky = kz == 0 ? 2 : kz - 1;
    triangle_caster with = on->with;
    with.kx = 0, with.ky = 1, with.kz = 2; /* said again where the compiler sees it */
    bool found = false;
#pragma unroll 1
    for (; on->at < on->end; ++on->at) {
        /* 96 bytes each, so that no device holds 2^32 / 3 of them */
        uint32_t row = 3 * on->at;
        TRITREE_DEVICE_CHANGES(row, "+r");
        TRITREE_DEVICE_CHANGES(with.direction.x, "+f");
        TRITREE_DEVICE_CHANGES(with.direction.y, "+f");
        TRITREE_DEVICE_CHANGES(with.direction.z, "+f");
        const float4 x = __ldg(leaf_rows + (row + kx)), y = __ldg(leaf_rows + (row + ky)),
                     z = __ldg(leaf_rows + (row + kz));
        found |= tritree_triangle_meet(&with, vec3_make(x.x, y.x, z.x), vec3_make(x.y, y.y, z.y),
                                       vec3_make(x.z, y.z, z.z), __float_as_uint(z.w), on->tmin,
                                       &on->best);
    }
    return found;
}

/* The next subtree; false if there is none that could improve the hit. */
TRITREE_DEVICE_FN bool tritree_device_pop(tritree_device_walk *on,
                                          const tritree_device_entry *stack) {
    do {
        if (on->waiting == 0) return false;
        --on->waiting;
    } while (stack[on->waiting].y > on->best.t + on->slack_t);
    on->at = __float_as_uint(stack[on->waiting].x);
    on->near = stack[on->waiting].y;
    on->far = stack[on->waiting].z;
    return true;
}

TRITREE_DEVICE_FN ray_hit tritree_device_cast_here(const tritree_view *tree, ray cast, bool any) {
    const uint2 *pairs = (const uint2 *)tree->pairs;
    const float4 *leaf_rows = (const float4 *)tree->leaf_rows;
    tritree_device_entry stack[TRITREE_DEVICE_STACK];
    tritree_device_walk on;
    if (!tritree_device_begin(&on, &tree->box, tree->reference_count == 0, cast)) return on.best;
    do {
        tritree_device_descend(&on, pairs, stack);
        if (tritree_device_meet(&on, leaf_rows) && any) break;
    } while (tritree_device_pop(&on, stack));
    return on.best;
}

/* A kernel that follows paths casts from many places: one copy of the walk, whose registers are its
   own, leaves more threads on a processor than a copy at each place. */
static __device__ __noinline__ ray_hit tritree_device_cast(const tritree_view *tree, ray cast,
                                                           bool any) {
    return tritree_device_cast_here(tree, cast, any);
}
#endif

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
   whether there is any hit in it. Both add to *counts; without counts: accel/rays/batch.h. */
KD_FN ray_hit tritree_closest_counted(const tritree_view *tree, ray cast, tritree_counts *counts) {
    return tritree_cast(tree, cast, false, counts);
}
KD_FN bool tritree_occluded_counted(const tritree_view *tree, ray cast, tritree_counts *counts) {
    return tritree_cast(tree, cast, true, counts).triangle != KD_NONE;
}

#endif
