/* kandela bench: measures, and says it in a table and in JSON lines. */
#include "tools/bench/bench.h"
#include "tools/program/line/general.h"
#include "tools/program/line/verb.h"
#include "tools/program/output.h"
#include <errno.h>
#include <string.h>

typedef struct bench_values {
    general_options general;
    const char *sizes, *builders, *devices, *models, *sets, *counts, *json, *table, *dims, *splits;
    double radius, traversal_cost;
    int32_t runs, stride;
    bool quick, unique, doubles, tune;
} bench_values;

typedef struct bench_kind {
    const char *name;
    kd_status (*run)(const bench_request *request);
} bench_kind;

static const bench_kind kinds[] = {{"points", bench_points}, {"knn", bench_knn},
                                   {"build", bench_build},   {"trace", bench_trace},
                                   {"load", bench_load},     {"photons", bench_photons},
                                   {"frame", bench_frame},   {NULL, NULL}};

static kd_status split(bench_names *out, const char *text) {
    memset(out, 0, sizeof *out);
    if (!text) return KD_OK;
    KD_REQUIRE(strlen(text) < sizeof out->text, KD_ERROR_USAGE,
               "a list of %zu characters: too long", strlen(text));
    memcpy(out->text, text, strlen(text) + 1);
    char *rest = NULL;
    for (char *item = strtok_r(out->text, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        KD_REQUIRE(out->count < BENCH_LIST_MAX, KD_ERROR_USAGE, "more than %d items in \"%s\"",
                   BENCH_LIST_MAX, text);
        out->items[out->count++] = item;
    }
    return KD_OK;
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
    request->radius = values->radius;
    request->traversal_cost = values->traversal_cost;
    request->runs = values->runs;
    request->stride = values->stride;
    request->quick = values->quick;
    request->unique = values->unique;
    request->doubles = values->doubles;
    request->tune = values->tune;
    return KD_OK;
}

static kd_status find_kind(const bench_kind **out, const char *name) {
    for (*out = kinds; (*out)->name; ++*out)
        if (strcmp((*out)->name, name) == 0) return KD_OK;
    char names[128] = "";
    for (const bench_kind *row = kinds; row->name; ++row) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", row->name);
    }
    KD_FAIL(KD_ERROR_USAGE, "unknown benchmark \"%s\", expected one of: %s", name, names);
}

/* Behind the lines that earlier runs left there: a run that ends early keeps what it measured. */
static kd_status open_lines(bench_request *request, const char *path) {
    if (!path) return KD_OK;
    KD_TRY(output_check(path));
    for (int i = 0; i < request->models.count; ++i)
        KD_TRY(output_check_input(request->models.items[i]));
    request->json = fopen(path, "ab");
    KD_REQUIRE(request->json, KD_ERROR_RUNTIME, "%s: cannot write: %s", path, strerror(errno));
    return KD_OK;
}

static kd_status run(const option_line *line) {
    bench_values values = {.runs = 5};
    KD_TRY(option_line_apply(line, &values));
    general_apply(&values.general);
    KD_TRY(verb_arguments(line, &verb_bench, values.table ? 0 : 1, values.table ? 0 : 1));
    const bench_kind *kind = NULL;
    if (!values.table) KD_TRY(find_kind(&kind, line->arguments[0]));
    bench_request request;
    KD_TRY(fill_request(&request, &values));
    KD_TRY(open_lines(&request, values.json));
    kd_status status = kind ? kind->run(&request) : bench_table(values.table, &request);
    if (request.json && fclose(request.json) != 0 && status == KD_OK)
        KD_FAIL(KD_ERROR_RUNTIME, "%s: cannot write: %s", values.json, strerror(errno));
    return status;
}

#define LIST(option, argument_name, text, member)                                                  \
    {                                                                                              \
        .name = option, .argument = argument_name, .help = text, .kind = OPTION_TEXT,              \
        OPTION_FIELD(bench_values, member)                                                         \
    }
static const option_row rows[] = {
    LIST("sizes", "N,...", "how many points or triangles: 10000, 1M, 1e8", sizes),
    LIST("builders", "NAME,...", "only these builders", builders),
    LIST("devices", "NAME,...", "only these devices: cpu, cuda:0", devices),
    LIST("models", "FILE,...", "meshes to measure with, gen:NAME:N too", models),
    LIST("sets", "NAME,...",
         "point sets: uniform, photon, clustered, stretched, sorted, ties, equal; for knn image: "
         "what a camera sees of photon",
         sets),
    LIST("dims", "K,...", "dimensions of points, 3 at first", dims),
    LIST("splits", "NAME,...", "only these split rules: round-robin, widest", splits),
    LIST("k", "K,...", "neighbours per query", counts),
    {.name = "radius",
     .argument = "R",
     .help = "knn: queries within a radius too, the same for all and one each",
     .kind = OPTION_DOUBLE,
     .least = 0,
     .most = 1e30,
     OPTION_FIELD(bench_values, radius)},
    {.name = "traversal-cost",
     .argument = "C",
     .help = "trace: C_t of the trees, 0 the default",
     .kind = OPTION_DOUBLE,
     .least = 0,
     .most = 1e30,
     OPTION_FIELD(bench_values, traversal_cost)},
    LIST("json", "FILE", "results as JSON lines, added to what the file holds", json),
    LIST("table", "NAME", "a paper's table: wald-build, wald-query, robinson, wehr, choi-ye",
         table),
    {.name = "runs",
     .argument = "N",
     .help = "timed runs, after one that is not; their median counts",
     .initial = "5",
     .kind = OPTION_INT32,
     .least = 1,
     .most = BENCH_RUNS_MAX,
     OPTION_FIELD(bench_values, runs)},
    {.name = "stride",
     .argument = "BYTES",
     .help = "from a point to the next; 0: packed. 16 with three dimensions: float4 and payload",
     .initial = "0",
     .kind = OPTION_INT32,
     .least = 0,
     .most = 4096,
     OPTION_FIELD(bench_values, stride)},
    {.name = "double",
     .help = "coordinates of points are doubles",
     .kind = OPTION_FLAG,
     OPTION_FIELD(bench_values, doubles)},
    {.name = "unique",
     .help = "keep one of equal points, by the builders that do",
     .kind = OPTION_FLAG,
     OPTION_FIELD(bench_values, unique)},
    {.name = "tune",
     .help = "points: search the best parameters of wehr and print them",
     .kind = OPTION_FLAG,
     OPTION_FIELD(bench_values, tune)},
    {.name = "quick",
     .help = "small sizes: a try in seconds",
     .kind = OPTION_FLAG,
     OPTION_FIELD(bench_values, quick)},
    {.name = NULL}};

static const option_group groups[] = {
    {"Options", rows, 0}, GENERAL_GROUP(bench_values), {NULL, NULL, 0}};

const verb verb_bench = {
    .name = "bench",
    .arguments = "points|knn|build|trace|load|photons|frame",
    .summary = "measure builders and queries, each checked before it is timed",
    .description =
        "points: left-balanced point k-d trees by every builder on every device. knn: the k "
        "nearest on a CUDA device by every method (named by --builders). build: triangle trees by "
        "every builder, at which SAH cost. trace: rays per second by every caster on the trees of "
        "the builders asked for. load: OBJ files read, in bytes per second. photons: photons "
        "stored per second and their trees, in the scenes that --models names, by --sizes photons "
        "in all. frame: a pass of sppm and a sample of photon at 1920 x 1080, stage by stage; "
        "--builders names the integrators, --k the neighbours.",
    .groups = groups,
    .run = run,
};
