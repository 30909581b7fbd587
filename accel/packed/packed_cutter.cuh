/* The finer tree in device memory while it is made, and what its kernels share: cells, places, what
   is written of a subtree.
   Memory: 96 bytes a node, 4 a reference, 12 a given node, 36 a part: a leaf that is not empty, or a
           new node. */
#ifndef KD_ACCEL_PACKED_PACKED_CUTTER_CUH
#define KD_ACCEL_PACKED_PACKED_CUTTER_CUH
#include "accel/packed/packed_finer.h"
#include <stdint.h>

enum { PACKED_MAKE_BLOCK = 128 };

/* Counters; the first two are what rooms should have had. */
typedef struct packed_cut_counts {
    unsigned long long nodes, references;
    unsigned long long cut, kept, large;            /* parts */
    unsigned long long before[PACKED_FINER_LEVELS]; /* parts to be cut, when a level began */
    unsigned long long pairs;                       /* packed_measures.cuh */
} packed_cut_counts;

/* A node's costs while it waits for its sibling. */
typedef struct packed_costs {
    float4 low, high;
} packed_costs;

/* Some references of a leaf of the given tree, in a part of its cell or in all of it. */
typedef struct packed_part_task {
    box3 cell;
    uint32_t first, which; /* bit PACKED_FINER_MOST: some of the leaf's boxes are flat */
    uint32_t node;         /* of the finer tree: one of the given one's, or new */
} packed_part_task;

typedef struct packed_cutter {
    tritree_view tree; /* as it was given */
    uint64_t node_room, reference_room, part_room;
    packed_subtree *at; /* the finer one */
    uint32_t *references;
    packed_costs *costs; /* a node */
    uint2 *up;        /* a pair of its nodes: the plane of whose they are, and whose << 2 | axis */
    uint32_t *report; /* a pair: how many of both are measured */
    uint32_t *pairs;  /* those that are ready (packed_measures.cuh) */
    packed_part_task *parts; /* those that may be cut, level by level; from the end on the others */
    uint32_t *large;         /* leaves of so many triangles that a warp takes one */
    packed_cut_counts *counts;
} packed_cutter;

__device__ __forceinline__ uint32_t packed_pair_of(uint32_t node) {
    return (node - 1) >> 1;
}

/* The cell of a node: its side on each axis is the nearest plane above that bounds it. */
__device__ __forceinline__ box3 packed_cell_of(const packed_cutter &c, uint32_t at) {
    box3 cell;
    cell.lo = vec3_all(-INFINITY);
    cell.hi = vec3_all(INFINITY);
    uint32_t open = 63;
    while (at != 0 && open != 0) {
        const uint2 up = __ldg(c.up + packed_pair_of(at));
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

/* What the lanes of a warp before this one have; *all: all of them. */
__device__ __forceinline__ uint32_t packed_scan(uint32_t mine, uint32_t *all) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t upto = mine;
    for (uint32_t step = 1; step < 32; step <<= 1) {
        const uint32_t lower = __shfl_up_sync(~0u, upto, (int)step);
        if (lane >= step) upto += lower;
    }
    *all = __shfl_sync(~0u, upto, 31);
    return upto - mine;
}

/* Places for so many items of each lane of a warp, of a counter of all: one atomic for the warp. */
__device__ __forceinline__ unsigned long long packed_take(unsigned long long *counter,
                                                          uint32_t mine) {
    uint32_t all;
    const uint32_t before = packed_scan(mine, &all);
    unsigned long long first = 0;
    if ((threadIdx.x & 31) == 0 && all) first = atomicAdd(counter, (unsigned long long)all);
    return __shfl_sync(~0u, first, 0) + before;
}

__device__ __forceinline__ void packed_store(packed_subtree *to, tritree_node node, uint64_t plan,
                                             const uint32_t *ids, const box3 &box) {
    uint4 *const words = (uint4 *)to;
    words[0] =
        make_uint4(float_bits(node.split), node.word, (uint32_t)plan, (uint32_t)(plan >> 32));
    words[1] = make_uint4(ids[0], ids[1], ids[2], ids[3]);
    words[2] = make_uint4(float_bits(box.lo.x), float_bits(box.lo.y), float_bits(box.lo.z),
                          float_bits(box.hi.x));
    words[3] = make_uint4(float_bits(box.hi.y), float_bits(box.hi.z), 0, 0);
}

__device__ __forceinline__ void packed_store_costs(packed_costs *to, const float *cost) {
    to->low = make_float4(cost[0], cost[1], cost[2], cost[3]);
    to->high = make_float4(cost[4], cost[5], cost[6], cost[7]);
}

#endif
