/* One ray's walk through a wide tree: what it is prepared to, a step, a leaf.
   Idea: a step has no branch: the cells that the ray meets are compressed, in the order of the
   walk backwards, to the top of its stack, and the topmost word says what comes next. So the steps
   of many rays may run one after the other without a wrong guess, each while the others wait for
   memory or for their own results (wide_cast.h).
   Invariants: a leaf is visited unless the ray surely misses all in it. Planes are less the tree's
   centre, so that plane * inverse + back is off by at most 12 units of reach |inverse| (6 of them
   the triangle test's, walk_bounds.h); the slack covers 16. What a leaf's vectors decide,
   triangle_meet decides with the same operations; what they leave open it is asked for: answers
   are those of tritree_cast to the bit. */
#ifndef KD_ACCEL_WIDE_WIDE_WALK_H
#define KD_ACCEL_WIDE_WIDE_WALK_H
#include "accel/geometry/triangle8.h"
#include "accel/geometry/vector4.h"
#include "accel/tree/walk.h"
#include "accel/wide/wide_tree.h"

/* entries of a ray's stack; a step writes eight */
enum { WIDE_STACK = (WIDE_CELLS - 1) * WIDE_MAX_DEPTH + 2 * WIDE_CELLS };
enum { WIDE_OVER = 0, WIDE_COUNT_MASK = (1 << WIDE_COUNT_BITS) - 1 };

typedef struct wide_ray {
    float4v inverse;     /* of the direction */
    float4v back, front; /* t of a plane: plane * inverse + back or more, + front or less */
    float begin, limit;  /* of cells that may still be met: slack_t beyond the hits' ends */
    float tmin;          /* of hits */
    uint32_t word;       /* what is next: a node, a leaf, or WIDE_OVER */
    uint32_t waiting;    /* entries of the stack; the lowest is WIDE_OVER */
    uint32_t nearer[3];  /* where an axis' nearer planes begin: 0 or WIDE_CELLS */
    uint32_t order;      /* which of a node's orders */
    const uint8_t (*compress)[WIDE_CELLS]; /* the tree's, forwards or backwards */
    float slack_t;
    /* of triangle_caster, by its axes x, y, z; and where an axis' rows begin */
    float origin[3];
    float4v shear;
    uint32_t rows[3];
    ray_hit best;
} wide_ray;

typedef struct wide_stack {
    uint32_t *words;
    float *nears;
} wide_stack;

/* The planes' part: false if the numbers leave the range of float. */
VECTOR8_FN bool wide_ray_aim(wide_ray *to, const tritree_view *tree, const ray *cast) {
    const float4v o = float4v_of(cast->origin), d = float4v_of(cast->direction);
    const float4v size = float4v_abs(d);
    const float largest = float_max(size[0], float_max(size[1], size[2]));
    if (!(largest > 0 && largest <= FLT_MAX)) return false;
    const float4v far = float4v_max(float4v_abs(float4v_of(tree->box.lo) - o),
                                    float4v_abs(float4v_of(tree->box.hi) - o));
    const float reach = float_max(far[0], float_max(far[1], far[2]));
    const int4v sign = (int4v)d & INT32_MIN;
    const float4v safe =
        (float4v)((int4v)float4v_max(size, float4v_all(largest * 0x1p-26f)) | sign);
    to->inverse = 1 / safe;
    const float4v slack = float4v_abs(to->inverse) * (reach * 0x1p-20f);
    if (!(float_max(slack[0], float_max(slack[1], slack[2])) < 0x1p100f)) return false;
    const float4v centre = (float4v_of(tree->wide->centre) - o) * to->inverse;
    to->back = centre - slack;
    to->front = centre + slack;
    to->slack_t = reach / largest * TRITREE_SLACK_T;
    const uint32_t octant = int4v_signs((int4v)d);
    for (int axis = 0; axis < 3; ++axis) to->nearer[axis] = (octant >> axis & 1) * WIDE_CELLS;
    to->order = octant & 4 ? octant ^ 7 : octant;
    to->compress = tree->wide->compress[octant >> 2];
    return true;
}

/* The triangles' part: triangle_caster_make. */
VECTOR8_FN void wide_ray_shear(wide_ray *to, const ray *cast) {
    static const uint8_t after[5] = {0, 1, 2, 0, 1};
    const float origin[3] = {cast->origin.x, cast->origin.y, cast->origin.z};
    const float along[3] = {cast->direction.x, cast->direction.y, cast->direction.z};
    const float x = fabsf(along[0]), y = fabsf(along[1]), z = fabsf(along[2]);
    const int kz = x > y ? (x > z ? 0 : 2) : (y > z ? 1 : 2);
    const int axes[3] = {after[kz + 1], after[kz + 2], kz};
    for (int i = 0; i < 3; ++i) {
        to->origin[i] = origin[axes[i]];
        to->rows[i] = 3 * (uint32_t)axes[i];
    }
    const float4v over = {along[axes[0]], along[axes[1]], 1, 1};
    to->shear = over / along[kz];
}

/* The walk is at the root; false: the ray is one for tritree_cast. */
VECTOR8_FN bool wide_ray_begin(wide_ray *to, const tritree_view *tree, const ray *cast) {
    to->best.t = cast->tmax;
    to->best.u = to->best.v = 0;
    to->best.triangle = KD_NONE;
    if (!wide_ray_aim(to, tree, cast)) return false;
    wide_ray_shear(to, cast);
    to->tmin = cast->tmin;
    to->begin = cast->tmin - to->slack_t;
    to->limit = cast->tmax + to->slack_t;
    to->word = 0;
    to->waiting = 1;
    return true;
}

/* The ray is at a node: its cells go to the stack, and the next one is taken from there. */
VECTOR8_FN void wide_step(wide_ray *at, const wide_tree *tree, wide_stack stack) {
    const wide_node *node = tree->nodes + (at->word >> WIDE_COUNT_BITS);
    float8 near = float8_all(at->begin), far = float8_all(at->limit);
    for (int axis = 0; axis < 3; ++axis) {
        const float *bound = node->bound[2 * axis];
        const float8 inverse = float8_all(at->inverse[axis]);
        const float8 in = float8_multiply_add(float8_load(bound + at->nearer[axis]), inverse,
                                              float8_all(at->back[axis]));
        const float8 out = float8_multiply_add(float8_load(bound + (WIDE_CELLS - at->nearer[axis])),
                                               inverse, float8_all(at->front[axis]));
        near = float8_max(in, near); /* what is no number changes nothing */
        far = float8_min(out, far);
    }
    const int8 order = int8_from_bytes(node->order[at->order]);
    const uint32_t met = int8_bits(int8_permute(near <= far, order));
    const int8 from = int8_permute(order, int8_from_bytes(at->compress[met]));
    const int8 words = int8_permute(int8_load((const int32_t *)node->word), from);
    const int8 nears = int8_permute((int8)near, from);
    memcpy(stack.words + at->waiting, &words, sizeof words);
    memcpy(stack.nears + at->waiting, &nears, sizeof nears);
    at->waiting += (uint32_t)__builtin_popcount(met) - 1;
    at->word = stack.words[at->waiting];
}

/* A triangle of a leaf by triangle_meet. */
static inline bool wide_meet_alone(wide_ray *at, const ray *cast, const float *leaf, uint32_t count,
                                   uint32_t i) {
    const triangle_caster caster = triangle_caster_make(*cast);
    vec3 corner[3];
    for (uint32_t c = 0; c < 3; ++c)
        corner[c] =
            vec3_make(leaf[c * count + i], leaf[(3 + c) * count + i], leaf[(6 + c) * count + i]);
    return tritree_triangle_meet(&caster, corner[0], corner[1], corner[2],
                                 float_bits(leaf[9 * count + i]), at->tmin, &at->best);
}

/* Takes one triangle's hit if it is nearer, or as near and its id smaller. */
static inline bool wide_take(wide_ray *at, float t, float u, float v, uint32_t id) {
    if (!(t > at->tmin && (t < at->best.t || (t == at->best.t && at->best.triangle != KD_NONE &&
                                              id < at->best.triangle))))
        return false;
    at->best.t = t;
    at->best.u = u;
    at->best.v = v;
    at->best.triangle = id;
    return true;
}

/* All triangles of the leaf that the ray is at; true if that changed the best hit. */
VECTOR8_FN bool wide_meet(wide_ray *at, const wide_tree *tree, const ray *cast) {
    const uint32_t count = at->word & WIDE_COUNT_MASK;
    const float *leaf = tree->leaves + (uint64_t)(at->word >> WIDE_COUNT_BITS) * WIDE_LEAF_FLOATS;
    triangle8 eight;
    float8 *x = eight.x, *y = eight.y, *z = eight.z;
    for (uint32_t i = 0; i < 3; ++i) {
        z[i] = float8_load(leaf + (at->rows[2] + i) * count) - at->origin[2];
        x[i] = float8_load(leaf + (at->rows[0] + i) * count) - at->origin[0] - at->shear[0] * z[i];
        y[i] = float8_load(leaf + (at->rows[1] + i) * count) - at->origin[1] - at->shear[1] * z[i];
    }
    uint32_t met = int8_bits(~triangle8_missed(&eight)) & ((1u << count) - 1);
    if (!met) return false;
    triangle8_meet(&eight, float8_all(at->shear[2]));
    const uint32_t good = int8_bits(eight.good);
    const float8 t = eight.t;
    bool found = false;
    for (met &= ~good | int8_bits((t > at->tmin) & (t <= at->best.t)); met; met &= met - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(met);
        found |= good >> i & 1
                     ? wide_take(at, t[i], eight.u[i], eight.v[i], float_bits(leaf[9 * count + i]))
                     : wide_meet_alone(at, cast, leaf, count, i);
    }
    return found;
}

/* The ray is at a leaf: its triangles, and what is next. */
VECTOR8_FN void wide_visit(wide_ray *at, const wide_tree *tree, const ray *cast, bool any,
                           wide_stack stack) {
    if (wide_meet(at, tree, cast)) {
        at->limit = at->best.t + at->slack_t;
        if (any) at->waiting = 1;
        while (at->waiting > 1 && stack.nears[at->waiting - 1] > at->limit) --at->waiting;
    }
    at->word = stack.words[--at->waiting];
}

#endif
