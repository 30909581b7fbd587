#include "core/system/paths.h"
#include "core/system/windows_names.h"
#include <stdlib.h>

bool place_of_path(char out[PLACE_BYTES], const char *path) {
    wchar_t name[PLACE_BYTES], whole[PLACE_BYTES];
    if (!wide_from(name, path)) return false;
    const HANDLE file = CreateFileW(name, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                    NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (file == INVALID_HANDLE_VALUE) return false;
    const DWORD length = GetFinalPathNameByHandleW(file, whole, PLACE_BYTES, 0);
    CloseHandle(file);
    return length > 0 && length < PLACE_BYTES && name_from(out, whole);
}

bool place_of_link(char out[PLACE_BYTES], const char *path) {
    (void)out;
    (void)path; /* creating symbolic links needs a privilege that programs rarely have */
    return false;
}

static bool of_module(char out[PLACE_BYTES], HMODULE module) {
    wchar_t name[PLACE_BYTES];
    const DWORD length = GetModuleFileNameW(module, name, PLACE_BYTES);
    return length > 0 && length < PLACE_BYTES && name_from(out, name);
}

bool place_of_program(char out[PLACE_BYTES]) {
    return of_module(out, NULL);
}

bool place_of_library(char out[PLACE_BYTES]) {
    static const char anchor = 0;
    HMODULE module = NULL;
    return GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                  GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                              &anchor, &module) &&
           of_module(out, module);
}

bool place_allows(const char *path, place_use use) {
    wchar_t name[PLACE_BYTES];
    if (!wide_from(name, path)) return false;
    const DWORD attributes = GetFileAttributesW(name);
    if (attributes == INVALID_FILE_ATTRIBUTES) {
        errno_from_system();
        return false;
    }
    if (use == PLACE_EXISTS || !(attributes & FILE_ATTRIBUTE_DIRECTORY)) return true;
    errno = EACCES;
    return false;
}

const char *place_variable(const char *name) {
    return getenv(name);
}

bool place_make_folder(const char *path) {
    wchar_t name[PLACE_BYTES];
    if (!wide_from(name, path)) return false;
    if (CreateDirectoryW(name, NULL) || GetLastError() == ERROR_ALREADY_EXISTS) return true;
    errno_from_system();
    return false;
}
