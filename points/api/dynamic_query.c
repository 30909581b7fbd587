/* Queries of a changed tree on the CPU: searches all layers and merges the results in the order
   (dist2, layer, position in the row). That is (dist2, order of insertion), as in a rebuilt
   tree. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/api/dynamic.h"
#include "points/api/search.h"

enum { CHUNK_ANSWERS = 1 << 20 /* results per layer and chunk */, MERGE_GRAIN = 64 };

/* Results of one layer for a chunk of queries. */
typedef struct layer_rows {
    uint32_t *ids;
    void *dist2;
    uint32_t *counts;  /* nearest */
    uint64_t *offsets; /* within */
} layer_rows;

typedef struct merging {
    const layer_rows *rows;
    int layers;
    uint32_t k;              /* nearest: length of each row */
    const uint64_t *offsets; /* within: of the caller's rows; NULL: nearest */
    point_scalar scalar;
    uint64_t first; /* first query of the chunk */
    void *bounds2;  /* nearest: bound of each query of the chunk */
    point_rows out;
} merging;

static double dist2_of(const layer_rows *rows, point_scalar scalar, uint64_t at) {
    return scalar == POINT_DOUBLE ? ((const double *)rows->dist2)[at]
                                  : (double)((const float *)rows->dist2)[at];
}

static void write_neighbour(const merging *work, uint64_t at, uint32_t id, double dist2) {
    if (work->out.ids) work->out.ids[at] = id;
    if (!work->out.dist2) return;
    if (work->scalar == POINT_DOUBLE)
        ((double *)work->out.dist2)[at] = dist2;
    else
        ((float *)work->out.dist2)[at] = (float)dist2;
}

/* Merges the row of query i of the chunk: takes the least remaining element of all layers until
   none is left or the caller's row is full. */
static void merge_row(const merging *work, uint64_t i) {
    uint64_t at[LAYERS_MAX], end[LAYERS_MAX];
    for (int l = 0; l < work->layers; ++l) {
        const layer_rows *rows = &work->rows[l];
        at[l] = work->offsets ? rows->offsets[i] : i * work->k;
        end[l] = work->offsets ? rows->offsets[i + 1] : at[l] + rows->counts[i];
    }
    const uint64_t query = work->first + i;
    const uint64_t begin = work->offsets ? work->offsets[query] : query * work->k;
    const uint64_t capacity = work->offsets ? work->offsets[query + 1] - begin : work->k;
    uint64_t made = 0;
    for (; made < capacity; ++made) {
        int minimum = -1;
        double min_dist2 = 0;
        for (int l = 0; l < work->layers; ++l) {
            if (at[l] == end[l]) continue;
            const double dist2 = dist2_of(&work->rows[l], work->scalar, at[l]);
            if (minimum >= 0 && !(dist2 < min_dist2)) continue;
            minimum = l;
            min_dist2 = dist2;
        }
        if (minimum < 0) break;
        write_neighbour(work, begin + made, work->rows[minimum].ids[at[minimum]++], min_dist2);
    }
    if (work->out.counts) work->out.counts[query] = (uint32_t)made;
    for (; made < capacity; ++made)
        write_neighbour(work, begin + made, KD_NO_POINT, (double)INFINITY);
}

static void merge_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    for (int64_t i = begin; i < end; ++i) merge_row((const merging *)context, (uint64_t)i);
}

/* --- a chunk of queries --------------------------------------------------------------------- */

/* Returns a search for the caller's queries from `first` to `first + count`. */
static points_search part_of(const kd_points *tree, const points_search *search, uint64_t first,
                             uint64_t count) {
    const uint64_t scalar_bytes = point_scalar_bytes(tree->tree.scalar);
    points_search part = *search;
    kd_points_query *query = &part.query;
    const uint64_t stride =
        query->points.stride_bytes ? query->points.stride_bytes : tree->tree.dims * scalar_bytes;
    query->points.coordinates = (const char *)query->points.coordinates + first * stride;
    query->points.count = count;
    if (query->radii) query->radii = (const char *)query->radii + first * scalar_bytes;
    query->scratch = NULL;
    query->scratch_bytes = 0;
    return part;
}

static kd_status query_layer(const kd_points *layer, points_kind kind, const points_search *part,
                             const layer_rows *rows, const void *bounds2) {
    points_search search = *part;
    search.kind = kind;
    search.out = (kd_points_rows){
        .ids = rows->ids, .dist2 = rows->dist2, .counts = rows->counts, .offsets = rows->offsets};
    return points_query_one(layer, &search, bounds2);
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

/* Walks read the tree's own points, among which removed ones are not marked. */
static kd_status check_method(const points_dynamic *dynamic, const kd_points_query *query) {
    point_query_method method;
    KD_TRY(points_method_find(&method, query->method));
    const bool walks = method == POINT_QUERY_WALK;
    for (int l = 0; l < dynamic->count; ++l)
        KD_REQUIRE(!walks || dynamic->layers[l].tombstones.count == 0, KD_ERROR_USAGE,
                   "the method \"walk\" needs a tree without removed points (there are %u): call "
                   "kd_points_rebuild first",
                   dynamic->layers[l].tombstones.count);
    return KD_OK;
}

/* The k-th distance of the first layer, the largest, bounds the search of the others. */
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

static kd_status nearest_of_chunk(const kd_points *tree, const points_search *part, merging *work,
                                  layer_rows *rows) {
    for (int l = 0; l < work->layers; ++l) {
        KD_TRY(query_layer(tree->dynamic->layers[l].tree, POINTS_NEAREST, part, &rows[l],
                           l ? work->bounds2 : NULL));
        if (l == 0) take_bounds(work, part->query.points.count);
    }
    parallel_for((int64_t)part->query.points.count, MERGE_GRAIN, merge_piece, work);
    return KD_OK;
}

static kd_status nearest(const kd_points *tree, const points_search *search) {
    const points_dynamic *dynamic = tree->dynamic;
    const point_scalar scalar = tree->tree.scalar;
    layer_rows rows[LAYERS_MAX];
    kd_status status = KD_OK;
    memset(rows, 0, sizeof rows);
    const uint64_t k = search->k, fit = CHUNK_ANSWERS / k, count = search->query.points.count;
    const uint64_t chunk = fit < 1 ? 1 : fit < count ? fit : count;
    merging work = {.rows = rows,
                    .layers = dynamic->count,
                    .k = search->k,
                    .scalar = scalar,
                    .out = {search->out.ids, search->out.dist2, search->out.counts}};
    for (int l = 0; l < dynamic->count; ++l) {
        KD_TRY_GOTO(rows_reserve(&rows[l], chunk * k, scalar));
        KD_TRY_GOTO(KD_RESERVE(rows[l].counts, chunk));
    }
    KD_TRY_GOTO(memory_reserve(&work.bounds2, chunk, point_scalar_bytes(scalar)));
    for (; work.first < count; work.first += chunk) {
        const uint64_t left = count - work.first;
        const points_search part = part_of(tree, search, work.first, left < chunk ? left : chunk);
        KD_TRY_GOTO(nearest_of_chunk(tree, &part, &work, rows));
    }
done:
    memory_free(work.bounds2);
    rows_close(rows, dynamic->count);
    return status;
}

/* Adds up the offsets of all layers. */
static kd_status count_all(const kd_points *tree, const points_search *search) {
    const uint64_t count = search->query.points.count;
    const points_search all = part_of(tree, search, 0, count);
    layer_rows rows = {.offsets = search->out.offsets}, more = {.offsets = NULL};
    kd_status status = KD_OK;
    KD_TRY_GOTO(KD_RESERVE(more.offsets, count + 1));
    KD_TRY_GOTO(query_layer(tree, POINTS_COUNT, &all, &rows, NULL));
    for (int l = 1; l < tree->dynamic->count; ++l) {
        KD_TRY_GOTO(query_layer(tree->dynamic->layers[l].tree, POINTS_COUNT, &all, &more, NULL));
        for (uint64_t i = 0; i <= count; ++i) search->out.offsets[i] += more.offsets[i];
    }
done:
    memory_free(more.offsets);
    return status;
}

/* Returns the number of queries from `first` on that, with their results, fit into a chunk. */
static uint64_t chunk_of(const uint64_t *offsets, uint64_t first, uint64_t count) {
    uint64_t last = first + 1;
    while (last < count && offsets[last + 1] - offsets[first] <= CHUNK_ANSWERS &&
           last - first < CHUNK_ANSWERS)
        ++last;
    return last - first;
}

/* Returns whether each of the caller's rows has the length of the results of all layers. */
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

static kd_status within_of_chunk(const kd_points *tree, const points_search *part, merging *work) {
    layer_rows rows[LAYERS_MAX];
    const uint64_t count = part->query.points.count;
    kd_status status = KD_OK;
    memset(rows, 0, sizeof rows);
    work->rows = rows;
    for (int l = 0; l < work->layers; ++l) {
        const kd_points *layer = tree->dynamic->layers[l].tree;
        KD_TRY_GOTO(KD_RESERVE(rows[l].offsets, count + 1));
        KD_TRY_GOTO(query_layer(layer, POINTS_COUNT, part, &rows[l], NULL));
        KD_TRY_GOTO(rows_reserve(&rows[l], rows[l].offsets[count], work->scalar));
        KD_TRY_GOTO(query_layer(layer, POINTS_FILL, part, &rows[l], NULL));
    }
    status = rows_fit(work, rows, count)
                 ? KD_OK
                 : status_fail(KD_ERROR_USAGE, __FILE__, __LINE__,
                               "`offsets` do not match the results; pass those of the count call "
                               "with the same query");
    if (status == KD_OK) parallel_for((int64_t)count, MERGE_GRAIN, merge_piece, work);
done:
    rows_close(rows, work->layers);
    return status;
}

static kd_status search_within(const kd_points *tree, const points_search *search) {
    merging work = {.layers = tree->dynamic->count,
                    .offsets = search->out.offsets,
                    .scalar = tree->tree.scalar,
                    .out = {search->out.ids, search->out.dist2, NULL}};
    const uint64_t count = search->query.points.count;
    while (work.first < count) {
        const uint64_t chunk = chunk_of(search->out.offsets, work.first, count);
        const points_search part = part_of(tree, search, work.first, chunk);
        KD_TRY(within_of_chunk(tree, &part, &work));
        work.first += chunk;
    }
    return KD_OK;
}

kd_status points_dynamic_query(const kd_points *tree, const points_search *search) {
    KD_TRY(check_method(tree->dynamic, &search->query));
    if (tree->dynamic->count == 1) return points_query_one(tree, search, NULL);
    return search->kind == POINTS_NEAREST ? nearest(tree, search)
           : search->kind == POINTS_COUNT ? count_all(tree, search)
                                          : search_within(tree, search);
}

kd_status points_dynamic_targets(const kd_points *tree, const kd_points_query *query,
                                 point_target targets[LAYERS_MAX], uint32_t *count) {
    const points_dynamic *dynamic = tree->dynamic;
    *count = 1;
    if (dynamic) KD_TRY(check_method(dynamic, query));
    KD_TRY(points_target(&targets[0], tree, query));
    if (!dynamic) return KD_OK;
    for (int l = 1; l < dynamic->count; ++l)
        KD_TRY(points_target(&targets[l], dynamic->layers[l].tree, query));
    *count = (uint32_t)dynamic->count;
    return KD_OK;
}
