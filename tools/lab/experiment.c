#include "tools/lab/experiment.h"
#include "core/files/file.h"
#include "core/hash.h"
#include "core/image_processing/compare.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/option.h"
#include "photon/density/estimators.h"
#include "render/api/render.h"
#include "render/integrators/integrators.h"
#include "scenes/assembly/scene.h"
#include "tools/lab/report.h"
#include "tools/program/command.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4 };

const char *const experiment_axis_names[VARY_AXES] = {"spp",    "photons", "k",
                                                      "radius", "passes",  "alpha"};

/* --- the trials ------------------------------------------------------------------------------- */

static bool same_settings(const experiment_trial *a, const experiment_trial *b) {
    for (int i = 0; i < VARY_AXES; ++i)
        if (a->settings[i] != b->settings[i]) return false;
    return strcmp(a->integrator, b->integrator) == 0 && strcmp(a->estimator, b->estimator) == 0 &&
           strcmp(a->lookup, b->lookup) == 0;
}

/* Adds trials with the values of one ladder and the base otherwise. */
static kd_status add_ladder(experiment *work, const experiment_trial *base, experiment_axis axis) {
    for (int i = 0; i < work->ladders[axis].count; ++i) {
        KD_REQUIRE(work->trial_count < EXPERIMENT_TRIALS, KD_ERROR_USAGE,
                   "too many combinations (limit: %d); shorten the lists", EXPERIMENT_TRIALS);
        experiment_trial *trial = &work->trials[work->trial_count++];
        *trial = *base;
        trial->varies = axis;
        trial->settings[axis] = work->ladders[axis].rungs[i];
    }
    return KD_OK;
}

static double middle_of(const experiment_ladder *ladder) {
    return ladder->count ? ladder->rungs[ladder->count / 2] : 0;
}

static double last_of(const experiment_ladder *ladder) {
    return ladder->count ? ladder->rungs[ladder->count - 1] : 0;
}

/* Adds trials of all estimators and lookups, for integrators that look up photons. */
static kd_status add_estimates(experiment *work, experiment_trial base) {
    for (int e = 0; e < work->estimator_count; ++e)
        for (int l = 0; l < work->lookup_count; ++l) {
            snprintf(base.estimator, sizeof base.estimator, "%s", work->estimators[e]);
            snprintf(base.lookup, sizeof base.lookup, "%s", work->lookups[l]);
            KD_TRY(add_ladder(work, &base, VARY_PHOTONS));
            /* Final gather hides most differences: only the first lookup gets all ladders. */
            if (l > 0) continue;
            KD_TRY(add_ladder(work, &base, VARY_NEIGHBOURS));
            KD_TRY(add_ladder(work, &base, VARY_RADIUS));
        }
    return KD_OK;
}

static kd_status add_passes(experiment *work, experiment_trial base) {
    base.settings[VARY_SAMPLES] = 1;
    base.settings[VARY_PASSES] = last_of(&work->ladders[VARY_PASSES]);
    KD_TRY(add_ladder(work, &base, VARY_PASSES));
    return add_ladder(work, &base, VARY_PHOTONS);
}

static kd_status add_method(experiment *work, const integrator *row) {
    experiment_trial base;
    memset(&base, 0, sizeof base);
    base.integrator = row->name;
    base.settings[VARY_SAMPLES] = work->base.spp;
    if (!row->maps && (!row->pass || row->passes_are_samples))
        return add_ladder(work, &base, VARY_SAMPLES);
    base.settings[VARY_PHOTONS] = middle_of(&work->ladders[VARY_PHOTONS]);
    if (!row->maps) return add_passes(work, base); /* integrators without photon maps */
    base.settings[VARY_NEIGHBOURS] = middle_of(&work->ladders[VARY_NEIGHBOURS]);
    if (!row->pass) return add_estimates(work, base);
    base.settings[VARY_SAMPLES] = 1;
    base.settings[VARY_PASSES] = last_of(&work->ladders[VARY_PASSES]);
    base.settings[VARY_ALPHA] = middle_of(&work->ladders[VARY_ALPHA]);
    KD_TRY(add_passes(work, base));
    KD_TRY(add_ladder(work, &base, VARY_RADIUS));
    return add_ladder(work, &base, VARY_ALPHA);
}

/* --- lines of JSON, written and read back ----------------------------------------------------- */

static void print_name(char out[64], const experiment_trial *trial) {
    snprintf(out, 64, "%s%s%s%s%s", trial->integrator, trial->estimator[0] ? " " : "",
             trial->estimator, trial->lookup[0] ? " " : "", trial->lookup);
}

static kd_status write_line(const experiment *work, FILE *file, const experiment_trial *trial) {
    fprintf(file, "{\"experiment\":\"%016" PRIx64 "\",\"integrator\":\"%s\",\"estimator\":\"%s\",",
            work->identity, trial->integrator, trial->estimator);
    fprintf(file, "\"lookup\":\"%s\"", trial->lookup);
    for (int i = 0; i < VARY_AXES; ++i)
        fprintf(file, ",\"%s\":%.9g", experiment_axis_names[i], trial->settings[i]);
    fprintf(file, ",\"seconds\":%.9g,\"relmse\":%.9g,\"relmse_blocks\":%.9g,\"rmse\":%.9g}\n",
            trial->seconds, trial->relmse, trial->block_relmse, trial->rmse);
    KD_REQUIRE(fflush(file) == 0 && !ferror(file), KD_ERROR_RUNTIME,
               "%s/experiment.jsonl: cannot write", work->folder);
    return KD_OK;
}

static double number_of(const cJSON *line, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(line, name);
    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

static bool has_text(const cJSON *line, const char *name, const char *text) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(line, name);
    return cJSON_IsString(item) && strcmp(item->valuestring, text) == 0;
}

static bool is_near(double a, double b) {
    return fabs(a - b) <= 1e-7 * fabs(b);
}

/* Returns true if the line measures this trial. */
static bool is_of(const experiment *work, const cJSON *line, const experiment_trial *trial) {
    char identity[32];
    snprintf(identity, sizeof identity, "%016" PRIx64, work->identity);
    bool same =
        has_text(line, "experiment", identity) && has_text(line, "integrator", trial->integrator) &&
        has_text(line, "estimator", trial->estimator) && has_text(line, "lookup", trial->lookup);
    for (int i = 0; i < VARY_AXES && same; ++i)
        same = is_near(number_of(line, experiment_axis_names[i]), trial->settings[i]);
    return same;
}

static void take_line(experiment *work, const char *text, size_t bytes) {
    cJSON *line = cJSON_ParseWithLength(text, bytes);
    for (int i = 0; line && i < work->trial_count; ++i) {
        experiment_trial *trial = &work->trials[i];
        if (!is_of(work, line, trial)) continue;
        trial->seconds = number_of(line, "seconds");
        trial->relmse = number_of(line, "relmse");
        trial->block_relmse = number_of(line, "relmse_blocks");
        trial->rmse = number_of(line, "rmse");
        trial->measured = trial->seconds >= 0 && trial->relmse >= 0;
    }
    cJSON_Delete(line);
}

/* Reads the results of an earlier run; a truncated line is measured again. */
static kd_status take_lines(experiment *work, const char *path, bool *cut) {
    file_view file;
    if (file_open(&file, path) != KD_OK) {
        status_clear();
        return KD_OK;
    }
    const char *at = file.bytes, *end = file.bytes + file.count;
    while (at < end) {
        const char *stop = (const char *)memchr(at, '\n', (size_t)(end - at));
        if (!stop) break;
        take_line(work, at, (size_t)(stop - at));
        at = stop + 1;
    }
    *cut = at < end;
    file_close(&file);
    return KD_OK;
}

/* --- measuring -------------------------------------------------------------------------------- */

#define PUT(to, text)                                                                              \
    do {                                                                                           \
        memset(to, 0, sizeof to);                                                                  \
        snprintf(to, sizeof to, "%s", text);                                                       \
    } while (0)

static void set_lookup(kd_render_options *options, const experiment *work, const char *lookup) {
    const bool visible = lookup[0] == 'v' || !lookup[0];
    options->final_gather = visible                       ? 0
                            : work->base.final_gather > 0 ? work->base.final_gather
                                                          : 16;
    options->precompute = lookup[0] == 'p';
}

static kd_render_options options_of(const experiment *work, const experiment_trial *trial) {
    kd_render_options options = work->base;
    PUT(options.integrator, trial->integrator);
    if (trial->estimator[0]) PUT(options.estimator, trial->estimator);
    options.spp = (int32_t)trial->settings[VARY_SAMPLES];
    if (trial->settings[VARY_PHOTONS] > 0)
        options.photons = (uint64_t)trial->settings[VARY_PHOTONS];
    if (trial->settings[VARY_NEIGHBOURS] > 0)
        options.gather = (int32_t)trial->settings[VARY_NEIGHBOURS];
    options.radius = (float)trial->settings[VARY_RADIUS];
    if (trial->settings[VARY_PASSES] > 0) options.passes = (int32_t)trial->settings[VARY_PASSES];
    if (trial->settings[VARY_ALPHA] > 0) options.alpha = (float)trial->settings[VARY_ALPHA];
    set_lookup(&options, work, trial->lookup);
    return options;
}

static kd_status measure(const experiment *work, experiment_trial *trial, FILE *lines) {
    const kd_render_options options = options_of(work, trial);
    render_result seen;
    const double built = job_seconds(work->job, "build"), started = timing_now();
    const kd_status status = render_run(&seen, work->loaded, &options, work->job);
    if (status == KD_INTERRUPTED) render_close(&seen);
    KD_TRY(status);
    trial->seconds = timing_now() - started - (job_seconds(work->job, "build") - built);
    const image *truth = work->reference;
    kd_status judged =
        compare_images(&trial->relmse, &seen.picture, truth, COMPARE_RELMSE, 1, NULL);
    if (judged == KD_OK)
        judged =
            compare_images(&trial->block_relmse, &seen.picture, truth, COMPARE_RELMSE, BLOCK, NULL);
    if (judged == KD_OK)
        judged = compare_images(&trial->rmse, &seen.picture, truth, COMPARE_RMSE, 1, NULL);
    render_close(&seen);
    KD_TRY(judged);
    trial->measured = true;
    return write_line(work, lines, trial);
}

static void print_trial(const experiment_trial *trial, bool again) {
    char name[64];
    print_name(name, trial);
    printf("%-28s %-8s %10.4g %9.3f %10.3e %10.3e%s\n", name, experiment_axis_names[trial->varies],
           trial->settings[trial->varies], trial->seconds, trial->relmse, trial->block_relmse,
           again ? "  (measured before)" : "");
    fflush(stdout);
}

/* A trial that is in two ladders is measured once. */
static void share(experiment *work, const experiment_trial *trial) {
    for (int i = 0; i < work->trial_count; ++i) {
        experiment_trial *to = &work->trials[i];
        if (to->measured || !same_settings(to, trial)) continue;
        const experiment_axis varies = to->varies;
        *to = *trial;
        to->varies = varies;
    }
}

static kd_status measure_all(experiment *work, FILE *lines) {
    for (int i = 0; i < work->trial_count; ++i) {
        experiment_trial *trial = &work->trials[i];
        const bool before = trial->measured;
        if (!before) {
            KD_TRY(measure(work, trial, lines));
            share(work, trial);
        }
        print_trial(trial, before);
    }
    return KD_OK;
}

/* Converts radii from factors of the radius by density to scene units. */
static kd_status find_radius(experiment *work) {
    for (int m = 0; m < work->method_count; ++m) {
        if (!work->methods[m]->maps) continue;
        experiment_trial trial;
        memset(&trial, 0, sizeof trial);
        trial.integrator = "photon";
        trial.settings[VARY_SAMPLES] = 1;
        trial.settings[VARY_PHOTONS] = middle_of(&work->ladders[VARY_PHOTONS]);
        trial.settings[VARY_NEIGHBOURS] = middle_of(&work->ladders[VARY_NEIGHBOURS]);
        kd_render_options options = options_of(work, &trial);
        options.width = options.height = 8;
        render_result seen;
        const kd_status status = render_run(&seen, work->loaded, &options, work->job);
        if (status == KD_OK || status == KD_INTERRUPTED) {
            for (int i = 0; i < work->ladders[VARY_RADIUS].count; ++i)
                work->ladders[VARY_RADIUS].rungs[i] *= seen.frame.radius;
            render_close(&seen);
        }
        return status;
    }
    return KD_OK;
}

static void identify(experiment *work) {
    const int32_t size[2] = {work->reference->width, work->reference->height};
    uint64_t identity = image_hash(work->reference);
    identity = hash_combine(identity, work->scene_path, strlen(work->scene_path));
    identity = hash_combine(identity, size, sizeof size);
    const scene_view loaded = scene_get_view(work->loaded);
    const uint64_t content = scene_hash(&loaded);
    identity = hash_combine(identity, &content, sizeof content);
    /* the options of the base that affect pictures or times */
    const kd_render_options *base = &work->base;
    const int32_t numbers[] = {base->max_depth, base->final_gather, base->precompute,
                               base->threads};
    const char *const texts[] = {base->kernel, base->lookup, base->device};
    identity = hash_combine(identity, numbers, sizeof numbers);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i)
        identity = hash_combine(identity, texts[i], strlen(texts[i]) + 1);
    work->identity = hash_combine(identity, &base->seed, sizeof base->seed);
}

kd_status experiment_run(experiment *work) {
    char path[4096];
    KD_TRY(report_path(path, work->folder, "experiment.jsonl"));
    identify(work);
    KD_TRY(find_radius(work));
    for (int i = 0; i < work->method_count; ++i) KD_TRY(add_method(work, work->methods[i]));
    bool cut = false;
    KD_TRY(take_lines(work, path, &cut));
    FILE *lines = fopen(path, "ab");
    KD_REQUIRE(lines, KD_ERROR_RUNTIME, "%s: cannot write: %s", path, strerror(errno));
    if (cut) fputc('\n', lines); /* ends a truncated line */
    printf("%-28s %-8s %10s %9s %10s %10s\n", "integrator", "varies", "value", "seconds", "relMSE",
           "of blocks");
    const kd_status status = measure_all(work, lines);
    const bool written = fclose(lines) == 0;
    KD_TRY(status);
    KD_REQUIRE(written, KD_ERROR_RUNTIME, "%s: cannot write: %s", path, strerror(errno));
    return KD_OK;
}

static kd_status write_table(const experiment *work) {
    char path[4096];
    file_output output;
    KD_TRY(report_path(path, work->folder, "experiment.csv"));
    KD_TRY(file_output_open(&output, path));
    fputs("integrator,estimator,lookup,varies", output.stream);
    for (int i = 0; i < VARY_AXES; ++i) fprintf(output.stream, ",%s", experiment_axis_names[i]);
    fputs(",seconds,relmse,relmse_blocks,rmse\n", output.stream);
    for (int t = 0; t < work->trial_count; ++t) {
        const experiment_trial *trial = &work->trials[t];
        fprintf(output.stream, "%s,%s,%s,%s", trial->integrator, trial->estimator, trial->lookup,
                experiment_axis_names[trial->varies]);
        for (int i = 0; i < VARY_AXES; ++i)
            if (trial->settings[i] > 0) /* the method has the parameter */
                fprintf(output.stream, ",%.9g", trial->settings[i]);
            else
                fputc(',', output.stream);
        fprintf(output.stream, ",%.6g,%.9g,%.9g,%.9g\n", trial->seconds, trial->relmse,
                trial->block_relmse, trial->rmse);
    }
    return file_output_commit(&output);
}

kd_status experiment_report(const experiment *work) {
    char text[512];
    KD_TRY(write_table(work));
    snprintf(text, sizeof text,
             "Each curve varies one parameter and keeps the others. relMSE is the mean squared "
             "error against the reference, relative to each pixel's brightness: less is better. An "
             "exponent of -1 means that twice the work halves it. Scene: %.200s.",
             work->scene_path);
    return report_write(work->folder, "Integrators against a reference", text);
}

const experiment_lists experiment_lists_usual = {
    NULL,
    "nearest,fixed,adaptive",
    "visible",
    {"1,4,16,64", "10K,40K,160K", "10,20,50,100", "0.25,0.5,1,2", "1,4,16", "0.5,0.7,0.9"}};

static const struct {
    const char *option;
    double minimum, maximum;
} limits[VARY_AXES] = {{"--spp-ladder", 1, 1 << 24}, {"--photons-ladder", 1, 1e12},
                       {"--ladder", 2, 1024},        {"--radius-ladder", 1e-3, 1e3},
                       {"--passes-ladder", 1, 1e6},  {"--alpha-ladder", 0.01, 1}};

bool experiment_next_part(const char **at, char out[16]) {
    const size_t length = strcspn(*at, ",");
    if (length == 0 || length >= 16) return false;
    memcpy(out, *at, length);
    out[length] = '\0';
    *at += length + ((*at)[length] == ',');
    return true;
}

static kd_status read_ladder(experiment_ladder *out, const char *text, int axis) {
    const double minimum = limits[axis].minimum, maximum = limits[axis].maximum;
    out->count = 0;
    for (const char *at = text; *at;) {
        const char *end = NULL;
        double value = (double)option_read_count(at, &end);
        if (!end) { /* radii and alpha are fractions */
            char *stop = NULL;
            value = strtod(at, &stop);
            if (stop != at) end = stop;
        }
        KD_REQUIRE(end && (*end == ',' || !*end) && value >= minimum && value <= maximum &&
                       out->count < EXPERIMENT_RUNGS,
                   KD_ERROR_USAGE,
                   "%s %s: expected at most %d numbers from %g to %g, separated by commas",
                   limits[axis].option, text, EXPERIMENT_RUNGS, minimum, maximum);
        out->rungs[out->count++] = value;
        at = *end ? end + 1 : end;
    }
    KD_REQUIRE(out->count, KD_ERROR_USAGE, "%s is empty; expected numbers", limits[axis].option);
    return KD_OK;
}

static kd_status read_methods(experiment *out, const char *list) {
    char part[16];
    for (const char *at = list; *at;) {
        KD_REQUIRE(experiment_next_part(&at, part) && out->method_count < EXPERIMENT_METHODS,
                   KD_ERROR_USAGE,
                   "--integrators %s: expected at most %d names, separated by commas", list,
                   EXPERIMENT_METHODS);
        const integrator *row = integrator_find(part);
        KD_REQUIRE(row, KD_ERROR_USAGE,
                   "--integrators: unknown integrator \"%s\"; kandela info lists all", part);
        out->methods[out->method_count++] = row;
    }
    KD_REQUIRE(out->method_count, KD_ERROR_USAGE, "--integrators is empty; expected names");
    return KD_OK;
}

static kd_status read_estimators(experiment *out, const char *list) {
    char part[16];
    for (const char *at = list; *at; ++out->estimator_count) {
        photon_estimator estimator;
        KD_REQUIRE(experiment_next_part(&at, part) && out->estimator_count < EXPERIMENT_METHODS &&
                       photon_estimator_find(&estimator, part) == KD_OK,
                   KD_ERROR_USAGE, "--estimators %s: expected some of nearest, fixed, adaptive",
                   list);
        snprintf(out->estimators[out->estimator_count], 16, "%s", part);
    }
    return KD_OK;
}

static kd_status read_lookups(experiment *out, const char *list) {
    static const char *const names[] = {"visible", "precomputed", "gathered"};
    char part[16];
    for (const char *at = list; *at; ++out->lookup_count) {
        int index = 0;
        const bool read = out->lookup_count < 3 && experiment_next_part(&at, part);
        while (read && index < 3 && strcmp(part, names[index]) != 0) ++index;
        KD_REQUIRE(read && index < 3, KD_ERROR_USAGE,
                   "--views %s: expected some of visible, precomputed, gathered", list);
        snprintf(out->lookups[out->lookup_count], 16, "%s", part);
    }
    return KD_OK;
}

kd_status experiment_read(experiment *out, const experiment_lists *lists) {
    KD_TRY(read_methods(out, lists->integrators));
    KD_TRY(read_estimators(out, lists->estimators));
    KD_TRY(read_lookups(out, lists->lookups));
    for (int axis = 0; axis < VARY_AXES; ++axis)
        KD_TRY(read_ladder(&out->ladders[axis], lists->ladders[axis], axis));
    return KD_OK;
}
