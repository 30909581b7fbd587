/* Idea: the threads of a call, one for each device, take an equal part of the queries each and make
         the call of several ranks with it (points/parts); a rank of several processes makes it with
         the queries of its caller. */
#include "points/api/points_parts.h"
#include "core/device/caller_memory.h"
#include "core/device/device.h"
#include "core/memory.h"
#include "core/parallel/primitives.h"
#include "core/ranks/ranks_threads.h"
#include "core/timing.h"
#include "points/builders.h"
#include "points/parts/answer.h"
#include <kandela/exchange.h>
#include <stdio.h>

enum { COPIES_MOST = 1000000 /* points of which "auto" gives each device all */ };

/* --- opening ---------------------------------------------------------------------------------- */

bool points_parts_wanted(const kd_points_options *options) {
    return device_list_count(options->device) > 1 || options->first_id != 0;
}

static kd_status check(const kd_point_array *points, const kd_points_options *options) {
    const bool copies = options->spread == KD_POINTS_SPREAD_COPIES;
    const pointtree_builder *row = pointtree_builder_find(options->builder);
    KD_REQUIRE(row, KD_ERROR_USAGE, "no point tree builder is called \"%s\"", options->builder);
    KD_REQUIRE(!copies || options->first_id == 0, KD_ERROR_USAGE,
               "copies with a first id of %llu, expected 0: or spread the points in parts",
               (unsigned long long)options->first_id);
    KD_REQUIRE(!points->ids || options->first_id == 0, KD_ERROR_USAGE,
               "points with ids and a first id of %llu, expected one of them",
               (unsigned long long)options->first_id);
    KD_REQUIRE(!points->ids || points->count < KD_NO_POINT, KD_ERROR_USAGE,
               "%llu points with ids of 32 bits, expected fewer than 2^32 - 1",
               (unsigned long long)points->count);
    const uint32_t scalar_bytes = points->scalar == KD_DOUBLE ? sizeof(double) : sizeof(float);
    const caller_array given[] = {{points->coordinates, "points", scalar_bytes},
                                  {points->ids, "ids of points", sizeof *points->ids}};
    KD_TRY(caller_memory_check(given, 2, true));
    point_array few = point_array_make(points->coordinates, points->count ? 1 : 0, points->dims,
                                       points->scalar == KD_DOUBLE ? POINT_DOUBLE : POINT_FLOAT);
    if (points->stride_bytes) few.stride_bytes = points->stride_bytes;
    const pointtree_options split = {POINTTREE_WIDEST, false, 0};
    return pointtree_check_request(&few, &split, row); /* how many there may be parts say */
}

/* What the tree tells without its parts. */
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

static kd_status open(kd_points *out, const kd_point_array *points,
                      const kd_points_options *options, kd_status checked) {
    points_parts *parts = out->parts;
    kd_points_options each = *options;
    kd_point_array given = *points;
    each.first_id = 0;
    parts->dims = points->dims;
    parts->scalar = points->scalar == KD_DOUBLE ? POINT_DOUBLE : POINT_FLOAT;
    parts->first = options->first_id;
    const bool few = points->count <= COPIES_MOST && options->first_id == 0;
    parts->copies = !parts_are_shared(parts) && (options->spread == KD_POINTS_SPREAD_COPIES ||
                                                 (options->spread == KD_POINTS_SPREAD_AUTO && few));
    each.spread = KD_POINTS_SPREAD_AUTO;
    if (points->ids && !parts_are_shared(parts)) {
        KD_TRY(KD_RESERVE(out->renamed, points->count));
        memcpy(out->renamed, points->ids, points->count * sizeof *points->ids);
        given.ids = NULL;
    }
    KD_TRY(parts_are_shared(parts) ? parts_open_shared(parts, &given, &each, checked)
                                   : parts_open(parts, &given, &each));
    if (parts->copies) parts->count = points->count;
    describe_whole(out, points, options);
    return KD_OK;
}

kd_status points_parts_build(kd_points *out, const kd_point_array *points,
                             const kd_points_options *options) {
    const double started = timing_now();
    memset(out, 0, sizeof *out);
    out->options = *options;
    KD_REQUIRE(points, KD_ERROR_USAGE, "no points given (NULL)");
    KD_TRY(check(points, options));
    KD_TRY(KD_RESERVE_ZEROED(out->parts, 1));
    const kd_status status = open(out, points, options, KD_OK);
    if (status != KD_OK) points_release(out);
    out->build_seconds = timing_now() - started;
    return status;
}

/* --- of several processes ----------------------------------------------------------------------
 */

static kd_status check_exchange(const kd_exchange *exchange) {
    KD_REQUIRE(exchange->struct_size >= sizeof *exchange && exchange->all_gather &&
                   exchange->all_sum && exchange->all_to_all,
               KD_ERROR_USAGE, "an exchange without its size or one of its functions");
    KD_REQUIRE(exchange->size >= 1 && exchange->size <= PARTS_MOST && exchange->rank >= 0 &&
                   exchange->rank < exchange->size,
               KD_ERROR_USAGE, "rank %d of %d, expected 0 to %d of 1 to %d", exchange->rank,
               exchange->size, exchange->size - 1, PARTS_MOST);
    return KD_OK;
}

static kd_status check_shared(const kd_point_array *points, const kd_points_options *options) {
    KD_REQUIRE(device_list_count(options->device) == 1, KD_ERROR_USAGE,
               "devices %s for one of several processes, expected one", options->device);
    KD_REQUIRE(!points->ids, KD_ERROR_USAGE,
               "points with ids, expected none: those of several "
               "processes are numbered one after another");
    return check(points, options);
}

static void take_exchange(points_parts *parts, const kd_exchange *exchange) {
    parts->calls.version = RANKS_VERSION;
    parts->calls.name = "exchange";
    parts->calls.all_gather = exchange->all_gather;
    parts->calls.all_sum = exchange->all_sum;
    parts->calls.all_to_all = exchange->all_to_all;
    parts->shared.calls = &parts->calls;
    parts->shared.with = exchange->with;
    parts->shared.rank = exchange->rank;
    parts->shared.size = exchange->size;
    parts->hang_up = exchange->close;
}

kd_status kd_points_open_shared(kd_points **out, const kd_point_array *points,
                                const kd_points_options *options, const kd_exchange *exchange) {
    KD_REQUIRE(out && points && exchange, KD_ERROR_USAGE, "no %s given (NULL)",
               !out     ? "place for the tree"
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
    status = open(opened, points, &taken, checked);
    opened->build_seconds = timing_now() - started;
    if (status == KD_OK)
        *out = opened;
    else
        kd_points_close(opened);
    return status;
}

/* --- what a tree in parts is --------------------------------------------------------------------
 */

void points_parts_close(kd_points *tree) {
    if (!tree->parts) return;
    parts_close(tree->parts);
    memory_free(tree->parts);
    tree->parts = NULL;
}

uint64_t points_parts_count(const kd_points *tree) {
    return tree->parts->count;
}

uint64_t points_parts_first(const kd_points *tree) {
    return tree->parts ? tree->parts->first : 0;
}

bool points_parts_apart(const kd_points *tree) {
    return tree->parts && !tree->parts->copies;
}

bool points_parts_shared(const kd_points *tree) {
    return tree->parts && parts_are_shared(tree->parts);
}

bool points_parts_wide(const kd_points *tree) {
    return tree->parts && tree->parts->wide;
}

void points_parts_describe(const kd_points *tree, kd_points_info *info) {
    const points_parts *parts = tree->parts;
    info->parts = (uint32_t)parts->size;
    info->copies = parts->copies;
    info->top_seconds = parts->top_seconds;
    info->sent = parts->sent;
    memcpy(info->device, tree->options.device, sizeof info->device);
}

kd_status points_parts_copy(kd_points *copy, const kd_points *tree) {
    const points_parts *parts = tree->parts;
    kd_points_options options = tree->options;
    void *coordinates = NULL;
    KD_REQUIRE(!parts_are_shared(parts), KD_ERROR_USAGE,
               "the tree's points lie at several ranks, expected a tree of one process");
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

kd_status points_parts_may_change(const kd_points *tree) {
    if (!tree->parts) return KD_OK;
    KD_REQUIRE(!parts_are_shared(tree->parts) && tree->parts->first == 0, KD_ERROR_USAGE,
               "points come and go in a tree of one process without a first id alone");
    return KD_OK;
}

/* --- queries ---------------------------------------------------------------------------------- */

/* A call with all queries, which ranks divide. */
typedef struct divided {
    const kd_points *tree;
    parts_call like;
} divided;

static const void *behind(const void *at, uint64_t bytes) {
    return at ? (const char *)at + bytes : NULL;
}

static void skip_queries(kd_point_array *points, uint64_t begin, uint64_t end) {
    const uint64_t scalar = points->scalar == KD_DOUBLE ? sizeof(double) : sizeof(float);
    const uint64_t stride = points->stride_bytes ? points->stride_bytes : points->dims * scalar;
    points->coordinates = behind(points->coordinates, begin * stride);
    points->count = end - begin;
}

static kd_status answer_part(void *context, ranks *among) {
    const divided *work = (const divided *)context;
    parts_call call = work->like;
    uint64_t begin = 0, end = 0;
    call.among = among;
    call.part = &call.of->part[among->rank];
    ranks_part(among, among->rank, call.query.points.count, &begin, &end);
    skip_queries(&call.query.points, begin, end);
    skip_queries(&call.hi, begin, end);
    call.query.radii = behind(call.query.radii, begin * point_scalar_bytes(call.of->scalar));
    call.first_row = begin;
    return parts_answer(&call, KD_OK);
}

/* Numbers of points become the caller's ids. */
static void rename_ids(uint32_t *ids, uint64_t count, const uint32_t *names) {
    for (uint64_t i = 0; ids && names && i < count; ++i)
        if (ids[i] != KD_NO_POINT) ids[i] = names[ids[i]];
}

/* Of a device that has all points: its share of the queries, rows at their places. */
static kd_status answer_copy(void *context, ranks *among) {
    const divided *work = (const divided *)context;
    const parts_call *like = &work->like;
    const kd_points *tree = like->of->part[among->rank].tree;
    const uint64_t scalar = point_scalar_bytes(like->of->scalar);
    kd_points_query query = like->query;
    uint64_t begin = 0, end = 0, *offsets = NULL;
    kd_status status = KD_OK;
    ranks_part(among, among->rank, query.points.count, &begin, &end);
    skip_queries(&query.points, begin, end);
    query.radii = behind(query.radii, begin * scalar);
    parts_rows to = like->out;
    const uint64_t at = like->offsets ? like->offsets[begin] : begin * like->k;
    to.ids = to.ids ? to.ids + at : NULL;
    to.dist2 = to.dist2 ? (char *)to.dist2 + at * scalar : NULL;
    to.counts = to.counts ? to.counts + begin : NULL;
    if (like->kind == PARTS_NEAREST) {
        KD_TRY(kd_points_nearest(tree, &query, like->k, to.ids, to.dist2, to.counts));
        rename_ids(to.ids, (end - begin) * like->k, like->names);
        return KD_OK;
    }
    KD_TRY_GOTO(KD_RESERVE(offsets, end - begin + 1));
    if (like->kind == PARTS_COUNT) {
        KD_TRY_GOTO(kd_points_within_count(tree, &query, offsets));
        for (uint64_t i = begin; i < end; ++i)
            to.sums[i] = offsets[i - begin + 1] - offsets[i - begin];
    } else {
        for (uint64_t i = begin; i <= end; ++i) offsets[i - begin] = like->offsets[i] - at;
        KD_TRY_GOTO(kd_points_within(tree, &query, offsets, to.ids, to.dist2));
        rename_ids(to.ids, offsets[end - begin], like->names);
    }
done:
    memory_free(offsets);
    return status;
}

static kd_status answer(const kd_points *tree, parts_call *like, kd_status checked) {
    points_parts *parts = tree->parts;
    divided work = {tree, *like};
    work.like.of = parts;
    work.like.names = tree->renamed;
    work.like.query.scratch = NULL;
    work.like.query.stream = NULL;
    work.like.query.asynchronous = 0;
    if (parts_are_shared(parts)) {
        work.like.among = &parts->shared;
        work.like.part = parts->part;
        const kd_status status = parts_answer(&work.like, checked);
        parts->sent = parts->shared.sent;
        return status;
    }
    KD_TRY(checked);
    return ranks_threads_run(parts->size, parts->copies ? answer_copy : answer_part, &work);
}

/* Counts of each row become offsets. */
static void sum_rows(uint64_t *offsets, uint64_t count) {
    offsets[count] = scan_exclusive_u64(offsets, offsets, count);
}

kd_status points_parts_nearest(const kd_points *tree, const kd_points_query *query, uint32_t k,
                               const parts_rows *out, kd_status checked) {
    parts_call call = {.query = *query, .kind = PARTS_NEAREST, .k = k, .out = *out};
    return answer(tree, &call, checked);
}

kd_status points_parts_count_within(const kd_points *tree, const kd_points_query *query,
                                    uint64_t *offsets, kd_status checked) {
    parts_call call = {.query = *query, .kind = PARTS_COUNT, .out = {.sums = offsets}};
    KD_TRY(answer(tree, &call, checked));
    sum_rows(offsets, query->points.count);
    return KD_OK;
}

kd_status points_parts_within(const kd_points *tree, const kd_points_query *query,
                              const uint64_t *offsets, const parts_rows *out, kd_status checked) {
    parts_call call = {.query = *query, .kind = PARTS_WITHIN, .offsets = offsets, .out = *out};
    return answer(tree, &call, checked);
}

/* --- boxes ------------------------------------------------------------------------------------ */

static kd_status answer_boxes(const kd_points *tree, const kd_point_array *lo,
                              const kd_point_array *hi, parts_kind kind, const uint64_t *offsets,
                              const parts_rows *out, kd_status checked) {
    kd_points_query query;
    kd_points_query_default(&query);
    if (lo) query.points = *lo;
    const kd_point_array none = kd_point_array_make(NULL, 0, tree->tree.dims, KD_FLOAT);
    parts_call call = {
        .query = query, .hi = hi ? *hi : none, .kind = kind, .offsets = offsets, .out = *out};
    return answer(tree, &call, checked);
}

kd_status points_parts_count_boxes(const kd_points *tree, const kd_point_array *lo,
                                   const kd_point_array *hi, uint64_t *offsets, kd_status checked) {
    const parts_rows out = {.sums = offsets};
    if (tree->parts->copies && checked == KD_OK)
        return kd_points_in_box_count(tree->parts->part[0].tree, lo, hi, offsets);
    KD_TRY(answer_boxes(tree, lo, hi, PARTS_BOX_COUNT, NULL, &out, checked));
    sum_rows(offsets, lo->count);
    return KD_OK;
}

kd_status points_parts_boxes(const kd_points *tree, const kd_point_array *lo,
                             const kd_point_array *hi, const uint64_t *offsets, uint32_t *ids,
                             kd_status checked) {
    const parts_rows out = {.ids = ids};
    if (tree->parts->copies && checked == KD_OK) {
        KD_TRY(kd_points_in_box(tree->parts->part[0].tree, lo, hi, offsets, ids));
        rename_ids(ids, offsets[lo->count], tree->renamed);
        return KD_OK;
    }
    return answer_boxes(tree, lo, hi, PARTS_BOX, offsets, &out, checked);
}

/* --- all points ask --------------------------------------------------------------------------- */

typedef struct own_work {
    const parts_call *like;
    uint32_t *order;
    bool skips;
} own_work;

/* A part's points, in the order of its tree, ask. */
static kd_status ask_own(void *context, ranks *among) {
    const own_work *work = (const own_work *)context;
    parts_call call = *work->like;
    const points_parts *of = call.of;
    const points_part *part = &of->part[among->rank];
    const uint64_t count = of->all[among->rank].count;
    void *points = NULL;
    uint32_t *ids = NULL;
    uint64_t *numbers = NULL, *rows = NULL;
    kd_status status = memory_reserve(&points, count * of->dims, point_scalar_bytes(of->scalar));
    if (status == KD_OK) status = KD_RESERVE(ids, count);
    if (status == KD_OK) status = KD_RESERVE(numbers, count);
    if (status == KD_OK) status = KD_RESERVE(rows, count);
    if (status == KD_OK) status = kd_points_download(part->tree, points, ids, NULL);
    for (uint64_t i = 0; status == KD_OK && i < count; ++i) {
        numbers[i] = part->numbers ? part->numbers[ids[i]] : ids[i];
        rows[i] = numbers[i] - of->first;
        if (!work->order) continue;
        const uint64_t place = rows[i];
        rows[i] = part->begin + i;
        work->order[rows[i]] = call.names ? call.names[place] : (uint32_t)numbers[i];
    }
    call.among = among;
    call.part = part;
    call.query.points = kd_point_array_make(points, count, of->dims,
                                            of->scalar == POINT_DOUBLE ? KD_DOUBLE : KD_FLOAT);
    call.query.radii = NULL;
    call.query.coherent = 1;
    call.row_of = rows;
    call.self = work->skips ? numbers : NULL;
    call.k += work->skips ? 1 : 0;
    status = parts_answer(&call, status);
    memory_free(points);
    memory_free(ids);
    memory_free(numbers);
    memory_free(rows);
    return status;
}

/* One device of those that have all points. */
static kd_status own_of_copy(const parts_call *call, uint32_t *order) {
    const kd_points *one = call->of->part[0].tree;
    const kd_points_query *query = &call->query;
    const parts_rows *out = &call->out;
    const uint64_t count = call->of->count;
    if (call->kind == PARTS_NEAREST) {
        KD_TRY(
            kd_points_nearest_own(one, query, call->k, order, out->ids, out->dist2, out->counts));
        rename_ids(out->ids, count * call->k, call->names);
    } else if (call->kind == PARTS_COUNT) {
        KD_TRY(kd_points_within_own_count(one, query, order, out->sums));
    } else {
        KD_TRY(kd_points_within_own(one, query, order, call->offsets, out->ids, out->dist2));
        rename_ids(out->ids, call->offsets[count], call->names);
    }
    rename_ids(order, count, call->names);
    return KD_OK;
}

kd_status points_parts_own(const kd_points *tree, const kd_points_query *query, parts_kind kind,
                           uint32_t k, uint32_t *order, const uint64_t *offsets,
                           const parts_rows *out) {
    points_parts *parts = tree->parts;
    KD_REQUIRE(!parts_are_shared(parts), KD_ERROR_USAGE,
               "all points ask of a tree of several processes: ask with the points instead");
    KD_REQUIRE(!parts->wide, KD_ERROR_USAGE,
               "all points ask of a tree whose ids have 64 bits: ask with the points instead");
    parts_call call = {.of = parts, .query = *query, .kind = kind, .k = k, .out = *out};
    call.names = tree->renamed;
    call.query.scratch = NULL;
    call.query.stream = NULL;
    call.query.asynchronous = 0;
    call.offsets = offsets;
    if (parts->copies) return own_of_copy(&call, order);
    own_work work = {&call, order, query->skip_self != 0};
    KD_TRY(ranks_threads_run(parts->size, ask_own, &work));
    if (kind == PARTS_COUNT) sum_rows(out->sums, parts->count);
    return KD_OK;
}
