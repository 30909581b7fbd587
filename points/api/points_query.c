/* The queries of <kandela/points.h>: what a caller asks, checked, becomes a point_query. */
#include "core/device/caller_memory.h"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include "core/names.h"
#include "core/sized.h"
#include "points/api/changes.h"
#include "points/api/points_device.h"
#include "points/api/points_parts.h"
#include "points/neighbours/query.h"
#include "points/parts/call.h"
#include "points/parts/host_arrays.h"
#include "points/tree/bounds.h"
#include <stdio.h>

/* Sorting pays when the queries are many and the tree exceeds the caches next to a core. */
enum { SORT_QUERIES_LEAST = 1024, SORT_POINTS_LEAST = 4096 };

static const kd_points_query defaults = {
    .struct_size = sizeof defaults, .max_radius = (double)INFINITY, .method = "auto", .norm = 2};

void kd_points_query_default_sized(kd_points_query *query, size_t struct_size) {
    sized_give(query, struct_size, &defaults, sizeof defaults);
}

static kd_status take_query(kd_points_query *out, const kd_points_query *given) {
    *out = defaults;
    KD_REQUIRE(given, KD_ERROR_USAGE, "no query given (NULL)");
    return sized_take(out, sizeof *out, given, "kd_points_query_default");
}

kd_status points_take_limits(kd_points_query *query, const kd_points_query *given) {
    KD_TRY(take_query(query, given));
    KD_REQUIRE(query->max_radius >= 0, KD_ERROR_INPUT,
               "max_radius is %g, expected 0 or more (INFINITY: no limit)", query->max_radius);
    KD_REQUIRE(memchr(query->method, 0, sizeof query->method), KD_ERROR_USAGE,
               "the method of the query has no end: fill queries by kd_points_query_default");
    for (uint32_t axis = 0; axis < POINT_DIMS_MAX; ++axis)
        KD_REQUIRE(query->period[axis] >= 0 && isfinite(query->period[axis]), KD_ERROR_INPUT,
                   "period %u is %g, expected a finite number of 0 or more (0: none)", axis,
                   query->period[axis]);
    KD_REQUIRE(query->norm == 2 || query->norm == 1 || query->norm == (double)INFINITY,
               KD_ERROR_USAGE, "norm %g, expected 2, 1 or INFINITY", query->norm);
    point_query_method method;
    return points_method_find(&method, query->method);
}

const point_metric *points_metric(point_metric *out, const kd_points_query *query) {
    bool other = query->norm != 2;
    out->norm = query->norm == 2 ? POINT_NORM_2 : query->norm == 1 ? POINT_NORM_1 : POINT_NORM_MOST;
    memcpy(out->period, query->period, sizeof out->period);
    for (uint32_t axis = 0; axis < POINT_DIMS_MAX; ++axis) other = other || query->period[axis] > 0;
    return other ? out : NULL;
}

static bool sorts(const kd_points *tree, const kd_points_query *query) {
    return !query->coherent && query->points.count >= SORT_QUERIES_LEAST &&
           query->points.count <= UINT32_MAX && tree->tree.count >= SORT_POINTS_LEAST;
}

static point_queries queries_of(const kd_points *tree, const kd_points_query *query) {
    point_queries queries;
    queries.points = point_array_make(query->points.coordinates, query->points.count,
                                      tree->tree.dims, tree->tree.scalar);
    if (query->points.stride_bytes) queries.points.stride_bytes = query->points.stride_bytes;
    queries.radii = query->radii;
    queries.max_radius = query->max_radius;
    queries.bounds2 = NULL;
    queries.metric = NULL;
    queries.sort = sorts(tree, query);
    return queries;
}

uint64_t kd_points_scratch_bytes(const kd_points *tree, const kd_points_query *query) {
    kd_points_query taken;
    if (!tree || tree->parts || take_query(&taken, query) != KD_OK) return 0;
    if (tree->cuda) return points_cuda_scratch_bytes(tree, &taken);
    const point_queries queries = queries_of(tree, &taken);
    return point_query_scratch_bytes(&queries);
}

static kd_status check_radii(const kd_points *tree, const kd_points_query *query) {
    for (uint64_t i = 0; query->radii && i < query->points.count; ++i) {
        const double radius = tree->tree.scalar == POINT_DOUBLE
                                  ? ((const double *)query->radii)[i]
                                  : (double)((const float *)query->radii)[i];
        KD_REQUIRE(radius >= 0, KD_ERROR_INPUT, "radius %llu is %g, expected 0 or more",
                   (unsigned long long)i, radius);
    }
    return KD_OK;
}

kd_status points_method_find(point_query_method *out, const char *name) {
#define ROW(id, name) {POINT_QUERY_##id, #name},
    static const struct {
        point_query_method method;
        const char *name;
    } rows[] = {POINTS_METHOD_ROWS(ROW)};
#undef ROW
    char names[64] = "auto";
    *out = POINT_QUERY_AUTO;
    if (name_is_auto(name)) return KD_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        *out = rows[i].method;
        if (strcmp(rows[i].name, name) == 0) return KD_OK;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, ", %s", rows[i].name);
    }
    KD_FAIL(KD_ERROR_USAGE, "unknown query method \"%s\", expected one of %s", name, names);
}

static kd_status check_points(const kd_points *tree, const kd_points_query *query) {
    const kd_point_array *points = &query->points;
    const uint32_t dims = tree->tree.dims;
    const uint64_t scalar_bytes = point_scalar_bytes(tree->tree.scalar);
    KD_REQUIRE(points->dims == dims, KD_ERROR_USAGE,
               "queries of %u dimensions, expected %u like the tree's points", points->dims, dims);
    KD_REQUIRE((int)points->scalar == (int)tree->tree.scalar, KD_ERROR_USAGE,
               "queries of scalar type %d, expected %d like the tree's points", (int)points->scalar,
               (int)tree->tree.scalar);
    KD_REQUIRE(points->coordinates || points->count == 0, KD_ERROR_USAGE,
               "no queries given (NULL), their count is %llu", (unsigned long long)points->count);
    return caller_stride_check(points->count, points->stride_bytes, dims, scalar_bytes, "queries");
}

typedef struct prepared_query {
    point_target target;
    point_queries queries;
    point_metric metric;
    void *scratch, *own; /* own: to be freed */
} prepared_query;

/* The caller's query, and all that can be said of it without a look at memory that may be a
   device's. */
static kd_status check_query(kd_points_query *query, const kd_points *tree,
                             const kd_points_query *given) {
    KD_REQUIRE(tree, KD_ERROR_USAGE, "no tree given (NULL)");
    KD_TRY(points_take_limits(query, given));
    return check_points(tree, query);
}

/* Aligned, and on the host where the tree is: everything that a call reads or writes. */
static kd_status check_memory(const kd_points *tree, const kd_points_query *query,
                              const point_rows *rows, const uint64_t *offsets) {
    const uint32_t scalar_bytes = (uint32_t)point_scalar_bytes(tree->tree.scalar);
    const caller_array arrays[] = {{query->points.coordinates, "queries", scalar_bytes},
                                   {query->radii, "radii", scalar_bytes},
                                   {tree->cuda ? NULL : query->scratch, "scratch", 64},
                                   {rows->ids, "places for ids", sizeof *rows->ids},
                                   {rows->dist2, "places for dist2", scalar_bytes},
                                   {rows->counts, "places for counts", sizeof *rows->counts},
                                   {offsets, "offsets", sizeof *offsets}};
    return caller_memory_check(arrays, sizeof arrays / sizeof *arrays, tree->cuda == NULL);
}

/* Rows that begin at 0 and never run backwards lie within the offsets[count] places of the caller.
 */
kd_status points_check_offsets(const uint64_t *offsets, uint64_t count) {
    KD_REQUIRE(offsets[0] == 0, KD_ERROR_USAGE, "offsets begin with %llu, expected 0",
               (unsigned long long)offsets[0]);
    for (uint64_t i = 0; i < count; ++i)
        KD_REQUIRE(offsets[i] <= offsets[i + 1], KD_ERROR_USAGE,
                   "offset %llu is %llu, expected at least the %llu before it",
                   (unsigned long long)(i + 1), (unsigned long long)offsets[i + 1],
                   (unsigned long long)offsets[i]);
    return KD_OK;
}

kd_status points_check_answers(uint64_t count, uint32_t k) {
    uint64_t answers = 0;
    KD_REQUIRE(k > 0, KD_ERROR_USAGE, "k is 0, expected 1 or more");
    KD_REQUIRE(!__builtin_mul_overflow(count, 8 * (uint64_t)k, &answers), KD_ERROR_USAGE,
               "%llu queries for %u points each are more than memory can address",
               (unsigned long long)count, k);
    return KD_OK;
}

/* For indexes, which have no use for the arrays: another thread may be lending those. */
static pointtree_nd_view view_without_arrays(const pointtree *of) {
    pointtree_nd_view view;
    memset(&view, 0, sizeof view);
    view.axes = of->axes;
    view.count = of->count;
    view.dims = of->dims;
    view.scalar = of->scalar;
    view.box = of->box;
    view.order = of->order;
    view.cells = of->options.cells;
    view.unique = of->options.unique;
    return view;
}

kd_status points_target(point_target *out, const kd_points *tree, const kd_points_query *query) {
    point_query_method method = POINT_QUERY_AUTO;
    (void)points_method_find(&method, query->method); /* it was found before */
    point_metric metric;
    const bool walk = method == POINT_QUERY_WALK || points_metric(&metric, query);
    if (walk)
        KD_TRY(points_lend(&out->tree, tree));
    else if (tree->index.shape.count)
        out->tree = view_without_arrays(&tree->tree);
    else
        out->tree = pointtree_get_nd_view(&tree->tree);
    out->index = tree->index.shape.count && !walk ? &tree->index : NULL;
    out->index_double = tree->index_double.shape.count && !walk ? &tree->index_double : NULL;
    out->index_nd = tree->index_nd.shape.count && !walk ? &tree->index_nd : NULL;
    out->renamed = tree->renamed;
    return KD_OK;
}

/* For a tree on the CPU. */
static kd_status prepare(prepared_query *out, const kd_points *tree, const kd_points_query *query) {
    memset(out, 0, sizeof *out);
    KD_TRY(check_radii(tree, query));
    KD_TRY(points_target(&out->target, tree, query));
    out->queries = queries_of(tree, query);
    out->queries.metric = points_metric(&out->metric, query);
    point_box box;
    KD_TRY(point_scan(&box, &out->queries.points));
    const uint64_t needed = point_query_scratch_bytes(&out->queries);
    out->scratch = query->scratch;
    KD_REQUIRE(!query->scratch || query->scratch_bytes >= needed, KD_ERROR_USAGE,
               "scratch of %llu bytes, expected at least %llu",
               (unsigned long long)query->scratch_bytes, (unsigned long long)needed);
    if (query->scratch || needed == 0) return KD_OK;
    KD_TRY(memory_reserve(&out->own, needed, 1));
    out->scratch = out->own;
    return KD_OK;
}

kd_status points_ask_nearest(const kd_points *tree, const kd_points_query *query, uint32_t k,
                             const void *bounds2, const point_rows *out) {
    prepared_query ready;
    KD_TRY(prepare(&ready, tree, query));
    ready.queries.bounds2 = bounds2;
    const kd_status status =
        point_query_nearest(&ready.target, &ready.queries, k, out, ready.scratch);
    memory_free(ready.own);
    return status;
}

kd_status points_ask_count(const kd_points *tree, const kd_points_query *query, uint64_t *offsets) {
    prepared_query ready;
    KD_TRY(prepare(&ready, tree, query));
    const kd_status status =
        point_query_count_within(&ready.target, &ready.queries, offsets, ready.scratch);
    memory_free(ready.own);
    return status;
}

kd_status points_ask_within(const kd_points *tree, const kd_points_query *query,
                            const uint64_t *offsets, const point_rows *out) {
    prepared_query ready;
    KD_TRY(prepare(&ready, tree, query));
    const kd_status status = point_query_within(&ready.target, &ready.queries, offsets, out->ids,
                                                out->dist2, ready.scratch);
    memory_free(ready.own);
    return status;
}

/* --- a tree in parts: what ranks check they say together ---------------------------------------
 */

/* Whether rows, queries and radii of a call may lie on devices: then they are looked at there. */
static bool stays_there(const kd_points *tree, parts_kind kind) {
    return parts_answers_there(tree->parts, kind, tree->renamed);
}

static bool is_of_a_device(const void *at) {
    return at && device_in_use() && device_of_pointer(at) >= 0;
}

static kd_status check_in_parts(const kd_points *tree, const kd_points_query *query,
                                const parts_rows *rows, const uint64_t *offsets) {
    const uint32_t scalar = (uint32_t)point_scalar_bytes(tree->tree.scalar);
    const point_queries queries = queries_of(tree, query);
    const caller_array arrays[] = {{query->points.coordinates, "queries", scalar},
                                   {query->radii, "radii", scalar},
                                   {rows->ids, "places for ids", sizeof *rows->ids},
                                   {rows->dist2, "places for dist2", scalar},
                                   {rows->counts, "places for counts", sizeof *rows->counts},
                                   {offsets, "offsets", sizeof *offsets},
                                   {rows->wide, "places for ids", sizeof *rows->wide}};
    point_box box;
    KD_REQUIRE(rows->wide || rows->sums || !points_parts_wide(tree), KD_ERROR_USAGE,
               "a tree whose ids have 64 bits, expected a call with such ids");
    KD_TRY(caller_memory_check(arrays, sizeof arrays / sizeof *arrays, false));
    if (!is_of_a_device(query->radii)) KD_TRY(check_radii(tree, query));
    return is_of_a_device(query->points.coordinates) ? KD_OK : point_scan(&box, &queries.points);
}

/* What lies on a device comes to the host, but for what `stays`; `answers` ids and distances go
   back. */
static kd_status bring(host_arrays *arrays, const kd_points *tree, kd_points_query *query,
                       parts_rows *rows, uint64_t answers, bool stays) {
    const uint64_t count = query->points.count, scalar = point_scalar_bytes(tree->tree.scalar);
    arrays->stream = query->stream ? query->stream : tree->options.stream;
    KD_TRY(host_arrays_out(arrays, (void **)&rows->sums, (count + 1) * sizeof *rows->sums));
    if (stays) return device_stream_wait(arrays->stream); /* other devices' streams do not */
    KD_TRY(host_arrays_points(arrays, &query->points));
    KD_TRY(host_arrays_in(arrays, &query->radii, count * scalar));
    KD_TRY(host_arrays_out(arrays, (void **)&rows->ids, answers * sizeof *rows->ids));
    KD_TRY(host_arrays_out(arrays, (void **)&rows->wide, answers * sizeof *rows->wide));
    KD_TRY(host_arrays_out(arrays, &rows->dist2, answers * scalar));
    return host_arrays_out(arrays, (void **)&rows->counts, count * sizeof *rows->counts);
}

kd_status points_parts_ask_nearest(const kd_points *tree, const kd_points_query *query, uint32_t k,
                                   const parts_rows *rows) {
    host_arrays arrays = {.count = 0};
    parts_rows to = *rows;
    kd_points_query taken;
    kd_status checked = check_query(&taken, tree, query);
    if (checked == KD_OK) checked = points_check_answers(taken.points.count, k);
    if (checked == KD_OK)
        checked = bring(&arrays, tree, &taken, &to, taken.points.count * k,
                        stays_there(tree, PARTS_NEAREST));
    if (checked == KD_OK) checked = check_in_parts(tree, &taken, &to, NULL);
    return host_arrays_end(&arrays, points_parts_nearest(tree, &taken, k, &to, checked));
}

static kd_status count_in_parts(const kd_points *tree, const kd_points_query *query,
                                uint64_t *offsets) {
    host_arrays arrays = {.count = 0};
    parts_rows to = {.sums = offsets};
    kd_points_query taken;
    kd_status checked = check_query(&taken, tree, query);
    if (checked == KD_OK)
        checked = bring(&arrays, tree, &taken, &to, 0, stays_there(tree, PARTS_COUNT));
    if (checked == KD_OK) checked = check_in_parts(tree, &taken, &to, to.sums);
    return host_arrays_end(&arrays, points_parts_count_within(tree, &taken, to.sums, checked));
}

kd_status points_parts_ask_within(const kd_points *tree, const kd_points_query *query,
                                  const uint64_t *offsets, const parts_rows *rows) {
    host_arrays arrays = {.count = 0};
    parts_rows to = *rows;
    kd_points_query taken;
    kd_status checked = check_query(&taken, tree, query);
    const uint64_t count = checked == KD_OK ? taken.points.count : 0;
    const caller_array given = {offsets, "offsets", sizeof *offsets};
    if (checked == KD_OK) checked = caller_memory_check(&given, 1, false);
    if (checked == KD_OK) {
        arrays.stream = taken.stream ? taken.stream : tree->options.stream;
        checked = host_arrays_in(&arrays, (const void **)&offsets, (count + 1) * sizeof *offsets);
    }
    if (checked == KD_OK) checked = points_check_offsets(offsets, count);
    if (checked == KD_OK)
        checked =
            bring(&arrays, tree, &taken, &to, offsets[count], stays_there(tree, PARTS_WITHIN));
    if (checked == KD_OK) checked = check_in_parts(tree, &taken, &to, offsets);
    return host_arrays_end(&arrays, points_parts_within(tree, &taken, offsets, &to, checked));
}

/* --- one query a call --------------------------------------------------------------------------
 */

enum { ALONE_K = 20, ALONE_ROOM = ALONE_K + 1 /* leafindex_room */ };

/* Whether a query is all as usual: one, of floats, of a tree that lies whole on the CPU, with
   nothing set but points and max_radius. Whatever is not goes the long way, which also finds what
   is wrong with it. */
static bool is_usual(const kd_points *tree, const kd_points_query *query, uint32_t k) {
    const kd_point_array *points = &query->points;
    return query->struct_size == sizeof *query && points->count == 1 && tree->index.shape.count &&
           !tree->changes && k - 1 < ALONE_K && points->dims == tree->tree.dims &&
           points->scalar == KD_FLOAT && points->coordinates && points->stride_bytes == 0 &&
           !query->radii && query->max_radius >= 0 && !query->scratch && query->norm == 2 &&
           strcmp(query->method, defaults.method) == 0 &&
           memcmp(query->period, defaults.period, sizeof query->period) == 0 && !device_in_use();
}

/* Answers such a query with none of the preparations that many share; false: it is for the long
   way. */
static bool answer_alone(const kd_points *tree, const kd_points_query *query, uint32_t k,
                         const point_rows *rows) {
    if (!tree || !query || !is_usual(tree, query, k)) return false;
    const uintptr_t places = (uintptr_t)query->points.coordinates | (uintptr_t)rows->ids |
                             (uintptr_t)rows->dist2 | (uintptr_t)rows->counts;
    if (places % sizeof(float)) return false;
    const float *at = (const float *)query->points.coordinates;
    const uint32_t dims = tree->tree.dims;
    const vec3 from = vec3_make(at[0], dims > 1 ? at[1] : 0, dims == 3 ? at[2] : 0);
    if (!isfinite(from.x) || !isfinite(from.y) || !isfinite(from.z)) return false;
    uint64_t keys[ALONE_ROOM];
    float *dist2 = (float *)rows->dist2;
    const float bound2 = (float)pointtree_nd_bound2(POINT_FLOAT, query->max_radius);
    const uint32_t found = leafindex_nearest_keys(&tree->index, from, k, bound2, keys, NULL);
    for (uint32_t j = found; j < k; ++j) keys[j] = leaf_key(INFINITY, KD_NO_POINT);
    for (uint32_t j = 0; rows->ids && j < k; ++j)
        rows->ids[j] = j < found ? points_id_of(tree, leaf_key_id(keys[j])) : KD_NO_POINT;
    for (uint32_t j = 0; dist2 && j < k; ++j) dist2[j] = leaf_key_dist2(keys[j]);
    if (rows->counts) rows->counts[0] = found;
    return true;
}

/* --- the calls ---------------------------------------------------------------------------------
 */

kd_status kd_points_nearest(const kd_points *tree, const kd_points_query *query, uint32_t k,
                            uint32_t *ids, void *dist2, uint32_t *counts) {
    kd_points_query taken;
    const parts_rows apart = {.ids = ids, .dist2 = dist2, .counts = counts};
    const point_rows rows = {ids, dist2, counts};
    if (answer_alone(tree, query, k, &rows)) return KD_OK;
    if (tree && tree->parts) return points_parts_ask_nearest(tree, query, k, &apart);
    KD_TRY(check_query(&taken, tree, query));
    KD_TRY(points_check_answers(taken.points.count, k));
    KD_TRY(check_memory(tree, &taken, &rows, NULL));
    if (tree->cuda) return points_cuda_nearest(tree, &taken, k, &rows);
    if (tree->changes) return points_changes_nearest(tree, &taken, k, &rows);
    return points_ask_nearest(tree, &taken, k, NULL, &rows);
}

kd_status kd_points_closest(const kd_points *tree, const kd_points_query *query, uint32_t *ids,
                            void *dist2) {
    return kd_points_nearest(tree, query, 1, ids, dist2, NULL);
}

kd_status kd_points_within_count(const kd_points *tree, const kd_points_query *query,
                                 uint64_t *offsets) {
    KD_REQUIRE(offsets, KD_ERROR_USAGE, "no place for the offsets given (NULL)");
    kd_points_query taken;
    if (tree && tree->parts) return count_in_parts(tree, query, offsets);
    KD_TRY(check_query(&taken, tree, query));
    const point_rows none = {NULL, NULL, NULL};
    KD_TRY(check_memory(tree, &taken, &none, offsets));
    if (tree->cuda) return points_cuda_count_within(tree, &taken, offsets);
    return (tree->changes ? points_changes_count_within : points_ask_count)(tree, &taken, offsets);
}

kd_status kd_points_within(const kd_points *tree, const kd_points_query *query,
                           const uint64_t *offsets, uint32_t *ids, void *dist2) {
    KD_REQUIRE(offsets, KD_ERROR_USAGE, "no offsets given (NULL)");
    kd_points_query taken;
    const parts_rows apart = {.ids = ids, .dist2 = dist2};
    if (tree && tree->parts) return points_parts_ask_within(tree, query, offsets, &apart);
    KD_TRY(check_query(&taken, tree, query));
    const point_rows rows = {ids, dist2, NULL};
    KD_TRY(check_memory(tree, &taken, &rows, offsets));
    if (tree->cuda) return points_cuda_within(tree, &taken, offsets, &rows);
    KD_TRY(points_check_offsets(offsets, taken.points.count));
    return (tree->changes ? points_changes_within : points_ask_within)(tree, &taken, offsets,
                                                                       &rows);
}

kd_status kd_points_visit(const kd_points *tree, const kd_points_query *query,
                          kd_points_visitor visit, void *context) {
    const point_rows none = {NULL, NULL, NULL};
    const point_visitor visitor = {.hear = visit, .context = context};
    kd_points_query taken;
    point_target targets[LAYERS_MOST];
    uint32_t count;
    prepared_query ready;
    KD_REQUIRE(visit, KD_ERROR_USAGE, "no function given (NULL)");
    KD_TRY(check_query(&taken, tree, query));
    KD_REQUIRE(!tree->cuda && !tree->parts, KD_ERROR_USAGE,
               "a tree on %s calls no function of the program's, expected one on the CPU",
               tree->options.device);
    KD_TRY(check_memory(tree, &taken, &none, NULL));
    KD_TRY(points_changes_targets(tree, &taken, targets, &count));
    KD_TRY(prepare(&ready, tree, &taken));
    const kd_status status =
        point_query_visit(targets, count, &ready.queries, &visitor, ready.scratch);
    memory_free(ready.own);
    return status;
}
