/* The left-balanced point k-d tree's owner and the table of its builders. */
#ifndef KD_POINTS_TREE_POINTTREE_H
#define KD_POINTS_TREE_POINTTREE_H
#include "core/job.h"
#include "core/status.h"
#include "points/tree/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pointtree_options {
    pointtree_split split;
    bool unique;  /* keep one of points that are equal in all coordinates: that of the least id */
    double cells; /* a unit, that wehr rounds coordinates to; 0: not at all */
} pointtree_options;

/* A node with references to its children, KD_NONE for none: Robinson's node list. */
typedef struct pointtree_link {
    uint32_t id, less, greater;
} pointtree_link;

typedef struct pointtree {
    union {
        void *coordinates; /* in tree order, `dims` scalars each */
        vec3 *points;      /* the same, of three floats */
    };
    uint32_t *ids; /* index of each in the input */
    uint8_t *axes; /* NULL for round robin */
    uint32_t count;
    uint32_t dims;
    point_scalar scalar;
    point_box box;
    double build_seconds;
    pointtree_options options; /* it was built with */
    pointtree_order order;
} pointtree;

typedef struct pointtree_builder {
    const char *name;
    const char *source;
    const char *devices;
    uint64_t (*scratch_bytes)(uint64_t count); /* for three floats, beside the tree itself */
    pointtree_order order;                     /* that the tree keeps to */
    bool removes; /* options.unique is for it; it may lower the count */
    /* Fills coordinates, ids and axes (if there) of `out`; the rest of it is set. `points` are
       packed and finite, at least one. */
    kd_status (*build)(pointtree *out, const point_array *points, job *watched);
} pointtree_builder;

extern const pointtree_builder pointtree_builders[]; /* the default first; ends with name NULL */
const pointtree_builder *pointtree_builder_find(const char *name); /* NULL if there is none */
/* Whether such points, of which none is looked at, can be built from by this row. */
kd_status pointtree_check_request(const point_array *points, const pointtree_options *options,
                                  const pointtree_builder *row);

/* Builds from `points` (copied; none is fine). `options` NULL is round robin, `builder` NULL or ""
   the default one. NaN and infinity are KD_ERROR_INPUT with the point named; more than
   POINTTREE_COUNT_MAX points, and dims and strides that make no sense, KD_ERROR_USAGE. */
kd_status pointtree_open_nd(pointtree *out, const point_array *points,
                            const pointtree_options *options, const char *builder, job *watched);
/* The same from three floats each. */
kd_status pointtree_open(pointtree *out, const vec3 *points, uint64_t count,
                         const pointtree_options *options, const char *builder, job *watched);
/* The tree (round robin, order by coordinate) whose node i is points[ids[i]], as pointtree_open
   made it before: nothing is built. KD_ERROR_INPUT if `ids` are no permutation or the tree is not
   the one that pointtree_open makes of these points. */
kd_status pointtree_adopt(pointtree *out, const vec3 *points, uint64_t count, const uint32_t *ids);
void pointtree_close(pointtree *owned); /* takes a zeroed one */

pointtree_nd_view pointtree_get_nd_view(const pointtree *from);
pointtree_view pointtree_get_view(const pointtree *from); /* of a tree of three floats */
void pointtree_link_nodes(const pointtree *from, pointtree_link *out); /* count of them */
uint64_t pointtree_hash(const pointtree *from); /* of ids in tree order and axes */

#ifdef __cplusplus
}
#endif
#endif
