/* Predicts the memory that a rendering will allocate, item by item: on the host without the scene,
   on a CUDA device in total. */
#ifndef KD_RENDER_API_PLAN_H
#define KD_RENDER_API_PLAN_H
#include "distributed/render/shared_frame.h"
#include "render/frame/integrator.h"
#include "shaders/scene_view.h"

enum { PLAN_ROWS = 32 };

typedef struct render_plan {
    struct {
        const char *name;
        uint64_t bytes;
        bool on_device;
    } rows[PLAN_ROWS];
    int count;
    /* Sums as if all items were allocated at once: an upper bound of the peak; that of the host
       excludes the scene. On a device the tree's builder does not count beside the items that are
       allocated after it. */
    uint64_t total, device_total;
} render_plan;

/* Bytes that each of `rank_count` ranks sends while rendering: its photons to all others or, if
   photons are distributed, the sums of lookups; plus the sums of its pixels, for all passes. Omits
   small messages. `on_devices`: all ranks have a CUDA device. */
uint64_t render_plan_sent(const scene_view *view, const kd_render_options *options,
                          int32_t rank_count, bool on_devices);
/* Plans the memory of one of `rank_count` ranks with the options as they are; options->maps says
   which photons it holds. The item of the triangle tree is its builder's scratch memory; those of
   photon maps include lists, trees and builder. Assumes at most 8 references per triangle for a
   tree on a device. Allocates nothing except the driver's context. */
kd_status render_plan_make_among(render_plan *out, const scene_view *view,
                                 const kd_render_options *options, int32_t rank_count);
/* render_plan_fit for one of choice->rank_count ranks; the result is the same on all ranks if their
   arguments are. If options->maps is "auto", selects it by memory and by the bytes sent. Adds
   batches, which change the image, only if choice->inexact allows it. */
kd_status render_plan_fit_among(render_plan *out, const scene_view *view,
                                kd_render_options *options, uint64_t maximum, maps_choice *choice);
/* Plans the memory for unchanged options. The item of the triangle tree is its builder's scratch
   memory; the items of photon maps include lists, trees and their builder. Assumes at most 8
   references per triangle for a tree on a device. Allocates nothing except the context of the CUDA
   driver. */
kd_status render_plan_fit(render_plan *out, const scene_view *view, kd_render_options *options,
                          uint64_t maximum);

/* Chooses the paths in flight (device_paths) for a device with this many bytes available besides
   its scene, tree and compressed nodes: a pool of at most 1 GB, less if that does not fit. Turns
   maps_ahead off if the maps of two passes do not fit. No sample depends on either. */
kd_status render_plan_pools(kd_render_options *options, const scene_view *view, uint64_t available);

#endif
