/* What answer.h does, where all parts are on CUDA devices of this process: a rank's device chooses
   which parts are asked what, and merges what they say. Boxes, 64-bit ids and points with names of
   their own go through the host. */
#ifndef KD_POINTS_PARTS_ANSWER_DEVICE_H
#define KD_POINTS_PARTS_ANSWER_DEVICE_H
#include "core/device/absent.h"
#include "points/parts/ask.h"

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
