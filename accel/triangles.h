/* Internals of <kandela/triangles.h>: the contents of a kd_triangles. */
#ifndef KD_ACCEL_TRIANGLES_H
#define KD_ACCEL_TRIANGLES_H
#include "accel/rays/tree_device.h"
#include "accel/tree/build.h"
#include "accel/tree/tritree.h"
#include <kandela/triangles.h>

struct triangles_cuda;
struct nearest_tree;
struct winding_dipole;

struct kd_triangles {
    tritree tree; /* its input is the two arrays below; on a device it has no host arrays */
    vec3 *positions;
    uint32_t *triangles;
    struct triangles_cuda *cuda;    /* the tree on a CUDA device, or NULL */
    struct nearest_tree *nearest;   /* tree of nearest-triangle queries; NULL before the first */
    struct winding_dipole *dipoles; /* data of winding numbers; NULL before the first query */
    struct kd_triangles *host;      /* host copy of a device tree, for host-only queries */
    char builder[32];               /* name of the builder */
    void *stream;
    int32_t threads; /* kd_triangles_options.threads */
};

/* Copies the caller's options (NULL: the defaults) to *out. Returns an error if they are invalid or
   name a device that does not exist. */
kd_status triangles_take_options(kd_triangles_options *out,
                                 const kd_triangles_options *caller_options);
/* Moves a tree from the host to the device that the options select. */
kd_status triangles_finish(kd_triangles *tree, const kd_triangles_options *options);
/* Return the bytes of the structures for nearest triangles and winding numbers, 0 if there are
   none; and free them. */
uint64_t triangles_nearest_bytes(const kd_triangles *tree);
void triangles_close_nearest_tree(kd_triangles *tree);
/* Builds the tree for nearest triangles, if it does not exist yet. Thread-safe. */
kd_status triangles_prepare_nearest(const kd_triangles *tree);
/* Frees the arrays on the host. */
void triangles_drop_host(kd_triangles *tree);

/* A tree on a CUDA device. Calls enqueue their work on the caller's stream and preserve the
   thread's current device. */

typedef struct triangles_cuda {
    int32_t device;
    tritree_cuda tree;
    const tritree_builder_cuda *row; /* builds the tree again if its nodes were freed */
} triangles_cuda;

/* Builds a tree from a checked mesh in host or device memory. out->tree.options is set. */
kd_status triangles_cuda_build(kd_triangles *out, const kd_triangle_mesh *mesh,
                               const tritree_builder_cuda *row, int32_t device);
/* Moves a tree from the host to the device. */
kd_status triangles_cuda_adopt(kd_triangles *tree, int32_t device);
/* Builds nodes and references again if they were freed, and keeps them from then on. Thread-safe.
 */
kd_status triangles_cuda_restore(const kd_triangles *tree);
/* Copies the tree to the host, statistics included; `mesh`: with its mesh. The caller closes the
   copy with kd_triangles_close. */
kd_status triangles_cuda_fetch(kd_triangles **copy, const kd_triangles *tree, bool mesh);
void triangles_cuda_close(triangles_cuda *owned); /* accepts NULL */

/* Finds the nearest triangle of each point; `points` and `nearest` are host or device memory. */
kd_status triangles_cuda_closest(const kd_triangles *tree, const float *points, uint64_t count,
                                 float max_distance, kd_near_triangle *nearest);
/* Casts a batch that has been checked. */
kd_status triangles_cuda_cast(const kd_triangles *tree, const kd_ray_batch *batch);

#endif
