/* Single rays on a device, through whichever form the tree has: the nodes of the k-d tree
   (accel/tree/walk.h), or, if it has no rows, the compressed form with indexed leaves. The
   hits are those of accel/tree/walk.h, bit for bit, for all rays.
   Idea: the eight boxes of a node are tested in float. The stack holds nodes with the set of
   children that are still to be visited; the node's order for the ray's octant tells which one is
   next.
   Invariants: with R, units and the point P of a hit as in compressed_walk.cuh: the bytes of a box
   contain P, whose distance from the ray is at most 6 units. t of a plane is (p - o) / d + q (e /
   d): the difference, the two products, 1 / d, e and the sum have errors of at most 10 units
   together, as q e is at most the tree's side, 2 R. Boxes are widened by 32 units and intervals by
   128, as in walk.h, so no box that contains P is missed. Where numbers overflow, a comparison with
   NaN hits the box. */
#ifndef KD_ACCEL_WIDE_COMPRESSED_SINGLE_CUH
#define KD_ACCEL_WIDE_COMPRESSED_SINGLE_CUH
#include "accel/tree/walk.h"
#include "accel/wide/compressed_form.h"

#ifdef __CUDACC__

/* A ray in the compressed form; walk.near and walk.far bound it in the tree's box. */
typedef struct compressed_single {
    float ox, oy, oz, ix, iy, iz; /* origin, 1 / direction */
    float slack;                  /* of a plane, for 1 / direction = 1 */
    float near, far, slack_t;
    uint32_t row; /* the octant's row in a node, as a uint4 */
} compressed_single;

TRITREE_DEVICE_FN void compressed_single_axis(uint32_t planes, int half, float first, float step,
                                              float slack, float *near, float *far) {
    const float t0 = fmaf((float)(planes >> (16 * half) & 255), step, first),
                t1 = fmaf((float)(planes >> (16 * half + 8) & 255), step, first);
    *near = fmaxf(*near, fminf(t0, t1) - slack);
    *far = fminf(*far, fmaxf(t0, t1) + slack);
}

/* Returns the set of children, by lane, whose boxes the ray may hit before `end`. */
TRITREE_DEVICE_FN uint32_t compressed_single_step(const compressed_single *ray, const uint4 *node,
                                                  float end) {
    const uint4 head = __ldg(node), x = __ldg(node + 1), y = __ldg(node + 2), z = __ldg(node + 3);
    const uint4 row = __ldg(node + ray->row);
    const float e = 1 / __uint_as_float(head.w);
    const float from_x = (__uint_as_float(head.x) - ray->ox) * ray->ix,
                from_y = (__uint_as_float(head.y) - ray->oy) * ray->iy,
                from_z = (__uint_as_float(head.z) - ray->oz) * ray->iz;
    const uint32_t xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w},
                   zs[4] = {z.x, z.y, z.z, z.w};
    uint32_t hit = 0;
#pragma unroll
    for (int lane = 0; lane < COMPRESSED_CHILDREN; ++lane) {
        const int pair = (lane & 1) + (lane >> 2) * 2, half = lane >> 1 & 1;
        const uint32_t meta = (lane < 4 ? row.x : row.y) >> (8 * (lane & 3)) & 255;
        float near = ray->near, far = fminf(ray->far, end);
        compressed_single_axis(xs[pair], half, from_x, e * ray->ix, ray->slack * fabsf(ray->ix),
                               &near, &far);
        compressed_single_axis(ys[pair], half, from_y, e * ray->iy, ray->slack * fabsf(ray->iy),
                               &near, &far);
        compressed_single_axis(zs[pair], half, from_z, e * ray->iz, ray->slack * fabsf(ray->iz),
                               &near, &far);
        if (meta && !(near > far)) hit |= 1u << lane;
    }
    return hit;
}

/* Intersects the ray with the triangles of an indexed leaf. Returns true if one of them improves
   the hit. */
TRITREE_DEVICE_FN bool compressed_single_leaf(const tritree_view *tree, uint32_t unit,
                                              const precomputed_ray *ray, float tmin,
                                              ray_hit *best) {
    const uint32_t *list =
        (const uint32_t *)((const uint4 *)tree->compressed + 2 * (uint64_t)unit) - 4;
    bool found = false;
    uint32_t word;
#pragma unroll 1
    do {
        word = __ldg(list++);
        const uint32_t id = word & ~COMPRESSED_LAST;
        const uint32_t *index = tree->triangles + 3 * (uint64_t)id;
        found |= tritree_triangle_intersect(ray, tree->positions[__ldg(index)],
                                            tree->positions[__ldg(index + 1)],
                                            tree->positions[__ldg(index + 2)], id, tmin, best);
    } while (!(word & COMPRESSED_LAST));
    return found;
}

/* Returns the lane that is next in the node's order. z: whether the direction is negative in z. */
TRITREE_DEVICE_FN uint32_t compressed_single_next(uint32_t order, bool z, uint32_t left) {
    for (int k = 0; k < COMPRESSED_CHILDREN; ++k) {
        const uint32_t lane = order >> (z ? 28 - 4 * k : 4 * k) & 7;
        if (left >> lane & 1) return lane;
    }
    return 0;
}

TRITREE_DEVICE_FN compressed_single compressed_single_make(const tritree_walk *begun) {
    compressed_single made;
    made.ox = begun->origin[0], made.oy = begun->origin[1], made.oz = begun->origin[2];
    made.ix = begun->inverse[0], made.iy = begun->inverse[1], made.iz = begun->inverse[2];
    made.slack = begun->reach * (0x1p-19f * 1.000001f);
    made.near = begun->near, made.far = begun->far, made.slack_t = begun->slack_t;
    const uint32_t octant = (made.ix < 0 ? 1 : 0) | (made.iy < 0 ? 2 : 0);
    made.row = 4 + (made.iz < 0 ? octant ^ 3 : octant);
    return made;
}

TRITREE_DEVICE_FN ray_hit compressed_single_cast(const tritree_view *tree, ray ray, bool any) {
    uint2 stack[COMPRESSED_MAX_DEPTH]; /* a node's unit, its children that are left */
    tritree_walk begun;
    int waiting = 0;
    ray_hit best = {ray.tmax, 0, 0, KD_NONE};
    if (!tritree_walk_begin(&begun, tree, ray)) return best;
    const precomputed_ray precomputed = precomputed_ray_make(ray);
    const compressed_single walk = compressed_single_make(&begun);
    const uint4 *units = (const uint4 *)tree->compressed;
    const uint32_t alignment = compressed_alignment(true, tree->triangle_count);
    uint32_t at = 0, left = compressed_single_step(&walk, units, best.t + walk.slack_t);
    for (;;) {
        while (!left) {
            if (waiting == 0) return best;
            at = stack[--waiting].x, left = stack[waiting].y;
        }
        const uint4 row = __ldg(units + 2 * (uint64_t)at + walk.row);
        const uint32_t lane = compressed_single_next(row.w, walk.iz < 0, left);
        const uint32_t place = (lane < 4 ? row.x : row.y) >> (8 * (lane & 3)) & 127;
        const uint32_t unit = (row.z & ((1u << COMPRESSED_INNER_SHIFT) - 1)) * alignment + place;
        left &= ~(1u << lane);
        if (place > COMPRESSED_NODE_UNITS * (row.z >> COMPRESSED_INNER_SHIFT)) {
            if (compressed_single_leaf(tree, unit, &precomputed, ray.tmin, &best) && any)
                return best;
            continue;
        }
        if (left) stack[waiting++] = make_uint2(at, left);
        at = unit;
        left = compressed_single_step(&walk, units + 2 * (uint64_t)at, best.t + walk.slack_t);
    }
}

/* Casts a ray through either form. Path tracing kernels cast rays from many places. One shared copy
   of the traversal with its own registers gives a higher occupancy than inlining it everywhere. */
static __device__ __noinline__ ray_hit tritree_device_single(const tritree_view *tree, ray ray,
                                                             bool any) {
    return tree->rows ? tritree_device_cast_inline(tree, ray, any)
                      : compressed_single_cast(tree, ray, any);
}

#endif
#endif
