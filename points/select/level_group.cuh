/* Descends several levels at once by brackets alone: one pass moves the records of a segment LEVELS
   levels down before any pivot there is known.
   Idea: for each node of the group a bracket is known in which its pivot must lie (brackets.cuh). A
         record before or after it continues to the left or right child; one within it stops in the
         node's list. Records that pass all levels are in their final segments; lists hold a few per
         cent of the points and are settled level by level (group_pivots.cuh). The nodes of a group
         and the segments below them are its places, numbered like a heap: 0 is the root, 2 h + 1
         and 2 h + 2 are below h, and the last 2^LEVELS are the segments. A counter per place counts
         the records that arrive; those beyond its capacity are counted but dropped, which happens
         below a bracket that missed or at a list that overflowed; both are detected from the
         counters and repaired. Long lists get a second bracket each, from samples of their own, and
         are reduced by it to a second list, so that few records remain for the selection.
   Work: 16 bytes read and 16 bytes written per point and group.
   Memory: lists for half a record per point.
   Invariants: round robin only, as the axis below a pivot must not depend on the pivot.
   Data flow: part_records, `tiles` blocks per root: records of the level above, brackets ->
              segments and lists below, by counters; part_lists: a node's list, its second bracket
              -> a shorter list and the places below. */
#ifndef KD_POINTS_SELECT_LEVEL_GROUP_CUH
#define KD_POINTS_SELECT_LEVEL_GROUP_CUH
#include "points/select/partition.cuh"

namespace kandela {

constexpr int GROUP_LEVELS = 3; /* maximum; groups of this size begin on axis 0 */
constexpr int GROUP_INNER = (1 << GROUP_LEVELS) - 1; /* nodes */
constexpr int GROUP_PLACES = 2 << GROUP_LEVELS;      /* one spare */
constexpr int GROUP_COUNTS = 2 * GROUP_PLACES;       /* of the places, then of the second lists */

__host__ __device__ inline int level_axis(uint32_t level) {
    return (int)(level % 3);
}

/* Where the records of a place are stored, and its capacity (`capacity`). */
struct place {
    uint32_t begin, capacity;
};

/* Of 16 parts of the list memory, the share of the nodes of a depth: the brackets of deeper nodes
   are wider, as they have fewer samples and inherit the uncertainty of the planes above. */
__host__ __device__ inline uint32_t list_share(int levels, int depth) {
    return levels == 1 ? 16 : levels == 2 ? (depth ? 10 : 6) : depth == 0 ? 3 : depth == 1 ? 5 : 8;
}

/* In a tree's last group, roots without points on the last level have one level less. */
__device__ inline int group_levels(const stage &s, uint32_t root) {
    return s.levels - (root >= s.deep);
}

__device__ inline place place_of(const stage &s, uint32_t root, int h) {
    const int levels = group_levels(s, root);
    const int depth = 31 - __clz(h + 1);
    const uint32_t index = (root << depth) + (uint32_t)(h + 1 - (1 << depth));
    const segment range = node_segment(s.tree, s.physical + depth, index);
    if (depth == levels) return {range.begin, range.count};
    const segment from = node_segment(s.tree, s.physical, root);
    const uint32_t share = list_share(levels, depth);
    uint32_t skipped = 0;
    for (int above = 0; above < depth; ++above) skipped += list_share(levels, above);
    const uint32_t capacity = share * (range.count / 32);
    return {from.begin / 2 + skipped * (from.count / 32) +
                share * ((range.begin - from.begin) / 32),
            s.refined ? capacity - capacity / 4 : capacity};
}

/* A node's second list follows its list. */
__device__ inline place second_list(const place &list) {
    return {list.begin + list.capacity, list.capacity / 4};
}

/* Returns whether h is place `top` or below it. */
__device__ inline bool is_under(int h, int top) {
    while (h > top) h = (h - 1) / 2;
    return h == top;
}

/* A node of a group. */
struct group_node {
    uint32_t root, level, index;
    int place, depth;
};

__device__ inline group_node group_node_of(const stage &s, uint32_t index, int depth) {
    return {index >> depth, s.physical + depth, index,
            (1 << depth) - 1 + (int)(index & ((1u << depth) - 1)), depth};
}

/* Returns the bracket of inner place h. */
__device__ inline move_bracket group_bracket(const stage &s, uint32_t root, int h) {
    const int depth = 31 - __clz(h + 1);
    const uint32_t node =
        node_at(s.physical + depth, (root << depth) + (uint32_t)(h + 1 - (1 << depth)));
    return {bound_of(s.nodes.lo[node]), bound_of(s.nodes.hi[node])};
}

/* Returns the place at which a record stops on its way down from place h at `depth`. */
__device__ inline int stop_of(const move_bracket *brackets, const float4 &record, int axis, int h,
                              int depth, int levels) {
    bool going = true;
#pragma unroll
    for (; depth < levels; ++depth) {
        const move_bracket bracket = brackets[h];
        const float x = record_axis(record, axis);
        const bool right = after(x, record_id(record), bracket.hi);
        going &= right | before(x, record_id(record), bracket.lo);
        h = going ? 2 * h + 1 + right : h;
        axis = axis == 2 ? 0 : axis + 1;
    }
    return h;
}

/* Returns whether a bracket includes all ids of the coordinates at its ends, as all do but those
   narrowed within a single coordinate. Ids need not be compared then. */
__device__ inline bool is_plain(const move_bracket &bracket) {
    return bracket.lo.id == 0 && bracket.hi.id == FULL;
}

/* stop_of for plain brackets, given as (lo, hi). */
__device__ inline int plain_stop_of(const float2 *brackets, const float4 &record, int axis, int h,
                                    int depth, int levels) {
    bool going = true;
#pragma unroll
    for (int i = 0; i < GROUP_LEVELS; ++i, ++depth) {
        if (depth >= levels) break;
        const float2 bracket = brackets[h];
        const float x = record_axis(record, axis);
        const bool right = x > bracket.y;
        going &= right | (x < bracket.x);
        h = going ? 2 * h + 1 + right : h;
        axis = axis == 2 ? 0 : axis + 1;
    }
    return h;
}

template <int LEVELS> struct part_shared {
    static constexpr int INNER = (1 << LEVELS) - 1, PLACES = 2 * INNER + 1;
    move_bracket bracket[INNER];
    float2 plain[INNER];
    /* the spare one: the second list of the block's first node */
    place to[PLACES + 1];
    uint32_t records_at[MOVE_WARPS][PLACES + 1];
};

/* Reserves space for the block's records in each place, for all of them or none, with one atomic
   operation per place, by adjacent lanes on adjacent words. */
template <int LEVELS>
__device__ void part_reserve(part_shared<LEVELS> &sh, const stage &s, uint32_t root, int top) {
    const int h = threadIdx.x;
    if (h > sh.PLACES) return;
    uint32_t sum = 0;
#pragma unroll
    for (int warp = 0; warp < MOVE_WARPS; ++warp) {
        const uint32_t reserved = sh.records_at[warp][h];
        sh.records_at[warp][h] = sum;
        sum += reserved;
    }
    if (sum == 0) return;
    const place to = sh.to[h];
    const uint32_t counter = root * GROUP_COUNTS + (h < sh.PLACES ? h : GROUP_PLACES + top);
    const uint32_t filled = atomicAdd(&s.counts[counter], sum);
    const bool fits = filled + sum <= to.capacity;
#pragma unroll
    for (int warp = 0; warp < MOVE_WARPS; ++warp)
        sh.records_at[warp][h] = fits ? sh.records_at[warp][h] + to.begin + filled : FULL;
}

/* Loads the brackets and places of a group, with one warp each, while the records are being loaded.
   Returns whether all brackets are plain. */
template <int LEVELS>
__device__ inline bool open_group(part_shared<LEVELS> &sh, const stage &s, const group_node &node) {
    const int t = threadIdx.x, h = t - 32, inner = (1 << group_levels(s, node.root)) - 1;
    bool crowded = false;
    if (t < inner) {
        const move_bracket bracket = group_bracket(s, node.root, t);
        sh.bracket[t] = bracket;
        sh.plain[t] = make_float2(bracket.lo.coordinate, bracket.hi.coordinate);
        crowded = !is_plain(bracket);
    }
    if (h >= 0 && h <= 2 * inner) sh.to[h] = place_of(s, node.root, h);
    if (h == sh.PLACES) sh.to[h] = second_list(place_of(s, node.root, node.place));
    return !__syncthreads_or(crowded);
}

/* Computes where a thread's records stop, and from bit 8 on their ranks among the warp's records
   that stop there; the spare place takes those that remain in a list. Returns the number that came
   to the lane-th place. */
template <int LEVELS, bool LISTS, bool PLAIN>
__device__ inline uint32_t stop_records(const part_shared<LEVELS> &sh, const stage &s,
                                        const group_node &node, const float4 (&record)[MOVE_ITEMS],
                                        uint32_t begin, uint32_t count,
                                        uint32_t (&stop)[MOVE_ITEMS]) {
    const int top = LISTS ? node.place : 0, from = LISTS ? node.depth : 0;
    const int axis = LEVELS == GROUP_LEVELS ? from : level_axis(node.level);
    const int levels = group_levels(s, node.root);
    uint32_t filled = 0;
#pragma unroll
    for (int i = 0; i < MOVE_ITEMS; ++i) {
        int h = PLAIN ? plain_stop_of(sh.plain, record[i], axis, top, from, levels)
                      : stop_of(sh.bracket, record[i], axis, top, from, levels);
        if (LISTS && h == top) h = sh.PLACES;
        if (begin + i * MOVE_THREADS >= count) h = -1;
        const uint32_t rank = rank_among<LEVELS + 1>(h, filled);
        stop[i] = h < 0 ? FULL : (uint32_t)h | rank << 8;
    }
    return filled;
}

/* Moves a thread's records on from node `node`; they are those from `begin` on of `count`. */
template <int LEVELS, bool LISTS>
__device__ void part_tile(part_shared<LEVELS> &sh, const stage &s, const group_node &node,
                          const float4 (&record)[MOVE_ITEMS], uint32_t begin, uint32_t count) {
    constexpr int PLACES = part_shared<LEVELS>::PLACES;
    const int inner = (1 << group_levels(s, node.root)) - 1;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint32_t stop[MOVE_ITEMS];
    const uint32_t filled =
        open_group(sh, s, node)
            ? stop_records<LEVELS, LISTS, true>(sh, s, node, record, begin, count, stop)
            : stop_records<LEVELS, LISTS, false>(sh, s, node, record, begin, count, stop);
    if (lane <= PLACES) sh.records_at[warp][lane] = filled;
    __syncthreads();
    part_reserve<LEVELS>(sh, s, node.root, node.place);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < MOVE_ITEMS; ++i) {
        if (stop[i] == FULL) continue;
        const int h = (int)(stop[i] & 255);
        const uint32_t at = sh.records_at[warp][h];
        const bool listed = h < inner || (LISTS && h == PLACES);
        float4 *const to = listed ? s.lists : s.moved;
        if (at != FULL) to[at + (stop[i] >> 8)] = record[i];
    }
}

/* Moves the segments of the first roots, with `tiles` blocks each. */
template <int LEVELS, bool INPUT>
__global__ __launch_bounds__(MOVE_THREADS, 5) void part_records(const __grid_constant__ stage s,
                                                                uint32_t tiles) {
    __shared__ part_shared<LEVELS> sh;
    const group_node node = group_node_of(s, blockIdx.x / tiles, 0);
    const uint32_t begin = blockIdx.x % tiles * MOVE_TILE + threadIdx.x;
    const segment from = node_segment(s.tree, s.physical, node.root);
    float4 record[MOVE_ITEMS] = {};
#pragma unroll
    for (int i = 0; i < MOVE_ITEMS; ++i) {
        const uint32_t at = begin + i * MOVE_THREADS;
        if (at < from.count) record[i] = load_record<INPUT>(s, from.begin + at);
    }
    part_tile<LEVELS, false>(sh, s, node, record, begin, from.count);
}

/* Moves the lists of the first nodes at `depth` by their second brackets. */
template <int LEVELS>
__global__ __launch_bounds__(MOVE_THREADS, 5) void part_lists(const __grid_constant__ stage s,
                                                              int depth, uint32_t tiles) {
    __shared__ part_shared<LEVELS> sh;
    const group_node node = group_node_of(s, blockIdx.x / tiles, depth);
    const uint32_t tile = blockIdx.x % tiles * MOVE_TILE, begin = tile + threadIdx.x;
    const place list = place_of(s, node.root, node.place);
    const uint32_t count = min(s.counts[node.root * GROUP_COUNTS + node.place], list.capacity);
    if (tile >= count) return;
    float4 record[MOVE_ITEMS] = {};
#pragma unroll
    for (int i = 0; i < MOVE_ITEMS; ++i) {
        const uint32_t at = begin + i * MOVE_THREADS;
        if (at < count) record[i] = s.lists[list.begin + at];
    }
    part_tile<LEVELS, true>(sh, s, node, record, begin, count);
}

} // namespace kandela
#endif
