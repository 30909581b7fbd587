/* The brackets of a group of levels, from a single sample of the root's points.
   Idea: the sample is split like the points, but at the middle of a node's bracket, as the pivot is
         not known yet. A child's sample then contains some points of its sibling and lacks some of
         its own, all between that middle and the true pivot. The standard deviation of their number
         is known; which part of them precedes the child's own pivot is not. So the child's bracket
         has the width that its own sample requires, plus the worst case of that error. A bracket
         that misses the pivot costs only time.
   Work: a cluster of blocks per root; one sector of 32 bytes per sampled point; two or three rounds
         of counting per level, for all its nodes together.
   Data flow: aim_group, one cluster per root: a sample of the root's records -> brackets of the
              group's nodes, which part_records reads. aim_lists, one cluster per node: a sample of
              its list -> the second bracket, which part_lists reads. */
#ifndef KD_POINTS_SELECT_BRACKETS_CUH
#define KD_POINTS_SELECT_BRACKETS_CUH
#include "points/select/level_group.cuh"
#include "points/select/pivots.cuh"

namespace kandela {

constexpr uint32_t AIM_SHARE = 128; /* each end of a bracket is precise to 1 / 128 of the sample */
constexpr float DOUBT = 0.25f;      /* fraction of the variance if all points were on one side */
constexpr int AIM_DRAWS = 8;        /* sampled points per thread */
constexpr int AIM_NODES = 1 << (GROUP_LEVELS - 1);

/* Errors that a node passes on to its children. */
struct aimed {
    float side_variance; /* variance of the number of sampled points on the wrong side */
    /* bias of that number, as the middle is not at the wanted rank */
    float error;
    float left; /* sampled points that should go left */
};

constexpr int NO_NODE = 15;
static_assert(AIM_DRAWS <= 8 && AIM_NODES < NO_NODE, "four bits each");

struct aim_shared : narrow_shared<SELECT_THREADS> {
    uint32_t bits[GROUP_LEVELS][AIM_DRAWS][THREADS]; /* order bits of the samples, on the axes in
                                                        turn */
    uint32_t id[AIM_DRAWS][THREADS];
    uint32_t count[AIM_NODES], minimum[AIM_NODES], maximum[AIM_NODES]; /* samples of each node of a
                                                                     depth */
    uint32_t rank[2 * AIM_NODES]; /* ranks of the bracket's ends before narrowing */
    aimed node[GROUP_INNER];
};

/* The node of the current depth that each of a thread's sampled points belongs to, four bits
   each. */
struct aim_sample {
    uint32_t nodes;
};

__device__ inline int sampled_node(const aim_sample &drawn, int i) {
    return (int)(drawn.nodes >> 4 * i & 15);
}

__device__ inline point_key sampled_key(const aim_shared &sh, int depth, int i) {
    return (point_key)sh.bits[depth][i][threadIdx.x] << 32 | sh.id[i][threadIdx.x];
}

/* Draws a sample of the records that `load` reads, with their coordinates on the axes from that of
   `level` on. */
template <int CLUSTER, class LOAD>
__device__ void draw_group_sample(aim_shared &sh, aim_sample &out, const segment &segment,
                                  uint32_t level, const LOAD &load) {
    const strata strata = strata_of(segment, CLUSTER * SELECT_THREADS * AIM_DRAWS);
    const int axis = level_axis(level), second = level_axis(level + 1);
    const int third = level_axis(level + 2), t = threadIdx.x;
    out.nodes = FULL;
#pragma unroll
    for (int i = 0; i < AIM_DRAWS; ++i) {
        const uint32_t draw =
            (uint32_t)((i * CLUSTER + block_rank<CLUSTER>()) * SELECT_THREADS + t);
        if (draw >= strata.draws) continue;
        out.nodes &= ~(15u << 4 * i);
        const float4 record = load(segment.begin + draw_from(strata, draw, level));
        sh.bits[0][i][t] = pointtree_order_bits(record_axis(record, axis));
        sh.bits[1][i][t] = pointtree_order_bits(record_axis(record, second));
        sh.bits[2][i][t] = pointtree_order_bits(record_axis(record, third));
        sh.id[i][t] = record_id(record);
    }
}

/* Counts the samples of each node of a depth and finds their extremes. */
template <int DEPTH> __device__ void count_samples(aim_shared &sh, const aim_sample &drawn) {
    constexpr int NODES = 1 << DEPTH;
    const int t = threadIdx.x;
    if (t < NODES) sh.count[t] = 0, sh.minimum[t] = FULL, sh.maximum[t] = 0;
    __syncthreads();
#pragma unroll
    for (int node = 0; node < NODES; ++node) {
        uint32_t count = 0, minimum = FULL, maximum = 0;
#pragma unroll
        for (int i = 0; i < AIM_DRAWS; ++i) {
            if (sampled_node(drawn, i) != node) continue;
            const uint32_t bits = sh.bits[DEPTH][i][t];
            ++count;
            minimum = min(minimum, bits);
            maximum = max(maximum, bits);
        }
        count = __reduce_add_sync(ALL_LANES, count);
        minimum = __reduce_min_sync(ALL_LANES, minimum);
        maximum = __reduce_max_sync(ALL_LANES, maximum);
        if (t % 32) continue;
        atomicAdd(&sh.count[node], count);
        atomicMin(&sh.minimum[node], minimum);
        atomicMax(&sh.maximum[node], maximum);
    }
}

template <int CLUSTER> __device__ uint32_t count_of_node(aim_shared &sh, int node) {
    uint32_t sum = 0;
    for (int rank = 0; rank < CLUSTER; ++rank) sum += in_block<CLUSTER>(sh.count, rank)[node];
    return sum;
}

/* Computes the rank at which one end of a node's bracket is searched for in its sample. */
template <int DEPTH, int CLUSTER>
__device__ void aim_end(aim_shared &sh, const segment &segment, float sigmas) {
    const int node = (int)threadIdx.x / 2, upper = (int)threadIdx.x % 2;
    const int h = (1 << DEPTH) - 1 + node, above = (h - 1) / 2;
    uint32_t minimum = FULL, maximum = 0;
    for (int rank = 0; rank < CLUSTER; ++rank) {
        minimum = min(minimum, in_block<CLUSTER>(sh.minimum, rank)[node]);
        maximum = max(maximum, in_block<CLUSTER>(sh.maximum, rank)[node]);
    }
    const uint32_t sampled = count_of_node<CLUSTER>(sh, node);
    const float m = (float)sampled, n = (float)max(segment.count, 1u),
                q = ((float)segment.left + 0.5f) / n;
    const float sample_variance = m * q * (1.0f - q) * fmaxf(0.0f, 1.0f - m / n),
                part = fmaxf(q, 1.0f - q);
    float side_variance = 0, error = 0;
    if (DEPTH) {
        side_variance = sh.node[above].side_variance;
        error = sh.node[above].error +
                fabsf((float)count_of_node<CLUSTER>(sh, node & ~1) - sh.node[above].left);
    }
    const float variance = sample_variance + DOUBT * part * part * side_variance;
    const float reach = sigmas * sqrtf(variance) + part * error + 2.0f;
    const float rank = q * m + (upper ? reach : -reach);
    narrowing target = {(point_key)minimum << 32, 0, FULL, 0}; /* count 0, no bound: the sample has
                                                                no such rank */
    target.range = ((point_key)maximum << 32 | FULL) - target.base;
    if (rank >= 0.0f && rank < m) target.rank = (uint32_t)rank, target.count = sampled;
    sh.rank[threadIdx.x] = target.rank + (target.count || !upper ? 0 : sampled);
    sh.target[threadIdx.x] = target;
    if (!upper) sh.node[h] = {variance + 0.5f * side_variance, error, q * m};
}

/* Assigns the samples to the children by the middle of their node's bracket, the key at which the
   pivot would be expected from the sample alone. */
template <int DEPTH, int CLUSTER> __device__ void split_samples(aim_shared &sh, aim_sample &drawn) {
    constexpr int NODES = 1 << DEPTH;
    const int t = threadIdx.x;
    narrowing middle = {};
    if (t < NODES) {
        const narrowing lo = sh.target[2 * t], hi = sh.target[2 * t + 1];
        const uint32_t begin = sh.rank[2 * t] - lo.rank;
        const uint32_t end = sh.rank[2 * t + 1] - hi.rank + hi.count;
        const uint32_t target = (uint32_t)sh.node[NODES - 1 + t].left;
        middle = {lo.base, hi.base + hi.range - lo.base, target - min(target, begin), end - begin};
    }
    __syncthreads();
    if (t < NODES) sh.target[t] = middle;
    __syncthreads();
    narrow<CLUSTER, NODES>(sh, [&](const auto &add) {
#pragma unroll
        for (int i = 0; i < AIM_DRAWS; ++i)
            if (sampled_node(drawn, i) != NO_NODE)
                add(sampled_node(drawn, i), sampled_key(sh, DEPTH, i));
    });
#pragma unroll
    for (int i = 0; i < AIM_DRAWS; ++i) {
        const int node = sampled_node(drawn, i);
        if (node == NO_NODE) continue;
        const narrowing at = sh.target[node];
        const uint32_t right = sampled_key(sh, DEPTH, i) > at.base + at.range / 2;
        drawn.nodes += ((uint32_t)node + right) << 4 * i;
    }
    __syncthreads();
}

/* Finds the brackets of a root's nodes at one depth, which begin at node `first` of `level`;
   `segment` is the segment of the node whose end this thread handles. */
template <int DEPTH, int CLUSTER>
__device__ void aim_depth(aim_shared &sh, const stage &s, uint32_t level, uint32_t first,
                          const segment &segment, float sigmas, const aim_sample &drawn) {
    constexpr int NODES = 1 << DEPTH;
    const int t = threadIdx.x;
    count_samples<DEPTH>(sh, drawn);
    sync_cluster<CLUSTER>();
    if (t < 2 * NODES) aim_end<DEPTH, CLUSTER>(sh, segment, sigmas);
    __syncthreads();
    narrow<CLUSTER, NODES, 2>(sh, [&](const auto &add) {
#pragma unroll
        for (int i = 0; i < AIM_DRAWS; ++i)
            if (sampled_node(drawn, i) != NO_NODE)
                add(sampled_node(drawn, i), sampled_key(sh, DEPTH, i));
    });
    const uint32_t draws = CLUSTER * SELECT_THREADS * AIM_DRAWS;
    const uint32_t tolerance = max(1u, draws / NODES / AIM_SHARE);
    for (int round = 1; round < BRACKET_ROUNDS; ++round) {
        bool wide = false;
#pragma unroll
        for (int i = 0; i < 2 * NODES; ++i)
            wide |= sh.target[i].range && sh.target[i].count > tolerance;
        if (!wide) break;
        narrow<CLUSTER, 2 * NODES>(sh, [&](const auto &add) {
#pragma unroll
            for (int i = 0; i < AIM_DRAWS; ++i) {
                const int node = sampled_node(drawn, i);
                if (node == NO_NODE) continue;
                add(2 * node, sampled_key(sh, DEPTH, i));
                add(2 * node + 1, sampled_key(sh, DEPTH, i));
            }
        });
    }
    if (block_rank<CLUSTER>() || t >= 2 * NODES) return;
    const uint32_t node = node_at(level, first + (uint32_t)t / 2);
    const narrowing at = sh.target[t];
    if (t % 2)
        s.nodes.hi[node] = upper_bound_key(at.count ? at.base + at.range : KEY_MAX);
    else
        s.nodes.lo[node] = lower_bound_key(at.count ? at.base : 0);
}

template <int DEPTH, int CLUSTER>
__device__ void aim_level(aim_shared &sh, const stage &s, uint32_t root, float sigmas,
                          const aim_sample &drawn) {
    const uint32_t level = s.physical + DEPTH, first = root << DEPTH;
    const segment segment =
        node_segment(s.tree, level, first + (threadIdx.x / 2 & ((1u << DEPTH) - 1)));
    aim_depth<DEPTH, CLUSTER>(sh, s, level, first, segment, sigmas, drawn);
}

/* One cluster per root of a group. Also zeroes the counters of its places. */
template <int CLUSTER, bool INPUT>
__global__ __launch_bounds__(SELECT_THREADS,
                             CLUSTER > 2 ? 1 : 2) void aim_group(const __grid_constant__ stage s,
                                                                 float sigmas) {
    if (!is_compiled<CLUSTER>()) return;
    extern __shared__ __align__(16) char shared[];
    aim_shared &sh = *(aim_shared *)shared;
    const uint32_t root = blockIdx.x / CLUSTER;
    const int levels = group_levels(s, root);
    aim_sample drawn;
    draw_group_sample<CLUSTER>(sh, drawn, node_segment(s.tree, s.physical, root), s.physical,
                               [&](uint32_t i) { return load_record<INPUT>(s, i); });
    if (block_rank<CLUSTER>() == 0 && threadIdx.x < GROUP_COUNTS)
        s.counts[root * GROUP_COUNTS + threadIdx.x] = 0;
    aim_level<0, CLUSTER>(sh, s, root, sigmas, drawn);
    if (levels > 1) {
        split_samples<0, CLUSTER>(sh, drawn);
        aim_level<1, CLUSTER>(sh, s, root, sigmas, drawn);
    }
    if (levels > 2) {
        split_samples<1, CLUSTER>(sh, drawn);
        aim_level<2, CLUSTER>(sh, s, root, sigmas, drawn);
    }
    sync_cluster<CLUSTER>(); /* no block may exit while its shared memory may be read */
}

/* Finds the second bracket of each node of a group from its list alone, one cluster per node. The
   rank of the pivot within the list is known, as all other points are in their final places. */
template <int CLUSTER>
__global__ __launch_bounds__(SELECT_THREADS, 1) void aim_lists(const __grid_constant__ stage s,
                                                               int depth, float sigmas) {
    if (!is_compiled<CLUSTER>()) return;
    extern __shared__ __align__(16) char shared[];
    aim_shared &sh = *(aim_shared *)shared;
    const group_node node = group_node_of(s, blockIdx.x / CLUSTER, depth);
    const uint32_t left = node_segment(s.tree, node.level, node.index).left;
    const place list = place_of(s, node.root, node.place);
    const uint32_t *counts = s.counts + node.root * GROUP_COUNTS;
    uint32_t less = 0;
    for (int h = 2 * node.place + 1; h < (2 << group_levels(s, node.root)) - 1; ++h)
        if (is_under(h, 2 * node.place + 1)) less += counts[h];
    const segment segment = {list.begin, min(counts[node.place], list.capacity),
                             left - min(less, left)};
    aim_sample drawn;
    draw_group_sample<CLUSTER>(sh, drawn, segment, node.level,
                               [&](uint32_t i) { return s.lists[i]; });
    aim_depth<0, CLUSTER>(sh, s, node.level, node.index, segment, sigmas, drawn);
    sync_cluster<CLUSTER>();
}

} // namespace kandela
#endif
