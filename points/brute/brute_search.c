/* Batches of queries: blocks of queries, on all cores. Where there are few blocks the points are
   divided into chunks, too, whose results are merged. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"
#include "points/brute/brute.h"
#include <stdatomic.h>

enum {
    BLOCK_BYTES = 1 << 17,
    BLOCK_RESULTS = 1 << 21,
    BLOCK_VISITS = 1 << 24,
    CHUNK_TILES_MIN = 32,
    BOX_GRAIN = 4
};

typedef struct search_work {
    const brute_points *points;
    const brute_request *request;
    uint64_t queries, tiles;
    uint32_t k, each, chunks; /* queries of a block; parts of the points */
    brute_row *rows;          /* `chunks` rows per query, or NULL if there is one chunk */
    _Atomic uint64_t mismatched;
    atomic_bool exhausted;
} search_work;

static void row_open(search_work *work, brute_row *row, uint64_t query, const void *at) {
    const brute_request *request = work->request;
    const point_scalar scalar = work->points->scalar;
    memset(row, 0, sizeof *row);
    row->at = at;
    row->self = request->self && request->skips ? (uint32_t)query : KD_NONE;
    row->bound = metric_bound(scalar, request->norm, request->max_radius);
    if (request->radii) {
        const double radius = point_coordinate(request->radii, scalar, (uint32_t)query);
        row->bound = fmin(row->bound, metric_bound(scalar, request->norm, radius));
    }
    if (request->kind != BRUTE_NEAREST) return;
    row->capacity = work->k;
    if (KD_RESERVE(row->list, work->k) != KD_OK) atomic_store(&work->exhausted, true);
}

static uint32_t name_of(const brute_request *request, uint32_t id) {
    return request->renamed && id != KD_NONE ? request->renamed[id] : id;
}

static void write_neighbour(const search_work *work, uint64_t to, neighbour_nd item) {
    const brute_request *request = work->request;
    if (request->ids) request->ids[to] = name_of(request, item.id);
    if (request->dist2 && work->points->scalar == POINT_DOUBLE)
        ((double *)request->dist2)[to] = item.dist2;
    else if (request->dist2)
        ((float *)request->dist2)[to] = (float)item.dist2;
}

static void row_finish(search_work *work, brute_row *row, uint64_t query) {
    const brute_request *request = work->request;
    const uint64_t k = request->k;
    if (request->order) request->order[query] = name_of(request, (uint32_t)query);
    if (request->kind == BRUTE_COUNT) request->offsets[query] = row->count;
    if (request->kind == BRUTE_COUNT) return;
    if (request->kind == BRUTE_VISIT) { /* the results of a query one after the other */
        point_visitor visits = *request->visitor;
        visits.query = query;
        visits.renamed = request->renamed;
        visits.bound = row->bound;
        for (uint64_t i = 0; i < row->count; ++i)
            point_visitor_call(&visits, row->list[i].id, row->list[i].dist2);
        return;
    }
    if (request->kind == BRUTE_FILL) {
        const uint64_t begin = request->offsets[query];
        if (request->offsets[query + 1] - begin != row->count) {
            atomic_fetch_add(&work->mismatched, 1);
            return;
        }
        neighbour_nd_sort(row->list, (uint32_t)row->count);
        for (uint64_t i = 0; i < row->count; ++i) write_neighbour(work, begin + i, row->list[i]);
        return;
    }
    neighbour_nd_finish(row->list, (uint32_t)row->count, work->k);
    for (uint64_t i = 0; i < k; ++i) {
        const neighbour_nd none = {(double)INFINITY, KD_NONE, 0};
        write_neighbour(work, query * k + i, i < row->count ? row->list[i] : none);
    }
    if (request->counts) request->counts[query] = (uint32_t)row->count;
}

/* Copies a point of the set, which is a query. */
static void *point_copy(const brute_points *points, uint64_t i, char *to) {
    for (uint32_t axis = 0; axis < points->dims; ++axis)
        if (points->scalar == POINT_DOUBLE)
            ((double *)(void *)to)[axis] = brute_coordinate(points, (uint32_t)i, axis);
        else
            ((float *)(void *)to)[axis] = (float)brute_coordinate(points, (uint32_t)i, axis);
    return to;
}

/* One block of queries and one chunk of the points. */
static void search_item(search_work *work, uint64_t item, char *scratch) {
    const brute_points *points = work->points;
    const brute_request *request = work->request;
    const uint64_t first = item / work->chunks * work->each, chunk = item % work->chunks;
    const uint64_t left = work->queries - first,
                   bytes = points->dims * point_scalar_bytes(points->scalar);
    brute_row *rows = work->rows ? work->rows + chunk * work->queries + first : NULL;
    brute_block block = {.points = points,
                         .rows = rows ? rows : (brute_row *)(void *)scratch,
                         .count = (uint32_t)(left < work->each ? left : work->each),
                         .k = work->k,
                         .kind = request->kind,
                         .norm = request->norm};
    scratch += work->each * sizeof *rows;
    block.rough = (float *)(void *)scratch;
    scratch += (uint64_t)work->each * points->dims * sizeof(float);
    for (uint32_t q = 0; q < block.count; ++q, scratch += request->self ? bytes : 0)
        row_open(work, &block.rows[q], first + q,
                 request->self ? point_copy(points, first + q, scratch)
                               : point_array_at(&request->queries, first + q));
    if (!atomic_load(&work->exhausted)) {
        brute_prepare(&block);
        brute_scan(&block, work->tiles * chunk / work->chunks,
                   work->tiles * (chunk + 1) / work->chunks);
        if (block.exhausted) atomic_store(&work->exhausted, true);
    }
    for (uint32_t q = 0; !rows && q < block.count; ++q) {
        if (!atomic_load(&work->exhausted)) row_finish(work, &block.rows[q], first + q);
        memory_free(block.rows[q].list);
    }
}

static void search_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    search_work *work = (search_work *)context;
    const uint64_t a_query =
        sizeof(brute_row) +
        work->points->dims * (sizeof(float) + point_scalar_bytes(work->points->scalar));
    char *scratch = (char *)memory_try_allocate(work->each * a_query);
    if (!scratch) atomic_store(&work->exhausted, true);
    for (int64_t item = begin; scratch && item < end; ++item)
        search_item(work, (uint64_t)item, scratch);
    memory_free(scratch);
}

/* Merges the rows of all chunks into that of the first one. */
static void merge_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    search_work *work = (search_work *)context;
    const brute_kind kind = work->request->kind;
    for (uint64_t query = (uint64_t)begin; query < (uint64_t)end; ++query) {
        brute_row *row = &work->rows[query];
        for (uint32_t c = 1; c < work->chunks; ++c) {
            const brute_row *more = &work->rows[c * work->queries + query];
            const uint64_t total = row->count + more->count;
            if (kind == BRUTE_FILL && KD_GROW(row->list, row->count, total) != KD_OK) {
                atomic_store(&work->exhausted, true);
                return;
            }
            if (kind == BRUTE_FILL && more->count)
                memcpy(row->list + row->count, more->list, more->count * sizeof *more->list);
            uint32_t count = (uint32_t)row->count;
            for (uint64_t i = 0; kind == BRUTE_NEAREST && i < more->count; ++i)
                row->bound =
                    neighbour_nd_offer(row->list, &count, work->k, more->list[i], row->bound);
            row->count = kind == BRUTE_NEAREST ? count : total;
        }
        row_finish(work, row, query);
    }
}

static uint32_t clamp(uint64_t x, uint32_t low, uint32_t high) {
    return x < low ? low : x > high ? high : (uint32_t)x;
}

/* Chooses the sizes of blocks and chunks. */
static void plan(search_work *work) {
    const uint64_t threads = (uint64_t)parallel_threads();
    const uint32_t fit =
        clamp(BLOCK_BYTES / (work->points->dims * sizeof(float)), BRUTE_GROUP, BRUTE_QUERIES);
    uint32_t each = fit; /* so many that the results fit into memory */
    if (work->request->kind == BRUTE_NEAREST)
        each = clamp(BLOCK_RESULTS / (work->k + 1ull), BRUTE_GROUP, fit);
    if (work->request->kind == BRUTE_VISIT)
        each = clamp(BLOCK_VISITS / (work->points->count + 1ull), BRUTE_GROUP, fit);
    each = clamp(work->queries / (2 * threads) + 1, BRUTE_GROUP, each);
    work->each = (each + BRUTE_GROUP - 1) / BRUTE_GROUP * BRUTE_GROUP;
    const uint64_t blocks = (work->queries + work->each - 1) / work->each;
    work->chunks = 1;
    if (work->request->kind == BRUTE_VISIT || threads == 1 || blocks == 0 || blocks >= 2 * threads)
        return;
    work->chunks = clamp(work->tiles / CHUNK_TILES_MIN, 1, (uint32_t)(2 * threads / blocks + 1));
}

kd_status brute_search(const brute_points *points, const brute_request *request) {
    search_work work = {.points = points, .request = request};
    work.queries = request->self ? points->count : request->queries.count;
    work.tiles = ((uint64_t)points->count + BRUTE_LANES - 1) / BRUTE_LANES;
    work.k = request->k < points->count ? request->k : points->count;
    if (work.k == 0) work.k = 1;
    if (!request->self) KD_TRY(brute_check(&request->queries));
    plan(&work);
    if (work.chunks > 1) KD_TRY(KD_RESERVE_ZEROED(work.rows, work.queries * work.chunks));
    const uint64_t blocks = (work.queries + work.each - 1) / work.each;
    const kd_status status =
        parallel_for_stage("query", (int64_t)(blocks * work.chunks), 1, search_piece, &work);
    if (work.rows && status == KD_OK && !atomic_load(&work.exhausted))
        parallel_for((int64_t)work.queries, BRUTE_GROUP, merge_piece, &work);
    for (uint64_t i = 0; work.rows && i < work.queries * work.chunks; ++i)
        memory_free(work.rows[i].list);
    memory_free(work.rows);
    KD_TRY(status);
    KD_REQUIRE(!atomic_load(&work.exhausted), KD_ERROR_MEMORY,
               "out of memory for the results of %llu queries", (unsigned long long)work.queries);
    const uint64_t mismatched = atomic_load(&work.mismatched);
    KD_REQUIRE(mismatched == 0, KD_ERROR_USAGE,
               "`offsets` do not match the results of %llu queries; pass those of the count call "
               "with the same queries",
               (unsigned long long)mismatched);
    uint64_t *sums = request->offsets;
    if (request->kind == BRUTE_COUNT)
        sums[work.queries] = scan_exclusive_u64(sums, sums, work.queries);
    return KD_OK;
}

/* --- boxes ---------------------------------------------------------------------------------- */

typedef struct box_work {
    const brute_points *points;
    const brute_request *request;
    const point_array *lo, *hi;
    _Atomic uint64_t mismatched;
} box_work;

static bool box_contains(const box_work *work, uint64_t box, uint32_t i) {
    for (uint32_t axis = 0; axis < work->points->dims; ++axis) {
        const double x = brute_coordinate(work->points, i, axis);
        if (!(point_array_coordinate(work->lo, box, axis) <= x &&
              x <= point_array_coordinate(work->hi, box, axis)))
            return false;
    }
    return true;
}

static void box_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    box_work *work = (box_work *)context;
    const brute_request *request = work->request;
    const bool fills = request->kind == BRUTE_FILL;
    for (uint64_t box = (uint64_t)begin; box < (uint64_t)end; ++box) {
        const uint64_t at = fills ? request->offsets[box] : 0;
        const uint64_t capacity = fills ? request->offsets[box + 1] - at : 0;
        uint64_t found = 0;
        for (uint32_t i = 0; i < work->points->count; ++i) {
            if (!box_contains(work, box, i)) continue;
            if (found < capacity && request->ids) request->ids[at + found] = name_of(request, i);
            ++found;
        }
        if (!fills)
            request->offsets[box] = found;
        else if (found != capacity)
            atomic_fetch_add(&work->mismatched, 1);
    }
}

kd_status brute_boxes(const brute_points *points, const brute_request *request,
                      const point_array *lo, const point_array *hi) {
    box_work work = {points, request, lo, hi, 0};
    KD_TRY(parallel_for_stage("query", (int64_t)lo->count, BOX_GRAIN, box_piece, &work));
    const uint64_t mismatched = atomic_load(&work.mismatched);
    KD_REQUIRE(mismatched == 0, KD_ERROR_USAGE,
               "`offsets` do not match the results of %llu boxes; pass those of the count call "
               "with the same boxes",
               (unsigned long long)mismatched);
    uint64_t *sums = request->offsets;
    if (request->kind == BRUTE_COUNT) sums[lo->count] = scan_exclusive_u64(sums, sums, lo->count);
    return KD_OK;
}
