/* What a tree on a CUDA device is asked and told that is no neighbour: boxes, points that come and
   go, rows of several trees merged. Every pointer but a tree's own view is memory of the current
   device; nothing is allocated but scratch of the pool, and only change_marks_read waits. `stream`
   is a cudaStream_t, NULL the default one. */
#ifndef KD_POINTS_API_DEVICE_KERNELS_H
#define KD_POINTS_API_DEVICE_KERNELS_H
#include "core/device/absent.h"
#include "points/neighbours/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- points in axis-aligned boxes --------------------------------------------------------------
 */

typedef struct point_boxes {
    point_array lo, hi; /* dims and scalar of the tree's, as many of both */
} point_boxes;

/* offsets[0 ... count]: where the ids of each box go. */
KD_DEVICE_CALL(points_device_count_boxes, (const pointtree_nd_view *tree, const point_boxes *boxes,
                                           uint64_t *offsets, void *stream));
/* Ids in order, each replaced by renamed[id] unless that is NULL. */
KD_DEVICE_CALL(points_device_fill_boxes,
               (const pointtree_nd_view *tree, const point_boxes *boxes, const uint64_t *offsets,
                const uint32_t *renamed, uint32_t *ids, void *stream));

/* --- which points have an id that goes, how they go, and what is left of a tree as the input of
   another ---------------------------------------------------------------------------------------
 */

/* One tree, as changes see it. */
typedef struct change_layer {
    const point_index_cuda *tree;
    const uint32_t *renamed; /* the caller's id of each point of the input, or NULL */
    uint32_t *gone;          /* a bit for each point of the input: gone; NULL: all are there */
    uint32_t *hits;          /* the same: goes now; NULL: nothing does */
} change_layer;

static inline uint64_t change_words(uint64_t points) {
    return (points + 31) / 32;
}

/* Ids that go. */
typedef struct change_ids {
    uint32_t *sorted; /* `count` */
    uint32_t *filter; /* bits: an id may be among them only where that of its low bits is set */
    uint32_t *met;    /* of each: a point has it */
    uint32_t count;
} change_ids;

enum { CHANGE_FILTER_BITS = 1 << 22, CHANGE_LAYERS_MOST = 40 };

/* How many points of each layer go; of ids that no point has how many, and the least. */
typedef struct change_found {
    uint32_t hits[CHANGE_LAYERS_MOST];
    uint32_t missing, least_missing;
} change_found;

/* Fills all of `ids` but the pointers and the count from as many at `given`. */
KD_DEVICE_CALL(change_ids_open, (const change_ids *ids, const uint32_t *given, void *stream));
/* The bits `hits` of the layer, and *hit_count, which is of change_found. */
KD_DEVICE_CALL(change_mark, (const change_layer *layer, const change_ids *ids, uint32_t *hit_count,
                             void *stream));
/* What was found, once all layers are marked. */
KD_DEVICE_CALL(change_marks_read,
               (change_found * out, change_found *found, const change_ids *ids, void *stream));
/* Those with `hits` are among `gone` from now on, and nothing finds them by leaves. */
KD_DEVICE_CALL(change_let_go, (const change_layer *layer, void *stream));
/* What is there of the layer, in the order of its input: coordinates, packed, and ids from the
   places `first` on. */
KD_DEVICE_CALL(change_gather, (const change_layer *layer, uint64_t first, void *coordinates,
                               uint32_t *ids, void *stream));
KD_DEVICE_CALL(change_clear, (void *memory, uint64_t bytes, void *stream)); /* to zeros */
/* ids[i] = first + i. */
KD_DEVICE_CALL(change_number, (uint32_t * ids, uint64_t count, uint32_t first, void *stream));
/* Points with a stride, packed. */
KD_DEVICE_CALL(change_pack, (void *to, const point_array *points, void *stream));

/* --- rows of answers by several trees, as one tree of all their points has them: in the order
   (dist2, tree, place in its row)
   ----------------------------------------------------------------------- */

/* One tree's answers; of the nearest `k` places a row, of those within a radius rows between
   offsets. */
typedef struct change_rows {
    uint32_t *ids;
    void *dist2; /* of the points' scalar */
    uint32_t *counts;
    const uint64_t *offsets;
} change_rows;

/* The k nearest of both, in the place of *first; ids of both are there, or of none. */
KD_DEVICE_CALL(change_merge_nearest,
               (const change_rows *first, const change_rows *second, uint64_t count, uint32_t k,
                point_scalar scalar, void *stream));
/* sums[i] += more[i], of `count`. */
KD_DEVICE_CALL(change_add_offsets,
               (uint64_t * sums, const uint64_t *more, uint64_t count, void *stream));
/* All of several trees' rows, `layers` of them, to rows at out->offsets. */
KD_DEVICE_CALL(change_merge_within, (const change_rows *out, const change_rows *rows, int layers,
                                     uint64_t count, point_scalar scalar, void *stream));

#ifdef __cplusplus
}
#endif
#endif
