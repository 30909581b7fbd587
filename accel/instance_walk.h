/* Ray traversal of instanced meshes.
   Idea: descend the top-level tree, nearest child first. In a leaf, transform the ray to the mesh's
   object space and traverse the mesh's k-d tree (accel/tree/walk.h); each triangle in the leaves
   visited is transformed to world space and intersected there.
   Invariants: let e = 2^-24, D the largest distance along an axis from the ray's origin to the
   instance's box, and W the largest coordinate of that box. A hit has a point P of the triangle in
   world space, at most 6 e D from the ray and, along the ray, at most 104 e D from the t of the hit
   (triangle.h). P's corners are rounded by e W; so P lies within e (6 D + W) per axis of the image
   of a point Q of the triangle in object space, and the ray, transformed exactly, passes Q within e
   s (6 D + W), where s is the infinity norm of the inverse. Transformed in double and rounded to
   float, its origin has an error of e |o| <= e (R + B), and at Q the direction adds e R, where R is
   the largest distance along an axis from that origin to the mesh's box and B the box's largest
   coordinate. Planes add an error of 4 e R (walk.h). So a slack of twice e (s (6 D + W) + 6 R + B)
   never rejects a cell that contains Q. The errors of double arithmetic, with an inverse of at most
   INSTANCE_ANISOTROPY_MAX, are within the factor of two. Boxes in world space are treated as in
   walk.h. Ties: of hits at the same t the one with the smallest (instance, triangle) wins;
   triangles that are not instanced come before all others. */
#ifndef KD_ACCEL_INSTANCE_WALK_H
#define KD_ACCEL_INSTANCE_WALK_H
#include "accel/instances.h"
#include "accel/tree/walk.h"
#ifndef __CUDACC__
#include "accel/tree/vectors.h"
#include "accel/wide/wide_tree.h"
#endif

typedef struct instance_hit {
    ray_hit at;           /* `at.triangle` indexes the scene's triangles */
    uint32_t instance_id; /* the instance; KD_NONE: not instanced, or no hit */
} instance_hit;

/* A ray and its best hit among the instances. */
typedef struct instance_ray {
    const instance_view *view;
    const vec3 *positions;
    const uint32_t *triangles; /* 3 vertex indices per triangle of the scene */
    struct ray ray;
    precomputed_ray precomputed;
    instance_hit best;
    uint32_t ignored_instance, ignored_triangle; /* the triangle to skip; KD_NONE: none */
    bool any;                                    /* stop at the first hit */
} instance_ray;

KD_FN float instance_largest(vec3 v) {
    return float_max(fabsf(v.x), float_max(fabsf(v.y), fabsf(v.z)));
}

/* Returns the largest distance along an axis to the box. */
KD_FN float instance_reach(box3 box, vec3 from) {
    return float_max(instance_largest(vec3_sub(box.lo, from)),
                     instance_largest(vec3_sub(box.hi, from)));
}

#ifndef __CUDACC__
/* An instance for rays on a CPU: what a ray needs before it enters the mesh. The fourth number of
   a vector is 0. */
typedef struct instance_place {
    double back[3][4];                       /* columns of the inverse of the matrix of to_world */
    double from[3];                          /* translation of to_world */
    float spread, fixed;                     /* slack = spread * distance of the ray + fixed */
    float lo[4], hi[4];                      /* box that contains the instance in world space */
    float mesh_lo[4], mesh_hi[4], centre[4]; /* the mesh's box, and the centre of its wide tree */
    uint32_t shape, mask;                    /* mask: of a scene of rays */
} instance_place;

KD_FN instance_place instance_place_make(const instance *instance, const instanced_shape *shape,
                                         box3 box) {
    instance_place made;
    const box3 mesh = shape->tree.box;
    memset(&made, 0, sizeof made);
    for (int column = 0; column < 3; ++column) {
        for (int row = 0; row < 3; ++row) made.back[column][row] = instance->back[row][column];
        made.from[column] = instance->to_world.m[column][3];
        made.lo[column] = vec3_axis(box.lo, column);
        made.hi[column] = vec3_axis(box.hi, column);
        made.mesh_lo[column] = vec3_axis(mesh.lo, column);
        made.mesh_hi[column] = vec3_axis(mesh.hi, column);
        if (shape->tree.wide) made.centre[column] = vec3_axis(shape->tree.wide->centre, column);
    }
    made.spread = instance->spread;
    made.fixed = instance->spread * float_max(instance_largest(box.lo), instance_largest(box.hi)) +
                 float_max(instance_largest(mesh.lo), instance_largest(mesh.hi));
    made.shape = instance->shape;
    made.mask = KD_NONE;
    return made;
}

KD_FN box3 instance_place_box(const instance_place *place) {
    box3 box;
    box.lo = vec3_make(place->lo[0], place->lo[1], place->lo[2]);
    box.hi = vec3_make(place->hi[0], place->hi[1], place->hi[2]);
    return box;
}

#endif

/* Sets up the plane tests of a ray; `slack` is a length. Returns false if the ray misses the
   box. */
KD_FN bool instance_aim(tritree_walk *walk, box3 box, ray ray, float slack, float slack_t,
                        float tmax) {
    const float largest = instance_largest(ray.direction);
    if (!(largest > 0 && largest <= FLT_MAX)) return false;
    walk->slack_t = slack_t;
    walk->near = ray.tmin - slack_t;
    walk->far = tmax + slack_t;
    for (int axis = 0; axis < 3; ++axis) {
        const float along = vec3_axis(ray.direction, axis), from = vec3_axis(ray.origin, axis);
        const float safe =
            fabsf(along) > largest * 0x1p-26f ? along : copysignf(largest * 0x1p-26f, along);
        const float inverse = 1 / safe;
        const float t0 = (vec3_axis(box.lo, axis) - from) * inverse;
        const float t1 = (vec3_axis(box.hi, axis) - from) * inverse;
        walk->origin[axis] = from;
        walk->inverse[axis] = inverse;
        walk->slack[axis] = slack * fabsf(inverse);
        walk->negative[axis] = inverse < 0 ? ~(uint64_t)0 : 0;
        walk->near = float_max(float_min(t0, t1) - walk->slack[axis], walk->near);
        walk->far = float_min(float_max(t0, t1) + walk->slack[axis], walk->far);
    }
    return walk->near <= walk->far;
}

/* Returns the ray in object space, with the same parameter t. */
KD_FN ray instance_ray_local(const instance *instance, ray ray) {
    const double o[3] = {(double)ray.origin.x - instance->to_world.m[0][3],
                         (double)ray.origin.y - instance->to_world.m[1][3],
                         (double)ray.origin.z - instance->to_world.m[2][3]};
    const double d[3] = {(double)ray.direction.x, (double)ray.direction.y, (double)ray.direction.z};
    float origin[3], direction[3];
    for (int row = 0; row < 3; ++row) {
        const double *r = instance->back[row];
        origin[row] = (float)(r[0] * o[0] + r[1] * o[1] + r[2] * o[2]);
        direction[row] = (float)(r[0] * d[0] + r[1] * d[1] + r[2] * d[2]);
    }
    ray.origin = vec3_make(origin[0], origin[1], origin[2]);
    ray.direction = vec3_make(direction[0], direction[1], direction[2]);
    return ray;
}

/* Intersects a triangle of an instance, given in world space. Returns true if it improves the best
   hit. */
KD_FN bool instance_corners_intersect(instance_ray *ray, uint32_t number, uint32_t triangle, vec3 a,
                                      vec3 b, vec3 c) {
    float t = 0, u = 0, v = 0;
    if (!triangle_intersect(&ray->precomputed, a, b, c, &t, &u, &v)) return false;
    instance_hit *best = &ray->best;
    if (!(t > ray->ray.tmin && t <= best->at.t)) return false;
    if (t == best->at.t) { /* the end of the interval, or a tie */
        if (best->at.triangle == KD_NONE || best->instance_id == KD_NONE) return false;
        if (number > best->instance_id ||
            (number == best->instance_id && triangle >= best->at.triangle))
            return false;
    }
    if (number == ray->ignored_instance && triangle == ray->ignored_triangle) return false;
    if (triangle_is_degenerate(a, b, c))
        return false; /* a copy of the mesh would not have this triangle in its tree */
    best->at.t = t;
    best->at.u = u;
    best->at.v = v;
    best->at.triangle = triangle;
    best->instance_id = number;
    return true;
}

KD_FN bool instance_triangle_intersect(instance_ray *ray, uint32_t number, uint32_t triangle) {
    const instance *instance = ray->view->list + number;
    const uint32_t *corner = ray->triangles + 3 * (size_t)triangle;
    return instance_corners_intersect(ray, number, triangle,
                                      instance_corner(instance, ray->positions[corner[0]]),
                                      instance_corner(instance, ray->positions[corner[1]]),
                                      instance_corner(instance, ray->positions[corner[2]]));
}

/* User data of instance_leaf_intersect: a ray and an instance. */
typedef struct instance_leaf_query {
    instance_ray *ray;
    uint32_t number;
} instance_leaf_query;

/* Intersects the triangles of a leaf in world space. */
KD_FN bool instance_leaf_intersect(void *context, tritree_node leaf) {
    const instance_leaf_query *to = (const instance_leaf_query *)context;
    instance_ray *ray = to->ray;
    const instanced_shape *shape = ray->view->shapes + ray->view->list[to->number].shape;
    const uint32_t *ids = shape->tree.references + tritree_first(leaf);
    const uint32_t count = tritree_count(leaf);
    bool found = false;
    for (uint32_t i = 0; i < count && !(found && ray->any); ++i)
        found |= instance_triangle_intersect(ray, to->number, shape->first + ids[i]);
    return found;
}

/* Sets up the traversal of an instance's mesh by a ray in world space, up to `tmax`; `box` contains
   the instance in world space. *local is the ray in object space. Returns false if the ray misses
   the mesh. */
KD_FN bool instance_aim_mesh(tritree_walk *walk, ray *local, const instance *instance,
                             const instanced_shape *shape, const box3 *box, ray world, float tmax) {
    *local = instance_ray_local(instance, world);
    const float reach = instance_reach(*box, world.origin);
    const float wide = float_max(instance_largest(box->lo), instance_largest(box->hi));
    const float box_largest =
        float_max(instance_largest(shape->box.lo), instance_largest(shape->box.hi));
    const float slack = 0x1p-23f * (instance->spread * (6 * reach + wide) +
                                    6 * instance_reach(shape->box, local->origin) + box_largest);
    const float slack_t = reach / instance_largest(world.direction) * TRITREE_SLACK_T;
    return instance_aim(walk, shape->box, *local, slack, slack_t, tmax);
}

/* Traverses one instance's mesh by the nodes of its tree; `box` contains the instance. With `any`,
   returns true if there is a hit. */
KD_FN bool instance_cast_plain(instance_ray *instance_ray, uint32_t number, const box3 *box) {
    const instance *instance = instance_ray->view->list + number;
    const instanced_shape *shape = instance_ray->view->shapes + instance->shape;
    tritree_walk walk;
    ray local;
    instance_leaf_query instance_leaf_query = {instance_ray, number};
    if (!instance_aim_mesh(&walk, &local, instance, shape, box, instance_ray->ray,
                           instance_ray->best.at.t))
        return false;
    return tritree_walk_leaves(shape->tree.nodes, &walk, instance_leaf_intersect,
                               &instance_leaf_query, &instance_ray->best.at.t, instance_ray->any,
                               (tritree_counts *)0);
}

/* The same by the wide form of the tree, on a CPU. */
bool instance_cast_wide(instance_ray *instance_ray, uint32_t number, const box3 *box);

/* The same by the fastest form of the tree. */
KD_FN bool instance_cast_one(instance_ray *instance_ray, uint32_t number, const box3 *box) {
#ifndef __CUDACC__
    const instance_view *view = instance_ray->view;
    if (view->shapes[view->list[number].shape].tree.wide)
        return instance_cast_wide(instance_ray, number, box);
#endif
    return instance_cast_plain(instance_ray, number, box);
}

/* Returns where the ray enters the box; INFINITY if it misses the box. */
KD_FN float instance_enter(const tritree_walk *walk, const box3 *box, float far) {
    float near = walk->near;
    for (int axis = 0; axis < 3; ++axis) {
        const float t0 = (vec3_axis(box->lo, axis) - walk->origin[axis]) * walk->inverse[axis];
        const float t1 = (vec3_axis(box->hi, axis) - walk->origin[axis]) * walk->inverse[axis];
        near = float_max(float_min(t0, t1) - walk->slack[axis], near);
        far = float_min(float_max(t0, t1) + walk->slack[axis], far);
    }
    return near <= far ? near : INFINITY;
}

/* The same for the box of a node. */
KD_FN float instance_enter_node(const tritree_walk *walk, const instance_node *node, float far) {
#if defined(__GNUC__) && !defined(__CUDACC__)
    /* all axes at once; lane 3 is unused */
    const float4v origin = {walk->origin[0], walk->origin[1], walk->origin[2], 0};
    const float4v inverse = {walk->inverse[0], walk->inverse[1], walk->inverse[2], 0};
    const float4v slack = {walk->slack[0], walk->slack[1], walk->slack[2], 0};
    float4v lo, hi;
    memcpy(&lo, node, sizeof lo);
    memcpy(&hi, (const char *)node + sizeof(vec3), sizeof hi);
    const float4v t0 = (lo - origin) * inverse, t1 = (hi - origin) * inverse;
    const float4v in = float4v_max(float4v_min(t0, t1) - slack, float4v_all(walk->near));
    const float4v out = float4v_min(float4v_max(t0, t1) + slack, float4v_all(far));
    const float near = float_max(in[0], float_max(in[1], in[2]));
    return near <= float_min(out[0], float_min(out[1], out[2])) ? near : INFINITY;
#else
    return instance_enter(walk, &node->box, far);
#endif
}

/* Callback for each instance whose leaf the ray enters, with the box of the leaf; returns true to
   end the traversal. */
typedef bool (*instance_visit)(void *context, uint32_t number, const box3 *box);

/* Traverses the top-level tree from the node `root`, nearest child first. `nearest` points to the t
   up to which hits are wanted, which `visit` may lower. Returns true if `visit` ended it. */
TRITREE_WALK_FN bool instance_walk(const instance_view *view, uint32_t root, ray ray,
                                   const float *nearest, instance_visit visit, void *context) {
    tritree_walk walk;
    uint32_t waiting_nodes[INSTANCE_STACK + 1];
    float waiting_nears[INSTANCE_STACK + 1];
    int waiting = 0;
    const box3 whole = view->nodes[root].box;
    const float reach = instance_reach(whole, ray.origin),
                largest = instance_largest(ray.direction);
    const float slack_t = reach / largest * TRITREE_SLACK_T;
    if (!instance_aim(&walk, whole, ray, reach * TRITREE_SLACK, slack_t, *nearest)) return false;
    uint32_t at = root;
    for (;;) {
        const instance_node *node = view->nodes + at;
        if (node->count == 0) {
            const float far = *nearest + slack_t;
            uint32_t first = node->first, second = first + 1;
            float first_near = instance_enter_node(&walk, view->nodes + first, far);
            float second_near = instance_enter_node(&walk, view->nodes + second, far);
            if (second_near < first_near) {
                const float near = first_near;
                first_near = second_near;
                second_near = near;
                first = second;
                second = node->first;
            }
            if (second_near < INFINITY) {
                waiting_nodes[waiting] = second;
                waiting_nears[waiting++] = second_near;
            }
            if (first_near < INFINITY) {
                at = first;
                continue;
            }
        } else {
            for (uint32_t i = 0; i < node->count; ++i)
                if (visit(context, view->order[node->first + i], &node->box)) return true;
        }
        do {
            if (waiting == 0) return false;
            --waiting;
        } while (waiting_nears[waiting] > *nearest + slack_t);
        at = waiting_nodes[waiting];
    }
}

KD_FN bool instance_visit_one(void *context, uint32_t number, const box3 *box) {
    return instance_cast_one((instance_ray *)context, number, box);
}

/* Returns the best of `before`, the ray's best hit among triangles that are not instanced, and its
   hits on the instances. */
KD_FN instance_hit instance_cast(const instance_view *view, const vec3 *positions,
                                 const uint32_t *triangles, ray ray, ray_hit before, bool any) {
    instance_ray instance_ray;
    instance_ray.view = view;
    instance_ray.positions = positions;
    instance_ray.triangles = triangles;
    instance_ray.ray = ray;
    instance_ray.precomputed = precomputed_ray_make(ray);
    instance_ray.best.at = before;
    instance_ray.best.instance_id = KD_NONE;
    instance_ray.ignored_instance = instance_ray.ignored_triangle = KD_NONE;
    instance_ray.any = any;
    instance_walk(view, 0, ray, &instance_ray.best.at.t, instance_visit_one, &instance_ray);
    return instance_ray.best;
}

#endif
