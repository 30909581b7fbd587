/* A copy of a scene in the memory of a CUDA device, as the scene_view that kernels take. In builds
   without CUDA every call returns KD_ERROR_DEVICE. */
#ifndef KD_SCENES_ASSEMBLY_SCENE_CUDA_H
#define KD_SCENES_ASSEMBLY_SCENE_CUDA_H
#include "core/status.h"
#include "shaders/scene_view.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct scene_cuda {
    scene_view view; /* all pointers are device memory; passed to kernels by value */
    void *memory;    /* one allocation for everything except the tree */
    uint64_t bytes;
} scene_cuda;

/* Copies mesh, materials, textures with their texels, lights and tables to the current device.
   `device_tree` is a tree over the same mesh whose arrays are memory of that device; its vertices
   and triangles are shared, not copied again. It must outlive the scene; the host's scene need
   not. KD_ERROR_MEMORY states the bytes needed and the bytes free. */
kd_status scene_cuda_open(scene_cuda *out, const scene_view *host, const tritree_view *device_tree);
/* Computes the device memory that scene_cuda_open would allocate. */
kd_status scene_cuda_measure(uint64_t *bytes, const scene_view *host);
void scene_cuda_close(scene_cuda *owned); /* accepts a zeroed struct */

#ifdef __cplusplus
}
#endif
#endif
