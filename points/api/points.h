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
struct points_backend;

/* Of a tree in parts: what the calls have to know of it. */
typedef struct points_spread {
    uint64_t count, first; /* points in all; the number of the first one */
    bool apart;            /* no device has all points */
    bool shared;           /* its parts lie in several processes */
    bool wide;             /* its ids take 64 bits */
} points_spread;

struct kd_points {
    pointtree tree; /* without its arrays if it lies on a CUDA device; see `lean` */
    leafindex index;
    int lean; /* 1: the tree's coordinates and ids are not held, as `index` has them all; only
                 points_lend and what makes trees look at it */
    uint32_t *renamed;          /* the caller's id of each point of the input, or NULL */
    struct points_cuda *cuda;   /* instead of all of these: the tree on a CUDA device; else NULL */
    struct points_parts *parts; /* instead of all but `renamed`: a tree in parts */
    points_spread spread;       /* of that; else zeros */
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

/* A tree on the CPU with its arrays, for walks: made once more if they are not held, and kept then,
   16 bytes a point. By several threads at once. */
kd_status points_lend(pointtree_nd_view *out, const kd_points *tree);
/* The same as a copy of its own; only what is asked for is in it, but for axes, which are lent. */
kd_status points_copy_arrays(pointtree *out, const kd_points *tree, bool coordinates, bool ids);
void points_close_arrays(pointtree *owned);

/* A tree on the CPU as the query's method asks it. */
kd_status points_target(point_target *out, const kd_points *tree, const kd_points_query *query);

/* Frees all that *owned holds. */
void points_release(kd_points *owned);

/* Chooses a device for `count` points at `coordinates` (host memory, device memory or NULL), and
   puts the tree, which is on the host, on it or makes its index there; *points is zeroed but for
   tree, builder, renamed, options. */
kd_status points_finish(kd_points *points);

/* --- trees in parts, on several devices or of several processes: who makes them and answers
 * -------
 */

typedef struct points_distribution {
    kd_status (*build)(kd_points *out, const kd_point_array *points,
                       const kd_points_options *options); /* as points_build */
    void (*close)(kd_points *tree);
    uint64_t (*bytes)(const kd_points *tree);
    void (*describe)(const kd_points *tree, kd_points_info *info);
    /* One tree on the CPU of all points; ids are the caller's, or places in the input. */
    kd_status (*copy)(kd_points *copy, const kd_points *tree);
    const struct points_backend *backend; /* search.h */
} points_distribution;

extern const points_distribution points_distributed;

#endif
