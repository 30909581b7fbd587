#include "scenes/check.h"
#include "core/memory.h"
#include "scenes/check_parts.h"
#include "scenes/readers.h"
#include <stdarg.h>

/* One more of a kind: is it among the first CHECK_PROBLEMS? */
static bool kind_has_room(examination *of, const char *kind) {
    int i = 0;
    while (i < CHECK_KINDS && of->kinds[i].name && strcmp(of->kinds[i].name, kind) != 0) ++i;
    if (i == CHECK_KINDS || of->kinds[i].kept == CHECK_PROBLEMS) return false;
    of->kinds[i].name = kind;
    ++of->kinds[i].kept;
    return true;
}

static char *text_copy(const char *text) {
    char *copy = NULL;
    const size_t bytes = strlen(text) + 1;
    if (KD_RESERVE(copy, bytes) == KD_OK) memcpy(copy, text, bytes);
    return copy;
}

void check_note(examination *of, const char *file, uint32_t line, const char *kind, bool fatal,
                const char *format, ...) {
    check_report *report = of->report;
    ++report->problems_found;
    if (fatal) report->renderable = false;
    if (!kind_has_room(of, kind)) return;
    if (report->problem_count == of->room) {
        const uint64_t room = of->room ? 2 * of->room : 16;
        if (KD_GROW(report->problems, report->problem_count, room) != KD_OK) {
            of->status = KD_ERROR_MEMORY;
            return;
        }
        of->room = room;
    }
    char what[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    check_problem *problem = &report->problems[report->problem_count++];
    problem->file = text_copy(file);
    problem->line = line;
    problem->kind = kind;
    problem->what = text_copy(what);
    problem->fatal = fatal;
    if (!problem->file || !problem->what) of->status = KD_ERROR_MEMORY;
}

static void hear(void *context, const obj_problem *found) {
    check_note((examination *)context, found->file, found->line, found->kind, found->fatal, "%s",
               found->what);
}

/* What made a reader give up, without the file's name before it. */
static void reader_gave_up(examination *of) {
    char message[512];
    const char *at = kd_last_error();
    snprintf(message, sizeof message, "%s", at);
    const size_t length = strlen(of->path);
    unsigned line = 0;
    int used = 0;
    at = message;
    if (strncmp(at, of->path, length) == 0 && at[length] == ':') {
        at += length + 1;
        if (sscanf(at, "%u:%n", &line, &used) == 1) at += used;
        while (*at == ' ') ++at;
    }
    check_note(of, of->path, line, "unreadable", true, "%s", at);
}

static kd_status body_read(examination *of, job *watched) {
    const obj_options options = {hear, of, true, &of->lines, 0};
    const kd_status status = mesh_load(&of->body, of->path, &options, watched);
    if (status != KD_ERROR_INPUT) return status;
    reader_gave_up(of);
    status_clear();
    return KD_OK;
}

static bool emits(const mesh *from, uint64_t triangle) {
    return !vec3_is_zero(from->materials[from->triangle_materials[triangle]].record.emission);
}

static void counts_fill(examination *of) {
    const mesh *body = &of->body;
    of->report->vertices = body->position_count;
    of->report->faces = body->face_count;
    of->report->triangles = body->triangle_count;
    of->report->materials = body->material_count;
    for (uint64_t i = 0; i < body->triangle_count; ++i) of->report->lights += emits(body, i);
}

/* A body of points alone has a picture, if an empty one; a body of nothing has none. */
static bool has_a_place(const mesh *body) {
    for (uint64_t i = 0; i < body->position_count; ++i)
        if (vec3_is_finite(body->positions[i])) return true;
    return false;
}

static kd_status examine(examination *of, job *watched) {
    KD_TRY(body_read(of, watched));
    counts_fill(of);
    if (of->body.triangle_count > 0) {
        KD_TRY(check_triangles(of));
        KD_TRY(check_shells(of));
    } else if (of->report->renderable) {
        check_note(of, of->path, 0, "no-faces", !has_a_place(&of->body),
                   "found no triangle, expected some");
    }
    if (of->report->lights == 0 && of->report->renderable)
        check_note(of, of->path, 0, "no-light", false,
                   "found no material that emits (Ke), expected one; a default light is used");
    KD_REQUIRE(!job_cancelled(watched), KD_INTERRUPTED, "%s: interrupted", of->path);
    return of->status;
}

kd_status check_file(check_report *out, const char *path, job *watched) {
    examination of = {0};
    memset(out, 0, sizeof *out);
    out->renderable = true;
    of.report = out;
    of.path = path;
    const kd_status status = examine(&of, watched);
    mesh_close(&of.body);
    memory_free(of.lines);
    memory_free(of.welded);
    return status;
}

void check_close(check_report *owned) {
    for (uint64_t i = 0; i < owned->problem_count; ++i) {
        memory_free(owned->problems[i].file);
        memory_free(owned->problems[i].what);
    }
    memory_free(owned->problems);
    memset(owned, 0, sizeof *owned);
}
