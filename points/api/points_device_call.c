#include "points/api/points_device_call.h"
#include "core/device/device_memory.h"
#include "core/memory.h"
#include "points/api/dynamic.h"
#include "points/api/search.h"

enum {
    SCRATCH_ALIGNMENT = 256,
    STAGED_MAX = 32 << 10 /* bytes; copying is faster for larger
                              arrays */
};

/* The invalid queries found are at the beginning of the staging memory. */
static points_bad *bad_of(const points_call *call) {
    return (points_bad *)(void *)call->staging;
}

kd_status points_call_begin(points_call *call, const kd_points *tree,
                            const kd_points_query *query) {
    memset(call, 0, sizeof *call);
    call->on = tree->cuda;
    call->stream = query->stream ? query->stream : tree->options.stream;
    call->asynchronous = query->asynchronous != 0;
    call->query.index = &tree->cuda->index;
    call->query.max_radius = query->max_radius;
    call->query.metric = points_metric(&call->metric, query);
    call->query.stream = call->stream;
    KD_TRY(device_enter(call->on->device, &call->previous));
    KD_TRY(device_staging_take((void **)&call->staging));
    memset(bad_of(call), 0xff, sizeof(points_bad));
    call->staged = sizeof(points_bad);
    if (query->scratch && device_of_pointer(query->scratch) == call->on->device) {
        const uint64_t skipped = -(uintptr_t)query->scratch % SCRATCH_ALIGNMENT;
        call->scratch = (char *)query->scratch + skipped;
        call->scratch_bytes = query->scratch_bytes > skipped ? query->scratch_bytes - skipped : 0;
    }
    return KD_OK;
}

kd_status points_call_whole(points_call *call, const kd_points *tree) {
    if (!points_has_layers(tree)) return KD_OK;
    KD_TRY(KD_RESERVE_ZEROED(call->whole, 1));
    KD_TRY(points_device_merge(call->whole, tree));
    call->on = call->whole->cuda;
    call->query.index = &call->on->index;
    call->asynchronous = false; /* `whole` is destroyed at the end of the call */
    return KD_OK;
}

kd_status points_call_give_scratch(points_call *call) {
    point_query_cuda *q = &call->query;
    q->scratch = call->scratch;
    return q->scratch_bytes <= call->scratch_bytes
               ? KD_OK
               : points_call_take(call, &q->scratch, q->scratch_bytes);
}

uint64_t points_cuda_scratch_bytes(const kd_points *tree, const kd_points_query *query) {
    static const uint32_t ks[] = {0, 1, 2, POINT_PACKETS_K_MAX,
                                  POINT_PACKETS_K_MAX + 1}; /* one for each search method */
    points_call call;
    uint64_t maximum = 0;
    memset(&call, 0, sizeof call);
    call.on = tree->cuda;
    point_query_cuda *q = &call.query;
    q->index = &tree->cuda->index;
    q->points = point_array_make(NULL, query->points.count, tree->tree.dims, tree->tree.scalar);
    q->coherent = query->coherent != 0;
    for (size_t i = 0; i < sizeof ks / sizeof *ks; ++i) {
        size_t bytes = 0;
        q->k = ks[i];
        q->method = points_call_method(&call, query, q->k);
        if (point_query_cuda_scratch_bytes(&bytes, q) == KD_OK && bytes > maximum) maximum = bytes;
    }
    return maximum ? maximum + SCRATCH_ALIGNMENT : 0;
}

/* Allocates staging memory, aligned to 64 bytes; returns NULL if there is not enough left. */
static void *take_staged(points_call *call, uint64_t bytes) {
    const uint64_t begin = (call->staged + 63) / 64 * 64;
    if (bytes > STAGED_MAX || bytes > DEVICE_STAGING_BYTES - begin) return NULL;
    call->staged = begin + bytes;
    return call->staging + begin;
}

kd_status points_call_take(points_call *call, void **out, uint64_t bytes) {
    *out = NULL;
    if (bytes == 0) return KD_OK;
    assert(call->taken_count < CALL_TAKEN_MAX);
    KD_TRY(device_pool_reserve(out, bytes, call->stream));
    call->taken[call->taken_count++] = *out;
    return KD_OK;
}

kd_status points_call_stage_input(points_call *call, const void **out, const void *data,
                                  uint64_t bytes) {
    *out = data;
    if (!data || bytes == 0 || device_of_pointer(data) == call->on->device) return KD_OK;
    call->asynchronous = false;
    void *copy = device_of_pointer(data) < 0 ? take_staged(call, bytes) : NULL;
    if (copy) {
        memcpy(copy, data, bytes);
        *out = copy;
        return KD_OK;
    }
    KD_TRY(points_call_take(call, &copy, bytes));
    *out = copy;
    return device_copy(copy, data, bytes, call->stream);
}

kd_status points_call_stage_output(points_call *call, void **out, void *target, uint64_t bytes,
                                   bool write_once) {
    *out = target;
    if (!target || bytes == 0 || device_of_pointer(target) == call->on->device) return KD_OK;
    assert(call->back_count < CALL_BACK_MAX);
    call->asynchronous = false;
    const bool host = device_of_pointer(target) < 0;
    void *staged = write_once && host && !call->again ? take_staged(call, bytes) : NULL;
    *out = staged;
    if (!staged) KD_TRY(points_call_take(call, out, bytes));
    call->back[call->back_count].to = target;
    call->back[call->back_count].from = *out;
    call->back[call->back_count].staged = staged != NULL;
    call->back[call->back_count++].bytes = bytes;
    return KD_OK;
}

kd_status points_call_stage_rows(points_call *call, const point_rows *out, uint64_t count,
                                 uint32_t k) {
    point_query_cuda *q = &call->query;
    const uint64_t answers = count * k, scalar = point_scalar_bytes(call->on->index.tree.scalar);
    KD_TRY(points_call_stage_output(call, (void **)&q->ids, out->ids, answers * sizeof *out->ids,
                                    true));
    KD_TRY(points_call_stage_output(call, &q->dist2, out->dist2, answers * scalar, true));
    return points_call_stage_output(call, (void **)&q->counts, out->counts,
                                    count * sizeof *out->counts, true);
}

point_query_method points_call_method(const points_call *call, const kd_points_query *query,
                                      uint32_t k) {
    point_query_method method = POINT_QUERY_AUTO;
    (void)points_method_find(&method, query->method); /* validated before */
    if (method == POINT_QUERY_WALK) return method;
    const bool leaves = method == POINT_QUERY_LEAVES && call->on->index.points;
    return leaves && k <= POINT_LEAVES_K_MAX ? POINT_QUERY_LEAVES : POINT_QUERY_AUTO;
}

/* Copies results to the caller; those in staging memory with the CPU, after the synchronisation. */
static kd_status copy_back(const points_call *call, bool staged) {
    for (int i = 0; i < call->back_count; ++i) {
        if (call->back[i].staged != staged) continue;
        if (staged)
            memcpy(call->back[i].to, call->back[i].from, call->back[i].bytes);
        else
            KD_TRY(device_copy(call->back[i].to, call->back[i].from, call->back[i].bytes,
                               call->stream));
    }
    return KD_OK;
}

kd_status points_call_end(points_call *call, kd_status status) {
    const kd_status result = status;
    if (status == KD_OK) status = copy_back(call, false);
    /* Also after an error: kernels may still be writing to the staging memory. */
    if (!call->asynchronous || result != KD_OK) {
        const kd_status waited = device_stream_wait(call->stream);
        if (status == KD_OK) status = waited;
    }
    if (status == KD_OK && call->checks)
        status = points_device_report_bad(bad_of(call), &call->query.points, &call->radii);
    if (status == KD_OK) status = copy_back(call, true);
    for (int i = 0; i < call->taken_count; ++i) device_pool_release(call->taken[i], call->stream);
    kd_points_close(call->whole);
    device_staging_give(call->staging);
    device_leave(call->previous);
    return status;
}
