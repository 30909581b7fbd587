/* Groups of neighbouring surfaces among the lanes of a warp, which search together. */
#ifndef KD_PHOTON_MAPS_SURFACE_GROUPS_CUH
#define KD_PHOTON_MAPS_SURFACE_GROUPS_CUH
#include "photon/density/warp_per_surface.cuh"

namespace photon_gathering_cuda {

/* Bound above the rounding error of two distances and their sum. */
constexpr float SLACK = 1 + 0x1p-16f;

struct together {
    unsigned members; /* mask of lanes */
    vec3 centre;
    float spread;          /* largest distance of a member from the centre */
    float centre_distance; /* distance of this lane's surface from the centre */
    bool joins;            /* this lane belongs to the packet */
};

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(ALL, value, step);
    return value;
}

__device__ __forceinline__ unsigned first_lane(unsigned lanes) {
    return (unsigned)__ffs((int)lanes) - 1;
}

/* Lane in `left` whose surface is nearest to the centroid of all of them. */
__device__ __forceinline__ unsigned middle_lane(unsigned left, vec3 q) {
    const bool in_left = left >> lane_id() & 1u;
    const float share = in_left ? 1 / (float)__popc(left) : 0;
    const vec3 middle =
        vec3_make(warp_sum(q.x * share), warp_sum(q.y * share), warp_sum(q.z * share));
    const uint32_t distance = in_left ? __float_as_uint(pointtree_dist2(middle, q)) : KD_NONE;
    const uint32_t minimum = __reduce_min_sync(ALL, distance);
    return first_lane(__ballot_sync(ALL, in_left && distance == minimum));
}

__device__ __forceinline__ vec3 of_lane(vec3 value, unsigned lane) {
    return vec3_make(__shfl_sync(ALL, value.x, (int)lane), __shfl_sync(ALL, value.y, (int)lane),
                     __shfl_sync(ALL, value.z, (int)lane));
}

/* Forms the group of those in `left` that are close to the central one. */
__device__ __forceinline__ together join(unsigned left, unsigned middle, vec3 q, float near) {
    together group;
    group.centre = of_lane(q, middle);
    group.centre_distance = sqrtf(pointtree_dist2(group.centre, q));
    group.joins =
        (left >> lane_id() & 1u) && (group.centre_distance <= near || lane_id() == middle);
    group.members = __ballot_sync(ALL, group.joins);
    group.spread = __uint_as_float(
        __reduce_max_sync(ALL, group.joins ? __float_as_uint(group.centre_distance) : 0));
    return group;
}

} // namespace photon_gathering_cuda
#endif
