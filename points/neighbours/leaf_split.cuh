/* Leaves of a point index: each chunk of a tree, at most 1024 points, is split anew.
   Idea: the tree's splits follow clipped regions, not points, so on walls and in clusters its
   sub-trees overlap; answers do not depend on the partition, so the index has its own at the lower
   end: a segment is sorted along the widest side of its points' box and cut where the left part
   fills its leaves. Four warps hold a chunk as 8 keys a thread, 22 bits of coordinate over 10 of
   index; what a rounded coordinate misplaces costs a little time later and nothing else. One warp
   with 32 keys a lane took as long for a tree of 100,000 points as its lower levels do.
   Work: five or six sorts in registers, some ten instructions a point.
   Data flow: a block a chunk: its nodes' ids, the input's points -> points in level order, for
              walks; in registers, sorted, over shared memory where warps meet -> points in leaves,
              boxes of these, pairs of boxes over their halves and up to the chunk's. Blocks read
              and write apart. */
#ifndef KD_POINTS_NEIGHBOURS_LEAF_SPLIT_CUH
#define KD_POINTS_NEIGHBOURS_LEAF_SPLIT_CUH
#include "core/device/warp_sort.cuh"
#include "points/neighbours/leaf_index.cuh"
#include "points/tree/inorder.cuh"

namespace point_index {

constexpr int SPLIT_THREADS = 128, CHUNK_MOST = 1024, THREAD_KEYS = CHUNK_MOST / SPLIT_THREADS;
constexpr uint32_t NO_POINT = 0xffffffffu;
constexpr float CELLS = 4194302.0f; /* below 2^22 - 1: a point's key is not NO_POINT */

struct bounds {
    vec3 lo, hi;
};

/* Coordinates of the chunk's nodes, in level order, the ancestor last. */
struct chunk_shared {
    float axis[3][CHUNK_MOST];
    uint32_t keys[THREAD_KEYS][SPLIT_THREADS]; /* from warp to warp */
    bounds of_warps[SPLIT_THREADS / 32];
};

/* What a chunk's points are taken from, and where they go for walks. */
struct split_input {
    const float *points; /* `stride` floats a point */
    int stride;
    const uint32_t *ids; /* of the tree's nodes */
    kandela::layout tree;
    float *nodes; /* their points */
};

/* A chunk's nodes in the tree: a sub-tree and, behind it in order, an ancestor, but for the last.
 */
struct chunk_nodes {
    uint32_t level, chunk, count; /* of the sub-tree */

    __device__ uint32_t node(uint32_t i) const {
        if (i == count) { /* above the last node of whose left side the chunk is the end */
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

/* The chunk's points, also to level order of the tree: all loads of a thread at once. */
__device__ inline void load_chunk(const split_input &in, const chunk_nodes &of, uint32_t count,
                                  chunk_shared &sh) {
    uint32_t node[THREAD_KEYS];
    vec3 p[THREAD_KEYS];
#pragma unroll
    for (uint32_t i = 0; i < THREAD_KEYS; ++i)
        node[i] = of.node(min(threadIdx.x + SPLIT_THREADS * i, count - 1));
#pragma unroll
    for (uint32_t i = 0; i < THREAD_KEYS; ++i) {
        const float *from = in.points + (uint64_t)in.ids[node[i]] * in.stride;
        p[i] = vec3_make(from[0], from[1], from[2]);
    }
#pragma unroll
    for (uint32_t i = 0; i < THREAD_KEYS; ++i) {
        const uint32_t q = threadIdx.x + SPLIT_THREADS * i;
        if (q >= count) continue;
        float *to = in.nodes + 3ull * node[i];
        to[0] = p[i].x, to[1] = p[i].y, to[2] = p[i].z;
        sh.axis[0][q] = p[i].x, sh.axis[1][q] = p[i].y, sh.axis[2][q] = p[i].z;
    }
    __syncthreads();
}

__device__ inline bounds joined(const bounds &a, const bounds &b) {
    return {vec3_min(a.lo, b.lo), vec3_max(a.hi, b.hi)};
}

/* That of the lane beside. */
__device__ inline bounds bounds_beside(const bounds &b, int step) {
    return {vec3_make(__shfl_xor_sync(ALL_LANES, b.lo.x, step),
                      __shfl_xor_sync(ALL_LANES, b.lo.y, step),
                      __shfl_xor_sync(ALL_LANES, b.lo.z, step)),
            vec3_make(__shfl_xor_sync(ALL_LANES, b.hi.x, step),
                      __shfl_xor_sync(ALL_LANES, b.hi.y, step),
                      __shfl_xor_sync(ALL_LANES, b.hi.z, step))};
}

/* The box of a thread's keys. */
__device__ inline bounds bounds_of_keys(const chunk_shared &sh,
                                        const uint32_t (&key)[THREAD_KEYS]) {
    bounds b = {vec3_all(INFINITY), vec3_all(-INFINITY)};
#pragma unroll
    for (int i = 0; i < THREAD_KEYS; ++i) {
        if (key[i] == NO_POINT) continue;
        const uint32_t q = key[i] % CHUNK_MOST;
        const vec3 p = vec3_make(sh.axis[0][q], sh.axis[1][q], sh.axis[2][q]);
        b = joined(b, {p, p});
    }
    return b;
}

/* Each warp's box to all warps. */
__device__ inline void tell_warps(chunk_shared &sh, const bounds &own) {
    __syncthreads(); /* what was told before has been read */
    if (threadIdx.x % 32 == 0) sh.of_warps[threadIdx.x / 32] = own;
    __syncthreads();
}

/* The box of the `warps` neighbouring warps beside this one's, 1 or 2. */
__device__ inline bounds warps_beside(const chunk_shared &sh, int warps) {
    const uint32_t other = threadIdx.x / 32 ^ (uint32_t)warps;
    return warps == 1 ? sh.of_warps[other] : joined(sh.of_warps[other], sh.of_warps[other ^ 1]);
}

/* The box of the points of each `threads` neighbouring threads. */
__device__ inline bounds segment_bounds(chunk_shared &sh, const uint32_t (&key)[THREAD_KEYS],
                                        int threads) {
    bounds b = bounds_of_keys(sh, key);
    for (int step = 1; step < threads && step < 32; step *= 2)
        b = joined(b, bounds_beside(b, step));
    if (threads > 32) tell_warps(sh, b);
    for (int step = 32; step < threads; step *= 2) b = joined(b, warps_beside(sh, step / 32));
    return b;
}

/* Each key or the one that the thread at `other` holds at the same place, or at the mirrored one:
   the lesser where `least`. */
__device__ inline void meet_warp(chunk_shared &sh, uint32_t (&key)[THREAD_KEYS], uint32_t other,
                                 bool mirrored, bool least) {
    __syncthreads(); /* the keys before have been read */
#pragma unroll
    for (int i = 0; i < THREAD_KEYS; ++i) sh.keys[i][threadIdx.x] = key[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < THREAD_KEYS; ++i)
        key[i] =
            warp_sort::chosen(key[i], sh.keys[mirrored ? THREAD_KEYS - 1 - i : i][other], least);
}

/* Sorts each `threads` neighbouring threads' keys: as warp_sort.cuh, across warps, too. */
__device__ inline void sort_threads(chunk_shared &sh, uint32_t (&key)[THREAD_KEYS], int threads) {
    const uint32_t thread = threadIdx.x;
    warp_sort::sort_lanes(key, threads < 32 ? threads : 32);
    for (uint32_t run = 64; run <= (uint32_t)threads; run *= 2) {
        meet_warp(sh, key, thread ^ (run - 1), true, (thread & (run / 2)) == 0);
        for (uint32_t step = run / 4; step >= 32; step /= 2)
            meet_warp(sh, key, thread ^ step, false, (thread & step) == 0);
#pragma unroll 1
        for (uint32_t step = 16; step > 0; step /= 2)
#pragma unroll
            for (int i = 0; i < THREAD_KEYS; ++i)
                key[i] = warp_sort::chosen(key[i], __shfl_xor_sync(ALL_LANES, key[i], step),
                                           (thread & step) == 0);
        warp_sort::merge_own(key);
    }
}

/* Sorts each segment along the widest side of its box. */
__device__ inline void sort_segments(chunk_shared &sh, uint32_t (&key)[THREAD_KEYS], int threads) {
    const bounds b = segment_bounds(sh, key, threads);
    const vec3 side = vec3_sub(b.hi, b.lo);
    const int axis = side.y > side.x ? (side.z > side.y ? 2 : 1) : (side.z > side.x ? 2 : 0);
    const float lo = vec3_axis(b.lo, axis), most = vec3_axis(side, axis);
    const float scale = most > 0 ? CELLS / most : 0;
    const float *from = sh.axis[axis];
#pragma unroll
    for (int i = 0; i < THREAD_KEYS; ++i) {
        if (key[i] == NO_POINT) continue;
        const uint32_t q = key[i] % CHUNK_MOST;
        key[i] = (uint32_t)fminf((from[q] - lo) * scale, CELLS) * CHUNK_MOST | q;
    }
    sort_threads(sh, key, threads);
}

/* Where a chunk's leaves go: their boxes, and the binary tree of pairs of boxes. */
struct split_boxes {
    float4 *boxes, *pairs;
    uint32_t *ties; /* counted by who lists planes */
};

__device__ inline void store_pair(float4 *to, const bounds &a, const bounds &b,
                                  const point_range &of) {
    to[0] = make_float4(a.lo.x, a.lo.y, a.lo.z, a.hi.x);
    to[1] = make_float4(a.hi.y, a.hi.z, b.lo.x, b.lo.y);
    to[2] = make_float4(b.lo.z, b.hi.x, b.hi.y, b.hi.z);
    to[3] = make_float4(__uint_as_float(of.begin), __uint_as_float(of.end), 0, 0);
}

/* The box of each leaf and where its points lie; both halves' boxes, and those of pairs above up
   to the chunk's own. A leaf has four or eight threads, a half two or four. */
__device__ inline void store_leaves(const view &index, chunk_shared &sh,
                                    const uint32_t (&key)[THREAD_KEYS], uint32_t chunk, int threads,
                                    const split_boxes &to) {
    const uint32_t leaf = threadIdx.x / threads, width = threads * THREAD_KEYS;
    const uint32_t chunk_end = chunk_begin(index, chunk + 1);
    const uint32_t begin = min(chunk_begin(index, chunk) + leaf * width, chunk_end);
    const point_range of = {begin, min(begin + width, chunk_end)};
    const bounds eight = bounds_of_keys(sh, key);
    bounds first = joined(eight, bounds_beside(eight, 1)), second = bounds_beside(first, 2);
    bounds own = joined(first, second);
    if (threads == 8) {
        const bounds beside = bounds_beside(own, 4);
        if (half_width(of.end - of.begin) == 32) first = own, second = beside;
        own = joined(own, beside);
    }
    const bool stores = leaf < index.chunk_leaves && threadIdx.x % threads == 0;
    uint32_t node = chunk * index.chunk_leaves + leaf;
    if (stores) {
        to.boxes[2ull * node] = make_float4(own.lo.x, own.lo.y, own.lo.z, own.hi.x);
        to.boxes[2ull * node + 1] =
            make_float4(own.hi.y, own.hi.z, __uint_as_float(of.begin), __uint_as_float(of.end));
    }
    node += index.pair_count / 2;
    if (stores) store_pair(to.pairs + 4ull * node, first, second, of);
    for (uint32_t step = 1; step < index.chunk_leaves; step *= 2) {
        const int far = (int)step * threads;
        if (far == 32) tell_warps(sh, own);
        const bounds beside = far < 32 ? bounds_beside(own, far) : warps_beside(sh, far / 32);
        node = (node - 1) / 2;
        if (stores && leaf % (2 * step) == 0)
            store_pair(to.pairs + 4ull * node, own, beside, {0, 0});
        own = joined(own, beside);
    }
}

/* A block a chunk: its points into leaves. */
__global__ __launch_bounds__(SPLIT_THREADS) void split_chunks(const __grid_constant__ view index,
                                                              split_input in, float4 *points,
                                                              uint32_t *strays, split_boxes to) {
    __shared__ chunk_shared sh;
    const uint32_t thread = threadIdx.x, chunk = blockIdx.x;
    if (chunk == 0 && thread == 0) *to.ties = 0;
    if (chunk + 1 < index.chunk_count && thread == 0) /* which of the pairs above the chunks */
        to.pairs[4ull * chunk + 3] = make_float4(0, 0, 0, 0);
    const uint32_t begin = chunk_begin(index, chunk);
    const uint32_t count = chunk_begin(index, chunk + 1) - begin;
    const chunk_nodes of = nodes_of_chunk(in.tree, chunk);
    load_chunk(in, of, count, sh);
    uint32_t key[THREAD_KEYS];
    const uint32_t threads_all = count > CHUNK_MOST / 2 ? SPLIT_THREADS : SPLIT_THREADS / 2;
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
        const uint32_t q = key[i] % CHUNK_MOST, at = begin + thread * THREAD_KEYS + i;
        if (q == count - 1) strays[chunk] = at; /* it was the last in order */
        points[at] = make_float4(sh.axis[0][q], sh.axis[1][q], sh.axis[2][q],
                                 __uint_as_float(in.ids[of.node(q)]));
    }
}

} // namespace point_index
#endif
