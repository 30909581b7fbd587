/* NCCL between ranks that have a CUDA device each: bytes go from device to device. The library is
   loaded where it is (libnccl.so.2; KANDELA_NCCL names another, or is "off"); without it, or where
   it refuses, as for two ranks of one device, ranks go on through the host. Its environment is its
   own: nothing is set here. */
#ifndef KD_DISTRIBUTED_RANKS_NCCL_H
#define KD_DISTRIBUTED_RANKS_NCCL_H
#include "distributed/ranks/ranks.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All ranks call it, `on_device` with the current device that they will use. The log of rank 0 says
   that they are joined, or why NCCL refused; nothing where a rank has no device or no NCCL. KD_OK
   without a link, too. */
kd_status ranks_link_open(ranks *of, bool on_device);
/* All ranks, on that device; `failed`: the others are not waited for. Takes one without a link. */
void ranks_link_close(ranks *of, bool failed);
static inline bool ranks_linked(const ranks *of) {
    return of && of->link != NULL;
}

/* ranks_all_gather of device memory, put on `stream` (a cudaStream_t, NULL the default one); not
   waited for. Of linked ranks. */
kd_status ranks_link_gather(ranks *of, void *bytes, const uint64_t *begins, void *stream);
/* ranks_all_sum of device memory, likewise. */
kd_status ranks_link_sum(ranks *of, int64_t *values, uint64_t count, void *stream);

#ifdef __cplusplus
}
#endif

#endif
