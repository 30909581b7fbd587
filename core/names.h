/* The one word of all options and public structs for "choose for me". */
#ifndef KD_CORE_NAMES_H
#define KD_CORE_NAMES_H
#include <stdbool.h>
#include <string.h>

/* "auto", or nothing at all: NULL, "". */
static inline bool name_is_auto(const char *name) {
    return !name || !*name || strcmp(name, "auto") == 0;
}

#endif
