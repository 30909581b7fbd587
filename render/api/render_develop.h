#ifndef KD_RENDER_API_RENDER_DEVELOP_H
#define KD_RENDER_API_RENDER_DEVELOP_H
#include "render/api/render.h"
#include "render/frame/film.h"

/* Sets the picture, the statistics and the error of `out`, whose `view` is set, from the film of a
   rendering that began at `started` (timing_now()). */
kd_status render_develop(render_result *out, const film *film, const frame *frame, double started);

#endif
