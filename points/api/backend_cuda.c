/* The CUDA backend: makes the caller's arrays accessible to the device, searches the layers of a
   changed tree one after the other and merges their results. When rows are filled at offsets, it
   counts them again, as offsets of another query would cause writes out of bounds. */
#include "points/api/dynamic.h"
#include "points/api/points_device_call.h"
#include "points/api/search.h"
#include "points/tree/bounds.h"

/* State of one search. */
typedef struct device_call_request {
    points_call call;
    const kd_points *tree;
    const points_search *search;
    point_self_query self_query; /* argument of POINTS_SELF */
    point_boxes boxes;           /* argument of POINTS_BOXES, readable by the device */
    uint64_t rows;               /* number of queries, boxes, or points of a self-query */
} device_call_request;

/* --- layers: the tree itself, and those inserted later -------------------------------------- */

static uint32_t layers_of(const device_call_request *call) {
    const bool one =
        call->call.whole || !call->tree->dynamic || call->search->calls != POINTS_QUERIES;
    return one ? 1 : (uint32_t)call->tree->dynamic->count;
}

/* Returns the call's query for one layer; 0 is the tree itself. */
static point_query_cuda query_of_layer(const device_call_request *search, uint32_t layer) {
    points_call call = search->call;
    if (layer == 0) return call.query;
    call.on = search->tree->dynamic->layers[layer].tree->cuda;
    call.query.index = &call.on->index;
    call.query.method = points_call_method(&call, &search->search->query, call.query.k);
    return call.query;
}

static kd_status rename_of_layer(const device_call_request *call, uint32_t layer, uint32_t *ids,
                                 uint64_t count) {
    const points_cuda *points =
        layer ? call->tree->dynamic->layers[layer].tree->cuda : call->call.on;
    return ids && points->renamed
               ? points_device_rename(ids, count, points->renamed, call->call.stream)
               : KD_OK;
}

/* Returns whether a single tree has to be built first: removed points are marked only in the
   leaves, which do not support all queries. */
static bool needs_whole(const device_call_request *call) {
    const point_query_cuda *q = &call->call.query;
    const points_dynamic *dynamic = call->tree->dynamic;
    const bool walks = q->method == POINT_QUERY_WALK || q->metric || q->k > POINT_LEAVES_K_MAX;
    if (call->search->calls != POINTS_QUERIES) return true;
    for (int l = 0; dynamic && l < dynamic->count; ++l)
        if (dynamic->layers[l].tombstones.count > 0 &&
            (walks || !dynamic->layers[l].tree->cuda->index.points))
            return true;
    return false;
}

/* Provides scratch that is large enough for each layer in turn. */
static kd_status give_scratch(device_call_request *call) {
    point_query_cuda *q = &call->call.query;
    size_t maximum = 0;
    if (call->search->calls == POINTS_BOXES) return KD_OK;
    if (call->search->calls == POINTS_SELF)
        KD_TRY(point_self_cuda_scratch_bytes(&maximum, q, &call->self_query));
    for (uint32_t l = 0; call->search->calls == POINTS_QUERIES && l < layers_of(call); ++l) {
        const point_query_cuda layer = query_of_layer(call, l);
        size_t bytes = 0;
        KD_TRY(point_query_cuda_scratch_bytes(&bytes, &layer));
        if (bytes > maximum) maximum = bytes;
    }
    q->scratch_bytes = maximum;
    return points_call_give_scratch(&call->call);
}

/* --- arguments ------------------------------------------------------------------------------ */

/* Validates queries and radii in host memory. */
static kd_status check_on_host(const points_call *call) {
    const point_array *radii = &call->radii;
    point_box box;
    KD_TRY(point_scan(&box, &call->query.points));
    for (uint64_t i = 0; i < radii->count; ++i) {
        const double radius = point_array_coordinate(radii, i, 0);
        KD_REQUIRE(radius >= 0, KD_ERROR_INPUT, "radius %llu is %g; expected 0 or more",
                   (unsigned long long)i, radius);
    }
    return KD_OK;
}

/* Returns whether an array that kernels read is in staging memory, or NULL. */
static bool is_staged(const points_call *call, const void *at) {
    return !at || ((const char *)at >= call->staging &&
                   (const char *)at < call->staging + DEVICE_STAGING_BYTES);
}

/* Validates queries and radii where they are stored. On the device this runs concurrently with the
   search, and the result is reported at the end of the call. Asynchronous calls are not validated:
   a query that is not finite finds nothing. */
static kd_status check_queries(device_call_request *search) {
    points_call *call = &search->call;
    const point_array *points = &call->query.points;
    if (call->asynchronous || search->search->calls != POINTS_QUERIES) return KD_OK;
    if (is_staged(call, points->coordinates) && is_staged(call, call->radii.coordinates))
        return check_on_host(call);
    call->checks = true;
    return points_device_find_bad((points_bad *)(void *)call->staging, points, &call->radii,
                                  call->stream);
}

/* Makes an array of points accessible to the device. */
static kd_status stage_points(points_call *call, point_array *points) {
    const point_array array = *points;
    const uint64_t one = array.dims * point_scalar_bytes(array.scalar);
    return points_call_stage_input(call, &points->coordinates, array.coordinates,
                                   array.count ? (array.count - 1) * array.stride_bytes + one : 0);
}

static kd_status stage_queries(device_call_request *search) {
    points_call *call = &search->call;
    point_query_cuda *q = &call->query;
    const kd_points_query *query = &search->search->query;
    const point_scalar scalar = search->tree->tree.scalar;
    const uint64_t scalar_bytes = point_scalar_bytes(scalar);
    q->points = points_queries(search->tree, &query->points);
    KD_TRY(stage_points(call, &q->points));
    KD_TRY(points_call_stage_input(call, &q->radii, query->radii, search->rows * scalar_bytes));
    q->coherent = query->coherent != 0;
    const point_array radii = {q->radii, q->radii ? search->rows : 0, scalar_bytes, 1, scalar};
    call->radii = radii;
    return KD_OK;
}

/* Makes all arguments of the search accessible to the device. */
static kd_status begin(device_call_request *request, const kd_points *tree,
                       const points_search *search) {
    points_call *call = &request->call;
    const kd_points_query *query = &search->query;
    request->tree = tree;
    request->search = search;
    request->rows =
        search->calls == POINTS_SELF ? points_live_count(tree) : search->query.points.count;
    memset(&request->self_query, 0, sizeof request->self_query);
    KD_TRY(points_call_begin(call, tree, query));
    if (search->calls == POINTS_QUERIES) KD_TRY(stage_queries(request));
    call->query.k = search->kind == POINTS_NEAREST ? search->k : 0;
    call->query.method = points_call_method(call, query, call->query.k);
    if (needs_whole(request)) {
        KD_TRY(points_call_whole(call, tree));
        call->query.method = points_call_method(call, query, call->query.k);
    }
    if (search->calls == POINTS_BOXES) {
        request->boxes = points_boxes(tree, search);
        KD_TRY(stage_points(call, &request->boxes.lo));
        return stage_points(call, &request->boxes.hi);
    }
    request->self_query.skips = query->skip_self != 0;
    return points_call_stage_output(
        call, (void **)&request->self_query.order, search->out.order,
        (uint64_t)call->on->index.tree.count * sizeof *search->out.order, false);
}

/* Converts input indices to the caller's ids in the requested order array. */
static kd_status rename_order(const device_call_request *search) {
    const points_call *call = &search->call;
    return search->self_query.order && call->on->renamed
               ? points_device_rename(search->self_query.order, call->on->index.tree.count,
                                      call->on->renamed, call->stream)
               : KD_OK;
}

/* --- the nearest ---------------------------------------------------------------------------- */

/* Searches the later layers and merges their results with those of the first, whose k-th distance
   bounds the search. */
static kd_status add_layers(device_call_request *search) {
    points_call *call = &search->call;
    const point_query_cuda *q = &call->query;
    const point_scalar scalar = search->tree->tree.scalar;
    const uint64_t count = q->points.count, answers = count * q->k;
    const dynamic_rows first = {q->ids, q->dist2, q->counts, NULL};
    dynamic_rows more = {NULL, NULL, NULL, NULL};
    KD_TRY(points_call_take(call, (void **)&more.ids, q->ids ? answers * sizeof *more.ids : 0));
    KD_TRY(points_call_take(call, &more.dist2, answers * point_scalar_bytes(scalar)));
    KD_TRY(points_call_take(call, (void **)&more.counts, count * sizeof *more.counts));
    for (uint32_t l = 1; l < layers_of(search); ++l) {
        point_query_cuda layer = query_of_layer(search, l);
        layer.ids = more.ids;
        layer.dist2 = more.dist2;
        layer.counts = more.counts;
        if (layer.index->points) {
            layer.bounds2 = (const float *)q->dist2 + (q->k - 1);
            layer.bounds_stride = q->k;
        }
        KD_TRY(point_query_cuda_nearest(&layer));
        KD_TRY(rename_of_layer(search, l, more.ids, answers));
        KD_TRY(dynamic_merge_nearest(&first, &more, count, q->k, scalar, call->stream));
    }
    return KD_OK;
}

static kd_status nearest(const kd_points *tree, const points_search *search) {
    device_call_request request;
    points_call *call = &request.call;
    point_query_cuda *q = &call->query;
    kd_status status = KD_OK;
    const point_rows out = {search->out.ids, search->out.dist2, search->out.counts};
    KD_TRY_GOTO(begin(&request, tree, search));
    const uint64_t answers = request.rows * search->k;
    const bool several = layers_of(&request) > 1;
    call->again = several;
    KD_TRY_GOTO(points_call_stage_rows(call, &out, request.rows, search->k));
    if (several && !q->dist2)
        KD_TRY_GOTO(
            points_call_take(call, &q->dist2, answers * point_scalar_bytes(tree->tree.scalar)));
    if (several && !q->counts)
        KD_TRY_GOTO(points_call_take(call, (void **)&q->counts, request.rows * sizeof *q->counts));
    KD_TRY_GOTO(check_queries(&request));
    KD_TRY_GOTO(give_scratch(&request));
    KD_TRY_GOTO(search->calls == POINTS_SELF ? point_self_cuda_nearest(q, &request.self_query)
                                             : point_query_cuda_nearest(q));
    KD_TRY_GOTO(rename_order(&request));
    KD_TRY_GOTO(rename_of_layer(&request, 0, q->ids, answers));
    if (several && request.rows) KD_TRY_GOTO(add_layers(&request));
done:
    return points_call_end(call, status);
}

/* --- counts --------------------------------------------------------------------------------- */

/* Computes the offsets of all layers together and, if there are several, those of each layer,
   consecutively in `layer_offsets`. */
static kd_status count_layers(device_call_request *call, uint64_t *offsets,
                              uint64_t *layer_offsets) {
    const uint64_t rows = call->rows + 1;
    const uint32_t layers = layers_of(call);
    for (uint32_t l = 0; l < layers; ++l) {
        const point_query_cuda layer = query_of_layer(call, l);
        KD_TRY(point_query_cuda_count_within(&layer,
                                             layer_offsets ? layer_offsets + l * rows : offsets));
    }
    if (layers == 1) return KD_OK;
    KD_TRY(device_copy(offsets, layer_offsets, rows * sizeof *layer_offsets, call->call.stream));
    for (uint32_t l = 1; l < layers; ++l)
        KD_TRY(dynamic_add_offsets(offsets, layer_offsets + l * rows, rows, call->call.stream));
    return KD_OK;
}

/* Provides the memory needed for counting, and computes the offsets in device memory. */
static kd_status count_to(device_call_request *search, uint64_t *offsets,
                          uint64_t **layer_offsets) {
    points_call *call = &search->call;
    const uint32_t layers = layers_of(search);
    KD_TRY(points_call_take(call, (void **)layer_offsets,
                            layers > 1 ? layers * (search->rows + 1) * sizeof **layer_offsets : 0));
    KD_TRY(check_queries(search));
    KD_TRY(give_scratch(search));
    if (search->search->calls == POINTS_BOXES)
        return points_device_count_boxes(&call->query.index->tree, &search->boxes, offsets,
                                         call->stream);
    return search->search->calls == POINTS_SELF
               ? point_self_cuda_count_within(&call->query, &search->self_query, offsets)
               : count_layers(search, offsets, *layer_offsets);
}

static kd_status count(const kd_points *tree, const points_search *search) {
    device_call_request call;
    kd_status status = KD_OK;
    uint64_t *sums = NULL, *layer_offsets = NULL;
    KD_TRY_GOTO(begin(&call, tree, search));
    KD_TRY_GOTO(points_call_stage_output(&call.call, (void **)&sums, search->out.offsets,
                                         (call.rows + 1) * sizeof *sums, false));
    KD_TRY_GOTO(count_to(&call, sums, &layer_offsets));
    KD_TRY_GOTO(rename_order(&call));
done:
    return points_call_end(&call.call, status);
}

/* --- rows at offsets ------------------------------------------------------------------------ */

/* Merges the results of all layers, `answers` in total, into the call's rows. */
static kd_status fill_layers(device_call_request *search, const uint64_t *offsets,
                             const uint64_t *layer_offsets, uint64_t answers) {
    points_call *call = &search->call;
    const point_query_cuda *q = &call->query;
    const point_scalar type = search->tree->tree.scalar;
    const uint64_t rows = search->rows + 1, scalar = point_scalar_bytes(type);
    const dynamic_rows out = {q->ids, q->dist2, NULL, offsets};
    const uint32_t layers = layers_of(search);
    dynamic_rows all[LAYERS_MAX];
    uint64_t totals[LAYERS_MAX], first = 0;
    void *ids = NULL, *dist2 = NULL;
    KD_TRY(points_call_take(call, &ids, answers * sizeof(uint32_t)));
    KD_TRY(points_call_take(call, &dist2, answers * scalar));
    for (uint32_t l = 0; l < layers; ++l)
        KD_TRY(device_copy(&totals[l], layer_offsets + (l + 1) * rows - 1, sizeof *totals,
                           call->stream));
    KD_TRY(device_stream_wait(call->stream));
    for (uint32_t l = 0; l < layers; first += totals[l++]) {
        point_query_cuda layer = query_of_layer(search, l);
        layer.ids = (uint32_t *)ids + first;
        layer.dist2 = (char *)dist2 + first * scalar;
        all[l] = (dynamic_rows){layer.ids, layer.dist2, NULL, layer_offsets + l * rows};
        if (totals[l] == 0) continue;
        KD_TRY(point_query_cuda_within(&layer, all[l].offsets));
        KD_TRY(rename_of_layer(search, l, layer.ids, totals[l]));
    }
    return dynamic_merge_within(&out, all, (int)layers, search->rows, type, call->stream);
}

/* Fills the rows from a single tree. Neighbour queries need both arrays, ids and distances. */
static kd_status fill_one(device_call_request *search, const uint64_t *offsets, uint64_t answers) {
    points_call *call = &search->call;
    point_query_cuda *q = &call->query;
    const uint64_t scalar = point_scalar_bytes(search->tree->tree.scalar);
    if (search->search->calls == POINTS_BOXES)
        return q->ids ? points_device_fill_boxes(&q->index->tree, &search->boxes, offsets,
                                                 call->on->renamed, q->ids, call->stream)
                      : KD_OK;
    if (!q->ids) KD_TRY(points_call_take(call, (void **)&q->ids, answers * sizeof *q->ids));
    if (!q->dist2) KD_TRY(points_call_take(call, &q->dist2, answers * scalar));
    KD_TRY(search->search->calls == POINTS_SELF
               ? point_self_cuda_within(q, &search->self_query, offsets)
               : point_query_cuda_within(q, offsets));
    return rename_of_layer(search, 0, q->ids, answers);
}

static kd_status fill(const kd_points *tree, const points_search *search) {
    device_call_request request;
    points_call *call = &request.call;
    point_query_cuda *q = &call->query;
    kd_status status = KD_OK;
    uint64_t answers = 0, *right = NULL, *layer_offsets = NULL;
    const void *data = NULL;
    KD_TRY_GOTO(begin(&request, tree, search));
    const uint64_t rows = request.rows + 1, scalar = point_scalar_bytes(tree->tree.scalar);
    call->asynchronous = false; /* the number of results is needed on the host */
    KD_TRY_GOTO(points_call_stage_input(call, &data, search->out.offsets, rows * sizeof *right));
    KD_TRY_GOTO(points_call_take(call, (void **)&right, rows * sizeof *right));
    KD_TRY_GOTO(count_to(&request, right, &layer_offsets));
    KD_TRY_GOTO(points_device_check_offsets((const uint64_t *)data, right, rows, call->stream));
    KD_TRY_GOTO(device_copy(&answers, right + rows - 1, sizeof answers, call->stream));
    KD_TRY_GOTO(device_stream_wait(call->stream));
    KD_TRY_GOTO(points_call_stage_output(call, (void **)&q->ids, search->out.ids,
                                         answers * sizeof *q->ids, false));
    KD_TRY_GOTO(
        points_call_stage_output(call, &q->dist2, search->out.dist2, answers * scalar, false));
    if (answers > 0)
        KD_TRY_GOTO(layer_offsets ? fill_layers(&request, right, layer_offsets, answers)
                                  : fill_one(&request, right, answers));
    KD_TRY_GOTO(rename_order(&request));
done:
    return points_call_end(call, status);
}

static kd_status box(const kd_points *tree, const points_search *search) {
    return search->kind == POINTS_COUNT ? count(tree, search) : fill(tree, search);
}

static kd_status self(const kd_points *tree, const points_search *search) {
    return search->kind == POINTS_NEAREST ? nearest(tree, search) : box(tree, search);
}

const points_backend points_backend_cuda = {
    .nearest = nearest, .count = count, .fill = fill, .box = box, .self = self};
