#include "points/wehr/approximate_device.h"

#ifndef KD_HAVE_CUDA
kd_status point_approximate_cuda(const pointtree_nd_view *tree, const void *queries, uint64_t count,
                                 uint32_t capacity, uint32_t *ids, double *dist2, void *stream) {
    (void)tree, (void)queries, (void)count, (void)capacity, (void)ids, (void)dist2, (void)stream;
    KD_FAIL(KD_ERROR_DEVICE, "no CUDA in this build");
}
#endif
