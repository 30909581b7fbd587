/* What the triangles of a PLY file are made of. */
#ifndef KD_SCENES_PLY_PLY_COLOURS_H
#define KD_SCENES_PLY_PLY_COLOURS_H
#include "scenes/ply/ply_faces.h"

/* Gives the mesh its materials, and each triangle one. Without colours it is the default material,
   with MeshLab's TextureFile as its picture where that file is there. A mesh has no colours of
   vertices: a triangle gets the mean of its corners as the diffuse colour of its material, in 32
   steps of each of red, green and blue (sRGB), one material each. Call it after the faces are read,
   before unusable triangles are taken out. KD_ERROR_MEMORY. */
kd_status ply_materials(const ply_file *from, const ply_target *to, const obj_options *options);

#endif
