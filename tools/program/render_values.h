/* The options of kandela render: the tables and the struct that they fill. */
#ifndef KD_TOOLS_PROGRAM_RENDER_VALUES_H
#define KD_TOOLS_PROGRAM_RENDER_VALUES_H
#include "shaders/scene_view.h"
#include "tools/program/command.h"
#include "tools/program/options.h"
#include "tools/program/progress.h"
#include <kandela/render.h>

struct maps_choice;
struct scene;
struct ranks;

/* The fields of a camera that options set. Positions are in the coordinates of the scene's files;
   a camera has them relative to the scene's origin. */
typedef struct camera_values {
    double eye[3], look_at[3];
    vec3 up;
    float fov_degrees, lens_radius, focus_distance, tall;
} camera_values;

typedef struct render_values {
    general_options general;
    kd_render_options render;
    camera_values view;
    option_list outputs;
    char format[8];          /* format of a picture on standard output; empty: png */
    const char *environment; /* replaces the scene's environment; NULL: keep it */
    const char *camera_name; /* camera of the scene's file; NULL: its first camera */
    const char *stats;       /* file name, or NULL */
    const char *display;     /* host and port, or NULL */
    /* of the live view: address and port, NULL: the default; a picture to compare with */
    const char *serve, *reference;
    int32_t progress;  /* progress_mode */
    int32_t side;      /* scene_side_name; 0: the camera of the scene */
    int32_t instances; /* render_instancing */
    int32_t frames[2]; /* first and last; both 0: one image, at render.frame */
    bool quick, resume, plan, ranks_inexact, denoise, glass_by_ni, turntable;
    uint64_t max_memory; /* bytes; 0: unlimited */
    double save_seconds; /* 0: do not save during rendering */
} render_values;

extern const option_group render_groups[], serve_groups[];
extern const help_pair render_examples[], serve_examples[];
extern const option_row camera_rows[]; /* --eye, --look-at, --up, --fov: of camera_values */

camera_values camera_values_of(const camera *view, const double origin[3]);
/* Sets the fields of `view` that differ between `before`, which was made of it, and `after`. */
void camera_values_apply(camera *view, const camera_values *before, const camera_values *after,
                         const double origin[3]);

/* Fits the camera to the scene: from the side of --view, or from three quarters if it is the
   default one of a look (look_fits_camera) and options change it. Else the default camera is fitted
   by render_run. Applies --up to the scene, and --fov and --up to the camera. */
kd_status render_values_fit(const render_values *values, const option_line *line,
                            struct scene *scene, camera *view);

/* If a host has several ranks, gives each its own device and a share of the cores, unless the
   options say otherwise. */
void render_values_place(const struct ranks *comm, kd_render_options *options,
                         const option_line *line);

/* Reduces image size, samples, passes and photons for a fast preview by the integrator `method`. */
void render_values_quicken(kd_render_options *options, const char *method);
/* Checks memory against --max-memory, chooses the number of batches, and prints with --plan the
   bytes that the rendering needs and, if there are ranks, those that each of them sends, and how
   photons are distributed. */
kd_status render_values_plan(render_values *values, const struct scene *loaded, struct ranks *comm,
                             struct maps_choice *choice);
/* Prints the differences of both, for --quick. */
void render_values_say_reduced(const kd_render_options *full, const kd_render_options *quick);

#endif
