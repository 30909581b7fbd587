/* The options of kandela render: the tables and the struct that they fill. */
#ifndef KD_TOOLS_PROGRAM_RENDER_VALUES_H
#define KD_TOOLS_PROGRAM_RENDER_VALUES_H
#include "shaders/scene_view.h"
#include "tools/program/command.h"
#include "tools/program/options.h"
#include "tools/program/progress.h"
#include <kandela/render.h>

struct maps_choice;
struct scene_view;

typedef struct render_values {
    general_options general;
    kd_render_options render;
    camera view;
    option_list outputs;
    const char *environment; /* replaces the scene's environment; NULL: keep it */
    const char *camera_name; /* camera of the scene's file; NULL: its first camera */
    const char *stats;       /* file name, or NULL */
    const char *display;     /* host and port, or NULL */
    int32_t progress;        /* progress_mode */
    int32_t instances;       /* render_instancing */
    int32_t frames[2];       /* first and last; both 0: one image, at render.frame */
    bool quick, resume, plan, ranks_inexact, denoise, glass_by_ni, turntable;
    uint64_t max_memory; /* bytes; 0: unlimited */
    double save_seconds; /* 0: do not save during rendering */
} render_values;

extern const option_group render_groups[];
extern const help_pair render_examples[];
extern const option_row camera_rows[]; /* --eye, --look-at, --up, --fov: fields of a camera */

/* Reduces image size, samples and photons for a fast preview. */
void render_values_quicken(kd_render_options *options);
/* Prints the bytes that each rank sends, and how photons are distributed. */
void render_values_print_choice(const render_values *values, const struct scene_view *view,
                                const struct maps_choice *choice);
/* Prints the differences of both, for --quick. */
void render_values_say_reduced(const kd_render_options *full, const kd_render_options *quick);

#endif
