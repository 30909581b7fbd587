#include "core/system/paths.h"
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

static_assert(PATH_MAX <= PLACE_BYTES, "realpath writes that much");

bool place_of_path(char out[PLACE_BYTES], const char *path) {
    return realpath(path, out) != NULL;
}

bool place_of_link(char out[PLACE_BYTES], const char *path) {
    const ssize_t bytes = readlink(path, out, PLACE_BYTES);
    if (bytes < 0 || bytes == PLACE_BYTES) return false;
    out[bytes] = '\0';
    return true;
}

bool place_of_program(char out[PLACE_BYTES]) {
#ifdef __APPLE__
    char said[PLACE_BYTES];
    uint32_t bytes = sizeof said;
    return _NSGetExecutablePath(said, &bytes) == 0 && place_of_path(out, said);
#else
    return place_of_path(out, "/proc/self/exe");
#endif
}

bool place_of_library(char out[PLACE_BYTES]) {
    static const char anchor = 0;
    Dl_info info;
    return dladdr(&anchor, &info) && info.dli_fname && place_of_path(out, info.dli_fname);
}

bool place_allows(const char *path, place_use use) {
    static const int modes[] = {F_OK, R_OK, X_OK};
    return access(path, modes[use]) == 0;
}

const char *place_variable(const char *name) {
#ifdef __GLIBC__
    return secure_getenv(name);
#else
    return getuid() == geteuid() && getgid() == getegid() ? getenv(name) : NULL;
#endif
}

bool place_make_folder(const char *path) {
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}
