/* The table of builders on a CUDA device; empty in a build without CUDA. */
#include "points/kandela/build_kandela.h"
#include "points/wehr/build_wehr.h"

const point_builder_cuda point_builders_cuda[] = {
#ifdef KD_HAVE_CUDA
    {"kandela", false, false, build_kandela_cuda_scratch_bytes, build_kandela_cuda},
    {"wald", false, false, build_wald_cuda_scratch_bytes, build_wald_cuda},
    {"brown", true, true, build_brown_cuda_scratch_bytes, build_brown_cuda},
    {"wehr", false, false, build_wehr_cuda_scratch_bytes, build_wehr_cuda},
#endif
    {NULL, false, false, NULL, NULL}};

kd_status point_build_cuda_check(const point_build_cuda *a, size_t needed) {
    KD_REQUIRE(a->points.count <= POINTTREE_COUNT_MAX, KD_ERROR_USAGE,
               "%llu points, expected at most %u in one tree", (unsigned long long)a->points.count,
               POINTTREE_COUNT_MAX);
    KD_REQUIRE(a->points.dims >= POINT_DIMS_MIN && a->points.dims <= POINT_DIMS_MAX, KD_ERROR_USAGE,
               "%u dimensions, expected %u to %u", a->points.dims, POINT_DIMS_MIN, POINT_DIMS_MAX);
    const uint64_t scalar_bytes = point_scalar_bytes(a->points.scalar);
    KD_REQUIRE(a->points.stride_bytes >= a->points.dims * scalar_bytes &&
                   a->points.stride_bytes % scalar_bytes == 0,
               KD_ERROR_USAGE, "stride of %llu bytes, expected a multiple of %llu of at least %llu",
               (unsigned long long)a->points.stride_bytes, (unsigned long long)scalar_bytes,
               (unsigned long long)(a->points.dims * scalar_bytes));
    KD_REQUIRE(a->scratch_bytes >= needed, KD_ERROR_MEMORY,
               "scratch of %zu bytes given, %zu needed", a->scratch_bytes, needed);
    return KD_OK;
}

#ifndef KD_HAVE_CUDA
kd_status build_wehr_cuda_with(const point_build_cuda *arguments,
                               const wehr_parameters *parameters) {
    (void)arguments, (void)parameters;
    KD_FAIL(KD_ERROR_DEVICE, "no CUDA in this build");
}

kd_status build_kandela_cuda_with(const point_build_cuda *arguments,
                                  const kandela_parameters *parameters) {
    (void)arguments, (void)parameters;
    KD_FAIL(KD_ERROR_DEVICE, "no CUDA in this build");
}

kd_status wehr_tune_cuda(wehr_parameters *best, const point_build_cuda *arguments) {
    (void)best, (void)arguments;
    KD_FAIL(KD_ERROR_DEVICE, "no CUDA in this build");
}
#endif
