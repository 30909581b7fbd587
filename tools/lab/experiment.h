/* Integrators against a reference: which of them is how far from the truth after how long, and what
   photons, neighbours, radius, passes and alpha do to it. One ladder is climbed at a time from a
   common base. Every measurement is a line of JSON the moment it is made, so that a run that was
   interrupted goes on where it stopped. */
#ifndef KD_TOOLS_LAB_EXPERIMENT_H
#define KD_TOOLS_LAB_EXPERIMENT_H
#include "core/image/image.h"
#include "core/job.h"
#include "render/frame/integrator.h"
#include "scenes/assembly/scene.h"

enum { EXPERIMENT_TRIALS = 512, EXPERIMENT_RUNGS = 16, EXPERIMENT_METHODS = 8 };

/* What a ladder varies. */
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
    const char *integrator; /* of its row */
    char estimator[16], lookup[16];
    experiment_axis varies;
    double settings[VARY_AXES]; /* radius in scene units, 0: chosen by the photons */
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
    experiment_trial *trials; /* EXPERIMENT_TRIALS of them */
    int trial_count;
    uint64_t
        identity; /* of reference, scene file's name, size and seed: what lines must agree in */
    job *watched;
} experiment;

/* What is asked, names and numbers with commas between; K and M are allowed. */
typedef struct experiment_lists {
    const char *integrators, *estimators, *lookups;
    const char *ladders[VARY_AXES]; /* of radii: times the one that photons choose */
} experiment_lists;
extern const experiment_lists experiment_lists_usual; /* no integrators */

/* Methods, estimators, lookups and ladders; KD_ERROR_USAGE names the option. */
kd_status experiment_read(experiment *out, const experiment_lists *lists);
/* Makes the trials and measures those that the folder's experiment.jsonl does not hold yet.
   KD_INTERRUPTED leaves the lines of what was measured. */
kd_status experiment_run(experiment *work);
/* experiment.csv, figure-*.svg and index.html in the folder. */
kd_status experiment_report(const experiment *work);

#endif
