/* Parses text into option fields. Errors describe the valid values. */
#include "core/names.h"
#include "core/option.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The arguments of option_set, for error messages. */
typedef struct option_words {
    const option_row *row;
    const char *text;
    option_source source;
} option_words;

static kd_status refuse_with(const option_words *words, const char *more) {
    char expected[OPTION_TEXT_BYTES];
    const option_row *row = words->row;
    const char *replaced = row->replaced ? row->replaced(words->text) : NULL;
    KD_REQUIRE(!replaced, KD_ERROR_USAGE, "%s%s %s no longer exists: use %s",
               words->source == OPTION_BY_LINE ? "--" : "", row->name, words->text, replaced);
    option_expect(expected, sizeof expected, row);
    if (words->source == OPTION_BY_ENVIRONMENT)
        KD_FAIL(KD_ERROR_USAGE, "%s=%.80s: expected %s%s", row->environment, words->text, expected,
                more);
    KD_FAIL(KD_ERROR_USAGE, "%s%s %.80s: expected %s%s",
            words->source == OPTION_BY_LINE ? "--" : "", row->name, words->text, expected, more);
}

static kd_status refuse(const option_words *words) {
    return refuse_with(words, "");
}

static bool in_range(const option_row *row, double value) {
    return row->minimum >= row->maximum || (value >= row->minimum && value <= row->maximum);
}

/* Parses a decimal number; rejects leading blanks, hexadecimal, "inf" and "nan". *end points past
   the number, or is NULL if there is none. */
static double read_real(const char *text, const char **end) {
    *end = NULL;
    const char *digits = text + (*text == '-' || *text == '+');
    if (!isdigit((unsigned char)digits[*digits == '.'])) return 0;
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
        *end = digits + 1;
        return 0;
    }
    char *stop;
    const double value = strtod(text, &stop);
    if (stop != text && isfinite(value)) *end = stop;
    return value;
}

/* Returns the factor of the suffix at *c, and skips it. */
static uint64_t read_scale(const char **c) {
    switch (**c) {
    case 'K':
    case 'k': ++*c; return 1000;
    case 'M': ++*c; return 1000000;
    case 'G':
    case 'B': ++*c; return 1000000000;
    default: return 1;
    }
}

uint64_t option_read_count(const char *text, const char **end) {
    *end = NULL;
    uint64_t value = 0;
    const char *c = text;
    for (; isdigit((unsigned char)*c); ++c) {
        const uint64_t digit = (uint64_t)(*c - '0');
        if (value > (UINT64_MAX - digit) / 10) return 0;
        value = 10 * value + digit;
    }
    if (*c == '.' || *c == 'e' || *c == 'E') {
        const double real = read_real(text, &c);
        if (!c) return 0;
        const double scale = (double)read_scale(&c), product = real * scale, whole = round(product);
        /* 1.005K is 1004.9999999999999 in binary */
        const double slack = scale > 1 ? 4e-16 * product : 0;
        if (product < 0 || product > 0x1p53 || fabs(product - whole) > slack) return 0;
        *end = c;
        return (uint64_t)whole;
    }
    if (c == text) return 0;
    const uint64_t scale = read_scale(&c);
    if (value > UINT64_MAX / scale) return 0;
    *end = c;
    return value * scale;
}

static kd_status set_uint64(const option_words *words, void *field) {
    const char *end;
    const uint64_t value = option_read_count(words->text, &end);
    if (!end || *end || !in_range(words->row, (double)value)) return refuse(words);
    memcpy(field, &value, sizeof value);
    return KD_OK;
}

/* Returns the power of 1024 of a unit ("", "K", "k", "KiB", "KB", "B", ...), or -1 if it is
   unknown. */
static int unit_power(const char *unit) {
    static const char letters[] = "KMGT";
    const char *letter = *unit ? strchr(letters, toupper((unsigned char)*unit)) : NULL;
    const char *rest = letter ? unit + 1 : unit;
    if (letter && *rest == 'i' && rest[1] == 'B') ++rest;
    if (strcmp(rest, "") != 0 && strcmp(rest, "B") != 0) return -1;
    return letter ? (int)(letter - letters) + 1 : 0;
}

static kd_status set_bytes(const option_words *words, void *field) {
    const char *end;
    const double value = read_real(words->text, &end);
    const int power = end ? unit_power(end) : -1;
    const double bytes = power < 0 ? -1 : floor(ldexp(value, 10 * power));
    if (power < 0 || value < 0 || bytes > 0x1p62 || (value > 0 && bytes < 1) ||
        (power == 0 && value != bytes))
        return refuse(words);
    const uint64_t whole = (uint64_t)bytes;
    memcpy(field, &whole, sizeof whole);
    return KD_OK;
}

static double read_whole(const char *c, const char **end) {
    const bool negative = *c == '-';
    const double magnitude = (double)option_read_count(c + negative, end);
    return negative ? -magnitude : magnitude;
}

/* Stores number i of a field; returns false if it does not fit into the type of the row. */
static bool put_number(const option_row *row, void *field, int i, double value) {
    const int32_t whole = fabs(value) <= INT32_MAX ? (int32_t)value : 0;
    const float single = (float)value;
    const bool is_whole = row->kind == OPTION_INT32, is_single = row->kind == OPTION_FLOAT;
    if ((is_whole && fabs(value) > INT32_MAX) || (is_single && !isfinite(single))) return false;
    const void *from = is_whole ? (const void *)&whole : is_single ? (const void *)&single : &value;
    const size_t bytes = is_whole ? sizeof whole : is_single ? sizeof single : sizeof value;
    memcpy((char *)field + (size_t)i * bytes, from, bytes);
    return true;
}

/* Sets the fields of OPTION_INT32, OPTION_FLOAT and OPTION_DOUBLE. */
static kd_status set_numbers(const option_words *words, void *field) {
    const option_row *row = words->row;
    const char *c = words->text;
    const int count = row->count > 1 ? row->count : 1;
    if (row->kind == OPTION_FLOAT && row->automatic && strcmp(c, row->automatic) == 0) {
        const float chosen_later = NAN;
        memcpy(field, &chosen_later, sizeof chosen_later);
        return KD_OK;
    }
    for (int i = 0; i < count; ++i) {
        const char *end;
        const double value = row->kind == OPTION_INT32 ? read_whole(c, &end) : read_real(c, &end);
        const char after = i + 1 == count ? '\0' : row->separator ? row->separator : ',';
        if (!end || *end != after || !in_range(row, value) || !put_number(row, field, i, value))
            return refuse(words);
        c = end + 1;
    }
    return KD_OK;
}

/* Sets *chosen to the index of the choice that equals the text. */
static kd_status find_choice(const option_words *words, int32_t *chosen) {
    const char *best = NULL, *name;
    char more[96] = "";
    if (!words->text) {
        *chosen = 0; /* an optional argument is missing */
        return KD_OK;
    }
    for (int i = 0; (name = words->row->choice(i)); ++i) {
        if (strcmp(name, words->text) == 0) {
            *chosen = i;
            return KD_OK;
        }
        nearest_consider(&best, words->text, name);
    }
    if (best) snprintf(more, sizeof more, "; did you mean %s?", best);
    return refuse_with(words, more);
}

static kd_status set_name(const option_words *words, char *field) {
    int32_t chosen;
    if (words->row->choice) KD_TRY(find_choice(words, &chosen));
    if (strlen(words->text) >= words->row->bytes) return refuse(words);
    memcpy(field, words->text, strlen(words->text) + 1);
    return KD_OK;
}

static kd_status set_list(const option_words *words, option_list *field) {
    KD_REQUIRE(field->count < OPTION_LIST_ITEMS, KD_ERROR_USAGE,
               "--%s is given more than %d times, the limit", words->row->name, OPTION_LIST_ITEMS);
    field->items[field->count++] = words->text;
    return KD_OK;
}

static kd_status set_flag(const option_words *words, void *field) {
    const int32_t on = !words->text || strcmp(words->text, "on") == 0;
    if (!on && strcmp(words->text, "off") != 0) return refuse(words);
    if (words->row->bytes == sizeof on)
        memcpy(field, &on, sizeof on);
    else
        *(bool *)field = on != 0;
    return KD_OK;
}

kd_status option_set(const option_row *row, const char *text, option_source source, void *field) {
    const option_words words = {row, text, source};
    switch (row->kind) {
    case OPTION_FLAG: return set_flag(&words, field);
    case OPTION_TEXT: *(const char **)field = text; return KD_OK;
    case OPTION_LIST: return set_list(&words, (option_list *)field);
    case OPTION_NAME: return set_name(&words, (char *)field);
    case OPTION_CHOICE: return find_choice(&words, (int32_t *)field);
    case OPTION_UINT64: return set_uint64(&words, field);
    case OPTION_BYTES: return set_bytes(&words, field);
    case OPTION_INT32:
    case OPTION_FLOAT:
    case OPTION_DOUBLE: return set_numbers(&words, field);
    }
    KD_FAIL(KD_ERROR_RUNTIME, "--%s has an option kind that this function does not support",
            row->name);
}
