/* Parses decimal numbers, correctly rounded to the nearest float, independent of the locale.
   Source: W. D. Clinger, "How to read floating point numbers accurately" (PLDI 1990), section 4: a
     significand below 2^53 times or divided by a power of ten up to 10^22 is one correctly rounded
     operation in double.
   Idea: rounding that double to float is correct unless it is exactly halfway between two floats
     or denormal. Those few cases, and longer numbers, are passed to strtof. */
#ifndef KD_SCENES_TEXT_NUMBER_H
#define KD_SCENES_TEXT_NUMBER_H
#include "scenes/text/text.h"

/* Parses [+-]digits[.digits][(e|E)[+-]digits] (at least one digit before or after the dot; also an
   exponent with the sign first, 3.1+e2), or nan, inf, 1.#IND, 1.#INF and the like. Returns the end
   of the number, or NULL, with *value unchanged, if there is none. Overflow yields an infinity. */
const char *number_float(const char *at, float *value);
/* The same, rounded to double (numbers of more than 160 digits: within one unit in the last place).
   Slower: for the few numbers that a float cannot hold. */
const char *number_double(const char *at, double *value);

/* Parses [+-]digits, saturated at +-2^40. Returns NULL if there is no number. */
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
