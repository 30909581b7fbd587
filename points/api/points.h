/* Internals of kd_points, the tree of <kandela/points.h>, and the functions shared by its
   backends. */
#ifndef KD_POINTS_API_POINTS_H
#define KD_POINTS_API_POINTS_H
#include "points/neighbours/query.h"
#include "points/neighbours/request.h"
#include "points/tree/pointtree.h"
#include <kandela/points.h>

struct points_cuda;
struct points_dynamic;
struct points_parts;
struct points_backend;
struct brute_points;

/* Properties of a distributed tree that the query functions need. */
typedef struct points_spread {
    uint64_t count, first; /* number of points in all; id of the first one */
    bool distributed;      /* no device has all points */
    bool shared;           /* the parts belong to several processes */
    bool wide;             /* ids have 64 bits */
} points_spread;

struct kd_points {
    pointtree tree; /* no arrays on a CUDA device or if `lean` */
    leafindex index;
    /* 1: coordinates and ids are stored in `index` only, not in `tree`. Only points_lend and the
       functions that build trees depend on this */
    int lean;
    /* points of more than eight dimensions: `tree` then has no arrays, and `index` is empty; else
       NULL */
    struct brute_points *brute;
    uint32_t *renamed; /* the caller's id of each input point; or NULL */
    /* the tree on a CUDA device, instead of the fields above; else NULL */
    struct points_cuda *cuda;
    /* a distributed tree, instead of all fields above but `renamed`; else NULL */
    struct points_parts *parts;
    points_spread spread;           /* distribution of `parts`; else zeroed */
    struct points_dynamic *dynamic; /* layers, once points were inserted or removed (dynamic.h);
                                       else NULL */
    kd_points_options options;
    char builder[32]; /* name of the builder */
    double build_seconds;
};

/* Query methods that a caller may choose: suffix of POINT_QUERY_ and name. "auto" is the
   fastest. */
#define POINTS_METHOD_ROWS(ROW) ROW(WALK, walk) ROW(LEAVES, leaves)
/* Finds a method by name; returns KD_ERROR_USAGE, with the list of names, for an unknown one. */
kd_status points_method_find(point_query_method *out, const char *name);

/* Validates the caller's options and copies them to *out; NULL stands for the defaults. */
kd_status points_take_options(kd_points_options *out, const kd_points_options *caller_options);
/* Builds a tree as kd_points_open does, into uninitialised *out; on failure *out holds no
   memory. */
kd_status points_build(kd_points *out, const kd_point_array *points,
                       const kd_points_options *options);
uint64_t points_bytes_held(const kd_points *tree);

/* Returns a view of a tree on the CPU with all its arrays, for walks. If the tree is `lean`, the
   arrays are restored first and kept, 16 bytes per point. Thread-safe. */
kd_status points_lend(pointtree_nd_view *out, const kd_points *tree);
/* As points_lend, but copies coordinates and ids, each if requested, into a new tree; axes are
   borrowed. */
kd_status points_copy_arrays(pointtree *out, const kd_points *tree, bool coordinates, bool ids);
void points_close_arrays(pointtree *owned);

/* Fills *out with the data of a tree on the CPU that the query's method needs. */
kd_status points_target(point_target *out, const kd_points *tree, const kd_points_query *query);

/* Replaces the arrays of a tree of more than eight dimensions, in input order, by tree->brute. */
kd_status points_adopt_rows(kd_points *points);

/* Frees all that *owned holds, but not the struct. */
void points_release(kd_points *owned);

/* Completes a tree built on the host: moves it to the device that the options choose, or builds its
   index on the CPU. *points must be zeroed except for tree, builder, renamed and options. */
kd_status points_finish(kd_points *points);

/* --- distributed trees, on several devices or in several processes -------------------------- */

typedef struct points_distribution {
    kd_status (*build)(kd_points *out, const kd_point_array *points,
                       const kd_points_options *options); /* see points_build */
    void (*close)(kd_points *tree);
    uint64_t (*bytes)(const kd_points *tree);
    void (*describe)(const kd_points *tree, kd_points_info *info);
    /* Copies all points to one tree on the CPU; ids are the caller's, or input positions. */
    kd_status (*copy)(kd_points *copy, const kd_points *tree);
    const struct points_backend *backend; /* search.h */
} points_distribution;

extern const points_distribution points_distributed;

#endif
