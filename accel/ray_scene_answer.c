/* The loop over the rays or points of a query on a CPU, for the instruction set that this file is
   compiled for. */
#include "accel/ray_scene.h"

void ray_scene_answer(const scene_rays_view *view, const scene_query *query, uint64_t begin,
                      uint64_t end) {
    uint32_t fault = 0;
    scene_query some = *query;
    some.fault = &fault;
    for (uint64_t i = begin; i < end; ++i) scene_query_one(view, &some, i);
    if (fault) __atomic_store_n(query->fault, 1, __ATOMIC_RELAXED);
}
