/* State shared by the stages of build_binned.cu: references, nodes under construction, work lists,
   counters. Space in buffers is allocated by counters that only grow. A counter that exceeds its
   capacity sets a bit of `exhausted`, and the build is void. */
#ifndef KD_ACCEL_ZHOU_BINNED_STATE_CUH
#define KD_ACCEL_ZHOU_BINNED_STATE_CUH
#include "accel/zhou/pipeline.cuh"

enum {
    LARGE_BLOCK = 128,
    LARGE_BLOCKS = 7, /* per multiprocessor */
    LARGE_EACH = 4,   /* references per thread */
    CHUNK = LARGE_BLOCK * LARGE_EACH,
    /* in nodes of at most this many references, splits that leave all of them on one side are
       excluded */
    ALL_ASIDE_MAX = 4,
    RAW_IDS = 2,      /* references of a leaf up to which its raw node stores the ids */
    SMALL_MAX = 64,   /* references of a small node */
    SMALL_CLASSES = 5 /* at most 4, 8, 16, 32, 64 references */
};

/* A node to be split. */
struct __align__(16) work {
    float lo[3];
    uint32_t first; /* index of its first reference in the pool */
    float hi[3];
    uint32_t count;
    uint32_t at; /* index of its raw node */
    uint32_t depth;
    uint32_t unused[2];
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
    enum : uint32_t { SIZES_UNKNOWN = ~0u }; /* after any bit of `exhausted` */
    uint32_t *leaf_ids;
    work *small[2][SMALL_CLASSES];
    work *medium;
    big_node *big;
    unsigned long long *queue; /* binned_one_block.cuh */
    counters *count;
    uint32_t pool_capacity, raw_capacity, leaf_capacity, small_capacity, big_capacity,
        medium_capacity, queue_capacity;
};

__device__ __forceinline__ raw_node raw_leaf_with(uint32_t first_id, uint32_t last_id,
                                                  uint32_t count) {
    raw_node leaf = raw_leaf(first_id, count);
    leaf.split = __uint_as_float(last_id);
    return leaf;
}

__device__ __forceinline__ float pick(const float *values, int axis) {
    return axis == 0 ? values[0] : axis == 1 ? values[1] : values[2];
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

/* sah_axis_of with one division for all three axes. */
struct node_areas {
    double size[3], inverse; /* inverse: of half the area; 0 if that is 0 */
};

__device__ __forceinline__ node_areas areas_of(const work &node) {
    node_areas areas;
    for (int a = 0; a < 3; ++a) areas.size[a] = (double)node.hi[a] - (double)node.lo[a];
    const double x = areas.size[0], y = areas.size[1], z = areas.size[2],
                 area = x * y + y * z + z * x;
    areas.inverse = area > 0 ? 1 / area : 0;
    return areas;
}

__device__ __forceinline__ sah_axis axis_of(const work &node, const node_areas &areas, int axis) {
    const double x = areas.size[0], y = areas.size[1], z = areas.size[2];
    const double u = axis == 0 ? y : axis == 1 ? z : x, v = axis == 0 ? z : axis == 1 ? x : y;
    sah_axis along;
    along.lo = pick(node.lo, axis);
    along.hi = pick(node.hi, axis);
    along.base = areas.inverse > 0 ? (float)(u * v * areas.inverse) : 1;
    along.slope = (float)((u + v) * areas.inverse);
    return along;
}

/* Returns true if a side of a reference is a candidate plane: strictly inside the node, or in one
   of its faces if the reference is flat. Flat references in a face are then separated from all
   others: they go left in the lower face, right in the upper one. */
__device__ __forceinline__ bool is_candidate(const sah_axis &areas, float plane, bool flat) {
    return (plane > areas.lo && plane < areas.hi) || (flat && areas.lo < areas.hi);
}

/* Returns the cost of a split. In nodes of few references, a plane must not leave all of them on
   one side and some on the other: such splits rarely pay off and make trees deep. */
__device__ __forceinline__ float cost_of(const sah_costs &costs, const sah_axis &areas, float plane,
                                         uint32_t left, uint32_t right, uint32_t count) {
    if (count <= ALL_ASIDE_MAX && left && right && (left == count || right == count))
        return INFINITY;
    return sah_split_cost(&costs, &areas, plane, left, right);
}

#endif
