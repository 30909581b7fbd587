/* A query of the public API as data, and the backends that execute it. Every query function of
   <kandela/points.h> fills a points_search, which is validated once and passed to the tree's
   backend. */
#ifndef KD_POINTS_API_SEARCH_H
#define KD_POINTS_API_SEARCH_H
#include "core/status.h"
#include "points/api/device_kernels.h"
#include "points/api/kinds.h"
#include "points/api/points.h"

typedef struct points_search {
    points_kind kind;
    points_query_calls calls;
    kd_points_query query; /* limits already validated */
    uint32_t k;
    kd_points_rows out; /* `offsets` are read for POINTS_FILL */
    /* result of the argument checks; a distributed tree reports it to the other processes */
    kd_status checked;
} points_search;

/* Query functions of one kind of tree. Except for points_distributed, a backend is called only with
   valid arguments; it still has to check data in memory that only it can read. */
typedef struct points_backend {
    kd_status (*nearest)(const kd_points *tree, const points_search *search);
    kd_status (*count)(const kd_points *tree, const points_search *search);
    kd_status (*fill)(const kd_points *tree, const points_search *search);
    kd_status (*box)(const kd_points *tree, const points_search *search);  /* count or fill */
    kd_status (*self)(const kd_points *tree, const points_search *search); /* any kind */
} points_backend;

extern const points_backend points_backend_cpu;    /* one tree on the CPU */
extern const points_backend points_backend_layers; /* CPU, several layers: inserted or removed
                                                      points */
extern const points_backend points_backend_brute;  /* on the CPU, more than eight dimensions */
extern const points_backend points_backend_cuda;   /* on a CUDA device, with or without layers */

/* Entry point of all query functions: validates the search, executes it, and widens ids to 64 bits
   if `out.ids64` is set. `query` is the caller's query, which is copied to search->query and
   determines search->calls. Fields that the search does not use must be zero. */
kd_status points_search_tree(const kd_points *tree, points_search *search,
                             const kd_points_query *query);
/* Executes the search on one tree on the CPU, ignoring its layers. `bounds2` holds an upper bound
   on dist2 for each query, in the points' scalar; or NULL. */
kd_status points_query_one(const kd_points *tree, const points_search *search, const void *bounds2);
/* Converts the query points to a point_array with the tree's dims and scalar. */
point_array points_queries(const kd_points *tree, const kd_point_array *points);
/* Converts the corners of the boxes likewise. */
point_boxes points_boxes(const kd_points *tree, const points_search *search);
/* Stores the norm and the periods of the query in *out and returns it; returns NULL for the
   Euclidean norm in non-periodic space. */
const point_metric *points_metric(point_metric *out, const kd_points_query *query);
/* Checks that offsets in host memory begin with 0 and never decrease. */
kd_status points_check_offsets(const uint64_t *offsets, uint64_t count);
/* Calls the visitor for the results of all queries, on the CPU. The arguments must be valid. */
kd_status points_visit(const kd_points *tree, const points_search *search,
                       const point_visitor *visitor);
kd_status points_visit_brute(const kd_points *tree, const points_search *search,
                             const point_visitor *visitor);
uint64_t points_cpu_scratch_bytes(const kd_points *tree, const kd_points_query *query);
/* Checks radii in host memory; KD_ERROR_INPUT names the first one that is negative or NaN. */
kd_status points_check_radii(const kd_points *tree, const kd_points_query *query);
/* Checks dims, scalar, stride and pointer of an array for this tree; `name` names the array in
   error messages, such as "queries". */
kd_status points_check_array(const kd_points *tree, const kd_point_array *points, const char *name);
/* Converts `count` ids of 32 bits to 64 bits; `narrow` may be the second half of `ids`. */
void points_widen_ids(uint64_t *ids, const uint32_t *narrow, uint64_t count);
/* Checks that all arrays of the search are aligned and, if `host`, that they are in host memory. */
kd_status points_check_memory(const kd_points *tree, const points_search *search, bool host);

#endif
