/* Whether what is placed in a scene becomes copies. */
#ifndef KD_RENDER_API_RENDER_PLACING_H
#define KD_RENDER_API_RENDER_PLACING_H
#include "core/status.h"
#include <kandela/render.h>

struct scene;

/* What becomes of placements: copies take more bytes, and rays find them sooner. */
typedef enum render_placing {
    RENDER_PLACING_AUTO, /* copies, if they take less than an eighth of the memory, or the method
                            looks at no placements */
    RENDER_PLACING_KEEP,
    RENDER_PLACING_COPY
} render_placing;
const char *render_placing_name(int index); /* NULL from the end of the list on */
/* Copies what is placed in the scene (scene_copy_placements), or leaves it. `most`: bytes that may
   be taken; 0: the machine's. KD_ERROR_USAGE: the method needs copies, which take more. */
kd_status render_settle_placements(struct scene *of, const kd_render_options *options,
                                   uint64_t most, render_placing how);

#endif
