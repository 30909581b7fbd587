/* A file that is installed beside this code: a program to start, a plug-in to load. */
#ifndef KD_CORE_FILES_COMPANION_H
#define KD_CORE_FILES_COMPANION_H
#include "core/system/place.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct companion {
    const char *variable; /* of the environment, which names it instead; not in setuid programs */
    const char *name;     /* of the file */
    const char *const *places; /* folders, from the one of this code; each ends with "/" or is "" */
    int place_count;
    place_use use; /* PLACE_READABLE, PLACE_RUNNABLE */
} companion;

/* Writes its path: what the variable says, whether or not it is there; else the first that is there
   beside where this code was loaded from, the shared library or the program; else beside the
   program. False if there is none, or its path is too long. */
bool companion_find(const companion *wanted, char found[PLACE_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
