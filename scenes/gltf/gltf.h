/* The glTF 2.0 reader: .gltf with its pictures and buffers beside it or inside it, and .glb. What
   is read and what is not: README.md. */
#ifndef KD_SCENES_GLTF_GLTF_H
#define KD_SCENES_GLTF_GLTF_H
#include "scenes/formats/mesh_formats.h"

/* Reads `path` into `out` (closed by mesh_close, zeroed on failure) under the rules of obj_load:
   the meshes under all nodes of the file's scene, in world space. A trouble has no line but names
   its place: `file: meshes[0].primitives[1].indices: found ..., expected ...`. Triangles have no
   lines
   (*triangle_lines is NULL). Points and lines alone leave positions without triangles. */
kd_status gltf_load(mesh *out, const char *path, const obj_options *options, job *watched);

#endif
