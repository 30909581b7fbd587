/* What kandela render is told: its tables of options and the struct that they fill. */
#ifndef KD_TOOLS_PROGRAM_RENDER_VALUES_H
#define KD_TOOLS_PROGRAM_RENDER_VALUES_H
#include "distributed/render/maps_choice.h"
#include "shaders/scene_view.h"
#include "tools/program/options.h"
#include "tools/program/progress.h"
#include "tools/program/verb.h"
#include <kandela/render.h>

struct scene_view;

typedef struct render_values {
    general_options general;
    kd_render_options render;
    camera view;
    option_list outputs;
    const char *environment; /* picture that lights the scene; NULL: the scene's */
    const char *camera_name; /* of those in the file; NULL: the scene's */
    const char *stats;       /* NULL: none */
    const char *display;     /* NULL: none */
    int32_t progress;        /* progress_mode */
    int32_t placements;      /* render_placing */
    int32_t frames[2];       /* first and last; both 0: one picture, of the frame of `render` */
    bool quick, resume, plan, ranks_inexact, denoise, glass_by_ni, turntable;
    uint64_t max_memory; /* bytes; 0: no limit */
    double save_seconds; /* 0: not on the way */
} render_values;

extern const option_group render_groups[];
extern const option_row camera_rows[]; /* --eye, --look-at, --up, --fov: fields of a camera */

/* Bounds what costs time, for a preview. */
void render_values_quicken(kd_render_options *options);
/* Bytes that one of several ranks sends, and how its photons are spread. */
void render_values_print_choice(const render_values *of, const struct scene_view *view,
                                const maps_choice *choice);
/* Says what differs between the two. */
void render_values_say_reduced(const kd_render_options *full, const kd_render_options *quick);

#endif
