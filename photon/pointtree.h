/* The left-balanced point k-d tree's owner and the table of its builders. */
#ifndef KD_PHOTON_POINTTREE_H
#define KD_PHOTON_POINTTREE_H
#include "core/job.h"
#include "core/status.h"
#include "shaders/pointtree.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pointtree_options {
    pointtree_split split;
} pointtree_options;

typedef struct pointtree {
    vec3 *points;
    uint32_t *ids;
    uint8_t *axes; /* NULL for round robin */
    uint32_t count;
    box3 box;
    double build_seconds;
} pointtree;

typedef struct pointtree_builder {
    const char *name;
    const char *source;
    const char *devices;
    uint64_t (*scratch_bytes)(uint64_t count); /* beside the tree itself */
    /* Fills the arrays of `out`, which are there, with count and box set; the points are finite. */
    kd_status (*build)(pointtree *out, const vec3 *points, uint32_t count,
                       const pointtree_options *options, job *watched);
} pointtree_builder;

extern const pointtree_builder pointtree_builders[]; /* the default first; ends with name NULL */
const pointtree_builder *pointtree_builder_find(const char *name); /* NULL if there is none */

/* Builds from `count` points (copied; 0 is fine). `options` NULL is round robin, `builder` NULL or
   "" the default one. NaN and infinity are KD_ERROR_INPUT with the point named, more than
   POINTTREE_COUNT_MAX points KD_ERROR_USAGE. */
kd_status pointtree_open(pointtree *out, const vec3 *points, uint64_t count,
                         const pointtree_options *options, const char *builder, job *watched);
void pointtree_close(pointtree *owned); /* takes a zeroed one */
pointtree_view pointtree_get_view(const pointtree *from);
uint64_t pointtree_hash(const pointtree *from); /* of ids in tree order and axes */

#ifdef __cplusplus
}
#endif
#endif
