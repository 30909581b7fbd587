/* The look (scenes/assembly/look.h) of a scene that is rendered, and the light of interiors, in
   which the default camera is placed. */
#ifndef KD_RENDER_API_RENDER_LOOK_H
#define KD_RENDER_API_RENDER_LOOK_H
#include "render/api/render_trees.h"
#include "scenes/assembly/look.h"

typedef struct render_look {
    scene_look shown;
    bool inside, lamp; /* the default camera is in a room; one without windows */
} render_look;

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
