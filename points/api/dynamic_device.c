/* Changes of a tree on a CUDA device: as on the CPU (dynamic.h), with all data on the device. Small
   layers are merged earlier: a tree of 2^18 points takes hardly longer to build than one of a
   thousand. */
#include "core/device/device_stream.h"
#include "points/api/device_kernels.h"
#include "points/api/dynamic.h"
#include "points/api/points_device.h"
#include <stdio.h>

static_assert((int)LAYERS_MAX == (int)DYNAMIC_LAYERS_MAX, "a place for each layer");

bool points_has_layers(const kd_points *tree) {
    const points_dynamic *dynamic = tree->dynamic;
    return tree->cuda && dynamic && (dynamic->count > 1 || dynamic->layers[0].tombstones.count > 0);
}

static dynamic_layer layer_of(const points_layer *layer) {
    const points_cuda *c = layer->tree->cuda;
    const dynamic_layer dynamic_layer = {&c->index, c->renamed, c->tombstones, NULL};
    return dynamic_layer;
}

/* --- buffers of points from which trees are rebuilt ----------------------------------------- */

static void buffer_device_close(point_buffer *owned, void *stream) {
    device_pool_release(owned->coordinates, stream);
    device_pool_release(owned->ids, stream);
}

static kd_status buffer_device_open(point_buffer *out, const kd_points *like, uint64_t maximum) {
    kd_status status = KD_OK;
    void *stream = like->options.stream;
    const size_t bytes = like->tree.dims * point_scalar_bytes(like->tree.scalar);
    memset(out, 0, sizeof *out);
    out->dims = like->tree.dims;
    out->scalar = like->tree.scalar;
    KD_TRY_GOTO(device_pool_reserve(&out->coordinates, maximum * bytes, stream));
    KD_TRY_GOTO(device_pool_reserve((void **)&out->ids, maximum * sizeof *out->ids, stream));
done:
    if (status != KD_OK) buffer_device_close(out, stream);
    return status;
}

static kd_status buffer_device_extend(point_buffer *to, const point_buffer *more, void *stream) {
    const size_t bytes = to->dims * point_scalar_bytes(to->scalar);
    KD_TRY(device_copy((char *)to->coordinates + to->count * bytes, more->coordinates,
                       more->count * bytes, stream));
    KD_TRY(device_copy(to->ids + to->count, more->ids, more->count * sizeof *more->ids, stream));
    to->count += more->count;
    return KD_OK;
}

/* Collects all layers from `first` on, followed by `more` points (or NULL). */
static kd_status buffer_device_layers(point_buffer *out, const kd_points *tree, int first,
                                      const point_buffer *more) {
    const points_dynamic *dynamic = tree->dynamic;
    void *stream = tree->options.stream;
    uint64_t maximum = more ? more->count : 0;
    kd_status status = KD_OK;
    for (int l = first; l < dynamic->count; ++l) maximum += points_layer_live(&dynamic->layers[l]);
    KD_REQUIRE(maximum <= POINTTREE_COUNT_MAX, KD_ERROR_USAGE,
               "the tree would have %llu points; supported: at most %u",
               (unsigned long long)maximum, POINTTREE_COUNT_MAX);
    KD_TRY(buffer_device_open(out, tree, maximum));
    for (int l = first; l < dynamic->count; ++l) {
        const dynamic_layer layer = layer_of(&dynamic->layers[l]);
        KD_TRY_GOTO(dynamic_gather(&layer, out->count, out->coordinates, out->ids, stream));
        out->count += points_layer_live(&dynamic->layers[l]);
    }
    if (more) KD_TRY_GOTO(buffer_device_extend(out, more, stream));
done:
    if (status != KD_OK) buffer_device_close(out, stream);
    return status;
}

static kd_status join_on_device(kd_points *tree, int first, const point_buffer *more) {
    point_buffer joined;
    if (more && first == tree->dynamic->count) return points_put_layer(tree, first, more);
    KD_TRY(buffer_device_layers(&joined, tree, first, more));
    void *stream = tree->options.stream;
    const kd_status status = points_put_layer(tree, first, &joined);
    buffer_device_close(&joined, stream);
    return status;
}

kd_status points_device_join(kd_points *tree, int first) {
    int32_t previous = 0;
    KD_TRY(device_enter(tree->cuda->device, &previous));
    const kd_status status = join_on_device(tree, first, NULL);
    device_leave(previous);
    return status;
}

kd_status points_device_merge(kd_points *out, const kd_points *tree) {
    point_buffer all;
    int32_t previous = 0;
    kd_points_options options = tree->options;
    snprintf(options.device, sizeof options.device, "cuda:%d", (int)tree->cuda->device);
    KD_TRY(device_enter(tree->cuda->device, &previous));
    kd_status status = buffer_device_layers(&all, tree, 0, NULL);
    if (status == KD_OK) {
        const kd_point_array array = buffer_array(&all);
        status = points_build(out, &array, &options);
        buffer_device_close(&all, tree->options.stream);
    }
    device_leave(previous);
    return status;
}

/* --- insertion ------------------------------------------------------------------------------ */

/* Copies the caller's points, in any memory, with their ids, given or newly assigned. */
static kd_status buffer_device_new(point_buffer *out, const kd_points *tree,
                                   const kd_point_array *points) {
    void *staged = NULL, *stream = tree->options.stream;
    const size_t bytes = tree->tree.dims * point_scalar_bytes(tree->tree.scalar);
    point_array points_in = point_array_make(points->coordinates, points->count, tree->tree.dims,
                                             tree->tree.scalar),
                array;
    if (points->stride_bytes) points_in.stride_bytes = points->stride_bytes;
    kd_status status = KD_OK;
    KD_TRY(buffer_device_open(out, tree, points->count));
    KD_TRY_GOTO(points_cuda_stage(&array, &staged, &points_in, tree->cuda->device, stream));
    if (array.stride_bytes == bytes)
        KD_TRY_GOTO(
            device_copy(out->coordinates, array.coordinates, points->count * bytes, stream));
    else
        KD_TRY_GOTO(dynamic_pack(out->coordinates, &array, stream));
    if (points->ids)
        KD_TRY_GOTO(device_copy(out->ids, points->ids, points->count * sizeof *out->ids, stream));
    else
        KD_TRY_GOTO(
            dynamic_number(out->ids, points->count, (uint32_t)tree->dynamic->next_id, stream));
    out->count = points->count;
done:
    device_pool_release(staged, stream);
    if (status != KD_OK) buffer_device_close(out, stream);
    return status;
}

kd_status points_device_insert(kd_points *tree, const kd_point_array *points) {
    point_buffer more;
    int32_t previous = 0;
    void *stream = tree->options.stream;
    KD_TRY(device_enter(tree->cuda->device, &previous));
    kd_status status = buffer_device_new(&more, tree, points);
    if (status == KD_OK) {
        status = join_on_device(tree, points_first_to_join(tree->dynamic, more.count), &more);
        buffer_device_close(&more, stream);
    }
    device_leave(previous);
    return status;
}

/* --- removal -------------------------------------------------------------------------------- */

typedef struct marks {
    void *memory; /* a single allocation of the pool */
    dynamic_ids ids;
    dynamic_found *device_result, result;
    uint32_t *caller_ids; /* the caller's ids */
    dynamic_layer layers[LAYERS_MAX];
    void *stream;
} marks;

static void *take_scratch(char *base, uint64_t *used, uint64_t bytes) {
    char *taken = base ? base + *used : NULL;
    *used += (bytes + 255) / 256 * 256;
    return taken;
}

/* Lays out all arrays from `base` on; returns the bytes needed. `base` may be NULL. */
static uint64_t lay_out(marks *work, const points_dynamic *dynamic, char *base) {
    uint64_t used = 0;
    const uint64_t ids_bytes = work->ids.count * sizeof(uint32_t);
    work->caller_ids = (uint32_t *)take_scratch(base, &used, ids_bytes);
    work->ids.sorted = (uint32_t *)take_scratch(base, &used, ids_bytes);
    work->ids.matched = (uint32_t *)take_scratch(base, &used, ids_bytes);
    work->ids.filter = (uint32_t *)take_scratch(base, &used, DYNAMIC_FILTER_BITS / 8);
    work->device_result = (dynamic_found *)take_scratch(base, &used, sizeof *work->device_result);
    for (int l = 0; l < dynamic->count; ++l) {
        work->layers[l] = layer_of(&dynamic->layers[l]);
        work->layers[l].hits = (uint32_t *)take_scratch(
            base, &used, dynamic_words(work->layers[l].tree->tree.count) * sizeof(uint32_t));
    }
    return used;
}

/* Marks the points to remove; does not change the tree. */
static kd_status mark(marks *work, const points_dynamic *dynamic, const uint32_t *ids) {
    KD_TRY(device_pool_reserve(&work->memory, lay_out(work, dynamic, NULL), work->stream));
    (void)lay_out(work, dynamic, (char *)work->memory);
    memset(&work->result, 0, sizeof work->result);
    work->result.min_missing = KD_NONE;
    KD_TRY(device_copy(work->device_result, &work->result, sizeof work->result, work->stream));
    KD_TRY(device_copy(work->caller_ids, ids, work->ids.count * sizeof *ids, work->stream));
    KD_TRY(dynamic_ids_open(&work->ids, work->caller_ids, work->stream));
    for (int l = 0; l < dynamic->count; ++l)
        KD_TRY(dynamic_mark(&work->layers[l], &work->ids, &work->device_result->hits[l],
                            work->stream));
    KD_TRY(dynamic_marks_read(&work->result, work->device_result, &work->ids, work->stream));
    KD_REQUIRE(work->result.missing == 0, KD_ERROR_INPUT, "`ids`: no point has the id %u",
               work->result.min_missing);
    return KD_OK;
}

static kd_status set_tombstones(marks *work, points_dynamic *dynamic) {
    for (int l = 0; l < dynamic->count; ++l)
        if (work->result.hits[l])
            KD_TRY(points_cuda_open_tombstones(dynamic->layers[l].tree->cuda, work->stream));
    for (int l = 0; l < dynamic->count; ++l) {
        if (!work->result.hits[l]) continue;
        work->layers[l].tombstones = dynamic->layers[l].tree->cuda->tombstones;
        KD_TRY(dynamic_set_tombstones(&work->layers[l], work->stream));
        dynamic->layers[l].tombstones.count += work->result.hits[l];
    }
    return device_stream_wait(work->stream);
}

/* Rebuilds, together with all later layers, the first layer that has lost half of its points or
   that only walks can search. */
static kd_status build_the_thin_there(kd_points *tree) {
    const points_dynamic *dynamic = tree->dynamic;
    for (int l = 0; l < dynamic->count; ++l) {
        const points_layer *layer = &dynamic->layers[l];
        if (layer->tombstones.count > 0 &&
            (2 * (uint64_t)layer->tombstones.count >= layer->tree->tree.count ||
             !layer->tree->cuda->index.points))
            return join_on_device(tree, l, NULL);
    }
    return KD_OK;
}

kd_status points_device_remove(kd_points *tree, const uint32_t *ids, uint64_t count) {
    marks work;
    int32_t previous = 0;
    KD_REQUIRE(count <= POINTTREE_COUNT_MAX, KD_ERROR_USAGE,
               "`count` is %llu; supported: at most %u ids per call", (unsigned long long)count,
               POINTTREE_COUNT_MAX);
    memset(&work, 0, sizeof work);
    work.ids.count = (uint32_t)count;
    work.stream = tree->options.stream;
    KD_TRY(device_enter(tree->cuda->device, &previous));
    kd_status status = mark(&work, tree->dynamic, ids);
    if (status == KD_OK) status = set_tombstones(&work, tree->dynamic);
    device_pool_release(work.memory, work.stream);
    if (status == KD_OK) {
        status = build_the_thin_there(tree);
        if (status == KD_ERROR_MEMORY)
            status = KD_OK; /* the points are removed; only their memory is not released */
    }
    device_leave(previous);
    return status;
}
