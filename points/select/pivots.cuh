/* Exact selection of the pivots of a level, and the brackets in which those of the next level must
   lie.
   Idea: a node's pivot is the candidate (a point within the node's bracket) at rank left - less.
         From the points on each side of it, a stratified sample gives two keys that enclose the
         next pivot: its rank in a sample of m of n points has a standard deviation of sqrt(m q (1 -
         q) (1 - m / n)), so a bracket of SIGMAS of them rarely misses. If it does, all points of
         the node are searched instead of the candidates: slow, but correct.
   Work: a cluster of blocks per node; two reads of the candidates (a few per cent of the points),
         one of the sample, which is loaded before the pivot is known to hide its latency.
   Source: Floyd and Rivest 1975 for selection by sampled brackets.
   Data flow: open_root or open_region: input -> the root's region, axis, bracket; then for each
              level select_pivots, one cluster per node: candidates and counts from move_records ->
              the pivot (id of the tree), regions and brackets of the children. */
#ifndef KD_POINTS_SELECT_PIVOTS_CUH
#define KD_POINTS_SELECT_PIVOTS_CUH
#include "points/select/rank_select.cuh"

namespace kandela {

constexpr float SIGMAS = 5.5f;        /* a bracket misses once in 10^7 */
constexpr uint32_t SAMPLE_SHARE = 64; /* each end is precise to 1 / 64 of the sample */
constexpr int BRACKET_ROUNDS = 8;     /* 9 bits of a key each */

struct select_shared : narrow_shared<SELECT_THREADS> {
    /* bounds of the sampled points left and right of the pivot */
    uint32_t side_count[2], side_min[2], side_max[2];
};

/* 32-bit hash in which every output bit depends on all input bits (the finaliser of MurmurHash3, by
   multiplication and shifts); chooses the position of a sample within its stratum. */
__device__ inline uint32_t scramble(uint32_t x) {
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

/* Division of a segment into `draws` equal parts: a stratified sample has one point of each. */
struct strata {
    uint32_t draws;
    uint64_t step; /* 32.32 fixed point */
};

__device__ inline strata strata_of(const segment &segment, uint32_t maximum) {
    const uint32_t draws = min(segment.count, maximum);
    return {draws, ((uint64_t)segment.count << 32) / max(draws, 1u)};
}

__device__ inline uint32_t draw_from(const strata &strata, uint32_t draw, uint32_t level) {
    const uint32_t begin = (uint32_t)(draw * strata.step >> 32);
    const uint32_t width = (uint32_t)((draw + 1) * strata.step >> 32) - begin;
    return begin + __umulhi(scramble(draw + 0x9e3779b9u * level), width);
}

/* A sample of a segment, DRAWS points per thread. */
template <int CLUSTER, int DRAWS> struct sample {
    float4 record[DRAWS];
    int side[DRAWS]; /* 0 left, 1 right of the pivot; -1: none */
};

template <int CLUSTER, int DRAWS, bool INPUT>
__device__ void draw_sample(sample<CLUSTER, DRAWS> &out, const stage &s, uint32_t level,
                            uint32_t index) {
    const segment from = node_segment(s.tree, s.physical, index >> (level - s.physical));
    const strata strata = strata_of(from, CLUSTER * SELECT_THREADS * DRAWS);
#pragma unroll
    for (int i = 0; i < DRAWS; ++i) {
        const uint32_t draw =
            (uint32_t)((i * CLUSTER + block_rank<CLUSTER>()) * SELECT_THREADS + threadIdx.x);
        out.side[i] = draw < strata.draws ? 0 : -1;
        if (draw >= strata.draws) continue;
        const uint32_t at = draw_from(strata, draw, level);
        out.record[i] = load_record<INPUT>(s, from.begin + at);
    }
}

/* Stores the region and axis of a node's two children. */
__device__ inline void split_region(const stage &s, uint32_t level, uint32_t index,
                                    point_key pivot) {
    const uint32_t node = node_at(level, index), axis = s.nodes.axis[node];
    for (int right = 0; right < 2; ++right) {
        const uint32_t child = node_at(level + 1, 2 * index + right);
        if (!s.nodes.region) {
            s.nodes.axis[child] = (uint8_t)((level + 1) % 3);
            continue;
        }
        const domain part =
            domain_clipped(s.nodes.region[node], (int)axis, key_coordinate(pivot), right);
        s.nodes.region[child] = part;
        s.nodes.axis[child] = (uint8_t)domain_widest(part);
    }
}

/* Computes the ranks at which the ends of the children's brackets are searched for in the
   sample. */
template <int CLUSTER>
__device__ void aim_brackets(select_shared &sh, const stage &s, uint32_t level, uint32_t first) {
    const int side = (int)threadIdx.x / 2, upper = (int)threadIdx.x % 2;
    uint32_t m = 0, minimum = FULL, maximum = 0;
    for (int rank = 0; rank < CLUSTER; ++rank) {
        m += in_block<CLUSTER>(sh.side_count, rank)[side];
        minimum = min(minimum, in_block<CLUSTER>(sh.side_min, rank)[side]);
        maximum = max(maximum, in_block<CLUSTER>(sh.side_max, rank)[side]);
    }
    const segment segment = node_segment(s.tree, level, first + side);
    const float n = (float)max(segment.count, 1u), q = ((float)segment.left + 0.5f) / n;
    const float rest = fmaxf(0.0f, 1.0f - (float)m / n);
    const float reach = SIGMAS * sqrtf((float)m * q * (1.0f - q) * rest) + 2.0f;
    const float rank = q * (float)m + (upper ? reach : -reach);
    narrowing target = {upper ? KEY_MAX : 0, 0, 0, 0}; /* unbounded */
    if (rank >= 0.0f && rank < (float)m) {
        target.base = (point_key)minimum << 32;
        target.range = ((point_key)maximum << 32 | FULL) - target.base;
        target.rank = (uint32_t)rank;
        target.count = m;
    }
    sh.target[threadIdx.x] = target;
}

/* Computes the keys of the samples on the axes of their sides, the number of samples of each side,
   and their extremes. */
template <int CLUSTER, int DRAWS>
__device__ void take_keys(select_shared &sh, const stage &s, uint32_t level, uint32_t first,
                          const sample<CLUSTER, DRAWS> &drawn, point_key (&key)[DRAWS]) {
    const int t = threadIdx.x;
    if (t < 2) sh.side_count[t] = 0, sh.side_min[t] = FULL, sh.side_max[t] = 0;
    __syncthreads();
    uint32_t count = 0, minimum[2] = {FULL, FULL},
             maximum[2] = {0, 0}; /* count: 16 bits per side */
#pragma unroll
    for (int i = 0; i < DRAWS; ++i) {
        if (drawn.side[i] < 0) continue;
        key[i] = record_key(drawn.record[i],
                            s.nodes.axis[node_at(level, first + (uint32_t)drawn.side[i])]);
        const uint32_t bits = (uint32_t)(key[i] >> 32);
        count += 1u << 16 * drawn.side[i];
#pragma unroll
        for (int side = 0; side < 2; ++side) {
            minimum[side] = min(minimum[side], drawn.side[i] == side ? bits : FULL);
            maximum[side] = max(maximum[side], drawn.side[i] == side ? bits : 0);
        }
    }
    count = __reduce_add_sync(ALL_LANES, count);
#pragma unroll
    for (int side = 0; side < 2; ++side) {
        const uint32_t l = __reduce_min_sync(ALL_LANES, minimum[side]);
        const uint32_t m = __reduce_max_sync(ALL_LANES, maximum[side]);
        if (t % 32) continue;
        atomicAdd(&sh.side_count[side], count >> 16 * side & 0xffff);
        atomicMin(&sh.side_min[side], l);
        atomicMax(&sh.side_max[side], m);
    }
}

/* Finds the brackets of nodes `first` and `first` + 1 of `level` from the samples of sides 0 and
   1. */
template <int CLUSTER, int DRAWS>
__device__ void find_brackets(select_shared &sh, const stage &s, uint32_t level, uint32_t first,
                              int sides, const sample<CLUSTER, DRAWS> &drawn) {
    const int t = threadIdx.x;
    point_key key[DRAWS];
    take_keys<CLUSTER, DRAWS>(sh, s, level, first, drawn, key);
    sync_cluster<CLUSTER>();
    if (t < 2 * sides) aim_brackets<CLUSTER>(sh, s, level, first);
    if (t >= 2 * sides && t < 4) sh.target[t] = {0, 0, 0, 0};
    __syncthreads();
    const uint32_t tolerance =
        max(1u, (uint32_t)(CLUSTER * SELECT_THREADS) * DRAWS / 2 / SAMPLE_SHARE);
    for (int round = 0; round < BRACKET_ROUNDS; ++round) {
        bool wide = false;
#pragma unroll
        for (int i = 0; i < 4; ++i) wide |= sh.target[i].range && sh.target[i].count > tolerance;
        if (!wide) break;
        narrow<CLUSTER, 4>(sh, [&](const auto &add) {
#pragma unroll
            for (int i = 0; i < DRAWS; ++i)
                if (drawn.side[i] >= 0) {
                    add(2 * drawn.side[i], key[i]);
                    add(2 * drawn.side[i] + 1, key[i]);
                }
        });
    }
    if (block_rank<CLUSTER>() == 0 && t < 2 * sides) {
        const uint32_t node = node_at(level, first + t / 2);
        const narrowing at = sh.target[t];
        if (t % 2)
            s.nodes.hi[node] = upper_bound_key(at.base + at.range);
        else
            s.nodes.lo[node] = lower_bound_key(at.base);
    }
}

/* Initialises the root, which has no pivot above it: region, axis and bracket from a sample of all
   points. */
template <int CLUSTER, int DRAWS>
__global__ __launch_bounds__(SELECT_THREADS, 2) void open_root(const __grid_constant__ stage s) {
    if (!is_compiled<CLUSTER>()) return;
    __shared__ select_shared sh;
    sample<CLUSTER, DRAWS> drawn;
    draw_sample<CLUSTER, DRAWS, true>(drawn, s, 0, 0);
    find_brackets<CLUSTER, DRAWS>(sh, s, 0, 0, 1, drawn);
    sync_cluster<CLUSTER>(); /* no block may exit while its shared memory may be read */
}

/* Stores the root's region and axis, from the box if that is known, else from the computed
   bounds. */
__global__ void open_region(const __grid_constant__ stage s, bool has_domain, domain box) {
    domain all = box;
    for (int a = 0; a < 3 && !has_domain; ++a) {
        all.lo[a] = pointtree_float_of_order_bits(s.bounds[a]);
        all.hi[a] = pointtree_float_of_order_bits(s.bounds[3 + a]);
    }
    s.nodes.region[0] = all;
    s.nodes.axis[0] = (uint8_t)domain_widest(all);
}

template <int CLUSTER, bool INPUT>
__device__ point_key find_pivot(select_shared &sh, const stage &s, uint32_t level, uint32_t index) {
    const uint32_t node = node_at(level, index);
    const segment range = node_segment(s.tree, level, index);
    const segment from = node_segment(s.tree, s.physical, index >> (level - s.physical));
    const uint32_t less = s.nodes.less[node], candidate_count = s.nodes.candidates[node];
    const bool inside = range.left >= less && range.left - less < candidate_count;
    const point_key lo = s.nodes.lo[node];
    if (threadIdx.x == 0)
        sh.target[0] =
            inside ? narrowing{lo, s.nodes.hi[node] - lo, range.left - less, candidate_count}
                   : narrowing{0, KEY_MAX, range.left, range.count};
    __syncthreads();
    const uint32_t begin = block_rank<CLUSTER>() * SELECT_THREADS + threadIdx.x;
    constexpr uint32_t STEP = CLUSTER * SELECT_THREADS;
    if (inside)
        return select_key<CLUSTER>(sh, [&](const auto &add) {
            const point_key *candidates = s.candidates + range.begin;
            uint32_t i = begin;
            for (; i + 3 * STEP < candidate_count; i += 4 * STEP) {
                const point_key a = candidates[i], b = candidates[i + STEP];
                const point_key c = candidates[i + 2 * STEP], d = candidates[i + 3 * STEP];
                add(0, a), add(0, b), add(0, c), add(0, d);
            }
            for (; i < candidate_count; i += STEP) add(0, candidates[i]);
        });
    return select_key<CLUSTER>(sh, [&](const auto &add) {
        for (uint32_t i = begin; i < from.count; i += STEP) {
            const float4 record = load_record<INPUT>(s, from.begin + i);
            if (in_subtree(s, record, level, index)) add(0, record_key(record, s.nodes.axis[node]));
        }
    });
}

/* One cluster per node of `level`. `last`: the children belong to the bottom and need no
   brackets. */
template <int CLUSTER, int DRAWS, bool INPUT>
__global__ __launch_bounds__(SELECT_THREADS, 2) void select_pivots(const __grid_constant__ stage s,
                                                                   uint32_t level, bool last) {
    if (!is_compiled<CLUSTER>()) return;
    __shared__ select_shared sh;
    const uint32_t index = blockIdx.x / CLUSTER, node = node_at(level, index);
    sample<CLUSTER, DRAWS> drawn;
    if (!last) draw_sample<CLUSTER, DRAWS, INPUT>(drawn, s, level, index);
    const point_key pivot = find_pivot<CLUSTER, INPUT>(sh, s, level, index);
    if (block_rank<CLUSTER>() == 0 && threadIdx.x == 0) {
        s.nodes.pivot[node] = pivot;
        s.tree_ids[node] = (uint32_t)pivot;
        if (s.tree_axes) s.tree_axes[node] = s.nodes.axis[node];
        split_region(s, level, index, pivot);
        __threadfence();
    }
    sync_cluster<CLUSTER>();
    if (last) return;
    const int axis = s.nodes.axis[node];
#pragma unroll
    for (int i = 0; i < DRAWS; ++i) {
        if (drawn.side[i] < 0) continue;
        const point_key key = record_key(drawn.record[i], axis);
        drawn.side[i] = key == pivot || !in_subtree(s, drawn.record[i], level, index) ? -1
                        : key > pivot                                                 ? 1
                                                                                      : 0;
    }
    find_brackets<CLUSTER, DRAWS>(sh, s, level + 1, 2 * index, 2, drawn);
    sync_cluster<CLUSTER>(); /* no block may exit while its shared memory may be read */
}

} // namespace kandela
#endif
