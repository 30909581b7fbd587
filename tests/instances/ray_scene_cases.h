/* A scene of rays with meshes of several kinds, instances with several transforms, masks and
   worlds; and its queries by testing every triangle of every instance. */
#ifndef KD_TESTS_RAY_SCENE_CASES_H
#define KD_TESTS_RAY_SCENE_CASES_H
#include "accel/rays/nearest.h"
#include "tests/accel/nearest_points.h"
#include "tests/instances/transform_cases.h"
#include <kandela/ray_scenes.h>

enum { SETS = 4, SET_TRIANGLES = 24, PUT = 26, WORLDS = 3, LIST = PUT * SET_TRIANGLES };

typedef struct scene_case {
    triangle_set sets[SETS]; /* the last one is without area */
    kd_triangles *trees[SETS];
    triangle_set copies; /* all triangles in world space */
    kd_ray_instance instances[PUT];
    double origin[3];
    kd_ray_scene *scene;
} scene_case;

static inline void ok(kd_status status) {
    if (status != KD_OK) fail_msg("%s", kd_last_error());
}

static inline kd_triangles *case_tree(const triangle_set *set, const char *device) {
    kd_triangles *tree = NULL;
    kd_triangles_options options;
    kd_triangles_options_default(&options);
    snprintf(options.device, sizeof options.device, "%s", device);
    const kd_triangle_mesh mesh = kd_triangle_mesh_make(
        &set->positions[0].x, set->input.position_count, set->triangles, set->input.triangle_count);
    ok(kd_triangles_open(&tree, &mesh, &options));
    return tree;
}

/* Sets the transform of an instance in the test's arrays. */
static inline void case_move(scene_case *c, uint32_t i, const transform *transform) {
    memcpy(c->instances[i].transform, transform->m, sizeof transform->m);
    for (int row = 0; row < 3; ++row) c->instances[i].transform[4 * row + 3] += c->origin[row];
}

static inline vec3 case_corner(const scene_case *c, uint32_t i, uint32_t vertex) {
    transform to_world;
    const kd_ray_instance *instance = c->instances + i;
    memcpy(to_world.m, instance->transform, sizeof to_world.m);
    for (int row = 0; row < 3; ++row) to_world.m[row][3] -= c->origin[row];
    return transform_point(&to_world, c->sets[instance->geometry].positions[vertex]);
}

/* Computes the triangles in world space anew. */
static inline void case_place(scene_case *c) {
    box3 box = box3_empty();
    for (uint32_t i = 0; i < PUT; ++i)
        for (uint32_t k = 0; k < 3 * SET_TRIANGLES; ++k) {
            vec3 *at = c->copies.positions + (size_t)i * 3 * SET_TRIANGLES + k;
            *at = case_corner(c, i, k);
            box3_include(&box, *at);
        }
    c->copies.size = vec3_largest(box3_size(box));
    c->copies.centre = box3_centre(box);
}

/* `which` selects the triangles, `far` the scene's origin. */
static inline void case_open(scene_case *c, uint32_t which, double far, const char *device) {
    memset(c, 0, sizeof *c);
    c->origin[0] = far;
    c->origin[1] = -3 * far;
    for (uint32_t s = 0; s < SETS; ++s) {
        c->sets[s] =
            triangle_set_make((case_triangles)((which + s) % CASE_TRIANGLE_SETS), SET_TRIANGLES);
        for (uint32_t t = 0; s + 1 == SETS && t < SET_TRIANGLES; ++t) /* lines and points */
            for (uint32_t k = 1 + t % 2; k < 3; ++k)
                c->sets[s].positions[3 * t + k] = c->sets[s].positions[3 * t];
        c->trees[s] = case_tree(&c->sets[s], device);
    }
    c->copies = triangle_set_make(CASE_SOUP, LIST);
    ok(kd_ray_scene_open(&c->scene, WORLDS));
    for (uint32_t s = 0; s < SETS; ++s) {
        uint32_t geometry = KD_NONE;
        ok(kd_ray_scene_add_geometry(c->scene, c->trees[s], &geometry));
        assert_int_equal(geometry, s);
    }
    for (uint32_t i = 0; i < PUT; ++i) {
        const transform transform = case_transform(i, c->sets[0].size);
        c->instances[i] = kd_ray_instance_make(i / 3 % SETS);
        c->instances[i].world = i % 5 == 4 ? KD_EVERY_WORLD : i % WORLDS;
        c->instances[i].mask = i % 7 == 6 ? 0 : i % 7 == 5 ? 1u << 31 : 1u << i % 2 | 4;
        case_move(c, i, &transform);
    }
    ok(kd_ray_scene_add_instances(c->scene, c->instances, PUT, NULL));
    ok(kd_ray_scene_set_origin(c->scene, c->origin));
    ok(kd_ray_scene_commit(c->scene));
    case_place(c);
}

static inline void case_close(scene_case *c) {
    kd_ray_scene_close(c->scene);
    for (uint32_t s = 0; s < SETS; ++s) {
        kd_triangles_close(c->trees[s]);
        triangle_set_close(&c->sets[s]);
    }
    triangle_set_close(&c->copies);
}

/* A ray or point, and what it sees. */
typedef struct case_view {
    uint32_t mask, world, ignored[2];
} case_view;

static inline case_view case_view_of(uint32_t i) {
    const case_view view = {i % 3 == 0   ? UINT32_MAX
                            : i % 3 == 1 ? 2
                                         : 1u << 31 | 1,
                            i / 2 % WORLDS,
                            {KD_NO_INSTANCE, KD_NO_TRIANGLE}};
    return view;
}

static inline bool case_sees(const scene_case *c, case_view view, uint32_t i) {
    const kd_ray_instance *instance = c->instances + i;
    return (instance->mask & view.mask) &&
           (instance->world == KD_EVERY_WORLD || instance->world == view.world);
}

/* Lists all hits in order; returns their number. */
static inline uint32_t case_hits(const scene_case *c, ray ray, case_view view,
                                 kd_scene_hit list[LIST]) {
    const precomputed_ray precomputed = precomputed_ray_make(ray);
    uint32_t count = 0;
    if (!(ray.tmin < ray.tmax) || !vec3_is_finite(ray.origin) || !vec3_is_finite(ray.direction) ||
        vec3_is_zero(ray.direction))
        return 0;
    for (uint32_t k = 0; k < LIST; ++k) {
        const uint32_t i = k / SET_TRIANGLES, triangle = k % SET_TRIANGLES;
        const vec3 *p = c->copies.positions + 3 * (size_t)k,
                   *q = c->sets[c->instances[i].geometry].positions + 3 * (size_t)triangle;
        kd_scene_hit hit = {.triangle = triangle, .instance = i};
        if (!case_sees(c, view, i) || (view.ignored[0] == i && view.ignored[1] == triangle) ||
            triangle_is_degenerate(q[0], q[1], q[2]) || triangle_is_degenerate(p[0], p[1], p[2]))
            continue;
        if (!triangle_intersect(&precomputed, p[0], p[1], p[2], &hit.t, &hit.u, &hit.v) ||
            !(hit.t > ray.tmin && hit.t < ray.tmax))
            continue;
        hit.geometry = c->instances[i].geometry;
        uint32_t at = count++; /* instances and triangles come in order: insertion is stable */
        for (; at > 0 && list[at - 1].t > hit.t; --at) list[at] = list[at - 1];
        list[at] = hit;
    }
    return count;
}

/* Returns the nearest triangle's distance and place. */
static inline kd_scene_near case_nearest(const scene_case *c, vec3 point, case_view view,
                                         float max_distance) {
    double best = (double)max_distance * (double)max_distance;
    near_place place = near_place_none();
    kd_scene_near found;
    uint32_t instance = KD_NONE, geometry = KD_NONE;
    for (uint32_t k = 0; k < LIST && vec3_is_finite(point); ++k) {
        const uint32_t i = k / SET_TRIANGLES;
        const vec3 *p = c->copies.positions + 3 * (size_t)k;
        int order[3];
        near3 sorted[3];
        if (!case_sees(c, view, i)) continue;
        near_order(p, order);
        for (int n = 0; n < 3; ++n) sorted[n] = near3_between(point, p[order[n]]);
        const double distance2 = near_triangle_distance2(sorted[0], sorted[1], sorted[2]);
        if (!(distance2 < best || (distance2 == best && instance == KD_NONE))) continue;
        best = distance2;
        place = near_describe(point, p, k % SET_TRIANGLES);
        instance = i;
        geometry = c->instances[i].geometry;
    }
    memset(&found, 0, sizeof found);
    memcpy(&found, &place, sizeof place);
    found.instance = instance;
    found.geometry = geometry;
    return found;
}

#endif
