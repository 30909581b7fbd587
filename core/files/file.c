/* Parallel reading into memory, atomic replacement on output, and the search for companions. */
#include "core/files/file.h"
#include "core/files/file_bundle.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/system/files.h"
#include "core/system/machine.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static void (*witness)(const char *path, file_identity which);

void file_set_witness(void (*seen)(const char *path, file_identity which)) {
    witness = seen;
}

/* --- reading ---------------------------------------------------------------------------------- */

enum { PIECE_BYTES = 1 << 20 }; /* bytes read by a thread at a time */

typedef struct reading {
    const mapping_source *source;
    void *memory;
    atomic_int reason;    /* errno of a failed read */
    atomic_bool is_short; /* the file ended early */
} reading;

static void pieces_read(void *context, int64_t begin, int64_t end, int thread) {
    reading *job = (reading *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const uint64_t first = (uint64_t)i * PIECE_BYTES, left = job->source->bytes - first;
        if (mapping_read(job->memory, job->source, first, left < PIECE_BYTES ? left : PIECE_BYTES))
            continue;
        if (errno)
            atomic_store(&job->reason, errno);
        else
            atomic_store(&job->is_short, true);
    }
}

/* Copies the bytes instead of mapping the file: if another process truncates a mapped file, reading
   the missing pages raises SIGBUS. */
mapping_end file_source_read(file_view *view, const mapping_source *source) {
    const uint64_t pieces = (source->bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    const mapping_end end = mapping_reserve(&view->mapping, source);
    if (end != MAPPING_MADE || pieces == 0) return end;
    reading reading = {.source = source, .memory = view->mapping};
    view->bytes = (const char *)view->mapping;
    view->count = (size_t)source->bytes;
    parallel_for((int64_t)pieces, 1, pieces_read, &reading);
    if (!atomic_load(&reading.reason) && !atomic_load(&reading.is_short) &&
        mapping_is_unchanged(source))
        return MAPPING_MADE;
    file_close(view);
    errno = atomic_load(&reading.reason);
    return errno ? MAPPING_FAILED : MAPPING_CHANGED;
}

kd_status file_open(file_view *view, const char *path) {
    memset(view, 0, sizeof *view);
    view->bytes = "";
    if (file_bundle_find(path, &view->bytes, &view->count)) return KD_OK; /* borrowed */
    mapping_source from;
    mapping_end end = mapping_find(&from, path);
    KD_REQUIRE(end != MAPPING_CANNOT_OPEN, KD_ERROR_INPUT, "%s: cannot open: %s", path,
               strerror(errno));
    KD_REQUIRE(end != MAPPING_NOT_REGULAR, KD_ERROR_INPUT, "%s: not a regular file", path);
    if (witness) witness(path, from.identity);
    file_bundle_note(path);
    end = file_source_read(view, &from);
    const int reason = errno;
    mapping_drop(&from);
    KD_REQUIRE(end != MAPPING_CHANGED, KD_ERROR_INPUT,
               "%s: the file changed while it was read; try again when no program writes to it",
               path);
    KD_REQUIRE(end == MAPPING_MADE, reason == ENOMEM ? KD_ERROR_MEMORY : KD_ERROR_INPUT,
               "%s: cannot read: %s", path, strerror(reason));
    return KD_OK;
}

bool file_exists(const char *path) {
    const char *bytes;
    size_t count;
    if (file_bundle_find(path, &bytes, &count)) return true;
    return file_identify(NULL, path) == FILE_REGULAR;
}

typedef struct name_search {
    char *name;
    size_t length;
    char *best; /* same length as `name`; "" if nothing has been found */
} name_search;

static void name_consider(void *context, const char *name) {
    const name_search *search = (const name_search *)context;
    if (strlen(name) != search->length || strcasecmp(name, search->name) != 0) return;
    if (strcmp(search->best, search->name) == 0) return; /* found exactly */
    const bool is_exact = strcmp(name, search->name) == 0;
    if (is_exact || !*search->best || strcmp(name, search->best) < 0)
        memcpy(search->best, name, search->length + 1);
}

bool file_name_match(const char *folder, char *name) {
    char best[PLACE_BYTES] = "";
    name_search search = {name, strlen(name), best};
    if (search.length >= sizeof best) return false;
    folder_visit(folder, name_consider, &search);
    if (!*best) return false;
    memcpy(name, best, search.length);
    return true;
}

void file_release(const char *begin, size_t count) {
    if (file_bundle_holds(begin)) return; /* other views share the bytes of the bundle */
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

enum {
    WRITERS = 1000,
    SWEPT = 8
}; /* maximum number of concurrent writers; numbers swept by each */

/* Removes stale temporary files left by killed writers under the numbers that follow this
   writer's. */
static void sweep(const char *name, int number) {
    char stale[sizeof((file_output *)0)->temporary];
    for (int i = number + 1; i < number + SWEPT; ++i) {
        const int length = snprintf(stale, sizeof stale, "%s.%d.tmp", name, i);
        if (length >= (int)sizeof stale || !temporary_exists(stale)) continue;
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

static int standard_output = -1; /* the descriptor that was standard output */

bool file_is_stdout(const char *path) {
    return standard_output >= 0 && strcmp(path, FILE_STDOUT) == 0;
}

kd_status file_take_stdout(void) {
    if (standard_output >= 0) return KD_OK;
    KD_REQUIRE(!stdout_is_terminal(), KD_ERROR_USAGE,
               "-: standard output is a terminal; redirect it to a file or to another program");
    standard_output = stdout_take();
    KD_REQUIRE(standard_output >= 0, KD_ERROR_RUNTIME, "-: cannot write to standard output: %s",
               strerror(errno));
    return KD_OK;
}

/* Some writers seek, which standard output may not support. */
static kd_status standard_open(file_output *output, const char *path) {
    snprintf(output->path, sizeof output->path, "%s", path);
    output->stream = tmpfile();
    KD_REQUIRE(output->stream, KD_ERROR_RUNTIME, "%s: cannot create a temporary file: %s", path,
               strerror(errno));
    return KD_OK;
}

/* Copies the stream to standard output. Returns false with errno on failure. */
static bool standard_copy(FILE *stream) {
    char bytes[1 << 13];
    size_t count = 0;
    if (fflush(stream) != 0 || fseek(stream, 0, SEEK_SET) != 0) return false;
    while ((count = fread(bytes, 1, sizeof bytes, stream)) > 0)
        for (size_t written = 0; written < count;) {
            const ssize_t more =
                write(standard_output, bytes + written, (unsigned)(count - written));
            if (more < 0 && errno != EINTR) return false;
            if (more > 0) written += (size_t)more;
        }
    return !ferror(stream);
}

static kd_status standard_commit(file_output *output) {
    const bool copied = !ferror(output->stream) && standard_copy(output->stream);
    const int reason = errno;
    file_output_discard(output);
    KD_REQUIRE(copied, KD_ERROR_RUNTIME, "cannot write to standard output: %s", strerror(reason));
    return KD_OK;
}

kd_status file_output_open(file_output *output, const char *path) {
    output->stream = NULL;
    output->lock = -1;
    output->standard = output->direct = file_is_stdout(path);
    if (output->standard) return standard_open(output, path);
    output->direct = file_identify(NULL, path) == FILE_OTHER;
    errno = 0;
    /* for a symbolic link, its target is replaced */
    char *target = output->direct ? NULL : temporary_target(path);
    KD_REQUIRE(target || errno != ENOMEM, KD_ERROR_MEMORY, "%s: out of memory for its path", path);
    KD_REQUIRE(target || errno != ELOOP, KD_ERROR_RUNTIME, "%s: cannot write: %s", path,
               strerror(errno));
    const int length = snprintf(output->path, sizeof output->path, "%s", target ? target : path);
    free(target);
    KD_REQUIRE(length + 16 < (int)sizeof output->path, KD_ERROR_USAGE,
               "%.60s...: the path is too long", path);
    stream_open(output);
    KD_REQUIRE(output->stream, errno == ENOMEM ? KD_ERROR_MEMORY : KD_ERROR_RUNTIME,
               "%s: cannot write: %s", path,
               errno == ENXIO && output->direct ? "no program reads from this pipe"
                                                : strerror(errno));
    return KD_OK;
}

/* Releases the lock, so that the next writer can use the name. */
static void unlock(file_output *output) {
    if (output->lock >= 0) close(output->lock);
    output->lock = -1;
}

/* Returns the errno of an earlier failed write, which the stream does not store: repeats a write of
   one byte to obtain the same error. */
static int reason_again(FILE *stream) {
    return write(fileno(stream), "", 1) < 0 ? errno : EIO;
}

kd_status file_output_commit(file_output *output) {
    errno = 0;
    if (output->standard) return standard_commit(output);
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

static bool exists_next_to(const companion *file, char object[PLACE_BYTES],
                           char path[PLACE_BYTES]) {
    char *slash = strrchr(object, '/');
    if (!slash) return false;
    slash[1] = '\0';
    for (int i = 0; i < file->place_count; ++i) {
        const int length =
            snprintf(path, PLACE_BYTES, "%s%s%s", object, file->places[i], file->name);
        if (length < PLACE_BYTES && place_allows(path, file->use)) return true;
    }
    return false;
}

bool companion_find(const companion *file, char path[PLACE_BYTES]) {
    char object[PLACE_BYTES];
    const char *said = place_variable(file->variable);
    if (said && *said) return snprintf(path, PLACE_BYTES, "%s", said) < PLACE_BYTES;
    if (place_of_library(object) && exists_next_to(file, object, path)) return true;
    return place_of_program(object) && exists_next_to(file, object, path);
}
