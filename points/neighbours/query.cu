/* Queries of a point tree on a CUDA device: one call that chooses among five ways.
   Source: ours; the walk is Wald 2022, "A stack-free traversal algorithm for left-balanced k-d
           trees".
   Idea: many queries are sorted along a curve (curve_order.cuh), then a warp answers 32
         neighbours at once (query_packets.cuh), or 8 where many answers are wanted
         (query_groups.cuh); a few queries get a warp each (warp_per_query.cuh); queries sparse
         among the points a thread each (thread_per_query.cuh); everything else walks
         (stack_free.cuh).
   Work: the sort is a radix sort of 4-byte keys with 4-byte indices, about 31 bits.
   Memory: 16 bytes a query to sort; k answers a thread to walk.
   Invariants: whatever the way, the answers are the first of all points by (dist2, id). */
#include "points/neighbours/curve_order.cuh"
#include "points/neighbours/query_groups.cuh"
#include "points/neighbours/stack_free.cuh"
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

namespace {
using namespace point_index;

constexpr uint64_t SORTED_COUNT = 100000;    /* fewer queries: a warp each, as they come */
constexpr uint64_t SORTED_LEAVES = 1u << 20; /* sorting helps warps on trees beyond the cache */
/* With more points a query neighbours are too far apart to be answered together. */
constexpr uint64_t PACKET_POINTS_A_QUERY = 8, GROUP_POINTS_A_QUERY = 16;
constexpr uint32_t PACKET_TURNS = 8, GROUP_TURNS = 16; /* at most, after each other in a warp */
constexpr uint64_t TURNING_WARPS = 12500;              /* what fills a large device a few times */
constexpr uint64_t WALK_BYTES = 256ull << 20;          /* of lists at most */

struct plan {
    point_query_method method;
    bool sorted;
    code_plan code;
    uint32_t *codes, *codes_sorted, *queries, *queries_sorted;
    void *cub;
    size_t cub_bytes;
    neighbour_nd *lists;
    uint64_t walkers; /* threads */
};

uint64_t blocks_for(uint64_t items, uint64_t block) {
    return (items + block - 1) / block;
}

kd_status sort_pairs(void *scratch, size_t *bytes, const plan *p, uint64_t count,
                     cudaStream_t stream) {
    KD_CUDA(cub::DeviceRadixSort::SortPairs(scratch, *bytes, p->codes, p->codes_sorted, p->queries,
                                            p->queries_sorted, (uint32_t)count, 0,
                                            (int)(p->code.levels + 3 * p->code.bits), stream));
    return KD_OK;
}

kd_status scan_counts(void *scratch, size_t *bytes, uint64_t *offsets, uint64_t count,
                      cudaStream_t stream) {
    KD_CUDA(cub::DeviceScan::ExclusiveSum(scratch, *bytes, offsets, offsets, count + 1, stream));
    return KD_OK;
}

point_query_method choose(const point_query_cuda *q) {
    if (q->index->tree.count == 0) return POINT_QUERY_WALK;
    if (q->method != POINT_QUERY_AUTO) return q->method;
    if (!q->index->points || q->k > POINT_LEAVES_K_MAX) return POINT_QUERY_WALK;
    if (q->k == 0 || q->points.count < SORTED_COUNT) return POINT_QUERY_LEAVES;
    const uint64_t points_a_query = q->index->tree.count / q->points.count;
    if (q->k <= POINT_PACKETS_K_MAX)
        return points_a_query < PACKET_POINTS_A_QUERY ? POINT_QUERY_PACKETS : POINT_QUERY_THREADS;
    return q->k <= POINT_GROUPS_K_MAX && points_a_query < GROUP_POINTS_A_QUERY ? POINT_QUERY_GROUPS
                                                                               : POINT_QUERY_LEAVES;
}

uint32_t k_most(point_query_method method) {
    return method == POINT_QUERY_THREADS   ? (uint32_t)POINT_THREADS_K_MAX
           : method == POINT_QUERY_PACKETS ? (uint32_t)POINT_PACKETS_K_MAX
           : method == POINT_QUERY_GROUPS  ? (uint32_t)POINT_GROUPS_K_MAX
           : method == POINT_QUERY_LEAVES  ? (uint32_t)POINT_LEAVES_K_MAX
                                           : POINTTREE_COUNT_MAX;
}

kd_status check(const point_query_cuda *q) {
    const pointtree_nd_view *tree = &q->index->tree;
    KD_REQUIRE(q->points.dims == tree->dims && q->points.scalar == tree->scalar, KD_ERROR_USAGE,
               "queries of %u dimensions and scalar %d, the tree has %u and %d", q->points.dims,
               (int)q->points.scalar, tree->dims, (int)tree->scalar);
    KD_REQUIRE(q->points.count <= UINT32_MAX / 2, KD_ERROR_USAGE,
               "%llu queries, expected at most %u at once", (unsigned long long)q->points.count,
               UINT32_MAX / 2);
    const point_query_method method = choose(q);
    KD_REQUIRE(method == POINT_QUERY_WALK || q->index->points, KD_ERROR_USAGE,
               "query method %d is for three floats, the tree has %u dimensions", (int)method,
               tree->dims);
    const uint32_t most = k_most(method);
    KD_REQUIRE(q->k <= most, KD_ERROR_USAGE, "k is %u, query method %d takes at most %u", q->k,
               (int)method, most);
    KD_REQUIRE(q->kernel_k == 0 || (q->kernel_k >= q->k && q->kernel_k <= most), KD_ERROR_USAGE,
               "kernel_k is %u, expected %u to %u for query method %d", q->kernel_k, q->k, most,
               (int)method);
    return KD_OK;
}

uint32_t kernel_k_of(const point_query_cuda *q) {
    return q->kernel_k ? q->kernel_k : q->k;
}

/* What is answered together has to be near each other on all axes: rows of an image are not. */
bool wants_order(point_query_method method, const point_query_cuda *q) {
    if (method == POINT_QUERY_PACKETS || method == POINT_QUERY_GROUPS) return true;
    if (q->coherent || method == POINT_QUERY_WALK) return false;
    return method != POINT_QUERY_LEAVES || q->index->tree.count >= SORTED_LEAVES;
}

kd_status lay_out(plan *p, cuda_arena *arena, const point_query_cuda *q) {
    memset(p, 0, sizeof *p);
    KD_TRY(check(q));
    const uint64_t count = q->points.count;
    p->method = choose(q);
    p->sorted = count >= SORTED_COUNT && wants_order(p->method, q);
    size_t scan_bytes = 0, sort_bytes = 0;
    KD_TRY(scan_counts(NULL, &scan_bytes, NULL, count, 0));
    p->code = code_plan_of(q->index);
    if (p->sorted) {
        p->codes = (uint32_t *)cuda_arena_take(arena, count, sizeof(uint32_t));
        p->codes_sorted = (uint32_t *)cuda_arena_take(arena, count, sizeof(uint32_t));
        p->queries = (uint32_t *)cuda_arena_take(arena, count, sizeof(uint32_t));
        p->queries_sorted = (uint32_t *)cuda_arena_take(arena, count, sizeof(uint32_t));
        KD_TRY(sort_pairs(NULL, &sort_bytes, p, count, 0));
    }
    p->cub_bytes = sort_bytes > scan_bytes ? sort_bytes : scan_bytes;
    p->cub = cuda_arena_take(arena, p->cub_bytes, 1);
    if (p->method != POINT_QUERY_WALK) return KD_OK;
    const uint64_t list_bytes = (q->k ? q->k : 1) * sizeof(neighbour_nd);
    const uint64_t room = WALK_BYTES / list_bytes > 1024 ? WALK_BYTES / list_bytes : 1024;
    p->walkers = blocks_for(count < room ? count : room, point_walk::BLOCK) * point_walk::BLOCK;
    p->lists = (neighbour_nd *)cuda_arena_take(arena, p->walkers, list_bytes);
    return KD_OK;
}

/* Lays out the scratch and sorts the queries if they are to be. */
kd_status begin(plan *p, asked *queries, const point_query_cuda *q) {
    cuda_arena arena = {(char *)q->scratch, 0};
    KD_TRY(lay_out(p, &arena, q));
    KD_REQUIRE(arena.used <= q->scratch_bytes, KD_ERROR_MEMORY,
               "scratch of %zu bytes given, %zu needed", q->scratch_bytes, arena.used);
    *queries = {(const float *)q->points.coordinates,
                (int)(q->points.stride_bytes / sizeof(float)),
                (const float *)q->radii,
                (float)q->max_radius,
                NULL,
                (uint32_t)q->points.count,
                NULL,
                3 * p->code.bits,
                p->code.levels};
    if (!p->sorted) return KD_OK;
    const cudaStream_t stream = (cudaStream_t)q->stream;
    find_codes<<<(unsigned)blocks_for(q->points.count, ORDER_BLOCK), ORDER_BLOCK, 0, stream>>>(
        view_of(q->index), *queries, p->code, p->codes, p->queries);
    KD_CUDA_LAUNCHED("find_codes");
    KD_TRY(sort_pairs(p->cub, &p->cub_bytes, p, q->points.count, stream));
    queries->order = p->queries_sorted;
    queries->codes = p->codes_sorted;
    return KD_OK;
}

point_walk::asked walk_of(const point_query_cuda *q) {
    return {q->points, q->radii, q->max_radius};
}

template <typename real> point_walk::rows<real> rows_of(const point_query_cuda *q) {
    return {q->ids, (real *)q->dist2, q->counts};
}

template <typename real> kd_status nearest_walk(const plan *p, const point_query_cuda *q) {
    point_walk::nearest_by_walk<real>
        <<<(unsigned)(p->walkers / point_walk::BLOCK), point_walk::BLOCK, 0,
           (cudaStream_t)q->stream>>>(q->index->tree, walk_of(q), q->k, p->lists, rows_of<real>(q));
    KD_CUDA_LAUNCHED("nearest_by_walk");
    return KD_OK;
}

typedef void (*nearest_kernel)(view, asked, uint32_t, answer_rows);

/* Parts of 32 answers: room for k, for a step of 32 more, and for some to spare, so that the buffer
   is shrunk seldom. */
nearest_kernel leaves_kernel(uint32_t k) {
    return k <= 16    ? nearest_by_leaves<2>
           : k <= 40  ? nearest_by_leaves<3>
           : k <= 72  ? nearest_by_leaves<4>
           : k <= 128 ? nearest_by_leaves<6>
           : k <= 320 ? nearest_by_leaves<12>
           : k <= 640 ? nearest_by_leaves<24>
                      : nearest_by_leaves<40>;
}

nearest_kernel threads_kernel(uint32_t k) {
    return k == 1    ? nearest_by_threads<1>
           : k == 2  ? nearest_by_threads<2>
           : k <= 4  ? nearest_by_threads<4>
           : k <= 8  ? nearest_by_threads<8>
           : k <= 12 ? nearest_by_threads<12>
                     : nearest_by_threads<16>;
}

/* How many times `together` queries a warp answers after each other: as often as leaves enough
   warps, so that what one has found helps the next. */
uint32_t turns_of(const point_query_cuda *q, uint64_t together, uint32_t most) {
    if (q->turns) return q->turns;
    const uint64_t turns = q->points.count / (together * TURNING_WARPS);
    return turns >= most ? most : turns > 1 ? 1u << pointtree_log2((uint32_t)turns) : 1;
}

template <int K>
kd_status start_packets(const point_query_cuda *q, const asked &queries, const answer_rows &out) {
    const uint32_t turns = turns_of(q, 32, K > 2 ? PACKET_TURNS : 1); /* few are found at once */
    const uint64_t blocks = blocks_for(queries.count, 32 * PACKET_WARPS * turns);
    nearest_by_packets<K><<<(unsigned)blocks, 32 * PACKET_WARPS, 0, (cudaStream_t)q->stream>>>(
        view_of(q->index), queries, q->k, turns, hope_of(q->k), out);
    KD_CUDA_LAUNCHED("nearest_by_packets");
    return KD_OK;
}

kd_status nearest_packets(const point_query_cuda *q, const asked &queries, const answer_rows &out) {
    const uint32_t k = kernel_k_of(q);
    return k == 1   ? start_packets<1>(q, queries, out)
           : k == 2 ? start_packets<2>(q, queries, out)
           : k <= 4 ? start_packets<4>(q, queries, out)
           : k <= 8 ? start_packets<8>(q, queries, out)
                    : start_packets<16>(q, queries, out);
}

template <class SHAPE>
kd_status start_groups(const point_query_cuda *q, const asked &queries, const answer_rows &out) {
    const size_t bytes = GROUP_WARPS * sizeof(group_shared<SHAPE>);
    const uint32_t turns = turns_of(q, SHAPE::QUERIES, GROUP_TURNS);
    const uint64_t blocks = blocks_for(queries.count, SHAPE::QUERIES * GROUP_WARPS * turns);
    KD_CUDA(cudaFuncSetAttribute(nearest_by_groups<SHAPE>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    nearest_by_groups<SHAPE>
        <<<(unsigned)blocks, 32 * GROUP_WARPS, bytes, (cudaStream_t)q->stream>>>(
            view_of(q->index), queries, q->k, turns, hope_of(q->k), out);
    KD_CUDA_LAUNCHED("nearest_by_groups");
    return KD_OK;
}

kd_status nearest_groups(const point_query_cuda *q, const asked &queries, const answer_rows &out) {
    const uint32_t k = kernel_k_of(q);
    return k <= 24   ? start_groups<group_shape<4, 24, 8, 8, true>>(q, queries, out)
           : k <= 56 ? start_groups<group_shape<4, 32, 16, 6, true>>(q, queries, out)
                     : start_groups<group_shape<8, 24, 16, 8, false>>(q, queries, out);
}

kd_status nearest_of_index(point_query_method method, const point_query_cuda *q,
                           const asked &queries) {
    const answer_rows out = {q->ids, (float *)q->dist2, q->counts};
    if (method == POINT_QUERY_PACKETS) return nearest_packets(q, queries, out);
    if (method == POINT_QUERY_GROUPS) return nearest_groups(q, queries, out);
    const bool leaves = method == POINT_QUERY_LEAVES;
    const int threads = leaves ? 32 * LEAVES_WARPS : THREADS_BLOCK;
    const nearest_kernel kernel =
        leaves ? leaves_kernel(kernel_k_of(q)) : threads_kernel(kernel_k_of(q));
    kernel<<<(unsigned)blocks_for(queries.count, leaves ? LEAVES_WARPS : THREADS_BLOCK), threads, 0,
             (cudaStream_t)q->stream>>>(view_of(q->index), queries, q->k, out);
    KD_CUDA_LAUNCHED("nearest");
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
    asked queries;
    KD_TRY(begin(&p, &queries, q));
    if (q->points.count == 0 || q->k == 0) return KD_OK;
    if (p.method == POINT_QUERY_WALK)
        return q->points.scalar == POINT_DOUBLE ? nearest_walk<double>(&p, q)
                                                : nearest_walk<float>(&p, q);
    return nearest_of_index(p.method, q, queries);
}

extern "C" kd_status point_query_cuda_count_within(const point_query_cuda *q, uint64_t *offsets) {
    plan p;
    asked queries;
    KD_TRY(begin(&p, &queries, q));
    const cudaStream_t stream = (cudaStream_t)q->stream;
    const uint64_t count = q->points.count;
    KD_CUDA(cudaMemsetAsync(offsets + count, 0, sizeof *offsets, stream));
    if (count && p.method == POINT_QUERY_WALK)
        point_walk::count_by_walk<<<(unsigned)blocks_for(count, point_walk::BLOCK),
                                    point_walk::BLOCK, 0, stream>>>(q->index->tree, walk_of(q),
                                                                    offsets);
    else if (count)
        count_by_leaves<<<(unsigned)blocks_for(count, LEAVES_WARPS), 32 * LEAVES_WARPS, 0,
                          stream>>>(view_of(q->index), queries, offsets);
    KD_CUDA_LAUNCHED("count");
    return scan_counts(p.cub, &p.cub_bytes, offsets, count, stream);
}

extern "C" kd_status point_query_cuda_within(const point_query_cuda *q, const uint64_t *offsets) {
    KD_REQUIRE(q->ids && q->dist2, KD_ERROR_USAGE, "ids at %p and dist2 at %p, expected both",
               (void *)q->ids, q->dist2);
    plan p;
    asked queries;
    KD_TRY(begin(&p, &queries, q));
    const cudaStream_t stream = (cudaStream_t)q->stream;
    const uint64_t count = q->points.count;
    if (count == 0) return KD_OK;
    const unsigned walk_blocks = (unsigned)blocks_for(count, point_walk::BLOCK);
    if (p.method != POINT_QUERY_WALK) {
        const answer_rows out = {q->ids, (float *)q->dist2, NULL};
        fill_by_leaves<<<(unsigned)blocks_for(count, LEAVES_WARPS), 32 * LEAVES_WARPS, 0, stream>>>(
            view_of(q->index), queries, offsets, out);
    } else if (q->points.scalar == POINT_DOUBLE) {
        point_walk::fill_by_walk<double><<<walk_blocks, point_walk::BLOCK, 0, stream>>>(
            q->index->tree, walk_of(q), offsets, rows_of<double>(q));
    } else {
        point_walk::fill_by_walk<float><<<walk_blocks, point_walk::BLOCK, 0, stream>>>(
            q->index->tree, walk_of(q), offsets, rows_of<float>(q));
    }
    KD_CUDA_LAUNCHED("fill");
    return KD_OK;
}
