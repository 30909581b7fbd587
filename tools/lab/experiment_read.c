/* What an experiment is asked, as text. */
#include "photon/density/estimators.h"
#include "render/integrators/integrators.h"
#include "tools/lab/experiment.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const experiment_lists experiment_lists_usual = {
    NULL,
    "nearest,fixed,adaptive",
    "visible",
    {"1,4,16,64", "10K,40K,160K", "10,20,50,100", "0.25,0.5,1,2", "1,4,16", "0.5,0.7,0.9"}};

static const struct {
    const char *option;
    double least, most;
} limits[VARY_AXES] = {{"--spp-ladder", 1, 1 << 24}, {"--photons-ladder", 1, 1e12},
                       {"--ladder", 2, 1024},        {"--radius-ladder", 1e-3, 1e3},
                       {"--passes-ladder", 1, 1e6},  {"--alpha-ladder", 0.01, 1}};

/* The next part of a list up to a comma; false at its end or if it is too long. */
static bool next_part(const char **at, char out[16]) {
    const size_t length = strcspn(*at, ",");
    if (length == 0 || length >= 16) return false;
    memcpy(out, *at, length);
    out[length] = '\0';
    *at += length + ((*at)[length] == ',');
    return true;
}

static kd_status read_ladder(experiment_ladder *out, const char *text, int axis) {
    const double least = limits[axis].least, most = limits[axis].most;
    out->count = 0;
    for (const char *at = text; *at;) {
        char *end = NULL;
        double value = strtod(at, &end);
        if (*end == 'K' || *end == 'M') value *= *end++ == 'K' ? 1e3 : 1e6;
        KD_REQUIRE(end != at && (*end == ',' || !*end) && value >= least && value <= most &&
                       out->count < EXPERIMENT_RUNGS,
                   KD_ERROR_USAGE,
                   "%s %s: expected at most %d numbers from %g to %g, with commas between",
                   limits[axis].option, text, EXPERIMENT_RUNGS, least, most);
        out->rungs[out->count++] = value;
        at = *end ? end + 1 : end;
    }
    KD_REQUIRE(out->count, KD_ERROR_USAGE, "%s is empty, expected numbers", limits[axis].option);
    return KD_OK;
}

static kd_status read_methods(experiment *out, const char *list) {
    char part[16];
    for (const char *at = list; *at;) {
        KD_REQUIRE(next_part(&at, part) && out->method_count < EXPERIMENT_METHODS, KD_ERROR_USAGE,
                   "--integrators %s: expected at most %d names with commas between", list,
                   EXPERIMENT_METHODS);
        const integrator *row = integrator_find(part);
        KD_REQUIRE(row, KD_ERROR_USAGE,
                   "--integrators: no integrator \"%s\"; kandela info lists all", part);
        out->methods[out->method_count++] = row;
    }
    KD_REQUIRE(out->method_count, KD_ERROR_USAGE, "--integrators is empty, expected names");
    return KD_OK;
}

static kd_status read_estimators(experiment *out, const char *list) {
    char part[16];
    for (const char *at = list; *at; ++out->estimator_count) {
        photon_estimator found;
        KD_REQUIRE(next_part(&at, part) && out->estimator_count < EXPERIMENT_METHODS &&
                       photon_estimator_find(&found, part) == KD_OK,
                   KD_ERROR_USAGE, "--estimators %s: expected some of nearest, fixed, adaptive",
                   list);
        snprintf(out->estimators[out->estimator_count], 16, "%s", part);
    }
    return KD_OK;
}

static kd_status read_lookups(experiment *out, const char *list) {
    static const char *const looks[] = {"visible", "precomputed", "gathered"};
    char part[16];
    for (const char *at = list; *at; ++out->lookup_count) {
        int known = 0;
        const bool read = out->lookup_count < 3 && next_part(&at, part);
        while (read && known < 3 && strcmp(part, looks[known]) != 0) ++known;
        KD_REQUIRE(read && known < 3, KD_ERROR_USAGE,
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
