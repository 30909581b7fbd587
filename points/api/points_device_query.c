/* Queries of a tree on a CUDA device. */
#include "points/api/changes.h"
#include "points/api/points_device_call.h"
#include "points/device/change_rows.h"
#include "points/tree/bounds.h"

/* --- layers: the tree itself, and those that came after it --------------------------------------
 */

static uint32_t layers_of(const points_call *call, const kd_points *tree) {
    return call->whole || !tree->changes ? 1 : (uint32_t)tree->changes->count;
}

/* The call's query, asked of a layer; 0 is the tree itself. */
static point_query_cuda query_of_layer(const points_call *call, const kd_points *tree,
                                       const kd_points_query *query, uint32_t layer) {
    points_call of = *call;
    if (layer == 0) return of.query;
    of.on = tree->changes->layers[layer].tree->cuda;
    of.query.index = &of.on->index;
    of.query.method = points_call_method(&of, query, of.query.k);
    return of.query;
}

static kd_status rename_of_layer(const points_call *call, const kd_points *tree, uint32_t layer,
                                 uint32_t *ids, uint64_t count) {
    const points_cuda *on = layer ? tree->changes->layers[layer].tree->cuda : call->on;
    return ids && on->renamed ? points_device_rename(ids, count, on->renamed, call->stream) : KD_OK;
}

/* Points that have gone are told by the leaves alone, and as far as these answer. */
static bool needs_whole(const points_call *call, const kd_points *tree) {
    const point_query_cuda *q = &call->query;
    const points_changes *changes = tree->changes;
    const bool walks = q->method == POINT_QUERY_WALK || q->metric || q->k > POINT_LEAVES_K_MAX;
    for (int l = 0; changes && l < changes->count; ++l)
        if (changes->layers[l].gone.count > 0 &&
            (walks || !changes->layers[l].tree->cuda->index.points))
            return true;
    return false;
}

/* Enough for each layer in turn. */
static kd_status give_scratch(points_call *call, const kd_points *tree,
                              const kd_points_query *query) {
    size_t most = 0;
    for (uint32_t l = 0; l < layers_of(call, tree); ++l) {
        const point_query_cuda of = query_of_layer(call, tree, query, l);
        size_t bytes = 0;
        KD_TRY(point_query_cuda_scratch_bytes(&bytes, &of));
        if (bytes > most) most = bytes;
    }
    call->query.scratch_bytes = most;
    return points_call_give_scratch(call);
}

/* --- a call ------------------------------------------------------------------------------------
 */

/* Of host memory, here and now. */
static kd_status check_on_host(const points_call *call) {
    const point_array *radii = &call->radii;
    point_box box;
    KD_TRY(point_scan(&box, &call->query.points));
    for (uint64_t i = 0; i < radii->count; ++i) {
        const double radius = point_array_coordinate(radii, i, 0);
        KD_REQUIRE(radius >= 0, KD_ERROR_INPUT, "radius %llu is %g, expected 0 or more",
                   (unsigned long long)i, radius);
    }
    return KD_OK;
}

/* Whether what the kernels read lies in the staging memory or is not there at all. */
static bool is_staged(const points_call *call, const void *at) {
    return !at || ((const char *)at >= call->staging &&
                   (const char *)at < call->staging + DEVICE_STAGING_BYTES);
}

/* Queries and radii are looked at where they are; on the device while others work, and told of
   in the end. Nobody waits for those of an asynchronous call: what is not finite finds nothing. */
static kd_status check_queries(points_call *call) {
    const point_array *points = &call->query.points;
    if (call->asynchronous) return KD_OK;
    if (is_staged(call, points->coordinates) && is_staged(call, call->radii.coordinates))
        return check_on_host(call);
    call->checks = true;
    return points_device_find_bad((points_bad *)(void *)call->staging, points, &call->radii,
                                  call->stream);
}

/* The query's points and radii on the device, and checked. */
static kd_status fill_query(points_call *call, const kd_points *tree, const kd_points_query *query,
                            uint32_t k) {
    point_query_cuda *q = &call->query;
    const uint64_t count = query->points.count;
    const uint64_t scalar_bytes = point_scalar_bytes(tree->tree.scalar);
    q->points = point_array_make(NULL, count, tree->tree.dims, tree->tree.scalar);
    const uint64_t point_bytes = q->points.stride_bytes;
    if (query->points.stride_bytes) q->points.stride_bytes = query->points.stride_bytes;
    KD_TRY(points_call_bring_in(call, &q->points.coordinates, query->points.coordinates,
                                count ? (count - 1) * q->points.stride_bytes + point_bytes : 0));
    KD_TRY(points_call_bring_in(call, &q->radii, query->radii, count * scalar_bytes));
    q->k = k;
    q->coherent = query->coherent != 0;
    q->method = points_call_method(call, query, k);
    const point_array radii = {q->radii, q->radii ? count : 0, scalar_bytes, 1, tree->tree.scalar};
    call->radii = radii;
    return KD_OK;
}

static kd_status begin(points_call *call, const kd_points *tree, const kd_points_query *query,
                       uint32_t k) {
    KD_TRY(points_call_begin(call, tree, query));
    KD_TRY(fill_query(call, tree, query, k));
    if (!needs_whole(call, tree)) return KD_OK;
    KD_TRY(points_call_whole(call, tree));
    call->query.method = points_call_method(call, query, k);
    return KD_OK;
}

/* The answers of later layers join those of the first, whose k-th bounds what is of use. */
static kd_status add_layers(points_call *call, const kd_points *tree,
                            const kd_points_query *query) {
    const point_query_cuda *q = &call->query;
    const point_scalar scalar = tree->tree.scalar;
    const uint64_t count = q->points.count, answers = count * q->k;
    const change_rows first = {q->ids, q->dist2, q->counts, NULL};
    change_rows more = {NULL, NULL, NULL, NULL};
    KD_TRY(points_call_take(call, (void **)&more.ids, q->ids ? answers * sizeof *more.ids : 0));
    KD_TRY(points_call_take(call, &more.dist2, answers * point_scalar_bytes(scalar)));
    KD_TRY(points_call_take(call, (void **)&more.counts, count * sizeof *more.counts));
    for (uint32_t l = 1; l < layers_of(call, tree); ++l) {
        point_query_cuda of = query_of_layer(call, tree, query, l);
        of.ids = more.ids;
        of.dist2 = more.dist2;
        of.counts = more.counts;
        if (of.index->points) {
            of.bounds2 = (const float *)q->dist2 + (q->k - 1);
            of.bounds_stride = q->k;
        }
        KD_TRY(point_query_cuda_nearest(&of));
        KD_TRY(rename_of_layer(call, tree, l, more.ids, answers));
        KD_TRY(change_merge_nearest(&first, &more, count, q->k, scalar, call->stream));
    }
    return KD_OK;
}

kd_status points_cuda_nearest(const kd_points *tree, const kd_points_query *query, uint32_t k,
                              const point_rows *out) {
    points_call call;
    kd_status status = KD_OK;
    const uint64_t count = query->points.count;
    KD_TRY_GOTO(begin(&call, tree, query, k));
    point_query_cuda *q = &call.query;
    const bool several = layers_of(&call, tree) > 1;
    call.again = several;
    KD_TRY_GOTO(points_call_bring_rows(&call, out, count, k));
    if (several && !q->dist2)
        KD_TRY_GOTO(
            points_call_take(&call, &q->dist2, count * k * point_scalar_bytes(tree->tree.scalar)));
    if (several && !q->counts)
        KD_TRY_GOTO(points_call_take(&call, (void **)&q->counts, count * sizeof *q->counts));
    KD_TRY_GOTO(check_queries(&call));
    KD_TRY_GOTO(give_scratch(&call, tree, query));
    KD_TRY_GOTO(point_query_cuda_nearest(q));
    KD_TRY_GOTO(rename_of_layer(&call, tree, 0, q->ids, count * k));
    if (several && count) KD_TRY_GOTO(add_layers(&call, tree, query));
done:
    return points_call_end(&call, status);
}

/* Offsets of all layers together, and, for several, those of each, one behind the other at `own`.
 */
static kd_status count_layers(points_call *call, const kd_points *tree,
                              const kd_points_query *query, uint64_t *offsets, uint64_t *own) {
    const uint64_t rows = query->points.count + 1;
    const uint32_t layers = layers_of(call, tree);
    for (uint32_t l = 0; l < layers; ++l) {
        const point_query_cuda of = query_of_layer(call, tree, query, l);
        KD_TRY(point_query_cuda_count_within(&of, own ? own + l * rows : offsets));
    }
    if (layers == 1) return KD_OK;
    KD_TRY(device_copy(offsets, own, rows * sizeof *own, call->stream));
    for (uint32_t l = 1; l < layers; ++l)
        KD_TRY(change_add_offsets(offsets, own + l * rows, rows, call->stream));
    return KD_OK;
}

/* Room for the offsets of each layer, if there are several. */
static kd_status take_own(points_call *call, const kd_points *tree, uint64_t rows, void **own) {
    const uint32_t layers = layers_of(call, tree);
    return points_call_take(call, own, layers > 1 ? layers * rows * sizeof(uint64_t) : 0);
}

kd_status points_cuda_count_within(const kd_points *tree, const kd_points_query *query,
                                   uint64_t *offsets) {
    points_call call;
    kd_status status = KD_OK;
    void *found = NULL, *own = NULL;
    const uint64_t rows = query->points.count + 1;
    KD_TRY_GOTO(begin(&call, tree, query, 0));
    KD_TRY_GOTO(points_call_bring_out(&call, &found, offsets, rows * sizeof *offsets, false));
    KD_TRY_GOTO(take_own(&call, tree, rows, &own));
    KD_TRY_GOTO(check_queries(&call));
    KD_TRY_GOTO(give_scratch(&call, tree, query));
    KD_TRY_GOTO(count_layers(&call, tree, query, (uint64_t *)found, (uint64_t *)own));
done:
    return points_call_end(&call, status);
}

/* All that layers find, `answers` in all, to the call's rows. */
static kd_status fill_layers(points_call *call, const kd_points *tree, const kd_points_query *query,
                             const uint64_t *offsets, const uint64_t *own, uint64_t answers) {
    const point_query_cuda *q = &call->query;
    const uint64_t rows = query->points.count + 1, scalar = point_scalar_bytes(tree->tree.scalar);
    const change_rows out = {q->ids, q->dist2, NULL, offsets};
    const uint32_t layers = layers_of(call, tree);
    change_rows all[LAYERS_MOST];
    uint64_t totals[LAYERS_MOST], begin = 0;
    void *ids = NULL, *dist2 = NULL;
    KD_TRY(points_call_take(call, &ids, answers * sizeof(uint32_t)));
    KD_TRY(points_call_take(call, &dist2, answers * scalar));
    for (uint32_t l = 0; l < layers; ++l)
        KD_TRY(device_copy(&totals[l], own + (l + 1) * rows - 1, sizeof *totals, call->stream));
    KD_TRY(device_stream_wait(call->stream));
    for (uint32_t l = 0; l < layers; begin += totals[l++]) {
        point_query_cuda of = query_of_layer(call, tree, query, l);
        of.ids = (uint32_t *)ids + begin;
        of.dist2 = (char *)dist2 + begin * scalar;
        all[l] = (change_rows){of.ids, of.dist2, NULL, own + l * rows};
        if (totals[l] == 0) continue;
        KD_TRY(point_query_cuda_within(&of, all[l].offsets));
        KD_TRY(rename_of_layer(call, tree, l, of.ids, totals[l]));
    }
    return change_merge_within(&out, all, (int)layers, query->points.count, tree->tree.scalar,
                               call->stream);
}

/* The same of one tree. */
static kd_status fill(points_call *call, const kd_points *tree, const uint64_t *offsets,
                      uint64_t answers) {
    point_query_cuda *q = &call->query;
    const uint64_t scalar = point_scalar_bytes(tree->tree.scalar);
    if (!q->ids) KD_TRY(points_call_take(call, (void **)&q->ids, answers * sizeof *q->ids));
    if (!q->dist2) KD_TRY(points_call_take(call, &q->dist2, answers * scalar));
    KD_TRY(point_query_cuda_within(q, offsets));
    return rename_of_layer(call, tree, 0, q->ids, answers);
}

/* Offsets are counted once more: those of another query would write anywhere. */
kd_status points_cuda_within(const kd_points *tree, const kd_points_query *query,
                             const uint64_t *offsets, const point_rows *out) {
    points_call call;
    kd_status status = KD_OK;
    const uint64_t rows = query->points.count + 1, scalar = point_scalar_bytes(tree->tree.scalar);
    uint64_t answers = 0, *right = NULL;
    void *own = NULL;
    const void *given = NULL;
    KD_TRY_GOTO(begin(&call, tree, query, 0));
    point_query_cuda *q = &call.query;
    call.asynchronous = false; /* how many there are is waited for */
    KD_TRY_GOTO(points_call_bring_in(&call, &given, offsets, rows * sizeof *offsets));
    KD_TRY_GOTO(points_call_take(&call, (void **)&right, rows * sizeof *right));
    KD_TRY_GOTO(take_own(&call, tree, rows, &own));
    KD_TRY_GOTO(check_queries(&call));
    KD_TRY_GOTO(give_scratch(&call, tree, query));
    KD_TRY_GOTO(count_layers(&call, tree, query, right, (uint64_t *)own));
    KD_TRY_GOTO(points_device_check_offsets((const uint64_t *)given, right, rows, call.stream));
    KD_TRY_GOTO(device_copy(&answers, right + rows - 1, sizeof answers, call.stream));
    KD_TRY_GOTO(device_stream_wait(call.stream));
    KD_TRY_GOTO(points_call_bring_out(&call, (void **)&q->ids, out->ids, answers * sizeof *out->ids,
                                      false));
    KD_TRY_GOTO(points_call_bring_out(&call, &q->dist2, out->dist2, answers * scalar, false));
    if (answers == 0) goto done;
    KD_TRY_GOTO(own ? fill_layers(&call, tree, query, right, (const uint64_t *)own, answers)
                    : fill(&call, tree, right, answers));
done:
    return points_call_end(&call, status);
}
