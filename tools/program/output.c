/* Checks of output files before any work is done: writable, distinct from each other and from all
   inputs. */
#include "tools/program/output.h"
#include "core/files/file.h"
#include "core/growth.h"
#include "core/image/formats.h"
#include "core/image_processing/animation.h"
#include "core/memory.h"
#include "core/system/files.h"
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void output_name(char *out, size_t bytes, const char *path, const char *suffix) {
    const char *slash = strrchr(path, '/');
    const char *name = slash && slash[1] ? slash + 1 : path;
    const int length = (int)(file_suffix(name) - name);
    snprintf(out, bytes, "%.*s", length ? length : (int)strlen(name), name);
    if (strlen(out) + strlen(suffix) >= bytes) out[bytes - 1 - strlen(suffix)] = '\0';
    for (char *c = out; *c; ++c)
        if (*c == ':' || *c == '/' || *c == '\\') *c = '-';
    strcat(out, suffix);
}

/* --- identity of files ------------------------------------------------------------------------ */

typedef struct file_name {
    file_identity
        identity;     /* identity of the file, or of its directory if the file does not exist */
    const char *last; /* the file's name if it does not exist, else NULL */
    char *path;       /* owned; never freed */
} file_name;

typedef struct file_names {
    file_name *items;
    uint64_t count, capacity;
    bool incomplete; /* out of memory while adding */
} file_names;

static file_names outputs, inputs;
/* threads read textures concurrently */
static pthread_mutex_t inputs_lock = PTHREAD_MUTEX_INITIALIZER;

static kd_status add(file_names *names, file_name name, const char *path) {
    KD_TRY(KD_RESERVE_NEXT(names->items, names->count, names->capacity, 16));
    const size_t bytes = strlen(path) + 1;
    KD_TRY(KD_RESERVE(name.path, bytes));
    memcpy(name.path, path, bytes);
    if (name.last) name.last = name.path + (name.last - path);
    names->items[names->count++] = name;
    return KD_OK;
}

static const char *find(const file_names *names, const file_name *name) {
    for (uint64_t i = 0; i < names->count; ++i) {
        const file_name *item = &names->items[i];
        if (item->identity.device == name->identity.device &&
            item->identity.number == name->identity.number &&
            (item->last && name->last ? strcmp(item->last, name->last) == 0
                                      : item->last == name->last))
            return item->path;
    }
    return NULL;
}

static void see_input(const char *path, file_identity which) {
    const file_name name = {which, NULL, NULL};
    pthread_mutex_lock(&inputs_lock);
    if (!find(&inputs, &name) && add(&inputs, name, path) != KD_OK) {
        inputs.incomplete = true;
        status_clear(); /* output_check_inputs reports it */
    }
    pthread_mutex_unlock(&inputs_lock);
}

void output_watch_inputs(void) {
    file_set_witness(see_input);
}

/* Returns false for devices, pipes, and files that cannot be identified. */
static bool name_file(file_name *out, const char *path, const char *folder) {
    memset(out, 0, sizeof *out);
    const file_kind kind = file_identify(&out->identity, path);
    if (kind != FILE_ABSENT) return kind == FILE_REGULAR;
    const char *slash = strrchr(path, '/');
    if (!folder || file_identify(&out->identity, folder) == FILE_ABSENT) return false;
    out->last = slash ? slash + 1 : path;
    return true;
}

static kd_status refuse_input(const char *output, const char *input) {
    KD_FAIL(KD_ERROR_USAGE, "%s: the output would overwrite an input file%s%s; give another name",
            output, strcmp(output, input) == 0 ? "" : ", the same file as ",
            strcmp(output, input) == 0 ? "" : input);
}

kd_status output_check_input(const char *path) {
    file_name name;
    if (!path || !name_file(&name, path, NULL)) return KD_OK;
    const char *output = find(&outputs, &name);
    return output ? refuse_input(output, path) : KD_OK;
}

kd_status output_check_inputs(void) {
    KD_REQUIRE(!inputs.incomplete, KD_ERROR_MEMORY, "out of memory for the names of input files");
    for (uint64_t i = 0; i < inputs.count; ++i) {
        const char *output = find(&outputs, &inputs.items[i]);
        if (output) return refuse_input(output, inputs.items[i].path);
    }
    return KD_OK;
}

static kd_status claim(const char *path, const char *folder) {
    file_name name;
    if (!name_file(&name, path, folder)) return KD_OK;
    const char *other = find(&outputs, &name);
    KD_REQUIRE(!other, KD_ERROR_USAGE,
               "outputs %s and %s are the same file; give each output its own name", other, path);
    KD_TRY(add(&outputs, name, path));
    return KD_OK;
}

/* --- tests of outputs ------------------------------------------------------------------------- */

/* Opens the file for a test: a failure at the end would waste the rendering. */
static kd_status try_it(const char *path) {
    enum { SPARE = 4 }; /* file descriptors that the work may need */
    file_output trial;
    int held_files[SPARE], held = 0;
    KD_TRY(file_output_open(&trial, path));
    while (held < SPARE && (held_files[held] = temporary_hold(fileno(trial.stream))) >= 0) ++held;
    const int reason = errno;
    for (int i = 0; i < held; ++i) close(held_files[i]);
    /* a pipe stays open until exit, or its reader would see the end of file now */
    if (!trial.direct) file_output_discard(&trial);
    KD_REQUIRE(held == SPARE, KD_ERROR_RUNTIME, "%s: cannot write: %s", path, strerror(reason));
    return KD_OK;
}

/* `target`: `path` with symbolic links resolved. */
static kd_status claim_and_try(const char *path, const char *target) {
    char folder[4096];
    const char *slash = strrchr(target, '/');
    const int length = slash == target ? 1 : slash ? (int)(slash - target) : 0;
    KD_REQUIRE(length < (int)sizeof folder, KD_ERROR_USAGE, "%.60s...: the path is too long", path);
    snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? target : ".");
    KD_TRY(claim(target, folder));
    KD_TRY(try_it(path));
    return KD_OK;
}

bool output_is_animation(const char *path) {
    return animation_has_suffix(path) && !strchr(path, '#');
}

/* Returns true if the suffix is only that of an animation. */
static bool is_never_still(const char *path) {
    return animation_has_suffix(path) && !image_format_find(path);
}

static kd_status check_format(const char *path, bool frames) {
    if (frames && output_is_animation(path)) return animation_check(path);
    KD_REQUIRE(!is_never_still(path), KD_ERROR_USAGE, "%s: %s", path,
               frames ? "an animation is one file; leave out the #"
                      : "an animation needs its frames; set --frames A-B");
    return image_writable(path);
}

kd_status output_pictures(const option_list *list, const char *format, bool frames) {
    int standard = 0;
    for (int i = 0; i < list->count; ++i) standard += strcmp(list->items[i], FILE_STDOUT) == 0;
    KD_REQUIRE(standard || !*format, KD_ERROR_USAGE,
               "--format sets the format of -o -; that of a file is set by its suffix");
    KD_REQUIRE(standard <= 1, KD_ERROR_USAGE, "-o - can be given only once");
    if (standard) KD_TRY(image_use_stdout(*format ? format : "png"));
    for (int i = 0; i < list->count; ++i) KD_TRY(check_format(list->items[i], frames));
    return KD_OK;
}

void output_print_names(const option_list *list) {
    for (int i = 0; i < list->count; ++i)
        if (!file_is_stdout(list->items[i])) puts(list->items[i]);
}

const char *output_first_file(const option_list *list) {
    for (int i = 0; i < list->count; ++i)
        if (!file_is_stdout(list->items[i])) return list->items[i];
    return NULL;
}

kd_status output_check(const char *path) {
    if (file_is_stdout(path)) return KD_OK;
    KD_REQUIRE(path[0], KD_ERROR_USAGE, "the name of an output file must not be empty");
    KD_REQUIRE(file_identify(NULL, path) != FILE_FOLDER, KD_ERROR_RUNTIME,
               "%s: cannot write: it is a folder", path);
    char *target = temporary_target(path); /* resolves a link whose target does not exist yet */
    const kd_status status = claim_and_try(path, target ? target : path);
    free(target);
    KD_TRY(status);
    return KD_OK;
}
