/* The inside of a scene, and the steps that make it from a draft. */
#ifndef KD_SCENES_ASSEMBLY_SCENE_PARTS_H
#define KD_SCENES_ASSEMBLY_SCENE_PARTS_H
#include "scenes/assembly/scene.h"
#include "scenes/assembly/scene_textures.h"
#include "scenes/describe/draft.h"

struct scene {
    mesh geometry;        /* world space; behind plain_count triangles those of shapes */
    uint32_t plain_count; /* of triangles that are in no shape */
    draft_shape *parts;   /* of the geometry: the shapes */
    placed_shape *shapes; /* the same, as rays want them */
    placement *placements;
    uint32_t shape_count, placement_count;
    material *materials;
    principled *layers; /* one a material, or NULL: none is principled */
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
    camera view, view_end;
    camera_key *keys; /* of the camera; NULL: none */
    uint32_t key_count;
    bool moves; /* something else has keys */
    bool view_is_default;
    char *photon_map; /* path that the options of the description name; NULL: none */
};

/* Moves the draft's parts into a new scene and makes everything that follows from them. */
kd_status scene_assemble(scene **out, scene_draft *from, const kd_render_options *options);
/* The same into a zeroed scene, which is to be closed whatever the status is. */
kd_status scene_assemble_parts(scene *to, scene_draft *from, const kd_render_options *options);

/* scene_placed.c: the draft's shapes and placements; needs the geometry */
kd_status scene_take_placed(scene *to, scene_draft *from);
/* The box of the placements. */
box3 scene_placed_box(const scene *of);
/* Whether a shape has a surface that emits: each of its placements would be lamps. */
bool scene_placed_emits(const scene *of);

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
