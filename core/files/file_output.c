/* A file that appears under its name when it is whole. */
#include "core/files/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { WRITERS = 1000, SWEPT = 8 }; /* to one name at once; numbers looked at for what is stale */

/* Whether this descriptor is of what the name means now, and not a stranger's trap. */
static bool is_ours(int descriptor, const char *name, bool is_new) {
    struct stat held, named;
    return fstat(descriptor, &held) == 0 && lstat(name, &named) == 0 &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev && S_ISREG(named.st_mode) &&
           named.st_nlink == 1 && (is_new || named.st_uid == geteuid());
}

/* Opens and locks; -1 with errno, EWOULDBLOCK where a live writer holds it. A new file that a file
   system cannot lock is taken as it is. */
static int temporary_take(const char *name, bool existing_only) {
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

/* What killed writers of this name have left under the numbers after ours. */
static void sweep(const char *name, int number) {
    char stale[sizeof((file_output *)0)->temporary];
    for (int i = number + 1; i < number + SWEPT; ++i) {
        struct stat info;
        const int length = snprintf(stale, sizeof stale, "%s.%d.tmp", name, i);
        if (length >= (int)sizeof stale || lstat(stale, &info) != 0) continue;
        const int descriptor = temporary_take(stale, true);
        if (descriptor < 0) continue;
        unlink(stale);
        close(descriptor);
    }
}

static int temporary_open(file_output *output, const char *name) {
    for (int i = 0; i < WRITERS; ++i) {
        snprintf(output->temporary, sizeof output->temporary, "%s.%d.tmp", name, i);
        const int descriptor = temporary_take(output->temporary, false);
        if (descriptor < 0 && errno == EWOULDBLOCK) continue;
        if (descriptor >= 0) sweep(name, i);
        return descriptor;
    }
    return -1;
}

static void stream_open(file_output *output) {
    int descriptor = -1;
    if (output->direct)
        descriptor = open(output->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    else
        descriptor = temporary_open(output, output->path);
    if (descriptor < 0) return;
    bool ready = true;
    if (!output->direct) {
        output->lock = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
        ready = output->lock >= 0 && ftruncate(descriptor, 0) == 0;
    }
    if (ready) output->stream = fdopen(descriptor, "wb");
    if (output->stream) return;
    const int reason = errno;
    if (!output->direct) unlink(output->temporary);
    close(descriptor);
    if (output->lock >= 0) close(output->lock);
    errno = reason;
}

kd_status file_output_open(file_output *output, const char *path) {
    struct stat info;
    output->stream = NULL;
    output->lock = -1;
    output->direct = stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
    /* a link stays a link: what it points to is replaced */
    const bool is_link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
    errno = 0;
    char *target = is_link && !output->direct ? realpath(path, NULL) : NULL;
    KD_REQUIRE(target || errno != ENOMEM, KD_ERROR_MEMORY, "%s: out of memory", path);
    const int length = snprintf(output->path, sizeof output->path, "%s", target ? target : path);
    free(target);
    KD_REQUIRE(length + 16 < (int)sizeof output->path, KD_ERROR_USAGE,
               "%.60s...: the path is too long", path);
    stream_open(output);
    KD_REQUIRE(output->stream, errno == ENOMEM ? KD_ERROR_MEMORY : KD_ERROR_RUNTIME,
               "%s: cannot write: %s", path, strerror(errno));
    return KD_OK;
}

/* Releases the name for the next writer. */
static void unlock(file_output *output) {
    if (output->lock >= 0) close(output->lock);
    output->lock = -1;
}

/* Why an earlier write to the stream failed: by asking again, for a stream forgets errno. */
static int reason_again(FILE *stream) {
    return write(fileno(stream), "", 1) < 0 ? errno : EIO;
}

kd_status file_output_commit(file_output *output) {
    errno = 0;
    int failed = ferror(output->stream) | fflush(output->stream);
    int reason = errno;
    if (failed && !reason) reason = reason_again(output->stream);
    if (!failed && !output->direct && fsync(fileno(output->stream)) != 0 && errno != EINVAL &&
        errno != EROFS) {
        failed = 1;
        reason = errno;
    }
    if (fclose(output->stream) != 0 && !failed) {
        failed = 1;
        reason = errno;
    }
    output->stream = NULL;
    if (!failed && !output->direct && rename(output->temporary, output->path) != 0) {
        failed = 1;
        reason = errno;
    }
    if (failed && !output->direct) unlink(output->temporary);
    unlock(output);
    KD_REQUIRE(!failed, KD_ERROR_RUNTIME, "%s: cannot write: %s", output->path, strerror(reason));
    return KD_OK;
}

void file_output_discard(file_output *output) {
    if (!output->stream) return;
    if (!output->direct) unlink(output->temporary);
    fclose(output->stream);
    output->stream = NULL;
    unlock(output);
}
