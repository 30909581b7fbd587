/* Times of samples while the shutter is open, for objects that move: all pixels take a sample at
   the same time, in a scene of its own.
   Idea: times are those of a van der Corput sequence with Owen scrambling, so each prefix of 2^k
         times has one in each of 2^k equal parts of the exposure. Each of the first 64 samples has
         a time of its own. From then on, whenever the number of samples doubles, so does the number
         of consecutive samples at one time, so that each doubling opens 32 scenes only: 256 samples
         have 128 times. */
#ifndef KD_RENDER_FRAME_SHUTTER_H
#define KD_RENDER_FRAME_SHUTTER_H
#include "core/math/sobol.h"

enum { SHUTTER_TIMES = 32 /* per doubling */, SHUTTER_PASS = 0x73687574 /* rng_key.pass */ };

/* The samples [begin, end) of all pixels are taken at `time`, a share of the exposure in [0, 1). */
typedef struct shutter_slice {
    uint32_t begin, end;
    float time;
} shutter_slice;

/* Returns the slice that contains a sample. */
static inline shutter_slice shutter_slice_of(uint64_t seed, uint32_t sample) {
    const rng_words seeds = rng_draw_words(rng_key_make(seed, SHUTTER_PASS, 0), 0, 0);
    shutter_slice slice = {sample, sample + 1, 0};
    uint32_t number = sample;
    for (uint32_t k = 0; sample >> k >= SHUTTER_TIMES; ++k) {
        slice.begin = sample >> k << k;
        slice.end = slice.begin + (1u << k);
        number = (sample >> k) + SHUTTER_TIMES * k;
    }
    slice.time = rng_unit_float(bits_reverse(owen_scramble_reversed(number, seeds.word[0])));
    return slice;
}

#endif
