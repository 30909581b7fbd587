/* The look of a scene without lights: what lights it, the ground under it, and the materials shown,
   all chosen when it is rendered. */
#ifndef KD_SCENES_ASSEMBLY_LOOK_H
#define KD_SCENES_ASSEMBLY_LOOK_H
#include "scenes/assembly/scene.h"

typedef enum look_kind {
    LOOK_AUTO,   /* a mesh file: LOOK_STUDIO, if the integrator suits it; else LOOK_PLAIN */
    LOOK_STUDIO, /* key, fill and rim light from infinity, and a ground */
    LOOK_SKY,    /* a clear sky with the sun, and a ground */
    LOOK_PLAIN   /* the default sky (scene_environment.c), without a ground */
} look_kind;

/* The parts of a scene_view that a look replaces. The struct owns its arrays. */
typedef struct scene_look {
    look_kind kind;          /* never LOOK_AUTO */
    bool chosen;             /* set by the user, not by LOOK_AUTO */
    bool exposed;            /* 8-bit pictures need no exposure */
    uint32_t triangle_count; /* triangles without the ground */
    material *materials;
    principled *layers;
    texture_view *textures;
    float *texels, *row_cdf, *column_cdf, *light_cdf;
    light *lights;
} scene_look;

/* Returns true if the default camera is look_camera: for mesh files without lights, and for other
   scenes without lights in the looks LOOK_STUDIO and LOOK_SKY. */
bool look_fits_camera(const scene *scene, const kd_render_options *options);
/* Fits the camera to the scene, from three quarters; `aspect`: width over height. */
void look_camera(camera *view, const scene *scene, float aspect);
typedef struct look_request {
    const kd_render_options *options;
    const camera *view;
    bool studio; /* LOOK_AUTO is LOOK_STUDIO for mesh files */
    bool ground; /* there may be a ground */
} look_request;

/* Gives `shown`, from scene_get_view, the look and the materials of the options: light that comes
   from where it suits the camera, and a ground if the camera is above it and no background hides
   it. Close *out after an error, too. */
kd_status scene_look_open(scene_look *out, const scene *scene, const look_request *request,
                          scene_view *shown);
/* For a camera inside an interior, once `shown` has a tree: LOOK_AUTO becomes LOOK_SKY, with the
   sun where it reaches most of what the camera sees, and an automatic exposure. `lamp`: adds a
   lamp, for rooms without windows. Sets *changed if `shown` has changed. */
kd_status scene_look_inside(scene_look *look, const scene *scene, const camera *view,
                            scene_view *shown, bool lamp, bool *changed);
/* Returns true if scene_look_inside changes the light: LOOK_AUTO is a studio. */
bool look_may_change(const scene_look *look);
void scene_look_close(scene_look *owned); /* accepts a zeroed struct */

/* look_ground.c: appends the ground to an assembled scene without lights; a scene whose size is
   near the limit of float gets none. */
kd_status scene_add_ground(scene *scene);
/* Changes the direction that is up, with the ground. The nearest axis counts. */
void scene_set_up(scene *scene, vec3 up);
/* Returns true if there is a ground and the camera is above it. */
bool look_sees_ground(const scene *scene, const camera *view);
/* Adds the ground to a view from scene_get_view. Its materials are LOOK_RINGS ones after those of
   the mesh. */
void look_show_ground(const scene *scene, scene_view *shown);
enum { LOOK_RINGS = 64 };

#endif
