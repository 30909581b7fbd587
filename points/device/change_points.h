/* A tree on a CUDA device whose points come and go: which points have an id that goes, how they go,
   and how what is left of a tree becomes the input of another. Every pointer but `tree` itself is
   memory of the current device; nothing is allocated but scratch of the pool, and only
   change_marks_read waits. `stream` is a cudaStream_t, NULL the default one. */
#ifndef KD_POINTS_DEVICE_CHANGE_POINTS_H
#define KD_POINTS_DEVICE_CHANGE_POINTS_H
#include "core/device/absent.h"
#include "points/neighbours/request.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif
