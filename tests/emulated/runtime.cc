/* Memory, copies and events of the emulated device. */
#include "cuda_runtime.h"
#include <map>
#include <mutex>
#include <string.h>
#include <time.h>

namespace {
enum { PROCESSORS = 2, CAPABILITY = 90, FILLED = 1 << 20 };
/* 4 GB, or what KANDELA_EMULATED_MEMORY says. */
size_t memory_bytes() {
    static const char *const text = getenv("KANDELA_EMULATED_MEMORY");
    static const size_t bytes = text ? strtoull(text, NULL, 10) : (size_t)4 << 30;
    return bytes;
}
std::mutex guard;
std::map<const char *, size_t> taken; /* bytes by address */
size_t taken_bytes;
size_t pooled_bytes; /* freed, and kept by the pool: counted as taken */
uint64_t pool_threshold;

cudaError_t release(void *memory) {
    if (!memory) return cudaSuccess;
    std::lock_guard<std::mutex> held(guard);
    const auto entry = taken.find((const char *)memory);
    if (entry == taken.end()) return cudaErrorInvalidValue;
    taken_bytes -= entry->second;
    taken.erase(entry);
    free(memory);
    return cudaSuccess;
}
} // namespace

struct emulated_event {
    struct timespec at;
};

int emulated::capability() {
    static const char *const text = getenv("KANDELA_EMULATED_CAPABILITY");
    static const int version = text ? atoi(text) : CAPABILITY;
    return version;
}

size_t emulated::shared_max() {
    const int sm = capability();
    if (sm == 86 || sm == 89 || sm >= 120) return 99 << 10;
    return sm < 80 ? 64 << 10 : sm < 90 ? 163 << 10 : SHARED_MAX;
}

cudaError_t emulated::take_memory(void **memory, size_t bytes) {
    *memory = NULL;
    std::lock_guard<std::mutex> held(guard);
    if (bytes > memory_bytes() - taken_bytes) return cudaErrorMemoryAllocation;
    if (posix_memalign(memory, 256, bytes)) return cudaErrorMemoryAllocation;
    if (bytes <= 2 * FILLED) {
        memset(*memory, 0xcd, bytes);
    } else { /* large rooms are rarely used to the end */
        memset(*memory, 0xcd, FILLED);
        memset((char *)*memory + bytes - FILLED, 0xcd, FILLED);
    }
    taken[(const char *)*memory] = bytes;
    taken_bytes += bytes;
    return cudaSuccess;
}

/* What the pool keeps serves whoever asks for memory of the pool; it has no addresses here. */
cudaError_t emulated::take_pooled(void **memory, size_t bytes) {
    {
        std::lock_guard<std::mutex> held(guard);
        const size_t used = bytes < pooled_bytes ? bytes : pooled_bytes;
        pooled_bytes -= used;
        taken_bytes -= used;
    }
    return take_memory(memory, bytes);
}

extern "C" {
const char *cudaGetErrorString(cudaError_t error) {
    return error == cudaSuccess                     ? "no error"
           : error == cudaErrorMemoryAllocation     ? "out of memory"
           : error == cudaErrorInvalidConfiguration ? "invalid configuration argument"
           : error == cudaErrorInvalidDevice        ? "invalid device ordinal"
                                                    : "invalid argument";
}
cudaError_t cudaGetDeviceCount(int *count) {
    static const char *const text = getenv("KANDELA_EMULATED_DEVICE");
    *count = text && strcmp(text, "1") == 0;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
    if (device != 0) return cudaErrorInvalidDevice;
    memset(properties, 0, sizeof *properties);
    strcpy(properties->name, "emulated CUDA device");
    properties->totalGlobalMem = memory_bytes();
    properties->major = emulated::capability() / 10;
    properties->minor = emulated::capability() % 10;
    properties->multiProcessorCount = PROCESSORS;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
    *value = attribute == cudaDevAttrMultiProcessorCount            ? PROCESSORS
             : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? (int)emulated::shared_max()
                                                                    : 0; /* not known */
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize(void) {
    return cudaSuccess;
}
/* All work is done when its call returns, whatever stream it is on. */
cudaError_t cudaDeviceGetStreamPriorityRange(int *lowest, int *highest) {
    *lowest = *highest = 0;
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int) {
    *stream = (cudaStream_t)calloc(1, 1);
    return *stream ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    free(stream);
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
    std::lock_guard<std::mutex> held(guard);
    *total = memory_bytes();
    *available = memory_bytes() - taken_bytes;
    return cudaSuccess;
}
cudaError_t cudaFree(void *memory) {
    return release(memory);
}
/* Host memory stays that; no piece of more bytes than KANDELA_EMULATED_PINNED says. */
cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned) {
    const char *const maximum = getenv("KANDELA_EMULATED_PINNED");
    const bool refused = maximum && bytes > strtoull(maximum, NULL, 10);
    *memory = refused ? NULL : malloc(bytes);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFreeAsync(void *memory, cudaStream_t) {
    size_t bytes = 0;
    {
        std::lock_guard<std::mutex> held(guard);
        const auto entry = taken.find((const char *)memory);
        if (entry != taken.end()) bytes = entry->second;
    }
    const cudaError_t error = release(memory);
    std::lock_guard<std::mutex> held(guard);
    if (error == cudaSuccess && pooled_bytes + bytes <= pool_threshold) {
        pooled_bytes += bytes;
        taken_bytes += bytes;
    }
    return error;
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int) {
    *pool = NULL;
    return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *value) {
    *(uint64_t *)value = pool_threshold;
    return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *value) {
    pool_threshold = *(uint64_t *)value;
    return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t bytes) {
    std::lock_guard<std::mutex> held(guard);
    if (pooled_bytes <= bytes) return cudaSuccess;
    taken_bytes -= pooled_bytes - bytes;
    pooled_bytes = bytes;
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) {
    memmove(to, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
    return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t) {
    memset(to, value, bytes);
    return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *pointer) {
    std::lock_guard<std::mutex> held(guard);
    auto after = taken.upper_bound((const char *)pointer);
    bool owned = false;
    if (after != taken.begin()) {
        --after;
        owned = (const char *)pointer < after->first + after->second;
    }
    attributes->type = owned ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    attributes->device = owned ? 0 : -1;
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) {
    *event = (cudaEvent_t)calloc(1, sizeof **event);
    return *event ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    free(event);
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
    clock_gettime(CLOCK_MONOTONIC, &event->at);
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    *milliseconds = (float)(1e3 * (double)(end->at.tv_sec - begin->at.tv_sec) +
                            1e-6 * (double)(end->at.tv_nsec - begin->at.tv_nsec));
    return cudaSuccess;
}
}
