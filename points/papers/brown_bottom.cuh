/* The lower levels of build_brown.cu: one block finishes a sub-tree of fewer than 2^HEIGHT points
   in shared memory, starting from the presorted lists.
   Source: Brown 2015; Robinson's partitioners for small segments.
   Idea: points are identified by their position in the block's first list, 16 bits. At each level
         the list of a node's axis determines the side of each point, and the other lists are
         partitioned by it, stably. A node with k levels owns 2^k slots, the middle one for its own
         point, so every thread finds its node from its slot numbers. A single thread finishes the
         last three levels, seven points.
   Work: K - 1 partitions per level, all in shared memory.
   Data flow: one block per sub-tree: its part of each axis' list -> shared memory -> the tree's ids
              (and axes). No block reads another's output. */
#ifndef KD_POINTS_PAPERS_BROWN_BOTTOM_CUH
#define KD_POINTS_PAPERS_BROWN_BOTTOM_CUH
#include "points/papers/brown_lists.cuh"
#include "points/tree/widest.cuh"

namespace lists {

constexpr int ITEMS = 8; /* slots per thread */
enum point_side { SIDE_OWN = 0, SIDE_LEFT = 1, SIDE_RIGHT = 2 };

template <int K, int HEIGHT> struct bottom_shared {
    static constexpr int SLOTS = 1 << HEIGHT, THREADS = SLOTS / ITEMS, WARPS = THREADS / 32;
    alignas(16) uint16_t list[K][SLOTS];
    uint16_t placed[SLOTS]; /* the points of finished nodes, in order */
    uint8_t side[SLOTS];    /* side of each point; at the end its index among a thread's seven
                               points */
    uint32_t warp_sum[K][WARPS];
    point_box domain;
};

/* Position of the sub-tree in the whole tree. */
struct subtree {
    uint32_t level, index; /* position of its root */
    uint32_t height, low;
    const uint32_t *names; /* maps local indices to points */
};

template <typename real, int K> struct region { real lo[K], hi[K]; };

template <typename real, int K>
__device__ inline int region_widest(const region<real, K> &region, uint32_t dims) {
    int widest = 0;
    real maximum = region.hi[0] - region.lo[0];
#pragma unroll
    for (int a = 1; a < K; ++a) {
        const real size = region.hi[a] - region.lo[a];
        if (a < (int)dims && size > maximum) maximum = size, widest = a;
    }
    return widest;
}

template <typename real, int K>
__device__ inline region<real, K> region_clipped(const region<real, K> &box, int axis, real plane,
                                                 bool right) {
    region<real, K> part = box;
#pragma unroll
    for (int a = 0; a < K; ++a)
        if (a == axis) (right ? part.lo : part.hi)[a] = plane;
    return part;
}

template <typename real>
__device__ inline real plane_of(const stage &s, const subtree &subtree, uint32_t local, int axis) {
    return ((const real *)s.points)[(uint64_t)subtree.names[local] * s.stride + axis] + (real)0;
}

__device__ inline uint32_t node_below(const subtree &subtree, uint32_t down, uint32_t across) {
    return pointtree_level_begin(subtree.level + down) + (subtree.index << down) + across;
}

__device__ inline void unpack(const uint16_t *eight, uint32_t (&out)[ITEMS]) {
    const uint4 packed = *(const uint4 *)eight;
    const uint32_t word[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) out[i] = word[i / 2] >> 16 * (i % 2) & 0xffff;
}

/* Loads the lists as local indices into shared memory; the first list becomes 0, 1, 2, ... */
template <int K, int HEIGHT>
__device__ inline void load_lists(bottom_shared<K, HEIGHT> &sh, const stage &s, const list_set &set,
                                  const segment &segment) {
    uint16_t *local = (uint16_t *)s.nodes;
    uint32_t point[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        const uint32_t at = i * sh.THREADS + threadIdx.x;
        if (at >= segment.count) continue;
        local[set.list[0][segment.begin + at]] = (uint16_t)at;
        sh.list[0][at] = (uint16_t)at;
    }
    __syncthreads();
#pragma unroll 1
    for (uint32_t a = 1; a < s.dims; ++a) {
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            const uint32_t at = i * sh.THREADS + threadIdx.x;
            point[i] = at < segment.count ? set.list[a][segment.begin + at] : 0;
        }
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            const uint32_t at = i * sh.THREADS + threadIdx.x;
            if (at < segment.count) sh.list[a][at] = local[point[i]];
        }
    }
    __syncthreads();
}

__device__ inline void wait(bool across_warps) {
    if (across_warps)
        __syncthreads();
    else
        __syncwarp();
}

/* Position of a thread's slots within their node. */
struct slots {
    uint32_t slot, index, offset, middle, left;
    int valid; /* number of slots that hold a point */
    bool across_warps;
};

/* Splits the list of the node's own axis: records the side of each point and places the node's
   point. If the left half is not full, the right half moves up to the middle. */
template <int K, int HEIGHT>
__device__ inline void split_own_list(bottom_shared<K, HEIGHT> &sh, uint16_t *list,
                                      const slots &at) {
    uint32_t entry[ITEMS];
    unpack(list + at.slot, entry);
    const uint32_t begin = at.slot - at.offset;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        if (i < at.valid) sh.side[entry[i]] = at.offset + i < at.left ? SIDE_LEFT : SIDE_RIGHT;
    if (at.left - at.offset < (uint32_t)at.valid) { /* this thread holds the node's point */
        const uint16_t member = list[begin + at.left];
        sh.side[member] = SIDE_OWN;
        sh.placed[begin + at.middle - 1] = member;
    }
    wait(at.across_warps);
    if (at.left == at.middle - 1) return; /* the right half is already in place */
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        if (i < at.valid && at.offset + i > at.left)
            list[begin + at.middle + at.offset + i - at.left - 1] = (uint16_t)entry[i];
}

/* Partitions another list stably into left and right of the node. The counts are packed as left |
   own << 16. */
template <int K, int HEIGHT>
__device__ inline void split_other_list(bottom_shared<K, HEIGHT> &sh, int a, const slots &at,
                                        uint32_t height) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int threads = 1 << (height - 3), width = threads < 32 ? threads : 32;
    uint16_t *list = sh.list[a];
    uint32_t entry[ITEMS], sides = 0;
    unpack(list + at.slot, entry);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i)
        if (i < at.valid) sides |= (uint32_t)sh.side[entry[i]] << 2 * i;
    const uint32_t count = __popc(sides & 0x5555u) | (uint32_t)(at.valid - __popc(sides)) << 16;
    uint32_t before = count;
    for (int step = 1; step < width; step *= 2) {
        const uint32_t other = __shfl_up_sync(ALL_LANES, before, step);
        if ((lane & (width - 1)) >= step) before += other;
    }
    if (at.across_warps && lane == 31) sh.warp_sum[a][warp] = before;
    before -= count;
    wait(at.across_warps);
    if (at.across_warps)
        for (int w = warp & ~(threads / 32 - 1); w < warp; ++w) before += sh.warp_sum[a][w];
    uint16_t *left = list + (at.slot - at.offset) + (before & 0xffff);
    uint16_t *right = list + at.slot + at.middle - (before & 0xffff) - (before >> 16);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        if (sides & SIDE_LEFT << 2 * i) *left++ = (uint16_t)entry[i];
        if (sides & SIDE_RIGHT << 2 * i) *right++ = (uint16_t)entry[i];
    }
}

/* One level with `height` > 3 levels remaining: all slots of a thread belong to one node. */
template <int K, int HEIGHT, bool WIDEST, typename real>
__device__ inline void split_level(bottom_shared<K, HEIGHT> &sh, const stage &s,
                                   const subtree &subtree, uint32_t height, int &axis,
                                   region<real, K> &domain) {
    slots at;
    at.slot = threadIdx.x * ITEMS;
    at.index = at.slot >> height;
    at.offset = at.slot - (at.index << height);
    at.middle = 1u << (height - 1);
    at.across_warps = (1u << height) > 32 * ITEMS;
    const segment part = segment_of(subtree.low, height, at.index);
    const uint32_t count = at.slot < 1u << subtree.height ? part.count : 0;
    at.left = part.left;
    at.valid = count > at.offset ? (int)min(count - at.offset, (uint32_t)ITEMS) : 0;
    if (WIDEST && at.valid && at.offset == 0)
        s.tree_axes[node_below(subtree, subtree.height - height, at.index)] = (uint8_t)axis;
    split_own_list(sh, sh.list[axis], at);
    int other = axis;
#pragma unroll 1
    for (int i = 1; i < (int)s.dims; ++i) {
        other = other + 1 == (int)s.dims ? 0 : other + 1;
        split_other_list(sh, other, at, height);
    }
    if (WIDEST && count) {
        const uint32_t median = sh.placed[(at.index << height) + at.middle - 1];
        domain = region_clipped<real, K>(domain, axis, plane_of<real>(s, subtree, median, axis),
                                         at.offset >= at.middle);
        axis = region_widest<real, K>(domain, s.dims);
    } else if (!WIDEST) {
        axis = axis + 1 == (int)s.dims ? 0 : axis + 1;
    }
    wait(at.across_warps);
}

/* At most seven points of one thread: the order of each list, four bits per point, with points
   identified by their position in the first list. */
template <int K> struct tail {
    uint32_t order[K];
    const uint16_t *points;
};

/* Builds the `index`-th node of the block with LEVELS levels, over the points in the bit set
   `members`. */
template <int LEVELS, int K, int HEIGHT, bool WIDEST, typename real>
__device__ inline void split_tail(bottom_shared<K, HEIGHT> &sh, const stage &s,
                                  const subtree &subtree, const tail<K> &tail, uint32_t members,
                                  uint32_t index, int axis, const region<real, K> &domain) {
    if (!members) return;
    if (WIDEST) {
        axis = region_widest<real, K>(domain, s.dims);
        s.tree_axes[node_below(subtree, subtree.height - LEVELS, index)] = (uint8_t)axis;
    }
    uint32_t order = tail.order[0];
#pragma unroll
    for (int a = 1; a < K; ++a)
        if (a == axis) order = tail.order[a];
    uint32_t rank = segment_of(subtree.low, LEVELS, index).left, left = 0, pivot = 0;
    for (;; order >>= 4) {
        pivot = order & 7;
        if (!(members >> pivot & 1)) continue;
        if (rank-- == 0) break;
        left |= 1u << pivot;
    }
    const uint32_t point = tail.points[pivot], right = members & ~left & ~(1u << pivot);
    sh.placed[(index << LEVELS) + (1u << (LEVELS - 1)) - 1] = (uint16_t)point;
    if constexpr (LEVELS > 1) {
        const int next = axis + 1 == (int)s.dims ? 0 : axis + 1;
        region<real, K> parts[2] = {domain, domain};
        if (WIDEST) {
            const real plane = plane_of<real>(s, subtree, point, axis);
            parts[0] = region_clipped<real, K>(domain, axis, plane, false);
            parts[1] = region_clipped<real, K>(domain, axis, plane, true);
        }
        split_tail<LEVELS - 1, K, HEIGHT, WIDEST, real>(sh, s, subtree, tail, left, 2 * index, next,
                                                        parts[0]);
        split_tail<LEVELS - 1, K, HEIGHT, WIDEST, real>(sh, s, subtree, tail, right, 2 * index + 1,
                                                        next, parts[1]);
    }
}

/* Builds the remaining levels over this thread's points, which form one sub-tree. */
template <int LEVELS, int K, int HEIGHT, bool WIDEST, typename real>
__device__ inline void finish_tail(bottom_shared<K, HEIGHT> &sh, const stage &s,
                                   const subtree &subtree, int axis,
                                   const region<real, K> &domain) {
    const uint32_t slot = threadIdx.x * ITEMS, index = slot >> LEVELS;
    if (slot >= 1u << subtree.height) return;
    const uint32_t count = segment_of(subtree.low, LEVELS, index).count;
    tail<K> from;
    from.points = sh.list[0] + slot;
    for (uint32_t i = 0; i < count; ++i) sh.side[from.points[i]] = (uint8_t)i;
    from.order[0] = 0x76543210u;
#pragma unroll
    for (int a = 1; a < K; ++a) {
        from.order[a] = 0;
        for (uint32_t i = 0; a < (int)s.dims && i < count; ++i)
            from.order[a] |= (uint32_t)sh.side[sh.list[a][slot + i]] << 4 * i;
    }
    split_tail<LEVELS, K, HEIGHT, WIDEST, real>(sh, s, subtree, from, (1u << count) - 1, index,
                                                axis, domain);
}

template <int K, int HEIGHT, typename real>
__device__ inline region<real, K> root_region(bottom_shared<K, HEIGHT> &sh, const stage &s,
                                              uint32_t node) {
    const widest::tree tree = {s.points, s.stride,   s.dims,     s.tree.count,
                               s.box,    s.tree_ids, s.tree_axes};
    if (threadIdx.x == 0) sh.domain = widest::domain_of<real>(tree, node);
    __syncthreads();
    region<real, K> domain;
#pragma unroll
    for (int a = 0; a < K; ++a) {
        domain.lo[a] = (real)sh.domain.lo[a];
        domain.hi[a] = (real)sh.domain.hi[a];
    }
    return domain;
}

/* Writes the ids: `placed` is in order, the tree in level order. */
template <int K, int HEIGHT>
__device__ inline void store_ids(const bottom_shared<K, HEIGHT> &sh, const stage &s,
                                 const subtree &subtree, uint32_t count) {
    for (uint32_t i = threadIdx.x; i < count; i += sh.THREADS) {
        const uint32_t down = pointtree_log2(i + 1), across = i + 1 - (1u << down);
        const uint32_t below = subtree.height - down;
        const uint32_t slot = (across << below) + (1u << (below - 1)) - 1;
        s.tree_ids[node_below(subtree, down, across)] = subtree.names[sh.placed[slot]];
    }
}

template <int K, int HEIGHT, int BLOCKS, bool WIDEST, typename real>
__global__ __launch_bounds__(bottom_shared<K, HEIGHT>::THREADS,
                             BLOCKS) void finish_subtrees(stage s, list_set from, uint32_t level,
                                                          uint32_t first) {
    extern __shared__ __align__(16) char shared[];
    bottom_shared<K, HEIGHT> &sh = *(bottom_shared<K, HEIGHT> *)shared;
    const uint32_t index = first + blockIdx.x;
    const segment segment = list_segment(s.tree, level, index);
    /* A sub-tree without points on the last level has one level less, and all its levels are
       full. */
    const uint32_t levels = s.tree.levels - level, upper = (1u << (levels - 1)) - 1;
    const uint32_t height = segment.count > upper ? levels : levels - 1;
    if (height == 0) return;
    const subtree subtree = {level, index, height, segment.count - (upper >> (levels - height)),
                             from.list[0] + segment.begin};
    load_lists(sh, s, from, segment);
    region<real, K> domain = {};
    int axis = (int)(level % s.dims);
    if (WIDEST) {
        domain = root_region<K, HEIGHT, real>(sh, s, pointtree_level_begin(level) + index);
        axis = region_widest<real, K>(domain, s.dims);
    }
#pragma unroll 1
    for (uint32_t h = height; h > 3; --h)
        split_level<K, HEIGHT, WIDEST, real>(sh, s, subtree, h, axis, domain);
    if (height >= 3)
        finish_tail<3, K, HEIGHT, WIDEST, real>(sh, s, subtree, axis, domain);
    else if (height == 2)
        finish_tail<2, K, HEIGHT, WIDEST, real>(sh, s, subtree, axis, domain);
    else
        finish_tail<1, K, HEIGHT, WIDEST, real>(sh, s, subtree, axis, domain);
    __syncthreads();
    store_ids(sh, s, subtree, segment.count);
}

} // namespace lists
#endif
