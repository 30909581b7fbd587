/* kandela check: reports problems of a mesh file, and fixes some. */
#include "core/files/file.h"
#include "scenes/check/check.h"
#include "scenes/describe/render_options.h"
#include "scenes/text/paths.h"
#include "tools/program/output.h"
#include "tools/program/progress.h"
#include "tools/program/verb.h"
#include <string.h>
#include <strings.h>

typedef struct check_values {
    general_options general;
    kd_render_options render; /* options for reading files */
    bool json;
    const char *fix;
    int32_t progress;
} check_values;

/* Ensures that --fix does not overwrite an input: the mesh now, materials and textures later. */
static kd_status fix_examine(const char *path, const char *fixed) {
    if (!fixed) return KD_OK;
    KD_REQUIRE(strcasecmp(file_suffix(fixed), ".obj") == 0, KD_ERROR_USAGE,
               "--fix %s: expected the name of an .obj file", fixed);
    KD_TRY(output_check(fixed));
    KD_TRY(output_check_input(path));
    return KD_OK;
}

static kd_status run(const option_line *line) {
    check_values values = {.json = false};
    KD_TRY(option_line_apply(line, &values));
    general_apply(&values.general);
    KD_TRY(verb_arguments(line, &verb_check, 1, 1));
    const char *path = line->arguments[0];
    KD_REQUIRE(strcasecmp(file_suffix(path), ".json") != 0 || strncmp(path, "gen:", 4) == 0,
               KD_ERROR_USAGE,
               "%s: found a scene description, expected one of the mesh files that it names", path);
    KD_TRY(fix_examine(path, values.fix));
    static job watched; /* static, because a late signal may still access it */
    job_init(&watched);
    interrupt_watch(&watched, false);
    progress_open(values.general.quiet ? PROGRESS_OFF : (progress_mode)values.progress, &watched);
    check_report report;
    memset(&report, 0, sizeof report);
    path_scope scope;
    path_scope_begin(&scope, path, values.render.allow_outside);
    kd_status status = check_file_if(&report, path, values.fix, output_check_inputs, &watched);
    path_scope_end(&scope);
    progress_close();
    if (status != KD_INTERRUPTED) {
        const kd_status told =
            values.json ? check_write_json(&report, stdout) : check_write_text(&report, stdout);
        if (status == KD_OK) status = told;
    }
    if (status == KD_OK && !report.renderable)
        status = status_fail(KD_ERROR_INPUT, __FILE__, __LINE__, "%s: it cannot be rendered", path);
    check_close(&report);
    return status;
}

static const option_row rows[] = {
    {.name = "fix",
     .argument = "OUT.obj",
     .help = "also write the mesh with what can be mended safely: vertices at one place welded, "
             "unused ones, faces without area and duplicates of one material dropped, flipped "
             "faces and bodies "
             "wound inwards turned",
     .kind = OPTION_TEXT,
     OPTION_FIELD(check_values, fix)},
    {.name = "json",
     .help = "the report as JSON: counts, kinds and problems",
     .kind = OPTION_FLAG,
     OPTION_FIELD(check_values, json)},
    PROGRESS_ROW(check_values),
    {.name = NULL}};

static const option_group groups[] = {
    {"Options", rows, 0, NULL},
    {"Scene files", render_input_rows, offsetof(check_values, render), NULL},
    GENERAL_GROUP(check_values),
    {NULL, NULL, 0, NULL}};

const verb verb_check = {
    .name = "check",
    .arguments = "FILE",
    .summary = "say what is in a mesh file and everything that is wrong with it",
    .description =
        "Prints the counts of a mesh file (vertices, faces as read, triangles, materials, lights) "
        "and every trouble with its file and line, its severity and the name of its kind:\n\n"
        "error: it cannot be rendered: indices out of range, malformed lines, light that adds up "
        "to infinity; the same that a rendering refuses.\n\n"
        "warning: it may show in a picture or stop who wants a solid: missing textures and "
        "materials, NaN, zero-area, duplicate-triangle, reversed-duplicate, non-manifold-edge, "
        "flipped-face, inside-out, non-orientable, t-junction, self-intersection, "
        "crossed-polygon, repeated-corner, zero-normal, flipped-normal, texture-without-uv, "
        "open-glass, inside-out-glass.\n\n"
        "note: it may be meant: hole, non-manifold-vertex, unused-vertex, unwelded-vertex, "
        "sliver, bent-polygon, no-light; polygons-unfinished, t-junctions-unfinished, "
        "inside-out-unfinished, "
        "intersections-unfinished where heaps of triangles at one place would take too long.\n\n"
        "At most 100 of each kind are listed, all are counted. --fix keeps everything else of an "
        "OBJ (groups, materials, texture coordinates, polygons) line by line; of other formats, "
        "materials become groups.\n\n"
        "Exit 3 if there is an error, 0 otherwise, with or without warnings and notes.",
    .groups = groups,
    .run = run,
};
