/* Queries of a point tree on a CUDA device. Every pointer refers to memory of the current device
   unless stated otherwise; the functions neither allocate nor synchronise. Results are those of
   points/tree/walk.h, bit for bit: input ids and dist2, ordered by (dist2, id). */
#ifndef KD_POINTS_NEIGHBOURS_REQUEST_H
#define KD_POINTS_NEIGHBOURS_REQUEST_H
#include "core/device/cuda_stubs.h"
#include "points/tree/build_device.h"
#include "points/tree/walk_nd.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    POINT_BOX_LEVELS = 7, /* including that of the root's box */
    POINT_LEAVES_K_MAX = 1024,
    POINT_GROUPS_K_MAX = 112,
    POINT_PACKETS_K_MAX = 24,
    POINT_THREADS_K_MAX = 16
};

/* A tree with its points in tree order and, for three floats, once more in leaves under bounding
   boxes: each sub-tree of ten levels is re-split by its points' own boxes. */
typedef struct point_index_cuda {
    pointtree_nd_view tree; /* its `box` is not set */
    /* leaf by leaf: x, y, z and the id's bits; NULL unless the points are three floats */
    float *points;
    /* boxes of the leaves, then boxes of 32 of these each, and so on up to the root: lo, hi, and
       for a leaf its range of points */
    float *boxes;
    /* planes of the nodes above groups of 32 leaves: coordinate, bits of the axis */
    float *planes;
    /* both children's boxes (lo, hi, lo, hi, four unused) of a binary tree over half leaves */
    float *pairs;
    /* for each sub-tree of ten levels: position of its in-order successor, an ancestor stored with
       it that is often far from its other points */
    uint32_t *outliers;
    /* one number: for each node that separates points with equal coordinates, the number of groups
       below it, summed */
    uint32_t *ties;
    /* self-queries of at least this many points are sorted, those of fewer points use leaves; 0:
       index order. Set by the code that reads `ties` back */
    uint32_t sorts_from;
    uint32_t box_begin[POINT_BOX_LEVELS], box_count[POINT_BOX_LEVELS];
    /* levels of groups; the root's box follows them */
    uint32_t box_levels;
    uint32_t pair_count;
    uint32_t low;          /* points on the last level of the tree */
    uint32_t chunk_count;  /* number of sub-trees of ten levels */
    uint32_t chunk_leaves; /* leaves per sub-tree: 32 or 16 */
} point_index_cuda;

/* Builds the index of a tree that was built with the same `arguments`. The caller owns the memory,
   which holds all data of the index but ids and axes. */
KD_DEVICE_CALL(point_index_cuda_bytes, (size_t * bytes, const point_build_cuda *arguments));
KD_DEVICE_CALL(point_index_cuda_open, (point_index_cuda * out, const point_build_cuda *arguments,
                                       void *memory, size_t bytes));

/* Planes that separate points with equal coordinates, as on walls, make the two sides overlap:
   leaves are wide then, and self-queries should be sorted. Returns the value for sorts_from. */
static inline uint32_t point_index_sorts_from(const point_index_cuda *index, uint32_t ties) {
    return (uint64_t)ties * 16 >= index->box_count[1] ? 200000 : 0;
}

typedef enum point_query_method {
    POINT_QUERY_AUTO = 0,
    POINT_QUERY_WALK,    /* stack-free, one thread per query: any points, any k; the reference */
    POINT_QUERY_LEAVES,  /* one warp per query, leaves of 32 points; k up to 1024 */
    POINT_QUERY_THREADS, /* one thread per query along a space-filling curve; k up to 16 */
    POINT_QUERY_PACKETS, /* one warp per 32 neighbouring queries; k up to 24 */
    POINT_QUERY_GROUPS   /* one warp per 8 neighbouring queries; k up to 112 */
} point_query_method;

typedef struct point_query_cuda {
    const point_index_cuda *index; /* struct in host memory */
    point_array points;            /* dims and scalar of the tree */
    const void *radii;             /* one per query, in the tree's scalar; or NULL */
    double max_radius;             /* limit for all queries; INFINITY: none */
    /* in host memory; NULL: Euclidean. Other metrics are supported by walks only */
    const point_metric *metric;
    /* per query an upper bound on dist2, with stride `bounds_stride` floats; or NULL. For the
       nearest of three floats; walks ignore it */
    const float *bounds2;
    uint32_t bounds_stride;
    uint32_t k;        /* neighbours per query */
    uint32_t kernel_k; /* use the kernel for this many, at least k; 0: for k */
    /* adjacent queries in the array are close in space: sort only if needed */
    bool coherent;
    /* batches that a warp processes in sequence; 0: chosen by the number of queries */
    uint32_t turns;
    /* leaves that a warp visits in vain before its queries are split off to a warp each; 0:
       default, KD_NONE: unlimited */
    uint32_t patience;
    /* out: number of queries split off; or NULL */
    uint32_t *parted;
    point_query_method method;
    /* rows of k, or at offsets; padded with KD_NONE; or NULL */
    uint32_t *ids;
    /* as ids, in the tree's scalar; padded with INFINITY; or NULL */
    void *dist2;
    uint32_t *counts; /* nearest: number of results per query; or NULL */
    void *scratch;
    size_t scratch_bytes;
    void *stream; /* cudaStream_t */
} point_query_cuda;

/* Scratch for the nearest, or for both functions of within. */
KD_DEVICE_CALL(point_query_cuda_scratch_bytes, (size_t * bytes, const point_query_cuda *query));
KD_DEVICE_CALL(point_query_cuda_nearest, (const point_query_cuda *query));
/* All points within the radius: first compute offsets[0 ... count], then store the results of query
   i at offsets[i] to offsets[i + 1] of ids and dist2, neither of which may be NULL. */
KD_DEVICE_CALL(point_query_cuda_count_within, (const point_query_cuda *query, uint64_t *offsets));
KD_DEVICE_CALL(point_query_cuda_within, (const point_query_cuda *query, const uint64_t *offsets));

/* Self-queries: the same functions with the tree's own points as queries (query_self.cu); points,
   radii, coherent and turns of `query` are ignored. Queries are processed in index order, or sorted
   where that order is unsuitable (sorts_from). */
/* Arguments of a self-query besides k or radius; also used on the CPU (query.h). */
typedef struct point_self_query {
    bool skips; /* a point is not its own neighbour */
    /* out: id of the point that each row belongs to, rows being in the cheapest order; NULL: row i
       belongs to the point with id i */
    uint32_t *order;
    double max_radius; /* CPU only; on a device see point_query_cuda */
    /* CPU only, likewise; NULL: Euclidean */
    const point_metric *metric;
} point_self_query;

KD_DEVICE_CALL(point_self_cuda_scratch_bytes,
               (size_t * bytes, const point_query_cuda *query, const point_self_query *self_query));
KD_DEVICE_CALL(point_self_cuda_nearest,
               (const point_query_cuda *query, const point_self_query *self_query));
KD_DEVICE_CALL(point_self_cuda_count_within,
               (const point_query_cuda *query, const point_self_query *self_query,
                uint64_t *offsets));
KD_DEVICE_CALL(point_self_cuda_within,
               (const point_query_cuda *query, const point_self_query *self_query,
                const uint64_t *offsets));

#ifdef __cplusplus
}
#endif
#endif
