/* Queries of a point tree on a CUDA device: selects one of five search methods.
   Source: original; the walk is that of Wald 2022, "A stack-free traversal algorithm for
           left-balanced k-d trees".
   Idea: many queries are sorted along a curve (curve_order.cuh), then a warp processes 32
         neighbouring queries at once (query_packets.cuh), or 8 for many neighbours
         (query_groups.cuh); a few queries get one warp each (warp_per_query.cuh); queries sparse
         among the points one thread each (thread_per_query.cuh); everything else walks
         (stack_free.cuh).
   Work: the sort is a radix sort of 4-byte keys with 4-byte indices, about 31 bits.
   Memory: 16 bytes per query to sort; k results per thread to walk.
   Invariants: with every method, the results are the first of all points by (dist2, id). */
#include "core/device/device_sort.cuh"
#include "points/neighbours/curve_order.cuh"
#include "points/neighbours/nearest_call.cuh"
#include "points/neighbours/stack_free.cuh"

namespace {
using namespace point_index;

constexpr uint64_t SORTED_COUNT = 100000;    /* fewer queries are never sorted */
constexpr uint64_t SORTED_LEAVES = 1u << 20; /* sorting helps warps on trees larger than the
                                                cache */
constexpr uint64_t MANY_BOUNDED = 60000, FEW_BOUNDED = 20000; /* queries with bounds; points */
constexpr uint64_t WALK_BYTES = 256ull << 20;                 /* maximum for the result lists */

struct plan {
    point_query_method method;
    bool sorted;
    code_plan code;
    curve_sort sort;
    query_handover to;
    void *cub; /* scratch of a scan */
    size_t cub_bytes;
    neighbour_nd *lists;
    uint64_t walkers; /* threads */
};

query_strategy choose(const point_query_cuda *q) {
    if (q->index->tree.count == 0) return {POINT_QUERY_WALK, false};
    if (q->metric) return {POINT_QUERY_WALK, false};
    if (q->method != POINT_QUERY_AUTO) return {q->method, true};
    if (!q->index->points || q->k > POINT_LEAVES_K_MAX) return {POINT_QUERY_WALK, false};
    if (q->k == 0) return {POINT_QUERY_LEAVES, true};
    if (q->points.count == 0) return {POINT_QUERY_WALK, false};
    const uint64_t query_count = q->points.count, point_count = q->index->tree.count;
    if (q->bounds2 && q->k <= POINT_THREADS_K_MAX && query_count >= MANY_BOUNDED &&
        point_count <= FEW_BOUNDED)
        return {POINT_QUERY_THREADS, false}; /* most queries find nothing */
    return query_strategy_of(q->k, query_count, point_count, q->coherent);
}

uint32_t k_max(point_query_method method) {
    return method == POINT_QUERY_THREADS   ? (uint32_t)POINT_THREADS_K_MAX
           : method == POINT_QUERY_PACKETS ? (uint32_t)POINT_PACKETS_K_MAX
           : method == POINT_QUERY_GROUPS  ? (uint32_t)POINT_GROUPS_K_MAX
           : method == POINT_QUERY_LEAVES  ? (uint32_t)POINT_LEAVES_K_MAX
                                           : POINTTREE_COUNT_MAX;
}

kd_status check(const point_query_cuda *q) {
    const pointtree_nd_view *tree = &q->index->tree;
    KD_REQUIRE(q->points.dims == tree->dims && q->points.scalar == tree->scalar, KD_ERROR_USAGE,
               "the queries have %u dimensions and scalar type %d; the tree has %u and %d",
               q->points.dims, (int)q->points.scalar, tree->dims, (int)tree->scalar);
    KD_REQUIRE(q->points.count <= UINT32_MAX / 2, KD_ERROR_USAGE,
               "a batch has %llu queries; supported: at most %u",
               (unsigned long long)q->points.count, UINT32_MAX / 2);
    const point_query_method method = choose(q).method;
    KD_REQUIRE(method == POINT_QUERY_WALK || q->index->points, KD_ERROR_USAGE,
               "query method %d needs points of three floats; the tree has %u dimensions",
               (int)method, tree->dims);
    const uint32_t maximum = k_max(method);
    KD_REQUIRE(q->k <= maximum, KD_ERROR_USAGE, "`k` is %u; query method %d supports at most %u",
               q->k, (int)method, maximum);
    KD_REQUIRE(q->kernel_k == 0 || (q->kernel_k >= q->k && q->kernel_k <= maximum), KD_ERROR_USAGE,
               "`kernel_k` is %u; expected %u to %u for query method %d", q->kernel_k, q->k,
               maximum, (int)method);
    return KD_OK;
}

/* Queries processed together must be close on all axes; rows of an image are not. */
bool wants_order(point_query_method method, const point_query_cuda *q) {
    if (method == POINT_QUERY_PACKETS || method == POINT_QUERY_GROUPS) return true;
    if (q->coherent || method == POINT_QUERY_WALK) return false;
    return method != POINT_QUERY_LEAVES || q->index->tree.count >= SORTED_LEAVES;
}

kd_status lay_out(plan *p, cuda_arena *arena, const point_query_cuda *q) {
    memset(p, 0, sizeof *p);
    KD_TRY(check(q));
    const uint64_t count = q->points.count;
    const query_strategy strategy = choose(q);
    p->method = strategy.method;
    p->sorted = strategy.sorted && count >= SORTED_COUNT && wants_order(p->method, q);
    p->code = code_plan_of(q->index);
    if (p->sorted) KD_TRY(lay_out_sort(&p->sort, arena, q->index, count));
    const bool grouped = p->method == POINT_QUERY_PACKETS || p->method == POINT_QUERY_GROUPS;
    p->to = lay_out_handover(arena, q, grouped ? PATIENCE : 0, count, p->sorted, p->sort.numbers);
    KD_TRY(device_prefix_sum(NULL, &p->cub_bytes, (uint64_t *)NULL, count + 1, 0));
    p->cub = cuda_arena_take(arena, p->cub_bytes, 1);
    if (p->method != POINT_QUERY_WALK) return KD_OK;
    const uint64_t list_bytes = (q->k ? q->k : 1) * sizeof(neighbour_nd);
    const uint64_t capacity = WALK_BYTES / list_bytes > 1024 ? WALK_BYTES / list_bytes : 1024;
    p->walkers =
        cuda_blocks(count < capacity ? count : capacity, point_walk::BLOCK) * point_walk::BLOCK;
    p->lists = (neighbour_nd *)cuda_arena_take(arena, p->walkers, list_bytes);
    return KD_OK;
}

/* Lays out the scratch, and sorts the queries if the plan says so. */
kd_status begin(plan *p, point_queries *queries, const point_query_cuda *q) {
    cuda_arena arena = {(char *)q->scratch, 0};
    KD_TRY(lay_out(p, &arena, q));
    KD_REQUIRE(arena.used <= q->scratch_bytes, KD_ERROR_MEMORY,
               "`scratch_bytes` is %zu; %zu are needed", q->scratch_bytes, arena.used);
    *queries = {(const float *)q->points.coordinates,
                (int)(q->points.stride_bytes / sizeof(float)),
                (const float *)q->radii,
                (float)q->max_radius,
                NULL,
                (uint32_t)q->points.count,
                NULL,
                3 * p->code.bits,
                p->code.levels,
                q->bounds2,
                q->bounds_stride};
    if (!p->sorted) return KD_OK;
    KD_TRY(sort_queries(&p->sort, q->index, *queries, (cudaStream_t)q->stream));
    queries->order = p->sort.order;
    queries->codes = p->sort.codes_sorted;
    return KD_OK;
}

point_walk::point_queries walk_of(const point_query_cuda *q) {
    return {q->points, q->radii, q->max_radius};
}

template <typename real> point_walk::rows<real> rows_of(const point_query_cuda *q) {
    return {q->ids, (real *)q->dist2, q->counts};
}

/* Calls start(real, metric) with a value of the points' scalar type and the metric. */
template <class START> kd_status start_walk(const point_query_cuda *q, const START &start) {
    const bool is_double = q->points.scalar == POINT_DOUBLE;
    if (q->metric) return is_double ? start(0.0, *q->metric) : start(0.0f, *q->metric);
    return is_double ? start(0.0, point_walk::euclid()) : start(0.0f, point_walk::euclid());
}

template <typename real, class METRIC>
kd_status nearest_walk(const plan *p, const point_query_cuda *q, const METRIC &metric) {
    point_walk::nearest_by_walk<real, METRIC><<<(unsigned)(p->walkers / point_walk::BLOCK),
                                                point_walk::BLOCK, 0, (cudaStream_t)q->stream>>>(
        q->index->tree, walk_of(q), metric, q->k, p->lists, rows_of<real>(q));
    KD_CUDA_LAUNCHED("nearest_by_walk");
    return KD_OK;
}

typedef void (*nearest_kernel)(view, point_queries, uint32_t, answer_rows);

nearest_kernel threads_kernel(uint32_t k) {
    return k == 1    ? nearest_by_threads<1>
           : k == 2  ? nearest_by_threads<2>
           : k <= 4  ? nearest_by_threads<4>
           : k <= 8  ? nearest_by_threads<8>
           : k <= 12 ? nearest_by_threads<12>
                     : nearest_by_threads<16>;
}

kd_status nearest_of_index(point_query_method method, const point_query_cuda *q,
                           const point_queries &queries, const query_handover &handover) {
    const nearest_call<point_queries> call = {
        q, queries, {q->ids, (float *)q->dist2, q->counts}, handover};
    if (method != POINT_QUERY_THREADS) return call.launch(method);
    threads_kernel(kernel_k_of(q))<<<cuda_blocks(queries.count, THREADS_BLOCK), THREADS_BLOCK, 0,
                                     (cudaStream_t)q->stream>>>(view_of(q->index), queries, q->k,
                                                                call.out);
    KD_CUDA_LAUNCHED("nearest_by_threads");
    return KD_OK;
}
} // namespace

extern "C" kd_status point_query_cuda_scratch_bytes(size_t *bytes, const point_query_cuda *q) {
    cuda_arena counted = {NULL, 0};
    plan p;
    KD_TRY(lay_out(&p, &counted, q));
    *bytes = counted.used;
    return KD_OK;
}

extern "C" kd_status point_query_cuda_nearest(const point_query_cuda *q) {
    plan p;
    point_queries queries;
    KD_TRY(begin(&p, &queries, q));
    if (q->points.count == 0 || q->k == 0) return KD_OK;
    if (p.method == POINT_QUERY_WALK)
        return start_walk(q, [&](auto real, const auto &metric) {
            return nearest_walk<decltype(real)>(&p, q, metric);
        });
    return nearest_of_index(p.method, q, queries, p.to);
}

extern "C" kd_status point_query_cuda_count_within(const point_query_cuda *q, uint64_t *offsets) {
    plan p;
    point_queries queries;
    KD_TRY(begin(&p, &queries, q));
    const cudaStream_t stream = (cudaStream_t)q->stream;
    const uint64_t count = q->points.count;
    KD_CUDA(cudaMemsetAsync(offsets + count, 0, sizeof *offsets, stream));
    const unsigned walk_blocks = cuda_blocks(count, point_walk::BLOCK);
    if (count && p.method == POINT_QUERY_WALK && q->metric)
        point_walk::count_by_walk<<<walk_blocks, point_walk::BLOCK, 0, stream>>>(
            q->index->tree, walk_of(q), *q->metric, offsets);
    else if (count && p.method == POINT_QUERY_WALK)
        point_walk::count_by_walk<<<walk_blocks, point_walk::BLOCK, 0, stream>>>(
            q->index->tree, walk_of(q), point_walk::euclid(), offsets);
    else if (count)
        count_by_leaves<<<cuda_blocks(count, LEAVES_WARPS), 32 * LEAVES_WARPS, 0, stream>>>(
            view_of(q->index), queries, offsets);
    KD_CUDA_LAUNCHED("count");
    return device_prefix_sum(p.cub, &p.cub_bytes, offsets, count + 1, stream);
}

extern "C" kd_status point_query_cuda_within(const point_query_cuda *q, const uint64_t *offsets) {
    KD_REQUIRE(q->ids && q->dist2, KD_ERROR_USAGE,
               "`ids` is %p and `dist2` is %p; neither may be NULL", (void *)q->ids, q->dist2);
    plan p;
    point_queries queries;
    KD_TRY(begin(&p, &queries, q));
    const cudaStream_t stream = (cudaStream_t)q->stream;
    const uint64_t count = q->points.count;
    if (count == 0) return KD_OK;
    const unsigned walk_blocks = cuda_blocks(count, point_walk::BLOCK);
    if (p.method != POINT_QUERY_WALK) {
        const answer_rows out = {q->ids, (float *)q->dist2, NULL};
        fill_by_leaves<<<cuda_blocks(count, LEAVES_WARPS), 32 * LEAVES_WARPS, 0, stream>>>(
            view_of(q->index), queries, offsets, out);
    } else {
        return start_walk(q, [&](auto real, const auto &metric) {
            point_walk::fill_by_walk<<<walk_blocks, point_walk::BLOCK, 0, stream>>>(
                q->index->tree, walk_of(q), metric, offsets, rows_of<decltype(real)>(q));
            KD_CUDA_LAUNCHED("fill_by_walk");
            return KD_OK;
        });
    }
    KD_CUDA_LAUNCHED("fill");
    return KD_OK;
}
