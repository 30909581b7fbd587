/* Exact selection of the pivots of one level of a group, and forwarding of their lists' records.
   Idea: once the lists above are settled, all points of a node are in the places of its sub-tree,
         so the counters give the number of points left of its bracket, and the pivot is the element
         of its list at rank left - less. The other records of the list then know their sides and
         continue through the brackets below like any record of the previous pass. If the bracket
         missed or the list overflowed, the sub-tree's places are emptied and filled again from the
         group's unchanged source: slow, but correct.
   Work: a cluster of blocks per node; three reads of the list and one write.
   Data flow: one cluster per node, depth by depth: counters, brackets, the node's list -> its pivot
              (id of the tree), and the list's records to the places below. */
#ifndef KD_POINTS_SELECT_GROUP_PIVOTS_CUH
#define KD_POINTS_SELECT_GROUP_PIVOTS_CUH
#include "points/select/level_group.cuh"
#include "points/select/pivots.cuh"

namespace kandela {

/* A node of a group, and where its records are: in its list, or among all records of the root. */
struct resolved {
    group_node node;
    int levels;
    struct segment segment;
    bool listed;
    uint32_t begin, count, less;
};

template <int THREADS> struct resolve_shared : narrow_shared<THREADS> {
    move_bracket bracket[GROUP_INNER];
    place to[GROUP_PLACES];
    uint32_t filled[GROUP_PLACES]; /* counters; those of the cluster's first block are used */
    uint32_t less;
};

/* Loads the counters, brackets and ranges of the places, and derives where the node's records
   are. */
template <int CLUSTER, int THREADS>
__device__ void open_settling(resolve_shared<THREADS> &sh, const stage &s, resolved &node) {
    const int t = threadIdx.x, places = (2 << node.levels) - 1;
    const int top = node.node.place;
    const uint32_t root = node.node.root, *counts = s.counts + root * GROUP_COUNTS;
    if (t < 32) {
        const uint32_t came = t < places ? counts[t] : 0;
        const uint32_t less = __reduce_add_sync(ALL_LANES, is_under(t, 2 * top + 1) ? came : 0);
        if (t < places) {
            sh.filled[t] = came;
            sh.to[t] = place_of(s, root, t);
            if (t < places / 2) sh.bracket[t] = group_bracket(s, root, t);
        }
        if (t == 0) sh.less = less;
    }
    __syncthreads();
    const place first = sh.to[top], list = s.refined ? second_list(first) : first;
    node.less = sh.less;
    node.count = s.refined ? counts[GROUP_PLACES + top] : sh.filled[top];
    node.begin = list.begin;
    node.listed = sh.filled[top] <= first.capacity && node.count <= list.capacity &&
                  node.segment.left >= node.less && node.segment.left - node.less < node.count;
    if (node.listed) return;
    const segment from = node_segment(s.tree, s.physical, root);
    node.begin = from.begin;
    node.count = from.count;
    if (t < places && t > top && is_under(t, top)) sh.filled[t] = 0;
}

/* Calls `each` for every record of the node, one per thread of the cluster, with a flag whether the
   record is valid; warps stay converged. */
template <int CLUSTER, int THREADS, bool INPUT, class EACH>
__device__ void each_record(const stage &s, const resolved &node, const EACH &each) {
    constexpr uint32_t STEP = CLUSTER * THREADS;
    constexpr int LOADS = 4;
    const uint32_t thread_offset = block_rank<CLUSTER>() * THREADS + threadIdx.x;
    for (uint32_t from = 0; from < node.count; from += LOADS * STEP) {
        float4 record[LOADS] = {};
#pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            const uint32_t at = from + thread_offset + i * STEP;
            if (at < node.count)
                record[i] =
                    node.listed ? s.lists[node.begin + at] : load_record<INPUT>(s, node.begin + at);
        }
#pragma unroll
        for (int i = 0; i < LOADS; ++i)
            each(record[i],
                 from + thread_offset + i * STEP < node.count &&
                     (node.listed || in_subtree(s, record[i], node.node.level, node.node.index)));
    }
}

/* Forwards all records but the pivot to the places below; a warp uses one atomic operation per
   place. */
template <int CLUSTER, int THREADS, bool INPUT>
__device__ void send_on(resolve_shared<THREADS> &sh, const stage &s, const resolved &node,
                        point_key pivot) {
    const int axis = level_axis(node.node.level), below = level_axis(node.node.level + 1);
    const int lane = threadIdx.x & 31, inner = (1 << node.levels) - 1;
    uint32_t *filled = in_block<CLUSTER>(sh.filled, 0);
    each_record<CLUSTER, THREADS, INPUT>(s, node, [&](const float4 &record, bool valid) {
        const point_key key = record_key(record, axis);
        valid &= key != pivot;
        const int h =
            valid ? stop_of(sh.bracket, record, below, 2 * node.node.place + 1 + (key > pivot),
                            node.node.depth + 1, node.levels)
                  : GROUP_PLACES - 1;
        unsigned same = ALL_LANES;
#pragma unroll
        for (int bit = 0; bit <= GROUP_LEVELS; ++bit) {
            const unsigned ones = __ballot_sync(ALL_LANES, h >> bit & 1);
            same &= h >> bit & 1 ? ones : ~ones;
        }
        const int first = __ffs((int)same) - 1;
        uint32_t at = 0;
        if (valid && lane == first) at = atomicAdd(&filled[h], __popc(same));
        at = __shfl_sync(ALL_LANES, at, first) + __popc(same & ((1u << lane) - 1));
        float4 *const to = h < inner ? s.lists : s.moved;
        if (valid && at < sh.to[h].capacity) to[sh.to[h].begin + at] = record;
    });
}

/* One cluster per node at `depth`. */
template <int CLUSTER, int THREADS, bool INPUT>
__global__ __launch_bounds__(THREADS,
                             1024 / THREADS) void resolve_pivots(const __grid_constant__ stage s,
                                                                 int depth) {
    if (!is_compiled<CLUSTER>()) return;
    __shared__ resolve_shared<THREADS> sh;
    const uint32_t index = blockIdx.x / CLUSTER;
    resolved entry = {};
    entry.node = group_node_of(s, index, depth);
    entry.levels = group_levels(s, entry.node.root);
    entry.segment = node_segment(s.tree, entry.node.level, index);
    open_settling<CLUSTER>(sh, s, entry);
    const int axis = level_axis(entry.node.level);
    const uint32_t node = node_at(entry.node.level, index);
    if (threadIdx.x == 0) {
        const point_key lo = s.nodes.lo[node];
        sh.target[0] =
            entry.listed
                ? narrowing{lo, s.nodes.hi[node] - lo, entry.segment.left - entry.less, entry.count}
                : narrowing{0, KEY_MAX, entry.segment.left, entry.segment.count};
    }
    sync_cluster<CLUSTER>(); /* counters must be loaded before other blocks count there */
    const point_key pivot = select_key<CLUSTER>(sh, [&](const auto &add) {
        each_record<CLUSTER, THREADS, INPUT>(s, entry, [&](const float4 &record, bool valid) {
            if (valid) add(0, record_key(record, axis));
        });
    });
    if (block_rank<CLUSTER>() == 0 && threadIdx.x == 0) {
        s.nodes.pivot[node] = pivot;
        s.tree_ids[node] = (uint32_t)pivot;
        split_region(s, entry.node.level, index, pivot);
    }
    send_on<CLUSTER, THREADS, INPUT>(sh, s, entry, pivot);
    sync_cluster<CLUSTER>();
    const int h = threadIdx.x, top = entry.node.place;
    if (block_rank<CLUSTER>() == 0 && h > top && h < (2 << entry.levels) - 1 && is_under(h, top))
        s.counts[entry.node.root * GROUP_COUNTS + h] = sh.filled[h];
}

} // namespace kandela
#endif
