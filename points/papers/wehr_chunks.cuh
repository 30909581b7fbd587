/* The upper levels of build_wehr.cu: every chunk (the points of one node) is sorted along its axis
   by a stable radix sort on all multiprocessors, all chunks of a level together.
   Source: Wehr and Radkowski 2018, algorithm 3: histograms of blocks, their prefix sums by digit,
           then each block distributes its points in order.
   Idea: a chunk occupies the range that its sub-tree has in the finished tree read from left to
         right, so a node's point is at a known position once its chunk is sorted. Blocks do not
         cross chunks.
   Work: bits / digit bits passes per level, each 24 bytes per point.
   Data flow: for each digit: count_cells, one block per tile: list, cells -> counts; scan_tiles
              (brown_partition.cuh): counts -> positions; distribute, the same tiles: list -> the
              other list. The level's nodes are then at known positions. */
#ifndef KD_POINTS_PAPERS_WEHR_CHUNKS_CUH
#define KD_POINTS_PAPERS_WEHR_CHUNKS_CUH
#include "points/papers/brown_partition.cuh"

namespace wehr {
using namespace lists;

constexpr int ROUNDS = 8; /* points per thread */

struct chunk_stage {
    layout tree;
    uint32_t dims;
    uint32_t *tree_ids;
    uint8_t *tree_axes;    /* NULL for round robin */
    const uint32_t *cells; /* cell of point i on axis a: cells[a * cell_stride + i] */
    uint64_t cell_stride;
    uint32_t *counts; /* per chunk, digit and block */
    uint32_t *totals; /* per chunk and digit */
};

/* One pass: one digit of one level. */
struct chunk_pass {
    const uint32_t *ids;
    uint32_t *values;
    uint32_t *ids_to, *values_to;
    uint32_t level, tiles, shift;
    bool first, last; /* first pass of a level: fetch the values; last: place the nodes */
};

__device__ inline uint32_t axis_of(const chunk_stage &s, uint32_t level, uint32_t node) {
    return s.tree_axes ? s.tree_axes[node] : level % s.dims;
}

template <int BITS, int THREADS>
__global__ __launch_bounds__(THREADS) void count_cells(chunk_stage s, chunk_pass p) {
    constexpr uint32_t DIGITS = 1u << BITS;
    __shared__ uint32_t total[DIGITS];
    const uint32_t index = blockIdx.x / p.tiles, tile = blockIdx.x % p.tiles;
    const segment segment = list_segment(s.tree, p.level, index);
    const uint32_t node = pointtree_level_begin(p.level) + index;
    const uint32_t *cells = s.cells + axis_of(s, p.level, node) * s.cell_stride;
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint32_t first = tile * THREADS * ROUNDS + warp * 32 * ROUNDS + lane;
    if (threadIdx.x < DIGITS) total[threadIdx.x] = 0;
    __syncthreads();
    uint32_t value[ROUNDS], count = 0;
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
        const uint32_t at = segment.begin + first + 32 * r;
        value[r] = first + 32 * r >= segment.count ? 0 : p.first ? cells[p.ids[at]] : p.values[at];
    }
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
        const bool has = first + 32 * r < segment.count;
        if (has && p.first) p.values[segment.begin + first + 32 * r] = value[r];
        unsigned ballot[BITS], active;
        vote<BITS>(ballot, active, value[r] >> p.shift, has);
        count += __popc(lanes_with<BITS>(ballot, active, lane));
    }
    if (lane < DIGITS && count) atomicAdd(&total[lane], count);
    __syncthreads();
    if (threadIdx.x < DIGITS)
        s.counts[((uint64_t)index * DIGITS + threadIdx.x) * p.tiles + tile] = total[threadIdx.x];
}

template <int BITS, int THREADS> struct chunk_shared {
    static constexpr int DIGITS = 1 << BITS, WARPS = THREADS / 32;
    uint32_t id[THREADS * ROUNDS], value[THREADS * ROUNDS];
    uint32_t warp_before[WARPS][DIGITS];
    /* position within the block of the digit's first point */
    uint32_t first[DIGITS];
    /* destination of that point, relative to the chunk's beginning */
    uint32_t to[DIGITS];
    uint32_t points;
};

__device__ inline uint32_t sum_of_lanes_to(uint32_t value) {
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(ALL_LANES, value, step);
        if ((threadIdx.x & 31) >= (uint32_t)step) value += other;
    }
    return value;
}

/* Turns the warps' counts into offsets and computes where each digit's run goes. Executed by one
   warp. */
template <int BITS, int THREADS>
__device__ inline void open_digits(chunk_shared<BITS, THREADS> &sh, const chunk_stage &s,
                                   const chunk_pass &p, uint32_t index, uint32_t tile) {
    constexpr uint32_t DIGITS = 1u << BITS;
    const uint32_t digit = threadIdx.x;
    const uint64_t row = (uint64_t)index * DIGITS + digit;
    uint32_t count = 0, total = 0;
    for (int w = 0; digit < DIGITS && w < sh.WARPS; ++w) {
        const uint32_t digit_count = sh.warp_before[w][digit];
        sh.warp_before[w][digit] = count;
        count += digit_count;
    }
    if (digit < DIGITS) total = s.totals[row];
    const uint32_t sum = sum_of_lanes_to(count), before = sum_of_lanes_to(total) - total;
    if (digit == 31) sh.points = sum;
    if (digit >= DIGITS) return;
    sh.first[digit] = sum - count;
    sh.to[digit] = before + s.counts[row * p.tiles + tile];
}

template <int BITS, int THREADS>
__global__ __launch_bounds__(THREADS) void distribute(chunk_stage s, chunk_pass p) {
    constexpr uint32_t DIGITS = 1u << BITS;
    __shared__ chunk_shared<BITS, THREADS> sh;
    const uint32_t index = blockIdx.x / p.tiles, tile = blockIdx.x % p.tiles;
    const segment segment = list_segment(s.tree, p.level, index);
    if (tile * THREADS * ROUNDS >= segment.count) return;
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint32_t first = tile * THREADS * ROUNDS + warp * 32 * ROUNDS + lane;
    uint32_t id[ROUNDS], value[ROUNDS], place[ROUNDS], count = 0;
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
        const uint32_t at = segment.begin + first + 32 * r;
        const bool has = first + 32 * r < segment.count;
        id[r] = has ? p.ids[at] : 0;
        value[r] = has ? p.values[at] : 0;
    }
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
        unsigned ballot[BITS], active;
        vote<BITS>(ballot, active, value[r] >> p.shift, first + 32 * r < segment.count);
        const uint32_t digit = value[r] >> p.shift & (DIGITS - 1);
        const unsigned peers = lanes_with<BITS>(ballot, active, digit) & ((1u << lane) - 1);
        place[r] = __shfl_sync(ALL_LANES, count, digit) + __popc(peers);
        count += __popc(lanes_with<BITS>(ballot, active, lane));
    }
    if (lane < DIGITS) sh.warp_before[warp][lane] = count;
    __syncthreads();
    if (warp == 0) open_digits<BITS, THREADS>(sh, s, p, index, tile);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
        if (first + 32 * r >= segment.count) continue;
        const uint32_t digit = value[r] >> p.shift & (DIGITS - 1);
        const uint32_t at = sh.first[digit] + sh.warp_before[warp][digit] + place[r];
        sh.id[at] = id[r];
        sh.value[at] = value[r];
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < sh.points; i += THREADS) {
        const uint32_t digit = sh.value[i] >> p.shift & (DIGITS - 1);
        const uint32_t to = sh.to[digit] + i - sh.first[digit];
        p.ids_to[segment.begin + to] = sh.id[i];
        p.values_to[segment.begin + to] = sh.value[i];
        if (p.last && to == segment.left)
            s.tree_ids[pointtree_level_begin(p.level) + index] = sh.id[i];
    }
}

template <int BITS, int THREADS>
kd_status sort_digit(const chunk_stage &s, const chunk_pass &p, cudaStream_t stream) {
    const unsigned blocks = p.tiles << p.level;
    const uint32_t rows = 1u << (p.level + BITS);
    count_cells<BITS, THREADS><<<blocks, THREADS, 0, stream>>>(s, p);
    KD_CUDA_LAUNCHED("count_cells");
    scan_tiles<<<cuda_blocks((uint64_t)rows * 32, BLOCK), BLOCK, 0, stream>>>(s.counts, s.totals,
                                                                              rows, p.tiles);
    KD_CUDA_LAUNCHED("scan_tiles");
    distribute<BITS, THREADS><<<blocks, THREADS, 0, stream>>>(s, p);
    KD_CUDA_LAUNCHED("distribute");
    return KD_OK;
}

template <int THREADS>
kd_status sort_digit_of(const chunk_stage &s, const chunk_pass &p, uint32_t bits,
                        cudaStream_t stream) {
    return bits == 2   ? sort_digit<2, THREADS>(s, p, stream)
           : bits == 3 ? sort_digit<3, THREADS>(s, p, stream)
           : bits == 4 ? sort_digit<4, THREADS>(s, p, stream)
                       : sort_digit<5, THREADS>(s, p, stream);
}

} // namespace wehr
#endif
