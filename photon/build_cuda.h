/* What a builder on a CUDA device is given and gives back. Every pointer is memory of the current
   device; nothing is allocated and nothing is waited for. */
#ifndef KD_PHOTON_BUILD_CUDA_H
#define KD_PHOTON_BUILD_CUDA_H
#include "core/status.h"
#include "shaders/points.h"
#include "shaders/pointtree.h"
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
    size_t scratch_bytes; /* at least what the builder asks for */
    void *stream;         /* cudaStream_t */
} point_build_cuda;

typedef struct point_builder_cuda {
    const char *name;
    /* Bytes of scratch for these arguments (the points' count, dims and scalar, and the split
     * matter). */
    kd_status (*scratch_bytes)(size_t *bytes, const point_build_cuda *arguments);
    kd_status (*build)(const point_build_cuda *arguments);
} point_builder_cuda;

extern const point_builder_cuda point_builders_cuda[]; /* the default first; ends with name NULL */

kd_status build_kandela_cuda_scratch_bytes(size_t *bytes, const point_build_cuda *arguments);
kd_status build_kandela_cuda(const point_build_cuda *arguments);
kd_status build_wald_cuda_scratch_bytes(size_t *bytes, const point_build_cuda *arguments);
kd_status build_wald_cuda(const point_build_cuda *arguments);

#ifdef __cplusplus
}
#endif
#endif
