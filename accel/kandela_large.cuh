/* Large nodes, level by level: one cooperative kernel until all nodes have at most SMALL_MOST
   references. A node of at most CHUNK references is split by one block from histograms to scatter;
   of a larger one each block takes a chunk, and the chunk that is done last makes the children.
   Lists of work alternate between two rooms, their counters between three: one is read, one filled,
   one cleared, so a level needs one grid-wide barrier if it has no node of several chunks. */
#ifndef KD_ACCEL_KANDELA_LARGE_CUH
#define KD_ACCEL_KANDELA_LARGE_CUH
#include "accel/kandela_bins.cuh"
#include <cooperative_groups.h>

/* A chunk's references, each thread's own. */
struct own_refs {
    float lo[LARGE_EACH][3], hi[LARGE_EACH][3];
    uint32_t id[LARGE_EACH];
    uint32_t count; /* in the chunk */
};

struct level_of {
    int from, to;         /* rooms of lists */
    int now, next, after; /* counters */
};

/* Puts a child where its size belongs. One thread. */
__device__ inline void hand_on(const kandela &k, const level_of &level, work child) {
    counters *c = k.count;
    if (child.count == 0) {
        k.raw[child.at] = raw_leaf(0, 0);
    } else if (child.count <= SMALL_MOST) {
        const int size = small_class(child.count);
        const uint32_t i = atomicAdd(&c->small[0][size], 1u);
        if (i < k.small_room)
            k.small[0][size][i] = child;
        else
            exhaust(k, EXHAUSTED_LISTS, level.next);
    } else if (child.count <= CHUNK) {
        const uint32_t i = atomicAdd(&c->medium[level.next], 1u);
        if (i < k.medium_room)
            k.medium[level.to][i] = child;
        else
            exhaust(k, EXHAUSTED_LISTS, level.next);
    } else {
        child.chunks = (child.count + CHUNK - 1) / CHUNK;
        child.slot = atomicAdd(&c->big[level.next], 1u);
        const uint32_t first = atomicAdd(&c->chunks[level.next], child.chunks);
        if (child.slot >= k.big_room || first + child.chunks > k.medium_room) {
            exhaust(k, EXHAUSTED_LISTS, level.next);
            return;
        }
        k.big[level.to][child.slot] = child;
        k.arrived[level.to][child.slot] = 0;
        for (uint32_t i = 0; i < child.chunks; ++i)
            k.chunks[level.to][first + i] = make_uint2(child.slot, i);
    }
}

__device__ __forceinline__ void begin_node(large_shared &s, const work *node) {
    __syncthreads(); /* the node before is done with */
    if (threadIdx.x < sizeof(work) / 4)
        ((uint32_t *)&s.node)[threadIdx.x] = ((const uint32_t *)node)[threadIdx.x];
    clear_bins(s);
    __syncthreads();
    if (threadIdx.x < 3) {
        const int a = threadIdx.x;
        s.of[a] = sah_axis_of(box_of(s.node), a);
        s.scale[a] = bin_scale(s.node.lo[a], s.node.hi[a]);
    }
    __syncthreads();
}

__device__ __forceinline__ void load_refs(own_refs &refs, const kandela &k, uint32_t first,
                                          uint32_t count) {
    refs.count = count;
#pragma unroll
    for (int j = 0; j < LARGE_EACH; ++j) {
        const uint32_t i = j * LARGE_BLOCK + threadIdx.x;
        if (i >= count) continue;
        const clipped ref = k.pool[first + i];
        refs.lo[j][0] = ref.lo.x, refs.lo[j][1] = ref.lo.y, refs.lo[j][2] = ref.lo.z;
        refs.hi[j][0] = ref.hi.x, refs.hi[j][1] = ref.hi.y, refs.hi[j][2] = ref.hi.z;
        refs.id[j] = __float_as_uint(ref.lo.w);
    }
}

#define FOR_OWN(refs, j)                                                                           \
    _Pragma("unroll") for (int j = 0; j < LARGE_EACH;                                              \
                           ++j) if (j * LARGE_BLOCK + threadIdx.x < (refs).count)

__device__ __forceinline__ void count_refs(large_shared &s, const own_refs &refs, bool fine) {
    FOR_OWN(refs, j) {
        if (fine)
            count_fine_bins(s, refs.lo[j], refs.hi[j]);
        else
            count_bins(s, refs.lo[j], refs.hi[j]);
    }
}

/* Moves the plane from a bin's edge to the nearest box side in the direction in which costs fall:
   at constant counts the cost is linear in the position. What lies in the plane then stays on the
   side on which it was counted. */
__device__ __forceinline__ void snap(large_shared &s, const own_refs &refs) {
    const int axis = s.split.axis, warp = threadIdx.x >> 5;
    const float plane = s.split.plane;
    float below = -INFINITY, above = INFINITY;
    uint32_t left = 0, right = 0;
    FOR_OWN(refs, j) {
        const float lo = pick(refs.lo[j], axis), hi = pick(refs.hi[j], axis);
        if (lo <= plane)
            below = fmaxf(below, lo);
        else
            above = fminf(above, lo);
        if (hi <= plane)
            below = fmaxf(below, hi);
        else
            above = fminf(above, hi);
        left += lo < plane;
        right += hi > plane;
    }
    below = unordered(__reduce_max_sync(WARP_ALL, ordered(below)));
    above = unordered(__reduce_min_sync(WARP_ALL, ordered(above)));
    left = __reduce_add_sync(WARP_ALL, left);
    right = __reduce_add_sync(WARP_ALL, right);
    if ((threadIdx.x & 31) == 0) {
        s.below[warp] = below, s.above[warp] = above;
        s.left[warp] = left, s.right[warp] = right;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < LARGE_BLOCK / 32; ++w) {
            s.below[0] = fmaxf(s.below[0], s.below[w]);
            s.above[0] = fminf(s.above[0], s.above[w]);
            s.left[0] += s.left[w];
            s.right[0] += s.right[w];
        }
        const float to = s.left[0] > s.right[0] ? s.below[0] : s.above[0];
        s.right_side = false;
        if (to > pick(s.node.lo, axis) && to < pick(s.node.hi, axis)) {
            s.right_side = to > plane ? false : to < plane;
            s.split.plane = to;
        }
    }
    __syncthreads();
}

/* Which sides a reference is on; bit 0: left, bit 1: right. */
__device__ __forceinline__ uint32_t sides_of(float lo, float hi, float plane, bool right_side) {
    const uint32_t sides = (lo < plane ? 1u : 0u) | (hi > plane ? 2u : 0u);
    return sides ? sides : right_side ? 2u : 1u;
}

/* Room for a node's two children, references and raw nodes. One thread; false: there is none. */
__device__ inline bool reserve_children(const kandela &k, const level_of &level, const work &node,
                                        int axis, float plane, uint32_t references, uint32_t *first,
                                        uint32_t *children) {
    *first = atomicAdd(&k.count->pool, references);
    *children = atomicAdd(&k.count->nodes, 2u);
    if (*first > k.pool_room - references || *children + 2 > k.raw_room) {
        exhaust(k, *children + 2 > k.raw_room ? EXHAUSTED_NODES : EXHAUSTED_POOL, level.next);
        return false;
    }
    make_inner(k, node, axis, plane, *children);
    return true;
}

/* Copies references to their children, straddlers clipped to both. `whole`: the block has all of
   the node, and makes the children. */
__device__ __forceinline__ void scatter(const kandela &k, const level_of &level, large_shared &s,
                                        const own_refs &refs, bool whole, big_split *shared_split) {
    const int axis = s.split.axis, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const float plane = s.split.plane;
    uint32_t sides[LARGE_EACH] = {}, left = 0, right = 0;
    FOR_OWN(refs, j) {
        sides[j] = sides_of(pick(refs.lo[j], axis), pick(refs.hi[j], axis), plane, s.right_side);
        left += sides[j] & 1;
        right += sides[j] >> 1;
    }
    const uint32_t upto_left = warp_scan(left), upto_right = warp_scan(right);
    if (lane == 31) s.left[warp] = upto_left, s.right[warp] = upto_right;
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t sum_left = 0, sum_right = 0;
        for (int w = 0; w < LARGE_BLOCK / 32; ++w) {
            const uint32_t l = s.left[w], r = s.right[w];
            s.left[w] = sum_left, s.right[w] = sum_right;
            sum_left += l, sum_right += r;
        }
        s.total_left = sum_left, s.total_right = sum_right;
        s.stop = false;
        if (whole) {
            s.stop = !reserve_children(k, level, s.node, axis, plane, sum_left + sum_right,
                                       &s.base_left, &s.children);
            s.base_right = s.base_left + sum_left;
        } else {
            s.base_left = s.split.first + atomicAdd(&shared_split->left, sum_left);
            s.base_right =
                s.split.first + s.node.count + atomicAdd(&shared_split->right, sum_right);
        }
    }
    __syncthreads();
    if (s.stop) return;
    if (whole && (threadIdx.x == 0 || threadIdx.x == 32)) {
        const bool is_right = threadIdx.x == 32;
        work child = child_of(s.node, axis, plane, is_right);
        child.first = is_right ? s.base_right : s.base_left;
        child.count = is_right ? s.total_right : s.total_left;
        child.at = s.children + is_right;
        hand_on(k, level, child);
    }
    uint32_t to_left = s.base_left + s.left[warp] + upto_left - left;
    uint32_t to_right = s.base_right + s.right[warp] + upto_right - right;
    FOR_OWN(refs, j) {
        clipped ref;
        ref.lo =
            make_float4(refs.lo[j][0], refs.lo[j][1], refs.lo[j][2], __uint_as_float(refs.id[j]));
        ref.hi = make_float4(refs.hi[j][0], refs.hi[j][1], refs.hi[j][2], 0);
        const bool both = sides[j] == 3;
        if (sides[j] & 1) k.pool[to_left++] = both ? clip_side(k, ref, axis, plane, false) : ref;
        if (sides[j] & 2) k.pool[to_right++] = both ? clip_side(k, ref, axis, plane, true) : ref;
    }
}

/* By the whole block. */
__device__ inline void make_large_leaf(const kandela &k, const level_of &level, large_shared &s) {
    if (threadIdx.x == 0) {
        s.children = atomicAdd(&k.count->leaf_ids, s.node.count);
        s.stop = s.children > k.leaf_room - s.node.count;
        if (s.stop)
            exhaust(k, EXHAUSTED_LEAVES, level.next);
        else
            k.raw[s.node.at] = raw_leaf(s.children, s.node.count);
    }
    __syncthreads();
    if (s.stop) return;
    for (uint32_t i = threadIdx.x; i < s.node.count; i += LARGE_BLOCK)
        k.leaf_ids[s.children + i] = __float_as_uint(k.pool[s.node.first + i].lo.w);
}

__device__ __forceinline__ bool is_leaf(const kandela &k, const work &node, float cost) {
    return !(cost < k.costs.intersect * (float)node.count) || node.depth >= k.max_depth;
}

__device__ inline void split_medium(const kandela &k, const level_of &level, large_shared &s,
                                    uint32_t index) {
    own_refs refs;
    begin_node(s, k.medium[level.from] + index);
    load_refs(refs, k, s.node.first, s.node.count);
    count_refs(s, refs, false);
    choose_edges(s, k.costs);
    if (threadIdx.x == 0) choose_axis(s.split);
    clear_bins(s);
    __syncthreads();
    if (wants_refinement(s.split)) {
        count_refs(s, refs, true);
        choose_fine_edges(s, k.costs);
    }
    if (is_leaf(k, s.node, s.split.cost)) {
        make_large_leaf(k, level, s);
        return;
    }
    snap(s, refs);
    scatter(k, level, s, refs, true, NULL);
}

/* The node's histograms into shared memory, cleared behind. They are sums that other blocks made:
   not to be read from this multiprocessor's cache. */
__device__ __forceinline__ void take_histograms(const kandela &k, large_shared &s, uint32_t slot) {
    uint32_t *sums = k.histograms + (uint64_t)slot * 6 * BINS;
    for (int i = threadIdx.x; i < 6 * BINS; i += LARGE_BLOCK) {
        (&s.bins[0][0][0])[i] = __ldcg(&sums[i]);
        sums[i] = 0;
    }
}

/* By the block that adds a node's last histogram: the split after the first look. */
__device__ inline void choose_big(const kandela &k, large_shared &s, uint32_t slot) {
    take_histograms(k, s, slot);
    choose_edges(s, k.costs);
    if (threadIdx.x == 0) {
        choose_axis(s.split);
        k.splits[slot] = s.split;
    }
}

/* The same after the second look: leaf or children. */
__device__ inline void decide_big(const kandela &k, const level_of &level, large_shared &s,
                                  uint32_t slot) {
    if (wants_refinement(s.split)) {
        take_histograms(k, s, slot);
        choose_fine_edges(s, k.costs);
    }
    const bool leaf = is_leaf(k, s.node, s.split.cost);
    if (leaf) make_large_leaf(k, level, s);
    if (threadIdx.x == 0) {
        s.split.active =
            !leaf && reserve_children(k, level, s.node, s.split.axis, s.split.plane,
                                      2 * s.node.count, &s.split.first, &s.split.children);
        s.split.left = s.split.right = s.split.done = 0;
        k.splits[slot] = s.split;
    }
}

/* Adds a chunk's histograms to its node's; the last chunk decides on the node. */
__device__ inline void bin_chunk(const kandela &k, const level_of &level, large_shared &s,
                                 uint2 chunk, bool fine) {
    begin_node(s, k.big[level.from] + chunk.x);
    if (fine) {
        if (threadIdx.x == 0) s.split = k.splits[chunk.x];
        __syncthreads();
    }
    if (!fine || wants_refinement(s.split)) {
        own_refs refs;
        load_refs(refs, k, s.node.first + chunk.y * CHUNK,
                  min(CHUNK, s.node.count - chunk.y * CHUNK));
        count_refs(s, refs, fine);
        __syncthreads();
        uint32_t *sums = k.histograms + (uint64_t)chunk.x * 6 * BINS;
        for (int i = threadIdx.x; i < 6 * BINS; i += LARGE_BLOCK) {
            const uint32_t value = (&s.bins[0][0][0])[i];
            if (value) atomicAdd(&sums[i], value);
        }
        __threadfence(); /* sums before the announcement */
    }
    __syncthreads();
    if (threadIdx.x == 0)
        s.stop =
            atomicAdd(&k.arrived[level.from][chunk.x], 1u) + 1 != (fine ? 2 : 1) * s.node.chunks;
    __syncthreads();
    if (s.stop) return;
    __threadfence();
    if (fine)
        decide_big(k, level, s, chunk.x);
    else
        choose_big(k, s, chunk.x);
}

__device__ inline void scatter_chunk(const kandela &k, const level_of &level, large_shared &s,
                                     uint2 chunk) {
    begin_node(s, k.big[level.from] + chunk.x);
    big_split *split = k.splits + chunk.x;
    if (threadIdx.x == 0) {
        s.split.axis = split->axis, s.split.plane = split->plane;
        s.split.first = split->first, s.split.children = split->children;
        s.split.active = split->active;
        s.right_side = false;
    }
    __syncthreads();
    if (!s.split.active) return;
    own_refs refs;
    load_refs(refs, k, s.node.first + chunk.y * CHUNK, min(CHUNK, s.node.count - chunk.y * CHUNK));
    scatter(k, level, s, refs, false, split);
    if (threadIdx.x != 0) return;
    __threadfence(); /* counts before the announcement */
    if (atomicAdd(&split->done, 1u) != s.node.chunks - 1) return;
    for (int side = 0; side < 2; ++side) {
        work child = child_of(s.node, s.split.axis, s.split.plane, side);
        child.first = s.split.first + (side ? s.node.count : 0);
        child.count = atomicAdd(side ? &split->right : &split->left, 0u);
        child.at = s.split.children + side;
        hand_on(k, level, child);
    }
}

__global__ __launch_bounds__(LARGE_BLOCK, 3) void large_nodes(const kandela k) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    __shared__ large_shared s;
    counters *c = k.count;
    for (int depth = 0;; ++depth) {
        const level_of level = {depth & 1, depth & 1 ^ 1, depth % 3, (depth + 1) % 3,
                                (depth + 2) % 3};
        if (depth == 0 && blockIdx.x == 0 && threadIdx.x == 0) {
            work root;
            for (int a = 0; a < 3; ++a) {
                root.lo[a] = unordered(c->box_lo[a]);
                root.hi[a] = unordered(c->box_hi[a]);
            }
            root.first = root.at = root.depth = 0;
            root.count = c->valid;
            hand_on(k, {1, 0, 2, 0, 1}, root);
        }
        if (depth == 0) grid.sync();
        const uint32_t medium = c->medium[level.now], big = c->big[level.now],
                       chunks = c->chunks[level.now];
        if ((medium == 0 && big == 0) || c->stop[level.now]) return;
        if (blockIdx.x == 0 && threadIdx.x == 0)
            c->medium[level.after] = c->big[level.after] = c->chunks[level.after] = 0;
        for (uint32_t i = blockIdx.x; i < chunks; i += gridDim.x)
            bin_chunk(k, level, s, k.chunks[level.from][i], false);
        for (uint32_t i = gridDim.x - 1 - blockIdx.x; i < medium; i += gridDim.x)
            split_medium(k, level, s, i);
        grid.sync();
        if (big == 0) continue;
        for (uint32_t i = blockIdx.x; i < chunks; i += gridDim.x)
            bin_chunk(k, level, s, k.chunks[level.from][i], true);
        grid.sync();
        for (uint32_t i = blockIdx.x; i < chunks; i += gridDim.x)
            scatter_chunk(k, level, s, k.chunks[level.from][i]);
        grid.sync();
    }
}

#endif
