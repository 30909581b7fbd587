/* One question to a tree as data, and who answers it: every call of <kandela/points.h> that asks
   becomes a points_search, is checked once and goes to the tree's backend. */
#ifndef KD_POINTS_API_SEARCH_H
#define KD_POINTS_API_SEARCH_H
#include "core/status.h"
#include "points/api/device_kernels.h"
#include "points/api/kinds.h"
#include "points/api/points.h"

typedef struct points_search {
    points_kind kind;
    points_asks asks;
    kd_points_query query; /* its limits checked */
    kd_point_array hi;     /* upper corners of boxes */
    uint32_t k;
    const uint64_t *offsets; /* of POINTS_FILL */
    uint32_t *order;         /* of POINTS_SELF: the id of the point that each row is of; or NULL */
    points_rows out;
    kd_status checked; /* how the caller's arguments are; other processes hear of it */
} points_search;

/* Answers to a search of a tree that it holds. All but `distributed` are asked only when the
   arguments are good but for what lies in memory that they alone may read. */
typedef struct points_backend {
    kd_status (*nearest)(const kd_points *tree, const points_search *search);
    kd_status (*count)(const kd_points *tree, const points_search *search);
    kd_status (*fill)(const kd_points *tree, const points_search *search);
    kd_status (*box)(const kd_points *tree, const points_search *search);  /* count or fill */
    kd_status (*self)(const kd_points *tree, const points_search *search); /* any kind */
} points_backend;

extern const points_backend points_backend_cpu;    /* one tree on the CPU */
extern const points_backend points_backend_layers; /* several: points came and went */
extern const points_backend points_backend_cuda;   /* on a CUDA device, layers too */

/* Of the caller's query: the largest dist2 of use to each, or NULL. One tree on the CPU, without
   what changed. */
kd_status points_ask_one(const kd_points *tree, const points_search *search, const void *bounds2);
/* The search's queries as the tree's kind of points. */
point_array points_queries(const kd_points *tree, const kd_point_array *points);
/* Boxes' corners likewise. */
point_boxes points_boxes(const kd_points *tree, const points_search *search);
/* What distances are, to *out; NULL if Euclid's in space without end. */
const point_metric *points_metric(point_metric *out, const kd_points_query *query);
/* Of host memory: whether they begin with 0 and never run backwards. */
kd_status points_check_offsets(const uint64_t *offsets, uint64_t count);
/* Tells a visitor of a search's queries on the CPU; arguments were checked. */
kd_status points_visit(const kd_points *tree, const points_search *search,
                       const point_visitor *visitor);
uint64_t points_cpu_scratch_bytes(const kd_points *tree, const kd_points_query *query);
/* KD_ERROR_INPUT names a radius that is negative or NaN; radii lie on the host. */
kd_status points_check_radii(const kd_points *tree, const kd_points_query *query);
/* Whether dims, scalar, stride and pointer are fine for this tree; `what` it is: "queries". */
kd_status points_check_array(const kd_points *tree, const kd_point_array *points, const char *what);
/* Whether all arrays of the search are aligned and, if the call works on the `host`, lie there. */
kd_status points_check_memory(const kd_points *tree, const points_search *search, bool host);

#endif
