/* Names that a caller gives: "auto", the word of all options and public structs for "choose for
   me", and the name that was probably meant, for messages as "unknown option". */
#ifndef KD_CORE_NAMES_H
#define KD_CORE_NAMES_H
#include <stdbool.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "auto", or nothing at all: NULL, "". */
static inline bool name_is_auto(const char *name) {
    return !name || !*name || strcmp(name, "auto") == 0;
}

/* Edits (insert, delete, replace, swap of neighbours; case does not count) from `a` to `b`. */
int nearest_distance(const char *a, const char *b);

/* Call for each candidate in turn, *best = NULL before the first: keeps the closest to `given` that
   is close enough to be a slip of the fingers. The first of equals wins. */
void nearest_consider(const char **best, const char *given, const char *candidate);

#ifdef __cplusplus
}
#endif

#endif
