/* What all parts answer together: the rows of one tree. */
#ifndef KD_POINTS_PARTS_ANSWER_H
#define KD_POINTS_PARTS_ANSWER_H
#include "points/parts/ask.h"

/* This rank's queries; all ranks call it. `own`: how this rank is before it. */
kd_status parts_answer(parts_call *call, kd_status own);

/* One of the caller's radii, or INFINITY. */
double parts_radius(const parts_call *call, uint64_t query);
/* Which parts may hold an answer to a query within this distance (as answers give it). */
bool parts_may_hold(const parts_call *call, uint64_t query, int32_t part, double bound);
/* The part to ask first. */
int32_t parts_home(const parts_call *call, uint64_t query);
/* A radius that reaches this distance, and hardly more. */
double parts_radius_of(const parts_call *call, double bound);

#endif
