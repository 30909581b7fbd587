/* The searches of <kandela/points.h> that need kd_points_rows, with arrays as arguments. */
#ifndef KD_TESTS_NEIGHBOURS_SEARCHES_H
#define KD_TESTS_NEIGHBOURS_SEARCHES_H
#include <kandela/points.h>

static inline kd_status nearest64(const kd_points *tree, const kd_points_query *query, uint32_t k,
                                  uint64_t *ids, void *dist2, uint32_t *counts) {
    const kd_points_rows rows = {sizeof rows, NULL, ids, dist2, counts, NULL, NULL};
    return kd_points_search_nearest(tree, query, k, &rows);
}

static inline kd_status within64(const kd_points *tree, const kd_points_query *query,
                                 uint64_t *offsets, uint64_t *ids, void *dist2) {
    const kd_points_rows rows = {sizeof rows, NULL, ids, dist2, NULL, NULL, offsets};
    return kd_points_search_within(tree, query, &rows);
}

/* Returns the query with the points of the tree instead of its own. */
static inline kd_points_query self_query_of(const kd_points_query *query) {
    kd_points_query self = *query;
    self.self = 1;
    self.points.count = 0;
    self.radii = NULL;
    return self;
}

static inline kd_status self_nearest(const kd_points *tree, const kd_points_query *query,
                                     uint32_t k, uint32_t *order, uint32_t *ids, void *dist2,
                                     uint32_t *counts) {
    const kd_points_query self = self_query_of(query);
    const kd_points_rows rows = {sizeof rows, ids, NULL, dist2, counts, order, NULL};
    return kd_points_search_nearest(tree, &self, k, &rows);
}

static inline kd_status self_within_count(const kd_points *tree, const kd_points_query *query,
                                          uint32_t *order, uint64_t *offsets) {
    const kd_points_query self = self_query_of(query);
    const kd_points_rows rows = {sizeof rows, NULL, NULL, NULL, NULL, order, offsets};
    return kd_points_search_count(tree, &self, &rows);
}

static inline kd_status self_within(const kd_points *tree, const kd_points_query *query,
                                    uint32_t *order, uint64_t *offsets, uint32_t *ids,
                                    void *dist2) {
    const kd_points_query self = self_query_of(query);
    const kd_points_rows rows = {sizeof rows, ids, NULL, dist2, NULL, order, offsets};
    return kd_points_search_within(tree, &self, &rows);
}

static inline kd_points_query box_query_of(const kd_point_array *lo, const kd_point_array *hi) {
    kd_points_query query;
    kd_points_query_default(&query);
    query.lo = *lo;
    query.hi = *hi;
    return query;
}

static inline kd_status in_box_count(const kd_points *tree, const kd_point_array *lo,
                                     const kd_point_array *hi, uint64_t *offsets) {
    const kd_points_query query = box_query_of(lo, hi);
    return kd_points_within_count(tree, &query, offsets);
}

static inline kd_status in_box(const kd_points *tree, const kd_point_array *lo,
                               const kd_point_array *hi, const uint64_t *offsets, uint32_t *ids) {
    const kd_points_query query = box_query_of(lo, hi);
    return kd_points_within(tree, &query, offsets, ids, NULL);
}

#endif
