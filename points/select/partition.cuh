/* One pass over all records: descends DEPTH levels of known pivots from level `physical`, counts
   and collects the records before and within the bracket of each node there and, if MOVE, moves all
   records to the segments of that level.
   Idea: the position of a segment is known in advance, so a block needs one atomic operation per
         node to reserve its share; the order within a segment does not matter, as keys are
         distinct.
   Work: 16 bytes read, 16 bytes written if MOVE, 8 per candidate.
   Data flow: find_bounds: input -> box; move_records, `tiles` blocks per segment: records (the
              first time the input), pivots -> records of the level below, candidates and counts of
              its brackets, which select_pivots reads; pack_records, one thread per point: input ->
              records. */
#ifndef KD_POINTS_SELECT_PARTITION_CUH
#define KD_POINTS_SELECT_PARTITION_CUH
#include "points/tree/inorder.cuh"

namespace kandela {

constexpr int MOVE_THREADS = 256, MOVE_ITEMS = 4, MOVE_TILE = MOVE_THREADS * MOVE_ITEMS;
constexpr int MOVE_WARPS = MOVE_THREADS / 32;

/* Returns the number of tiles of a node; nodes to its right have no more. */
inline uint32_t move_tiles(const layout &tree, uint32_t level, uint32_t index) {
    return (node_segment(tree, level, index).count + MOVE_TILE - 1) / MOVE_TILE;
}

struct alignas(16) move_pivot {
    bound at;
    int axis;
};

struct alignas(16) move_bracket {
    bound lo, hi;
};

template <int DEPTH> struct move_shared {
    static constexpr int LEAVES = 1 << DEPTH;
    move_pivot pivot[LEAVES]; /* of the LEAVES - 1 nodes above, in level order */
    move_bracket bracket[LEAVES];
    int axis[LEAVES];
    uint32_t less[LEAVES], candidates[LEAVES], candidates_at[LEAVES];
    uint32_t records_at[MOVE_WARPS][LEAVES];
};

template <int DEPTH, bool CLASSIFY>
__device__ void move_open(move_shared<DEPTH> &sh, const stage &s, uint32_t index) {
    const int t = threadIdx.x;
    if (t < sh.LEAVES - 1) {
        const int below = 31 - __clz(t + 1);
        const uint32_t node = node_at(s.physical + below, (index << below) + t + 1 - (1 << below));
        sh.pivot[t] = {bound_of(s.nodes.pivot[node]), s.nodes.axis[node]};
    }
    if (t >= sh.LEAVES) return;
    sh.less[t] = sh.candidates[t] = 0;
    if (!CLASSIFY) return;
    const uint32_t node = node_at(s.physical + DEPTH, (index << DEPTH) + t);
    sh.bracket[t] = {bound_of(s.nodes.lo[node]), bound_of(s.nodes.hi[node])};
    sh.axis[t] = s.nodes.axis[node];
}

/* Returns the leaf to which a record descends, or -1 if it is invalid or the pivot of a node
   above. */
template <int DEPTH>
__device__ inline int descend(const move_shared<DEPTH> &sh, const float4 &record, bool valid) {
    int node = 0;
#pragma unroll
    for (int level = 0; level < DEPTH; ++level) {
        const move_pivot pivot = sh.pivot[node];
        valid &= record_id(record) != pivot.at.id;
        node = 2 * node + 1 + after(record_axis(record, pivot.axis), record_id(record), pivot.at);
    }
    return valid ? node - (sh.LEAVES - 1) : -1;
}

/* Reserves space for the block's records of each leaf: one atomic operation per leaf and list. */
template <int DEPTH, bool MOVE, bool CLASSIFY>
__device__ void move_reserve(move_shared<DEPTH> &sh, const stage &s, uint32_t index) {
    const int leaf = threadIdx.x;
    if (leaf >= sh.LEAVES) return;
    const uint32_t level = s.physical + DEPTH, at = (index << DEPTH) + leaf;
    const uint32_t node = node_at(level, at), begin = node_segment(s.tree, level, at).begin;
    if (CLASSIFY) {
        if (sh.less[leaf]) atomicAdd(&s.nodes.less[node], sh.less[leaf]);
        if (sh.candidates[leaf])
            sh.candidates_at[leaf] =
                begin + atomicAdd(&s.nodes.candidates[node], sh.candidates[leaf]);
    }
    if (!MOVE) return;
    uint32_t sum = 0;
    for (int warp = 0; warp < MOVE_WARPS; ++warp) {
        const uint32_t reserved = sh.records_at[warp][leaf];
        sh.records_at[warp][leaf] = sum;
        sum += reserved;
    }
    const uint32_t base = begin + (sum ? atomicAdd(&s.nodes.filled[node], sum) : 0);
    for (int warp = 0; warp < MOVE_WARPS; ++warp) sh.records_at[warp][leaf] += base;
}

/* Returns the rank of this thread's record among those of the warp that go to the same leaf. Lane l
   accumulates in `filled` the number of records of leaf l. */
template <int DEPTH> __device__ inline uint32_t rank_among(int leaf, uint32_t &filled) {
    const int lane = threadIdx.x & 31;
    unsigned same = __ballot_sync(ALL_LANES, leaf >= 0), same_leaf = same;
#pragma unroll
    for (int bit = 0; bit < DEPTH; ++bit) {
        const unsigned ones = __ballot_sync(ALL_LANES, leaf >> bit & 1);
        same &= leaf >> bit & 1 ? ones : ~ones;
        same_leaf &= lane >> bit & 1 ? ones : ~ones;
    }
    const uint32_t rank =
        __shfl_sync(ALL_LANES, filled, leaf & 31) + __popc(same & ((1u << lane) - 1));
    filled += __popc(same_leaf);
    return rank;
}

/* Processes the nodes from `node` on, with `tiles` blocks each. Five blocks per multiprocessor with
   four records per thread keep more loads in flight than three with eight (measured: 27 %
   faster). */
template <int DEPTH, bool MOVE, bool CLASSIFY, bool INPUT>
__global__ __launch_bounds__(MOVE_THREADS, 5) void move_records(const __grid_constant__ stage s,
                                                                uint32_t node, uint32_t tiles) {
    constexpr int LEAVES = 1 << DEPTH;
    __shared__ move_shared<DEPTH> sh;
    const uint32_t index = node + blockIdx.x / tiles;
    const uint32_t first = blockIdx.x % tiles * MOVE_TILE + threadIdx.x;
    const segment from = node_segment(s.tree, s.physical, index);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float4 record[MOVE_ITEMS] = {};
#pragma unroll
    for (int i = 0; i < MOVE_ITEMS; ++i) {
        const uint32_t at = first + i * MOVE_THREADS;
        if (at < from.count) record[i] = load_record<INPUT>(s, from.begin + at);
    }
    move_open<DEPTH, CLASSIFY>(sh, s, index);
    __syncthreads();
    int leaf[MOVE_ITEMS], candidate[MOVE_ITEMS];
    uint32_t rank[MOVE_ITEMS], filled = 0, less = 0; /* less: 8 bits per leaf */
#pragma unroll
    for (int i = 0; i < MOVE_ITEMS; ++i) {
        leaf[i] = descend<DEPTH>(sh, record[i], first + i * MOVE_THREADS < from.count);
        candidate[i] = -1;
        if (CLASSIFY && leaf[i] >= 0) {
            const float x = record_axis(record[i], sh.axis[leaf[i]]);
            const move_bracket bracket = sh.bracket[leaf[i]];
            const bool is_less = before(x, record_id(record[i]), bracket.lo);
            less += (uint32_t)is_less << 8 * leaf[i];
            if (!is_less & !after(x, record_id(record[i]), bracket.hi))
                candidate[i] = atomicAdd(&sh.candidates[leaf[i]], 1);
        }
        if (MOVE) rank[i] = rank_among<DEPTH>(leaf[i], filled);
    }
    if (CLASSIFY) less = __reduce_add_sync(ALL_LANES, less); /* at most 32 * MOVE_ITEMS per leaf */
    if (lane < LEAVES) {
        less = less >> 8 * lane & 255;
        if (CLASSIFY && less) atomicAdd(&sh.less[lane], less);
        if (MOVE) sh.records_at[warp][lane] = filled;
    }
    __syncthreads();
    move_reserve<DEPTH, MOVE, CLASSIFY>(sh, s, index);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < MOVE_ITEMS; ++i) {
        if (leaf[i] < 0) continue;
        if (MOVE) s.moved[sh.records_at[warp][leaf[i]] + rank[i]] = record[i];
        if (CLASSIFY && candidate[i] >= 0)
            s.candidates[sh.candidates_at[leaf[i]] + candidate[i]] =
                record_key(record[i], sh.axis[leaf[i]]);
    }
}

/* Converts the input to records for a tree that consists of the bottom alone. */
__global__ void pack_records(const __grid_constant__ stage s) {
    const uint32_t i = blockIdx.x * MOVE_THREADS + threadIdx.x;
    if (i < s.tree.count) s.moved[i] = load_record<true>(s, i);
}

/* Computes the bounding box of the input as order bits. */
__global__ __launch_bounds__(MOVE_THREADS) void find_bounds(const __grid_constant__ stage s) {
    uint32_t lo[3] = {FULL, FULL, FULL}, hi[3] = {0, 0, 0};
    for (uint32_t i = blockIdx.x * MOVE_THREADS + threadIdx.x; i < s.tree.count;
         i += gridDim.x * MOVE_THREADS) {
        const float4 record = load_record<true>(s, i);
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            const uint32_t bits = pointtree_order_bits(record_axis(record, a));
            lo[a] = min(lo[a], bits);
            hi[a] = max(hi[a], bits);
        }
    }
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        lo[a] = __reduce_min_sync(ALL_LANES, lo[a]);
        hi[a] = __reduce_max_sync(ALL_LANES, hi[a]);
        if (threadIdx.x % 32) continue;
        atomicMin(&s.bounds[a], lo[a]);
        atomicMax(&s.bounds[3 + a], hi[a]);
    }
}

} // namespace kandela
#endif
