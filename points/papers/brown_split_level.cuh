/* Splits one level of build_brown.cu: each node takes its point from its axis' list, and every
   other point learns on which side of its node it lies.
   Work: one pass over the points in the order of their ids; only the nodes, which are few, are read
         at random.
   Data flow: for each level: take_nodes, one thread per node: the lists' middle entries -> ids of
              the tree; write_sides, one thread per POINTS_PER_THREAD points: columns, nodes above
   -> tags, which brown_partition.cuh reads. */
#ifndef KD_POINTS_PAPERS_BROWN_SPLIT_LEVEL_CUH
#define KD_POINTS_PAPERS_BROWN_SPLIT_LEVEL_CUH
#include "points/papers/brown_presort.cuh"

namespace lists {

/* Takes the point of each node, which follows those of its left sub-tree. */
__global__ __launch_bounds__(BLOCK) inline void take_nodes(stage s, list_set from, uint32_t level) {
    const uint32_t index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= 1u << level) return;
    const uint32_t node = pointtree_level_begin(level) + index;
    const uint32_t axis = s.tree_axes ? s.tree_axes[node] : level % s.dims;
    const segment segment = list_segment(s.tree, level, index);
    s.tree_ids[node] = from.list[axis][segment.begin + segment.left];
}

constexpr int POINTS_PER_THREAD = 4; /* points per thread, to keep several loads in flight */

/* Updates the tag and the node of each point. `by_super_key`: ties are ordered by the next axes,
   then by id; else by id alone. */
template <typename real>
__global__ __launch_bounds__(BLOCK) void write_sides(stage s, presort<real> p, uint32_t level,
                                                     uint32_t count, bool by_super_key) {
    typedef typename presort<real>::key key;
    const uint32_t first = blockIdx.x * BLOCK * POINTS_PER_THREAD + threadIdx.x;
    uint32_t node[POINTS_PER_THREAD], id[POINTS_PER_THREAD], axis[POINTS_PER_THREAD],
        tag[POINTS_PER_THREAD];
    key x[POINTS_PER_THREAD], plane[POINTS_PER_THREAD];
#pragma unroll
    for (int r = 0; r < POINTS_PER_THREAD; ++r) {
        const uint32_t i = first + r * BLOCK;
        node[r] = i >= count ? KD_NONE : level ? s.nodes[i] : 0;
        tag[r] = i < count && level ? s.tags[i] : 0;
    }
#pragma unroll
    for (int r = 0; r < POINTS_PER_THREAD; ++r) {
        if (node[r] == KD_NONE) continue;
        id[r] = s.tree_ids[node[r]];
        axis[r] = s.tree_axes ? s.tree_axes[node[r]] : level % s.dims;
    }
#pragma unroll
    for (int r = 0; r < POINTS_PER_THREAD; ++r) {
        if (node[r] == KD_NONE) continue;
        x[r] = p.column[axis[r]][first + r * BLOCK];
        plane[r] = p.column[axis[r]][id[r]];
    }
#pragma unroll
    for (int r = 0; r < POINTS_PER_THREAD; ++r) {
        const uint32_t i = first + r * BLOCK;
        if (node[r] == KD_NONE) continue;
        int side = x[r] < plane[r] ? -1 : x[r] > plane[r] ? 1 : 0;
        if (side == 0 && by_super_key) side = compare_others(p, i, id[r], axis[r]);
        const bool right = side ? side > 0 : i > id[r];
        s.nodes[i] = i == id[r] ? KD_NONE : 2 * node[r] + (right ? 2 : 1);
        s.tags[i] = (uint8_t)(i == id[r] ? PLACED : (tag[r] << 1 | (right ? 1u : 0u)) & HISTORY);
    }
}

} // namespace lists
#endif
