/* kandela-import: runs assimp in a process of its own, so that a file on which assimp crashes,
   aborts, hangs or exhausts memory does not affect the caller.

   usage: kandela-import FILE BYTES SECONDS [draco]

   Reads FILE with at most BYTES of address space and SECONDS of CPU time, and writes the answer
   (scenes/import/import_answer.h) to standard output. With "draco", FILE is Draco data and the
   answer is that of import_draco_answer.h. Writes no file and no core dump. FILE is loaded before
   anything parses it; then the process enters a sandbox (import_confine.h), except in builds with
   sanitizers, whose runtime needs more system calls. */
#include "core/files/file.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/status.h"
#include "scenes/import/import_answer.h"
#include "scenes/import/import_confine.h"
#include "scenes/import/import_draco_answer.h"
#include "scenes/import/import_scene.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 }; /* the sanitizer's runtime reserves terabytes of address space */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif
#else
enum { IS_SANITIZED = 0 };
#endif

static FILE *warnings;

static void warning_keep(void *context, log_level level, const char *message) {
    (void)context;
    if (level == LOG_WARNING && warnings) fprintf(warnings, "%s\n", message);
}

static void limit(__rlimit_resource_t what, rlim_t maximum) {
    struct rlimit limits = {maximum, maximum};
    setrlimit(what, &limits);
}

/* Redirects stdout, so that output of a library does not get into the answer. */
static FILE *answer_open(void) {
    const int output = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (output < 0 || null < 0 || dup2(null, STDOUT_FILENO) < 0) return NULL;
    return fdopen(output, "wb");
}

static void confine(const char *path) {
    if (IS_SANITIZED || import_confine()) return;
    log_message(LOG_WARNING,
                "%s: read without a seccomp sandbox, which this kernel does not support for this "
                "processor; only memory, time and open files are limited",
                path);
}

static bool packed_answer(FILE *answer, const char *path) {
    draco_answer_head head = {DRACO_ANSWER_MAGIC, DRACO_CANNOT, 0, 0, 0};
    file_view file;
    if (file_open(&file, path) != KD_OK) return fwrite(&head, sizeof head, 1, answer) == 1;
    confine(path);
#if KD_HAVE_DRACO
    const bool written = import_packed(&file, answer);
#else
    head.status = DRACO_ABSENT;
    const bool written = fwrite(&head, sizeof head, 1, answer) == 1;
#endif
    file_close(&file);
    return written;
}

static bool scene_answer(FILE *answer, const char *path) {
    char *text = NULL;
    size_t text_bytes = 0;
    mesh read;
    file_view file;
    memset(&read, 0, sizeof read);
    warnings = open_memstream(&text, &text_bytes);
    log_set_sink(warning_keep, NULL);
    kd_status status = file_open(&file, path);
    if (status == KD_OK) {
        confine(path);
        status = import_scene(&read, path, &file);
    }
    if (warnings) fclose(warnings);
    const bool written = import_answer_write(answer, status, kd_last_error(), text, &read);
    mesh_close(&read);
    file_close(&file);
    free(text);
    return written;
}

int main(int count, char **arguments) {
    if (count != 4 && (count != 5 || strcmp(arguments[4], "draco") != 0)) {
        fprintf(stderr, "usage: kandela-import FILE BYTES SECONDS [draco]\nThe Kandela library "
                        "runs this program; it is not meant to be run by hand.\n");
        return 2;
    }
    if (!IS_SANITIZED) limit(RLIMIT_AS, (rlim_t)strtoull(arguments[2], NULL, 10));
    limit(RLIMIT_CPU, (rlim_t)strtoull(arguments[3], NULL, 10));
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    parallel_set_threads(1);
    FILE *answer = answer_open();
    if (!answer) return 1;
    const bool written =
        count == 5 ? packed_answer(answer, arguments[1]) : scene_answer(answer, arguments[1]);
    return fclose(answer) == 0 && written ? 0 : 1;
}
