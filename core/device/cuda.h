/* Helpers for .cu files: checked calls, a scratch arena that measures and allocates with the same
   code, and scope guards for the current device and for pool memory. */
#ifndef KD_CORE_DEVICE_CUDA_H
#define KD_CORE_DEVICE_CUDA_H
#include "core/device/device_stream.h"
#include "core/status.h"
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

/* Converts a CUDA error to a status: cudaErrorMemoryAllocation to KD_ERROR_MEMORY, all others to
   KD_ERROR_DEVICE. */
static inline kd_status cuda_fail(cudaError_t error, const char *file, int line, const char *call) {
    size_t available = 0, total = 0;
    cudaGetLastError(); /* clears the runtime's last error, so that it is reported once */
    if (error != cudaErrorMemoryAllocation)
        return status_fail(KD_ERROR_DEVICE, file, line, "%s: %s", call, cudaGetErrorString(error));
    if (cudaMemGetInfo(&available, &total) != cudaSuccess) cudaGetLastError();
    return status_fail(KD_ERROR_MEMORY, file, line,
                       "out of device memory: the driver needs more than the %llu bytes that are "
                       "free; end other programs on this device, or use another device (%s)",
                       (unsigned long long)available, call);
}

#define KD_CUDA(call)                                                                              \
    do {                                                                                           \
        const cudaError_t kd_cuda_error = (call);                                                  \
        if (kd_cuda_error != cudaSuccess)                                                          \
            return cuda_fail(kd_cuda_error, __FILE__, __LINE__, #call);                            \
    } while (0)
/* Checks a kernel launch; `name` is the name of the kernel. */
#define KD_CUDA_LAUNCHED(name)                                                                     \
    do {                                                                                           \
        const cudaError_t kd_cuda_error = cudaPeekAtLastError();                                   \
        if (kd_cuda_error != cudaSuccess)                                                          \
            return cuda_fail(kd_cuda_error, __FILE__, __LINE__, name);                             \
    } while (0)

/* Returns the number of multiprocessors of the current device. */
static inline kd_status cuda_processors(unsigned *count) {
    int on = 0, value = 0;
    KD_CUDA(cudaGetDevice(&on));
    KD_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, on));
    *count = (unsigned)value;
    return KD_OK;
}

/* Returns the number of blocks of `block` threads for `items` threads. */
static inline unsigned cuda_blocks(uint64_t items, uint64_t block) {
    return (unsigned)((items + block - 1) / block);
}

/* Bytes of shared memory per block that every supported device has. */
constexpr size_t CUDA_SHARED_MIN = 64 << 10;

/* Returns the maximum shared memory per block of the current device: 64 KB on compute capability
   7.5, 99 KB on 8.6, 8.9 and 12.x, 163 KB on 8.0, 227 KB on 9.0 and 10.x. */
static inline kd_status cuda_shared_max(size_t *bytes) {
    int on = 0, value = 0;
    KD_CUDA(cudaGetDevice(&on));
    KD_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, on));
    *bytes = (size_t)value;
    return KD_OK;
}

/* Returns whether the kernel can be launched with thread block clusters: its code must be compiled
   for compute capability 9.0 or later. The device's capability alone does not suffice, as a newer
   device may run code compiled for an older one. */
template <class KERNEL> static kd_status cuda_has_clusters(bool *has, KERNEL kernel) {
    cudaFuncAttributes attributes;
    KD_CUDA(cudaFuncGetAttributes(&attributes, kernel));
    *has = attributes.ptxVersion >= 90;
    return KD_OK;
}

/* Returns how many blocks of the kernel can be resident on the current device at the same time. */
template <class KERNEL>
static kd_status cuda_resident_blocks(unsigned *count, KERNEL kernel, int threads) {
    int each = 0;
    KD_TRY(cuda_processors(count));
    KD_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0));
    *count *= (unsigned)each;
    return KD_OK;
}

/* cudaLaunchCooperativeKernel accepts a typed kernel pointer only from CUDA 13 on. */
template <class... PARAMETERS>
static cudaError_t cuda_launch_cooperative(void (*kernel)(PARAMETERS...), unsigned blocks,
                                           int threads, void **arguments, cudaStream_t stream) {
#ifdef KD_CUDA_EMULATED
    return cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3((unsigned)threads), arguments, 0,
                                       stream);
#else
    return cudaLaunchCooperativeKernel((const void *)kernel, dim3(blocks), dim3((unsigned)threads),
                                       arguments, 0, stream);
#endif
}

/* Bump allocator over one block of device memory, with 256-byte alignment. If `base` is NULL it
   only counts: running the same requests on such an arena measures the bytes needed. */
typedef struct cuda_arena {
    char *base;
    size_t used;
} cuda_arena;

static inline void *cuda_arena_take(cuda_arena *arena, uint64_t count, size_t item_bytes) {
    char *taken = arena->base ? arena->base + arena->used : NULL;
    arena->used += (size_t)((count * item_bytes + 255) / 256 * 256);
    return taken;
}

/* Scope guard: sets the thread's current device and restores the previous one. */
struct entered {
    int32_t previous = 0;
    bool in = false;
    ~entered() {
        if (in) device_leave(previous);
    }
    kd_status enter(int32_t device) {
        KD_TRY(device_enter(device, &previous));
        in = true;
        return KD_OK;
    }
};

/* Scope guard: memory of the current device's pool, allocated and released on the default
   stream. */
struct device_guard {
    void *memory = NULL;
    ~device_guard() { device_pool_release(memory, NULL); }
    kd_status take(uint64_t bytes) { return device_pool_reserve(&memory, bytes ? bytes : 1, NULL); }
    template <class T> T *as() const { return (T *)memory; }
};

#endif
