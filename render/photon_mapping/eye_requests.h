/* Requests of camera paths for photon map lookups that are answered later, in batches. */
#ifndef KD_RENDER_PHOTON_MAPPING_EYE_REQUESTS_H
#define KD_RENDER_PHOTON_MAPPING_EYE_REQUESTS_H
#include "photon/density/estimate.h"
#include <stddef.h>

/* Buffers of deferred lookups. */
typedef struct eye_requests {
    eye_request *list;          /* NULL: lookups run inline */
    eye_packet *packets;        /* used on devices only */
    eye_request_counts *counts; /* counts of both; may exceed the capacity */
    uint32_t capacity;          /* capacity of each */
} eye_requests;

#ifdef __CUDACC__
/* Copies `layers`, the largest member, for principled surfaces only; it is not initialised for
   others. */
__device__ inline void eye_request_place(eye_request *made, const surface *at) {
    void *to = &made->at;
    const void *from = at;
    memcpy(__builtin_assume_aligned(to, 4), __builtin_assume_aligned(from, 4),
           offsetof(surface, layers));
    if (at->kind == MATERIAL_PRINCIPLED) made->at.layers = at->layers;
}

/* Appends a request and links it behind `last`, the path's previous one (KD_NONE: none). The
   threads of a warp that are active share one packet. Returns the index of the request, which is at
   or beyond the capacity if the buffer is full; the counters then say how much is needed. */
__device__ inline uint32_t eye_request_append(const eye_requests *later, const surface *at, vec3 wo,
                                              vec3 throughput, uint32_t last) {
#ifdef __CUDA_ARCH__
    const unsigned lanes = __activemask();
    const int lane = threadIdx.x & 31, leader = __ffs(lanes) - 1;
    uint32_t place = 0;
    if (lane == leader) {
        const eye_packet packet = {atomicAdd(&later->counts->requests, (uint32_t)__popc(lanes)),
                                   (uint32_t)__popc(lanes)};
        const uint32_t number = atomicAdd(&later->counts->packets, 1u);
        if (number < later->capacity) later->packets[number] = packet;
        place = packet.first;
    }
    place = __shfl_sync(lanes, place, leader) + __popc(lanes & ((1u << lane) - 1));
    if (place >= later->capacity) return place;
    eye_request *made = later->list + place;
    eye_request_place(made, at);
    made->wo = wo;
    made->throughput = throughput;
    made->next = KD_NONE;
    if (last < later->capacity) later->list[last].next = place;
    return place;
#else
    (void)later, (void)at, (void)wo, (void)throughput;
    return last;
#endif
}
#endif

#ifndef __CUDA_ARCH__
/* Appends a request on a CPU. Requests of a path are adjacent, so they are not linked. Not
   thread-safe. */
static inline void eye_note(const eye_requests *later, const surface *at, vec3 wo,
                            vec3 throughput) {
    const uint32_t place = later->counts->requests++;
    if (place >= later->capacity) return;
    eye_request *made = later->list + place;
    made->at = *at;
    made->wo = wo;
    made->throughput = throughput;
    made->next = KD_NONE;
}
#endif

#endif
