#include "scenes/text/number.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    DIGITS_EXACT = 19, /* any 19 digits fit into 64 bits */
    DIGITS_KEPT = 160, /* more than the 112 digits that can affect a float's rounding */
    DIGITS_TEXT = DIGITS_KEPT + 32,
    EXPONENT_LIMIT = 100000
};

static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* A parsed decimal: sign and digits, with `point` digits before the dot, times 10^exponent. */
typedef struct decimal {
    const char *digits, *end; /* may contain a dot */
    int64_t point;
    int64_t exponent;
    bool negative;
} decimal;

/* Writes the digits for strtof without a dot, because other locales use another character: the
   first DIGITS_KEPT digits, then one nonzero digit if any dropped digit is not zero. */
static void decimal_write(const decimal *decimal, char text[DIGITS_TEXT]) {
    int kept = 0;
    int64_t seen = 0, leading = 0;
    bool dropped = false;
    text[0] = '0';
    for (const char *c = decimal->digits; c != decimal->end; ++c) {
        if (*c == '.') continue;
        ++seen;
        if (kept == 0 && *c == '0')
            ++leading;
        else if (kept < DIGITS_KEPT)
            text[kept++] = *c;
        else
            dropped = dropped || *c != '0';
    }
    if (kept == 0) kept = 1; /* zero */
    int64_t exponent = decimal->exponent + decimal->point - leading - kept;
    if (dropped) {
        text[kept++] = '1';
        --exponent;
    }
    if (exponent > EXPONENT_LIMIT) exponent = EXPONENT_LIMIT;
    if (exponent < -EXPONENT_LIMIT) exponent = -EXPONENT_LIMIT;
    snprintf(text + kept, (size_t)(DIGITS_TEXT - kept), "e%d", (int)exponent);
}

static float decimal_to_float(const decimal *decimal) {
    char text[DIGITS_TEXT];
    decimal_write(decimal, text);
    const float value = strtof(text, NULL);
    return decimal->negative ? -value : value;
}

static double decimal_to_double(const decimal *decimal) {
    char text[DIGITS_TEXT];
    decimal_write(decimal, text);
    const double value = strtod(text, NULL);
    return decimal->negative ? -value : value;
}

static const char *exponent_read(const char *at, int64_t *exponent) {
    *exponent = 0;
    const char *c = at;
    bool negative = *c == '-';
    if ((*c == '+' || *c == '-') && (c[1] == 'e' || c[1] == 'E')) {
        c += 2;
    } else if (*c == 'e' || *c == 'E') {
        ++c;
        negative = *c == '-';
        if (*c == '+' || *c == '-') ++c;
    } else {
        return at;
    }
    if (!text_is_digit(*c)) return at;
    int64_t sum = 0;
    for (; text_is_digit(*c); ++c)
        if (sum < EXPONENT_LIMIT * 10) sum = sum * 10 + (*c - '0');
    *exponent = negative ? -sum : sum;
    return c;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Parses nan, inf, infinity, nan(ind), and 1.#IND, 1.#INF, 1.#QNAN00 as printed by Microsoft's C
   library. */
static const char *special_read(const char *at, bool negative, float *value) {
    const bool microsoft = at[0] == '1' && at[1] == '.' && at[2] == '#';
    const char *begin = microsoft ? at + 3 : at, *end = begin;
    while (is_letter(*end)) ++end;
    const text_span word = {begin, (uint64_t)(end - begin)};
    const bool infinite = text_is_like(word, "inf") || text_is_like(word, "infinity");
    if (!infinite && !microsoft && !text_is_like(word, "nan")) return NULL;
    if (microsoft && word.count == 0) return NULL;
    while (microsoft && text_is_digit(*end)) ++end;
    if (!microsoft && !infinite && *end == '(') {
        const char *inner = end + 1;
        while (is_letter(*inner) || text_is_digit(*inner)) ++inner;
        if (*inner == ')') end = inner + 1;
    }
    *value = infinite ? (negative ? -INFINITY : INFINITY) : NAN;
    return end;
}

/* Finds the digits and the exponent of a number. Returns NULL if there is none, or a special one.
 */
static const char *decimal_read(decimal *out, const char *at) {
    decimal read = *out;
    read.digits = at;
    const char *c = at;
    while (text_is_digit(*c)) ++c;
    read.point = c - at;
    bool any = c != at;
    if (*c == '.') {
        const char *fraction = ++c;
        while (text_is_digit(*c)) ++c;
        any = any || c != fraction;
    }
    if (!any || *c == '#') return NULL;
    read.end = c;
    c = exponent_read(c, &read.exponent);
    *out = read;
    return c;
}

static const char *slow_read(const decimal *start, const char *at, float *value) {
    decimal read = *start;
    const char *end = decimal_read(&read, at);
    if (!end) return special_read(at, read.negative, value);
    *value = decimal_to_float(&read);
    return end;
}

const char *number_double(const char *at, double *value) {
    decimal read = {0};
    read.negative = *at == '-';
    if (*at == '-' || *at == '+') ++at;
    const char *end = decimal_read(&read, at);
    if (end) {
        *value = decimal_to_double(&read);
        return end;
    }
    float special = 0;
    end = special_read(at, read.negative, &special);
    if (end) *value = (double)special;
    return end;
}

const char *number_float(const char *at, float *value) {
    decimal read = {0};
    read.negative = *at == '-';
    if (*at == '-' || *at == '+') ++at;
    const char *c = at;
    uint64_t significand = 0;
    while (text_is_digit(*c)) significand = significand * 10 + (uint64_t)(*c++ - '0');
    int64_t count = c - at, fraction = 0;
    if (*c == '.') {
        const char *point = ++c;
        while (text_is_digit(*c)) significand = significand * 10 + (uint64_t)(*c++ - '0');
        fraction = c - point;
        count += fraction;
    }
    if (count == 0 || count > DIGITS_EXACT || *c == '#') return slow_read(&read, at, value);
    int64_t exponent = 0;
    if (!text_is_blank(*c) && !text_is_line_end(*c)) c = exponent_read(c, &exponent);
    exponent -= fraction;
    if (significand >> 53 || exponent < -22 || exponent > 22) return slow_read(&read, at, value);
    double wide = (double)significand;
    wide = exponent < 0 ? wide / powers_of_ten[-exponent] : wide * powers_of_ten[exponent];
    uint64_t bits;
    memcpy(&bits, &wide, sizeof bits);
    const bool halfway = (bits & 0x1fffffffu) == 0x10000000u;
    if (halfway || wide > (double)FLT_MAX || (wide < (double)FLT_MIN && significand))
        return slow_read(&read, at, value);
    *value = read.negative ? -(float)wide : (float)wide;
    return c;
}
