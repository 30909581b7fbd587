/* Stable partition of a presorted list, from the sub-trees of one level to those one to four levels
   below, in three kernels: count the digits per tile, scan the counts, move the points.
   Source: Brown 2015 and Robinson's partitioners; ranking by ballots as in radix sorts.
   Idea: the digit is the part of the point's tag for the last levels. Lane d of a warp counts digit
         d from as many ballots as a digit has bits. The points of a tile are ordered in shared
         memory first, so each digit is written as one contiguous run.
   Work: one random byte per point, 4 + 1 + 4 + 1 + 4 bytes streamed.
   Data flow: tags, one list -> count_digits, one block per tile: counts by segment, digit and tile;
              scan_tiles, one warp per row: counts -> positions, in place; move_points, the same
              tiles: list -> the other list, stably. Three launches per list. */
#ifndef KD_POINTS_PAPERS_BROWN_PARTITION_CUH
#define KD_POINTS_PAPERS_BROWN_PARTITION_CUH
#include "points/papers/brown_lists.cuh"

namespace lists {

constexpr int MOVE_THREADS = 512, MOVE_ROUNDS = 8, MOVE_WARPS = MOVE_THREADS / 32;
constexpr uint32_t TILE = MOVE_THREADS * MOVE_ROUNDS;
constexpr int MOVE_BITS = 4; /* maximum number of levels per partition */

/* One partition: the list, at present split down to level `depth`, has `tiles` tiles per
   segment. */
struct move {
    const uint32_t *list;
    uint32_t *to;
    uint32_t depth, tiles;
};

/* Returns the active lanes whose digit is `value`. */
template <int BITS>
__device__ inline unsigned lanes_with(const unsigned (&ballot)[BITS], unsigned active,
                                      uint32_t value) {
#pragma unroll
    for (int b = 0; b < BITS; ++b) active &= value >> b & 1 ? ballot[b] : ~ballot[b];
    return active;
}

template <int BITS>
__device__ inline void vote(unsigned (&ballot)[BITS], unsigned &active, uint32_t digit, bool has) {
    active = __ballot_sync(ALL_LANES, has);
#pragma unroll
    for (int b = 0; b < BITS; ++b) ballot[b] = __ballot_sync(ALL_LANES, digit >> b & 1);
}

template <int BITS> __global__ __launch_bounds__(MOVE_THREADS) void count_digits(stage s, move m) {
    constexpr uint32_t DIGITS = 1u << BITS;
    __shared__ uint32_t total[DIGITS];
    const uint32_t index = blockIdx.x / m.tiles, tile = blockIdx.x % m.tiles;
    const segment segment = list_segment(s.tree, m.depth, index);
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint32_t first = tile * TILE + warp * 32 * MOVE_ROUNDS + lane;
    if (threadIdx.x < DIGITS) total[threadIdx.x] = 0;
    __syncthreads();
    uint32_t point[MOVE_ROUNDS], tag[MOVE_ROUNDS], count = 0;
#pragma unroll
    for (int r = 0; r < MOVE_ROUNDS; ++r)
        point[r] = first + 32 * r < segment.count ? m.list[segment.begin + first + 32 * r] : 0;
#pragma unroll
    for (int r = 0; r < MOVE_ROUNDS; ++r)
        tag[r] = first + 32 * r < segment.count ? s.tags[point[r]] : PLACED;
#pragma unroll
    for (int r = 0; r < MOVE_ROUNDS; ++r) {
        if (first + 32 * r < segment.count)
            s.moving[segment.begin + first + 32 * r] = (uint8_t)tag[r];
        unsigned ballot[BITS], active;
        vote<BITS>(ballot, active, tag[r], !(tag[r] & PLACED));
        count += __popc(lanes_with<BITS>(ballot, active, lane));
    }
    if (lane < DIGITS && count) atomicAdd(&total[lane], count);
    __syncthreads();
    if (threadIdx.x < DIGITS)
        s.counts[((uint64_t)index * DIGITS + threadIdx.x) * m.tiles + tile] = total[threadIdx.x];
}

/* Replaces the counts of each row by their exclusive prefix sums over the tiles; writes the totals
   unless NULL. One warp per row of `tiles` counts. */
__global__ __launch_bounds__(BLOCK) inline void scan_tiles(uint32_t *counts, uint32_t *totals,
                                                           uint32_t rows, uint32_t tiles) {
    constexpr int AHEAD = 8; /* loads in flight */
    const uint32_t row = (blockIdx.x * BLOCK + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (row >= rows) return;
    uint32_t *row_counts = counts + (uint64_t)row * tiles, before = 0;
    for (uint32_t first = 0; first < tiles; first += 32 * AHEAD) {
        uint32_t value[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) {
            const uint32_t at = first + 32 * i + lane;
            value[i] = at < tiles ? row_counts[at] : 0;
        }
#pragma unroll
        for (int i = 0; i < AHEAD; ++i) {
            uint32_t sum = value[i];
#pragma unroll
            for (int step = 1; step < 32; step *= 2) {
                const uint32_t other = __shfl_up_sync(ALL_LANES, sum, step);
                if (lane >= step) sum += other;
            }
            const uint32_t at = first + 32 * i + lane;
            if (at < tiles) row_counts[at] = before + sum - value[i];
            before += __shfl_sync(ALL_LANES, sum, 31);
        }
    }
    if (totals && lane == 0) totals[row] = before;
}

template <int BITS> struct move_shared {
    static constexpr int DIGITS = 1 << BITS;
    uint32_t point[TILE];
    uint8_t tag[TILE];
    uint32_t warp_before[MOVE_WARPS][DIGITS];
    /* position within the tile of the digit's first point */
    uint32_t first[DIGITS];
    /* destination of that point */
    uint32_t to[DIGITS];
    uint32_t points;
};

/* Turns the warps' counts into offsets and computes where each digit's run goes. Executed by one
   warp. */
template <int BITS>
__device__ inline void open_runs(move_shared<BITS> &sh, const stage &s, const move &m,
                                 uint32_t index, uint32_t tile) {
    constexpr uint32_t DIGITS = 1u << BITS;
    const uint32_t digit = threadIdx.x;
    uint32_t count = 0;
    for (int w = 0; digit < DIGITS && w < MOVE_WARPS; ++w) {
        const uint32_t digit_count = sh.warp_before[w][digit];
        sh.warp_before[w][digit] = count;
        count += digit_count;
    }
    uint32_t sum = count;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(ALL_LANES, sum, step);
        if (digit >= (uint32_t)step) sum += other;
    }
    if (digit == 31) sh.points = sum;
    if (digit >= DIGITS) return;
    const segment part = list_segment(s.tree, m.depth + BITS, (index << BITS) + digit);
    sh.first[digit] = sum - count;
    sh.to[digit] = part.begin + s.counts[((uint64_t)index * DIGITS + digit) * m.tiles + tile];
}

template <int BITS> __global__ __launch_bounds__(MOVE_THREADS) void move_points(stage s, move m) {
    constexpr uint32_t DIGITS = 1u << BITS;
    __shared__ move_shared<BITS> sh;
    const uint32_t index = blockIdx.x / m.tiles, tile = blockIdx.x % m.tiles;
    const segment segment = list_segment(s.tree, m.depth, index);
    if (tile * TILE >= segment.count) return;
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint32_t first = tile * TILE + warp * 32 * MOVE_ROUNDS + lane;
    uint32_t point[MOVE_ROUNDS], tag[MOVE_ROUNDS], place[MOVE_ROUNDS], count = 0;
#pragma unroll
    for (int r = 0; r < MOVE_ROUNDS; ++r) {
        const bool has = first + 32 * r < segment.count;
        point[r] = has ? m.list[segment.begin + first + 32 * r] : 0;
        tag[r] = has ? s.moving[segment.begin + first + 32 * r] : PLACED;
    }
#pragma unroll
    for (int r = 0; r < MOVE_ROUNDS; ++r) {
        unsigned ballot[BITS], active;
        vote<BITS>(ballot, active, tag[r], !(tag[r] & PLACED));
        const uint32_t digit = tag[r] & (DIGITS - 1);
        const unsigned peers = lanes_with<BITS>(ballot, active, digit) & ((1u << lane) - 1);
        place[r] = __shfl_sync(ALL_LANES, count, digit) + __popc(peers);
        count += __popc(lanes_with<BITS>(ballot, active, lane));
    }
    if (lane < DIGITS) sh.warp_before[warp][lane] = count;
    __syncthreads();
    if (warp == 0) open_runs<BITS>(sh, s, m, index, tile);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < MOVE_ROUNDS; ++r) {
        if (tag[r] & PLACED) continue;
        const uint32_t digit = tag[r] & (DIGITS - 1);
        const uint32_t at = sh.first[digit] + sh.warp_before[warp][digit] + place[r];
        sh.point[at] = point[r];
        sh.tag[at] = (uint8_t)tag[r];
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < sh.points; i += MOVE_THREADS) {
        const uint32_t digit = sh.tag[i] & (DIGITS - 1);
        m.to[sh.to[digit] + i - sh.first[digit]] = sh.point[i];
    }
}

inline uint32_t move_tiles(const layout &tree, uint32_t depth) {
    return (list_segment(tree, depth, 0).count + TILE - 1) / TILE;
}

template <int BITS> kd_status move_list(const stage &s, const move &m, cudaStream_t stream) {
    const unsigned blocks = m.tiles << m.depth;
    const uint32_t rows = 1u << (m.depth + BITS);
    count_digits<BITS><<<blocks, MOVE_THREADS, 0, stream>>>(s, m);
    KD_CUDA_LAUNCHED("count_digits");
    scan_tiles<<<cuda_blocks((uint64_t)rows * 32, BLOCK), BLOCK, 0, stream>>>(s.counts, NULL, rows,
                                                                              m.tiles);
    KD_CUDA_LAUNCHED("scan_tiles");
    move_points<BITS><<<blocks, MOVE_THREADS, 0, stream>>>(s, m);
    KD_CUDA_LAUNCHED("move_points");
    return KD_OK;
}

/* Partitions by one to MOVE_BITS levels. */
inline kd_status move_down(const stage &s, const move &m, uint32_t levels, cudaStream_t stream) {
    return levels == 1   ? move_list<1>(s, m, stream)
           : levels == 2 ? move_list<2>(s, m, stream)
           : levels == 3 ? move_list<3>(s, m, stream)
                         : move_list<4>(s, m, stream);
}

} // namespace lists
#endif
