/* Chooses by the CPU that it runs on; trace_wide_avx2.c is compiled for one kind of them. */
#include "accel/trace_wide.h"
#include "accel/wide_cast.h"

ray_hit trace_wide_one(const tritree_view *tree, ray cast, bool any) {
#ifdef __x86_64__
    if (vector8_has_avx2()) return trace_wide_one_avx2(tree, cast, any);
#endif
    return wide_cast_one(tree, &cast, any);
}

void trace_wide(const tritree_view *tree, const ray *rays, const uint32_t *listed, uint32_t count,
                bool any, ray_hit *hits) {
#ifdef __x86_64__
    if (vector8_has_avx2()) {
        trace_wide_avx2(tree, rays, listed, count, any, hits);
        return;
    }
#endif
    wide_cast(tree, rays, listed, count, any, hits);
}
