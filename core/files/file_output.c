/* A file that appears under its name when it is whole. */
#include "core/files/file.h"
#include "core/system/temporary.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITERS = 1000, SWEPT = 8 }; /* to one name at once; numbers looked at for what is stale */

/* What killed writers of this name have left under the numbers after ours. */
static void sweep(const char *name, int number) {
    char stale[sizeof((file_output *)0)->temporary];
    for (int i = number + 1; i < number + SWEPT; ++i) {
        const int length = snprintf(stale, sizeof stale, "%s.%d.tmp", name, i);
        if (length >= (int)sizeof stale || !temporary_is_there(stale)) continue;
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
        descriptor = temporary_direct(output->path);
    else
        descriptor = temporary_open(output, output->path);
    if (descriptor < 0) return;
    bool ready = true;
    if (!output->direct) {
        output->lock = temporary_hold(descriptor);
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
    output->stream = NULL;
    output->lock = -1;
    output->direct = file_identify(NULL, path) == FILE_OTHER;
    errno = 0;
    /* a link stays a link: what it points to is replaced */
    char *target = output->direct ? NULL : temporary_target(path);
    KD_REQUIRE(target || errno != ENOMEM, KD_ERROR_MEMORY, "%s: out of memory", path);
    KD_REQUIRE(target || errno != ELOOP, KD_ERROR_RUNTIME, "%s: cannot write: %s", path,
               strerror(errno));
    const int length = snprintf(output->path, sizeof output->path, "%s", target ? target : path);
    free(target);
    KD_REQUIRE(length + 16 < (int)sizeof output->path, KD_ERROR_USAGE,
               "%.60s...: the path is too long", path);
    stream_open(output);
    KD_REQUIRE(output->stream, errno == ENOMEM ? KD_ERROR_MEMORY : KD_ERROR_RUNTIME,
               "%s: cannot write: %s", path,
               errno == ENXIO && output->direct ? "nobody reads this pipe" : strerror(errno));
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
    if (!failed && !output->direct && temporary_sync(fileno(output->stream)) != 0 &&
        errno != EINVAL && errno != EROFS) {
        failed = 1;
        reason = errno;
    }
    if (fclose(output->stream) != 0 && !failed) {
        failed = 1;
        reason = errno;
    }
    output->stream = NULL;
    if (!failed && !output->direct && temporary_rename(output->temporary, output->path) != 0) {
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
