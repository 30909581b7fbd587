/* Leaves of a point index: each chunk of a tree, at most 1024 points, is split anew.
   Idea: the tree's splits follow clipped regions, not points, so on walls and in clusters its
   sub-trees overlap; answers do not depend on the partition, so the index has its own at the lower
   end: a segment is sorted along the widest side of its points' box and cut where the left part
   fills its leaves. A warp holds a chunk as 32 keys a lane, 22 bits of coordinate over 10 of index;
   what a rounded coordinate misplaces costs a little time later and nothing else.
   Work: five or six sorts in registers, some ten instructions a point.
   Data flow: a warp a chunk: its points -> registers, sorted -> the same places, boxes of its
              leaves. Warps read and write apart. */
#ifndef KD_POINTS_NEIGHBOURS_LEAF_SPLIT_CUH
#define KD_POINTS_NEIGHBOURS_LEAF_SPLIT_CUH
#include "core/device/warp_sort.cuh"
#include "points/neighbours/leaf_index.cuh"

namespace point_index {

constexpr int SPLIT_WARPS = 2, CHUNK_MOST = 1024, LANE_KEYS = 32;
constexpr uint32_t NO_POINT = 0xffffffffu;
constexpr float CELLS = 4194302.0f; /* below 2^22 - 1: a point's key is not NO_POINT */

struct chunk_shared {
    float axis[3][CHUNK_MOST];
    uint32_t id[CHUNK_MOST];
    uint16_t order[CHUNK_MOST];
};

struct bounds {
    vec3 lo, hi;
};

/* The box of the points of each `lanes` neighbouring lanes. */
__device__ inline bounds segment_bounds(const chunk_shared &sh, const uint32_t (&key)[LANE_KEYS],
                                        int lanes) {
    bounds b = {vec3_all(INFINITY), vec3_all(-INFINITY)};
#pragma unroll
    for (int i = 0; i < LANE_KEYS; ++i) {
        if (key[i] == NO_POINT) continue;
        const uint32_t q = key[i] % CHUNK_MOST;
        const vec3 p = vec3_make(sh.axis[0][q], sh.axis[1][q], sh.axis[2][q]);
        b.lo = vec3_min(b.lo, p), b.hi = vec3_max(b.hi, p);
    }
    for (int step = 1; step < lanes; step *= 2) {
        b.lo = vec3_min(b.lo, vec3_make(__shfl_xor_sync(ALL_LANES, b.lo.x, step),
                                        __shfl_xor_sync(ALL_LANES, b.lo.y, step),
                                        __shfl_xor_sync(ALL_LANES, b.lo.z, step)));
        b.hi = vec3_max(b.hi, vec3_make(__shfl_xor_sync(ALL_LANES, b.hi.x, step),
                                        __shfl_xor_sync(ALL_LANES, b.hi.y, step),
                                        __shfl_xor_sync(ALL_LANES, b.hi.z, step)));
    }
    return b;
}

/* Sorts each segment along the widest side of its box. */
__device__ inline void sort_segments(const chunk_shared &sh, uint32_t (&key)[LANE_KEYS],
                                     int lanes) {
    const bounds b = segment_bounds(sh, key, lanes);
    const vec3 side = vec3_sub(b.hi, b.lo);
    const int axis = side.y > side.x ? (side.z > side.y ? 2 : 1) : (side.z > side.x ? 2 : 0);
    const float lo = vec3_axis(b.lo, axis), most = vec3_axis(side, axis);
    const float scale = most > 0 ? CELLS / most : 0;
    const float *from = sh.axis[axis];
#pragma unroll
    for (int i = 0; i < LANE_KEYS; ++i) {
        if (key[i] == NO_POINT) continue;
        const uint32_t q = key[i] % CHUNK_MOST;
        key[i] = (uint32_t)fminf((from[q] - lo) * scale, CELLS) * CHUNK_MOST | q;
    }
    warp_sort::sort_lanes(key, lanes);
}

/* The box of each leaf and where its points lie. */
__device__ inline void store_leaves(const view &index, const chunk_shared &sh,
                                    const uint32_t (&key)[LANE_KEYS], uint32_t chunk, int lanes,
                                    float4 *boxes) {
    const bounds b = segment_bounds(sh, key, lanes);
    const uint32_t leaf = (threadIdx.x & 31) / lanes, width = lanes * LANE_KEYS;
    if (leaf >= index.chunk_leaves || (threadIdx.x & 31) % lanes) return;
    const uint32_t chunk_end = chunk_begin(index, chunk + 1);
    const uint32_t begin = min(chunk_begin(index, chunk) + leaf * width, chunk_end);
    const uint64_t to = 2 * (chunk * (uint64_t)index.chunk_leaves + leaf);
    boxes[to] = make_float4(b.lo.x, b.lo.y, b.lo.z, b.hi.x);
    boxes[to + 1] = make_float4(b.hi.y, b.hi.z, __uint_as_float(begin),
                                __uint_as_float(min(begin + width, chunk_end)));
}

/* What kernels after this one count in. */
struct split_counters {
    uint32_t *ties, *pairs; /* one number; the last of sixteen each of view.pair_count */
};

/* To zeros: a warp those of its chunk's runs, of which there are as many as pairs and one. */
__device__ inline void zero_counters(const view &index, const split_counters &of, uint32_t chunk) {
    const uint32_t runs = 2 * index.chunk_leaves, end = min((chunk + 1) * runs, index.pair_count);
    for (uint32_t i = chunk * runs + threadIdx.x % 32; i < end; i += 32)
        of.pairs[16ull * i + 15] = 0;
    if (chunk == 0 && threadIdx.x == 0) *of.ties = 0;
}

/* A warp a chunk; its points are put into their new order in place. */
__global__ __launch_bounds__(32 * SPLIT_WARPS) void split_chunks(const __grid_constant__ view index,
                                                                 float4 *points, float4 *boxes,
                                                                 uint32_t *strays,
                                                                 split_counters counters) {
    __shared__ chunk_shared all[SPLIT_WARPS];
    const uint32_t lane = threadIdx.x % 32, chunk = blockIdx.x * SPLIT_WARPS + threadIdx.x / 32;
    if (chunk >= index.chunk_count) return;
    zero_counters(index, counters, chunk);
    chunk_shared &sh = all[threadIdx.x / 32];
    const uint32_t begin = chunk_begin(index, chunk);
    const uint32_t count = chunk_begin(index, chunk + 1) - begin;
    for (uint32_t q = lane; q < count; q += 32) {
        const float4 p = points[begin + q];
        sh.axis[0][q] = p.x, sh.axis[1][q] = p.y, sh.axis[2][q] = p.z;
        sh.id[q] = __float_as_uint(p.w);
    }
    __syncwarp();
    uint32_t key[LANE_KEYS];
    const uint32_t lanes_all = count > CHUNK_MOST / 2 ? 32 : 16;
#pragma unroll
    for (int i = 0; i < LANE_KEYS; ++i) {
        const uint32_t q = i * lanes_all + lane;
        key[i] = lane < lanes_all && q < count ? q : NO_POINT;
    }
    const int leaf_lanes = count > index.chunk_leaves * LANE_KEYS ? 2 : 1;
#pragma unroll 1
    for (int lanes = (int)lanes_all; lanes >= leaf_lanes; lanes /= 2) sort_segments(sh, key, lanes);
#pragma unroll
    for (int i = 0; i < LANE_KEYS; ++i)
        sh.order[lane * LANE_KEYS + i] = (uint16_t)(key[i] % CHUNK_MOST);
    store_leaves(index, sh, key, chunk, leaf_lanes, boxes);
    __syncwarp();
    for (uint32_t e = lane; e < count; e += 32) {
        const uint32_t q = sh.order[e];
        if (q == count - 1) strays[chunk] = begin + e; /* it was the last in order */
        points[begin + e] =
            make_float4(sh.axis[0][q], sh.axis[1][q], sh.axis[2][q], __uint_as_float(sh.id[q]));
    }
}

} // namespace point_index
#endif
