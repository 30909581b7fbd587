/* Writes the statistics of a rendering as JSON; tools/README.md documents the names. */
#ifndef KD_RENDER_API_STATS_H
#define KD_RENDER_API_STATS_H
#include "core/job.h"
#include "render/api/render.h"

/* Incremented if a name is removed or changes its meaning, not if names are added. */
enum { STATS_SCHEMA = 1 };

typedef struct stats_input {
    const char *scene; /* name given by the caller */
    const kd_render_options *options;
    const render_result *result;
    const job_control *job;    /* source of the stage times */
    double total_seconds;      /* since the start of the program */
    const char *outcome;       /* "complete", "target error", "time limit", "interrupted" */
    const maps_choice *choice; /* distribution of photons; NULL: one process */
} stats_input;

/* Writes to a temporary file, then renames it. Returns KD_ERROR_RUNTIME on failure. */
kd_status stats_write(const char *path, const stats_input *input);

#endif
