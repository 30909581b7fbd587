/* Boundaries of media that lie in one place, and bodies around one point. */
#ifndef KD_SCENES_MESH_OVERLAPS_H
#define KD_SCENES_MESH_OVERLAPS_H
#include "core/status.h"
#include "scenes/mesh/mesh.h"

/* Sets materials[0] and [1] to those of two triangles that lie in one plane and overlap there, and
   *place to a point near; or materials[0] to KD_NONE if there are none, or if finding them needs
   more than a fixed amount of work. Only the first `count` triangles are considered, of materials
   whose element of `bounds` is true. */
kd_status overlaps_find_coincident(const mesh *mesh, uint32_t count, const bool *bounds,
                                   uint32_t materials[2], vec3 *place);

/* Sets *depth to the number of bodies, connected meshes of `material`, around some point if more
   than `most` are found around it, and *place to that point; else *depth to 0. Tests the centres of
   the bodies' bounding boxes and of overlaps of these. */
kd_status overlaps_find_crowd(const mesh *mesh, uint32_t count, uint32_t material, uint32_t most,
                              uint32_t *depth, vec3 *place);

#endif
