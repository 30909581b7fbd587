/* Owen-scrambled Sobol points in blocks of four dimensions, as a pure function of (seed, pass,
   pixel, sample, bounce, dimension).
   Source: Burley 2020, "Practical hash-based Owen scrambling", JCGT 9(4); direction numbers by the
           recurrences of Joe and Kuo 2008; the scrambling hash with the constants of Vegdahl 2021,
           "Building a better LK hash".
   Idea: padding (Burley, section 5). For each decision, the samples of a pixel traverse one Sobol
         sequence of four dimensions, which is shuffled and scrambled with seeds that rng.h draws
         for this decision. Decisions are therefore independent of each other, and each is
         stratified over the pixel's samples: the first 2^k samples are a (0, k, 2)-net in the first
         two dimensions.
   Work: one Philox draw and 16 steps of the four recurrences.
   Memory: no table. */
#ifndef KD_CORE_MATH_SOBOL_H
#define KD_CORE_MATH_SOBOL_H
#include "core/math/rng.h"

enum { SOBOL_BITS = 16 }; /* the scrambling changes after 2^16 samples */

/* Returns the `path` of an rng_key for sobol_draw. */
KD_FN uint64_t sobol_path(uint32_t pixel, uint32_t sample) {
    return (uint64_t)pixel << 32 | sample;
}

KD_FN uint32_t bits_reverse(uint32_t x) {
#if defined(__CUDA_ARCH__) && !defined(KD_CUDA_EMULATED)
    return __brev(x);
#endif
    x = x << 16 | x >> 16;
    x = (x & 0x00ff00ffu) << 8 | (x & 0xff00ff00u) >> 8;
    x = (x & 0x0f0f0f0fu) << 4 | (x & 0xf0f0f0f0u) >> 4;
    x = (x & 0x33333333u) << 2 | (x & 0xccccccccu) >> 2;
    return (x & 0x55555555u) << 1 | (x & 0xaaaaaaaau) >> 1;
}

/* Owen scrambling of a number whose most significant digit is bit 0: a permutation in which each
   bit is flipped depending only on the bits below it. */
KD_FN uint32_t owen_scramble_reversed(uint32_t x, uint32_t seed) {
    x ^= x * 0x3d20adeau;
    x += seed;
    x *= (seed >> 16) | 1u;
    x ^= x * 0x05526c56u;
    x ^= x * 0x53a22864u;
    return x;
}

/* Returns the shuffled index of a sample in the sequence of one decision. */
KD_FN uint32_t sobol_shuffle(uint32_t sample, uint32_t seed) {
    const uint32_t low = sample & ((1u << SOBOL_BITS) - 1);
    const uint32_t reversed = bits_reverse(low << (32 - SOBOL_BITS));
    return bits_reverse(owen_scramble_reversed(reversed, seed)) >> (32 - SOBOL_BITS);
}

/* Computes the first four dimensions of the Sobol sequence at `index`, most significant digit in
   bit 0. The direction numbers are those of Joe and Kuo's polynomials 1, x + 1, x^2 + x + 1 and x^3
   + x + 1, each computed from the preceding ones; compilers unroll the loop of fixed length and
   turn the direction numbers into constants. */
KD_FN void sobol_point(uint32_t index, uint32_t x[4]) {
    uint32_t one = 1, two = 1, two_next = 3, three = 1, three_next = 3, three_last = 4;
    x[0] = index;
    x[1] = x[2] = x[3] = 0;
    for (int i = 0; i < SOBOL_BITS; ++i) {
        const uint32_t taken = 0u - (index >> i & 1u);
        x[1] ^= one & taken;
        x[2] ^= two & taken;
        x[3] ^= three & taken;
        one ^= one << 1;
        const uint32_t two_new = two_next ^ two ^ two << 2;
        two = two_next;
        two_next = two_new;
        const uint32_t three_new = three_next ^ three ^ three << 3;
        three = three_next;
        three_next = three_last;
        three_last = three_new;
    }
}

/* Returns four numbers in [0, 1); key.path is sobol_path(pixel, sample). */
KD_FN_HOT rng_block sobol_draw(rng_key key, uint32_t bounce, uint32_t dimension) {
    const uint32_t sample = (uint32_t)key.path;
    key.path = (key.path >> 32) << 32 | sample >> SOBOL_BITS;
    const rng_words seeds = rng_draw_words(key, bounce, dimension);
    uint32_t x[4];
    sobol_point(sobol_shuffle(sample, seeds.word[0] ^ 0x5bd1e995u), x);
    rng_block block;
    for (int i = 0; i < 4; ++i)
        block.value[i] = rng_unit_float(bits_reverse(owen_scramble_reversed(x[i], seeds.word[i])));
    return block;
}

#endif
