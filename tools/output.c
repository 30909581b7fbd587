#include "tools/output.h"
#include "core/file.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void output_name(char *out, size_t bytes, const char *path, const char *suffix) {
    const char *slash = strrchr(path, '/');
    const char *name = slash && slash[1] ? slash + 1 : path;
    const int length = (int)(file_suffix(name) - name);
    snprintf(out, bytes, "%.*s", length ? length : (int)strlen(name), name);
    if (strlen(out) + strlen(suffix) >= bytes) out[bytes - 1 - strlen(suffix)] = '\0';
    for (char *c = out; *c; ++c)
        if (*c == ':' || *c == '/' || *c == '\\') *c = '-';
    strcat(out, suffix);
}

kd_status output_check(const char *path) {
    struct stat info;
    KD_REQUIRE(path[0], KD_ERROR_USAGE, "an output needs a name");
    KD_REQUIRE(stat(path, &info) != 0 || !S_ISDIR(info.st_mode), KD_ERROR_RUNTIME,
               "%s: cannot write: it is a folder", path);
    char folder[4096];
    const char *slash = strrchr(path, '/');
    const int length = slash == path ? 1 : slash ? (int)(slash - path) : 0;
    KD_REQUIRE(length < (int)sizeof folder, KD_ERROR_USAGE, "%.60s...: the path is too long", path);
    snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? path : ".");
    KD_REQUIRE(access(folder, W_OK | X_OK) == 0, KD_ERROR_RUNTIME, "%s: cannot write: %s", path,
               strerror(errno));
    return KD_OK;
}
