/* Kernels that select the queries for a part and merge its results, launched by answer_device.cu.
   Data flow: find_homes, one thread per query: points -> the part that contains it. pick, likewise:
              points, boxes, rows so far -> indices, points and radii of the queries for a part.
              merge_answers or add_counts, one thread per query of the part: its results -> the rows
              of these queries. close_rows, one thread per query: pads the rows. */
#ifndef KD_POINTS_PARTS_ANSWER_KERNELS_CUH
#define KD_POINTS_PARTS_ANSWER_KERNELS_CUH
#include "distributed/points/call.h"

namespace {
constexpr int BLOCK = 256;
enum { BAD_RADIUS = 1, MISFIT = 2 };

/* The queries that are sent to a part in a round. */
enum which_round { ROUND_ALL, ROUND_HOME, ROUND_OTHERS };

/* A chunk of queries and their rows, as passed to kernels. */
struct chunk_view {
    part_reach reach;
    point_array points;
    const void *radii;
    double max_radius;
    uint32_t k;             /* 0: `begins` determines the rows */
    const uint64_t *begins; /* count + 1 offsets */
    int32_t *homes;
    uint32_t *fill; /* number of results in each row so far */
    uint32_t *ids;
    void *dist2;
    uint32_t *flags;
};

/* The queries sent to a part. */
struct part_queries {
    uint32_t *indices, *count;
    void *points, *radii; /* radii may be NULL */
};

/* The results of a part: rows of k with counts, or rows at offsets. */
struct answers {
    uint32_t count; /* number of queries */
    const uint32_t *indices, *counts, *ids;
    const uint64_t *offsets;
    const void *dist2;
};

template <class S> __device__ double radius_of(const chunk_view &call, uint64_t i) {
    const double query_radius = call.radii ? (double)((const S *)call.radii)[i] : (double)INFINITY;
    return query_radius < call.max_radius ? query_radius : call.max_radius;
}

__device__ uint64_t row_begin(const chunk_view &call, uint64_t i) {
    return call.begins ? call.begins[i] : i * call.k;
}

__device__ uint32_t row_capacity(const chunk_view &call, uint64_t i) {
    return call.begins ? (uint32_t)(call.begins[i + 1] - call.begins[i]) : call.k;
}

__global__ void find_homes(chunk_view call) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < call.points.count)
        call.homes[i] = reach_home(&call.reach, point_array_at(&call.points, i));
}

/* Returns whether a query has to search the part, and within which radius. */
template <class S>
__device__ bool needs_part(const chunk_view &call, uint64_t i, int32_t part, which_round round,
                           S *radius) {
    const point_scalar scalar = call.reach.scalar;
    const double query_radius = radius_of<S>(call, i);
    if (call.radii && !(((const S *)call.radii)[i] >= 0))
        atomicOr(call.flags, (uint32_t)BAD_RADIUS);
    if (round != ROUND_ALL && (call.homes[i] == part) != (round == ROUND_HOME)) return false;
    double bound = metric_bound(scalar, call.reach.norm, query_radius), near = query_radius;
    if (round == ROUND_OTHERS && call.fill[i] == call.k) {
        const double last = (double)((const S *)call.dist2)[(i + 1) * call.k - 1];
        bound = last < bound ? last : bound;
        near = reach_radius_of(&call.reach, bound);
    }
    *radius = (S)(near < query_radius ? near : query_radius);
    return reach_may_hold(&call.reach, point_array_at(&call.points, i), part, bound);
}

/* Compacts the selected queries; their order does not matter, but those of a block stay
   together. */
template <class S>
__global__ void pick(chunk_view call, part_queries out, int32_t part, which_round round) {
    __shared__ uint32_t block_count, first;
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (threadIdx.x == 0) block_count = 0;
    __syncthreads();
    S radius = 0;
    uint32_t place = 0;
    const bool picked = i < call.points.count && needs_part<S>(call, i, part, round, &radius);
    if (picked) place = atomicAdd(&block_count, 1u);
    __syncthreads();
    if (threadIdx.x == 0) first = block_count ? atomicAdd(out.count, block_count) : 0;
    __syncthreads();
    if (!picked) return;
    place += first;
    out.indices[place] = (uint32_t)i;
    const S *from = (const S *)point_array_at(&call.points, i);
    const uint32_t dims = call.reach.dims;
    for (uint32_t axis = 0; axis < dims; ++axis)
        ((S *)out.points)[(uint64_t)place * dims + axis] = from[axis];
    if (out.radii) ((S *)out.radii)[place] = radius;
}

/* Returns whether (a, id) comes after (b, other). */
template <class S> __device__ bool is_later(S a, uint32_t id, S b, uint32_t other) {
    return a > b || (a == b && id > other);
}

template <class S> __global__ void merge_answers(chunk_view call, answers from) {
    const uint64_t question = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (question >= from.count) return;
    const uint64_t query = from.indices[question];
    const uint64_t begin = from.counts ? question * call.k : from.offsets[question];
    const uint32_t *more = from.ids + begin;
    const S *more_dist2 = (const S *)from.dist2 + begin;
    uint32_t *ids = call.ids + row_begin(call, query);
    S *dist2 = (S *)call.dist2 + row_begin(call, query);
    const uint32_t capacity = row_capacity(call, query);
    uint32_t have = call.fill[query];
    uint32_t received = from.counts
                            ? from.counts[question]
                            : (uint32_t)(from.offsets[question + 1] - from.offsets[question]);
    if (call.begins && received > capacity - have) {
        atomicOr(call.flags, (uint32_t)MISFIT);
        return;
    }
    while (have + received > capacity) {
        const bool drops_first =
            received == 0 || (have > 0 && is_later(dist2[have - 1], ids[have - 1],
                                                   more_dist2[received - 1], more[received - 1]));
        drops_first ? --have : --received;
    }
    call.fill[query] = have + received;
    for (uint32_t to = have + received; received > 0;) {
        --to;
        if (have > 0 && is_later(dist2[have - 1], ids[have - 1], more_dist2[received - 1],
                                 more[received - 1])) {
            --have;
            dist2[to] = dist2[have];
            ids[to] = ids[have];
        } else {
            --received;
            dist2[to] = more_dist2[received];
            ids[to] = more[received];
        }
    }
}

__global__ void add_counts(chunk_view call, answers from) {
    const uint64_t question = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (question < from.count)
        call.fill[from.indices[question]] +=
            (uint32_t)(from.offsets[question + 1] - from.offsets[question]);
}

/* Pads the rows, and writes 64-bit ids unless `wide` is NULL. */
template <class S> __global__ void close_rows(chunk_view call, uint64_t *wide) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= call.points.count) return;
    const uint64_t begin = row_begin(call, i);
    const uint32_t capacity = row_capacity(call, i), fill = call.fill[i];
    if (call.begins && fill != capacity) atomicOr(call.flags, (uint32_t)MISFIT);
    for (uint32_t j = fill; j < capacity; ++j) {
        call.ids[begin + j] = KD_NO_POINT;
        ((S *)call.dist2)[begin + j] = (S)INFINITY;
    }
    for (uint32_t j = 0; wide && j < capacity; ++j)
        wide[begin + j] = j < fill ? call.ids[begin + j] : KD_NO_POINT64;
}
} // namespace

#endif
