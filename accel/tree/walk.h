/* Reference traversal of the triangle k-d tree. Every optimised traversal is tested against it, bit
   for bit; accel/rays/batch.h falls back to it for trees without a wide form. The leaf test is a
   callback, so that instances (accel/instance_walk.h) use the same traversal.
   Idea: front to back with a stack of {far child, its interval of the ray}; the sign of the
   direction determines which child is the near one.
   Invariants: a leaf is visited unless the ray certainly misses it. The t of a splitting plane is
   known up to `slack` (derived below), so no triangle that triangle_intersect reports a hit for is
   lost between two leaves. The result equals that of testing all triangles (nearest t, then
   smallest id), whatever the tree. */
#ifndef KD_ACCEL_TREE_WALK_H
#define KD_ACCEL_TREE_WALK_H
#include "accel/tree/layout.h"
#include "accel/tree/triangle.h"

/* Setup that all traversals share, and the rule by which a hit replaces the best one.
   Invariants: let P be the point of a hit (triangle.h), R the largest distance along an axis from
   the origin to the tree's box, and a unit 2^-24 R. P lies in the cell of some leaf, and that leaf
   contains the triangle. The ray passes within 6 units of P. The t of a plane of that cell has an
   error of at most 4 units (difference, 1 / direction, product, and sum with the slack), so a slack
   of 12 units to either side never rejects a cell that contains P. A direction component of zero is
   replaced by 2^-26 of the largest component, which adds another quarter of a unit and avoids NaN
   products. The t of a hit is within 104 units of that of P. Therefore cells are visited if they
   begin no later than slack_t, 128 units, beyond the nearest hit; likewise the ray's interval is
   widened by slack_t at both ends, because the P of a hit inside the interval may lie outside
   it. */

/* Slacks of planes and of hits, relative to the largest distance to the tree's box. */
#define TRITREE_SLACK 0x1.8p-21f
#define TRITREE_SLACK_T 0x1p-17f

/* A ray prepared for intersection with axis-aligned planes. */
typedef struct tritree_walk {
    float origin[3], inverse[3], slack[3];
    uint64_t negative[3]; /* all bits set if the direction is negative */
    /* largest distance along an axis to the tree's box; the slack of an axis is TRITREE_SLACK reach
       |inverse| */
    float reach;
    float slack_t;   /* error bound of a hit's t */
    float near, far; /* the ray's interval in the tree's box, slack included */
} tritree_walk;

typedef struct tritree_stack_entry {
    uint64_t node; /* the node itself, by tritree_bits */
    float near, far;
} tritree_stack_entry;

/* Returns false if the ray misses the tree's box. */
KD_FN bool tritree_walk_begin(tritree_walk *walk, const tritree_view *tree, ray ray) {
    const vec3 d = ray.direction, o = ray.origin;
    const float largest = float_max(fabsf(d.x), float_max(fabsf(d.y), fabsf(d.z)));
    if (!(largest > 0 && largest <= FLT_MAX) || tree->reference_count == 0) return false;
    const vec3 lo = vec3_sub(tree->box.lo, o), hi = vec3_sub(tree->box.hi, o);
    const float reach =
        vec3_largest(vec3_max(vec3_max(hi, vec3_negate(hi)), vec3_max(lo, vec3_negate(lo))));
    const float slack_t = reach / largest * TRITREE_SLACK_T;
    float near = ray.tmin - slack_t, far = ray.tmax + slack_t;
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

/* Intersects the ray with a triangle and updates `best` if the hit is nearer, or equally near with
   a smaller id. Returns true if it did. The interval (tmin, best->t) is open. */
KD_FN bool tritree_triangle_intersect(const precomputed_ray *precomputed, vec3 a, vec3 b, vec3 c,
                                      uint32_t id, float tmin, ray_hit *best) {
    float t = 0, u = 0, v = 0;
    if (!triangle_intersect(precomputed, a, b, c, &t, &u, &v)) return false;
    if (!(t > tmin &&
          (t < best->t || (t == best->t && best->triangle != KD_NONE && id < best->triangle))))
        return false;
    best->t = t;
    best->u = u;
    best->v = v;
    best->triangle = id;
    return true;
}

/* GPU traversal of the triangle k-d tree; returns the hits of tritree_cast, bit for bit.
   Idea: the same nodes are visited (planes are widened by the slack in both directions) and the
   same triangle_intersect decides, but a node is one 8-byte load, a pair of children 16 aligned
   bytes, and each triangle three 16-byte rows. A row holds one axis of the three corners, so
   permuting the axes for a ray only changes which rows are loaded.
   The slack of an axis is recomputed from one number where it is needed. Fused multiply-adds are
   allowed there, because they only affect which nodes are visited. The stack is an array separate
   from the traversal state, so that the state stays in registers. */

#ifdef __CUDACC__
#define TRITREE_DEVICE_FN static __device__ __forceinline__

/* An empty asm statement that makes the compiler assume that `value` changes for each triangle. It
   stops the compiler from hoisting two things out of the loop: terms of the direction that only the
   rare double-precision path needs, and three row pointers, which take more registers than one
   index. (With 64 registers it reduces the bytes spilled from 26 to 17, and those reloaded from 41
   to 34.) */
#ifdef KD_CUDA_EMULATED
#define TRITREE_DEVICE_CHANGES(value, kind) (void)(value)
#else
#define TRITREE_DEVICE_CHANGES(value, kind) asm("" : kind(value))
#endif

enum { TRITREE_DEVICE_STACK = TRITREE_MAX_DEPTH + 2 };

typedef float4 tritree_device_entry; /* bits of a node's index + 1, near, far */

/* A ray and the state of its traversal. */
typedef struct tritree_device_walk {
    float ox, oy, oz; /* origin */
    float ix, iy, iz; /* 1 / direction */
    float slack;      /* slack of a plane, for 1 / direction = 1 */
    float slack_t;    /* error bound of a hit's t */
    float near, far;
    int kz;              /* the axis of the direction's largest component */
    precomputed_ray ray; /* axes permuted: kx, ky, kz are 0, 1, 2 */
    float tmin;
    ray_hit best;
    uint32_t at, end; /* a node's index + 1; in a leaf: the remaining references */
    int waiting;      /* entries on the stack */
} tritree_device_walk;

/* Returns the ray with its axes permuted, so that kx, ky, kz are 0, 1, 2. */
TRITREE_DEVICE_FN precomputed_ray precomputed_ray_turned(const precomputed_ray *ray) {
    precomputed_ray turned = *ray;
    turned.origin = vec3_make(vec3_axis(ray->origin, ray->kx), vec3_axis(ray->origin, ray->ky),
                              vec3_axis(ray->origin, ray->kz));
    turned.direction =
        vec3_make(vec3_axis(ray->direction, ray->kx), vec3_axis(ray->direction, ray->ky),
                  vec3_axis(ray->direction, ray->kz));
    turned.kx = 0, turned.ky = 1, turned.kz = 2;
    return turned;
}

/* Returns false if the ray misses the tree's box; best is then a miss. */
TRITREE_DEVICE_FN bool tritree_device_begin(tritree_device_walk *walk, const box3 *box, bool empty,
                                            ray ray) {
    tritree_view box_only;
    tritree_walk begun;
    box_only.box = *box;
    box_only.reference_count = empty ? 0 : 1;
    walk->best.t = ray.tmax;
    walk->best.u = walk->best.v = 0;
    walk->best.triangle = KD_NONE;
    if (!tritree_walk_begin(&begun, &box_only, ray)) return false;
    const precomputed_ray precomputed = precomputed_ray_make(ray);
    walk->kz = precomputed.kz;
    walk->ray = precomputed_ray_turned(&precomputed);
    walk->tmin = ray.tmin;
    walk->ox = ray.origin.x, walk->oy = ray.origin.y, walk->oz = ray.origin.z;
    walk->ix = begun.inverse[0], walk->iy = begun.inverse[1], walk->iz = begun.inverse[2];
    walk->slack = begun.reach * (TRITREE_SLACK * 1.000001f);
    walk->slack_t = begun.slack_t;
    walk->near = begun.near;
    walk->far = begun.far;
    walk->at = 1;
    walk->waiting = 0;
    return true;
}

/* Descends to the next leaf; pushes far children. `nodes`: the tree's, less one, so that the
   indices of siblings differ in the lowest bit. */
TRITREE_DEVICE_FN void tritree_device_descend(tritree_device_walk *walk, const uint2 *nodes,
                                              tritree_device_entry *stack) {
    uint2 node = __ldg(nodes + walk->at);
    while ((node.y & 3) != TRITREE_LEAF) {
        const float inverse = node.y & 2 ? walk->iz : node.y & 1 ? walk->iy : walk->ix;
        const float origin = node.y & 2 ? walk->oz : node.y & 1 ? walk->oy : walk->ox;
        const float t = (__uint_as_float(node.x) - origin) * inverse;
        const float low = fmaf(-walk->slack, fabsf(inverse), t);
        const float high = fmaf(walk->slack, fabsf(inverse), t);
        const uint32_t closer = (node.y >> 2) + 1 + (__float_as_uint(inverse) >> 31);
        walk->at = closer;
        if (high < walk->near) {
            walk->at = closer ^ 1;
        } else if (!(low > walk->far)) {
            tritree_device_entry *to = stack + walk->waiting++;
            to->x = __uint_as_float(closer ^ 1);
            to->y = fmaxf(low, walk->near);
            to->z = walk->far;
            walk->far = fminf(high, walk->far);
        }
        node = __ldg(nodes + walk->at);
    }
    walk->at = node.x;
    walk->end = walk->at + (node.y >> 2);
}

/* Intersects the ray with the triangles of its leaf. Returns true if one of them improves the
   hit. */
TRITREE_DEVICE_FN bool tritree_device_intersect(tritree_device_walk *walk,
                                                const tritree_view *tree) {
    const float4 *rows = (const float4 *)tree->rows;
    const uint32_t kz = (uint32_t)walk->kz, kx = kz == 2 ? 0 : kz + 1, ky = kz == 0 ? 2 : kz - 1;
    precomputed_ray ray = walk->ray;
    ray.kx = 0, ray.ky = 1, ray.kz = 2; /* repeated so that the compiler propagates the constants */
    bool found = false;
#pragma unroll 1
    for (; walk->at < walk->end; ++walk->at) {
        TRITREE_DEVICE_CHANGES(ray.direction.x, "+f");
        TRITREE_DEVICE_CHANGES(ray.direction.y, "+f");
        TRITREE_DEVICE_CHANGES(ray.direction.z, "+f");
        const uint32_t id = __ldg(tree->references + walk->at);
        uint32_t row = 3 * id; /* cannot overflow: tritree_cuda_open_view limits ids */
        TRITREE_DEVICE_CHANGES(row, "+r");
        const float4 x = __ldg(rows + (row + kx)), y = __ldg(rows + (row + ky)),
                     z = __ldg(rows + (row + kz));
        found |=
            tritree_triangle_intersect(&ray, vec3_make(x.x, y.x, z.x), vec3_make(x.y, y.y, z.y),
                                       vec3_make(x.z, y.z, z.z), id, walk->tmin, &walk->best);
    }
    return found;
}

/* Pops the next subtree that may contain a nearer hit; returns false if there is none. */
TRITREE_DEVICE_FN bool tritree_device_pop(tritree_device_walk *walk,
                                          const tritree_device_entry *stack) {
    do {
        if (walk->waiting == 0) return false;
        --walk->waiting;
    } while (stack[walk->waiting].y > walk->best.t + walk->slack_t);
    walk->at = __float_as_uint(stack[walk->waiting].x);
    walk->near = stack[walk->waiting].y;
    walk->far = stack[walk->waiting].z;
    return true;
}

TRITREE_DEVICE_FN ray_hit tritree_device_cast_inline(const tritree_view *tree, ray ray, bool any) {
    const uint2 *nodes = (const uint2 *)tree->nodes - 1;
    tritree_device_entry stack[TRITREE_DEVICE_STACK];
    tritree_device_walk walk;
    if (!tritree_device_begin(&walk, &tree->box, tree->reference_count == 0, ray)) return walk.best;
    do {
        tritree_device_descend(&walk, nodes, stack);
        if (tritree_device_intersect(&walk, tree) && any) break;
    } while (tritree_device_pop(&walk, stack));
    return walk.best;
}
#endif

/* Work done by one or more rays. */
typedef struct tritree_counts {
    uint64_t nodes;     /* loaded, leaves included */
    uint64_t leaves;    /* visited, empty ones included */
    uint64_t triangles; /* tested */
} tritree_counts;

/* Callback for each leaf that the ray visits: tests the triangles of the leaf and returns true if
   the nearest hit improved. */
typedef bool (*tritree_leaf_test)(void *context, tritree_node leaf);

#ifdef __CUDACC__
#define TRITREE_WALK_FN static __host__ __device__ __forceinline__
#elif defined(__GNUC__)
#define TRITREE_WALK_FN static inline __attribute__((always_inline))
#else
#define TRITREE_WALK_FN static inline
#endif

/* Traversal from front to back with a stack of far children. `nearest` points to the t of the
   nearest hit, which `test` updates. any: stops at the first hit, and returns true if there is
   one. */
TRITREE_WALK_FN bool tritree_walk_leaves(const tritree_node *nodes, const tritree_walk *walk,
                                         tritree_leaf_test test, void *context,
                                         const float *nearest, bool any, tritree_counts *counts) {
    tritree_stack_entry stack[TRITREE_MAX_DEPTH + 2];
    int waiting = 0;
    tritree_node node = nodes[0];
    float near = walk->near, far = walk->far;
    for (;;) {
        if (counts) ++counts->nodes;
        while (!tritree_is_leaf(node)) {
            /* The children are adjacent: both are loaded while the plane's t is computed. Whether
               to push the far child is unpredictable, so that is done without a branch. */
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
        if (test(context, node) && any) return true;
        do {
            if (waiting == 0) return false;
            --waiting;
        } while (stack[waiting].near > *nearest + walk->slack_t);
        node = tritree_from_bits(stack[waiting].node);
        near = stack[waiting].near;
        far = stack[waiting].far;
    }
}

/* User data of tritree_leaf_intersect: a ray and its best hit. */
typedef struct leaf_query {
    const tritree_view *tree;
    precomputed_ray precomputed;
    float tmin;
    ray_hit best;
} leaf_query;

/* Tests the triangles of a leaf, from their rows if the tree has rows, else from vertices. */
KD_FN bool tritree_leaf_intersect(void *context, tritree_node leaf) {
    leaf_query *request = (leaf_query *)context;
    const tritree_view *tree = request->tree;
    const uint32_t *ids = tree->references + tritree_first(leaf);
    const uint32_t count = tritree_count(leaf);
    bool found = false;
    for (uint32_t i = 0; i < count; ++i) {
        vec3 corner[3];
        if (tree->rows) {
            const triangle_rows *rows = tree->rows + ids[i];
            if (triangle_rows_missed(rows, &request->precomputed)) continue;
            for (int k = 0; k < 3; ++k) corner[k] = triangle_rows_corner(rows, k);
        } else {
            const uint32_t *index = tree->triangles + 3 * (uint64_t)ids[i];
            for (int k = 0; k < 3; ++k) corner[k] = tree->positions[index[k]];
        }
        found |= tritree_triangle_intersect(&request->precomputed, corner[0], corner[1], corner[2],
                                            ids[i], request->tmin, &request->best);
    }
    return found;
}

/* Casts a ray. any: stops at the first hit. */
KD_FN ray_hit tritree_cast(const tritree_view *tree, ray ray, bool any, tritree_counts *counts) {
    leaf_query request;
    tritree_walk walk;
    request.tree = tree;
    request.tmin = ray.tmin;
    request.best.t = ray.tmax;
    request.best.u = request.best.v = 0;
    request.best.triangle = KD_NONE;
    if (!tritree_walk_begin(&walk, tree, ray)) return request.best;
    request.precomputed = precomputed_ray_make(ray);
    tritree_walk_leaves(tree->nodes, &walk, tritree_leaf_intersect, &request, &request.best.t, any,
                        counts);
    return request.best;
}

/* The nearest hit in the ray's interval (of equally near hits the one with the smallest id), and
   whether there is any hit. Both add to *counts; the fast variants without counts are in
   accel/rays/batch.h. */
KD_FN ray_hit tritree_closest_counted(const tritree_view *tree, ray ray, tritree_counts *counts) {
    return tritree_cast(tree, ray, false, counts);
}
KD_FN bool tritree_occluded_counted(const tritree_view *tree, ray ray, tritree_counts *counts) {
    return tritree_cast(tree, ray, true, counts).triangle != KD_NONE;
}

#endif
