/* Collective operations on device memory of ranks with a CUDA device each: by NCCL if the ranks are
   connected so (distributed/ranks/nccl.h), otherwise through host memory. All of them block. */
#ifndef KD_PHOTON_EMISSION_EXCHANGE_H
#define KD_PHOTON_EMISSION_EXCHANGE_H
#include "distributed/ranks/nccl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All-gather: `bytes` is device memory for the data of all ranks, where that of rank r occupies
   begins[r] to begins[r + 1]. The caller's part is filled in; the others are received. */
kd_status exchange_gather(ranks *among, void *bytes, const uint64_t *begins);
/* All-reduce: replaces integers in device memory by their sums over the ranks. */
kd_status exchange_sum(ranks *among, int64_t *values, uint64_t count);

#ifdef __cplusplus
}
#endif
#endif
