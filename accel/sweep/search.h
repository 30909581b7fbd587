/* The cheapest plane of a node, exactly, without any order among its triangles.
   Idea: an axis is divided into equal bins, and where parts begin and end is counted in each. The
         counts before a bin and behind it bound what its planes cost from below, by the same float
         operations and so without any doubt about rounding. The most promising bins are looked into
         first, each plane of theirs is tried; then those that may still hold a cheaper one.
   Source: bins bounded from what is counted are those of Hunt, Mark, Stoll 2006, "Fast kd-tree
           construction with an adaptive error-bounded heuristic"; here nothing is left to error. */
#ifndef KD_ACCEL_SWEEP_SEARCH_H
#define KD_ACCEL_SWEEP_SEARCH_H
#include "accel/sweep/events.h"
#include "accel/sweep/rows.h"
#include "accel/tree/sah.h"

enum { SWEEP_BINS_MOST = 1024, SWEEP_BINS_ROOM = SWEEP_BINS_MOST + 2 * VECTOR8_LANES };

/* A node's triangles along an axis. */
typedef struct sweep_line {
    const float *lo, *hi;
    uint32_t count;
    sah_axis of;
} sweep_line;

typedef struct sweep_bins {
    uint32_t count;     /* of bins; 0: the axis has no planes */
    float scale, width; /* bins per length; of a bin */
    int32_t begun[SWEEP_BINS_ROOM],
        ended[SWEEP_BINS_ROOM];    /* before each bin, and before the end */
    float bound[SWEEP_BINS_ROOM];  /* no plane of the bin costs less; INFINITY: it has none */
    uint32_t flat[2];              /* triangles in the node's own lower and upper side */
    sweep_event *events, *scratch; /* of bins that are looked at */
    uint64_t room;
} sweep_bins;

void sweep_bins_close(sweep_bins *owned); /* takes a zeroed one */

/* Fills the bins. */
void sweep_bins_count(sweep_bins *bins, const sweep_line *line, const sah_costs *costs);

/* Takes into *best the cheapest plane of the bins [first, beyond) that are bounded by no more than
   its cost, if it is before that by (cost, axis, position). What was looked at is bounded by
   INFINITY after it. */
kd_status sweep_bins_search(sweep_bins *bins, const sweep_line *line, const sah_costs *costs,
                            int axis, uint32_t first, uint32_t beyond, sah_split *best);
/* The same of the planes in the node's own sides, which part triangles in them from all else. */
void sweep_try_sides(const sweep_bins *bins, const sweep_line *line, const sah_costs *costs,
                     int axis, sah_split *best);

/* Whether a plane comes before another, by (cost, axis, position). */
static inline bool sah_split_before(const sah_split *split, const sah_split *other) {
    if (split->cost != other->cost) return split->cost < other->cost;
    if (split->axis != other->axis) return split->axis < other->axis;
    return split->position < other->position;
}

/* What lies on the sides of a plane. */
typedef struct sweep_sides {
    uint32_t left, right, planar; /* begins before; ends after; neither */
} sweep_sides;
sweep_sides sweep_count_sides(const sweep_line *line, float position);

#endif
