/* Interface of the CUDA builders: their arguments and the table entry that describes each of
   them. Every pointer refers to memory of the current device unless stated otherwise. Builders
   allocate nothing; they only enqueue work on the stream, and do not synchronise unless `waits`
   in their entry says so. */
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
    point_array points; /* device memory, finite; stride a multiple of the scalar's size */
    pointtree_split split;
    uint32_t *ids; /* out: original index of each point in tree order */
    uint8_t *axes; /* out: split axis of each node; NULL for round robin */
    void *scratch;
    size_t scratch_bytes;       /* at least the result of `scratch_bytes` below */
    void *stream;               /* cudaStream_t */
    bool unique;                /* `brown`: of equal points, keep only the one with the least id */
    uint32_t *kept;             /* out, host memory: number of points in the tree; may be NULL */
    double cells;               /* `wehr`: cells per unit length to round to; 0: no rounding */
    point_box box;              /* bounding box of all points; required by `wehr` */
    bool has_box;               /* `box` is valid, so that no builder needs to compute it */
    point_build_stages *stages; /* timing, filled by `select` for three floats; may be NULL */
} point_build_cuda;

/* Table entry of a CUDA builder. A builder's source file ends with its entry,
   point_builder_cuda_NAME, and NAME is in the list of points/select/builders.h. */
typedef struct point_builder_cuda {
    const char *name; /* name of the CPU builder of the same tree */
    /* Stores the scratch bytes needed for these arguments; the result depends on the number of
       points, on their dims and scalar, and on the split rule. */
    kd_status (*scratch_bytes)(size_t *bytes, const point_build_cuda *arguments);
    kd_status (*build)(const point_build_cuda *arguments);
    /* Properties that callers need to know. */
    bool waits;   /* `build` synchronises with its stream to read back a word */
    bool removes; /* `build` supports `unique` */
} point_builder_cuda;

/* Checks the requirements of all builders: a supported number of points, dims and stride, and at
   least `needed` bytes of scratch. Returns KD_ERROR_USAGE, or KD_ERROR_MEMORY if the scratch is too
   small. */
kd_status point_build_cuda_check(const point_build_cuda *arguments, size_t needed);

#ifdef __cplusplus
}
#endif
#endif
