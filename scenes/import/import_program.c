#include "scenes/import/import_program.h"
#include "core/files/file.h"
#include "core/memory.h"
#include "core/status.h"
#include "core/system/process.h"
#include "scenes/text/paths.h"
#include "scenes/text/problems.h"
#include <stdlib.h>

#if KD_HAVE_ASSIMP
#include "core/files/child.h"
#include "core/files/file.h"
#include "core/memory.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { WAIT_MS = 100 };
static const uint64_t memory_min = 4ull << 30, memory_a_byte = 64;

static bool program_find(char path[PLACE_BYTES]) {
    static const char *const places[] = {"", "../bin/", "../libexec/kandela/",
                                         "../../libexec/kandela/"};
    const companion program = {"KANDELA_IMPORT", "kandela-import", places,
                               sizeof places / sizeof *places, PLACE_RUNNABLE};
    return companion_find(&program, path);
}

/* --- the answer --- */

typedef struct import_run {
    const import_request *request;
    child process;
    bool cut_short; /* the answer was truncated */
} import_run;

static kd_status answer_take(void *context, void *to, uint64_t bytes) {
    import_run *run = (import_run *)context;
    char *next = (char *)to;
    while (bytes > 0) {
        KD_REQUIRE(!job_cancelled(run->request->job), KD_INTERRUPTED,
                   "%s: interrupted while reading", run->request->path);
        const ssize_t got = read(run->process.answer, next, bytes < INT_MAX ? bytes : INT_MAX);
        if (got > 0) {
            next += got;
            bytes -= (uint64_t)got;
        } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            child_wait(&run->process, WAIT_MS);
        } else {
            run->cut_short = true;
            KD_FAIL(KD_ERROR_INPUT, "%s: kandela-import ended before sending all data",
                    run->request->path);
        }
    }
    return KD_OK;
}

/* Returns the error that describes how the process ended. */
static kd_status import_error(const import_request *request, const char *program, double seconds,
                              child_end end, int code) {
    const char *path = request->path, *library = request->library;
    switch (end) {
    case CHILD_OVERDUE:
        KD_FAIL(
            KD_ERROR_INPUT,
            "%s: %s took more than %g s to read the file; set KANDELA_IMPORT_SECONDS to allow more",
            path, library, seconds);
    case CHILD_SIGNALLED:
        KD_FAIL(KD_ERROR_INPUT, "%s: %s crashed (%s) while reading the file; it may be damaged",
                path, library, strsignal(code));
    case CHILD_NOT_STARTED:
        KD_FAIL(KD_ERROR_INPUT, "%s: cannot run %s, which is needed for this format", path,
                program);
    default:
        KD_FAIL(KD_ERROR_INPUT, "%s: %s failed with exit code %d and gave no mesh", path, library,
                code);
    }
}

static double seconds_allowed(uint64_t bytes) {
    const char *said = place_variable("KANDELA_IMPORT_SECONDS");
    const double seconds = said ? strtod(said, NULL) : 0;
    return seconds > 0 ? seconds : IMPORT_SECONDS + (double)(bytes >> 20);
}

kd_status import_program_run(const import_request *request, import_taker take, void *to) {
    char program[PLACE_BYTES], memory[32], limit[32], form[32];
    const double seconds = seconds_allowed(request->bytes);
    const uint64_t maximum = memory_min + memory_a_byte * request->bytes;
    KD_REQUIRE(program_find(program), KD_ERROR_INPUT,
               "%s: this format needs kandela-import, which is not next to this program; set "
               "KANDELA_IMPORT to its path",
               request->path);
    snprintf(memory, sizeof memory, "%llu", (unsigned long long)maximum);
    snprintf(limit, sizeof limit, "%.0f", ceil(seconds < 1e9 ? seconds : 1e9));
    snprintf(form, sizeof form, "%s", request->form ? request->form : "");
    char name[] = "kandela-import", *file = strdup(request->file);
    KD_REQUIRE(file, KD_ERROR_MEMORY, "%s: out of memory for its name", request->path);
    char *const arguments[] = {name, file, memory, limit, request->form ? form : NULL, NULL};
    import_run run = {request, {-1, -1, -1}, false};
    int code = 0;
    kd_status status = child_start(&run.process, program, arguments, seconds);
    if (status == KD_OK) {
        status = take(to, request->path, maximum, answer_take, &run);
        const child_end end = child_close(&run.process, !run.cut_short, &code);
        if (run.cut_short) {
            status_clear();
            status = import_error(request, program, seconds, end, code);
        }
    }
    free(file);
    return status;
}

#else

kd_status import_program_run(const import_request *request, import_taker take, void *to) {
    (void)take;
    (void)to;
    KD_FAIL(KD_ERROR_INPUT,
            "%s: unsupported format; this build reads OBJ, PLY, STL and glTF (" IMPORT_LACKS ", "
            "compressed glTF needs Draco)",
            request->path);
}

#endif

static kd_status mesh_take(void *to, const char *path, uint64_t max_bytes, import_source source,
                           void *from) {
    return import_answer_read((mesh *)to, path, max_bytes, source, from);
}

/* Resolves the texture paths, which the sandboxed process returns unresolved. */
static kd_status textures_find(mesh *mesh, const char *path, problem_list *problems) {
    for (uint32_t i = 0; i < mesh->material_count; ++i)
        for (int map = 0; map < MESH_MAPS_PLAIN; ++map) {
            char **map_path = mesh_material_map(&mesh->materials[i], (mesh_map)map);
            path_found found;
            if (!*map_path) continue;
            const text_span name = {*map_path, strlen(*map_path)};
            KD_TRY(path_find(path, name, &found));
            if (!found.path)
                problem_add_once(problems, "missing-texture", 0,
                                 "found the texture \"%.400s\", expected %s; it is ignored",
                                 *map_path, found.expected);
            else if (found.is_other)
                problem_add_once(problems, "other-name", 0,
                                 "found the texture \"%.400s\" as %.400s", *map_path, found.name);
            memory_free(*map_path);
            *map_path = found.path;
        }
    return KD_OK;
}

kd_status assimp_load(mesh *out, const char *path, const obj_options *options, job_control *job) {
    problem_list problems = {0};
    memset(out, 0, sizeof *out);
    file_view view; /* assimp's error for a missing file is vague, so open it here first */
    KD_TRY(file_open(&view, path));
    const import_request request = {path, path, "assimp", NULL, view.count, job};
    job_stage_begin(job, "load", (int64_t)view.count);
    file_close(&view);
    kd_status status = import_program_run(&request, mesh_take, out);
    if (status == KD_OK) status = textures_find(out, path, &problems);
    if (status == KD_OK) status = problem_list_report(&problems, path, PROBLEM_NO_LINES, options);
    problem_list_close(&problems);
    if (status != KD_OK) mesh_close(out);
    KD_TRY(status);
    return KD_OK;
}

typedef struct draco_reader {
    draco_mesh *mesh;
    const char *path;
    uint64_t left; /* remaining allocation limit, in bytes */
    import_source source;
    void *from;
} draco_reader;

static kd_status array_take(draco_reader *reader, void **array, uint64_t count, size_t item_bytes) {
    KD_REQUIRE(count <= reader->left / item_bytes, KD_ERROR_INPUT,
               "%s: found too many numbers (%llu) compressed by Draco", reader->path,
               (unsigned long long)count);
    reader->left -= count * item_bytes;
    KD_TRY(memory_reserve(array, count, item_bytes));
    KD_TRY(reader->source(reader->from, *array, count * item_bytes));
    return KD_OK;
}

static kd_status attribute_take(draco_reader *reader, draco_attribute *attribute) {
    uint32_t head[2] = {0, 0};
    KD_TRY(reader->source(reader->from, head, sizeof head));
    KD_REQUIRE(head[1] >= 1 && head[1] <= 16, KD_ERROR_INPUT,
               "%s: found %u components compressed by Draco, expected 1 to 16", reader->path,
               head[1]);
    attribute->id = head[0];
    attribute->components = head[1];
    return array_take(reader, (void **)&attribute->values,
                      (uint64_t)reader->mesh->point_count * attribute->components, sizeof(float));
}

static kd_status all_take(draco_reader *reader) {
    draco_answer_head head;
    draco_mesh *to = reader->mesh;
    KD_TRY(reader->source(reader->from, &head, sizeof head));
    KD_REQUIRE(head.magic == DRACO_ANSWER_MAGIC, KD_ERROR_INPUT,
               "%s: kandela-import sent invalid data", reader->path);
    KD_REQUIRE(head.status != DRACO_ABSENT, KD_ERROR_INPUT,
               "%s: found a mesh compressed by Draco, but this build does not have that library",
               reader->path);
    KD_REQUIRE(head.status == DRACO_FINE && head.attributes <= 64, KD_ERROR_INPUT,
               "%s: found bytes that Draco cannot decode, expected a mesh", reader->path);
    to->point_count = head.points;
    to->triangle_count = head.triangles;
    KD_TRY(
        array_take(reader, (void **)&to->indices, 3 * (uint64_t)head.triangles, sizeof(uint32_t)));
    for (uint64_t i = 0; i < 3 * (uint64_t)head.triangles; ++i)
        KD_REQUIRE(to->indices[i] < to->point_count, KD_ERROR_INPUT,
                   "%s: found the index %u compressed by Draco, expected below %u", reader->path,
                   to->indices[i], to->point_count);
    KD_TRY(KD_RESERVE_ZEROED(to->attributes, head.attributes));
    to->attribute_count = head.attributes;
    for (uint32_t i = 0; i < head.attributes; ++i)
        KD_TRY(attribute_take(reader, &to->attributes[i]));
    return KD_OK;
}

static kd_status draco_take(void *to, const char *path, uint64_t max_bytes, import_source source,
                            void *from) {
    draco_reader reader = {(draco_mesh *)to, path, max_bytes, source, from};
    return all_take(&reader);
}

kd_status draco_mesh_open(draco_mesh *out, const char *path, const void *bytes, uint64_t count,
                          job_control *job) {
    char file[64];
    memset(out, 0, sizeof *out);
    const int held = process_file_hold(file, sizeof file, bytes, count);
    KD_REQUIRE(held >= 0, KD_ERROR_RUNTIME, "%s: out of memory to decode it", path);
    const import_request request = {path, file, "Draco", "draco", count, job};
    const kd_status status = import_program_run(&request, draco_take, out);
    process_file_release(held);
    if (status != KD_OK) draco_mesh_close(out);
    KD_TRY(status);
    return KD_OK;
}

void draco_mesh_close(draco_mesh *owned) {
    for (uint32_t i = 0; i < owned->attribute_count && owned->attributes; ++i)
        memory_free(owned->attributes[i].values);
    memory_free(owned->attributes);
    memory_free(owned->indices);
    memset(owned, 0, sizeof *owned);
}
