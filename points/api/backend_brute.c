/* The CPU backend for points of more than eight dimensions: a search becomes a call of
   points/brute, which compares each query with all points. */
#include "points/api/search.h"
#include "points/brute/brute.h"

static kd_status request_of(brute_request *out, const kd_points *tree,
                            const points_search *search) {
    const kd_points_query *query = &search->query;
    point_metric metric;
    (void)points_metric(&metric, query);
    for (uint32_t axis = 0; axis < POINT_DIMS_MAX; ++axis)
        KD_REQUIRE(query->period[axis] == 0, KD_ERROR_USAGE,
                   "`period` is set; periodic space has at most %u dimensions", POINT_DIMS_MAX);
    KD_TRY(points_check_radii(tree, query));
    *out = (brute_request){.kind = search->kind == POINTS_NEAREST ? BRUTE_NEAREST
                                   : search->kind == POINTS_COUNT ? BRUTE_COUNT
                                                                  : BRUTE_FILL,
                           .k = search->k,
                           .norm = metric.norm,
                           .queries = points_queries(tree, &query->points),
                           .self = search->calls == POINTS_SELF,
                           .skips = query->skip_self != 0,
                           .radii = query->radii,
                           .max_radius = query->max_radius,
                           .renamed = tree->renamed,
                           .ids = search->out.ids,
                           .counts = search->out.counts,
                           .order = search->out.order,
                           .dist2 = search->out.dist2,
                           .offsets = search->out.offsets};
    return KD_OK;
}

static kd_status query(const kd_points *tree, const points_search *search) {
    brute_request request;
    KD_TRY(request_of(&request, tree, search));
    return brute_search(tree->brute, &request);
}

static kd_status query_boxes(const kd_points *tree, const points_search *search) {
    brute_request request;
    const point_boxes boxes = points_boxes(tree, search);
    KD_TRY(request_of(&request, tree, search));
    return brute_boxes(tree->brute, &request, &boxes.lo, &boxes.hi);
}

kd_status points_visit_brute(const kd_points *tree, const points_search *search,
                             const point_visitor *visitor) {
    brute_request request;
    KD_TRY(request_of(&request, tree, search));
    request.kind = BRUTE_VISIT;
    request.visitor = visitor;
    return brute_search(tree->brute, &request);
}

const points_backend points_backend_brute = {
    .nearest = query, .count = query, .fill = query, .box = query_boxes, .self = query};
