/* Procedural meshes of any size. Wherever a mesh file can be named, "gen:NAME:N" stands for a
   generator with a target of N triangles, and "gen:NAME:N:SEED" for a variant of it. */
#ifndef KD_SCENES_MESH_GENERATE_H
#define KD_SCENES_MESH_GENERATE_H
#include "core/job.h"
#include "scenes/mesh/mesh_builder.h"

typedef struct procedural_generator {
    const char *name;
    const char *description; /* one line for --help */
    uint64_t triangles;      /* default number of triangles */
    bool closed;             /* all its surfaces are watertight, front faces outwards */
    bool inside;             /* the default camera is placed inside */
    void (*make)(mesh_builder *builder, uint64_t triangles, uint64_t seed);
} procedural_generator;

/* All generators, terminated by a row whose name is NULL. */
extern const procedural_generator procedural_generators[];

bool procedural_is_path(const char *path); /* true if it starts with "gen:" */
/* Finds the generator of a path "gen:NAME...". Returns KD_ERROR_INPUT with a list of the names if
   there is none. */
kd_status procedural_find(const procedural_generator **out, const char *path);
kd_status procedural_load(mesh *out, const char *path);

/* The generators, by source file: blob.c */
void procedural_blob(mesh_builder *builder, uint64_t triangles, uint64_t seed);
void procedural_sphere(mesh_builder *builder, uint64_t triangles, uint64_t seed);
void procedural_capacity(mesh_builder *builder, uint64_t triangles, uint64_t seed);
/* field.c */
void procedural_soup(mesh_builder *builder, uint64_t triangles, uint64_t seed);
void procedural_terrain(mesh_builder *builder, uint64_t triangles, uint64_t seed);
/* solid.c */
void procedural_ring(mesh_builder *builder, uint64_t triangles, uint64_t seed);
void procedural_glass(mesh_builder *builder, uint64_t triangles, uint64_t seed);
void procedural_wedge(mesh_builder *builder, uint64_t triangles, uint64_t seed);
void procedural_cornell(mesh_builder *builder, uint64_t triangles, uint64_t seed);
/* field.c */
void procedural_cloth(mesh_builder *builder, uint64_t triangles, uint64_t seed);
/* hall.c */
void procedural_hall(mesh_builder *builder, uint64_t triangles, uint64_t seed);

#endif
