/* A file that is open for writing here can be opened by nobody else: that is its lock. It may be
   renamed while it is open. */
#include "core/system/temporary.h"
#include "core/windows/windows_names.h"
#include <fcntl.h>
#include <io.h>
#include <stddef.h>
#include <stdint.h>

static int descriptor_of(const char *path, DWORD how, DWORD share) {
    wchar_t name[PLACE_BYTES];
    if (!wide_from(name, path)) return -1;
    const HANDLE file = CreateFileW(name, GENERIC_WRITE | DELETE, share, NULL, how, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        errno_from_system();
        return -1;
    }
    const int descriptor = _open_osfhandle((intptr_t)file, _O_BINARY);
    if (descriptor < 0) CloseHandle(file);
    return descriptor;
}

int temporary_take(const char *name, bool existing_only) {
    return descriptor_of(name, existing_only ? OPEN_EXISTING : OPEN_ALWAYS, FILE_SHARE_DELETE);
}

bool temporary_is_there(const char *name) {
    return place_allows(name, PLACE_EXISTS);
}

int temporary_hold(int descriptor) {
    return _dup(descriptor);
}

int temporary_sync(int descriptor) {
    return _commit(descriptor);
}

int temporary_rename(const char *name, const char *to) {
    wchar_t from[PLACE_BYTES], wanted[PLACE_BYTES];
    if (!wide_from(from, name) || !wide_from(wanted, to)) return -1;
    if (MoveFileExW(from, wanted, MOVEFILE_REPLACE_EXISTING)) return 0;
    errno_from_system();
    return -1;
}

int temporary_direct(const char *path) {
    const int descriptor = _open(path, _O_WRONLY | _O_BINARY); /* NUL, a pipe */
    return descriptor;
}

char *temporary_target(const char *path) {
    (void)path; /* links need rights that programs seldom have */
    return NULL;
}
