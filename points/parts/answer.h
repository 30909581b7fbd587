/* What all parts answer together: the rows of one tree. */
#ifndef KD_POINTS_PARTS_ANSWER_H
#define KD_POINTS_PARTS_ANSWER_H
#include "points/parts/ask.h"

/* This rank's queries; all ranks call it. `own`: how this rank is before it. */
kd_status parts_answer(parts_call *call, kd_status own);

#endif
