/* The steps that convert a glTF file to a mesh, in their order. */
#ifndef KD_SCENES_IMPORT_GLTF_PARTS_H
#define KD_SCENES_IMPORT_GLTF_PARTS_H
#include "core/math/transform.h"
#include "scenes/import/gltf_file.h"

/* --- gltf_animation.c --- */

/* Sets gltf->poses by the animation obj_options.clip at obj_options.seconds. */
kd_status gltf_poses_read(gltf_file *gltf);
void gltf_poses_close(gltf_file *owned);

/* --- gltf_nodes.c: all nodes of the scene, parents before children --- */

typedef struct gltf_node {
    uint32_t node, mesh, skin, camera, light; /* what the node refers to; KD_NONE if absent */
    const cJSON *weights; /* weights of morph targets, instead of those of the mesh; NULL: none */
    transform world;
} gltf_node;

typedef struct gltf_nodes {
    gltf_node *list; /* owned */
    uint32_t count;
    /* index in `list` of each node, KD_NONE if it is not in the scene; owned */
    uint32_t *list_index_of;
} gltf_nodes;

kd_status gltf_nodes_place(gltf_file *gltf, gltf_nodes *out);
void gltf_nodes_close(gltf_nodes *owned);

/* --- gltf_primitive.c: skins --- */

typedef struct gltf_skin {
    transform *bones; /* transform from mesh to world space of each joint; owned */
    uint32_t bone_count;
} gltf_skin;

kd_status gltf_skin_open(gltf_file *gltf, const gltf_nodes *nodes, uint32_t skin, gltf_skin *out);
void gltf_skin_close(gltf_skin *owned); /* accepts a zeroed struct */
/* Blends the transforms of the four joints of a vertex by its weights. */
transform gltf_skin_at(const gltf_skin *skin, const float joints[4], const float weights[4]);

/* --- gltf_nodes.c: cameras and lights --- */

kd_status gltf_stage_read(gltf_file *gltf, const gltf_nodes *nodes, mesh *mesh);

/* --- gltf_materials.c, gltf_textures.c -------------------------------------------------------- */

typedef struct gltf_materials {
    mesh_material *made; /* owned, later moved to the mesh; the last one is glTF's default */
    uint32_t *texcoords; /* per material: index of its TEXCOORD set; owned */
    /* per material: index of a second set that some maps use, or KD_NONE; owned */
    uint32_t *seconds;
    bool *blends; /* per material: it uses opacity; owned */
    bool *turns;  /* per material: it uses tangents; owned */
    uint32_t count;
    mesh_picture *pictures; /* images embedded in the file; owned, later moved to the mesh */
    uint32_t picture_count;
    medium *media; /* owned, later moved to the mesh */
    uint32_t medium_count;
    char **image_paths; /* path of each image that a map has used; owned */
    bool *image_missing;
    uint32_t image_count;
} gltf_materials;

kd_status gltf_materials_read(gltf_file *gltf, gltf_materials *out);
void gltf_materials_close(gltf_materials *owned);

/* State while reading one material. */
typedef struct gltf_surface {
    gltf_file *gltf;
    gltf_materials *all;
    const cJSON *json;
    json_place place;
    mesh_material *material;
    uint32_t texcoord; /* TEXCOORD set of its maps; KD_NONE: no map so far */
    uint32_t second;   /* second TEXCOORD set; KD_NONE: none so far */
} gltf_surface;

/* Sets the map `map` to the image of the texture that `key` of `object` refers to, if it exists. */
kd_status gltf_map_read(gltf_surface *surface, const json_place *at, const cJSON *object,
                        const char *key, mesh_map map, mesh_channel channel);
/* Sets `map` to the image of another map of the material, but with a different channel. */
kd_status gltf_map_copy(gltf_surface *surface, mesh_map from, mesh_map map, mesh_channel channel);
/* Reads all extensions of a material. */
kd_status gltf_layers_read(gltf_surface *surface);

/* --- gltf_primitive.c: the properties of a primitive, without its data --- */

enum { GLTF_TRIANGLES = 4, GLTF_STRIP = 5, GLTF_FAN = 6 };

typedef struct gltf_primitive {
    uint32_t mesh, index; /* meshes[mesh].primitives[index] */
    uint32_t mode, material, texcoord_set, second_set;
    const cJSON *json, *packed; /* packed: the Draco extension, or NULL */
    /* corners: number of indices, or of vertices if there are no indices */
    uint32_t vertices, corners, triangles;
    /* Accessors, or KD_NONE. */
    uint32_t position, normal, texcoord, second, tangent, colour, joints, weights, indices;
    uint32_t first_texcoord; /* its first texture coordinate in the mesh */
    uint32_t first_draw;     /* KD_NONE: no node refers to it */
} gltf_primitive;

kd_status gltf_primitive_read(gltf_file *gltf, const gltf_materials *materials,
                              const json_place *at, const cJSON *json, gltf_primitive *out);

typedef struct gltf_numbers_read { /* Data of a primitive. Owned; NULL if absent. */
    float *positions, *normals, *texcoords, *second, *tangents, *colours, *joints, *weights;
    uint32_t *indices;
} gltf_numbers_read;

/* Warns of vertices with joints that the skin `number` does not have; `at` is the JSON path of the
   primitive. */
void gltf_skin_judge(gltf_file *gltf, const json_place *at, const gltf_skin *skin, uint32_t number,
                     const gltf_numbers_read *read, uint32_t vertices);

/* --- gltf_primitive.c: Draco compression --- */

/* Decodes a primitive; `at` is its JSON path. */
kd_status gltf_draco_read(gltf_file *gltf, const json_place *at, const gltf_primitive *primitive,
                          gltf_numbers_read *out);

/* --- gltf_primitive.c: morph targets --- */

/* Returns the targets of a mesh's primitives, or NULL. */
const cJSON *gltf_mesh_targets(const gltf_file *gltf, uint32_t mesh);
/* Adds the targets times the weights (NULL: none) of a node or mesh to positions, normals and
   tangents. `at` is the JSON path of the primitive. */
kd_status gltf_morphs_apply(gltf_file *gltf, const json_place *at, const gltf_primitive *primitive,
                            const cJSON *weights, gltf_numbers_read *read);

/* --- gltf_shapes.c: instanced meshes --- */

typedef struct gltf_shape { /* An instanced mesh, or its mirror image (`reversed`). */
    uint32_t mesh;
    bool reversed;
} gltf_shape;

typedef struct gltf_shapes {
    gltf_shape *shapes; /* owned */
    /* per placement of the nodes: its shape, or KD_NONE to write it in world space; owned */
    uint32_t *shape_of;
    uint32_t count, put_count;
} gltf_shapes;

/* Finds no shapes unless obj_options.keep_parts is set. */
kd_status gltf_shapes_find(gltf_file *gltf, const gltf_nodes *nodes, gltf_shapes *out);
void gltf_shapes_close(gltf_shapes *owned);
/* Adds the instances to the mesh, which has its parts already. */
kd_status gltf_shapes_put(const gltf_shapes *shapes, const gltf_nodes *nodes, mesh *mesh);
/* Merges equal positions within each part and within the rest. Positions that are not finite,
   which no triangle uses any more, are set to 0; *unusable is set if there are any. */
kd_status gltf_places_weld(mesh *mesh, bool *unusable);
/* Updates the ranges of the parts for the removal of unusable triangles. */
void gltf_parts_recount(mesh *mesh);

/* --- gltf_meshes.c --- */

/* Reads all meshes that the nodes refer to into `mesh`, which takes ownership of the materials. */
kd_status gltf_meshes_read(gltf_file *gltf, const gltf_nodes *nodes, gltf_materials *materials,
                           mesh *mesh);

#endif
