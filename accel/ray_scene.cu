/* Queries on a scene of rays on a CUDA device, with one thread per ray or point. Closest and any
   hits have a traversal of their own (cast_world), the others that of ray_scene_near.h.
   Data flow: rays or points, and the scene -> hits, rows, counts or nearest points.
   Idea: the traversals of instance_walk.h and of walk.h, with the state of both in registers: one
   reciprocal direction, one slack and one interval for each level, and the slack of an axis
   computed where it is needed. Before a triangle is transformed to world space, edge functions in
   object space reject it if the ray certainly misses it.
   Invariants: the cells visited contain those of instance_walk and of tritree_walk_leaves, up to
   rounding that the slack's factor of two covers (instance_walk.h), so the hits are the same, bit
   for bit. A point Q of an accepted triangle lies within the slack of the ray per axis in object
   space; sheared, within 3 slack of the ray, which includes the rounding of the corners. So the
   edge functions of the ray differ from those of Q, which have one sign, by at most 3 slack times
   the edge's extent.
   Memory: 64 registers, and so twice as many rays in flight, are worth more than the spills that
   they cause (docs/notebook/rays.md). */
#include "accel/ray_scene_near.h"
#include "core/device/cuda.h"

namespace {

enum { BLOCK = 128 };

#define SCENE_CAST_FN static __device__ __forceinline__

/* A ray prepared for intersection with axis-aligned planes. */
struct cast_planes {
    float ox, oy, oz, ix, iy, iz; /* origin, 1 / direction */
    float slack;                  /* of a plane, for 1 / direction = 1 */
};

/* Returns 1 / direction, with components of at least 2^-26 of the largest one. */
SCENE_CAST_FN float cast_inverse(float along, float smallest) {
    return 1 / (fabsf(along) > smallest ? along : copysignf(smallest, along));
}

SCENE_CAST_FN cast_planes cast_planes_make(const ray &ray, float slack) {
    const float smallest = instance_largest(ray.direction) * 0x1p-26f;
    cast_planes planes;
    planes.ox = ray.origin.x, planes.oy = ray.origin.y, planes.oz = ray.origin.z;
    planes.ix = cast_inverse(ray.direction.x, smallest);
    planes.iy = cast_inverse(ray.direction.y, smallest);
    planes.iz = cast_inverse(ray.direction.z, smallest);
    planes.slack = slack * 1.000001f;
    return planes;
}

SCENE_CAST_FN void cast_clip(float *near, float *far, float lo, float hi, float origin,
                             float inverse, float slack) {
    const float t0 = (lo - origin) * inverse, t1 = (hi - origin) * inverse;
    *near = fmaxf(*near, fmaf(-slack, fabsf(inverse), fminf(t0, t1)));
    *far = fminf(*far, fmaf(slack, fabsf(inverse), fmaxf(t0, t1)));
}

/* Clips the interval to the box; returns false if nothing is left. */
SCENE_CAST_FN bool cast_enter(const cast_planes &at, const box3 &box, float *near, float *far) {
    cast_clip(near, far, box.lo.x, box.hi.x, at.ox, at.ix, at.slack);
    cast_clip(near, far, box.lo.y, box.hi.y, at.oy, at.iy, at.slack);
    cast_clip(near, far, box.lo.z, box.hi.z, at.oz, at.iz, at.slack);
    return *near <= *far;
}

SCENE_CAST_FN instance_node cast_node(const instance_view &view, uint32_t at) {
    const float4 *from = (const float4 *)(view.nodes + at);
    const float4 a = __ldg(from), b = __ldg(from + 1);
    instance_node node;
    node.box.lo = vec3_make(a.x, a.y, a.z);
    node.box.hi = vec3_make(a.w, b.x, b.y);
    node.first = __float_as_uint(b.z);
    node.count = __float_as_uint(b.w);
    return node;
}

/* A ray in an object's space, for the edge functions. */
struct cast_shear {
    precomputed_ray ray;
    float margin;
};

/* Returns true if the ray certainly misses the triangle, given in object space. */
SCENE_CAST_FN bool cast_misses(const cast_shear &to, vec3 a, vec3 b, vec3 c) {
    const precomputed_ray &r = to.ray;
    const float ox = vec3_axis(r.origin, r.kx), oy = vec3_axis(r.origin, r.ky),
                oz = vec3_axis(r.origin, r.kz);
    const float az = vec3_axis(a, r.kz) - oz, bz = vec3_axis(b, r.kz) - oz,
                cz = vec3_axis(c, r.kz) - oz;
    const float ax = fmaf(-r.sx, az, vec3_axis(a, r.kx) - ox);
    const float ay = fmaf(-r.sy, az, vec3_axis(a, r.ky) - oy);
    const float bx = fmaf(-r.sx, bz, vec3_axis(b, r.kx) - ox);
    const float by = fmaf(-r.sy, bz, vec3_axis(b, r.ky) - oy);
    const float cx = fmaf(-r.sx, cz, vec3_axis(c, r.kx) - ox);
    const float cy = fmaf(-r.sy, cz, vec3_axis(c, r.ky) - oy);
    bool below = false, above = false;
    const auto edge = [&](float px, float py, float qx, float qy) {
        const float w = px * qy - py * qx;
        const float m = to.margin * (fabsf(px - qx) + fabsf(py - qy)) +
                        0x1p-22f * (fabsf(px * qy) + fabsf(py * qx));
        below |= w < -m;
        above |= w > m;
    };
    edge(cx, cy, bx, by);
    edge(ax, ay, cx, cy);
    edge(bx, by, ax, ay);
    return below && above;
}

/* A triangle of an instance in world space, tested: t is NaN if it is missed. */
struct cast_result {
    float t, u, v;
};

/* Called, not inlined, because most triangles are rejected before, and its registers would be
   reserved for the whole traversal. */
static __device__ __noinline__ cast_result cast_test(vec3 origin, vec3 direction,
                                                     const instance *placed, vec3 a, vec3 b,
                                                     vec3 c) {
    ray world;
    world.origin = origin;
    world.direction = direction;
    const precomputed_ray precomputed = precomputed_ray_make(world);
    cast_result result = {0, 0, 0};
    a = instance_corner(placed, a);
    b = instance_corner(placed, b);
    c = instance_corner(placed, c);
    if (!triangle_intersect(&precomputed, a, b, c, &result.t, &result.u, &result.v) ||
        triangle_is_degenerate(a, b, c))
        result.t = NAN;
    return result;
}

/* Replaces the best hit if the triangle's comes before it, as instance_corners_intersect does. */
SCENE_CAST_FN bool cast_improves(instance_ray *to, const cast_result &hit, uint32_t number,
                                 uint32_t id) {
    instance_hit *best = &to->best;
    if (!(hit.t > to->ray.tmin && hit.t <= best->at.t)) return false;
    if (hit.t == best->at.t && (best->instance_id == KD_NONE || number > best->instance_id ||
                                (number == best->instance_id && id >= best->at.triangle)))
        return false;
    if (number == to->ignored_instance && id == to->ignored_triangle) return false;
    best->at.t = hit.t;
    best->at.u = hit.u;
    best->at.v = hit.v;
    best->at.triangle = id;
    best->instance_id = number;
    return true;
}

/* Tests the triangles of a leaf. Returns true if one of them improves the hit. */
SCENE_CAST_FN bool cast_leaf(instance_ray *to, const tritree_view *tree, uint32_t number,
                             const ray &local, float slack, uint32_t first, uint32_t count,
                             bool any) {
    const instance *placed = to->view->list + number;
    bool found = false;
    const cast_shear shear = {precomputed_ray_make(local), 3 * slack};
#pragma unroll 1
    for (uint32_t i = first; i < first + count; ++i) {
        const uint32_t id = __ldg(tree->references + i);
        const uint32_t *corner = tree->triangles + 3 * (size_t)id;
        const vec3 a = tree->positions[__ldg(corner)], b = tree->positions[__ldg(corner + 1)],
                   c = tree->positions[__ldg(corner + 2)];
        if (cast_misses(shear, a, b, c)) continue;
        const cast_result hit = cast_test(to->ray.origin, to->ray.direction, placed, a, b, c);
        found |= cast_improves(to, hit, number, id);
        if (any && found) return true;
    }
    return found;
}

/* Traverses the mesh of an instance whose box is `box`. Returns true if there is a hit and any hit
   will do. */
template <bool ANY>
SCENE_CAST_FN bool cast_instance(instance_ray *to, uint32_t number, const box3 &box,
                                 float4 *stack) {
    const instance *placed = to->view->list + number;
    const instanced_shape *shape = to->view->shapes + placed->shape;
    const tritree_view *tree = &shape->tree;
    const ray local = instance_ray_local(placed, to->ray);
    const float reach = instance_reach(box, to->ray.origin);
    const float wide = fmaxf(instance_largest(box.lo), instance_largest(box.hi));
    const float box_largest =
        fmaxf(instance_largest(shape->box.lo), instance_largest(shape->box.hi));
    const float slack = 0x1p-23f * (placed->spread * (6 * reach + wide) +
                                    6 * instance_reach(shape->box, local.origin) + box_largest);
    const float slack_t = reach / instance_largest(to->ray.direction) * TRITREE_SLACK_T;
    const float largest = instance_largest(local.direction);
    if (!(largest > 0 && largest <= FLT_MAX)) return false;
    const cast_planes planes = cast_planes_make(local, slack);
    float near = to->ray.tmin - slack_t, far = to->best.at.t + slack_t;
    if (!cast_enter(planes, shape->box, &near, &far)) return false;
    const uint2 *nodes = (const uint2 *)tree->nodes;
    int waiting = 0;
    uint2 node = __ldg(nodes);
    for (;;) {
        while ((node.y & 3) != TRITREE_LEAF) {
            const float inverse = node.y & 2 ? planes.iz : node.y & 1 ? planes.iy : planes.ix;
            const float origin = node.y & 2 ? planes.oz : node.y & 1 ? planes.oy : planes.ox;
            const float t = (__uint_as_float(node.x) - origin) * inverse;
            const float low = fmaf(-planes.slack, fabsf(inverse), t);
            const float high = fmaf(planes.slack, fabsf(inverse), t);
            const uint32_t negative = __float_as_uint(inverse) >> 31;
            uint32_t next = (node.y >> 2) + negative;
            const uint32_t other = (node.y >> 2) + (negative ^ 1);
            if (high < near) {
                next = other;
            } else if (!(low > far)) {
                stack[waiting++] = make_float4(__uint_as_float(other), fmaxf(low, near), far, 0.0f);
                far = fminf(high, far);
            }
            node = __ldg(nodes + next);
        }
        if (cast_leaf(to, tree, number, local, slack, node.x, node.y >> 2, ANY) && ANY) return true;
        do {
            if (waiting == 0) return false;
            --waiting;
        } while (stack[waiting].y > to->best.at.t + slack_t);
        node = __ldg(nodes + __float_as_uint(stack[waiting].x));
        near = stack[waiting].y;
        far = stack[waiting].z;
    }
}

/* Traverses the instances below a node. Returns true if there is a hit and any hit will do. */
template <bool ANY> SCENE_CAST_FN bool cast_root(scene_ray *ray, uint32_t root) {
    instance_ray *to = &ray->base;
    const instance_view &view = ray->scene->instances;
    float4 stack[TRITREE_MAX_DEPTH + 2];
    uint2 waiting_nodes[INSTANCE_STACK + 1];
    int waiting = 0;
    instance_node node = cast_node(view, root);
    const float reach = instance_reach(node.box, to->ray.origin),
                largest = instance_largest(to->ray.direction);
    if (!(largest > 0 && largest <= FLT_MAX)) return false;
    const float slack_t = reach / largest * TRITREE_SLACK_T;
    const cast_planes planes = cast_planes_make(to->ray, reach * TRITREE_SLACK);
    const float begin = to->ray.tmin - slack_t;
    float near = begin, far = to->best.at.t + slack_t;
    if (!cast_enter(planes, node.box, &near, &far)) return false;
    for (;;) {
        while (node.count == 0) {
            const instance_node left = cast_node(view, node.first),
                                right = cast_node(view, node.first + 1);
            float left_near = begin, right_near = begin, left_far = to->best.at.t + slack_t,
                  right_far = left_far;
            const bool enters_left = cast_enter(planes, left.box, &left_near, &left_far);
            const bool enters_right = cast_enter(planes, right.box, &right_near, &right_far);
            const bool right_first = enters_right && (!enters_left || right_near < left_near);
            if (enters_left && enters_right)
                waiting_nodes[waiting++] =
                    make_uint2(node.first + !right_first,
                               __float_as_uint(right_first ? left_near : right_near));
            else if (!enters_left && !enters_right)
                break;
            node = right_first ? right : left;
        }
#pragma unroll 1
        for (uint32_t i = 0; i < node.count; ++i) {
            const uint32_t number = __ldg(view.order + node.first + i);
            if ((ray->scene->members[number].mask & ray->mask) &&
                cast_instance<ANY>(to, number, node.box, stack))
                return true;
        }
        do {
            if (waiting == 0) return false;
            --waiting;
        } while (__uint_as_float(waiting_nodes[waiting].y) > to->best.at.t + slack_t);
        node = cast_node(view, waiting_nodes[waiting].x);
    }
}

/* Traverses the instances of a world, then those of every world. */
template <bool ANY> SCENE_CAST_FN void cast_world(scene_ray *ray, uint32_t world) {
    const scene_rays_view *scene = ray->scene;
#pragma unroll 1
    for (uint32_t at = world;; at = scene->world_count) {
        const uint32_t root = scene->roots[at];
        if (root != KD_NONE && cast_root<ANY>(ray, root)) return;
        if (at == scene->world_count) return;
    }
}

template <scene_kind KIND>
__global__ __launch_bounds__(BLOCK) void answer(const __grid_constant__ scene_rays_view scene,
                                                const __grid_constant__ scene_query given) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    scene_query query = given;
    query.kind = KIND; /* a constant for the compiler */
    if (i < query.count) scene_query_one(&scene, &query, i);
}

template <bool ANY>
__global__ __launch_bounds__(BLOCK, 8) void cast(const __grid_constant__ scene_rays_view scene,
                                                 const __grid_constant__ scene_query given) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    scene_query query = given;
    query.kind = ANY ? SCENE_ANY : SCENE_CLOSEST; /* a constant for the compiler */
    if (i >= query.count) return;
    scene_ray ray;
    const uint32_t world = scene_ray_begin(&ray, &scene, &query, i);
    if (world != KD_NONE) cast_world<ANY>(&ray, world);
    scene_ray_end(&ray, &query, i, query.rays[i].tmax);
}

template <bool ANY>
void launch_cast(const scene_rays_view *scene, const scene_query *query, void *stream) {
    cast<ANY><<<cuda_blocks(query->count, BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(*scene, *query);
}

template <scene_kind KIND>
void launch(const scene_rays_view *scene, const scene_query *query, void *stream) {
    answer<KIND>
        <<<cuda_blocks(query->count, BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(*scene, *query);
}

} // namespace

kd_status scene_query_launch(const scene_rays_view *scene, const scene_query *query, void *stream) {
    if (query->count == 0) return KD_OK;
    switch (query->kind) {
    case SCENE_CLOSEST: launch_cast<false>(scene, query, stream); break;
    case SCENE_ANY: launch_cast<true>(scene, query, stream); break;
    case SCENE_COUNT: launch<SCENE_COUNT>(scene, query, stream); break;
    case SCENE_ROWS: launch<SCENE_ROWS>(scene, query, stream); break;
    case SCENE_POINTS: launch<SCENE_POINTS>(scene, query, stream); break;
    }
    KD_CUDA_LAUNCHED("answer");
    return KD_OK;
}
