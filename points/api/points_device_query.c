/* Queries of a tree on a CUDA device: what the caller has in host memory is copied to the device
   and back, each pointer by its own place; what lies on the device is used where it is. */
#include "points/api/arguments.h"
#include "points/api/points_device.h"
#include "points/neighbours/query.h"

enum { TAKEN_MOST = 12, BACK_MOST = 4 };

typedef struct points_call {
    const points_cuda *on;
    void *stream;
    int32_t previous; /* device */
    point_query_cuda query;
    void *taken[TAKEN_MOST]; /* of the device's pool */
    int taken_count;
    struct {
        void *to, *from;
        uint64_t bytes;
    } back[BACK_MOST]; /* to be copied when all is done */
    int back_count;
} points_call;

static kd_status take(points_call *call, void **out, uint64_t bytes) {
    assert(call->taken_count < TAKEN_MOST);
    KD_TRY(device_pool_reserve(out, bytes, call->stream));
    call->taken[call->taken_count++] = *out;
    return KD_OK;
}

/* What the caller gives, on the device. */
static kd_status bring_in(points_call *call, const void **out, const void *given, uint64_t bytes) {
    *out = given;
    if (!given || bytes == 0 || device_of_pointer(given) == call->on->device) return KD_OK;
    void *copy = NULL;
    KD_TRY(take(call, &copy, bytes));
    *out = copy;
    return device_copy(copy, given, bytes, call->stream);
}

/* Room on the device for what the caller wants. */
static kd_status bring_out(points_call *call, void **out, void *wanted, uint64_t bytes) {
    *out = wanted;
    if (!wanted || bytes == 0 || device_of_pointer(wanted) == call->on->device) return KD_OK;
    assert(call->back_count < BACK_MOST);
    KD_TRY(take(call, out, bytes));
    call->back[call->back_count].to = wanted;
    call->back[call->back_count].from = *out;
    call->back[call->back_count++].bytes = bytes;
    return KD_OK;
}

static point_query_method method_of(const points_call *call, const kd_points_query *query,
                                    uint32_t k) {
    point_query_method method = POINT_QUERY_AUTO;
    (void)points_method_find(&method, query->method); /* it was found before */
    if (method == POINT_QUERY_WALK) return method;
    const bool leaves = method == POINT_QUERY_LEAVES && call->on->index.points;
    return leaves && k <= POINT_LEAVES_K_MAX ? POINT_QUERY_LEAVES : POINT_QUERY_AUTO;
}

static kd_status give_scratch(points_call *call) {
    point_query_cuda *q = &call->query;
    KD_TRY(point_query_cuda_scratch_bytes(&q->scratch_bytes, q));
    return take(call, &q->scratch, q->scratch_bytes);
}

/* The query's points and radii on the device, and checked. */
static kd_status fill_query(points_call *call, const kd_points *tree, const kd_points_query *query,
                            uint32_t k) {
    point_query_cuda *q = &call->query;
    const uint64_t count = query->points.count;
    const uint64_t scalar_bytes = point_scalar_bytes(tree->tree.scalar);
    q->index = &call->on->index;
    q->points = point_array_make(NULL, count, tree->tree.dims, tree->tree.scalar);
    const uint64_t point_bytes = q->points.stride_bytes;
    if (query->points.stride_bytes) q->points.stride_bytes = query->points.stride_bytes;
    KD_TRY(bring_in(call, &q->points.coordinates, query->points.coordinates,
                    count ? (count - 1) * q->points.stride_bytes + point_bytes : 0));
    KD_TRY(bring_in(call, &q->radii, query->radii, count * scalar_bytes));
    q->max_radius = query->max_radius;
    q->k = k;
    q->coherent = query->coherent != 0;
    q->method = method_of(call, query, k);
    q->stream = call->stream;
    point_box box;
    KD_TRY(points_device_scan(&box, &q->points, call->stream));
    const point_array radii = {q->radii, q->radii ? count : 0, scalar_bytes, 1, tree->tree.scalar};
    return points_device_check_radii(&radii, call->stream);
}

static kd_status begin(points_call *call, const kd_points *tree, const kd_points_query *query,
                       uint32_t k) {
    memset(call, 0, sizeof *call);
    call->on = tree->cuda;
    call->stream = query->stream ? query->stream : tree->options.stream;
    KD_TRY(device_enter(call->on->device, &call->previous));
    return fill_query(call, tree, query, k);
}

/* Copies answers back, waits, frees. */
static kd_status end(points_call *call, kd_status status) {
    for (int i = 0; status == KD_OK && i < call->back_count; ++i)
        status =
            device_copy(call->back[i].to, call->back[i].from, call->back[i].bytes, call->stream);
    if (status == KD_OK) status = device_stream_wait(call->stream);
    for (int i = 0; i < call->taken_count; ++i) device_pool_release(call->taken[i], call->stream);
    device_leave(call->previous);
    return status;
}

kd_status points_cuda_nearest(const kd_points *tree, const kd_points_query *query, uint32_t k,
                              const point_rows *out) {
    points_call call;
    kd_status status = KD_OK;
    const uint64_t count = query->points.count, answers = count * k;
    KD_TRY_GOTO(begin(&call, tree, query, k));
    point_query_cuda *q = &call.query;
    KD_TRY_GOTO(bring_out(&call, (void **)&q->ids, out->ids, answers * sizeof *out->ids));
    KD_TRY_GOTO(
        bring_out(&call, &q->dist2, out->dist2, answers * point_scalar_bytes(tree->tree.scalar)));
    KD_TRY_GOTO(bring_out(&call, (void **)&q->counts, out->counts, count * sizeof *out->counts));
    KD_TRY_GOTO(give_scratch(&call));
    KD_TRY_GOTO(point_query_cuda_nearest(q));
    if (q->ids && call.on->renamed)
        KD_TRY_GOTO(points_device_rename(q->ids, answers, call.on->renamed, call.stream));
done:
    return end(&call, status);
}

kd_status points_cuda_count_within(const kd_points *tree, const kd_points_query *query,
                                   uint64_t *offsets) {
    points_call call;
    kd_status status = KD_OK;
    void *found = NULL;
    KD_TRY_GOTO(begin(&call, tree, query, 0));
    KD_TRY_GOTO(bring_out(&call, &found, offsets, (query->points.count + 1) * sizeof *offsets));
    KD_TRY_GOTO(give_scratch(&call));
    KD_TRY_GOTO(point_query_cuda_count_within(&call.query, (uint64_t *)found));
done:
    return end(&call, status);
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
    KD_TRY_GOTO(bring_in(&call, &given, offsets, rows * sizeof *offsets));
    KD_TRY_GOTO(take(&call, &right, rows * sizeof *offsets));
    KD_TRY_GOTO(give_scratch(&call));
    KD_TRY_GOTO(point_query_cuda_count_within(q, (uint64_t *)right));
    KD_TRY_GOTO(points_device_check_offsets((const uint64_t *)given, (const uint64_t *)right, rows,
                                            call.stream));
    KD_TRY_GOTO(device_copy(&answers, (const uint64_t *)right + query->points.count, sizeof answers,
                            call.stream));
    KD_TRY_GOTO(device_stream_wait(call.stream));
    KD_TRY_GOTO(bring_out(&call, (void **)&q->ids, out->ids, answers * sizeof *out->ids));
    KD_TRY_GOTO(bring_out(&call, &q->dist2, out->dist2, answers * scalar));
    if (!q->ids) KD_TRY_GOTO(take(&call, (void **)&q->ids, answers * sizeof *out->ids));
    if (!q->dist2) KD_TRY_GOTO(take(&call, &q->dist2, answers * scalar));
    KD_TRY_GOTO(point_query_cuda_within(q, (const uint64_t *)right));
    if (call.on->renamed)
        KD_TRY_GOTO(points_device_rename(q->ids, answers, call.on->renamed, call.stream));
done:
    return end(&call, status);
}
