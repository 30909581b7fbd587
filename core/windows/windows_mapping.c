#include "core/system/mapping.h"
#include "core/windows/windows_names.h"

static HANDLE open_to(const char *path, DWORD access, DWORD flags) {
    wchar_t name[PLACE_BYTES];
    if (!wide_from(name, path)) return INVALID_HANDLE_VALUE;
    const DWORD share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    const HANDLE opened = CreateFileW(name, access, share, NULL, OPEN_EXISTING, flags, NULL);
    if (opened == INVALID_HANDLE_VALUE) errno_from_system();
    return opened;
}

static file_kind kind_of(file_identity *out, uint64_t *bytes, HANDLE file) {
    BY_HANDLE_FILE_INFORMATION said;
    if (GetFileType(file) != FILE_TYPE_DISK || !GetFileInformationByHandle(file, &said))
        return FILE_OTHER;
    out->device = said.dwVolumeSerialNumber;
    out->number = (uint64_t)said.nFileIndexHigh << 32 | said.nFileIndexLow;
    *bytes = (uint64_t)said.nFileSizeHigh << 32 | said.nFileSizeLow;
    return said.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? FILE_FOLDER : FILE_REGULAR;
}

file_kind file_identify(file_identity *out, const char *path) {
    file_identity found = {0, 0};
    uint64_t bytes = 0;
    const HANDLE file = open_to(path, 0, FILE_FLAG_BACKUP_SEMANTICS); /* folders, too */
    if (file == INVALID_HANDLE_VALUE) return FILE_ABSENT;
    const file_kind kind = kind_of(&found, &bytes, file);
    CloseHandle(file);
    if (out) *out = found;
    return kind;
}

mapping_end mapping_open(void **mapping, uint64_t *bytes, file_identity *which, const char *path) {
    *mapping = NULL;
    const HANDLE file = open_to(path, GENERIC_READ, FILE_FLAG_BACKUP_SEMANTICS);
    if (file == INVALID_HANDLE_VALUE) return MAPPING_CANNOT_OPEN;
    mapping_end end = MAPPING_MADE;
    if (kind_of(which, bytes, file) != FILE_REGULAR) end = MAPPING_NOT_REGULAR;
    if (end == MAPPING_MADE && *bytes > 0) {
        const HANDLE object = CreateFileMappingW(file, NULL, PAGE_READONLY, 0, 0, NULL);
        if (object) {
            *mapping = MapViewOfFile(object, FILE_MAP_READ, 0, 0, 0);
            CloseHandle(object); /* the view keeps it */
        }
        if (!*mapping) {
            errno_from_system();
            end = MAPPING_FAILED;
        }
    }
    CloseHandle(file);
    return end;
}

void mapping_close(void *mapping, uint64_t bytes) {
    (void)bytes;
    if (mapping) UnmapViewOfFile(mapping);
}
