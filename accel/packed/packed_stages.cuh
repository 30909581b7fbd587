/* The kernels that make the packed form of a k-d tree in device memory: the bytes of
   packed_make.c.
   Idea: packed_cuts.cuh has cut leaves further. Leaves measure what they hold, and report
         to their parents; who comes second joins both and goes on up (Karras 2012). Then nodes
         are found from the root down, level by level, by one grid that stays: a block takes a
         part of the level, counts children, and all blocks add up what those before them have,
         so that places do not depend on who was first. In the end each node is written by a
         thread of its own.
   Memory: scratch of 56 bytes a node of the finer tree, and 44 an item. */
#ifndef KD_ACCEL_PACKED_PACKED_STAGES_CUH
#define KD_ACCEL_PACKED_PACKED_STAGES_CUH
#include "accel/packed/packed_cuts.cuh"
#include "accel/packed/packed_group.cuh"
#include "accel/packed/packed_make.h"
#include "accel/packed/packed_node.h"
#include <cooperative_groups.h>

/* What the host asks for. */
typedef struct packed_found {
    uint32_t items, units; /* units 0: there is no packed form */
    uint32_t depth;
} packed_found;

/* A node's costs while it waits for its sibling. */
typedef struct packed_costs {
    float4 low, high;
} packed_costs;

typedef struct packed_maker {
    packed_source from; /* its arrays are the next three */
    box3 *boxes;
    uint64_t *plans;
    uint4 *ids;
    packed_costs *costs;        /* a node */
    uint32_t *parents, *report; /* a pair of nodes: whose they are, how many of both are measured */
    packed_item *items;
    uint2 *places; /* an item: its unit, its children's */
    uint2 *sums;   /* a block: nodes and units that its part of a level adds */
    uint32_t item_room;
    packed_found *found;
    uint8_t *units;
} packed_maker;

__device__ __forceinline__ void packed_note(const packed_maker &m, uint32_t at,
                                            const packed_measure &found, uint64_t plan) {
    m.boxes[at] = found.box;
    m.plans[at] = plan;
    m.ids[at] = make_uint4(found.ids[0], found.ids[1], found.ids[2], found.ids[3]);
    m.costs[at].low = make_float4(found.cost[0], found.cost[1], found.cost[2], found.cost[3]);
    m.costs[at].high = make_float4(found.cost[4], found.cost[5], found.cost[6], found.cost[7]);
}

/* What another thread has noted. */
__device__ __forceinline__ packed_measure packed_recall(const packed_maker &m, uint32_t at) {
    packed_measure found;
    const float *box = (const float *)(m.boxes + at);
    found.box.lo = vec3_make(__ldcg(box), __ldcg(box + 1), __ldcg(box + 2));
    found.box.hi = vec3_make(__ldcg(box + 3), __ldcg(box + 4), __ldcg(box + 5));
    found.distinct = packed_distinct(__ldcg(m.plans + at));
    const uint4 ids = __ldcg(m.ids + at);
    const float4 low = __ldcg(&m.costs[at].low), high = __ldcg(&m.costs[at].high);
    found.ids[0] = ids.x, found.ids[1] = ids.y, found.ids[2] = ids.z, found.ids[3] = ids.w;
    found.cost[0] = low.x, found.cost[1] = low.y, found.cost[2] = low.z, found.cost[3] = low.w;
    found.cost[4] = high.x, found.cost[5] = high.y, found.cost[6] = high.z, found.cost[7] = high.w;
    return found;
}

__global__ __launch_bounds__(PACKED_MAKE_BLOCK) void packed_measure_nodes(
    const __grid_constant__ packed_maker m) {
    uint32_t at = blockIdx.x * PACKED_MAKE_BLOCK + threadIdx.x;
    if (at >= m.from.tree.node_count) return;
    const tritree_node node = m.from.tree.nodes[at];
    if (!tritree_is_leaf(node)) return;
    packed_measure found;
    uint64_t plan = packed_measure_leaf(&found, &m.from.tree, node, m.boxes[at]);
    for (;;) {
        packed_note(m, at, found, plan);
        if (at == 0) return;
        const uint32_t pair = packed_pair_of(at);
        __threadfence(); /* the note before the report */
        if (atomicAdd(m.report + pair, 1u) == 0) return;
        __threadfence();
        const bool low = at & 1;
        packed_measure other = packed_recall(m, low ? at + 1 : at - 1);
        if (low) {
            plan = packed_measure_join(&found, &other);
        } else {
            plan = packed_measure_join(&other, &found);
            found = other;
        }
        at = m.parents[pair];
    }
}

/* The sum of what the block's threads before this one have; *all: of all of them. */
__device__ __forceinline__ uint2 packed_sum_before(uint2 mine, uint2 *all) {
    __shared__ uint2 warps[PACKED_MAKE_BLOCK / 32];
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    uint2 upto = mine;
    for (int step = 1; step < 32; step <<= 1) {
        const uint32_t x = __shfl_up_sync(~0u, upto.x, step), y = __shfl_up_sync(~0u, upto.y, step);
        if (lane >= (uint32_t)step) upto.x += x, upto.y += y;
    }
    __syncthreads(); /* whoever reads the last ones is done */
    if (lane == 31) warps[warp] = upto;
    __syncthreads();
    *all = make_uint2(0, 0);
    uint2 before = make_uint2(upto.x - mine.x, upto.y - mine.y);
    for (uint32_t k = 0; k < PACKED_MAKE_BLOCK / 32; ++k) {
        if (k < warp) before.x += warps[k].x, before.y += warps[k].y;
        all->x += warps[k].x, all->y += warps[k].y;
    }
    return before;
}

enum { PACKED_GROUPS = PACKED_MAKE_BLOCK / PACKED_GROUP /* of a block */ };

/* The item of the lane's group; false: there is none. */
__device__ __forceinline__ bool packed_take_item(const packed_maker &m, uint32_t i, uint32_t end,
                                                 packed_item *item) {
    if (i < end) {
        *item = m.items[i];
    } else {
        item->cell = box3_empty();
        item->node = item->first = item->count = 0;
    }
    return i < end;
}

/* Items begin to end of a level are this block's: what their children add up to. */
__device__ __forceinline__ uint2 packed_count_part(const packed_maker &m, uint32_t begin,
                                                   uint32_t end) {
    uint2 mine = make_uint2(0, 0), all;
    for (uint32_t first = begin; first < end; first += PACKED_GROUPS) {
        packed_item item;
        packed_child child;
        uint32_t inner;
        const bool is = packed_take_item(m, first + threadIdx.x / PACKED_GROUP, end, &item);
        packed_child_find(m.from, item, is, child);
        const uint32_t units = packed_aligned(packed_group_units(child, &inner));
        if (is && packed_group_lane() == 0) mine.x += inner, mine.y += units;
    }
    packed_sum_before(mine, &all);
    return all;
}

/* The same items get their children's places, and those that are nodes become items; `next`: where
   this block's begin. */
__device__ __forceinline__ void packed_place_part(const packed_maker &m, uint32_t begin,
                                                  uint32_t end, uint2 next) {
    for (uint32_t first = begin; first < end; first += PACKED_GROUPS) {
        const uint32_t i = first + threadIdx.x / PACKED_GROUP;
        packed_item item;
        packed_child child;
        uint32_t inner = 0;
        const bool is = packed_take_item(m, i, end, &item), leads = packed_group_lane() == 0;
        packed_child_find(m.from, item, is, child);
        const uint32_t units = packed_aligned(packed_group_units(child, &inner));
        const uint32_t place = packed_group_place(m.from, item, child);
        uint2 mine = make_uint2(0, 0), all;
        if (is && leads) mine = make_uint2(inner, units);
        uint2 before = packed_sum_before(mine, &all);
        before.x = packed_from(before.x, 0), before.y = packed_from(before.y, 0);
        const uint32_t base = next.y + before.y;
        if (is && leads) m.places[i].y = base;
        if (child.is && child.triangles == 0) {
            const uint32_t to = next.x + before.x + place / PACKED_NODE_UNITS;
            m.items[to] = child.item;
            m.places[to].x = base + place;
        }
        next.x += all.x, next.y += all.y;
    }
}

/* By as many blocks as run together. */
__global__ __launch_bounds__(PACKED_MAKE_BLOCK) void packed_find_items(
    const __grid_constant__ packed_maker m) {
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    uint32_t begin = 0, end = 1, units = PACKED_NODE_UNITS, depth = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        m.items[0].cell.lo = vec3_all(-INFINITY);
        m.items[0].cell.hi = vec3_all(INFINITY);
        m.items[0].node = m.items[0].first = m.items[0].count = 0;
        m.places[0].x = 0;
    }
    grid.sync();
    while (begin < end && depth < PACKED_MAX_DEPTH) {
        const uint32_t part = (end - begin + gridDim.x - 1) / gridDim.x;
        const uint32_t from = min((uint64_t)begin + (uint64_t)part * blockIdx.x, (uint64_t)end),
                       to = min((uint64_t)from + part, (uint64_t)end);
        const uint2 sum = packed_count_part(m, from, to);
        if (threadIdx.x == 0) m.sums[blockIdx.x] = sum;
        grid.sync();
        uint2 before = make_uint2(0, 0), all = before, total, unused;
        for (uint32_t k = threadIdx.x; k < gridDim.x; k += PACKED_MAKE_BLOCK) {
            const uint2 other = __ldcg(m.sums + k);
            if (k < blockIdx.x) before.x += other.x, before.y += other.y;
            all.x += other.x, all.y += other.y;
        }
        packed_sum_before(before, &unused);
        packed_sum_before(all, &total);
        if ((uint64_t)units + total.y + PACKED_SPARE_UNITS > PACKED_MOST_UNITS ||
            (uint64_t)end + total.x > m.item_room)
            break;
        packed_place_part(m, from, to, make_uint2(end + unused.x, units + unused.y));
        begin = end, end += total.x, units += total.y;
        ++depth;
        grid.sync();
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        m.found->items = begin == end ? end : 0;
        m.found->units = begin == end ? units : 0;
        m.found->depth = depth;
    }
}

/* A leaf at `at`, and what is left of its units. */
__device__ __forceinline__ void packed_write_leaf(const packed_maker &m, const packed_item &item,
                                                  uint32_t triangles, uint4 *at) {
    const packed_leaf leaf = packed_leaf_make(&item, triangles);
    at[-2] = make_uint4(__float_as_uint(leaf.lo[0]), __float_as_uint(leaf.lo[1]),
                        __float_as_uint(leaf.lo[2]), __float_as_uint(leaf.hi[0]));
    at[-1] = make_uint4(__float_as_uint(leaf.hi[1]), __float_as_uint(leaf.hi[2]), leaf.count,
                        leaf.spare);
    for (uint32_t i = 0; i < triangles; ++i) {
        const packed_triangle row = packed_triangle_make(
            &m.from.tree, packed_leaf_id(&m.from, &item, i), i + 1 == triangles);
        for (int axis = 0; axis < 3; ++axis)
            *at++ = make_uint4(__float_as_uint(row.axis[axis].corner[0]),
                               __float_as_uint(row.axis[axis].corner[1]),
                               __float_as_uint(row.axis[axis].corner[2]), row.axis[axis].word);
    }
    if (triangles % 2) *at = make_uint4(0, 0, 0, 0);
}

__global__
__launch_bounds__(PACKED_MAKE_BLOCK) void packed_write(const __grid_constant__ packed_maker m) {
    __shared__ union {
        packed_node node;
        uint4 words[sizeof(packed_node) / sizeof(uint4)];
    } made[PACKED_GROUPS];
    const uint32_t group = threadIdx.x / PACKED_GROUP, me = packed_group_lane();
    const uint32_t i = blockIdx.x * PACKED_GROUPS + group;
    packed_item item;
    packed_child child;
    uint32_t inner = 0;
    const bool is = packed_take_item(m, i, m.found->items, &item);
    const uint2 at = is ? m.places[i] : make_uint2(0, 0);
    packed_child_find(m.from, item, is, child);
    const uint32_t place = packed_group_place(m.from, item, child);
    const uint32_t end = packed_group_units(child, &inner);
    packed_group_node(m.from, item, child, place, at.y, &made[group].node);
    __syncwarp();
    if (!is) return;
    uint4 *const units = (uint4 *)m.units;
    units[2 * (uint64_t)at.x + me] = made[group].words[me];
    if (child.is && child.triangles)
        packed_write_leaf(m, child.item, child.triangles, units + 2 * ((uint64_t)at.y + place));
    for (uint32_t k = 2 * end + me; k < 2 * packed_aligned(end); k += PACKED_GROUP)
        units[2 * (uint64_t)at.y + k] = make_uint4(0, 0, 0, 0);
}

#endif
