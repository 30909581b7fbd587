#include "core/device/device.h"
#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

int device_cuda_count(void) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        cudaGetLastError(); /* no driver is an answer, not a failure */
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
    return KD_CUDA_CODE; /* by cmake/KandelaCuda.cmake */
}

kd_status device_cuda_describe(device *out, int index) {
    memset(out, 0, sizeof *out);
    cudaDeviceProp properties;
    const cudaError_t error = cudaGetDeviceProperties(&properties, index);
    KD_REQUIRE(error == cudaSuccess, KD_ERROR_DEVICE, "CUDA device %d: %s", index,
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
        cudaGetLastError();                      /* then it is unknown */
    out->bandwidth = 2e3 * kilohertz * bits / 8; /* two transfers a clock */
    return KD_OK;
}
