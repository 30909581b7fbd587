/* kandela check: the mesh doctor's report. */
#include "core/file.h"
#include "scenes/check.h"
#include "tools/general.h"
#include "tools/interrupt.h"
#include "tools/progress.h"
#include "tools/verb.h"
#include <string.h>
#include <strings.h>

typedef struct check_values {
    general_options general;
    bool json;
    int32_t progress;
} check_values;

static kd_status run(const option_line *line) {
    check_values values = {.json = false};
    KD_TRY(option_line_apply(line, &values));
    general_apply(&values.general);
    KD_TRY(verb_arguments(line, &verb_check, 1, 1));
    const char *path = line->arguments[0];
    KD_REQUIRE(strcasecmp(file_suffix(path), ".json") != 0 || strncmp(path, "gen:", 4) == 0,
               KD_ERROR_USAGE,
               "%s: found a scene description, expected one of the mesh files that it names", path);
    static job watched; /* static: a late signal still finds it */
    job_init(&watched);
    interrupt_watch(&watched);
    progress_open(values.general.quiet ? PROGRESS_OFF : (progress_mode)values.progress, &watched);
    check_report report;
    memset(&report, 0, sizeof report);
    kd_status status = check_file(&report, path, &watched);
    progress_close();
    if (status == KD_OK)
        status =
            values.json ? check_write_json(&report, stdout) : check_write_text(&report, stdout);
    if (status == KD_OK && !report.renderable)
        status = status_fail(KD_ERROR_INPUT, __FILE__, __LINE__, "%s: it cannot be rendered", path);
    check_close(&report);
    return status;
}

static const option_row rows[] = {
    {.name = "json",
     .help = "the report as JSON: counts and problems",
     .kind = OPTION_FLAG,
     OPTION_FIELD(check_values, json)},
    {.name = "progress",
     .argument = "MODE",
     .help = "progress on stderr (auto is a bar on a terminal, else nothing)",
     .initial = "auto",
     .kind = OPTION_CHOICE,
     .choice = progress_choice,
     OPTION_FIELD(check_values, progress)},
    {.name = NULL}};

static const option_group groups[] = {
    {"Options", rows, 0}, GENERAL_GROUP(check_values), {NULL, NULL, 0}};

const verb verb_check = {
    .name = "check",
    .arguments = "FILE",
    .summary = "say what is in a mesh file and everything that is wrong with it",
    .description =
        "Prints the counts of a mesh file (vertices, faces as read, triangles, materials, lights) "
        "and every trouble with its file and line: missing textures and materials, indices out of "
        "range, NaN, zero-area and duplicate triangles, open glass, flipped normals, no light.\n\n"
        "Exit 3 if it cannot be rendered, 0 otherwise, with or without warnings.",
    .groups = groups,
    .run = run,
};
