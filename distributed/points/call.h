/* Calls on a distributed tree. A call is divided among the ranks of this process; each rank sends
   its queries to the parts that may contain results, and merges these. */
#ifndef KD_DISTRIBUTED_POINTS_CALL_H
#define KD_DISTRIBUTED_POINTS_CALL_H
#include "core/device/cuda_stubs.h"
#include "distributed/points/parts.h"
#include "points/api/kinds.h"
#include "points/tree/walk_nd.h"

/* --- exchange of queries and results between all ranks and the parts ------------------------- */

/* One rank's share of a collective call; every rank has queries of its own. */
typedef struct parts_call {
    const points_parts *parts;
    ranks *comm;
    const points_part *part;
    kd_points_query query; /* validated; its points are this rank's queries, or lower corners */
    points_kind kind;
    points_query_calls calls;
    uint32_t k;
    uint64_t first_row;     /* row of the first query, if `row_of` is NULL; the others follow */
    const uint64_t *row_of; /* row of each query; or NULL */
    /* for each query the number of a point to exclude; or NULL */
    const uint64_t *self;
    const uint32_t *names; /* ids to return instead of numbers; or NULL */
    kd_points_rows out;
    /* state during the call */
    uint64_t begin, end; /* the current chunk of queries */
    bool more;           /* some rank has further chunks */
} parts_call;

static inline uint64_t parts_row(const parts_call *call, uint64_t query) {
    return call->row_of ? call->row_of[query] : call->first_row + query;
}

static inline bool parts_query_boxes(const parts_call *call) {
    return call->calls == POINTS_BOXES;
}

/* Number of scalars per query: a point and its radius, or two corners. */
static inline uint32_t parts_question_width(const parts_call *call) {
    return parts_query_boxes(call) ? 2 * call->parts->dims : call->parts->dims + 1;
}

/* This rank's queries to each part and their results. Owns its memory. */
typedef struct part_requests {
    uint64_t *begins; /* size + 1: ranges of the queries to each part */
    /* index of each query, relative to the chunk */
    uint32_t *indices;
    void *scalars; /* coordinates and radii of the queries */
    /* queries + 1: ranges of the results; a call that only counts uses nothing else */
    uint64_t *offsets;
    uint64_t *numbers;
    void *dist2; /* NULL for boxes */
} part_requests;

/* Collective: sends this rank's queries, executes those received on this rank's part, and receives
   the results. `local_status`: this rank's status so far; if any rank has failed, all return its
   error. */
kd_status parts_query(parts_call *call, part_requests *request, kd_status local_status);
void part_requests_close(part_requests *owned); /* accepts a zeroed struct */

/* --- queries on all parts: the results are those of a single tree ---------------------------- */

/* Collective: executes this rank's queries. `local_status`: this rank's status so far. */
kd_status parts_answer(parts_call *call, kd_status local_status);

/* --- all parts on CUDA devices of this process ---------------------------------------------- */

#ifdef __cplusplus
extern "C" {
#endif

/* Executes this rank's queries on the device of its part, which selects the parts that each query
   needs and merges their results; does not wait for other ranks. Not supported are boxes, trees
   whose numbers take 64 bits, and points with ids; these queries go through the host. Queries,
   radii and rows may be in host memory or that of any device, offsets and sums in host memory. */
KD_DEVICE_CALL(answer_device, (const parts_call *call));

#ifdef __cplusplus
}
#endif

/* --- whole calls ------------------------------------------------------------------------------ */

/* Executes a call of which query, kind, calls, k, names and out are set; counts become
   offsets. `checked`: result of the argument checks; for a tree shared by processes it is reported
   to all ranks. */
kd_status parts_call_all(points_parts *parts, parts_call *call, kd_status checked);
/* Returns whether the devices of the parts execute the whole call (answer_device); queries, radii
   and rows may then be in device memory. */
bool parts_results_on_device(const points_parts *parts, const parts_call *call);
/* Self-query of a tree in this process. */
kd_status parts_call_self(points_parts *parts, parts_call *call);
/* Converts numbers of points to the caller's ids; names may be NULL. */
void parts_rename(uint32_t *ids, uint64_t count, const uint32_t *names);

/* --- which parts a query needs ---------------------------------------------------------------
   The same code on CPUs and devices.
   Invariants: the distance to a part's box is computed like that to a point, axis by axis in the
               points' scalar. Every step is rounded, and rounding is monotone, so no point in the
               box has a smaller computed distance. */

typedef struct part_reach {
    const part_summary *all;
    int32_t size;
    uint32_t dims;
    point_scalar scalar;
    point_norm norm;
    bool periodic; /* images of a query may be anywhere: all parts are needed */
} part_reach;

KD_FN double reach_distance(const part_reach *reach, const void *point, int32_t part) {
    const point_box *box = &reach->all[part].box;
    double minimum = 0;
    for (uint32_t axis = 0; axis < reach->dims; ++axis) {
        const double x = point_coordinate(point, reach->scalar, axis);
        const double below = pointtree_nd_difference(reach->scalar, box->lo[axis], x);
        const double above = pointtree_nd_difference(reach->scalar, x, box->hi[axis]);
        const double outside = below > 0 ? below : above > 0 ? above : 0;
        minimum = metric_join(reach->scalar, reach->norm, minimum,
                              metric_part(reach->scalar, reach->norm, outside));
    }
    return minimum;
}

/* Returns whether a part may contain a result within this distance (in the units of results). */
KD_FN bool reach_may_hold(const part_reach *reach, const void *point, int32_t part, double bound) {
    if (reach->all[part].count == 0) return false;
    return reach->periodic || reach_distance(reach, point, part) <= bound;
}

/* Returns the part to search first: the nearest one. */
KD_FN int32_t reach_home(const part_reach *reach, const void *point) {
    int32_t home = 0;
    double minimum = (double)INFINITY;
    for (int32_t part = 0; part < reach->size; ++part) {
        if (reach->all[part].count == 0) continue;
        const double distance = reach_distance(reach, point, part);
        if (!(distance < minimum) && reach->all[home].count > 0) continue;
        home = part;
        minimum = distance;
    }
    return home;
}

/* Returns a radius that covers this distance, as small as possible. */
KD_FN double reach_radius_of(const part_reach *reach, double bound) {
    const point_scalar scalar = reach->scalar;
    if (reach->norm != POINT_NORM_2) return bound;
    double radius = metric_round(scalar, sqrt(bound));
    while (pointtree_nd_square(scalar, radius) < bound)
        radius = scalar == POINT_DOUBLE ? nextafter(radius, (double)INFINITY)
                                        : (double)nextafterf((float)radius, INFINITY);
    return radius;
}

/* The parts' boxes, norm and period of a call. */
static inline part_reach parts_reach(const parts_call *call) {
    const points_parts *parts = call->parts;
    const double norm = call->query.norm;
    part_reach reach;
    reach.all = parts->all;
    reach.size = parts->size;
    reach.dims = parts->dims;
    reach.scalar = parts->scalar;
    reach.norm = norm == 2 ? POINT_NORM_2 : norm == 1 ? POINT_NORM_1 : POINT_NORM_MAX;
    reach.periodic = false;
    for (uint32_t axis = 0; axis < POINT_DIMS_MAX; ++axis)
        reach.periodic = reach.periodic || call->query.period[axis] > 0;
    return reach;
}

#endif
