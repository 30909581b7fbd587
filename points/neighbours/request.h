/* Queries of a point tree on a CUDA device. Every pointer is memory of the current device; nothing
   is allocated and nothing is waited for. Answers are those of points/tree/walk.h, bit for
   bit: ids of the input and dist2, ordered by (dist2, id). */
#ifndef KD_POINTS_NEIGHBOURS_REQUEST_H
#define KD_POINTS_NEIGHBOURS_REQUEST_H
#include "core/device/absent.h"
#include "points/tree/build_device.h"
#include "points/tree/walk_metric.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    POINT_BOX_LEVELS = 7, /* the root's box with them */
    POINT_LEAVES_K_MAX = 1024,
    POINT_GROUPS_K_MAX = 112,
    POINT_PACKETS_K_MAX = 16,
    POINT_THREADS_K_MAX = 16
};

/* The tree with its points beside it, and, for three floats, the points once more, in leaves under
   boxes: the tree's sub-trees of ten levels, each split anew by its points' own boxes. */
typedef struct point_index_cuda {
    pointtree_nd_view tree; /* its box is not filled */
    float *points;          /* leaf by leaf: x, y, z and the id's bits; NULL unless three floats */
    float *boxes;           /* lo, hi and a leaf's first point and end: of leaves, of 32 such boxes,
                               and so on to the root's */
    float *planes;          /* of the nodes above groups of 32 leaves: coordinate, axis's bits */
    float *pairs;           /* both children's boxes (lo, hi, lo, hi, four unused) of a binary tree
                               over half leaves */
    uint32_t *strays;    /* of each sub-tree of ten levels: where the ancestor lies that it holds,
                            often far from the others */
    uint32_t *ties;      /* one number: groups below nodes that part points of equal coordinates, as
                            often as they are below one */
    uint32_t sorts_from; /* so many own points are sorted to ask, fewer ask by leaves; 0: neither,
                            they ask as they lie. Set by who reads `ties` */
    uint32_t box_begin[POINT_BOX_LEVELS], box_count[POINT_BOX_LEVELS];
    uint32_t box_levels; /* of groups; the root's box is behind them */
    uint32_t pair_count;
    uint32_t low;          /* points on the last level of the tree */
    uint32_t chunk_count;  /* sub-trees of ten levels */
    uint32_t chunk_leaves; /* places for leaves in each: 32 or 16 */
} point_index_cuda;

/* From a tree that was built; `arguments` as they were for the builder. The memory belongs to the
   caller and holds all that the index points to but ids and axes. */
KD_DEVICE_CALL(point_index_cuda_bytes, (size_t * bytes, const point_build_cuda *arguments));
KD_DEVICE_CALL(point_index_cuda_open, (point_index_cuda * out, const point_build_cuda *arguments,
                                       void *memory, size_t bytes));

/* Where a plane has to part points of equal coordinates, as on walls, both sides lie across each
   other: then leaves are wide, and what asks together had better be sorted. */
static inline uint32_t point_index_sorts_from(const point_index_cuda *index, uint32_t ties) {
    return (uint64_t)ties * 16 >= index->box_count[1] ? 200000 : 0;
}

typedef enum point_query_method {
    POINT_QUERY_AUTO = 0,
    POINT_QUERY_WALK,    /* stack-free, a thread a query: any points, any k; the oracle */
    POINT_QUERY_LEAVES,  /* a warp a query over leaves of 32 points; k to 1024 */
    POINT_QUERY_THREADS, /* a thread a query, for k to 16, along a space-filling curve */
    POINT_QUERY_PACKETS, /* a warp for 32 neighbouring queries, k to 16 */
    POINT_QUERY_GROUPS   /* a warp for 8 neighbouring queries, k to 112 */
} point_query_method;

typedef struct point_query_cuda {
    const point_index_cuda *index; /* itself in host memory */
    point_array points;            /* dims and scalar of the tree's */
    const void *radii;             /* one of the tree's scalars each, or NULL */
    double max_radius;             /* of all; INFINITY: no limit */
    const point_metric *metric;    /* in host memory; NULL: Euclid's. Walks alone have another */
    const float *bounds2;          /* of each query the largest dist2 of use, `bounds_stride` floats
                                      apart; or NULL. For the nearest of three floats; walks find more */
    uint32_t bounds_stride;
    uint32_t k;        /* for the nearest */
    uint32_t kernel_k; /* by the kernel for this many, at least k; 0: for k */
    bool coherent;     /* neighbours in the array are near each other: sort only if needed */
    uint32_t turns;    /* that a warp answers after each other; 0: by the number of queries */
    uint32_t patience; /* of a warp with leaves that none of its queries needs, before each of them
                          is asked apart; 0: as is best, KD_NONE: without end */
    uint32_t *parted;  /* out: one number, how many were asked apart; or NULL */
    point_query_method method;
    uint32_t *ids;    /* rows of k, or at offsets; what is not there is KD_NONE; or NULL */
    void *dist2;      /* as ids, of the tree's scalar; INFINITY; or NULL */
    uint32_t *counts; /* nearest: how many there are; or NULL */
    void *scratch;
    size_t scratch_bytes;
    void *stream; /* cudaStream_t */
} point_query_cuda;

/* For the nearest, or for both calls of within. */
KD_DEVICE_CALL(point_query_cuda_scratch_bytes, (size_t * bytes, const point_query_cuda *query));
KD_DEVICE_CALL(point_query_cuda_nearest, (const point_query_cuda *query));
/* All within the radius: first offsets[0 ... count], then the answers to query i from offsets[i] to
   offsets[i + 1] of ids and dist2, which have to be there both. */
KD_DEVICE_CALL(point_query_cuda_count_within, (const point_query_cuda *query, uint64_t *offsets));
KD_DEVICE_CALL(point_query_cuda_within, (const point_query_cuda *query, const uint64_t *offsets));

/* The same calls with the tree's own points as queries (query_own.cu): of `query` points, radii,
   coherent and turns are not looked at. The index has them in order already;
   where that is no good order, they are sorted (sorts_from). */
/* What such a call wants beside its k or its radius; on the CPU, too (query.h). */
typedef struct point_own {
    bool skips;        /* a point is not among its own answers */
    uint32_t *order;   /* out: the id of the point that each row is of, rows being in the order that
                          is cheapest; NULL: row i is that of the point with id i */
    double max_radius; /* on a CPU; a device has it in its query */
    const point_metric *metric; /* as well; NULL: Euclid's */
} point_own;

KD_DEVICE_CALL(point_own_cuda_scratch_bytes,
               (size_t * bytes, const point_query_cuda *query, const point_own *own));
KD_DEVICE_CALL(point_own_cuda_nearest, (const point_query_cuda *query, const point_own *own));
KD_DEVICE_CALL(point_own_cuda_count_within,
               (const point_query_cuda *query, const point_own *own, uint64_t *offsets));
KD_DEVICE_CALL(point_own_cuda_within,
               (const point_query_cuda *query, const point_own *own, const uint64_t *offsets));

#ifdef __cplusplus
}
#endif
#endif
