/* Exchange of queries and results.
   Idea: three exchanges: first the queries are sent to the parts; then the number of results of
         each query and, last, the results are sent back. In between, each part searches its own
         sub-tree, independently of the others.
   Memory: a rank's queries and their results, and those of all ranks that query its part. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "distributed/points/call.h"
#include "distributed/ranks/ranks.h"
#include "points/api/search.h"
#include "points/tree/point_array.h"
#include <string.h>

/* State at the part: queries received and results found. */
typedef struct serving {
    /* for each rank: number of queries to each part, whether it has more chunks, and
       arguments_hash() */
    uint64_t *matrix;
    uint64_t *begins; /* size + 1: queries of each rank */
    /* size + 1: results for each rank */
    uint64_t *answer_begins;
    void *scalars, *radii, *dist2;
    uint32_t *counts;
    uint64_t *numbers, *offsets;
} serving;

enum { MATRIX_HEADER = 2 /* numbers of a rank besides those for each part */ };

static void serving_close(serving *owned) {
    memory_free(owned->matrix);
    memory_free(owned->begins);
    memory_free(owned->answer_begins);
    memory_free(owned->scalars);
    memory_free(owned->radii);
    memory_free(owned->dist2);
    memory_free(owned->counts);
    memory_free(owned->numbers);
    memory_free(owned->offsets);
}

static uint64_t scalar_bytes(const parts_call *call) {
    return point_scalar_bytes(call->parts->scalar);
}

/* Hash of all arguments that must be equal on all ranks. */
static uint64_t arguments_hash(const parts_call *call) {
    uint64_t norm;
    memcpy(&norm, &call->query.norm, sizeof norm);
    uint64_t mixed = ((uint64_t)call->calls << 2 | (uint64_t)call->kind) << 32 ^
                     (call->kind == POINTS_COUNT ? 0 : call->k);
    for (int axis = 0; axis < 8; ++axis) {
        uint64_t bits;
        memcpy(&bits, &call->query.period[axis], sizeof bits);
        mixed = (mixed ^ bits) * 0x9e3779b97f4a7c15u;
    }
    return mixed ^ norm;
}

/* Exchanges the number of queries between all ranks, and checks that they make the same call. */
static kd_status announce(parts_call *call, const part_requests *request, serving *at,
                          kd_status local_status) {
    const uint64_t size = (uint64_t)call->parts->size, width = size + MATRIX_HEADER;
    uint64_t *row = NULL;
    bool same = true;
    KD_TRY(KD_RESERVE_ZEROED(row, width));
    for (uint64_t p = 0; local_status == KD_OK && p < size; ++p)
        row[p] = request->begins[p + 1] - request->begins[p];
    row[size] = call->end < call->query.points.count;
    row[size + 1] = arguments_hash(call);
    kd_status status = KD_RESERVE(at->matrix, size * width);
    if (status == KD_OK) status = KD_RESERVE(at->begins, size + 1);
    if (status == KD_OK) status = KD_RESERVE(at->answer_begins, size + 1);
    if (status == KD_OK)
        status = ranks_agree_on(call->comm, local_status, row, (uint32_t)width, at->matrix);
    memory_free(row);
    KD_TRY(status);
    call->more = false;
    at->begins[0] = 0;
    for (uint64_t r = 0; r < size; ++r) {
        const uint64_t *peer_row = at->matrix + r * width;
        at->begins[r + 1] = at->begins[r] + peer_row[call->comm->rank];
        call->more = call->more || peer_row[size];
        same = same && peer_row[size + 1] == at->matrix[size + 1];
    }
    KD_REQUIRE(same, KD_ERROR_USAGE,
               "the ranks of a shared tree made different queries; all must make the same call "
               "with equal `k`, `norm` and `period`");
    return KD_OK;
}

/* Exchanges items with the given ranges of items per rank. */
static kd_status move(parts_call *call, const void *from, const uint64_t *from_begins, void *to,
                      const uint64_t *to_begins, uint64_t bytes) {
    const uint64_t size = (uint64_t)call->parts->size;
    uint64_t *out = NULL;
    KD_TRY(KD_RESERVE(out, 2 * (size + 1)));
    for (uint64_t r = 0; r <= size; ++r) {
        out[r] = from_begins[r] * bytes;
        out[size + 1 + r] = to_begins[r] * bytes;
    }
    const kd_status status = ranks_all_to_all(call->comm, from, out, to, out + size + 1);
    memory_free(out);
    return status;
}

/* --- at the part ---------------------------------------------------------------------------- */

/* Separates the radii from the points. */
static kd_status take_radii(const parts_call *call, serving *at, uint64_t count) {
    const uint64_t bytes = scalar_bytes(call), width = parts_question_width(call);
    KD_TRY(memory_reserve(&at->radii, count, bytes));
    for (uint64_t i = 0; i < count; ++i)
        memcpy((char *)at->radii + i * bytes,
               (const char *)at->scalars + ((i + 1) * width - 1) * bytes, bytes);
    return KD_OK;
}

static kd_points_query question(const parts_call *call, const serving *at, uint64_t count) {
    kd_points_query query = call->query;
    query.points = kd_point_array_make(at->scalars, count, call->parts->dims,
                                       call->parts->scalar == POINT_DOUBLE ? KD_DOUBLE : KD_FLOAT);
    query.points.stride_bytes = parts_question_width(call) * scalar_bytes(call);
    query.radii = at->radii;
    query.scratch = NULL;
    query.scratch_bytes = 0;
    query.stream = NULL;
    query.asynchronous = 0;
    query.self = query.skip_self = 0;
    if (!parts_query_boxes(call)) return query;
    query.lo = query.hi = query.points;
    query.points.count = 0;
    if (count)
        query.hi.coordinates = (const char *)at->scalars + call->parts->dims * scalar_bytes(call);
    return query;
}

typedef struct numbering {
    const parts_call *call;
    serving *at;
    const uint32_t *ids;
} numbering;

static void number_piece(void *context, int64_t begin, int64_t end, int thread) {
    const numbering *work = (const numbering *)context;
    const serving *at = work->at;
    const uint64_t *numbers = work->call->part->numbers;
    (void)thread;
    for (uint64_t i = (uint64_t)begin; i < (uint64_t)end; ++i) {
        const uint64_t from = at->counts ? i * work->call->k : at->offsets[i];
        const uint64_t answers = at->offsets[i + 1] - at->offsets[i];
        for (uint64_t j = 0; j < answers; ++j)
            at->numbers[at->offsets[i] + j] =
                numbers ? numbers[work->ids[from + j]] : work->ids[from + j];
    }
}

/* Converts ids of the sub-tree to numbers, and compacts rows that are not full, so that they begin
   at the offsets. */
static void take_numbers(const parts_call *call, serving *at, const uint32_t *ids, uint64_t count) {
    const uint64_t bytes = scalar_bytes(call);
    numbering work = {call, at, ids};
    parallel_for((int64_t)count, 4096, number_piece, &work);
    if (!at->dist2 || !at->counts || at->offsets[count] == count * call->k) return;
    for (uint64_t i = 0; i < count; ++i)
        memmove((char *)at->dist2 + at->offsets[i] * bytes,
                (const char *)at->dist2 + i * call->k * bytes,
                (at->offsets[i + 1] - at->offsets[i]) * bytes);
}

/* Fills the rows of the queries received; except for the k nearest, at->offsets are known. */
static kd_status find_rows(const parts_call *call, serving *at, const kd_points_query *query) {
    const bool nearest = call->kind == POINTS_NEAREST;
    const uint64_t count = at->begins[call->parts->size];
    const uint64_t capacity = nearest ? count * call->k : at->offsets[count];
    uint32_t *ids = NULL;
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(ids, capacity));
    if (!parts_query_boxes(call))
        KD_TRY_GOTO(memory_reserve(&at->dist2, capacity, scalar_bytes(call)));
    if (nearest) KD_TRY_GOTO(KD_RESERVE(at->counts, count));
    points_search search = {.kind = call->kind,
                            .k = call->k,
                            .out = {.ids = ids,
                                    .dist2 = at->dist2,
                                    .counts = at->counts,
                                    .offsets = nearest ? NULL : at->offsets}};
    KD_TRY_GOTO(points_search_tree(call->part->tree, &search, query));
    at->offsets[0] = 0;
    for (uint64_t i = 0; nearest && i < count; ++i)
        at->offsets[i + 1] = at->offsets[i] + at->counts[i];
    KD_TRY_GOTO(KD_RESERVE(at->numbers, at->offsets[count]));
    take_numbers(call, at, ids, count);
done:
    memory_free(ids);
    return status;
}

/* Executes all queries received, and determines the number of results for each rank. */
static kd_status find(const parts_call *call, serving *at) {
    const uint64_t count = at->begins[call->parts->size];
    KD_TRY(KD_RESERVE(at->offsets, count + 1));
    if (!parts_query_boxes(call)) KD_TRY(take_radii(call, at, count));
    const kd_points_query query = question(call, at, count);
    points_search search = {.kind = POINTS_COUNT, .k = call->k, .out = {.offsets = at->offsets}};
    if (call->kind != POINTS_NEAREST) KD_TRY(points_search_tree(call->part->tree, &search, &query));
    if (call->kind != POINTS_COUNT) KD_TRY(find_rows(call, at, &query));
    if (!at->counts) KD_TRY(KD_RESERVE(at->counts, count));
    for (uint64_t i = 0; i < count; ++i)
        at->counts[i] = (uint32_t)(at->offsets[i + 1] - at->offsets[i]);
    for (int32_t r = 0; r <= call->parts->size; ++r)
        at->answer_begins[r] = at->offsets[at->begins[r]];
    return KD_OK;
}

/* --- exchange with the other ranks ---------------------------------------------------------- */

static kd_status take_answers(parts_call *call, part_requests *request, const serving *at) {
    const uint64_t size = (uint64_t)call->parts->size;
    uint64_t *begins = NULL;
    kd_status status = KD_RESERVE(begins, size + 1);
    for (uint64_t p = 0; status == KD_OK && p <= size; ++p)
        begins[p] = request->offsets[request->begins[p]];
    const uint64_t answers = status == KD_OK ? begins[size] : 0;
    if (status == KD_OK) status = KD_RESERVE(request->numbers, answers);
    if (status == KD_OK && !parts_query_boxes(call))
        status = memory_reserve(&request->dist2, answers, scalar_bytes(call));
    status = ranks_agree(call->comm, status);
    if (status == KD_OK)
        status = move(call, at->numbers, at->answer_begins, request->numbers, begins,
                      sizeof *request->numbers);
    if (status == KD_OK && !parts_query_boxes(call))
        status =
            move(call, at->dist2, at->answer_begins, request->dist2, begins, scalar_bytes(call));
    memory_free(begins);
    return status;
}

/* Receives the 32-bit counts and computes the offsets. */
static kd_status take_counts(parts_call *call, part_requests *request, const serving *at) {
    const uint64_t part_queries = request->begins[call->parts->size];
    uint32_t *counts = NULL;
    kd_status status = KD_RESERVE(counts, part_queries);
    if (status == KD_OK) status = KD_RESERVE(request->offsets, part_queries + 1);
    status = ranks_agree(call->comm, status);
    if (status == KD_OK)
        status = move(call, at->counts, at->begins, counts, request->begins, sizeof *counts);
    for (uint64_t q = 0, sum = 0; status == KD_OK && q <= part_queries; ++q) {
        request->offsets[q] = sum;
        if (q < part_queries) sum += counts[q];
    }
    memory_free(counts);
    return status;
}

kd_status parts_query(parts_call *call, part_requests *request, kd_status local_status) {
    const uint64_t width = parts_question_width(call) * scalar_bytes(call);
    kd_status status = KD_OK;
    serving at;
    memset(&at, 0, sizeof at);
    KD_TRY_GOTO(announce(call, request, &at, local_status));
    KD_TRY_GOTO(
        ranks_agree(call->comm, memory_reserve(&at.scalars, at.begins[call->parts->size], width)));
    KD_TRY_GOTO(move(call, request->scalars, request->begins, at.scalars, at.begins, width));
    KD_TRY_GOTO(ranks_agree(call->comm, find(call, &at)));
    KD_TRY_GOTO(take_counts(call, request, &at));
    if (call->kind != POINTS_COUNT) KD_TRY_GOTO(take_answers(call, request, &at));
done:
    serving_close(&at);
    return status;
}

void part_requests_close(part_requests *owned) {
    memory_free(owned->begins);
    memory_free(owned->indices);
    memory_free(owned->scalars);
    memory_free(owned->offsets);
    memory_free(owned->numbers);
    memory_free(owned->dist2);
    memset(owned, 0, sizeof *owned);
}
