/* kandela check: reports problems of a mesh file, and fixes some. */
#include "core/files/file.h"
#include "scenes/check/check.h"
#include "scenes/describe/render_options.h"
#include "scenes/text/paths.h"
#include "tools/program/command.h"
#include "tools/program/output.h"
#include "tools/program/progress.h"
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
               "--fix %s: the name must end in .obj", fixed);
    KD_TRY(output_check(fixed));
    KD_TRY(output_check_input(path));
    return KD_OK;
}

static kd_status run(const option_line *line) {
    check_values values = {.json = false};
    KD_TRY(option_line_apply(line, &values));
    general_apply(&values.general);
    KD_TRY(command_arguments(line, &command_check, 1, 1));
    const char *path = line->arguments[0];
    KD_REQUIRE(strcasecmp(file_suffix(path), ".json") != 0 || strncmp(path, "gen:", 4) == 0,
               KD_ERROR_USAGE,
               "%s is a scene description; check the mesh files that it names, one by one; "
               "`kandela render --plan` gives the warnings of the scene",
               path);
    KD_TRY(fix_examine(path, values.fix));
    static job_control job; /* static, because a late signal may still access it */
    job_init(&job);
    interrupt_watch(&job, false);
    progress_open(values.general.quiet ? PROGRESS_OFF : (progress_mode)values.progress, &job);
    check_report report;
    memset(&report, 0, sizeof report);
    path_scope scope;
    path_scope_begin(&scope, path, values.render.allow_outside);
    kd_status status = check_file_if(&report, path, values.fix, output_check_inputs, &job);
    path_scope_end(&scope);
    progress_close();
    if (status != KD_INTERRUPTED) {
        const kd_status reported =
            values.json ? check_write_json(&report, stdout) : check_write_text(&report, stdout);
        if (status == KD_OK) status = reported;
    }
    if (status == KD_OK && !report.renderable)
        status = status_fail(KD_ERROR_INPUT, __FILE__, __LINE__,
                             "%s cannot be rendered: it has errors", path);
    check_close(&report);
    return status;
}

static const option_row rows[] = {
    {OPTION_ROW(check_values, "fix", OPTION_TEXT, fix), .argument = "OUT.obj",
     .help = "write a repaired copy: vertices welded, degenerate and duplicate faces removed, "
             "flipped faces turned"},
    {OPTION_ROW(check_values, "json", OPTION_FLAG, json), .help = "print the report as JSON"},
    PROGRESS_ROW(check_values),
    {.name = NULL}};

static const option_group groups[] = {
    {"Output", rows, 0, NULL},
    {"Scene", render_input_rows, offsetof(check_values, render), NULL},
    GENERAL_GROUP(check_values),
    {NULL, NULL, 0, NULL}};

static const help_pair severities[] = {
    {"error", "the file cannot be rendered: malformed lines, indices out of range, emitted light "
              "that is not finite"},
    {"warning", "the picture may be wrong, or the mesh is not a solid: missing textures or "
                "materials, NaN, zero-area, duplicate-triangle, reversed-duplicate, "
                "non-manifold-edge, flipped-face, inside-out, non-orientable, t-junction, "
                "self-intersection, crossed-polygon, repeated-corner, zero-normal, flipped-normal, "
                "texture-without-uv, open-glass, inside-out-glass"},
    {"note",
     "possibly intended: hole, non-manifold-vertex, unused-vertex, unwelded-vertex, sliver, "
     "bent-polygon, no-light; or a check that was stopped because it would take too long: "
     "polygons-unfinished, t-junctions-unfinished, inside-out-unfinished, "
     "intersections-unfinished"},
    {NULL, NULL}};

static const help_pair examples[] = {
    {"kandela check model.obj", "list the problems of a mesh file"},
    {"kandela check model.stl --fix model.obj", "write a repaired mesh as OBJ"},
    {NULL, NULL}};

const subcommand command_check = {
    .name = "check",
    .arguments = "FILE",
    .summary = "list the problems of a mesh file, and repair some of them",
    .description =
        "Prints the numbers of vertices, faces, triangles, materials and lights of a mesh file, "
        "and every problem with file, line, severity and kind. At most 100 problems of each kind "
        "are listed; all are counted. The exit status is 3 if there is an error.\n\n"
        "--fix copies all other lines of an OBJ file unchanged (groups, materials, texture "
        "coordinates, polygons); from other formats, it writes a group for each material.",
    .items_heading = "Severities and kinds of problems",
    .items = severities,
    .examples = examples,
    .groups = groups,
    .run = run,
};
