/* Error and time of integrators against a reference picture, for series of numbers of photons,
   neighbours, radii, passes and alpha. Each series ("ladder") varies one parameter of a common
   base. Every measurement is written immediately as a line of JSON, so an interrupted run can
   continue. */
#ifndef KD_TOOLS_LAB_EXPERIMENT_H
#define KD_TOOLS_LAB_EXPERIMENT_H
#include "core/image/image.h"
#include "core/job.h"
#include "render/frame/integrator.h"
#include "scenes/assembly/scene.h"

enum { EXPERIMENT_TRIALS = 512, EXPERIMENT_RUNGS = 16, EXPERIMENT_METHODS = 8 };

/* The parameter that a ladder varies. */
typedef enum experiment_axis {
    VARY_SAMPLES = 0,
    VARY_PHOTONS = 1,
    VARY_NEIGHBOURS = 2,
    VARY_RADIUS = 3,
    VARY_PASSES = 4,
    VARY_ALPHA = 5,
    VARY_AXES = 6
} experiment_axis;
extern const char *const experiment_axis_names[VARY_AXES];

typedef struct experiment_ladder {
    double rungs[EXPERIMENT_RUNGS];
    int count;
} experiment_ladder;

typedef struct experiment_trial {
    const char *integrator; /* name in the integrator's row */
    char estimator[16], lookup[16];
    experiment_axis varies;
    double settings[VARY_AXES]; /* radius in scene units; 0: from the density of photons */
    double seconds, relmse, block_relmse, rmse;
    bool measured;
} experiment_trial;

typedef struct experiment {
    const char *scene_path, *folder;
    scene *loaded;
    const image *reference;
    kd_render_options base;
    experiment_ladder ladders[VARY_AXES];
    const integrator *methods[EXPERIMENT_METHODS];
    int method_count;
    char estimators[EXPERIMENT_METHODS][16];
    int estimator_count;
    char lookups[3][16]; /* "visible", "precomputed", "gathered" */
    int lookup_count;
    experiment_trial *trials; /* capacity EXPERIMENT_TRIALS */
    int trial_count;
    uint64_t identity; /* hash of reference, scene path, size and seed, which all lines of a file
                          share */
    job_control *job;
} experiment;

/* Options: names and numbers separated by commas; suffixes K and M. */
typedef struct experiment_lists {
    const char *integrators, *estimators, *lookups;
    const char *ladders[VARY_AXES]; /* radii: factors of the radius from the density of photons */
} experiment_lists;
extern const experiment_lists experiment_lists_usual; /* no integrators */

/* Returns the next item of a comma-separated list; false at the end or if it is too long. */
bool experiment_next_part(const char **at, char out[16]);
/* Parses integrators, estimators, lookups and ladders. KD_ERROR_USAGE names the option. */
kd_status experiment_read(experiment *out, const experiment_lists *lists);
/* Creates the trials and measures those that are not yet in FOLDER/experiment.jsonl. After
   KD_INTERRUPTED the file contains the finished measurements. */
kd_status experiment_run(experiment *work);
/* Writes experiment.csv, figure-*.svg and index.html to the folder. */
kd_status experiment_report(const experiment *work);

#endif
