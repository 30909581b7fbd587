/* Ownership and construction of left-balanced point k-d trees, and the table entry of a CPU
   builder. */
#ifndef KD_POINTS_TREE_POINTTREE_H
#define KD_POINTS_TREE_POINTTREE_H
#include "core/job.h"
#include "core/status.h"
#include "points/tree/layout.h"
#include "points/tree/stages.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pointtree_options {
    pointtree_split split;
    bool unique;  /* keep only one of equal points, that with the smallest id */
    double cells; /* cells per unit length to which `wehr` rounds coordinates; 0: no rounding */
} pointtree_options;

typedef struct pointtree {
    union {
        void *coordinates; /* in tree order, `dims` scalars per point */
        vec3 *points;      /* the same array, for three floats */
    };
    uint32_t *ids; /* original index of each point, in tree order */
    uint8_t *axes; /* split axis of each node; NULL for round robin */
    uint32_t count;
    uint32_t dims;
    point_scalar scalar;
    point_box box;
    double build_seconds;
    /* time of each stage, if the builder measures it; else 0 */
    double stage_seconds[POINT_STAGES];
    pointtree_options options; /* used to build this tree */
    pointtree_order order;
} pointtree;

/* Table entry of a CPU builder. A builder's source file ends with its entry,
   pointtree_builder_NAME, and NAME is in the list of points/select/builders.h. */
typedef struct pointtree_builder {
    const char *name;
    const char *source;
    /* scratch for `count` points of three floats, in addition to the tree itself */
    uint64_t (*scratch_bytes)(uint64_t count);
    /* Fills coordinates, ids and, unless NULL, axes of `out`; the caller has set all other
       fields. `points` are packed and finite, and there is at least one. */
    kd_status (*build)(pointtree *out, const point_array *points, job_control *job);
    /* Properties that callers need to know. */
    pointtree_order order;          /* total order of the points that the tree obeys */
    bool removes;                   /* supports options.unique, which may lower the count */
    const char *const *stage_names; /* POINT_STAGES names if it measures its stages; else NULL */
} pointtree_builder;

/* Checks that this builder supports such points and options, without reading the points. Returns
   KD_ERROR_USAGE if not. */
kd_status pointtree_check_request(const point_array *points, const pointtree_options *options,
                                  const pointtree_builder *row);

/* Builds a tree of copies of the points with this builder; zero points are allowed. `options`
   NULL selects round robin. Returns KD_ERROR_INPUT, naming the point, for NaN or infinity, and
   KD_ERROR_USAGE for more than POINTTREE_COUNT_MAX points or unsupported dims and strides. */
kd_status pointtree_open_by(pointtree *out, const point_array *points,
                            const pointtree_options *options, const pointtree_builder *row,
                            job_control *job);
void pointtree_close(pointtree *owned); /* accepts a zeroed struct */

pointtree_nd_view pointtree_get_nd_view(const pointtree *tree);
pointtree_view pointtree_get_view(const pointtree *tree); /* requires three floats */
/* Writes tree->count links. */
uint64_t pointtree_hash(const pointtree *tree);

#ifdef __cplusplus
}
#endif
#endif
