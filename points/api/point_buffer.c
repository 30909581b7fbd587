/* The growing buffer of points of dynamic.h: points that one tree passes on to the next. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/api/dynamic.h"

enum { BUFFER_GRAIN = 1 << 14 };

void buffer_close(point_buffer *owned) {
    memory_free(owned->coordinates);
    memory_free(owned->ids);
}

kd_status buffer_open(point_buffer *out, const pointtree *like, uint64_t maximum) {
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    out->dims = like->dims;
    out->scalar = like->scalar;
    KD_TRY_GOTO(
        memory_reserve(&out->coordinates, maximum, like->dims * point_scalar_bytes(like->scalar)));
    KD_TRY_GOTO(KD_RESERVE(out->ids, maximum));
done:
    if (status != KD_OK) buffer_close(out);
    return status;
}

typedef struct buffer_work {
    const kd_points *tree;
    const uint32_t *places; /* for each index of the tree its position in the buffer; KD_NONE:
                               removed */
    point_buffer *buffer;
} buffer_work;

static void buffer_put(const buffer_work *work, uint32_t index, const void *at, size_t bytes) {
    const uint32_t place = work->places[index];
    if (place == KD_NONE) return;
    memcpy((char *)work->buffer->coordinates + place * bytes, at, bytes);
    work->buffer->ids[place] = points_id_of(work->tree, index);
}

static void buffer_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const buffer_work *work = (const buffer_work *)context;
    const pointtree *tree = &work->tree->tree;
    const size_t bytes = tree->dims * point_scalar_bytes(tree->scalar);
    for (int64_t node = begin; node < end; ++node)
        buffer_put(work, tree->ids[node], (const char *)tree->coordinates + (uint64_t)node * bytes,
                   bytes);
}

/* buffer_piece for a lean tree, whose points are in buckets only. */
static void buffer_buckets(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const buffer_work *work = (const buffer_work *)context;
    const size_t bytes = work->tree->tree.dims * sizeof(float);
    for (int64_t s = begin; s < end; ++s) {
        const leaf_points leaf = leafindex_bucket(&work->tree->index, (uint32_t)s);
        for (int i = 0; i < leaf.places && leaf.id[i] != KD_NONE; ++i) {
            const float *x = (const float *)leaf.at + i;
            const float at[3] = {x[0], x[leaf.places], x[2 * leaf.places]};
            buffer_put(work, leaf.id[i], at, bytes);
        }
    }
}

kd_status buffer_add(point_buffer *buffer, const kd_points *tree,
                     const points_tombstones *tombstones) {
    const uint32_t count = tree->tree.count;
    uint32_t *places = NULL, next = (uint32_t)buffer->count;
    if (count == 0) return KD_OK;
    KD_TRY(KD_RESERVE(places, count));
    for (uint32_t i = 0; i < count; ++i)
        places[i] = tombstones->flags && tombstones->flags[i] ? KD_NONE : next++;
    buffer_work work = {tree, places, buffer};
    if (__atomic_load_n(&tree->lean, __ATOMIC_ACQUIRE))
        parallel_for(tree->index.shape.leaf_count, BUFFER_GRAIN / LEAF_POINTS, buffer_buckets,
                     &work);
    else
        parallel_for(count, BUFFER_GRAIN, buffer_piece, &work);
    buffer->count = next;
    memory_free(places);
    return KD_OK;
}

kd_point_array buffer_array(const point_buffer *buffer) {
    kd_point_array array =
        kd_point_array_make(buffer->coordinates, buffer->count, buffer->dims,
                            buffer->scalar == POINT_DOUBLE ? KD_DOUBLE : KD_FLOAT);
    array.ids = buffer->ids;
    return array;
}

kd_status buffer_layers(point_buffer *out, const points_dynamic *dynamic, int first,
                        const point_buffer *more) {
    uint64_t maximum = more ? more->count : 0;
    const pointtree *like = &dynamic->layers[0].tree->tree;
    for (int l = first; l < dynamic->count; ++l) maximum += points_layer_live(&dynamic->layers[l]);
    KD_REQUIRE(maximum <= POINTTREE_COUNT_MAX, KD_ERROR_USAGE,
               "the tree would have %llu points; supported: at most %u",
               (unsigned long long)maximum, POINTTREE_COUNT_MAX);
    KD_TRY(buffer_open(out, like, maximum));
    kd_status status = KD_OK;
    for (int l = first; l < dynamic->count && status == KD_OK; ++l)
        status = buffer_add(out, dynamic->layers[l].tree, &dynamic->layers[l].tombstones);
    if (status == KD_OK && more && more->count) {
        const size_t bytes = like->dims * point_scalar_bytes(like->scalar);
        memcpy((char *)out->coordinates + out->count * bytes, more->coordinates,
               more->count * bytes);
        memcpy(out->ids + out->count, more->ids, more->count * sizeof *more->ids);
        out->count += more->count;
    }
    if (status != KD_OK) buffer_close(out);
    return status;
}
