/* A scene in a CUDA device's memory: what kernels get as their scene_view. Without CUDA in the
   build every call is KD_ERROR_DEVICE. */
#ifndef KD_SCENES_ASSEMBLY_SCENE_CUDA_H
#define KD_SCENES_ASSEMBLY_SCENE_CUDA_H
#include "core/status.h"
#include "shaders/scene_view.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct scene_cuda {
    scene_view view; /* every pointer is device memory; kernels take it by value */
    void *memory;    /* all of it but the tree's */
    uint64_t bytes;
} scene_cuda;

/* Copies mesh, materials, textures with their texels, lights and tables to the current device.
   `device_tree` is the view of a tree over the same mesh whose arrays are memory of that device;
   its vertices and triangles are used, not copied again. It must outlive the scene; the host's
   scene need not. KD_ERROR_MEMORY says the bytes needed and the bytes free. */
kd_status scene_cuda_open(scene_cuda *out, const scene_view *host, const tritree_view *device_tree);
/* The bytes that a copy of the host's scene takes there. */
kd_status scene_cuda_measure(uint64_t *bytes, const scene_view *host);
void scene_cuda_close(scene_cuda *owned); /* takes a zeroed one */

#ifdef __cplusplus
}
#endif
#endif
