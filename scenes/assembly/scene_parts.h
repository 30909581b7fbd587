/* The images of a scene: asked for by materials, read all at once, shared where they are the same.
   One that cannot be used is a warning and becomes a single neutral texel, so that the material's
   constant alone counts. */
#ifndef KD_SCENES_ASSEMBLY_SCENE_PARTS_H
#define KD_SCENES_ASSEMBLY_SCENE_PARTS_H
#include "core/files/file.h"
#include "scenes/assembly/scene.h"
#include "scenes/describe/draft.h"
#include "scenes/mesh/mesh.h"
#include "shaders/texture.h"

typedef enum texture_role {
    TEXTURE_COLOUR,  /* sRGB; HDR and EXR files are linear */
    TEXTURE_NORMAL,  /* linear, three channels */
    TEXTURE_GREY,    /* one value: the first channel */
    TEXTURE_GREEN,   /* one value: the second channel (roughness in packed files) */
    TEXTURE_BLUE,    /* one value: the third channel (metallic in packed files) */
    TEXTURE_ALPHA,   /* one value: alpha, 1 if the image has none */
    TEXTURE_OPACITY, /* one value: alpha if the image has one that is not all 1, else the first
                        channel */
    TEXTURE_SKY      /* HDR, EXR or sRGB */
} texture_role;

typedef struct texture_image {
    char *path; /* owned */
    texture_role role;
    uint8_t *bytes;   /* `samples` a texel, of two bytes each if `is_wide`, or */
    float *floats;    /* 3 a texel; owned, by memory_free */
    uint32_t samples; /* as in texture_view */
    bool is_wide;
    int32_t width, height;
    bool loaded;        /* not the neutral texel */
    bool shows_normals; /* of heights, but its colours are those of a tangent-space normal map */
    uint64_t kept;      /* bytes that its texels take */
    uint64_t passing;   /* and bytes beside these while it is read */
    kd_status status;   /* of reading it */
    char trouble[512];  /* why not */
} texture_image;

typedef struct texture_store {
    const mesh_picture *pictures; /* borrowed while images are read: a path may be one's name */
    uint32_t picture_count;
    texture_image *images;
    texture_view *views;
    uint32_t *view_images; /* image of each view */
    uint32_t image_count, image_room, view_count, view_room;
    float *curve;    /* texture_view.curve of all views; owned; NULL: none needs it */
    uint64_t budget; /* bytes that all images may take; 0: a quarter of the machine's memory */
} texture_store;

typedef struct texture_request {
    const char *path;
    texture_role role;
    vec2 scale, offset, shear; /* as in texture_view */
    uint32_t wraps;            /* texture_wraps */
} texture_request;

/* *index = the view that the request will get; images are read by texture_store_load. */
kd_status texture_store_add(texture_store *to, const texture_request *asked, uint32_t *index);
/* Takes over `floats` (3 a texel, by memory_reserve) as an image without a file. */
kd_status texture_store_adopt(texture_store *to, float *floats, int32_t width, int32_t height,
                              uint32_t *index);
/* Reads what is not read yet, on all cores, fills the views, warns of what cannot be used.
   KD_ERROR_MEMORY, before anything is read, if all images together take more than the budget. */
kd_status texture_store_load(texture_store *of);
/* The texels of an image of bytes, as `view` shows them, become its floats. */
kd_status texture_make_floats(texture_image *of, const texture_view *view);
/* KD_ERROR_INPUT for one that is too large. */
kd_status texture_check_size(const texture_image *of, int width, int height);
/* Bytes of an EXR file's texels, and of its planes while it is read. */
void texture_measure_exr(texture_image *to, const file_view *file);
/* scene_textures.c: an EXR file's radiance; KD_ERROR_INPUT in a role that wants data. */
kd_status texture_read_exr(texture_image *to, const file_view *file);
/* No NaN, nothing negative: it is light. */
static inline float texture_light(float value) {
    return value > 0 ? float_min(value, 1e30f) : 0;
}
void texture_store_close(texture_store *owned); /* takes a zeroed one */

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
