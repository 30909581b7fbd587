/* Kernels that build the compressed form from a refined and measured k-d tree in device memory; the
   result equals that of tests/accel/packed_oracle.h.
   Idea: packed_cuts.cuh has split leaves further, and packed_measures.cuh has computed the plans of
   all subtrees. Items (future nodes) are found from the root down, level by level, by one
   cooperative grid. Each block takes a part of the level and finds its items' children, which are
   stored; a prefix sum over the blocks then assigns offsets, so that the layout does not depend on
   scheduling. Finally eight lanes write each node.
   Memory: scratch of 396 bytes per node of the compressed form that is planned for.
   Data flow: packed_find_items, one grid, level by level: subtrees -> items and their units;
   packed_write, eight lanes per item: items, subtrees, corners -> units. In this order. */
#ifndef KD_ACCEL_WIDE_PACKED_STAGES_CUH
#define KD_ACCEL_WIDE_PACKED_STAGES_CUH
#include "accel/wide/packed_cuts.cuh"
#include "accel/wide/packed_group.cuh"
#include "accel/wide/packed_measures.cuh"
#include "accel/wide/packed_node.h"
#include <cooperative_groups.h>

/* Result of packed_find_items, for the host. */
typedef struct packed_found {
    /* units 0: the tree has no compressed form, or the capacity is too small */
    uint32_t items, units;
    uint32_t depth;
    uint32_t wanted; /* capacity for items that is needed at least; 0: sufficed */
    uint32_t fits;   /* 0: the capacity for the refined tree was too small */
} packed_found;

typedef struct packed_maker {
    packed_source from;
    uint4 *children;   /* three arrays of PACKED_GROUP per item: packed_child_store */
    uint32_t *origins; /* per item: its index in `children`; undefined for the root */
    /* per item: its unit; that of its block of children, before that their number and units */
    uint2 *places;
    uint2 *sums; /* per block: nodes and units that its part of a level adds */
    uint32_t item_capacity;
    const packed_cut_counts *counts; /* of the refined tree, which had these capacities: */
    uint64_t node_capacity, reference_capacity;
    packed_found *found;
    uint8_t *units;
} packed_maker;

/* Returns the exclusive prefix sum over the block's threads; *all: the total. */
__device__ __forceinline__ uint2 packed_sum_before(uint2 mine, uint2 *all) {
    __shared__ uint2 warps[PACKED_MAKE_BLOCK / 32];
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    uint2 upto = mine;
    for (int step = 1; step < 32; step <<= 1) {
        const uint32_t x = __shfl_up_sync(~0u, upto.x, step), y = __shfl_up_sync(~0u, upto.y, step);
        if (lane >= (uint32_t)step) upto.x += x, upto.y += y;
    }
    __syncthreads(); /* protects `warps` from the previous call */
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

enum { PACKED_GROUPS = PACKED_MAKE_BLOCK / PACKED_GROUP /* per block */ };

/* --- Stored children of items ---
   Per lane: the six coordinates of the cell, node, {present, lane, triangles, offset}; references;
   one of the node's orders. */

__device__ __forceinline__ uint4 *packed_children_at(const packed_maker &m, int part) {
    return m.children + (uint64_t)part * PACKED_GROUP * m.item_capacity;
}

__device__ __forceinline__ void packed_child_store(const packed_maker &m, uint32_t item,
                                                   const packed_child &c, uint32_t place,
                                                   uint32_t order) {
    const uint64_t at = (uint64_t)PACKED_GROUP * item + packed_group_lane();
    const box3 &cell = c.item.cell;
    const uint32_t info = c.is ? 1u << 31 | c.lane << 16 | c.triangles << 8 | place : 0;
    packed_children_at(m, 0)[at] =
        make_uint4(__float_as_uint(cell.lo.x), __float_as_uint(cell.lo.y),
                   __float_as_uint(cell.lo.z), __float_as_uint(cell.hi.x));
    packed_children_at(m, 1)[at] =
        make_uint4(__float_as_uint(cell.hi.y), __float_as_uint(cell.hi.z), c.item.node, info);
    packed_children_at(m, 2)[at] = make_uint4(c.item.first, c.item.count, order, 0);
}

/* Loads a child; returns its offset, and its order in *order. */
__device__ __forceinline__ uint32_t packed_child_load(const packed_maker &m, uint64_t at,
                                                      packed_child &c, uint32_t *order) {
    const uint4 low = packed_children_at(m, 0)[at], high = packed_children_at(m, 1)[at],
                rest = packed_children_at(m, 2)[at];
    c.item.cell.lo =
        vec3_make(__uint_as_float(low.x), __uint_as_float(low.y), __uint_as_float(low.z));
    c.item.cell.hi =
        vec3_make(__uint_as_float(low.w), __uint_as_float(high.x), __uint_as_float(high.y));
    c.item.node = high.z;
    c.item.first = rest.x;
    c.item.count = rest.y;
    c.is = high.w >> 31;
    c.lane = high.w >> 16 & 255;
    c.triangles = high.w >> 8 & 255;
    c.steps = 0;
    *order = rest.z;
    return high.w & 255;
}

/* Returns the item of the lane's group, if `is`. */
__device__ __forceinline__ packed_item packed_item_of(const packed_maker &m, uint32_t i, bool is) {
    packed_child from;
    uint32_t order;
    from.item.cell.lo = vec3_all(-INFINITY);
    from.item.cell.hi = vec3_all(INFINITY);
    from.item.node = from.item.first = from.item.count = 0;
    if (is && i) packed_child_load(m, m.origins[i], from, &order);
    return from.item;
}

/* Finds and stores the children of items begin to end, which are this block's part of a level.
   Returns the sums of nodes and units. */
__device__ __forceinline__ uint2 packed_find_part(const packed_maker &m, uint32_t begin,
                                                  uint32_t end) {
    uint2 mine = make_uint2(0, 0), all;
    for (uint32_t first = begin; first < end; first += PACKED_GROUPS) {
        const uint32_t i = first + threadIdx.x / PACKED_GROUP;
        const bool is = i < end;
        const packed_item item = packed_item_of(m, i, is);
        packed_child child;
        uint32_t inner;
        packed_child_find(m.from, item, is, child);
        packed_child_box(m.from, item.count > 0, child);
        const uint32_t units = packed_aligned(packed_group_units(child, &inner));
        const uint32_t place = packed_group_place(item, child);
        const uint32_t order = packed_group_orders(item, child);
        if (is) packed_child_store(m, i, child, place, order);
        if (is && packed_group_lane() == 0) {
            m.places[i].y = inner << 16 | units;
            mine.x += inner, mine.y += units;
        }
    }
    packed_sum_before(mine, &all);
    return all;
}

/* Makes the children of item i that are nodes the items from next.x on; the block of children
   begins at unit next.y. */
__device__ __forceinline__ void packed_place_children(const packed_maker &m, uint32_t i,
                                                      uint2 next) {
    const uint64_t at = (uint64_t)PACKED_GROUP * i + packed_group_lane();
    const uint32_t info = packed_children_at(m, 1)[at].w, place = info & 255;
    if (packed_group_lane() == 0) m.places[i].y = next.y;
    if (!(info >> 31) || (info >> 8 & 255)) return;
    const uint32_t to = next.x + place / PACKED_NODE_UNITS;
    m.origins[to] = (uint32_t)at;
    m.places[to].x = next.y + place;
}

/* Assigns offsets to the children of the same items; `next`: where this block's begin. */
__device__ __forceinline__ void packed_place_part(const packed_maker &m, uint32_t begin,
                                                  uint32_t end, uint2 next) {
    __shared__ uint2 from[PACKED_MAKE_BLOCK];
    for (uint32_t first = begin; first < end; first += PACKED_MAKE_BLOCK) {
        const uint32_t i = first + threadIdx.x, packed = i < end ? m.places[i].y : 0;
        uint2 all;
        const uint2 before = packed_sum_before(make_uint2(packed >> 16, packed & 0xffff), &all);
        from[threadIdx.x] = make_uint2(next.x + before.x, next.y + before.y);
        __syncthreads();
        for (uint32_t k = threadIdx.x / PACKED_GROUP; k < PACKED_MAKE_BLOCK && first + k < end;
             k += PACKED_GROUPS)
            packed_place_children(m, first + k, from[k]);
        next.x += all.x, next.y += all.y;
    }
}

/* Cooperative: all blocks must be resident. */
__global__ __launch_bounds__(PACKED_MAKE_BLOCK) void packed_find_items(
    const __grid_constant__ packed_maker m) {
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    const bool fits = m.counts->nodes <= m.node_capacity && m.counts->references <= m.reference_capacity;
    uint32_t begin = 0, end = fits ? 1 : 0, units = PACKED_NODE_UNITS, depth = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0) m.places[0].x = m.found->wanted = 0;
    grid.sync();
    while (begin < end && depth < PACKED_MAX_DEPTH) {
        const uint32_t part = (end - begin + gridDim.x - 1) / gridDim.x;
        const uint32_t from = min((uint64_t)begin + (uint64_t)part * blockIdx.x, (uint64_t)end),
                       to = min((uint64_t)from + part, (uint64_t)end);
        const uint2 sum = packed_find_part(m, from, to);
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
        if ((uint64_t)units + total.y + PACKED_SPARE_UNITS > PACKED_MAX_UNITS) break;
        if ((uint64_t)end + total.x > m.item_capacity) {
            if (blockIdx.x == 0 && threadIdx.x == 0) m.found->wanted = end + total.x;
            break;
        }
        packed_place_part(m, from, to, make_uint2(end + unused.x, units + unused.y));
        begin = end, end += total.x, units += total.y;
        ++depth;
        grid.sync();
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        m.found->items = begin == end ? end : 0;
        m.found->units = begin == end && fits ? units : 0;
        m.found->fits = fits;
        m.found->depth = depth;
    }
}

/* --- Writing nodes and leaves --- */

/* The leaves of a group's node. All lanes of the group write triangles, whichever leaf they belong
   to. */
struct packed_leaves {
    const uint32_t *ids[PACKED_GROUP]; /* per leaf: its triangles */
    uint32_t units[PACKED_GROUP];      /* per leaf: its unit */
    uint8_t begin[PACKED_GROUP], count[PACKED_GROUP];
    /* per triangle of all leaves: its leaf's lane */
    uint8_t owner[PACKED_GROUP * PACKED_LEAF_MAX];
};

__device__ __forceinline__ const uint32_t *packed_leaf_ids(const packed_source &from,
                                                           const packed_item &of) {
    if (of.count) return from.tree.references + of.first;
    const tritree_node node = from.at[of.node].node;
    if (tritree_is_leaf(node)) return from.tree.references + tritree_first(node);
    return from.at[of.node].ids;
}

/* Lists the triangles of the group's leaves and returns their number. `unit`: that of the lane's
   leaf, if it has one. All lanes of a warp must call it. */
__device__ __forceinline__ uint32_t packed_list_triangles(const packed_source &from,
                                                          const packed_child &c, uint32_t unit,
                                                          packed_leaves &out) {
    const uint32_t me = packed_group_lane(), mine = c.is ? c.triangles : 0;
    uint32_t upto = mine;
    for (int step = 1; step < PACKED_GROUP; step <<= 1) {
        const uint32_t lower = __shfl_up_sync(~0u, upto, step, PACKED_GROUP);
        if (me >= (uint32_t)step) upto += lower;
    }
    if (mine) {
        out.ids[me] = packed_leaf_ids(from, c.item);
        out.units[me] = unit;
        out.begin[me] = (uint8_t)(upto - mine);
        out.count[me] = (uint8_t)mine;
        for (uint32_t k = upto - mine; k < upto; ++k) out.owner[k] = (uint8_t)me;
    }
    return packed_from(upto, PACKED_GROUP - 1);
}

/* Writes the leaf's header and zeroes the padding of its last unit. */
__device__ __forceinline__ void packed_write_cell(const packed_child &c, uint4 *at) {
    const packed_leaf leaf = packed_leaf_make(&c.item, c.triangles);
    at[-2] = make_uint4(__float_as_uint(leaf.lo[0]), __float_as_uint(leaf.lo[1]),
                        __float_as_uint(leaf.lo[2]), __float_as_uint(leaf.hi[0]));
    at[-1] = make_uint4(__float_as_uint(leaf.hi[1]), __float_as_uint(leaf.hi[2]), leaf.count,
                        leaf.spare);
    if (c.triangles % 2) at[3 * c.triangles] = make_uint4(0, 0, 0, 0);
}

__device__ __forceinline__ void packed_write_triangle(const packed_maker &m,
                                                      const packed_leaves &leaves, uint32_t k) {
    const uint32_t leaf = leaves.owner[k], i = k - leaves.begin[leaf];
    const packed_triangle row =
        packed_triangle_make(&m.from.tree, leaves.ids[leaf][i], i + 1 == leaves.count[leaf]);
    uint4 *const to = (uint4 *)m.units + 2 * (uint64_t)leaves.units[leaf] + 3 * i;
    for (int axis = 0; axis < 3; ++axis)
        to[axis] = make_uint4(__float_as_uint(row.axis[axis].corner[0]),
                              __float_as_uint(row.axis[axis].corner[1]),
                              __float_as_uint(row.axis[axis].corner[2]), row.axis[axis].word);
}

__global__
__launch_bounds__(PACKED_MAKE_BLOCK) void packed_write(const __grid_constant__ packed_maker m) {
    __shared__ union {
        packed_node node;
        uint4 words[sizeof(packed_node) / sizeof(uint4)];
    } made[PACKED_GROUPS];
    __shared__ packed_leaves leaves[PACKED_GROUPS];
    const uint32_t group = threadIdx.x / PACKED_GROUP, me = packed_group_lane();
    const uint32_t i = blockIdx.x * PACKED_GROUPS + group;
    packed_child child;
    uint32_t inner = 0, order = 0, place = 0;
    const bool is = i < m.found->items;
    const uint2 at = is ? m.places[i] : make_uint2(0, 0);
    const bool shares = packed_item_of(m, i, is).count > 0;
    child.is = false;
    child.triangles = 0;
    if (is) place = packed_child_load(m, (uint64_t)PACKED_GROUP * i + me, child, &order);
    __syncwarp();
    child.all = packed_group_ballot(child.is);
    packed_child_box(m.from, shares, child);
    const uint32_t end = packed_group_units(child, &inner);
    packed_group_node(m.from, child, place, at.y, order, &made[group].node);
    const uint32_t triangles = packed_list_triangles(m.from, child, at.y + place, leaves[group]);
    __syncwarp();
    if (!is) return;
    uint4 *const units = (uint4 *)m.units;
    units[2 * (uint64_t)at.x + me] = made[group].words[me];
    for (uint32_t k = me; k < triangles; k += PACKED_GROUP)
        packed_write_triangle(m, leaves[group], k);
    if (child.is && child.triangles) packed_write_cell(child, units + 2 * ((uint64_t)at.y + place));
    for (uint32_t k = 2 * end + me; k < 2 * packed_aligned(end); k += PACKED_GROUP)
        units[2 * (uint64_t)at.y + k] = make_uint4(0, 0, 0, 0);
}

#endif
