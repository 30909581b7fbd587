/* A call on a distributed tree, divided among the ranks of this process. */
#ifndef KD_POINTS_PARTS_CALL_H
#define KD_POINTS_PARTS_CALL_H
#include "points/parts/ask.h"

/* Executes a call of which query, hi, kind, asks, k, offsets, names and out are set; counts become
   offsets. `checked`: result of the argument checks; for a tree shared by processes it is reported
   to all ranks. */
kd_status parts_call_all(points_parts *parts, parts_call *call, kd_status checked);
/* Returns whether the devices of the parts execute the whole call (answer.h); queries, radii and
   rows may then be in device memory. */
bool parts_answers_there(const points_parts *parts, const parts_call *call);
/* Self-query of a tree in this process. `order`: receives the id of each row's point; NULL: rows
   are in input order. */
kd_status parts_call_own(points_parts *parts, parts_call *call, uint32_t *order, bool skips);
/* Converts numbers of points to the caller's ids; names may be NULL. */
void parts_rename(uint32_t *ids, uint64_t count, const uint32_t *names);

#endif
