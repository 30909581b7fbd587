/* File operations on Windows. A file open for writing here cannot be opened by another process,
   which serves as the lock of a temporary file. The file may be renamed while it is open. */
#include "core/system/files.h"
#include "core/system/windows_names.h"
#include <fcntl.h>
#include <io.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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
    file_identity identity = {0, 0};
    uint64_t bytes = 0;
    const HANDLE file = open_to(path, 0, FILE_FLAG_BACKUP_SEMANTICS); /* required for directories */
    if (file == INVALID_HANDLE_VALUE) return FILE_ABSENT;
    const file_kind kind = kind_of(&identity, &bytes, file);
    CloseHandle(file);
    if (out) *out = identity;
    return kind;
}

void folder_visit(const char *path, void (*seen)(void *context, const char *name), void *context) {
    char pattern[PLACE_BYTES], name[PLACE_BYTES];
    wchar_t wide[PLACE_BYTES];
    WIN32_FIND_DATAW entry;
    if (snprintf(pattern, sizeof pattern, "%s/*", path) >= (int)sizeof pattern) return;
    if (!wide_from(wide, pattern)) return;
    const HANDLE found = FindFirstFileW(wide, &entry);
    if (found == INVALID_HANDLE_VALUE) return;
    do {
        if (name_from(name, entry.cFileName)) seen(context, name);
    } while (FindNextFileW(found, &entry));
    FindClose(found);
}

mapping_end mapping_find(mapping_source *out, const char *path) {
    const HANDLE file = open_to(path, GENERIC_READ, FILE_FLAG_BACKUP_SEMANTICS);
    if (file == INVALID_HANDLE_VALUE) return MAPPING_CANNOT_OPEN;
    memset(out, 0, sizeof *out);
    if (kind_of(&out->identity, &out->bytes, file) != FILE_REGULAR) {
        CloseHandle(file);
        return MAPPING_NOT_REGULAR;
    }
    out->file = (intptr_t)file;
    return MAPPING_MADE;
}

/* Maps the file: Windows refuses to truncate a mapped file, so the mapping is safe and mapping_read
   has nothing to do. */
mapping_end mapping_reserve(void **memory, const mapping_source *source) {
    *memory = NULL;
    if (source->bytes == 0) return MAPPING_MADE;
    const HANDLE object =
        CreateFileMappingW((HANDLE)source->file, NULL, PAGE_WRITECOPY, 0, 0, NULL);
    if (object) {
        *memory = MapViewOfFile(object, FILE_MAP_COPY, 0, 0, 0);
        CloseHandle(object); /* the view keeps the object alive */
    }
    if (*memory) return MAPPING_MADE;
    errno_from_system();
    return MAPPING_FAILED;
}

bool mapping_read(void *memory, const mapping_source *source, uint64_t begin, uint64_t count) {
    (void)memory;
    errno = 0;
    return begin + count <= source->bytes;
}

bool mapping_is_unchanged(const mapping_source *source) {
    file_identity which;
    uint64_t bytes = 0;
    return kind_of(&which, &bytes, (HANDLE)source->file) == FILE_REGULAR && bytes == source->bytes;
}

void mapping_drop(mapping_source *owned) {
    CloseHandle((HANDLE)owned->file);
    owned->file = -1;
}

void mapping_close(void *memory, uint64_t bytes) {
    (void)bytes;
    if (memory) UnmapViewOfFile(memory);
}

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

bool temporary_exists(const char *name) {
    return place_allows(name, PLACE_EXISTS);
}

int temporary_hold(int descriptor) {
    return _dup(descriptor);
}

int temporary_sync(int descriptor) {
    return _commit(descriptor);
}

int temporary_rename(const char *name, const char *to) {
    wchar_t from[PLACE_BYTES], target[PLACE_BYTES];
    if (!wide_from(from, name) || !wide_from(target, to)) return -1;
    if (MoveFileExW(from, target, MOVEFILE_REPLACE_EXISTING)) return 0;
    errno_from_system();
    return -1;
}

int temporary_direct(const char *path) {
    const int descriptor = _open(path, _O_WRONLY | _O_BINARY); /* such as NUL or a pipe */
    return descriptor;
}

int stdout_take(void) {
    fflush(stdout);
    const int taken = _dup(1);
    if (taken < 0 || _dup2(2, 1) != 0) return -1;
    _setmode(taken, _O_BINARY);
    return taken;
}

bool stdout_is_terminal(void) {
    return _isatty(1) != 0;
}

char *temporary_target(const char *path) {
    (void)path; /* creating symbolic links needs a privilege that programs rarely have */
    return NULL;
}

bool text_stream_open(text_stream *out) {
    out->text = NULL;
    out->count = 0;
    out->stream = tmpfile();
    return out->stream != NULL;
}

bool text_stream_end(text_stream *stream) {
    const bool failed = ferror(stream->stream) != 0 || fflush(stream->stream) != 0;
    const long bytes = failed ? -1 : ftell(stream->stream);
    if (bytes >= 0) stream->text = (char *)malloc((size_t)bytes + 1);
    rewind(stream->stream);
    if (stream->text) {
        stream->count = fread(stream->text, 1, (size_t)bytes, stream->stream);
        stream->text[stream->count] = '\0';
    }
    fclose(stream->stream);
    stream->stream = NULL;
    const bool whole = stream->text && stream->count == (size_t)bytes;
    if (whole) return true;
    free(stream->text);
    stream->text = NULL;
    return false;
}
