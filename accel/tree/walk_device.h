/* Rays through the triangle k-d tree on a device: the answers of tritree_cast, bit for bit.
   Idea: the same visits (a plane is both nearer and farther than computed, by the slack) and the
   same triangle_meet, but what a step needs lies in one place: a node is one 8-byte read, a pair of
   children 16 aligned bytes, a leaf's triangles three 16-byte rows each, in the leaf's order. A row
   is one axis of the three corners, so that the axes as the ray sees them are a matter of which row
   is read, and each row has the triangle's id, so that the last one brings it.
   The slack of an axis is computed from one number where it is needed; a fused product is right
   there, for it decides on visits alone. The stack is an array apart from the walk, which thus
   stays in registers. */
#ifndef KD_ACCEL_TREE_WALK_DEVICE_H
#define KD_ACCEL_TREE_WALK_DEVICE_H
#include "accel/tree/walk_bounds.h"

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

#endif
