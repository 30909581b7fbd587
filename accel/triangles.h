/* Behind <kandela/triangles.h>: what a kd_triangles holds. */
#ifndef KD_ACCEL_TRIANGLES_H
#define KD_ACCEL_TRIANGLES_H
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

#endif
