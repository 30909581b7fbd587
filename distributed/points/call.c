/* Calls on a distributed tree.
   Idea: the threads of a call, one per device, take equal shares of the queries, and execute them
         as the collective call of several ranks; in a tree shared by processes each caller provides
         the queries of its rank. */
#include "distributed/points/call.h"
#include "core/memory.h"
#include "core/parallel/primitives.h"
#include "distributed/ranks/ranks.h"
#include "points/api/search.h"

static const void *advance(const void *at, uint64_t bytes) {
    return at ? (const char *)at + bytes : NULL;
}

static void skip_queries(kd_point_array *points, uint64_t begin, uint64_t end) {
    const uint64_t scalar = points->scalar == KD_DOUBLE ? sizeof(double) : sizeof(float);
    const uint64_t stride = points->stride_bytes ? points->stride_bytes : points->dims * scalar;
    points->coordinates = advance(points->coordinates, begin * stride);
    points->count = end - begin;
}

static kd_status answer_part(void *context, ranks *comm) {
    parts_call call = *(const parts_call *)context; /* restricted to this rank's share below */
    uint64_t begin = 0, end = 0;
    call.comm = comm;
    call.part = &call.parts->part[comm->rank];
    ranks_part(comm, comm->rank, call.query.points.count, &begin, &end);
    skip_queries(&call.query.points, begin, end);
    if (parts_query_boxes(&call)) skip_queries(&call.query.hi, begin, end);
    call.query.radii = advance(call.query.radii, begin * point_scalar_bytes(call.parts->scalar));
    call.first_row = begin;
    return parts_results_on_device(call.parts, &call) ? answer_device(&call)
                                                      : parts_answer(&call, KD_OK);
}

bool parts_results_on_device(const points_parts *parts, const parts_call *call) {
    if (parts_are_shared(parts) || parts->copies || parts->wide || call->names ||
        parts_query_boxes(call))
        return false;
    for (int32_t p = 0; p < parts->size; ++p)
        if (parts->part[p].device < 0) return false;
    return true;
}

/* Converts numbers of points to the caller's ids. */
void parts_rename(uint32_t *ids, uint64_t count, const uint32_t *names) {
    for (uint64_t i = 0; ids && names && i < count; ++i)
        if (ids[i] != KD_NO_POINT) ids[i] = names[ids[i]];
}

/* Executes one device's share of the queries on its copy of all points, writing rows at their final
   positions. */
static kd_status answer_copy(void *context, ranks *comm) {
    const parts_call *like = (const parts_call *)context;
    const kd_points *tree = like->parts->part[comm->rank].tree;
    const uint64_t scalar = point_scalar_bytes(like->parts->scalar);
    kd_points_query query = like->query;
    uint64_t begin = 0, end = 0, *offsets = NULL;
    kd_status status = KD_OK;
    ranks_part(comm, comm->rank, query.points.count, &begin, &end);
    skip_queries(&query.points, begin, end);
    query.radii = advance(query.radii, begin * scalar);
    kd_points_rows to = like->out;
    const bool nearest = like->kind == POINTS_NEAREST, counts = like->kind == POINTS_COUNT;
    const uint64_t at = like->kind == POINTS_FILL ? to.offsets[begin] : begin * like->k;
    to.ids = to.ids ? to.ids + at : NULL;
    to.dist2 = to.dist2 ? (char *)to.dist2 + at * scalar : NULL;
    to.counts = to.counts ? to.counts + begin : NULL;
    if (!nearest) KD_TRY_GOTO(KD_RESERVE(offsets, end - begin + 1));
    for (uint64_t i = begin; like->kind == POINTS_FILL && i <= end; ++i)
        offsets[i - begin] = to.offsets[i] - at;
    points_search search = {.kind = like->kind, .k = like->k, .out = to};
    search.out.offsets = offsets;
    KD_TRY_GOTO(points_search_tree(tree, &search, &query));
    for (uint64_t i = begin; counts && i < end; ++i)
        to.offsets[i] = offsets[i - begin + 1] - offsets[i - begin];
    if (!counts)
        parts_rename(to.ids, nearest ? (end - begin) * like->k : offsets[end - begin], like->names);
done:
    memory_free(offsets);
    return status;
}

/* Clears the options that distributed trees ignore. */
static void strip(parts_call *call) {
    call->query.scratch = NULL;
    call->query.stream = NULL;
    call->query.asynchronous = 0;
}

/* Converts the counts of the rows to offsets. */
static void sum_rows(const parts_call *call, uint64_t count) {
    uint64_t *sums = call->out.offsets;
    if (call->kind == POINTS_COUNT) sums[count] = scan_exclusive_u64(sums, sums, count);
}

kd_status parts_call_all(points_parts *parts, parts_call *call, kd_status checked) {
    const uint64_t count = call->query.points.count;
    call->parts = parts;
    strip(call);
    if (parts_are_shared(parts)) {
        call->comm = &parts->shared;
        call->part = parts->part;
        const kd_status status = parts_answer(call, checked);
        parts->sent = parts->shared.sent;
        KD_TRY(status);
    } else {
        KD_TRY(checked);
        KD_TRY(ranks_threads_run(parts->size, parts->copies ? answer_copy : answer_part, call));
    }
    sum_rows(call, count);
    return KD_OK;
}

/* --- self-queries --------------------------------------------------------------------------- */

/* Executes the queries of the points of one part, in the order of its tree. */
static kd_status query_self(void *context, ranks *comm) {
    parts_call call = *(const parts_call *)context;
    const points_parts *parts = call.parts;
    const points_part *part = &parts->part[comm->rank];
    const uint64_t count = parts->all[comm->rank].count;
    void *points = NULL;
    uint32_t *ids = NULL;
    uint64_t *numbers = NULL, *rows = NULL;
    kd_status status =
        memory_reserve(&points, count * parts->dims, point_scalar_bytes(parts->scalar));
    if (status == KD_OK) status = KD_RESERVE(ids, count);
    if (status == KD_OK) status = KD_RESERVE(numbers, count);
    if (status == KD_OK) status = KD_RESERVE(rows, count);
    if (status == KD_OK) status = kd_points_download(part->tree, points, ids, NULL);
    for (uint64_t i = 0; status == KD_OK && i < count; ++i) {
        numbers[i] = part->numbers ? part->numbers[ids[i]] : ids[i];
        rows[i] = numbers[i] - parts->first;
        if (!call.out.order) continue;
        const uint64_t place = rows[i];
        rows[i] = part->begin + i;
        call.out.order[rows[i]] = call.names ? call.names[place] : (uint32_t)numbers[i];
    }
    call.comm = comm;
    call.part = part;
    call.query.points = kd_point_array_make(points, count, parts->dims,
                                            parts->scalar == POINT_DOUBLE ? KD_DOUBLE : KD_FLOAT);
    call.query.radii = NULL;
    call.query.coherent = 1;
    call.row_of = rows;
    call.self = call.query.skip_self ? numbers : NULL;
    call.k += call.query.skip_self ? 1 : 0;
    status = parts_answer(&call, status);
    memory_free(points);
    memory_free(ids);
    memory_free(numbers);
    memory_free(rows);
    return status;
}

/* Executes the self-query on a single device, as every device has all points. */
static kd_status own_of_copy(const parts_call *call) {
    const kd_points *one = call->parts->part[0].tree;
    const uint64_t count = call->parts->count;
    points_search search = {.kind = call->kind, .k = call->k, .out = call->out};
    KD_TRY(points_search_tree(one, &search, &call->query));
    if (call->kind != POINTS_COUNT)
        parts_rename(call->out.ids,
                     call->kind == POINTS_NEAREST ? count * call->k : call->out.offsets[count],
                     call->names);
    parts_rename(call->out.order, count, call->names);
    return KD_OK;
}

kd_status parts_call_self(points_parts *parts, parts_call *call) {
    call->parts = parts;
    strip(call);
    if (parts->copies) return own_of_copy(call);
    KD_TRY(ranks_threads_run(parts->size, query_self, call));
    sum_rows(call, parts->count);
    return KD_OK;
}
