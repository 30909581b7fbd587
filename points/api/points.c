#include "points/api/points.h"
#include "core/device/device.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/parallel/call.h"
#include "core/system/machine.h"
#include "core/version.h"
#include "points/api/arguments.h"
#include "points/api/dynamic.h"
#include "points/api/points_device.h"
#include "points/api/search.h"
#include "points/brute/brute.h"
#include "points/select/builders.h"
#include <stdio.h>

kd_point_array kd_point_array_make(const void *coordinates, uint64_t count, uint32_t dims,
                                   kd_scalar scalar) {
    kd_point_array points;
    memset(&points, 0, sizeof points);
    points.coordinates = coordinates;
    points.count = count;
    points.dims = dims;
    points.scalar = scalar;
    return points;
}

void kd_points_options_default_sized(kd_points_options *options, size_t struct_size) {
    kd_points_options defaults;
    memset(&defaults, 0, sizeof defaults);
    snprintf(defaults.device, sizeof defaults.device, "auto");
    snprintf(defaults.builder, sizeof defaults.builder, "auto");
    defaults.split = KD_POINTS_SPLIT_WIDEST;
    sized_give(options, struct_size, &defaults, sizeof defaults);
}

kd_status points_take_options(kd_points_options *out, const kd_points_options *caller_options) {
    const kd_points_options *options = out;
    kd_points_options_default(out);
    if (caller_options)
        KD_TRY(sized_take(out, sizeof *out, caller_options, "kd_points_options_default"));
    KD_REQUIRE(memchr(options->device, 0, sizeof options->device) &&
                   memchr(options->builder, 0, sizeof options->builder),
               KD_ERROR_USAGE,
               "`device` or `builder` of `options` is not terminated; call "
               "kd_points_options_default first");
    KD_REQUIRE(options->split == KD_POINTS_SPLIT_WIDEST ||
                   options->split == KD_POINTS_SPLIT_ROUND_ROBIN,
               KD_ERROR_USAGE, "`split` is %d; expected 0 (widest side) or 1 (round robin)",
               (int)options->split);
    KD_REQUIRE((int)options->spread >= 0 && options->spread <= KD_POINTS_SPREAD_COPIES,
               KD_ERROR_USAGE, "`spread` is %d; expected 0 (auto), 1 (parts) or 2 (copies)",
               (int)options->spread);
    return call_check_threads(options->threads);
}

/* Returns whether the options require a distributed tree: several devices, or a first id. */
static bool in_parts(const kd_points_options *options) {
    return device_list_count(options->device) > 1 || options->first_id != 0;
}

/* Chooses the device; "auto" selects only devices that support the requested builder. */
static kd_status choose_device(int32_t *out, const kd_points_options *options,
                               const void *coordinates, uint64_t count) {
    return device_choose(out, options->device, coordinates, count,
                         point_builder_cuda_find(options->builder) != NULL);
}

/* --- the tree's arrays, which are redundant with the buckets of floats ---------------------- */

static void drop_arrays(pointtree *tree) {
    memory_free(tree->coordinates);
    memory_free(tree->ids);
    tree->coordinates = NULL;
    tree->ids = NULL;
}

kd_status points_copy_arrays(pointtree *out, const kd_points *tree, bool coordinates, bool ids) {
    kd_status status = KD_OK;
    const pointtree *from = &tree->tree;
    memset(out, 0, sizeof *out); /* not copied as a whole: another thread may be in points_lend */
    out->axes = from->axes;
    out->count = from->count;
    out->dims = from->dims;
    out->scalar = from->scalar;
    out->box = from->box;
    out->options = from->options;
    out->order = from->order;
    if (coordinates)
        KD_TRY_GOTO(memory_reserve(&out->coordinates, from->count, from->dims * sizeof(float)));
    if (ids) KD_TRY_GOTO(KD_RESERVE(out->ids, from->count));
    leafindex_restore(&tree->index, (float *)out->coordinates, out->ids);
done:
    if (status != KD_OK) drop_arrays(out);
    return status;
}

void points_close_arrays(pointtree *owned) {
    drop_arrays(owned);
}

kd_status points_lend(pointtree_nd_view *out, const kd_points *tree) {
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    kd_points *held = (kd_points *)(uintptr_t)tree; /* casts away const: the tree's value does not
                                                       change */
    kd_status status = KD_OK;
    if (__atomic_load_n(&held->lean, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&one_at_a_time);
        if (held->lean) {
            pointtree whole;
            status = points_copy_arrays(&whole, tree, true, true);
            if (status == KD_OK) {
                held->tree.coordinates = whole.coordinates;
                held->tree.ids = whole.ids;
                __atomic_store_n(&held->lean, 0, __ATOMIC_RELEASE);
            }
        }
        pthread_mutex_unlock(&one_at_a_time);
    }
    if (status == KD_OK) *out = pointtree_get_nd_view(&tree->tree);
    return status;
}

static kd_status make_index(kd_points *points) {
    const pointtree *tree = &points->tree;
    if (tree->count == 0) return KD_OK;
    const pointtree_nd_view view = pointtree_get_nd_view(tree);
    KD_TRY(leafindex_open(&points->index, &view, false));
    KD_TRY(job_check(job_current()));
    if (tree->dims > 3 || tree->scalar == POINT_DOUBLE) return KD_OK;
    drop_arrays(&points->tree);
    points->lean = 1;
    return KD_OK;
}

/* Builds a distributed tree from the points of a single tree, in input order. */
static kd_status finish_in_parts(kd_points *points) {
    const pointtree *tree = &points->tree;
    const size_t bytes = tree->dims * point_scalar_bytes(tree->scalar);
    kd_points built;
    void *input = NULL;
    KD_TRY(memory_reserve(&input, tree->count, bytes));
    for (uint32_t i = 0; i < tree->count; ++i)
        memcpy((char *)input + tree->ids[i] * bytes, (const char *)tree->coordinates + i * bytes,
               bytes);
    kd_point_array array = kd_point_array_make(input, tree->count, tree->dims,
                                               tree->scalar == POINT_DOUBLE ? KD_DOUBLE : KD_FLOAT);
    array.ids = points->renamed;
    const kd_status status = points_distributed.build(&built, &array, &points->options);
    memory_free(input);
    KD_TRY(status);
    points_release(points);
    *points = built;
    return KD_OK;
}

/* --- more than eight dimensions ------------------------------------------------------------ */

static kd_status open_brute(kd_points *out, const point_array *points) {
    pointtree *tree = &out->tree;
    tree->count = (uint32_t)points->count;
    tree->dims = points->dims;
    tree->scalar = points->scalar;
    return brute_open(&out->brute, points, &tree->box);
}

static kd_status build_brute(kd_points *out, const point_array *input, const pointtree_builder *row,
                             const pointtree_options *tree_options, const uint32_t *ids) {
    kd_status status = KD_OK;
    int32_t ignored;
    point_array first = *input; /* the request but its dimensions */
    const caller_array arrays[] = {{input->coordinates, "points", 1},
                                   {ids, "points->ids", sizeof *ids}};
    first.dims = POINT_DIMS_MAX;
    if (!row) /* an error that lists the names */
        return pointtree_open_nd(&out->tree, input, tree_options, out->options.builder, NULL);
    KD_REQUIRE(input->dims <= BRUTE_DIMS_MAX, KD_ERROR_USAGE, "`dims` is %u; supported: 1 to %d",
               input->dims, BRUTE_DIMS_MAX);
    KD_TRY(pointtree_check_request(&first, tree_options, row));
    KD_TRY(caller_stride_check(input->count, input->stride_bytes, input->dims,
                               point_scalar_bytes(input->scalar), "points"));
    KD_TRY(caller_memory_check(arrays, 2, true));
    KD_TRY(device_choose(&ignored, out->options.device, NULL, 0, true));
    KD_TRY_GOTO(open_brute(out, input));
    out->tree.options = *tree_options;
    if (ids) {
        KD_TRY_GOTO(KD_RESERVE(out->renamed, input->count));
        memcpy(out->renamed, ids, input->count * sizeof *ids);
    }
done:
    if (status != KD_OK) points_release(out);
    return status;
}

kd_status points_adopt_rows(kd_points *points) {
    pointtree *tree = &points->tree;
    const point_array rows =
        point_array_make(tree->coordinates, tree->count, tree->dims, tree->scalar);
    KD_TRY(open_brute(points, &rows));
    drop_arrays(tree);
    return KD_OK;
}

/* --- opening -------------------------------------------------------------------------------- */

kd_status points_finish(kd_points *points) {
    const pointtree *tree = &points->tree;
    int32_t cuda = -1;
    KD_REQUIRE(!points->brute || !in_parts(&points->options), KD_ERROR_USAGE,
               "`device` is \"%s\"; points of more than %u dimensions are on one CPU",
               points->options.device, POINT_DIMS_MAX);
    if (points->brute) return KD_OK;
    if (in_parts(&points->options)) return finish_in_parts(points);
    KD_TRY(choose_device(&cuda, &points->options, NULL, tree->count));
    if (cuda >= 0) {
        const kd_status status = points_cuda_adopt(points, cuda);
        if (!device_retreats(points->options.device, status, NULL)) return status;
    }
    return make_index(points);
}

void points_release(kd_points *owned) {
    pointtree_close(&owned->tree);
    leafindex_close(&owned->index);
    owned->lean = 0;
    brute_close(owned->brute);
    owned->brute = NULL;
    memory_free(owned->renamed);
    owned->renamed = NULL;
    points_cuda_close(owned->cuda);
    owned->cuda = NULL;
    if (owned->parts) points_distributed.close(owned);
    owned->parts = NULL;
    points_dynamic_close(owned->dynamic);
    owned->dynamic = NULL;
}

static kd_status build_on_cpu(kd_points *out, const point_array *input,
                              const pointtree_options *tree_options, const uint32_t *ids) {
    kd_status status = KD_OK;
    const caller_array arrays[] = {{input->coordinates, "points", 1}, {ids, "points->ids", 1}};
    KD_TRY(caller_memory_check(arrays, 2, true));
    job_control *job = job_current();
    job_stage_begin(job, "build", (int64_t)input->count);
    status = pointtree_open_nd(&out->tree, input, tree_options, out->options.builder, job);
    job_stage_end(job);
    KD_TRY_GOTO(status);
    if (ids) {
        KD_TRY_GOTO(KD_RESERVE(out->renamed, input->count));
        memcpy(out->renamed, ids, input->count * sizeof *ids);
    }
    KD_TRY_GOTO(make_index(out));
done:
    if (status != KD_OK) points_release(out);
    return status;
}

static kd_status build_on_cuda(kd_points *out, const point_array *input,
                               const pointtree_options *tree_options, const uint32_t *ids,
                               int32_t cuda) {
    const point_builder_cuda *row = point_builder_cuda_find(out->options.builder);
    KD_REQUIRE(row, KD_ERROR_DEVICE, "builder \"%s\" does not work on device \"%s\"",
               out->options.builder, out->options.device);
    const pointtree_builder *same = pointtree_builder_find(row->name);
    assert(same); /* each CUDA builder has a CPU builder of the same name */
    KD_TRY(pointtree_check_request(input, tree_options, same));
    memcpy(out->builder, row->name, strlen(row->name) + 1);
    out->tree.options = *tree_options;
    out->tree.order = same->order;
    return points_cuda_build(out, input, ids, row, cuda);
}

kd_status points_build(kd_points *out, const kd_point_array *points,
                       const kd_points_options *options) {
    KD_REQUIRE(!in_parts(options) || !points || points->dims <= POINT_DIMS_MAX, KD_ERROR_USAGE,
               "`dims` is %u; a tree over several devices, or with a `first_id`, has at most %u",
               points->dims, POINT_DIMS_MAX);
    if (in_parts(options)) return points_distributed.build(out, points, options);
    memset(out, 0, sizeof *out);
    out->options = *options;
    const double started = timing_now();
    KD_REQUIRE(points, KD_ERROR_USAGE, "`points` must not be NULL");
    const caller_array ids = {points->ids, "points->ids", sizeof *points->ids};
    KD_TRY(caller_memory_check(&ids, 1, false));
    KD_REQUIRE(points->scalar == KD_FLOAT || points->scalar == KD_DOUBLE, KD_ERROR_USAGE,
               "`points->scalar` is %d; expected 0 (float) or 1 (double)", (int)points->scalar);
    point_array input = point_array_make(points->coordinates, points->count, points->dims,
                                         points->scalar == KD_DOUBLE ? POINT_DOUBLE : POINT_FLOAT);
    if (points->stride_bytes) input.stride_bytes = points->stride_bytes;
    const pointtree_options tree_options = {
        options->split == KD_POINTS_SPLIT_WIDEST ? POINTTREE_WIDEST : POINTTREE_ROUND_ROBIN, false,
        0};
    const pointtree_builder *row = pointtree_builder_find(options->builder);
    if (row) memcpy(out->builder, row->name, strlen(row->name) + 1);
    int32_t cuda = -1;
    kd_status status = KD_OK;
    if (input.dims > POINT_DIMS_MAX) {
        status = build_brute(out, &input, row, &tree_options, points->ids);
        out->build_seconds = timing_now() - started;
        return status;
    }
    KD_TRY(choose_device(&cuda, options, points->coordinates, points->count));
    if (cuda >= 0) status = build_on_cuda(out, &input, &tree_options, points->ids, cuda);
    if (cuda < 0 || device_retreats(options->device, status, points->coordinates))
        status = build_on_cpu(out, &input, &tree_options, points->ids);
    out->build_seconds = timing_now() - started;
    return status;
}

const char *kd_points_builders(void) {
#define BUILDER_NAME(name) " " #name
    return &(POINTTREE_BUILDER_ROWS(BUILDER_NAME))[1];
}

kd_status kd_points_open(kd_points **out, const kd_point_array *points,
                         const kd_points_options *options) {
    KD_CALL(0);
    kd_status status = KD_OK;
    kd_points_options taken;
    KD_REQUIRE(out, KD_ERROR_USAGE, "`out` must not be NULL");
    *out = NULL;
    KD_TRY(points_take_options(&taken, options));
    call_set_threads(&kd_call_scope, taken.threads);
    kd_points *opened = NULL;
    KD_TRY(KD_RESERVE_ZEROED(opened, 1));
    KD_TRY_GOTO(points_build(opened, points, &taken));
    *out = opened;
done:
    if (status != KD_OK) memory_free(opened);
    return status;
}

kd_status kd_points_update(kd_points *tree, const kd_point_array *points) {
    KD_CALL(tree ? tree->options.threads : 0);
    KD_REQUIRE(tree, KD_ERROR_USAGE, "`tree` must not be NULL");
    KD_REQUIRE(!tree->spread.shared, KD_ERROR_USAGE,
               "a tree that is shared by processes cannot be updated; close it and open a new one");
    kd_points built;
    KD_TRY(points_build(&built, points, &tree->options));
    points_release(tree);
    *tree = built;
    return KD_OK;
}

void kd_points_close(kd_points *tree) {
    if (!tree) return;
    points_release(tree);
    memory_free(tree);
}

uint64_t points_bytes_held(const kd_points *tree) {
    const pointtree *t = &tree->tree;
    uint64_t bytes = sizeof *tree;
    if (tree->parts) return bytes + points_distributed.bytes(tree);
    if (tree->brute)
        return bytes + brute_bytes(tree->brute) +
               (tree->renamed ? t->count * sizeof *tree->renamed : 0);
    if (tree->cuda)
        return bytes + tree->cuda->bytes +
               (tree->dynamic ? points_dynamic_bytes(tree->dynamic) : 0);
    const bool lean = __atomic_load_n(&tree->lean, __ATOMIC_ACQUIRE) != 0;
    const uint64_t arrays = t->dims * point_scalar_bytes(t->scalar) + sizeof *t->ids;
    const uint64_t a_point =
        (lean ? 0 : arrays) + (t->axes ? 1 : 0) + (tree->renamed ? sizeof *tree->renamed : 0);
    bytes += t->count * a_point;
    if (tree->dynamic) bytes += points_dynamic_bytes(tree->dynamic);
    return bytes + leafindex_bytes(&tree->index);
}

/* Stores the name of the device; empty on failure. */
static void describe_place(const kd_points *tree, kd_points_info *info) {
    device device;
    memset(&device, 0, sizeof device);
    if (!tree->cuda)
        device_cpu_describe(&device);
    else
        (void)device_cuda_describe(&device, tree->cuda->device);
    memcpy(info->device, device.name, sizeof info->device);
}

/* Returns the hash of a tree on the host; 0 if memory is exhausted. */
static uint64_t hash_local(const kd_points *tree) {
    pointtree copy;
    if (tree->brute) return brute_hash(tree->brute);
    if (!__atomic_load_n(&tree->lean, __ATOMIC_ACQUIRE)) return pointtree_hash(&tree->tree);
    if (points_copy_arrays(&copy, tree, false, true) != KD_OK) return 0;
    const uint64_t hash = pointtree_hash(&copy);
    points_close_arrays(&copy);
    return hash;
}

/* Returns the hash of any tree; 0 if it cannot be copied to the host. */
static uint64_t hash_of(const kd_points *tree) {
    if (points_is_whole(tree)) return hash_local(tree);
    kd_points copy;
    if (points_copy_whole(&copy, tree) != KD_OK) return 0;
    const uint64_t hash = hash_local(&copy);
    points_release(&copy);
    return hash;
}

/* Describes a changed tree as one rebuilt from its points. */
static void describe_changes(const kd_points *tree, kd_points_info *info) {
    kd_points copy;
    info->count = points_live_count(tree);
    info->layers = (uint32_t)tree->dynamic->count;
    info->touched = tree->dynamic->touched;
    info->hash = 0;
    if (points_copy_whole(&copy, tree) != KD_OK) return;
    info->hash = hash_local(&copy);
    memcpy(info->lo, copy.tree.box.lo, sizeof info->lo);
    memcpy(info->hi, copy.tree.box.hi, sizeof info->hi);
    points_release(&copy);
}

static void describe(const kd_points *tree, kd_points_info *info, bool with_hash) {
    const pointtree *t = &tree->tree;
    info->count = points_live_count(tree);
    info->layers = info->parts = 1;
    info->touched = info->count;
    info->dims = t->dims;
    info->scalar = t->scalar == POINT_DOUBLE ? KD_DOUBLE : KD_FLOAT;
    info->split = tree->options.split;
    memcpy(info->builder, tree->builder, sizeof info->builder);
    memcpy(info->lo, t->box.lo, sizeof info->lo);
    memcpy(info->hi, t->box.hi, sizeof info->hi);
    info->build_seconds = tree->build_seconds;
    info->bytes = points_bytes_held(tree);
    describe_place(tree, info);
    if (tree->parts) points_distributed.describe(tree, info);
    if (tree->dynamic)
        describe_changes(tree, info);
    else if (with_hash)
        info->hash = hash_of(tree);
}

uint64_t kd_points_count(const kd_points *tree) {
    return tree ? points_live_count(tree) : 0;
}

void kd_points_describe_sized(const kd_points *tree, kd_points_info *info, size_t struct_size) {
    kd_points_info full;
    memset(&full, 0, sizeof full);
    if (tree && info) describe(tree, &full, struct_size > offsetof(kd_points_info, hash));
    sized_give(info, struct_size, &full, sizeof full);
}

kd_status kd_points_download_nodes(const kd_points *tree, void *coordinates, uint32_t *ids,
                                   uint64_t *ids64, uint8_t *axes) {
    KD_CALL(tree ? tree->options.threads : 0);
    KD_REQUIRE(tree, KD_ERROR_USAGE, "`tree` must not be NULL");
    KD_REQUIRE(!ids || !ids64, KD_ERROR_USAGE,
               "`ids` and `ids64` are both set; one of them must be NULL");
    KD_REQUIRE(!ids || tree->spread.first == 0, KD_ERROR_USAGE,
               "a tree with a `first_id` has 64-bit ids; pass `ids64` instead of `ids`");
    if (!points_is_whole(tree)) {
        kd_points copy;
        KD_TRY(points_copy_whole(&copy, tree));
        const kd_status status = kd_points_download_nodes(&copy, coordinates, ids, ids64, axes);
        for (uint64_t i = 0; ids64 && status == KD_OK && i < copy.tree.count; ++i)
            ids64[i] += tree->spread.first;
        points_release(&copy);
        return status;
    }
    const pointtree *t = &tree->tree;
    const caller_array places[] = {
        {coordinates, "coordinates", (uint32_t)point_scalar_bytes(t->scalar)},
        {ids, "ids", sizeof *ids},
        {ids64, "ids64", sizeof *ids64},
        {axes, "axes", 1}};
    KD_TRY(caller_memory_check(places, sizeof places / sizeof *places, true));
    if (ids64) ids = (uint32_t *)(void *)ids64 + t->count;
    if (tree->brute) {
        if (coordinates) brute_copy(tree->brute, coordinates);
        for (uint32_t i = 0; ids && i < t->count; ++i) ids[i] = i;
        if (axes) memset(axes, 0, t->count);
        axes = NULL;
    } else if (__atomic_load_n(&tree->lean, __ATOMIC_ACQUIRE)) {
        leafindex_restore(&tree->index, (float *)coordinates, ids);
    } else {
        if (coordinates)
            memcpy(coordinates, t->coordinates, t->count * t->dims * point_scalar_bytes(t->scalar));
        if (ids) memcpy(ids, t->ids, t->count * sizeof *ids);
    }
    for (uint32_t i = 0; ids && tree->renamed && i < t->count; ++i) ids[i] = tree->renamed[ids[i]];
    if (ids64) points_widen_ids(ids64, ids, t->count);
    for (uint32_t i = 0; axes && i < t->count; ++i)
        axes[i] = (uint8_t)(t->axes ? t->axes[i] : pointtree_level_of(i) % t->dims);
    return KD_OK;
}
