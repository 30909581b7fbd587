/* A triangle mesh in host memory, as importers yield it. Owner of its arrays. */
#ifndef KD_SCENES_MESH_MESH_H
#define KD_SCENES_MESH_MESH_H
#include "core/status.h"
#include "shaders/scene_view.h"

typedef struct mesh_material {
    char *name;      /* owned, unique in the mesh */
    material record; /* maps in it are KD_NONE: the paths below name them */
    /* paths as found in the file, joined with its folder; NULL: none; owned */
    char *diffuse_map, *specular_map, *emission_map, *opacity_map, *roughness_map, *metallic_map;
    char *normal_map, *bump_map;
    float map_scale[2], map_offset[2]; /* -s and -o of map_Kd (else of the first map) */
    bool map_clamp;
} mesh_material;

typedef struct mesh {
    vec3 *positions;
    vec3 *normals;
    vec2 *texcoords;
    uint32_t *triangles;          /* 3 per triangle */
    uint32_t *normal_indices;     /* 3 per triangle or NULL */
    uint32_t *texcoord_indices;   /* 3 per triangle or NULL */
    uint32_t *triangle_materials; /* 1 per triangle, into materials */
    mesh_material *materials;
    uint32_t position_count, normal_count, texcoord_count, triangle_count, material_count;
    uint32_t face_count; /* as read, before triangulation */
} mesh;

void mesh_close(mesh *owned); /* takes a zeroed one */
void mesh_material_close(mesh_material *owned);

#endif
