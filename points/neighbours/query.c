/* Batches of queries on the CPU.
   Idea: neighbouring queries visit the same nodes, so queries are processed in the order of a
         Morton curve through the tree's bounding box; results are written in the caller's order.
   Work: a radix sort of 8 bytes per query, in addition to the queries themselves. */
#include "points/neighbours/query.h"
#include "core/math/bits.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"
#include "points/tree/walk_nd.h"
#include <stdatomic.h>

/* 64-bit words on the stack for the results of a query, before allocating */
enum { QUERY_GRAIN = 256, SCRATCH_ON_STACK = 1536 };

typedef struct query_work {
    const point_target *target;
    const point_queries *queries;
    uint64_t *order; /* code << 32 | query; NULL: the caller's order */
    uint32_t k;
    point_rows rows;         /* nearest: k per query; within: from `offsets` on */
    const uint64_t *offsets; /* NULL: nearest */
    uint64_t *counts;        /* output if only counts are requested; or NULL */
    /* self-query, in tree order; or NULL */
    const point_self_query *self_query;
    const point_visitor *visitor; /* called instead of filling rows; or NULL */
    uint32_t targets;             /* number of trees, for a visitor */
    _Atomic uint64_t unmet_bytes; /* size of a failed allocation */
    /* number of rows whose offsets do not match the number of results */
    _Atomic uint64_t mismatched;
} query_work;

static uint32_t morton_code(const pointtree_nd_view *tree, const void *query) {
    const uint32_t bits = 30 / tree->dims;
    uint32_t cells[POINT_DIMS_MAX], code = 0;
    double maximum = 0;
    for (uint32_t axis = 0; axis < tree->dims; ++axis) {
        const double side = tree->box.hi[axis] - tree->box.lo[axis];
        if (side > maximum) maximum = side;
    }
    const double last = (double)((1u << bits) - 1), scale = maximum > 0 ? (last + 1) / maximum : 0;
    for (uint32_t axis = 0; axis < tree->dims; ++axis) {
        const double x = (point_coordinate(query, tree->scalar, axis) - tree->box.lo[axis]) * scale;
        cells[axis] = (uint32_t)(x > 0 ? x < last ? x : last : 0);
    }
    for (uint32_t bit = bits; bit-- > 0;)
        for (uint32_t axis = 0; axis < tree->dims; ++axis)
            code = code << 1 | (cells[axis] >> bit & 1);
    return code;
}

static void code_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const query_work *work = (const query_work *)context;
    const point_array *points = &work->queries->points;
    const pointtree_nd_view *tree = &work->target->tree;
    for (int64_t i = begin; i < end && points->dims != 3; ++i) {
        const uint32_t code = morton_code(tree, point_array_at(points, (uint64_t)i));
        work->order[i] = (uint64_t)code << 32 | (uint64_t)i;
    }
    if (points->dims != 3) return;
    const double *lo = tree->box.lo, *hi = tree->box.hi;
    const double widest = fmax(hi[0] - lo[0], fmax(hi[1] - lo[1], hi[2] - lo[2]));
    const double fine = widest > 0 && 1024 / widest <= DBL_MAX ? 1024 / widest : 0;
    for (int64_t i = begin; i < end; ++i) {
        const void *query = point_array_at(points, (uint64_t)i);
        const double at[3] = {point_coordinate(query, points->scalar, 0),
                              point_coordinate(query, points->scalar, 1),
                              point_coordinate(query, points->scalar, 2)};
        work->order[i] = (uint64_t)morton_code3(lo, fine, at) << 32 | (uint64_t)i;
    }
}

uint64_t point_query_scratch_bytes(const point_queries *queries) {
    if (!queries->sort) return 0;
    assert(queries->points.count <= UINT32_MAX);
    const uint64_t items = (queries->points.count * sizeof(uint64_t) + 63) / 64 * 64;
    return items + radix_sort_scratch_bytes(queries->points.count);
}

static void order_queries(query_work *work, void *scratch) {
    const uint64_t count = work->queries->points.count;
    if (!work->queries->sort || work->target->tree.count == 0) return;
    work->order = (uint64_t *)scratch;
    void *rest = (char *)scratch + (count * sizeof(uint64_t) + 63) / 64 * 64;
    parallel_for((int64_t)count, 1 << 14, code_piece, work);
    radix_sort(work->order, count, 32, 62, rest);
}

static double query_bound2(const query_work *work, uint64_t i) {
    const point_queries *queries = work->queries;
    const point_scalar scalar = queries->points.scalar;
    double radius = queries->max_radius;
    if (queries->radii) {
        const double query_radius = scalar == POINT_DOUBLE
                                        ? ((const double *)queries->radii)[i]
                                        : (double)((const float *)queries->radii)[i];
        if (query_radius < radius) radius = query_radius;
    }
    const point_norm norm = queries->metric ? queries->metric->norm : POINT_NORM_2;
    const double bound2 = metric_bound(scalar, norm, radius);
    if (!queries->bounds2) return bound2;
    const double previous_bound2 = scalar == POINT_DOUBLE
                                       ? ((const double *)queries->bounds2)[i]
                                       : (double)((const float *)queries->bounds2)[i];
    return previous_bound2 < bound2 ? previous_bound2 : bound2;
}

static void put_answer(const query_work *work, uint64_t at, uint32_t id, double dist2) {
    const uint32_t *renamed = work->target->renamed;
    if (work->rows.ids) work->rows.ids[at] = renamed && id != KD_NONE ? renamed[id] : id;
    if (!work->rows.dist2) return;
    if (work->queries->points.scalar == POINT_DOUBLE)
        ((double *)work->rows.dist2)[at] = dist2;
    else
        ((float *)work->rows.dist2)[at] = (float)dist2;
}

/* One query: its position (`place`), its index in the array (`at`), the row of its results, and the
   number of extra results to find because its own point is excluded. */
typedef struct query_row_request {
    const void *place;
    uint64_t at, row;
    uint32_t skipped; /* id to exclude; KD_NONE: none */
    uint32_t more;    /* 1 if a point is excluded, else 0 */
} query_row_request;

/* Returns whether results are found as keys of leaf_index.h instead of neighbour_nd. */
static bool finds_keys(const point_target *target) {
    return target->index && target->index->scalar == POINT_FLOAT;
}

/* Finds the `slots` nearest points within the bound; or, if `within`, all points within it, of
   which it stores only the first `slots`. Returns the number found. `scratch` is the buffer for
   the results. */
static uint32_t find(const query_work *work, const void *query, double bound2, bool within,
                     uint32_t slots, void *scratch, uint32_t *near) {
    const point_metric *metric = work->queries->metric;
    const pointtree_nd_view *tree = &work->target->tree;
    const leafindex *index = work->target->index;
    const double *wide = (const double *)query;
    neighbour_nd *out = (neighbour_nd *)scratch;
    if (finds_keys(work->target)) {
        const float *at = (const float *)query;
        uint64_t *keys = (uint64_t *)scratch;
        return within ? leafindex_within_keys(index, metric, at, (float)bound2, slots, keys)
                      : leafindex_nearest_keys(index, metric, at, slots, (float)bound2, keys, near);
    }
    if (index)
        return within ? leafindex_within_doubles(index, metric, wide, bound2, slots, out)
                      : leafindex_nearest_doubles(index, metric, wide, slots, bound2, out, near);
    return within ? pointtree_nd_within(tree, metric, query, bound2, slots, out)
                  : pointtree_nd_nearest_k(tree, metric, query, slots, bound2, out);
}

/* Sorts the results and removes the excluded id; returns their number. */
static uint32_t put_in_order(const query_work *work, const query_row_request *query, void *scratch,
                             uint32_t count) {
    uint64_t *keys = (uint64_t *)scratch;
    neighbour_nd *list = (neighbour_nd *)scratch;
    const bool are_keys = finds_keys(work->target);
    if (work->offsets && are_keys) leaf_keys_sort(keys, count);
    if (work->offsets && !are_keys) neighbour_nd_sort(list, count);
    if (!query->more) return count;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; ++i) {
        if ((are_keys ? leaf_key_id(keys[i]) : list[i].id) == query->skipped) continue;
        if (are_keys)
            keys[kept++] = keys[i];
        else
            list[kept++] = list[i];
    }
    return !work->offsets && kept > work->k ? work->k : kept;
}

/* Stores keys, each output array in a loop of its own so that NULL arrays cost nothing. */
static void put_keys(const query_work *work, uint64_t at, const uint64_t *keys, uint32_t count) {
    const uint32_t *renamed = work->target->renamed;
    uint32_t *ids = work->rows.ids;
    float *dist2 = (float *)work->rows.dist2;
    for (uint32_t j = 0; ids && j < count; ++j) ids[at + j] = leaf_key_id(keys[j]);
    for (uint32_t j = 0; ids && renamed && j < count; ++j) ids[at + j] = renamed[ids[at + j]];
    for (uint32_t j = 0; dist2 && j < count; ++j) dist2[at + j] = leaf_key_dist2(keys[j]);
}

/* Stores results of doubles, or of a walk, likewise. */
static void put_list(const query_work *work, uint64_t at, const neighbour_nd *list,
                     uint32_t count) {
    const uint32_t *renamed = work->target->renamed;
    uint32_t *ids = work->rows.ids;
    const bool is_double = work->queries->points.scalar == POINT_DOUBLE;
    double *wide = is_double ? (double *)work->rows.dist2 : NULL;
    float *dist2 = is_double ? NULL : (float *)work->rows.dist2;
    for (uint32_t j = 0; ids && j < count; ++j) ids[at + j] = list[j].id;
    for (uint32_t j = 0; ids && renamed && j < count; ++j) ids[at + j] = renamed[ids[at + j]];
    for (uint32_t j = 0; wide && j < count; ++j) wide[at + j] = list[j].dist2;
    for (uint32_t j = 0; dist2 && j < count; ++j) dist2[at + j] = (float)list[j].dist2;
}

/* Finds and stores the results of one query. Returns KD_NONE if the offsets do not match their
   number. */
static uint32_t find_row(const query_work *work, const query_row_request *query, void *scratch,
                         uint32_t *near) {
    const double bound2 = query_bound2(work, query->at);
    const uint64_t i = query->row;
    const bool within = work->counts || work->offsets;
    uint64_t at = i * work->k;
    uint32_t slots = work->counts ? 0 : work->k + query->more;
    if (work->offsets) {
        at = work->offsets[i];
        if (work->offsets[i + 1] - at > work->target->tree.count) return KD_NONE;
        slots = (uint32_t)(work->offsets[i + 1] - at) + query->more;
    }
    uint32_t count = find(work, query->place, bound2, within, slots, scratch, near);
    if (work->counts) return count - query->more;
    if (work->offsets && count != slots) return KD_NONE;
    if (work->offsets || query->more) count = put_in_order(work, query, scratch, count);
    if (finds_keys(work->target)) {
        put_keys(work, at, (const uint64_t *)scratch, count);
        return count;
    }
    put_list(work, at, (const neighbour_nd *)scratch, count);
    return count;
}

/* Returns the bytes of memory that the results of a query need. */
static uint64_t scratch_bytes(const query_work *work, const query_row_request *query) {
    if (work->counts) return 0;
    const uint64_t count = work->target->tree.count, i = query->row;
    const uint64_t slots =
        (work->offsets ? work->offsets[i + 1] - work->offsets[i] : work->k) + query->more;
    const uint64_t answers = slots < count ? slots : count;
    return finds_keys(work->target)
               ? (work->offsets ? answers : leafindex_capacity((uint32_t)answers)) *
                     sizeof(uint64_t)
               : answers * sizeof(neighbour_nd);
}

/* Buffer for the results of one query: on the stack, or allocated when it grows. */
typedef struct query_scratch {
    uint64_t on_stack[SCRATCH_ON_STACK], bytes;
    void *at, *owned;
    uint32_t near;          /* search hint: where the previous query started */
    query_row_request last; /* the previous query; row UINT64_MAX: none */
} query_scratch;

static void scratch_open(query_scratch *scratch) {
    scratch->bytes = sizeof scratch->on_stack;
    scratch->at = scratch->on_stack;
    scratch->owned = NULL;
    scratch->near = 0;
    scratch->last.row = UINT64_MAX;
}

static bool scratch_grow(query_scratch *scratch, query_work *work, uint64_t needed) {
    if (needed <= scratch->bytes) return true;
    memory_free(scratch->owned);
    if (memory_reserve(&scratch->owned, needed, 1) != KD_OK) {
        atomic_store(&work->unmet_bytes, needed);
        scratch->owned = NULL;
        return false;
    }
    scratch->at = scratch->owned;
    scratch->bytes = needed;
    return true;
}

static bool same_place(const point_array *points, uint64_t a, uint64_t b) {
    const void *x = point_array_at(points, a), *y = point_array_at(points, b);
    const uint64_t bytes = points->dims * point_scalar_bytes(points->scalar);
    const uint32_t *first = (const uint32_t *)x, *second = (const uint32_t *)y; /* mostly unequal */
    return first[0] == second[0] && memcmp(x, y, bytes) == 0;
}

/* If the previous query in processing order is at the same position, copies its row of nearest
   points. This is frequent for queries on a grid. */
static bool answer_again(query_work *work, const query_row_request *query, query_scratch *scratch) {
    const point_array *points = &work->queries->points;
    if (work->counts || work->offsets || work->self_query || query->more || work->queries->radii ||
        work->queries->bounds2)
        return false;
    const query_row_request last = scratch->last;
    const bool again = last.row != UINT64_MAX && same_place(points, query->at, last.at);
    scratch->last = *query;
    if (!again) return false;
    const uint64_t scalar_bytes = point_scalar_bytes(points->scalar);
    const uint64_t from = last.row * work->k, to = query->row * work->k;
    char *dist2 = (char *)work->rows.dist2;
    if (work->rows.ids)
        memcpy(work->rows.ids + to, work->rows.ids + from, work->k * sizeof *work->rows.ids);
    if (dist2)
        memcpy(dist2 + to * scalar_bytes, dist2 + from * scalar_bytes, work->k * scalar_bytes);
    if (work->rows.counts) work->rows.counts[query->row] = work->rows.counts[last.row];
    return true;
}

/* Processes one query; returns false if memory is exhausted. */
static bool answer(query_work *work, const query_row_request *query, query_scratch *scratch) {
    if (answer_again(work, query, scratch)) return true;
    if (!scratch_grow(scratch, work, scratch_bytes(work, query))) return false;
    const uint32_t count = find_row(work, query, scratch->at, &scratch->near);
    if (count == KD_NONE) atomic_fetch_add(&work->mismatched, 1);
    if (work->counts) work->counts[query->row] = count;
    if (work->counts || work->offsets) return true;
    for (uint32_t missing = count; missing < work->k; ++missing)
        put_answer(work, query->row * work->k + missing, KD_NONE, (double)INFINITY);
    if (work->rows.counts) work->rows.counts[query->row] = count;
    return true;
}

/* Calls the visitor for the points of one query. */
static void report(const query_work *work, uint64_t i) {
    const void *query = point_array_at(&work->queries->points, i);
    point_visitor to = *work->visitor;
    to.query = i;
    to.bound = query_bound2(work, i);
    for (uint32_t t = 0; t < work->targets && to.bound >= 0; ++t) {
        const point_target *target = &work->target[t];
        to.renamed = target->renamed;
        if (target->index)
            leafindex_report(target->index, work->queries->metric, query, &to);
        else
            pointtree_report(&target->tree, work->queries->metric, query, &to);
    }
}

static void report_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const query_work *work = (const query_work *)context;
    for (int64_t j = begin; j < end; ++j)
        report(work, work->order ? (uint32_t)work->order[j] : (uint64_t)j);
}

static void answer_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    query_work *work = (query_work *)context;
    query_scratch scratch;
    scratch_open(&scratch);
    for (int64_t j = begin; j < end; ++j) {
        const uint64_t i = work->order ? (uint32_t)work->order[j] : (uint64_t)j;
        const query_row_request query = {point_array_at(&work->queries->points, i), i, i, KD_NONE,
                                         0};
        if (!answer(work, &query, &scratch)) break;
    }
    memory_free(scratch.owned);
}

/* Returns the id of the i-th point of a bucket, which belongs to a tree node, and its position;
 *copied holds the position if only the buckets store it. */
static uint32_t self_point(const point_target *target, const leaf_points *leaf, uint32_t i,
                           uint32_t node, float copied[3], const void **place) {
    const pointtree_nd_view *tree = &target->tree;
    if (tree->coordinates) {
        *place = (const char *)tree->coordinates +
                 (uint64_t)node * tree->dims * point_scalar_bytes(tree->scalar);
        return tree->ids[node];
    }
    for (int axis = 0; axis < 3; ++axis)
        copied[axis] = ((const float *)leaf->at)[axis * leaf->places + (int)i];
    *place = copied;
    return leaf->id[i];
}

/* Self-query of the points of some buckets. */
static void answer_buckets(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    query_work *work = (query_work *)context;
    const point_target *target = work->target;
    const uint32_t *renamed = target->renamed;
    const leaf_shape shape = leaf_shape_of(target->tree.count);
    query_scratch scratch;
    scratch_open(&scratch);
    bool goes_on = true;
    for (uint32_t s = (uint32_t)begin; goes_on && s < (uint32_t)end; ++s) {
        uint32_t nodes[LEAF_POINTS];
        leaf_points leaf = {NULL, NULL, 0};
        const uint32_t filled = leaf_members(&shape, s, nodes);
        if (!target->tree.coordinates) leaf = leafindex_bucket(target->index, s);
        scratch.near = s / LEAF_GROUP;
        for (uint32_t i = 0; goes_on && i < filled; ++i) {
            float copied[3];
            const void *place;
            const uint32_t node = nodes[i], *order = work->self_query->order;
            const uint32_t id = self_point(target, &leaf, i, node, copied, &place);
            const query_row_request query = {place, node, order ? node : id,
                                             work->self_query->skips ? id : KD_NONE,
                                             work->self_query->skips};
            if (order) work->self_query->order[node] = renamed ? renamed[id] : id;
            goes_on = answer(work, &query, &scratch);
        }
    }
    memory_free(scratch.owned);
}

static kd_status answer_all(query_work *work, void *scratch) {
    order_queries(work, scratch);
    if (work->self_query)
        KD_TRY(parallel_for_stage("query", leaf_shape_of(work->target->tree.count).leaf_count,
                                  QUERY_GRAIN / LEAF_POINTS, answer_buckets, work));
    else
        KD_TRY(parallel_for_stage("query", (int64_t)work->queries->points.count, QUERY_GRAIN,
                                  work->visitor ? report_piece : answer_piece, work));
    const uint64_t unmet = atomic_load(&work->unmet_bytes);
    KD_REQUIRE(unmet == 0, KD_ERROR_MEMORY,
               "out of memory: the results of one query need %llu bytes",
               (unsigned long long)unmet);
    const uint64_t mismatched = atomic_load(&work->mismatched);
    KD_REQUIRE(mismatched == 0, KD_ERROR_USAGE,
               "`offsets` do not match the results of %llu queries; pass those of the count call "
               "with the same query",
               (unsigned long long)mismatched);
    return KD_OK;
}

kd_status point_query_nearest(const point_target *target, const point_queries *queries, uint32_t k,
                              const point_rows *out, void *scratch) {
    query_work work = {.target = target, .queries = queries, .k = k, .rows = *out};
    return answer_all(&work, scratch);
}

kd_status point_query_count_within(const point_target *target, const point_queries *queries,
                                   uint64_t *offsets, void *scratch) {
    query_work work = {.target = target, .queries = queries, .counts = offsets};
    KD_TRY(answer_all(&work, scratch));
    const uint64_t count = queries->points.count;
    offsets[count] = scan_exclusive_u64(offsets, offsets, count);
    return KD_OK;
}

kd_status point_query_within(const point_target *target, const point_queries *queries,
                             const uint64_t *offsets, uint32_t *ids, void *dist2, void *scratch) {
    const point_rows rows = {ids, dist2, NULL};
    query_work work = {.target = target, .queries = queries, .rows = rows, .offsets = offsets};
    return answer_all(&work, scratch);
}

kd_status point_query_visit(const point_target *targets, uint32_t count,
                            const point_queries *queries, const point_visitor *visitor,
                            void *scratch) {
    query_work work = {.target = targets, .queries = queries, .visitor = visitor, .targets = count};
    return answer_all(&work, scratch);
}

/* --- self-queries --------------------------------------------------------------------------- */

/* The tree's points as queries, in node order. */
static point_queries own_queries(const point_target *target, const point_self_query *self_query) {
    const pointtree_nd_view *tree = &target->tree;
    const point_array points =
        point_array_make(tree->coordinates, tree->count, tree->dims, tree->scalar);
    const point_queries queries = {points, NULL,  self_query->max_radius,
                                   NULL,   false, self_query->metric};
    return queries;
}

kd_status point_self_nearest(const point_target *target, const point_self_query *self_query,
                             uint32_t k, const point_rows *out) {
    const point_queries queries = own_queries(target, self_query);
    query_work work = {
        .target = target, .queries = &queries, .k = k, .rows = *out, .self_query = self_query};
    return answer_all(&work, NULL);
}

kd_status point_self_count_within(const point_target *target, const point_self_query *self_query,
                                  uint64_t *offsets) {
    const point_queries queries = own_queries(target, self_query);
    query_work work = {
        .target = target, .queries = &queries, .counts = offsets, .self_query = self_query};
    KD_TRY(answer_all(&work, NULL));
    const uint64_t count = target->tree.count;
    offsets[count] = scan_exclusive_u64(offsets, offsets, count);
    return KD_OK;
}

kd_status point_self_within(const point_target *target, const point_self_query *self_query,
                            const uint64_t *offsets, uint32_t *ids, void *dist2) {
    const point_rows rows = {ids, dist2, NULL};
    const point_queries queries = own_queries(target, self_query);
    query_work work = {.target = target,
                       .queries = &queries,
                       .rows = rows,
                       .offsets = offsets,
                       .self_query = self_query};
    return answer_all(&work, NULL);
}
