/* State shared by the rules of the CUDA builders: references to triangles, raw nodes, capacities.
   Space in buffers is allocated by atomic counters. A counter that exceeds its capacity sets a bit
   of `exhausted`, and the build is void. */
#ifndef KD_ACCEL_ZHOU_STATE_CUH
#define KD_ACCEL_ZHOU_STATE_CUH
#include "accel/tree/build.h"
#include "accel/tree/sah.h"
#include "accel/tree/triangle.h"
#include "core/device/cuda.h"
#include <stdint.h>

#define WARP_ALL 0xffffffffu /* lanes */

/* Bits of tritree_built.exhausted. */
enum { EXHAUSTED_POOL = 1, EXHAUSTED_NODES = 2, EXHAUSTED_LEAVES = 4, EXHAUSTED_LISTS = 8 };

/* A triangle's part in a node: its bounding box. */
struct clipped {
    float4 lo; /* w: id */
    float4 hi;
};

/* A node of the tree whose place in the layout is not known yet. Raw nodes are allocated in pairs;
   index 1 is unused. */
struct __align__(16) raw_node {
    float split;
    uint32_t kind;  /* axis; RAW_LEAF; RAW_ROOT */
    uint32_t first; /* left child; of a leaf: defined by place_leaf of the rule */
    uint32_t count; /* references of a leaf */
};
enum { RAW_LEAF = 3, RAW_ROOT = 7 /* root of a subtree that is already in order */ };

/* Two siblings, the raw nodes 2 i and 2 i + 1. */
struct __align__(32) raw_pair {
    uint32_t parent;
    /* depth << 2 | number of the two that have reported; PAIR_HOLE: unused, or the root's */
    uint32_t state;
    /* place in the layout: first node | first reference << 32; 0: not known yet */
    unsigned long long place;
    /* inner nodes and references of the subtrees; `right` only for an inner node whose sibling is
       inner, too */
    uint2 left, right;
};
enum { PAIR_HOLE = 0 };

/* The state of every rule begins with this struct. */
struct build_state {
    tritree_input input;
    sah_costs costs;
    uint32_t max_depth;
    float4 *corners; /* three per triangle; `zhou` has none */
    tritree_node *nodes;
    uint32_t *references;
    uint32_t node_capacity, reference_capacity;
    tritree_built *built;
    clipped *pool; /* references; the first are whole triangles */
    raw_node *raw;
    raw_pair *pairs;
};

/* Lists alternate between two buffers, their counters between three: one is read, one filled, one
   cleared. */
struct build_level {
    int from, to;         /* buffers */
    int now, next, after; /* counters */
};

__device__ __forceinline__ build_level level_at(int depth) {
    return {depth & 1, depth & 1 ^ 1, depth % 3, (depth + 1) % 3, (depth + 2) % 3};
}

/* Maps floats to integers of the same order. */
__device__ __forceinline__ int ordered(float x) {
    const int bits = __float_as_int(x);
    return bits >= 0 ? bits : bits ^ 0x7fffffff;
}
__device__ __forceinline__ float unordered(int x) {
    return __int_as_float(x >= 0 ? x : x ^ 0x7fffffff);
}
__device__ __forceinline__ box3 unordered_box(const int *lo, const int *hi) {
    box3 box;
    box.lo = vec3_make(unordered(lo[0]), unordered(lo[1]), unordered(lo[2]));
    box.hi = vec3_make(unordered(hi[0]), unordered(hi[1]), unordered(hi[2]));
    return box;
}
__device__ __forceinline__ float pick4(float4 vector, int axis) {
    return axis == 0 ? vector.x : axis == 1 ? vector.y : vector.z;
}

/* Inclusive prefix sum in groups of `width` lanes. */
__device__ __forceinline__ uint32_t group_scan(uint32_t value, int width) {
    const int place = threadIdx.x & (width - 1);
    for (int step = 1; step < width; step <<= 1) {
        const uint32_t other = __shfl_up_sync(WARP_ALL, value, step, width);
        if (place >= step) value += other;
    }
    return value;
}
__device__ __forceinline__ uint32_t warp_scan(uint32_t value) {
    return group_scan(value, 32);
}

/* Sets bits of `exhausted`. `next` is the index of the next level's stop flag: all blocks of a
   level thus agree on whether to stop. */
template <class state>
__device__ __forceinline__ void exhaust(const state &k, uint32_t what, int next) {
    atomicOr(&k.count->exhausted, what);
    k.count->stop[next] = 1;
}

/* Clears the counters. Called by all threads of one block. */
template <class state> __device__ __forceinline__ void clear_counters(const state &k) {
    auto *c = k.count;
    for (uint32_t i = threadIdx.x; i < sizeof *c / 4; i += blockDim.x) ((uint32_t *)c)[i] = 0;
    __syncthreads();
    if (threadIdx.x != 0) return;
    c->nodes = 2; /* the root; 1 is unused, so that pairs begin at even indices */
    for (int a = 0; a < 3; ++a) {
        c->box_lo[a] = ordered(INFINITY);
        c->box_hi[a] = ordered(-INFINITY);
    }
    k.pairs[0].state = PAIR_HOLE;
}

__device__ __forceinline__ raw_node raw_leaf(uint32_t first, uint32_t count) {
    raw_node leaf;
    leaf.split = 0;
    leaf.kind = RAW_LEAF;
    leaf.first = first;
    leaf.count = count;
    return leaf;
}
__device__ __forceinline__ raw_node raw_inner(int axis, float split, uint32_t left) {
    raw_node inner;
    inner.split = split;
    inner.kind = (uint32_t)axis;
    inner.first = left;
    inner.count = 0;
    return inner;
}
__device__ __forceinline__ bool is_raw_leaf(uint32_t kind) {
    return (kind & 3) == 3;
}

/* Makes node.at, at node.depth, an inner node with the raw nodes left and left + 1 as children. */
template <class state, class active>
__device__ __forceinline__ void make_inner(const state &k, const active &node, int axis,
                                           float split, uint32_t left) {
    k.raw[node.at] = raw_inner(axis, split, left);
    raw_pair *pair = k.pairs + (left >> 1);
    *(uint4 *)&pair->parent = make_uint4(node.at, (node.depth + 1) << 2, 0, 0);
}

#endif
