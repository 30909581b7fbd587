/* A tree on a CUDA device, behind <kandela/points.h>. The functions enqueue their work on the
   caller's stream, synchronise with it, and restore the thread's current device. */
#ifndef KD_POINTS_API_POINTS_DEVICE_H
#define KD_POINTS_API_POINTS_DEVICE_H
#include "points/api/points.h"
#include "points/neighbours/query.h"
#include "points/neighbours/request.h"

typedef struct points_cuda {
    int32_t device;
    point_index_cuda index;
    uint32_t *ids;
    uint8_t *axes;     /* NULL for round robin */
    uint32_t *renamed; /* the caller's id of each input point; or NULL */
    void *memory;      /* memory of the index */
    /* one bit per input point: removed; NULL until points are removed */
    uint32_t *tombstones;
    uint64_t bytes; /* device memory of all of these */
} points_cuda;

/* Builds a tree from points and ids (`renamed`) in host or device memory; out->tree holds its
   options and order. */
kd_status points_cuda_build(kd_points *out, const point_array *points, const uint32_t *renamed,
                            const point_builder_cuda *row, int32_t device);
/* Moves a tree from the host to the device. */
kd_status points_cuda_adopt(kd_points *out, int32_t device);
/* Copies the tree to the host; free the copy with points_release. */
kd_status points_cuda_fetch(kd_points *copy, const kd_points *tree);
void points_cuda_close(points_cuda *owned); /* accepts NULL */
/* Provides the points in memory of this device: the caller's own array, or a packed copy in
 *staged, which the caller returns to the pool. */
kd_status points_cuda_stage(point_array *out, void **staged, const point_array *points,
                            int32_t device, void *stream);
/* Allocates `tombstones`, all zeros, before the first removal. */
kd_status points_cuda_open_tombstones(points_cuda *c, void *stream);

uint64_t points_cuda_scratch_bytes(const kd_points *tree, const kd_points_query *query);

#endif
