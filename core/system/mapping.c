#include "core/system/mapping.h"
#include "core/system/machine.h"
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

static void time_of(int64_t *seconds, int64_t *nanoseconds, const struct stat *info) {
#ifdef __APPLE__
    *seconds = info->st_mtimespec.tv_sec;
    *nanoseconds = info->st_mtimespec.tv_nsec;
#else
    *seconds = info->st_mtim.tv_sec;
    *nanoseconds = info->st_mtim.tv_nsec;
#endif
}

mapping_end mapping_find(mapping_source *out, const char *path) {
    /* O_NONBLOCK: a pipe without a writer would be waited for before it can be refused */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return MAPPING_CANNOT_OPEN;
    struct stat info;
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(descriptor);
        return MAPPING_NOT_REGULAR;
    }
    out->file = descriptor;
    out->bytes = (uint64_t)info.st_size;
    out->which = identity_of(&info);
    time_of(&out->seconds, &out->nanoseconds, &info);
    return MAPPING_MADE;
}

enum { LARGE_PAGE = 1 << 21 };

/* Of memory for so many bytes of a file: whole large pages from half of one on, because filling
   small ones takes as long as reading. */
static size_t room_for(uint64_t bytes) {
    const size_t room = (size_t)bytes;
    if (room < LARGE_PAGE / 2 || room > SIZE_MAX - LARGE_PAGE) return room;
    return (room + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
}

mapping_end mapping_reserve(void **memory, const mapping_source *from) {
    *memory = NULL;
    if (from->bytes == 0) return MAPPING_MADE;
    const size_t room = room_for(from->bytes);
    void *made = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return MAPPING_FAILED;
    if (room >= LARGE_PAGE) machine_pages_large(made, room);
    *memory = made;
    return MAPPING_MADE;
}

bool mapping_read(void *memory, const mapping_source *from, uint64_t begin, uint64_t count) {
    char *to = (char *)memory;
    while (count > 0) {
        const ssize_t got = pread((int)from->file, to + begin, (size_t)count, (off_t)begin);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) errno = 0;
        if (got <= 0) return false;
        begin += (uint64_t)got;
        count -= (uint64_t)got;
    }
    return true;
}

bool mapping_is_unchanged(const mapping_source *from) {
    struct stat info;
    int64_t seconds, nanoseconds;
    if (fstat((int)from->file, &info) != 0) return false;
    time_of(&seconds, &nanoseconds, &info);
    return (uint64_t)info.st_size == from->bytes && seconds == from->seconds &&
           nanoseconds == from->nanoseconds;
}

void mapping_drop(mapping_source *owned) {
    close((int)owned->file);
    owned->file = -1;
}

void mapping_close(void *memory, uint64_t bytes) {
    if (memory) munmap(memory, room_for(bytes));
}
