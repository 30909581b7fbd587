/* Collective error handling: before ranks exchange data, each reports its status, so that no rank
   waits for one that has failed. */
#ifndef KD_POINTS_PARTS_AGREE_H
#define KD_POINTS_PARTS_AGREE_H
#include "distributed/ranks/ranks.h"

/* Collective. Returns KD_OK if `own` is KD_OK on all ranks; otherwise all ranks return the status
   of the first failed rank, with its error message. */
kd_status parts_agree(ranks *among, kd_status own);

/* As parts_agree; also gathers `width` numbers from each rank to `all`, in rank order. */
kd_status parts_agree_on(ranks *among, kd_status own, const uint64_t *numbers, uint32_t width,
                         uint64_t *all);

#endif
