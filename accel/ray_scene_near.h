/* Nearest points of a scene of rays, for one point, on a CPU and on a CUDA device; and the entry
   for every kind of query.
   Idea: descend the top-level tree and each mesh's tree of boxes in object space, nearest box first;
   triangles are transformed to world space and measured there.
   Invariants: the result equals that of testing every triangle of every instance, transformed to
   world space and rounded; ties go to the smallest (instance, triangle). Let e = 2^-24, W the
   largest coordinate of the instance's box and s the largest factor by which the inverse transform
   stretches a vector. If a rounded triangle is at the distance d, the triangle in object space is
   at most s (d + sqrt(3) e W) from the exact point, and the point rounded to float is within
   sqrt(3) e of its largest coordinate. Culling adds four times these bounds. */
#ifndef KD_ACCEL_RAY_SCENE_NEAR_H
#define KD_ACCEL_RAY_SCENE_NEAR_H
#include "accel/ray_scene_walk.h"
#include "core/device/cuda_stubs.h"

/* A point and its nearest triangle. */
typedef struct scene_point {
    const scene_rays_view *scene;
    vec3 from;
    uint32_t mask;
    double distance2;
    uint32_t instance, triangle; /* KD_NONE: none yet */
} scene_point;

typedef struct scene_point_entry {
    double distance2;
    uint32_t node;
} scene_point_entry;

/* Returns a lower bound of the squared distance to a box in world space. */
KD_FN double scene_box_distance2(box3 box, vec3 from) {
    double sum = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const double p = (double)vec3_axis(from, axis);
        const double below = (double)vec3_axis(box.lo, axis) - p,
                     above = p - (double)vec3_axis(box.hi, axis);
        const double outside = below > above ? below : above;
        if (outside > 0) sum += outside * outside;
    }
    return sum * (1 - 0x1p-40);
}

KD_FN void scene_world_corners(const scene_rays_view *scene, uint32_t number, uint32_t triangle,
                               vec3 corner[3]) {
    const instance *instance = scene->instances.list + number;
    const tritree_view *tree = &scene->instances.shapes[instance->shape].tree;
    for (int k = 0; k < 3; ++k)
        corner[k] = instance_corner(
            instance, tree->positions[tree->triangles[3 * (size_t)triangle + (size_t)k]]);
}

/* Returns true if the triangle is nearer than the best one. */
KD_FN bool scene_point_test(scene_point *point, uint32_t number, uint32_t triangle) {
    vec3 corner[3];
    int order[3];
    near3 p[3];
    scene_world_corners(point->scene, number, triangle, corner);
    near_order(corner, order);
    for (int k = 0; k < 3; ++k) p[k] = near3_between(point->from, corner[order[k]]);
    const double distance2 = near_triangle_distance2(p[0], p[1], p[2]);
    if (!(distance2 <= point->distance2)) return false;
    if (distance2 == point->distance2 &&
        (number > point->instance || (number == point->instance && triangle >= point->triangle)))
        return false;
    point->distance2 = distance2;
    point->instance = number;
    point->triangle = triangle;
    return true;
}

/* Sets the squared bound of boxes in object space from the best distance. */
KD_FN void scene_point_bind(nearest_walk *walk, const scene_point *point, double stretch,
                            float scale) {
    const double reach = stretch * sqrt(point->distance2) * (1 + 0x1p-18) + walk->slack;
    const double scaled = reach * (double)scale;
    const double bound = scaled * scaled + 0x1p-140;
    walk->bound = bound < (double)FLT_MAX ? (float)bound : INFINITY;
}

KD_FN void scene_point_instance(scene_point *point, uint32_t number, const box3 *box) {
    const scene_rays_view *scene = point->scene;
    const instance *instance = scene->instances.list + number;
    const scene_member *member = scene->members + number;
    const nearest_view *view = scene->nearest + instance->shape;
    nearest_entry stack[NEAREST_STACK];
    nearest_walk walk;
    int waiting = 0;
    if (!(member->mask & point->mask) || view->leaf_count == 0) return;
    ray to_point;
    to_point.origin = point->from;
    to_point.direction = vec3_all(0);
    to_point.tmin = to_point.tmax = 0;
    walk.from = instance_ray_local(instance, to_point).origin;
    walk.scaled = vec3_scale(walk.from, view->scale);
    const double wide = (double)float_max(instance_largest(box->lo), instance_largest(box->hi));
    walk.slack = 0x1p-21 * (member->stretch * wide + (double)instance_largest(walk.from));
    scene_point_bind(&walk, point, member->stretch, view->scale);
    nearest_visit_node(&walk, view, stack, &waiting, view->levels - 1, 0);
    while (waiting > 0) {
        const nearest_entry next = stack[--waiting];
        if (next.distance2 > walk.bound) continue;
        if (next.level > 0) {
            nearest_visit_node(&walk, view, stack, &waiting, next.level - 1, next.index);
            continue;
        }
        const float *leaf = view->leaves + (uint64_t)next.index * NEAREST_LEAF_FLOATS;
        bool found = false;
        for (uint32_t lane = 0; lane < NEAREST_WIDE; ++lane) {
            const uint32_t id = float_bits(leaf[9 * NEAREST_WIDE + lane]);
            if (id == KD_NONE) break;
            found |= scene_point_test(point, number, id);
        }
        if (found) scene_point_bind(&walk, point, member->stretch, view->scale);
    }
}

/* Traverses one top-level tree, nearest box first. */
KD_FN void scene_point_walk(scene_point *point, uint32_t root) {
    const instance_view *view = &point->scene->instances;
    scene_point_entry stack[INSTANCE_STACK + 1];
    int waiting = 0;
    if (root == KD_NONE) return;
    stack[waiting].distance2 = scene_box_distance2(view->nodes[root].box, point->from);
    stack[waiting++].node = root;
    while (waiting > 0) {
        const scene_point_entry next = stack[--waiting];
        const instance_node *node = view->nodes + next.node;
        if (next.distance2 > point->distance2) continue;
        if (node->count) {
            for (uint32_t i = 0; i < node->count; ++i)
                scene_point_instance(point, view->order[node->first + i], &node->box);
            continue;
        }
        scene_point_entry near, far;
        near.node = node->first;
        near.distance2 = scene_box_distance2(view->nodes[near.node].box, point->from);
        far.node = node->first + 1;
        far.distance2 = scene_box_distance2(view->nodes[far.node].box, point->from);
        const bool swap = far.distance2 < near.distance2;
        stack[waiting++] = swap ? near : far;
        stack[waiting++] = swap ? far : near;
    }
}

KD_FN void scene_point_query(const scene_rays_view *scene, const scene_query *query, uint64_t i) {
    scene_point point;
    scene_near found;
    const uint32_t world = scene_world(scene, query, i);
    point.scene = scene;
    point.from = query->points[i];
    point.mask = query->masks ? query->masks[i] : KD_NONE;
    point.distance2 = (double)query->max_distance * (double)query->max_distance;
    point.instance = point.triangle = KD_NONE;
    if (world != KD_NONE && vec3_is_finite(point.from)) {
        scene_point_walk(&point, scene->roots[world]);
        scene_point_walk(&point, scene->roots[scene->world_count]);
    }
    found.place = near_place_none();
    found.instance = found.geometry = KD_NONE;
    if (point.triangle != KD_NONE) {
        vec3 corner[3];
        scene_world_corners(scene, point.instance, point.triangle, corner);
        found.place = near_describe(point.from, corner, point.triangle);
        found.instance = point.instance;
        found.geometry = scene->instances.list[point.instance].shape;
    }
    query->nearest[i] = found;
}

/* Answers ray or point i of a query. */
KD_FN void scene_query_one(const scene_rays_view *scene, const scene_query *query, uint64_t i) {
    if (query->kind == SCENE_POINTS)
        scene_point_query(scene, query, i);
    else
        scene_ray_query(scene, query, i);
}

#ifdef __cplusplus
extern "C" {
#endif

/* Answers a query with all arrays in the memory of the current device. Enqueued on the stream; does
   not synchronise. */
KD_DEVICE_CALL(scene_query_launch,
               (const scene_rays_view *scene, const scene_query *query, void *stream));

#ifdef __cplusplus
}
#endif

#endif
