#include "core/files/companion.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool beside(const companion *wanted, const char *object, char found[PATH_MAX]) {
    char real[PATH_MAX];
    if (!realpath(object, real)) return false;
    char *slash = strrchr(real, '/');
    if (!slash) return false;
    slash[1] = '\0';
    for (int i = 0; i < wanted->place_count; ++i) {
        const int length =
            snprintf(found, PATH_MAX, "%s%s%s", real, wanted->places[i], wanted->name);
        if (length < PATH_MAX && access(found, wanted->mode) == 0) return true;
    }
    return false;
}

bool companion_find(const companion *wanted, char found[PATH_MAX]) {
    static const char here = 0;
    Dl_info info;
    const char *said = secure_getenv(wanted->variable);
    if (said && *said) return snprintf(found, PATH_MAX, "%s", said) < PATH_MAX;
    if (dladdr(&here, &info) && info.dli_fname && beside(wanted, info.dli_fname, found))
        return true;
    return beside(wanted, "/proc/self/exe", found);
}
