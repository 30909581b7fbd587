/* NCCL between ranks that each have a CUDA device: data move directly between devices. The library
   is loaded at run time (libnccl.so.2; KANDELA_NCCL gives another name, or "off"). If it is missing
   or refuses to initialise, for example because two ranks share a device, the ranks communicate
   through host memory. NCCL's own environment variables apply; none is set here. */
#ifndef KD_DISTRIBUTED_RANKS_NCCL_H
#define KD_DISTRIBUTED_RANKS_NCCL_H
#include "distributed/ranks/ranks.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Collective. Initialises NCCL if every rank is `on_device`, each with the current device that it
   will use. Rank 0 logs success, or why NCCL refused; nothing is logged if a rank has no device or
   no NCCL. Returns KD_OK without a link as well. */
kd_status ranks_link_open(ranks *of, bool on_device);
/* Collective, with the same current device. If `failed`, does not wait for the other ranks. Does
   nothing without a link. */
void ranks_link_close(ranks *of, bool failed);
static inline bool ranks_linked(const ranks *of) {
    return of && of->link != NULL;
}

/* ranks_all_gather for device memory, asynchronous on `stream` (a cudaStream_t; NULL is the default
   stream). The ranks must be linked. */
kd_status ranks_link_gather(ranks *of, void *bytes, const uint64_t *begins, void *stream);
/* ranks_all_sum for device memory, likewise asynchronous. */
kd_status ranks_link_sum(ranks *of, int64_t *values, uint64_t count, void *stream);

#ifdef __cplusplus
}
#endif

#endif
