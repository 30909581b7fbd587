/* The build without CUDA: there is nothing to time. */
#include "core/device/device_timer.h"
#ifndef KD_HAVE_CUDA
#include <string.h>

static kd_status no_cuda(void) {
    return status_fail(KD_ERROR_DEVICE, __FILE__, __LINE__, "this build has no CUDA");
}

kd_status device_timer_open(device_timer *out) {
    memset(out, 0, sizeof *out);
    return no_cuda();
}

void device_timer_close(device_timer *owned) {
    memset(owned, 0, sizeof *owned);
}

kd_status device_timer_start(device_timer *timer, void *stream) {
    (void)timer, (void)stream;
    return no_cuda();
}

kd_status device_timer_stop(device_timer *timer, void *stream, double *seconds) {
    (void)timer, (void)stream;
    *seconds = 0;
    return no_cuda();
}

kd_status device_marks_open(device_marks *out, int count) {
    (void)count;
    memset(out, 0, sizeof *out);
    return no_cuda();
}

void device_marks_close(device_marks *owned) {
    memset(owned, 0, sizeof *owned);
}

kd_status device_marks_record(const device_marks *to, int which, void *stream) {
    (void)to, (void)which, (void)stream;
    return no_cuda();
}

kd_status device_marks_read(const device_marks *from, double *seconds) {
    (void)from, (void)seconds;
    return no_cuda();
}
#endif
