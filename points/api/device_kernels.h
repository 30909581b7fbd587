/* CUDA kernels of the public API besides neighbour queries: boxes, insertion and removal, and
   merging the rows of several trees. Every pointer except a tree's own view refers to memory of the
   current device. The functions allocate only scratch from the pool, and only dynamic_marks_read
   synchronises. `stream` is a cudaStream_t; NULL is the default stream. */
#ifndef KD_POINTS_API_DEVICE_KERNELS_H
#define KD_POINTS_API_DEVICE_KERNELS_H
#include "core/device/cuda_stubs.h"
#include "points/neighbours/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- points in axis-aligned boxes ----------------------------------------------------------- */

typedef struct point_boxes {
    point_array lo, hi; /* same count; dims and scalar of the tree */
} point_boxes;

/* Computes offsets[0 ... count], the range of each box in the array of ids. */
KD_DEVICE_CALL(points_device_count_boxes, (const pointtree_nd_view *tree, const point_boxes *boxes,
                                           uint64_t *offsets, void *stream));
/* Writes the ids in each box in ascending order, each replaced by renamed[id] unless `renamed` is
   NULL. */
KD_DEVICE_CALL(points_device_fill_boxes,
               (const pointtree_nd_view *tree, const point_boxes *boxes, const uint64_t *offsets,
                const uint32_t *renamed, uint32_t *ids, void *stream));

/* --- removal of points by id, and collection of the remaining points as input of another tree  */

/* One layer of a dynamic tree. */
typedef struct dynamic_layer {
    const point_index_cuda *tree;
    const uint32_t *renamed; /* the caller's id of each input point; or NULL */
    /* one bit per input point: removed earlier; NULL: none */
    uint32_t *tombstones;
    /* one bit per input point: to be removed now; NULL: none */
    uint32_t *hits;
} dynamic_layer;

static inline uint64_t dynamic_words(uint64_t points) {
    return (points + 31) / 32;
}

/* The set of ids to remove. */
typedef struct dynamic_ids {
    uint32_t *sorted; /* the ids in ascending order */
    /* bit set indexed by the low bits of an id: if the bit is 0, the id is not in the set */
    uint32_t *filter;
    uint32_t *matched; /* per id: 1 if a point has it */
    uint32_t count;
} dynamic_ids;

enum { DYNAMIC_FILTER_BITS = 1 << 22, DYNAMIC_LAYERS_MAX = 40 };

/* Number of points to remove from each layer; number of ids that no point has, and the least of
   them. */
typedef struct dynamic_found {
    uint32_t hits[DYNAMIC_LAYERS_MAX];
    uint32_t missing, min_missing;
} dynamic_found;

/* Fills all arrays of `ids` from ids->count ids at `new_ids`; the caller sets the pointers and the
   count. */
KD_DEVICE_CALL(dynamic_ids_open, (const dynamic_ids *ids, const uint32_t *new_ids, void *stream));
/* Sets the bits `hits` of the layer and *hit_count, an element of dynamic_found. */
KD_DEVICE_CALL(dynamic_mark, (const dynamic_layer *layer, const dynamic_ids *ids,
                              uint32_t *hit_count, void *stream));
/* Reads back the result after all layers were marked; synchronises with the stream. */
KD_DEVICE_CALL(dynamic_marks_read,
               (dynamic_found * out, dynamic_found *dynamic, const dynamic_ids *ids, void *stream));
/* Moves the points in `hits` to `tombstones` and sets them to NaN in the leaves, where no search
   finds them. */
KD_DEVICE_CALL(dynamic_set_tombstones, (const dynamic_layer *layer, void *stream));
/* Collects the remaining points of the layer in the order of its input: packed coordinates, and
   ids, both from index `first` on. */
KD_DEVICE_CALL(dynamic_gather, (const dynamic_layer *layer, uint64_t first, void *coordinates,
                                uint32_t *ids, void *stream));
KD_DEVICE_CALL(dynamic_clear, (void *memory, uint64_t bytes, void *stream)); /* sets to zero */
/* ids[i] = first + i. */
KD_DEVICE_CALL(dynamic_number, (uint32_t * ids, uint64_t count, uint32_t first, void *stream));
/* Copies points with a stride to a packed array. */
KD_DEVICE_CALL(dynamic_pack, (void *to, const point_array *points, void *stream));

/* --- merging the rows of several trees in the order (dist2, tree, position in the row) ------ */

/* Results of one tree: rows of `k` for the nearest, or rows between offsets for those within a
   radius. */
typedef struct dynamic_rows {
    uint32_t *ids;
    void *dist2; /* squared distances, in the points' scalar */
    uint32_t *counts;
    const uint64_t *offsets;
} dynamic_rows;

/* Merges the k nearest of both into *first. Both must have ids, or neither. */
KD_DEVICE_CALL(dynamic_merge_nearest,
               (const dynamic_rows *first, const dynamic_rows *second, uint64_t count, uint32_t k,
                point_scalar scalar, void *stream));
/* sums[i] += more[i] for `count` elements. */
KD_DEVICE_CALL(dynamic_add_offsets,
               (uint64_t * sums, const uint64_t *more, uint64_t count, void *stream));
/* Merges the rows of `layers` trees into rows at out->offsets. */
KD_DEVICE_CALL(dynamic_merge_within, (const dynamic_rows *out, const dynamic_rows *rows, int layers,
                                      uint64_t count, point_scalar scalar, void *stream));

#ifdef __cplusplus
}
#endif
#endif
