/* The part of the CUDA runtime that Kandela uses, on an emulated device (lanes.h): kernels run when
   they are launched; device memory is host memory, filled with 0xcd when it is allocated. */
#ifndef KD_TESTS_EMULATED_CUDA_RUNTIME_H
#define KD_TESTS_EMULATED_CUDA_RUNTIME_H
#define __host__
#define __device__
#define __global__
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static thread_local
#define __align__(bytes) __attribute__((aligned(bytes)))

#include "intrinsics.h"
#include "lanes.h"
#include <stdio.h>
#include <stdlib.h>

struct float2 {
    float x, y;
} __attribute__((aligned(8)));
struct float3 {
    float x, y, z;
};
struct float4 {
    float x, y, z, w;
} __attribute__((aligned(16)));
struct uint2 {
    unsigned x, y;
} __attribute__((aligned(8)));
struct uint4 {
    unsigned x, y, z, w;
} __attribute__((aligned(16)));
inline float2 make_float2(float x, float y) {
    return {x, y};
}
inline float4 make_float4(float x, float y, float z, float w) {
    return {x, y, z, w};
}
inline uint2 make_uint2(unsigned x, unsigned y) {
    return {x, y};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return {x, y, z, w};
}

typedef enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidDevice = 101
} cudaError_t;
typedef struct emulated_stream *cudaStream_t;
typedef struct emulated_event *cudaEvent_t;
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDefault };
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
enum cudaDeviceAttr {
    cudaDevAttrMaxSharedMemoryPerBlockOptin,
    cudaDevAttrMultiProcessorCount,
    cudaDevAttrMemoryClockRate,
    cudaDevAttrGlobalMemoryBusWidth
};
enum { cudaHostAllocPortable = 1, cudaHostAllocMapped = 2 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
};
struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem;
    int major, minor, multiProcessorCount;
};
typedef struct emulated_pool *cudaMemPool_t;
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold };
struct cudaFuncAttributes {
    int ptxVersion;
};

extern "C" {
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize(void);
enum { cudaStreamNonBlocking = 1 };
cudaError_t cudaDeviceGetStreamPriorityRange(int *lowest, int *highest);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaMemGetInfo(size_t *available, size_t *total);
cudaError_t cudaFree(void *memory);
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream);
cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = 0);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream = 0);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *pointer);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end);
}

namespace emulated {
cudaError_t take_memory(void **memory, size_t bytes);
cudaError_t take_pooled(void **memory, size_t bytes);

template <class... P, size_t... I>
void call(void (*kernel)(P...), void **arguments, std::index_sequence<I...>) {
    kernel(*(typename std::remove_reference<P>::type *)arguments[I]...);
}
} // namespace emulated

template <class T> cudaError_t cudaMalloc(T **memory, size_t bytes) {
    return emulated::take_memory((void **)memory, bytes);
}
template <class T> cudaError_t cudaMallocAsync(T **memory, size_t bytes, cudaStream_t) {
    return emulated::take_pooled((void **)memory, bytes);
}
template <class KERNEL>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, KERNEL, int, size_t) {
    *blocks = 1;
    return cudaSuccess;
}
template <class KERNEL> cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, KERNEL) {
    attributes->ptxVersion = emulated::capability();
    return cudaSuccess;
}
template <class KERNEL> cudaError_t cudaFuncSetAttribute(KERNEL, cudaFuncAttribute, int bytes) {
    return (size_t)bytes <= emulated::shared_max() ? cudaSuccess : cudaErrorInvalidValue;
}
template <class... P>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(P...), dim3 grid, dim3 block,
                                        void **arguments, size_t shared, cudaStream_t stream) {
    emulated::launch_together("a cooperative kernel", {grid, block, shared, stream}, grid.x, [=] {
        emulated::call(kernel, arguments, std::index_sequence_for<P...>());
    });
    return cudaPeekAtLastError();
}

enum cudaLaunchAttributeID { cudaLaunchAttributeClusterDimension };
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    union {
        struct {
            unsigned x, y, z;
        } clusterDim;
    } val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...),
                               A... arguments) {
    const emulated::shape of(config->gridDim, config->blockDim, config->dynamicSmemBytes,
                             config->stream);
    const unsigned cluster = config->numAttrs ? config->attrs[0].val.clusterDim.x : 1;
    if (cluster > 1 && emulated::capability() < 90) return cudaErrorInvalidConfiguration;
    emulated::launch_together("a kernel of clusters", of, cluster, [=] { kernel(arguments...); });
    return cudaPeekAtLastError();
}
#endif
