/* The tables of point tree builders. A new builder is a file that ends with its row,
   pointtree_builder_NAME (points/tree/pointtree.h), and its NAME in the list here; on a device
   point_builder_cuda_NAME (points/tree/build_device.h), in the other list. */
#ifndef KD_POINTS_BUILDERS_H
#define KD_POINTS_BUILDERS_H
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

/* The default first; each ends with NULL. */
extern const pointtree_builder *const pointtree_builders[];
extern const point_builder_cuda *const point_builders_cuda[];
/* "auto": the default. NULL: there is none. */
const pointtree_builder *pointtree_builder_find(const char *name);
const point_builder_cuda *point_builder_cuda_find(const char *name);

/* pointtree_open_by the builder of this name, as pointtree_builder_find finds it. */
kd_status pointtree_open_nd(pointtree *out, const point_array *points,
                            const pointtree_options *options, const char *builder, job *watched);
/* The same from three floats each. */
kd_status pointtree_open(pointtree *out, const vec3 *points, uint64_t count,
                         const pointtree_options *options, const char *builder, job *watched);
/* The tree (round robin, order by coordinate) whose node i is points[ids[i]], as pointtree_open
   made it before: nothing is built. KD_ERROR_INPUT if `ids` are no permutation or the tree is not
   the one that pointtree_open makes of these points. */
kd_status pointtree_adopt(pointtree *out, const vec3 *points, uint64_t count, const uint32_t *ids);

#ifdef __cplusplus
}
#endif
#endif
