/* The glTF 2.0 reader: .gltf with external or embedded images and buffers, and .glb. README.md
   lists the features that it supports. */
#ifndef KD_SCENES_IMPORT_GLTF_H
#define KD_SCENES_IMPORT_GLTF_H
#include "scenes/formats/mesh_formats.h"

/* Reads `path` into `out` by the same rules as obj_load: the meshes of all nodes of the file's
   default scene, in world space. Problems have no line number, but the JSON path of their cause:
   `file: meshes[0].primitives[1].indices: found ..., expected ...`; *triangle_lines is NULL. A
   file with points and lines only yields positions without triangles. */
kd_status gltf_load(mesh *out, const char *path, const obj_options *options, job_control *job);

#endif
