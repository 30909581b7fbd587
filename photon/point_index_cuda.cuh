/* How kernels see a point index. */
#ifndef KD_PHOTON_POINT_INDEX_CUDA_CUH
#define KD_PHOTON_POINT_INDEX_CUDA_CUH
#include "core/cuda.h"
#include "photon/query_cuda.h"
#include "shaders/pointtree_query.h"

namespace point_index {

constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr uint32_t RUN_WIDTH = 8; /* a leaf for a thread: 8 to 16 points */

struct view {
    const float4 *points; /* in order */
    const float4 *boxes;  /* two each */
    const float4 *pairs;  /* four each */
    uint32_t box_begin[POINT_BOX_LEVELS], box_count[POINT_BOX_LEVELS], box_levels;
    uint32_t pair_count, count, low, leaf_width;
};

inline view view_of(const point_index_cuda *index) {
    view out = {};
    out.points = (const float4 *)index->points;
    out.boxes = (const float4 *)index->boxes;
    out.pairs = (const float4 *)index->pairs;
    memcpy(out.box_begin, index->box_begin, sizeof out.box_begin);
    memcpy(out.box_count, index->box_count, sizeof out.box_count);
    out.box_levels = index->box_levels;
    out.pair_count = index->pair_count;
    out.count = index->tree.count;
    out.low = index->low;
    out.leaf_width = index->leaf_width;
    return out;
}

/* Where leaf `leaf` begins in order, if leaves take sub-trees whose last level is `width` wide:
   with each goes the one ancestor that follows it. */
__device__ inline uint32_t leaf_begin(const view &index, uint32_t leaf, uint32_t width) {
    const uint32_t upper = leaf * width;
    const uint32_t begin = upper + (upper < index.low ? upper : index.low);
    return begin < index.count ? begin : index.count;
}

__device__ inline vec3 xyz(const float4 &of) {
    return vec3_make(of.x, of.y, of.z);
}

/* The smallest dist2 that a point in the box can have; rounded as pointtree_dist2, so never above
   it. */
__device__ inline float box_dist2(float lo_x, float lo_y, float lo_z, float hi_x, float hi_y,
                                  float hi_z, vec3 q) {
    const float x = fmaxf(fmaxf(lo_x - q.x, q.x - hi_x), 0.0f);
    const float y = fmaxf(fmaxf(lo_y - q.y, q.y - hi_y), 0.0f);
    const float z = fmaxf(fmaxf(lo_z - q.z, q.z - hi_z), 0.0f);
    return x * x + y * y + z * z;
}

/* A query as kernels take it; queries are three floats. */
struct asked {
    const float *points;
    int stride;
    const float *radii; /* or NULL */
    float max_radius;
    const uint32_t *order; /* which to answer when, or NULL */
    uint32_t count;
};

__device__ inline vec3 asked_point(const asked &queries, uint32_t which) {
    const float *p = queries.points + (uint64_t)which * queries.stride;
    return vec3_make(p[0], p[1], p[2]);
}

/* The largest dist2 of use; negative if nothing is. */
__device__ inline float asked_bound2(const asked &queries, uint32_t which, vec3 q) {
    if (q.x != q.x || q.y != q.y || q.z != q.z) return -1.0f;
    float radius = queries.max_radius;
    if (queries.radii && queries.radii[which] < radius) radius = queries.radii[which];
    return pointtree_bound2(radius);
}

} // namespace point_index
#endif
