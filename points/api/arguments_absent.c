/* A build without CUDA: every call says so. */
#include "points/api/arguments.h"

#ifndef KD_HAVE_CUDA
static kd_status absent(void) {
    KD_FAIL(KD_ERROR_DEVICE, "no CUDA in this build");
}

kd_status points_device_scan(point_box *box, const point_array *points, void *stream) {
    (void)points, (void)stream;
    *box = point_box_empty();
    return absent();
}

kd_status points_device_check_radii(const point_array *radii, void *stream) {
    (void)radii, (void)stream;
    return absent();
}

kd_status points_device_check_offsets(const uint64_t *given, const uint64_t *right, uint64_t count,
                                      void *stream) {
    (void)given, (void)right, (void)count, (void)stream;
    return absent();
}

kd_status points_device_rename(uint32_t *ids, uint64_t count, const uint32_t *renamed,
                               void *stream) {
    (void)ids, (void)count, (void)renamed, (void)stream;
    return absent();
}
#endif
