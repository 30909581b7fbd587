#include "points/api/changes.h"
#include "core/device/device.h"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include "points/api/arguments.h"
#include "points/api/points_device.h"
#include "points/api/search.h"
#include "points/tree/bounds.h"
#include <stdio.h>

enum {
    JOIN_FACTOR = 2,      /* layers up to this factor larger than all later ones are merged with
                             them */
    SMALL_THERE = 1 << 18 /* points_changes.small of a tree on a device */
};

/* --- properties ----------------------------------------------------------------------------- */

void points_gone_close(points_gone *owned) {
    memory_free(owned->flags);
    memory_free(owned->slots);
    memset(owned, 0, sizeof *owned);
}

static void layer_close(points_layer *owned) {
    points_gone_close(&owned->gone);
    kd_points_close(owned->tree);
    owned->tree = NULL;
}

void points_changes_close(points_changes *owned) {
    if (!owned) return;
    points_gone_close(&owned->layers[0].gone);
    for (int l = 1; l < owned->count; ++l) layer_close(&owned->layers[l]);
    memory_free(owned);
}

uint64_t points_live_count(const kd_points *tree) {
    uint64_t count = 0;
    if (tree->parts) return tree->spread.count;
    if (!tree->changes) return tree->tree.count;
    for (int l = 0; l < tree->changes->count; ++l)
        count += points_layer_live(&tree->changes->layers[l]);
    return count;
}

uint64_t points_changes_bytes(const points_changes *changes) {
    uint64_t bytes = sizeof *changes;
    for (int l = 0; l < changes->count; ++l) {
        const points_layer *layer = &changes->layers[l];
        if (layer->gone.flags) bytes += 5 * (uint64_t)layer->tree->tree.count;
        if (l > 0) bytes += points_bytes_held(layer->tree);
    }
    return bytes;
}

bool points_is_whole(const kd_points *tree) {
    const points_changes *changes = tree->changes;
    return !points_elsewhere(tree) &&
           (!changes || (changes->count == 1 && changes->layers[0].gone.count == 0));
}

/* Copies a tree on a device to the host as a single tree. */
static kd_status fetch_whole(kd_points *copy, const kd_points *tree) {
    kd_points there;
    if (!points_has_layers(tree)) return points_cuda_fetch(copy, tree);
    KD_TRY(points_whole_there(&there, tree));
    const kd_status status = points_cuda_fetch(copy, &there);
    points_release(&there);
    return status;
}

kd_status points_copy_whole(kd_points *copy, const kd_points *tree) {
    if (tree->cuda) return fetch_whole(copy, tree);
    if (tree->parts) return points_distributed.copy(copy, tree);
    point_pile all;
    kd_points_options options = tree->options;
    snprintf(options.device, sizeof options.device, "cpu");
    KD_TRY(pile_layers(&all, tree->changes, 0, NULL));
    const kd_point_array array = pile_array(&all);
    const kd_status status = points_build(copy, &array, &options);
    pile_close(&all);
    return status;
}

/* --- layers --------------------------------------------------------------------------------- */

kd_status points_put_layer(kd_points *tree, int first, const point_pile *pile) {
    points_changes *changes = tree->changes;
    kd_points_options options = tree->options;
    const kd_point_array array = pile_array(pile);
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
    for (int l = changes->count; l-- > (first > 0 ? first : 1);) layer_close(&changes->layers[l]);
    changes->touched += pile->count;
    changes->count = first + 1;
    if (first > 0) {
        changes->layers[first] = (points_layer){opened, {NULL, NULL, 0}};
        return KD_OK;
    }
    points_gone_close(&changes->layers[0].gone);
    tree->changes = NULL;
    opened->options = tree->options;
    points_release(tree);
    *tree = *opened;
    tree->changes = changes;
    memory_free(opened);
    return KD_OK;
}

int points_first_to_join(const points_changes *changes, uint64_t more) {
    int first = changes->count;
    for (; first > 0; --first) {
        const uint64_t before = points_layer_live(&changes->layers[first - 1]);
        if (before > JOIN_FACTOR * more && before + more > changes->small && first < LAYERS_MAX)
            break;
        more += before;
    }
    return first;
}

kd_status points_join_from(kd_points *tree, int first, const point_pile *more) {
    point_pile joined;
    KD_TRY(pile_layers(&joined, tree->changes, first, more));
    const kd_status status = points_put_layer(tree, first, &joined);
    pile_close(&joined);
    return status;
}

static bool has_names(const kd_points *tree) {
    return tree->changes ? tree->changes->named
                         : tree->renamed || (tree->cuda && tree->cuda->renamed);
}

kd_status points_may_change(const kd_points *tree) {
    KD_REQUIRE(!tree->spread.shared && tree->spread.first == 0, KD_ERROR_USAGE,
               "points cannot be inserted or removed in a tree that is shared by processes or has "
               "a `first_id`");
    return KD_OK;
}

/* Prepares a tree for changes the first time. A distributed tree has a single layer, which is
   rebuilt by each change. */
kd_status points_begin_change(kd_points *tree) {
    if (tree->changes) {
        tree->changes->touched = 0;
        return KD_OK;
    }
    points_changes *made = NULL;
    KD_TRY(KD_RESERVE_ZEROED(made, 1));
    made->layers[0].tree = tree;
    made->count = 1;
    made->named = has_names(tree);
    made->next_id = tree->tree.count;
    made->small = tree->cuda ? SMALL_THERE : 0;
    tree->changes = made;
    return KD_OK;
}

/* --- insertion ------------------------------------------------------------------------------ */

/* Checks that all points are finite, in whatever memory they are. */
static kd_status scan_new(const kd_points *tree, const point_array *points) {
    point_box box;
    int32_t previous = 0;
    if (!tree->cuda || device_of_pointer(points->coordinates) < 0) return point_scan(&box, points);
    KD_TRY(device_enter(device_of_pointer(points->coordinates), &previous));
    const kd_status status = points_device_scan(&box, points, tree->options.stream);
    device_leave(previous);
    return status;
}

/* Returns whether the build of the layer validates the points: those in memory of the tree's
   device, as the build synchronises anyway. */
static bool build_scans(const kd_points *tree, const kd_point_array *points) {
    return tree->cuda && device_of_pointer(points->coordinates) == tree->cuda->device;
}

static kd_status check_new(const kd_points *tree, const kd_point_array *points) {
    KD_TRY(points_check_array(tree, points, "points"));
    const bool named = has_names(tree);
    KD_REQUIRE((points->ids != NULL) == named || points->count == 0, KD_ERROR_USAGE, "%s",
               named ? "`points->ids` must not be NULL, because the points of the tree have ids"
                     : "`points->ids` must be NULL, because the points of the tree have no ids");
    const caller_array given[] = {{points->coordinates, "points", 1},
                                  {points->ids, "points->ids", sizeof *points->ids}};
    KD_TRY(caller_memory_check(given, 2, tree->cuda == NULL));
    if (build_scans(tree, points)) return KD_OK;
    const point_array all = points_queries(tree, points);
    return scan_new(tree, &all);
}

/* Copies the caller's points with their ids, given or newly assigned. */
static kd_status pile_new(point_pile *out, const kd_points *tree, const kd_point_array *points) {
    const pointtree *like = &tree->tree;
    const size_t bytes = like->dims * point_scalar_bytes(like->scalar);
    const uint64_t stride = points->stride_bytes ? points->stride_bytes : bytes;
    const uint64_t next = tree->changes->next_id;
    KD_TRY(pile_open(out, like, points->count));
    for (uint64_t i = 0; i < points->count; ++i) {
        memcpy((char *)out->coordinates + i * bytes, (const char *)points->coordinates + i * stride,
               bytes);
        out->ids[i] = points->ids ? points->ids[i] : (uint32_t)(next + i);
    }
    out->count = points->count;
    return KD_OK;
}

kd_status points_fetch_layer(kd_points *copy, points_changes *changes, const kd_points *tree) {
    KD_TRY(points_copy_whole(copy, tree));
    copy->changes = NULL;
    memset(changes, 0, sizeof *changes);
    changes->layers[0].tree = copy;
    changes->count = 1;
    return KD_OK;
}

kd_status points_build_anew(kd_points *tree, const point_pile *all) {
    const kd_point_array array = pile_array(all);
    points_changes *changes = tree->changes;
    kd_points built;
    KD_TRY(points_build(&built, &array, &tree->options));
    changes->touched = all->count;
    tree->changes = NULL;
    points_release(tree);
    *tree = built;
    tree->changes = changes;
    return KD_OK;
}

static kd_status insert_in_parts(kd_points *tree, const point_pile *more) {
    kd_points copy;
    points_changes only;
    point_pile all;
    KD_TRY(points_fetch_layer(&copy, &only, tree));
    kd_status status = pile_layers(&all, &only, 0, more);
    if (status == KD_OK) {
        status = points_build_anew(tree, &all);
        pile_close(&all);
    }
    points_release(&copy);
    return status;
}

static kd_status insert_here(kd_points *tree, const kd_point_array *points) {
    point_pile more;
    KD_TRY(pile_new(&more, tree, points));
    const kd_status status =
        tree->parts
            ? insert_in_parts(tree, &more)
            : points_join_from(tree, points_first_to_join(tree->changes, more.count), &more);
    pile_close(&more);
    return status;
}

kd_status kd_points_insert(kd_points *tree, const kd_point_array *points, uint32_t *first_id) {
    KD_REQUIRE(tree && points, KD_ERROR_USAGE, "`%s` must not be NULL", tree ? "points" : "tree");
    KD_TRY(points_may_change(tree));
    KD_TRY(check_new(tree, points));
    KD_TRY(points_begin_change(tree));
    const uint64_t next = tree->changes->next_id;
    KD_REQUIRE(points->ids || next + points->count <= KD_NO_POINT, KD_ERROR_USAGE,
               "inserting %llu points exceeds the 2^32 - 1 ids of the tree; build a new tree",
               (unsigned long long)points->count);
    kd_status status = KD_OK;
    if (points->count)
        status = tree->cuda ? points_insert_there(tree, points) : insert_here(tree, points);
    if (status == KD_ERROR_INPUT) { /* report the index in the caller's array, not in the layer's */
        const point_array all = points_queries(tree, points);
        KD_TRY(scan_new(tree, &all));
    }
    KD_TRY(status);
    if (!points->ids) tree->changes->next_id += points->count;
    if (first_id) *first_id = points->ids ? KD_NO_POINT : (uint32_t)next;
    return KD_OK;
}

kd_status kd_points_rebuild(kd_points *tree) {
    KD_REQUIRE(tree, KD_ERROR_USAGE, "`tree` must not be NULL");
    if (!tree->changes || tree->parts) return KD_OK;
    tree->changes->touched = 0;
    if (tree->changes->count == 1 && tree->changes->layers[0].gone.count == 0) return KD_OK;
    return tree->cuda ? points_join_there(tree, 0) : points_join_from(tree, 0, NULL);
}
