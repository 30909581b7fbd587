#include "core/device/cuda.h"
#include "core/device/device_limit.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/option.h"
#include "core/parallel/parallel.h"
#include "core/system/paths.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

namespace {

/* Allocations, those of pools included: CUDA does not report the size of a block when it is
   freed. */
struct piece {
    void *at;
    uint64_t bytes;
    int device;
    piece *next;
};
enum { DEVICES_MAX = 64 };
pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
piece *pieces;
uint64_t held_bytes, peak_bytes, device_bytes[DEVICES_MAX];

/* Reads KANDELA_DEVICE_MEMORY; 0: unlimited. */
kd_status read_limit(uint64_t *bytes) {
    static const char variable[] = "KANDELA_DEVICE_MEMORY";
    const char *text = place_variable(variable);
    option_row row;
    *bytes = 0;
    if (!text || !*text) return KD_OK;
    memset(&row, 0, sizeof row);
    row.name = row.environment = variable;
    row.kind = OPTION_BYTES;
    return option_set(&row, text, OPTION_BY_ENVIRONMENT, bytes);
}

kd_status current_device(int *device) {
    KD_CUDA(cudaGetDevice(device));
    if (*device >= DEVICES_MAX) *device = DEVICES_MAX - 1;
    return KD_OK;
}

/* Adds to the bytes held, if the limit allows them. */
bool admit(int device, uint64_t bytes, uint64_t limit) {
    pthread_mutex_lock(&guard);
    const bool fits =
        limit == 0 || (device_bytes[device] <= limit && bytes <= limit - device_bytes[device]);
    if (fits) held_bytes += bytes, device_bytes[device] += bytes;
    pthread_mutex_unlock(&guard);
    return fits;
}

void withdraw(int device, uint64_t bytes) {
    held_bytes -= bytes;
    device_bytes[device] -= bytes;
}

} // namespace

kd_status device_limit_admit(uint64_t bytes, bool *fits, int32_t *device) {
    uint64_t limit = 0;
    int now = 0;
    KD_TRY(read_limit(&limit));
    KD_TRY(current_device(&now));
    *device = now;
    *fits = admit(now, bytes, limit);
    return KD_OK;
}

void device_limit_note(void *at, uint64_t bytes, int32_t device) {
    piece *made = at ? (piece *)malloc(sizeof *made) : NULL;
    pthread_mutex_lock(&guard);
    if (made) {
        *made = {at, bytes, device, pieces};
        pieces = made;
        if (held_bytes > peak_bytes) peak_bytes = held_bytes;
    } else {
        withdraw(device, bytes);
    }
    pthread_mutex_unlock(&guard);
}

void device_limit_forget(void *at) {
    pthread_mutex_lock(&guard);
    for (piece **link = &pieces; *link; link = &(*link)->next) {
        piece *block = *link;
        if (block->at != at) continue;
        *link = block->next;
        withdraw(block->device, block->bytes);
        free(block);
        break;
    }
    pthread_mutex_unlock(&guard);
}

kd_status device_memory_free_bytes(uint64_t *bytes) {
    size_t available = 0, total = 0;
    uint64_t limit = 0;
    int device = 0;
    KD_TRY(read_limit(&limit));
    KD_TRY(current_device(&device));
    KD_CUDA(cudaMemGetInfo(&available, &total));
    *bytes = available;
    if (limit == 0) return KD_OK;
    pthread_mutex_lock(&guard);
    const uint64_t held = device_bytes[device], left = limit > held ? limit - held : 0;
    pthread_mutex_unlock(&guard);
    if (left < *bytes) *bytes = left;
    return KD_OK;
}

kd_status device_limit_lacks(uint64_t bytes) {
    uint64_t available = 0;
    KD_TRY(device_memory_free_bytes(&available));
    KD_FAIL(KD_ERROR_MEMORY, "out of device memory: %llu bytes were needed, %llu are free",
            (unsigned long long)bytes, (unsigned long long)available);
}

kd_status device_memory_reserve(void **pointer, uint64_t bytes) {
    bool fits = false;
    int32_t device = 0;
    *pointer = NULL;
    KD_TRY(device_limit_admit(bytes, &fits, &device));
    if (!fits) return device_limit_lacks(bytes);
    cudaError_t error = cudaMalloc(pointer, bytes ? bytes : 1);
    if (error == cudaErrorMemoryAllocation) { /* the pool may hold the missing memory */
        cudaGetLastError();
        error = device_pool_trim() == KD_OK ? cudaMalloc(pointer, bytes ? bytes : 1) : error;
    }
    if (error != cudaSuccess) *pointer = NULL;
    device_limit_note(*pointer, bytes, device);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        return device_limit_lacks(bytes);
    }
    KD_CUDA(error);
    return KD_OK;
}

uint64_t device_memory_peak_bytes(void) {
    return peak_bytes;
}

void device_memory_free(void *pointer) {
    if (!pointer) return;
    device_limit_forget(pointer);
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

/* Copies between pageable host memory and a device through a ring of pinned staging buffers.
   Idea: the driver copies pageable memory through a small pinned buffer of its own on the calling
         thread: 8 to 10 GB/s, including page faults on first touch. Here all threads copy to or
         from some buffers while others are transferred.
   Memory: 32 MB of pinned memory per concurrent call, which the process keeps for later calls. If
           it cannot be allocated, the driver's copy is used.
   Data flow: in: host -> buffer, by all threads -> device, in stream order; out: device ->
              buffer -> host, by all threads; a buffer waits for its event before it is used
              again. */

namespace {

constexpr int PIECES = 4;
constexpr uint64_t PIECE_BYTES = 8 << 20, GRAIN_BYTES = 512 << 10;
/* Minimum size for which a ring pays off: if one exists, and if one must be allocated (10 ms). */
constexpr uint64_t WORTH_TAKING = 32 << 20, WORTH_MAKING = 256 << 20;

/* Free list of rings; the first word of each points to the next one. */
pthread_mutex_t rings_guard = PTHREAD_MUTEX_INITIALIZER;
char *rings_free;

struct ring {
    char *memory;
    cudaEvent_t done[PIECES];
    int events;
};

struct copying {
    char *to;
    const char *from;
    uint64_t bytes;
};

bool has_ring() {
    pthread_mutex_lock(&rings_guard);
    const bool has = rings_free != NULL;
    pthread_mutex_unlock(&rings_guard);
    return has;
}

void ring_close(ring *owned) {
    for (int i = 0; i < owned->events; ++i) cudaEventDestroy(owned->done[i]);
    if (!owned->memory) return;
    pthread_mutex_lock(&rings_guard);
    *(char **)(void *)owned->memory = rings_free;
    rings_free = owned->memory;
    pthread_mutex_unlock(&rings_guard);
}

/* Takes a ring from the free list or allocates one, and creates events on the current device.
   out->memory is NULL if no pinned memory is available. */
kd_status ring_open(ring *out) {
    pthread_mutex_lock(&rings_guard);
    out->memory = rings_free;
    if (rings_free) rings_free = *(char **)(void *)rings_free;
    pthread_mutex_unlock(&rings_guard);
    if (!out->memory && cudaHostAlloc((void **)&out->memory, PIECES * PIECE_BYTES,
                                      cudaHostAllocPortable) != cudaSuccess) {
        cudaGetLastError();
        out->memory = NULL;
        return KD_OK;
    }
    for (; out->events < PIECES; ++out->events) KD_CUDA(cudaEventCreate(&out->done[out->events]));
    return KD_OK;
}

void copy_some(void *context, int64_t begin, int64_t end, int) {
    const copying *work = (const copying *)context;
    const uint64_t first = (uint64_t)begin * GRAIN_BYTES, last = (uint64_t)end * GRAIN_BYTES;
    memcpy(work->to + first, work->from + first, (last < work->bytes ? last : work->bytes) - first);
}

void copy_by_all(char *to, const char *from, uint64_t bytes) {
    copying work = {to, from, bytes};
    parallel_for((int64_t)((bytes + GRAIN_BYTES - 1) / GRAIN_BYTES), 1, copy_some, &work);
}

uint64_t piece_bytes(uint64_t bytes, uint64_t piece) {
    const uint64_t left = bytes - piece * PIECE_BYTES;
    return left < PIECE_BYTES ? left : PIECE_BYTES;
}

kd_status cross_in(const ring *ring, char *to, const char *from, uint64_t bytes,
                   cudaStream_t stream) {
    const uint64_t pieces = (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    for (uint64_t i = 0; i < pieces; ++i) {
        const uint64_t at = i * PIECE_BYTES, some = piece_bytes(bytes, i);
        char *piece = ring->memory + i % PIECES * PIECE_BYTES;
        if (i >= PIECES) KD_CUDA(cudaEventSynchronize(ring->done[i % PIECES]));
        copy_by_all(piece, from + at, some);
        KD_CUDA(cudaMemcpyAsync(to + at, piece, some, cudaMemcpyHostToDevice, stream));
        KD_CUDA(cudaEventRecord(ring->done[i % PIECES], stream));
    }
    return KD_OK;
}

kd_status fetch_piece(const ring *ring, const char *from, uint64_t bytes, uint64_t which,
                      cudaStream_t stream) {
    char *piece = ring->memory + which % PIECES * PIECE_BYTES;
    KD_CUDA(cudaMemcpyAsync(piece, from + which * PIECE_BYTES, piece_bytes(bytes, which),
                            cudaMemcpyDeviceToHost, stream));
    KD_CUDA(cudaEventRecord(ring->done[which % PIECES], stream));
    return KD_OK;
}

kd_status cross_out(const ring *ring, char *to, const char *from, uint64_t bytes,
                    cudaStream_t stream) {
    const uint64_t pieces = (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    for (uint64_t i = 0; i < pieces && i < PIECES; ++i)
        KD_TRY(fetch_piece(ring, from, bytes, i, stream));
    for (uint64_t i = 0; i < pieces; ++i) {
        KD_CUDA(cudaEventSynchronize(ring->done[i % PIECES]));
        copy_by_all(to + i * PIECE_BYTES, ring->memory + i % PIECES * PIECE_BYTES,
                    piece_bytes(bytes, i));
        if (i + PIECES < pieces) KD_TRY(fetch_piece(ring, from, bytes, i + PIECES, stream));
    }
    return KD_OK;
}

/* Copies through the driver's own pinned buffer. */
kd_status cross_plainly(void *to, const void *from, uint64_t bytes, void *stream) {
    KD_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, (cudaStream_t)stream));
    return device_stream_wait(stream);
}

bool is_pageable(const void *pointer) {
    cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, pointer) == cudaSuccess)
        return attributes.type == cudaMemoryTypeUnregistered;
    cudaGetLastError();
    return true;
}

} // namespace

extern "C" bool device_crosses(const void *to, const void *from, uint64_t bytes) {
    if (bytes < WORTH_TAKING || (bytes < WORTH_MAKING && !has_ring())) return false;
    return is_pageable(to) ? device_of_pointer(from) >= 0
                           : is_pageable(from) && device_of_pointer(to) >= 0;
}

kd_status device_cross(void *to, const void *from, uint64_t bytes, void *stream) {
    ring ring = {};
    const bool out = device_of_pointer(to) < 0;
    kd_status status = ring_open(&ring);
    if (status == KD_OK && !ring.memory) return cross_plainly(to, from, bytes, stream);
    if (status == KD_OK)
        status = (out ? cross_out : cross_in)(&ring, (char *)to, (const char *)from, bytes,
                                              (cudaStream_t)stream);
    /* transfers may be in flight, even after a failure */
    if (status == KD_OK ? !out : ring.events > 0) {
        const kd_status waited = device_stream_wait(stream);
        if (status == KD_OK) status = waited;
    }
    ring_close(&ring);
    return status;
}
