/* The name that somebody probably meant: for "unknown option", "unknown key" and the like. */
#ifndef KD_CORE_SPELLING_H
#define KD_CORE_SPELLING_H
#ifdef __cplusplus
extern "C" {
#endif

/* Edits (insert, delete, replace, swap of neighbours; case does not count) from `a` to `b`. */
int nearest_distance(const char *a, const char *b);

/* Call for each candidate in turn, *best = NULL before the first: keeps the closest to `given` that
   is close enough to be a slip of the fingers. The first of equals wins. */
void nearest_consider(const char **best, const char *given, const char *candidate);

#ifdef __cplusplus
}
#endif
#endif
