#include "points/api/dynamic.h"
#include "core/device/device.h"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include "core/parallel/call.h"
#include "points/api/arguments.h"
#include "points/api/points_device.h"
#include "points/api/search.h"
#include "points/tree/bounds.h"
#include <stdio.h>

enum {
    JOIN_FACTOR = 2,       /* a layer at most this many times as large as all later ones together is
                              merged with them */
    SMALL_DEVICE = 1 << 18 /* points_dynamic.small of a tree on a device */
};

/* --- properties ----------------------------------------------------------------------------- */

void points_tombstones_close(points_tombstones *owned) {
    memory_free(owned->flags);
    memory_free(owned->slots);
    memset(owned, 0, sizeof *owned);
}

static void layer_close(points_layer *owned) {
    points_tombstones_close(&owned->tombstones);
    kd_points_close(owned->tree);
    owned->tree = NULL;
}

void points_dynamic_close(points_dynamic *owned) {
    if (!owned) return;
    points_tombstones_close(&owned->layers[0].tombstones);
    for (int l = 1; l < owned->count; ++l) layer_close(&owned->layers[l]);
    memory_free(owned);
}

uint64_t points_live_count(const kd_points *tree) {
    uint64_t count = 0;
    if (tree->parts) return tree->spread.count;
    if (!tree->dynamic) return tree->tree.count;
    for (int l = 0; l < tree->dynamic->count; ++l)
        count += points_layer_live(&tree->dynamic->layers[l]);
    return count;
}

uint64_t points_dynamic_bytes(const points_dynamic *dynamic) {
    uint64_t bytes = sizeof *dynamic;
    for (int l = 0; l < dynamic->count; ++l) {
        const points_layer *layer = &dynamic->layers[l];
        if (layer->tombstones.flags) bytes += 5 * (uint64_t)layer->tree->tree.count;
        if (l > 0) bytes += points_bytes_held(layer->tree);
    }
    return bytes;
}

bool points_is_whole(const kd_points *tree) {
    const points_dynamic *dynamic = tree->dynamic;
    return !points_elsewhere(tree) &&
           (!dynamic || (dynamic->count == 1 && dynamic->layers[0].tombstones.count == 0));
}

/* Copies a tree on a device to the host as a single tree. */
static kd_status fetch_whole(kd_points *copy, const kd_points *tree) {
    kd_points points;
    if (!points_has_layers(tree)) return points_cuda_fetch(copy, tree);
    KD_TRY(points_device_merge(&points, tree));
    const kd_status status = points_cuda_fetch(copy, &points);
    points_release(&points);
    return status;
}

kd_status points_copy_whole(kd_points *copy, const kd_points *tree) {
    if (tree->cuda) return fetch_whole(copy, tree);
    if (tree->parts) return points_distributed.copy(copy, tree);
    point_buffer all;
    kd_points_options options = tree->options;
    snprintf(options.device, sizeof options.device, "cpu");
    KD_TRY(buffer_layers(&all, tree->dynamic, 0, NULL));
    const kd_point_array array = buffer_array(&all);
    const kd_status status = points_build(copy, &array, &options);
    buffer_close(&all);
    return status;
}

/* --- layers --------------------------------------------------------------------------------- */

kd_status points_put_layer(kd_points *tree, int first, const point_buffer *points) {
    points_dynamic *dynamic = tree->dynamic;
    kd_points_options options = tree->options;
    const kd_point_array array = buffer_array(points);
    kd_points *opened = NULL;
    if (tree->cuda)
        snprintf(options.device, sizeof options.device, "cuda:%d", (int)tree->cuda->device);
    else if (first > 0)
        snprintf(options.device, sizeof options.device, "cpu");
    KD_TRY(KD_RESERVE_ZEROED(opened, 1));
    const kd_status status = points_build(opened, &array, &options);
    if (status != KD_OK) {
        memory_free(opened);
        return status;
    }
    for (int l = dynamic->count; l-- > (first > 0 ? first : 1);) layer_close(&dynamic->layers[l]);
    dynamic->touched += points->count;
    dynamic->count = first + 1;
    if (first > 0) {
        dynamic->layers[first] = (points_layer){opened, {NULL, NULL, 0}};
        return KD_OK;
    }
    points_tombstones_close(&dynamic->layers[0].tombstones);
    tree->dynamic = NULL;
    opened->options = tree->options;
    points_release(tree);
    *tree = *opened;
    tree->dynamic = dynamic;
    memory_free(opened);
    return KD_OK;
}

int points_first_to_join(const points_dynamic *dynamic, uint64_t more) {
    int first = dynamic->count;
    for (; first > 0; --first) {
        const uint64_t before = points_layer_live(&dynamic->layers[first - 1]);
        if (before > JOIN_FACTOR * more && before + more > dynamic->small && first < LAYERS_MAX)
            break;
        more += before;
    }
    return first;
}

kd_status points_join_from(kd_points *tree, int first, const point_buffer *more) {
    point_buffer joined;
    KD_TRY(buffer_layers(&joined, tree->dynamic, first, more));
    const kd_status status = points_put_layer(tree, first, &joined);
    buffer_close(&joined);
    return status;
}

static bool has_names(const kd_points *tree) {
    return tree->dynamic ? tree->dynamic->named
                         : tree->renamed || (tree->cuda && tree->cuda->renamed);
}

kd_status points_may_change(const kd_points *tree) {
    KD_REQUIRE(!tree->spread.shared && tree->spread.first == 0, KD_ERROR_USAGE,
               "points cannot be inserted or removed in a tree that is shared by processes or has "
               "a `first_id`");
    KD_REQUIRE(!tree->brute, KD_ERROR_USAGE,
               "points of more than %u dimensions cannot be inserted or removed; call "
               "kd_points_update with all points",
               POINT_DIMS_MAX);
    return KD_OK;
}

/* Prepares a tree for its first change. A distributed tree has a single layer, which is rebuilt by
   each change. */
kd_status points_begin_change(kd_points *tree) {
    if (tree->dynamic) {
        tree->dynamic->touched = 0;
        return KD_OK;
    }
    points_dynamic *made = NULL;
    KD_TRY(KD_RESERVE_ZEROED(made, 1));
    made->layers[0].tree = tree;
    made->count = 1;
    made->named = has_names(tree);
    made->next_id = tree->tree.count;
    made->small = tree->cuda ? SMALL_DEVICE : 0;
    tree->dynamic = made;
    return KD_OK;
}

/* --- insertion ------------------------------------------------------------------------------ */

/* Checks that all points, in host or device memory, are finite. */
static kd_status scan_new(const kd_points *tree, const point_array *points) {
    point_box box;
    int32_t previous = 0;
    if (!tree->cuda || device_of_pointer(points->coordinates) < 0) return point_scan(&box, points);
    KD_TRY(device_enter(device_of_pointer(points->coordinates), &previous));
    const kd_status status = points_device_scan(&box, points, tree->options.stream);
    device_leave(previous);
    return status;
}

/* Returns whether building the layer also validates the points, as it does for points in memory of
   the tree's device, because the build synchronises anyway. */
static bool build_scans(const kd_points *tree, const kd_point_array *points) {
    return tree->cuda && device_of_pointer(points->coordinates) == tree->cuda->device;
}

static kd_status check_new(const kd_points *tree, const kd_point_array *points) {
    KD_TRY(points_check_array(tree, points, "points"));
    const bool named = has_names(tree);
    KD_REQUIRE((points->ids != NULL) == named || points->count == 0, KD_ERROR_USAGE, "%s",
               named ? "`points->ids` must not be NULL, because the points of the tree have ids"
                     : "`points->ids` must be NULL, because the points of the tree have no ids");
    const caller_array arrays[] = {{points->coordinates, "points", 1},
                                   {points->ids, "points->ids", sizeof *points->ids}};
    KD_TRY(caller_memory_check(arrays, 2, tree->cuda == NULL));
    if (build_scans(tree, points)) return KD_OK;
    const point_array all = points_queries(tree, points);
    return scan_new(tree, &all);
}

/* Copies the caller's points with their ids, given or newly assigned. */
static kd_status buffer_new(point_buffer *out, const kd_points *tree,
                            const kd_point_array *points) {
    const pointtree *like = &tree->tree;
    const size_t bytes = like->dims * point_scalar_bytes(like->scalar);
    const uint64_t stride = points->stride_bytes ? points->stride_bytes : bytes;
    const uint64_t next = tree->dynamic->next_id;
    KD_TRY(buffer_open(out, like, points->count));
    for (uint64_t i = 0; i < points->count; ++i) {
        memcpy((char *)out->coordinates + i * bytes, (const char *)points->coordinates + i * stride,
               bytes);
        out->ids[i] = points->ids ? points->ids[i] : (uint32_t)(next + i);
    }
    out->count = points->count;
    return KD_OK;
}

kd_status points_fetch_layer(kd_points *copy, points_dynamic *dynamic, const kd_points *tree) {
    KD_TRY(points_copy_whole(copy, tree));
    copy->dynamic = NULL;
    memset(dynamic, 0, sizeof *dynamic);
    dynamic->layers[0].tree = copy;
    dynamic->count = 1;
    return KD_OK;
}

kd_status points_build_anew(kd_points *tree, const point_buffer *all) {
    const kd_point_array array = buffer_array(all);
    points_dynamic *dynamic = tree->dynamic;
    kd_points built;
    KD_TRY(points_build(&built, &array, &tree->options));
    dynamic->touched = all->count;
    tree->dynamic = NULL;
    points_release(tree);
    *tree = built;
    tree->dynamic = dynamic;
    return KD_OK;
}

static kd_status insert_in_parts(kd_points *tree, const point_buffer *more) {
    kd_points copy;
    points_dynamic only;
    point_buffer all;
    KD_TRY(points_fetch_layer(&copy, &only, tree));
    kd_status status = buffer_layers(&all, &only, 0, more);
    if (status == KD_OK) {
        status = points_build_anew(tree, &all);
        buffer_close(&all);
    }
    points_release(&copy);
    return status;
}

static kd_status insert_on_cpu(kd_points *tree, const kd_point_array *points) {
    point_buffer more;
    KD_TRY(buffer_new(&more, tree, points));
    const kd_status status =
        tree->parts
            ? insert_in_parts(tree, &more)
            : points_join_from(tree, points_first_to_join(tree->dynamic, more.count), &more);
    buffer_close(&more);
    return status;
}

kd_status kd_points_insert(kd_points *tree, const kd_point_array *points, uint32_t *first_id) {
    KD_CALL(tree ? tree->options.threads : 0);
    KD_REQUIRE(tree && points, KD_ERROR_USAGE, "`%s` must not be NULL", tree ? "points" : "tree");
    KD_TRY(points_may_change(tree));
    KD_TRY(check_new(tree, points));
    KD_TRY(points_begin_change(tree));
    const uint64_t next = tree->dynamic->next_id;
    KD_REQUIRE(points->ids || next + points->count <= KD_NO_POINT, KD_ERROR_USAGE,
               "inserting %llu points exceeds the 2^32 - 1 ids of the tree; build a new tree",
               (unsigned long long)points->count);
    kd_status status = KD_OK;
    if (points->count)
        status = tree->cuda ? points_device_insert(tree, points) : insert_on_cpu(tree, points);
    if (status == KD_ERROR_INPUT) { /* report the index in the caller's array, not in the layer's */
        const point_array all = points_queries(tree, points);
        KD_TRY(scan_new(tree, &all));
    }
    KD_TRY(status);
    if (!points->ids) tree->dynamic->next_id += points->count;
    if (first_id) *first_id = points->ids ? KD_NO_POINT : (uint32_t)next;
    return KD_OK;
}

kd_status kd_points_rebuild(kd_points *tree) {
    KD_CALL(tree ? tree->options.threads : 0);
    KD_REQUIRE(tree, KD_ERROR_USAGE, "`tree` must not be NULL");
    if (!tree->dynamic || tree->parts) return KD_OK;
    tree->dynamic->touched = 0;
    if (tree->dynamic->count == 1 && tree->dynamic->layers[0].tombstones.count == 0) return KD_OK;
    return tree->cuda ? points_device_join(tree, 0) : points_join_from(tree, 0, NULL);
}
