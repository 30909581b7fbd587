#include "core/device/cuda.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include <pthread.h>
#include <stdlib.h>

namespace {

/* What is reserved: CUDA does not tell how large a piece was. */
struct piece {
    void *at;
    uint64_t bytes;
    piece *next;
};
pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
piece *pieces;
uint64_t held_bytes, peak_bytes;

void note_reserved(void *at, uint64_t bytes) {
    piece *made = (piece *)malloc(sizeof *made);
    if (!made) return;
    pthread_mutex_lock(&guard);
    *made = {at, bytes, pieces};
    pieces = made;
    held_bytes += bytes;
    if (held_bytes > peak_bytes) peak_bytes = held_bytes;
    pthread_mutex_unlock(&guard);
}

void note_freed(void *at) {
    pthread_mutex_lock(&guard);
    for (piece **link = &pieces; *link; link = &(*link)->next) {
        piece *found = *link;
        if (found->at != at) continue;
        *link = found->next;
        held_bytes -= found->bytes;
        free(found);
        break;
    }
    pthread_mutex_unlock(&guard);
}

} // namespace

kd_status device_memory_free_bytes(uint64_t *bytes) {
    size_t available = 0, total = 0;
    KD_CUDA(cudaMemGetInfo(&available, &total));
    *bytes = available;
    return KD_OK;
}

kd_status device_memory_reserve(void **pointer, uint64_t bytes) {
    *pointer = NULL;
    cudaError_t error = cudaMalloc(pointer, bytes ? bytes : 1);
    if (error == cudaErrorMemoryAllocation) { /* the pool may keep what is missing */
        cudaGetLastError();
        KD_TRY(device_pool_trim());
        error = cudaMalloc(pointer, bytes ? bytes : 1);
    }
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        uint64_t available = 0;
        KD_TRY(device_memory_free_bytes(&available));
        KD_FAIL(KD_ERROR_MEMORY, "out of device memory: %llu bytes were needed, %llu are free",
                (unsigned long long)bytes, (unsigned long long)available);
    }
    KD_CUDA(error);
    note_reserved(*pointer, bytes);
    return KD_OK;
}

uint64_t device_memory_peak_bytes(void) {
    return peak_bytes;
}

void device_memory_free(void *pointer) {
    if (!pointer) return;
    note_freed(pointer);
    cudaFree(pointer);
}

kd_status device_memory_upload(void *device_pointer, const void *host, uint64_t bytes) {
    if (bytes) KD_CUDA(cudaMemcpy(device_pointer, host, bytes, cudaMemcpyHostToDevice));
    return KD_OK;
}

kd_status device_memory_clear(void *device_pointer, uint64_t bytes) {
    if (bytes) KD_CUDA(cudaMemsetAsync(device_pointer, 0, bytes));
    return KD_OK;
}

kd_status device_memory_download(void *host, const void *device_pointer, uint64_t bytes) {
    if (bytes) KD_CUDA(cudaMemcpy(host, device_pointer, bytes, cudaMemcpyDeviceToHost));
    return KD_OK;
}

bool device_memory_owns(const void *pointer) {
    cudaPointerAttributes attributes;
    if (!pointer || cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) {
        cudaGetLastError();
        return false;
    }
    return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

kd_status device_wait(void) {
    KD_CUDA(cudaDeviceSynchronize());
    return KD_OK;
}
