/* The CPU backend for a single tree: a search becomes a call of points/neighbours, or the box walk
   of points/tree/walk_box.h on all cores. Self-queries and box queries of a changed tree rebuild it
   as a single tree first. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/primitives.h"
#include "points/api/dynamic.h"
#include "points/api/search.h"
#include "points/neighbours/query.h"
#include "points/tree/bounds.h"
#include "points/tree/walk_box.h"
#include <stdatomic.h>

/* Sorting pays off for many queries if the tree exceeds a core's private caches. */
enum { SORT_QUERIES_MIN = 1024, SORT_POINTS_MIN = 4096, BOX_GRAIN = 16 };

/* A view for searches by the index, which do not need the arrays; another thread may be restoring
   these (points_lend). */
static pointtree_nd_view view_without_arrays(const pointtree *tree) {
    pointtree_nd_view view;
    memset(&view, 0, sizeof view);
    view.axes = tree->axes;
    view.count = tree->count;
    view.dims = tree->dims;
    view.scalar = tree->scalar;
    view.box = tree->box;
    view.order = tree->order;
    view.cells = tree->options.cells;
    view.unique = tree->options.unique;
    return view;
}

kd_status points_target(point_target *out, const kd_points *tree, const kd_points_query *query) {
    point_query_method method = POINT_QUERY_AUTO;
    (void)points_method_find(&method, query->method); /* validated before */
    const bool walk = method == POINT_QUERY_WALK;
    if (walk)
        KD_TRY(points_lend(&out->tree, tree));
    else if (tree->tree.dims <= 3 && tree->tree.scalar == POINT_FLOAT)
        out->tree = view_without_arrays(&tree->tree);
    else
        out->tree = pointtree_get_nd_view(&tree->tree);
    out->index = tree->index.shape.count && !walk ? &tree->index : NULL;
    out->renamed = tree->renamed;
    return KD_OK;
}

/* --- queries -------------------------------------------------------------------------------- */

point_array points_queries(const kd_points *tree, const kd_point_array *points) {
    point_array all =
        point_array_make(points->coordinates, points->count, tree->tree.dims, tree->tree.scalar);
    if (points->stride_bytes) all.stride_bytes = points->stride_bytes;
    return all;
}

static point_queries queries_of(const kd_points *tree, const kd_points_query *query) {
    const uint64_t count = query->points.count;
    const point_queries queries = {.points = points_queries(tree, &query->points),
                                   .radii = query->radii,
                                   .max_radius = query->max_radius,
                                   .sort = !query->coherent && count >= SORT_QUERIES_MIN &&
                                           count <= UINT32_MAX &&
                                           tree->tree.count >= SORT_POINTS_MIN};
    return queries;
}

uint64_t points_cpu_scratch_bytes(const kd_points *tree, const kd_points_query *query) {
    const point_queries queries = queries_of(tree, query);
    return point_query_scratch_bytes(&queries);
}

typedef struct prepared_query {
    point_target target;
    point_queries queries;
    point_metric metric;
    void *scratch, *owned; /* owned: to be freed */
} prepared_query;

static kd_status prepare(prepared_query *out, const kd_points *tree, const kd_points_query *query) {
    point_box box;
    memset(out, 0, sizeof *out);
    KD_TRY(points_check_radii(tree, query));
    KD_TRY(points_target(&out->target, tree, query));
    out->queries = queries_of(tree, query);
    out->queries.metric = points_metric(&out->metric, query);
    KD_TRY(point_scan(&box, &out->queries.points));
    const uint64_t needed = point_query_scratch_bytes(&out->queries);
    out->scratch = query->scratch;
    KD_REQUIRE(!query->scratch || query->scratch_bytes >= needed, KD_ERROR_USAGE,
               "`scratch_bytes` is %llu; at least %llu are needed",
               (unsigned long long)query->scratch_bytes, (unsigned long long)needed);
    if (query->scratch || needed == 0) return KD_OK;
    KD_TRY(memory_reserve(&out->owned, needed, 1));
    out->scratch = out->owned;
    return KD_OK;
}

static point_rows rows_of(const points_search *search) {
    const point_rows rows = {search->out.ids, search->out.dist2, search->out.counts};
    return rows;
}

kd_status points_query_one(const kd_points *tree, const points_search *search,
                           const void *bounds2) {
    prepared_query ready;
    const point_rows rows = rows_of(search);
    KD_TRY(prepare(&ready, tree, &search->query));
    ready.queries.bounds2 = bounds2;
    const kd_status status =
        search->kind == POINTS_NEAREST
            ? point_query_nearest(&ready.target, &ready.queries, search->k, &rows, ready.scratch)
        : search->kind == POINTS_COUNT
            ? point_query_count_within(&ready.target, &ready.queries, search->out.offsets,
                                       ready.scratch)
            : point_query_within(&ready.target, &ready.queries, search->out.offsets, rows.ids,
                                 rows.dist2, ready.scratch);
    memory_free(ready.owned);
    return status;
}

static kd_status query(const kd_points *tree, const points_search *search) {
    return points_query_one(tree, search, NULL);
}

kd_status points_visit(const kd_points *tree, const points_search *search,
                       const point_visitor *visitor) {
    prepared_query ready;
    point_target targets[LAYERS_MAX];
    uint32_t count;
    KD_TRY(points_dynamic_targets(tree, &search->query, targets, &count));
    KD_TRY(prepare(&ready, tree, &search->query));
    const kd_status status =
        point_query_visit(targets, count, &ready.queries, visitor, ready.scratch);
    memory_free(ready.owned);
    return status;
}

/* --- a single tree of all remaining points -------------------------------------------------- */

typedef struct whole_tree {
    const kd_points *tree;
    kd_points copy;
    bool copied;
} whole_tree;

static kd_status whole_open(whole_tree *out, const kd_points *tree) {
    out->copied = !points_is_whole(tree);
    if (out->copied) KD_TRY(points_copy_whole(&out->copy, tree));
    out->tree = out->copied ? &out->copy : tree;
    return KD_OK;
}

static void whole_close(whole_tree *owned) {
    if (owned->copied) points_release(&owned->copy);
}

static kd_status query_self_cpu(const kd_points *tree, const points_search *search) {
    whole_tree whole;
    point_target target;
    point_metric metric;
    const point_rows rows = rows_of(search);
    const point_self_query self_query = {.skips = search->query.skip_self != 0,
                                         .order = search->out.order,
                                         .max_radius = search->query.max_radius,
                                         .metric = points_metric(&metric, &search->query)};
    KD_TRY(whole_open(&whole, tree));
    kd_status status = points_target(&target, whole.tree, &search->query);
    if (status == KD_OK)
        status = search->kind == POINTS_NEAREST
                     ? point_self_nearest(&target, &self_query, search->k, &rows)
                 : search->kind == POINTS_COUNT
                     ? point_self_count_within(&target, &self_query, search->out.offsets)
                     : point_self_within(&target, &self_query, search->out.offsets, rows.ids,
                                         rows.dist2);
    whole_close(&whole);
    return status;
}

/* --- boxes ---------------------------------------------------------------------------------- */

point_boxes points_boxes(const kd_points *tree, const points_search *search) {
    const point_boxes boxes = {points_queries(tree, &search->query.points),
                               points_queries(tree, &search->query.hi)};
    return boxes;
}

typedef struct box_work {
    const points_search *search;
    point_boxes boxes;
    pointtree_nd_view tree;
    const uint32_t *renamed;
    _Atomic uint64_t mismatched;
} box_work;

static void box_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    box_work *work = (box_work *)context;
    const points_search *search = work->search;
    for (uint64_t i = (uint64_t)begin; i < (uint64_t)end; ++i) {
        const void *lo = point_array_at(&work->boxes.lo, i);
        const void *hi = point_array_at(&work->boxes.hi, i);
        if (search->kind == POINTS_COUNT) {
            search->out.offsets[i] = pointtree_box_ids(&work->tree, lo, hi, 0, NULL);
            continue;
        }
        const uint64_t at = search->out.offsets[i], capacity = search->out.offsets[i + 1] - at;
        uint32_t *row = search->out.ids ? search->out.ids + at : NULL;
        const uint32_t fit = (uint32_t)(capacity < work->tree.count ? capacity : work->tree.count);
        if (pointtree_box_ids(&work->tree, lo, hi, row ? fit : 0, row) != capacity) {
            atomic_fetch_add(&work->mismatched, 1);
            continue;
        }
        if (!row) continue;
        box_ids_sort(row, fit);
        for (uint32_t j = 0; work->renamed && j < fit; ++j) row[j] = work->renamed[row[j]];
    }
}

static kd_status query_boxes(const kd_points *tree, const points_search *search) {
    whole_tree whole;
    const uint64_t count = search->query.points.count;
    box_work work = {.search = search, .boxes = points_boxes(tree, search)};
    KD_TRY(whole_open(&whole, tree));
    kd_status status = points_lend(&work.tree, whole.tree);
    work.renamed = whole.tree->renamed;
    if (status == KD_OK)
        status = parallel_for_stage("query", (int64_t)count, BOX_GRAIN, box_piece, &work);
    whole_close(&whole);
    KD_TRY(status);
    const uint64_t mismatched = atomic_load(&work.mismatched);
    KD_REQUIRE(mismatched == 0, KD_ERROR_USAGE,
               "`offsets` do not match the results of %llu boxes; pass those of the count call "
               "with the same boxes",
               (unsigned long long)mismatched);
    uint64_t *sums = search->out.offsets;
    if (search->kind == POINTS_COUNT) sums[count] = scan_exclusive_u64(sums, sums, count);
    return KD_OK;
}

const points_backend points_backend_cpu = {
    .nearest = query, .count = query, .fill = query, .box = query_boxes, .self = query_self_cpu};
const points_backend points_backend_layers = {.nearest = points_dynamic_query,
                                              .count = points_dynamic_query,
                                              .fill = points_dynamic_query,
                                              .box = query_boxes,
                                              .self = query_self_cpu};
