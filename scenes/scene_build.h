/* The inside of a scene, and the steps of its assembly. What a file says is first a draft. */
#ifndef KD_SCENES_SCENE_BUILD_H
#define KD_SCENES_SCENE_BUILD_H
#include "scenes/mesh.h"
#include "scenes/scene.h"
#include "scenes/scene_textures.h"

struct scene {
    mesh geometry; /* world space */
    material *materials;
    texture_store textures;
    light *lights;
    float *light_cdf;
    uint32_t *triangle_lights;
    uint32_t light_count;
    environment_view environment;
    float *row_cdf, *column_cdf; /* of the environment */
    box3 box;
    float total_power; /* W */
    medium *media;
    uint32_t medium_count, fog;
    camera view;
    bool view_is_default;
    char *photon_map; /* path that the options of the description name; NULL: none */
};

typedef struct scene_draft {
    mesh geometry; /* owned; world space */
    light *lights; /* owned; all but emitting triangles and the sky: power is not set yet */
    uint32_t light_count, light_room;
    bool sky;                   /* there is an environment */
    vec3 sky_radiance;          /* factor of the image, or the constant */
    char *sky_image;            /* path, NULL: constant; owned */
    float sky_rotation;         /* radians */
    medium *media;              /* owned */
    uint32_t medium_count, fog; /* index; from medium_count on: there is none */
    char *photon_map;           /* path, owned: what the options point to */
    camera view;                /* what is given of it */
    bool eye_given, look_at_given, fov_given;
    bool inside; /* a default camera stands inside */
} scene_draft;

kd_status scene_draft_add_light(scene_draft *to, const light *added);
void scene_draft_close(scene_draft *owned); /* takes a zeroed one */

/* By the path's form: a generator, an OBJ, anything else through assimp. */
kd_status scene_load_mesh(mesh *out, const char *path, job *watched);

/* Moves the draft's parts into a new scene and makes everything that follows from them. */
kd_status scene_assemble(scene **out, scene_draft *from, const kd_render_options *options);
/* The same into a zeroed scene, which is to be closed whatever the status is. */
kd_status scene_assemble_parts(scene *to, scene_draft *from, const kd_render_options *options);

/* scene_materials.c: records with texture indices, images read */
kd_status scene_build_materials(scene *to);
/* scene_lights.c: needs materials, textures, box */
kd_status scene_build_lights(scene *to, const scene_draft *from);
/* scene_environment.c: tables over the image's texels, weighted by solid angle;
 *mean = mean radiance of the image over the sphere */
kd_status scene_build_sky_tables(scene *to, vec3 *mean);
kd_status scene_add_default_sky(scene *to);
/* scene_camera.c */
camera scene_frame_camera(const scene_draft *from, box3 box, float aspect);

#endif
