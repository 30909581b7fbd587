/* The draft of a scene: the contents of a description or a mesh file before assembly
   (scenes/assembly/scene.h). */
#ifndef KD_SCENES_DESCRIBE_DRAFT_H
#define KD_SCENES_DESCRIBE_DRAFT_H
#include "accel/instances.h"
#include "core/status.h"
#include "scenes/describe/keyframes.h"
#include "scenes/mesh/mesh.h"
#include "shaders/material.h"
#include "shaders/scene_view.h"

/* A clear sky, determined by the position of the sun. */
typedef struct clear_sky {
    vec3 sun; /* unit vector towards the sun, y > 0 */
    float turbidity;
    bool disc;       /* include the sun's disc */
    bool atmosphere; /* light scattered in the atmosphere, instead of Preetham's model */
    vec3 ground;     /* albedo of the ground below the horizon */
} clear_sky;

/* A run of triangles in object space that is instanced by placements. */
typedef struct draft_shape {
    uint32_t first, count;             /* triangles */
    uint32_t position, position_count; /* vertices used by these triangles only */
    uint32_t normal, normal_count;     /* normals used by these triangles only */
    uint32_t reversed;                 /* index of the shape with reversed winding, or KD_NONE */
} draft_shape;

typedef struct scene_draft {
    mesh geometry; /* owned; in world space except for the shapes, whose triangles come last */
    /* subtracted from everything in world space: geometry, instances, lights, cameras */
    double origin[3];
    draft_shape *shapes; /* owned */
    instance *instances; /* owned */
    uint32_t shape_count, instance_count;
    uint64_t shape_capacity, instance_capacity;
    light *lights; /* owned; all lights except emissive triangles and the sky; power not set */
    uint32_t light_count;
    uint64_t light_capacity;
    bool sky;            /* the scene has an environment */
    vec3 sky_radiance;   /* factor of the image, or the constant radiance */
    char *sky_image;     /* owned path; NULL: constant radiance */
    float sky_rotation;  /* radians */
    bool sky_equal_area; /* the image is an equal-area square, not latitude-longitude */
    bool sky_is_clear;   /* use `clear` instead of an image */
    clear_sky clear;
    medium *media;              /* owned */
    uint32_t medium_count, fog; /* fog: index in `media`; medium_count or more: no fog */
    char *photon_map;           /* owned path; options->photon_map points to it */
    camera view;                /* only the parts whose *_given flag is set */
    camera_key *keys;           /* owned; camera keyframes in ascending order of frames */
    uint32_t key_count;
    /* something other than the camera has keyframes; the draft is valid for one frame */
    bool moves;
    bool has_eye, has_look_at, has_fov;
    bool inside;    /* place the default camera inside */
    bool bare;      /* a mesh file, not a description */
    vec3 format_up; /* usual in files of this kind; zero: nothing else may be up */
    bool glows;     /* no surface is a lamp, so the default sky lights the scene, too */
} scene_draft;

kd_status scene_draft_add_light(scene_draft *draft, const light *added);
/* Adds a mesh that is visible only through its placements. */
kd_status scene_draft_add_shape(scene_draft *draft, const draft_shape *added);
kd_status scene_draft_add_instance(scene_draft *draft, const instance *added);
/* Moves the triangles of shapes after all others, keeping their order. */
kd_status scene_draft_sort(scene_draft *draft);
void scene_draft_close(scene_draft *owned); /* accepts a zeroed struct */

#endif
