/* kandela bench: runs benchmarks, writes the results as a table, as JSON lines and as a report,
   and compares results. */
#include "core/files/file.h"
#include "tools/lab/bench/bench.h"
#include "tools/lab/papers.h"
#include "tools/lab/report.h"
#include "tools/lab/results.h"
#include "tools/program/command.h"
#include "tools/program/output.h"
#include <errno.h>
#include <kandela/version.h>
#include <stdlib.h>
#include <string.h>

typedef struct bench_values {
    general_options general;
    const char *sizes, *builders, *devices, *models, *sets, *counts, *json, *table, *dims, *splits;
    const char *report, *max_regress, *queries;
    double radius, traversal_cost;
    int32_t runs, stride, kernel_k;
    bool quick, unique, doubles, tune;
} bench_values;

typedef struct bench_kind {
    const char *name;
    kd_status (*run)(const bench_request *request);
    bool needs_cuda, needs_models;
} bench_kind;

static const bench_kind kinds[] = {
    {"points", bench_points, false, false},   {"knn", bench_knn, true, false},
    {"build", bench_build, false, false},     {"trace", bench_trace, false, false},
    {"load", bench_load, false, true},        {"photons", bench_photons, false, false},
    {"frame", bench_frame, true, false},      {"scaling", bench_scaling, false, false},
    {"changes", bench_changes, false, false}, {"calls", bench_calls, true, false},
    {"worlds", bench_worlds, false, false},   {NULL, NULL, false, false}};

static kd_status split(bench_names *out, const char *text) {
    memset(out, 0, sizeof *out);
    if (!text) return KD_OK;
    KD_REQUIRE(strlen(text) < sizeof out->text, KD_ERROR_USAGE,
               "a list of %zu characters is too long; shorten it", strlen(text));
    memcpy(out->text, text, strlen(text) + 1);
    char *rest = NULL;
    for (char *item = strtok_r(out->text, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        KD_REQUIRE(out->count < BENCH_LIST_MAX, KD_ERROR_USAGE, "more than %d items in \"%s\"",
                   BENCH_LIST_MAX, text);
        out->items[out->count++] = item;
    }
    return KD_OK;
}

static kd_status read_queries(uint64_t *out, const char *text) {
    bench_names one;
    KD_TRY(split(&one, text));
    KD_REQUIRE(one.count == 1, KD_ERROR_USAGE, "--queries %s: expected one number", text);
    return bench_count(out, &one, 0);
}

static kd_status fill_request(bench_request *request, const bench_values *values) {
    memset(request, 0, sizeof *request);
    KD_TRY(split(&request->sizes, values->sizes));
    KD_TRY(split(&request->builders, values->builders));
    KD_TRY(split(&request->devices, values->devices));
    KD_TRY(split(&request->models, values->models));
    KD_TRY(split(&request->sets, values->sets));
    KD_TRY(split(&request->counts, values->counts));
    KD_TRY(split(&request->dims, values->dims));
    KD_TRY(split(&request->splits, values->splits));
    if (values->queries) KD_TRY(read_queries(&request->queries, values->queries));
    request->kernel_k = values->kernel_k;
    request->radius = values->radius;
    request->traversal_cost = values->traversal_cost;
    request->runs = values->runs;
    request->stride = values->stride;
    request->quick = values->quick;
    request->unique = values->unique;
    request->doubles = values->doubles;
    request->tune = values->tune;
    request->folder = values->report;
    return KD_OK;
}

/* Returns NULL if no benchmark has the name. */
static const bench_kind *find_kind(const char *name) {
    for (const bench_kind *row = kinds; row->name; ++row)
        if (strcmp(row->name, name) == 0) return row;
    return NULL;
}

static kd_status fail_kind(const char *name) {
    char names[160] = "";
    for (const bench_kind *row = kinds; row->name; ++row) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s, ", row->name);
    }
    KD_FAIL(KD_ERROR_USAGE, "unknown benchmark \"%s\"; expected one of: %scompare, report", name,
            names);
}

/* Opens the file to append to earlier runs, or a new file; lines are kept if the run ends early. */
static kd_status open_lines(bench_request *request, const char *path, bool overwrite) {
    if (!path) return KD_OK;
    KD_TRY(output_check(path));
    for (int i = 0; i < request->models.count; ++i)
        KD_TRY(output_check_input(request->models.items[i]));
    request->json = fopen(path, overwrite ? "wb" : "ab");
    KD_REQUIRE(request->json, KD_ERROR_RUNTIME, "%s: cannot write: %s", path, strerror(errno));
    return KD_OK;
}

/* Creates the folder if necessary, and opens its file of results. */
static kd_status report_lines(char out[4096], const char *folder) {
    KD_TRY(report_make_folder(folder));
    return report_path(out, folder, "results.jsonl");
}

static bool same_file(const char *a, const char *b) {
    file_identity of_a, of_b;
    return file_identify(&of_a, a) != FILE_ABSENT && file_identify(&of_b, b) != FILE_ABSENT &&
           of_a.device == of_b.device && of_a.number == of_b.number;
}

static kd_status copy_file(const char *to, const char *from) {
    file_view view;
    file_output output;
    KD_TRY(file_open(&view, from));
    kd_status status = file_output_open(&output, to);
    if (status == KD_OK) {
        fwrite(view.bytes, 1, view.count, output.stream);
        status = file_output_commit(&output);
    }
    file_close(&view);
    return status;
}

static bool is_empty(const char *path) {
    FILE *file = fopen(path, "rb");
    const bool empty = file && fgetc(file) == EOF && !ferror(file);
    if (file) fclose(file);
    return empty;
}

/* `may_be_empty`: a figure of a paper may have a picture but no lines. */
static kd_status write_page(const char *lines, const char *folder, bool may_be_empty) {
    results measured;
    memset(&measured, 0, sizeof measured);
    const bool empty = may_be_empty && is_empty(lines);
    char page[4096], title[64];
    if (!empty) KD_TRY(results_open(&measured, lines));
    kd_status status = report_lines(page, folder);
    if (status == KD_OK && !empty && !same_file(lines, page)) status = copy_file(page, lines);
    if (status == KD_OK) status = report_table(folder, &measured);
    results_close(&measured);
    snprintf(title, sizeof title, "Kandela %s: measurements", kd_version());
    return status == KD_OK ? report_write(folder, title, "") : status;
}

/* Runs one benchmark, a paper's table, or all benchmarks in order. */
static kd_status measure(const bench_kind *kind, const char *table, const bench_request *request) {
    if (table) return bench_table(table, request);
    if (kind) return kind->run(request);
    for (const bench_kind *row = kinds; row->name; ++row) {
        const char *lacking = row->needs_cuda && device_cuda_count() == 0       ? "a CUDA device"
                              : row->needs_models && request->models.count == 0 ? "--models"
                                                                                : NULL;
        if (lacking) {
            general_note("bench %s: skipped, because it needs %s", row->name, lacking);
            continue;
        }
        KD_TRY(row->run(request));
    }
    return KD_OK;
}

static kd_status measure_to_files(const bench_kind *kind, const bench_values *values) {
    bench_request request;
    KD_TRY(fill_request(&request, values));
    char lines[4096];
    const char *json = values->json;
    const bool overwrite = values->report && !json; /* a report contains this run only */
    if (values->report) KD_TRY(report_lines(lines, values->report));
    if (overwrite) json = lines;
    KD_TRY(open_lines(&request, json, overwrite));
    kd_status status = measure(kind, values->table, &request);
    if (request.json && fclose(request.json) != 0 && status == KD_OK)
        KD_FAIL(KD_ERROR_RUNTIME, "%s: cannot write: %s", json, strerror(errno));
    if (status == KD_OK && values->report)
        status = write_page(json, values->report, values->table != NULL);
    return status;
}

/* "3%", "3" or "2.5%" as 0.03, 0.03, 0.025 */
static kd_status read_percent(double *out, const char *text) {
    char *end = NULL;
    const double value = strtod(text, &end);
    KD_REQUIRE(end != text && (*end == '\0' || strcmp(end, "%") == 0) && value >= 0 &&
                   value <= 1000,
               KD_ERROR_USAGE, "--max-regress %s: expected a percentage such as 3%%", text);
    *out = value / 100;
    return KD_OK;
}

static kd_status compare_files(const bench_values *values, char *const *paths) {
    double maximum = 0;
    KD_TRY(read_percent(&maximum, values->max_regress ? values->max_regress : "3%"));
    results older, newer;
    memset(&newer, 0, sizeof newer);
    KD_TRY(results_open(&older, paths[0]));
    kd_status status = results_open(&newer, paths[1]);
    if (status == KD_OK) status = compare_results(&older, &newer, maximum);
    results_close(&newer);
    results_close(&older);
    return status;
}

static kd_status run(const option_line *line) {
    bench_values values = {.runs = 5};
    KD_TRY(option_line_apply(line, &values));
    general_apply(&values.general);
    const char *word = line->argument_count ? line->arguments[0] : "";
    if (strcmp(word, "compare") == 0) {
        KD_TRY(command_arguments(line, &command_bench, 3, 3));
        return compare_files(&values, line->arguments + 1);
    }
    if (strcmp(word, "report") == 0) {
        KD_TRY(command_arguments(line, &command_bench, 2, 2));
        KD_REQUIRE(values.report, KD_ERROR_USAGE, "bench report needs --report FOLDER");
        return write_page(line->arguments[1], values.report, false);
    }
    if (values.table && strcmp(values.table, "list") == 0) {
        bench_table_list();
        return KD_OK;
    }
    const bool all = !values.table && values.quick; /* --quick alone runs all benchmarks */
    KD_TRY(
        command_arguments(line, &command_bench, values.table || all ? 0 : 1, values.table ? 0 : 1));
    const bench_kind *kind = word[0] ? find_kind(word) : NULL;
    if (word[0] && !kind) return fail_kind(word);
    return measure_to_files(kind, &values);
}

/* The benchmarks of `kinds`, in their order, and the actions. */
static const help_pair benchmarks[] = {
    {"points", "build left-balanced point k-d trees with every builder on every device"},
    {"knn", "find k nearest neighbours on a CUDA device with every method"},
    {"build", "build triangle trees with every builder; prints their SAH cost"},
    {"trace", "trace rays with every ray kernel through trees of every builder"},
    {"load", "read OBJ files (--models)"},
    {"photons", "emit photons and build photon maps; --sizes: photons, --models: scenes"},
    {"frame", "render one pass of sppm and one sample of photon at 1920x1080 on a CUDA device, by "
              "stages; --builders: integrators, --k: photons per estimate"},
    {"scaling", "measure time against size; prints the exponent, and that expected by theory"},
    {"changes", "insert and delete points in dynamic trees, compared with rebuilding them"},
    {"calls", "time calls of the points API on a CUDA device: small batches, self-queries"},
    {"worlds", "cast 10,000 lidar rays in each of 1,000 worlds of moving meshes; --sizes: worlds"},
    {"compare OLD NEW",
     "compare two files of results; the exit status is 6 if a row, or the mean, is "
     "slower than --max-regress permits"},
    {"report FILE", "write a page (--report) about a file of results"},
    {NULL, NULL}};

#define LIST(option, argument_name, text, usual, member)                                           \
    {                                                                                              \
        .name = option, .argument = argument_name, .help = text, .initial_help = usual,            \
        .kind = OPTION_TEXT, OPTION_FIELD(bench_values, member)                                    \
    }

static const option_row input_rows[] = {
    LIST("sizes", "N,...", "numbers of points, triangles or photons (10000, 1M, 1e8)", NULL, sizes),
    LIST("builders", "NAME,...", "builders, methods or integrators to measure", "all", builders),
    LIST("devices", "NAME,...", "devices to measure, such as cpu,cuda:0", "all", devices),
    LIST("models", "FILE,...", "mesh files or scenes to measure with; gen:NAME:N also works", NULL,
         models),
    LIST("sets", "NAME,...",
         "point sets: uniform, photon, clustered, stretched, sorted, ties, equal; knn: also image",
         NULL, sets),
    LIST("dims", "K,...", "dimensions of the points", "3", dims),
    LIST("splits", "NAME,...", "split rules: round-robin, widest", "all", splits),
    {OPTION_ROW(bench_values, "stride", OPTION_INT32, stride), .argument = "BYTES", .initial = "0",
     .minimum = 0, .maximum = 4096, .unit = "bytes",
     .help = "distance between points in memory, such as 16 for float4; 0: packed"},
    {OPTION_ROW(bench_values, "double", OPTION_FLAG, doubles),
     .help = "use points with double coordinates"},
    {OPTION_ROW(bench_values, "unique", OPTION_FLAG, unique),
     .help = "merge equal points, with builders that support it"},
    LIST("k", "K,...", "neighbours per query", NULL, counts),
    LIST("queries", "N", "knn: number of queries", "10M", queries),
    {OPTION_ROW(bench_values, "kernel-k", OPTION_INT32, kernel_k), .argument = "K", .initial = "0",
     .minimum = 0, .maximum = 4096,
     .help = "knn: use the CUDA kernels for K neighbours; 0: those for --k"},
    {OPTION_ROW(bench_values, "radius", OPTION_DOUBLE, radius), .argument = "R", .minimum = 0,
     .maximum = 1e30,
     .help = "knn: also measure radius queries, with one radius for all and with one per query"},
    {OPTION_ROW(bench_values, "traversal-cost", OPTION_DOUBLE, traversal_cost), .argument = "C",
     .initial = "0", .minimum = 0, .maximum = 1e30,
     .help = "trace: SAH cost of a traversal step; 0: default"},
    LIST(
        "table", "NAME",
        "reproduce a table or figure of a paper, such as wald-build, wehr-2 or wehr-figure5; list: "
        "print all names",
        NULL, table),
    {OPTION_ROW(bench_values, "tune", OPTION_FLAG, tune),
     .help = "points: search the best parameters of the builder wehr and print them"},
    {OPTION_ROW(bench_values, "quick", OPTION_FLAG, quick),
     .help = "measure small sizes only; without BENCHMARK: all benchmarks"},
    {.name = NULL}};

static const option_row output_rows[] = {
    {OPTION_ROW(bench_values, "report", OPTION_TEXT, report), .argument = "FOLDER",
     .short_name = 'o', .help = "write a page with tables and plots to FOLDER/index.html"},
    LIST("json", "FILE", "append the results to FILE as JSON lines", NULL, json),
    {OPTION_ROW(bench_values, "runs", OPTION_INT32, runs), .argument = "N", .initial = "5",
     .minimum = 1, .maximum = BENCH_RUNS_MAX,
     .help = "timed runs, after one warm-up run; the median is reported"},
    {OPTION_ROW(bench_values, "max-regress", OPTION_TEXT, max_regress), .argument = "PERCENT",
     .initial = "3%", .help = "compare: permitted slowdown, beyond noise"},
    {.name = NULL}};

static const option_group groups[] = {{"Input", input_rows, 0, NULL},
                                      {"Output", output_rows, 0, NULL},
                                      GENERAL_GROUP(bench_values),
                                      {NULL, NULL, 0, NULL}};

static const help_pair examples[] = {
    {"kandela bench --quick --report out", "run all benchmarks with small sizes"},
    {"kandela bench build --models bunny.obj --builders sweep,parallel", "compare two builders"},
    {"kandela bench compare old.jsonl new.jsonl", "fail if the new results are slower"},
    {NULL, NULL}};

const subcommand command_bench = {
    .laboratory = true,
    .name = "bench",
    .arguments = "BENCHMARK | compare OLD NEW | report FILE",
    .summary = "benchmark tree builders, queries and rendering",
    .description = "Runs a benchmark and prints a table of times and rates. Results are verified "
                   "before they are timed.",
    .items_heading = "Benchmarks and actions",
    .items = benchmarks,
    .first_is_item = true,
    .examples = examples,
    .groups = groups,
    .run = run,
};
