/* A point tree whose sub-trees lie on several devices, or at several ranks. */
#ifndef KD_POINTS_PARTS_PARTS_H
#define KD_POINTS_PARTS_PARTS_H
#include "distributed/ranks/ranks.h"
#include "points/tree/point_array.h"
#include <kandela/points.h>

enum { PARTS_MOST = 4096 };

/* What every rank knows of every part. */
typedef struct part_summary {
    point_box box; /* of its points */
    uint64_t count;
} part_summary;

typedef struct points_part {
    kd_points *tree;   /* its ids are the points' numbers; of a wide tree places in `numbers` */
    uint64_t *numbers; /* of a wide tree, else NULL: ascending */
    uint64_t begin;    /* points of the parts before it */
    int32_t device;    /* the CUDA device that has it; -1: a CPU */
} points_part;

typedef struct points_parts {
    points_part *part; /* of this process: all of them, or its rank's */
    part_summary *all;
    int32_t size;   /* parts in all */
    uint64_t count; /* points in all; with copies those of one */
    uint64_t first; /* the number of the first point of the input */
    bool wide;      /* numbers take 64 bits */
    bool copies;    /* each device has all points, queries are divided */
    uint32_t dims;
    point_scalar scalar;
    ranks shared;                /* of several processes; a size of 0: all parts are in this one */
    ranks_calls calls;           /* that it uses then */
    void (*hang_up)(void *with); /* or NULL: when it is closed */
    uint64_t sent;               /* bytes that went from part to part, so far in the build */
    double top_seconds;          /* of the build: planes and moving points */
} points_parts;

/* All parts in this process, on the devices of a list of names: options->device. `arrays`: one, or
   one for each device, whose points are numbered one after another; in any memory. */
kd_status parts_open(points_parts *out, const kd_point_array *arrays, uint32_t count,
                     const kd_points_options *options);
/* This rank's part; out->shared and calls are set. `checked`: how this rank is before it. */
kd_status parts_open_shared(points_parts *out, const kd_point_array *points,
                            const kd_points_options *options, kd_status checked);
void parts_close(points_parts *owned);        /* takes a zeroed one */
uint64_t parts_bytes(const points_parts *of); /* that are held in this process */

static inline bool parts_are_shared(const points_parts *of) {
    return of->shared.size > 0;
}

/* All points in the order of the input, packed; of parts in this process. */
kd_status parts_fetch(const points_parts *of, void *coordinates);

#endif
