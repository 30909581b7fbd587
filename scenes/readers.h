/* Which reader a mesh file gets. */
#ifndef KD_SCENES_READERS_H
#define KD_SCENES_READERS_H
#include "core/job.h"
#include "scenes/mesh.h"

/* By the path's form: a generator, an OBJ, anything else through assimp. */
kd_status scene_load_mesh(mesh *out, const char *path, job *watched);

#endif
