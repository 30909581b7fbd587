/* One warp for 32 neighbouring queries, one query per lane, for few neighbours.
   Kept because, if queries are dense among the points, it is 1.15 to 1.9 times as fast as the next
   best method for k up to 8 and for k = 16 (tools/bench/results/h200-variants.txt), and 1.1 to 1.7
   times for k = 20 (tools/bench/results/h200-packets.txt). Each of its kernels is 0.98 (k = 2,
   photon-like points) to 1.7 times as fast as the kernel for the next larger k.
   Idea: neighbouring queries need nearly the same leaves, so the warp visits the leaves that any of
         them needs (warp_per_query.cuh, with the box of the queries) and reads the points of a leaf
         once. With one lane per point, the points out of reach of the queries' box, about half, are
         discarded; the others are tested against all queries. A point within a query's bound goes
         to a short queue of the lane in shared memory; when a queue holds more than eight points,
         all lanes simultaneously sort eight points of their queues and merge these into their
         results in registers, so that no lane waits for another's insertion. A warp processes
         several packets in sequence, each with bounds from the previous one (prior_bound.cuh).
   Work: 13 instructions per point and 32 queries; for eight insertions per lane some 250 if k = 8,
         400 if k = 20.
   Data flow: one warp per several packets of 32 queries in sequence: queries in curve order, index
              -> queues in shared memory, results in registers -> the row of each query. */
#ifndef KD_POINTS_NEIGHBOURS_QUERY_PACKETS_CUH
#define KD_POINTS_NEIGHBOURS_QUERY_PACKETS_CUH
#include "core/device/warp_sort.cuh"
#include "points/neighbours/curve_order.cuh"
#include "points/neighbours/prior_bound.cuh"
#include "points/neighbours/thread_per_query.cuh"

namespace point_index {

constexpr int PACKET_WARPS = 4; /* per block */
constexpr uint32_t QUEUE_POINTS = 16, QUEUE_STEP = 8, QUEUE_ROW = 32 * sizeof(uint2);

struct packet_shared {
    descent path;
    float4 points[32];
    uint2 queue[QUEUE_POINTS][32]; /* dist2 bits, id */
};

/* Minimum of x over the lanes that are `on`; NaN if there is none. */
__device__ inline float least_of(float x, bool on) {
    const uint32_t bits = on ? pointtree_order_bits(x) : KD_NONE;
    return pointtree_float_of_order_bits(__reduce_min_sync(ALL_LANES, bits));
}

__device__ inline float most_of(float x, bool on) {
    const uint32_t bits = on ? pointtree_order_bits(x) : 0;
    return pointtree_float_of_order_bits(__reduce_max_sync(ALL_LANES, bits));
}

/* One query of a packet. Excess lanes duplicate the last query and are masked off by a negative
   limit. */
struct turn_query {
    bool valid;
    uint32_t place, which; /* position in processing order; index in the caller's order */
    vec3 q;
    float limit; /* bound on dist2; negative: inactive */
    /* self-query: id to exclude from the results; else KD_NONE */
    uint32_t skipped;
};

__device__ inline turn_query query_of_turn(const point_queries &queries, uint32_t index) {
    turn_query query;
    query.valid = index < queries.count;
    query.place = query.valid ? index : queries.count - 1;
    query.which = queries.order ? queries.order[query.place] : query.place;
    query.q = query_point(queries, query.which);
    query.limit = query.valid ? query_limit2(queries, query.which, query.q) : -1.0f;
    query.skipped = KD_NONE;
    return query;
}

__device__ inline turn_query query_of_turn(const self_queries &queries, uint32_t index) {
    const self_query_turn query = self_query_of(queries, index);
    return {query.valid,
            query.place,
            query.row,
            query.q,
            query.valid ? pointtree_bound2(queries.max_radius) : -1.0f,
            query.skipped};
}

/* The bounding box of the active lanes' queries. */
__device__ inline query_box box_of_queries(vec3 q, bool on) {
    return {vec3_make(least_of(q.x, on), least_of(q.y, on), least_of(q.z, on)),
            vec3_make(most_of(q.x, on), most_of(q.y, on), most_of(q.z, on))};
}

/* Divides the warp's queries into those whose positions are in the same group of 32 leaves, which
   are processed together. The curve jumps between groups, and a box around both sides of a jump
   might contain all points. */
struct home_order {
    uint32_t home; /* group that contains this lane's query */
    /* lanes not processed yet, the same mask in all lanes */
    uint32_t to_come;

    __device__ bool next() {
        const uint32_t first = __shfl_sync(ALL_LANES, home, (int)__ffs((int)to_come) - 1);
        const bool on = (to_come >> lane_id() & 1) && home == first;
        to_come &= ~__ballot_sync(ALL_LANES, on);
        return on;
    }
};

__device__ inline home_order home_order_of(const view &index, const point_queries &queries,
                                           uint32_t place, vec3 q, bool on) {
    const uint32_t home = queries.codes ? queries.codes[place] >> queries.code_shift
                                        : find_group(index, q, queries.group_levels);
    return {home, __ballot_sync(ALL_LANES, on)};
}

/* The points of a leaf are in the same group, except for an ancestor among them, which is processed
   alone: a box around all of them might contain many of the points. Sorted points are treated like
   a caller's queries. */
__device__ inline home_order home_order_of(const view &index, const self_queries &queries,
                                           uint32_t place, vec3, bool on) {
    if (queries.codes)
        return {queries.codes[place] >> queries.code_shift, __ballot_sync(ALL_LANES, on)};
    const bool outliers = index.outliers[chunk_of(index, queries, place)] == place;
    return {outliers ? 1u : 0u, __ballot_sync(ALL_LANES, on)};
}

/* Sorts eight keys with a network of 19 comparisons. */
__device__ inline void sort_eight(answer_key (&key)[8]) {
    constexpr int low[19] = {0, 1, 4, 5, 0, 1, 2, 3, 0, 2, 4, 6, 2, 3, 1, 3, 1, 3, 5};
    constexpr int high[19] = {2, 3, 6, 7, 4, 5, 6, 7, 1, 3, 5, 7, 4, 5, 4, 6, 2, 4, 6};
#pragma unroll
    for (int i = 0; i < 19; ++i) warp_sort::order_pair(key[low[i]], key[high[i]]);
}

/* Merges a sorted list with eight sorted keys and keeps the first K: the minima of each element and
   its mirror image form a bitonic sequence. */
template <int K> __device__ inline void merge_eight(answer_key (&list)[K], answer_key (&key)[8]) {
    constexpr int SHARED = K < 8 ? K : 8;
#pragma unroll
    for (int i = 0; i < SHARED; ++i) {
        const answer_key lane_key = list[K - 1 - i];
        list[K - 1 - i] = key[i] < lane_key ? key[i] : lane_key;
    }
    warp_sort::merge_key_lists(list);
}

/* Results of one lane; `bound2` is the dist2 of the last, negative if the lane is inactive. OWN:
   the id `skipped` is excluded. */
template <int K, bool SELF> struct packet_lane {
    nearest_list<K> best;
    float bound2;
    uint32_t first, next; /* shared-memory addresses in the queue */
    uint32_t skipped;

    __device__ void open(const packet_shared &sh, float limit) {
        bound2 = limit;
        first = next = warp_columns::place_of(&sh.queue[0][lane_id()]);
    }
    __device__ void offer(float dist2, float id) {
        if (K == 1) {
            const answer_key item = (answer_key)__float_as_uint(dist2) << 32 | __float_as_uint(id);
            if (dist2 <= bound2 && item < best.key[0] &&
                (!SELF || __float_as_uint(id) != skipped)) {
                best.key[0] = item;
                bound2 = dist2;
            }
        } else if (dist2 <= bound2) {
            warp_columns::store_two(next, __float_as_uint(dist2), __float_as_uint(id));
            next += QUEUE_ROW;
        }
    }

    /* All lanes merge the last eight elements of their queues into their results. */
    __device__ void take_eight() {
        const uint32_t held = next - first;
        answer_key key[8];
        take_one<0>(key, held), take_one<1>(key, held), take_one<2>(key, held);
        take_one<3>(key, held), take_one<4>(key, held), take_one<5>(key, held);
        take_one<6>(key, held), take_one<7>(key, held);
        next -= min(held, 8 * QUEUE_ROW);
        sort_eight(key);
        merge_eight<K>(best.key, key);
        if (bound2 >= 0) bound2 = best.bound2();
    }
    template <int I> __device__ void take_one(answer_key (&key)[8], uint32_t held) const {
        key[I] = warp_columns::load_two_before<(I + 1) * QUEUE_ROW>(next, held > I * QUEUE_ROW);
        if (SELF && (uint32_t)key[I] == skipped) key[I] = ~0ull;
    }
};

/* Returns which halves of a leaf any lane's query reaches, as two bits. */
__device__ inline uint32_t halves_to_visit(const leaf_halves &halves, vec3 q, float bound2) {
    const bool first = boxes_dist2(halves.lo[0], halves.hi[0], {q, q}) <= bound2;
    const bool second = boxes_dist2(halves.lo[1], halves.hi[1], {q, q}) <= bound2;
    return (__any_sync(ALL_LANES, first) ? 1u : 0u) | (__any_sync(ALL_LANES, second) ? 2u : 0u);
}

/* Tests eight points against the queries of all lanes. */
template <int K, bool SELF>
__device__ inline void offer_eight(const float4 *points, vec3 q, packet_lane<K, SELF> &state) {
#pragma unroll
    for (int i = 0; i < 8; i += 4) {
        const float4 p[4] = {points[i], points[i + 1], points[i + 2], points[i + 3]};
        float dist2[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) dist2[j] = pointtree_dist2(q, xyz(p[j]));
#pragma unroll
        for (int j = 0; j < 4; ++j) state.offer(dist2[j], p[j].w);
    }
}

/* Moves the points within reach of the queries' box to the front, one lane per point, and sets the
   others to NaN. Returns the number of the former. */
__device__ inline uint32_t gather_near(float4 (&points)[32], float4 point, bool valid,
                                       const query_box &queries, uint32_t bound) {
    const float dist2 = boxes_dist2(xyz(point), xyz(point), queries);
    const bool near = valid && dist2 <= __uint_as_float(bound);
    const unsigned all = __ballot_sync(ALL_LANES, near);
    const uint32_t count = __popc(all), before = __popc(all & ((1u << lane_id()) - 1));
    if (!near) point.x = __uint_as_float(KD_NONE); /* NaN: within no bound */
    __syncwarp();
    points[near ? before : count + lane_id() - before] = point;
    __syncwarp();
    return count;
}

/* Tests the points of a leaf against all lanes' queries, except for halves out of every lane's
   reach and points out of reach of the queries' box; `bound` is the largest bound of the lanes as
   float bits. Returns whether any query reaches the leaf. */
template <int K, bool SELF>
__device__ inline bool visit_leaf(const view &index, packet_shared &sh, uint32_t leaf,
                                  point_range range, vec3 q, const query_box &queries,
                                  packet_lane<K, SELF> &state, uint32_t &bound) {
    const uint32_t halves = halves_to_visit(halves_of(index, leaf), q, state.bound2);
    if (!halves) return false;
    const uint32_t width = half_width(range.end - range.begin);
    const uint32_t full = state.first + (QUEUE_POINTS - QUEUE_STEP) * QUEUE_ROW;
    for (uint32_t at = range.begin; at < range.end; at += 32) {
        const uint32_t place = at + lane_id();
        const bool point_valid =
            place < range.end && (halves & (place - range.begin < width ? 1u : 2u)) != 0;
        const float4 point = point_valid ? index.points[place] : make_float4(0, 0, 0, 0);
        const uint32_t count = gather_near(sh.points, point, point_valid, queries, bound);
#pragma unroll 1
        for (uint32_t i = 0; i < count; i += QUEUE_STEP) {
            offer_eight(sh.points + i, q, state);
            if (K > 1 && __any_sync(ALL_LANES, state.next > full)) state.take_eight();
        }
        bound = max_bound(state.bound2);
    }
    return true;
}

/* Searches for the queries that are `on`, each within its limit. Returns whether this lane's query
   is to be split off from the packet; it then has no results. */
template <int K, class QUERY_BATCH>
__device__ inline bool visit_packet(const view &index, const QUERY_BATCH &queries,
                                    packet_shared &sh, uint32_t place, vec3 q, bool on, float limit,
                                    const query_handover &handover,
                                    packet_lane<K, QUERY_BATCH::SELF> &state) {
    if (on) state.best.open(limit);
    home_order homes = home_order_of(index, queries, place, q, on);
    bool parts = false;
    while (homes.to_come) {
        const bool now = homes.next();
        state.open(sh, now ? limit : -1.0f);
        uint32_t bound = max_bound(state.bound2), patience = handover.patience;
        const query_box box = box_of_queries(q, now);
        visit_leaves(
            index, sh.path, box, true, [&] { return bound; },
            [&](uint32_t leaf, point_range range) {
                if (!visit_leaf(index, sh, leaf, range, q, box, state, bound) && --patience == 0)
                    bound = NO_MORE;
            });
        if (K > 1) state.take_eight();
        parts = parts || (now && bound == NO_MORE);
    }
    return parts;
}

/* Blocks per multiprocessor, which limits the registers per thread. */
constexpr int packet_blocks(int k) {
    return k > 16 ? 5 : k > 8 ? 6 : 7;
}

/* Each warp processes `turns` packets. */
template <int K, class QUERY_BATCH>
__global__ __launch_bounds__(32 * PACKET_WARPS, packet_blocks(K)) void nearest_by_packets(
    const __grid_constant__ view index, QUERY_BATCH queries, uint32_t k, uint32_t turns,
    float reach_factor, query_handover to, answer_rows out) {
    __shared__ packet_shared all[PACKET_WARPS];
    grid_lets_next_begin();
    packet_shared &sh = all[threadIdx.x / 32];
    const uint32_t warp = blockIdx.x * PACKET_WARPS + threadIdx.x / 32;
    previous_query previous = {vec3_all(0), INFINITY};
#pragma unroll 1
    for (uint32_t turn = warp * turns; turn < (warp + 1) * turns; ++turn) {
        if (turn * 32 >= queries.count) return;
        const turn_query query = query_of_turn(queries, turn * 32 + lane_id());
        const query_bounds bounds = bounds_of(previous, query.q, query.limit, reach_factor);
        packet_lane<K, QUERY_BATCH::SELF> state;
        if (QUERY_BATCH::SELF) state.skipped = query.skipped;
        state.best.open(query.limit);
        bool on = query.limit >= 0, parts = false;
        float tried = bounds.expected;
        for (;;) {
            parts |= visit_packet(index, queries, sh, query.place, query.q, on, tried, to, state);
            on = on && !parts && !state.best.is_full() && tried < bounds.sure;
            if (!__any_sync(ALL_LANES, on)) break;
            tried = bounds.sure;
        }
        part_from_warp(to, turn * 32 + lane_id(), parts);
        const bool found = query.limit >= 0 && !parts && state.best.is_full();
        previous = {query.q, found ? state.best.bound2() : INFINITY};
        if (query.valid && !parts) store_list(out, query.which, k, state.best, query.limit >= 0);
    }
}

} // namespace point_index
#endif
