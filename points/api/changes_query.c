/* What all layers of a changed tree answer, merged in the order (dist2, layer, place in its row):
   that is (dist2, order in which points came), the order of a tree built anew. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/api/changes.h"

enum { CHUNK_ANSWERS = 1 << 20 /* of a layer, at a time */, MERGE_GRAIN = 64 };

/* A layer's answers to a chunk of queries. */
typedef struct layer_rows {
    uint32_t *ids;
    void *dist2;
    uint32_t *counts;  /* nearest */
    uint64_t *offsets; /* within */
} layer_rows;

typedef struct merging {
    const layer_rows *rows;
    int layers;
    uint32_t k;              /* nearest: of each row */
    const uint64_t *offsets; /* within: of the caller's rows; NULL: nearest */
    point_scalar scalar;
    uint64_t first; /* query of the chunk */
    void *bounds2;  /* nearest: of each query of the chunk */
    point_rows out;
} merging;

static double dist2_of(const layer_rows *rows, point_scalar scalar, uint64_t at) {
    return scalar == POINT_DOUBLE ? ((const double *)rows->dist2)[at]
                                  : (double)((const float *)rows->dist2)[at];
}

static void put(const merging *work, uint64_t at, uint32_t id, double dist2) {
    if (work->out.ids) work->out.ids[at] = id;
    if (!work->out.dist2) return;
    if (work->scalar == POINT_DOUBLE)
        ((double *)work->out.dist2)[at] = dist2;
    else
        ((float *)work->out.dist2)[at] = (float)dist2;
}

/* Query i of the chunk: the least of what is left of each layer's row, until none is or the
   caller's row is full. */
static void merge_row(const merging *work, uint64_t i) {
    uint64_t at[LAYERS_MOST], end[LAYERS_MOST];
    for (int l = 0; l < work->layers; ++l) {
        const layer_rows *rows = &work->rows[l];
        at[l] = work->offsets ? rows->offsets[i] : i * work->k;
        end[l] = work->offsets ? rows->offsets[i + 1] : at[l] + rows->counts[i];
    }
    const uint64_t query = work->first + i;
    const uint64_t begin = work->offsets ? work->offsets[query] : query * work->k;
    const uint64_t room = work->offsets ? work->offsets[query + 1] - begin : work->k;
    uint64_t made = 0;
    for (; made < room; ++made) {
        int least = -1;
        double least_dist2 = 0;
        for (int l = 0; l < work->layers; ++l) {
            if (at[l] == end[l]) continue;
            const double dist2 = dist2_of(&work->rows[l], work->scalar, at[l]);
            if (least >= 0 && !(dist2 < least_dist2)) continue;
            least = l;
            least_dist2 = dist2;
        }
        if (least < 0) break;
        put(work, begin + made, work->rows[least].ids[at[least]++], least_dist2);
    }
    if (work->out.counts) work->out.counts[query] = (uint32_t)made;
    for (; made < room; ++made) put(work, begin + made, KD_NO_POINT, (double)INFINITY);
}

static void merge_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    for (int64_t i = begin; i < end; ++i) merge_row((const merging *)context, (uint64_t)i);
}

/* --- a chunk ---------------------------------------------------------------------------------- */

/* Queries `first` to `first + count` of the caller's. */
static kd_points_query part_of(const kd_points *tree, const kd_points_query *query, uint64_t first,
                               uint64_t count) {
    const uint64_t scalar_bytes = point_scalar_bytes(tree->tree.scalar);
    const uint64_t stride =
        query->points.stride_bytes ? query->points.stride_bytes : tree->tree.dims * scalar_bytes;
    kd_points_query part = *query;
    part.points.coordinates = (const char *)query->points.coordinates + first * stride;
    part.points.count = count;
    if (query->radii) part.radii = (const char *)query->radii + first * scalar_bytes;
    part.scratch = NULL;
    part.scratch_bytes = 0;
    return part;
}

static void rows_close(layer_rows *rows, int layers) {
    for (int l = 0; l < layers; ++l) {
        memory_free(rows[l].ids);
        memory_free(rows[l].dist2);
        memory_free(rows[l].counts);
        memory_free(rows[l].offsets);
    }
}

static kd_status rows_reserve(layer_rows *rows, uint64_t answers, point_scalar scalar) {
    KD_TRY(KD_RESERVE(rows->ids, answers));
    return memory_reserve(&rows->dist2, answers, point_scalar_bytes(scalar));
}

/* The walk goes by the tree's own points, of which it does not know which have gone. */
static kd_status check_method(const points_changes *changes, const kd_points_query *query) {
    point_query_method method;
    point_metric metric;
    KD_TRY(points_method_find(&method, query->method));
    const bool walks = method == POINT_QUERY_WALK || points_metric(&metric, query);
    for (int l = 0; l < changes->count; ++l)
        KD_REQUIRE(!walks || changes->layers[l].gone.count == 0, KD_ERROR_USAGE,
                   "a walk (the method, another norm or a period) and %u points that were removed: "
                   "call kd_points_rebuild first, "
                   "or ask by leaves",
                   changes->layers[l].gone.count);
    return KD_OK;
}

/* No other layer has a place among the k nearest beyond the k-th of the first one, the largest. */
static void take_bounds(const merging *work, uint64_t count) {
    const layer_rows *rows = work->rows;
    for (uint64_t i = 0; i < count; ++i) {
        const double last = rows->counts[i] == work->k
                                ? dist2_of(rows, work->scalar, (i + 1) * work->k - 1)
                                : (double)INFINITY;
        if (work->scalar == POINT_DOUBLE)
            ((double *)work->bounds2)[i] = last;
        else
            ((float *)work->bounds2)[i] = (float)last;
    }
}

static kd_status nearest_of_chunk(const kd_points *tree, const kd_points_query *part, uint32_t k,
                                  merging *work, layer_rows *rows) {
    for (int l = 0; l < work->layers; ++l) {
        const kd_points *layer = tree->changes->layers[l].tree;
        const point_rows to = {rows[l].ids, rows[l].dist2, rows[l].counts};
        KD_TRY(points_ask_nearest(layer, part, k, l ? work->bounds2 : NULL, &to));
        if (l == 0) take_bounds(work, part->points.count);
    }
    parallel_for((int64_t)part->points.count, MERGE_GRAIN, merge_piece, work);
    return KD_OK;
}

kd_status points_changes_nearest(const kd_points *tree, const kd_points_query *query, uint32_t k,
                                 const point_rows *out) {
    const points_changes *changes = tree->changes;
    const point_scalar scalar = tree->tree.scalar;
    layer_rows rows[LAYERS_MOST];
    kd_status status = KD_OK;
    KD_TRY(check_method(changes, query));
    if (changes->count == 1) return points_ask_nearest(tree, query, k, NULL, out);
    memset(rows, 0, sizeof rows);
    const uint64_t fit = CHUNK_ANSWERS / (uint64_t)k, count = query->points.count;
    const uint64_t chunk = fit < 1 ? 1 : fit < count ? fit : count;
    merging work = {rows, changes->count, k, NULL, scalar, 0, NULL, *out};
    for (int l = 0; l < changes->count; ++l) {
        KD_TRY_GOTO(rows_reserve(&rows[l], chunk * k, scalar));
        KD_TRY_GOTO(KD_RESERVE(rows[l].counts, chunk));
    }
    KD_TRY_GOTO(memory_reserve(&work.bounds2, chunk, point_scalar_bytes(scalar)));
    for (; work.first < count; work.first += chunk) {
        const uint64_t left = count - work.first;
        const kd_points_query part = part_of(tree, query, work.first, left < chunk ? left : chunk);
        KD_TRY_GOTO(nearest_of_chunk(tree, &part, k, &work, rows));
    }
done:
    memory_free(work.bounds2);
    rows_close(rows, changes->count);
    return status;
}

/* Adds the answers of each row of every layer but the first. */
static kd_status add_counts(const kd_points *tree, const kd_points_query *query, uint64_t *counts) {
    const uint64_t count = query->points.count;
    uint64_t *own = NULL;
    kd_status status = KD_OK;
    KD_TRY(KD_RESERVE(own, count + 1));
    for (int l = 1; l < tree->changes->count; ++l) {
        KD_TRY_GOTO(points_ask_count(tree->changes->layers[l].tree, query, own));
        for (uint64_t i = 0; i <= count; ++i) counts[i] += own[i]; /* sums of sums */
    }
done:
    memory_free(own);
    return status;
}

kd_status points_changes_count_within(const kd_points *tree, const kd_points_query *query,
                                      uint64_t *offsets) {
    KD_TRY(check_method(tree->changes, query));
    kd_points_query own = *query;
    if (tree->changes->count > 1) own.scratch = NULL;
    KD_TRY(points_ask_count(tree, &own, offsets));
    return tree->changes->count > 1 ? add_counts(tree, &own, offsets) : KD_OK;
}

/* Queries from `first` on whose answers, and they themselves, are not more than a chunk. */
static uint64_t chunk_of(const uint64_t *offsets, uint64_t first, uint64_t count) {
    uint64_t last = first + 1;
    while (last < count && offsets[last + 1] - offsets[first] <= CHUNK_ANSWERS &&
           last - first < CHUNK_ANSWERS)
        ++last;
    return last - first;
}

/* Whether each of the caller's rows has room for what all layers found, and no more. */
static bool rows_fit(const merging *work, const layer_rows *rows, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t answers = 0;
        for (int l = 0; l < work->layers; ++l)
            answers += rows[l].offsets[i + 1] - rows[l].offsets[i];
        if (work->offsets[work->first + i + 1] - work->offsets[work->first + i] != answers)
            return false;
    }
    return true;
}

static kd_status within_of_chunk(const kd_points *tree, const kd_points_query *part,
                                 merging *work) {
    layer_rows rows[LAYERS_MOST];
    const uint64_t count = part->points.count;
    kd_status status = KD_OK;
    memset(rows, 0, sizeof rows);
    work->rows = rows;
    for (int l = 0; l < work->layers; ++l) {
        const kd_points *layer = tree->changes->layers[l].tree;
        KD_TRY_GOTO(KD_RESERVE(rows[l].offsets, count + 1));
        KD_TRY_GOTO(points_ask_count(layer, part, rows[l].offsets));
        KD_TRY_GOTO(rows_reserve(&rows[l], rows[l].offsets[count], work->scalar));
        const point_rows to = {rows[l].ids, rows[l].dist2, NULL};
        KD_TRY_GOTO(points_ask_within(layer, part, rows[l].offsets, &to));
    }
    status = rows_fit(work, rows, count)
                 ? KD_OK
                 : status_fail(KD_ERROR_USAGE, __FILE__, __LINE__,
                               "the offsets of some queries do not fit their answers, expected "
                               "those of the same query's count");
    if (status == KD_OK) parallel_for((int64_t)count, MERGE_GRAIN, merge_piece, work);
done:
    rows_close(rows, work->layers);
    return status;
}

kd_status points_changes_within(const kd_points *tree, const kd_points_query *query,
                                const uint64_t *offsets, const point_rows *out) {
    const points_changes *changes = tree->changes;
    KD_TRY(check_method(changes, query));
    if (changes->count == 1) return points_ask_within(tree, query, offsets, out);
    merging work = {NULL, changes->count, 0, offsets, tree->tree.scalar, 0, NULL, *out};
    while (work.first < query->points.count) {
        const uint64_t chunk = chunk_of(offsets, work.first, query->points.count);
        const kd_points_query part = part_of(tree, query, work.first, chunk);
        KD_TRY(within_of_chunk(tree, &part, &work));
        work.first += chunk;
    }
    return KD_OK;
}

kd_status points_changes_targets(const kd_points *tree, const kd_points_query *query,
                                 point_target targets[LAYERS_MOST], uint32_t *count) {
    const points_changes *changes = tree->changes;
    *count = 1;
    if (changes) KD_TRY(check_method(changes, query));
    KD_TRY(points_target(&targets[0], tree, query));
    if (!changes) return KD_OK;
    for (int l = 1; l < changes->count; ++l)
        KD_TRY(points_target(&targets[l], changes->layers[l].tree, query));
    *count = (uint32_t)changes->count;
    return KD_OK;
}
