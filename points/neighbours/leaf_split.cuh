/* Splits each chunk of a tree, at most 1024 points, into leaves of the device's point index.
   Idea: the tree splits clipped regions, not points, so on walls and in clusters its sub-trees
         overlap. Results do not depend on the partition, so the index may use its own on the lower
         levels: a segment is sorted along the widest side of its points' bounding box and cut where
         the left part fills its leaves. Four warps hold a chunk as 8 keys per thread, 22 bits of
         quantised coordinate above 10 bits of index; points misplaced by the quantisation only make
         boxes slightly larger. One warp with 32 keys per lane was slower: for a tree of 100,000
         points it took as long as the tree's lower levels.
   Work: five or six sorts in registers, some ten instructions per point.
   Data flow: one block per chunk: its nodes' ids, the input's points -> points in level order,
              for walks; in registers, sorted, exchanged between warps through shared memory ->
              points in leaves, their boxes, pairs of boxes over their halves and up to the
              chunk's root. No block reads another's output. */
#ifndef KD_POINTS_NEIGHBOURS_LEAF_SPLIT_CUH
#define KD_POINTS_NEIGHBOURS_LEAF_SPLIT_CUH
#include "core/device/warp_sort.cuh"
#include "points/neighbours/leaf_index.cuh"
#include "points/tree/inorder.cuh"

namespace point_index {

constexpr int SPLIT_THREADS = 128, CHUNK_MAX = 1024, THREAD_KEYS = CHUNK_MAX / SPLIT_THREADS;
constexpr uint32_t NO_POINT = 0xffffffffu;
/* less than 2^22 - 1, so that no point's key equals NO_POINT */
constexpr float CELLS = 4194302.0f;

struct bounds {
    vec3 lo, hi;
};

/* Coordinates of the chunk's nodes in level order, with the in-order successor last. */
struct chunk_shared {
    float axis[3][CHUNK_MAX];
    uint32_t keys[THREAD_KEYS][SPLIT_THREADS]; /* exchange between warps */
    bounds of_warps[SPLIT_THREADS / 32];
};

/* Input points of the chunks, and the output in level order. */
struct split_input {
    const float *points; /* `stride` floats per point */
    int stride;
    const uint32_t *ids; /* input index of each tree node */
    kandela::layout tree;
    float *nodes; /* out: points in level order */
};

/* Maps the local indices of a chunk to tree nodes: a sub-tree in level order, followed by its
   in-order successor, which the last chunk lacks. */
struct chunk_nodes {
    uint32_t level, chunk, count; /* position and size of the sub-tree */

    __device__ uint32_t node(uint32_t i) const {
        if (i == count) { /* the lowest ancestor in whose left sub-tree the chunk lies */
            const uint32_t up = (uint32_t)__ffs((int)~chunk);
            return kandela::node_at(level - up, chunk >> up);
        }
        const uint32_t down = pointtree_level_of(i);
        return kandela::node_at(level + down, (chunk << down) + i - pointtree_level_begin(down));
    }
};

__device__ inline chunk_nodes nodes_of_chunk(const kandela::layout &tree, uint32_t chunk) {
    const uint32_t level = tree.levels > CHUNK_LEVELS ? tree.levels - CHUNK_LEVELS : 0;
    return {level, chunk, kandela::node_segment(tree, level, chunk).count};
}

/* Loads the chunk's points and also writes them in level order. Each thread issues all its loads
   at once. */
__device__ inline void load_chunk(const split_input &input, const chunk_nodes &nodes,
                                  uint32_t count, chunk_shared &sh) {
    uint32_t node[THREAD_KEYS];
    vec3 p[THREAD_KEYS];
#pragma unroll
    for (uint32_t i = 0; i < THREAD_KEYS; ++i)
        node[i] = nodes.node(min(threadIdx.x + SPLIT_THREADS * i, count - 1));
#pragma unroll
    for (uint32_t i = 0; i < THREAD_KEYS; ++i) {
        const float *from = input.points + (uint64_t)input.ids[node[i]] * input.stride;
        p[i] = vec3_make(from[0], from[1], from[2]);
    }
#pragma unroll
    for (uint32_t i = 0; i < THREAD_KEYS; ++i) {
        const uint32_t q = threadIdx.x + SPLIT_THREADS * i;
        if (q >= count) continue;
        float *to = input.nodes + 3ull * node[i];
        to[0] = p[i].x, to[1] = p[i].y, to[2] = p[i].z;
        sh.axis[0][q] = p[i].x, sh.axis[1][q] = p[i].y, sh.axis[2][q] = p[i].z;
    }
    __syncthreads();
}

__device__ inline bounds joined(const bounds &a, const bounds &b) {
    return {vec3_min(a.lo, b.lo), vec3_max(a.hi, b.hi)};
}

/* The bounds of the lane `step` away (XOR). */
__device__ inline bounds bounds_beside(const bounds &b, int step) {
    return {vec3_make(__shfl_xor_sync(ALL_LANES, b.lo.x, step),
                      __shfl_xor_sync(ALL_LANES, b.lo.y, step),
                      __shfl_xor_sync(ALL_LANES, b.lo.z, step)),
            vec3_make(__shfl_xor_sync(ALL_LANES, b.hi.x, step),
                      __shfl_xor_sync(ALL_LANES, b.hi.y, step),
                      __shfl_xor_sync(ALL_LANES, b.hi.z, step))};
}

/* The bounding box of a thread's points. */
__device__ inline bounds bounds_of_keys(const chunk_shared &sh,
                                        const uint32_t (&key)[THREAD_KEYS]) {
    bounds b = {vec3_all(INFINITY), vec3_all(-INFINITY)};
#pragma unroll
    for (int i = 0; i < THREAD_KEYS; ++i) {
        if (key[i] == NO_POINT) continue;
        const uint32_t q = key[i] % CHUNK_MAX;
        const vec3 p = vec3_make(sh.axis[0][q], sh.axis[1][q], sh.axis[2][q]);
        b = joined(b, {p, p});
    }
    return b;
}

/* Publishes each warp's box to all warps. */
__device__ inline void write_warps(chunk_shared &sh, const bounds &bounds) {
    __syncthreads(); /* previous values have been read */
    if (threadIdx.x % 32 == 0) sh.of_warps[threadIdx.x / 32] = bounds;
    __syncthreads();
}

/* The joint box of the neighbouring `warps` warps, 1 or 2, in the butterfly exchange. */
__device__ inline bounds warps_beside(const chunk_shared &sh, int warps) {
    const uint32_t other = threadIdx.x / 32 ^ (uint32_t)warps;
    return warps == 1 ? sh.of_warps[other] : joined(sh.of_warps[other], sh.of_warps[other ^ 1]);
}

/* The bounding box of the points of each group of `threads` neighbouring threads. */
__device__ inline bounds segment_bounds(chunk_shared &sh, const uint32_t (&key)[THREAD_KEYS],
                                        int threads) {
    bounds b = bounds_of_keys(sh, key);
    for (int step = 1; step < threads && step < 32; step *= 2)
        b = joined(b, bounds_beside(b, step));
    if (threads > 32) write_warps(sh, b);
    for (int step = 32; step < threads; step *= 2) b = joined(b, warps_beside(sh, step / 32));
    return b;
}

/* Compare-exchange across warps: replaces each key by the minimum (if `minimum`) or maximum of it
   and the key that thread `other` holds in the same slot, or in the mirrored slot. */
__device__ inline void merge_with_warp(chunk_shared &sh, uint32_t (&key)[THREAD_KEYS],
                                       uint32_t other, bool mirrored, bool minimum) {
    __syncthreads(); /* previous keys have been read */
#pragma unroll
    for (int i = 0; i < THREAD_KEYS; ++i) sh.keys[i][threadIdx.x] = key[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < THREAD_KEYS; ++i)
        key[i] =
            warp_sort::chosen(key[i], sh.keys[mirrored ? THREAD_KEYS - 1 - i : i][other], minimum);
}

/* Sorts the keys of each group of `threads` neighbouring threads: the bitonic sort of
   warp_sort.cuh, extended across warps. */
__device__ inline void sort_threads(chunk_shared &sh, uint32_t (&key)[THREAD_KEYS], int threads) {
    const uint32_t thread = threadIdx.x;
    warp_sort::sort_lanes(key, threads < 32 ? threads : 32);
    for (uint32_t run = 64; run <= (uint32_t)threads; run *= 2) {
        merge_with_warp(sh, key, thread ^ (run - 1), true, (thread & (run / 2)) == 0);
        for (uint32_t step = run / 4; step >= 32; step /= 2)
            merge_with_warp(sh, key, thread ^ step, false, (thread & step) == 0);
#pragma unroll 1
        for (uint32_t step = 16; step > 0; step /= 2)
#pragma unroll
            for (int i = 0; i < THREAD_KEYS; ++i)
                key[i] = warp_sort::chosen(key[i], __shfl_xor_sync(ALL_LANES, key[i], step),
                                           (thread & step) == 0);
        warp_sort::merge_key_lists(key);
    }
}

/* Sorts each segment along the widest side of its bounding box. */
__device__ inline void sort_segments(chunk_shared &sh, uint32_t (&key)[THREAD_KEYS], int threads) {
    const bounds b = segment_bounds(sh, key, threads);
    const vec3 side = vec3_sub(b.hi, b.lo);
    const int axis = side.y > side.x ? (side.z > side.y ? 2 : 1) : (side.z > side.x ? 2 : 0);
    const float lo = vec3_axis(b.lo, axis), maximum = vec3_axis(side, axis);
    const float scale = maximum > 0 ? CELLS / maximum : 0;
    const float *from = sh.axis[axis];
#pragma unroll
    for (int i = 0; i < THREAD_KEYS; ++i) {
        if (key[i] == NO_POINT) continue;
        const uint32_t q = key[i] % CHUNK_MAX;
        key[i] = (uint32_t)fminf((from[q] - lo) * scale, CELLS) * CHUNK_MAX | q;
    }
    sort_threads(sh, key, threads);
}

/* Output of a chunk: boxes of its leaves, and the binary tree of pairs of boxes. */
struct split_boxes {
    float4 *boxes, *pairs;
    uint32_t *ties; /* zeroed here; list_plane counts */
};

__device__ inline void store_pair(float4 *to, const bounds &a, const bounds &b,
                                  const point_range &range) {
    to[0] = make_float4(a.lo.x, a.lo.y, a.lo.z, a.hi.x);
    to[1] = make_float4(a.hi.y, a.hi.z, b.lo.x, b.lo.y);
    to[2] = make_float4(b.lo.z, b.hi.x, b.hi.y, b.hi.z);
    to[3] = make_float4(__uint_as_float(range.begin), __uint_as_float(range.end), 0, 0);
}

/* Stores the box and the range of points of each leaf, the boxes of its halves, and the pairs
   above it up to the chunk's root. A leaf belongs to four or eight threads, a half to two or
   four. */
__device__ inline void store_leaves(const view &index, chunk_shared &sh,
                                    const uint32_t (&key)[THREAD_KEYS], uint32_t chunk, int threads,
                                    const split_boxes &boxes) {
    const uint32_t leaf = threadIdx.x / threads, width = threads * THREAD_KEYS;
    const uint32_t chunk_end = chunk_begin(index, chunk + 1);
    const uint32_t begin = min(chunk_begin(index, chunk) + leaf * width, chunk_end);
    const point_range range = {begin, min(begin + width, chunk_end)};
    const bounds eight = bounds_of_keys(sh, key);
    bounds first = joined(eight, bounds_beside(eight, 1)), second = bounds_beside(first, 2);
    bounds box = joined(first, second);
    if (threads == 8) {
        const bounds neighbour = bounds_beside(box, 4);
        if (half_width(range.end - range.begin) == 32) first = box, second = neighbour;
        box = joined(box, neighbour);
    }
    const bool stores = leaf < index.chunk_leaves && threadIdx.x % threads == 0;
    uint32_t node = chunk * index.chunk_leaves + leaf;
    if (stores) {
        boxes.boxes[2ull * node] = make_float4(box.lo.x, box.lo.y, box.lo.z, box.hi.x);
        boxes.boxes[2ull * node + 1] = make_float4(box.hi.y, box.hi.z, __uint_as_float(range.begin),
                                                   __uint_as_float(range.end));
    }
    node += index.pair_count / 2;
    if (stores) store_pair(boxes.pairs + 4ull * node, first, second, range);
    for (uint32_t step = 1; step < index.chunk_leaves; step *= 2) {
        const int far = (int)step * threads;
        if (far == 32) write_warps(sh, box);
        const bounds adjacent = far < 32 ? bounds_beside(box, far) : warps_beside(sh, far / 32);
        node = (node - 1) / 2;
        if (stores && leaf % (2 * step) == 0)
            store_pair(boxes.pairs + 4ull * node, box, adjacent, {0, 0});
        box = joined(box, adjacent);
    }
}

/* One block per chunk: sorts its points into leaves. */
__global__ __launch_bounds__(SPLIT_THREADS) void split_chunks(const __grid_constant__ view index,
                                                              split_input in, float4 *points,
                                                              uint32_t *outliers, split_boxes to) {
    __shared__ chunk_shared sh;
    const uint32_t thread = threadIdx.x, chunk = blockIdx.x;
    if (chunk == 0 && thread == 0) *to.ties = 0;
    if (chunk + 1 < index.chunk_count && thread == 0) /* zeroes the counter that join_above uses */
        to.pairs[4ull * chunk + 3] = make_float4(0, 0, 0, 0);
    const uint32_t begin = chunk_begin(index, chunk);
    const uint32_t count = chunk_begin(index, chunk + 1) - begin;
    const chunk_nodes nodes = nodes_of_chunk(in.tree, chunk);
    load_chunk(in, nodes, count, sh);
    uint32_t key[THREAD_KEYS];
    const uint32_t threads_all = count > CHUNK_MAX / 2 ? SPLIT_THREADS : SPLIT_THREADS / 2;
#pragma unroll
    for (int i = 0; i < THREAD_KEYS; ++i) {
        const uint32_t q = i * threads_all + thread;
        key[i] = thread < threads_all && q < count ? q : NO_POINT;
    }
    const int leaf_threads = count > index.chunk_leaves * 32 ? 8 : 4;
#pragma unroll 1
    for (int threads = (int)threads_all; threads >= leaf_threads; threads /= 2)
        sort_segments(sh, key, threads);
    store_leaves(index, sh, key, chunk, leaf_threads, to);
#pragma unroll
    for (int i = 0; i < THREAD_KEYS; ++i) {
        if (key[i] == NO_POINT) continue;
        const uint32_t q = key[i] % CHUNK_MAX, at = begin + thread * THREAD_KEYS + i;
        if (q == count - 1) outliers[chunk] = at; /* the in-order successor */
        points[at] = make_float4(sh.axis[0][q], sh.axis[1][q], sh.axis[2][q],
                                 __uint_as_float(in.ids[nodes.node(q)]));
    }
}

} // namespace point_index
#endif
