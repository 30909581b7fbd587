/* Executes queries on all parts of a distributed tree; the results are those of a single tree. */
#ifndef KD_POINTS_PARTS_ANSWER_H
#define KD_POINTS_PARTS_ANSWER_H
#include "core/device/absent.h"
#include "points/parts/ask.h"

/* Collective: executes this rank's queries. `own`: this rank's status so far. */
kd_status parts_answer(parts_call *call, kd_status own);

/* --- all parts on CUDA devices of this process ---------------------------------------------- */

#ifdef __cplusplus
extern "C" {
#endif

/* Executes this rank's queries on the device of its part, which selects the parts that each query
   needs and merges their results; does not wait for other ranks. Boxes, 64-bit ids and points with
   ids are not supported; they go through the host. Queries, radii and rows may be in host memory or
   that of any device, offsets and sums in host memory. */
KD_DEVICE_CALL(answer_device, (const parts_call *call));

#ifdef __cplusplus
}
#endif

#endif
