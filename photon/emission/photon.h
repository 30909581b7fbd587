/* A photon: a packet of flux that landed on a surface, or was scattered by a medium; or a beam,
   which begins at `position` and flies through a medium until something is in its way. */
#ifndef KD_PHOTON_EMISSION_PHOTON_H
#define KD_PHOTON_EMISSION_PHOTON_H
#include "core/math/geometry.h"

typedef struct photon {
    vec3 position;     /* world */
    vec3 power;        /* W, linear Rec. 709 */
    vec3 direction;    /* unit, the way it was flying when it landed */
    vec3 normal;       /* unit geometric normal of the side that it landed on; medium: direction;
                          beam: its length, 0, 0 */
    uint32_t triangle; /* that it landed on; or the medium that scattered it */
    uint32_t path;     /* index of its emission, with seed and pass the key of its random numbers */
    uint16_t light;    /* light it came from, low 16 bits */
    uint8_t bounce;    /* surfaces and scatterings in media before this one */
    uint8_t kind;      /* photon_kind */
} photon;

typedef enum photon_kind {
    PHOTON_DIRECT = 0,  /* no surface between light and here */
    PHOTON_CAUSTIC = 1, /* only lenses between: mirror, glass, metal, a smooth coat */
    PHOTON_INDIRECT = 2 /* at least one surface that keeps photons, or a medium, scattered it on */
} photon_kind;

/* A hash of a list of photons that devices can compute side by side: each photon's hash knows its
   place in the list, their sum is the list's.
   Source: the mixing step is that of Steele, Lea and Flood 2014, "Fast splittable pseudorandom
           number generators" (variant 13 of Stafford's). */
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
