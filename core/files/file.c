#include "core/files/file.h"
#include "core/files/file_parcel.h"
#include "core/memory.h"
#include "core/system/machine.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>

static void (*witness)(const char *path, file_identity which);

void file_set_witness(void (*seen)(const char *path, file_identity which)) {
    witness = seen;
}

kd_status file_open(file_view *view, const char *path) {
    memset(view, 0, sizeof *view);
    view->bytes = "";
    if (file_parcel_find(path, &view->bytes, &view->count))
        return KD_OK; /* no mapping of its own */
    uint64_t bytes = 0;
    file_identity which;
    const mapping_end end = mapping_open(&view->mapping, &bytes, &which, path);
    KD_REQUIRE(end != MAPPING_CANNOT_OPEN, KD_ERROR_INPUT, "%s: cannot open: %s", path,
               strerror(errno));
    KD_REQUIRE(end != MAPPING_NOT_REGULAR, KD_ERROR_INPUT, "%s: not a regular file", path);
    if (end == MAPPING_MADE && witness) witness(path, which);
    if (end == MAPPING_MADE) file_parcel_note(path);
    KD_REQUIRE(end == MAPPING_MADE, KD_ERROR_INPUT, "%s: cannot read: %s", path, strerror(errno));
    if (bytes > 0) {
        view->bytes = (const char *)view->mapping;
        view->count = (size_t)bytes;
    }
    return KD_OK;
}

bool file_is_there(const char *path) {
    const char *bytes;
    size_t count;
    if (file_parcel_find(path, &bytes, &count)) return true;
    return file_identify(NULL, path) == FILE_REGULAR;
}

void file_release(const char *begin, size_t count) {
    if (file_parcel_holds(begin)) return; /* nobody could read it again */
    machine_pages_drop(begin, count);
}

void file_close(file_view *view) {
    mapping_close(view->mapping, view->count);
    memset(view, 0, sizeof *view);
}

char *file_path_beside(const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    const size_t folder =
        slash && name[0] != '/' && name[0] != '\\' ? (size_t)(slash - path) + 1 : 0;
    const size_t length = strlen(name);
    char *joined = NULL;
    if (KD_RESERVE(joined, folder + length + 1) != KD_OK) return NULL;
    memcpy(joined, path, folder);
    for (size_t i = 0; i <= length; ++i) joined[folder + i] = name[i] == '\\' ? '/' : name[i];
    return joined;
}

const char *file_suffix(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    return dot ? dot : path + strlen(path);
}
