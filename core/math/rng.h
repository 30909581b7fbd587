/* Counter-based random numbers: a pure function of (seed, pass, path, bounce, dimension) without
   state, so that any distribution of the work over threads, GPUs and machines draws the same
   numbers.
   Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3",
           Philox4x32 with 10 rounds.
   Work: 20 wide multiplications for four numbers. */
#ifndef KD_CORE_MATH_RNG_H
#define KD_CORE_MATH_RNG_H
#include "core/math/platform.h"

typedef struct rng_key {
    uint64_t seed;
    uint32_t
        pass; /* purpose of the draw: different passes over pixels or photons never share numbers */
    uint64_t path; /* pixel sample or photon */
} rng_key;

typedef struct rng_block {
    float value[4]; /* uniform in [0, 1) */
} rng_block;

KD_FN rng_key rng_key_make(uint64_t seed, uint32_t pass, uint64_t path) {
    rng_key key;
    key.seed = seed;
    key.pass = pass;
    key.path = path;
    return key;
}

KD_FN float rng_unit_float(uint32_t bits) {
    return (float)(bits >> 8) * 0x1p-24f;
}

typedef struct rng_words {
    uint32_t word[4];
} rng_words;

/* Returns four random words for one decision (`dimension` < 65536) at one vertex of the path
   (`bounce` < 65536). */
KD_FN rng_words rng_draw_words(rng_key key, uint32_t bounce, uint32_t dimension) {
    uint32_t c0 = (uint32_t)key.path, c1 = (uint32_t)(key.path >> 32);
    uint32_t c2 = bounce << 16 | (dimension & 0xffffu), c3 = key.pass;
    uint32_t k0 = (uint32_t)key.seed, k1 = (uint32_t)(key.seed >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    rng_words drawn;
    drawn.word[0] = c0;
    drawn.word[1] = c1;
    drawn.word[2] = c2;
    drawn.word[3] = c3;
    return drawn;
}

/* As rng_draw_words, converted to floats in [0, 1). */
KD_FN rng_block rng_draw(rng_key key, uint32_t bounce, uint32_t dimension) {
    const rng_words drawn = rng_draw_words(key, bounce, dimension);
    rng_block block;
    for (int i = 0; i < 4; ++i) block.value[i] = rng_unit_float(drawn.word[i]);
    return block;
}

#endif
