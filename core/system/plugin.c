#include "core/system/plugin.h"
#include <dlfcn.h>
#include <glob.h>
#include <stddef.h>

void *plugin_open(const char *path, bool global) {
    return dlopen(path, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
}

void *plugin_symbol(void *plugin, const char *name) {
    return dlsym(plugin, name);
}

void plugin_close(void *plugin) {
    dlclose(plugin);
}

const char *plugin_reason(void) {
    const char *said = dlerror();
    return said ? said : "no reason given";
}

bool plugin_try_each(const char *pattern, bool (*take)(const char *path)) {
    glob_t found;
    bool taken = false;
    if (glob(pattern, 0, NULL, &found) != 0) return false;
    for (size_t i = 0; i < found.gl_pathc && !taken; ++i) taken = take(found.gl_pathv[i]);
    globfree(&found);
    return taken;
}
