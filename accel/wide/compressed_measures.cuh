/* Kernels that compute the measures of all nodes from the leaves, which compressed_cuts.cuh has
   measured, to the root.
   Idea: splits of leaves are joined level by level, in the order of the parts that were split. The
   given tree's own nodes are stored depth first, so most descendants of a node follow it closely in
   memory. A block takes a window of adjacent pairs and joins those whose two nodes are measured,
   round by round, in shared memory. The few remaining nodes per block are joined in a second pass:
   the thread that is second to reach a pair joins it and continues upwards (Karras 2012), starting
   with one thread for each pair that is ready.
   Memory: that of compressed_cutter, below.
   Data flow: compressed_measure_cuts, one launch per level, the last level first, one thread per
   part that could be split: subtrees and costs of its two children -> its own;
   compressed_measure_pairs, one block per COMPRESSED_WINDOW pairs: costs and subtrees of leaves ->
   subtrees of their parents, costs of remaining nodes, the list of ready pairs;
   compressed_measure_rest, one thread per ready pair and its path upwards: -> subtrees of the rest.
   In this order. */
#ifndef KD_ACCEL_WIDE_COMPRESSED_MEASURES_CUH
#define KD_ACCEL_WIDE_COMPRESSED_MEASURES_CUH
#include "accel/wide/compressed_measure.h"
#include <stdint.h>

/* The refined tree in device memory while it is built, and functions that its kernels share: cells,
   allocation of entries, storing of subtrees.
   Memory: 96 bytes per node, 4 per reference, 32 per box of a split leaf's part, 24 per given node,
   16 per part, which is a leaf that
   is not empty or a new node. */

enum { COMPRESSED_MAKE_BLOCK = 128 };

/* Counters. Those of the arrays may exceed the capacities; the result is then void. */
typedef struct compressed_cut_counts {
    unsigned long long nodes, references, boxes;
    unsigned long long cut, kept, large; /* parts */
    /* end of the list of parts to be split when a level began */
    unsigned long long before[COMPRESSED_FINER_LEVELS];
    unsigned long long pairs; /* compressed_measures.cuh: pairs that are ready */
} compressed_cut_counts;

/* A node's costs until its parent is joined. */
typedef struct compressed_costs {
    float4 low, high;
} compressed_costs;

/* A triangle of a part: the box of its part of the triangle. */
typedef struct compressed_box {
    float4 lo; /* w: id */
    float4 hi;
} compressed_box;

/* A leaf of the given tree, or one side of a split. */
typedef struct __align__(16) compressed_part_task {
    /* of a leaf of the given tree: its first reference; else its first box */
    uint32_t first;
    uint32_t count : 31, flat : 1; /* flat: the leaf of the given tree has flat boxes */
    uint32_t node;                 /* in the refined tree: one of the given tree's, or a new one */
    uint32_t unused;
}
compressed_part_task;

typedef struct compressed_cutter {
    tritree_view tree; /* the given tree, or a slab of it (compressed_top.h) */
    box3 cell;         /* cell of its root; infinite on sides without a plane */
    uint64_t node_capacity, reference_capacity, box_capacity, part_capacity, leaf_capacity;
    compressed_subtree *at; /* the refined tree */
    uint32_t *references;
    compressed_costs *costs; /* of each inner node, and of the root */
    uint2 *up;               /* per pair of siblings: the parent's plane, and parent << 2 | axis */
    uint32_t *report;        /* per pair: how many of its two nodes are measured */
    uint32_t *pairs;         /* ready pairs (compressed_measures.cuh) */
    /* from the front: those that may be split, level by level; from the back: the others */
    compressed_part_task *parts;
    box3 *cells; /* cells of the parts that are leaves of the given tree, in the same order */
    compressed_box *boxes; /* of all other parts */
    uint32_t *large;       /* leaves of so many triangles that one warp takes each */
    compressed_cut_counts *counts;
} compressed_cutter;

/* Returns false if a capacity was exceeded. */
__device__ __forceinline__ bool compressed_fits(const compressed_cutter &c) {
    return c.counts->nodes <= c.node_capacity && c.counts->references <= c.reference_capacity &&
           c.counts->boxes <= c.box_capacity;
}

__device__ __forceinline__ uint32_t compressed_pair_of(uint32_t node) {
    return (node - 1) >> 1;
}

/* Returns the cell of a node: each side is the nearest plane of an ancestor that bounds it. */
__device__ __forceinline__ box3 compressed_child_of(const compressed_cutter &c, uint32_t at) {
    box3 cell = c.cell;
    uint32_t open = 63;
    while (at != 0 && open != 0) {
        const uint2 up = __ldg(c.up + compressed_pair_of(at));
        const int axis = (int)(up.y & 3);
        const bool low = at & 1; /* then the plane is its upper side */
        const uint32_t side = low ? 1u << axis : 8u << axis;
        const bool is_next = open & side;
        if (is_next && low) vec3_set_axis(&cell.hi, axis, float_from_bits(up.x));
        if (is_next && !low) vec3_set_axis(&cell.lo, axis, float_from_bits(up.x));
        open &= ~side;
        at = up.y >> 2;
    }
    return cell;
}

/* Returns the exclusive prefix sum over the lanes of a warp; *all: the total. */
__device__ __forceinline__ uint32_t compressed_scan(uint32_t value, uint32_t *all) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t upto = value;
    for (uint32_t step = 1; step < 32; step <<= 1) {
        const uint32_t lower = __shfl_up_sync(~0u, upto, (int)step);
        if (lane >= step) upto += lower;
    }
    *all = __shfl_sync(~0u, upto, 31);
    return upto - value;
}

/* Numbers of entries of the growing arrays, or the first entry of each. */
struct compressed_entries {
    unsigned long long nodes, references, boxes, cut, kept;
};

/* Reserves entries, with one round trip to memory; `numbers`: for the whole warp, and the same in
   all lanes. Returns the first of each. All lanes of a warp must call it. */
__device__ __forceinline__ compressed_entries compressed_take(compressed_cut_counts *counts,
                                                              const uint32_t (&numbers)[5]) {
    unsigned long long *const counters[5] = {&counts->nodes, &counts->references, &counts->boxes,
                                             &counts->cut, &counts->kept};
    const uint32_t lane = threadIdx.x & 31;
    unsigned long long *counter = counters[0], first = 0;
    uint32_t number = lane == 0 ? numbers[0] : 0;
#pragma unroll
    for (uint32_t k = 1; k < 5; ++k)
        if (lane == k) counter = counters[k], number = numbers[k];
    if (number) first = atomicAdd(counter, (unsigned long long)number);
    return {__shfl_sync(~0u, first, 0), __shfl_sync(~0u, first, 1), __shfl_sync(~0u, first, 2),
            __shfl_sync(~0u, first, 3), __shfl_sync(~0u, first, 4)};
}

/* Returns how many lanes of a mask are below the calling one. */
__device__ __forceinline__ uint32_t compressed_below(unsigned lanes) {
    return (uint32_t)__popc(lanes & ((1u << (threadIdx.x & 31)) - 1));
}

__device__ __forceinline__ void compressed_store(compressed_subtree *subtree, tritree_node node,
                                                 uint64_t plan, const uint32_t *ids,
                                                 const box3 &box) {
    uint4 *const words = (uint4 *)subtree;
    words[0] =
        make_uint4(float_bits(node.split), node.word, (uint32_t)plan, (uint32_t)(plan >> 32));
    words[1] = make_uint4(ids[0], ids[1], ids[2], ids[3]);
    words[2] = make_uint4(float_bits(box.lo.x), float_bits(box.lo.y), float_bits(box.lo.z),
                          float_bits(box.hi.x));
    words[3] = make_uint4(float_bits(box.hi.y), float_bits(box.hi.z), 0, 0);
}

__device__ __forceinline__ void compressed_store_costs(compressed_costs *costs, const float *cost) {
    costs->low = make_float4(cost[0], cost[1], cost[2], cost[3]);
    costs->high = make_float4(cost[4], cost[5], cost[6], cost[7]);
}

enum { COMPRESSED_WINDOW = 128 /* pairs per block, and threads */ };

/* Loads a measure that another thread has stored. */
__device__ __forceinline__ compressed_measure compressed_recall(const compressed_cutter &c,
                                                                uint32_t at) {
    const uint4 *const words = (const uint4 *)(c.at + at);
    const uint4 head = __ldcg(words), ids = __ldcg(words + 1), low = __ldcg(words + 2),
                high = __ldcg(words + 3);
    compressed_measure measure;
    measure.distinct = compressed_distinct(head.z);
    measure.box.lo =
        vec3_make(float_from_bits(low.x), float_from_bits(low.y), float_from_bits(low.z));
    measure.box.hi =
        vec3_make(float_from_bits(low.w), float_from_bits(high.x), float_from_bits(high.y));
    measure.ids[0] = ids.x, measure.ids[1] = ids.y, measure.ids[2] = ids.z, measure.ids[3] = ids.w;
    tritree_node node;
    node.split = float_from_bits(head.x), node.word = head.y;
    if (tritree_is_leaf(node)) {
        const float cost = compressed_leaf_cost(compressed_area(measure.box), tritree_count(node));
        for (int k = 0; k < COMPRESSED_CHILDREN; ++k) measure.cost[k] = cost;
        return measure;
    }
    const float4 first = __ldcg(&c.costs[at].low), second = __ldcg(&c.costs[at].high);
    measure.cost[0] = first.x, measure.cost[1] = first.y, measure.cost[2] = first.z,
    measure.cost[3] = first.w;
    measure.cost[4] = second.x, measure.cost[5] = second.y, measure.cost[6] = second.z,
    measure.cost[7] = second.w;
    return measure;
}

/* Measures those parts of a level that were split. */
__global__ __launch_bounds__(COMPRESSED_MAKE_BLOCK) void compressed_measure_cuts(
    const __grid_constant__ compressed_cutter c, uint32_t level) {
    const uint64_t first = level == 0 ? 0 : c.counts->before[level - 1],
                   end = c.counts->before[level];
    if (!compressed_fits(c)) return; /* children were not written */
    for (uint64_t i = first + blockIdx.x * COMPRESSED_MAKE_BLOCK + threadIdx.x; i < end;
         i += (uint64_t)gridDim.x * COMPRESSED_MAKE_BLOCK) {
        const uint32_t at = c.parts[i].node;
        const tritree_node node = c.at[at].node;
        if (tritree_is_leaf(node)) continue;
        compressed_measure low = compressed_recall(c, tritree_left(node));
        const compressed_measure high = compressed_recall(c, tritree_left(node) + 1);
        const uint64_t plan = compressed_measure_join(&low, &high);
        compressed_store(c.at + at, node, plan, low.ids, low.box);
        compressed_store_costs(c.costs + at, low.cost);
    }
}

struct compressed_window {
    float cost[COMPRESSED_CHILDREN][2 * COMPRESSED_WINDOW];
    float box[6][2 * COMPRESSED_WINDOW];
    uint32_t ids[COMPRESSED_FEW][2 * COMPRESSED_WINDOW];
    uint8_t distinct[2 * COMPRESSED_WINDOW];
    /* per pair: bit 0: the low node is measured, bit 1: the high node */
    uint32_t ready[COMPRESSED_WINDOW];
    uint16_t list[2][COMPRESSED_WINDOW]; /* pairs to be joined in this round, in the next */
    uint32_t count[2];
};

__device__ __forceinline__ void compressed_window_put(compressed_window &w, uint32_t i,
                                                      const compressed_measure &measure) {
#pragma unroll
    for (int k = 0; k < COMPRESSED_CHILDREN; ++k) w.cost[k][i] = measure.cost[k];
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        w.box[k][i] = vec3_axis(measure.box.lo, k);
        w.box[3 + k][i] = vec3_axis(measure.box.hi, k);
    }
#pragma unroll
    for (uint32_t k = 0; k < COMPRESSED_FEW; ++k) w.ids[k][i] = measure.ids[k];
    w.distinct[i] = (uint8_t)measure.distinct;
}

__device__ __forceinline__ compressed_measure compressed_window_get(const compressed_window &w,
                                                                    uint32_t i) {
    compressed_measure measure;
#pragma unroll
    for (int k = 0; k < COMPRESSED_CHILDREN; ++k) measure.cost[k] = w.cost[k][i];
    measure.box.lo = vec3_make(w.box[0][i], w.box[1][i], w.box[2][i]);
    measure.box.hi = vec3_make(w.box[3][i], w.box[4][i], w.box[5][i]);
#pragma unroll
    for (uint32_t k = 0; k < COMPRESSED_FEW; ++k) measure.ids[k] = w.ids[k][i];
    measure.distinct = w.distinct[i];
    return measure;
}

/* Joins a pair's nodes in *low, which becomes the measure of their parent, and stores its subtree.
   Returns the parent. */
__device__ __forceinline__ uint32_t compressed_join_pair(const compressed_cutter &c, uint32_t pair,
                                                         compressed_measure *low,
                                                         const compressed_measure *high) {
    const uint2 up = __ldg(c.up + pair);
    const uint32_t at = up.y >> 2;
    const uint64_t plan = compressed_measure_join(low, high);
    compressed_store(c.at + at, tritree_inner((int)(up.y & 3), float_from_bits(up.x), 2 * pair + 1),
                     plan, low->ids, low->box);
    return at;
}

/* Marks node i of the window as measured. If its sibling is measured, too, the pair is listed for
   round `to`. */
__device__ __forceinline__ void compressed_window_ready(compressed_window &w, uint32_t i,
                                                        uint32_t to) {
    const uint32_t bit = 1u << (i & 1);
    if ((atomicOr(&w.ready[i / 2], bit) | bit) == 3)
        w.list[to][atomicAdd(&w.count[to], 1u)] = (uint16_t)(i / 2);
}

/* Reports that a node has been measured, whose costs are in global memory. Returns true if its
   sibling has been measured, too. */
__device__ __forceinline__ bool compressed_report(const compressed_cutter &c, uint32_t at) {
    __threadfence(); /* makes the stores visible before the report */
    return atomicAdd(c.report + compressed_pair_of(at), 1u) == 1;
}

/* Joins pair `local` of the block. */
__device__ __forceinline__ void compressed_window_join(const compressed_cutter &c,
                                                       compressed_window &w, uint32_t first_pair,
                                                       uint32_t local, uint32_t next) {
    compressed_measure low = compressed_window_get(w, 2 * local);
    const compressed_measure high = compressed_window_get(w, 2 * local + 1);
    const uint32_t at = compressed_join_pair(c, first_pair + local, &low, &high);
    const uint32_t i = at - (2 * first_pair + 1); /* nodes before the window wrap to large values */
    if (i < 2 * COMPRESSED_WINDOW) {
        compressed_window_put(w, i, low);
        compressed_window_ready(w, i, next);
        return;
    }
    compressed_store_costs(c.costs + at, low.cost);
    if (at && compressed_report(c, at))
        c.pairs[atomicAdd(&c.counts->pairs, 1ull)] = compressed_pair_of(at);
}

__global__ __launch_bounds__(COMPRESSED_WINDOW) void compressed_measure_pairs(
    const __grid_constant__ compressed_cutter c) {
    __shared__ compressed_window w;
    const uint32_t me = threadIdx.x, first_pair = blockIdx.x * COMPRESSED_WINDOW,
                   first = 2 * first_pair + 1;
    w.ready[me] = 0;
    if (me < 2) w.count[me] = 0;
    __syncthreads();
    for (uint32_t i = me; i < 2 * COMPRESSED_WINDOW; i += COMPRESSED_WINDOW) {
        if (first + i >= c.tree.node_count || !tritree_is_leaf(c.tree.nodes[first + i])) continue;
        compressed_window_put(w, i, compressed_recall(c, first + i));
        compressed_window_ready(w, i, 0);
    }
    __syncthreads();
    for (uint32_t now = 0;; now ^= 1) {
        const uint32_t count = w.count[now];
        if (count == 0) break;
        if (me < count) compressed_window_join(c, w, first_pair, w.list[now][me], now ^ 1);
        __syncthreads();
        if (me == 0) w.count[now] = 0;
        __syncthreads();
    }
    const uint32_t ready = w.ready[me];
    if (ready != 1 && ready != 2) return;
    const uint32_t i = 2 * me + ready - 1;
    const compressed_measure left_over = compressed_window_get(w, i);
    compressed_store_costs(c.costs + first + i, left_over.cost);
    if (compressed_report(c, first + i))
        c.pairs[atomicAdd(&c.counts->pairs, 1ull)] = first_pair + me;
}

/* Grid-stride loop; launched with as many blocks as are resident. */
__global__ __launch_bounds__(COMPRESSED_WINDOW) void compressed_measure_rest(
    const __grid_constant__ compressed_cutter c) {
    for (uint64_t i = (uint64_t)blockIdx.x * COMPRESSED_WINDOW + threadIdx.x; i < c.counts->pairs;
         i += (uint64_t)gridDim.x * COMPRESSED_WINDOW) {
        uint32_t pair = c.pairs[i];
        compressed_measure low = compressed_recall(c, 2 * pair + 1),
                           high = compressed_recall(c, 2 * pair + 2);
        for (;;) {
            const uint32_t at = compressed_join_pair(c, pair, &low, &high);
            compressed_store_costs(c.costs + at, low.cost);
            if (at == 0 || !compressed_report(c, at)) break;
            __threadfence();
            pair = compressed_pair_of(at);
            if (at & 1) {
                high = compressed_recall(c, at + 1);
            } else {
                high = low;
                low = compressed_recall(c, at - 1);
            }
        }
    }
}

#endif
