/* A tree on a CUDA device, behind <kandela/points.h>. Its calls put their work on the caller's
   stream, wait for it, and leave the thread's current device as it was. */
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
    uint32_t *renamed; /* or NULL */
    void *memory;      /* of the index */
    uint32_t *gone;    /* once points have gone: a bit for each of the input; else NULL */
    uint64_t bytes;    /* of all of these */
} points_cuda;

/* Builds from points and names in host or device memory; out->tree has its options and order. */
kd_status points_cuda_build(kd_points *out, const point_array *points, const uint32_t *renamed,
                            const point_builder_cuda *row, int32_t device);
/* Moves a tree from the host to the device. */
kd_status points_cuda_adopt(kd_points *out, int32_t device);
/* A copy of the tree on the host, to be freed by points_release. */
kd_status points_cuda_fetch(kd_points *copy, const kd_points *tree);
void points_cuda_close(points_cuda *owned); /* takes NULL */
/* Points in memory of this device: the caller's, or a packed copy, which is *staged then and is
   given back to the pool. */
kd_status points_cuda_stage(point_array *out, void **staged, const point_array *points,
                            int32_t device, void *stream);
/* The first time that points go: room for `gone`, empty. */
kd_status points_cuda_open_gone(points_cuda *c, void *stream);

uint64_t points_cuda_scratch_bytes(const kd_points *tree, const kd_points_query *query);

#endif
