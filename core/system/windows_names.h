/* Conversion of file names between UTF-8, used by Kandela, and UTF-16, used by Windows. */
#ifndef KD_CORE_SYSTEM_WINDOWS_NAMES_H
#define KD_CORE_SYSTEM_WINDOWS_NAMES_H
#include "core/system/paths.h"
#include <errno.h>
#include <windows.h>

/* Converts to UTF-16. Returns false with ENAMETOOLONG if the name does not fit. */
static inline bool wide_from(wchar_t out[PLACE_BYTES], const char *name) {
    const bool fits = MultiByteToWideChar(CP_UTF8, 0, name, -1, out, PLACE_BYTES) > 0;
    if (!fits) errno = ENAMETOOLONG;
    return fits;
}

/* Converts to UTF-8 with '/' separators. Also removes the prefix of final path names: \\?\C:\... is
   C:\..., and \\?\UNC\server\share\... is \\server\share\... */
static inline bool name_from(char out[PLACE_BYTES], const wchar_t *wide) {
    const bool of_network = wcsncmp(wide, L"\\\\?\\UNC\\", 8) == 0;
    if (of_network)
        wide += 7;
    else if (wcsncmp(wide, L"\\\\?\\", 4) == 0)
        wide += 4;
    if (of_network) *out++ = '/';
    if (WideCharToMultiByte(CP_UTF8, 0, wide, -1, out, PLACE_BYTES - of_network, NULL, NULL) <= 0)
        return false;
    for (char *at = out; *at; ++at)
        if (*at == '\\') *at = '/';
    return true;
}

/* Sets errno to the POSIX equivalent of GetLastError(). */
static inline void errno_from_system(void) {
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME: errno = ENOENT; break;
    case ERROR_ACCESS_DENIED: errno = EACCES; break;
    case ERROR_SHARING_VIOLATION: errno = EWOULDBLOCK; break;
    case ERROR_NOT_ENOUGH_MEMORY: errno = ENOMEM; break;
    case ERROR_DISK_FULL: errno = ENOSPC; break;
    default: errno = EIO; break;
    }
}

#endif
