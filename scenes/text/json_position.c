#include "scenes/text/json_position.h"
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 1000 /* that of cJSON */, STEPS_MAX = 64 };

typedef struct scanner {
    const char *at, *end;
    const char *expected; /* token expected at `at`, after an error */
    int depth;
} scanner;

static bool refuse(scanner *scan, const char *at, const char *expected) {
    scan->at = at;
    scan->expected = expected;
    return false;
}

/* Returns the next character that is not white space; 0 at the end. */
static char next(scanner *scan) {
    while (scan->at < scan->end && (unsigned char)*scan->at <= ' ') ++scan->at;
    return scan->at < scan->end ? *scan->at : '\0';
}

static bool skip_string(scanner *scan) {
    const char *begin = scan->at++;
    while (scan->at < scan->end && *scan->at != '"') {
        if (*scan->at == '\n')
            return refuse(scan, begin, "a closing double quote in the same line");
        if (*scan->at == '\\') {
            const char *letter = scan->at + 1;
            if (letter == scan->end || !*letter || !strchr("\"\\/bfnrtu", *letter))
                return refuse(scan, scan->at, "an escape such as \\n; a backslash is written \\\\");
            ++scan->at;
        }
        ++scan->at;
    }
    if (scan->at == scan->end) return refuse(scan, begin, "a closing double quote");
    ++scan->at;
    return true;
}

static bool skip_word(scanner *scan, const char *word) {
    const size_t length = strlen(word);
    if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, word, length) != 0)
        return false;
    scan->at += length;
    return true;
}

static bool skip_scalar(scanner *scan) {
    const char first = next(scan);
    if (first == '"') return skip_string(scan);
    if (first == '\'') return refuse(scan, scan->at, "double quotes");
    if (first == '/' || first == '#')
        return refuse(scan, scan->at, "a value; JSON has no comments, use the key \"about\"");
    if (first == '-' || (first >= '0' && first <= '9')) {
        while (scan->at < scan->end && *scan->at && strchr("+-.eE0123456789", *scan->at))
            ++scan->at;
        return true;
    }
    if (skip_word(scan, "true") || skip_word(scan, "false") || skip_word(scan, "null")) return true;
    return refuse(scan, scan->at,
                  "a number, a text in double quotes, a list, an object, true, false or null");
}

static bool skip_key(scanner *scan) {
    if (next(scan) != '"') return refuse(scan, scan->at, "a key in double quotes");
    if (!skip_string(scan)) return false;
    if (next(scan) != ':') return refuse(scan, scan->at, "a colon after the key");
    ++scan->at;
    return true;
}

static bool skip_value(scanner *scan);

static bool skip_items(scanner *scan, char last) {
    const bool keys = last == '}';
    ++scan->at;
    if (next(scan) == last) {
        ++scan->at;
        return true;
    }
    for (;;) {
        if ((keys && !skip_key(scan)) || !skip_value(scan)) return false;
        const char *end = scan->at;
        const char after = next(scan);
        if (after == last) break;
        if (after != ',')
            return refuse(scan, after ? scan->at : end, keys ? "a comma or }" : "a comma or ]");
        ++scan->at;
        if (next(scan) == last)
            return refuse(scan, scan->at,
                          keys ? "a key after the comma" : "a value after the comma");
    }
    ++scan->at;
    return true;
}

static bool skip_value(scanner *scan) {
    const char first = next(scan);
    if (first != '{' && first != '[') return skip_scalar(scan);
    if (scan->depth == DEPTH_MAX) return refuse(scan, scan->at, "at most 1000 nested levels");
    ++scan->depth;
    const bool done = skip_items(scan, first == '{' ? '}' : ']');
    --scan->depth;
    return done;
}

const char *json_find_error(const char *text, size_t bytes, size_t *offset) {
    scanner scan = {.at = text, .end = text + bytes};
    if (skip_value(&scan) && next(&scan)) refuse(&scan, scan.at, "the end of the file");
    *offset = (size_t)(scan.at - text);
    return scan.expected;
}

/* Moves to a key of the object that begins here; *key is its first byte. */
static bool enter_key(scanner *scan, const char *name, const char **key) {
    const size_t length = strlen(name);
    if (next(scan) != '{') return false;
    do {
        ++scan->at;
        if (next(scan) != '"') return false;
        *key = scan->at;
        if (!skip_key(scan)) return false;
        if ((size_t)(scan->end - *key) > length + 1 && memcmp(*key + 1, name, length) == 0 &&
            (*key)[1 + length] == '"')
            return true;
        if (!skip_value(scan)) return false;
    } while (next(scan) == ',');
    return false;
}

static bool enter_item(scanner *scan, int index, const char **item) {
    if (next(scan) != '[') return false;
    for (int i = 0; i <= index; ++i) {
        ++scan->at;
        next(scan);
        *item = scan->at;
        if (i == index) return true;
        if (!skip_value(scan) || next(scan) != ',') return false;
    }
    return false;
}

bool json_find_place(const char *text, size_t bytes, const json_place *at, size_t *offset) {
    const json_place *steps[STEPS_MAX];
    int count = 0;
    for (; at->parent; at = at->parent) {
        if (count == STEPS_MAX) return false;
        steps[count++] = at;
    }
    scanner scan = {.at = text, .end = text + bytes};
    next(&scan);
    const char *found = scan.at;
    while (count-- > 0) {
        const json_place *step = steps[count];
        const bool entered = step->name ? enter_key(&scan, step->name, &found)
                                        : enter_item(&scan, step->index, &found);
        if (!entered) return false;
    }
    *offset = (size_t)(found - text);
    return true;
}

void json_position_text(char *out, size_t out_bytes, const char *text, size_t offset) {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < offset; ++i) {
        if (text[i] == '\n')
            ++line, column = 1;
        else if (((unsigned char)text[i] & 0xC0) != 0x80) /* not within a character of UTF-8 */
            ++column;
    }
    snprintf(out, out_bytes, "%zu:%zu", line, column);
}
