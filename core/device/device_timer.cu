#include "core/device/cuda.h"
#include "core/device/device_timer.h"
#include <string.h>

extern "C" kd_status device_timer_open(device_timer *out) {
    memset(out, 0, sizeof *out);
    KD_CUDA(cudaEventCreate((cudaEvent_t *)&out->begin));
    KD_CUDA(cudaEventCreate((cudaEvent_t *)&out->end));
    return KD_OK;
}

extern "C" void device_timer_close(device_timer *owned) {
    if (owned->begin) cudaEventDestroy((cudaEvent_t)owned->begin);
    if (owned->end) cudaEventDestroy((cudaEvent_t)owned->end);
    memset(owned, 0, sizeof *owned);
}

extern "C" kd_status device_timer_start(device_timer *timer, void *stream) {
    KD_CUDA(cudaEventRecord((cudaEvent_t)timer->begin, (cudaStream_t)stream));
    return KD_OK;
}

extern "C" kd_status device_timer_stop(device_timer *timer, void *stream, double *seconds) {
    KD_CUDA(cudaEventRecord((cudaEvent_t)timer->end, (cudaStream_t)stream));
    KD_CUDA(cudaEventSynchronize((cudaEvent_t)timer->end));
    float milliseconds = 0;
    KD_CUDA(
        cudaEventElapsedTime(&milliseconds, (cudaEvent_t)timer->begin, (cudaEvent_t)timer->end));
    *seconds = 1e-3 * (double)milliseconds;
    return KD_OK;
}

extern "C" kd_status device_marks_open(device_marks *out, int count) {
    memset(out, 0, sizeof *out);
    out->count = count < DEVICE_MARKS_MAX ? count : DEVICE_MARKS_MAX;
    for (int i = 0; i < out->count; ++i) KD_CUDA(cudaEventCreate((cudaEvent_t *)&out->marks[i]));
    return KD_OK;
}

extern "C" void device_marks_close(device_marks *owned) {
    for (int i = 0; i < owned->count; ++i)
        if (owned->marks[i]) cudaEventDestroy((cudaEvent_t)owned->marks[i]);
    memset(owned, 0, sizeof *owned);
}

extern "C" kd_status device_marks_record(const device_marks *to, int which, void *stream) {
    KD_CUDA(cudaEventRecord((cudaEvent_t)to->marks[which], (cudaStream_t)stream));
    return KD_OK;
}

extern "C" kd_status device_marks_read(const device_marks *from, double *seconds) {
    KD_CUDA(cudaEventSynchronize((cudaEvent_t)from->marks[from->count - 1]));
    for (int i = 0; i + 1 < from->count; ++i) {
        float milliseconds = 0;
        KD_CUDA(cudaEventElapsedTime(&milliseconds, (cudaEvent_t)from->marks[i],
                                     (cudaEvent_t)from->marks[i + 1]));
        seconds[i] = 1e-3 * (double)milliseconds;
    }
    return KD_OK;
}
