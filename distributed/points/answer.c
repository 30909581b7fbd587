/* Distributed queries through the host.
   Idea: the k nearest are first searched in the part that contains the query (its home); their
         distances limit the search in the other parts, most of which are then not needed. All other
         parts of a query are searched simultaneously.
   Work: a query near a border searches two parts, a query in the middle of a part only that part.
   Memory: queries are processed in chunks of a million results. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"
#include "distributed/points/call.h"
#include "distributed/ranks/ranks.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { CHUNK_ANSWERS = 1 << 20 };

/* --- k-way merge of results ------------------------------------------------------------------ */

/* Merges the results of several parts for a chunk of queries into the caller's rows.
   Idea: each part's results for a query are sorted by (dist2, number), so the least of the first
         elements of all parts is the next result.
   Invariants: numbers are positions in the input, so the order is that of a single tree. */

enum { MERGE_GRAIN = 256 };

/* Remaining results of one part for one query. */
typedef struct merge_run {
    uint64_t at, end;
    const part_requests *request;
} merge_run;

/* The runs of every query of a chunk. Owns its memory. */
typedef struct merge_runs {
    uint64_t *begins; /* queries + 1 offsets into `runs` */
    merge_run *runs;
    bool misfit; /* out: the length of some row differs from the number of its results */
} merge_runs;

/* Accepts a zeroed struct. */
static void merge_runs_close(merge_runs *owned) {
    memory_free(owned->begins);
    memory_free(owned->runs);
    memset(owned, 0, sizeof *owned);
}

static kd_status merge_runs_open(merge_runs *out, const part_requests *request, int rounds,
                                 int32_t parts, uint64_t queries) {
    uint64_t *next = NULL;
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    KD_TRY_GOTO(KD_RESERVE_ZEROED(out->begins, queries + 1));
    for (int round = 0; round < rounds; ++round)
        for (uint64_t q = 0; q < request[round].begins[parts]; ++q)
            ++out->begins[request[round].indices[q]];
    out->begins[queries] = scan_exclusive_u64(out->begins, out->begins, queries);
    KD_TRY_GOTO(KD_RESERVE(out->runs, out->begins[queries]));
    KD_TRY_GOTO(KD_RESERVE(next, queries));
    memcpy(next, out->begins, queries * sizeof *next);
    for (int round = 0; round < rounds; ++round)
        for (uint64_t q = 0; q < request[round].begins[parts]; ++q) {
            const merge_run run = {request[round].offsets[q], request[round].offsets[q + 1],
                                   &request[round]};
            out->runs[next[request[round].indices[q]]++] = run;
        }
done:
    memory_free(next);
    if (status != KD_OK) merge_runs_close(out);
    return status;
}

/* --- merged rows ------------------------------------------------------------------------------ */

typedef struct merging {
    const parts_call *call;
    merge_runs *runs;
    atomic_bool misfit;
} merging;

static double dist2_at(const parts_call *call, const merge_run *run) {
    if (!run->request->dist2) return 0;
    return point_coordinate((const char *)run->request->dist2 +
                                run->at * point_scalar_bytes(call->parts->scalar),
                            call->parts->scalar, 0);
}

/* Returns the run with the least remaining element, or NULL. */
static merge_run *least_of(const parts_call *call, merge_run *begin, merge_run *end) {
    merge_run *minimum = NULL;
    double min_dist2 = 0;
    for (merge_run *run = begin; run < end; ++run) {
        if (run->at == run->end) continue;
        const double dist2 = dist2_at(call, run);
        if (minimum && (dist2 > min_dist2 ||
                        (dist2 == min_dist2 &&
                         run->request->numbers[run->at] > minimum->request->numbers[minimum->at])))
            continue;
        minimum = run;
        min_dist2 = dist2;
    }
    return minimum;
}

static void write_neighbour(const parts_call *call, uint64_t at, uint64_t number, double dist2) {
    const kd_points_rows *out = &call->out;
    const bool none = number == KD_NO_POINT64;
    if (call->names && !none) number = call->names[number - call->parts->first];
    if (out->ids64) out->ids64[at] = number;
    if (out->ids) out->ids[at] = none ? KD_NO_POINT : (uint32_t)number;
    if (!out->dist2) return;
    if (call->parts->scalar == POINT_DOUBLE)
        ((double *)out->dist2)[at] = dist2;
    else
        ((float *)out->dist2)[at] = (float)dist2;
}

/* Returns whether all runs of a query, without the excluded point, have the length of its row. */
static bool fits(const merging *work, const merge_run *begin, const merge_run *end,
                 uint64_t capacity) {
    uint64_t answers = 0;
    for (const merge_run *run = begin; run < end; ++run) answers += run->end - run->at;
    return answers == capacity + (work->call->self ? 1 : 0);
}

static void merge_row(merging *work, uint64_t i) {
    const parts_call *call = work->call;
    const uint64_t query = call->begin + i;
    const uint64_t row = parts_row(call, query);
    merge_run *begin = work->runs->runs + work->runs->begins[i];
    merge_run *end = work->runs->runs + work->runs->begins[i + 1];
    if (call->kind == POINTS_COUNT) {
        uint64_t sum = 0;
        for (const merge_run *run = begin; run < end; ++run) sum += run->end - run->at;
        call->out.offsets[row] = sum - (call->self ? 1 : 0);
        return;
    }
    const bool nearest = call->kind == POINTS_NEAREST;
    const uint64_t k = nearest ? call->k - (call->self ? 1 : 0) : 0;
    const uint64_t to = nearest ? row * k : call->out.offsets[row];
    const uint64_t capacity = nearest ? k : call->out.offsets[row + 1] - to;
    if (!nearest && !fits(work, begin, end, capacity)) {
        atomic_store(&work->misfit, true);
        return;
    }
    uint64_t made = 0;
    while (made < capacity) {
        merge_run *from = least_of(call, begin, end);
        if (!from) break;
        const uint64_t number = from->request->numbers[from->at];
        const double dist2 = dist2_at(call, from);
        ++from->at;
        if (call->self && number == call->self[query]) continue;
        write_neighbour(call, to + made++, number, dist2);
    }
    if (call->out.counts) call->out.counts[row] = (uint32_t)made;
    for (; made < capacity; ++made)
        write_neighbour(call, to + made, KD_NO_POINT64, (double)INFINITY);
}

static void merge_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    for (int64_t i = begin; i < end; ++i) merge_row((merging *)context, (uint64_t)i);
}

/* Fills the rows of the call's chunk. */
static void merge_rows(const parts_call *call, merge_runs *runs) {
    merging work = {.call = call, .runs = runs};
    atomic_init(&work.misfit, false);
    parallel_for((int64_t)(call->end - call->begin), MERGE_GRAIN, merge_piece, &work);
    runs->misfit = atomic_load(&work.misfit);
}

/* --- which parts a query needs -------------------------------------------------------------- */

static const void *scalars_at(const kd_point_array *points, uint64_t i) {
    const uint64_t packed =
        points->dims * point_scalar_bytes(points->scalar == KD_DOUBLE ? POINT_DOUBLE : POINT_FLOAT);
    return (const char *)points->coordinates +
           i * (points->stride_bytes ? points->stride_bytes : packed);
}

static bool box_overlaps(const parts_call *call, uint64_t query, int32_t part) {
    const point_box *box = &call->parts->all[part].box;
    const void *lo = scalars_at(&call->query.points, query);
    const void *hi = scalars_at(&call->query.hi, query);
    for (uint32_t axis = 0; axis < call->parts->dims; ++axis)
        if (!(point_coordinate(lo, call->parts->scalar, axis) <= box->hi[axis] &&
              point_coordinate(hi, call->parts->scalar, axis) >= box->lo[axis]))
            return false;
    return true;
}

static bool may_hold(const parts_call *call, uint64_t query, int32_t part, double bound) {
    const part_reach reach = parts_reach(call);
    if (parts_query_boxes(call))
        return call->parts->all[part].count > 0 && box_overlaps(call, query, part);
    return reach_may_hold(&reach, scalars_at(&call->query.points, query), part, bound);
}

static int32_t home_of(const parts_call *call, uint64_t query) {
    const part_reach reach = parts_reach(call);
    return reach_home(&reach, scalars_at(&call->query.points, query));
}

static double radius_of(const parts_call *call, uint64_t query) {
    const double query_radius =
        call->query.radii ? point_coordinate((const char *)call->query.radii +
                                                 query * point_scalar_bytes(call->parts->scalar),
                                             call->parts->scalar, 0)
                          : (double)INFINITY;
    return query_radius < call->query.max_radius ? query_radius : call->query.max_radius;
}

/* --- which queries go to which part --------------------------------------------------------- */

typedef struct choosing {
    const parts_call *call;
    const int32_t *homes;        /* per query of the chunk; NULL: a single round */
    const merge_runs *home_runs; /* results of the homes; NULL: the homes are searched now */
    part_requests *out;
    uint64_t *places; /* per part and block: counts, then positions */
    bool fills;       /* write the queries; else count them */
} choosing;

/* Returns the distance within which query i still has to be searched: in the second round at most
   that of the k-th result of its home. */
static double bound_of(const choosing *work, uint64_t i) {
    const parts_call *call = work->call;
    const double radius =
        metric_bound(call->parts->scalar, parts_reach(call).norm, radius_of(call, call->begin + i));
    if (!work->home_runs) return radius;
    const merge_run *run = &work->home_runs->runs[work->home_runs->begins[i]];
    if (work->home_runs->begins[i] == work->home_runs->begins[i + 1] ||
        run->end - run->at < call->k)
        return radius;
    const double last =
        point_coordinate((const char *)run->request->dist2 +
                             (run->end - 1) * point_scalar_bytes(call->parts->scalar),
                         call->parts->scalar, 0);
    return last < radius ? last : radius;
}

static bool needs_part(const choosing *work, uint64_t i, int32_t part, double *bound) {
    const parts_call *call = work->call;
    const bool first = work->homes && !work->home_runs;
    if (work->homes && (work->homes[i] == part) != first) return false;
    if (parts_query_boxes(call)) return may_hold(call, call->begin + i, part, (double)INFINITY);
    *bound = bound_of(work, i);
    return may_hold(call, call->begin + i, part, *bound);
}

/* Writes one query for a part: the scalars of the point, and a radius; or two corners. */
static void write_question(const choosing *work, uint64_t i, double bound, char *to) {
    const parts_call *call = work->call;
    const uint64_t query = call->begin + i, scalar = point_scalar_bytes(call->parts->scalar);
    const uint64_t bytes = call->parts->dims * scalar;
    const kd_point_array *lo = &call->query.points, *hi = &call->query.hi;
    memcpy(to,
           (const char *)lo->coordinates + query * (lo->stride_bytes ? lo->stride_bytes : bytes),
           bytes);
    if (parts_query_boxes(call)) {
        memcpy(to + bytes,
               (const char *)hi->coordinates +
                   query * (hi->stride_bytes ? hi->stride_bytes : bytes),
               bytes);
        return;
    }
    const double query_radius = radius_of(call, query);
    const part_reach reach = parts_reach(call);
    const double near = work->home_runs ? reach_radius_of(&reach, bound) : query_radius;
    const double radius = near < query_radius ? near : query_radius;
    const float narrow = (float)radius;
    memcpy(to + bytes, scalar == sizeof radius ? (const void *)&radius : (const void *)&narrow,
           scalar);
}

enum { BLOCKS = 32 /* blocks of a chunk, processed in parallel for each part */ };

static void choose_parts(void *context, int64_t begin, int64_t end, int thread) {
    const choosing *work = (const choosing *)context;
    const uint64_t count = work->call->end - work->call->begin;
    const uint64_t bytes =
        parts_question_width(work->call) * point_scalar_bytes(work->call->parts->scalar);
    (void)thread;
    for (int64_t item = begin; item < end; ++item) {
        const int32_t part = (int32_t)(item / BLOCKS);
        const uint64_t block = (uint64_t)(item % BLOCKS), last = count * (block + 1) / BLOCKS;
        uint64_t at = work->places[item];
        for (uint64_t i = count * block / BLOCKS; i < last; ++i) {
            double bound = 0;
            if (!needs_part(work, i, part, &bound)) continue;
            if (work->fills) {
                work->out->indices[at] = (uint32_t)i;
                write_question(work, i, bound, (char *)work->out->scalars + at * bytes);
            }
            ++at;
        }
        if (!work->fills) work->places[item] = at;
    }
}

/* Counts the queries of each part, then writes them, part by part. */
static kd_status choose_all(choosing *work) {
    const parts_call *call = work->call;
    part_requests *out = work->out;
    const int64_t size = call->parts->size, items = size * BLOCKS;
    KD_TRY(KD_RESERVE(out->begins, (uint64_t)size + 1));
    parallel_for(items, 1, choose_parts, work);
    const uint64_t all = scan_exclusive_u64(work->places, work->places, (uint64_t)items);
    for (int64_t part = 0; part < size; ++part) out->begins[part] = work->places[part * BLOCKS];
    out->begins[size] = all;
    KD_TRY(KD_RESERVE(out->indices, all));
    KD_TRY(memory_reserve(&out->scalars, all * parts_question_width(call),
                          point_scalar_bytes(call->parts->scalar)));
    work->fills = true;
    parallel_for(items, 1, choose_parts, work);
    return KD_OK;
}

static kd_status choose(part_requests *out, const parts_call *call, const int32_t *homes,
                        const merge_runs *home_runs) {
    choosing work = {call, homes, home_runs, out, NULL, false};
    memset(out, 0, sizeof *out);
    KD_TRY(KD_RESERVE_ZEROED(work.places, (uint64_t)call->parts->size * BLOCKS));
    const kd_status status = choose_all(&work);
    memory_free(work.places);
    return status;
}

/* --- a chunk of queries --------------------------------------------------------------------- */

/* Selects the next queries whose results fit into a chunk; at least one. */
static void next_chunk(parts_call *call) {
    const uint64_t count = call->query.points.count;
    call->begin = call->end;
    if (call->kind == POINTS_NEAREST) {
        const uint64_t fit = CHUNK_ANSWERS / (uint64_t)call->k, left = count - call->begin;
        call->end = call->begin + (fit < 1 && left ? 1 : fit < left ? fit : left);
        return;
    }
    for (uint64_t answers = 0; call->end < count && call->end - call->begin < CHUNK_ANSWERS;) {
        const uint64_t row = parts_row(call, call->end);
        if (call->kind == POINTS_FILL)
            answers += call->out.offsets[row + 1] - call->out.offsets[row];
        if (answers > CHUNK_ANSWERS && call->end > call->begin) break;
        ++call->end;
    }
}

typedef struct chunk {
    part_requests queries_buffer[2];
    merge_runs home_runs, all;
    int32_t *homes;
} chunk;

typedef struct homing {
    const parts_call *call;
    int32_t *homes;
} homing;

static void find_piece(void *context, int64_t begin, int64_t end, int thread) {
    const homing *work = (const homing *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i)
        work->homes[i] = home_of(work->call, work->call->begin + (uint64_t)i);
}

static kd_status find_homes(chunk *at, const parts_call *call) {
    KD_TRY(KD_RESERVE(at->homes, call->end - call->begin));
    homing work = {call, at->homes};
    parallel_for((int64_t)(call->end - call->begin), 4096, find_piece, &work);
    return choose(&at->queries_buffer[0], call, at->homes, NULL);
}

/* Second round: searches the other parts, within the distances found at the homes. */
static kd_status query_other_ranks(parts_call *call, chunk *at, kd_status status) {
    if (status == KD_OK)
        status = merge_runs_open(&at->home_runs, at->queries_buffer, 1, call->parts->size,
                                 call->end - call->begin);
    if (status == KD_OK) status = choose(&at->queries_buffer[1], call, at->homes, &at->home_runs);
    return parts_query(call, &at->queries_buffer[1], status);
}

static kd_status answer_chunk(parts_call *call, chunk *at, kd_status status) {
    const bool nearest = call->kind == POINTS_NEAREST;
    if (status == KD_OK)
        status = nearest ? find_homes(at, call) : choose(&at->queries_buffer[0], call, NULL, NULL);
    KD_TRY(parts_query(call, &at->queries_buffer[0], status));
    if (nearest) KD_TRY(query_other_ranks(call, at, KD_OK));
    kd_status merged = merge_runs_open(&at->all, at->queries_buffer, nearest ? 2 : 1,
                                       call->parts->size, call->end - call->begin);
    if (merged == KD_OK) merge_rows(call, &at->all);
    if (merged == KD_OK && at->all.misfit)
        merged = status_fail(
            KD_ERROR_USAGE, __FILE__, __LINE__,
            "`offsets` do not match the results; pass those of the count call with the same query");
    return merged;
}

kd_status parts_answer(parts_call *call, kd_status local_status) {
    kd_status status = local_status;
    if (local_status != KD_OK)
        call->query.points.count = 0; /* the arguments may be invalid: do not read
                                         them */
    call->end = 0;
    do {
        chunk at;
        memset(&at, 0, sizeof at);
        next_chunk(call);
        status = answer_chunk(call, &at, status);
        part_requests_close(&at.queries_buffer[0]);
        part_requests_close(&at.queries_buffer[1]);
        merge_runs_close(&at.home_runs);
        merge_runs_close(&at.all);
        memory_free(at.homes);
        status = ranks_agree(call->comm, status);
    } while (status == KD_OK && call->more);
    return status;
}
