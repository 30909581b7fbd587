/* The look (scenes/assembly/look.h) of a scene that is rendered, and the light of interiors, in
   which the default camera is placed. */
#ifndef KD_RENDER_API_RENDER_LOOK_H
#define KD_RENDER_API_RENDER_LOOK_H
#include "core/image/image.h"
#include "render/api/render_trees.h"
#include "scenes/assembly/look.h"

typedef struct render_look {
    scene_look shown;
    bool inside, lamp; /* the default camera is in a room; one without windows */
} render_look;

/* Hides the environment from the camera if the options name a background, and then returns true, or
   if the scene has shadow catchers. */
bool look_hide_environment(scene_view *view, const kd_render_options *options);
/* As look_hide_environment; opens the background of displayed images (NULL: transparent). */
kd_status look_show_background(image **opened, scene_view *view, const kd_render_options *options);
/* As scene_look_open, for the frame's camera and integrator. */
kd_status render_look_open(render_look *look, const scene *scene, const frame *frame,
                           scene_view *view);
/* If the scene is an interior, moves the default camera into it, and adds daylight or a lamp. */
kd_status render_look_go_inside(render_look *look, const render_trees *trees, scene_view *view,
                                frame *frame, const scene *scene);
/* Lights the room again, if there is one, after trees->moved has replaced the scene. */
kd_status render_look_move(render_look *look, const render_trees *trees, scene_view *view,
                           const frame *frame);

#endif
