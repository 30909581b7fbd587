#include "core/files/file.h"
#include "core/files/file_parcel.h"
#include "core/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void (*witness)(const char *path, const struct stat *info);

void file_set_witness(void (*seen)(const char *path, const struct stat *info)) {
    witness = seen;
}

kd_status file_open(file_view *view, const char *path) {
    memset(view, 0, sizeof *view);
    view->bytes = "";
    if (file_parcel_find(path, &view->bytes, &view->count))
        return KD_OK; /* no mapping of its own */
    /* O_NONBLOCK: a pipe without a writer would be waited for before it can be refused */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    KD_REQUIRE(descriptor >= 0, KD_ERROR_INPUT, "%s: cannot open: %s", path, strerror(errno));
    struct stat info;
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(descriptor);
        KD_FAIL(KD_ERROR_INPUT, "%s: not a regular file", path);
    }
    if (witness) witness(path, &info);
    file_parcel_note(path);
    if (info.st_size > 0) {
        void *mapping = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        const int reason = errno;
        close(descriptor);
        KD_REQUIRE(mapping != MAP_FAILED, KD_ERROR_INPUT, "%s: cannot read: %s", path,
                   strerror(reason));
        view->mapping = mapping;
        view->bytes = (const char *)mapping;
        view->count = (size_t)info.st_size;
    } else {
        close(descriptor);
    }
    return KD_OK;
}

bool file_is_there(const char *path) {
    const char *bytes;
    size_t count;
    struct stat info;
    if (file_parcel_find(path, &bytes, &count)) return true;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

void file_release(const char *begin, size_t count) {
    if (file_parcel_holds(begin)) return; /* nobody could read it again */
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = ((uintptr_t)begin + page - 1) / page * page;
    const uintptr_t last = ((uintptr_t)begin + count) / page * page;
    if (last > first) madvise((void *)first, last - first, MADV_DONTNEED);
}

void file_close(file_view *view) {
    if (view->mapping) munmap(view->mapping, view->count);
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
