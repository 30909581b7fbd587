/* Ranks that fail together: before ranks exchange anything each says how it is, so that none waits
   for one that has given up. */
#ifndef KD_POINTS_PARTS_AGREE_H
#define KD_POINTS_PARTS_AGREE_H
#include "distributed/ranks/ranks.h"

/* The first rank's failure, with its words, at every rank; else KD_OK. All ranks call it. */
kd_status parts_agree(ranks *among, kd_status own);

/* The same, and of every rank `width` numbers, rank after rank, to `all`. */
kd_status parts_agree_on(ranks *among, kd_status own, const uint64_t *numbers, uint32_t width,
                         uint64_t *all);

#endif
