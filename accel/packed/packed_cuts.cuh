/* The kernels that cut leaves of a k-d tree in device memory further (packed_finer.h): what
   packed_make.c does.
   Idea: the finer tree begins with the nodes of the given one. Its leaves are the first parts, the
         two sides of each cut are more. Those that may be cut, a level a launch, and those that
         only want a box, all at last, are apart, so that lanes do alike. A warp takes 32 parts.
         Their triangles' boxes are a lane each, whatever part they are of, and lie in shared
         memory; so are the planes that they have to offer; what becomes of a part is for its lane
         to write. New nodes and references lie in the order in which warps come to them: nothing
         of the packed form depends on it.
   Memory: 36 bytes a node, 4 a reference, 36 a part: a leaf that is not empty, or a new node. Where
           rooms are too small nothing is written, and who asked makes them larger.
   Data flow: packed_copy_nodes, a thread a node: tree -> finer tree; packed_list_leaves, a thread a
              node: leaves -> parts; packed_large_leaves, a warp each: leaves of many triangles ->
              their boxes; packed_cut_level, a launch a level, 32 parts a warp: parts, corners ->
              further nodes, references and parts. In this order. */
#ifndef KD_ACCEL_PACKED_PACKED_CUTS_CUH
#define KD_ACCEL_PACKED_PACKED_CUTS_CUH
#include "accel/packed/packed_finer.h"
#include <stdint.h>

enum { PACKED_MAKE_BLOCK = 128, PACKED_TILE_BOXES = 224 /* of a warp's parts at a time */ };

/* Counters; the first two are what rooms should have had. */
typedef struct packed_cut_counts {
    unsigned long long nodes, references;
    unsigned long long cut, kept, large;            /* parts */
    unsigned long long before[PACKED_FINER_LEVELS]; /* parts to be cut, when a level began */
} packed_cut_counts;

/* Some references of a leaf of the given tree, in a part of its cell or in all of it. */
typedef struct packed_part_task {
    box3 cell;
    uint32_t first, which;
    uint32_t node; /* of the finer tree: one of the given one's, or new */
} packed_part_task;

typedef struct packed_cutter {
    tritree_view tree; /* as it was given */
    uint64_t node_room, reference_room, part_room;
    tritree_node *nodes; /* of the finer one */
    uint32_t *references;
    box3 *boxes;                /* a leaf's */
    uint32_t *parents, *report; /* a pair of nodes: whose they are, how many of both are measured */
    packed_part_task *parts; /* those that may be cut, level by level; from the end on the others */
    uint32_t *large;         /* parts of so many triangles that a warp takes one */
    packed_cut_counts *counts;
} packed_cutter;

__device__ __forceinline__ uint32_t packed_pair_of(uint32_t node) {
    return (node - 1) >> 1;
}

/* The nodes of the given tree. */
__global__ __launch_bounds__(PACKED_MAKE_BLOCK) void packed_copy_nodes(
    const __grid_constant__ packed_cutter c) {
    const uint32_t i = blockIdx.x * PACKED_MAKE_BLOCK + threadIdx.x;
    if (i == 0) {
        c.counts->nodes = c.tree.node_count;
        c.counts->references = c.tree.reference_count;
        c.counts->cut = c.counts->kept = c.counts->large = 0;
    }
    if (i >= c.tree.node_count) return;
    const tritree_node node = c.tree.nodes[i];
    c.nodes[i] = node;
    if (tritree_is_leaf(node)) return;
    c.parents[packed_pair_of(tritree_left(node))] = i;
    c.report[packed_pair_of(tritree_left(node))] = 0;
}

/* The cell of a node: its side on each axis is the nearest plane above that bounds it. */
__device__ __forceinline__ box3 packed_cell_of(const packed_cutter &c, uint32_t at) {
    box3 cell;
    cell.lo = vec3_all(-INFINITY);
    cell.hi = vec3_all(INFINITY);
    uint32_t open = 63;
    while (at != 0 && open != 0) {
        const uint32_t parent = __ldg(c.parents + packed_pair_of(at));
        const tritree_node node = c.tree.nodes[parent];
        const int axis = tritree_axis(node);
        const bool low = at & 1; /* then the plane is its upper side */
        const uint32_t side = low ? 1u << axis : 8u << axis;
        if (open & side) vec3_set_axis(low ? &cell.hi : &cell.lo, axis, node.split);
        open &= ~side;
        at = parent;
    }
    return cell;
}

/* Places for so many items of each lane of a warp, of a counter of all: one atomic for the warp. */
__device__ __forceinline__ unsigned long long packed_take(unsigned long long *counter,
                                                          uint32_t mine) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t upto = mine;
    for (uint32_t step = 1; step < 32; step <<= 1) {
        const uint32_t lower = __shfl_up_sync(~0u, upto, (int)step);
        if (lane >= step) upto += lower;
    }
    const uint32_t all = __shfl_sync(~0u, upto, 31);
    unsigned long long first = 0;
    if (lane == 0 && all) first = atomicAdd(counter, (unsigned long long)all);
    return __shfl_sync(~0u, first, 0) + (upto - mine);
}

/* Where the lane's part goes, if it has one: among those that may be cut, or the others. By a whole
   warp. */
__device__ __forceinline__ packed_part_task *packed_part_place(const packed_cutter &c, bool cut,
                                                               bool kept) {
    const unsigned long long place = packed_take(&c.counts->cut, cut ? 1 : 0),
                             behind = packed_take(&c.counts->kept, kept ? 1 : 0);
    return c.parts + (cut ? place : c.part_room - 1 - behind);
}

__global__ __launch_bounds__(PACKED_MAKE_BLOCK) void packed_list_leaves(
    const __grid_constant__ packed_cutter c) {
    const uint32_t i = blockIdx.x * PACKED_MAKE_BLOCK + threadIdx.x;
    uint32_t count = 0;
    tritree_node node;
    if (i < c.tree.node_count && tritree_is_leaf(node = c.tree.nodes[i])) {
        count = tritree_count(node);
        if (count == 0) c.boxes[i] = box3_empty();
    }
    __syncwarp();
    const bool cut = count >= PACKED_FINER_LEAST && count <= PACKED_FINER_MOST;
    const bool is_large = count > PACKED_FINER_MOST;
    packed_part_task *const to = packed_part_place(c, cut, count && !cut && !is_large);
    const unsigned long long large = packed_take(&c.counts->large, is_large ? 1 : 0);
    if (is_large) c.large[large] = i;
    if (count == 0 || is_large) return;
    packed_part_task part;
    part.cell = packed_cell_of(c, i);
    part.first = tritree_first(node);
    part.which = (1u << count) - 1;
    part.node = i;
    *to = part;
}

/* Leaves that are not cut, a warp each. */
__global__ __launch_bounds__(PACKED_MAKE_BLOCK) void packed_large_leaves(
    const __grid_constant__ packed_cutter c) {
    const uint32_t warps = gridDim.x * (PACKED_MAKE_BLOCK / 32), lane = threadIdx.x & 31;
    for (uint32_t i = blockIdx.x * (PACKED_MAKE_BLOCK / 32) + threadIdx.x / 32; i < c.counts->large;
         i += warps) {
        const uint32_t at = c.large[i];
        const tritree_node leaf = c.tree.nodes[at];
        const box3 cell = packed_cell_of(c, at);
        box3 box = box3_empty();
        for (uint32_t k = lane; k < tritree_count(leaf); k += 32)
            box3_join(&box,
                      packed_cut_id(&c.tree, c.tree.references[tritree_first(leaf) + k], cell));
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
        if (lane == 0) c.boxes[at] = box;
    }
}

/* --- a level of parts --------------------------------------------------------------------------
   A lane has a part; `tile` what all lanes have to see of them. */

struct packed_tile {
    float lo[3][PACKED_TILE_BOXES], hi[3][PACKED_TILE_BOXES]; /* a box of each triangle in a part */
    uint16_t owner[PACKED_TILE_BOXES];                        /* its part << 4 | its reference */
    packed_part_task parts[32];
    uint32_t begin[32], asks[32]; /* a part's first box; of those that may be cut how many it has */
    sah_axis axes[32][3];
    unsigned long long best[32]; /* bits of the cost << 32 | the plane's number + 1; 0: of none */
};

struct packed_lane_part {
    packed_part_task task;
    uint32_t count, begin; /* of its boxes in the tile */
    bool mine;             /* in the tile */
};

__device__ __forceinline__ void packed_tile_fill(const packed_cutter &c, packed_tile &tile,
                                                 const packed_lane_part &part, uint32_t total) {
    const uint32_t lane = threadIdx.x & 31;
    if (part.mine) {
        uint32_t k = part.begin;
        tile.parts[lane] = part.task;
        tile.begin[lane] = part.begin;
        for (uint32_t i = 0; packed_has_next(part.task.which, &i); ++i)
            tile.owner[k++] = (uint16_t)(lane << 4 | i);
    }
    __syncwarp();
    for (uint32_t r = lane; r < total; r += 32) {
        const uint32_t owner = tile.owner[r];
        const packed_part_task &of = tile.parts[owner >> 4];
        const box3 box =
            packed_cut_id(&c.tree, c.tree.references[of.first + (owner & 15)], of.cell);
        tile.lo[0][r] = box.lo.x, tile.lo[1][r] = box.lo.y, tile.lo[2][r] = box.lo.z;
        tile.hi[0][r] = box.hi.x, tile.hi[1][r] = box.hi.y, tile.hi[2][r] = box.hi.z;
    }
    __syncwarp();
}

/* The box around the lane's part. */
__device__ __forceinline__ box3 packed_tile_join(const packed_tile &tile,
                                                 const packed_lane_part &part) {
    box3 box = box3_empty();
    for (uint32_t k = part.begin; part.mine && k < part.begin + part.count; ++k) {
        box3 one;
        one.lo = vec3_make(tile.lo[0][k], tile.lo[1][k], tile.lo[2][k]);
        one.hi = vec3_make(tile.hi[0][k], tile.hi[1][k], tile.hi[2][k]);
        box3_join(&box, one);
    }
    return box;
}

/* Whether and how it may be cut. */
__device__ __forceinline__ void packed_tile_ask(packed_tile &tile, const packed_lane_part &part,
                                                box3 box) {
    const uint32_t lane = threadIdx.x & 31;
    const bool may = part.mine && sah_half_area(box) > 0;
    tile.asks[lane] = may ? part.count : 0;
    tile.best[lane] = (unsigned long long)float_bits((float)part.count) << 32;
    for (int k = 0; may && k < 3; ++k) tile.axes[lane][k] = sah_axis_of(box, k);
    __syncwarp();
}

/* Offers the six planes of box r to its part: packed_finer_cut's costs. */
__device__ __forceinline__ void packed_tile_offer(packed_tile &tile, uint32_t r) {
    const sah_costs costs = {0.3f, 1, 1};
    const uint32_t p = tile.owner[r] >> 4, count = tile.asks[p], begin = tile.begin[p];
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
        if (!(planes[k] > along.lo && planes[k] < along.hi)) continue;
        const float cost = sah_split_cost(&costs, &along, planes[k], low[k], high[k]);
        const uint32_t number = (uint32_t)(k >> 1) * 2 * count + 2 * (r - begin) + (k & 1) + 1;
        if (cost < (float)count)
            best = min(best, (unsigned long long)float_bits(cost) << 32 | number);
    }
    if (best != ~0ull) atomicMin(&tile.best[p], best);
}

/* Which of the part's triangles lie on each side. */
__device__ __forceinline__ uint2 packed_tile_sides(const packed_tile &tile,
                                                   const packed_lane_part &part, int axis,
                                                   float plane) {
    uint2 sides = make_uint2(0, 0);
    for (uint32_t k = part.begin; k < part.begin + part.count; ++k) {
        const float lo = tile.lo[axis][k], hi = tile.hi[axis][k];
        const uint32_t bit = 1u << (tile.owner[k] & 15);
        if (lo < plane || hi <= plane) sides.x |= bit;
        if (hi > plane) sides.y |= bit;
    }
    return sides;
}

/* The part at hand becomes two. False: there is no room. By a whole warp; which lanes cut theirs is
   told by `cuts`. */
__device__ __forceinline__ void packed_part_cut(const packed_cutter &c, const packed_tile &tile,
                                                const packed_lane_part &part, bool cuts,
                                                uint32_t number, uint32_t level) {
    const unsigned long long left = packed_take(&c.counts->nodes, cuts ? 2 : 0);
    uint2 sides = make_uint2(0, 0);
    int axis = 0;
    float plane = 0;
    cuts = cuts && left + 2 <= c.node_room;
    if (cuts) {
        const uint32_t on_axis = 2 * part.count, box = part.begin + number % on_axis / 2;
        axis = (int)(number / on_axis);
        plane = number & 1 ? tile.hi[axis][box] : tile.lo[axis][box];
        sides = packed_tile_sides(tile, part, axis, plane);
        c.nodes[part.task.node] = tritree_inner(axis, plane, (uint32_t)left);
        c.parents[packed_pair_of((uint32_t)left)] = part.task.node;
        c.report[packed_pair_of((uint32_t)left)] = 0;
    }
    __syncwarp();
    for (int side = 0; side < 2; ++side) {
        packed_part_task made = part.task;
        made.which = side ? sides.y : sides.x;
        made.node = (uint32_t)left + (uint32_t)side;
        const bool again =
            cuts && level + 1 < PACKED_FINER_LEVELS && __popc(made.which) >= PACKED_FINER_LEAST;
        packed_part_task *const to = packed_part_place(c, again, cuts && !again);
        if (cuts) {
            vec3_set_axis(side ? &made.cell.lo : &made.cell.hi, axis, plane);
            *to = made;
        }
        __syncwarp();
    }
}

/* The part at hand becomes a leaf, or stays one of the given tree's. By a whole warp. */
__device__ __forceinline__ void packed_part_end(const packed_cutter &c,
                                                const packed_lane_part &part, bool ends) {
    const bool is_new = ends && part.task.node >= c.tree.node_count;
    const unsigned long long first = packed_take(&c.counts->references, is_new ? part.count : 0);
    uint32_t k = 0;
    if (!is_new || first + part.count > c.reference_room) return;
    for (uint32_t i = 0; packed_has_next(part.task.which, &i); ++i)
        c.references[first + k++] = c.tree.references[part.task.first + i];
    c.nodes[part.task.node] = tritree_leaf((uint32_t)first, part.count);
}

/* The tile's parts, which have `total` boxes; level PACKED_FINER_LEVELS: they are not cut. By a
   whole warp. */
__device__ __forceinline__ void packed_tile_cut(const packed_cutter &c, packed_tile &tile,
                                                const packed_lane_part &part, uint32_t level,
                                                uint32_t total) {
    const uint32_t lane = threadIdx.x & 31;
    packed_tile_fill(c, tile, part, total);
    const box3 box = packed_tile_join(tile, part);
    bool cuts = false;
    if (part.mine) c.boxes[part.task.node] = box;
    if (level < PACKED_FINER_LEVELS) {
        packed_tile_ask(tile, part, box);
        for (uint32_t r = lane; r < total; r += 32) packed_tile_offer(tile, r);
        __syncwarp();
        const uint32_t number = tile.asks[lane] ? (uint32_t)tile.best[lane] : 0;
        cuts = number != 0;
        packed_part_cut(c, tile, part, cuts, number - 1, level);
    }
    packed_part_end(c, part, part.mine && !cuts);
    __syncwarp();
}

/* The parts of a level; level PACKED_FINER_LEVELS: those that are not cut. By as many blocks as run
   together. */
__global__
__launch_bounds__(PACKED_MAKE_BLOCK) void packed_cut_level(const __grid_constant__ packed_cutter c,
                                                           uint32_t level) {
    __shared__ packed_tile tiles[PACKED_MAKE_BLOCK / 32];
    packed_tile &tile = tiles[threadIdx.x / 32];
    const bool kept = level == PACKED_FINER_LEVELS;
    const uint64_t first = kept || level == 0 ? 0 : c.counts->before[level - 1],
                   count = kept ? c.counts->kept : c.counts->before[level] - first;
    const uint32_t lane = threadIdx.x & 31;
    for (uint64_t begin = 32 * ((uint64_t)blockIdx.x * (PACKED_MAKE_BLOCK / 32) + threadIdx.x / 32);
         begin < count; begin += (uint64_t)gridDim.x * PACKED_MAKE_BLOCK) {
        const uint64_t i = first + begin + lane;
        packed_lane_part part;
        part.task.which = 0;
        if (begin + lane < count) part.task = c.parts[kept ? c.part_room - 1 - i : i];
        part.count = (uint32_t)__popc(part.task.which);
        __syncwarp();
        uint32_t upto = part.count, base = 0;
        for (uint32_t step = 1; step < 32; step <<= 1) {
            const uint32_t lower = __shfl_up_sync(~0u, upto, (int)step);
            if (lane >= step) upto += lower;
        }
        for (uint32_t from = 0; from < 32;) {
            const unsigned fits =
                __ballot_sync(~0u, lane >= from && upto - base <= PACKED_TILE_BOXES);
            const uint32_t to = from + (uint32_t)__popc(fits);
            const uint32_t end = __shfl_sync(~0u, upto, (int)to - 1);
            part.mine = lane >= from && lane < to && begin + lane < count;
            part.begin = upto - part.count - base;
            packed_tile_cut(c, tile, part, level, end - base);
            from = to;
            base = end;
        }
    }
}

#endif
