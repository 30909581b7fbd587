/* All points ask, of a tree on a CUDA device. */
#include "points/api/changes.h"
#include "points/api/points_device_call.h"

typedef struct own_call {
    points_call call;
    point_own own;
} own_call;

static kd_status begin(own_call *own, const kd_points *tree, const kd_points_query *query,
                       uint32_t k, uint32_t *order) {
    points_call *call = &own->call;
    KD_TRY(points_call_begin(call, tree, query));
    KD_TRY(points_call_whole(call, tree));
    call->query.k = k;
    call->query.method = points_call_method(call, query, k);
    memset(&own->own, 0, sizeof own->own);
    own->own.skips = query->skip_self != 0;
    return points_call_bring_out(call, (void **)&own->own.order, order,
                                 (uint64_t)call->on->index.tree.count * sizeof *order, false);
}

static kd_status give_scratch(own_call *own) {
    point_query_cuda *q = &own->call.query;
    KD_TRY(point_own_cuda_scratch_bytes(&q->scratch_bytes, q, &own->own));
    return points_call_give_scratch(&own->call);
}

/* The caller's names instead of places in the input. */
static kd_status rename(const own_call *own, uint64_t answers) {
    const points_call *call = &own->call;
    const uint32_t *renamed = call->on->renamed;
    if (!renamed) return KD_OK;
    if (own->own.order)
        KD_TRY(points_device_rename(own->own.order, call->on->index.tree.count, renamed,
                                    call->stream));
    return call->query.ids ? points_device_rename(call->query.ids, answers, renamed, call->stream)
                           : KD_OK;
}

kd_status points_cuda_nearest_own(const kd_points *tree, const kd_points_query *query, uint32_t k,
                                  uint32_t *order, const point_rows *out) {
    own_call own;
    kd_status status = KD_OK;
    const uint64_t count = points_live_count(tree);
    KD_TRY_GOTO(begin(&own, tree, query, k, order));
    KD_TRY_GOTO(points_call_bring_rows(&own.call, out, count, k));
    KD_TRY_GOTO(give_scratch(&own));
    KD_TRY_GOTO(point_own_cuda_nearest(&own.call.query, &own.own));
    KD_TRY_GOTO(rename(&own, count * k));
done:
    return points_call_end(&own.call, status);
}

kd_status points_cuda_count_own(const kd_points *tree, const kd_points_query *query,
                                uint32_t *order, uint64_t *offsets) {
    own_call own;
    kd_status status = KD_OK;
    void *found = NULL;
    KD_TRY_GOTO(begin(&own, tree, query, 0, order));
    KD_TRY_GOTO(points_call_bring_out(&own.call, &found, offsets,
                                      (points_live_count(tree) + 1) * sizeof *offsets, false));
    KD_TRY_GOTO(give_scratch(&own));
    KD_TRY_GOTO(point_own_cuda_count_within(&own.call.query, &own.own, (uint64_t *)found));
    KD_TRY_GOTO(rename(&own, 0));
done:
    return points_call_end(&own.call, status);
}

/* Offsets are counted once more: those of another query would write anywhere. */
kd_status points_cuda_within_own(const kd_points *tree, const kd_points_query *query,
                                 uint32_t *order, const uint64_t *offsets, const point_rows *out) {
    own_call own;
    points_call *call = &own.call;
    kd_status status = KD_OK;
    const uint64_t rows = points_live_count(tree) + 1,
                   scalar = point_scalar_bytes(tree->tree.scalar);
    uint64_t answers = 0;
    void *right = NULL;
    const void *given = NULL;
    KD_TRY_GOTO(begin(&own, tree, query, 0, order));
    point_query_cuda *q = &call->query;
    call->asynchronous = false; /* how many there are is waited for */
    KD_TRY_GOTO(points_call_bring_in(call, &given, offsets, rows * sizeof *offsets));
    KD_TRY_GOTO(points_call_take(call, &right, rows * sizeof *offsets));
    KD_TRY_GOTO(give_scratch(&own));
    KD_TRY_GOTO(point_own_cuda_count_within(q, &own.own, (uint64_t *)right));
    KD_TRY_GOTO(points_device_check_offsets((const uint64_t *)given, (const uint64_t *)right, rows,
                                            call->stream));
    KD_TRY_GOTO(
        device_copy(&answers, (const uint64_t *)right + rows - 1, sizeof answers, call->stream));
    KD_TRY_GOTO(device_stream_wait(call->stream));
    KD_TRY_GOTO(
        points_call_bring_out(call, (void **)&q->ids, out->ids, answers * sizeof *out->ids, false));
    KD_TRY_GOTO(points_call_bring_out(call, &q->dist2, out->dist2, answers * scalar, false));
    if (!q->ids) KD_TRY_GOTO(points_call_take(call, (void **)&q->ids, answers * sizeof *out->ids));
    if (!q->dist2) KD_TRY_GOTO(points_call_take(call, &q->dist2, answers * scalar));
    if (answers > 0) KD_TRY_GOTO(point_own_cuda_within(q, &own.own, (const uint64_t *)right));
    KD_TRY_GOTO(rename(&own, answers));
done:
    return points_call_end(call, status);
}
