/* Builds a mesh incrementally: used by generators, primitives, and to merge several meshes into
   one. After the first failure all calls have no effect; mesh_builder_finish returns the
   failure. */
#ifndef KD_SCENES_MESH_MESH_BUILDER_H
#define KD_SCENES_MESH_MESH_BUILDER_H
#include "core/math/transform.h"
#include "scenes/mesh/mesh.h"
#include "scenes/text/names.h"

typedef struct mesh_builder {
    mesh made; /* index arrays always exist; KD_NONE for a corner without normal or texcoord */
    uint64_t position_capacity, normal_capacity, texcoord_capacity, triangle_capacity,
        material_capacity;
    uint64_t colour_capacity, colour_count;   /* colour_count: texcoords with a colour so far */
    uint64_t second_capacity, second_count;   /* second_count: texcoords in the second set so far */
    uint64_t tangent_capacity, tangent_count; /* tangent_count: normals with a tangent so far */
    uint32_t material;                        /* index of the current material, for new triangles */
    name_table names;                         /* names of the materials */
    uint32_t *copies; /* per material: the last number N used in a name "NAME#N" */
    uint64_t copies_capacity;
    kd_status status;
} mesh_builder;

typedef struct mesh_corner { /* Indices, or KD_NONE if absent. */
    uint32_t position, normal, texcoord;
} mesh_corner;

/* Appends uninitialised items; triangles get the current material and no normals or texcoords. The
   first new index of each kind is the previous count. */
void mesh_builder_extend(mesh_builder *builder, uint64_t positions, uint64_t triangles);
void mesh_builder_extend_normals(mesh_builder *builder, uint64_t normals);

uint32_t mesh_builder_position(mesh_builder *builder, vec3 position);
uint32_t mesh_builder_normal(mesh_builder *builder, vec3 normal);
uint32_t mesh_builder_texcoord(mesh_builder *builder, vec2 texcoord);
void mesh_builder_triangle(mesh_builder *builder, mesh_corner a, mesh_corner b, mesh_corner c);
void mesh_builder_flat_triangle(mesh_builder *builder, vec3 a, vec3 b, vec3 c);
/* Adds a quadrilateral, counter-clockwise seen from the front, with the texture coordinates (0,0)
   (1,0) (1,1) (0,1) times uv. */
void mesh_builder_quad(mesh_builder *builder, vec3 a, vec3 b, vec3 c, vec3 d, vec2 uv);
/* Adds a closed box; front faces outwards, or inwards if `placed` mirrors. */
void mesh_builder_box(mesh_builder *builder, vec3 lo, vec3 hi, const transform *placed);

/* Makes the material called `name` current; creates it from `record` if it does not exist. Returns
   its index. */
uint32_t mesh_builder_material(mesh_builder *builder, const char *name, const material *record);

/* Adds a copy of `material` without making it current. If the name is taken, "#2", "#3", ... is
   appended. */
uint32_t mesh_builder_copy_material(mesh_builder *builder, const mesh_material *material);

/* Appends a transformed copy of `part`: triangles, images, materials (mesh_builder_copy_material),
   but not its cameras, lights and media. If the transform mirrors, the winding is reversed, so
   that front faces stay front faces. Returns the index of the first material. */
uint32_t mesh_builder_append(mesh_builder *builder, const mesh *part, const transform *placed);

/* Appends copies of the triangles [first, first + count) with reversed winding. Returns the first
   new triangle. */
uint32_t mesh_builder_repeat_turned(mesh_builder *builder, uint32_t first, uint32_t count);

/* Reverses all front faces: winding and normals. */
void mesh_turn(mesh *mesh);

/* Frees the materials that no triangle uses; the others keep their order. */
kd_status mesh_drop_unused_materials(mesh *mesh);

/* Moves the mesh to `out`, without index arrays that are not used, or returns the failure and
   zeroes `out`. Empties the builder. */
kd_status mesh_builder_finish(mesh_builder *builder, mesh *out);

#endif
