/* What a description or a mesh file says of a scene, before it is assembled. */
#ifndef KD_SCENES_DESCRIBE_DRAFT_H
#define KD_SCENES_DESCRIBE_DRAFT_H
#include "accel/placed.h"
#include "core/status.h"
#include "scenes/describe/keyframes.h"
#include "scenes/mesh/mesh.h"
#include "shaders/material.h"
#include "shaders/scene_view.h"

/* A sky without clouds, by the position of the sun. */
typedef struct clear_sky {
    vec3 sun; /* unit, y > 0: towards it */
    float turbidity;
    bool disc;   /* the sun shines, too */
    vec3 ground; /* albedo of what lies below the horizon */
} clear_sky;

/* A run of the geometry that is placed, in a space of its own. */
typedef struct draft_shape {
    uint32_t first, count;             /* triangles */
    uint32_t position, position_count; /* vertices that these alone have */
    uint32_t normal, normal_count;     /* likewise */
    uint32_t turned;                   /* the shape that is this one turned round; KD_NONE: none */
} draft_shape;

typedef struct scene_draft {
    mesh geometry;         /* owned; world space, but for shapes, whose triangles are the last */
    draft_shape *shapes;   /* owned */
    placement *placements; /* owned */
    uint32_t shape_count, placement_count;
    uint64_t shape_room, placement_room;
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
    camera_key *keys;           /* owned, by frame: where it is when */
    uint32_t key_count;
    bool moves; /* something in it but the camera has keys: it is of one frame */
    bool eye_given, look_at_given, fov_given;
    bool inside; /* a default camera stands inside */
    bool glows;  /* what emits only glows by pictures: the default sky lights it, too */
} scene_draft;

kd_status scene_draft_add_light(scene_draft *to, const light *added);
/* A mesh that takes part in the geometry by its placements alone. */
kd_status scene_draft_add_shape(scene_draft *to, const draft_shape *added);
kd_status scene_draft_add_placement(scene_draft *to, const placement *added);
/* Moves the triangles of shapes behind all others, in their order. */
kd_status scene_draft_sort(scene_draft *of);
void scene_draft_close(scene_draft *owned); /* takes a zeroed one */

#endif
