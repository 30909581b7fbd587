/* The parts that a glTF file is made into a mesh by, in their order. */
#ifndef KD_SCENES_GLTF_GLTF_PARTS_H
#define KD_SCENES_GLTF_GLTF_PARTS_H
#include "core/math/transform.h"
#include "scenes/gltf/gltf_file.h"

/* --- gltf_nodes.c: every node of the scene, parents before children --------------------------- */

typedef struct gltf_placement {
    uint32_t node, mesh, skin, camera, light; /* what hangs at it: KD_NONE: nothing */
    transform world;
} gltf_placement;

typedef struct gltf_nodes {
    gltf_placement *placed; /* owned */
    uint32_t count;
    uint32_t *placement_of; /* of each node, KD_NONE: it is not in the scene; owned */
} gltf_nodes;

kd_status gltf_nodes_place(gltf_file *of, gltf_nodes *out);
void gltf_nodes_close(gltf_nodes *owned);

/* --- gltf_primitive.c: what holds a mesh at several nodes ------------------------------------- */

typedef struct gltf_skin {
    transform *bones; /* from the mesh to the world, of each joint; owned */
    uint32_t bone_count;
} gltf_skin;

kd_status gltf_skin_open(gltf_file *of, const gltf_nodes *nodes, uint32_t skin, gltf_skin *out);
void gltf_skin_close(gltf_skin *owned); /* takes a zeroed one */
/* The way of a vertex that is held by four joints, in so far. */
transform gltf_skin_at(const gltf_skin *of, const float joints[4], const float weights[4]);

/* --- gltf_nodes.c: cameras and lights where the nodes put them -------------------------------- */

kd_status gltf_stage_read(gltf_file *of, const gltf_nodes *nodes, mesh *into);

/* --- gltf_materials.c, gltf_textures.c -------------------------------------------------------- */

typedef struct gltf_materials {
    mesh_material *made; /* owned: handed to the mesh; the last one is glTF's default */
    uint32_t *texcoords; /* number of the TEXCOORD that the maps of each use; owned */
    uint32_t *seconds;   /* another one that some of them use, KD_NONE: none; owned */
    bool *blends;        /* whether the opacity of each counts; owned */
    bool *turns;         /* whether it asks for tangents; owned */
    uint32_t count;
    mesh_picture *pictures; /* owned, handed to the mesh: those inside the file */
    uint32_t picture_count;
    medium *media; /* owned, handed to the mesh */
    uint32_t medium_count;
    char **image_paths; /* of each image, where a map found it; owned */
    bool *image_missing;
    uint32_t image_count;
} gltf_materials;

kd_status gltf_materials_read(gltf_file *of, gltf_materials *out);
void gltf_materials_close(gltf_materials *owned);

/* A material while it is read. */
typedef struct gltf_surface {
    gltf_file *of;
    gltf_materials *all;
    const cJSON *from;
    json_place place;
    mesh_material *to;
    uint32_t texcoord; /* the number that its maps use; KD_NONE: no map yet */
    uint32_t second;   /* another one, KD_NONE: none yet */
} gltf_surface;

/* The image that `key` of `object` names becomes the map `map`, if it can be found. */
kd_status gltf_map_read(gltf_surface *to, const json_place *at, const cJSON *object,
                        const char *key, mesh_map map, mesh_channel channel);
/* The same image as another map of the material has, seen by another channel. */
kd_status gltf_map_copy(gltf_surface *to, mesh_map from, mesh_map map, mesh_channel channel);
/* All of the extensions of one material. */
kd_status gltf_layers_read(gltf_surface *to);

/* --- gltf_primitive.c: what a primitive says, its numbers not yet read ------------------------ */

enum { GLTF_TRIANGLES = 4, GLTF_STRIP = 5, GLTF_FAN = 6 };

typedef struct gltf_primitive {
    uint32_t mesh, index; /* meshes[mesh].primitives[index] */
    uint32_t mode, material, texcoord_set, second_set;
    const cJSON *json, *packed;            /* packed: by Draco; NULL: it is not */
    uint32_t vertices, corners, triangles; /* how many; corners: indices, or vertices without any */
    /* accessors, KD_NONE: none */
    uint32_t position, normal, texcoord, second, tangent, colour, joints, weights, indices;
    uint32_t first_texcoord; /* of the mesh that is made */
    uint32_t first_draw;     /* KD_NONE: no node shows it */
} gltf_primitive;

kd_status gltf_primitive_read(gltf_file *of, const gltf_materials *materials, const json_place *at,
                              const cJSON *from, gltf_primitive *out);

typedef struct gltf_numbers_read { /* owned; NULL: none */
    float *positions, *normals, *texcoords, *second, *tangents, *colours, *joints, *weights;
    uint32_t *indices;
} gltf_numbers_read;

/* --- gltf_primitive.c ------------------------------------------------------------------------- */

/* All of a packed primitive; `at` is its place. */
kd_status gltf_draco_read(gltf_file *of, const json_place *at, const gltf_primitive *from,
                          gltf_numbers_read *out);

/* --- gltf_primitive.c ------------------------------------------------------------------------- */

kd_status gltf_morphs_apply(gltf_file *of, const json_place *at, const gltf_primitive *from,
                            gltf_numbers_read *to);

/* --- gltf_shapes.c ---------------------------------------------------------------------------- */

typedef struct gltf_shape { /* a mesh that is placed, or its mirror image */
    uint32_t mesh;
    bool turned;
} gltf_shape;

typedef struct gltf_shapes {
    gltf_shape *shapes; /* owned */
    uint32_t *shape_of; /* of each placement of the nodes; KD_NONE: it is written out; owned */
    uint32_t count, put_count;
} gltf_shapes;

/* None, if the options do not ask for parts. */
kd_status gltf_shapes_find(gltf_file *of, const gltf_nodes *nodes, gltf_shapes *out);
void gltf_shapes_close(gltf_shapes *owned);
/* Where the nodes put them; the mesh has its parts. */
kd_status gltf_shapes_put(const gltf_shapes *from, const gltf_nodes *nodes, mesh *into);
/* Places that are the same become one, in each part and in the rest. Those that are not finite are
   no corner's by now; *unusable is set if there are any. */
kd_status gltf_places_weld(mesh *of, bool *unusable);
/* The parts' runs, as they will be without the triangles that cannot be used. */
void gltf_parts_recount(mesh *of);

/* --- gltf_meshes.c ---------------------------------------------------------------------------- */

/* All meshes that the nodes show into `into`, which takes over the materials. */
kd_status gltf_meshes_read(gltf_file *of, const gltf_nodes *nodes, gltf_materials *materials,
                           mesh *into);

#endif
