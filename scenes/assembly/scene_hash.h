/* One number for all that light can meet in a scene: what files kept from one run to the next say
   of the scene they belong to. */
#ifndef KD_SCENES_ASSEMBLY_SCENE_HASH_H
#define KD_SCENES_ASSEMBLY_SCENE_HASH_H
#include "shaders/scene_view.h"

/* Mesh, materials, textures, lights and environment; not the camera, nor the tree. Work: reads the
   whole scene once. */
uint64_t scene_hash(const scene_view *of);

#endif
