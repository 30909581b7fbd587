/* The kernels that cut leaves of a k-d tree in device memory further (packed_finer.h): what
   packed_make.c does.
   Idea: the finer tree begins with the nodes of the given one. Its leaves are the parts of the
         first level, the two sides of each cut are parts of the next; a launch does a level. A
         warp takes 32 parts. Their triangles' boxes are a lane each, whatever part they are of,
         and lie in shared memory; so are the planes that they have to offer; what becomes of a
         part is for its lane to write. New nodes and references lie in the order in which warps
         come to them: nothing of the packed form depends on it.
   Memory: 32 bytes a node, 32 more a new one, 4 a reference, 32 a leaf that is not empty. Where rooms
           are too small nothing is written, and who asked makes them larger. */
#ifndef KD_ACCEL_PACKED_PACKED_CUTS_CUH
#define KD_ACCEL_PACKED_PACKED_CUTS_CUH
#include "accel/packed/packed_finer.h"
#include <stdint.h>

enum { PACKED_MAKE_BLOCK = 128, PACKED_TILE_BOXES = 192 /* of a warp's parts at a time */ };

/* Counters; the first two are what rooms should have had. */
typedef struct packed_cut_counts {
    unsigned long long nodes, references;
    unsigned long long leaves, large;                   /* tasks; large: from the other end */
    unsigned long long before[PACKED_FINER_LEVELS + 1]; /* nodes that there were before a level */
} packed_cut_counts;

typedef struct packed_leaf_task {
    box3 cell;
    uint32_t node, spare;
} packed_leaf_task;

/* A new node: some references of a leaf of the given tree, in a part of its cell. */
typedef struct packed_part_task {
    box3 cell;
    uint32_t first, which;
} packed_part_task;

typedef struct packed_cutter {
    tritree_view tree; /* as it was given */
    uint64_t node_room, reference_room, task_room;
    tritree_node *nodes; /* of the finer one */
    uint32_t *references;
    box3 *boxes;       /* a leaf's */
    uint32_t *parents; /* a pair of nodes of the given tree: whose they are */
    packed_leaf_task *tasks;
    packed_part_task *parts; /* a new node */
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
        c.counts->leaves = c.counts->large = 0;
    }
    if (i >= c.tree.node_count) return;
    const tritree_node node = c.tree.nodes[i];
    c.nodes[i] = node;
    if (tritree_is_leaf(node)) return;
    c.parents[packed_pair_of(tritree_left(node))] = i;
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

__global__ __launch_bounds__(PACKED_MAKE_BLOCK) void packed_list_leaves(
    const __grid_constant__ packed_cutter c) {
    const uint32_t i = blockIdx.x * PACKED_MAKE_BLOCK + threadIdx.x;
    uint32_t count = 0;
    if (i < c.tree.node_count && tritree_is_leaf(c.tree.nodes[i])) {
        count = tritree_count(c.tree.nodes[i]);
        if (count == 0) c.boxes[i] = box3_empty();
    }
    __syncwarp();
    const bool is_large = count > PACKED_FINER_MOST;
    const unsigned long long place = packed_take(&c.counts->leaves, count && !is_large ? 1 : 0);
    const unsigned long long large = packed_take(&c.counts->large, is_large ? 1 : 0);
    if (count == 0) return;
    packed_leaf_task task;
    task.cell = packed_cell_of(c, i);
    task.node = i;
    task.spare = 0;
    c.tasks[is_large ? c.task_room - 1 - large : place] = task;
}

/* Leaves that are not cut, a warp each. */
__global__ __launch_bounds__(PACKED_MAKE_BLOCK) void packed_large_leaves(
    const __grid_constant__ packed_cutter c) {
    const uint32_t warps = gridDim.x * (PACKED_MAKE_BLOCK / 32), lane = threadIdx.x & 31;
    for (uint32_t i = blockIdx.x * (PACKED_MAKE_BLOCK / 32) + threadIdx.x / 32; i < c.counts->large;
         i += warps) {
        const packed_leaf_task task = c.tasks[c.task_room - 1 - i];
        const tritree_node leaf = c.tree.nodes[task.node];
        box3 box = box3_empty();
        for (uint32_t k = lane; k < tritree_count(leaf); k += 32)
            box3_join(&box, packed_cut_id(&c.tree, c.tree.references[tritree_first(leaf) + k],
                                          task.cell));
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
        if (lane == 0) c.boxes[task.node] = box;
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
    uint32_t node, count, begin; /* begin: of its boxes in the tile */
    bool mine;                   /* in the tile */
};

__device__ __forceinline__ void packed_part_load(const packed_cutter &c, uint32_t level, uint32_t i,
                                                 bool is, packed_lane_part &part) {
    part.task.which = part.task.first = part.node = 0;
    if (is && level == 0) {
        const packed_leaf_task leaf = c.tasks[i];
        const tritree_node node = c.tree.nodes[leaf.node];
        part.node = leaf.node;
        part.task.cell = leaf.cell;
        part.task.first = tritree_first(node);
        part.task.which = (1u << tritree_count(node)) - 1;
    } else if (is) {
        part.node = (uint32_t)c.counts->before[level - 1] + i;
        part.task = c.parts[part.node - c.tree.node_count];
    }
    part.count = (uint32_t)__popc(part.task.which);
}

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

/* The box around the lane's part; whether and how it may be cut goes into the tile. */
__device__ __forceinline__ box3 packed_tile_join(packed_tile &tile, const packed_lane_part &part,
                                                 uint32_t level) {
    const uint32_t lane = threadIdx.x & 31;
    box3 box = box3_empty();
    for (uint32_t k = part.begin; part.mine && k < part.begin + part.count; ++k) {
        box3 one;
        one.lo = vec3_make(tile.lo[0][k], tile.lo[1][k], tile.lo[2][k]);
        one.hi = vec3_make(tile.hi[0][k], tile.hi[1][k], tile.hi[2][k]);
        box3_join(&box, one);
    }
    const bool may = part.mine && level < PACKED_FINER_LEVELS && part.count >= PACKED_FINER_LEAST &&
                     sah_half_area(box) > 0;
    tile.asks[lane] = may ? part.count : 0;
    tile.best[lane] = (unsigned long long)float_bits((float)part.count) << 32;
    for (int k = 0; may && k < 3; ++k) tile.axes[lane][k] = sah_axis_of(box, k);
    __syncwarp();
    return box;
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

/* The part at hand becomes two of the next level. */
__device__ __forceinline__ void packed_part_cut(const packed_cutter &c, const packed_tile &tile,
                                                const packed_lane_part &part, uint32_t number,
                                                uint32_t left) {
    const uint32_t on_axis = 2 * part.count;
    const int axis = (int)(number / on_axis);
    const uint32_t box = part.begin + number % on_axis / 2;
    const float plane = number & 1 ? tile.hi[axis][box] : tile.lo[axis][box];
    const uint2 sides = packed_tile_sides(tile, part, axis, plane);
    packed_part_task *const to = c.parts + (left - c.tree.node_count);
    packed_part_task low = part.task, high = part.task;
    c.nodes[part.node] = tritree_inner(axis, plane, left);
    low.which = sides.x;
    vec3_set_axis(&low.cell.hi, axis, plane);
    high.which = sides.y;
    vec3_set_axis(&high.cell.lo, axis, plane);
    to[0] = low;
    to[1] = high;
}

/* The part at hand becomes a leaf. */
__device__ __forceinline__ void
packed_part_end(const packed_cutter &c, const packed_lane_part &part, unsigned long long first) {
    uint32_t k = 0;
    if (first + part.count > c.reference_room) return;
    for (uint32_t i = 0; packed_has_next(part.task.which, &i); ++i)
        c.references[first + k++] = c.tree.references[part.task.first + i];
    c.nodes[part.node] = tritree_leaf((uint32_t)first, part.count);
}

/* The tile's parts, which have `total` boxes. By a whole warp. */
__device__ __forceinline__ void packed_tile_cut(const packed_cutter &c, packed_tile &tile,
                                                const packed_lane_part &part, uint32_t level,
                                                uint32_t total) {
    const uint32_t lane = threadIdx.x & 31;
    packed_tile_fill(c, tile, part, total);
    const box3 box = packed_tile_join(tile, part, level);
    if (part.mine) c.boxes[part.node] = box;
    for (uint32_t r = lane; r < total; r += 32) packed_tile_offer(tile, r);
    __syncwarp();
    const uint32_t number = tile.asks[lane] ? (uint32_t)tile.best[lane] : 0;
    const bool cuts = part.mine && number != 0, ends = part.mine && !cuts && level > 0;
    const unsigned long long left = packed_take(&c.counts->nodes, cuts ? 2 : 0);
    const unsigned long long first = packed_take(&c.counts->references, ends ? part.count : 0);
    if (cuts && left + 2 <= c.node_room) packed_part_cut(c, tile, part, number - 1, (uint32_t)left);
    if (ends) packed_part_end(c, part, first);
    __syncwarp();
}

/* How many parts a level has. */
__device__ __forceinline__ uint32_t packed_level_parts(const packed_cutter &c, uint32_t level) {
    if (level == 0) return (uint32_t)c.counts->leaves;
    const uint64_t first = c.counts->before[level - 1],
                   end = min((uint64_t)c.counts->before[level], c.node_room);
    return end > first ? (uint32_t)(end - first) & ~1u : 0;
}

/* By as many blocks as run together. */
__global__
__launch_bounds__(PACKED_MAKE_BLOCK) void packed_cut_level(const __grid_constant__ packed_cutter c,
                                                           uint32_t level) {
    __shared__ packed_tile tiles[PACKED_MAKE_BLOCK / 32];
    packed_tile &tile = tiles[threadIdx.x / 32];
    const uint32_t lane = threadIdx.x & 31, count = packed_level_parts(c, level);
    for (uint64_t begin = 32 * ((uint64_t)blockIdx.x * (PACKED_MAKE_BLOCK / 32) + threadIdx.x / 32);
         begin < count; begin += (uint64_t)gridDim.x * PACKED_MAKE_BLOCK) {
        packed_lane_part part;
        packed_part_load(c, level, (uint32_t)begin + lane, begin + lane < count, part);
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
