/* What a rendering will allocate beside its scene, row by row, before it does. */
#ifndef KD_RENDER_PLAN_H
#define KD_RENDER_PLAN_H
#include "render/integrator.h"
#include "shaders/scene_view.h"

enum { PLAN_ROWS = 12 };

typedef struct render_plan {
    struct {
        const char *name;
        uint64_t bytes;
    } rows[PLAN_ROWS];
    int count;
    uint64_t total; /* as if all were held at once: an upper bound of the peak but for the scene */
} render_plan;

/* The triangle tree's row is its builder's scratch, photon maps' what their lists, trees and
   builder need while they are made. Allocates nothing. */
kd_status render_plan_make(render_plan *out, const scene_view *from,
                           const kd_render_options *options);
/* The same with as many more options->batches as it takes to need at most `most` bytes (0: no
   limit). KD_ERROR_MEMORY, with the bytes and with advice, if it needs more even so. */
kd_status render_plan_fit(render_plan *out, const scene_view *from, kd_render_options *options,
                          uint64_t most);

#endif
