/* Photons of a block between memory and its threads.
   Idea: a photon has 60 bytes, and a thread that reads or writes one by itself touches other lines
         than its neighbours with each word. So all threads move the words of all photons, through
         shared memory: neighbours move neighbours. There a photon's words are 15, an odd number,
         so that threads meet different banks.
   Memory: 60 bytes of shared memory a thread. */
#ifndef KD_PHOTON_EMISSION_PHOTON_ROOM_CUH
#define KD_PHOTON_EMISSION_PHOTON_ROOM_CUH
#include "core/device/cuda.h"
#include "photon/emission/photon.h"

/* By all threads of a block of BLOCK, a photon a thread. */
template <uint32_t BLOCK> struct photon_room {
    static constexpr uint32_t WORDS = sizeof(photon) / sizeof(uint32_t);
    static_assert(WORDS % 2 == 1 && WORDS * sizeof(uint32_t) == sizeof(photon), "banks");
    uint32_t words[BLOCK * WORDS];

    __device__ __forceinline__ void put(const photon &of) {
        memcpy(words + threadIdx.x * WORDS, &of, sizeof of);
    }
    __device__ __forceinline__ photon get() const {
        photon made;
        memcpy(&made, words + threadIdx.x * WORDS, sizeof made);
        return made;
    }
    /* The first `count` at `from`, side by side. */
    __device__ __forceinline__ void load(const photon *from, uint32_t count) {
        for (uint32_t w = threadIdx.x; w < count * WORDS; w += BLOCK)
            words[w] = ((const uint32_t *)from)[w];
        __syncthreads();
    }
    /* The first `count`; thread i's is list[ids[i]]. */
    __device__ __forceinline__ void gather(const photon *list, const uint32_t *ids,
                                           uint32_t count) {
        for (uint32_t w = threadIdx.x; w < count * WORDS; w += BLOCK) {
            const uint32_t i = w / WORDS;
            words[w] = ((const uint32_t *)(list + ids[i]))[w - i * WORDS];
        }
        __syncthreads();
    }
    __device__ __forceinline__ void store(photon *to, uint32_t count) const {
        __syncthreads();
        for (uint32_t w = threadIdx.x; w < count * WORDS; w += BLOCK)
            ((uint32_t *)to)[w] = words[w];
    }
};

#endif
