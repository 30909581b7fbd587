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
    point_build_stages *stages; /* NULL, or told of by `kandela` for three floats */
} point_build_cuda;

typedef struct point_builder_cuda {
    const char *name; /* of the builder on the CPU that makes the same tree */
    bool waits;       /* for a word on its stream */
    bool removes;     /* `unique` is for it */
    /* Bytes of scratch for these arguments (the points' count, dims and scalar, and the split
     * matter). */
    kd_status (*scratch_bytes)(size_t *bytes, const point_build_cuda *arguments);
    kd_status (*build)(const point_build_cuda *arguments);
} point_builder_cuda;

extern const point_builder_cuda point_builders_cuda[]; /* the default first; ends with name NULL */

/* What all builders refuse: counts, dims and strides that make no sense, less than `needed` bytes
   of scratch. */
kd_status point_build_cuda_check(const point_build_cuda *arguments, size_t needed);

kd_status build_kandela_cuda_scratch_bytes(size_t *bytes, const point_build_cuda *arguments);
kd_status build_kandela_cuda(const point_build_cuda *arguments);
kd_status build_wald_cuda_scratch_bytes(size_t *bytes, const point_build_cuda *arguments);
kd_status build_wald_cuda(const point_build_cuda *arguments);
kd_status build_brown_cuda_scratch_bytes(size_t *bytes, const point_build_cuda *arguments);
kd_status build_brown_cuda(const point_build_cuda *arguments);
kd_status build_wehr_cuda_scratch_bytes(size_t *bytes, const point_build_cuda *arguments);
kd_status build_wehr_cuda(const point_build_cuda *arguments);
/* The way of `brown` to the tree of `kandela`: any dims and scalar; the scratch is that of `brown`.
 */
kd_status build_lists_cuda(const point_build_cuda *arguments);

#ifdef __cplusplus
}
#endif
#endif
