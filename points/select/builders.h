/* The lists of point tree builders. To add a builder, end its source file with its table entry
   pointtree_builder_NAME (points/tree/pointtree.h) and add NAME to the first list here; for a CUDA
   builder, point_builder_cuda_NAME (points/tree/build_device.h) and the second list. */
#ifndef KD_POINTS_SELECT_BUILDERS_H
#define KD_POINTS_SELECT_BUILDERS_H
#include "points/tree/build_device.h"
#include "points/tree/pointtree.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POINTTREE_BUILDER_ROWS(ROW) ROW(select) ROW(wald) ROW(brown) ROW(wehr) ROW(recursive)
#ifdef KD_HAVE_CUDA
#define POINT_BUILDER_CUDA_ROWS(ROW) ROW(select) ROW(wald) ROW(brown) ROW(wehr)
#else
#define POINT_BUILDER_CUDA_ROWS(ROW)
#endif

/* NULL-terminated arrays; the default builder is the first element. */
extern const pointtree_builder *const *pointtree_builders;
extern const point_builder_cuda *const *point_builders_cuda;
/* Find a builder by name; "auto" is the default. Return NULL if there is none. */
const pointtree_builder *pointtree_builder_find(const char *name);
const point_builder_cuda *point_builder_cuda_find(const char *name);

/* As pointtree_open_by, with a builder given by name. Returns KD_ERROR_USAGE, with the list of
   builders, for an unknown name. */
kd_status pointtree_open_nd(pointtree *out, const point_array *points,
                            const pointtree_options *options, const char *builder,
                            job_control *job);
/* As pointtree_open_nd, for points of three floats. */
kd_status pointtree_open(pointtree *out, const vec3 *points, uint64_t count,
                         const pointtree_options *options, const char *builder, job_control *job);
/* Reconstructs a tree (round robin, ordered by coordinate) built earlier by pointtree_open, whose
   node i is points[ids[i]], without building it. Returns KD_ERROR_INPUT if `ids` is not a
   permutation or the tree differs from the one that pointtree_open builds from these points. */
kd_status pointtree_adopt(pointtree *out, const vec3 *points, uint64_t count, const uint32_t *ids);

#ifdef __cplusplus
}
#endif
#endif
