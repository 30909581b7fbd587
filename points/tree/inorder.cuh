/* Definitions shared by the stages of build_select.cu: the segment of each node, the order of
   points, and the per-node state above the bottom levels.
   A record is (x, y, z, id) with -0 replaced by +0. Records are stored in order: all points of a
   node's left sub-tree, the slot of the node itself, all points of its right sub-tree. The
   number of points of a node follows from its index alone, so every segment is known before any
   point is read. */
#ifndef KD_POINTS_TREE_INORDER_CUH
#define KD_POINTS_TREE_INORDER_CUH
#include "core/device/cuda.h"
#include "points/tree/layout.h"

namespace kandela {

constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr unsigned FULL = 0xffffffffu;

struct segment {
    uint32_t begin, count;
    uint32_t left; /* points in the left sub-tree, hence the pivot's rank */
};

/* A left-balanced tree of `count` points: all levels are full but the last, which has `low`
   nodes. */
struct layout {
    uint32_t count, levels, low;
};

inline layout layout_of(uint32_t count) {
    const uint32_t levels = pointtree_levels(count);
    return {count, levels, count - pointtree_level_begin(levels - 1)};
}

/* The segment of the `index`-th sub-tree from the left, of `height` levels, in a tree whose last
   level has `low` nodes. */
__host__ __device__ inline segment subtree_segment(uint32_t low, uint32_t height, uint32_t index) {
    const uint32_t width = 1u << (height - 1), half = width >> 1;
    const uint32_t before = index * width;
    const uint32_t deepest = low <= before ? 0 : low - before < width ? low - before : width;
    segment s;
    s.begin = before + (before < low ? before : low);
    s.count = width - 1 + deepest;
    s.left = height < 2 ? 0 : half - 1 + (deepest < half ? deepest : half);
    return s;
}

__host__ __device__ inline segment node_segment(const layout &tree, uint32_t level,
                                                uint32_t index) {
    return subtree_segment(tree.low, tree.levels - level, index);
}

__host__ __device__ inline uint32_t node_at(uint32_t level, uint32_t index) {
    return (1u << level) - 1 + index;
}

/* The total order of points on an axis as one integer: the coordinate's bits above the id. */
typedef unsigned long long point_key;
constexpr point_key KEY_MAX = ~0ull;

__device__ inline float record_axis(const float4 &record, int axis) {
    return axis == 0 ? record.x : axis == 1 ? record.y : record.z;
}

__device__ inline uint32_t record_id(const float4 &record) {
    return __float_as_uint(record.w);
}

__device__ inline point_key record_key(const float4 &record, int axis) {
    return (point_key)pointtree_order_bits(record_axis(record, axis)) << 32 | record_id(record);
}

__device__ inline float key_coordinate(point_key key) {
    return pointtree_float_of_order_bits((uint32_t)(key >> 32));
}

/* A key split into its two parts, to compare records without branches. */
struct alignas(8) bound {
    float coordinate;
    uint32_t id;
};

__device__ inline bound bound_of(point_key key) {
    return {key_coordinate(key), (uint32_t)key};
}

/* Bounds whose order bits represent no float are moved, without passing any record, to the
   nearest representable value: order bits below those of -inf, above those of +inf, and those of
   -0. */
__device__ inline point_key lower_bound_key(point_key key) {
    const uint32_t bits = (uint32_t)(key >> 32);
    return bits < 0x007fffffu    ? 0x007fffffull << 32
           : bits == 0x7fffffffu ? 0x80000000ull << 32
                                 : key;
}

__device__ inline point_key upper_bound_key(point_key key) {
    const uint32_t bits = (uint32_t)(key >> 32);
    return bits > 0xff800000u    ? 0xff800000ull << 32 | FULL
           : bits == 0x7fffffffu ? 0x7ffffffeull << 32 | FULL
                                 : key;
}

__device__ inline bool before(float x, uint32_t id, const bound &b) {
    return (x < b.coordinate) | ((x == b.coordinate) & (id < b.id));
}

__device__ inline bool after(float x, uint32_t id, const bound &b) {
    return (x > b.coordinate) | ((x == b.coordinate) & (id > b.id));
}

/* The region of a node: the bounding box clipped along its ancestors. */
struct domain {
    float lo[3], hi[3];
};

__device__ inline int domain_widest(const domain &region) {
    const float x = region.hi[0] - region.lo[0], y = region.hi[1] - region.lo[1],
                z = region.hi[2] - region.lo[2];
    return y > x ? (z > y ? 2 : 1) : (z > x ? 2 : 0);
}

__device__ inline domain domain_clipped(const domain &region, int axis, float plane, bool right) {
    domain part = region;
#pragma unroll
    for (int a = 0; a < 3; ++a)
        if (a == axis) (right ? part.lo : part.hi)[a] = plane;
    return part;
}

/* State of each node above the bottom levels, indexed by node. The candidates of a node, its
   points with lo <= key <= hi, are listed from the beginning of its segment on. */
struct node_table {
    point_key *pivot, *lo, *hi;
    uint32_t *less;       /* number of points before lo */
    uint32_t *candidates; /* number of candidates */
    uint32_t *filled;     /* number of records moved to the segment */
    uint8_t *axis;
    domain *region; /* NULL for round robin */
};

/* The state of a build. Records are partitioned into the segments of level `physical`; levels
   below it are known by their pivots alone. */
struct stage {
    layout tree;
    node_table nodes;
    const float *points; /* input, `stride` floats per point */
    int stride;
    const float4 *records; /* NULL until the input has been moved for the first time */
    float4 *moved;         /* destination of the next move */
    point_key *candidates;
    /* for levels processed in groups, instead of candidates: half a record per point */
    float4 *lists;
    uint32_t *counts; /* number of records in each list */
    int levels;       /* levels per group; one less for roots from the `deep`-th on */
    uint32_t deep;
    bool refined; /* a second bracket narrows each list before its search */
    uint32_t *tree_ids;
    uint8_t *tree_axes; /* NULL for round robin */
    uint32_t *bounds;   /* order bits of the bounding box: 3 lower sides, 3 upper */
    uint32_t physical;
};

template <bool INPUT> __device__ inline float4 load_record(const stage &s, uint32_t i) {
    if (!INPUT) return s.records[i];
    const float *p = s.points + (uint64_t)i * s.stride;
    return make_float4(p[0] + 0.0f, p[1] + 0.0f, p[2] + 0.0f, __uint_as_float(i));
}

/* Returns whether a record of a segment on level `physical` belongs to the sub-tree of a node
   below it. */
__device__ inline bool in_subtree(const stage &s, const float4 &record, uint32_t level,
                                  uint32_t index) {
    for (uint32_t above = s.physical; above < level; ++above) {
        const uint32_t ancestor = node_at(above, index >> (level - above));
        const point_key key = record_key(record, s.nodes.axis[ancestor]);
        const point_key pivot = s.nodes.pivot[ancestor];
        if ((index >> (level - above - 1) & 1) ? key <= pivot : key >= pivot) return false;
    }
    return true;
}

} // namespace kandela
#endif
