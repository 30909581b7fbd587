/* Behind <kandela/points.h>: what a kd_points holds. */
#ifndef KD_PHOTON_POINTS_H
#define KD_PHOTON_POINTS_H
#include "photon/leafindex_nd.h"
#include "photon/pointtree.h"
#include <kandela/points.h>

struct kd_points {
    pointtree tree;
    leafindex index;       /* of two or three floats; else empty */
    leafindex_nd index_nd; /* of all others */
    uint32_t *renamed;     /* the caller's id of each point of the input, or NULL */
    kd_points_options options;
    char builder[32]; /* that built it */
    double build_seconds;
};

/* Makes the index over a tree that is there already; *points is zeroed but for tree, renamed,
 * options. */
kd_status points_finish(kd_points *points);

#endif
