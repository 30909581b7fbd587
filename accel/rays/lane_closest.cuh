/* Closest hits of rays in the middle of a kernel, one ray per lane, for the last paths of
   wavefronts. */
#ifndef KD_ACCEL_RAYS_LANE_CLOSEST_CUH
#define KD_ACCEL_RAYS_LANE_CLOSEST_CUH
#include "accel/rays/batch.h"
#include "accel/wide/compressed_loops.cuh"
#include "core/device/wave_parts.cuh"

/* A ray per lane, for compressed_alone. */
struct lane_ray {
    const ray &cast;
    ray_hit &hit;

    __device__ __forceinline__ void load(uint32_t, float4 &o, float4 &d) const {
        o = with_fourth(cast.origin, cast.tmin), d = with_fourth(cast.direction, cast.tmax);
    }
    __device__ __forceinline__ void store(uint32_t, float t, float u, float v, uint32_t id) const {
        hit.t = t, hit.u = u, hit.v = v, hit.triangle = id;
    }
};

/* tritree_closest for the lanes of a warp, through the fastest form that the tree has. All lanes
   must call it; lanes without a ray get no hit. */
static __device__ __noinline__ ray_hit lane_closest(const tritree_view &tree, ray cast,
                                                    bool has_ray) {
    ray_hit hit = {cast.tmax, 0, 0, KD_NONE};
    const lane_ray work = {cast, hit};
    if (!tree.compressed) {
        if (has_ray) hit = tritree_closest(&tree, cast);
    } else if (tree.indexed) {
        compressed_alone<false, false, true>(tree, work, has_ray ? 0 : KD_NONE);
    } else {
        compressed_alone<false, false, false>(tree, work, has_ray ? 0 : KD_NONE);
    }
    __syncwarp();
    return hit;
}

#endif
