/* Behind <kandela/points.h>: what a kd_points holds. */
#ifndef KD_POINTS_API_POINTS_H
#define KD_POINTS_API_POINTS_H
#include "points/neighbours/query.h"
#include "points/neighbours/request.h"
#include "points/tree/pointtree.h"
#include <kandela/points.h>

struct points_cuda;
struct points_changes;
struct points_parts;

struct kd_points {
    pointtree tree; /* without its arrays if it lies on a CUDA device; see `lean` */
    leafindex index;
    int lean; /* 1: the tree's coordinates and ids are not held, as `index` has them all; only
                 points_lend and what makes trees look at it */
    uint32_t *renamed;          /* the caller's id of each point of the input, or NULL */
    struct points_cuda *cuda;   /* instead of all of these: the tree on a CUDA device; else NULL */
    struct points_parts *parts; /* instead of all but `renamed`: a tree on several devices */
    struct points_changes *changes; /* once points came or went (changes.h); else NULL */
    kd_points_options options;
    char builder[32]; /* that built it */
    double build_seconds;
};

/* Ways to find neighbours that a caller may choose: POINT_QUERY_ID, name. "auto": the fastest. */
#define POINTS_METHOD_ROWS(ROW) ROW(WALK, walk) ROW(LEAVES, leaves)
/* KD_ERROR_USAGE with the list for any other name. */
kd_status points_method_find(point_query_method *out, const char *name);

/* What the caller (or nobody: NULL) asks for, checked. */
kd_status points_take_options(kd_points_options *out, const kd_points_options *given);
/* Builds as kd_points_open does; everything of *out is new; on failure nothing is held. */
kd_status points_build(kd_points *out, const kd_point_array *points,
                       const kd_points_options *options);
uint64_t points_bytes_held(const kd_points *tree);

/* The caller's query and its limits, checked; its points are not looked at. */
kd_status points_take_limits(kd_points_query *query, const kd_points_query *given);
/* What distances are, to *out; NULL if Euclid's in space without end. */
const point_metric *points_metric(point_metric *out, const kd_points_query *query);
/* `k` answers each for `count` queries: whether memory can hold them. */
kd_status points_check_answers(uint64_t count, uint32_t k);
/* Of host memory: whether they begin with 0 and never run backwards. */
kd_status points_check_offsets(const uint64_t *offsets, uint64_t count);
/* A tree on the CPU with its arrays, for walks: made once more if they are not held, and kept then,
   16 bytes a point. By several threads at once. */
kd_status points_lend(pointtree_nd_view *out, const kd_points *tree);
/* The same as a copy of its own; only what is asked for is in it, but for axes, which are lent. */
kd_status points_copy_arrays(pointtree *out, const kd_points *tree, bool coordinates, bool ids);
void points_close_arrays(pointtree *owned);

/* A tree on the CPU as the query's method asks it. */
kd_status points_target(point_target *out, const kd_points *tree, const kd_points_query *query);

/* One tree on the CPU, without what changed; arguments were checked. `bounds2`: of each query the
   largest dist2 of use, or NULL. */
kd_status points_ask_nearest(const kd_points *tree, const kd_points_query *query, uint32_t k,
                             const void *bounds2, const point_rows *out);
kd_status points_ask_count(const kd_points *tree, const kd_points_query *query, uint64_t *offsets);
kd_status points_ask_within(const kd_points *tree, const kd_points_query *query,
                            const uint64_t *offsets, const point_rows *out);

/* Frees all that *owned holds. */
void points_release(kd_points *owned);

/* Chooses a device for `count` points at `coordinates` (host memory, device memory or NULL), and
   puts the tree, which is on the host, on it or makes its index there; *points is zeroed but for
   tree, builder, renamed, options. */
kd_status points_finish(kd_points *points);

#endif
