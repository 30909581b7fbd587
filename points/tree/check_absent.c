#include "points/tree/check_device.h"

#ifndef KD_HAVE_CUDA
kd_status point_check_cuda(const point_build_cuda *arguments, uint64_t count, pointtree_order order,
                           const point_box *box) {
    (void)arguments, (void)count, (void)order, (void)box;
    KD_FAIL(KD_ERROR_DEVICE, "no CUDA in this build");
}

kd_status point_links_cuda(const uint32_t *ids, uint64_t count, pointtree_link *links,
                           void *stream) {
    (void)ids, (void)count, (void)links, (void)stream;
    KD_FAIL(KD_ERROR_DEVICE, "no CUDA in this build");
}
#endif
