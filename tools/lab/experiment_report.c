/* Writes an experiment as a table, plots and an HTML page. */
#include "core/files/file.h"
#include "tools/lab/experiment.h"
#include "tools/lab/report.h"
#include <string.h>

enum { NAME = 64 };

static void name_of(char out[NAME], const experiment_trial *trial) {
    snprintf(out, NAME, "%s%s%s%s%s", trial->integrator, trial->estimator[0] ? " " : "",
             trial->estimator, trial->lookup[0] ? " " : "", trial->lookup);
}

static kd_status path_of(char out[4096], const experiment *work, const char *name) {
    const int length = snprintf(out, 4096, "%s/%s", work->folder, name);
    KD_REQUIRE(length > 0 && length < 4096, KD_ERROR_USAGE, "%.60s...: the path is too long",
               work->folder);
    return KD_OK;
}

static kd_status write_table(const experiment *work) {
    char path[4096];
    file_output output;
    KD_TRY(path_of(path, work, "experiment.csv"));
    KD_TRY(file_output_open(&output, path));
    fputs("integrator,estimator,lookup,varies", output.stream);
    for (int i = 0; i < VARY_AXES; ++i) fprintf(output.stream, ",%s", experiment_axis_names[i]);
    fputs(",seconds,relmse,relmse_blocks,rmse\n", output.stream);
    for (int t = 0; t < work->trial_count; ++t) {
        const experiment_trial *trial = &work->trials[t];
        fprintf(output.stream, "%s,%s,%s,%s", trial->integrator, trial->estimator, trial->lookup,
                experiment_axis_names[trial->varies]);
        for (int i = 0; i < VARY_AXES; ++i) fprintf(output.stream, ",%.9g", trial->settings[i]);
        fprintf(output.stream, ",%.6g,%.9g,%.9g,%.9g\n", trial->seconds, trial->relmse,
                trial->block_relmse, trial->rmse);
    }
    return file_output_commit(&output);
}

typedef struct curves {
    plot_point points[EXPERIMENT_TRIALS];
    char names[PLOT_SERIES][NAME];
    plot_series series[PLOT_SERIES];
    int count, used, left_out;
} curves;

static bool is_on(const experiment_trial *trial, int axis) {
    return axis < 0 || (int)trial->varies == axis;
}

/* Collects the curve of one name, of at least two points. `axis` below 0: all trials, against
   seconds. */
static void add_curve(curves *curves, const experiment *work, const char *name, int axis) {
    plot_point *points = curves->points + curves->used;
    int count = 0;
    for (int i = 0; i < work->trial_count; ++i) {
        const experiment_trial *trial = &work->trials[i];
        char trial_name[NAME];
        name_of(trial_name, trial);
        if (strcmp(trial_name, name) != 0 || !is_on(trial, axis)) continue;
        const double x = axis < 0 ? trial->seconds : trial->settings[axis];
        const plot_point point = {x, trial->relmse, ""};
        int place = count++;
        for (; place > 0 && points[place - 1].x > x; --place) points[place] = points[place - 1];
        points[place] = point;
    }
    if (count < 2) return;
    if (curves->count == PLOT_SERIES) {
        ++curves->left_out;
        return;
    }
    memcpy(curves->names[curves->count], name, NAME);
    curves->series[curves->count] = (plot_series){curves->names[curves->count], points, count};
    ++curves->count;
    curves->used += count;
}

static void gather(curves *curves, const experiment *work, int axis) {
    memset(curves, 0, sizeof *curves);
    for (int i = 0; i < work->trial_count; ++i) {
        char name[NAME], earlier[NAME];
        bool first = true;
        name_of(name, &work->trials[i]);
        for (int j = 0; j < i && first; ++j) {
            name_of(earlier, &work->trials[j]);
            first = strcmp(name, earlier) != 0;
        }
        if (first) add_curve(curves, work, name, axis);
    }
}

static kd_status write_plot(const experiment *work, int axis, const char *x_label) {
    static curves gathered; /* static: too large for the stack */
    char file[64], title[96];
    gather(&gathered, work, axis);
    if (gathered.count == 0) return KD_OK;
    snprintf(file, sizeof file, "figure-error-%s",
             axis < 0 ? "seconds" : experiment_axis_names[axis]);
    snprintf(title, sizeof title, "relMSE against %s%s", x_label,
             gathered.left_out ? " (further curves in the table)" : "");
    const plot made = {.title = title,
                       .x_label = x_label,
                       .y_label = "relMSE",
                       .series = gathered.series,
                       .series_count = gathered.count,
                       .scattered = axis < 0};
    return report_plot(work->folder, file, &made);
}

kd_status experiment_report(const experiment *work) {
    static const char *const labels[VARY_AXES] = {
        "samples per pixel",    "photons stored", "photons per estimate k",
        "radius [scene units]", "passes",         "alpha"};
    char text[512];
    KD_TRY(write_table(work));
    KD_TRY(write_plot(work, -1, "time of photons, their trees and rendering [s]"));
    for (int axis = 0; axis < VARY_AXES; ++axis) KD_TRY(write_plot(work, axis, labels[axis]));
    snprintf(text, sizeof text,
             "Each curve varies one parameter and keeps the others. relMSE is the mean squared "
             "error against the reference, relative to each pixel's brightness: less is better. An "
             "exponent of -1 means that twice the work halves it. Scene: %.200s.",
             work->scene_path);
    return report_write(work->folder, "Integrators against a reference", text);
}
