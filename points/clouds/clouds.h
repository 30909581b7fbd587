/* Algorithms on point clouds, for clouds.c. */
#ifndef KD_POINTS_CLOUDS_CLOUDS_H
#define KD_POINTS_CLOUDS_CLOUDS_H
#include "core/status.h"
#include "points/tree/point_array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The functions of <kandela/clouds.h> on valid arguments. */
kd_status cloud_clusters(const point_array *points, double radius, uint64_t least, int64_t *labels,
                         bool *done);
kd_status cloud_downsample(const point_array *points, double size, const double *origin,
                           void *means, uint64_t *voxels, bool *done);
/* Returns false if an id is neither an index nor KD_NONE. */
kd_status cloud_normals(const point_array *points, const point_array *queries, const uint32_t *ids,
                        uint32_t k, const double *toward, void *normals);

typedef enum cloud_kernel {
    CLOUD_GAUSSIAN = 0,
    CLOUD_TOPHAT,
    CLOUD_EPANECHNIKOV,
    CLOUD_EXPONENTIAL,
    CLOUD_LINEAR,
    CLOUD_COSINE
} cloud_kernel;
kd_status cloud_density(const point_array *points, const double *weights,
                        const point_array *queries, cloud_kernel kernel, double bandwidth,
                        double atol, double rtol, double *sums);

#ifdef __cplusplus
}
#endif
#endif
