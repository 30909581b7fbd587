/* Names given by a caller: the value "auto" of options and public structs, suggestions ("did you
   mean") for unknown names, and names written as UTF-8. */
#ifndef KD_CORE_NAMES_H
#define KD_CORE_NAMES_H
#include <stdbool.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns true for "auto", NULL and the empty string. */
static inline bool name_is_auto(const char *name) {
    return !name || !*name || strcmp(name, "auto") == 0;
}

/* Returns the number of edits (insertion, deletion, substitution, transposition of neighbours;
   ignoring case) from `a` to `b`. */
int nearest_distance(const char *a, const char *b);

/* Keeps in *best the candidate closest to `word`, if it is close enough to be a typing error.
   Start with *best = NULL and call once per candidate. The first of equally close candidates is
   kept. */
void nearest_consider(const char **best, const char *word, const char *candidate);

/* Replaces each byte of `name` that is not part of a UTF-8 character by a question mark. Names of
   files may have any encoding; JSON requires UTF-8. */
void name_make_utf8(char *name);

#ifdef __cplusplus
}
#endif

#endif
