/* One ray's way through a triangle tree, written down leaf by leaf. */
#ifndef KD_TOOLS_LAB_TRACE_WALK_H
#define KD_TOOLS_LAB_TRACE_WALK_H
#include "accel/tree/walk.h"
#include "core/status.h"

typedef struct trace_leaf {
    uint32_t node, depth;
    float near, far;    /* where the ray is in it, widened by the slack */
    uint32_t triangles; /* tested */
    bool found;         /* a hit nearer than those before */
} trace_leaf;

typedef struct trace_walk {
    ray_hit hit;
    tritree_counts counts;
    uint64_t empty_leaves;
    trace_leaf *leaves; /* counts.leaves of them, in the order of visits */
} trace_walk;

/* The same steps as those of tritree_closest_counted, and so the same counts. */
kd_status trace_walk_open(trace_walk *out, const tritree_view *tree, ray cast);
void trace_walk_close(trace_walk *owned); /* takes a zeroed one */

#endif
