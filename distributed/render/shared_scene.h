/* Loading of a scene by all ranks of a rendering. */
#ifndef KD_DISTRIBUTED_RENDER_SHARED_SCENE_H
#define KD_DISTRIBUTED_RENDER_SHARED_SCENE_H
#include "core/files/file_bundle.h"
#include "core/job.h"
#include "distributed/ranks/ranks.h"
#include "scenes/assembly/scene.h"
#include <kandela/render.h>

typedef struct scene_request {
    const char *path, *environment; /* arguments of scene_open_instanced */
    const char *photon_map; /* option of the command line; NULL: that of the scene, if any */
    kd_render_options *from_file;
    job_control *job;
} scene_request;

/* Loads the scene. With several ranks, rank 0 reads the files and sends them to the others, which
   may not have access to them; the others keep them open in `bundle`, since a photon map is read
   later. */
kd_status scene_open_shared(scene **out, ranks *comm, file_bundle *bundle,
                            const scene_request *request);

#endif
