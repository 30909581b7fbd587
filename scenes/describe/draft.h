/* What a description or a mesh file says of a scene, before it is assembled. */
#ifndef KD_SCENES_DESCRIBE_DRAFT_H
#define KD_SCENES_DESCRIBE_DRAFT_H
#include "core/status.h"
#include "scenes/mesh/mesh.h"
#include "shaders/camera.h"
#include "shaders/light.h"
#include "shaders/medium.h"

/* A sky without clouds, by the position of the sun. */
typedef struct clear_sky {
    vec3 sun; /* unit, y > 0: towards it */
    float turbidity;
    bool disc;   /* the sun shines, too */
    vec3 ground; /* albedo of what lies below the horizon */
} clear_sky;

typedef struct scene_draft {
    mesh geometry; /* owned; world space */
    light *lights; /* owned; all but emitting triangles and the sky: power is not set yet */
    uint32_t light_count, light_room;
    bool sky;            /* there is an environment */
    vec3 sky_radiance;   /* factor of the image, or the constant */
    char *sky_image;     /* path, NULL: constant; owned */
    float sky_rotation;  /* radians */
    bool sky_equal_area; /* the image is a square of that projection */
    bool sky_is_clear;   /* instead of an image: */
    clear_sky clear;
    medium *media;              /* owned */
    uint32_t medium_count, fog; /* index; from medium_count on: there is none */
    char *photon_map;           /* path, owned: what the options point to */
    camera view;                /* what is given of it */
    bool eye_given, look_at_given, fov_given;
    bool inside; /* a default camera stands inside */
    bool glows;  /* what emits only glows by pictures: the default sky lights it, too */
} scene_draft;

kd_status scene_draft_add_light(scene_draft *to, const light *added);
void scene_draft_close(scene_draft *owned); /* takes a zeroed one */

#endif
