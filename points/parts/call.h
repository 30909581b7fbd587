/* A caller's call, divided among the ranks of this process. */
#ifndef KD_POINTS_PARTS_CALL_H
#define KD_POINTS_PARTS_CALL_H
#include "points/parts/ask.h"

/* Of the call are set: query, hi, kind, k, offsets, names, out. Sums become offsets. `checked`: how
   the caller's arguments are; of a shared tree all ranks hear of it. */
kd_status parts_call_all(points_parts *parts, parts_call *call, kd_status checked);
/* Whether the parts' devices do all of it (answer.h): then queries, radii and rows may lie
   on devices. */
bool parts_answers_there(const points_parts *parts, const parts_call *call);
/* The points of the parts ask; `order`: of each row the point's id, NULL: rows are in the order of
   the input. Of a tree in this process. */
kd_status parts_call_own(points_parts *parts, parts_call *call, uint32_t *order, bool skips);
/* Numbers of points become the caller's ids; names may be NULL. */
void parts_rename(uint32_t *ids, uint64_t count, const uint32_t *names);

#endif
