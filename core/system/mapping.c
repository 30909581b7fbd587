#include "core/system/mapping.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static file_identity identity_of(const struct stat *info) {
    return (file_identity){(uint64_t)info->st_dev, (uint64_t)info->st_ino};
}

file_kind file_identify(file_identity *out, const char *path) {
    struct stat info;
    if (stat(path, &info) != 0) return FILE_ABSENT;
    if (out) *out = identity_of(&info);
    if (S_ISDIR(info.st_mode)) return FILE_FOLDER;
    return S_ISREG(info.st_mode) ? FILE_REGULAR : FILE_OTHER;
}

mapping_end mapping_open(void **mapping, uint64_t *bytes, file_identity *which, const char *path) {
    *mapping = NULL;
    /* O_NONBLOCK: a pipe without a writer would be waited for before it can be refused */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return MAPPING_CANNOT_OPEN;
    struct stat info;
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(descriptor);
        return MAPPING_NOT_REGULAR;
    }
    *which = identity_of(&info);
    *bytes = (uint64_t)info.st_size;
    if (*bytes > 0) *mapping = mmap(NULL, (size_t)*bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    const int reason = errno;
    close(descriptor);
    if (*mapping != MAP_FAILED) return MAPPING_MADE;
    *mapping = NULL;
    errno = reason;
    return MAPPING_FAILED;
}

void mapping_close(void *mapping, uint64_t bytes) {
    if (mapping) munmap(mapping, (size_t)bytes);
}
