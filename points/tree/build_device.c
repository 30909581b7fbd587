#include "points/tree/build_device.h"
#include "core/device/device.h"

kd_status point_build_cuda_check(const point_build_cuda *a, size_t needed) {
    KD_REQUIRE(a->points.count <= POINTTREE_COUNT_MAX, KD_ERROR_USAGE,
               "`count` is %llu; one tree supports at most %u points",
               (unsigned long long)a->points.count, POINTTREE_COUNT_MAX);
    KD_REQUIRE(a->points.dims >= POINT_DIMS_MIN && a->points.dims <= POINT_DIMS_MAX, KD_ERROR_USAGE,
               "`dims` is %u; supported: %u to %u", a->points.dims, POINT_DIMS_MIN, POINT_DIMS_MAX);
    const uint64_t scalar_bytes = point_scalar_bytes(a->points.scalar);
    KD_TRY(caller_stride_check(a->points.count, a->points.stride_bytes, a->points.dims,
                               scalar_bytes, "points"));
    KD_REQUIRE(a->scratch_bytes >= needed, KD_ERROR_MEMORY,
               "`scratch_bytes` is %zu; %zu are needed", a->scratch_bytes, needed);
    return KD_OK;
}
