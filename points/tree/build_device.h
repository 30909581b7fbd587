/* What a builder on a CUDA device is given and gives back. Every pointer is memory of the current
   device unless said; nothing is allocated, and nothing is waited for but where a row says so. */
#ifndef KD_POINTS_TREE_BUILD_DEVICE_H
#define KD_POINTS_TREE_BUILD_DEVICE_H
#include "core/status.h"
#include "points/tree/layout.h"
#include "points/tree/point_array.h"
#include "points/tree/stages.h"
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct point_build_cuda {
    point_array points; /* in device memory, finite; a stride of whole scalars */
    pointtree_split split;
    uint32_t *ids; /* out: original index of each point in tree order */
    uint8_t *axes; /* out: split axis of each node; NULL for round robin */
    void *scratch;
    size_t scratch_bytes;       /* at least what the builder asks for */
    void *stream;               /* cudaStream_t */
    bool unique;                /* `brown`: keep one of equal points, that of the least id */
    uint32_t *kept;             /* out, host memory: how many points the tree has; or NULL */
    double cells;               /* a unit, that `wehr` rounds coordinates to; 0: not at all */
    point_box box;              /* of all points: `wehr` wants it */
    bool has_box;               /* the box is there: others need not find it */
    point_build_stages *stages; /* NULL, or told of by `select` for three floats */
} point_build_cuda;

/* What it offers: its row, point_builder_cuda_NAME, ends its file; its NAME stands in the list of
   points/builders.h. */
typedef struct point_builder_cuda {
    const char *name; /* of the builder on the CPU that makes the same tree */
    /* Bytes of scratch for these arguments (the points' count, dims and scalar, and the split
     * matter). */
    kd_status (*scratch_bytes)(size_t *bytes, const point_build_cuda *arguments);
    kd_status (*build)(const point_build_cuda *arguments);
    /* What others have to know of it. */
    bool waits;   /* for a word on its stream */
    bool removes; /* `unique` is for it */
} point_builder_cuda;

/* What all builders refuse: counts, dims and strides that make no sense, less than `needed` bytes
   of scratch. */
kd_status point_build_cuda_check(const point_build_cuda *arguments, size_t needed);

#ifdef __cplusplus
}
#endif
#endif
