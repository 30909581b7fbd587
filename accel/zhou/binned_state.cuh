/* State that the stages of build_binned.cu share: references, nodes under construction, work lists,
   counters. Buffers are allocated from by counters that only grow. A counter that exceeds its
   capacity sets a bit of `exhausted`, and the build is void. */
#ifndef KD_ACCEL_ZHOU_BINNED_STATE_CUH
#define KD_ACCEL_ZHOU_BINNED_STATE_CUH
#include "accel/zhou/pipeline.cuh"

enum {
    LARGE_BLOCK = 128,
    LARGE_BLOCKS = 7, /* per multiprocessor */
    LARGE_EACH = 4,   /* references per thread */
    CHUNK = LARGE_BLOCK * LARGE_EACH,
    /* at most that many references: splits that keep all on one side are excluded */
    ALL_ASIDE_MOST = 4,
    SMALL_MOST = 64,   /* references of a small node */
    SMALL_CLASSES = 5, /* at most 4, 8, 16, 32, 64 references */
    PAIR_HOLE = 0,
    EXHAUSTED_POOL = 1,
    EXHAUSTED_NODES = 2,
    EXHAUSTED_LEAVES = 4,
    EXHAUSTED_LISTS = 8
};

/* A node to be split. */
struct __align__(16) work {
    float lo[3];
    uint32_t first; /* of its references, in the pool */
    float hi[3];
    uint32_t count;
    uint32_t at; /* index of its raw node */
    uint32_t depth;
    uint32_t unused[2];
};

/* A node of the tree before it has its place in the layout. Raw nodes are allocated in pairs; index
   1 is unused. */
struct __align__(16) raw_node {
    float split;
    uint32_t kind;  /* axis; 3: leaf */
    uint32_t first; /* left child; a leaf's first id in leaf_ids; or its only id */
    uint32_t count; /* of a leaf */
};

/* Two siblings, the raw nodes 2 i and 2 i + 1. */
struct __align__(32) raw_pair {
    uint32_t parent;
    /* depth << 2 | number of the two that have reported; PAIR_HOLE: unused, or the root's */
    uint32_t state;
    /* inner nodes and references of the subtrees; `right` only for an inner node whose sibling is
       inner, too */
    uint2 left, right;
};

/* Contended counters are on separate cache lines. */
struct counters {
    __align__(128) uint32_t pool;
    uint32_t nodes, leaf_ids;
    __align__(
        128) uint32_t small[3][SMALL_CLASSES]; /* lists of three levels: read, filled, cleared */
    __align__(128) uint32_t medium;            /* lists of large nodes */
    uint32_t big;
    __align__(
        128) uint32_t pending; /* tasks of large nodes that are listed but not done; initially 1 */
    uint32_t queued;           /* tasks listed */
    uint32_t queue_end;        /* where the list's capacity was exceeded */
    __align__(128) uint32_t taken; /* tasks requested */
    __align__(128) uint32_t exhausted;
    uint32_t degenerate, valid;
    uint2 total;              /* inner nodes and references of the tree */
    uint32_t stop[3];         /* set for the level after the one that exceeded a capacity */
    int box_lo[3], box_hi[3]; /* ordered integers */
};

struct big_node; /* binned_large.cuh */

struct binned : build_state {
    clipped *pool;
    raw_node *raw;
    raw_pair *pairs;
    uint2 *places;
    uint32_t *leaf_ids;
    work *small[2][SMALL_CLASSES];
    work *medium;
    big_node *big;
    unsigned long long *queue; /* binned_one_block.cuh */
    counters *count;
    uint32_t pool_room, raw_room, leaf_room, small_room, big_room, medium_room, queue_room;
};

__device__ __forceinline__ float pick(const float *of, int axis) {
    return axis == 0 ? of[0] : axis == 1 ? of[1] : of[2];
}
__device__ __forceinline__ void put4(float4 *to, int axis, float value) {
    if (axis == 0)
        to->x = value;
    else if (axis == 1)
        to->y = value;
    else
        to->z = value;
}

__device__ __forceinline__ box3 box_of(const work &node) {
    box3 box;
    box.lo = vec3_make(node.lo[0], node.lo[1], node.lo[2]);
    box.hi = vec3_make(node.hi[0], node.hi[1], node.hi[2]);
    return box;
}

/* `next`: index of the next level's flag, so that all blocks of a level agree on whether to
   stop. */
__device__ __forceinline__ void exhaust(const binned &k, uint32_t what, int next) {
    atomicOr(&k.count->exhausted, what);
    k.count->stop[next] = 1;
}

__device__ __forceinline__ raw_node raw_leaf(uint32_t first, uint32_t count) {
    raw_node leaf;
    leaf.split = 0;
    leaf.kind = 3;
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
/* Makes the node an inner node, with the raw nodes left and left + 1 as children. */
__device__ __forceinline__ void make_inner(const binned &k, const work &node, int axis, float split,
                                           uint32_t left) {
    k.raw[node.at] = raw_inner(axis, split, left);
    raw_pair *pair = k.pairs + (left >> 1);
    *(uint2 *)&pair->parent = make_uint2(node.at, (node.depth + 1) << 2);
}

__device__ __forceinline__ int small_class(uint32_t count) {
    return count <= 4 ? 0 : count <= 8 ? 1 : count <= 16 ? 2 : count <= 32 ? 3 : 4;
}

__device__ __forceinline__ work child_of(const work &node, int axis, float split, bool right) {
    work child = node;
    ++child.depth;
    for (int a = 0; a < 3; ++a) {
        if (a != axis) continue;
        if (right)
            child.lo[a] = split;
        else
            child.hi[a] = split;
    }
    return child;
}

/* sah_axis_of for all three axes with one division. */
__device__ __forceinline__ void axes_of(const work &node, sah_axis of[3]) {
    const double x = (double)node.hi[0] - (double)node.lo[0];
    const double y = (double)node.hi[1] - (double)node.lo[1];
    const double z = (double)node.hi[2] - (double)node.lo[2];
    const double area = x * y + y * z + z * x, inverse = area > 0 ? 1 / area : 0;
    const double bases[3] = {y * z, z * x, x * y}, slopes[3] = {y + z, z + x, x + y};
    for (int a = 0; a < 3; ++a) {
        of[a].lo = node.lo[a];
        of[a].hi = node.hi[a];
        of[a].base = area > 0 ? (float)(bases[a] * inverse) : 1;
        of[a].slope = (float)(slopes[a] * inverse);
    }
}

/* Returns true if a side of a reference is a candidate plane: strictly inside the node, or in the
   node's own side if the reference is flat. Flat references in a side are then separated from all
   others: they go left in the lower side, right in the upper one. */
__device__ __forceinline__ bool is_candidate(const sah_axis &of, float plane, bool flat) {
    return (plane > of.lo && plane < of.hi) || (flat && of.lo < of.hi);
}

/* Returns the cost of a split. In nodes of few references, a plane must not leave all of them on
   one side and some on the other: such splits rarely pay off and make trees deep. */
__device__ __forceinline__ float cost_of(const sah_costs &costs, const sah_axis &of, float plane,
                                         uint32_t left, uint32_t right, uint32_t count) {
    if (count <= ALL_ASIDE_MOST && left && right && (left == count || right == count))
        return INFINITY;
    return sah_split_cost(&costs, &of, plane, left, right);
}

#endif
