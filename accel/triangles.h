/* Behind <kandela/triangles.h>: what a kd_triangles holds. */
#ifndef KD_ACCEL_TRIANGLES_H
#define KD_ACCEL_TRIANGLES_H
#include "accel/tritree.h"
#include <kandela/triangles.h>

struct triangles_cuda;

struct kd_triangles {
    tritree tree; /* its input is the two arrays below; without arrays if it lies on a device */
    vec3 *positions;
    uint32_t *triangles;
    struct triangles_cuda *cuda; /* the tree on a CUDA device, or NULL */
    char builder[32];            /* that built it */
    void *stream;
};

/* Refuses options that make no sense or ask for what is not there; sets the threads. */
kd_status triangles_check_options(const kd_triangles_options *options);
/* Puts a tree that is on the host where the options want it. */
kd_status triangles_finish(kd_triangles *tree, const kd_triangles_options *options);
/* Frees the arrays on the host. */
void triangles_drop_host(kd_triangles *tree);

#endif
