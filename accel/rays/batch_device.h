/* Rays by the batch, on a CUDA device. Without CUDA in the build every call is KD_ERROR_DEVICE. */
#ifndef KD_ACCEL_RAYS_BATCH_DEVICE_H
#define KD_ACCEL_RAYS_BATCH_DEVICE_H
#include "accel/rays/tree_device.h"
#include "accel/tree/walk.h"
#include "core/device/absent.h"
#include "core/math/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which loop runs the rays. */
typedef enum trace_loop {
    TRACE_AUTO,       /* by `coherent` or `measured` */
    TRACE_PLAIN,      /* accel/tree/walk.h as it stands: the others' oracle */
    TRACE_ONCE,       /* one thread a ray: best if neighbours in the batch take similar ways */
    TRACE_NODES,      /* one thread a ray, by the k-d tree's own nodes */
    TRACE_PERSISTENT, /* threads fetch new rays as too few of their warp are left at work */
} trace_loop;

/* Rays and hits as an array for each number, all memory of the tree's device. */
typedef struct trace_arrays {
    const float *origin[3], *direction[3], *tmin, *tmax; /* the last two NULL: 0, INFINITY */
    float *t, *u, *v;                                    /* any may be NULL */
    uint32_t *triangle;
} trace_arrays;

typedef struct trace_batch {
    const ray *rays;     /* host memory, or of the tree's device and 16 bytes aligned; or NULL */
    ray_hit *hits;       /* closest hits wanted: where the rays are; else NULL */
    uint8_t *blocked;    /* any hits wanted: 1 or 0 for each ray; else NULL */
    trace_arrays arrays; /* of rays if `rays` is NULL, of hits if `hits` and `blocked` are */
    tritree_counts
        *counts; /* on the device: what each ray took; casts by the plain loop. Or NULL */
    uint64_t count;
    trace_loop loop;
    bool coherent;  /* neighbouring rays start and point alike, as a camera's do */
    bool measured;  /* instead: an image's do, of others a kernel looks at some */
    bool on_device; /* all pointers are the device's: not to be asked; else `rays` is looked at */
    uint32_t width; /* of the image that the rays are, row by row, or 0: lets warps take tiles */
    void *stream;   /* cudaStream_t; nothing is waited for if the rays are in device memory */
} trace_batch;

KD_DEVICE_CALL(trace_cuda, (const tritree_cuda *tree, const trace_batch *batch));

/* Rays on a CUDA device whose number only the device knows: kernels that make rays and kernels that
   use hits follow each other without the host. Without CUDA in the build: KD_ERROR_DEVICE. */

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
