#include "core/device/cuda.h"
#include "core/device/device_stream.h"
#include <atomic>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

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

static int note_loads(struct dl_phdr_info *of, size_t, void *loads) {
    *(unsigned long long *)loads = of->dlpi_adds;
    return 1; /* it is the same for all */
}

/* Asking the runtime would load the driver and start it on every device, which takes long; asking
   the loader takes 25 us where there is no driver, as it looks for one in all folders. So it is
   asked only when something was loaded since. */
bool device_in_use(void) {
#ifdef KD_CUDA_EMULATED
    return true;
#else
    static std::atomic<unsigned long long> loads_without{0}; /* all ones: it was among them */
    unsigned long long loads = 0;
    if (loads_without.load(std::memory_order_relaxed) == ~0ull) return true;
    dl_iterate_phdr(note_loads, &loads);
    if (loads == loads_without.load(std::memory_order_relaxed)) return false;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver) dlclose(driver);
    loads_without.store(driver ? ~0ull : loads, std::memory_order_relaxed);
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

/* A list of pieces that nobody has; each begins with where the next one is. */
static pthread_mutex_t staging_guard = PTHREAD_MUTEX_INITIALIZER;
static void *staging_free;

kd_status device_staging_take(void **out) {
    pthread_mutex_lock(&staging_guard);
    *out = staging_free;
    if (staging_free) staging_free = *(void **)staging_free;
    pthread_mutex_unlock(&staging_guard);
    if (!*out)
        KD_CUDA(
            cudaHostAlloc(out, DEVICE_STAGING_BYTES, cudaHostAllocPortable | cudaHostAllocMapped));
    return KD_OK;
}

void device_staging_give(void *taken) {
    if (!taken) return;
    pthread_mutex_lock(&staging_guard);
    *(void **)taken = staging_free;
    staging_free = taken;
    pthread_mutex_unlock(&staging_guard);
}

kd_status device_copy(void *to, const void *from, uint64_t bytes, void *stream) {
    if (device_crosses(to, from, bytes)) return device_cross(to, from, bytes, stream);
    if (bytes) KD_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, (cudaStream_t)stream));
    return KD_OK;
}

kd_status device_stream_wait(void *stream) {
    KD_CUDA(cudaStreamSynchronize((cudaStream_t)stream));
    return KD_OK;
}
