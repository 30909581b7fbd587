#include "core/device/device.h"
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

int device_cuda_count(void) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        cudaGetLastError(); /* a missing driver means 0 devices, not an error */
        return 0;
    }
    return count;
}

const char *device_cuda_fault(void) {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    cudaGetLastError();
    return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

bool device_cuda_compiled(void) {
    return true;
}

const char *device_cuda_code(void) {
    return KD_CUDA_CODE; /* defined by cmake/KandelaCuda.cmake */
}

static kd_status query_capabilities(device *out, int index) {
    memset(out, 0, sizeof *out);
    cudaDeviceProp properties;
    const cudaError_t error = cudaGetDeviceProperties(&properties, index);
    KD_REQUIRE(error == cudaSuccess, KD_ERROR_DEVICE, "cannot use CUDA device %d: %s", index,
               cudaGetErrorString(error));
    const char *lacks =
        device_code_lacks(device_cuda_code(), 10 * properties.major + properties.minor);
    KD_REQUIRE(!lacks, KD_ERROR_DEVICE, "CUDA device %d (%.95s) has compute capability %d.%d: %s",
               index, properties.name, properties.major, properties.minor, lacks);
    out->kind = DEVICE_CUDA;
    out->index = index;
    snprintf(out->name, sizeof out->name, "%.95s", properties.name);
    out->memory_bytes = properties.totalGlobalMem;
    out->processors = properties.multiProcessorCount;
    out->major = properties.major;
    out->minor = properties.minor;
    int kilohertz = 0, bits = 0;
    if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, index) != cudaSuccess ||
        cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, index) != cudaSuccess)
        cudaGetLastError();                      /* bandwidth is 0 then */
    out->bandwidth = 2e3 * kilohertz * bits / 8; /* double data rate: two transfers per clock */
    return KD_OK;
}

/* Caches the description, which does not change and takes CUDA half a millisecond to return. */
kd_status device_cuda_describe(device *out, int index) {
    enum { KNOWN_MAX = 64 };
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    static device cached[KNOWN_MAX];
    static bool valid[KNOWN_MAX];
    if (index < 0 || index >= KNOWN_MAX) return query_capabilities(out, index);
    pthread_mutex_lock(&guard);
    const bool found = valid[index];
    if (found) *out = cached[index];
    pthread_mutex_unlock(&guard);
    if (found) return KD_OK;
    KD_TRY(query_capabilities(out, index));
    pthread_mutex_lock(&guard);
    cached[index] = *out;
    valid[index] = true;
    pthread_mutex_unlock(&guard);
    return KD_OK;
}

void device_retire(int index) {
#ifdef KD_CUDA_EMULATED
    (void)index; /* the emulated device has no context */
#else
    if (cudaSetDevice(index) == cudaSuccess) cudaDeviceReset();
    cudaGetLastError();
#endif
}
