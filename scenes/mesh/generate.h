/* Meshes made by formulas, for any size: wherever a mesh file is named, "gen:NAME:N" stands for a
   generator with N triangles to aim for, "gen:NAME:N:SEED" for another one of its kind. */
#ifndef KD_SCENES_MESH_GENERATE_H
#define KD_SCENES_MESH_GENERATE_H
#include "core/job.h"
#include "scenes/mesh/mesh_builder.h"

typedef struct procedural_generator {
    const char *name;
    const char *what;   /* one line for lists of help */
    uint64_t triangles; /* when the path names no number */
    bool closed;        /* every surface of it is watertight, fronts outwards */
    bool inside;        /* a default camera stands inside of it */
    void (*make)(mesh_builder *to, uint64_t triangles, uint64_t seed);
} procedural_generator;

/* All generators; ends with a row whose name is NULL. */
extern const procedural_generator procedural_generators[];

bool procedural_is_path(const char *path); /* starts with "gen:" */
/* The row that a path "gen:NAME..." names; KD_ERROR_INPUT with the list of names if there is none.
 */
kd_status procedural_find(const procedural_generator **out, const char *path);
kd_status procedural_load(mesh *out, const char *path);

/* The generators, by file: blob.c */
void procedural_blob(mesh_builder *to, uint64_t triangles, uint64_t seed);
void procedural_sphere(mesh_builder *to, uint64_t triangles, uint64_t seed);
void procedural_room(mesh_builder *to, uint64_t triangles, uint64_t seed);
/* field.c */
void procedural_soup(mesh_builder *to, uint64_t triangles, uint64_t seed);
void procedural_terrain(mesh_builder *to, uint64_t triangles, uint64_t seed);
/* solid.c */
void procedural_ring(mesh_builder *to, uint64_t triangles, uint64_t seed);
void procedural_glass(mesh_builder *to, uint64_t triangles, uint64_t seed);
void procedural_wedge(mesh_builder *to, uint64_t triangles, uint64_t seed);
void procedural_cornell(mesh_builder *to, uint64_t triangles, uint64_t seed);
/* field.c */
void procedural_cloth(mesh_builder *to, uint64_t triangles, uint64_t seed);
/* hall.c */
void procedural_hall(mesh_builder *to, uint64_t triangles, uint64_t seed);

#endif
