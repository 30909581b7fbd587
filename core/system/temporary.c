#include "core/system/temporary.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/sysmacros.h>
#endif

/* Whether this descriptor is of what the name means now, and not a stranger's trap. */
static bool is_ours(int descriptor, const char *name, bool is_new) {
    struct stat held, named;
    return fstat(descriptor, &held) == 0 && lstat(name, &named) == 0 &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev && S_ISREG(named.st_mode) &&
           named.st_nlink == 1 && (is_new || named.st_uid == geteuid());
}

/* Neither open follows a link that somebody has planted under the name: O_EXCL refuses one. */
int temporary_take(const char *name, bool existing_only) {
    int descriptor = existing_only ? -1 : open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const bool is_new = descriptor >= 0;
    if (!is_new && !existing_only && errno != EEXIST) return -1;
    if (!is_new) descriptor = open(name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
        if (!existing_only) errno = EWOULDBLOCK; /* somebody else's, or it has just been renamed */
        return -1;
    }
    const bool locked =
        flock(descriptor, LOCK_EX | LOCK_NB) == 0 || (is_new && errno != EWOULDBLOCK);
    if (locked && is_ours(descriptor, name, is_new)) return descriptor;
    close(descriptor);
    errno = EWOULDBLOCK;
    return -1;
}

bool temporary_is_there(const char *name) {
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

/* A device that takes nothing says so only when it is written to. */
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
    /* O_NONBLOCK: a pipe that nobody reads is refused with ENXIO instead of waited for */
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

/* What a link names, beside the link where it is relative. */
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

char *temporary_target(const char *path) {
    enum { LINKS_MOST = 40 }; /* as the system itself follows */
    char *target = NULL;
    for (int i = 0; i <= LINKS_MOST; ++i) {
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
