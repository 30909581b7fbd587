/* Decimal numbers from text, correctly rounded to the nearest float, in any locale.
   Source: W. D. Clinger, "How to read floating point numbers accurately" (PLDI 1990), section 4: a
           significand below 2^53 times or over a power of ten up to 10^22 is one correctly rounded
           operation in double.
   Idea:   rounding that double to float is right unless it lies exactly in the middle of two
           floats, or among the denormals; those few, and longer numbers, go to strtof. */
#ifndef KD_SCENES_TEXT_NUMBER_H
#define KD_SCENES_TEXT_NUMBER_H
#include "scenes/text/text.h"

/* Reads [+-]digits[.digits][(e|E)[+-]digits] (one digit at least before or after the dot; also the
   e-format with the sign first, 3.1+e2) or nan, inf, 1.#IND, 1.#INF and their kin, and stops behind
   it. NULL, with *value untouched, if there is no number. Overflow gives an infinity. */
const char *number_float(const char *at, float *value);

/* Reads [+-]digits, saturated at +-2^40. NULL if there is none. */
static inline const char *number_integer(const char *at, int64_t *value) {
    const bool negative = *at == '-';
    if (negative || *at == '+') ++at;
    if (!text_is_digit(*at)) return NULL;
    int64_t sum = 0;
    do {
        sum = sum * 10 + (*at - '0');
        if (sum > ((int64_t)1 << 40)) sum = (int64_t)1 << 40;
        ++at;
    } while (text_is_digit(*at));
    *value = negative ? -sum : sum;
    return at;
}

#endif
