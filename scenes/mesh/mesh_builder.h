/* A mesh that grows: generators, primitives and the assembly of a scene from several meshes write
   into one. The first failure sticks and turns what follows into no-ops; finishing reports it. */
#ifndef KD_SCENES_MESH_MESH_BUILDER_H
#define KD_SCENES_MESH_MESH_BUILDER_H
#include "core/math/transform.h"
#include "scenes/mesh/mesh.h"
#include "scenes/text/names.h"

typedef struct mesh_builder {
    mesh made; /* index arrays are always there, KD_NONE where a corner has no normal or texcoord */
    uint64_t position_room, normal_room, texcoord_room, triangle_room, material_room;
    uint64_t colour_room, colour_count;   /* texcoords that have colours so far */
    uint64_t second_room, second_count;   /* texcoords that have second ones so far */
    uint64_t tangent_room, tangent_count; /* normals that have tangents so far */
    uint32_t material;                    /* of the triangles that follow */
    name_table names;                     /* of the materials */
    uint32_t *copies; /* of each material, the last number that a copy of its name was given */
    uint64_t copies_room;
    kd_status status;
} mesh_builder;

typedef struct mesh_corner { /* KD_NONE: no such thing */
    uint32_t position, normal, texcoord;
} mesh_corner;

/* Room for that many more items, counted but not set (triangles: no normals, no texcoords, the
   current material). The first new index of each is the count from before. */
void mesh_builder_extend(mesh_builder *to, uint64_t positions, uint64_t triangles);
void mesh_builder_extend_normals(mesh_builder *to, uint64_t normals);

uint32_t mesh_builder_position(mesh_builder *to, vec3 position);
uint32_t mesh_builder_normal(mesh_builder *to, vec3 normal);
uint32_t mesh_builder_texcoord(mesh_builder *to, vec2 texcoord);
void mesh_builder_triangle(mesh_builder *to, mesh_corner a, mesh_corner b, mesh_corner c);
void mesh_builder_flat_triangle(mesh_builder *to, vec3 a, vec3 b, vec3 c);
/* Counter-clockwise seen from its front; texture coordinates (0,0) (1,0) (1,1) (0,1) times uv. */
void mesh_builder_quad(mesh_builder *to, vec3 a, vec3 b, vec3 c, vec3 d, vec2 uv);
/* Closed; winding outwards, or inwards if `placed` mirrors. */
void mesh_builder_box(mesh_builder *to, vec3 lo, vec3 hi, const transform *placed);

/* Makes `name` the current material, new if there is none of that name (then `record` is it).
   Returns its index. */
uint32_t mesh_builder_material(mesh_builder *to, const char *name, const material *record);

/* A new material like `from`, its name with "#2", ... if it is taken; not made the current one. */
uint32_t mesh_builder_copy_material(mesh_builder *to, const mesh_material *from);

/* Adds a transformed copy of `part`: triangles, pictures, materials (mesh_builder_copy_material);
   not its cameras, lights and media. A mirroring
   transform turns the winding round, so that fronts stay fronts. Returns the index of its first
   material. */
uint32_t mesh_builder_append(mesh_builder *to, const mesh *part, const transform *placed);

/* Adds the triangles [first, first + count) once more, with the same corners the other way round.
   Returns the first of them. */
uint32_t mesh_builder_repeat_turned(mesh_builder *to, uint32_t first, uint32_t count);

/* Turns all fronts round, normals too. */
void mesh_turn(mesh *of);

/* Frees the materials that no triangle has; the others keep their order. */
kd_status mesh_drop_unused_materials(mesh *of);

/* Hands the mesh over (index arrays that nothing uses are dropped), or reports the failure and
   leaves `out` zeroed. The builder is empty afterwards. */
kd_status mesh_builder_finish(mesh_builder *from, mesh *out);

#endif
