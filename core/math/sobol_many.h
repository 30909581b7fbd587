/* sobol_draw (core/math/sobol.h) for sixteen samples at a time in CPU vector registers, with
   bit-identical results.
   Idea: a draw takes about two hundred operations on 32-bit words, which are independent between
         samples, so a vector holds the same word of eight samples. Two vectors are interleaved,
         because each operation depends on the preceding one.
   Differs in: not available in CUDA; without AVX2 the samples are drawn one by one, because
               64-bit products of vectors would not be faster. */
#ifndef KD_CORE_MATH_SOBOL_MANY_H
#define KD_CORE_MATH_SOBOL_MANY_H
#include "core/math/sobol.h"

#pragma GCC diagnostic ignored "-Wpsabi"

enum { SOBOL_MANY = 16, SOBOL_LANES = 8, SOBOL_VECTORS = SOBOL_MANY / SOBOL_LANES };
/* Arguments of a batch: the key of sample i is (seed, pass, path[i]). */
typedef struct sobol_batch {
    uint64_t seed;
    uint32_t pass, dimension;
    uint64_t path[SOBOL_MANY];   /* sobol_path */
    uint32_t bounce[SOBOL_MANY]; /* below 65536 */
} sobol_batch;

#ifdef __AVX2__
typedef uint32_t sobol_word8 __attribute__((vector_size(4 * SOBOL_LANES)));
typedef int sobol_int8 __attribute__((vector_size(4 * SOBOL_LANES)));
typedef uint64_t sobol_pair4 __attribute__((vector_size(4 * SOBOL_LANES)));
typedef float sobol_float8 __attribute__((vector_size(4 * SOBOL_LANES)));
#define SOBOL_MANY_FN static inline __attribute__((always_inline))

SOBOL_MANY_FN sobol_word8 sobol_all(uint32_t word) {
    const sobol_word8 all = {word, word, word, word, word, word, word, word};
    return all;
}

/* Returns the upper words of the products and sets *low to the lower words; multiplies even and odd
   lanes separately to 64 bits. */
SOBOL_MANY_FN sobol_word8 sobol_multiply(uint32_t factor, sobol_word8 word8, sobol_word8 *low) {
    const sobol_int8 all = (sobol_int8)sobol_all(factor);
    const sobol_int8 odd_words = (sobol_int8)((sobol_pair4)word8 >> 32);
    const sobol_word8 even = (sobol_word8)__builtin_ia32_pmuludq256((sobol_int8)word8, all);
    const sobol_word8 odd = (sobol_word8)__builtin_ia32_pmuludq256(odd_words, all);
    *low = __builtin_shufflevector(even, odd, 0, 8, 2, 10, 4, 12, 6, 14);
    return __builtin_shufflevector(even, odd, 1, 9, 3, 11, 5, 13, 7, 15);
}

/* rng_draw_words for all samples; on entry c[0] and c[1] hold the lower and upper words of the
   paths. */
SOBOL_MANY_FN void sobol_seeds_many(const sobol_batch *request, sobol_word8 c[4][SOBOL_VECTORS]) {
    uint32_t k0 = (uint32_t)request->seed, k1 = (uint32_t)(request->seed >> 32);
    memcpy(c[2], request->bounce, sizeof c[2]);
    for (int v = 0; v < SOBOL_VECTORS; ++v) {
        c[2][v] = c[2][v] << 16 | (request->dimension & 0xffffu);
        c[3][v] = sobol_all(request->pass);
    }
    for (int round = 0; round < 10; ++round) {
        for (int v = 0; v < SOBOL_VECTORS; ++v) {
            sobol_word8 low0, low2;
            const sobol_word8 high0 = sobol_multiply(0xD2511F53u, c[0][v], &low0);
            const sobol_word8 high2 = sobol_multiply(0xCD9E8D57u, c[2][v], &low2);
            c[0][v] = high2 ^ c[1][v] ^ k0;
            c[1][v] = low2;
            c[2][v] = high0 ^ c[3][v] ^ k1;
            c[3][v] = low0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* bits_reverse: reverses the bytes, then the bits of each byte by two lookups of half a byte. */
SOBOL_MANY_FN sobol_word8 sobol_reverse_many(sobol_word8 x) {
    typedef char sobol_bytes __attribute__((vector_size(4 * SOBOL_LANES)));
#define SOBOL_TWICE(...)                                                                           \
    { __VA_ARGS__, __VA_ARGS__ }
    const sobol_bytes behind = SOBOL_TWICE(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
    const sobol_bytes low = SOBOL_TWICE(0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15);
#undef SOBOL_TWICE
    const sobol_word8 high = (sobol_word8)low << 4,
                      turned = (sobol_word8)__builtin_ia32_pshufb256((sobol_bytes)x, behind);
    const sobol_word8 lower = turned & 0x0f0f0f0fu, upper = turned >> 4 & 0x0f0f0f0fu;
    return (sobol_word8)__builtin_ia32_pshufb256((sobol_bytes)high, (sobol_bytes)lower) |
           (sobol_word8)__builtin_ia32_pshufb256(low, (sobol_bytes)upper);
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

/* sobol_point; x[0] holds the index on entry. */
SOBOL_MANY_FN void sobol_point_many(sobol_word8 x[4][SOBOL_VECTORS]) {
    uint32_t one = 1, two = 1, two_next = 3, three = 1, three_next = 3, three_last = 4;
    for (int d = 1; d < 4; ++d)
        for (int v = 0; v < SOBOL_VECTORS; ++v) x[d][v] = x[0][v] & 0;
    for (int i = 0; i < SOBOL_BITS; ++i) {
        for (int v = 0; v < SOBOL_VECTORS; ++v) {
            const sobol_word8 taken = 0u - (x[0][v] >> i & 1u);
            x[1][v] ^= one & taken;
            x[2][v] ^= two & taken;
            x[3][v] ^= three & taken;
        }
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

/* Sets out[i] to sobol_draw of sample i. */
SOBOL_MANY_FN void sobol_draw_many(const sobol_batch *request, rng_block out[SOBOL_MANY]) {
    sobol_word8 sample[SOBOL_VECTORS], seed[4][SOBOL_VECTORS], x[4][SOBOL_VECTORS];
    uint32_t low[SOBOL_MANY], high[SOBOL_MANY];
    float row[4][SOBOL_MANY];
    for (int i = 0; i < SOBOL_MANY; ++i) {
        low[i] = (uint32_t)request->path[i];
        high[i] = (uint32_t)(request->path[i] >> 32);
    }
    memcpy(sample, low, sizeof sample);
    memcpy(seed[1], high, sizeof seed[1]);
    for (int v = 0; v < SOBOL_VECTORS; ++v) seed[0][v] = sample[v] >> SOBOL_BITS;
    sobol_seeds_many(request, seed);
    for (int v = 0; v < SOBOL_VECTORS; ++v) { /* sobol_shuffle */
        const sobol_word8 reversed = sobol_reverse_many(sample[v] << (32 - SOBOL_BITS));
        const sobol_word8 order = sobol_scramble_many(reversed, seed[0][v] ^ 0x5bd1e995u);
        x[0][v] = sobol_reverse_many(order) >> (32 - SOBOL_BITS);
    }
    sobol_point_many(x);
    for (int d = 0; d < 4; ++d)
        for (int v = 0; v < SOBOL_VECTORS; ++v) {
            x[d][v] = sobol_reverse_many(sobol_scramble_many(x[d][v], seed[d][v]));
            const sobol_float8 unit = /* rng_unit_float */
                __builtin_convertvector((sobol_int8)(x[d][v] >> 8), sobol_float8) * 0x1p-24f;
            memcpy(row[d] + SOBOL_LANES * v, &unit, sizeof unit);
        }
    for (int i = 0; i < SOBOL_MANY; ++i)
        for (int d = 0; d < 4; ++d) out[i].value[d] = row[d][i];
}
#else
KD_FN void sobol_draw_many(const sobol_batch *request, rng_block out[SOBOL_MANY]) {
    for (int i = 0; i < SOBOL_MANY; ++i)
        out[i] = sobol_draw(rng_key_make(request->seed, request->pass, request->path[i]),
                            request->bounce[i], request->dimension);
}
#endif

#endif
