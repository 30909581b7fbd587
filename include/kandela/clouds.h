/* Algorithms on clouds of points, on all CPU cores: clusters by density, downsampling, normals,
   kernel density estimates.
   C99.

       #include <kandela/clouds.h>
       #include <stdio.h>

       // Prints the cluster of each of `count` points (x, y, z each).
       int print_clusters(const float *xyz, uint64_t count, int64_t *labels) {
           const kd_point_array cloud = kd_point_array_make(xyz, count, 3, KD_FLOAT);
           int32_t suited = 0;
           kd_status status = kd_clouds_cluster(&cloud, 0.1, 5, labels, &suited);
           for (uint64_t i = 0; suited && i < count; ++i) printf("%lld\n", (long long)labels[i]);
           if (status != KD_OK) fprintf(stderr, "%s\n", kd_last_error());
           return status == KD_OK;
       }

   Memory: points and results are arrays in host memory, which the caller owns. The field `ids` of
   kd_point_array is ignored.

   Errors: KD_ERROR_USAGE for a required argument that is NULL, or for arrays of unsuitable dims or
   scalar; KD_ERROR_INPUT for a number out of range; KD_ERROR_MEMORY. The message is in
   kd_last_error().

   Threads: every function may be called by any number of threads at once. Results do not depend on
   the number of threads. */
#ifndef KANDELA_CLOUDS_H
#define KANDELA_CLOUDS_H
#include <kandela/points.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Clusters points of 1 to 8 dimensions by density (DBSCAN, Ester et al. 1996). A point with at
   least `least` >= 1 points within `radius` >= 0, including itself, is a core point; core points
   within the radius of each other are in one cluster; clusters are numbered from 0 by their first
   core point. Any other point within the radius of a core point belongs to the first such cluster.
   labels[i] is the cluster of point i; -1: none. Distances are those of kd_points_search_within,
   bit for bit.
   The points are sorted into the cells of a grid. If a grid does not suit them, *suited is set to 0
   and no label is set; otherwise *suited is set to 1. Reasons for 0 are: more than four dimensions;
   few points per cell in four dimensions; coordinates that are not finite or farther apart than
   about 2^31 radii; a radius whose square is not a normal number; no points. In these cases derive
   the clusters from the results of kd_points_search_within. */
KD_API kd_status kd_clouds_cluster(const kd_point_array *points, double radius, uint64_t least,
                                   int64_t *labels, int32_t *suited);

/* Replaces the points in each cube of a grid by their mean. The cube of a point has the index
   floor((x - origin) / size) along each axis, in double precision. `size` > 0, in the unit of the
   points; `origin`: one number per axis, or NULL: the smallest coordinates minus half of `size`, as
   in Open3D. Writes *voxels means, in the scalar and dims of the points, to `means`, which must
   hold as many rows as there are points; they are in lexicographic order of the cubes. Sums are in
   double precision, in input order. *suited is set to 1; it is set to 0, and nothing else is set,
   if a coordinate is not finite or the grid has more than about 2^31 cubes along an axis or 2^63 in
   all. */
KD_API kd_status kd_clouds_downsample(const kd_point_array *points, double size,
                                      const double *origin, void *means, uint64_t *voxels,
                                      int32_t *suited);

/* Estimates the unit normal at each query as the direction of least variance of its neighbours, in
   double precision. Row i of `ids` holds the indices of the k >= 1 neighbours of query i, such as
   those of kd_points_nearest; KD_NO_POINT stands for none. Points and queries have 3 dims and the
   same scalar, which is also that of `normals`, three for each query. A normal points to the side
   of the position `toward` (x, y, z) or, if that is NULL, has a positive largest component; before
   this choice it is (1, 0, 0) if the variance is equal in all directions. */
KD_API kd_status kd_clouds_normals(const kd_point_array *points, const kd_point_array *queries,
                                   const uint32_t *ids, uint32_t k, const double *toward,
                                   void *normals);

/* Kernels of density estimates; u is the distance in bandwidths. */
typedef enum kd_density_kernel {
    KD_DENSITY_GAUSSIAN = 0,     /* exp(-u^2 / 2) */
    KD_DENSITY_TOPHAT = 1,       /* 1; this kernel and those below are 0 for u >= 1, unless noted */
    KD_DENSITY_EPANECHNIKOV = 2, /* 1 - u^2 */
    KD_DENSITY_EXPONENTIAL = 3,  /* exp(-u), for all u */
    KD_DENSITY_LINEAR = 4,       /* 1 - u */
    KD_DENSITY_COSINE = 5        /* cos(pi u / 2) */
} kd_density_kernel;

/* Sums a kernel over points of 1 to 65536 axes at each query: log_sums[i] is the natural logarithm
   of the sum of weight * kernel, not normalised; -INFINITY where the sum is 0. `weights`: one
   finite number >= 0 per point; NULL: all weights are 1. `bandwidth` > 0 is in the unit of the
   points. The error of a sum is at most atol + rtol * sum; if both are 0, it is the rounding error
   (about 1e-15 of the sum, or of the logarithm if that is large). */
KD_API kd_status kd_clouds_density(const kd_point_array *points, const double *weights,
                                   const kd_point_array *queries, kd_density_kernel kernel,
                                   double bandwidth, double atol, double rtol, double *log_sums);

#ifdef __cplusplus
}
#endif
#endif
