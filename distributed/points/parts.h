/* A distributed point tree, whose sub-trees (parts) are on several devices or ranks. */
#ifndef KD_DISTRIBUTED_POINTS_PARTS_H
#define KD_DISTRIBUTED_POINTS_PARTS_H
#include "distributed/ranks/ranks.h"
#include "points/tree/point_array.h"
#include <kandela/points.h>

enum { PARTS_MAX = 4096 };

/* Summary of a part, of which every rank has a copy. */
typedef struct part_summary {
    point_box box; /* bounding box of its points */
    uint64_t count;
} part_summary;

typedef struct points_part {
    /* its ids are the numbers of the points; in a wide tree indices into `numbers` */
    kd_points *tree;
    uint64_t *numbers; /* of a wide tree, ascending; else NULL */
    uint64_t begin;    /* number of points in the parts before it */
    int32_t device;    /* CUDA device that holds it; -1: CPU */
} points_part;

typedef struct points_parts {
    points_part *part; /* parts of this process: all, or that of its rank */
    part_summary *all;
    int32_t size;   /* number of parts */
    uint64_t count; /* number of points in all, each counted once */
    uint64_t first; /* number of the first input point */
    bool wide;      /* numbers take 64 bits */
    bool copies;    /* each device has all points; queries are divided */
    uint32_t dims;
    point_scalar scalar;
    /* communicator between processes; size 0: all parts are in this process */
    ranks shared;
    ranks_calls calls;                 /* functions of `shared` */
    void (*on_close)(void *user_data); /* called on close; or NULL */
    /* bytes that this rank has sent since the tree was opened; if all parts are in this process,
       the bytes that rank 0 sent during the build */
    uint64_t sent;
    double top_seconds; /* build time of the planes and of moving the points */
} points_parts;

/* Builds all parts in this process, on the devices that options->device lists. `arrays`: one array,
   or one per device whose points are numbered consecutively; in any memory. */
kd_status parts_open(points_parts *out, const kd_point_array *arrays, uint32_t count,
                     const kd_points_options *options);
/* Collective: builds this rank's part. The caller sets out->shared and calls; `checked`: this
   rank's status so far. */
kd_status parts_open_shared(points_parts *out, const kd_point_array *points,
                            const kd_points_options *options, kd_status checked);
void parts_close(points_parts *owned);           /* accepts a zeroed struct */
uint64_t parts_bytes(const points_parts *parts); /* held in this process */

static inline bool parts_are_shared(const points_parts *parts) {
    return parts->shared.size > 0;
}

/* Copies all points to a packed array in input order; for parts in this process only. */
kd_status parts_fetch(const points_parts *parts, void *coordinates);

#endif
