/* Traversal of an instance's mesh by its wide form, for the instruction set that the including file
   is compiled for.
   Idea: nodes are visited, and triangles culled, in object space, eight at once. The few triangles
   that remain are transformed to world space and decided there.
   Invariants: let e and R be as in instance_walk.h, and let `slack` be that of its derivation, 2 e
   (s (6 D + W) + 6 R + B). Children of a node are widened by 16 units of R, of which the test of
   their planes needs 6, and by the slack on top of that. A triangle that is hit has a point within
   e (s (6 D + W) + 2 R + B) of the ray in object space, per axis, so within twice that in the ray's
   sheared plane; the operations that shear a corner add at most 6 e R. The sum is at most the
   slack. So some point of the plane, at most `slack` from the ray per axis, is in the sheared
   triangle as computed: there no edge function is negative while another is positive. With M the
   largest coordinate of the corners, an edge function differs by at most 4 M slack at the ray, and
   rounding adds 6 e M^2: triangles whose signs differ by more than that are missed. */
#ifndef KD_ACCEL_INSTANCE_WIDE_H
#define KD_ACCEL_INSTANCE_WIDE_H
#include "accel/instance_walk.h"
#include "accel/wide/wide_walk.h"

typedef double double4 __attribute__((vector_size(32)));

/* A ray in world space, set up for instances. */
typedef struct world_ray {
    float4v origin;
    double from[3], along[3]; /* origin and direction */
    float slack_t;            /* TRITREE_SLACK_T over the largest component of the direction */
} world_ray;

VECTOR8_FN double4 double4_load(const double *from) {
    double4 v;
    memcpy(&v, from, sizeof v);
    return v;
}

VECTOR8_FN world_ray world_ray_make(const ray *ray) {
    const float *o = &ray->origin.x, *d = &ray->direction.x;
    world_ray made;
    made.origin = float4v_of(ray->origin);
    for (int axis = 0; axis < 3; ++axis) {
        made.from[axis] = (double)o[axis];
        made.along[axis] = (double)d[axis];
    }
    made.slack_t = TRITREE_SLACK_T / instance_largest(ray->direction);
    return made;
}

/* The tree's setup of a ray in an instance's object space. Returns false if vectors cannot handle
   the ray. */
VECTOR8_FN bool instance_wide_begin(wide_ray *at, wide_far *margin, float *slack,
                                    const instance_place *place, const world_ray *world, float tmin,
                                    float limit) {
    const double4 x = double4_load(place->back[0]), y = double4_load(place->back[1]),
                  z = double4_load(place->back[2]);
    const float4v o = __builtin_convertvector(x * (world->from[0] - place->from[0]) +
                                                  y * (world->from[1] - place->from[1]) +
                                                  z * (world->from[2] - place->from[2]),
                                              float4v);
    const float4v d = __builtin_convertvector(
        x * world->along[0] + y * world->along[1] + z * world->along[2], float4v);
    const float4v far = float4v_max(float4v_abs(float4v_load(place->lo) - world->origin),
                                    float4v_abs(float4v_load(place->hi) - world->origin));
    const float4v box[2] = {float4v_load(place->mesh_lo), float4v_load(place->mesh_hi)};
    const float reach = float4v_largest(far);
    float origin[4], along[4], largest;
    memcpy(origin, &o, sizeof origin);
    memcpy(along, &d, sizeof along);
    const float local =
        wide_ray_aim(at, box, float4v_load(place->centre), o, d, origin, along, &largest);
    *slack = 0x1p-23f * (6 * (place->spread * reach + local) + place->fixed);
    const float more = *slack + local * 0x1.00001p-20f;
    const float4v wider = more * float4v_abs(at->inverse);
    memcpy(margin->more, &wider, sizeof margin->more);
    at->slack_t = reach * world->slack_t;
    at->begin = tmin - at->slack_t;
    at->limit = limit + at->slack_t;
    return wide_is_usual(largest, at->slack_t) && more < 0x1p50f;
}

/* Transforms a triangle of a leaf to world space, as instance_corner, and intersects it. */
static __attribute__((noinline, unused)) bool instance_leaf_triangle(instance_ray *ray,
                                                                     uint32_t number,
                                                                     const float *leaf,
                                                                     uint32_t count, uint32_t i) {
    const instance *instance = ray->view->list + number;
    const double4 x = {(double)leaf[i], (double)leaf[count + i], (double)leaf[2 * count + i], 0};
    const double4 y = {(double)leaf[3 * count + i], (double)leaf[4 * count + i],
                       (double)leaf[5 * count + i], 0};
    const double4 z = {(double)leaf[6 * count + i], (double)leaf[7 * count + i],
                       (double)leaf[8 * count + i], 0};
    triangle_rows rows;
    float(*at)[4] = rows.axis; /* by axis, a corner per lane */
    for (int row = 0; row < 3; ++row) {
        const double *m = instance->to_world.m[row];
        const float4v to = __builtin_convertvector(m[0] * x + m[1] * y + m[2] * z + m[3], float4v);
        memcpy(at[row], &to, sizeof to);
    }
    if (triangle_rows_missed(&rows, &ray->precomputed)) return false;
    return instance_corners_intersect(
        ray, number, ray->view->shapes[instance->shape].first + float_bits(leaf[9 * count + i]),
        vec3_make(at[0][0], at[1][0], at[2][0]), vec3_make(at[0][1], at[1][1], at[2][1]),
        vec3_make(at[0][2], at[1][2], at[2][2]));
}

/* Intersects the triangles of a leaf. Returns true if one improves the best hit. */
VECTOR8_FN bool instance_visit_leaf(instance_ray *ray, uint32_t number, const wide_tree *tree,
                                    const wide_ray *at, float slack, bool any) {
    const uint32_t count = at->word & WIDE_COUNT_MASK;
    const float *leaf = tree->leaves + (uint64_t)(at->word >> WIDE_COUNT_BITS) * WIDE_LEAF_FLOATS;
    float8 x[3], y[3], largest = {0};
    bool found = false;
    for (uint32_t i = 0; i < 3; ++i) {
        const float8 z = float8_load(leaf + (at->rows[2] + i) * count) - at->origin[2];
        x[i] = float8_load(leaf + (at->rows[0] + i) * count) - at->origin[0] - at->shear[0] * z;
        y[i] = float8_load(leaf + (at->rows[1] + i) * count) - at->origin[1] - at->shear[1] * z;
        largest = float8_max(largest, float8_max(float8_abs(x[i]), float8_abs(y[i])));
    }
    const float8 a = x[2] * y[1] - y[2] * x[1], b = x[0] * y[2] - y[0] * x[2],
                 c = x[1] * y[0] - y[1] * x[0];
    const float8 error = largest * (largest * 0x1p-20f + 4.1f * slack) + 0x1p-120f;
    const int8 missed =
        (float8_min(a, float8_min(b, c)) < -error) & (float8_max(a, float8_max(b, c)) > error);
    for (uint32_t hit = int8_bits(~missed) & ((1u << count) - 1); hit; hit &= hit - 1) {
        found |= instance_leaf_triangle(ray, number, leaf, count, (uint32_t)__builtin_ctz(hit));
        if (found && any) return true;
    }
    return found;
}

/* Visits a leaf, then pops the next word. Returns true if a triangle improves the best hit. */
VECTOR8_FN bool instance_wide_visit(instance_ray *ray, uint32_t number, const wide_tree *tree,
                                    wide_ray *at, float slack, bool any) {
    const float *nears = (const float *)(const void *)(at->words + WIDE_STACK);
    const bool found = instance_visit_leaf(ray, number, tree, at, slack, any);
    if (found) at->limit = ray->best.at.t + at->slack_t;
    at->top = any ? at->top - 1 : pop_alone(nears, at->top - 1, at->limit);
    at->word = at->words[at->top];
    return found;
}

#endif
