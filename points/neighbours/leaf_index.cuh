/* The view of the point index that kernels on a CUDA device use, and the batches of queries that
   they process. */
#ifndef KD_POINTS_NEIGHBOURS_LEAF_INDEX_CUH
#define KD_POINTS_NEIGHBOURS_LEAF_INDEX_CUH
#include "core/device/cuda.h"
#include "points/neighbours/request.h"
#include "points/tree/walk.h"

namespace point_index {

constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr uint32_t LEAF_POINTS = 32; /* most leaves are full */
/* nodes on the last level of a chunk's sub-tree */
constexpr uint32_t CHUNK_WIDTH = 512;
constexpr uint32_t CHUNK_LEVELS = 10;

struct view {
    const float4 *points; /* in order, leaf by leaf; w holds the id */
    const float4 *boxes;  /* two per box: lo, hi; of a leaf also its range of points [begin, end) */
    const float4 *pairs;  /* four per pair */
    const float2 *planes; /* coordinate, axis */
    const uint32_t *outliers;
    uint32_t box_begin[POINT_BOX_LEVELS], box_count[POINT_BOX_LEVELS], box_levels;
    uint32_t pair_count, count, low, chunk_count, chunk_leaves;
};

inline view view_of(const point_index_cuda *index) {
    view out = {};
    out.points = (const float4 *)index->points;
    out.boxes = (const float4 *)index->boxes;
    out.pairs = (const float4 *)index->pairs;
    out.planes = (const float2 *)index->planes;
    out.outliers = index->outliers;
    memcpy(out.box_begin, index->box_begin, sizeof out.box_begin);
    memcpy(out.box_count, index->box_count, sizeof out.box_count);
    out.box_levels = index->box_levels;
    out.pair_count = index->pair_count;
    out.count = index->tree.count;
    out.low = index->low;
    out.chunk_count = index->chunk_count;
    out.chunk_leaves = index->chunk_leaves;
    return out;
}

/* A chunk is a sub-tree of ten levels in order, followed by its in-order successor. Returns the
   index of its first point. */
__device__ inline uint32_t chunk_begin(const view &index, uint32_t chunk) {
    const uint32_t upper = chunk * CHUNK_WIDTH;
    const uint32_t begin = upper + (upper < index.low ? upper : index.low);
    return begin < index.count ? begin : index.count;
}

struct point_range {
    uint32_t begin, end;
};

__device__ inline point_range leaf_range(const view &index, uint32_t leaf) {
    const float2 range = ((const float2 *)index.boxes)[4 * (uint64_t)leaf + 3];
    return {__float_as_uint(range.x), __float_as_uint(range.y)};
}

/* The bounding boxes of a leaf's two halves, and its points. */
struct leaf_halves {
    vec3 lo[2], hi[2];
    uint32_t begin, end; /* range of points */
};

/* A record is six floats per half, lo and hi, followed by the leaf's range of points. */
__device__ inline const float4 *halves_record(const view &index, uint32_t leaf) {
    return index.pairs + 4 * ((uint64_t)index.pair_count / 2 + leaf);
}

__device__ inline point_range halves_points(const float4 *record) {
    const float2 range = *(const float2 *)(record + 3);
    return {__float_as_uint(range.x), __float_as_uint(range.y)};
}

__device__ inline leaf_halves halves_of(const view &index, uint32_t leaf) {
    const float4 *at = halves_record(index, leaf);
    const float4 a = at[0], b = at[1], c = at[2];
    const point_range points = halves_points(at);
    return {{vec3_make(a.x, a.y, a.z), vec3_make(b.z, b.w, c.x)},
            {vec3_make(a.w, b.x, b.y), vec3_make(c.y, c.z, c.w)},
            points.begin,
            points.end};
}

/* Number of points in the first half if it is full. */
__device__ inline uint32_t half_width(uint32_t points) {
    return points > LEAF_POINTS ? LEAF_POINTS : LEAF_POINTS / 2;
}

/* A run is half a leaf: the unit for kernels that use one thread per query. */
__device__ inline point_range run_range(const view &index, uint32_t run) {
    point_range range = leaf_range(index, run / 2);
    const uint32_t middle = min(range.begin + half_width(range.end - range.begin), range.end);
    if (run % 2)
        range.begin = middle;
    else
        range.end = middle;
    return range;
}

__device__ inline vec3 xyz(const float4 &value) {
    return vec3_make(value.x, value.y, value.z);
}

/* Lower bound of the dist2 of any point in the box; rounded in the same order as
   pointtree_dist2, so it never exceeds it. */
__device__ inline float box_dist2(float lo_x, float lo_y, float lo_z, float hi_x, float hi_y,
                                  float hi_z, vec3 q) {
    const float x = fmaxf(fmaxf(lo_x - q.x, q.x - hi_x), 0.0f);
    const float y = fmaxf(fmaxf(lo_y - q.y, q.y - hi_y), 0.0f);
    const float z = fmaxf(fmaxf(lo_z - q.z, q.z - hi_z), 0.0f);
    return x * x + y * y + z * z;
}

/* A batch of queries of three floats, as passed to kernels. */
struct point_queries {
    static constexpr bool SELF = false;
    const float *points;
    int stride;
    const float *radii; /* radius per query; may be NULL */
    float max_radius;
    /* permutation in which queries are processed; NULL: their own order */
    const uint32_t *order;
    uint32_t count;
    /* codes of the sorted queries, the group in the bits above code_shift; or NULL */
    const uint32_t *codes;
    uint32_t code_shift, group_levels;
    /* per query an upper bound on dist2, with stride `bounds_stride`; or NULL */
    const float *bounds2;
    uint32_t bounds_stride;
};

__device__ inline vec3 query_point(const point_queries &queries, uint32_t which) {
    const float *p = queries.points + (uint64_t)which * queries.stride;
    return vec3_make(p[0], p[1], p[2]);
}

/* Returns the bound on dist2 of a query; negative, so that no point qualifies, for NaN or a
   negative radius. */
__device__ inline float query_limit2(const point_queries &queries, uint32_t which, vec3 q) {
    if (q.x != q.x || q.y != q.y || q.z != q.z) return -1.0f;
    float radius = queries.max_radius;
    if (queries.radii && queries.radii[which] < radius) radius = queries.radii[which];
    const float bound2 = pointtree_bound2(radius);
    if (!queries.bounds2) return bound2;
    return fminf(bound2, queries.bounds2[(uint64_t)which * queries.bounds_stride]);
}

/* A batch whose queries are the index's own points, in index order (self-query). The order
   consists of whole leaves except at the end of one chunk, where the tree's last level ends; a
   gap there realigns the following queries to groups. `turn` is a position in the batch,
   including the gap. */
struct self_queries {
    static constexpr bool SELF = true;
    const float4 *points;
    float max_radius;
    uint32_t first_end; /* index of the first point after that chunk */
    uint32_t gap;       /* empty turns after first_end */
    uint32_t count;     /* number of turns */
    bool skips;         /* a point is not its own neighbour */
    bool by_id;         /* rows are ordered by id instead of by index position */
    /* point to query at each turn; if set, there are no empty turns. NULL: index order */
    const uint32_t *order;
    const uint32_t *codes; /* codes of the sorted queries, as in `point_queries` */
    uint32_t code_shift;
};

/* Pads the batch so that no group of `group_size` queries spans the boundary at first_end. */
inline self_queries self_queries_of(const view &index, double max_radius, bool skips, bool by_id,
                                    uint32_t group_size) {
    const uint32_t shallow = index.low / CHUNK_WIDTH; /* chunks with full last level */
    uint32_t end = (shallow + 1) * CHUNK_WIDTH + index.low;
    if (end > index.count) end = index.count;
    const uint32_t gap = (group_size - end % group_size) % group_size;
    return {
        index.points, (float)max_radius, end, gap, index.count + gap, skips, by_id, NULL, NULL, 0};
}

/* The same batch in a given sorted order, with its codes. */
inline self_queries self_queries_sorted(const view &index, double max_radius, bool skips,
                                        bool by_id, const uint32_t *order, const uint32_t *codes,
                                        uint32_t code_shift) {
    return {index.points, (float)max_radius, index.count, 0, index.count, skips, by_id, order,
            codes,        code_shift};
}

/* Returns the chunk that contains a position in the index. */
__device__ inline uint32_t chunk_of(const view &index, const self_queries &queries,
                                    uint32_t place) {
    return place < queries.first_end ? place / (2 * CHUNK_WIDTH)
                                     : (place - index.low) / CHUNK_WIDTH;
}

/* One query of a self-query batch. `valid`: false for a turn in the gap; `place`: position in the
   processing order; `row`: row of the results; `skipped`: id to exclude from the results, or
   KD_NONE. */
struct self_query_turn {
    bool valid;
    uint32_t place, row, skipped;
    vec3 q;
};

__device__ inline self_query_turn self_query_of(const self_queries &queries, uint32_t turn) {
    const bool later = turn >= queries.first_end;
    const bool valid = turn < queries.count && (!later || turn - queries.first_end >= queries.gap);
    const uint32_t place = later ? valid ? turn - queries.gap : queries.first_end - 1 : turn;
    const uint32_t at = queries.order ? queries.order[place] : place; /* position in the index */
    const float4 p = queries.points[at];
    const uint32_t id = __float_as_uint(p.w);
    return {valid, place, queries.by_id ? id : at, queries.skips ? id : KD_NONE,
            vec3_make(p.x, p.y, p.z)};
}

} // namespace point_index
#endif
