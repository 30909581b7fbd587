/* What the stages of build_select.cu share: where the points of a node lie, how points compare,
   and what is known of the nodes above the bottom.
   A record is (x, y, z, id) with -0 made +0. Records lie in order: all points of a node's left
   sub-tree, the node's own place, all of its right one. How many points a node has follows from its
   index alone, so every segment is known before a point is read. */
#ifndef KD_POINTS_TREE_INORDER_CUH
#define KD_POINTS_TREE_INORDER_CUH
#include "core/device/cuda.h"
#include "points/tree/layout.h"

namespace kandela {

constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr unsigned FULL = 0xffffffffu;

struct segment {
    uint32_t begin, count;
    uint32_t left; /* points in the left sub-tree: the rank of the pivot */
};

/* A left-balanced tree of `count` points: all levels are full but the last, which has `low`. */
struct layout {
    uint32_t count, levels, low;
};

inline layout layout_of(uint32_t count) {
    const uint32_t levels = pointtree_levels(count);
    return {count, levels, count - pointtree_level_begin(levels - 1)};
}

/* The `index`-th sub-tree from the left with `height` levels of a layout with `low` last nodes. */
__host__ __device__ inline segment subtree_segment(uint32_t low, uint32_t height, uint32_t index) {
    const uint32_t width = 1u << (height - 1), half = width >> 1;
    const uint32_t before = index * width;
    const uint32_t own = low <= before ? 0 : low - before < width ? low - before : width;
    segment s;
    s.begin = before + (before < low ? before : low);
    s.count = width - 1 + own;
    s.left = height < 2 ? 0 : half - 1 + (own < half ? own : half);
    return s;
}

__host__ __device__ inline segment node_segment(const layout &tree, uint32_t level,
                                                uint32_t index) {
    return subtree_segment(tree.low, tree.levels - level, index);
}

__host__ __device__ inline uint32_t node_at(uint32_t level, uint32_t index) {
    return (1u << level) - 1 + index;
}

/* THE order of points on an axis as one number: the coordinate, then the id. */
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

/* A key as its two parts, to compare records with: no branches. */
struct alignas(8) bound {
    float coordinate;
    uint32_t id;
};

__device__ inline bound bound_of(point_key key) {
    return {key_coordinate(key), (uint32_t)key};
}

/* Bounds that no record reaches or that lie between records are moved, past no record, to where a
   float can say them: order bits below those of -inf, above those of inf, and those of -0. */
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

/* A node's region: the bounding box clipped along its ancestors. */
struct domain {
    float lo[3], hi[3];
};

__device__ inline int domain_widest(const domain &of) {
    const float x = of.hi[0] - of.lo[0], y = of.hi[1] - of.lo[1], z = of.hi[2] - of.lo[2];
    return y > x ? (z > y ? 2 : 1) : (z > x ? 2 : 0);
}

__device__ inline domain domain_clipped(const domain &of, int axis, float plane, bool right) {
    domain part = of;
#pragma unroll
    for (int a = 0; a < 3; ++a)
        if (a == axis) (right ? part.lo : part.hi)[a] = plane;
    return part;
}

/* What the stages know of node i of the levels above the bottom. A node's candidates, those of its
   points with lo <= key <= hi, are listed from its segment's begin. */
struct node_table {
    point_key *pivot, *lo, *hi;
    uint32_t *less;   /* points before lo */
    uint32_t *found;  /* candidates */
    uint32_t *filled; /* records that were moved to its segment */
    uint8_t *axis;
    domain *region; /* NULL for round robin */
};

/* The build in flight. Records lie sorted into the segments of level `physical`: the levels below
   that are known by pivots alone. */
struct stage {
    layout tree;
    node_table nodes;
    const float *points; /* the input: `stride` floats a point */
    int stride;
    const float4 *records; /* NULL while the input was not moved yet */
    float4 *moved;         /* where to */
    point_key *candidates;
    float4 *lists; /* of levels that go in groups, instead of candidates: half a record a point */
    uint32_t *counts; /* of their places */
    int levels;       /* of a group; of roots from the `deep`-th on one less */
    uint32_t deep;
    bool refined; /* lists are searched by a second bracket each */
    uint32_t *tree_ids;
    uint8_t *tree_axes; /* NULL for round robin */
    uint32_t *bounds;   /* order bits of the bounding box: lo 3, hi 3 */
    uint32_t physical;
};

template <bool INPUT> __device__ inline float4 load_record(const stage &s, uint32_t i) {
    if (!INPUT) return s.records[i];
    const float *p = s.points + (uint64_t)i * s.stride;
    return make_float4(p[0] + 0.0f, p[1] + 0.0f, p[2] + 0.0f, __uint_as_float(i));
}

/* Whether the record of a segment of level `physical` is in the sub-tree of a node below. */
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
