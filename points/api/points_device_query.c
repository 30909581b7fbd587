/* Queries of a tree on a CUDA device. */
#include "points/api/points_device_call.h"
#include "points/tree/bounds.h"

static kd_status give_scratch(points_call *call) {
    point_query_cuda *q = &call->query;
    KD_TRY(point_query_cuda_scratch_bytes(&q->scratch_bytes, q));
    return points_call_give_scratch(call);
}

/* Of host memory, here and now. */
static kd_status check_on_host(const points_call *call) {
    const point_array *radii = &call->radii;
    point_box box;
    KD_TRY(point_scan(&box, &call->query.points));
    for (uint64_t i = 0; i < radii->count; ++i) {
        const double radius = point_array_coordinate(radii, i, 0);
        KD_REQUIRE(radius >= 0, KD_ERROR_INPUT, "radius %llu is %g, expected 0 or more",
                   (unsigned long long)i, radius);
    }
    return KD_OK;
}

/* Whether what the kernels read lies in the staging memory or is not there at all. */
static bool is_staged(const points_call *call, const void *at) {
    return !at || ((const char *)at >= call->staging &&
                   (const char *)at < call->staging + DEVICE_STAGING_BYTES);
}

/* Queries and radii are looked at where they are; on the device while others work, and told of
   in the end. Nobody waits for those of an asynchronous call: what is not finite finds nothing. */
static kd_status check_queries(points_call *call) {
    const point_array *points = &call->query.points;
    if (call->asynchronous) return KD_OK;
    if (is_staged(call, points->coordinates) && is_staged(call, call->radii.coordinates))
        return check_on_host(call);
    call->checks = true;
    return points_device_find_bad((points_bad *)(void *)call->staging, points, &call->radii,
                                  call->stream);
}

/* The query's points and radii on the device, and checked. */
static kd_status fill_query(points_call *call, const kd_points *tree, const kd_points_query *query,
                            uint32_t k) {
    point_query_cuda *q = &call->query;
    const uint64_t count = query->points.count;
    const uint64_t scalar_bytes = point_scalar_bytes(tree->tree.scalar);
    q->points = point_array_make(NULL, count, tree->tree.dims, tree->tree.scalar);
    const uint64_t point_bytes = q->points.stride_bytes;
    if (query->points.stride_bytes) q->points.stride_bytes = query->points.stride_bytes;
    KD_TRY(points_call_bring_in(call, &q->points.coordinates, query->points.coordinates,
                                count ? (count - 1) * q->points.stride_bytes + point_bytes : 0));
    KD_TRY(points_call_bring_in(call, &q->radii, query->radii, count * scalar_bytes));
    q->k = k;
    q->coherent = query->coherent != 0;
    q->method = points_call_method(call, query, k);
    const point_array radii = {q->radii, q->radii ? count : 0, scalar_bytes, 1, tree->tree.scalar};
    call->radii = radii;
    return KD_OK;
}

static kd_status begin(points_call *call, const kd_points *tree, const kd_points_query *query,
                       uint32_t k) {
    KD_TRY(points_call_begin(call, tree, query));
    return fill_query(call, tree, query, k);
}

kd_status points_cuda_nearest(const kd_points *tree, const kd_points_query *query, uint32_t k,
                              const point_rows *out) {
    points_call call;
    kd_status status = KD_OK;
    const uint64_t count = query->points.count;
    KD_TRY_GOTO(begin(&call, tree, query, k));
    KD_TRY_GOTO(points_call_bring_rows(&call, out, count, k));
    KD_TRY_GOTO(check_queries(&call));
    KD_TRY_GOTO(give_scratch(&call));
    KD_TRY_GOTO(point_query_cuda_nearest(&call.query));
    if (call.query.ids && call.on->renamed)
        KD_TRY_GOTO(points_device_rename(call.query.ids, count * k, call.on->renamed, call.stream));
done:
    return points_call_end(&call, status);
}

kd_status points_cuda_count_within(const kd_points *tree, const kd_points_query *query,
                                   uint64_t *offsets) {
    points_call call;
    kd_status status = KD_OK;
    void *found = NULL;
    KD_TRY_GOTO(begin(&call, tree, query, 0));
    KD_TRY_GOTO(points_call_bring_out(&call, &found, offsets,
                                      (query->points.count + 1) * sizeof *offsets, false));
    KD_TRY_GOTO(check_queries(&call));
    KD_TRY_GOTO(give_scratch(&call));
    KD_TRY_GOTO(point_query_cuda_count_within(&call.query, (uint64_t *)found));
done:
    return points_call_end(&call, status);
}

/* Offsets are counted once more: those of another query would write anywhere. */
kd_status points_cuda_within(const kd_points *tree, const kd_points_query *query,
                             const uint64_t *offsets, const point_rows *out) {
    points_call call;
    kd_status status = KD_OK;
    const uint64_t rows = query->points.count + 1, scalar = point_scalar_bytes(tree->tree.scalar);
    uint64_t answers = 0;
    void *right = NULL;
    const void *given = NULL;
    KD_TRY_GOTO(begin(&call, tree, query, 0));
    point_query_cuda *q = &call.query;
    call.asynchronous = false; /* how many there are is waited for */
    KD_TRY_GOTO(points_call_bring_in(&call, &given, offsets, rows * sizeof *offsets));
    KD_TRY_GOTO(points_call_take(&call, &right, rows * sizeof *offsets));
    KD_TRY_GOTO(check_queries(&call));
    KD_TRY_GOTO(give_scratch(&call));
    KD_TRY_GOTO(point_query_cuda_count_within(q, (uint64_t *)right));
    KD_TRY_GOTO(points_device_check_offsets((const uint64_t *)given, (const uint64_t *)right, rows,
                                            call.stream));
    KD_TRY_GOTO(device_copy(&answers, (const uint64_t *)right + query->points.count, sizeof answers,
                            call.stream));
    KD_TRY_GOTO(device_stream_wait(call.stream));
    KD_TRY_GOTO(points_call_bring_out(&call, (void **)&q->ids, out->ids, answers * sizeof *out->ids,
                                      false));
    KD_TRY_GOTO(points_call_bring_out(&call, &q->dist2, out->dist2, answers * scalar, false));
    if (!q->ids) KD_TRY_GOTO(points_call_take(&call, (void **)&q->ids, answers * sizeof *out->ids));
    if (!q->dist2) KD_TRY_GOTO(points_call_take(&call, &q->dist2, answers * scalar));
    if (answers == 0) goto done;
    KD_TRY_GOTO(point_query_cuda_within(q, (const uint64_t *)right));
    if (call.on->renamed)
        KD_TRY_GOTO(points_device_rename(q->ids, answers, call.on->renamed, call.stream));
done:
    return points_call_end(&call, status);
}
