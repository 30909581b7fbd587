#include "core/device/async.h"
#include "core/device/cuda.h"
#include "core/device/device_limit.h"
#include "core/device/device_stream.h"
#include <atomic>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

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

static int note_loads(struct dl_phdr_info *info, size_t, void *loads) {
    *(unsigned long long *)loads = info->dlpi_adds;
    return 1; /* the counter is global: the first object suffices */
}

/* Queries the dynamic loader: the CUDA runtime would load the driver and initialise it on every
   device, which is slow. The lookup takes 25 us if there is no driver, because the loader searches
   all directories, so it is repeated only if an object was loaded since the last one. */
bool device_in_use(void) {
#ifdef KD_CUDA_EMULATED
    return true;
#else
    /* number of objects loaded at the last lookup, which did not find the driver; all ones: it is
       loaded */
    static std::atomic<unsigned long long> loads_without{0};
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

/* Sets the release threshold of the device's default pool, once per device, so that freed memory
   stays in the pool at synchronisation points: otherwise each call that allocates and frees a
   gigabyte pays for it again. A threshold set by the application is kept. */
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
    KD_CUDA(cudaDeviceSynchronize()); /* completes pending cudaFreeAsync */
    KD_CUDA(cudaMemPoolTrimTo(pool, 0));
    return KD_OK;
}

kd_status device_pool_reserve(void **out, uint64_t bytes, void *stream) {
    cudaMemPool_t pool;
    bool fits = false;
    int32_t device = 0;
    *out = NULL;
    KD_TRY(keep_pool(&pool));
    KD_TRY(device_limit_admit(bytes, &fits, &device));
    if (!fits) return device_limit_lacks(bytes);
    cudaError_t error = cudaMallocAsync(out, bytes ? bytes : 1, (cudaStream_t)stream);
    if (error == cudaErrorMemoryAllocation) { /* the pool may keep memory in unsuitable pieces */
        cudaGetLastError();
        if (device_pool_trim() == KD_OK)
            error = cudaMallocAsync(out, bytes ? bytes : 1, (cudaStream_t)stream);
    }
    if (error != cudaSuccess) *out = NULL;
    device_limit_note(*out, bytes, device);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        return device_limit_lacks(bytes);
    }
    KD_CUDA(error);
    return KD_OK;
}

void device_pool_release(void *pointer, void *stream) {
    if (!pointer) return;
    device_limit_forget(pointer);
    cudaFreeAsync(pointer, (cudaStream_t)stream);
}

/* Free list of blocks; the first word of each points to the next one. */
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

extern "C" kd_status device_marks_record(const device_marks *marks, int which, void *stream) {
    KD_CUDA(cudaEventRecord((cudaEvent_t)marks->marks[which], (cudaStream_t)stream));
    return KD_OK;
}

extern "C" kd_status device_marks_read(const device_marks *marks, double *seconds) {
    KD_CUDA(cudaEventSynchronize((cudaEvent_t)marks->marks[marks->count - 1]));
    for (int i = 0; i + 1 < marks->count; ++i) {
        float milliseconds = 0;
        KD_CUDA(cudaEventElapsedTime(&milliseconds, (cudaEvent_t)marks->marks[i],
                                     (cudaEvent_t)marks->marks[i + 1]));
        seconds[i] = 1e-3 * (double)milliseconds;
    }
    return KD_OK;
}

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
