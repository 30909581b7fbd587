/* Traversal of one instance's mesh by its wide form. */
#include "accel/instance_wide.h"

VECTOR8_FN bool walk(instance_ray *ray, uint32_t number, const box3 *box, bool any) {
    const instance *instance = ray->view->list + number;
    const instanced_shape *shape = ray->view->shapes + instance->shape;
    const instance_place place = instance_place_make(instance, shape, *box);
    const world_ray world = world_ray_make(&ray->ray);
    const wide_tree *tree = shape->tree.wide;
    wide_ray at;
    wide_far margin;
    uint32_t words[2 * WIDE_STACK];
    float slack, *nears = (float *)(void *)(words + WIDE_STACK);
    if (!instance_wide_begin(&at, &margin, &slack, &place, &world, ray->ray.tmin, ray->best.at.t))
        return instance_cast_plain(ray, number, box);
    wide_stack_empty(&at, words, nears);
    do {
        if (!(at.word & WIDE_COUNT_MASK)) {
            step_alone(&at, tree, any, &margin);
            continue;
        }
        if (instance_wide_visit(ray, number, tree, &at, slack, any) && any) return true;
    } while (at.word != WIDE_OVER);
    return false;
}

bool instance_cast_wide(instance_ray *ray, uint32_t number, const box3 *box) {
    return ray->any ? walk(ray, number, box, true) : walk(ray, number, box, false);
}
