/* Implementation of the public API for distributed trees, on several devices or in several
   processes: validates options and arrays and calls parts.h and call.h. */
#include "core/device/device.h"
#include "core/device/device_stream.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/parallel/call.h"
#include "core/status.h"
#include "distributed/points/call.h"
#include "points/api/search.h"
#include "points/select/builders.h"
#include "points/tree/bounds.h"
#include <assert.h>
#include <kandela/exchange.h>
#include <kandela/points.h>
#include <stdbool.h>
#include <stdio.h>

enum {
    COPIES_MAX = 1000000 /* up to this many points "auto" copies all to every part on a CPU */
};

/* --- host copies ------------------------------------------------------------------------------ */

enum { HOST_ARRAYS_MAX = 8 };

/* Temporary host copies of a caller's arrays in device memory, for calls that work on the host.
   Arrays in host memory are used in place. */
typedef struct host_arrays {
    void *stream; /* the caller's */
    struct {
        void *host, *to; /* to: destination of the result, or NULL */
        uint64_t bytes;
    } taken[HOST_ARRAYS_MAX];
    int count;
} host_arrays;

static bool is_on_host(const void *array, uint64_t bytes) {
    return !array || bytes == 0 || !device_in_use() || device_of_pointer(array) < 0;
}

static kd_status reserve_host(host_arrays *arrays, void **out, void *to, uint64_t bytes) {
    assert(arrays->count < HOST_ARRAYS_MAX);
    KD_TRY(memory_reserve(out, bytes, 1));
    arrays->taken[arrays->count].host = *out;
    arrays->taken[arrays->count].to = to;
    arrays->taken[arrays->count++].bytes = bytes;
    return KD_OK;
}

/* Sets *copy to a host copy of an array in device memory, or to NULL if the array is on the host.
   `array` may be NULL, and `bytes` 0. */
static kd_status host_copy(host_arrays *arrays, const void *array, uint64_t bytes, void **copy) {
    *copy = NULL;
    if (is_on_host(array, bytes)) return KD_OK;
    KD_TRY(reserve_host(arrays, copy, NULL, bytes));
    KD_TRY(device_copy(*copy, array, bytes, arrays->stream));
    return device_stream_wait(arrays->stream);
}

/* Replaces *array by a host copy if it is in device memory. */
static kd_status host_arrays_in(host_arrays *arrays, const void **array, uint64_t bytes) {
    void *copy = NULL;
    KD_TRY(host_copy(arrays, *array, bytes, &copy));
    if (copy) *array = copy;
    return KD_OK;
}

/* Replaces *array by a host buffer, which host_arrays_end copies back. */
static kd_status host_arrays_out(host_arrays *arrays, void **array, uint64_t bytes) {
    void *capacity = NULL;
    if (is_on_host(*array, bytes)) return KD_OK;
    KD_TRY(reserve_host(arrays, &capacity, *array, bytes));
    *array = capacity;
    return KD_OK;
}

static kd_status host_arrays_points(host_arrays *arrays, kd_point_array *points) {
    const uint64_t scalar = points->scalar == KD_DOUBLE ? sizeof(double) : sizeof(float);
    const uint64_t one = points->dims * scalar;
    const uint64_t stride = points->stride_bytes ? points->stride_bytes : one;
    return host_arrays_in(arrays, &points->coordinates,
                          points->count ? (points->count - 1) * stride + one : 0);
}

/* Copies the results back if `status` is KD_OK, and frees the copies. */
static kd_status host_arrays_end(host_arrays *arrays, kd_status status) {
    for (int i = 0; i < arrays->count; ++i) {
        if (status == KD_OK && arrays->taken[i].to)
            status = device_copy(arrays->taken[i].to, arrays->taken[i].host, arrays->taken[i].bytes,
                                 arrays->stream);
        if (status == KD_OK && arrays->taken[i].to) status = device_stream_wait(arrays->stream);
        memory_free(arrays->taken[i].host);
    }
    arrays->count = 0;
    return status;
}

/* --- opening -------------------------------------------------------------------------------- */

static kd_status check(const kd_point_array *points, const kd_points_options *options) {
    const bool copies = options->spread == KD_POINTS_SPREAD_COPIES;
    const pointtree_builder *row = pointtree_builder_find(options->builder);
    KD_REQUIRE(row, KD_ERROR_USAGE, "unknown point tree builder \"%s\"; `kandela info` lists them",
               options->builder);
    KD_REQUIRE(!copies || options->first_id == 0, KD_ERROR_USAGE,
               "`first_id` is %llu; it must be 0 if `spread` is KD_POINTS_SPREAD_COPIES",
               (unsigned long long)options->first_id);
    KD_REQUIRE(!points->ids || options->first_id == 0, KD_ERROR_USAGE,
               "`first_id` is %llu, but `points->ids` is set, too; set only one of them",
               (unsigned long long)options->first_id);
    KD_REQUIRE(!points->ids || points->count < KD_NO_POINT, KD_ERROR_USAGE,
               "`count` is %llu; points with `ids` must be fewer than 2^32 - 1",
               (unsigned long long)points->count);
    const uint32_t scalar_bytes = points->scalar == KD_DOUBLE ? sizeof(double) : sizeof(float);
    const caller_array arrays[] = {{points->coordinates, "points->coordinates", scalar_bytes},
                                   {points->ids, "points->ids", sizeof *points->ids}};
    KD_TRY(caller_memory_check(arrays, 1, false));
    KD_TRY(caller_memory_check(arrays + 1, 1, true));
    point_array few = point_array_make(points->coordinates, points->count ? 1 : 0, points->dims,
                                       points->scalar == KD_DOUBLE ? POINT_DOUBLE : POINT_FLOAT);
    if (points->stride_bytes) few.stride_bytes = points->stride_bytes;
    const pointtree_options split = {POINTTREE_WIDEST, false, 0};
    KD_TRY(pointtree_check_request(&few, &split, row)); /* parts check their own number of points */
    return caller_stride_check(points->count, points->stride_bytes, points->dims, scalar_bytes,
                               "points");
}

/* Fills the properties of the whole tree that are known without its parts. */
static void describe_whole(kd_points *out, const kd_point_array *points,
                           const kd_points_options *options) {
    const points_parts *parts = out->parts;
    pointtree *tree = &out->tree;
    kd_points_info info;
    kd_points_describe_sized(parts->part[0].tree, &info, offsetof(kd_points_info, hash));
    memcpy(out->builder, info.builder, sizeof out->builder);
    tree->dims = points->dims;
    tree->scalar = points->scalar == KD_DOUBLE ? POINT_DOUBLE : POINT_FLOAT;
    tree->count = (uint32_t)(parts->count < KD_NO_POINT ? parts->count : KD_NO_POINT);
    tree->options.split =
        options->split == KD_POINTS_SPLIT_WIDEST ? POINTTREE_WIDEST : POINTTREE_ROUND_ROBIN;
    tree->box = point_box_empty();
    for (int32_t p = 0; p < parts->size && !parts->copies; ++p)
        for (uint32_t axis = 0; axis < tree->dims && parts->all[p].count; ++axis) {
            point_box_include(&tree->box, axis, parts->all[p].box.lo[axis]);
            point_box_include(&tree->box, axis, parts->all[p].box.hi[axis]);
        }
    if (!parts->copies) return;
    memcpy(tree->box.lo, info.lo, sizeof info.lo);
    memcpy(tree->box.hi, info.hi, sizeof info.hi);
}

/* Returns whether every device can hold all points: a tree of them and its build must take less
   than half of a CUDA device's memory. Copies are queried as fast as a single tree, whereas parts
   may go through the host. */
static bool copies_fit(const kd_point_array *points, const kd_points_options *options) {
    const uint64_t scalar = points->scalar == KD_DOUBLE ? sizeof(double) : sizeof(float);
    const uint64_t each = 8 * points->dims * scalar + 32;
    for (int32_t d = 0; d < device_list_count(options->device); ++d) {
        device device;
        char name[64];
        device_list_name(name, options->device, d);
        if (device_find(&device, name) != KD_OK) return false;
        const uint64_t maximum =
            device.kind == DEVICE_CUDA ? device.memory_bytes / 2 / each : COPIES_MAX;
        if (points->count > maximum) return false;
    }
    return true;
}

/* Builds the tree from one array, or from one for each part. */
static kd_status open(kd_points *out, const kd_point_array *points, uint32_t count,
                      const kd_points_options *options, kd_status checked) {
    points_parts *parts = out->parts;
    kd_points_options each = *options;
    kd_point_array coordinates = *points; /* ids are used in results only */
    each.first_id = 0;
    parts->dims = points->dims;
    parts->scalar = points->scalar == KD_DOUBLE ? POINT_DOUBLE : POINT_FLOAT;
    parts->first = options->first_id;
    const bool few = count == 1 && options->first_id == 0 && copies_fit(points, options);
    parts->copies = !parts_are_shared(parts) && (options->spread == KD_POINTS_SPREAD_COPIES ||
                                                 (options->spread == KD_POINTS_SPREAD_AUTO && few));
    each.spread = KD_POINTS_SPREAD_AUTO;
    if (points->ids && !parts_are_shared(parts)) {
        KD_TRY(KD_RESERVE(out->renamed, points->count));
        memcpy(out->renamed, points->ids, points->count * sizeof *points->ids);
        coordinates.ids = NULL;
    }
    KD_TRY(parts_are_shared(parts)
               ? parts_open_shared(parts, &coordinates, &each, checked)
               : parts_open(parts, count == 1 ? &coordinates : points, count, &each));
    if (parts->copies) parts->count = points->count;
    out->spread = (points_spread){.count = parts->count,
                                  .first = parts->first,
                                  .distributed = !parts->copies,
                                  .shared = parts_are_shared(parts),
                                  .wide = parts->wide};
    describe_whole(out, points, options);
    return KD_OK;
}

static kd_status build(kd_points *out, const kd_point_array *points,
                       const kd_points_options *options) {
    const double started = timing_now();
    memset(out, 0, sizeof *out);
    out->options = *options;
    KD_REQUIRE(points, KD_ERROR_USAGE, "`points` must not be NULL");
    KD_TRY(check(points, options));
    KD_TRY(KD_RESERVE_ZEROED(out->parts, 1));
    const kd_status status = open(out, points, 1, options, KD_OK);
    if (status != KD_OK) points_release(out);
    out->build_seconds = timing_now() - started;
    return status;
}

static kd_status check_arrays(const kd_point_array *arrays, uint32_t count,
                              const kd_points_options *options) {
    KD_REQUIRE((int)count == device_list_count(options->device), KD_ERROR_USAGE,
               "`count` is %u arrays, but `device` is %s; pass one array for each device", count,
               options->device);
    KD_REQUIRE(options->spread != KD_POINTS_SPREAD_COPIES, KD_ERROR_USAGE,
               "`spread` must not be KD_POINTS_SPREAD_COPIES if there are several arrays");
    for (uint32_t a = 0; a < count; ++a) {
        KD_TRY(check(&arrays[a], options));
        KD_REQUIRE(!arrays[a].ids, KD_ERROR_USAGE,
                   "`arrays[%u].ids` must be NULL: the points of several arrays are numbered "
                   "consecutively",
                   a);
        KD_REQUIRE(
            arrays[a].dims == arrays->dims && arrays[a].scalar == arrays->scalar, KD_ERROR_USAGE,
            "`arrays[%u]` differs from `arrays[0]` in `dims` or `scalar`; they must be equal", a);
    }
    return KD_OK;
}

kd_status kd_points_open_arrays(kd_points **out, const kd_point_array *arrays, uint32_t count,
                                const kd_points_options *options) {
    KD_CALL(0);
    kd_points_options taken;
    kd_points *opened = NULL;
    kd_status status = KD_OK;
    KD_REQUIRE(out && arrays && count, KD_ERROR_USAGE, "`%s` must not be %s",
               out ? arrays ? "count" : "arrays" : "out", out && arrays ? "0" : "NULL");
    *out = NULL;
    const double started = timing_now();
    KD_TRY(points_take_options(&taken, options));
    KD_TRY(check_arrays(arrays, count, &taken));
    if (count == 1 && taken.first_id == 0) return kd_points_open(out, arrays, options);
    KD_TRY(KD_RESERVE_ZEROED(opened, 1));
    opened->options = taken;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(opened->parts, 1));
    KD_TRY_GOTO(open(opened, arrays, count, &taken, KD_OK));
    opened->build_seconds = timing_now() - started;
    *out = opened;
done:
    if (status != KD_OK) kd_points_close(opened);
    return status;
}

/* --- trees shared by several processes ------------------------------------------------------ */

static kd_status check_exchange(const kd_exchange *exchange) {
    KD_REQUIRE(
        exchange->struct_size >= sizeof *exchange && exchange->all_gather && exchange->all_sum &&
            exchange->all_to_all,
        KD_ERROR_USAGE,
        "`exchange` lacks `struct_size`, `all_gather`, `all_sum` or `all_to_all`; set all four");
    KD_REQUIRE(exchange->size >= 1 && exchange->size <= PARTS_MAX && exchange->rank >= 0 &&
                   exchange->rank < exchange->size,
               KD_ERROR_USAGE,
               "`exchange->rank` is %d and `size` is %d; expected a rank from 0 to %d and a size "
               "from 1 to %d",
               exchange->rank, exchange->size, exchange->size - 1, PARTS_MAX);
    return KD_OK;
}

static kd_status check_shared(const kd_point_array *points, const kd_points_options *options) {
    KD_REQUIRE(device_list_count(options->device) == 1, KD_ERROR_USAGE,
               "`device` is %s; a tree that is shared by processes has one device per process",
               options->device);
    KD_REQUIRE(
        !points->ids, KD_ERROR_USAGE,
        "`points->ids` must be NULL: the points of several processes are numbered consecutively");
    return check(points, options);
}

static void take_exchange(points_parts *parts, const kd_exchange *exchange) {
    parts->calls.version = RANKS_VERSION;
    parts->calls.name = "exchange";
    parts->calls.all_gather = exchange->all_gather;
    parts->calls.all_sum = exchange->all_sum;
    parts->calls.all_to_all = exchange->all_to_all;
    parts->shared.calls = &parts->calls;
    parts->shared.user_data = exchange->user_data;
    parts->shared.rank = exchange->rank;
    parts->shared.size = exchange->size;
    parts->on_close = exchange->close;
}

kd_status kd_points_open_shared(kd_points **out, const kd_point_array *points,
                                const kd_points_options *options, const kd_exchange *exchange) {
    KD_CALL(0);
    KD_REQUIRE(out && points && exchange, KD_ERROR_USAGE, "`%s` must not be NULL",
               !out     ? "out"
               : points ? "exchange"
                        : "points");
    kd_points *opened = NULL;
    kd_points_options taken;
    *out = NULL;
    const double started = timing_now();
    KD_TRY(check_exchange(exchange));
    KD_TRY(KD_RESERVE_ZEROED(opened, 1));
    kd_status status = KD_RESERVE_ZEROED(opened->parts, 1);
    if (status != KD_OK) {
        memory_free(opened);
        return status;
    }
    take_exchange(opened->parts, exchange);
    kd_status checked = points_take_options(&taken, options);
    if (checked == KD_OK) checked = check_shared(points, &taken);
    opened->options = taken;
    status = open(opened, points, 1, &taken, checked);
    opened->build_seconds = timing_now() - started;
    if (status == KD_OK)
        *out = opened;
    else
        kd_points_close(opened);
    return status;
}

/* --- properties of a distributed tree ------------------------------------------------------- */

static void close(kd_points *tree) {
    parts_close(tree->parts);
    memory_free(tree->parts);
}

static uint64_t bytes(const kd_points *tree) {
    return parts_bytes(tree->parts);
}

static void describe(const kd_points *tree, kd_points_info *info) {
    const points_parts *parts = tree->parts;
    info->parts = (uint32_t)parts->size;
    info->copies = parts->copies;
    info->top_seconds = parts->top_seconds;
    info->sent = parts->sent;
    memcpy(info->device, tree->options.device, sizeof info->device);
}

static kd_status copy_to(kd_points *copy, const kd_points *tree) {
    const points_parts *parts = tree->parts;
    kd_points_options options = tree->options;
    void *coordinates = NULL;
    KD_REQUIRE(!parts_are_shared(parts), KD_ERROR_USAGE,
               "the points of the tree are distributed over processes; this call needs a tree of "
               "one process");
    snprintf(options.device, sizeof options.device, "cpu");
    options.first_id = 0;
    KD_TRY(memory_reserve(&coordinates, parts->count * parts->dims,
                          point_scalar_bytes(parts->scalar)));
    kd_point_array all = kd_point_array_make(coordinates, parts->count, parts->dims,
                                             parts->scalar == POINT_DOUBLE ? KD_DOUBLE : KD_FLOAT);
    all.ids = tree->renamed;
    kd_status status = parts_fetch(parts, coordinates);
    if (status == KD_OK) status = points_build(copy, &all, &options);
    memory_free(coordinates);
    return status;
}

/* --- queries -------------------------------------------------------------------------------- */

static bool is_of_a_device(const void *at) {
    return at && device_in_use() && device_of_pointer(at) >= 0;
}

/* Checks arguments after which all ranks still have to communicate: the result is passed on as
   `checked`. */
static kd_status check_arrays_of(const kd_points *tree, const points_search *search) {
    const kd_points_query *query = &search->query;
    point_box box;
    KD_TRY(points_check_memory(tree, search, false));
    if (!is_of_a_device(query->radii)) KD_TRY(points_check_radii(tree, query));
    const point_array queries = points_queries(tree, &query->points);
    return is_of_a_device(query->points.coordinates) ? KD_OK : point_scan(&box, &queries);
}

/* Copies arrays in device memory to the host, except the queries and rows if these may stay
   (`keep`). */
static kd_status copy_to_host(host_arrays *arrays, const kd_points *tree, points_search *search,
                              bool keep) {
    kd_points_query *query = &search->query;
    kd_points_rows *rows = &search->out;
    const uint64_t count = query->points.count, scalar = point_scalar_bytes(tree->tree.scalar);
    const caller_array caller = {rows->offsets, "offsets", sizeof *rows->offsets};
    const uint64_t offset_bytes = (count + 1) * sizeof *rows->offsets;
    arrays->stream = query->stream ? query->stream : tree->options.stream;
    KD_TRY(caller_memory_check(&caller, 1, false));
    uint64_t answers = count * search->k;
    if (search->kind == POINTS_FILL) {
        void *copy = NULL;
        KD_TRY(host_copy(arrays, rows->offsets, offset_bytes, &copy));
        if (copy) rows->offsets = (uint64_t *)copy;
        KD_TRY(points_check_offsets(rows->offsets, count));
        answers = rows->offsets[count];
    } else {
        KD_TRY(host_arrays_out(arrays, (void **)&rows->offsets, offset_bytes));
    }
    /* The streams of other devices do not wait for this one. */
    if (keep) return device_stream_wait(arrays->stream);
    KD_TRY(host_arrays_points(arrays, &query->points));
    KD_TRY(host_arrays_in(arrays, &query->radii, count * scalar));
    KD_TRY(host_arrays_out(arrays, (void **)&rows->ids, answers * sizeof *rows->ids));
    KD_TRY(host_arrays_out(arrays, (void **)&rows->ids64, answers * sizeof *rows->ids64));
    KD_TRY(host_arrays_out(arrays, &rows->dist2, answers * scalar));
    return host_arrays_out(arrays, (void **)&rows->counts, count * sizeof *rows->counts);
}

static parts_call call_of(const kd_points *tree, const points_search *search) {
    const parts_call call = {.parts = tree->parts,
                             .query = search->query,
                             .kind = search->kind,
                             .calls = search->calls,
                             .k = search->k,
                             .names = tree->renamed,
                             .out = search->out};
    return call;
}

static kd_status query_part(const kd_points *tree, const points_search *search) {
    host_arrays arrays = {.count = 0};
    points_search part_search = *search;
    kd_status checked = search->checked;
    parts_call call = call_of(tree, search);
    if (checked == KD_OK)
        checked =
            copy_to_host(&arrays, tree, &part_search, parts_results_on_device(tree->parts, &call));
    if (checked == KD_OK) checked = check_arrays_of(tree, &part_search);
    call = call_of(tree, &part_search);
    return host_arrays_end(&arrays, parts_call_all(tree->parts, &call, checked));
}

/* Boxes, and the results of self-queries, must be in host memory. */
static kd_status check_on_host(const kd_points *tree, const points_search *search, uint64_t rows) {
    KD_TRY(search->checked);
    KD_TRY(points_check_memory(tree, search, true));
    return search->kind == POINTS_FILL ? points_check_offsets(search->out.offsets, rows) : KD_OK;
}

static kd_status query_boxes(const kd_points *tree, const points_search *search) {
    const kd_status checked = check_on_host(tree, search, search->query.points.count);
    parts_call call = call_of(tree, search);
    if (!tree->parts->copies || checked != KD_OK)
        return parts_call_all(tree->parts, &call, checked);
    points_search one = *search;
    kd_points_query query = search->query;
    query.points.count = 0; /* the corners are in query.lo */
    KD_TRY(points_search_tree(tree->parts->part[0].tree, &one, &query));
    if (search->kind == POINTS_FILL)
        parts_rename(search->out.ids, search->out.offsets[query.lo.count], tree->renamed);
    return KD_OK;
}

static kd_status query_self_cpu(const kd_points *tree, const points_search *search) {
    parts_call call = call_of(tree, search);
    KD_TRY(check_on_host(tree, search, tree->spread.count));
    KD_REQUIRE(!tree->spread.shared, KD_ERROR_USAGE,
               "self-queries do not support a tree that is shared by processes; pass the points as "
               "queries");
    KD_REQUIRE(!tree->spread.wide, KD_ERROR_USAGE,
               "self-queries do not support a tree with 64-bit ids; pass the points as queries");
    return parts_call_self(tree->parts, &call);
}

static const points_backend backend = {.nearest = query_part,
                                       .count = query_part,
                                       .fill = query_part,
                                       .box = query_boxes,
                                       .self = query_self_cpu};

const points_distribution points_distributed = {.build = build,
                                                .close = close,
                                                .bytes = bytes,
                                                .describe = describe,
                                                .copy = copy_to,
                                                .backend = &backend};
