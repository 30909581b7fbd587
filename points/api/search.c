/* The query functions of <kandela/points.h>: validate the arguments and dispatch a points_search to
   the tree's backend. */
#include "points/api/search.h"
#include "core/device/device.h"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include "core/names.h"
#include "core/parallel/call.h"
#include "core/version.h"
#include "points/api/dynamic.h"
#include "points/api/points_device.h"
#include <stdio.h>

static const kd_points_query defaults = {
    .struct_size = sizeof defaults, .max_radius = (double)INFINITY, .method = "auto", .norm = 2};

void kd_points_query_default_sized(kd_points_query *query, size_t struct_size) {
    sized_give(query, struct_size, &defaults, sizeof defaults);
}

/* --- validation ----------------------------------------------------------------------------- */

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
    KD_FAIL(KD_ERROR_USAGE, "`method` is \"%s\"; expected one of %s", name, names);
}

static kd_status take_query(kd_points_query *out, const kd_points_query *caller_query) {
    *out = defaults;
    KD_REQUIRE(caller_query, KD_ERROR_USAGE, "`query` must not be NULL");
    return sized_take(out, sizeof *out, caller_query, "kd_points_query_default");
}

/* Validates the caller's query and its limits, but not its points. */
static kd_status take_limits(kd_points_query *query, const kd_points_query *caller_query) {
    KD_TRY(take_query(query, caller_query));
    KD_REQUIRE(query->max_radius >= 0, KD_ERROR_INPUT,
               "`max_radius` is %g; expected 0 or more (INFINITY: no limit)", query->max_radius);
    KD_REQUIRE(memchr(query->method, 0, sizeof query->method), KD_ERROR_USAGE,
               "`method` of `query` is not terminated; call kd_points_query_default first");
    for (uint32_t axis = 0; axis < POINT_DIMS_MAX; ++axis)
        KD_REQUIRE(query->period[axis] >= 0 && isfinite(query->period[axis]), KD_ERROR_INPUT,
                   "`period[%u]` is %g; expected a finite number, at least 0 (0: not periodic)",
                   axis, query->period[axis]);
    KD_REQUIRE(query->norm == 2 || query->norm == 1 || query->norm == (double)INFINITY,
               KD_ERROR_USAGE, "`norm` is %g; expected 2, 1 or INFINITY", query->norm);
    point_query_method method;
    return points_method_find(&method, query->method);
}

const point_metric *points_metric(point_metric *out, const kd_points_query *query) {
    bool other = query->norm != 2;
    out->norm = query->norm == 2 ? POINT_NORM_2 : query->norm == 1 ? POINT_NORM_1 : POINT_NORM_MAX;
    memcpy(out->period, query->period, sizeof out->period);
    for (uint32_t axis = 0; axis < POINT_DIMS_MAX; ++axis) other = other || query->period[axis] > 0;
    return other ? out : NULL;
}

kd_status points_check_array(const kd_points *tree, const kd_point_array *points,
                             const char *name) {
    const uint32_t dims = tree->tree.dims;
    KD_REQUIRE(points->dims == dims && (int)points->scalar == (int)tree->tree.scalar,
               KD_ERROR_USAGE, "`%s` has %u dimensions and scalar type %d; the tree has %u and %d",
               name, points->dims, (int)points->scalar, dims, (int)tree->tree.scalar);
    KD_REQUIRE(points->coordinates || points->count == 0, KD_ERROR_USAGE,
               "`%s` must not have NULL coordinates: its `count` is %llu", name,
               (unsigned long long)points->count);
    return caller_stride_check(points->count, points->stride_bytes, dims,
                               point_scalar_bytes(tree->tree.scalar), name);
}

kd_status points_check_radii(const kd_points *tree, const kd_points_query *query) {
    for (uint64_t i = 0; query->radii && i < query->points.count; ++i) {
        const double radius = point_coordinate(query->radii, tree->tree.scalar, (uint32_t)i);
        KD_REQUIRE(radius >= 0, KD_ERROR_INPUT, "`radii`: radius %llu is %g; expected 0 or more",
                   (unsigned long long)i, radius);
    }
    return KD_OK;
}

kd_status points_check_memory(const kd_points *tree, const points_search *search, bool host) {
    const uint32_t scalar = (uint32_t)point_scalar_bytes(tree->tree.scalar);
    const bool boxes = search->calls == POINTS_BOXES;
    const kd_points_rows *out = &search->out;
    const caller_array arrays[] = {
        {search->query.points.coordinates, boxes ? "lo" : "query.points", scalar},
        {search->query.hi.coordinates, "hi", scalar},
        {search->query.radii, "radii", scalar},
        {host ? search->query.scratch : NULL, "scratch", 64},
        {out->order, "order", sizeof *out->order},
        {out->offsets, "offsets", sizeof *out->offsets},
        {out->ids, "ids", sizeof *out->ids},
        {out->ids64, "ids64", sizeof *out->ids64},
        {out->dist2, "dist2", scalar},
        {out->counts, "counts", sizeof *out->counts}};
    return caller_memory_check(arrays, sizeof arrays / sizeof *arrays, host);
}

kd_status points_check_offsets(const uint64_t *offsets, uint64_t count) {
    KD_REQUIRE(offsets[0] == 0, KD_ERROR_USAGE, "`offsets[0]` is %llu; expected 0",
               (unsigned long long)offsets[0]);
    for (uint64_t i = 0; i < count; ++i)
        KD_REQUIRE(
            offsets[i] <= offsets[i + 1], KD_ERROR_USAGE,
            "`offsets[%llu]` is %llu, less than the %llu before it; offsets must not decrease",
            (unsigned long long)(i + 1), (unsigned long long)offsets[i + 1],
            (unsigned long long)offsets[i]);
    return KD_OK;
}

static kd_status check_k(const points_search *search, uint64_t rows) {
    uint64_t answers = 0;
    const uint32_t k = search->k;
    KD_REQUIRE(k > 0, KD_ERROR_USAGE, "`k` is 0; expected 1 or more");
    KD_REQUIRE(!__builtin_mul_overflow(rows, 8 * (uint64_t)k, &answers), KD_ERROR_USAGE,
               "the results of %llu queries with `k` = %u exceed the address space",
               (unsigned long long)rows, k);
    KD_REQUIRE(search->calls != POINTS_SELF || k <= POINTTREE_COUNT_MAX, KD_ERROR_USAGE,
               "`k` is %u; supported: at most %u", k, POINTTREE_COUNT_MAX);
    return KD_OK;
}

static uint64_t rows_of(const kd_points *tree, const points_search *search) {
    return search->calls == POINTS_SELF ? points_live_count(tree) : search->query.points.count;
}

/* Rejects arrays that the search does not fill. */
static kd_status check_rows(const kd_points *tree, const points_search *search) {
    const kd_points_rows *out = &search->out;
    KD_REQUIRE(!out->ids || !out->ids64, KD_ERROR_USAGE,
               "`ids` and `ids64` are both set; one of them must be NULL");
    KD_REQUIRE(!out->ids || !tree->spread.wide, KD_ERROR_USAGE,
               "the ids of the tree have 64 bits; pass `ids64` instead of `ids`");
    KD_REQUIRE(search->kind != POINTS_COUNT || (!out->ids && !out->ids64 && !out->dist2),
               KD_ERROR_USAGE,
               "`ids`, `ids64` and `dist2` must be NULL: kd_points_search_count only counts");
    KD_REQUIRE(search->kind == POINTS_NEAREST ? !out->offsets : !out->counts, KD_ERROR_USAGE,
               "`%s` must be NULL: kd_points_search_%s does not use it",
               out->offsets && search->kind == POINTS_NEAREST ? "offsets" : "counts",
               search->kind == POINTS_NEAREST ? "nearest"
               : search->kind == POINTS_COUNT ? "count"
                                              : "within");
    KD_REQUIRE(search->query.self || !out->order, KD_ERROR_USAGE,
               "`order` must be NULL unless `self` of the query is set");
    return KD_OK;
}

static kd_status check_boxes(const kd_points *tree, const points_search *search) {
    const kd_points_query *query = &search->query;
    point_metric metric;
    KD_REQUIRE(!query->self, KD_ERROR_USAGE,
               "`self` is set and so is a box (`lo`, `hi`); set one of them");
    KD_REQUIRE(search->kind != POINTS_NEAREST, KD_ERROR_USAGE,
               "boxes (`lo`, `hi`) have no nearest points; call kd_points_search_count and "
               "kd_points_search_within");
    KD_REQUIRE(isinf(query->max_radius) && !points_metric(&metric, query) && !search->out.dist2,
               KD_ERROR_USAGE,
               "boxes (`lo`, `hi`) have no distances; leave `max_radius`, `norm` and `period` at "
               "their defaults and `dist2` NULL");
    KD_TRY(points_check_array(tree, &query->lo, "lo"));
    KD_TRY(points_check_array(tree, &query->hi, "hi"));
    KD_REQUIRE(query->lo.count == query->hi.count, KD_ERROR_USAGE,
               "`lo` has %llu corners and `hi` has %llu; they must be equally many",
               (unsigned long long)query->lo.count, (unsigned long long)query->hi.count);
    return KD_OK;
}

/* Determines what the queries are: points, boxes or the points of the tree. */
static kd_status take_calls(const kd_points *tree, points_search *search) {
    kd_points_query *query = &search->query;
    const bool boxes = query->lo.dims || query->hi.dims;
    search->calls = boxes ? POINTS_BOXES : query->self ? POINTS_SELF : POINTS_QUERIES;
    if (search->calls == POINTS_QUERIES)
        return points_check_array(tree, &query->points, "query.points");
    KD_REQUIRE(query->points.count == 0 && !query->radii, KD_ERROR_USAGE,
               "`points` must be empty and `radii` NULL if %s set",
               boxes ? "a box (`lo`, `hi`) is" : "`self` is");
    if (boxes) KD_TRY(check_boxes(tree, search));
    query->points = boxes ? query->lo : kd_point_array_make(NULL, 0, tree->tree.dims, KD_FLOAT);
    query->scratch = NULL;
    query->asynchronous = query->asynchronous && !boxes;
    return KD_OK;
}

/* Validates all arguments as far as possible without reading memory that may be on a device. */
static kd_status check(const kd_points *tree, points_search *search,
                       const kd_points_query *caller_query) {
    KD_TRY(take_limits(&search->query, caller_query));
    KD_TRY(take_calls(tree, search));
    KD_TRY(check_rows(tree, search));
    if (search->kind == POINTS_NEAREST) KD_TRY(check_k(search, rows_of(tree, search)));
    if (tree->parts) return KD_OK; /* a distributed tree first copies its arrays */
    KD_TRY(points_check_memory(tree, search, tree->cuda == NULL));
    return search->kind == POINTS_FILL && !tree->cuda
               ? points_check_offsets(search->out.offsets, rows_of(tree, search))
               : KD_OK;
}

/* --- 64-bit ids ----------------------------------------------------------------------------- */

typedef struct wide_ids {
    uint64_t *to;     /* the caller's array; NULL: not requested */
    uint64_t *host;   /* `to`, or a host copy if `to` is in device memory */
    uint32_t *narrow; /* second half of `host` */
    uint64_t count;
} wide_ids;

static kd_status wide_begin(wide_ids *out, uint64_t *to, uint64_t count, const kd_points *tree) {
    const caller_array place = {to, "ids64", sizeof *to};
    memset(out, 0, sizeof *out);
    KD_TRY(caller_memory_check(&place, 1, !tree->cuda));
    KD_REQUIRE(count <= UINT64_MAX / sizeof *to, KD_ERROR_USAGE,
               "%llu results exceed the address space", (unsigned long long)count);
    if (!to || count == 0) return KD_OK;
    out->to = out->host = to;
    out->count = count;
    if (device_in_use() && device_of_pointer(to) >= 0) KD_TRY(KD_RESERVE(out->host, count));
    out->narrow = (uint32_t *)(void *)out->host + count;
    return KD_OK;
}

/* Each id is read before the position that may overlap it is written. `narrow` is an argument of
   its own because GCC 12 at -O1 took a loop that computed it from `ids` for a pure function, and
   removed the call. */
void points_widen_ids(uint64_t *ids, const uint32_t *narrow, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
        uint32_t id;
        memcpy(&id, (const char *)narrow + i * sizeof id, sizeof id);
        const uint64_t wide = id == KD_NO_POINT ? KD_NO_POINT64 : id;
        memcpy((char *)ids + i * sizeof wide, &wide, sizeof wide);
    }
}

static kd_status wide_end(wide_ids *ids, kd_status status, void *stream) {
    if (status == KD_OK) points_widen_ids(ids->host, ids->narrow, ids->count);
    if (ids->host == ids->to) return status;
    if (status == KD_OK)
        status = device_copy(ids->to, ids->host, ids->count * sizeof *ids->to, stream);
    if (status == KD_OK) status = device_stream_wait(stream);
    memory_free(ids->host);
    return status;
}

/* Determines the number of results; the last offset may be in device memory. */
static kd_status count_answers(uint64_t *out, const kd_points *tree, const points_search *search) {
    const uint64_t rows = rows_of(tree, search);
    *out = rows * search->k;
    if (search->kind == POINTS_NEAREST) return KD_OK;
    if (!device_in_use() || device_of_pointer(search->out.offsets) < 0) {
        *out = search->out.offsets[rows];
        return KD_OK;
    }
    KD_TRY(device_copy(out, search->out.offsets + rows, sizeof *out, tree->options.stream));
    return device_stream_wait(tree->options.stream);
}

/* --- dispatch ------------------------------------------------------------------------------- */

static const points_backend *backend_of(const kd_points *tree) {
    return tree->parts     ? points_distributed.backend
           : tree->cuda    ? &points_backend_cuda
           : tree->dynamic ? &points_backend_layers
           : tree->brute   ? &points_backend_brute
                           : &points_backend_cpu;
}

static kd_status dispatch(const kd_points *tree, const points_search *search) {
    const points_backend *backend = backend_of(tree);
    return (search->calls == POINTS_BOXES    ? backend->box
            : search->calls == POINTS_SELF   ? backend->self
            : search->kind == POINTS_NEAREST ? backend->nearest
            : search->kind == POINTS_COUNT   ? backend->count
                                             : backend->fill)(tree, search);
}

kd_status points_search_tree(const kd_points *tree, points_search *search,
                             const kd_points_query *query) {
    KD_REQUIRE(tree, KD_ERROR_USAGE, "`tree` must not be NULL");
    KD_REQUIRE(search->kind == POINTS_NEAREST || search->out.offsets, KD_ERROR_USAGE,
               "`offsets` must not be NULL");
    search->checked = check(tree, search, query);
    if (tree->parts && (!search->out.ids64 || tree->spread.distributed))
        return dispatch(tree, search);
    KD_TRY(search->checked);
    if (!search->out.ids64) return dispatch(tree, search);
    wide_ids wide;
    uint64_t answers = 0;
    KD_TRY(count_answers(&answers, tree, search));
    KD_TRY(wide_begin(&wide, search->out.ids64, answers, tree));
    search->out.ids64 = NULL;
    search->out.ids = wide.narrow;
    return wide_end(&wide, dispatch(tree, search), tree->options.stream);
}

/* --- one query per call --------------------------------------------------------------------- */

enum { ALONE_K = 20, ALONE_CAPACITY = ALONE_K + 1 /* leafindex_capacity(ALONE_K) */ };

/* Fast path for a single query of floats with no options but max_radius. Returns false if the
   general path has to be taken, which also reports errors. */
static bool answer_alone(const kd_points *tree, const kd_points_query *query, uint32_t k,
                         const kd_points_rows *rows) {
    const size_t rest = offsetof(kd_points_query, coherent);
    if (!tree || !query || !tree->index.shape.count || tree->dynamic || k - 1 >= ALONE_K ||
        tree->index.scalar != POINT_FLOAT || query->struct_size != sizeof *query || !rows ||
        rows->struct_size != sizeof *rows || rows->ids64 || rows->order || rows->offsets)
        return false;
    uint32_t *ids = rows->ids, *counts = rows->counts;
    float *dist2 = (float *)rows->dist2;
    const kd_point_array *points = &query->points;
    const float *at = (const float *)points->coordinates;
    const uintptr_t places = (uintptr_t)at | (uintptr_t)ids | (uintptr_t)dist2 | (uintptr_t)counts;
    if (points->count != 1 || points->dims != tree->tree.dims || points->scalar != KD_FLOAT ||
        !at || points->stride_bytes || query->radii || !(query->max_radius >= 0) ||
        memcmp((const char *)query + rest, (const char *)&defaults + rest, sizeof *query - rest) ||
        places % sizeof(float) || device_in_use())
        return false;
    for (uint32_t axis = 0; axis < points->dims; ++axis)
        if (!isfinite(at[axis])) return false;
    uint64_t keys[ALONE_CAPACITY];
    const float bound2 = (float)pointtree_nd_bound2(POINT_FLOAT, query->max_radius);
    const uint32_t count = leafindex_nearest_keys(&tree->index, NULL, at, k, bound2, keys, NULL);
    for (uint32_t j = count; j < k; ++j) keys[j] = leaf_key(INFINITY, KD_NO_POINT);
    for (uint32_t j = 0; ids && j < k; ++j)
        ids[j] = j < count ? points_id_of(tree, leaf_key_id(keys[j])) : KD_NO_POINT;
    for (uint32_t j = 0; dist2 && j < k; ++j) dist2[j] = leaf_key_dist2(keys[j]);
    if (counts) counts[0] = count;
    return true;
}

/* --- the public functions ------------------------------------------------------------------- */

static kd_status search_rows(const kd_points *tree, const kd_points_query *query, points_kind kind,
                             uint32_t k, const kd_points_rows *rows) {
    KD_CALL(tree ? tree->options.threads : 0);
    points_search search = {.kind = kind, .k = k};
    KD_REQUIRE(rows, KD_ERROR_USAGE, "`rows` must not be NULL");
    KD_TRY(sized_take(&search.out, sizeof search.out, rows, "kd_points_rows_default"));
    return points_search_tree(tree, &search, query);
}

kd_status kd_points_search_nearest(const kd_points *tree, const kd_points_query *query, uint32_t k,
                                   const kd_points_rows *rows) {
    return answer_alone(tree, query, k, rows) ? KD_OK
                                              : search_rows(tree, query, POINTS_NEAREST, k, rows);
}

kd_status kd_points_search_count(const kd_points *tree, const kd_points_query *query,
                                 const kd_points_rows *rows) {
    return search_rows(tree, query, POINTS_COUNT, 0, rows);
}

kd_status kd_points_search_within(const kd_points *tree, const kd_points_query *query,
                                  const kd_points_rows *rows) {
    return search_rows(tree, query, POINTS_FILL, 0, rows);
}

uint64_t kd_points_scratch_bytes(const kd_points *tree, const kd_points_query *query) {
    kd_points_query taken;
    if (!tree || tree->parts || take_query(&taken, query) != KD_OK) return 0;
    if (tree->cuda) return points_cuda_scratch_bytes(tree, &taken);
    if (tree->brute) return 0;
    return points_cpu_scratch_bytes(tree, &taken);
}

kd_status kd_points_visit(const kd_points *tree, const kd_points_query *query,
                          kd_points_visitor visit, void *context) {
    KD_CALL(tree ? tree->options.threads : 0);
    const point_visitor visitor = {.callback = visit, .context = context};
    points_search search = {.kind = POINTS_COUNT};
    KD_REQUIRE(tree, KD_ERROR_USAGE, "`tree` must not be NULL");
    KD_REQUIRE(visit, KD_ERROR_USAGE, "`visit` must not be NULL");
    KD_TRY(check(tree, &search, query));
    KD_REQUIRE(search.calls == POINTS_QUERIES, KD_ERROR_USAGE,
               "kd_points_visit supports neither `self` nor boxes (`lo`, `hi`)");
    KD_REQUIRE(!tree->cuda && !tree->parts, KD_ERROR_USAGE,
               "a tree on %s does not support callbacks; open it with `device` = cpu",
               tree->options.device);
    return (tree->brute ? points_visit_brute : points_visit)(tree, &search, &visitor);
}
