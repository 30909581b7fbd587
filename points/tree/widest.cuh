/* The widest-side rule for builders that proceed level by level: a node splits the widest side of
   its region, the bounding box clipped along the ancestors (Wald 2022, section 6).
   Data flow: take_side, one thread: the sorted order of an axis -> the box's sides; then for
              each level choose_axes, one thread per node: ids and axes of the levels above, box
              -> the node's axis, which the level's sort reads. */
#ifndef KD_POINTS_TREE_WIDEST_CUH
#define KD_POINTS_TREE_WIDEST_CUH
#include "core/device/cuda.h"
#include "points/tree/layout.h"

namespace widest {

struct tree {
    const void *points;
    uint64_t stride; /* scalars from one point to the next */
    uint32_t dims, count;
    const point_box *box; /* bounding box of all points */
    const uint32_t *ids;  /* ids of the nodes on the levels above */
    uint8_t *axes;
    bool rounded; /* points may lie beyond a plane, within its cell */
};

template <typename real>
__device__ inline double coordinate_of(const tree &t, uint32_t id, int axis) {
    return (double)((const real *)t.points)[(uint64_t)id * t.stride + axis] + 0.0;
}

/* The region of `node`. Unless rounded, the nearest ancestor that clips a side determines it, so
   the walk up ends once all sides are known. */
template <typename real> __device__ inline point_box domain_of(const tree &t, uint32_t node) {
    point_box domain = {};
    for (uint32_t axis = 0; axis < t.dims; ++axis) /* only the first `dims` sides are set */
        domain.lo[axis] = t.box->lo[axis], domain.hi[axis] = t.box->hi[axis];
    unsigned bounded_sides = 0;
    const unsigned all = (1u << 2 * t.dims) - 1;
    for (uint32_t child = node; child && bounded_sides != all; child = (child - 1) / 2) {
        const uint32_t parent = (child - 1) / 2;
        const uint32_t axis = t.axes[parent];
        const bool right = !(child & 1);
        const unsigned side = 1u << (2 * axis + right);
        if (bounded_sides & side) continue;
        if (!t.rounded) bounded_sides |= side;
        point_box_clip(&domain, axis, coordinate_of<real>(t, t.ids[parent], (int)axis), right);
    }
    return domain;
}

template <typename real> __global__ void choose_axes(tree t, uint32_t level) {
    const uint32_t node = pointtree_level_begin(level) + blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= pointtree_level_begin(level + 1) || node >= t.count) return;
    const point_box domain = domain_of<real>(t, node);
    t.axes[node] =
        (uint8_t)point_box_widest(&domain, t.dims, sizeof(real) == 8 ? POINT_DOUBLE : POINT_FLOAT);
}

/* Takes the two sides of the bounding box along `axis` from the sorted order. */
template <typename real>
__global__ void take_side(tree t, int axis, const uint32_t *order, uint32_t count, point_box *box) {
    box->lo[axis] = coordinate_of<real>(t, order[0], axis);
    box->hi[axis] = coordinate_of<real>(t, order[count - 1], axis);
}

template <typename real>
kd_status choose_level(const tree &t, uint32_t level, cudaStream_t stream) {
    choose_axes<real><<<((1u << level) + 127) / 128, 128, 0, stream>>>(t, level);
    KD_CUDA_LAUNCHED("choose_axes");
    return KD_OK;
}

} // namespace widest
#endif
