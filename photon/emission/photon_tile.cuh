/* Coalesced transfer of photons between global memory and the threads of a block.
   Idea: a photon has 60 bytes; if each thread accessed its own, neighbouring threads would touch
         different cache lines with every word. Instead all threads copy the words of all photons
         through shared memory, neighbours copying neighbours. A photon has 15 words, an odd number,
         so in shared memory threads access different banks.
   Memory: 60 bytes of shared memory per thread. */
#ifndef KD_PHOTON_EMISSION_PHOTON_TILE_CUH
#define KD_PHOTON_EMISSION_PHOTON_TILE_CUH
#include "core/device/cuda.h"
#include "photon/emission/photon.h"

/* For all threads of a block of BLOCK threads, a photon per thread. */
template <uint32_t BLOCK> struct photon_tile {
    static constexpr uint32_t WORDS = sizeof(photon) / sizeof(uint32_t);
    static_assert(WORDS % 2 == 1 && WORDS * sizeof(uint32_t) == sizeof(photon), "banks");
    uint32_t words[BLOCK * WORDS];

    __device__ __forceinline__ void put(const photon &photon) {
        memcpy(words + threadIdx.x * WORDS, &photon, sizeof photon);
    }
    __device__ __forceinline__ photon get() const {
        photon made;
        memcpy(&made, words + threadIdx.x * WORDS, sizeof made);
        return made;
    }
    /* Loads `count` consecutive photons. */
    __device__ __forceinline__ void load(const photon *photon, uint32_t count) {
        for (uint32_t w = threadIdx.x; w < count * WORDS; w += BLOCK)
            words[w] = ((const uint32_t *)photon)[w];
        __syncthreads();
    }
    /* Loads `count` photons; thread i gets list[ids[i]]. */
    __device__ __forceinline__ void gather(const photon *list, const uint32_t *ids,
                                           uint32_t count) {
        for (uint32_t w = threadIdx.x; w < count * WORDS; w += BLOCK) {
            const uint32_t i = w / WORDS;
            words[w] = ((const uint32_t *)(list + ids[i]))[w - i * WORDS];
        }
        __syncthreads();
    }
    __device__ __forceinline__ void store(photon *photon, uint32_t count) const {
        __syncthreads();
        for (uint32_t w = threadIdx.x; w < count * WORDS; w += BLOCK)
            ((uint32_t *)photon)[w] = words[w];
    }
};

#endif
