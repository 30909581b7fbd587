/* What a warp knows of queries from those that it answered before, their neighbours on the curve.
   Idea: the distance to the k-th point changes from one query to another by no more than lies
   between them, which bounds it for sure; mostly it hardly changes at all, so a query first expects
   to find its k within a little more than the farthest k-th of its packet before. Where fewer lie
   there it is asked again, within what is sure: seldom, and the answers are the same. */
#ifndef KD_POINTS_NEIGHBOURS_PRIOR_BOUND_CUH
#define KD_POINTS_NEIGHBOURS_PRIOR_BOUND_CUH
#include "points/neighbours/warp_per_query.cuh"

namespace point_index {

/* A lane's query of before and its k-th dist2, INFINITY if that is not known. */
struct known_query {
    vec3 q;
    float bound2;
};

/* The square of a query's first radius over that of the farthest k-th before: the number of points
   in a ball varies by about its root. */
inline float reach_factor_of(uint32_t k) {
    return 1.0f + 1.2f / sqrtf((float)(k ? k : 1));
}

/* The largest bound of the warp as bits; a negative one is none. */
__device__ inline uint32_t most_bound(float bound2) {
    return __reduce_max_sync(ALL_LANES, bound2 > 0 ? __float_as_uint(bound2) : 0);
}

__device__ inline known_query known_of_lane(const known_query &known, uint32_t lane) {
    return {vec3_make(__shfl_sync(ALL_LANES, known.q.x, lane),
                      __shfl_sync(ALL_LANES, known.q.y, lane),
                      __shfl_sync(ALL_LANES, known.q.z, lane)),
            __shfl_sync(ALL_LANES, known.bound2, lane)};
}

/* The k-th dist2 of a query beside a known one is at most this. Room for rounding. */
__device__ inline float bound2_beside(const known_query &known, vec3 q) {
    const float reach = sqrtf(known.bound2) + sqrtf(pointtree_dist2(q, known.q));
    const float reach2 = reach * reach * 1.00001f + 1e-40f;
    return reach2 >= 0 ? reach2 : INFINITY;
}

/* What bounds a lane's query; both negative if nothing is asked. */
struct query_bounds {
    float sure, expected;
};

__device__ inline query_bounds bounds_of(const known_query &known, vec3 q, float limit,
                                         float reach_factor) {
    const known_query last = known_of_lane(known, 31);
    const float expected = reach_factor * __uint_as_float(most_bound(known.bound2));
    if (limit < 0) return {limit, limit};
    const float beside = fminf(bound2_beside(known, q), bound2_beside(last, q));
    const float sure = fminf(limit, beside);
    return {sure, fminf(sure, expected)};
}

} // namespace point_index
#endif
