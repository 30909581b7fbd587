/* Rows of answers by several trees on a CUDA device, as one tree of all their points has them: in
   the order (dist2, tree, place in its row). Every pointer is memory of the current device; nothing
   is allocated, and nothing is waited for. */
#ifndef KD_POINTS_DEVICE_CHANGE_ROWS_H
#define KD_POINTS_DEVICE_CHANGE_ROWS_H
#include "core/device/absent.h"
#include "points/tree/point_array.h"

#ifdef __cplusplus
extern "C" {
#endif

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
