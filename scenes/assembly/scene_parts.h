/* Internals of a scene, shared by the steps of its assembly, and the texture store. Materials
   request images; the store reads all of them at once and shares identical ones. If an image
   cannot be used, the store logs a warning and substitutes one neutral texel, so that only the
   material's constant counts. */
#ifndef KD_SCENES_ASSEMBLY_SCENE_PARTS_H
#define KD_SCENES_ASSEMBLY_SCENE_PARTS_H
#include "core/files/file.h"
#include "scenes/assembly/scene.h"
#include "scenes/describe/draft.h"
#include "scenes/mesh/mesh.h"
#include "shaders/texture.h"

struct picture; /* core/image/picture.h */

typedef enum texture_role {
    TEXTURE_COLOUR,    /* sRGB; HDR and EXR files are linear */
    TEXTURE_NORMAL,    /* linear, three channels */
    TEXTURE_GREY,      /* one value: the first channel */
    TEXTURE_GREEN,     /* one value: the second channel (roughness of packed files) */
    TEXTURE_BLUE,      /* one value: the third channel (metallic of packed files) */
    TEXTURE_ALPHA,     /* one value: alpha, or 1 if the image has none */
    TEXTURE_LUMINANCE, /* one value: that of Rec. 709 by the numbers of the file */
    /* one value: alpha if the image has one that is not 1 everywhere, else the first channel */
    TEXTURE_OPACITY,
    TEXTURE_SKY, /* HDR, EXR or sRGB */
    /* Specular (sRGB) and glossiness (alpha) of one image, times the factors, converted to what
       glossiness.h describes (scene_texture_values.c): */
    TEXTURE_GLOSS_METAL,      /* colour of the metallic part */
    TEXTURE_GLOSS_METALLIC,   /* one value */
    TEXTURE_GLOSS_DIELECTRIC, /* one value */
    TEXTURE_GLOSS_ROUGHNESS   /* one value: 1 - glossiness */
} texture_role;

/* Members of `factor` of other roles than specular and glossiness: a texel counts as base + gain *
   texel, at least 0 and at most the maximum, unless the maximum is 0 (of normals the gain scales
   the slopes); LINEAR is 1 if colours are not sRGB encoded. */
enum { TEXTURE_BASE, TEXTURE_GAIN, TEXTURE_MAXIMUM, TEXTURE_LINEAR };

typedef struct texture_image {
    char *path; /* owned */
    texture_role role;
    float factor[4];  /* see texture_request */
    uint8_t *bytes;   /* owned; `samples` per texel, as in texture_view; NULL: see `floats` */
    float *floats;    /* owned; 3 per texel; NULL if `bytes` is set */
    uint32_t samples; /* samples per texel of `bytes` */
    bool is_wide;     /* `bytes` holds 16-bit samples, else 8-bit ones */
    int32_t width, height;
    bool borrowed;      /* the texels belong to the store's lender */
    bool loaded;        /* false: not read, or replaced by the neutral texel */
    uint64_t unreal;    /* numbers of the file that are not finite */
    bool ranged;        /* the range of the values has been changed (texture_change_range) */
    bool shows_normals; /* a height map whose colours are those of a tangent-space normal map */
    uint64_t kept;      /* bytes of the texels */
    uint64_t passing;   /* additional bytes while the image is being read */
    kd_status status;   /* status of reading the image */
    char message[1024]; /* error message if status is not KD_OK */
} texture_image;

typedef struct texture_store {
    /* embedded images, looked up by name before files; borrowed while reading */
    const mesh_picture *pictures;
    uint32_t picture_count;
    texture_image *images;
    texture_view *views;
    uint32_t *view_images; /* index of each view's image */
    uint32_t image_count, view_count, view_capacity;
    uint64_t image_capacity;
    float *curve; /* owned; texture_view.curve of all views, or NULL if none needs it */
    /* limit for all images together, in bytes; 0: a quarter of the machine's memory */
    uint64_t budget;
    /* Another store, or NULL: its images of the same file and role are used instead of reading the
       file again. It must stay open for longer. */
    const struct texture_store *lender;
} texture_store;

typedef struct texture_request {
    const char *path;
    texture_role role;
    vec2 scale, offset, shear; /* see texture_view */
    uint32_t wraps;            /* texture_wraps */
    float factor[4]; /* factor of specular and glossiness, else as in texture_request; 0: no changes
                      */
} texture_request;

/* Sets *index to the view for this request. texture_store_load reads the image. */
kd_status texture_store_add(texture_store *store, const texture_request *request, uint32_t *index);
/* Takes ownership of `floats` (3 per texel, allocated by memory_reserve), also on failure, and
   adds it as an image without a file. */
kd_status texture_store_adopt(texture_store *store, float *floats, int32_t width, int32_t height,
                              uint32_t *index);
/* Reads all images that are not read yet, on all cores, fills in the views, and warns of images
   that cannot be used. Returns KD_ERROR_MEMORY before reading anything if all images together
   exceed the budget. */
kd_status texture_store_load(texture_store *store);
/* scene_source.c: takes the images that the lender has read, with their texels. */
void texture_store_borrow(texture_store *store);
bool texture_image_is(const texture_image *image, const char *path, texture_role role,
                      const float factor[4]);
/* Replaces the bytes of an image by the floats that `view` decodes them to. */
kd_status texture_make_floats(texture_image *image, const texture_view *view);
/* scene_texture_values.c: returns true if the request changes the range of the values, which takes
   effect in texture_change_range, once per image; `view` is one of its views and is updated. */
bool texture_has_range(const texture_image *image);
kd_status texture_change_range(texture_image *image, texture_view *view);
/* Returns KD_ERROR_INPUT if the image is too large. */
kd_status texture_check_size(const texture_image *image, int width, int height);
/* Sets `kept` and `passing` of an EXR image: the bytes of its texels, and of its planes while
   reading. */
void texture_measure_exr(texture_image *image, const file_view *file);
/* scene_texture_exr.c: reads an EXR file as radiance. Returns KD_ERROR_INPUT for roles other than
   colour and sky. */
kd_status texture_read_exr(texture_image *texture_image, const file_view *file);
/* scene_texture_values.c: samples per texel, of 16 bits each, of the roles of specular and
   glossiness; converts an image to its role. */
uint32_t texture_gloss_samples(texture_role role);
kd_status texture_keep_gloss(texture_image *image, const struct picture *decoded);
static inline bool texture_role_is_gloss(texture_role role) {
    return role >= TEXTURE_GLOSS_METAL;
}
/* Clamps radiance to finite, non-negative values; NaN becomes 0. Infinity is what half floats have
   above their largest number, 65504, so it becomes that. */
static inline float texture_light(float value) {
    return !(value > 0) ? 0 : isinf(value) ? 65504 : float_min(value, 1e30f);
}
/* Copies `count` numbers of radiance with a stride of 1 to one of `stride`, and counts in `image`
   those that are not finite. */
void texture_keep_light(texture_image *image, float *to, uint64_t stride, const float *from,
                        uint64_t count);
void texture_store_close(texture_store *owned); /* accepts a zeroed struct */

/* Source of a scene. */
typedef struct scene_source {
    const char *path; /* path of the file; with `text`, its name in errors */
    const char *text; /* a description in memory of `bytes` bytes, or NULL */
    uint64_t bytes;
    const kd_scene_mesh *meshes; /* meshes that `text` may name */
    uint64_t mesh_count;
    const char *environment;   /* replaces the environment of the file, or NULL */
    kd_render_options options; /* options before the file is read */
    const scene *lender;       /* shares its textures, or NULL */
} scene_source;

struct scene {
    /* world space; the first plain_count triangles are in no shape, those of the shapes follow */
    mesh geometry;
    double origin[3];        /* subtracted from everything in world space; usually 0 */
    uint32_t plain_count;    /* number of triangles that are in no shape */
    draft_shape *parts;      /* ranges of each shape in `geometry` */
    instanced_shape *shapes; /* the same shapes, for ray tracing */
    instance *instances;
    uint32_t shape_count, instance_count;
    material *materials;
    principled *layers; /* one per material, or NULL if no material is principled */
    texture_store textures;
    light *lights;
    float *light_cdf;
    light_node *light_nodes; /* with light_trails: the arrays of light_tree, or NULL */
    uint32_t *light_trails;
    light_tree_view light_tree;
    uint32_t *triangle_lights;
    uint32_t light_count;
    environment_view environment;
    float *row_cdf, *column_cdf; /* sampling tables of the environment */
    box3 box;
    float total_power; /* W */
    medium *media;
    uint32_t medium_count, fog;
    nested_view nested;
    camera view, view_end;
    camera described; /* the view before scene_set_camera */
    camera_key *keys; /* keyframes of the camera, or NULL */
    uint32_t key_count;
    bool moves; /* something other than the camera has keyframes */
    bool view_is_default, has_fov;
    bool solid_glass; /* scene_take_glass was called */
    bool unlit, bare; /* scene_is_unlit, scene_is_bare */
    vec3 sky_mean;    /* mean radiance of the default sky */
    vec3 up;
    bool up_is_open; /* scene_up_is_open */
    /* Triangles and vertices of the ground, the last ones of `geometry`; 0: none. If there are
       shapes, the ground is the last of them, with one instance, the last; else its triangles are
       the last of plain_count. scene_get_view leaves it out. Its materials, one per ring, follow
       those of the mesh and exist only in a scene_look. */
    uint32_t ground_triangles, ground_positions;
    scene_source *source; /* owned with all it points to, but not the lender; NULL: not kept */
    char *photon_map;     /* path in the options of the description, or NULL */
};

/* Creates a scene from the draft, takes ownership of the draft's parts, and computes everything
   derived from them. */
/* `lender`: a scene whose images are shared (texture_store.lender), or NULL. */
kd_status scene_assemble(scene **out, scene_draft *draft, const scene *lender,
                         const kd_render_options *options);
/* The same into a zeroed scene, without a ground. The caller must close it whatever the status. */
kd_status scene_assemble_parts(scene *scene, scene_draft *draft, const kd_render_options *options);

/* Reads and assembles the scene. On return `options` holds the values of the file. */
kd_status scene_open_source(scene **out, const scene_source *from, kd_render_options *options,
                            job_control *job);
/* scene_source.c: keeps a copy of the source in the scene, for scene_open_at. */
kd_status scene_source_keep(scene *scene, const scene_source *from);
void scene_source_close(scene_source *owned); /* accepts NULL */

/* scene_instances.c: takes over the draft's shapes and placements. Needs the geometry. */
kd_status scene_take_instances(scene *scene, scene_draft *draft);
/* Returns the bounding box of all instances. */
box3 scene_instance_box(const scene *scene);
/* Returns true if a shape has an emissive surface that is not unlit; each of its instances would be
   a light. */
bool scene_instance_emits(const scene *scene);

/* scene_materials.c: resolves texture indices and reads the images. */
kd_status scene_build_materials(scene *scene);
/* Adapts the materials of a mesh file that is a scene by itself. Returns true if the scene needs a
   default light, although surfaces emit. */
bool scene_adapt_materials(mesh *mesh, const char *path);
/* scene_lights.c: the power of a light that has no area, in W. */
double light_power(const scene *scene, const light *light);
/* scene_lights.c: builds the light table. Needs materials, textures and the bounding box. */
kd_status scene_build_lights(scene *scene, const scene_draft *draft);
/* scene_light_copies.c: counts the lights that have the place of another one, with the place of the
   first in world space; the other function logs a warning of them. */
kd_status scene_find_light_copies(const scene *scene, uint32_t *count, double first[3]);
kd_status scene_report_light_copies(const scene *scene);
/* scene_environment.c: builds sampling tables over the image's texels, weighted by solid angle,
   and sets *mean to the mean radiance over the sphere. */
kd_status scene_build_sky_tables(scene *scene, vec3 *mean);
kd_status scene_add_default_sky(scene *scene);
/* Computes the tables of an image that is not among the textures. The caller frees both. */
kd_status sky_tables_make(float **row_cdf, float **column_cdf, const texture_view *image,
                          vec3 *mean);
/* Resamples an equal-area octahedral square of side x side texels (Clarberg 2008; orientation as
   in pbrt: the centre is +y, the corners -y, right +x, bottom -z) to a latitude-longitude image of
   2 side x side texels. The caller frees *floats by memory_free. */
kd_status equal_area_to_latlong(float **floats, const float *square, int32_t side);
/* scene_fit.c: moves the camera along the unit direction `back` so that the vertices fill 80 % of
   the width or height of the picture; `aspect`: width over height. */
void scene_fit_camera(const scene *scene, vec3 back, float aspect, camera *view);
/* Sets axes to right, up and front of a scene whose `up` is nearest to this one. */
void scene_upright(vec3 axes[3], vec3 up);
/* The size of the scene's box along an axis. */
float scene_extent(const scene *scene, vec3 axis);
/* Returns `usual` (+y or +z) unless only the other of these two can be up: z for a terrain, a flat
   mesh all of whose triangles face the same side of it, and for both the one on which the scene
   stands, if it would fall over on the usual one. Says so. */
vec3 scene_guess_up(const scene *scene, vec3 usual);
/* scene_camera.c: completes a camera that the file describes only in part, or not at all. */
camera scene_frame_camera(const scene_draft *draft, box3 box, float aspect);

#endif
