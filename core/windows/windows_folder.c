#include "core/system/folder.h"
#include "core/windows/windows_names.h"

void folder_each(const char *folder, void (*see)(void *context, const char *name), void *context) {
    wchar_t pattern[PLACE_BYTES + 2];
    char name[PLACE_BYTES];
    WIN32_FIND_DATAW entry;
    if (!wide_from(pattern, folder)) return;
    wcscat(pattern, L"/*");
    const HANDLE open = FindFirstFileW(pattern, &entry);
    if (open == INVALID_HANDLE_VALUE) return;
    do {
        if (name_from(name, entry.cFileName)) see(context, name);
    } while (FindNextFileW(open, &entry));
    FindClose(open);
}
