#include "core/files/companion.h"
#include <stdio.h>
#include <string.h>

static bool beside(const companion *wanted, char object[PLACE_BYTES], char found[PLACE_BYTES]) {
    char *slash = strrchr(object, '/');
    if (!slash) return false;
    slash[1] = '\0';
    for (int i = 0; i < wanted->place_count; ++i) {
        const int length =
            snprintf(found, PLACE_BYTES, "%s%s%s", object, wanted->places[i], wanted->name);
        if (length < PLACE_BYTES && place_allows(found, wanted->use)) return true;
    }
    return false;
}

bool companion_find(const companion *wanted, char found[PLACE_BYTES]) {
    char object[PLACE_BYTES];
    const char *said = place_variable(wanted->variable);
    if (said && *said) return snprintf(found, PLACE_BYTES, "%s", said) < PLACE_BYTES;
    if (place_of_library(object) && beside(wanted, object, found)) return true;
    return place_of_program(object) && beside(wanted, object, found);
}
