/* Eight rays at a time that need not be alike. */
#ifndef KD_ACCEL_TRACE_LANES_H
#define KD_ACCEL_TRACE_LANES_H
#include "shaders/tritree_trace.h"

/* The rays whose numbers are listed; hits[i] is what tritree_closest(rays[i]) answers, to the bit;
   with `any`, only whether hits[i].triangle is KD_NONE is told. The tree has rows and at least one
   reference. */
void trace_lanes(const tritree_view *tree, const ray *rays, const uint32_t *listed, uint32_t count,
                 bool any, ray_hit *hits);

#endif
