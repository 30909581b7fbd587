/* Traversal of an instance's mesh by its wide form, for the instruction set that this file is
   compiled for.
   Idea: nodes are visited in object space, all children at once. The triangles of a leaf, up to
   eight, are transformed to world space and intersected there at once; the few that remain are
   decided by instance_triangle_intersect.
   Invariants: a child of a wide node is widened by 16 units of the ray's reach R (wide_walk.h), of
   which the test of its planes needs 6; so the slack of instance_walk.h, in which planes have an
   error of 4 e R, suffices on top of that. The vectors of a leaf use the operations of
   transform_point and of triangle_intersect, in their order, so no triangle that is hit is
   dropped. */
#include "accel/instance_walk.h"
#include "accel/wide/wide_walk.h"

typedef double double8 __attribute__((vector_size(64)));

/* Transforms the corners of a leaf's triangles to world space: world[axis][corner]. */
VECTOR8_FN void transform_leaf(const transform *transform, const float *leaf, uint32_t count,
                               float8 world[3][3]) {
    for (uint32_t corner = 0; corner < 3; ++corner) {
        const double8 x = __builtin_convertvector(float8_load(leaf + corner * count), double8);
        const double8 y =
            __builtin_convertvector(float8_load(leaf + (3 + corner) * count), double8);
        const double8 z =
            __builtin_convertvector(float8_load(leaf + (6 + corner) * count), double8);
        for (int row = 0; row < 3; ++row) {
            const double *m = transform->m[row];
            world[row][corner] =
                __builtin_convertvector(m[0] * x + m[1] * y + m[2] * z + m[3], float8);
        }
    }
}

/* Intersects the triangles of a leaf. Returns true if one improves the best hit. */
VECTOR8_FN bool visit_leaf(instance_ray *ray, uint32_t number, const wide_tree *tree,
                           uint32_t word) {
    const uint32_t count = word & WIDE_COUNT_MASK;
    const float *leaf = tree->leaves + (uint64_t)(word >> WIDE_COUNT_BITS) * WIDE_LEAF_FLOATS;
    const precomputed_ray *p = &ray->precomputed;
    const uint32_t first = ray->view->shapes[ray->view->list[number].shape].first;
    float8 world[3][3];
    triangle8 eight;
    bool found = false;
    transform_leaf(&ray->view->list[number].to_world, leaf, count, world);
    for (int i = 0; i < 3; ++i) {
        eight.z[i] = world[p->kz][i] - vec3_axis(p->origin, p->kz);
        eight.x[i] = world[p->kx][i] - vec3_axis(p->origin, p->kx) - p->sx * eight.z[i];
        eight.y[i] = world[p->ky][i] - vec3_axis(p->origin, p->ky) - p->sy * eight.z[i];
    }
    const int8 missed = triangle8_missed(&eight);
    if (!(int8_bits(~missed) & ((1u << count) - 1))) return false;
    triangle8_intersect(&eight, float8_all(p->sz));
    const int8 ranged = (eight.t > ray->ray.tmin) & (eight.t <= ray->best.at.t);
    uint32_t hit = int8_bits(~missed & (~eight.good | ranged)) & ((1u << count) - 1);
    for (; hit; hit &= hit - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(hit);
        found |= instance_triangle_intersect(ray, number, first + float_bits(leaf[9 * count + i]));
        if (found && ray->any) return true;
    }
    return found;
}

VECTOR8_FN bool walk(instance_ray *ray, uint32_t number, const wide_tree *tree, wide_ray *at,
                     const wide_far *margin, bool any) {
    const float *nears = (const float *)(const void *)(at->words + WIDE_STACK);
    do {
        if (!(at->word & WIDE_COUNT_MASK)) {
            step_alone(at, tree, any, margin);
            continue;
        }
        const bool found = visit_leaf(ray, number, tree, at->word);
        uint32_t top = at->top - 1;
        if (any && found) return true;
        if (found) at->limit = ray->best.at.t + at->slack_t;
        if (!any) top = pop_alone(nears, top, at->limit);
        at->top = top;
        at->word = at->words[top];
    } while (at->word != WIDE_OVER);
    return false;
}

bool instance_cast_wide(instance_ray *instance_ray, uint32_t number, const box3 *box) {
    const instance *instance = instance_ray->view->list + number;
    const instanced_shape *shape = instance_ray->view->shapes + instance->shape;
    tritree_walk aim;
    wide_ray at;
    ray local;
    uint32_t words[2 * WIDE_STACK];
    instance_leaf_query query = {instance_ray, number};
    if (!instance_aim_mesh(&aim, &local, instance, shape, box, instance_ray->ray,
                           instance_ray->best.at.t))
        return false;
    local.tmax = instance_ray->best.at.t;
    if (wide_ray_begin(&at, &shape->tree, &local) == WIDE_PLAIN)
        return tritree_walk_leaves(shape->tree.nodes, &aim, instance_leaf_intersect, &query,
                                   &instance_ray->best.at.t, instance_ray->any, NULL);
    wide_far margin = wide_ray_far(&at);
    for (int axis = 0; axis < 3; ++axis) margin.more[axis] += aim.slack[axis];
    at.slack_t = aim.slack_t;
    at.begin = local.tmin - aim.slack_t;
    at.limit = local.tmax + aim.slack_t;
    wide_stack_empty(&at, words, (float *)(void *)(words + WIDE_STACK));
    return instance_ray->any ? walk(instance_ray, number, shape->tree.wide, &at, &margin, true)
                             : walk(instance_ray, number, shape->tree.wide, &at, &margin, false);
}
