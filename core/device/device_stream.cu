#include "core/device/cuda.h"
#include "core/device/device_stream.h"
#include <atomic>
#include <dlfcn.h>

kd_status device_enter(int32_t index, int32_t *previous) {
    int now = 0;
    KD_CUDA(cudaGetDevice(&now));
    *previous = now;
    if (now != index) KD_CUDA(cudaSetDevice(index));
    return KD_OK;
}

void device_leave(int32_t previous) {
    cudaSetDevice(previous);
}

/* Asking the runtime would load the driver and start it on every device, which takes long. */
bool device_in_use(void) {
#ifdef KD_CUDA_EMULATED
    return true;
#else
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver) dlclose(driver);
    return driver != NULL;
#endif
}

int32_t device_of_pointer(const void *pointer) {
    cudaPointerAttributes attributes;
    if (!pointer || cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) {
        cudaGetLastError();
        return -1;
    }
    const bool owned =
        attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
    return owned ? attributes.device : -1;
}

/* What is freed stays in the device's pool for the next call instead of going back to the system
   when somebody waits: a call that takes and frees a gigabyte otherwise pays for it every time.
   Once a device; who has set a threshold keeps it. */
static kd_status keep_pool(cudaMemPool_t *pool) {
    enum { DEVICES = 64 };
    static std::atomic<bool> done[DEVICES];
    int on = 0;
    KD_CUDA(cudaGetDevice(&on));
    KD_CUDA(cudaDeviceGetDefaultMemPool(pool, on));
    if (on < DEVICES && done[on].exchange(true)) return KD_OK;
    uint64_t threshold = 0;
    KD_CUDA(cudaMemPoolGetAttribute(*pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    if (threshold > 0) return KD_OK;
    threshold = UINT64_MAX;
    KD_CUDA(cudaMemPoolSetAttribute(*pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    return KD_OK;
}

kd_status device_pool_trim(void) {
    int on = 0;
    cudaMemPool_t pool;
    KD_CUDA(cudaGetDevice(&on));
    KD_CUDA(cudaDeviceGetDefaultMemPool(&pool, on));
    KD_CUDA(cudaDeviceSynchronize()); /* what is freed in a stream's order is free then */
    KD_CUDA(cudaMemPoolTrimTo(pool, 0));
    return KD_OK;
}

kd_status device_pool_reserve(void **out, uint64_t bytes, void *stream) {
    cudaMemPool_t pool;
    *out = NULL;
    KD_TRY(keep_pool(&pool));
    const cudaError_t error = cudaMallocAsync(out, bytes ? bytes : 1, (cudaStream_t)stream);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        KD_FAIL(KD_ERROR_MEMORY, "out of device memory: %llu bytes were needed",
                (unsigned long long)bytes);
    }
    KD_CUDA(error);
    return KD_OK;
}

void device_pool_release(void *pointer, void *stream) {
    if (pointer) cudaFreeAsync(pointer, (cudaStream_t)stream);
}

kd_status device_copy(void *to, const void *from, uint64_t bytes, void *stream) {
    if (bytes) KD_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, (cudaStream_t)stream));
    return KD_OK;
}

kd_status device_stream_wait(void *stream) {
    KD_CUDA(cudaStreamSynchronize((cudaStream_t)stream));
    return KD_OK;
}
