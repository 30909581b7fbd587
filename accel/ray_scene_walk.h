/* Queries on a scene of rays for one ray, on a CPU and on a CUDA device.
   Idea: closest and any hit traverse the k-d trees of the meshes (accel/instance_walk.h). Lists of
   hits traverse their trees of boxes (accel/rays/nearest.h), which contain each triangle once, so
   no hit is found twice. A row of hits is a heap with the farthest hit on top while it is filled.
   Invariants: the results equal those of testing every triangle of every instance, transformed to
   world space and rounded; hits are ordered by (t, instance, triangle). */
#ifndef KD_ACCEL_RAY_SCENE_WALK_H
#define KD_ACCEL_RAY_SCENE_WALK_H
#include "accel/instance_walk.h"
#include "accel/rays/nearest_walk.h"

/* An instance's data besides its transform. */
typedef struct scene_member {
    double stretch; /* the largest factor by which the inverse stretches a vector */
    uint32_t mask, padding;
} scene_member;

/* A committed scene. Owns nothing; on a device all arrays are device memory. */
typedef struct scene_rays_view {
    instance_view instances;     /* `first` of each shape is 0: it has its own vertices */
    const nearest_view *nearest; /* per shape; NULL until a query needs them */
    const scene_member *members; /* one member per instance */
    const uint32_t *roots; /* per world, and last for the instances of every world; KD_NONE: none */
    uint32_t world_count;
} scene_rays_view;

/* kd_scene_hit of <kandela/ray_scenes.h>. */
typedef struct scene_hit {
    float t, u, v;
    uint32_t triangle, instance, geometry; /* KD_NONE: no hit */
    vec3 normal;
} scene_hit;

/* kd_scene_near of <kandela/ray_scenes.h>. */
typedef struct scene_near {
    near_place place;
    uint32_t instance, geometry;
} scene_near;

typedef enum scene_kind {
    SCENE_CLOSEST,
    SCENE_ANY,
    SCENE_COUNT,
    SCENE_ROWS,
    SCENE_POINTS
} scene_kind;

/* The arrays of a query; on a device all are device memory. */
typedef struct scene_query {
    scene_kind kind;
    uint64_t count;
    const ray *rays;
    const vec3 *points;
    float max_distance;
    const uint32_t *masks, *worlds, *ignored; /* may be NULL; `ignored`: instance, triangle */
    const uint64_t *offsets;                  /* row offsets (CSR); NULL: `row` hits per ray */
    uint64_t row;
    uint64_t hits_begin; /* the offset of hits[0] */
    scene_hit *hits;
    uint8_t *blocked;
    uint32_t *counts; /* SCENE_ROWS: may be NULL */
    scene_near *nearest;
    uint32_t *fault; /* set to 1 if a ray's world does not exist */
} scene_query;

/* A ray and its results. */
typedef struct scene_ray {
    instance_ray base; /* `base.best` is the closest hit */
    const scene_rays_view *scene;
    uint32_t mask;
    scene_kind kind;
    float limit; /* t up to which hits are wanted */
    scene_hit *row;
    uint64_t capacity, used; /* of the row; SCENE_COUNT: `used` is the number of hits */
} scene_ray;

KD_FN bool scene_comes_after(const scene_hit *a, const scene_hit *b) {
    if (a->t != b->t) return a->t > b->t;
    if (a->instance != b->instance) return a->instance > b->instance;
    return a->triangle > b->triangle;
}

/* Moves the hit at `at` down, in a heap of `count` hits with the last of the order on top. */
KD_FN void scene_heap_sink(scene_hit *heap, uint64_t count, uint64_t at) {
    const scene_hit moved = heap[at];
    for (;;) {
        uint64_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count && scene_comes_after(&heap[child + 1], &heap[child])) ++child;
        if (!scene_comes_after(&heap[child], &moved)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

KD_FN void scene_heap_sort(scene_hit *heap, uint64_t count) {
    while (count > 1) {
        const scene_hit last = heap[0];
        heap[0] = heap[--count];
        heap[count] = last;
        scene_heap_sink(heap, count, 0);
    }
}

/* Adds a hit to the row, which keeps the first of the order. */
KD_FN void scene_row_add(scene_ray *ray, const scene_hit *hit) {
    if (ray->used < ray->capacity) {
        uint64_t at = ray->used++;
        for (; at && scene_comes_after(hit, &ray->row[(at - 1) / 2]); at = (at - 1) / 2)
            ray->row[at] = ray->row[(at - 1) / 2];
        ray->row[at] = *hit;
    } else if (scene_comes_after(&ray->row[0], hit)) {
        ray->row[0] = *hit;
        scene_heap_sink(ray->row, ray->used, 0);
    }
    if (ray->used == ray->capacity) ray->limit = ray->row[0].t;
}

/* Tests a triangle of an instance, and counts or adds its hit. */
KD_FN void scene_row_test(scene_ray *ray, uint32_t number, uint32_t triangle) {
    const instance_ray *base = &ray->base;
    const instance *instance = base->view->list + number;
    const uint32_t *corner = base->triangles + 3 * (size_t)triangle;
    const vec3 *at = base->positions;
    const vec3 a = instance_corner(instance, at[corner[0]]);
    const vec3 b = instance_corner(instance, at[corner[1]]);
    const vec3 c = instance_corner(instance, at[corner[2]]);
    scene_hit hit;
    if (!triangle_intersect(&base->precomputed, a, b, c, &hit.t, &hit.u, &hit.v)) return;
    if (!(hit.t > base->ray.tmin && hit.t < base->ray.tmax && hit.t <= ray->limit)) return;
    if (number == base->ignored_instance && triangle == base->ignored_triangle) return;
    if (triangle_is_degenerate(a, b, c) ||
        triangle_is_degenerate(at[corner[0]], at[corner[1]], at[corner[2]]))
        return;
    hit.triangle = triangle;
    hit.instance = number;
    hit.geometry = instance->shape;
    hit.normal = vec3_all(0);
    if (ray->kind == SCENE_COUNT)
        ++ray->used;
    else
        scene_row_add(ray, &hit);
}

/* Returns up to which t a box is of interest. */
KD_FN float scene_far(const scene_ray *ray, const tritree_walk *walk) {
    return float_min(walk->far, ray->limit + walk->slack_t);
}

#ifdef __CUDACC__
/* Returns where the ray enters a box with the given bounds; INFINITY if it misses the box. */
KD_FN float scene_enter(const tritree_walk *walk, const float lo[3], const float hi[3], float far) {
    box3 box;
    box.lo = vec3_make(lo[0], lo[1], lo[2]);
    box.hi = vec3_make(hi[0], hi[1], hi[2]);
    return instance_enter(walk, &box, far);
}

/* Tests the triangles of a leaf whose boxes the ray hits. */
KD_FN void scene_row_leaf(scene_ray *ray, const tritree_walk *walk, uint32_t number,
                          const nearest_view *view, uint32_t index) {
    const float *leaf = view->leaves + (uint64_t)index * NEAREST_LEAF_FLOATS;
    for (uint32_t lane = 0; lane < NEAREST_WIDE; ++lane) {
        const uint32_t id = float_bits(leaf[9 * NEAREST_WIDE + lane]);
        float lo[3], hi[3];
        if (id == KD_NONE) return;
        for (uint32_t axis = 0; axis < 3; ++axis) {
            const float a = leaf[axis * NEAREST_WIDE + lane],
                        b = leaf[(3 + axis) * NEAREST_WIDE + lane],
                        c = leaf[(6 + axis) * NEAREST_WIDE + lane];
            lo[axis] = float_min(a, float_min(b, c)) * view->scale;
            hi[axis] = float_max(a, float_max(b, c)) * view->scale;
        }
        if (scene_enter(walk, lo, hi, scene_far(ray, walk)) < INFINITY)
            scene_row_test(ray, number, id);
    }
}

/* Pushes the children of a node that the ray hits, nearest last. */
KD_FN void scene_row_node(const scene_ray *ray, const tritree_walk *walk, const nearest_view *view,
                          nearest_entry *stack, int *waiting, uint32_t level, uint32_t index) {
    const nearest_node *node = view->nodes + view->first[level] + index;
    const uint32_t children = nearest_children(view, level, index);
    const int begin = *waiting;
    for (uint32_t i = 0; i < children; ++i) {
        const float lo[3] = {node->bound[0][i], node->bound[2][i], node->bound[4][i]};
        const float hi[3] = {node->bound[1][i], node->bound[3][i], node->bound[5][i]};
        const float near = scene_enter(walk, lo, hi, scene_far(ray, walk));
        if (near < INFINITY)
            nearest_push(stack, begin, waiting, near, level, NEAREST_WIDE * index + i);
    }
}
#else
/* The same for all children of a node, or triangles of a leaf, at once. Returns a mask of the boxes
   that the ray hits; *near is where it enters them. */
VECTOR8_FN uint32_t scene_enter8(const tritree_walk *walk, const float8 lo[3], const float8 hi[3],
                                 float limit, float8 *near) {
    float8 far = float8_all(limit);
    *near = float8_all(walk->near);
    for (int axis = 0; axis < 3; ++axis) {
        const float8 t0 = (lo[axis] - walk->origin[axis]) * walk->inverse[axis];
        const float8 t1 = (hi[axis] - walk->origin[axis]) * walk->inverse[axis];
        *near = float8_max(float8_min(t0, t1) - walk->slack[axis], *near);
        far = float8_min(float8_max(t0, t1) + walk->slack[axis], far);
    }
    return int8_bits(*near <= far);
}

KD_FN void scene_row_leaf(scene_ray *ray, const tritree_walk *walk, uint32_t number,
                          const nearest_view *view, uint32_t index) {
    const float *leaf = view->leaves + (uint64_t)index * NEAREST_LEAF_FLOATS;
    float8 lo[3], hi[3], near;
    for (int axis = 0; axis < 3; ++axis) {
        const float8 a = float8_load(leaf + axis * NEAREST_WIDE),
                     b = float8_load(leaf + (3 + axis) * NEAREST_WIDE),
                     c = float8_load(leaf + (6 + axis) * NEAREST_WIDE);
        lo[axis] = float8_min(a, float8_min(b, c)) * view->scale;
        hi[axis] = float8_max(a, float8_max(b, c)) * view->scale;
    }
    uint32_t hit = scene_enter8(walk, lo, hi, scene_far(ray, walk), &near);
    for (; hit; hit &= hit - 1) {
        const uint32_t id = float_bits(leaf[9 * NEAREST_WIDE + (uint32_t)__builtin_ctz(hit)]);
        if (id != KD_NONE) scene_row_test(ray, number, id);
    }
}

KD_FN void scene_row_node(const scene_ray *ray, const tritree_walk *walk, const nearest_view *view,
                          nearest_entry *stack, int *waiting, uint32_t level, uint32_t index) {
    const nearest_node *node = view->nodes + view->first[level] + index;
    const int begin = *waiting;
    float8 lo[3], hi[3], near;
    for (int axis = 0; axis < 3; ++axis) {
        lo[axis] = float8_load(node->bound[2 * axis]);
        hi[axis] = float8_load(node->bound[2 * axis + 1]);
    }
    uint32_t hit = scene_enter8(walk, lo, hi, scene_far(ray, walk), &near);
    for (hit &= (1u << nearest_children(view, level, index)) - 1; hit; hit &= hit - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(hit);
        nearest_push(stack, begin, waiting, near[i], level, NEAREST_WIDE * index + i);
    }
}
#endif

/* Finds the hits on one instance for a row or a count. */
KD_FN void scene_row_instance(scene_ray *ray, uint32_t number, const box3 *box) {
    const instance *instance = ray->base.view->list + number;
    const nearest_view *view = ray->scene->nearest + instance->shape;
    nearest_entry stack[NEAREST_STACK];
    tritree_walk walk;
    struct ray local;
    int waiting = 0;
    if (view->leaf_count == 0 ||
        !instance_aim_mesh(&walk, &local, instance, ray->base.view->shapes + instance->shape, box,
                           ray->base.ray, ray->limit))
        return;
    for (int axis = 0; axis < 3; ++axis) { /* boxes are scaled by a power of two */
        walk.origin[axis] *= view->scale;
        walk.inverse[axis] /= view->scale;
    }
    scene_row_node(ray, &walk, view, stack, &waiting, view->levels - 1, 0);
    while (waiting > 0) {
        const nearest_entry next = stack[--waiting];
        if (next.distance2 > ray->limit + walk.slack_t) continue;
        if (next.level == 0)
            scene_row_leaf(ray, &walk, number, view, next.index);
        else
            scene_row_node(ray, &walk, view, stack, &waiting, next.level - 1, next.index);
    }
}

/* instance_visit for every kind of query. */
KD_FN bool scene_visit(void *context, uint32_t number, const box3 *box) {
    scene_ray *ray = (scene_ray *)context;
    if (!(ray->scene->members[number].mask & ray->mask)) return false;
    const instance_view *view = ray->base.view;
    const tritree_view *tree = &view->shapes[view->list[number].shape].tree;
    ray->base.positions = tree->positions;
    ray->base.triangles = tree->triangles;
    if (ray->kind == SCENE_COUNT || ray->kind == SCENE_ROWS) {
        scene_row_instance(ray, number, box);
        return false;
    }
    const bool ended = instance_cast_one(&ray->base, number, box);
    ray->limit = ray->base.best.at.t;
    return ended;
}

/* Traverses the instances of a world, then those of every world. */
KD_FN void scene_ray_walk(scene_ray *ray, uint32_t world) {
    const scene_rays_view *scene = ray->scene;
    const uint32_t own = scene->roots[world], shared = scene->roots[scene->world_count];
    if (own != KD_NONE &&
        instance_walk(&scene->instances, own, ray->base.ray, &ray->limit, scene_visit, ray))
        return;
    if (shared != KD_NONE)
        instance_walk(&scene->instances, shared, ray->base.ray, &ray->limit, scene_visit, ray);
}

KD_FN scene_hit scene_miss(float tmax) {
    scene_hit hit;
    hit.t = tmax;
    hit.u = hit.v = 0;
    hit.triangle = hit.instance = hit.geometry = KD_NONE;
    hit.normal = vec3_all(0);
    return hit;
}

/* Returns the unit normal of an instance's triangle in world space, on the side from which the
   mesh's triangle is wound counter-clockwise, computed from the vertices as they are stored. */
KD_FN vec3 scene_normal(const scene_rays_view *scene, uint32_t number, uint32_t triangle) {
    const instance *instance = scene->instances.list + number;
    const tritree_view *tree = &scene->instances.shapes[instance->shape].tree;
    const uint32_t *corner = tree->triangles + 3 * (size_t)triangle;
    const vec3 a = tree->positions[corner[0]];
    const near3 n = near3_cross(near3_between(a, tree->positions[corner[1]]),
                                near3_between(a, tree->positions[corner[2]]));
    double c[3][3], to[3], largest = 0, length2 = 0;
    transform_cofactors(&instance->to_world, c);
    const double side = transform_determinant(&instance->to_world) < 0 ? -1 : 1;
    for (int row = 0; row < 3; ++row) {
        to[row] = side * (c[row][0] * n.x + c[row][1] * n.y + c[row][2] * n.z);
        largest = largest > fabs(to[row]) ? largest : fabs(to[row]);
    }
    if (!(largest > 0)) return vec3_all(0);
    for (int row = 0; row < 3; ++row) {
        to[row] /= largest;
        length2 += to[row] * to[row];
    }
    const double length = sqrt(length2);
    return vec3_make((float)(to[0] / length), (float)(to[1] / length), (float)(to[2] / length));
}

/* Sorts a row, computes normals, and fills the rest with misses. */
KD_FN void scene_row_end(scene_ray *ray, uint64_t capacity, float tmax) {
    scene_heap_sort(ray->row, ray->used);
    for (uint64_t i = 0; i < ray->used; ++i)
        ray->row[i].normal = scene_normal(ray->scene, ray->row[i].instance, ray->row[i].triangle);
    for (uint64_t i = ray->used; i < capacity; ++i) ray->row[i] = scene_miss(tmax);
}

KD_FN void scene_ray_end(scene_ray *ray, const scene_query *query, uint64_t i, float tmax) {
    if (ray->kind == SCENE_ANY) {
        query->blocked[i] = ray->base.best.at.triangle != KD_NONE;
    } else if (ray->kind == SCENE_CLOSEST) {
        const instance_hit *best = &ray->base.best;
        scene_hit hit = scene_miss(tmax);
        if (best->at.triangle != KD_NONE) {
            hit.t = best->at.t;
            hit.u = best->at.u;
            hit.v = best->at.v;
            hit.triangle = best->at.triangle;
            hit.instance = best->instance_id;
            hit.geometry = ray->scene->instances.list[hit.instance].shape;
            hit.normal = scene_normal(ray->scene, hit.instance, hit.triangle);
        }
        query->hits[i] = hit;
    } else {
        if (ray->kind == SCENE_ROWS) scene_row_end(ray, ray->capacity, tmax);
        if (query->counts)
            query->counts[i] = ray->used < KD_NONE ? (uint32_t)ray->used : (uint32_t)KD_NONE;
    }
}

/* Returns the world of a ray or point; KD_NONE if it does not exist. */
KD_FN uint32_t scene_world(const scene_rays_view *scene, const scene_query *query, uint64_t i) {
    const uint32_t world = query->worlds ? query->worlds[i] : 0;
    if (world < scene->world_count) return world;
    *query->fault = 1; /* every thread that writes it writes the same value */
    return KD_NONE;
}

/* Sets up ray i of a query, but for `precomputed`. Returns its world; KD_NONE if it hits nothing.
 */
KD_FN uint32_t scene_ray_begin(scene_ray *ray, const scene_rays_view *scene,
                               const scene_query *query, uint64_t i) {
    const uint32_t world = scene_world(scene, query, i);
    const struct ray given = query->rays[i];
    ray->scene = scene;
    ray->kind = query->kind;
    ray->mask = query->masks ? query->masks[i] : KD_NONE;
    ray->limit = given.tmax;
    ray->row = NULL;
    ray->used = ray->capacity = 0;
    if (query->kind == SCENE_ROWS) {
        const uint64_t begin = query->offsets ? query->offsets[i] : i * query->row;
        const uint64_t end = query->offsets ? query->offsets[i + 1] : begin + query->row;
        ray->row = query->hits + (begin - query->hits_begin);
        ray->capacity = end > begin ? end - begin : 0;
    }
    ray->base.view = &scene->instances;
    ray->base.ray = given;
    ray->base.best.at.t = given.tmax;
    ray->base.best.at.u = ray->base.best.at.v = 0;
    ray->base.best.at.triangle = ray->base.best.instance_id = KD_NONE;
    ray->base.ignored_instance = query->ignored ? query->ignored[2 * i] : KD_NONE;
    ray->base.ignored_triangle = query->ignored ? query->ignored[2 * i + 1] : KD_NONE;
    ray->base.any = query->kind == SCENE_ANY;
    if (!vec3_is_finite(given.origin) || !vec3_is_finite(given.direction) ||
        !(given.tmin < given.tmax) || (query->kind == SCENE_ROWS && !ray->capacity))
        return KD_NONE;
    return world;
}

KD_FN void scene_ray_query(const scene_rays_view *scene, const scene_query *query, uint64_t i) {
    scene_ray ray;
    const uint32_t world = scene_ray_begin(&ray, scene, query, i);
    if (world != KD_NONE) {
        ray.base.precomputed = precomputed_ray_make(ray.base.ray);
        scene_ray_walk(&ray, world);
    }
    scene_ray_end(&ray, query, i, query->rays[i].tmax);
}

#endif
