/* The query functions of <kandela/points.h>: validate the arguments and dispatch a points_search to
   the tree's backend. */
#include "points/api/search.h"
#include "core/device/device.h"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include "core/names.h"
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
    const points_rows *out = &search->out;
    const caller_array arrays[] = {
        {search->query.points.coordinates, boxes ? "lo" : "query.points", scalar},
        {search->hi.coordinates, "hi", scalar},
        {search->query.radii, "radii", scalar},
        {host ? search->query.scratch : NULL, "scratch", 64},
        {search->order, "order", sizeof *search->order},
        {search->offsets, "offsets", sizeof *search->offsets},
        {out->sums, "offsets", sizeof *out->sums},
        {out->ids, "ids", sizeof *out->ids},
        {out->wide, "ids", sizeof *out->wide},
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

/* Validates all arguments as far as possible without reading memory that may be on a device. */
static kd_status check(const kd_points *tree, points_search *search,
                       const kd_points_query *caller_query) {
    kd_points_query *query = &search->query;
    if (search->calls == POINTS_BOXES) {
        KD_TRY(points_check_array(tree, &query->points, "lo"));
        KD_TRY(points_check_array(tree, &search->hi, "hi"));
        KD_REQUIRE(query->points.count == search->hi.count, KD_ERROR_USAGE,
                   "`lo` has %llu corners and `hi` has %llu; they must be equally many",
                   (unsigned long long)query->points.count, (unsigned long long)search->hi.count);
    } else {
        KD_TRY(take_limits(query, caller_query));
    }
    if (search->calls == POINTS_QUERIES)
        KD_TRY(points_check_array(tree, &query->points, "query.points"));
    if (search->calls == POINTS_SELF) {
        query->points = kd_point_array_make(NULL, 0, tree->tree.dims, KD_FLOAT);
        query->radii = NULL;
        query->scratch = NULL;
    }
    if (search->kind == POINTS_NEAREST) KD_TRY(check_k(search, rows_of(tree, search)));
    if (tree->parts) return KD_OK; /* a distributed tree first copies its arrays */
    KD_TRY(points_check_memory(tree, search, tree->cuda == NULL));
    return search->kind == POINTS_FILL && !tree->cuda
               ? points_check_offsets(search->offsets, rows_of(tree, search))
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
    const caller_array place = {to, "ids", sizeof *to};
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

/* Ids of 64 bits: the search stores 32-bit ids in the second half of the caller's array, and this
   function widens them in place from its beginning. Each id is read before the position that may
   overlap it is written. */
static kd_status wide_end(wide_ids *ids, kd_status status, void *stream) {
    for (uint64_t i = 0; status == KD_OK && i < ids->count; ++i) {
        uint32_t narrow;
        memcpy(&narrow, (const char *)ids->host + (ids->count + i) * sizeof narrow, sizeof narrow);
        const uint64_t wide = narrow == KD_NO_POINT ? KD_NO_POINT64 : narrow;
        memcpy((char *)ids->host + i * sizeof wide, &wide, sizeof wide);
    }
    if (ids->host == ids->to) return status;
    if (status == KD_OK)
        status = device_copy(ids->to, ids->host, ids->count * sizeof *ids->to, stream);
    if (status == KD_OK) status = device_stream_wait(stream);
    memory_free(ids->host);
    return status;
}

/* Determines the number of results; the last offset may be in device memory. */
static kd_status count_answers(uint64_t *out, const kd_points *tree, const points_search *search) {
    const uint64_t rows = search->query.points.count;
    *out = rows * search->k;
    if (search->kind == POINTS_NEAREST) return KD_OK;
    if (!device_in_use() || device_of_pointer(search->offsets) < 0) {
        *out = search->offsets[rows];
        return KD_OK;
    }
    KD_TRY(device_copy(out, search->offsets + rows, sizeof *out, tree->options.stream));
    return device_stream_wait(tree->options.stream);
}

/* --- dispatch ------------------------------------------------------------------------------- */

static const points_backend *backend_of(const kd_points *tree) {
    return tree->parts     ? points_distributed.backend
           : tree->cuda    ? &points_backend_cuda
           : tree->dynamic ? &points_backend_layers
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
    KD_REQUIRE(search->kind != POINTS_COUNT || search->out.sums, KD_ERROR_USAGE,
               "`offsets` must not be NULL");
    KD_REQUIRE(search->kind != POINTS_FILL || search->offsets, KD_ERROR_USAGE,
               "`offsets` must not be NULL");
    if (search->checked == KD_OK) search->checked = check(tree, search, query);
    if (tree->parts && (!search->out.wide || tree->spread.distributed))
        return dispatch(tree, search);
    KD_TRY(search->checked);
    if (!search->out.wide) return dispatch(tree, search);
    wide_ids wide;
    uint64_t answers = 0;
    KD_TRY(count_answers(&answers, tree, search));
    KD_TRY(wide_begin(&wide, search->out.wide, answers, tree));
    search->out.wide = NULL;
    search->out.ids = wide.narrow;
    return wide_end(&wide, dispatch(tree, search), tree->options.stream);
}

/* --- one query per call --------------------------------------------------------------------- */

enum { ALONE_K = 20, ALONE_CAPACITY = ALONE_K + 1 /* leafindex_capacity(ALONE_K) */ };

/* Fast path for a single query of floats with no options but max_radius. Returns false if the
   general path has to be taken, which also reports errors. */
static bool answer_alone(const kd_points *tree, const kd_points_query *query, uint32_t k,
                         uint32_t *ids, float *dist2, uint32_t *counts) {
    const size_t rest = offsetof(kd_points_query, coherent);
    if (!tree || !query || !tree->index.shape.count || tree->dynamic || k - 1 >= ALONE_K ||
        tree->index.scalar != POINT_FLOAT || query->struct_size != sizeof *query)
        return false;
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
    const uint32_t count = leafindex_nearest_keys(&tree->index, at, k, bound2, keys, NULL);
    for (uint32_t j = count; j < k; ++j) keys[j] = leaf_key(INFINITY, KD_NO_POINT);
    for (uint32_t j = 0; ids && j < k; ++j)
        ids[j] = j < count ? points_id_of(tree, leaf_key_id(keys[j])) : KD_NO_POINT;
    for (uint32_t j = 0; dist2 && j < k; ++j) dist2[j] = leaf_key_dist2(keys[j]);
    if (counts) counts[0] = count;
    return true;
}

/* --- the public functions ------------------------------------------------------------------- */

kd_status kd_points_nearest(const kd_points *tree, const kd_points_query *query, uint32_t k,
                            uint32_t *ids, void *dist2, uint32_t *counts) {
    if (answer_alone(tree, query, k, ids, (float *)dist2, counts)) return KD_OK;
    points_search search = {
        .kind = POINTS_NEAREST, .k = k, .out = {.ids = ids, .dist2 = dist2, .counts = counts}};
    return points_search_tree(tree, &search, query);
}

kd_status kd_points_closest(const kd_points *tree, const kd_points_query *query, uint32_t *ids,
                            void *dist2) {
    return kd_points_nearest(tree, query, 1, ids, dist2, NULL);
}

kd_status kd_points_nearest64(const kd_points *tree, const kd_points_query *query, uint32_t k,
                              uint64_t *ids, void *dist2, uint32_t *counts) {
    points_search search = {
        .kind = POINTS_NEAREST, .k = k, .out = {.wide = ids, .dist2 = dist2, .counts = counts}};
    return points_search_tree(tree, &search, query);
}

kd_status kd_points_closest64(const kd_points *tree, const kd_points_query *query, uint64_t *ids,
                              void *dist2) {
    return kd_points_nearest64(tree, query, 1, ids, dist2, NULL);
}

kd_status kd_points_within_count(const kd_points *tree, const kd_points_query *query,
                                 uint64_t *offsets) {
    points_search search = {.kind = POINTS_COUNT, .out = {.sums = offsets}};
    return points_search_tree(tree, &search, query);
}

kd_status kd_points_within(const kd_points *tree, const kd_points_query *query,
                           const uint64_t *offsets, uint32_t *ids, void *dist2) {
    points_search search = {
        .kind = POINTS_FILL, .offsets = offsets, .out = {.ids = ids, .dist2 = dist2}};
    return points_search_tree(tree, &search, query);
}

kd_status kd_points_within64(const kd_points *tree, const kd_points_query *query,
                             const uint64_t *offsets, uint64_t *ids, void *dist2) {
    points_search search = {
        .kind = POINTS_FILL, .offsets = offsets, .out = {.wide = ids, .dist2 = dist2}};
    return points_search_tree(tree, &search, query);
}

kd_status kd_points_self_nearest(const kd_points *tree, const kd_points_query *query, uint32_t k,
                                 uint32_t *order, uint32_t *ids, void *dist2, uint32_t *counts) {
    points_search search = {.kind = POINTS_NEAREST,
                            .calls = POINTS_SELF,
                            .k = k,
                            .order = order,
                            .out = {.ids = ids, .dist2 = dist2, .counts = counts}};
    return points_search_tree(tree, &search, query);
}

kd_status kd_points_self_within_count(const kd_points *tree, const kd_points_query *query,
                                      uint32_t *order, uint64_t *offsets) {
    points_search search = {
        .kind = POINTS_COUNT, .calls = POINTS_SELF, .order = order, .out = {.sums = offsets}};
    return points_search_tree(tree, &search, query);
}

kd_status kd_points_self_within(const kd_points *tree, const kd_points_query *query,
                                uint32_t *order, const uint64_t *offsets, uint32_t *ids,
                                void *dist2) {
    points_search search = {.kind = POINTS_FILL,
                            .calls = POINTS_SELF,
                            .order = order,
                            .offsets = offsets,
                            .out = {.ids = ids, .dist2 = dist2}};
    return points_search_tree(tree, &search, query);
}

static kd_status search_boxes(const kd_points *tree, points_search *search,
                              const kd_point_array *lo, const kd_point_array *hi) {
    search->calls = POINTS_BOXES;
    search->query = defaults;
    if (lo && hi) {
        search->query.points = *lo;
        search->hi = *hi;
    } else {
        search->checked = status_fail(KD_ERROR_USAGE, __FILE__, __LINE__, "`%s` must not be NULL",
                                      lo ? "hi" : "lo");
    }
    return points_search_tree(tree, search, NULL);
}

kd_status kd_points_in_box_count(const kd_points *tree, const kd_point_array *lo,
                                 const kd_point_array *hi, uint64_t *offsets) {
    points_search search = {.kind = POINTS_COUNT, .out = {.sums = offsets}};
    return search_boxes(tree, &search, lo, hi);
}

kd_status kd_points_in_box(const kd_points *tree, const kd_point_array *lo,
                           const kd_point_array *hi, const uint64_t *offsets, uint32_t *ids) {
    points_search search = {.kind = POINTS_FILL, .offsets = offsets, .out = {.ids = ids}};
    return search_boxes(tree, &search, lo, hi);
}

uint64_t kd_points_scratch_bytes(const kd_points *tree, const kd_points_query *query) {
    kd_points_query taken;
    if (!tree || tree->parts || take_query(&taken, query) != KD_OK) return 0;
    if (tree->cuda) return points_cuda_scratch_bytes(tree, &taken);
    return points_cpu_scratch_bytes(tree, &taken);
}

kd_status kd_points_visit(const kd_points *tree, const kd_points_query *query,
                          kd_points_visitor visit, void *context) {
    const point_visitor visitor = {.callback = visit, .context = context};
    points_search search = {.kind = POINTS_COUNT};
    KD_REQUIRE(tree, KD_ERROR_USAGE, "`tree` must not be NULL");
    KD_REQUIRE(visit, KD_ERROR_USAGE, "`visit` must not be NULL");
    KD_TRY(check(tree, &search, query));
    KD_REQUIRE(!tree->cuda && !tree->parts, KD_ERROR_USAGE,
               "a tree on %s does not support callbacks; open it with `device` = cpu",
               tree->options.device);
    return points_visit(tree, &search, &visitor);
}

/* Downloads a tree whose ids are input positions, adding the first id. */
static kd_status download_numbered(const kd_points *tree, void *coordinates, uint64_t *ids,
                                   uint8_t *axes) {
    kd_points copy;
    KD_TRY(points_copy_whole(&copy, tree));
    const kd_status status = kd_points_download64(&copy, coordinates, ids, axes);
    for (uint64_t i = 0; ids && status == KD_OK && i < copy.tree.count; ++i)
        ids[i] += tree->spread.first;
    points_release(&copy);
    return status;
}

kd_status kd_points_download64(const kd_points *tree, void *coordinates, uint64_t *ids,
                               uint8_t *axes) {
    wide_ids wide;
    KD_REQUIRE(tree, KD_ERROR_USAGE, "`tree` must not be NULL");
    if (tree->spread.first) return download_numbered(tree, coordinates, ids, axes);
    KD_TRY(wide_begin(&wide, ids, points_live_count(tree), tree));
    return wide_end(&wide, kd_points_download(tree, coordinates, wide.narrow, axes),
                    tree->options.stream);
}
