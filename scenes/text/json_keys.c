#include "scenes/text/json_keys.h"
#include "core/files/content.h"
#include "core/math/geometry.h"
#include "core/memory.h"
#include "core/names.h"
#include "scenes/text/json_position.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 256 };

/* --- places and errors ------------------------------------------------------------------------ */

json_place json_place_file(const char *file, const char *text, size_t bytes) {
    const json_place made = {NULL, file, 0, text, bytes};
    return made;
}

json_place json_place_key(const json_place *parent, const char *key) {
    const json_place made = {parent, key, 0, NULL, 0};
    return made;
}

json_place json_place_item(const json_place *parent, int index) {
    const json_place made = {parent, NULL, index, NULL, 0};
    return made;
}

static void append(char *text, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, size_t bytes, const char *format, ...) {
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, bytes - used, format, arguments);
    va_end(arguments);
}

/* Appends ":line:column" of the place, or of the nearest one around it that is in the text. */
static void append_position(char *out, size_t bytes, const json_place *file, const json_place *at) {
    char position[48];
    size_t offset = 0;
    if (!file->text) return;
    while (!json_find_place(file->text, file->bytes, at, &offset) && at->parent) at = at->parent;
    json_position_text(position, sizeof position, file->text, offset);
    append(out, bytes, ":%s", position);
}

void json_place_text(char *text, size_t bytes, const json_place *at) {
    text[0] = '\0';
    if (!at->parent) return;
    json_place_text(text, bytes, at->parent);
    if (at->name)
        append(text, bytes, "%s%.60s", at->parent->parent ? "." : "", at->name);
    else
        append(text, bytes, "[%d]", at->index);
}

kd_status json_fail(const json_place *at, const char *format, ...) {
    char place[512], message[512], position[64] = "";
    const json_place *file = at;
    va_list arguments;
    while (file->parent) file = file->parent;
    append_position(position, sizeof position, file, at);
    json_place_text(place, sizeof place, at);
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    KD_FAIL(KD_ERROR_INPUT, "%s%s: %s%s%s", file->name, position, place, *place ? ": " : "",
            message);
}

static void describe_found(char *text, size_t bytes, const cJSON *json) {
    if (cJSON_IsString(json))
        snprintf(text, bytes, "\"%.60s\"", json->valuestring);
    else if (cJSON_IsNumber(json))
        snprintf(text, bytes, "%.9g", json->valuedouble);
    else if (cJSON_IsArray(json))
        snprintf(text, bytes, "a list of %d", cJSON_GetArraySize(json));
    else
        snprintf(text, bytes, "%s",
                 cJSON_IsObject(json)  ? "an object"
                 : cJSON_IsTrue(json)  ? "true"
                 : cJSON_IsFalse(json) ? "false"
                                       : "null");
}

kd_status json_unexpected(const json_place *at, const cJSON *json, const char *expected) {
    char text[TEXT_BYTES];
    describe_found(text, sizeof text, json);
    return json_fail(at, "found %s, expected %s", text, expected);
}

/* --- descriptions of rows --------------------------------------------------------------------- */

static void append_range(char *text, size_t bytes, const json_key *row) {
    const char *above = row->open ? "> " : ">= ", *below = row->open ? "< " : "<= ";
    const bool bounded = row->minimum != 0 || row->maximum != 0;
    if (!bounded) return;
    append(text, bytes, " %s%.9g", above, row->minimum);
    if (isfinite(row->maximum)) append(text, bytes, " and %s%.9g", below, row->maximum);
}

static void append_numbers(char *text, size_t bytes, const json_key *row, const char *noun) {
    if (row->count > 1)
        append(text, bytes, "a list of %d %ss", row->count, noun);
    else
        append(text, bytes, "%s %s", noun[0] == 'i' ? "an" : "a", noun);
    append_range(text, bytes, row);
}

static void append_choices(char *text, size_t bytes, const char *choices) {
    for (const char *at = choices; *at;) {
        const size_t length = strcspn(at, "|");
        append(text, bytes, "%s\"%.*s\"",
               at == choices ? ""
               : at[length]  ? ", "
                             : " or ",
               (int)length, at);
        at += length + (at[length] == '|');
    }
}

void json_describe(char *text, size_t bytes, const json_key *row) {
    text[0] = '\0';
    switch (row->kind) {
    case JSON_FLOAT:
    case JSON_DOUBLE:
        append_numbers(text, bytes, row, "number");
        if (row->automatic) append(text, bytes, ", or \"%s\"", row->automatic);
        break;
    case JSON_INT:
    case JSON_COUNT: append_numbers(text, bytes, row, "integer"); break;
    case JSON_BOOL: append(text, bytes, "true or false"); break;
    case JSON_COLOUR:
        append(text, bytes, "%s", row->expected ? row->expected : "a number or [r, g, b]");
        append_range(text, bytes, row);
        break;
    case JSON_VECTOR:
    case JSON_POINT:
        append(text, bytes, "[x, y, z]");
        append_range(text, bytes, row);
        break;
    case JSON_REMARK:
    case JSON_TEXT: append(text, bytes, "a string"); break;
    case JSON_NAME:
    case JSON_CHOICE:
        if (row->choices)
            append_choices(text, bytes, row->choices);
        else
            append(text, bytes, "a string of at most %zu characters", row->bytes - 1);
        break;
    case JSON_OBJECT: append(text, bytes, "an object"); break;
    case JSON_LIST: append(text, bytes, "a list of objects"); break;
    case JSON_MAP: append(text, bytes, "an object of names"); break;
    case JSON_VALUE: append(text, bytes, "%s", row->expected); break;
    }
}

static kd_status unfit(const json_place *at, const cJSON *json, const json_key *row) {
    char expected[TEXT_BYTES];
    json_describe(expected, sizeof expected, row);
    return json_unexpected(at, json, expected);
}

/* --- values ----------------------------------------------------------------------------------- */

static bool number_fits(const json_key *row, const cJSON *item) {
    if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble)) return false;
    const double value = item->valuedouble;
    const double largest = row->kind == JSON_DOUBLE  ? DBL_MAX
                           : row->kind == JSON_INT   ? 2147483647.0
                           : row->kind == JSON_COUNT ? 0x1p53
                                                     : (double)FLT_MAX;
    if (fabs(value) > largest) return false;
    if (row->kind == JSON_INT || row->kind == JSON_COUNT)
        if (value != floor(value)) return false;
    if (row->kind == JSON_COUNT && value < 0) return false;
    if (row->minimum == 0 && row->maximum == 0) return true;
    return row->open ? value > row->minimum && value < row->maximum
                     : value >= row->minimum && value <= row->maximum;
}

static void store_number(const json_key *row, void *field, int index, double value) {
    switch (row->kind) {
    case JSON_DOUBLE: ((double *)field)[index] = value; break;
    case JSON_INT: ((int32_t *)field)[index] = (int32_t)value; break;
    case JSON_COUNT: ((uint64_t *)field)[index] = (uint64_t)value; break;
    default: ((float *)field)[index] = (float)value; break;
    }
}

static kd_status read_numbers(const json_place *at, const cJSON *item, const json_key *row,
                              void *field) {
    const bool triple =
        row->kind == JSON_COLOUR || row->kind == JSON_VECTOR || row->kind == JSON_POINT;
    const int count = triple ? 3 : row->count > 1 ? row->count : 1;
    if (count == 1 || (row->kind == JSON_COLOUR && cJSON_IsNumber(item))) {
        if (row->automatic && cJSON_IsString(item) &&
            strcmp(item->valuestring, row->automatic) == 0) {
            store_number(row, field, 0, (double)NAN);
            return KD_OK;
        }
        if (!number_fits(row, item)) return unfit(at, item, row);
        for (int i = 0; i < count; ++i) store_number(row, field, i, item->valuedouble);
        return KD_OK;
    }
    if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != count) return unfit(at, item, row);
    int index = 0;
    const cJSON *each = NULL;
    cJSON_ArrayForEach(each, item) {
        const json_place place = json_place_item(at, index);
        json_key one = *row;
        one.count = 1;
        if (triple) one.kind = JSON_FLOAT;
        if (!number_fits(&one, each)) return unfit(&place, each, &one);
        if (row->kind == JSON_POINT) one.kind = JSON_DOUBLE;
        store_number(&one, field, index++, each->valuedouble);
    }
    return KD_OK;
}

/* Returns the index of `name` in "a|b|c", or -1; *best then points to the most similar choice,
   stored in `near`, or is NULL. */
static int choice_number(const char *choices, const char *name, char near[32], const char **best) {
    int number = 0;
    *best = NULL;
    for (const char *at = choices;; ++number) {
        char choice[32];
        const size_t length = strcspn(at, "|");
        snprintf(choice, sizeof choice, "%.*s", (int)length, at);
        if (strcmp(name, choice) == 0) return number;
        const char *nearest = *best;
        nearest_consider(&nearest, name, choice);
        if (nearest == choice) *best = (const char *)memcpy(near, choice, sizeof choice);
        if (!at[length]) return -1;
        at += length + 1;
    }
}

static kd_status read_name(const json_place *at, const cJSON *item, const json_key *row,
                           void *field) {
    if (!cJSON_IsString(item)) return unfit(at, item, row);
    char near[32], expected[TEXT_BYTES];
    const char *best = NULL;
    const int number =
        row->choices ? choice_number(row->choices, item->valuestring, near, &best) : 0;
    const char *replaced = row->replaced ? row->replaced(item->valuestring) : NULL;
    if (replaced)
        return json_fail(at, "\"%s\" no longer exists: use %s", item->valuestring, replaced);
    json_describe(expected, sizeof expected, row);
    if (best) append(expected, sizeof expected, "; did you mean \"%s\"?", best);
    if (number < 0) return json_unexpected(at, item, expected);
    if (row->kind == JSON_CHOICE) {
        memcpy(field, &number, sizeof(int32_t));
        return KD_OK;
    }
    const size_t length = strlen(item->valuestring);
    if (length == 0 || length >= row->bytes) return unfit(at, item, row);
    memset(field, 0, row->bytes);
    memcpy(field, item->valuestring, length);
    return KD_OK;
}

kd_status json_read_value(const json_place *at, const cJSON *item, const json_key *row,
                          void *field) {
    switch (row->kind) {
    case JSON_REMARK: return cJSON_IsString(item) ? KD_OK : unfit(at, item, row);
    case JSON_BOOL:
        if (!cJSON_IsBool(item)) return unfit(at, item, row);
        *(bool *)field = cJSON_IsTrue(item) != 0;
        return KD_OK;
    case JSON_TEXT:
        if (!cJSON_IsString(item)) return unfit(at, item, row);
        *(const char **)field = item->valuestring;
        return KD_OK;
    case JSON_NAME:
    case JSON_CHOICE: return read_name(at, item, row, field);
    case JSON_OBJECT:
    case JSON_MAP:
        if (!cJSON_IsObject(item)) return unfit(at, item, row);
        *(const cJSON **)field = item;
        return KD_OK;
    case JSON_LIST:
        if (!cJSON_IsArray(item)) return unfit(at, item, row);
        *(const cJSON **)field = item;
        return KD_OK;
    case JSON_VALUE: *(const cJSON **)field = item; return KD_OK;
    default: return read_numbers(at, item, row, field);
    }
}

static kd_status unknown_key(const json_place *at, const json_key *keys) {
    const char *best = NULL;
    for (const json_key *row = keys; row->name; ++row) nearest_consider(&best, at->name, row->name);
    if (best) return json_fail(at, "unknown key, did you mean \"%s\"?", best);
    char list[TEXT_BYTES] = "";
    for (const json_key *row = keys; row->name; ++row)
        append(list, sizeof list, "%s%s", row == keys ? "" : ", ", row->name);
    return json_fail(at, "unknown key, expected one of %s", list);
}

kd_status json_read(const json_place *at, const cJSON *object, const json_key *keys, void *target) {
    if (!cJSON_IsObject(object)) return json_unexpected(at, object, "an object");
    uint64_t seen = 0;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, object) {
        const json_place place = json_place_key(at, item->string);
        const json_key *row = keys;
        while (row->name && strcmp(row->name, item->string) != 0) ++row;
        if (!row->name) return unknown_key(&place, keys);
        assert(row - keys < 64);
        const uint64_t bit = (uint64_t)1 << (row - keys);
        if (seen & bit) return json_fail(&place, "given twice");
        seen |= bit;
        KD_TRY(json_read_value(&place, item, row, (char *)target + row->offset));
    }
    return KD_OK;
}

bool json_has(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key) != NULL;
}

/* --- syntax ----------------------------------------------------------------------------------- */

/* Returns the null character in the text, written out or as \u0000, at which a string in C would
   end early and name something else; NULL without one. */
static const char *find_null(const char *text, size_t bytes) {
    const char *end = text + bytes, *null = (const char *)memchr(text, 0, bytes);
    for (const char *at = text; (at = (const char *)memchr(at, '\\', (size_t)(end - at)));
         at += 2) {
        if (null && null < at) break;
        if (end - at < 6) break;
        if (strncmp(at, "\\u0000", 6) == 0) return at;
    }
    return null;
}

static size_t line_of(const char *text, size_t offset) {
    size_t line = 1;
    for (size_t i = 0; i < offset; ++i) line += text[i] == '\n';
    return line;
}

kd_status json_parse(cJSON **out, const char *text, size_t bytes, const char *file) {
    char *copy = NULL; /* null-terminated, because the parser reads one byte ahead */
    const char *end = NULL;
    *out = NULL;
    KD_TRY(file_content_refuse(text, bytes, file, "JSON"));
    while (bytes > 0 && text[bytes - 1] == '\0') --bytes; /* padding */
    const char *null = find_null(text, bytes);
    KD_REQUIRE(!null, KD_ERROR_INPUT, "%s:%zu: found a null character, which no text may have",
               file, line_of(text, (size_t)(null - text)));
    KD_TRY(KD_RESERVE(copy, bytes + 1));
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    const uint64_t shortages = memory_shortages();
    *out = cJSON_ParseWithLengthOpts(copy, bytes + 1, &end, 1);
    if (*out) {
        memory_free(copy);
        return KD_OK;
    }
    if (memory_shortages() != shortages) {
        memory_free(copy);
        KD_FAIL(KD_ERROR_MEMORY, "%s: out of memory for its %zu bytes of JSON", file, bytes);
    }
    size_t stopped = end ? (size_t)(end - copy) : bytes;
    const char *expected = json_find_error(copy, bytes, &stopped);
    char near[32] = "the end of the file", position[48];
    size_t length = stopped < bytes ? strcspn(copy + stopped, "\r\n") : 0;
    if (length > 20) length = 20;
    if (length)
        snprintf(near, sizeof near, "\"%.*s\"", (int)length, copy + stopped);
    else if (stopped < bytes)
        snprintf(near, sizeof near, "the end of the line");
    json_position_text(position, sizeof position, copy, stopped < bytes ? stopped : bytes);
    memory_free(copy);
    KD_FAIL(KD_ERROR_INPUT, "%s:%s: invalid JSON: found %s, expected %s", file, position, near,
            expected ? expected : "a valid value");
}
