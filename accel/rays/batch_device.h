/* Batches of rays on a CUDA device. Without CUDA in the build every call fails with
   KD_ERROR_DEVICE. */
#ifndef KD_ACCEL_RAYS_BATCH_DEVICE_H
#define KD_ACCEL_RAYS_BATCH_DEVICE_H
#include "accel/rays/tree_device.h"
#include "accel/tree/walk.h"
#include "core/device/cuda_stubs.h"
#include "core/math/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kernel that casts the rays. */
typedef enum trace_loop {
    TRACE_AUTO,       /* chosen by `coherent` or `measured` */
    TRACE_PLAIN,      /* the reference traversal (accel/tree/walk.h) */
    TRACE_ONCE,       /* one thread per ray: best for coherent rays */
    TRACE_NODES,      /* one thread per ray, through `nodes` */
    TRACE_PERSISTENT, /* persistent warps that fetch new rays when few lanes are active */
} trace_loop;

/* Rays and hits as a structure of arrays, all in memory of the tree's device. */
typedef struct trace_arrays {
    const float *origin[3], *direction[3], *tmin, *tmax; /* tmin NULL: 0; tmax NULL: INFINITY */
    float *t, *u, *v;                                    /* each may be NULL */
    uint32_t *triangle;
} trace_arrays;

typedef struct trace_batch {
    const ray *rays;     /* host memory, or 16-byte aligned memory of the tree's device; or NULL */
    ray_hit *hits;       /* closest hits, in the same memory as `rays`; or NULL */
    uint8_t *blocked;    /* for occlusion: 1 or 0 per ray; else NULL */
    trace_arrays arrays; /* rays if `rays` is NULL; hits if `hits` and `blocked` are NULL */
    tritree_counts *counts; /* device memory: the work per ray, cast by TRACE_PLAIN; or NULL */
    uint64_t count;
    trace_loop loop;
    bool coherent; /* neighbouring rays are coherent, as those of a camera */
    /* alternative to `coherent`: the rays of an image count as coherent, of others each warp tests
       whether its rays are */
    bool measured;
    bool on_device; /* all pointers are device memory; false: determined from `rays` */
    /* if the rays are the pixels of an image, row by row: its width; warps then process tiles. Else
       0 */
    uint32_t width;
    void *stream; /* cudaStream_t; does not synchronise if the rays are in device memory */
} trace_batch;

KD_DEVICE_CALL(trace_cuda, (const tritree_cuda *tree, const trace_batch *batch));

/* Casts rays whose number is known only to the device: kernels that create rays and kernels that
   use the hits can follow each other without involving the host. Without CUDA in the build every
   call fails with KD_ERROR_DEVICE. */

/* All pointers are memory of the tree's device. */
typedef struct trace_counted {
    const ray *rays;  /* aligned to 16 bytes */
    ray_hit *hits;    /* for closest hits, aligned to 16 bytes; else NULL */
    uint8_t *blocked; /* for occlusion: 1 or 0 per ray; else NULL */
    const uint32_t *count;
    uint32_t *cursor; /* TRITREE_CUDA_CURSOR words, which must be 0; modified */
    void *scratch;    /* for records of rays with deferred triangles; aligned to 16 bytes */
    /* capacity of `scratch` in pieces of TRACE_COUNTED_SCRATCH bytes; a few per 100 rays suffice,
       fewer are slower */
    uint32_t capacity;
    bool coherent; /* neighbouring rays are coherent, as those of a camera */
    bool bounded;  /* most rays end before they leave the scene */
} trace_counted;

enum { TRACE_COUNTED_SCRATCH = 48 };

/* Computes tritree_closest or tritree_occluded for each ray. Enqueued on the thread's default
   stream; does not synchronise. */
KD_DEVICE_CALL(trace_counted_cuda, (const tritree_cuda *tree, const trace_counted *rays));

#ifdef __cplusplus
}
#endif

#endif
