#include "tools/peers/tinybvh_rays.h"
#define TINYBVH_IMPLEMENTATION
#include <tiny_bvh.h>
#include <vector>

struct tinybvh_trees {
    std::vector<tinybvh::bvhvec4> corners; // referenced by the trees
    tinybvh::BVH4_CPU by4;
    tinybvh::BVH8_CPU by8;
};

tinybvh_trees *tinybvh_open(const vec3 *positions, const uint32_t *triangles, uint32_t count) {
    tinybvh_trees *trees = new tinybvh_trees;
    for (uint64_t i = 0; i < 3 * uint64_t(count); ++i) {
        const vec3 p = positions[triangles[i]];
        trees->corners.emplace_back(p.x, p.y, p.z, 0.0f);
    }
    trees->by4.BuildHQ(trees->corners.data(), count);
    trees->by8.BuildHQ(trees->corners.data(), count);
    return trees;
}

void tinybvh_close(tinybvh_trees *owned) {
    delete owned;
}

template <class Tree>
static void cast(const Tree &tree, const ray *rays, uint64_t count, bool any, ray_hit *hits,
                 uint8_t *blocked) {
    for (uint64_t i = 0; i < count; ++i) {
        const ray &from = rays[i];
        tinybvh::Ray to;
        to.O = tinybvh::bvhvec3(from.origin.x + from.tmin * from.direction.x,
                                from.origin.y + from.tmin * from.direction.y,
                                from.origin.z + from.tmin * from.direction.z);
        to.D = tinybvh::bvhvec3(from.direction.x, from.direction.y, from.direction.z);
        to.rD = tinybvh::tinybvh_rcp(to.D);
        to.hit.t = from.tmax - from.tmin < BVH_FAR ? from.tmax - from.tmin : BVH_FAR;
        if (any) {
            blocked[i] = tree.IsOccluded(to);
            continue;
        }
        to.hit.prim = KD_NONE;
        to.hit.u = to.hit.v = 0;
        const float maximum = to.hit.t;
        tree.Intersect(to);
        const bool hit = to.hit.t < maximum;
        hits[i] = {hit ? to.hit.t + from.tmin : from.tmax, to.hit.u, to.hit.v,
                   hit ? to.hit.prim : KD_NONE};
    }
}

void tinybvh_cast4(const tinybvh_trees *trees, const ray *rays, uint64_t count, bool any,
                   ray_hit *hits, uint8_t *blocked) {
    cast(trees->by4, rays, count, any, hits, blocked);
}
void tinybvh_cast8(const tinybvh_trees *trees, const ray *rays, uint64_t count, bool any,
                   ray_hit *hits, uint8_t *blocked) {
    cast(trees->by8, rays, count, any, hits, blocked);
}
