/* Distributed queries among CUDA devices of one process.
   Idea: the k nearest are first searched in the part that contains the query (its home); their
         distances limit the search in the other parts. Each rank itself queries the sub-trees of
         all parts, on their devices, and merges the results into growing rows: both are sorted by
         (dist2, number), so the greater of the two last elements is dropped, or stored last, until
         all are merged.
   Work: one test of each part's box per query and round, and twice the results to merge.
   Memory: per rank rows of 2^26 results at a time, and as many of a single part.
   Data flow: for each chunk of queries: find_homes, one thread per query: points -> the part that
              contains it. Then for each part and round pick, one thread per query: points, boxes,
              rows so far -> indices, points and radii of the queries for the part; the part's own
              kernels: these -> its results; merge_answers, or add_counts, one thread per query of
              the part: results -> the rows of these queries. Finally close_rows, one thread per
              query: pads the rows. Each step waits for the previous one. */
#include "core/device/cuda.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include "distributed/points/answer_kernels.cuh"
#include "distributed/points/call.h"
#include "distributed/points/share.h"

namespace {
#ifdef KD_CUDA_EMULATED
constexpr uint64_t ANSWERS_MAX = 1 << 9, ANSWERS_MIN = 1 << 8; /* tests exercise several
                                                                     chunks */
#else
constexpr uint64_t ANSWERS_MAX = 1 << 26, ANSWERS_MIN = 1 << 16;
#endif

/* --- a chunk of queries --------------------------------------------------------------------- */

/* Data of a chunk in the memory of the querying device. */
struct chunk {
    const parts_call *call;
    uint64_t first, count; /* range of queries */
    uint64_t rows;         /* capacity of the result arrays */
    chunk_view request;
    part_queries out;
    device_guard points, radii, homes, fill, ids, dist2, begins, flags, wide;
    device_guard indices_buffer, queries_buffer, query_points, query_radii;
};

uint64_t scalar_bytes(const parts_call *call) {
    return point_scalar_bytes(call->parts->scalar);
}

/* Provides the caller's array on this device: the array itself, or a copy. */
kd_status stage_input(const void **out, device_guard *buffer, const void *data, uint64_t bytes,
                      int32_t device) {
    *out = data;
    if (!data || bytes == 0 || device_of_pointer(data) == device) return KD_OK;
    KD_TRY(buffer->take(bytes));
    *out = buffer->memory;
    return device_copy(buffer->memory, data, bytes, NULL);
}

kd_status stage_queries(chunk *at) {
    const parts_call *call = at->call;
    const kd_point_array *call_points = &call->query.points;
    const uint64_t scalar = scalar_bytes(call), one = call->parts->dims * scalar;
    const uint64_t stride = call_points->stride_bytes ? call_points->stride_bytes : one;
    const void *from = (const char *)call_points->coordinates + at->first * stride;
    const bool elsewhere = device_of_pointer(from) >= 0;
    point_array *points = &at->request.points;
    *points = point_array_make(NULL, at->count, call->parts->dims, call->parts->scalar);
    points->stride_bytes = stride;
    KD_TRY(stage_input(&points->coordinates, &at->points, from, (at->count - 1) * stride + one,
                       call->part->device));
    if (call->query.radii)
        KD_TRY(stage_input(&at->request.radii, &at->radii,
                           (const char *)call->query.radii + at->first * scalar, at->count * scalar,
                           call->part->device));
    point_box box;
    return elsewhere ? share_device_scan(&box, points) : KD_OK; /* arrays in host memory were
                                                                   validated before */
}

kd_status clear(device_guard *buffer, uint64_t bytes) {
    KD_TRY(buffer->take(bytes));
    KD_CUDA(cudaMemsetAsync(buffer->memory, 0, bytes, (cudaStream_t)NULL));
    return KD_OK;
}

kd_status begin_chunk(chunk *at, const part_summary *summaries, part_reach reach) {
    const parts_call *call = at->call;
    const uint64_t scalar = scalar_bytes(call), count = at->count;
    const bool counts = call->kind == POINTS_COUNT, nearest = call->kind == POINTS_NEAREST;
    memset(&at->request, 0, sizeof at->request);
    memset(&at->out, 0, sizeof at->out);
    at->request.reach = reach;
    at->request.reach.all = summaries;
    at->request.max_radius = call->query.max_radius;
    at->request.k = nearest ? call->k : 0;
    KD_TRY(stage_queries(at));
    KD_TRY(clear(&at->fill, count * sizeof(uint32_t)));
    KD_TRY(clear(&at->flags, sizeof(uint32_t)));
    KD_TRY(at->queries_buffer.take(sizeof(uint32_t)));
    KD_TRY(at->indices_buffer.take(count * sizeof(uint32_t)));
    KD_TRY(at->query_points.take(count * call->parts->dims * scalar));
    KD_TRY(at->query_radii.take(count * scalar));
    at->request.fill = at->fill.as<uint32_t>();
    at->request.flags = at->flags.as<uint32_t>();
    at->out.indices = at->indices_buffer.as<uint32_t>();
    at->out.count = at->queries_buffer.as<uint32_t>();
    at->out.points = at->query_points.memory;
    if (nearest) {
        KD_TRY(at->homes.take(count * sizeof(int32_t)));
        at->request.homes = at->homes.as<int32_t>();
    }
    if (counts) return KD_OK;
    KD_TRY(at->ids.take(at->rows * sizeof(uint32_t)));
    KD_TRY(at->dist2.take(at->rows * scalar));
    at->request.ids = at->ids.as<uint32_t>();
    at->request.dist2 = at->dist2.memory;
    if (call->out.ids64) KD_TRY(at->wide.take(at->rows * sizeof(uint64_t)));
    return KD_OK;
}

/* Copies the offsets of the chunk, relative to the first. */
kd_status stage_begins(chunk *at) {
    const uint64_t *call_begins = at->call->out.offsets + at->call->first_row + at->first;
    uint64_t *begins = NULL;
    KD_TRY(KD_RESERVE(begins, at->count + 1));
    for (uint64_t i = 0; i <= at->count; ++i) begins[i] = call_begins[i] - call_begins[0];
    kd_status status = at->begins.take((at->count + 1) * sizeof *begins);
    if (status == KD_OK)
        status = device_copy(at->begins.memory, begins, (at->count + 1) * sizeof *begins, NULL);
    if (status == KD_OK) status = device_stream_wait(NULL);
    memory_free(begins);
    at->request.begins = at->begins.as<uint64_t>();
    return status;
}

/* --- querying a part ------------------------------------------------------------------------ */

/* Buffers of a part's queries and results: `serving` in the memory of the part's device,
   `part_results` in that of the querying device. */
struct serving {
    entered on;
    device_guard points, radii, ids, dist2, counts, offsets;
};
struct part_results {
    device_guard ids, dist2, counts, offsets;
};

kd_status send_questions(serving *at, const chunk *chunk, uint64_t count, kd_points_query *query,
                         bool remote) {
    const parts_call *call = chunk->call;
    const uint64_t scalar = scalar_bytes(call), bytes = count * call->parts->dims * scalar;
    const void *points = chunk->out.points, *radii = chunk->out.radii;
    if (remote) {
        KD_TRY(at->points.take(bytes));
        KD_TRY(device_copy(at->points.memory, points, bytes, NULL));
        points = at->points.memory;
        if (radii) {
            KD_TRY(at->radii.take(count * scalar));
            KD_TRY(device_copy(at->radii.memory, radii, count * scalar, NULL));
            radii = at->radii.memory;
        }
        KD_TRY(device_stream_wait(NULL));
    }
    *query = call->query;
    query->points = kd_point_array_make(points, count, call->parts->dims,
                                        call->parts->scalar == POINT_DOUBLE ? KD_DOUBLE : KD_FLOAT);
    query->radii = radii;
    query->scratch = NULL;
    query->scratch_bytes = 0;
    query->stream = NULL;
    query->asynchronous = 0;
    query->skip_self = 0;
    return KD_OK;
}

kd_status find_answers(serving *at, const parts_call *call, const kd_points *tree,
                       const kd_points_query *query, uint64_t *result_count) {
    const uint64_t count = query->points.count, scalar = scalar_bytes(call);
    if (call->kind == POINTS_NEAREST) {
        *result_count = count * call->k;
        KD_TRY(at->ids.take(*result_count * sizeof(uint32_t)));
        KD_TRY(at->dist2.take(*result_count * scalar));
        KD_TRY(at->counts.take(count * sizeof(uint32_t)));
        return kd_points_nearest(tree, query, call->k, at->ids.as<uint32_t>(), at->dist2.memory,
                                 at->counts.as<uint32_t>());
    }
    KD_TRY(at->offsets.take((count + 1) * sizeof(uint64_t)));
    KD_TRY(kd_points_within_count(tree, query, at->offsets.as<uint64_t>()));
    *result_count = 0;
    if (call->kind == POINTS_COUNT) return KD_OK;
    KD_TRY(
        device_copy(result_count, at->offsets.as<uint64_t>() + count, sizeof *result_count, NULL));
    KD_TRY(device_stream_wait(NULL));
    KD_TRY(at->ids.take(*result_count * sizeof(uint32_t)));
    KD_TRY(at->dist2.take(*result_count * scalar));
    return kd_points_within(tree, query, at->offsets.as<uint64_t>(), at->ids.as<uint32_t>(),
                            at->dist2.memory);
}

/* Copies an array from the part's device to the querying one, which is current. */
kd_status fetch(const void **out, device_guard *buffer, const device_guard *guard, uint64_t bytes,
                bool remote) {
    *out = guard->memory;
    if (!guard->memory || !remote) return KD_OK;
    KD_TRY(buffer->take(bytes));
    *out = buffer->memory;
    return device_copy(buffer->memory, guard->memory, bytes, NULL);
}

kd_status launch_pick(chunk *at, int32_t part, which_round round, uint32_t *count) {
    const unsigned blocks = cuda_blocks(at->count, BLOCK);
    /* without individual radii, the call's max_radius serves all queries */
    at->out.radii = at->request.radii || round == ROUND_OTHERS ? at->query_radii.memory : NULL;
    KD_CUDA(cudaMemsetAsync(at->out.count, 0, sizeof *count, (cudaStream_t)NULL));
    if (at->call->parts->scalar == POINT_DOUBLE)
        pick<double><<<blocks, BLOCK>>>(at->request, at->out, part, round);
    else
        pick<float><<<blocks, BLOCK>>>(at->request, at->out, part, round);
    KD_CUDA_LAUNCHED("pick");
    KD_TRY(device_copy(count, at->out.count, sizeof *count, NULL));
    return device_stream_wait(NULL);
}

kd_status launch_merge(const chunk *at, const answers *results) {
    const unsigned blocks = cuda_blocks(results->count, BLOCK);
    if (at->call->kind == POINTS_COUNT)
        add_counts<<<blocks, BLOCK>>>(at->request, *results);
    else if (at->call->parts->scalar == POINT_DOUBLE)
        merge_answers<double><<<blocks, BLOCK>>>(at->request, *results);
    else
        merge_answers<float><<<blocks, BLOCK>>>(at->request, *results);
    KD_CUDA_LAUNCHED("merge_answers");
    return device_stream_wait(NULL);
}

kd_status query_part_on(chunk *at, int32_t part, which_round round) {
    const parts_call *call = at->call;
    const points_part *points_part = &call->parts->part[part];
    const bool remote = points_part->device != call->part->device;
    const uint64_t scalar = scalar_bytes(call);
    answers said;
    uint64_t result_count = 0;
    memset(&said, 0, sizeof said);
    if (call->parts->all[part].count == 0) return KD_OK;
    KD_TRY(launch_pick(at, part, round, &said.count));
    if (said.count == 0) return KD_OK;
    said.indices = at->out.indices;
    part_results received;
    {
        serving serving;
        kd_points_query query;
        KD_TRY(serving.on.enter(points_part->device));
        KD_TRY(send_questions(&serving, at, said.count, &query, remote));
        KD_TRY(find_answers(&serving, call, points_part->tree, &query, &result_count));
        entered back;
        KD_TRY(back.enter(call->part->device));
        KD_TRY(fetch((const void **)&said.ids, &received.ids, &serving.ids,
                     result_count * sizeof(uint32_t), remote));
        KD_TRY(fetch(&said.dist2, &received.dist2, &serving.dist2, result_count * scalar, remote));
        KD_TRY(fetch((const void **)&said.counts, &received.counts, &serving.counts,
                     said.count * sizeof(uint32_t), remote));
        KD_TRY(fetch((const void **)&said.offsets, &received.offsets, &serving.offsets,
                     (said.count + 1) * sizeof(uint64_t), remote));
        KD_TRY(launch_merge(at, &said));
    }
    return KD_OK;
}

/* --- copying rows to the caller ------------------------------------------------------------- */

kd_status write_flags(const chunk *at) {
    uint32_t flags = 0;
    KD_TRY(device_copy(&flags, at->request.flags, sizeof flags, NULL));
    KD_TRY(device_stream_wait(NULL));
    KD_REQUIRE(!(flags & BAD_RADIUS), KD_ERROR_INPUT,
               "`radii`: a radius is negative or NaN; expected 0 or more");
    KD_REQUIRE(
        !(flags & MISFIT), KD_ERROR_USAGE,
        "`offsets` do not match the results; pass those of the count call with the same query");
    return KD_OK;
}

kd_status give_counts(const chunk *at) {
    uint64_t *sums = at->call->out.offsets + at->call->first_row + at->first;
    uint32_t *counts = NULL;
    KD_TRY(KD_RESERVE(counts, at->count));
    kd_status status = device_copy(counts, at->request.fill, at->count * sizeof *counts, NULL);
    if (status == KD_OK) status = device_stream_wait(NULL);
    for (uint64_t i = 0; status == KD_OK && i < at->count; ++i) sums[i] = counts[i];
    memory_free(counts);
    return status;
}

kd_status give(void *to, uint64_t place, uint64_t bytes, const void *from, uint64_t count) {
    return to && count ? device_copy((char *)to + place * bytes, from, count * bytes, NULL) : KD_OK;
}

kd_status give_rows(chunk *at) {
    const parts_call *call = at->call;
    const kd_points_rows *out = &call->out;
    const uint64_t row = call->first_row + at->first;
    const uint64_t place = call->kind == POINTS_NEAREST ? row * call->k : call->out.offsets[row];
    const unsigned blocks = cuda_blocks(at->count, BLOCK);
    uint64_t *wide = at->wide.as<uint64_t>();
    if (call->parts->scalar == POINT_DOUBLE)
        close_rows<double><<<blocks, BLOCK>>>(at->request, wide);
    else
        close_rows<float><<<blocks, BLOCK>>>(at->request, wide);
    KD_CUDA_LAUNCHED("close_rows");
    KD_TRY(write_flags(at));
    KD_TRY(give(out->ids, place, sizeof *out->ids, at->request.ids, at->rows));
    KD_TRY(give(out->ids64, place, sizeof *out->ids64, wide, at->rows));
    KD_TRY(give(out->dist2, place, scalar_bytes(call), at->request.dist2, at->rows));
    if (call->kind == POINTS_NEAREST)
        KD_TRY(give(out->counts, row, sizeof *out->counts, at->request.fill, at->count));
    return device_stream_wait(NULL);
}

kd_status answer_chunk(chunk *at, const part_summary *summaries, part_reach reach) {
    const parts_call *call = at->call;
    const bool nearest = call->kind == POINTS_NEAREST;
    KD_TRY(begin_chunk(at, summaries, reach));
    if (nearest) {
        find_homes<<<cuda_blocks(at->count, BLOCK), BLOCK>>>(at->request);
        KD_CUDA_LAUNCHED("find_homes");
    }
    if (call->kind == POINTS_FILL) KD_TRY(stage_begins(at));
    /* Each rank begins with its own part, so that the ranks query different parts at the same
       time. */
    const int32_t size = call->parts->size, rank = call->comm->rank;
    for (int32_t i = 0; i < size; ++i)
        KD_TRY(query_part_on(at, (rank + i) % size, nearest ? ROUND_HOME : ROUND_ALL));
    for (int32_t i = 0; nearest && i < size; ++i)
        KD_TRY(query_part_on(at, (rank + i) % size, ROUND_OTHERS));
    if (call->kind != POINTS_COUNT) return give_rows(at);
    KD_TRY(write_flags(at));
    return give_counts(at);
}

/* Selects the queries from `first` on whose results fit; at least one. */
void size_chunk(chunk *at, uint64_t maximum) {
    const parts_call *call = at->call;
    const uint64_t left = call->query.points.count - at->first;
    uint64_t count = call->kind == POINTS_NEAREST ? maximum / call->k : maximum / 4;
    count = count < 1 ? 1 : count;
    at->count = count < left ? count : left;
    at->rows = call->kind == POINTS_NEAREST ? at->count * call->k : 0;
    if (call->kind != POINTS_FILL) return;
    const uint64_t *offsets = call->out.offsets + call->first_row + at->first;
    uint64_t fits = 1, over = at->count + 1; /* binary search: offsets never decrease */
    while (over - fits > 1) {
        const uint64_t middle = fits + (over - fits) / 2;
        *(offsets[middle] - offsets[0] <= maximum ? &fits : &over) = middle;
    }
    at->count = fits;
    at->rows = offsets[fits] - offsets[0];
}

kd_status answer_all(const parts_call *call, uint64_t maximum, uint64_t *done) {
    const uint64_t bytes = (uint64_t)call->parts->size * sizeof *call->parts->all;
    device_guard summaries;
    const part_reach reach = parts_reach(call);
    KD_TRY(summaries.take(bytes));
    KD_TRY(device_copy(summaries.memory, call->parts->all, bytes, NULL));
    while (*done < call->query.points.count) {
        chunk at;
        at.call = call;
        at.first = *done;
        size_chunk(&at, maximum);
        KD_TRY(answer_chunk(&at, summaries.as<part_summary>(), reach));
        *done += at.count;
    }
    return KD_OK;
}
} // namespace

/* Retries with smaller chunks if memory is exhausted. */
kd_status answer_device(const parts_call *call) {
    uint64_t done = 0;
    entered entered;
    KD_TRY(entered.enter(call->part->device));
    for (uint64_t maximum = ANSWERS_MAX;; maximum /= 4) {
        const kd_status status = answer_all(call, maximum, &done);
        if (status != KD_ERROR_MEMORY || maximum / 4 < ANSWERS_MIN) return status;
        status_clear();
    }
}
