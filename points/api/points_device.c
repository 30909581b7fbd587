#include "points/api/points_device.h"
#include "core/device/device_memory.h"
#include "core/memory.h"
#include "points/api/arguments.h"
#include "points/api/device_kernels.h"

/* Allocates device memory for the life of the tree from the pool, which reuses the memory of
   earlier trees. */
static kd_status keep(points_cuda *c, void **out, uint64_t bytes, void *stream) {
    KD_TRY(device_pool_reserve(out, bytes, stream));
    c->bytes += bytes;
    return KD_OK;
}

kd_status points_cuda_stage(point_array *out, void **staged, const point_array *points,
                            int32_t device, void *stream) {
    kd_status status = KD_OK;
    *out = *points;
    if (points->count == 0 || device_of_pointer(points->coordinates) == device) return KD_OK;
    const uint64_t bytes = points->dims * point_scalar_bytes(points->scalar);
    const bool packs = points->stride_bytes != bytes && device_of_pointer(points->coordinates) < 0;
    void *packed = NULL;
    if (packs) {
        KD_TRY(memory_reserve(&packed, points->count, bytes));
        for (uint64_t i = 0; i < points->count; ++i)
            memcpy((char *)packed + i * bytes, point_array_at(points, i), bytes);
        out->stride_bytes = bytes;
    }
    const uint64_t all = (points->count - 1) * out->stride_bytes + bytes;
    KD_TRY_GOTO(device_pool_reserve(staged, all, stream));
    out->coordinates = *staged;
    KD_TRY_GOTO(device_copy(*staged, packs ? packed : points->coordinates, all, stream));
    if (packs) KD_TRY_GOTO(device_stream_wait(stream));
done:
    memory_free(packed);
    return status;
}

static kd_status reserve_tree(points_cuda *c, const pointtree *tree, void *stream) {
    KD_TRY(keep(c, (void **)&c->ids, tree->count * sizeof *c->ids, stream));
    if (tree->options.split != POINTTREE_WIDEST) return KD_OK;
    return keep(c, (void **)&c->axes, tree->count, stream);
}

static kd_status open_index(points_cuda *c, const point_build_cuda *arguments) {
    size_t bytes = 0;
    KD_TRY(point_index_cuda_bytes(&bytes, arguments));
    KD_TRY(keep(c, &c->memory, bytes, arguments->stream));
    return point_index_cuda_open(&c->index, arguments, c->memory, bytes);
}

/* Waits for the build to finish and decides how self-queries are processed. */
static kd_status wait_for_index(points_cuda *c, void *stream) {
    point_index_cuda *index = &c->index;
    void *ties = NULL;
    if (!index->ties) return device_stream_wait(stream);
    KD_TRY(device_staging_take(&ties));
    kd_status status = device_copy(ties, index->ties, sizeof(uint32_t), stream);
    if (status == KD_OK) status = device_stream_wait(stream);
    if (status == KD_OK) index->sorts_from = point_index_sorts_from(index, *(const uint32_t *)ties);
    device_staging_give(ties);
    return status;
}

static kd_status keep_names(points_cuda *c, const uint32_t *renamed, uint64_t count, void *stream) {
    if (!renamed) return KD_OK;
    KD_TRY(keep(c, (void **)&c->renamed, count * sizeof *renamed, stream));
    return device_copy(c->renamed, renamed, count * sizeof *renamed, stream);
}

kd_status points_cuda_open_tombstones(points_cuda *c, void *stream) {
    const uint64_t bytes = dynamic_words(c->index.tree.count) * sizeof *c->tombstones;
    if (c->tombstones) return KD_OK;
    KD_TRY(keep(c, (void **)&c->tombstones, bytes, stream));
    return dynamic_clear(c->tombstones, bytes, stream);
}

/* Builds the tree's ids and axes with a builder, in memory allocated before; `scan` must have been
   begun. */
static kd_status build_by(const point_builder_cuda *row, pointtree *tree, point_build_cuda *a,
                          points_scan *scan) {
    KD_TRY(points_device_scan_end(scan, &tree->box, &a->points, a->stream));
    a->box = tree->box;
    a->has_box = true;
    return tree->count ? row->build(a) : KD_OK;
}

/* Fills the tree from points in host or device memory with a builder, or, if `row` is NULL, from a
   tree on the host. Allocates memory while the points are being scanned. */
static kd_status fill(points_cuda *c, kd_points *out, const point_array *points,
                      const uint32_t *renamed, const point_builder_cuda *row) {
    kd_status status = KD_OK;
    void *staged = NULL, *stream = out->options.stream;
    pointtree *tree = &out->tree;
    points_scan scan = {NULL, NULL};
    point_build_cuda a;
    point_box none;
    memset(&a, 0, sizeof a);
    KD_TRY_GOTO(points_cuda_stage(&a.points, &staged, points, c->device, stream));
    if (row) KD_TRY_GOTO(points_device_scan_begin(&scan, &a.points, stream));
    KD_TRY_GOTO(reserve_tree(c, tree, stream));
    a.split = tree->options.split;
    a.ids = c->ids;
    a.axes = c->axes;
    a.stream = stream;
    if (row) {
        KD_TRY_GOTO(row->scratch_bytes(&a.scratch_bytes, &a));
        KD_TRY_GOTO(device_pool_reserve(&a.scratch, a.scratch_bytes, stream));
        KD_TRY_GOTO(build_by(row, tree, &a, &scan));
    } else {
        KD_TRY_GOTO(device_copy(c->ids, tree->ids, tree->count * sizeof *c->ids, stream));
        if (c->axes) KD_TRY_GOTO(device_copy(c->axes, tree->axes, tree->count, stream));
    }
    device_pool_release(a.scratch, stream);
    a.scratch = NULL;
    KD_TRY_GOTO(open_index(c, &a));
    c->index.tree.box = tree->box; /* needed by walks in periodic space */
    KD_TRY_GOTO(keep_names(c, renamed, tree->count, stream));
    KD_TRY_GOTO(wait_for_index(c, stream));
done:
    (void)points_device_scan_end(&scan, &none, &a.points, stream);
    device_pool_release(staged, stream);
    device_pool_release(a.scratch, stream);
    return status;
}

static kd_status open_on(kd_points *out, const point_array *points, const uint32_t *renamed,
                         const point_builder_cuda *row, int32_t device) {
    points_cuda *c = NULL;
    int32_t previous = 0;
    KD_TRY(KD_RESERVE_ZEROED(c, 1));
    c->device = device;
    kd_status status = device_enter(device, &previous);
    if (status == KD_OK) {
        status = fill(c, out, points, renamed, row);
        device_leave(previous);
    }
    if (status == KD_OK)
        out->cuda = c;
    else
        points_cuda_close(c);
    return status;
}

kd_status points_cuda_build(kd_points *out, const point_array *points, const uint32_t *renamed,
                            const point_builder_cuda *row, int32_t device) {
    out->tree.count = (uint32_t)points->count;
    out->tree.dims = points->dims;
    out->tree.scalar = points->scalar;
    return open_on(out, points, renamed, row, device);
}

kd_status points_cuda_adopt(kd_points *out, int32_t device) {
    kd_status status = KD_OK;
    pointtree *tree = &out->tree;
    const size_t bytes = tree->dims * point_scalar_bytes(tree->scalar);
    void *input = NULL;
    KD_TRY_GOTO(memory_reserve(&input, tree->count, bytes));
    for (uint32_t i = 0; i < tree->count; ++i)
        memcpy((char *)input + tree->ids[i] * bytes, (const char *)tree->coordinates + i * bytes,
               bytes);
    const point_array points = point_array_make(input, tree->count, tree->dims, tree->scalar);
    KD_TRY_GOTO(open_on(out, &points, out->renamed, NULL, device));
    memory_free(tree->coordinates);
    memory_free(tree->ids);
    memory_free(tree->axes);
    memory_free(out->renamed);
    tree->coordinates = NULL;
    tree->ids = NULL;
    tree->axes = NULL;
    out->renamed = NULL;
done:
    memory_free(input);
    return status;
}

kd_status points_cuda_fetch(kd_points *copy, const kd_points *tree) {
    kd_status status = KD_OK;
    const points_cuda *c = tree->cuda;
    const uint64_t count = tree->tree.count;
    const size_t bytes = tree->tree.dims * point_scalar_bytes(tree->tree.scalar);
    *copy = *tree;
    copy->cuda = NULL;
    copy->dynamic = NULL;
    KD_TRY_GOTO(memory_reserve(&copy->tree.coordinates, count, bytes));
    KD_TRY_GOTO(KD_RESERVE(copy->tree.ids, count));
    KD_TRY_GOTO(
        device_memory_download(copy->tree.coordinates, c->index.tree.coordinates, count * bytes));
    KD_TRY_GOTO(device_memory_download(copy->tree.ids, c->ids, count * sizeof *c->ids));
    if (c->axes) {
        KD_TRY_GOTO(KD_RESERVE(copy->tree.axes, count));
        KD_TRY_GOTO(device_memory_download(copy->tree.axes, c->axes, count));
    }
    if (c->renamed) {
        KD_TRY_GOTO(KD_RESERVE(copy->renamed, count));
        KD_TRY_GOTO(device_memory_download(copy->renamed, c->renamed, count * sizeof *c->renamed));
    }
done:
    if (status != KD_OK) points_release(copy);
    return status;
}

void points_cuda_close(points_cuda *owned) {
    int32_t previous = 0;
    if (!owned) return;
    const bool entered = device_enter(owned->device, &previous) == KD_OK;
    /* Uses the default stream: the options' stream may have been destroyed, and all work on it has
       finished. */
    device_pool_release(owned->ids, NULL);
    device_pool_release(owned->axes, NULL);
    device_pool_release(owned->renamed, NULL);
    device_pool_release(owned->memory, NULL);
    device_pool_release(owned->tombstones, NULL);
    if (entered) device_leave(previous);
    memory_free(owned);
}
