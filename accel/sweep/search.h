/* The cheapest plane among an axis' sorted events, and what it leaves on which side.
   Idea: events are counted in blocks first. The counts before a block and behind it bound what its
   planes cost from below, by the same float operations and so without any doubt about rounding; the
   first plane of each block bounds the least cost from above. Only blocks whose bound is not above
   that are walked: a few in a hundred. */
#ifndef KD_ACCEL_SWEEP_SEARCH_H
#define KD_ACCEL_SWEEP_SEARCH_H
#include "accel/sweep/events.h"
#include "accel/tree/sah.h"

enum { SWEEP_BLOCK = 16 /* events */, SWEEP_BLOCK_SPARE = 16 };

typedef struct sweep_blocks { /* each array has room for SWEEP_BLOCK_SPARE more than there are */
    float *plane;             /* of the block's first event */
    int32_t *begun, *ended;   /* triangles, before that event */
    int32_t *begun_most;      /* as many at most begin before the plane, or lie in it */
    float *bound;             /* no plane of the block costs less */
} sweep_blocks;

/* A node's events on an axis, and the node. */
typedef struct sweep_line {
    const sweep_event *events;
    uint32_t count;
    uint32_t triangles;
    box3 box;
    int axis;
} sweep_line;

/* Where a plane cuts the sorted events. */
typedef struct sweep_place {
    uint32_t first, planar, beyond; /* index of the first event at the plane; of the first one that
                                       lies in it or begins at it; of the first one after those that
                                       lie in it */
    uint32_t begun, ended; /* triangles that begin before `first`; that end before `beyond` */
} sweep_place;

/* The cheapest of the planes that cost less than `limit`: the first of equal ones. Planes lie
   strictly inside the node, or in its own side if triangles do. Its planar_left is not set. Fills
   `blocks`. */
sah_split sweep_search(const sweep_line *line, const sah_costs *costs, float limit,
                       const sweep_blocks *blocks);
/* `blocks` as sweep_search left them. */
sweep_place sweep_find_place(const sweep_line *line, float position, const sweep_blocks *blocks);

kd_status sweep_blocks_open(sweep_blocks *out, uint64_t event_count);
void sweep_blocks_close(sweep_blocks *owned); /* takes a zeroed one */

#endif
