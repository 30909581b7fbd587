#include "render/photon_mapping/light_parts.h"
#include "render/frame/light_groups.h"

static void add(const light_parts *parts, uint32_t light, vec3 radiance) {
    light_groups_add(parts->groups, parts->x, parts->y, light_groups_find(parts->groups, light),
                     radiance);
}

void light_parts_add_found(const light_parts *parts, uint32_t triangle, vec3 radiance) {
    add(parts, light_groups_light_found(parts->scene, triangle), radiance);
}

void light_parts_add_sampled(const light_parts *parts, const surface *at, vec3 wo, rng_block random,
                             vec3 radiance) {
    float chance;
    add(parts,
        light_choose(parts->scene, at->position, path_light_normal(at, wo), random.value[2],
                     &chance),
        radiance);
}

/* A density estimate whose sum is divided by groups; the last one has the photons of no group. */
typedef struct divided_sum {
    const light_groups *groups;
    const photon_map_view *map;
    const surface *at;
    vec3 wo;
    estimate_point point;
    float per_radius2;
    flux_sum parts[LIGHT_GROUPS_MAX + 1];
} divided_sum;

static void add_photon(divided_sum *sum, uint32_t node, float dist2) {
    const photon_map_view *map = sum->map;
    const photon *landed = &map->photons[node];
    if (!estimate_accepts(landed, &sum->point)) return;
    flux_sum_add(&sum->parts[light_groups_find(sum->groups, landed->light)],
                 photon_kernel_at(map->kernel, dist2 * sum->per_radius2),
                 photon_scattered(sum->at, sum->wo, landed), map->scale);
}

/* The photons of photon_fixed_sum. */
static void add_within(divided_sum *sum) {
    const pointtree_view *tree = &sum->map->tree;
    const float bound2 = pointtree_bound2(sum->map->radius);
    pointtree_walk walk = pointtree_walk_begin();
    if (tree->count == 0 || !(bound2 > 0)) return;
    sum->per_radius2 = 1 / bound2;
    while (pointtree_walk_next(tree, sum->point.position, bound2, &walk)) {
        const float dist2 = pointtree_dist2(sum->point.position, tree->points[walk.node]);
        if (dist2 <= bound2) add_photon(sum, walk.node, dist2);
    }
}

vec3 light_parts_look_up(const light_parts *parts, const photon_map_view *map,
                         const tile_view *tiles, const surface *at, vec3 wo, vec3 throughput) {
    const light_groups *groups = parts->groups;
    divided_sum sum = {.groups = groups, .map = map, .at = at, .wo = wo};
    flux_sum whole = flux_sum_none();
    photon_gathering gathered;
    visibility_horizon horizon;
    gathered.radius = map->radius;
    if (map->gather) photon_gather(map, at->position, &gathered);
    sum.point = estimate_point_on(tiles, at, gathered.radius, &horizon);
    if (map->gather == 0) {
        add_within(&sum);
    } else {
        if (map->adaptive) photon_gathering_adapt(map, tiles, &sum.point, &gathered);
        if (gathered.count == 0 || !(gathered.radius > 0)) return vec3_all(0);
        sum.per_radius2 = 1 / (gathered.radius * gathered.radius);
        for (uint32_t i = 0; i < gathered.count; ++i)
            add_photon(&sum, gathered.neighbours[i].node, gathered.neighbours[i].dist2);
    }
    for (uint32_t g = 0; g <= groups->count; ++g) {
        whole.x += sum.parts[g].x;
        whole.y += sum.parts[g].y;
        whole.z += sum.parts[g].z;
    }
    if (flux_sum_is_zero(&whole)) return vec3_all(0);
    const float integral = estimate_integral(tiles, &sum.point, gathered.radius, map->kernel);
    for (uint32_t g = 0; g < groups->count; ++g)
        light_groups_add(
            groups, parts->x, parts->y, g,
            vec3_mul(throughput, photon_sum_over(map, &sum.parts[g], integral, gathered.radius)));
    return photon_sum_over(map, &whole, integral, gathered.radius);
}
