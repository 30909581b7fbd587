/* Runs all checks on a mesh file and collects the problems. */
#include "scenes/check/check.h"
#include "accel/builders.h"
#include "core/files/file.h"
#include "core/growth.h"
#include "core/memory.h"
#include "core/parallel/primitives.h"
#include "core/status.h"
#include "scenes/assembly/scene_parts.h"
#include "scenes/check/check_parts.h"
#include "scenes/describe/readers.h"
#include "scenes/formats/mesh_formats.h"
#include "scenes/mesh/generate.h"
#include "scenes/mesh/origin.h"
#include "scenes/text/text.h"
#include <math.h>
#include <stdarg.h>
#include <strings.h>

static void textures_report(examination *check, const texture_store *textures) {
    for (uint32_t i = 0; i < textures->image_count; ++i) {
        const texture_image *image = &textures->images[i];
        if (image->message[0])
            check_note(check, check->path, 0, "unusable-texture", CHECK_WARNING,
                       "found a texture that cannot be used: %s", image->message);
    }
}

static kd_status light_copies_report(examination *check, const scene *made) {
    uint32_t count = 0;
    double first[3];
    KD_TRY(scene_find_light_copies(made, &count, first));
    if (count)
        check_note(check, check->path, 0, "duplicate-light", CHECK_WARNING,
                   "found %u light%s or emitting triangle%s at the place of another one, the first "
                   "at (%.6g, %.6g, %.6g); "
                   "both emit",
                   count, count > 1 ? "s" : "", count > 1 ? "s" : "", first[0], first[1], first[2]);
    return KD_OK;
}

kd_status check_refused(examination *check) {
    scene_draft draft;
    scene *made = NULL;
    kd_render_options options;
    memset(&draft, 0, sizeof draft);
    kd_render_options_default(&options);
    draft.geometry = check->body; /* borrowed: taken back below */
    KD_TRY(KD_RESERVE_ZEROED(made, 1));
    log_mute(true); /* the report contains the messages */
    kd_status status = scene_assemble_parts(made, &draft, &options);
    log_mute(false);
    if (status == KD_ERROR_INPUT) {
        check_note(check, check->path, 0, "refused", CHECK_ERROR, "%s", kd_last_error());
        status_clear();
        status = KD_OK;
    }
    if (status == KD_OK) status = light_copies_report(check, made);
    textures_report(check, &made->textures);
    memset(&draft.geometry, 0, sizeof draft.geometry);
    memset(&made->geometry, 0, sizeof made->geometry);
    scene_draft_close(&draft);
    scene_close(made);
    return status;
}

/* Counts a problem of a kind. Returns true if it is among the first CHECK_PROBLEMS. */
static bool kind_is_below_limit(check_report *report, const char *name, check_severity severity) {
    check_kind *kind = report->kinds, *end = kind + report->kind_count;
    while (kind < end && kind->name != name && strcmp(kind->name, name) != 0) ++kind;
    if (kind == end) {
        if (report->kind_count == CHECK_KINDS) return false;
        ++report->kind_count;
        kind->name = name;
        kind->severity = severity;
    }
    ++kind->count;
    if (kind->severity < severity) kind->severity = severity;
    if (kind->kept == CHECK_PROBLEMS) return false;
    ++kind->kept;
    return true;
}

static void note_keep(examination *check, const char *file, uint32_t line, const char *kind,
                      check_severity severity, const char *message) {
    check_report *report = check->report;
    ++report->problems_found;
    if (severity == CHECK_ERROR) report->renderable = false;
    if (!kind_is_below_limit(report, kind, severity)) return;
    if (KD_RESERVE_NEXT(report->problems, report->problem_count, check->capacity, 16) != KD_OK) {
        check->status = KD_ERROR_MEMORY;
        return;
    }
    check_problem *problem = &report->problems[report->problem_count++];
    problem->line = line;
    problem->kind = kind;
    problem->severity = severity;
    if (text_copy(&problem->file, file) != KD_OK || text_copy(&problem->message, message) != KD_OK)
        check->status = KD_ERROR_MEMORY;
}

void check_note(examination *check, const char *file, uint32_t line, const char *kind,
                check_severity severity, const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    note_keep(check, file, line, kind, severity, message);
}

/* Adds a problem with its line; in a format without lines, with the index of the element. */
static void note_numbered(examination *check, const uint32_t *lines, uint64_t number,
                          const char *noun, const char *kind, check_severity severity,
                          const char *message) {
    char longer[1100];
    if (!lines)
        snprintf(longer, sizeof longer, "%s %llu: %s", noun, (unsigned long long)number, message);
    note_keep(check, check->path, lines ? lines[number] : 0, kind, severity,
              lines ? message : longer);
}

void check_triangle_note(examination *check, uint64_t triangle, const char *kind,
                         check_severity severity, const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    note_numbered(check, check->lines, triangle, "triangle", kind, severity, message);
}

void check_position_note(examination *check, uint64_t position, const char *kind,
                         check_severity severity, const char *format, ...) {
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    note_numbered(check, check->position_lines, position, "vertex", kind, severity, message);
}

kd_status check_sort(uint64_t *keys, uint32_t *values, uint64_t count, uint64_t largest) {
    int bits = 0;
    char *scratch = NULL;
    while (bits < 64 && largest >> bits) ++bits;
    KD_TRY(KD_RESERVE(scratch, radix_sort_pairs_scratch_bytes(count)));
    radix_sort_pairs(keys, values, count, 0, bits, scratch);
    memory_free(scratch);
    return KD_OK;
}

kd_status check_interruption(const examination *check) {
    KD_REQUIRE(!job_cancelled(check->job), KD_INTERRUPTED, "%s: interrupted", check->path);
    return KD_OK;
}

static void on_problem(void *context, const obj_problem *problem) {
    check_note((examination *)context, problem->file, problem->line, problem->kind,
               problem->fatal ? CHECK_ERROR : CHECK_WARNING, "%s", problem->message);
}

/* Adds the error of a reader, without the file name that precedes it. */
static void reader_gave_up(examination *check) {
    char message[1024];
    const char *at = kd_last_error();
    snprintf(message, sizeof message, "%s", at);
    const size_t length = strlen(check->path);
    unsigned line = 0;
    int used = 0;
    at = message;
    if (strncmp(at, check->path, length) == 0 && at[length] == ':') {
        at += length + 1;
        unsigned column = 0;
        if (sscanf(at, "%u:%n", &line, &used) == 1) at += used;
        if (sscanf(at, "%u:%n", &column, &used) == 1) at += used;
        while (*at == ' ') ++at;
    }
    check_note(check, check->path, line, "unreadable", CHECK_ERROR, "%s", at);
}

static kd_status body_read(examination *check) {
    const obj_options options = {.problem = on_problem,
                                 .context = check,
                                 .keep_going = true,
                                 .recentre = true, /* the geometry as it is rendered */
                                 .triangle_lines = &check->lines};
    check->is_obj =
        !procedural_is_path(check->path) && mesh_reader_find(check->path)->load == obj_load;
    const kd_status status = mesh_load(&check->body, check->path, &options, check->job);
    if (status != KD_ERROR_INPUT) return status;
    reader_gave_up(check);
    status_clear();
    return KD_OK;
}

static bool emits(const mesh *mesh, uint64_t triangle) {
    return !vec3_is_zero(mesh->materials[mesh->triangle_materials[triangle]].record.emission);
}

static void counts_fill(examination *check) {
    const mesh *body = &check->body;
    check->report->vertices = body->position_count;
    check->report->faces = body->face_count;
    check->report->triangles = body->triangle_count;
    check->report->materials = body->material_count;
    for (uint64_t i = 0; i < body->triangle_count; ++i) check->report->lights += emits(body, i);
}

/* Returns true if all coordinates of the file may have been floats. */
static bool is_rounded(const mesh *body) {
    for (uint32_t i = 0; i < body->position_count; ++i) {
        double at[3];
        if (!vec3_is_finite(body->positions[i])) continue;
        origin_to_world(at, body->origin, body->positions[i]);
        for (int axis = 0; axis < 3; ++axis)
            if ((double)(float)at[axis] != at[axis]) return false;
    }
    return true;
}

/* Reports coordinates whose rounding to floats is visible at the size of the mesh, and whether they
   have been rounded in the file, which causes other problems. */
static void far_report(examination *check) {
    const mesh *body = &check->body;
    const double *o = body->origin;
    if (origin_is_zero(o)) return;
    const double size = (double)vec3_largest(box3_size(mesh_box(body)));
    const float distance = (float)fmax(fabs(o[0]), fmax(fabs(o[1]), fabs(o[2])));
    const double step = (double)nextafterf(distance, INFINITY) - (double)distance;
    if (step >= 1e-4 * size && is_rounded(body))
        check_note(
            check, check->path, 0, "far-coordinates", CHECK_WARNING,
            "found coordinates near (%.9g, %.9g, %.9g), where floats have steps of %.2g, which "
            "is %.2g %% of the size of the mesh: vertices, faces and normals are inaccurate; "
            "move the mesh to (0, 0, 0)",
            o[0], o[1], o[2], step, 100 * step / size);
    else
        check_note(check, check->path, 0, "far-coordinates", CHECK_NOTE,
                   "found coordinates near (%.9g, %.9g, %.9g), where the steps of floats are %.2g; "
                   "they are read with more digits, relative to that point",
                   o[0], o[1], o[2], step);
}

/* A point cloud can be rendered, to an empty image; a mesh without finite vertices cannot. */
static bool has_a_place(const mesh *body) {
    for (uint64_t i = 0; i < body->position_count; ++i)
        if (vec3_is_finite(body->positions[i])) return true;
    return false;
}

/* Any builder will do: the results of the ray queries do not depend on the tree. */
static kd_status tree_examine(examination *check) {
    const mesh *body = &check->body;
    const tritree_input input = {body->positions, body->triangles, body->position_count,
                                 body->triangle_count};
    const tritree_options options = tritree_options_default();
    tritree tree;
    memset(&tree, 0, sizeof tree);
    KD_TRY(tritree_open(&tree, &input, &options, "auto", check->job));
    kd_status status = check_shells(check, &tree);
    if (status == KD_OK) status = check_inwards(check, &tree);
    if (status == KD_OK) status = check_intersections(check, &tree);
    tritree_close(&tree);
    KD_TRY(status);
    return KD_OK;
}

static kd_status geometry_examine(examination *check) {
    KD_TRY(KD_RESERVE_ZEROED(check->used, check->body.position_count));
    if (check->is_obj) KD_TRY(check_text(check));
    KD_TRY(check_weld(check));
    KD_TRY(check_triangles(check));
    KD_TRY(check_interruption(check));
    KD_TRY(check_edges(check));
    KD_TRY(check_orientation(check));
    KD_TRY(check_tjunctions(check));
    KD_TRY(check_holes(check));
    KD_TRY(check_interruption(check));
    KD_TRY(tree_examine(check));
    return KD_OK;
}

static kd_status examine(examination *check) {
    KD_TRY(body_read(check));
    counts_fill(check);
    far_report(check);
    if (check->body.triangle_count > 0) {
        KD_TRY(geometry_examine(check));
    } else if (check->report->renderable) {
        check_note(check, check->path, 0, "no-faces",
                   has_a_place(&check->body) ? CHECK_WARNING : CHECK_ERROR,
                   "found no triangle, expected some");
    }
    if (check->report->lights == 0 && check->report->renderable)
        check_note(check, check->path, 0, "no-light", CHECK_NOTE,
                   "found no material that emits (Ke), expected one; a default light is used");
    if (check->report->renderable) KD_TRY(check_refused(check));
    KD_TRY(check_interruption(check));
    return check->status;
}

static void examination_close(examination *owned) {
    mesh_close(&owned->body);
    memory_free(owned->lines);
    memory_free(owned->position_lines);
    memory_free(owned->welded);
    memory_free(owned->twin);
    memory_free(owned->marks);
    memory_free(owned->used);
    memory_free(owned->edge_keys);
    memory_free(owned->edge_halves);
    memory_free(owned->shell);
    memory_free(owned->rim);
}

kd_status check_file_if(check_report *out, const char *path, const char *fixed,
                        kd_status (*allowed)(void), job_control *job) {
    examination check = {0};
    memset(out, 0, sizeof *out);
    out->renderable = true;
    check.report = out;
    check.path = path;
    check.job = job;
    kd_status status = examine(&check);
    if (status == KD_OK && fixed && allowed) status = allowed();
    if (status == KD_OK && fixed) status = check_fix(&check, fixed);
    examination_close(&check);
    return status;
}

kd_status check_file(check_report *out, const char *path, const char *fixed, job_control *job) {
    return check_file_if(out, path, fixed, NULL, job);
}

void check_close(check_report *owned) {
    for (uint64_t i = 0; i < owned->problem_count; ++i) {
        memory_free(owned->problems[i].file);
        memory_free(owned->problems[i].message);
    }
    memory_free(owned->problems);
    memset(owned, 0, sizeof *owned);
}
