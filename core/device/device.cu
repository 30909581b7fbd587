#include "core/device/device.h"
#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

enum { CUDA_MAJOR_LEAST = 9 }; /* thread block clusters, warp-wide reductions */

int device_cuda_count(void) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        cudaGetLastError(); /* no driver is an answer, not a failure */
        return 0;
    }
    return count;
}

bool device_cuda_compiled(void) {
    return true;
}

kd_status device_cuda_describe(device *out, int index) {
    memset(out, 0, sizeof *out);
    cudaDeviceProp properties;
    const cudaError_t error = cudaGetDeviceProperties(&properties, index);
    KD_REQUIRE(error == cudaSuccess, KD_ERROR_DEVICE, "CUDA device %d: %s", index,
               cudaGetErrorString(error));
    KD_REQUIRE(properties.major >= CUDA_MAJOR_LEAST, KD_ERROR_DEVICE,
               "CUDA device %d (%.95s) has compute capability %d.%d, expected %d.0 or later", index,
               properties.name, properties.major, properties.minor, CUDA_MAJOR_LEAST);
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
