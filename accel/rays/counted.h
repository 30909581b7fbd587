/* Rays on a CUDA device whose number only the device knows: kernels that make rays and kernels that
   use hits follow each other without the host. Without CUDA in the build: KD_ERROR_DEVICE. */
#ifndef KD_ACCEL_RAYS_COUNTED_H
#define KD_ACCEL_RAYS_COUNTED_H
#include "accel/rays/tree_device.h"
#include "core/device/absent.h"
#include "core/math/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All memory is the tree's device's. */
typedef struct trace_counted {
    const ray *rays;  /* 16 bytes aligned */
    ray_hit *hits;    /* closest hits, 16 bytes aligned; or */
    uint8_t *blocked; /* any hits: 1 or 0 for each ray */
    const uint32_t *count;
    uint32_t *cursor; /* TRITREE_CUDA_CURSOR words, all 0; they are not after it */
    void *scratch; /* for so many rays, 16 bytes aligned, that not all of them are done at once */
    uint32_t room; /* of it, in pieces of TRACE_COUNTED_SCRATCH bytes: a few for each 100 rays;
                      with less it takes longer */
    bool coherent; /* neighbours start and point alike, as a camera's do */
    bool bounded;  /* most rays end before they leave the scene */
} trace_counted;

enum { TRACE_COUNTED_SCRATCH = 48 };

/* The answers of tritree_closest or tritree_occluded; on the default stream, not waited for. */
KD_DEVICE_CALL(trace_counted_cuda, (const tritree_cuda *tree, const trace_counted *rays));

#ifdef __cplusplus
}
#endif
#endif
