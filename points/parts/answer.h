/* What all parts answer together: the rows of one tree. */
#ifndef KD_POINTS_PARTS_ANSWER_H
#define KD_POINTS_PARTS_ANSWER_H
#include "core/device/absent.h"
#include "points/parts/ask.h"

/* This rank's queries; all ranks call it. `own`: how this rank is before it. */
kd_status parts_answer(parts_call *call, kd_status own);

/* --- where all parts are on CUDA devices of this process: a rank's device chooses which parts are
   asked what, and merges what they say; boxes, 64-bit ids and points with names of their own go
   through the host
   ------------------------------------------------------------------------------------- */

#ifdef __cplusplus
extern "C" {
#endif

/* This rank's queries, on the device of its part; nobody waits for another rank. Queries, radii and
   rows are memory of the host or of any device, offsets and sums of the host. */
KD_DEVICE_CALL(answer_device, (const parts_call *call));

#ifdef __cplusplus
}
#endif

#endif
