/* Behind <kandela/triangles.h>: what a kd_triangles holds. */
#ifndef KD_ACCEL_TRIANGLES_H
#define KD_ACCEL_TRIANGLES_H
#include "accel/tritree.h"
#include <kandela/triangles.h>

struct kd_triangles {
    tritree tree; /* its input is the two arrays below */
    vec3 *positions;
    uint32_t *triangles;
    char builder[32]; /* that built it */
};

/* Refuses options that make no sense or ask for what is not there; sets the threads. */
kd_status triangles_check_options(const kd_triangles_options *options);

#endif
