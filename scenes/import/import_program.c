#include "scenes/import/import_program.h"
#if KD_HAVE_ASSIMP
#include "core/files/child.h"
#include "core/files/file.h"
#include "core/memory.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { WAIT_MS = 100 };
static const uint64_t memory_least = 4ull << 30, memory_a_byte = 64;

static bool program_find(char found[PLACE_BYTES]) {
    static const char *const places[] = {"", "../bin/", "../libexec/kandela/",
                                         "../../libexec/kandela/"};
    const companion program = {"KANDELA_IMPORT", "kandela-import", places,
                               sizeof places / sizeof *places, PLACE_RUNNABLE};
    return companion_find(&program, found);
}

/* --- its answer --------------------------------------------------------------------------------
 */

typedef struct import_run {
    const import_asked *asked;
    child process;
    bool cut_short; /* the answer ended before it was whole */
} import_run;

static kd_status answer_take(void *context, void *to, uint64_t bytes) {
    import_run *run = (import_run *)context;
    char *next = (char *)to;
    while (bytes > 0) {
        KD_REQUIRE(!job_cancelled(run->asked->watched), KD_INTERRUPTED,
                   "%s: interrupted while reading", run->asked->path);
        const ssize_t got = read(run->process.answer, next, bytes < INT_MAX ? bytes : INT_MAX);
        if (got > 0) {
            next += got;
            bytes -= (uint64_t)got;
        } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            child_wait(&run->process, WAIT_MS);
        } else {
            run->cut_short = true;
            KD_FAIL(KD_ERROR_INPUT, "%s: the answer ended early", run->asked->path);
        }
    }
    return KD_OK;
}

/* Why there was no whole answer. */
static kd_status grief(const import_asked *asked, const char *program, double seconds,
                       child_end end, int code) {
    const char *path = asked->path, *library = asked->library;
    switch (end) {
    case CHILD_OVERDUE:
        KD_FAIL(KD_ERROR_INPUT,
                "%s: %s took more than %g s over it, expected less (KANDELA_IMPORT_SECONDS "
                "allows more)",
                path, library, seconds);
    case CHILD_SIGNALLED:
        KD_FAIL(KD_ERROR_INPUT,
                "%s: %s came to grief over it (%s), expected a file that it can read", path,
                library, strsignal(code));
    case CHILD_NOT_STARTED:
        KD_FAIL(KD_ERROR_INPUT, "%s: cannot run %s, which reads this format", path, program);
    default:
        KD_FAIL(KD_ERROR_INPUT, "%s: %s gave it up (exit code %d), expected a mesh", path, library,
                code);
    }
}

static double seconds_allowed(uint64_t bytes) {
    const char *said = place_variable("KANDELA_IMPORT_SECONDS");
    const double seconds = said ? strtod(said, NULL) : 0;
    return seconds > 0 ? seconds : IMPORT_SECONDS + (double)(bytes >> 20);
}

kd_status import_program_run(const import_asked *asked, import_taker take, void *to) {
    char program[PLACE_BYTES], memory[32], limit[32], form[32];
    const double seconds = seconds_allowed(asked->bytes);
    const uint64_t most = memory_least + memory_a_byte * asked->bytes;
    KD_REQUIRE(program_find(program), KD_ERROR_INPUT,
               "%s: found no kandela-import beside this program, expected it for this format "
               "(KANDELA_IMPORT says where it is)",
               asked->path);
    snprintf(memory, sizeof memory, "%llu", (unsigned long long)most);
    snprintf(limit, sizeof limit, "%.0f", ceil(seconds < 1e9 ? seconds : 1e9));
    snprintf(form, sizeof form, "%s", asked->form ? asked->form : "");
    char name[] = "kandela-import", *file = strdup(asked->file);
    KD_REQUIRE(file, KD_ERROR_MEMORY, "%s: no memory left for its name", asked->path);
    char *const arguments[] = {name, file, memory, limit, asked->form ? form : NULL, NULL};
    import_run run = {asked, {-1, -1, -1}, false};
    int code = 0;
    kd_status status = child_start(&run.process, program, arguments, seconds);
    if (status == KD_OK) {
        status = take(to, asked->path, most, answer_take, &run);
        const child_end end = child_close(&run.process, !run.cut_short, &code);
        if (run.cut_short) {
            status_clear();
            status = grief(asked, program, seconds, end, code);
        }
    }
    free(file);
    return status;
}

#else

kd_status import_program_run(const import_asked *asked, import_taker take, void *to) {
    (void)take;
    (void)to;
    KD_FAIL(
        KD_ERROR_INPUT,
        "%s: found what OBJ's, PLY's, STL's and glTF's own readers do not read, expected a build "
        "with assimp or, for packed glTF, with Draco",
        asked->path);
}

#endif
