/* Checks option values, describes the valid ones, and formats values as text. */
#include "core/option.h"
#include "core/names.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Upper bounds of this value or more only prevent arithmetic overflow; messages and help omit
   them. */
static const double bound_omitted = 1e9;

static void append(char *out, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *out, size_t bytes, const char *format, ...) {
    const size_t used = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + used, bytes - used, format, arguments);
    va_end(arguments);
}

static int numbers_of(const option_row *row) {
    return row->count > 1 ? row->count : 1;
}

static bool is_bounded(const option_row *row) {
    return row->minimum < row->maximum;
}

static bool is_listed(const char *list, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || !at[length])) return true;
    return false;
}

const option_row *option_next(const option_group *group, const option_row *row) {
    row = row ? row + 1 : group->rows;
    while (row->name && group->only && !is_listed(group->only, row->name)) ++row;
    return row->name ? row : NULL;
}

/* --- lists ------------------------------------------------------------------------------------ */

void option_choices(char *out, size_t bytes, const option_row *row, const char *between) {
    out[0] = '\0';
    for (int i = 0; row->choice && row->choice(i); ++i)
        append(out, bytes, "%s%s", i ? between : "", row->choice(i));
}

static void expect_choices(char *out, size_t bytes, const option_row *row) {
    for (int i = 0; row->choice(i); ++i)
        append(out, bytes, "%s%s",
               i == 0               ? ""
               : row->choice(i + 1) ? ", "
                                    : " or ",
               row->choice(i));
}

static void expect_numbers(char *out, size_t bytes, const option_row *row, const char *noun) {
    const int count = numbers_of(row);
    if (count > 1) append(out, bytes, "%s, %d numbers, each ", row->argument, count);
    append(out, bytes, "%s", noun);
    if (is_bounded(row) && row->maximum < bound_omitted)
        append(out, bytes, " from %.9g to %.9g", row->minimum, row->maximum);
    else if (row->kind == OPTION_UINT64)
        append(out, bytes, " from %.9g to %" PRIu64, is_bounded(row) ? row->minimum : 0,
               UINT64_MAX);
    else if (is_bounded(row))
        append(out, bytes, " of at least %.9g", row->minimum);
    if (row->automatic) append(out, bytes, ", or %s", row->automatic);
}

void option_expect(char *out, size_t bytes, const option_row *row) {
    out[0] = '\0';
    switch (row->kind) {
    case OPTION_CHOICE: expect_choices(out, bytes, row); break;
    case OPTION_NAME:
        if (row->choice)
            expect_choices(out, bytes, row);
        else
            append(out, bytes, "a string of at most %zu characters", row->bytes - 1);
        break;
    case OPTION_UINT64:
    case OPTION_INT32: expect_numbers(out, bytes, row, "a whole number"); break;
    case OPTION_FLOAT:
    case OPTION_DOUBLE: expect_numbers(out, bytes, row, "a number"); break;
    case OPTION_BYTES:
        append(out, bytes,
               "bytes, such as 200000000, 500M or 1.5G (K, M, G and T are powers of "
               "1024), up to 4194304T");
        break;
    case OPTION_FLAG: append(out, bytes, "off or on"); break;
    case OPTION_TEXT:
    case OPTION_LIST: append(out, bytes, "a string"); break;
    }
}

void option_range(char *out, size_t bytes, const option_row *row) {
    out[0] = '\0';
    if (is_bounded(row) && row->maximum < bound_omitted)
        append(out, bytes, "%.9g to %.9g", row->minimum, row->maximum);
    else if (is_bounded(row) && row->minimum > 0)
        append(out, bytes, "at least %.9g", row->minimum);
    if (row->unit) append(out, bytes, "%s%s", out[0] ? " " : "", row->unit);
}

void option_key(char *out, size_t bytes, const option_row *row) {
    snprintf(out, bytes, "%s", row->name);
    for (; *out; ++out)
        if (*out == '-') *out = '_';
}

bool option_is_called(const option_row *row, const char *name) {
    const char *letter = row->name;
    while (*letter && (*letter == *name || (*letter == '-' && *name == '_'))) ++letter, ++name;
    return !*letter && !*name;
}

/* --- values ----------------------------------------------------------------------------------- */

static bool is_real(const option_row *row) {
    return row->kind == OPTION_FLOAT || row->kind == OPTION_DOUBLE;
}

/* Returns element `index` of the field as a double; integers of 2^53 and more are rounded. */
static double number_at(const option_row *row, const void *field, int index) {
    switch (row->kind) {
    case OPTION_FLOAT: return (double)((const float *)field)[index];
    case OPTION_DOUBLE: return ((const double *)field)[index];
    case OPTION_INT32:
    case OPTION_CHOICE: return ((const int32_t *)field)[index];
    case OPTION_UINT64:
    case OPTION_BYTES: return (double)((const uint64_t *)field)[index];
    case OPTION_FLAG:
    case OPTION_TEXT:
    case OPTION_LIST:
    case OPTION_NAME: break;
    }
    return 0;
}

static bool number_fits(const option_row *row, double value) {
    if (isnan(value) && row->automatic) return true;
    if (is_real(row) && !isfinite(value)) return false;
    /* a decimal bound need not be representable as a float */
    const double slack = row->kind == OPTION_FLOAT ? 1e-6 * fabs(value) : 0;
    return !is_bounded(row) || (value >= row->minimum - slack && value <= row->maximum + slack);
}

static bool name_fits(const option_row *row, const char *name) {
    if (!memchr(name, 0, row->bytes)) return false;
    if (row->choice && name_is_auto(name) && name_is_auto(row->choice(0))) return true;
    int i = 0;
    while (row->choice && row->choice(i) && strcmp(row->choice(i), name) != 0) ++i;
    return !row->choice || row->choice(i);
}

static bool choice_fits(const option_row *row, int32_t number) {
    int32_t i = 0;
    while (i < number && row->choice(i)) ++i;
    return number >= 0 && row->choice(i);
}

static bool value_fits(const option_row *row, const void *field) {
    bool fits = true;
    switch (row->kind) {
    case OPTION_NAME: return name_fits(row, (const char *)field);
    case OPTION_CHOICE: return choice_fits(row, *(const int32_t *)field);
    case OPTION_UINT64:
    case OPTION_INT32:
    case OPTION_FLOAT:
    case OPTION_DOUBLE:
        for (int i = 0; i < numbers_of(row); ++i)
            fits = fits && number_fits(row, number_at(row, field, i));
        return fits;
    case OPTION_FLAG:
    case OPTION_TEXT:
    case OPTION_LIST:
    case OPTION_BYTES: break;
    }
    return true;
}

static bool flag_is_on(const option_row *row, const void *field) {
    return row->bytes == sizeof(int32_t) ? *(const int32_t *)field != 0 : *(const bool *)field;
}

/* Appends the shortest decimal that reads back as the same number. */
static void print_real(char *out, size_t bytes, bool single, double value) {
    char digits[40];
    for (int count = 1; count <= 17; ++count) {
        snprintf(digits, sizeof digits, "%.*g", count, value);
        if (single ? strtof(digits, NULL) == (float)value : strtod(digits, NULL) == value) break;
    }
    append(out, bytes, "%s", digits);
}

static void print_numbers(char *out, size_t bytes, const option_row *row, const void *field) {
    for (int i = 0; i < numbers_of(row); ++i) {
        const double value = number_at(row, field, i);
        if (i > 0) append(out, bytes, "%c", row->separator ? row->separator : ',');
        if (row->automatic && isnan(value))
            append(out, bytes, "%s", row->automatic);
        else if (is_real(row))
            print_real(out, bytes, row->kind == OPTION_FLOAT, value);
        else
            append(out, bytes, "%" PRId32, ((const int32_t *)field)[i]);
    }
}

void option_print(char *out, size_t bytes, const option_row *row, const void *field) {
    const char *text = "";
    out[0] = '\0';
    switch (row->kind) {
    case OPTION_NAME:
        snprintf(out, row->bytes < bytes ? row->bytes : bytes, "%.*s", (int)row->bytes,
                 (const char *)field);
        break;
    case OPTION_CHOICE:
        if (choice_fits(row, *(const int32_t *)field)) text = row->choice(*(const int32_t *)field);
        append(out, bytes, "%s", text);
        break;
    case OPTION_TEXT:
        memcpy(&text, field, sizeof text);
        append(out, bytes, "%s", text ? text : "");
        break;
    case OPTION_UINT64:
    case OPTION_BYTES: append(out, bytes, "%" PRIu64, *(const uint64_t *)field); break;
    case OPTION_INT32:
    case OPTION_FLOAT:
    case OPTION_DOUBLE: print_numbers(out, bytes, row, field); break;
    case OPTION_FLAG: append(out, bytes, "%s", flag_is_on(row, field) ? "on" : "off"); break;
    case OPTION_LIST: break;
    }
}

kd_status option_check(const option_row *row, const void *field) {
    char value[OPTION_TEXT_BYTES], expected[OPTION_TEXT_BYTES];
    if (value_fits(row, field)) return KD_OK;
    option_expect(expected, sizeof expected, row);
    if (row->kind == OPTION_NAME && !memchr(field, 0, row->bytes))
        KD_FAIL(KD_ERROR_USAGE,
                "`%s` of `options` is not terminated; call kd_render_options_default first",
                row->field);
    if (row->kind == OPTION_CHOICE)
        snprintf(value, sizeof value, "%" PRId32, *(const int32_t *)field);
    else
        option_print(value, sizeof value, row, field);
    KD_FAIL(KD_ERROR_USAGE, "`%s` is %.80s; expected %s", row->field, value, expected);
}
