/* The restricted Damerau-Levenshtein (optimal string alignment) distance, by dynamic programming
   over three rows. */
#include "core/names.h"
#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { NEAREST_LENGTH = 64 };

static int lower(char c) {
    return tolower((unsigned char)c);
}

static int minimum(int a, int b) {
    return a < b ? a : b;
}

int nearest_distance(const char *a, const char *b) {
    const int rows = (int)strnlen(a, NEAREST_LENGTH), columns = (int)strnlen(b, NEAREST_LENGTH);
    int edits[3][NEAREST_LENGTH + 1]; /* row i is stored at i % 3 */
    for (int j = 0; j <= columns; ++j) edits[0][j] = j;
    for (int i = 1; i <= rows; ++i) {
        int *row = edits[i % 3];
        const int *above = edits[(i + 2) % 3], *above_two = edits[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= columns; ++j) {
            const int replaced = above[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            row[j] = minimum(replaced, minimum(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = minimum(row[j], above_two[j - 2] + 1);
        }
    }
    return edits[rows % 3][columns];
}

void nearest_consider(const char **best, const char *word, const char *candidate) {
    const int distance = nearest_distance(word, candidate);
    /* a plausible typing error: one edit, plus one for every three letters */
    if (distance > 1 + (int)strlen(word) / 3 || distance >= (int)strlen(candidate)) return;
    if (!*best || distance < nearest_distance(word, *best)) *best = candidate;
}

/* Returns the size of the UTF-8 character at `at`, 0 if it is invalid. */
static int character_bytes(const unsigned char *at) {
    const int more = at[0] < 0x80                    ? 0
                     : at[0] >= 0xc2 && at[0] < 0xe0 ? 1
                     : (at[0] & 0xf0) == 0xe0        ? 2
                     : at[0] >= 0xf0 && at[0] < 0xf5 ? 3
                                                     : -1;
    for (int i = 1; i <= more; ++i)
        if ((at[i] & 0xc0) != 0x80) return 0;
    return more + 1;
}

void name_make_utf8(char *name) {
    for (char *at = name; *at;) {
        const int bytes = character_bytes((const unsigned char *)at);
        if (bytes == 0) *at = '?';
        at += bytes ? bytes : 1;
    }
}
