/* Bounds for a warp's queries from the queries that it processed before, their neighbours on the
   curve.
   Idea: by the triangle inequality, the distance to the k-th point changes between two queries by
         at most the distance between them, which gives a safe bound. Usually it hardly changes, so
         a query is first searched with a bound slightly above the largest k-th distance of the
         previous packet. If fewer than k points are found, the search is repeated with the safe
         bound; this is rare, and the results are the same. */
#ifndef KD_POINTS_NEIGHBOURS_PRIOR_BOUND_CUH
#define KD_POINTS_NEIGHBOURS_PRIOR_BOUND_CUH
#include "points/neighbours/warp_per_query.cuh"

namespace point_index {

/* A lane's previous query and its k-th dist2; INFINITY if unknown. */
struct previous_query {
    vec3 q;
    float bound2;
};

/* Returns the factor from the largest k-th dist2 of the previous packet to the first bound: the
   number of points in a ball varies by about its square root. */
inline float reach_factor_of(uint32_t k) {
    return 1.0f + 1.2f / sqrtf((float)(k ? k : 1));
}

/* Returns the largest bound of the warp as float bits; negative bounds count as 0. */
__device__ inline uint32_t max_bound(float bound2) {
    return __reduce_max_sync(ALL_LANES, bound2 > 0 ? __float_as_uint(bound2) : 0);
}

__device__ inline previous_query previous_of_lane(const previous_query &previous, uint32_t lane) {
    return {vec3_make(__shfl_sync(ALL_LANES, previous.q.x, lane),
                      __shfl_sync(ALL_LANES, previous.q.y, lane),
                      __shfl_sync(ALL_LANES, previous.q.z, lane)),
            __shfl_sync(ALL_LANES, previous.bound2, lane)};
}

/* Upper bound on the k-th dist2 of a query from that of a known query, with a margin for
   rounding. */
__device__ inline float bound2_from(const previous_query &previous, vec3 q) {
    const float reach = sqrtf(previous.bound2) + sqrtf(pointtree_dist2(q, previous.q));
    const float reach2 = reach * reach * 1.00001f + 1e-40f;
    return reach2 >= 0 ? reach2 : INFINITY;
}

/* Bounds of a lane's query: the safe one and the expected one; both negative if the query is
   inactive. */
struct query_bounds {
    float sure, expected;
};

__device__ inline query_bounds bounds_of(const previous_query &previous, vec3 q, float limit,
                                         float reach_factor) {
    const previous_query last = previous_of_lane(previous, 31);
    const float expected = reach_factor * __uint_as_float(max_bound(previous.bound2));
    if (limit < 0) return {limit, limit};
    const float neighbour_bound2 = fminf(bound2_from(previous, q), bound2_from(last, q));
    const float sure = fminf(limit, neighbour_bound2);
    return {sure, fminf(sure, expected)};
}

} // namespace point_index
#endif
