#include "core/system/temporary.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether this descriptor is of what the name means now, and not a stranger's trap. */
static bool is_ours(int descriptor, const char *name, bool is_new) {
    struct stat held, named;
    return fstat(descriptor, &held) == 0 && lstat(name, &named) == 0 &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev && S_ISREG(named.st_mode) &&
           named.st_nlink == 1 && (is_new || named.st_uid == geteuid());
}

int temporary_take(const char *name, bool existing_only) {
    int descriptor =
        existing_only ? -1 : open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
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

int temporary_direct(const char *path) {
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

char *temporary_target(const char *path) {
    struct stat info;
    errno = 0;
    return lstat(path, &info) == 0 && S_ISLNK(info.st_mode) ? realpath(path, NULL) : NULL;
}
