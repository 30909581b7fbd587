/* kandela estimate: measures error and time of each density estimator on the same photons. */
#include "core/files/file.h"
#include "core/image_processing/compare.h"
#include "core/memory.h"
#include "photon/maps/photon_file.h"
#include "photon/maps/photon_map.h"
#include "render/api/render.h"
#include "render/integrators/integrators.h"
#include "render/integrators/vcm_techniques.h"
#include "scenes/assembly/scene.h"
#include "scenes/describe/render_options.h"
#include "tools/lab/experiment.h"
#include "tools/lab/report.h"
#include "tools/program/command.h"
#include "tools/program/output.h"
#include "tools/program/progress.h"
#include <stdio.h>
#include <string.h>

enum { RUNGS = 16, BLOCK = 4 };

typedef struct estimate_values {
    general_options general;
    const char *estimators, *ladder, *reference, *report;
    experiment_lists lists; /* with --integrators; --ladder and --estimators apply to both modes */
    kd_render_options render; /* uses its kernel, lookup and seed */
    int32_t spp;
} estimate_values;

/* Results of one estimator with one k. */
typedef struct measurement {
    int32_t gather;
    double radius, seconds, relmse, block_relmse, rmse;
} measurement;

typedef struct contender {
    char name[16];
    char estimator[16], kernel[16]; /* names as in the options */
    measurement rungs[RUNGS];
} contender;

typedef struct laboratory {
    estimate_values values;
    const char *map, *path; /* paths of the photon map and of the scene */
    contender contenders[REPORT_COLOURS];
    int contender_count, rung_count;
    int32_t ladder[RUNGS];
    scene *loaded;
    kd_render_options base;
    image reference;
    job_control job;
} laboratory;

/* --- options ---------------------------------------------------------------------------------- */

/* Default: all kernels, and the estimators that use --kernel. */
static const char *all_estimators(const char *between) {
    static char names[256];
    names[0] = '\0';
    for (int i = 0; i < PHOTON_KERNELS + PHOTON_ESTIMATORS - 1; ++i) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? between : "",
                 i < PHOTON_KERNELS ? photon_kernel_name(i)
                                    : photon_estimator_name(i - PHOTON_KERNELS + 1));
    }
    return names;
}

/* The name of a kernel stands for the first estimator with it; others use --kernel. */
static kd_status read_contender(contender *out, const char *name, const char *kernel) {
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", name);
    photon_estimator estimator;
    photon_kernel weighing;
    const bool is_kernel = photon_kernel_find(&weighing, name) == KD_OK;
    KD_REQUIRE(is_kernel || (photon_estimator_find(&estimator, name) == KD_OK && estimator > 0),
               KD_ERROR_USAGE, "unknown estimator \"%s\"; expected some of %s", name,
               all_estimators(", "));
    status_clear();
    snprintf(out->estimator, sizeof out->estimator, "%s",
             is_kernel ? photon_estimator_name(0) : name);
    snprintf(out->kernel, sizeof out->kernel, "%s", is_kernel ? name : kernel);
    return KD_OK;
}

static kd_status read_lists(laboratory *work) {
    const char *at = work->values.estimators;
    char part[16];
    while (*at) {
        KD_REQUIRE(experiment_next_part(&at, part) && work->contender_count < REPORT_COLOURS,
                   KD_ERROR_USAGE,
                   "--estimators %s: expected at most %d names, separated by commas",
                   work->values.estimators, REPORT_COLOURS);
        KD_TRY(read_contender(&work->contenders[work->contender_count++], part,
                              work->values.render.kernel));
    }
    at = work->values.ladder;
    while (*at) {
        int end = 0, k = 0;
        const bool fits = experiment_next_part(&at, part) && work->rung_count < RUNGS &&
                          sscanf(part, "%d%n", &k, &end) == 1 && !part[end] && k >= 2 &&
                          k <= (int)ESTIMATE_GATHER_MAX;
        KD_REQUIRE(
            fits, KD_ERROR_USAGE,
            "--ladder %s: expected at most %d numbers of photons from 2 to %u, separated by commas",
            work->values.ladder, RUNGS, ESTIMATE_GATHER_MAX);
        work->ladder[work->rung_count++] = k;
    }
    KD_REQUIRE(work->contender_count && work->rung_count, KD_ERROR_USAGE,
               "--estimators and --ladder must not be empty");
    return KD_OK;
}

/* `ending`: "" or "-difference". */
static void picture_name(char name[64], const contender *contender, int32_t gather,
                         const char *ending) {
    snprintf(name, 64, "%s-%d%s.png", contender->name, gather, ending);
}

/* Checks that every file of the report is writable and not an input. */
static kd_status check_report(const laboratory *work) {
    static const char *const names[] = {"estimates.csv", "error-time.svg", "error-k.svg",
                                        "index.html", "reference.png"};
    static const char *const endings[] = {"", "-difference"};
    char path[4096], file[64];
    for (int i = 0; i < 5; ++i) {
        KD_TRY(report_path(path, work->values.report, names[i]));
        KD_TRY(output_check(path));
    }
    for (int c = 0; c < work->contender_count; ++c)
        for (int i = 0; i < 2 * work->rung_count; ++i) {
            picture_name(file, &work->contenders[c], work->ladder[i / 2], endings[i % 2]);
            KD_TRY(report_path(path, work->values.report, file));
            KD_TRY(output_check(path));
        }
    KD_TRY(output_check_input(work->map));
    KD_TRY(output_check_inputs());
    return KD_OK;
}

/* --- measuring -------------------------------------------------------------------------------- */

static kd_status write_picture(const laboratory *work, const image *picture, const char *file) {
    char path[4096];
    const image_encoding encoding = {.exposure = work->base.exposure,
                                     .tonemap = work->base.tonemap};
    KD_TRY(report_path(path, work->values.report, file));
    return image_write(picture, path, &encoding);
}

static kd_status judge(measurement *out, const laboratory *work, const render_result *seen,
                       const contender *contender) {
    char path[4096], file[64];
    const image *truth = &work->reference;
    image difference;
    const image_encoding encoding = {.exposure = 0, .tonemap = KD_TONEMAP_LINEAR};
    picture_name(file, contender, out->gather, "-difference");
    KD_TRY(report_path(path, work->values.report, file));
    KD_TRY(compare_images(&out->relmse, &seen->picture, truth, COMPARE_RELMSE, 1, &difference));
    const kd_status status = image_write(&difference, path, &encoding);
    image_close(&difference);
    KD_TRY(status);
    KD_TRY(compare_images(&out->block_relmse, &seen->picture, truth, COMPARE_RELMSE, BLOCK, NULL));
    KD_TRY(compare_images(&out->rmse, &seen->picture, truth, COMPARE_RMSE, 1, NULL));
    picture_name(file, contender, out->gather, "");
    return write_picture(work, &seen->picture, file);
}

static kd_status measure(laboratory *work, contender *contender, int rung) {
    measurement *out = &contender->rungs[rung];
    kd_render_options options = work->base;
    render_result seen;
    memset(options.estimator, 0, sizeof options.estimator);
    memset(options.kernel, 0, sizeof options.kernel);
    strcpy(options.estimator, contender->estimator);
    strcpy(options.kernel, contender->kernel);
    options.gather = out->gather = work->ladder[rung];
    const double before = job_seconds(&work->job, "render");
    const kd_status status = render_run(&seen, work->loaded, &options, &work->job);
    if (status == KD_INTERRUPTED) render_close(&seen);
    KD_TRY(status);
    out->seconds = job_seconds(&work->job, "render") - before;
    out->radius = seen.frame.radius;
    const kd_status judged = judge(out, work, &seen, contender);
    render_close(&seen);
    KD_TRY(judged);
    printf("%-14s %5d %10.4g %9.3f %10.3e %10.3e\n", contender->name, out->gather, out->radius,
           out->seconds, out->relmse, out->block_relmse);
    fflush(stdout);
    return KD_OK;
}

/* --- the report ------------------------------------------------------------------------------- */

static kd_status write_table(const laboratory *work) {
    char path[4096];
    file_output output;
    KD_TRY(report_path(path, work->values.report, "estimates.csv"));
    KD_TRY(file_output_open(&output, path));
    fputs("estimator,kernel,k,radius,seconds,relmse,relmse_blocks,rmse\n", output.stream);
    for (int c = 0; c < work->contender_count; ++c)
        for (int r = 0; r < work->rung_count; ++r) {
            const contender *contender = &work->contenders[c];
            const measurement *m = &contender->rungs[r];
            fprintf(output.stream, "%s,%s,%d,%.9g,%.6g,%.9g,%.9g,%.9g\n", contender->name,
                    contender->kernel, m->gather, m->radius, m->seconds, m->relmse, m->block_relmse,
                    m->rmse);
        }
    KD_TRY(file_output_commit(&output));
    puts(path);
    return KD_OK;
}

/* Opens reference, scene and the report's folder, and sets the options of all renderings. */
static kd_status prepare(laboratory *work) {
    kd_render_options *base = &work->base;
    KD_TRY(image_read(&work->reference, work->values.reference));
    kd_render_options_default(base);
    render_options_take_input(base, &work->values.render);
    KD_TRY(scene_open(&work->loaded, work->path, base, &work->job));
    KD_TRY(report_make_folder(work->values.report));
    memset(base->crop, 0, sizeof base->crop);
    base->width = work->reference.width;
    base->height = work->reference.height;
    base->spp = work->values.spp;
    base->seed = work->values.render.seed;
    base->threads = work->values.general.threads;
    memset(base->lookup, 0, sizeof base->lookup);
    strcpy(base->lookup, work->values.render.lookup);
    base->radius = 0;
    base->batches = 1;
    base->time_seconds = base->target_error = 0;
    return KD_OK;
}

static kd_status experiment_of_map(laboratory *work) {
    KD_TRY(read_lists(work));
    KD_TRY(prepare(work));
    KD_TRY(check_report(work));
    memset(work->base.integrator, 0, sizeof work->base.integrator);
    strcpy(work->base.integrator, "photon");
    work->base.photon_map = work->map;
    work->base.final_gather = 0;
    general_note("%d estimators by %d numbers of photons, %dx%d pixels, %d samples each",
                 work->contender_count, work->rung_count, work->base.width, work->base.height,
                 work->base.spp);
    printf("%-14s %5s %10s %9s %10s %10s\n", "estimator", "k", "radius", "seconds", "relMSE",
           "of blocks");
    KD_TRY(write_picture(work, &work->reference, "reference.png"));
    for (int c = 0; c < work->contender_count; ++c)
        for (int r = 0; r < work->rung_count; ++r) KD_TRY(measure(work, &work->contenders[c], r));
    KD_TRY(write_table(work));
    KD_TRY(report_write(work->values.report, "Density estimates against a reference",
                        "Each estimator uses the same photons, with each number k per estimate. "
                        "relMSE is the mean squared error against the reference, relative to each "
                        "pixel's brightness: less is better."));
    return KD_OK;
}

/* --- integrators ------------------------------------------------------------------------------ */

/* Writes pictures of the weighted shares of vcm's techniques, and a table of their shares of the
   picture's light. */
static kd_status write_shares(laboratory *work) {
    static const char *const names[] = {"all", "eye", "lamps", "splat", "merge"};
    const scene_view view = scene_get_view(work->loaded);
    char path[4096], file[64];
    double whole = 0;
    file_output table;
    kd_status status = KD_OK;
    KD_TRY(report_path(path, work->values.report, "shares.csv"));
    KD_TRY(file_output_open(&table, path));
    fputs("technique,luminance,share\n", table.stream);
    for (int i = 0; i < (vcm_scene_has_lenses(&view) ? 5 : 4) && status == KD_OK; ++i) {
        kd_render_options options = work->base;
        render_result seen;
        memset(options.integrator, 0, sizeof options.integrator);
        strcpy(options.integrator, "vcm");
        strcpy(options.show_techniques, names[i]);
        status = render_run(&seen, work->loaded, &options, &work->job);
        if (status != KD_OK && status != KD_INTERRUPTED) break;
        const float *mean = seen.mean_radiance;
        const double light = (double)vec3_luminance(vec3_make(mean[0], mean[1], mean[2]));
        if (i == 0) whole = light;
        fprintf(table.stream, "%s,%.9g,%.9g\n", names[i], light, whole > 0 ? light / whole : 0);
        snprintf(file, sizeof file, "share-%s.png", names[i]);
        if (status == KD_OK) status = write_picture(work, &seen.picture, file);
        render_close(&seen);
    }
    const kd_status written = file_output_commit(&table);
    return status == KD_OK ? written : status;
}

static kd_status compare_integrators(laboratory *work, bool replace_estimators) {
    static experiment made;
    memset(&made, 0, sizeof made);
    experiment_lists *lists = &work->values.lists;
    if (replace_estimators) lists->estimators = work->values.estimators;
    lists->ladders[VARY_NEIGHBOURS] = work->values.ladder;
    KD_TRY(experiment_read(&made, lists));
    KD_TRY(prepare(work));
    made.scene_path = work->path;
    made.folder = work->values.report;
    made.loaded = work->loaded;
    made.reference = &work->reference;
    made.base = work->base;
    made.job = &work->job;
    KD_TRY(KD_RESERVE_ZEROED(made.trials, EXPERIMENT_TRIALS));
    kd_status status = experiment_run(&made);
    for (int i = 0; i < made.method_count && status == KD_OK; ++i)
        if (made.methods[i] == integrator_find("vcm")) status = write_shares(work);
    if (status == KD_INTERRUPTED)
        general_note("interrupted; run the same command to resume from %s/experiment.jsonl",
                     work->values.report);
    if (status == KD_OK) status = experiment_report(&made);
    memory_free(made.trials);
    return status;
}

static kd_status run(const option_line *line) {
    static laboratory work; /* static: a late signal may still access its job */
    work.values = (estimate_values){.estimators = all_estimators(","),
                                    .ladder = "10,20,50,100,200,400",
                                    .report = "estimate",
                                    .lists = experiment_lists_usual,
                                    .spp = 16};
    kd_render_options_default(&work.values.render);
    KD_TRY(option_line_apply(line, &work.values));
    general_apply(&work.values.general);
    const int arguments = work.values.lists.integrators ? 1 : 2;
    KD_TRY(command_arguments(line, &command_estimate, arguments, arguments));
    KD_REQUIRE(work.values.reference, KD_ERROR_USAGE,
               "a reference image is needed: set --reference");
    work.map = line->arguments[0];
    work.path = line->arguments[arguments - 1];
    job_init(&work.job);
    interrupt_watch(&work.job, true);
    const kd_status status = work.values.lists.integrators
                                 ? compare_integrators(&work, option_line_has(line, "estimators"))
                                 : experiment_of_map(&work);
    image_close(&work.reference);
    scene_close(work.loaded);
    return status;
}

#define LADDER(option, text, usual, axis)                                                          \
    {                                                                                              \
        .name = option, .argument = "N,N,N", .help = "with --integrators: " text,                  \
        .initial = usual, .kind = OPTION_TEXT, OPTION_FIELD(estimate_values, lists.ladders[axis])  \
    }

static const option_row rows[] = {
    {OPTION_ROW(estimate_values, "reference", OPTION_TEXT, reference), .argument = "REF.exr",
     .help =
         "reference picture, by path tracing with many samples; sets the resolution (required)"},
    {OPTION_ROW(estimate_values, "estimators", OPTION_TEXT, estimators), .argument = "A,B,C",
     .initial_help = "all",
     .help = "density estimators: names of kernels (the k nearest photons), fixed (one radius for "
             "all), adaptive (up to k photons)"},
    {OPTION_ROW(estimate_values, "ladder", OPTION_TEXT, ladder), .argument = "K,K,K",
     .initial = "10,20,50,100,200,400", .help = "photons per density estimate"},
    {OPTION_ROW(estimate_values, "integrators", OPTION_TEXT, lists.integrators),
     .argument = "A,B,C",
     .help = "compare integrators instead, varying one parameter at a time; continues an "
             "interrupted run"},
    {OPTION_ROW(estimate_values, "views", OPTION_TEXT, lists.lookups), .argument = "A,B",
     .initial = "visible",
     .help = "with --integrators: visible (direct visualisation), precomputed or gathered (final "
             "gather)"},
    LADDER("spp-ladder", "samples per pixel", "1,4,16,64", VARY_SAMPLES),
    LADDER("photons-ladder", "photons stored", "10K,40K,160K", VARY_PHOTONS),
    LADDER("radius-ladder", "radius, relative to the default of an estimator", "0.25,0.5,1,2",
           VARY_RADIUS),
    LADDER("passes-ladder", "passes", "1,4,16", VARY_PASSES),
    LADDER("alpha-ladder", "alpha", "0.5,0.7,0.9", VARY_ALPHA),
    {OPTION_ROW(estimate_values, "spp", OPTION_INT32, spp), .argument = "N", .initial = "16",
     .minimum = 1, .maximum = 1 << 24,
     .help = "samples per pixel; their noise is part of every error"},
    {OPTION_ROW(estimate_values, "report", OPTION_TEXT, report), .argument = "FOLDER",
     .initial = "estimate", .help = "folder for index.html, tables, plots and pictures"},
    {.name = NULL}};

static const option_group groups[] = {
    {"Experiment", rows, 0, NULL},
    {"Photons", render_photon_rows, offsetof(estimate_values, render), "kernel"},
    {"Photons", render_lab_rows, offsetof(estimate_values, render), "lookup"},
    {"Photons", render_method_rows, offsetof(estimate_values, render), "seed"},
    {"Scene", render_input_rows, offsetof(estimate_values, render), NULL},
    GENERAL_GROUP(estimate_values),
    {NULL, NULL, 0, NULL}};

static const help_pair examples[] = {
    {"kandela estimate map.kdp scene.json --reference ref.exr --report out",
     "compare all estimators on the photons of a file"},
    {"kandela estimate scene.json --integrators path,photon,sppm --reference ref.exr",
     "compare integrators"},
    {NULL, NULL}};

const subcommand command_estimate = {
    .laboratory = true,
    .name = "estimate",
    .arguments = "MAP SCENE | SCENE --integrators A,B,C",
    .summary = "compare density estimators or integrators: error against time",
    .description =
        "Renders SCENE from the photons of MAP (written by kandela photons) with each density "
        "estimator and each number k of photons per estimate, compares the pictures with the "
        "reference, and writes tables, plots and the pictures.\n\n"
        "With --integrators, each integrator renders SCENE while samples, photons, k, radius, "
        "passes and alpha are varied one after the other. For vcm, the report also shows the "
        "weighted share of the picture "
        "that each of its techniques finds, at --spp samples.",
    .examples = examples,
    .groups = groups,
    .run = run,
};
