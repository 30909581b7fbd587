/* A tree on a CUDA device, behind <kandela/triangles.h>. Its calls put their work on the caller's
   stream and leave the thread's current device as it was. */
#ifndef KD_ACCEL_TRIANGLES_DEVICE_H
#define KD_ACCEL_TRIANGLES_DEVICE_H
#include "accel/rays/tree_device.h"
#include "accel/tree/build_device.h"
#include "accel/triangles.h"

typedef struct triangles_cuda {
    int32_t device;
    tritree_cuda tree;
} triangles_cuda;

/* Builds from a checked mesh in host or device memory; out->tree has its options. */
kd_status triangles_cuda_build(kd_triangles *out, const kd_triangle_mesh *mesh,
                               const tritree_builder_cuda *row, int32_t device);
/* Moves a tree from the host to the device. */
kd_status triangles_cuda_adopt(kd_triangles *tree, int32_t device);
/* A copy of the tree on the host, statistics included, with its mesh if `mesh`; to be closed by
   kd_triangles_close. */
kd_status triangles_cuda_fetch(kd_triangles **copy, const kd_triangles *tree, bool mesh);
void triangles_cuda_close(triangles_cuda *owned); /* takes NULL */

/* Nearest triangles, points and answers in host or device memory. */
kd_status triangles_cuda_closest(const kd_triangles *tree, const float *points, uint64_t count,
                                 float max_distance, kd_near_triangle *nearest);
/* A batch that was checked. */
kd_status triangles_cuda_cast(const kd_triangles *tree, const kd_ray_batch *batch);

#endif
