#include "core/beside/beside.h"
#include "core/device/cuda.h"

static thread_local cudaStream_t own;

void *device_thread_stream(void) {
    return own;
}

kd_status device_thread_stream_begin(void) {
    int lowest = 0, highest = 0;
    KD_CUDA(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    KD_CUDA(cudaStreamCreateWithPriority(&own, cudaStreamNonBlocking, highest));
    return KD_OK;
}

kd_status device_thread_stream_end(void) {
    const cudaStream_t ended = own;
    own = NULL;
    const cudaError_t error = cudaStreamSynchronize(ended);
    cudaStreamDestroy(ended);
    KD_CUDA(error);
    return KD_OK;
}

kd_status device_now(int32_t *index) {
    int on = 0;
    KD_CUDA(cudaGetDevice(&on));
    *index = on;
    return KD_OK;
}
