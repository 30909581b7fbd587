/* Behind <kandela/triangles.h>: what a kd_triangles holds. */
#ifndef KD_ACCEL_TRIANGLES_H
#define KD_ACCEL_TRIANGLES_H
#include "accel/rays/tree_device.h"
#include "accel/tree/build.h"
#include "accel/tree/tritree.h"
#include <kandela/triangles.h>

struct triangles_cuda;
struct nearest_tree;

struct kd_triangles {
    tritree tree; /* its input is the two arrays below; without arrays if it lies on a device */
    vec3 *positions;
    uint32_t *triangles;
    struct triangles_cuda *cuda;  /* the tree on a CUDA device, or NULL */
    struct nearest_tree *nearest; /* where the tree lies; NULL until it is asked for */
    char builder[32];             /* that built it */
    void *stream;
};

/* The caller's options (NULL: the defaults); refuses what makes no sense or asks for what is not
   there. */
kd_status triangles_take_options(kd_triangles_options *out, const kd_triangles_options *given);
/* Puts a tree that is on the host where the options want it. */
kd_status triangles_finish(kd_triangles *tree, const kd_triangles_options *options);
/* The tree for nearest triangles, if there is one; frees it. */
uint64_t triangles_nearest_bytes(const kd_triangles *tree);
void triangles_drop_nearest(kd_triangles *tree);
/* Frees the arrays on the host. */
void triangles_drop_host(kd_triangles *tree);

/* A tree on a CUDA device, behind <kandela/triangles.h>. Its calls put their work on the caller's
   stream and leave the thread's current device as it was. */

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
