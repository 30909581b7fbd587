/* The calls of <kandela/points.h> where all points ask. */
#include "core/device/caller_memory.h"
#include "points/api/changes.h"
#include "points/api/points_device.h"
#include "points/api/points_parts.h"

/* The query, and all that can be said of the caller's arrays before anybody looks into them. */
static kd_status check(kd_points_query *query, const kd_points *tree, const kd_points_query *given,
                       const uint32_t *order, const uint64_t *offsets, const point_rows *rows) {
    KD_REQUIRE(tree, KD_ERROR_USAGE, "no tree given (NULL)");
    KD_TRY(points_take_limits(query, given));
    const caller_array arrays[] = {
        {order, "places for the order", sizeof *order},
        {offsets, "offsets", sizeof *offsets},
        {rows->ids, "places for ids", sizeof *rows->ids},
        {rows->dist2, "places for dist2", (uint32_t)point_scalar_bytes(tree->tree.scalar)},
        {rows->counts, "places for counts", sizeof *rows->counts}};
    return caller_memory_check(arrays, sizeof arrays / sizeof *arrays, tree->cuda == NULL);
}

/* The one tree on the CPU that answers: this one, or, of one that changed, *copy, built anew. */
typedef struct own_tree {
    kd_points copy;
    bool copied;
    point_target target;
    point_metric metric;
    point_own own;
} own_tree;

static kd_status open(own_tree *out, const kd_points *tree, const kd_points_query *query,
                      uint32_t *order) {
    out->copied = !points_is_whole(tree);
    if (out->copied) KD_TRY(points_copy_whole(&out->copy, tree));
    const kd_status status = points_target(&out->target, out->copied ? &out->copy : tree, query);
    if (status != KD_OK && out->copied) points_release(&out->copy);
    KD_TRY(status);
    out->own.skips = query->skip_self != 0;
    out->own.order = order;
    out->own.max_radius = query->max_radius;
    out->own.metric = points_metric(&out->metric, query);
    return KD_OK;
}

static kd_status close(own_tree *owned, kd_status status) {
    if (owned->copied) points_release(&owned->copy);
    return status;
}

kd_status kd_points_nearest_own(const kd_points *tree, const kd_points_query *query, uint32_t k,
                                uint32_t *order, uint32_t *ids, void *dist2, uint32_t *counts) {
    const point_rows rows = {ids, dist2, counts};
    kd_points_query taken;
    KD_TRY(check(&taken, tree, query, order, NULL, &rows));
    KD_TRY(points_check_answers(kd_points_count(tree), k));
    KD_REQUIRE(k <= POINTTREE_COUNT_MAX, KD_ERROR_USAGE, "k is %u, expected at most %u", k,
               POINTTREE_COUNT_MAX);
    const parts_rows apart = {.ids = ids, .dist2 = dist2, .counts = counts};
    if (tree->parts) return points_parts_own(tree, &taken, PARTS_NEAREST, k, order, NULL, &apart);
    if (tree->cuda) return points_cuda_nearest_own(tree, &taken, k, order, &rows);
    own_tree of;
    KD_TRY(open(&of, tree, &taken, order));
    return close(&of, point_own_nearest(&of.target, &of.own, k, &rows));
}

kd_status kd_points_within_own_count(const kd_points *tree, const kd_points_query *query,
                                     uint32_t *order, uint64_t *offsets) {
    const point_rows none = {NULL, NULL, NULL};
    kd_points_query taken;
    KD_REQUIRE(offsets, KD_ERROR_USAGE, "no place for the offsets given (NULL)");
    KD_TRY(check(&taken, tree, query, order, offsets, &none));
    const parts_rows apart = {.sums = offsets};
    if (tree->parts) return points_parts_own(tree, &taken, PARTS_COUNT, 0, order, NULL, &apart);
    if (tree->cuda) return points_cuda_count_own(tree, &taken, order, offsets);
    own_tree of;
    KD_TRY(open(&of, tree, &taken, order));
    return close(&of, point_own_count_within(&of.target, &of.own, offsets));
}

kd_status kd_points_within_own(const kd_points *tree, const kd_points_query *query, uint32_t *order,
                               const uint64_t *offsets, uint32_t *ids, void *dist2) {
    const point_rows rows = {ids, dist2, NULL};
    const parts_rows apart = {.ids = ids, .dist2 = dist2};
    kd_points_query taken;
    KD_REQUIRE(offsets, KD_ERROR_USAGE, "no offsets given (NULL)");
    KD_TRY(check(&taken, tree, query, order, offsets, &rows));
    if (tree->cuda) return points_cuda_within_own(tree, &taken, order, offsets, &rows);
    KD_TRY(points_check_offsets(offsets, kd_points_count(tree)));
    if (tree->parts) return points_parts_own(tree, &taken, PARTS_WITHIN, 0, order, offsets, &apart);
    own_tree of;
    KD_TRY(open(&of, tree, &taken, order));
    return close(&of, point_own_within(&of.target, &of.own, offsets, ids, dist2));
}
