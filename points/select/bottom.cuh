/* The lower levels of build_select.cu: one block finishes a sub-tree of fewer than 2^HEIGHT points
   in shared memory.
   Source: the presorted lists of Bentley 1975 and of Brown 2014, "Building a balanced k-d tree in
           O(kn log n) time", kept per block.
   Idea: points are sorted once along each axis. At each level the list of a node's axis determines
         the side of each point, and the other two lists are partitioned by it, stably, and stay
         sorted. A node with k levels owns 2^k slots, the middle one for its pivot, so every thread
         finds its node from its slot numbers. A single thread finishes the last three levels, seven
         points.
   Work: three sorts, then two partitions per level.
   Data flow: one block per sub-tree: its records -> three sorted lists in shared memory -> ids (and
              axes) of the tree. No block reads another's output. */
#ifndef KD_POINTS_SELECT_BOTTOM_CUH
#define KD_POINTS_SELECT_BOTTOM_CUH
#include "points/select/block_sort.cuh"

namespace kandela {

enum point_side { SIDE_PIVOT = 0, SIDE_LEFT = 1, SIDE_RIGHT = 2 };

/* The roots of the blocks' sub-trees: the first `deep` nodes of `level`, followed by all nodes one
   level higher to the right of these. The latter have no points on the tree's last level, so one
   level more fits into a block. */
struct bottoms {
    uint32_t level, deep;  /* deep: an even number, or all nodes of the level */
    const float4 *shallow; /* records of the nodes one level higher */
};

/* Position of the sub-tree in the whole tree. */
struct subtree {
    uint32_t level, index; /* position of its root */
    uint32_t height, low;
    const float4 *records;
};

__device__ inline void unpack(const uint16_t *eight, uint32_t (&out)[ITEMS]) {
    const uint4 packed = *(const uint4 *)eight;
    const uint32_t word[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) out[i] = word[i / 2] >> 16 * (i % 2) & 0xffff;
}

/* Returns the sides of this thread's eight entries, two bits each, and in `counts` how many are
   left and pivot (16 bits each); entries from `valid` on do not count. */
template <int HEIGHT>
__device__ inline uint32_t load_sides(const bottom_shared<HEIGHT> &sh,
                                      const uint32_t (&entry)[ITEMS], int valid, uint32_t &counts) {
    uint32_t sides = 0;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        if (i < valid) sides |= (uint32_t)sh.side[entry[i]] << 2 * i;
    counts = __popc(sides & 0x5555u) | (uint32_t)(valid - __popc(sides)) << 16;
    return sides;
}

/* Writes entries to their new slots; `before` holds the counts of the segment's earlier entries. */
__device__ inline void scatter(uint16_t *list, uint32_t slot, uint32_t offset, uint32_t middle,
                               uint32_t sides, uint32_t before, const uint32_t (&entry)[ITEMS]) {
    uint16_t *left = list + (slot - offset) + (before & 0xffff);
    uint16_t *right = list + slot + middle - (before & 0xffff) - (before >> 16);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        if (sides & SIDE_LEFT << 2 * i) *left++ = (uint16_t)entry[i];
        if (sides & SIDE_RIGHT << 2 * i) *right++ = (uint16_t)entry[i];
    }
}

/* Splits the list of the split axis: records the side of each point and places the pivot. If the
   left half is not full, the right half moves up to the middle. */
template <int HEIGHT>
__device__ inline void split_axis_list(bottom_shared<HEIGHT> &sh, uint16_t *list, uint32_t slot,
                                       uint32_t offset, uint32_t middle, uint32_t left, int valid,
                                       bool across_warps) {
    uint32_t entry[ITEMS];
    unpack(list + slot, entry);
    const uint32_t begin = slot - offset;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        if (i < valid) sh.side[entry[i]] = offset + i < left ? SIDE_LEFT : SIDE_RIGHT;
    if (left - offset < (uint32_t)valid) { /* this thread holds the pivot */
        const uint16_t pivot = list[begin + left];
        sh.side[pivot] = SIDE_PIVOT;
        sh.placed[begin + middle - 1] = pivot;
    }
    if (across_warps)
        __syncthreads();
    else
        __syncwarp();
    if (left == middle - 1) return; /* the right half is already in place */
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        if (i < valid && offset + i > left)
            list[begin + middle + offset + i - left - 1] = (uint16_t)entry[i];
}

/* Exclusive prefix sums of the counts over the threads of a segment, for two lists. */
template <int HEIGHT>
__device__ inline void scan_segment(bottom_shared<HEIGHT> &sh, uint32_t height, uint32_t &one,
                                    uint32_t &two) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int threads = 1 << (height - 3), width = threads < 32 ? threads : 32;
    uint32_t sum_one = one, sum_two = two;
    for (int step = 1; step < width; step *= 2) {
        const uint32_t other = __shfl_up_sync(ALL_LANES, sum_one, step);
        const uint32_t another = __shfl_up_sync(ALL_LANES, sum_two, step);
        if ((lane & (width - 1)) >= step) sum_one += other, sum_two += another;
    }
    one = sum_one - one;
    two = sum_two - two;
    if (threads <= 32) {
        __syncwarp();
        return;
    }
    if (lane == 31) sh.warp_sum[2 * warp] = sum_one, sh.warp_sum[2 * warp + 1] = sum_two;
    __syncthreads();
    for (int w = warp & ~(threads / 32 - 1); w < warp; ++w)
        one += sh.warp_sum[2 * w], two += sh.warp_sum[2 * w + 1];
}

/* One level with `height` > 3 levels remaining: all slots of a thread belong to one node. */
template <int HEIGHT, bool WIDEST>
__device__ inline void split_level(bottom_shared<HEIGHT> &sh, const stage &s,
                                   const subtree &subtree, uint32_t height, int &axis,
                                   domain &region) {
    const uint32_t slot = threadIdx.x * ITEMS, index = slot >> height;
    const uint32_t offset = slot - (index << height), middle = 1u << (height - 1);
    const bool across_warps = (1u << height) > 32 * ITEMS;
    const segment part = subtree_segment(subtree.low, height, index);
    const uint32_t count = slot < 1u << subtree.height ? part.count : 0;
    const int valid = count > offset ? (int)min(count - offset, (uint32_t)ITEMS) : 0;
    if (WIDEST && valid && offset == 0) {
        const uint32_t down = subtree.height - height;
        s.tree_axes[node_at(subtree.level + down, (subtree.index << down) + index)] = (uint8_t)axis;
    }
    uint16_t *other = sh.list[axis == 2 ? 0 : axis + 1], *third = sh.list[axis == 0 ? 2 : axis - 1];
    split_axis_list(sh, sh.list[axis], slot, offset, middle, part.left, valid, across_warps);
    uint32_t entry[ITEMS], entry_third[ITEMS], before_other, before_third;
    unpack(other + slot, entry);
    unpack(third + slot, entry_third);
    const uint32_t sides_other = load_sides(sh, entry, valid, before_other);
    const uint32_t sides_third = load_sides(sh, entry_third, valid, before_third);
    scan_segment(sh, height, before_other, before_third);
    scatter(other, slot, offset, middle, sides_other, before_other, entry);
    scatter(third, slot, offset, middle, sides_third, before_third, entry_third);
    if (WIDEST && count) {
        const uint32_t pivot = sh.placed[(index << height) + middle - 1];
        region = domain_clipped(region, axis, record_axis(subtree.records[pivot], axis),
                                offset >= middle);
        axis = domain_widest(region);
    } else if (!WIDEST) {
        axis = axis == 2 ? 0 : axis + 1;
    }
    if (across_warps)
        __syncthreads();
    else
        __syncwarp();
}

/* At most seven points of one thread: the order of each list, four bits per point, with points
   identified by their position in the first list. */
struct tail {
    uint32_t order[3];
    const uint16_t *points;
};

template <int HEIGHT>
__device__ inline tail open_tail(bottom_shared<HEIGHT> &sh, uint32_t slot, uint32_t count) {
    tail out = {{0x76543210u, 0, 0}, sh.list[0] + slot};
    for (uint32_t i = 0; i < count; ++i) sh.side[out.points[i]] = (uint8_t)i;
    for (uint32_t i = 0; i < count; ++i) {
        out.order[1] |= (uint32_t)sh.side[sh.list[1][slot + i]] << 4 * i;
        out.order[2] |= (uint32_t)sh.side[sh.list[2][slot + i]] << 4 * i;
    }
    return out;
}

/* Builds the `index`-th node of the block with LEVELS levels, over the points in the bit set
   `members`. */
template <int LEVELS, int HEIGHT, bool WIDEST>
__device__ inline void split_tail(bottom_shared<HEIGHT> &sh, const stage &s, const subtree &subtree,
                                  const tail &tail, uint32_t members, uint32_t index, int axis,
                                  const domain &region) {
    if (!members) return;
    if (WIDEST) {
        axis = domain_widest(region);
        const uint32_t down = subtree.height - LEVELS;
        s.tree_axes[node_at(subtree.level + down, (subtree.index << down) + index)] = (uint8_t)axis;
    }
    uint32_t order = axis == 0 ? tail.order[0] : axis == 1 ? tail.order[1] : tail.order[2];
    uint32_t rank = subtree_segment(subtree.low, LEVELS, index).left, left = 0, pivot = 0;
    for (;; order >>= 4) {
        pivot = order & 7;
        if (!(members >> pivot & 1)) continue;
        if (rank-- == 0) break;
        left |= 1u << pivot;
    }
    const uint32_t point = tail.points[pivot], right = members & ~left & ~(1u << pivot);
    sh.placed[(index << LEVELS) + (1u << (LEVELS - 1)) - 1] = (uint16_t)point;
    if constexpr (LEVELS > 1) {
        const int next = axis == 2 ? 0 : axis + 1;
        const float plane = WIDEST ? record_axis(subtree.records[point], axis) : 0.0f;
        split_tail<LEVELS - 1, HEIGHT, WIDEST>(sh, s, subtree, tail, left, 2 * index, next,
                                               WIDEST ? domain_clipped(region, axis, plane, false)
                                                      : region);
        split_tail<LEVELS - 1, HEIGHT, WIDEST>(sh, s, subtree, tail, right, 2 * index + 1, next,
                                               WIDEST ? domain_clipped(region, axis, plane, true)
                                                      : region);
    }
}

/* Builds the remaining levels over this thread's points, which form one sub-tree. */
template <int LEVELS, int HEIGHT, bool WIDEST>
__device__ inline void finish_tail(bottom_shared<HEIGHT> &sh, const stage &s,
                                   const subtree &subtree, int axis, const domain &region) {
    const uint32_t slot = threadIdx.x * ITEMS, index = slot >> LEVELS;
    if (slot >= 1u << subtree.height) return;
    const uint32_t count = subtree_segment(subtree.low, LEVELS, index).count;
    const tail from = open_tail(sh, slot, count);
    split_tail<LEVELS, HEIGHT, WIDEST>(sh, s, subtree, from, (1u << count) - 1, index, axis,
                                       region);
}

/* Writes the ids: the pivots are in order, the tree in level order. */
template <int HEIGHT>
__device__ void store_ids(const bottom_shared<HEIGHT> &sh, const stage &s, const subtree &subtree,
                          uint32_t n) {
    for (uint32_t i = threadIdx.x; i < n; i += sh.THREADS) {
        const uint32_t down = 31 - __clz((int)i + 1), across = i + 1 - (1u << down);
        const uint32_t below = subtree.height - down;
        const uint32_t slot = (across << below) + (1u << (below - 1)) - 1;
        s.tree_ids[node_at(subtree.level + down, (subtree.index << down) + across)] =
            record_id(subtree.records[sh.placed[slot]]);
    }
}

template <int HEIGHT, bool WIDEST, int BLOCKS>
__global__ __launch_bounds__(bottom_shared<HEIGHT>::THREADS,
                             BLOCKS) void build_bottom(stage s, bottoms roots) {
    extern __shared__ __align__(16) char shared[];
    bottom_shared<HEIGHT> &sh = *(bottom_shared<HEIGHT> *)shared;
    const bool deep = blockIdx.x < roots.deep;
    const uint32_t level = deep ? roots.level : roots.level - 1;
    const uint32_t index = deep ? blockIdx.x : blockIdx.x - roots.deep / 2;
    const uint32_t node = node_at(level, index);
    const segment segment = node_segment(s.tree, level, index);
    /* A sub-tree without points on the last level has one level less, and all its levels are
       full. */
    const uint32_t levels = s.tree.levels - level, upper = (1u << (levels - 1)) - 1;
    const uint32_t height = segment.count > upper ? levels : levels - 1;
    if (height == 0) return;
    const subtree subtree = {level, index, height, segment.count - (upper >> (levels - height)),
                             (deep ? s.records : roots.shallow) + segment.begin};
    bool ends = false;
#pragma unroll 1
    for (int axis = 0; axis < 3; ++axis)
        ends = sort_axis(sh, subtree.records, segment.count, axis, ends);
    domain region = {};
    if (WIDEST) region = s.nodes.region[node];
    int axis = s.nodes.axis[node];
#pragma unroll 1
    for (uint32_t h = height; h > 3; --h)
        split_level<HEIGHT, WIDEST>(sh, s, subtree, h, axis, region);
    if (height >= 3)
        finish_tail<3, HEIGHT, WIDEST>(sh, s, subtree, axis, region);
    else if (height == 2)
        finish_tail<2, HEIGHT, WIDEST>(sh, s, subtree, axis, region);
    else
        finish_tail<1, HEIGHT, WIDEST>(sh, s, subtree, axis, region);
    __syncthreads();
    store_ids(sh, s, subtree, segment.count);
}

} // namespace kandela
#endif
