/* Removal of points from a tree on the CPU. */
#include "core/device/device.h"
#include "core/memory.h"
#include "core/parallel/call.h"
#include "core/parallel/parallel.h"
#include "points/api/dynamic.h"
#include <stdlib.h>

enum { SCAN_GRAIN = 1 << 14 };

static int compare_ids(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Returns the index of an id in a sorted list, or `count` if it is absent. */
static uint64_t find_id(const uint32_t *sorted, uint64_t count, uint32_t id) {
    uint64_t first = 0, last = count;
    while (first < last) {
        const uint64_t middle = (first + last) / 2;
        if (sorted[middle] < id)
            first = middle + 1;
        else
            last = middle;
    }
    return first < count && sorted[first] == id ? first : count;
}

typedef struct removal {
    const uint32_t *sorted; /* ids to remove, in ascending order */
    uint64_t count;
    uint8_t *matched; /* per id: 1 if a point has it */
    uint8_t *hits;    /* per point of a layer: 1 if it is removed */
    const points_layer *layer;
} removal;

static void mark_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const removal *work = (const removal *)context;
    const points_layer *layer = work->layer;
    for (int64_t i = begin; i < end; ++i) {
        work->hits[i] = 0;
        if (layer->tombstones.flags && layer->tombstones.flags[i]) continue;
        const uint64_t place =
            find_id(work->sorted, work->count, points_id_of(layer->tree, (uint32_t)i));
        if (place == work->count) continue;
        work->hits[i] = 1;
        __atomic_store_n(&work->matched[place], 1, __ATOMIC_RELAXED); /* other threads write the
                                                                     same value */
    }
}

/* Without caller's ids, ids are input indices, so not all points need to be tested. */
static void mark_by_number(const removal *work) {
    const points_layer *layer = work->layer;
    memset(work->hits, 0, layer->tree->tree.count);
    for (uint64_t i = 0; i < work->count; ++i) {
        const uint32_t index = work->sorted[i];
        if (index >= layer->tree->tree.count ||
            (layer->tombstones.flags && layer->tombstones.flags[index]))
            continue;
        work->hits[index] = 1;
        work->matched[i] = 1;
    }
}

static void mark(const removal *work) {
    if (work->layer->tree->renamed)
        parallel_for(work->layer->tree->tree.count, SCAN_GRAIN, mark_piece,
                     (void *)(uintptr_t)work);
    else
        mark_by_number(work);
}

/* Finds the bucket slot of each point of a layer. */
static void find_slots(uint32_t *slots, const kd_points *tree) {
    for (uint32_t s = 0; s < tree->index.shape.leaf_count; ++s) {
        const leaf_points leaf = leafindex_bucket(&tree->index, s);
        for (int i = 0; i < leaf.places; ++i)
            if (leaf.id[i] < tree->tree.count) slots[leaf.id[i]] = s * LEAF_POINTS + (uint32_t)i;
    }
}

static kd_status tombstones_open(points_tombstones *out, const kd_points *tree) {
    kd_status status = KD_OK;
    if (out->flags) return KD_OK;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(out->flags, tree->tree.count));
    KD_TRY_GOTO(KD_RESERVE(out->slots, tree->tree.count));
    find_slots(out->slots, tree);
done:
    if (status != KD_OK) points_tombstones_close(out);
    return status;
}

/* Sets a point to NaN, where no search finds it. */
static void empty_slot(kd_points *tree, uint32_t slot) {
    const uint32_t lane = slot % LEAF_POINTS;
    const leaf_points bucket = leafindex_bucket(&tree->index, slot / LEAF_POINTS);
    if (tree->index.scalar == POINT_DOUBLE)
        ((double *)(uintptr_t)bucket.at)[lane] = (double)NAN;
    else
        ((float *)(uintptr_t)bucket.at)[lane] = NAN;
}

static void set_tombstones(points_layer *layer, const uint8_t *hits) {
    for (uint32_t i = 0; i < layer->tree->tree.count; ++i) {
        if (!hits[i]) continue;
        layer->tombstones.flags[i] = 1;
        ++layer->tombstones.count;
        empty_slot(layer->tree, layer->tombstones.slots[i]);
    }
}

/* Rebuilds, together with all later layers, the first layer that has lost half of its points. */
static kd_status build_the_thin(kd_points *tree) {
    points_dynamic *dynamic = tree->dynamic;
    for (int l = 0; l < dynamic->count; ++l) {
        const points_layer *layer = &dynamic->layers[l];
        if (layer->tombstones.count > 0 &&
            2 * (uint64_t)layer->tombstones.count >= layer->tree->tree.count)
            return points_join_from(tree, l, NULL);
    }
    return KD_OK;
}

/* Allocates one byte for each point of all layers in *hits and marks the points to remove; returns
   KD_ERROR_INPUT for an id that no point has. */
static kd_status mark_all(uint8_t **hits, removal *work, const points_dynamic *dynamic) {
    uint64_t all = 0;
    for (int l = 0; l < dynamic->count; ++l) all += dynamic->layers[l].tree->tree.count;
    KD_TRY(KD_RESERVE(*hits, all));
    all = 0;
    for (int l = 0; l < dynamic->count; ++l) {
        work->layer = &dynamic->layers[l];
        work->hits = *hits + all;
        mark(work);
        all += work->layer->tree->tree.count;
    }
    for (uint64_t i = 0; i < work->count; ++i)
        KD_REQUIRE(work->matched[i] || (i && work->sorted[i] == work->sorted[i - 1]),
                   KD_ERROR_INPUT, "`ids`: no point has the id %u", work->sorted[i]);
    return KD_OK;
}

static kd_status remove_on_cpu(kd_points *tree, removal *work) {
    points_dynamic *dynamic = tree->dynamic;
    uint8_t *hits = NULL;
    uint64_t at = 0;
    kd_status status = KD_OK;
    KD_TRY_GOTO(mark_all(&hits, work, dynamic));
    for (int l = 0; l < dynamic->count; ++l)
        KD_TRY_GOTO(tombstones_open(&dynamic->layers[l].tombstones, dynamic->layers[l].tree));
    for (int l = 0; l < dynamic->count; ++l) {
        const uint32_t count = dynamic->layers[l].tree->tree.count;
        set_tombstones(&dynamic->layers[l], hits + at);
        at += count;
    }
    status = build_the_thin(tree);
    if (status == KD_ERROR_MEMORY)
        status = KD_OK; /* the points are removed; only their memory is not released */
done:
    memory_free(hits);
    return status;
}

/* Removes points from a distributed tree. */
static kd_status remove_in_parts(kd_points *tree, removal *work) {
    kd_points copy;
    points_dynamic only;
    point_buffer all;
    uint8_t *hits = NULL;
    KD_TRY(points_fetch_layer(&copy, &only, tree));
    kd_status status = mark_all(&hits, work, &only);
    only.layers[0].tombstones.flags = hits;
    for (uint32_t i = 0; status == KD_OK && i < copy.tree.count; ++i)
        only.layers[0].tombstones.count += hits[i];
    if (status == KD_OK) status = buffer_layers(&all, &only, 0, NULL);
    if (status == KD_OK) {
        status = points_build_anew(tree, &all);
        buffer_close(&all);
    }
    memory_free(hits);
    points_release(&copy);
    return status;
}

static kd_status remove_sorted(kd_points *tree, const uint32_t *ids, uint64_t count) {
    uint32_t *sorted = NULL;
    removal work;
    memset(&work, 0, sizeof work);
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(sorted, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(work.matched, count));
    memcpy(sorted, ids, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_ids);
    work.sorted = sorted;
    work.count = count;
    KD_TRY_GOTO(tree->parts ? remove_in_parts(tree, &work) : remove_on_cpu(tree, &work));
done:
    memory_free(sorted);
    memory_free(work.matched);
    return status;
}

kd_status kd_points_remove(kd_points *tree, const uint32_t *ids, uint64_t count) {
    KD_CALL(tree ? tree->options.threads : 0);
    KD_REQUIRE(tree, KD_ERROR_USAGE, "`tree` must not be NULL");
    KD_REQUIRE(ids || count == 0, KD_ERROR_USAGE, "`ids` must not be NULL: `count` is %llu",
               (unsigned long long)count);
    const caller_array arrays = {ids, "ids", sizeof *ids};
    KD_TRY(caller_memory_check(&arrays, 1, tree->cuda == NULL));
    KD_TRY(points_may_change(tree));
    KD_TRY(points_begin_change(tree));
    if (count == 0) return KD_OK;
    return tree->cuda ? points_device_remove(tree, ids, count) : remove_sorted(tree, ids, count);
}
