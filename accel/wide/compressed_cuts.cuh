/* Kernels that split the leaves of a k-d tree in device memory further (compressed_measure.h);
   equivalent to tests/accel/compressed_reference.h.
   Idea: the refined tree starts with the nodes of the given one. The leaves of the given tree are
   the first parts, and the two sides of each split are further parts. There are two lists, so that
   lanes do the same work: parts that may be split, one level per launch; and parts that only need a
   box, all in the last launch. A warp takes 32 parts. The boxes of their triangles are kept in
   shared memory, as are the best candidate planes. Triangles of leaves are clipped to their cells,
   one per lane, regardless of the part. Boxes of a part that is split are copied to its sides; only
   those that the plane cuts are clipped again (compressed_cut_half), which are listed first, so
   that all lanes clip. The lane of a part writes its children, or, if it is not split, its measure.
   New nodes, references and boxes are stored in the order in which warps reach them; the compressed
   form does not depend on it.
   Memory: that of compressed_measures.cuh. An array whose capacity is exceeded is not written any
   more, and the host retries with more memory.
   Data flow: compressed_list_parents, one thread per node: tree -> the parents of pairs;
   compressed_list_leaves, one thread per node: leaves, parents -> parts; compressed_large_leaves,
   one warp each: leaves of many triangles -> their subtrees; compressed_cut_level, one launch per
   level, 32 parts per warp: parts, cells or boxes, corners -> further parts and their boxes,
   references and subtrees of leaves. In this order. */
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
        c.counts->boxes = 0;
        c.counts->cut = c.counts->kept = c.counts->large = c.counts->pairs = 0;
    }
    if (i >= c.tree.node_count) return;
    const tritree_node node = c.tree.nodes[i];
    if (tritree_is_leaf(node)) return;
    const uint32_t pair = compressed_pair_of(tritree_left(node));
    c.up[pair] = make_uint2(float_bits(node.split), i << 2 | (uint32_t)tritree_axis(node));
    c.report[pair] = 0;
}

__device__ __forceinline__ void compressed_store_empty(const compressed_cutter &c, uint32_t at,
                                                       tritree_node leaf) {
    const uint32_t none[COMPRESSED_FEW] = {KD_NONE, KD_NONE, KD_NONE, KD_NONE};
    compressed_store(c.at + at, leaf, COMPRESSED_EMPTY, none, box3_empty());
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
    const bool may = compressed_may_be_finer(count, true, 0),
               is_large = count > COMPRESSED_FINER_MAX;
    const unsigned cut = __ballot_sync(~0u, may),
                   kept = __ballot_sync(~0u, count && !may && !is_large);
    const compressed_entries to =
        compressed_take(c.counts, {0, 0, 0, (uint32_t)__popc(cut), (uint32_t)__popc(kept)});
    if (is_large) c.large[atomicAdd(&c.counts->large, 1ull)] = i;
    if (count == 0 || is_large) return;
    const uint64_t place = may ? to.cut + compressed_below(cut) : to.kept + compressed_below(kept);
    compressed_part_task part;
    part.first = tritree_first(node);
    part.count = count;
    part.flat = 0;
    part.node = i;
    part.unused = 0;
    c.parts[may ? place : c.part_capacity - 1 - place] = part;
    c.cells[may ? place : c.leaf_capacity - 1 - place] = compressed_child_of(c, i);
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
            if (at == 0) compressed_store_costs(c.costs, measure.cost); /* for compressed_top.c */
        }
        __syncwarp();
    }
}

/* --- One level of parts ---
   Each lane has a part; the tile holds the data that all lanes of the warp access. */

struct compressed_tile {
    float lo[3][COMPRESSED_TILE_BOXES],
        hi[3][COMPRESSED_TILE_BOXES]; /* one box per triangle of a part */
    uint32_t id[COMPRESSED_TILE_BOXES];
    uint8_t owner[COMPRESSED_TILE_BOXES]; /* index of its part */
    /* per part: its first box in the tile, and in its array; its number of boxes if it may be
       split, else 0; later 1 + the axis of its split, or 0 */
    uint32_t begin[32], first[32], counts[32];
    uint32_t
        sides[32]; /* per part: masks of its boxes on the low and the high side, 16 bits each */
    union {
        sah_axis axes[32][3];
        uint16_t straddlers[COMPRESSED_TILE_BOXES]; /* boxes on both sides */
    };
    union {
        unsigned long long
            best[32]; /* bits of the cost << 32 | index of the plane + 1; 0: no split */
        struct {
            float plane;
            uint32_t to; /* first box of its sides */
        } cut[32];
    };
};

struct compressed_lane_part {
    compressed_part_task task;
    uint32_t begin; /* its first box in the tile */
    bool in_tile;   /* the part is in the current tile */
    bool flat;      /* some box of its leaf is flat */
};

/* Loads the boxes of the tile's parts; those of leaves of the given tree are computed. `cells`:
   where the cell of lane 0's part would be; the next one is `step` behind it. */
__device__ __forceinline__ void compressed_tile_fill(const compressed_cutter &c,
                                                     compressed_tile &tile,
                                                     const compressed_lane_part &part,
                                                     uint32_t total, const box3 *cells, int step) {
    const uint32_t lane = threadIdx.x & 31;
    if (part.in_tile) {
        tile.begin[lane] = part.begin;
        tile.first[lane] = part.task.first;
        for (uint32_t k = 0; k < part.task.count; ++k) tile.owner[part.begin + k] = (uint8_t)lane;
    }
    const unsigned given = __ballot_sync(~0u, part.in_tile && part.task.node < c.tree.node_count);
    __syncwarp();
    for (uint32_t r = lane; r < total; r += 32) {
        const uint32_t p = tile.owner[r], at = tile.first[p] + r - tile.begin[p];
        float4 lo, hi;
        if (given >> p & 1) {
            const uint32_t id = c.tree.references[at];
            const box3 box = compressed_cut_id(&c.tree, id, cells[step * (int)p]);
            lo = make_float4(box.lo.x, box.lo.y, box.lo.z, float_from_bits(id));
            hi = make_float4(box.hi.x, box.hi.y, box.hi.z, 0);
        } else {
            lo = c.boxes[at].lo, hi = c.boxes[at].hi;
        }
        tile.lo[0][r] = lo.x, tile.lo[1][r] = lo.y, tile.lo[2][r] = lo.z;
        tile.hi[0][r] = hi.x, tile.hi[1][r] = hi.y, tile.hi[2][r] = hi.z;
        tile.id[r] = float_bits(lo.w);
    }
    __syncwarp();
}

__device__ __forceinline__ box3 compressed_tile_box(const compressed_tile &tile, uint32_t r) {
    box3 box;
    box.lo = vec3_make(tile.lo[0][r], tile.lo[1][r], tile.lo[2][r]);
    box.hi = vec3_make(tile.hi[0][r], tile.hi[1][r], tile.hi[2][r]);
    return box;
}

/* Returns the bounds of the lane's part; sets *flat if one of its boxes is flat. */
__device__ __forceinline__ box3 compressed_tile_join(const compressed_tile &tile,
                                                     const compressed_lane_part &part, bool *flat) {
    box3 box = box3_empty();
    for (uint32_t k = part.begin; part.in_tile && k < part.begin + part.task.count; ++k) {
        const box3 one = compressed_tile_box(tile, k);
        if (compressed_is_flat(one)) *flat = true;
        box3_join(&box, one);
    }
    return box;
}

/* Decides whether the lane's part may be split, and sets up its axes. */
__device__ __forceinline__ void
compressed_tile_request(compressed_tile &tile, const compressed_lane_part &part, box3 box) {
    const uint32_t lane = threadIdx.x & 31;
    const bool eligible = part.in_tile && (part.task.count >= COMPRESSED_FINER_MIN || part.flat);
    const double area = eligible ? sah_half_area(box) : 0;
    const bool may = area > 0;
    tile.counts[lane] = may ? part.task.count : 0;
    tile.best[lane] = (unsigned long long)float_bits((float)part.task.count) << 32;
    const double inverse = may ? 1 / area : 0;
    for (int k = 0; may && k < 3; ++k) tile.axes[lane][k] = compressed_axis_of(box, k, inverse);
    __syncwarp();
}

/* Evaluates the six planes of box r for its part, with the costs of finer_cut
   (tests/accel/compressed_reference.h). */
__device__ __forceinline__ void compressed_tile_offer(compressed_tile &tile, uint32_t r) {
    const sah_costs costs = {0.3f, 1, 1};
    const uint32_t p = tile.owner[r], count = tile.counts[p], begin = tile.begin[p];
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
            const bool is_high = hi > planes[k];
            high[k] += is_high;
            low[k] += lo < planes[k] || !is_high;
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

/* Returns masks of the part's boxes on the low and the high side of a plane, 16 bits each; `end`:
   the upper end of the part's bounds. */
__device__ __forceinline__ uint32_t compressed_tile_sides(const compressed_tile &tile,
                                                          const compressed_lane_part &part,
                                                          int axis, float plane, float end) {
    uint32_t sides = 0;
    for (uint32_t i = 0; i < part.task.count; ++i) {
        const float lo = tile.lo[axis][part.begin + i], hi = tile.hi[axis][part.begin + i];
        if (compressed_is_low(lo, hi, plane, plane == end)) sides |= 1u << i;
        if (compressed_is_high(lo, hi, plane, plane == end)) sides |= 0x10000u << i;
    }
    return sides;
}

/* Stores a box of a part that was split. */
__device__ __forceinline__ void compressed_box_put(const compressed_cutter &c,
                                                   const compressed_tile &tile, uint32_t r,
                                                   bool high, const box3 &box) {
    const uint32_t p = tile.owner[r], sides = tile.sides[p];
    const uint32_t before = (1u << (r - tile.begin[p])) - 1;
    const uint32_t at = tile.cut[p].to + (high ? (uint32_t)__popc(sides & 0xffff) +
                                                     (uint32_t)__popc(sides >> 16 & before)
                                               : (uint32_t)__popc(sides & before & 0xffff));
    c.boxes[at].lo = make_float4(box.lo.x, box.lo.y, box.lo.z, float_from_bits(tile.id[r]));
    c.boxes[at].hi = make_float4(box.hi.x, box.hi.y, box.hi.z, 0);
}

/* Stores the boxes of all parts that were split, and clips those on both sides. All lanes of a warp
   must call it. */
__device__ __forceinline__ void compressed_tile_move(const compressed_cutter &c,
                                                     compressed_tile &tile, uint32_t total) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t count = 0;
    for (uint32_t from = 0; from < total; from += 32) {
        const uint32_t r = from + lane, p = r < total ? tile.owner[r] : 0,
                       sides =
                           r < total && tile.counts[p] ? tile.sides[p] >> (r - tile.begin[p]) : 0;
        const bool low = sides & 1, high = sides & 0x10000;
        const unsigned both = __ballot_sync(~0u, low && high);
        if (low && high)
            tile.straddlers[count + compressed_below(both)] = (uint16_t)r;
        else if (low || high)
            compressed_box_put(c, tile, r, high, compressed_tile_box(tile, r));
        count += (uint32_t)__popc(both);
    }
    __syncwarp();
    for (uint32_t k = lane; k < 2 * count; k += 32) {
        const uint32_t r = tile.straddlers[k >> 1], p = tile.owner[r];
        const bool high = k & 1;
        compressed_box_put(c, tile, r, high,
                           compressed_cut_half_id(&c.tree, tile.id[r], compressed_tile_box(tile, r),
                                                  (int)tile.counts[p] - 1, tile.cut[p].plane,
                                                  high));
    }
}

/* Makes the lane's part a leaf, or keeps it as one of the given tree, and stores its measure;
   `first`: the references reserved for it if it is new. */
__device__ __forceinline__ void compressed_part_end(const compressed_cutter &c,
                                                    const compressed_tile &tile,
                                                    const compressed_lane_part &part, bool is_new,
                                                    unsigned long long first, const box3 &box) {
    const uint32_t count = part.task.count;
    uint32_t ids[COMPRESSED_FEW] = {KD_NONE, KD_NONE, KD_NONE, KD_NONE};
    if (is_new && first + count > c.reference_capacity) return;
    for (uint32_t k = 0; k < count; ++k) {
        const uint32_t id = tile.id[part.begin + k];
        if (is_new) c.references[first + k] = id;
#pragma unroll
        for (uint32_t j = 0; j < COMPRESSED_FEW; ++j)
            if (j == k) ids[j] = id;
    }
    const uint64_t distinct = min(count, (uint32_t)COMPRESSED_FEW + 1);
    compressed_store(c.at + part.task.node,
                     tritree_leaf(is_new ? (uint32_t)first : part.task.first, count),
                     (uint64_t)COMPRESSED_LEAF | distinct << 3, ids, box);
    if (part.task.node == 0) {
        const compressed_measure measure = compressed_recall(c, 0);
        compressed_store_costs(c.costs, measure.cost); /* for compressed_top.c */
    }
}

/* Lists one side of the lane's part. */
__device__ __forceinline__ void compressed_part_list(const compressed_cutter &c,
                                                     const compressed_lane_part &part,
                                                     uint32_t first, uint32_t count, uint64_t node,
                                                     uint64_t place) {
    compressed_part_task made;
    made.first = first;
    made.count = count;
    made.flat = part.flat;
    made.node = (uint32_t)node;
    made.unused = 0;
    c.parts[place] = made;
}

/* Splits the lane's part in two if `number` is not 0, and ends it otherwise. All lanes of a warp
   must call it. */
__device__ __forceinline__ void compressed_part_cut(const compressed_cutter &c,
                                                    compressed_tile &tile,
                                                    const compressed_lane_part &part,
                                                    const box3 &box, uint32_t number,
                                                    uint32_t level, uint32_t total) {
    const uint32_t lane = threadIdx.x & 31;
    const bool ends = part.in_tile && number == 0,
               is_new = ends && part.task.node >= c.tree.node_count;
    bool cuts = number != 0;
    uint32_t sides = 0, axis = 0, count[2] = {0, 0};
    float plane = 0;
    if (cuts) {
        const uint32_t on_axis = 2 * part.task.count,
                       from = part.begin + (number - 1) % on_axis / 2;
        axis = (number - 1) / on_axis;
        plane = (number - 1) & 1 ? tile.hi[axis][from] : tile.lo[axis][from];
        sides = compressed_tile_sides(tile, part, (int)axis, plane, tile.axes[lane][axis].hi);
        count[0] = (uint32_t)__popc(sides & 0xffff), count[1] = (uint32_t)__popc(sides >> 16);
    }
    const bool again[2] = {cuts && compressed_may_be_finer(count[0], part.flat, level + 1),
                           cuts && compressed_may_be_finer(count[1], part.flat, level + 1)};
    const unsigned split = __ballot_sync(~0u, cuts);
    const unsigned cut[2] = {__ballot_sync(~0u, again[0]), __ballot_sync(~0u, again[1])};
    uint32_t references, boxes;
    const uint32_t ids_before = compressed_scan(is_new ? part.task.count : 0, &references),
                   boxes_before = compressed_scan(count[0] + count[1], &boxes);
    const uint32_t cut_low = (uint32_t)__popc(cut[0]), all = (uint32_t)__popc(split),
                   cut_all = cut_low + (uint32_t)__popc(cut[1]);
    const compressed_entries to =
        compressed_take(c.counts, {2 * all, references, boxes, cut_all, 2 * all - cut_all});
    if (ends) compressed_part_end(c, tile, part, is_new, to.references + ids_before, box);
    const uint64_t left = to.nodes + 2 * compressed_below(split), first = to.boxes + boxes_before;
    cuts = cuts && left + 2 <= c.node_capacity && first + count[0] + count[1] <= c.box_capacity &&
           to.cut + cut_all <= c.part_capacity && to.kept + 2 * all - cut_all <= c.part_capacity;
    __syncwarp();
    tile.counts[lane] = cuts ? axis + 1 : 0;
    tile.sides[lane] = sides;
    tile.cut[lane].plane = plane;
    tile.cut[lane].to = (uint32_t)first;
    __syncwarp();
    if (split == 0) return;
    compressed_tile_move(c, tile, total);
    if (!cuts) return;
    c.at[part.task.node].node = tritree_inner((int)axis, plane, (uint32_t)left);
    for (int side = 0; side < 2; ++side) {
        const uint64_t cut_before = compressed_below(cut[side]) + (side ? cut_low : 0),
                       kept_before =
                           compressed_below(split & ~cut[side]) + (side ? all - cut_low : 0);
        compressed_part_list(
            c, part, (uint32_t)first + (side ? count[0] : 0), count[side], left + side,
            again[side] ? to.cut + cut_before : c.part_capacity - 1 - to.kept - kept_before);
    }
}

/* Processes the tile's parts, which have `total` boxes. At level COMPRESSED_FINER_LEVELS parts are
   not split. All lanes of a warp must call it. */
__device__ __forceinline__ void compressed_tile_cut(const compressed_cutter &c,
                                                    compressed_tile &tile,
                                                    compressed_lane_part &part, uint32_t level,
                                                    uint32_t total, const box3 *cells, int step) {
    const uint32_t lane = threadIdx.x & 31;
    compressed_tile_fill(c, tile, part, total, cells, step);
    part.flat = part.task.flat;
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
    compressed_part_cut(c, tile, part, box, number, level, total);
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
    if (!compressed_fits(c)) return; /* parts of the list are not written */
    for (uint64_t begin =
             32 * ((uint64_t)blockIdx.x * (COMPRESSED_MAKE_BLOCK / 32) + threadIdx.x / 32);
         begin < count; begin += (uint64_t)gridDim.x * COMPRESSED_MAKE_BLOCK) {
        const uint64_t i = first + begin + lane;
        const box3 *const cells = c.cells + (kept ? c.leaf_capacity - 1 - begin : begin);
        compressed_lane_part part;
        part.task.count = 0;
        if (begin + lane < count) part.task = c.parts[kept ? c.part_capacity - 1 - i : i];
        __syncwarp();
        uint32_t upto = part.task.count, base = 0;
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
            part.begin = upto - part.task.count - base;
            compressed_tile_cut(c, tile, part, level, end - base, cells, kept ? -1 : 1);
            from = to;
            base = end;
        }
    }
}

#endif
