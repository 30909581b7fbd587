/* The functions of <kandela/clouds.h>: checks of arguments. */
#include "points/clouds/clouds.h"
#include "core/parallel/call.h"
#include <float.h>
#include <kandela/clouds.h>
#include <math.h>

#define DENSITY_DIMS_MAX 65536u

/* Checks the points and converts them. */
static kd_status cloud_take(point_array *out, const kd_point_array *points, uint32_t dims_max) {
    KD_REQUIRE(points, KD_ERROR_USAGE, "`points` must not be NULL");
    KD_REQUIRE(points->dims >= POINT_DIMS_MIN && points->dims <= dims_max, KD_ERROR_USAGE,
               "the points have %u axes; expected 1 to %u", points->dims, dims_max);
    KD_REQUIRE(points->scalar == KD_FLOAT || points->scalar == KD_DOUBLE, KD_ERROR_USAGE,
               "`scalar` is %d; expected 0 (float) or 1 (double)", (int)points->scalar);
    KD_REQUIRE(points->coordinates || !points->count, KD_ERROR_USAGE,
               "`coordinates` must not be NULL");
    *out = point_array_make(points->coordinates, points->count, points->dims,
                            points->scalar == KD_DOUBLE ? POINT_DOUBLE : POINT_FLOAT);
    if (points->stride_bytes) out->stride_bytes = points->stride_bytes;
    return KD_OK;
}

kd_status kd_clouds_cluster(const kd_point_array *points, double radius, uint64_t least,
                            int64_t *labels, int32_t *suited) {
    KD_CALL(0);
    point_array cloud;
    bool done = false;
    KD_TRY(cloud_take(&cloud, points, POINT_DIMS_MAX));
    KD_REQUIRE(radius >= 0, KD_ERROR_INPUT, "`radius` is %g; expected 0 or more", radius);
    KD_REQUIRE(least >= 1, KD_ERROR_INPUT, "`least` is 0; expected at least 1");
    KD_REQUIRE(labels && suited, KD_ERROR_USAGE, "`labels` and `suited` must not be NULL");
    if (cloud.count) KD_TRY(cloud_clusters(&cloud, radius, least, labels, &done));
    *suited = done;
    return KD_OK;
}

kd_status kd_clouds_downsample(const kd_point_array *points, double size, const double *origin,
                               void *means, uint64_t *voxels, int32_t *suited) {
    KD_CALL(0);
    point_array cloud;
    bool done = false;
    KD_TRY(cloud_take(&cloud, points, POINT_DIMS_MAX));
    KD_REQUIRE(size > 0 && size <= DBL_MAX, KD_ERROR_INPUT,
               "`size` is %g; expected above 0 and finite", size);
    for (uint32_t axis = 0; origin && axis < cloud.dims; ++axis)
        KD_REQUIRE(fabs(origin[axis]) <= DBL_MAX, KD_ERROR_INPUT, "`origin[%u]` is not finite",
                   axis);
    KD_REQUIRE((means || !cloud.count) && voxels && suited, KD_ERROR_USAGE,
               "`means`, `voxels` and `suited` must not be NULL");
    *suited = 1;
    if (!cloud.count) {
        *voxels = 0;
        return KD_OK;
    }
    KD_TRY(cloud_downsample(&cloud, size, origin, means, voxels, &done));
    *suited = done;
    return KD_OK;
}

kd_status kd_clouds_normals(const kd_point_array *points, const kd_point_array *queries,
                            const uint32_t *ids, uint32_t k, const double *toward, void *normals) {
    KD_CALL(0);
    point_array cloud, at;
    KD_TRY(cloud_take(&cloud, points, POINT_DIMS_MAX));
    KD_TRY(cloud_take(&at, queries, POINT_DIMS_MAX));
    KD_REQUIRE(cloud.dims == 3 && at.dims == 3, KD_ERROR_USAGE,
               "`dims` is %u for the points and %u for the queries; expected 3", cloud.dims,
               at.dims);
    KD_REQUIRE(cloud.scalar == at.scalar, KD_ERROR_USAGE,
               "points and queries must have the same `scalar`");
    KD_REQUIRE(k >= 1, KD_ERROR_INPUT, "`k` is 0; expected at least 1");
    KD_REQUIRE((ids && normals) || !at.count, KD_ERROR_USAGE,
               "`ids` and `normals` must not be NULL");
    return cloud_normals(&cloud, &at, ids, k, toward, normals);
}

static kd_status check_finite(const point_array *points, const char *name) {
    for (uint64_t i = 0; i < points->count; ++i)
        for (uint32_t axis = 0; axis < points->dims; ++axis) {
            const double x = point_array_coordinate(points, i, axis);
            KD_REQUIRE(fabs(x) <= DBL_MAX, KD_ERROR_INPUT,
                       "`%s`: coordinate %u of point %llu is %g; coordinates must be finite", name,
                       axis, (unsigned long long)i, x);
        }
    return KD_OK;
}

kd_status kd_clouds_density(const kd_point_array *points, const double *weights,
                            const kd_point_array *queries, kd_density_kernel kernel,
                            double bandwidth, double atol, double rtol, double *log_sums) {
    KD_CALL(0);
    point_array cloud, at;
    KD_TRY(cloud_take(&cloud, points, DENSITY_DIMS_MAX));
    KD_TRY(cloud_take(&at, queries, DENSITY_DIMS_MAX));
    KD_REQUIRE(cloud.dims == at.dims, KD_ERROR_USAGE, "the points have %u axes, the queries %u",
               cloud.dims, at.dims);
    KD_REQUIRE(cloud.count <= INT32_MAX, KD_ERROR_USAGE,
               "`count` is %llu; supported: at most 2^31 - 1 points",
               (unsigned long long)cloud.count);
    KD_REQUIRE((int)kernel >= 0 && kernel <= KD_DENSITY_COSINE, KD_ERROR_USAGE,
               "`kernel` is %d; expected 0 to %d", (int)kernel, (int)KD_DENSITY_COSINE);
    KD_REQUIRE(bandwidth >= DBL_MIN && bandwidth <= DBL_MAX, KD_ERROR_INPUT,
               "`bandwidth` is %g; expected a normal number above 0", bandwidth);
    KD_REQUIRE(atol >= 0 && rtol >= 0, KD_ERROR_INPUT,
               "`atol` is %g and `rtol` %g; expected 0 or more", atol, rtol);
    KD_REQUIRE(log_sums || !at.count, KD_ERROR_USAGE, "`log_sums` must not be NULL");
    for (uint64_t i = 0; weights && i < cloud.count; ++i)
        KD_REQUIRE(weights[i] >= 0 && weights[i] <= DBL_MAX, KD_ERROR_INPUT,
                   "weight %llu is %g; expected a finite number, 0 or more", (unsigned long long)i,
                   weights[i]);
    KD_TRY(check_finite(&cloud, "points"));
    KD_TRY(check_finite(&at, "queries"));
    return cloud_density(&cloud, weights, &at, (cloud_kernel)kernel, bandwidth, atol, rtol,
                         log_sums);
}
