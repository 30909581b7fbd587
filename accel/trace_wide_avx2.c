/* trace_wide.c for CPUs with AVX2 and FMA, whatever the rest is compiled for: a function attribute
   alone (VECTOR8_AVX2) would leave the vectors' permutations, minima and maxima to plain code. */
#ifdef __x86_64__
#include "accel/trace_wide.h"
#include "accel/wide_cast.h"

ray_hit trace_wide_one_avx2(const tritree_view *tree, ray cast, bool any) {
    return wide_cast_one(tree, &cast, any);
}

void trace_wide_avx2(const tritree_view *tree, const ray *rays, const uint32_t *listed,
                     uint32_t count, bool any, ray_hit *hits) {
    wide_cast(tree, rays, listed, count, any, hits);
}
#else
typedef int no_such_cpu; /* a file must declare something */
#endif
