/* A hash of a list of photons that devices can compute side by side: each photon's hash knows
   its place in the list, their sum is the list's.
   Source: the mixing step is that of Steele, Lea and Flood 2014, "Fast splittable pseudorandom
           number generators" (variant 13 of Stafford's). */
#ifndef KD_PHOTON_EMISSION_PHOTON_HASH_H
#define KD_PHOTON_EMISSION_PHOTON_HASH_H
#include "photon/emission/photon.h"

enum { PHOTON_WORDS = 15 };
static_assert(sizeof(photon) == 4 * PHOTON_WORDS, "padding would be hashed");

KD_FN uint64_t hash_mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

KD_FN uint64_t photon_hash(const photon *landed, uint64_t place) {
    uint32_t word[PHOTON_WORDS + 1];
    memcpy(word, landed, sizeof *landed);
    word[PHOTON_WORDS] = 0;
    uint64_t hash = hash_mix(place + 0x9e3779b97f4a7c15u);
    for (int i = 0; i < PHOTON_WORDS; i += 2)
        hash = hash_mix(hash + ((uint64_t)word[i] << 32 | word[i + 1]));
    return hash;
}

#endif
