/* Selects and launches the kernel for the k nearest neighbours on the device's index, for queries
   of a caller (`point_queries`) as well as self-queries (`self_queries`).
   Source: the selection tables were measured on an H200 (tools/bench/results/h200-ways.txt): 0.1M,
           1M and 10M points, uniform, photon-like and clustered, 10,000 to 2M queries, k of 1 to
           100; for coherent queries, and more than 2M, by kandela bench knn.
   Idea: packets and groups are fastest where queries are so dense among the points that
         neighbouring queries need the same leaves. Leaves (one warp per query) are never far from
         the best below some 250,000 queries, and need no sorting there: the sort would cost more
         than it gains. */
#ifndef KD_POINTS_NEIGHBOURS_NEAREST_CALL_CUH
#define KD_POINTS_NEIGHBOURS_NEAREST_CALL_CUH
#include "points/neighbours/query_groups.cuh"

namespace point_index {

/* --- selection of the kernel if the caller does not choose: the first matching row ---------- */

typedef struct query_strategy {
    point_query_method method;
    bool sorted; /* sort the queries, unless that cannot help */
} query_strategy;

typedef struct query_strategy_row {
    double k_max, queries, points, points_a_query; /* row matches up to this k and below the other
                                                       limits */
    query_strategy strategy;
} query_strategy_row;

constexpr double QUERIES_COHERENT = 1e5, QUERIES_MANY = 1.5e6, QUERIES_ANY = 1e300;

/* For coherent queries, and for more than QUERIES_MANY queries of any kind. */
inline constexpr query_strategy_row strategies_of_many[] = {
    {16, QUERIES_ANY, QUERIES_ANY, 2.4, {POINT_QUERY_PACKETS, true}},
    {12, QUERIES_ANY, QUERIES_ANY, QUERIES_ANY, {POINT_QUERY_THREADS, true}},
    {16, QUERIES_ANY, QUERIES_ANY, 8, {POINT_QUERY_PACKETS, true}},
    {16, QUERIES_ANY, QUERIES_ANY, QUERIES_ANY, {POINT_QUERY_THREADS, true}},
    {24, QUERIES_ANY, QUERIES_ANY, 1.3, {POINT_QUERY_PACKETS, true}},
    {112, QUERIES_ANY, QUERIES_ANY, 8, {POINT_QUERY_GROUPS, true}},
    {QUERIES_ANY, QUERIES_ANY, QUERIES_ANY, QUERIES_ANY, {POINT_QUERY_LEAVES, true}}};

inline constexpr query_strategy_row strategies_of_few[] = {
    {8, 60e3, QUERIES_ANY, QUERIES_ANY, {POINT_QUERY_LEAVES, false}},
    {1, 250e3, 300e3, QUERIES_ANY, {POINT_QUERY_THREADS, false}},
    {8, 80e3, QUERIES_ANY, QUERIES_ANY, {POINT_QUERY_LEAVES, false}},
    {1, 250e3, QUERIES_ANY, QUERIES_ANY, {POINT_QUERY_THREADS, false}},
    {4, 250e3, 4e6, QUERIES_ANY, {POINT_QUERY_THREADS, false}},
    {8, 250e3, 300e3, QUERIES_ANY, {POINT_QUERY_THREADS, false}},
    {1024, 250e3, QUERIES_ANY, QUERIES_ANY, {POINT_QUERY_LEAVES, false}},
    {16, QUERIES_ANY, QUERIES_ANY, 2.4, {POINT_QUERY_PACKETS, true}},
    {24, QUERIES_ANY, QUERIES_ANY, 1.3, {POINT_QUERY_PACKETS, true}},
    {112, QUERIES_ANY, QUERIES_ANY, 2.4, {POINT_QUERY_GROUPS, true}},
    {1, QUERIES_ANY, QUERIES_ANY, QUERIES_ANY, {POINT_QUERY_THREADS, true}},
    {12, QUERIES_ANY, QUERIES_ANY, 24, {POINT_QUERY_THREADS, true}},
    {16, QUERIES_ANY, QUERIES_ANY, QUERIES_ANY, {POINT_QUERY_LEAVES, false}},
    {QUERIES_ANY, QUERIES_ANY, QUERIES_ANY, QUERIES_ANY, {POINT_QUERY_LEAVES, true}}};

inline query_strategy query_strategy_of(uint32_t k, uint64_t queries, uint64_t points,
                                        bool coherent) {
    const bool many =
        (double)queries >= QUERIES_MANY || (coherent && (double)queries >= QUERIES_COHERENT);
    const query_strategy_row *row = many ? strategies_of_many : strategies_of_few;
    const double query_count = (double)queries, point_count = (double)points;
    while ((double)k > row->k_max || query_count >= row->queries || point_count >= row->points ||
           point_count >= row->points_a_query * query_count)
        ++row;
    return row->strategy;
}

/* --- kernels -------------------------------------------------------------------------------- */

constexpr uint32_t PACKET_TURNS = 8, GROUP_TURNS = 16; /* maximum number of batches per warp,
                                                          processed in sequence */
constexpr uint64_t TURNING_WARPS = 12500;              /* enough warps to fill a large device
                                                          several times */

/* The number of neighbours for which the kernel is compiled. */
inline uint32_t kernel_k_of(const point_query_cuda *query) {
    return query->kernel_k ? query->kernel_k : query->k;
}

/* --- queries split off from their warp ------------------------------------------------------ */

constexpr uint32_t PATIENCE = 128, PATIENCE_OWN = 64; /* maximum number of leaves visited in vain;
                                                         less for self-queries, whose packets have
                                                         tighter boxes */

/* Lays out the list of queries that are split off from their warp, for `count` turns. `patience` is
   the default limit; with 0 no query is split off. If `has_used`, the list is stored in `used`,
   which has as many words and is no longer read by then. */
inline query_handover lay_out_handover(cuda_arena *arena, const point_query_cuda *query,
                                       uint32_t patience, uint64_t count, bool has_used,
                                       uint32_t *used) {
    query_handover to = {NULL, NULL, KD_NONE};
    if (!patience) return to;
    to.count = (uint32_t *)cuda_arena_take(arena, 1, sizeof(uint32_t));
    if (query->parted) to.count = query->parted;
    to.turns = has_used ? used : (uint32_t *)cuda_arena_take(arena, count, sizeof(uint32_t));
    to.patience = query->patience ? query->patience : patience;
    return to;
}

template <class QUERY_BATCH> struct nearest_call {
    const point_query_cuda *query;
    QUERY_BATCH queries;
    answer_rows out;
    query_handover to;

    /* Launches packets, groups or leaves; k must be valid. */
    kd_status launch(point_query_method method) const {
        if (method != POINT_QUERY_PACKETS && method != POINT_QUERY_GROUPS) return leaves();
        if (to.count)
            KD_CUDA(cudaMemsetAsync(to.count, 0, sizeof *to.count, (cudaStream_t)query->stream));
        KD_TRY(method == POINT_QUERY_PACKETS ? packets_of_k() : groups_of_k());
        return to.count ? launch_split() : KD_OK;
    }

    kd_status packets_of_k() const {
        const uint32_t k = kernel_k_of(query);
        return k == 1    ? packets<1>()
               : k == 2  ? packets<2>()
               : k <= 4  ? packets<4>()
               : k <= 8  ? packets<8>()
               : k <= 12 ? packets<12>()
               : k <= 16 ? packets<16>()
               : k <= 20 ? packets<20>()
                         : packets<24>();
    }

    kd_status groups_of_k() const {
        const uint32_t slots = kernel_k_of(query) + more_of(queries);
        return slots <= 24   ? groups<group_shape<4, 24, 8, 8, true>>()
               : slots <= 56 ? groups<group_shape<4, 32, 16, 6, true>>()
                             : groups<group_shape<8, 24, 16, 8, false>>();
    }

    /* Number of batches of `group_size` queries that a warp processes in sequence: the largest
       number that leaves enough warps, since the results of one batch bound the search of the next.
     */
    uint32_t turns_of(uint64_t group_size, uint32_t maximum) const {
        if (query->turns) return query->turns;
        const uint64_t turns = queries.count / (group_size * TURNING_WARPS);
        return turns >= maximum ? maximum : turns > 1 ? 1u << pointtree_log2((uint32_t)turns) : 1;
    }

    template <int K> kd_status packets() const {
        const uint32_t turns = turns_of(32, K > 2 ? PACKET_TURNS : 1); /* few neighbours are found
                                                                          fast anyway */
        const uint64_t blocks = cuda_blocks(queries.count, 32 * PACKET_WARPS * turns);
        nearest_by_packets<K, QUERY_BATCH>
            <<<(unsigned)blocks, 32 * PACKET_WARPS, 0, (cudaStream_t)query->stream>>>(
                view_of(query->index), queries, query->k, turns, reach_factor_of(query->k), to,
                out);
        KD_CUDA_LAUNCHED("nearest_by_packets");
        return KD_OK;
    }

    template <class SHAPE> kd_status groups() const {
        const size_t bytes = GROUP_WARPS * sizeof(group_shared<SHAPE>);
        const uint32_t turns = turns_of(SHAPE::QUERIES, GROUP_TURNS);
        const uint64_t blocks = cuda_blocks(queries.count, SHAPE::QUERIES * GROUP_WARPS * turns);
        KD_CUDA(cudaFuncSetAttribute(nearest_by_groups<SHAPE, QUERY_BATCH>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
        query_handover then = to;
        if (!SHAPE::HALVES && !query->patience)
            then.patience += PATIENCE_OWN; /* counts all leaves,
                                              not only those
                                              visited in vain */
        nearest_by_groups<SHAPE, QUERY_BATCH>
            <<<(unsigned)blocks, 32 * GROUP_WARPS, bytes, (cudaStream_t)query->stream>>>(
                view_of(query->index), queries, query->k, turns, reach_factor_of(query->k), then,
                out);
        KD_CUDA_LAUNCHED("nearest_by_groups");
        return KD_OK;
    }

    template <int PARTS> kd_status leaves_of() const {
        nearest_by_leaves<PARTS, QUERY_BATCH>
            <<<cuda_blocks(queries.count, LEAVES_WARPS), 32 * LEAVES_WARPS, 0,
               (cudaStream_t)query->stream>>>(view_of(query->index), queries, query->k, out);
        KD_CUDA_LAUNCHED("nearest_by_leaves");
        return KD_OK;
    }

    template <int PARTS> kd_status launch_split_of() const {
        const uint64_t blocks = cuda_blocks(queries.count, LEAVES_WARPS);
        return cuda_launch_dependent(nearest_split<PARTS, QUERY_BATCH>,
                                     (unsigned)(blocks < SPLIT_BLOCKS ? blocks : SPLIT_BLOCKS),
                                     32 * LEAVES_WARPS, (cudaStream_t)query->stream,
                                     view_of(query->index), queries, query->k, to, out);
    }

    kd_status launch_split() const {
        const uint32_t k = kernel_k_of(query);
        return k <= 16   ? launch_split_of<2>()
               : k <= 40 ? launch_split_of<3>()
               : k <= 72 ? launch_split_of<4>()
                         : launch_split_of<6>();
    }

    /* PARTS times 32 results: capacity for k, for a step of 32 more, and some spare, so that the
       buffer is rarely reduced. */
    kd_status leaves() const {
        const uint32_t k = kernel_k_of(query);
        return k <= 16    ? leaves_of<2>()
               : k <= 40  ? leaves_of<3>()
               : k <= 72  ? leaves_of<4>()
               : k <= 128 ? leaves_of<6>()
               : k <= 320 ? leaves_of<12>()
               : k <= 640 ? leaves_of<24>()
                          : leaves_of<40>();
    }
};

} // namespace point_index
#endif
