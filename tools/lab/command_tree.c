/* kandela tree: prints statistics of a triangle tree, level by level. */
#include "accel/builders.h"
#include "scenes/assembly/scene.h"
#include "scenes/describe/render_options.h"
#include "tools/lab/report.h"
#include "tools/lab/tree_levels.h"
#include "tools/program/command.h"
#include "tools/program/output.h"
#include "tools/program/progress.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct tree_values {
    general_options general;
    kd_render_options render; /* uses its builder and costs */
    const char *export_path, *report;
    int32_t max_level, lines;
    bool level_stats;
} tree_values;

typedef struct xray {
    tree_values values;
    scene *loaded;
    tritree tree;
    tree_levels levels;
    job_control job;
} xray;

static void print_levels(const tree_levels *levels) {
    double expected = 0, intersected = 0, cost = 0;
    printf("%-6s %10s %10s %10s %12s %10s %10s %10s\n", "level", "nodes", "leaves", "empty",
           "references", "SAH cost", "expected", "measured");
    for (uint32_t l = 0; l < levels->count; ++l) {
        const tree_level *at = &levels->levels[l];
        printf("%-6u %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %12" PRIu64
               " %10.4f %10.4f %10.4f\n",
               l, at->nodes, at->leaves, at->empty_leaves, at->references,
               at->inner_cost + at->leaf_cost, at->expected, at->intersected);
        expected += at->expected;
        intersected += at->intersected;
        cost += at->inner_cost + at->leaf_cost;
    }
    printf("%-6s %10s %10s %10s %12s %10.4f %10.4f %10.4f\n", "all", "", "", "", "", cost, expected,
           intersected);
    printf("leaves by triangles:");
    for (int i = 0; i < LEAF_SIZES; ++i)
        if (levels->leaf_sizes[i])
            printf(" %d%s: %" PRIu64, i, i + 1 < LEAF_SIZES ? "" : "+", levels->leaf_sizes[i]);
    printf("\n");
}

static void print_summary(const xray *work, const char *path) {
    const tritree_statistics *s = &work->tree.statistics;
    const tree_levels *levels = &work->levels;
    printf("%s: %" PRIu64 " nodes, %" PRIu64 " leaves (%" PRIu64 " empty), %" PRIu64
           " references, depth %u, SAH cost %.4f\n",
           path, s->nodes, s->leaves, s->empty_leaves, s->references, s->depth, s->sah_cost);
    printf("%" PRIu64
           " lines through the box, as rays to their hits: %.2f nodes read, %.2f leaves, "
           "%.2f triangles tested\n",
           levels->lines, levels->nodes_read, levels->leaves_read, levels->triangles_tested);
}

static kd_status check_outputs(const tree_values *values, const char *path) {
    if (values->export_path) {
        KD_REQUIRE(tree_export_knows(values->export_path), KD_ERROR_USAGE,
                   "%s: unknown suffix; expected .ply, .dot or .json", values->export_path);
        KD_TRY(output_check(values->export_path));
    }
    KD_TRY(report_make_folder(values->report));
    return output_check_input(path);
}

static kd_status trace_lines(xray *work, const option_line *line) {
    tree_values *values = &work->values;
    kd_render_options from_file;
    KD_TRY(command_arguments(line, &command_tree, 1, 1));
    const char *path = line->arguments[0];
    KD_TRY(check_outputs(values, path));
    kd_render_options_default(&from_file);
    render_options_take_input(&from_file, &values->render);
    KD_TRY(scene_open(&work->loaded, path, &from_file, &work->job));
    values->render = from_file;
    KD_TRY(option_line_apply(line, values));
    KD_TRY(output_check_inputs());
    const scene_view view = scene_get_view(work->loaded);
    const kd_render_options *options = &values->render;
    const tritree_input input = {view.mesh.positions, view.mesh.triangles, view.mesh.position_count,
                                 view.mesh.triangle_count};
    const tritree_options tree_options = {options->sah_traversal_cost, options->sah_intersect_cost,
                                          options->sah_empty_factor, 0};
    KD_TRY(tritree_open(&work->tree, &input, &tree_options, options->builder, &work->job));
    tree_levels_measure(&work->levels, &work->tree, (uint64_t)values->lines);
    print_summary(work, path);
    if (values->level_stats) print_levels(&work->levels);
    if (values->export_path)
        KD_TRY(tree_export(values->export_path, &work->tree, view.origin, &work->levels,
                           (uint32_t)values->max_level));
    return values->report ? tree_report(values->report, &work->tree, &work->levels, path) : KD_OK;
}

static kd_status run(const option_line *line) {
    static xray work; /* static: a late signal may still access its job */
    job_init(&work.job);
    interrupt_watch(&work.job, false);
    work.values = (tree_values){.max_level = 6, .lines = 20000};
    kd_render_options_default(&work.values.render);
    KD_TRY(option_line_apply(line, &work.values));
    general_apply(&work.values.general);
    const kd_status status = trace_lines(&work, line);
    tritree_close(&work.tree);
    scene_close(work.loaded);
    return status;
}

static const option_row rows[] = {
    {OPTION_ROW(tree_values, "level-stats", OPTION_FLAG, level_stats),
     .help = "print for each level nodes, leaves, SAH cost, and expected and measured visits by "
             "random lines; then a histogram of leaf sizes"},
    {OPTION_ROW(tree_values, "export", OPTION_TEXT, export_path), .argument = "FILE",
     .help = "write the tree: .ply (boxes of nodes), .dot (graph) or .json (statistics of all "
             "levels)"},
    {OPTION_ROW(tree_values, "max-level", OPTION_INT32, max_level), .argument = "N", .initial = "6",
     .minimum = 0, .maximum = 60, .help = "deepest level in .ply and .dot files"},
    {OPTION_ROW(tree_values, "lines", OPTION_INT32, lines), .argument = "N", .initial = "20000",
     .minimum = 1, .maximum = 100000000,
     .help = "number of random lines for which visits are counted"},
    {OPTION_ROW(tree_values, "report", OPTION_TEXT, report), .argument = "FOLDER",
     .help = "write a page with charts of cost, visits and leaves to FOLDER/index.html"},
    {.name = NULL}};

static const option_group groups[] = {
    {"Output", rows, 0, NULL},
    {"Triangle tree", render_lab_rows, offsetof(tree_values, render),
     "builder,sah-costs,empty-factor"},
    {"Scene", render_input_rows, offsetof(tree_values, render), NULL},
    GENERAL_GROUP(tree_values),
    {NULL, NULL, 0, NULL}};

static const help_pair examples[] = {
    {"kandela tree bunny.obj --level-stats", "print statistics of every level"},
    {"kandela tree bunny.obj --export boxes.ply --max-level 4", "write the boxes of five levels"},
    {NULL, NULL}};

const subcommand command_tree = {
    .laboratory = true,
    .name = "tree",
    .arguments = "SCENE",
    .summary = "print statistics of a triangle tree: levels, leaves, SAH cost",
    .description =
        "Builds the triangle tree of a scene or mesh file and prints its statistics. The surface "
        "area heuristic predicts how many nodes a random line visits, from the ratios of the "
        "surface areas of their boxes; the prediction is compared with counts for random lines.",
    .examples = examples,
    .groups = groups,
    .run = run,
};
