/* Device memory of ranks that have a CUDA device each: from device to device where they are linked
   (distributed/ranks/nccl.h), else by way of the hosts. Waited for. All ranks call them together.
 */
#ifndef KD_PHOTON_EMISSION_EXCHANGE_H
#define KD_PHOTON_EMISSION_EXCHANGE_H
#include "distributed/ranks/nccl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `bytes` is device memory for what all ranks have, rank r's at begins[r] to begins[r + 1]; one's
   own is there, the others' comes. */
kd_status exchange_gather(ranks *among, void *bytes, const uint64_t *begins);
/* Whole numbers in device memory become the sums over the ranks. */
kd_status exchange_sum(ranks *among, int64_t *values, uint64_t count);

#ifdef __cplusplus
}
#endif
#endif
