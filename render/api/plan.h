/* What a rendering will allocate, row by row, before it does: on the host beside its scene, on a
   CUDA device all of it. */
#ifndef KD_RENDER_API_PLAN_H
#define KD_RENDER_API_PLAN_H
#include "distributed/render/maps_choice.h"
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
    /* as if all were held at once: an upper bound of the peak, on the host but for the scene */
    uint64_t total, device_total;
} render_plan;

/* Bytes that one of so many ranks sends while it renders with the others: its photons to all, or,
   where they lie apart, what their looks add up to; and the sums of its pixels, of all passes. What
   is small is left out. `on_devices`: all ranks have a CUDA device. */
uint64_t render_plan_sent(const scene_view *from, const kd_render_options *options,
                          int32_t rank_count, bool on_devices);
/* render_plan_make for one of so many ranks: options->maps say whose photons it holds. */
kd_status render_plan_make_among(render_plan *out, const scene_view *from,
                                 const kd_render_options *options, int32_t rank_count);
/* render_plan_fit for one of choice->rank_count ranks, the same on all if they are told the same:
   settles options->maps, if these are "auto", by what fits and by what is sent; batches that nobody
   asked for, which make another picture, are only chosen where choice->inexact allows it. */
kd_status render_plan_fit_among(render_plan *out, const scene_view *from,
                                kd_render_options *options, uint64_t most, maps_choice *choice);
/* The triangle tree's row is its builder's scratch, photon maps' what their lists, trees and
   builder need while they are made. A tree on a device is taken to have at most 8 references a
   triangle. Allocates nothing but the driver's context. */
kd_status render_plan_make(render_plan *out, const scene_view *from,
                           const kd_render_options *options);
/* The same with as many more options->batches as it takes to need at most `most` bytes on the host
   and as many on the device (0: no limit). If the builder there is "auto", one that needs less
   memory is taken first, and with a limit no maps are made ahead of their pass
   (options->maps_ahead). KD_ERROR_MEMORY, with the bytes and with advice, if it needs more even so.
 */
kd_status render_plan_fit(render_plan *out, const scene_view *from, kd_render_options *options,
                          uint64_t most);

#endif
