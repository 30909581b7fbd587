#include "core/system/plugin.h"
#include "core/windows/windows_names.h"
#include <stdio.h>
#include <string.h>

void *plugin_open(const char *path, bool global) {
    wchar_t name[PLACE_BYTES];
    (void)global; /* names are found by library here */
    return wide_from(name, path) ? (void *)LoadLibraryW(name) : NULL;
}

void *plugin_symbol(void *plugin, const char *name) {
    const FARPROC found = GetProcAddress((HMODULE)plugin, name);
    void *symbol;
    memcpy(&symbol, &found, sizeof symbol);
    return symbol;
}

void plugin_close(void *plugin) {
    FreeLibrary((HMODULE)plugin);
}

const char *plugin_reason(void) {
    static _Thread_local char said[64];
    snprintf(said, sizeof said, "Windows says %lu", GetLastError());
    return said;
}

bool plugin_try_each(const char *pattern, bool (*take)(const char *path)) {
    (void)pattern;
    (void)take;
    return false;
}
