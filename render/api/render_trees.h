/* The trees of a scene that rays traverse, on the host and on a device. */
#ifndef KD_RENDER_API_RENDER_TREES_H
#define KD_RENDER_API_RENDER_TREES_H
#include "accel/instances.h"
#include "render/api/render.h"
#include "render/frame/frame.h"
#include "render/photon_mapping/kept_maps.h"

typedef struct render_trees {
    tritree plain;
    instance_trees instances;
    scene *moved; /* the scene that they belong to, if it is not that of the caller; owned */
} render_trees;

/* Builds the trees, sets view->tree and the trees of its instances, and the figures in `out`. With
   `device_frame`, copies scene and tree to the device, or builds the tree there. */
kd_status render_trees_open(render_result *out, frame_cuda *device_frame, render_trees *trees,
                            scene_view *view, const kd_render_options *options, job_control *job);
/* Copies scene and trees to the device again, after `view` has changed. */
kd_status render_trees_place(frame_cuda *device_frame, const render_trees *trees,
                             const scene_view *view, const kd_render_options *options);
void render_trees_close(render_trees *owned); /* `owned` may be zeroed */

/* Trees and photon maps that are kept in host memory from one rendering of a scene to the next, and
   what they were built of, and where. */
typedef struct render_kept {
    render_trees trees;
    instance_view instances; /* instances and their trees */
    char builder[32], requested[32];
    bool on_device;
    tritree_options options;
    const vec3 *positions;
    uint32_t triangle_count;
    uint64_t hash;
    kept_maps maps;
    bool keeps_maps; /* set by the caller: photon maps are kept, too */
} render_kept;

/* As render_trees_open, but builds only if the trees that are kept do not fit; otherwise copies
   them to the device if there is one. */
kd_status render_trees_reuse(render_result *out, frame_cuda *device_frame, render_kept *kept,
                             render_trees *trees, scene_view *view,
                             const kd_render_options *options, job_control *job);
void render_kept_close(render_kept *owned); /* `owned` may be zeroed */

#endif
