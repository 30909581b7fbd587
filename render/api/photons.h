/* The photons of a scene, without a picture: what `kandela photons` and the C API emit. */
#ifndef KD_RENDER_API_PHOTONS_H
#define KD_RENDER_API_PHOTONS_H
#include "core/job.h"
#include "photon/maps/photon_file.h"
#include <kandela/render.h>

struct scene;

/* Lists and the scene's hash, as a file of them has them; `out` is zeroed, and closed by
   photon_file_close after a failure, too. What is placed in the scene becomes copies. Stages of the
   job: build, emit. */
kd_status photons_emit(photon_file *out, struct scene *from, const kd_render_options *options,
                       job *watched);

#endif
