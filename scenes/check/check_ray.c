/* A ray from a point of a triangle along z, and the triangles that it crosses, for nesting of
   shells. */
#include "core/growth.h"
#include "core/memory.h"
#include "scenes/check/check_parts.h"
#include <stdlib.h>

static void keep_hit(check_ray *ray, uint32_t triangle) {
    if (KD_RESERVE_NEXT(ray->hits, ray->hit_count, ray->hit_capacity, 64) != KD_OK) {
        ray->status = KD_ERROR_MEMORY;
        return;
    }
    ray->hits[ray->hit_count++] = triangle;
}

/* Returns the side of an edge on which the ray passes; computed identically for both triangles of
   the edge. */
static int side_of(const check_ray *ray, uint32_t from, uint32_t to) {
    const bool turned = from > to;
    const vec3 p = ray->check->body.positions[turned ? to : from];
    const vec3 q = ray->check->body.positions[turned ? from : to];
    const double area = ((double)q.x - (double)p.x) * (ray->from[1] - (double)p.y) -
                        ((double)q.y - (double)p.y) * (ray->from[0] - (double)p.x);
    return (area >= 0) != turned ? 1 : -1;
}

/* Returns 1 if the ray leaves through the triangle's front, -1 if it enters, 0 if it misses. */
int check_ray_side(const check_ray *ray, uint32_t triangle) {
    const examination *check = ray->check;
    const int side = side_of(ray, check_place(check, triangle, 0), check_place(check, triangle, 1));
    for (int k = 1; k < 3; ++k)
        if (side_of(ray, check_place(check, triangle, k),
                    check_place(check, triangle, (k + 1) % 3)) != side)
            return 0;
    const vec3 a = check_point(check, triangle, 0);
    const check_vector normal = check_cross(check_difference(check_point(check, triangle, 1), a),
                                            check_difference(check_point(check, triangle, 2), a));
    const double above = (ray->from[0] - (double)a.x) * normal.x[0] +
                         (ray->from[1] - (double)a.y) * normal.x[1] +
                         (ray->from[2] - (double)a.z) * normal.x[2];
    if ((side > 0 ? above : -above) >= 0) return 0; /* behind the ray's origin */
    return side;
}

static void node_walk(check_ray *ray, uint32_t at) {
    while (ray->tests < ray->tests_max) {
        const tritree_node node = ray->tree->nodes[at];
        if (tritree_is_leaf(node)) {
            const uint32_t *ids = ray->tree->references + tritree_first(node);
            ray->tests += tritree_count(node) + 1;
            for (uint32_t i = 0; i < tritree_count(node); ++i)
                if (!(ray->check->marks[ids[i]] & CHECK_IDLE) && check_ray_side(ray, ids[i]) != 0)
                    keep_hit(ray, ids[i]);
            return;
        }
        const int axis = tritree_axis(node);
        const uint32_t left = tritree_left(node);
        const double split = (double)node.split;
        if (ray->from[axis] <= split) {
            if (axis == 2 || !(ray->from[axis] < split)) node_walk(ray, left + 1);
            at = left;
        } else {
            at = left + 1;
        }
    }
}

static _Thread_local const uint32_t *sorted_groups;

static int hit_order(const void *a, const void *b) {
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    const uint32_t group = sorted_groups[left], other = sorted_groups[right];
    if (group != other) return group < other ? -1 : 1;
    return left < right ? -1 : left > right;
}

kd_status check_ray_cast(check_ray *ray, uint32_t triangle) {
    static const double weight[3] = {0.31, 0.33, 0.36};
    memset(ray->from, 0, sizeof ray->from);
    for (int k = 0; k < 3; ++k)
        for (int axis = 0; axis < 3; ++axis)
            ray->from[axis] +=
                weight[k] * (double)vec3_axis(check_point(ray->check, triangle, k), axis);
    ray->hit_count = 0;
    node_walk(ray, 0);
    KD_TRY(ray->status);
    sorted_groups = ray->groups;
    if (ray->hit_count) qsort(ray->hits, ray->hit_count, sizeof *ray->hits, hit_order);
    uint64_t kept = 0; /* a triangle may be listed in several leaves */
    for (uint64_t i = 0; i < ray->hit_count; ++i)
        if (kept == 0 || ray->hits[i] != ray->hits[kept - 1]) ray->hits[kept++] = ray->hits[i];
    ray->hit_count = kept;
    return KD_OK;
}

void check_ray_close(check_ray *owned) {
    memory_free(owned->hits);
    memset(owned, 0, sizeof *owned);
}
