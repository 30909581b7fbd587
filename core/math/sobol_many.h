/* sobol_draw (core/math/sobol.h) of eight samples at a time, as a CPU's vector unit takes them: the
   same bits.
   Idea: a draw is some two hundred operations on words, and no sample's words meet another's; a
         vector holds the same word of all eight.
   Differs in: not for CUDA; without AVX2, where vectors of two 64-bit products take as long, one by
         one. */
#ifndef KD_CORE_MATH_SOBOL_MANY_H
#define KD_CORE_MATH_SOBOL_MANY_H
#include "core/math/sobol.h"

#pragma GCC diagnostic ignored "-Wpsabi"

enum { SOBOL_MANY = 8 };
/* What is drawn for: sample i's key is (seed, pass, path[i]). */
typedef struct sobol_asked {
    uint64_t seed;
    uint32_t pass, dimension;
    uint64_t path[SOBOL_MANY];   /* sobol_path */
    uint32_t bounce[SOBOL_MANY]; /* below 65536 */
} sobol_asked;

#ifdef __AVX2__
typedef uint32_t sobol_word8 __attribute__((vector_size(4 * SOBOL_MANY)));
typedef int sobol_int8 __attribute__((vector_size(4 * SOBOL_MANY)));
typedef uint64_t sobol_pair4 __attribute__((vector_size(4 * SOBOL_MANY)));
typedef float sobol_float8 __attribute__((vector_size(4 * SOBOL_MANY)));
#define SOBOL_MANY_FN static inline __attribute__((always_inline))

SOBOL_MANY_FN sobol_word8 sobol_all(uint32_t word) {
    const sobol_word8 all = {word, word, word, word, word, word, word, word};
    return all;
}

/* The products' upper words; *low: their lower ones. Every second one at a time, by 64 bits. */
SOBOL_MANY_FN sobol_word8 sobol_multiply(uint32_t factor, sobol_word8 by, sobol_word8 *low) {
    const sobol_int8 all = (sobol_int8)sobol_all(factor);
    const sobol_int8 odd_words = (sobol_int8)((sobol_pair4)by >> 32);
    const sobol_word8 even = (sobol_word8)__builtin_ia32_pmuludq256((sobol_int8)by, all);
    const sobol_word8 odd = (sobol_word8)__builtin_ia32_pmuludq256(odd_words, all);
    *low = __builtin_shufflevector(even, odd, 0, 8, 2, 10, 4, 12, 6, 14);
    return __builtin_shufflevector(even, odd, 1, 9, 3, 11, 5, 13, 7, 15);
}

/* rng_draw_words; c[0], c[1]: the keys' lower and upper words. */
SOBOL_MANY_FN void sobol_seeds_many(const sobol_asked *asked, sobol_word8 c[4]) {
    uint32_t k0 = (uint32_t)asked->seed, k1 = (uint32_t)(asked->seed >> 32);
    memcpy(&c[2], asked->bounce, sizeof c[2]);
    c[2] = c[2] << 16 | (asked->dimension & 0xffffu);
    c[3] = sobol_all(asked->pass);
    for (int round = 0; round < 10; ++round) {
        sobol_word8 low0, low2;
        const sobol_word8 high0 = sobol_multiply(0xD2511F53u, c[0], &low0);
        const sobol_word8 high2 = sobol_multiply(0xCD9E8D57u, c[2], &low2);
        c[0] = high2 ^ c[1] ^ k0;
        c[1] = low2;
        c[2] = high0 ^ c[3] ^ k1;
        c[3] = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

SOBOL_MANY_FN sobol_word8 sobol_reverse_many(sobol_word8 x) {
    x = x << 16 | x >> 16;
    x = (x & 0x00ff00ffu) << 8 | (x & 0xff00ff00u) >> 8;
    x = (x & 0x0f0f0f0fu) << 4 | (x & 0xf0f0f0f0u) >> 4;
    x = (x & 0x33333333u) << 2 | (x & 0xccccccccu) >> 2;
    return (x & 0x55555555u) << 1 | (x & 0xaaaaaaaau) >> 1;
}

/* owen_scramble_reversed */
SOBOL_MANY_FN sobol_word8 sobol_scramble_many(sobol_word8 x, sobol_word8 seed) {
    x ^= x * 0x3d20adeau;
    x += seed;
    x *= (seed >> 16) | 1u;
    x ^= x * 0x05526c56u;
    x ^= x * 0x53a22864u;
    return x;
}

/* sobol_point */
SOBOL_MANY_FN void sobol_point_many(sobol_word8 index, sobol_word8 x[4]) {
    uint32_t one = 1, two = 1, two_next = 3, three = 1, three_next = 3, three_last = 4;
    x[0] = index;
    x[1] = x[2] = x[3] = index & 0;
    for (int i = 0; i < SOBOL_BITS; ++i) {
        const sobol_word8 taken = 0u - (index >> i & 1u);
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

/* out[i]: sobol_draw of sample i. */
SOBOL_MANY_FN void sobol_draw_many(const sobol_asked *asked, rng_block out[SOBOL_MANY]) {
    sobol_word8 sample, seed[4], x[4];
    uint32_t low[SOBOL_MANY], high[SOBOL_MANY];
    float row[4][SOBOL_MANY];
    for (int i = 0; i < SOBOL_MANY; ++i) {
        low[i] = (uint32_t)asked->path[i];
        high[i] = (uint32_t)(asked->path[i] >> 32);
    }
    memcpy(&sample, low, sizeof sample);
    memcpy(&seed[1], high, sizeof seed[1]);
    seed[0] = sample >> SOBOL_BITS;
    sobol_seeds_many(asked, seed);
    const sobol_word8 reversed = sobol_reverse_many(sample << (32 - SOBOL_BITS));
    const sobol_word8 order = sobol_scramble_many(reversed, seed[0] ^ 0x5bd1e995u);
    sobol_point_many(sobol_reverse_many(order) >> (32 - SOBOL_BITS), x);
    for (int d = 0; d < 4; ++d) {
        x[d] = sobol_reverse_many(sobol_scramble_many(x[d], seed[d]));
        const sobol_float8 unit = /* rng_unit_float */
            __builtin_convertvector((sobol_int8)(x[d] >> 8), sobol_float8) * 0x1p-24f;
        memcpy(row[d], &unit, sizeof unit);
    }
    for (int i = 0; i < SOBOL_MANY; ++i)
        for (int d = 0; d < 4; ++d) out[i].value[d] = row[d][i];
}
#else
KD_FN void sobol_draw_many(const sobol_asked *asked, rng_block out[SOBOL_MANY]) {
    for (int i = 0; i < SOBOL_MANY; ++i)
        out[i] = sobol_draw(rng_key_make(asked->seed, asked->pass, asked->path[i]),
                            asked->bounce[i], asked->dimension);
}
#endif

#endif
