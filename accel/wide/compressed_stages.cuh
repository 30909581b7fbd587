/* Kernels that build the compressed form from a refined and measured k-d tree in device memory; the
   result equals that of tests/accel/compressed_reference.h.
   Idea: compressed_cuts.cuh has split leaves further, and compressed_measures.cuh has computed the
   plans of all subtrees. Items (future nodes) are found from the root down, level by level, by one
   cooperative grid. Each block takes a part of the level and finds its items' children, which are
   stored; a prefix sum over the blocks then assigns offsets, so that the layout does not depend on
   scheduling. Finally eight lanes write each node.
   Memory: scratch of 396 bytes per node of the compressed form that is planned for.
   Data flow: compressed_find_items, one grid, level by level: subtrees -> items and their units;
   compressed_write, eight lanes per item: items, subtrees, corners -> units. In this order. */
#ifndef KD_ACCEL_WIDE_COMPRESSED_STAGES_CUH
#define KD_ACCEL_WIDE_COMPRESSED_STAGES_CUH
#include "accel/wide/compressed_cuts.cuh"
#include "accel/wide/compressed_group.cuh"
#include "accel/wide/compressed_measures.cuh"
#include "accel/wide/compressed_node.h"
#include <cooperative_groups.h>

/* Result of compressed_find_items, for the host. */
typedef struct compressed_found {
    /* units: the end of the last block; 0: the tree has no compressed form, or the capacity is too
       small */
    uint32_t items, units;
    uint32_t depth;
    uint32_t needed; /* minimum capacity for items that is needed; 0: the capacity sufficed */
    uint32_t fits;   /* 0: the capacity for the refined tree was too small */
} compressed_found;

typedef struct compressed_maker {
    compressed_source source;
    box3 cell;           /* cell of the root; infinite on sides without a plane */
    uint32_t first_unit; /* first unit of the root */
    uint4 *children;     /* three arrays of COMPRESSED_GROUP per item: compressed_child_store */
    uint32_t *origins;   /* per item: its index in `children`; undefined for the root */
    /* per item: its unit; the unit of its block of children, or, until that is known, the number
       and units of the children */
    uint2 *places;
    uint2 *sums; /* per block: nodes and units that its part of a level adds */
    uint32_t item_capacity;
    const compressed_cut_counts *counts; /* of the refined tree, which had these capacities: */
    uint64_t node_capacity, reference_capacity, box_capacity;
    compressed_found *results;
    uint8_t *units;
} compressed_maker;

/* Returns the exclusive prefix sum over the block's threads; *all: the total. */
__device__ __forceinline__ uint2 compressed_sum_before(uint2 sums, uint2 *all) {
    __shared__ uint2 warps[COMPRESSED_MAKE_BLOCK / 32];
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    uint2 upto = sums;
    for (int step = 1; step < 32; step <<= 1) {
        const uint32_t x = __shfl_up_sync(~0u, upto.x, step), y = __shfl_up_sync(~0u, upto.y, step);
        if (lane >= (uint32_t)step) upto.x += x, upto.y += y;
    }
    __syncthreads(); /* protects `warps` from the previous call */
    if (lane == 31) warps[warp] = upto;
    __syncthreads();
    *all = make_uint2(0, 0);
    uint2 before = make_uint2(upto.x - sums.x, upto.y - sums.y);
    for (uint32_t k = 0; k < COMPRESSED_MAKE_BLOCK / 32; ++k) {
        if (k < warp) before.x += warps[k].x, before.y += warps[k].y;
        all->x += warps[k].x, all->y += warps[k].y;
    }
    return before;
}

enum { COMPRESSED_GROUPS = COMPRESSED_MAKE_BLOCK / COMPRESSED_GROUP /* per block */ };

/* --- Stored children of items ---
   Per lane: the six coordinates of the cell, node, {present, lane, triangles, offset}; references;
   one of the node's orders. */

__device__ __forceinline__ uint4 *compressed_children_at(const compressed_maker &m, int part) {
    return m.children + (uint64_t)part * COMPRESSED_GROUP * m.item_capacity;
}

__device__ __forceinline__ void compressed_child_store(const compressed_maker &m, uint32_t item,
                                                       const compressed_child &c, uint32_t place,
                                                       uint32_t order) {
    const uint64_t at = (uint64_t)COMPRESSED_GROUP * item + compressed_group_lane();
    const box3 &cell = c.item.cell;
    const uint32_t info = c.is ? 1u << 31 | c.lane << 16 | c.triangles << 8 | place : 0;
    compressed_children_at(m, 0)[at] =
        make_uint4(__float_as_uint(cell.lo.x), __float_as_uint(cell.lo.y),
                   __float_as_uint(cell.lo.z), __float_as_uint(cell.hi.x));
    compressed_children_at(m, 1)[at] =
        make_uint4(__float_as_uint(cell.hi.y), __float_as_uint(cell.hi.z), c.item.node, info);
    compressed_children_at(m, 2)[at] = make_uint4(c.item.first, c.item.count, order, 0);
}

/* Loads a child; returns its offset, and its order in *order. */
__device__ __forceinline__ uint32_t compressed_child_load(const compressed_maker &m, uint64_t at,
                                                          compressed_child &c, uint32_t *order) {
    const uint4 low = compressed_children_at(m, 0)[at], high = compressed_children_at(m, 1)[at],
                rest = compressed_children_at(m, 2)[at];
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

/* Returns item i, that of the lane's group, if there is one (`is`). */
__device__ __forceinline__ compressed_item compressed_item_of(const compressed_maker &m, uint32_t i,
                                                              bool is) {
    compressed_child from;
    uint32_t order;
    from.item.cell = m.cell;
    from.item.node = from.item.first = from.item.count = 0;
    if (is && i) compressed_child_load(m, m.origins[i], from, &order);
    return from.item;
}

/* Finds and stores the children of items begin to end, which are this block's part of a level.
   Returns the sums of nodes and units. */
__device__ __forceinline__ uint2 compressed_find_part(const compressed_maker &m, uint32_t begin,
                                                      uint32_t end) {
    uint2 sums = make_uint2(0, 0), all;
    for (uint32_t first = begin; first < end; first += COMPRESSED_GROUPS) {
        const uint32_t i = first + threadIdx.x / COMPRESSED_GROUP;
        const bool is = i < end;
        const compressed_item item = compressed_item_of(m, i, is);
        compressed_child child;
        uint32_t inner;
        compressed_child_find(m.source, item, is, child);
        compressed_child_box(m.source, item.count > 0, child);
        const uint32_t units =
            compressed_aligned(&m.source, compressed_group_units(m.source, child, &inner));
        const uint32_t place = compressed_group_place(m.source, item, child);
        const uint32_t order = compressed_group_orders(item, child);
        if (is) compressed_child_store(m, i, child, place, order);
        if (is && compressed_group_lane() == 0) {
            m.places[i].y = inner << 16 | units;
            sums.x += inner, sums.y += units;
        }
    }
    compressed_sum_before(sums, &all);
    return all;
}

/* Turns those children of item i that are nodes into the items from next.x on; the block of
   children begins at unit next.y. */
__device__ __forceinline__ void compressed_place_children(const compressed_maker &m, uint32_t i,
                                                          uint2 next) {
    const uint64_t at = (uint64_t)COMPRESSED_GROUP * i + compressed_group_lane();
    const uint32_t info = compressed_children_at(m, 1)[at].w, place = info & 255;
    if (compressed_group_lane() == 0) m.places[i].y = next.y;
    if (!(info >> 31) || (info >> 8 & 255)) return;
    const uint32_t to = next.x + place / COMPRESSED_NODE_UNITS;
    m.origins[to] = (uint32_t)at;
    m.places[to].x = next.y + place;
}

/* Assigns offsets to the children of the same items; `next` holds the first offsets of this
   block. */
__device__ __forceinline__ void compressed_place_part(const compressed_maker &m, uint32_t begin,
                                                      uint32_t end, uint2 next) {
    __shared__ uint2 from[COMPRESSED_MAKE_BLOCK];
    for (uint32_t first = begin; first < end; first += COMPRESSED_MAKE_BLOCK) {
        const uint32_t i = first + threadIdx.x, compressed = i < end ? m.places[i].y : 0;
        uint2 all;
        const uint2 before =
            compressed_sum_before(make_uint2(compressed >> 16, compressed & 0xffff), &all);
        from[threadIdx.x] = make_uint2(next.x + before.x, next.y + before.y);
        __syncthreads();
        for (uint32_t k = threadIdx.x / COMPRESSED_GROUP;
             k < COMPRESSED_MAKE_BLOCK && first + k < end; k += COMPRESSED_GROUPS)
            compressed_place_children(m, first + k, from[k]);
        next.x += all.x, next.y += all.y;
    }
}

/* Cooperative: all blocks must be resident. */
__global__ __launch_bounds__(COMPRESSED_MAKE_BLOCK) void compressed_find_items(
    const __grid_constant__ compressed_maker m) {
    const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    const bool fits = m.counts->nodes <= m.node_capacity &&
                      m.counts->references <= m.reference_capacity &&
                      m.counts->boxes <= m.box_capacity;
    uint32_t begin = 0, end = fits ? 1 : 0, units = m.first_unit + COMPRESSED_NODE_UNITS, depth = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        m.places[0].x = m.first_unit;
        m.results->needed = 0;
    }
    grid.sync();
    while (begin < end && depth < COMPRESSED_MAX_DEPTH) {
        const uint32_t part = (end - begin + gridDim.x - 1) / gridDim.x;
        const uint32_t from = min((uint64_t)begin + (uint64_t)part * blockIdx.x, (uint64_t)end),
                       to = min((uint64_t)from + part, (uint64_t)end);
        const uint2 sum = compressed_find_part(m, from, to);
        if (threadIdx.x == 0) m.sums[blockIdx.x] = sum;
        grid.sync();
        uint2 before = make_uint2(0, 0), all = before, total, unused;
        for (uint32_t k = threadIdx.x; k < gridDim.x; k += COMPRESSED_MAKE_BLOCK) {
            const uint2 other = __ldcg(m.sums + k);
            if (k < blockIdx.x) before.x += other.x, before.y += other.y;
            all.x += other.x, all.y += other.y;
        }
        compressed_sum_before(before, &unused);
        compressed_sum_before(all, &total);
        if ((uint64_t)units + total.y + COMPRESSED_SPARE_UNITS >
            compressed_units_max(m.source.alignment))
            break;
        if ((uint64_t)end + total.x > m.item_capacity) {
            if (blockIdx.x == 0 && threadIdx.x == 0) m.results->needed = end + total.x;
            break;
        }
        compressed_place_part(m, from, to, make_uint2(end + unused.x, units + unused.y));
        begin = end, end += total.x, units += total.y;
        ++depth;
        grid.sync();
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        m.results->items = begin == end ? end : 0;
        m.results->units = begin == end && fits ? units : 0;
        m.results->fits = fits;
        m.results->depth = depth;
    }
}

/* --- Writing nodes and leaves --- */

/* The leaves of a group's node. All lanes of the group write triangles, whichever leaf they belong
   to. */
struct compressed_leaves {
    const uint32_t *ids[COMPRESSED_GROUP]; /* per leaf: its triangles */
    uint32_t units[COMPRESSED_GROUP];      /* per leaf: its unit */
    uint8_t begin[COMPRESSED_GROUP], count[COMPRESSED_GROUP];
    /* per triangle of all leaves: its leaf's lane */
    uint8_t owner[COMPRESSED_GROUP * COMPRESSED_LEAF_MAX];
};

__device__ __forceinline__ const uint32_t *compressed_leaf_ids(const compressed_source &source,
                                                               const compressed_item &item) {
    if (item.count) return source.tree.references + item.first;
    const tritree_node node = source.at[item.node].node;
    if (tritree_is_leaf(node)) return source.tree.references + tritree_first(node);
    return source.at[item.node].ids;
}

/* Lists the triangles of the group's leaves and returns their number. `unit`: that of the lane's
   leaf, if it has one. All lanes of a warp must call it. */
__device__ __forceinline__ uint32_t compressed_list_triangles(const compressed_source &source,
                                                              const compressed_child &c,
                                                              uint32_t unit,
                                                              compressed_leaves &out) {
    const uint32_t me = compressed_group_lane(), triangles = c.is ? c.triangles : 0;
    uint32_t upto = triangles;
    for (int step = 1; step < COMPRESSED_GROUP; step <<= 1) {
        const uint32_t lower = __shfl_up_sync(~0u, upto, step, COMPRESSED_GROUP);
        if (me >= (uint32_t)step) upto += lower;
    }
    if (triangles) {
        out.ids[me] = compressed_leaf_ids(source, c.item);
        out.units[me] = unit;
        out.begin[me] = (uint8_t)(upto - triangles);
        out.count[me] = (uint8_t)triangles;
        for (uint32_t k = upto - triangles; k < upto; ++k) out.owner[k] = (uint8_t)me;
    }
    return compressed_from(upto, COMPRESSED_GROUP - 1);
}

/* Writes the leaf's header, but not an indexed leaf's list, and zeroes the padding of its last
   unit. */
__device__ __forceinline__ void compressed_write_child(const compressed_source &source,
                                                       const compressed_child &c, uint4 *at) {
    if (source.indexed) {
        const compressed_indexed_leaf leaf = compressed_indexed_leaf_make(&source, &c.item);
        at[-2] = make_uint4(leaf.planes[0], leaf.planes[1], leaf.planes[2], leaf.planes[3]);
        for (uint32_t k = c.triangles; (k + 4) % 8; ++k) ((uint32_t *)(at - 1))[k] = 0;
        return;
    }
    const compressed_leaf leaf = compressed_leaf_make(&c.item);
    at[-2] = make_uint4(__float_as_uint(leaf.lo[0]), __float_as_uint(leaf.lo[1]),
                        __float_as_uint(leaf.lo[2]), __float_as_uint(leaf.hi[0]));
    at[-1] = make_uint4(__float_as_uint(leaf.hi[1]), __float_as_uint(leaf.hi[2]), 0, 0);
    if (c.triangles % 2) at[3 * c.triangles] = make_uint4(0, 0, 0, 0);
}

__device__ __forceinline__ void
compressed_write_triangle(const compressed_maker &m, const compressed_leaves &leaves, uint32_t k) {
    const uint32_t leaf = leaves.owner[k], i = k - leaves.begin[leaf], id = leaves.ids[leaf][i];
    const bool last = i + 1 == leaves.count[leaf];
    uint4 *const at = (uint4 *)m.units + 2 * (uint64_t)leaves.units[leaf], *const to = at + 3 * i;
    if (m.source.indexed) {
        ((uint32_t *)at - 4)[i] = id | (last ? COMPRESSED_LAST : 0);
        return;
    }
    const compressed_triangle row = compressed_triangle_make(&m.source.tree, id, last);
    for (int axis = 0; axis < 3; ++axis)
        to[axis] = make_uint4(__float_as_uint(row.axis[axis].corner[0]),
                              __float_as_uint(row.axis[axis].corner[1]),
                              __float_as_uint(row.axis[axis].corner[2]), row.axis[axis].word);
}

__global__ __launch_bounds__(COMPRESSED_MAKE_BLOCK) void compressed_write(
    const __grid_constant__ compressed_maker m) {
    __shared__ union {
        compressed_node node;
        uint4 words[sizeof(compressed_node) / sizeof(uint4)];
    } made[COMPRESSED_GROUPS];
    __shared__ compressed_leaves leaves[COMPRESSED_GROUPS];
    const uint32_t group = threadIdx.x / COMPRESSED_GROUP, me = compressed_group_lane();
    const uint32_t i = blockIdx.x * COMPRESSED_GROUPS + group;
    compressed_child child;
    uint32_t inner = 0, order = 0, place = 0;
    const bool is = i < m.results->items;
    const uint2 at = is ? m.places[i] : make_uint2(0, 0);
    const bool shares = compressed_item_of(m, i, is).count > 0;
    child.is = false;
    child.triangles = 0;
    if (is) place = compressed_child_load(m, (uint64_t)COMPRESSED_GROUP * i + me, child, &order);
    __syncwarp();
    child.all = compressed_group_ballot(child.is);
    compressed_child_box(m.source, shares, child);
    const uint32_t end = compressed_group_units(m.source, child, &inner);
    compressed_group_node(m.source, child, place, at.y, order, &made[group].node);
    const uint32_t triangles =
        compressed_list_triangles(m.source, child, at.y + place, leaves[group]);
    __syncwarp();
    if (!is) return;
    uint4 *const units = (uint4 *)m.units;
    units[2 * (uint64_t)at.x + me] = made[group].words[me];
    for (uint32_t k = me; k < triangles; k += COMPRESSED_GROUP)
        compressed_write_triangle(m, leaves[group], k);
    if (child.is && child.triangles)
        compressed_write_child(m.source, child, units + 2 * ((uint64_t)at.y + place));
    for (uint32_t k = 2 * end + me; k < 2 * compressed_aligned(&m.source, end);
         k += COMPRESSED_GROUP)
        units[2 * (uint64_t)at.y + k] = make_uint4(0, 0, 0, 0);
}

#endif
