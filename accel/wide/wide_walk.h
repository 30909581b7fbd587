/* Traversal of a wide tree by one ray: its setup, a node step, a leaf visit.
   Idea: a node step has no branch. The children that the ray hits are compressed, farthest first,
   to the top of its stack, and the topmost word is the next node or leaf. Steps of many rays can
   therefore be interleaved without mispredictions, each overlapping the memory latency of the
   others (wide_rays.c). A leaf has one branch, after everything is computed: is there a hit in the
   interval? Occlusion queries need neither order nor distances.
   Invariants: a leaf is visited unless the ray certainly misses all its triangles. A unit is 2^-24
   of the ray's reach, the largest distance along an axis from its origin to the tree's box. Bounds
   are relative to the tree's centre, so that bound * inverse + back has an error of at most 12
   units |inverse| (6 of them from the triangle test, walk.h); bounds are widened by 16 units of the
   tree's reach when they are built. For a ray from farther away, each step adds the additional
   margin that its own reach requires (`more`). The vectors of a leaf use the same operations as
   triangle_intersect, and lanes that they cannot decide are passed to triangle_intersect: results
   equal those of tritree_cast, bit for bit. */
#ifndef KD_ACCEL_WIDE_WIDE_WALK_H
#define KD_ACCEL_WIDE_WIDE_WALK_H
#include "accel/tree/vectors.h"
#include "accel/tree/walk.h"
#include "accel/wide/wide_lanes.h"
#include "accel/wide/wide_tree.h"

enum {
    WIDE_OVER = 0,
    WIDE_FLOOR = 8, /* sentinels below a stack: word WIDE_OVER, distance -infinity */
    /* capacity of a stack; a step writes a whole vector */
    WIDE_STACK = (WIDE_LANES - 1) * WIDE_MAX_DEPTH + WIDE_FLOOR + 2 * WIDE_LANES
};

typedef struct wide_ray {
    float4v inverse, back; /* t of a plane: plane * inverse + back */
    float begin, limit;    /* interval of children to visit: slack_t beyond the hits' interval */
    float tmin;            /* lower end of the hit interval */
    float slack_t;
    float4v shear;      /* sx, sy, sz of precomputed_ray */
    float origin[3];    /* permuted to the axes kx, ky, kz */
    uint32_t word;      /* next: a node, a leaf, or WIDE_OVER */
    ray_hit best;       /* for `any` only the triangle: 0 or KD_NONE */
    uint16_t nearer[4]; /* offset of the near planes of each axis: 0 or WIDE_LANES */
    uint16_t octant;    /* index of a node's order */
    uint16_t rows[3];   /* offsets of the axes kx, ky, kz in a leaf */
    uint32_t top;       /* entries of the stack below the next one */
    uint32_t number;    /* index of the ray */
    uint32_t *words;    /* the stack; after it, for closest hits, the entries' near distances */
} wide_ray;

/* For rays from far away: widening of the near and far planes, in t. */
typedef struct wide_far {
    float more[3];
} wide_far;

typedef enum wide_aim { WIDE_NEAR, WIDE_FAR, WIDE_PLAIN /* cast by tritree_cast */ } wide_aim;

VECTOR8_FN uint32_t wide_stack_capacity(const wide_tree *tree) {
    return (WIDE_LANES - 1) * tree->depth + WIDE_FLOOR + 2 * WIDE_LANES;
}
VECTOR8_FN void wide_stack_empty(wide_ray *ray, uint32_t *words, float *nears) {
    ray->words = words;
    for (uint32_t i = 0; i < WIDE_FLOOR; ++i) {
        words[i] = WIDE_OVER;
        if (nears) nears[i] = -INFINITY;
    }
}

/* Returns whether the numbers of a ray are in the range for which vectors are made. */
VECTOR8_FN bool wide_is_usual(float largest, float slack_t) {
    return largest >= 0x1p-90f && largest <= 0x1p90f && slack_t < 0x1p50f;
}

/* Setup for triangles, as precomputed_ray_make. */
VECTOR8_FN void wide_ray_shear(wide_ray *wide_ray, const float *origin, const float *along,
                               float4v size) {
    static const uint8_t after[5] = {0, 1, 2, 0, 1};
    static const uint8_t largest[8] = {2, 2, 1, 2, 2, 0, 1, 0}; /* x > y: 1, y > z: 2, x > z: 4 */
    const float4v former = __builtin_shufflevector(size, size, 0, 1, 0, 3);
    const float4v latter = __builtin_shufflevector(size, size, 1, 2, 2, 3);
    const int kz = largest[int4v_signs((int4v)(former > latter))];
    const int axes[3] = {after[kz + 1], after[kz + 2], kz};
    for (int i = 0; i < 3; ++i) {
        wide_ray->origin[i] = origin[axes[i]];
        wide_ray->rows[i] = (uint16_t)(3 * axes[i]);
    }
    const float4v over = {along[axes[0]], along[axes[1]], 1, 1};
    wide_ray->shear = over / along[kz];
}

/* Sets up the direction of a ray, at the root of a tree with the given box. `origin` and `along`
   are in memory what `o` and `d` are in registers. Returns the ray's reach; *largest is the largest
   component of its direction. */
VECTOR8_FN float wide_ray_aim(wide_ray *wide_ray, const float4v box[2], float4v centre, float4v o,
                              float4v d, const float *origin, const float *along, float *largest) {
    enum { N = WIDE_LANES };
    static const uint16_t nearer[8][4] = {{0, 0, 0}, {N, 0, 0}, {0, N, 0}, {N, N, 0},
                                          {0, 0, N}, {N, 0, N}, {0, N, N}, {N, N, N}};
    const float4v size = float4v_abs(d);
    *largest = float4v_largest(size);
    const float4v far = float4v_max(float4v_abs(box[0] - o), float4v_abs(box[1] - o));
    const int4v sign = (int4v)d & INT32_MIN;
    const float4v safe =
        (float4v)((int4v)float4v_max(size, float4v_all(*largest * 0x1p-26f)) | sign);
    const uint32_t octant = int4v_signs((int4v)d);
    wide_ray->inverse = 1 / safe;
    wide_ray->back = (centre - o) * wide_ray->inverse;
    memcpy(wide_ray->nearer, nearer[octant], sizeof wide_ray->nearer);
    wide_ray_shear(wide_ray, origin, along, size);
    wide_ray->octant = (uint16_t)octant;
    wide_ray->word = 0;
    wide_ray->top = WIDE_FLOOR;
    return float4v_largest(far);
}

/* Sets up a ray at the root. Returns which traversal can handle it. */
VECTOR8_FN wide_aim wide_ray_begin(wide_ray *wide_ray, const tritree_view *tree, const ray *ray) {
    const float4v box[2] = {float4v_of(tree->box.lo), float4v_of(tree->box.hi)};
    float largest;
    const float reach =
        wide_ray_aim(wide_ray, box, float4v_of(tree->wide->centre), float4v_of(ray->origin),
                     float4v_of(ray->direction), &ray->origin.x, &ray->direction.x, &largest);
    wide_ray->slack_t = reach / largest * TRITREE_SLACK_T;
    wide_ray->tmin = ray->tmin;
    wide_ray->begin = ray->tmin - wide_ray->slack_t;
    wide_ray->limit = ray->tmax + wide_ray->slack_t;
    wide_ray->best.t = ray->tmax;
    wide_ray->best.u = wide_ray->best.v = 0;
    wide_ray->best.triangle = KD_NONE;
    /* All further results are then in the range of float, and 1 / direction is accurate. */
    const bool usual =
        wide_is_usual(largest, wide_ray->slack_t) && wide_ray->begin <= wide_ray->limit;
    return !usual ? WIDE_PLAIN : reach <= tree->wide->reach ? WIDE_NEAR : WIDE_FAR;
}

VECTOR8_FN wide_far wide_ray_far(const wide_ray *ray) {
    /* slack_t is reach / largest * 2^-17; the widening of 2^-20 reach / largest is 2^-3 of that. */
    wide_far far;
    const float along = 1 / fabsf(ray->shear[2]);
    const float reach = ray->slack_t * along * (0x1p-3f * 0x1.00001p0f);
    for (int axis = 0; axis < 3; ++axis) far.more[axis] = reach * fabsf(ray->inverse[axis]);
    return far;
}

/* Computes the ray's interval in each child of its node. */
VECTOR8_FN void wide_intersect_children(const wide_ray *at, const float *node,
                                        const wide_far *from_far, lanes *near, lanes *far) {
    lanes in[3], out[3];
    for (int axis = 0; axis < 3; ++axis) {
        const float *bound = node + 2 * WIDE_LANES * axis;
        const lanes inverse = lanes_all(at->inverse[axis]);
        const float more = from_far ? from_far->more[axis] : 0;
        in[axis] = lanes_multiply_add(lanes_load(bound + at->nearer[axis]), inverse,
                                      lanes_all(at->back[axis] - more));
        out[axis] = lanes_multiply_add(lanes_load(bound + (WIDE_LANES - at->nearer[axis])), inverse,
                                       lanes_all(at->back[axis] + more));
    }
    /* No lane is NaN: bounds are finite or infinite, and wide_ray_begin only accepts rays whose
       inverse and back are finite, with inverse not 0. */
    *near = lanes_max(lanes_max(in[1], in[2]), lanes_max(in[0], lanes_all(at->begin)));
    *far = lanes_min(lanes_min(out[1], out[2]), lanes_min(out[0], lanes_all(at->limit)));
}

VECTOR8_FN const float *wide_node_of(const wide_tree *tree, uint32_t word) {
    return tree->nodes + (uint64_t)(word >> WIDE_COUNT_BITS) * (8 * WIDE_LANES);
}
VECTOR8_FN const uint32_t *wide_node_words(const float *node) {
    return (const uint32_t *)(const void *)(node + 6 * WIDE_LANES);
}
VECTOR8_FN const uint32_t *wide_node_order(const float *node, uint32_t octant) {
    return (const uint32_t *)(const void *)(node + 7 * WIDE_LANES) + octant * (WIDE_LANES / 8);
}

/* Visits a node: pushes the children that the ray hits and pops the next word. */
VECTOR8_FN void wide_step(wide_ray *at, const wide_tree *tree, uint32_t capacity, bool any,
                          const wide_far *from_far) {
    const float *node = wide_node_of(tree, at->word);
    uint32_t top = at->top;
    uint32_t *words = at->words;
    lanes near, far;
    wide_intersect_children(at, node, from_far, &near, &far);
    if (any) {
        const uint32_t hit = lanes_hit(near, far);
        lanes_put_any(words + top, wide_node_words(node), hit);
        top += (uint32_t)__builtin_popcount(hit) - 1;
    } else {
        float *nears = (float *)(void *)(words + capacity) + top;
        top += lanes_put_in_order(words + top, nears, wide_node_words(node),
                                  wide_node_order(node, at->octant), near, far) -
               1;
    }
    at->top = top;
    at->word = words[top];
}

/* Tests one triangle of a leaf by triangle_intersect. Returns true if it improves the best hit. */
static __attribute__((noinline, unused)) bool
wide_intersect_alone(const ray *ray, const float *leaf, uint32_t count, uint32_t i, ray_hit *best) {
    const precomputed_ray precomputed = precomputed_ray_make(*ray);
    vec3 corner[3];
    for (uint32_t c = 0; c < 3; ++c)
        corner[c] =
            vec3_make(leaf[c * count + i], leaf[(3 + c) * count + i], leaf[(6 + c) * count + i]);
    return tritree_triangle_intersect(&precomputed, corner[0], corner[1], corner[2],
                                      float_bits(leaf[9 * count + i]), ray->tmin, best);
}

/* Takes a hit if it is nearer, or equally near with a smaller id. Returns true if it did. */
VECTOR8_FN bool wide_take(wide_ray *at, float t, float u, float v, uint32_t id) {
    if (!(t > at->tmin && (t < at->best.t || (t == at->best.t && at->best.triangle != KD_NONE &&
                                              id < at->best.triangle))))
        return false;
    at->best.t = t;
    at->best.u = u;
    at->best.v = v;
    at->best.triangle = id;
    return true;
}

/* Returns a mask of the leaf's triangles that are hit no later than the best hit, or that must be
   tested individually (those not in `good`). */
VECTOR8_FN uint32_t wide_intersect(const wide_ray *at, const float *leaf, uint32_t count,
                                   triangle8 *eight, uint32_t *good) {
    float8 *x = eight->x, *y = eight->y, *z = eight->z;
    for (uint32_t i = 0; i < 3; ++i) {
        z[i] = float8_load(leaf + (at->rows[2] + i) * count) - at->origin[2];
        x[i] = float8_load(leaf + (at->rows[0] + i) * count) - at->origin[0] - at->shear[0] * z[i];
        y[i] = float8_load(leaf + (at->rows[1] + i) * count) - at->origin[1] - at->shear[1] * z[i];
    }
    const int8 missed = triangle8_missed(eight);
    triangle8_intersect(eight, float8_all(at->shear[2]));
    const int8 ranged = (eight->t > at->tmin) & (eight->t <= at->best.t);
    *good = int8_bits(eight->good);
    return int8_bits(~missed & (~eight->good | ranged)) & ((1u << count) - 1);
}

/* Tests all triangles of the ray's leaf. Returns true if one improves the best hit. */
VECTOR8_FN bool wide_visit_leaf(wide_ray *at, const wide_tree *tree, const ray *rays, bool any) {
    const uint32_t count = at->word & WIDE_COUNT_MASK;
    const float *leaf = tree->leaves + (uint64_t)(at->word >> WIDE_COUNT_BITS) * WIDE_LEAF_FLOATS;
    triangle8 eight;
    uint32_t good;
    uint32_t hit = wide_intersect(at, leaf, count, &eight, &good);
    bool found = false;
    if (any) { /* the end of the interval is exclusive */
        found = (hit & good & int8_bits(eight.t < at->best.t)) != 0;
        for (hit &= ~good; __builtin_expect(hit != 0, 0); hit &= hit - 1) {
            ray_hit best = at->best;
            found |= wide_intersect_alone(rays + at->number, leaf, count,
                                          (uint32_t)__builtin_ctz(hit), &best);
        }
        return found;
    }
    for (; hit; hit &= hit - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(hit);
        if (good >> i & 1) {
            found |=
                wide_take(at, eight.t[i], eight.u[i], eight.v[i], float_bits(leaf[9 * count + i]));
            continue;
        }
        ray_hit best = at->best;
        if (!wide_intersect_alone(rays + at->number, leaf, count, i, &best)) continue;
        found = true;
        at->best = best;
    }
    return found;
}

/* Visits a leaf, then pops the next entry. Eight entries of the stack at a time are searched for
   the first that begins before the limit. Entries below one that begins too late need not begin too
   late as well, because a triangle that the ray grazes may lie in a cell that the ray enters
   later. */
VECTOR8_FN void wide_visit(wide_ray *at, const wide_tree *tree, const ray *rays, uint32_t capacity,
                           bool any) {
    const bool found = wide_visit_leaf(at, tree, rays, any);
    if (any) {
        at->best.triangle = found ? 0 : KD_NONE;
        at->top = found ? 0 : at->top - 1;
        at->word = at->words[at->top];
        return;
    }
    const float *nears = (const float *)(const void *)(at->words + capacity);
    const float limit = found ? at->best.t + at->slack_t : at->limit;
    uint32_t top = at->top - 1;
    at->limit = limit;
    for (;;) {
        const uint32_t near = int8_bits(float8_load(nears + top - 7) <= limit);
        if (__builtin_expect(near != 0, 1)) {
            top -= (uint32_t)__builtin_clz(near << 24);
            break;
        }
        top -= 8;
    }
    at->top = top;
    at->word = at->words[top];
}

/* Steps of a single ray, which is not interleaved with others. Its stack has WIDE_STACK entries. */

/* Prefetches a node or a leaf. */
VECTOR8_FN void expect_alone(const wide_tree *tree, uint32_t word) {
    enum { LEAF = WIDE_LEAF_MAX * WIDE_LEAF_FLOATS / 16, NODE = WIDE_LANES / 2 }; /* cache lines */
    const float *leaf = tree->leaves + (uint64_t)(word >> WIDE_COUNT_BITS) * WIDE_LEAF_FLOATS;
    const float *to = word & WIDE_COUNT_MASK ? leaf : wide_node_of(tree, word);
    for (int line = 0; line < (LEAF > NODE ? LEAF : NODE); ++line)
        __builtin_prefetch(to + 16 * line);
}

/* Returns the first entry from `top` down that begins no later than the limit. Often that is `top`
   itself, which is tested by a branch; after that, eight entries at a time. */
VECTOR8_FN uint32_t pop_alone(const float *nears, uint32_t top, float limit) {
    if (nears[top] <= limit) return top;
    for (;; top -= 8) {
        const uint32_t near = int8_bits(float8_load(nears + top - 7) <= limit);
        if (__builtin_expect(near != 0, 1)) return top - (uint32_t)__builtin_clz(near << 24);
    }
}

/* Visits a node: pushes the children that the ray hits and pops the next entry. */
VECTOR8_FN void step_alone(wide_ray *at, const wide_tree *tree, bool any,
                           const wide_far *from_far) {
    const float *node = wide_node_of(tree, at->word);
    float *nears = (float *)(void *)(at->words + WIDE_STACK);
    uint32_t top = at->top;
    lanes near, far;
    wide_intersect_children(at, node, from_far, &near, &far);
    const uint32_t hit = lanes_hit(near, far);
    if (hit == 0) {
        top = any ? top - 1 : pop_alone(nears, top - 1, at->limit);
    } else {
        if (any)
            lanes_put_any(at->words + top, wide_node_words(node), hit);
        else
            lanes_put_in_order(at->words + top, nears + top, wide_node_words(node),
                               wide_node_order(node, at->octant), near, far);
        top += (uint32_t)__builtin_popcount(hit) - 1;
    }
    at->top = top;
    at->word = at->words[top];
    expect_alone(tree, at->words[top - 1]);
}

#endif
