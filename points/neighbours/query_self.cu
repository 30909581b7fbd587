/* Self-queries of a tree on a CUDA device: all its points are queries.
   Idea: the index stores its points in leaves of 32 neighbouring points, so a leaf is a packet and
         a quarter of one a group, with a tighter box than any run of a curve. So nothing is copied,
         sorted or reordered, and no query searches for the group that contains it. Where a point
         must not be its own neighbour, packets drop its id, groups and walks find one more and skip
         it. On walls, where sub-trees overlap, the points of a leaf are far apart compared with
         their distances to neighbours: there many queries are sorted along the curve like a
         caller's, and few use leaves.
   Work: that of the kernels of query.cu without find_codes and its radix sort, unless the points
         are sorted.
   Memory: the scratch of a scan of the counts; k results per thread to walk; 16 bytes per point to
           sort.
   Invariants: rows are those of the same call with a copy of the points, bit for bit.
   Data flow: curve_order.cuh if the points are sorted: index -> order of positions; list_order, one
              thread per position: index -> the id of each row; then the kernels of packets, groups
              or leaves, or *_own_by_walk, one thread per point -> the row of each point's id. */
#include "core/device/device_sort.cuh"
#include "points/neighbours/curve_order.cuh"
#include "points/neighbours/nearest_call.cuh"
#include "points/neighbours/stack_free.cuh"

namespace {
using namespace point_index;

constexpr uint64_t WALK_BYTES = 256ull << 20; /* maximum for the result lists */
constexpr unsigned ORDER_THREADS = 256;

struct plan {
    point_query_method method;
    bool sorted;
    curve_sort sort;
    query_handover to;
    void *cub;
    size_t cub_bytes;
    neighbour_nd *lists;
    uint64_t walkers; /* threads */
};

query_strategy choose(const point_query_cuda *q, const point_self_query *self_query) {
    const bool walks = q->method == POINT_QUERY_WALK || q->metric || !q->index->points;
    if (walks || q->k > POINT_LEAVES_K_MAX) return {POINT_QUERY_WALK, false};
    if (q->k == 0 || q->method == POINT_QUERY_LEAVES) return {POINT_QUERY_LEAVES, false};
    const uint32_t from = q->index->sorts_from;
    const bool sorts = from && q->index->tree.count >= from;
    if (from && !sorts) return {POINT_QUERY_LEAVES, false};
    if (q->k <= POINT_PACKETS_K_MAX && q->method != POINT_QUERY_GROUPS)
        return {POINT_QUERY_PACKETS, sorts};
    if (q->k + self_query->skips <= POINT_GROUPS_K_MAX) return {POINT_QUERY_GROUPS, sorts};
    return {POINT_QUERY_LEAVES, false};
}

kd_status lay_out(plan *p, cuda_arena *arena, const point_query_cuda *q,
                  const point_self_query *self_query) {
    memset(p, 0, sizeof *p);
    const uint64_t count = q->index->tree.count;
    const query_strategy strategy = choose(q, self_query);
    p->method = strategy.method;
    p->sorted = strategy.sorted;
    if (p->sorted && count) KD_TRY(lay_out_sort(&p->sort, arena, q->index, count));
    const bool finds_others =
        q->k > 1 || self_query->skips; /* for k = 1 each point finds itself immediately */
    const bool parts =
        p->method == POINT_QUERY_GROUPS || (p->method == POINT_QUERY_PACKETS && finds_others);
    p->to = lay_out_handover(arena, q, parts ? PATIENCE_OWN : 0, count, p->sorted && count,
                             p->sort.numbers);
    if (q->k == 0) KD_TRY(device_prefix_sum(NULL, &p->cub_bytes, (uint64_t *)NULL, count + 1, 0));
    p->cub = cuda_arena_take(arena, p->cub_bytes, 1);
    if (p->method != POINT_QUERY_WALK || q->k == 0) return KD_OK;
    const uint64_t list_bytes = ((uint64_t)q->k + self_query->skips) * sizeof(neighbour_nd);
    const uint64_t capacity = WALK_BYTES / list_bytes > 1024 ? WALK_BYTES / list_bytes : 1024;
    p->walkers =
        cuda_blocks(count < capacity ? count : capacity, point_walk::BLOCK) * point_walk::BLOCK;
    p->lists = (neighbour_nd *)cuda_arena_take(arena, p->walkers, list_bytes);
    return KD_OK;
}

kd_status begin(plan *p, const point_query_cuda *q, const point_self_query *self_query) {
    cuda_arena arena = {(char *)q->scratch, 0};
    KD_TRY(lay_out(p, &arena, q, self_query));
    KD_REQUIRE(arena.used <= q->scratch_bytes, KD_ERROR_MEMORY,
               "`scratch_bytes` is %zu; %zu are needed", q->scratch_bytes, arena.used);
    return KD_OK;
}

/* Writes the id of the point that each row belongs to: by position in the index, or by tree
   node. */
__global__ void list_order(const float4 *points, const uint32_t *ids, uint32_t count,
                           uint32_t *order) {
    const uint32_t i = blockIdx.x * ORDER_THREADS + threadIdx.x;
    if (i < count) order[i] = points ? __float_as_uint(points[i].w) : ids[i];
}

kd_status give_order(const plan *p, const point_query_cuda *q, const point_self_query *self_query) {
    if (!self_query->order) return KD_OK;
    const point_index_cuda *index = q->index;
    list_order<<<cuda_blocks(index->tree.count, ORDER_THREADS), ORDER_THREADS, 0,
                 (cudaStream_t)q->stream>>>(
        p->method == POINT_QUERY_WALK ? NULL : (const float4 *)index->points, index->tree.ids,
        index->tree.count, self_query->order);
    KD_CUDA_LAUNCHED("list_order");
    return KD_OK;
}

self_queries self_queries_by(const point_query_cuda *q, const point_self_query *self_query,
                             uint32_t group_size) {
    return self_queries_of(view_of(q->index), q->max_radius, self_query->skips, !self_query->order,
                           group_size);
}

/* Sorts the positions of the index along the curve. */
kd_status self_queries_sort(plan *p, const point_query_cuda *q, const point_self_query *self_query,
                            self_queries *out) {
    const point_index_cuda *index = q->index;
    const uint32_t bits = 3 * p->sort.code.bits;
    const point_queries places = {
        index->points,       4,    NULL, INFINITY, NULL, index->tree.count, NULL, bits,
        p->sort.code.levels, NULL, 0};
    KD_TRY(sort_queries(&p->sort, index, places, (cudaStream_t)q->stream));
    *out = self_queries_sorted(view_of(index), q->max_radius, self_query->skips, !self_query->order,
                               p->sort.order, p->sort.codes_sorted, bits);
    return KD_OK;
}

/* Number of queries that a warp processes together; must match the group shapes in
   nearest_call.cuh. */
uint32_t together_of(point_query_method method, uint32_t slots) {
    return method == POINT_QUERY_PACKETS  ? 32
           : method == POINT_QUERY_GROUPS ? (slots <= 56 ? 8 : 4)
                                          : 1;
}

/* --- walks: any points, any k --------------------------------------------------------------- */

struct walkers {
    pointtree_nd_view tree;
    double max_radius;
    uint32_t skips, by_id;
};
using point_walk::bound_of;
using point_walk::euclid;

__device__ const void *node_point(const pointtree_nd_view &tree, uint64_t node) {
    return (const char *)tree.coordinates + node * tree.dims * point_scalar_bytes(tree.scalar);
}

__device__ uint64_t row_of(const walkers &walk_kernels, uint64_t node) {
    return walk_kernels.by_id ? walk_kernels.tree.ids[node] : node;
}

template <typename real, class METRIC>
__global__
__launch_bounds__(point_walk::BLOCK) void self_nearest_by_walk(walkers walk_kernels, METRIC metric,
                                                               uint32_t k, neighbour_nd *lists,
                                                               point_walk::rows<real> out) {
    const uint64_t thread = (uint64_t)blockIdx.x * point_walk::BLOCK + threadIdx.x;
    const uint32_t slots = k + walk_kernels.skips;
    neighbour_nd *list = lists + thread * slots;
    const double bound2 = bound_of(metric, walk_kernels.tree.scalar, walk_kernels.max_radius);
    const uint64_t step = (uint64_t)gridDim.x * point_walk::BLOCK;
    for (uint64_t node = thread; node < walk_kernels.tree.count; node += step) {
        const uint32_t self_id = walk_kernels.tree.ids[node];
        const uint32_t held =
            pointtree_nd_nearest_k(&walk_kernels.tree, point_walk::metric_of(metric),
                                   node_point(walk_kernels.tree, node), slots, bound2, list);
        const uint64_t row = row_of(walk_kernels, node) * k;
        uint32_t made = 0;
        for (uint32_t j = 0; j < held && made < k; ++j) {
            if (walk_kernels.skips && list[j].id == self_id) continue;
            if (out.ids) out.ids[row + made] = list[j].id;
            if (out.dist2) out.dist2[row + made] = (real)list[j].dist2;
            ++made;
        }
        if (out.counts) out.counts[row_of(walk_kernels, node)] = made;
        for (; made < k; ++made) {
            if (out.ids) out.ids[row + made] = KD_NONE;
            if (out.dist2) out.dist2[row + made] = (real)INFINITY;
        }
    }
}

template <class METRIC>
__global__ __launch_bounds__(point_walk::BLOCK) void self_count_by_walk(walkers walk_kernels,
                                                                        METRIC metric,
                                                                        uint64_t *counts) {
    const uint64_t node = (uint64_t)blockIdx.x * point_walk::BLOCK + threadIdx.x;
    if (node >= walk_kernels.tree.count) return;
    const double bound2 = bound_of(metric, walk_kernels.tree.scalar, walk_kernels.max_radius);
    const void *query = node_point(walk_kernels.tree, node);
    counts[row_of(walk_kernels, node)] =
        pointtree_nd_within(&walk_kernels.tree, point_walk::metric_of(metric), query, bound2, 0,
                            NULL) -
        walk_kernels.skips;
}

template <typename real, class METRIC>
__global__ __launch_bounds__(point_walk::BLOCK) void self_fill_by_walk(walkers walk_kernels,
                                                                       METRIC metric,
                                                                       const uint64_t *offsets,
                                                                       point_walk::rows<real> out) {
    const uint64_t node = (uint64_t)blockIdx.x * point_walk::BLOCK + threadIdx.x;
    if (node >= walk_kernels.tree.count) return;
    const uint64_t begin = offsets[row_of(walk_kernels, node)],
                   capacity = offsets[row_of(walk_kernels, node) + 1] - begin;
    const point_walk::rows<real> row = {out.ids + begin, out.dist2 + begin, NULL};
    const double bound2 = bound_of(metric, walk_kernels.tree.scalar, walk_kernels.max_radius);
    const uint32_t skipped = walk_kernels.skips ? walk_kernels.tree.ids[node] : KD_NONE;
    point_walk::fill_row(walk_kernels.tree, metric, node_point(walk_kernels.tree, node), bound2,
                         skipped, capacity, row);
}

walkers walkers_of(const point_query_cuda *q, const point_self_query *self_query) {
    return {q->index->tree, q->max_radius, self_query->skips, !self_query->order};
}

template <typename real> point_walk::rows<real> rows_of(const point_query_cuda *q) {
    return {q->ids, (real *)q->dist2, q->counts};
}

template <class START> kd_status start_walk(const point_query_cuda *q, const START &start) {
    const bool is_double = q->index->tree.scalar == POINT_DOUBLE;
    if (q->metric) return is_double ? start(0.0, *q->metric) : start(0.0f, *q->metric);
    return is_double ? start(0.0, euclid()) : start(0.0f, euclid());
}

kd_status nearest_walk(const plan *p, const point_query_cuda *q,
                       const point_self_query *self_query) {
    return start_walk(q, [&](auto real, const auto &metric) {
        self_nearest_by_walk<<<(unsigned)(p->walkers / point_walk::BLOCK), point_walk::BLOCK, 0,
                               (cudaStream_t)q->stream>>>(walkers_of(q, self_query), metric, q->k,
                                                          p->lists, rows_of<decltype(real)>(q));
        KD_CUDA_LAUNCHED("self_nearest_by_walk");
        return KD_OK;
    });
}

unsigned walk_blocks(const point_query_cuda *q) {
    return cuda_blocks(q->index->tree.count, point_walk::BLOCK);
}

kd_status count_walk(const point_query_cuda *q, const point_self_query *self_query,
                     uint64_t *counts) {
    return start_walk(q, [&](auto, const auto &metric) {
        self_count_by_walk<<<walk_blocks(q), point_walk::BLOCK, 0, (cudaStream_t)q->stream>>>(
            walkers_of(q, self_query), metric, counts);
        KD_CUDA_LAUNCHED("self_count_by_walk");
        return KD_OK;
    });
}

kd_status fill_walk(const point_query_cuda *q, const point_self_query *self_query,
                    const uint64_t *offsets) {
    return start_walk(q, [&](auto real, const auto &metric) {
        self_fill_by_walk<<<walk_blocks(q), point_walk::BLOCK, 0, (cudaStream_t)q->stream>>>(
            walkers_of(q, self_query), metric, offsets, rows_of<decltype(real)>(q));
        KD_CUDA_LAUNCHED("self_fill_by_walk");
        return KD_OK;
    });
}
} // namespace

extern "C" kd_status point_self_cuda_scratch_bytes(size_t *bytes, const point_query_cuda *q,
                                                   const point_self_query *self_query) {
    cuda_arena counted = {NULL, 0};
    plan p;
    KD_TRY(lay_out(&p, &counted, q, self_query));
    *bytes = counted.used;
    return KD_OK;
}

extern "C" kd_status point_self_cuda_nearest(const point_query_cuda *q,
                                             const point_self_query *self_query) {
    plan p;
    KD_TRY(begin(&p, q, self_query));
    if (q->index->tree.count == 0 || q->k == 0) return KD_OK;
    KD_TRY(give_order(&p, q, self_query));
    if (p.method == POINT_QUERY_WALK) return nearest_walk(&p, q, self_query);
    self_queries queries =
        self_queries_by(q, self_query, together_of(p.method, q->k + self_query->skips));
    if (p.sorted) KD_TRY(self_queries_sort(&p, q, self_query, &queries));
    const nearest_call<self_queries> call = {
        q, queries, {q->ids, (float *)q->dist2, q->counts}, p.to};
    return call.launch(p.method);
}

extern "C" kd_status point_self_cuda_count_within(const point_query_cuda *q,
                                                  const point_self_query *self_query,
                                                  uint64_t *offsets) {
    plan p;
    KD_TRY(begin(&p, q, self_query));
    const cudaStream_t stream = (cudaStream_t)q->stream;
    const uint64_t count = q->index->tree.count;
    KD_CUDA(cudaMemsetAsync(offsets + count, 0, sizeof *offsets, stream));
    if (count && p.method == POINT_QUERY_WALK) KD_TRY(count_walk(q, self_query, offsets));
    if (count && p.method != POINT_QUERY_WALK)
        count_by_leaves<<<cuda_blocks(count, LEAVES_WARPS), 32 * LEAVES_WARPS, 0, stream>>>(
            view_of(q->index), self_queries_by(q, self_query, 1), offsets);
    KD_CUDA_LAUNCHED("count");
    if (count) KD_TRY(give_order(&p, q, self_query));
    return device_prefix_sum(p.cub, &p.cub_bytes, offsets, count + 1, stream);
}

extern "C" kd_status point_self_cuda_within(const point_query_cuda *q,
                                            const point_self_query *self_query,
                                            const uint64_t *offsets) {
    KD_REQUIRE(q->ids && q->dist2, KD_ERROR_USAGE,
               "`ids` is %p and `dist2` is %p; neither may be NULL", (void *)q->ids, q->dist2);
    plan p;
    KD_TRY(begin(&p, q, self_query));
    const uint64_t count = q->index->tree.count;
    if (count == 0) return KD_OK;
    KD_TRY(give_order(&p, q, self_query));
    if (p.method == POINT_QUERY_WALK) return fill_walk(q, self_query, offsets);
    const answer_rows out = {q->ids, (float *)q->dist2, NULL};
    fill_by_leaves<<<cuda_blocks(count, LEAVES_WARPS), 32 * LEAVES_WARPS, 0,
                     (cudaStream_t)q->stream>>>(view_of(q->index),
                                                self_queries_by(q, self_query, 1), offsets, out);
    KD_CUDA_LAUNCHED("fill");
    return KD_OK;
}
