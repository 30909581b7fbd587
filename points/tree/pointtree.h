/* The left-balanced point k-d tree's owner. */
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
    double stage_seconds[POINT_STAGES]; /* where they went, if the builder tells; else 0 */
    pointtree_options options;          /* it was built with */
    pointtree_order order;
} pointtree;

/* What a builder offers: its row, pointtree_builder_NAME, ends its file; its NAME stands in the
   list of points/builders.h. */
typedef struct pointtree_builder {
    const char *name;
    const char *source;
    uint64_t (*scratch_bytes)(uint64_t count); /* for three floats, beside the tree itself */
    /* Fills coordinates, ids and axes (if there) of `out`; the rest of it is set. `points` are
       packed and finite, at least one. */
    kd_status (*build)(pointtree *out, const point_array *points, job *watched);
    /* What others have to know of it. */
    pointtree_order order;          /* that the tree keeps to */
    bool removes;                   /* options.unique is for it; it may lower the count */
    const char *const *stage_names; /* POINT_STAGES of them: it tells its stages; or NULL */
} pointtree_builder;

/* Whether such points, of which none is looked at, can be built from by this row. */
kd_status pointtree_check_request(const point_array *points, const pointtree_options *options,
                                  const pointtree_builder *row);

/* Builds by this row from `points` (copied; none is fine). `options` NULL is round robin. NaN and
   infinity are KD_ERROR_INPUT with the point named; more than POINTTREE_COUNT_MAX points, and dims
   and strides that make no sense, KD_ERROR_USAGE. */
kd_status pointtree_open_by(pointtree *out, const point_array *points,
                            const pointtree_options *options, const pointtree_builder *row,
                            job *watched);
void pointtree_close(pointtree *owned); /* takes a zeroed one */

pointtree_nd_view pointtree_get_nd_view(const pointtree *from);
pointtree_view pointtree_get_view(const pointtree *from); /* of a tree of three floats */
void pointtree_link_nodes(const pointtree *from, pointtree_link *out); /* count of them */
uint64_t pointtree_hash(const pointtree *from); /* of ids in tree order and axes */

#ifdef __cplusplus
}
#endif
#endif
