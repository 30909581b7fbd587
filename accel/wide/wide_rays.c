#include "accel/wide/wide_rays.h"
#include "accel/wide/wide_cast.h"

ray_hit trace_wide_one(const tritree_view *tree, ray cast, bool any) {
    return wide_cast_one(tree, &cast, any);
}

void trace_wide(const tritree_view *tree, const ray *rays, const uint32_t *listed, uint32_t count,
                bool any, ray_hit *hits) {
    wide_cast(tree, rays, listed, count, any, hits);
}
