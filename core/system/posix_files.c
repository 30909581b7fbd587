#include "core/system/files.h"
#include "core/system/machine.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/sysmacros.h>
#endif

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

void folder_visit(const char *path, void (*seen)(void *context, const char *name), void *context) {
    DIR *folder = opendir(path);
    if (!folder) return;
    for (const struct dirent *entry; (entry = readdir(folder));) seen(context, entry->d_name);
    closedir(folder);
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
    /* O_NONBLOCK: opening a pipe without a writer would block before the pipe can be rejected */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return MAPPING_CANNOT_OPEN;
    struct stat info;
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(descriptor);
        return MAPPING_NOT_REGULAR;
    }
    out->file = descriptor;
    out->bytes = (uint64_t)info.st_size;
    out->identity = identity_of(&info);
    time_of(&out->seconds, &out->nanoseconds, &info);
    return MAPPING_MADE;
}

enum { LARGE_PAGE = 1 << 21 };

/* Size of the allocation for a file: rounded up to whole large pages from half a large page on,
   because page faults on small pages take as long as reading. */
static size_t read_buffer_bytes(uint64_t bytes) {
    const size_t capacity = (size_t)bytes;
    if (capacity < LARGE_PAGE / 2 || capacity > SIZE_MAX - LARGE_PAGE) return capacity;
    return (capacity + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
}

mapping_end mapping_reserve(void **memory, const mapping_source *source) {
    *memory = NULL;
    if (source->bytes == 0) return MAPPING_MADE;
    const size_t capacity = read_buffer_bytes(source->bytes);
    void *made = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return MAPPING_FAILED;
    if (capacity >= LARGE_PAGE) machine_pages_large(made, capacity);
    *memory = made;
    return MAPPING_MADE;
}

bool mapping_read(void *memory, const mapping_source *source, uint64_t begin, uint64_t count) {
    char *to = (char *)memory;
    while (count > 0) {
        const ssize_t got = pread((int)source->file, to + begin, (size_t)count, (off_t)begin);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) errno = 0;
        if (got <= 0) return false;
        begin += (uint64_t)got;
        count -= (uint64_t)got;
    }
    return true;
}

bool mapping_is_unchanged(const mapping_source *source) {
    struct stat info;
    int64_t seconds, nanoseconds;
    if (fstat((int)source->file, &info) != 0) return false;
    time_of(&seconds, &nanoseconds, &info);
    return (uint64_t)info.st_size == source->bytes && seconds == source->seconds &&
           nanoseconds == source->nanoseconds;
}

void mapping_drop(mapping_source *owned) {
    close((int)owned->file);
    owned->file = -1;
}

void mapping_close(void *memory, uint64_t bytes) {
    if (memory) munmap(memory, read_buffer_bytes(bytes));
}

/* Returns true if the descriptor still refers to the file called `name`, and this is a regular file
   of this user without other links. Another user may have replaced it. */
static bool is_ours(int descriptor, const char *name, bool is_new) {
    struct stat held, named;
    return fstat(descriptor, &held) == 0 && lstat(name, &named) == 0 &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev && S_ISREG(named.st_mode) &&
           named.st_nlink == 1 && (is_new || named.st_uid == geteuid());
}

/* O_EXCL and O_NOFOLLOW refuse a symbolic link that another user may have placed under the name. */
int temporary_take(const char *name, bool existing_only) {
    int descriptor = existing_only ? -1 : open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const bool is_new = descriptor >= 0;
    if (!is_new && !existing_only && errno != EEXIST) return -1;
    if (!is_new) descriptor = open(name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
        if (!existing_only) errno = EWOULDBLOCK; /* in use by another user or renamed */
        return -1;
    }
    const bool locked =
        flock(descriptor, LOCK_EX | LOCK_NB) == 0 || (is_new && errno != EWOULDBLOCK);
    if (locked && is_ours(descriptor, name, is_new)) return descriptor;
    close(descriptor);
    errno = EWOULDBLOCK;
    return -1;
}

bool temporary_exists(const char *name) {
    struct stat info;
    return lstat(name, &info) == 0;
}

int temporary_hold(int descriptor) {
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

int temporary_sync(int descriptor) {
    return fsync(descriptor);
}

int temporary_rename(const char *name, const char *to) {
    return rename(name, to);
}

/* A device that is always full reports it only on a write. */
static bool is_always_full(int descriptor) {
#ifdef __linux__
    struct stat info;
    return fstat(descriptor, &info) == 0 && S_ISCHR(info.st_mode) &&
           info.st_rdev == makedev(1, 7); /* /dev/full */
#else
    (void)descriptor;
    return false;
#endif
}

int temporary_direct(const char *path) {
    /* O_NONBLOCK: fails with ENXIO on a pipe without a reader, instead of blocking */
    const int descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return -1;
    const int flags = fcntl(descriptor, F_GETFL);
    if (is_always_full(descriptor))
        errno = ENOSPC;
    else if (flags >= 0 && fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0)
        return descriptor;
    const int reason = errno;
    close(descriptor);
    errno = reason;
    return -1;
}

/* Returns the target of a link; a relative target is resolved against the link's directory. */
static char *link_follow(const char *link) {
    char named[PATH_MAX];
    const ssize_t bytes = readlink(link, named, sizeof named - 1);
    if (bytes < 0) return NULL;
    named[bytes] = '\0';
    const char *slash = named[0] == '/' ? NULL : strrchr(link, '/');
    const size_t folder = slash ? (size_t)(slash - link) + 1 : 0;
    char *joined = (char *)malloc(folder + (size_t)bytes + 1);
    if (!joined) return NULL;
    memcpy(joined, link, folder);
    memcpy(joined + folder, named, (size_t)bytes + 1);
    return joined;
}

int stdout_take(void) {
    fflush(stdout);
    const int taken = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (taken >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return taken;
    const int reason = errno;
    if (taken >= 0) close(taken);
    errno = reason;
    return -1;
}

bool stdout_is_terminal(void) {
    return isatty(STDOUT_FILENO);
}

char *temporary_target(const char *path) {
    enum { LINKS_MAX = 40 }; /* the system's own limit */
    char *target = NULL;
    for (int i = 0; i <= LINKS_MAX; ++i) {
        struct stat info;
        errno = 0;
        if (lstat(target ? target : path, &info) != 0 || !S_ISLNK(info.st_mode)) return target;
        char *next = link_follow(target ? target : path);
        free(target);
        if (!next) return NULL;
        target = next;
    }
    free(target);
    errno = ELOOP;
    return NULL;
}

bool text_stream_open(text_stream *out) {
    out->text = NULL;
    out->count = 0;
    out->stream = open_memstream(&out->text, &out->count);
    return out->stream != NULL;
}

bool text_stream_end(text_stream *stream) {
    const bool failed = ferror(stream->stream) != 0;
    const bool whole = fclose(stream->stream) == 0 && !failed;
    stream->stream = NULL;
    if (whole) return true;
    free(stream->text);
    stream->text = NULL;
    return false;
}
