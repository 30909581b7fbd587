/* Kernels that split the leaves of a k-d tree in device memory further (compressed_measure.h);
   equivalent to tests/accel/compressed_reference.h.
   Idea: the refined tree starts with the nodes of the given one. The leaves of the given tree are
   the first parts, and the two sides of each split are further parts. There are two lists, so that
   lanes do the same work: parts that may be split, one level per launch; and parts that only need a
   box, all in the last launch. A warp takes 32 parts. The boxes of their triangles are computed one
   per lane, regardless of the part, and kept in shared memory, as are the best candidate planes.
   The lane of a part writes its children, or, if it is not split, its measure. New nodes and
   references are stored in the order in which warps reach them; the compressed form does not depend
   on it.
   Memory: that of compressed_measures.cuh. An array whose capacity is exceeded is not written any
   more, and the host retries with more memory.
   Data flow: compressed_list_parents, one thread per node: tree -> the parents of pairs;
   compressed_list_leaves, one thread per node: leaves, parents -> parts; compressed_large_leaves,
   one warp each: leaves of many triangles -> their subtrees; compressed_cut_level, one launch per
   level, 32 parts per warp: parts, corners -> further parts and references, subtrees of leaves. In
   this order. */
#ifndef KD_ACCEL_WIDE_COMPRESSED_CUTS_CUH
#define KD_ACCEL_WIDE_COMPRESSED_CUTS_CUH
#include "accel/wide/compressed_measures.cuh"

enum { COMPRESSED_TILE_BOXES = 224 /* boxes in shared memory per warp */ };

__global__ __launch_bounds__(COMPRESSED_MAKE_BLOCK) void compressed_list_parents(
    const __grid_constant__ compressed_cutter c) {
    const uint32_t i = blockIdx.x * COMPRESSED_MAKE_BLOCK + threadIdx.x;
    if (i == 0) {
        c.counts->nodes = c.tree.node_count;
        c.counts->references = c.tree.reference_count;
        c.counts->cut = c.counts->kept = c.counts->large = c.counts->pairs = 0;
    }
    if (i >= c.tree.node_count) return;
    const tritree_node node = c.tree.nodes[i];
    if (tritree_is_leaf(node)) return;
    const uint32_t pair = compressed_pair_of(tritree_left(node));
    c.up[pair] = make_uint2(float_bits(node.split), i << 2 | (uint32_t)tritree_axis(node));
    c.report[pair] = 0;
}

/* Reserves an entry for the lane's part, if it has one: in the list of parts that may be split, or
   in the other list. All lanes of a warp must call it. */
__device__ __forceinline__ compressed_part_task *compressed_part_place(const compressed_cutter &c,
                                                                       bool cut, bool kept) {
    const unsigned long long place = compressed_take(&c.counts->cut, cut ? 1 : 0),
                             behind = compressed_take(&c.counts->kept, kept ? 1 : 0);
    return c.parts + (cut ? place : c.part_capacity - 1 - behind);
}

__device__ __forceinline__ void compressed_store_empty(const compressed_cutter &c, uint32_t at,
                                                       tritree_node leaf) {
    const uint32_t none[COMPRESSED_FEW] = {KD_NONE, KD_NONE, KD_NONE, KD_NONE};
    const float cost[COMPRESSED_CHILDREN] = {0, 0, 0, 0, 0, 0, 0, 0};
    compressed_store(c.at + at, leaf, COMPRESSED_EMPTY, none, box3_empty());
    compressed_store_costs(c.costs + at, cost);
}

__global__ __launch_bounds__(COMPRESSED_MAKE_BLOCK) void compressed_list_leaves(
    const __grid_constant__ compressed_cutter c) {
    const uint32_t i = blockIdx.x * COMPRESSED_MAKE_BLOCK + threadIdx.x;
    uint32_t count = 0;
    tritree_node node;
    if (i < c.tree.node_count && tritree_is_leaf(node = c.tree.nodes[i])) {
        count = tritree_count(node);
        if (count == 0) compressed_store_empty(c, i, node);
    }
    __syncwarp();
    const bool cut = compressed_may_be_finer(count, true, 0);
    const bool is_large = count > COMPRESSED_FINER_MAX;
    compressed_part_task *const to = compressed_part_place(c, cut, count && !cut && !is_large);
    const unsigned long long large = compressed_take(&c.counts->large, is_large ? 1 : 0);
    if (is_large) c.large[large] = i;
    if (count == 0 || is_large) return;
    compressed_part_task part;
    part.cell = compressed_child_of(c, i);
    part.first = tritree_first(node);
    part.which = (1u << count) - 1;
    part.node = i;
    *to = part;
}

/* Measures leaves too large to be split, one warp each. */
__global__ __launch_bounds__(COMPRESSED_MAKE_BLOCK) void compressed_large_leaves(
    const __grid_constant__ compressed_cutter c) {
    const uint32_t warps = gridDim.x * (COMPRESSED_MAKE_BLOCK / 32), lane = threadIdx.x & 31;
    for (uint32_t i = blockIdx.x * (COMPRESSED_MAKE_BLOCK / 32) + threadIdx.x / 32;
         i < c.counts->large; i += warps) {
        const uint32_t at = c.large[i];
        const tritree_node leaf = c.tree.nodes[at];
        const box3 cell = compressed_child_of(c, at);
        box3 box = box3_empty();
        for (uint32_t k = lane; k < tritree_count(leaf); k += 32)
            box3_join(&box,
                      compressed_cut_id(&c.tree, c.tree.references[tritree_first(leaf) + k], cell));
        __syncwarp();
        for (int step = 1; step < 32; step <<= 1) {
            box3 other;
            other.lo.x = __shfl_xor_sync(~0u, box.lo.x, step);
            other.lo.y = __shfl_xor_sync(~0u, box.lo.y, step);
            other.lo.z = __shfl_xor_sync(~0u, box.lo.z, step);
            other.hi.x = __shfl_xor_sync(~0u, box.hi.x, step);
            other.hi.y = __shfl_xor_sync(~0u, box.hi.y, step);
            other.hi.z = __shfl_xor_sync(~0u, box.hi.z, step);
            box3_join(&box, other);
        }
        if (lane == 0) {
            compressed_measure measure;
            const uint64_t plan = compressed_measure_leaf(&measure, &c.tree, leaf, box);
            compressed_store(c.at + at, leaf, plan, measure.ids, box);
            compressed_store_costs(c.costs + at, measure.cost);
        }
        __syncwarp();
    }
}

/* --- One level of parts ---
   Each lane has a part; the tile holds the data that all lanes of the warp access. */

struct compressed_tile {
    float lo[3][COMPRESSED_TILE_BOXES],
        hi[3][COMPRESSED_TILE_BOXES];      /* one box per triangle of a part */
    uint16_t owner[COMPRESSED_TILE_BOXES]; /* index of its part << 4 | its reference */
    compressed_part_task parts[32];
    /* per part: its first box; its number of boxes if it may be split, else 0 */
    uint32_t begin[32], counts[32];
    sah_axis axes[32][3];
    unsigned long long best[32]; /* bits of the cost << 32 | index of the plane + 1; 0: no split */
};

struct compressed_lane_part {
    compressed_part_task task;
    uint32_t count, begin; /* range of its boxes in the tile */
    bool in_tile;          /* the part is in the current tile */
    bool flat;             /* some box of its leaf is flat */
};

__device__ __forceinline__ void compressed_tile_fill(const compressed_cutter &c,
                                                     compressed_tile &tile,
                                                     const compressed_lane_part &part,
                                                     uint32_t total) {
    const uint32_t lane = threadIdx.x & 31;
    if (part.in_tile) {
        uint32_t k = part.begin;
        tile.parts[lane] = part.task;
        tile.begin[lane] = part.begin;
        for (uint32_t i = 0; compressed_has_next(part.task.which, &i); ++i)
            tile.owner[k++] = (uint16_t)(lane << 4 | i);
    }
    __syncwarp();
    for (uint32_t r = lane; r < total; r += 32) {
        const uint32_t owner = tile.owner[r];
        const compressed_part_task &task = tile.parts[owner >> 4];
        const box3 box =
            compressed_cut_id(&c.tree, c.tree.references[task.first + (owner & 15)], task.cell);
        tile.lo[0][r] = box.lo.x, tile.lo[1][r] = box.lo.y, tile.lo[2][r] = box.lo.z;
        tile.hi[0][r] = box.hi.x, tile.hi[1][r] = box.hi.y, tile.hi[2][r] = box.hi.z;
    }
    __syncwarp();
}

/* Returns the bounds of the lane's part; sets *flat if one of its boxes is flat. */
__device__ __forceinline__ box3 compressed_tile_join(const compressed_tile &tile,
                                                     const compressed_lane_part &part, bool *flat) {
    box3 box = box3_empty();
    for (uint32_t k = part.begin; part.in_tile && k < part.begin + part.count; ++k) {
        box3 one;
        one.lo = vec3_make(tile.lo[0][k], tile.lo[1][k], tile.lo[2][k]);
        one.hi = vec3_make(tile.hi[0][k], tile.hi[1][k], tile.hi[2][k]);
        if (compressed_is_flat(one)) *flat = true;
        box3_join(&box, one);
    }
    return box;
}

/* Decides whether the lane's part may be split, and sets up its axes. */
__device__ __forceinline__ void
compressed_tile_request(compressed_tile &tile, const compressed_lane_part &part, box3 box) {
    const uint32_t lane = threadIdx.x & 31;
    const bool eligible = part.in_tile && (part.count >= COMPRESSED_FINER_MIN || part.flat);
    const double area = eligible ? sah_half_area(box) : 0;
    const bool may = area > 0;
    tile.counts[lane] = may ? part.count : 0;
    tile.best[lane] = (unsigned long long)float_bits((float)part.count) << 32;
    const double inverse = may ? 1 / area : 0;
    for (int k = 0; may && k < 3; ++k) tile.axes[lane][k] = compressed_axis_of(box, k, inverse);
    __syncwarp();
}

/* Evaluates the six planes of box r for its part, with the costs of finer_cut
   (tests/accel/compressed_reference.h). */
__device__ __forceinline__ void compressed_tile_offer(compressed_tile &tile, uint32_t r) {
    const sah_costs costs = {0.3f, 1, 1};
    const uint32_t p = tile.owner[r] >> 4, count = tile.counts[p], begin = tile.begin[p];
    float planes[6];
    uint32_t low[6], high[6];
    if (count == 0) return;
#pragma unroll
    for (int k = 0; k < 6; ++k) {
        planes[k] = k & 1 ? tile.hi[k >> 1][r] : tile.lo[k >> 1][r];
        low[k] = high[k] = 0;
    }
    for (uint32_t other = begin; other < begin + count; ++other) {
#pragma unroll
        for (int k = 0; k < 6; ++k) {
            const float lo = tile.lo[k >> 1][other], hi = tile.hi[k >> 1][other];
            high[k] += hi > planes[k];
            low[k] += lo < planes[k] || hi <= planes[k];
        }
    }
    unsigned long long best = ~0ull;
#pragma unroll
    for (int k = 0; k < 6; ++k) {
        const sah_axis along = tile.axes[p][k >> 1];
        const bool inside = planes[k] > along.lo && planes[k] < along.hi;
        if (inside ? count < COMPRESSED_FINER_MIN : planes[k & ~1] < planes[k | 1]) continue;
        if (planes[k] == along.hi) {
            low[k] = 0;
            for (uint32_t other = begin; other < begin + count; ++other)
                low[k] += tile.lo[k >> 1][other] < planes[k];
            high[k] = count - low[k];
        }
        const float cost = sah_split_cost(&costs, &along, planes[k], low[k], high[k]);
        const uint32_t number = (uint32_t)(k >> 1) * 2 * count + 2 * (r - begin) + (k & 1) + 1;
        if (low[k] && high[k] && cost < (float)count)
            best = min(best, (unsigned long long)float_bits(cost) << 32 | number);
    }
    if (best != ~0ull) atomicMin(&tile.best[p], best);
}

/* Returns masks of the part's triangles on the low and the high side of a plane; `end`: the upper
   end of the part's bounds. */
__device__ __forceinline__ uint2 compressed_tile_sides(const compressed_tile &tile,
                                                       const compressed_lane_part &part, int axis,
                                                       float plane, float end) {
    uint2 sides = make_uint2(0, 0);
    for (uint32_t k = part.begin; k < part.begin + part.count; ++k) {
        const float lo = tile.lo[axis][k], hi = tile.hi[axis][k];
        const uint32_t bit = 1u << (tile.owner[k] & 15);
        if (compressed_is_low(lo, hi, plane, plane == end)) sides.x |= bit;
        if (compressed_is_high(lo, hi, plane, plane == end)) sides.y |= bit;
    }
    return sides;
}

/* Splits the lane's part in two if `cuts`; does nothing if there is no capacity. All lanes of a
   warp must call it. */
__device__ __forceinline__ void compressed_part_cut(const compressed_cutter &c,
                                                    const compressed_tile &tile,
                                                    const compressed_lane_part &part, bool cuts,
                                                    uint32_t number, uint32_t level) {

    const unsigned long long left = compressed_take(&c.counts->nodes, cuts ? 2 : 0);
    uint2 sides = make_uint2(0, 0);
    int axis = 0;
    float plane = 0;
    cuts = cuts && left + 2 <= c.node_capacity;
    if (cuts) {
        const uint32_t on_axis = 2 * part.count, box = part.begin + number % on_axis / 2;
        axis = (int)(number / on_axis);
        plane = number & 1 ? tile.hi[axis][box] : tile.lo[axis][box];
        sides =
            compressed_tile_sides(tile, part, axis, plane, tile.axes[threadIdx.x & 31][axis].hi);
        c.at[part.task.node].node = tritree_inner(axis, plane, (uint32_t)left);
    }
    __syncwarp();
    for (int side = 0; side < 2; ++side) {
        compressed_part_task made = part.task;
        const uint32_t which = side ? sides.y : sides.x;
        made.which = which | (part.flat ? 1u << COMPRESSED_FINER_MAX : 0);
        made.node = (uint32_t)left + (uint32_t)side;
        const bool again =
            cuts && compressed_may_be_finer((uint32_t)__popc(which), part.flat, level + 1);
        compressed_part_task *const to = compressed_part_place(c, again, cuts && !again);
        if (cuts) {
            vec3_set_axis(side ? &made.cell.lo : &made.cell.hi, axis, plane);
            *to = made;
        }
        __syncwarp();
    }
}

/* Makes the lane's part a leaf, or keeps it as one of the given tree, and stores its measure. All
   lanes of a warp must call it. */
__device__ __forceinline__ void compressed_part_end(const compressed_cutter &c,
                                                    const compressed_lane_part &part, bool ends,
                                                    const box3 &box) {
    const bool is_new = ends && part.task.node >= c.tree.node_count;
    const unsigned long long first =
        compressed_take(&c.counts->references, is_new ? part.count : 0);
    uint32_t ids[COMPRESSED_FEW] = {KD_NONE, KD_NONE, KD_NONE, KD_NONE}, k = 0;
    if (!ends || (is_new && first + part.count > c.reference_capacity)) return;
    for (uint32_t i = 0; compressed_has_next(part.task.which, &i); ++i, ++k) {
        const uint32_t id = c.tree.references[part.task.first + i];
        if (is_new) c.references[first + k] = id;
#pragma unroll
        for (uint32_t j = 0; j < COMPRESSED_FEW; ++j)
            if (j == k) ids[j] = id;
    }
    const float cost = compressed_leaf_cost(compressed_area(box), part.count);
    const float costs[COMPRESSED_CHILDREN] = {cost, cost, cost, cost, cost, cost, cost, cost};
    const uint64_t distinct = min(part.count, (uint32_t)COMPRESSED_FEW + 1);
    compressed_store(c.at + part.task.node,
                     tritree_leaf(is_new ? (uint32_t)first : part.task.first, part.count),
                     (uint64_t)COMPRESSED_LEAF | distinct << 3, ids, box);
    compressed_store_costs(c.costs + part.task.node, costs);
}

/* Processes the tile's parts, which have `total` boxes. At level COMPRESSED_FINER_LEVELS parts are
   not split. All lanes of a warp must call it. */
__device__ __forceinline__ void compressed_tile_cut(const compressed_cutter &c,
                                                    compressed_tile &tile,
                                                    compressed_lane_part &part, uint32_t level,
                                                    uint32_t total) {
    const uint32_t lane = threadIdx.x & 31;
    compressed_tile_fill(c, tile, part, total);
    part.flat = part.task.which >> COMPRESSED_FINER_MAX & 1;
    bool flat = part.flat;
    const box3 box = compressed_tile_join(tile, part, &flat);
    if (level == 0) part.flat = flat;
    uint32_t number = 0; /* number of the plane, from 1; 0: no split */
    if (level < COMPRESSED_FINER_LEVELS) {
        compressed_tile_request(tile, part, box);
        for (uint32_t r = lane; r < total; r += 32) compressed_tile_offer(tile, r);
        __syncwarp();
        number = tile.counts[lane] ? (uint32_t)tile.best[lane] : 0;
    }
    compressed_part_end(c, part, part.in_tile && number == 0, box);
    __syncwarp();
    if (level < COMPRESSED_FINER_LEVELS)
        compressed_part_cut(c, tile, part, number != 0, number - 1, level);
    __syncwarp();
}

/* Processes the parts of a level; level COMPRESSED_FINER_LEVELS: those that are not split.
   Grid-stride loop; launched with as many blocks as are resident. */
__global__ __launch_bounds__(COMPRESSED_MAKE_BLOCK) void compressed_cut_level(
    const __grid_constant__ compressed_cutter c, uint32_t level) {
    __shared__ compressed_tile tiles[COMPRESSED_MAKE_BLOCK / 32];
    compressed_tile &tile = tiles[threadIdx.x / 32];
    const bool kept = level == COMPRESSED_FINER_LEVELS;
    const uint64_t first = kept || level == 0 ? 0 : c.counts->before[level - 1],
                   count = kept ? c.counts->kept : c.counts->before[level] - first;
    const uint32_t lane = threadIdx.x & 31;
    for (uint64_t begin =
             32 * ((uint64_t)blockIdx.x * (COMPRESSED_MAKE_BLOCK / 32) + threadIdx.x / 32);
         begin < count; begin += (uint64_t)gridDim.x * COMPRESSED_MAKE_BLOCK) {
        const uint64_t i = first + begin + lane;
        compressed_lane_part part;
        part.task.which = 0;
        if (begin + lane < count) part.task = c.parts[kept ? c.part_capacity - 1 - i : i];
        part.count = (uint32_t)__popc(part.task.which & ((1u << COMPRESSED_FINER_MAX) - 1));
        __syncwarp();
        uint32_t upto = part.count, base = 0;
        for (uint32_t step = 1; step < 32; step <<= 1) {
            const uint32_t lower = __shfl_up_sync(~0u, upto, (int)step);
            if (lane >= step) upto += lower;
        }
        for (uint32_t from = 0; from < 32;) {
            const unsigned fits =
                __ballot_sync(~0u, lane >= from && upto - base <= COMPRESSED_TILE_BOXES);
            const uint32_t to = from + (uint32_t)__popc(fits);
            const uint32_t end = __shfl_sync(~0u, upto, (int)to - 1);
            part.in_tile = lane >= from && lane < to && begin + lane < count;
            part.begin = upto - part.count - base;
            compressed_tile_cut(c, tile, part, level, end - base);
            from = to;
            base = end;
        }
    }
}

#endif
