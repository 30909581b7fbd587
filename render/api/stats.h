/* The figures of a rendering as a JSON file; its names are documented in tools/README.md. */
#ifndef KD_RENDER_API_STATS_H
#define KD_RENDER_API_STATS_H
#include "core/job.h"
#include "distributed/render/maps_choice.h"
#include "render/api/render.h"

/* Raised when a name changes its meaning or goes; new names alone do not raise it. */
enum { STATS_SCHEMA = 1 };

typedef struct stats_input {
    const char *scene; /* as the caller named it */
    const kd_render_options *options;
    const render_result *result;
    const job *watched;        /* whose stages are the seconds */
    double total_seconds;      /* from the program's start on */
    const char *outcome;       /* "complete", "target error", "time limit", "interrupted" */
    const maps_choice *choice; /* how photons were spread over ranks; NULL: nothing to choose */
} stats_input;

/* Written to a temporary file and renamed. KD_ERROR_RUNTIME if it cannot be. */
kd_status stats_write(const char *path, const stats_input *input);

#endif
