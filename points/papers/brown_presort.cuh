/* Builds the presorted lists, one per axis, of all points.
   For the order (coordinate, id): a stable radix sort of the points in the order of their ids. For
   the super key (Brown 2015: the coordinate, the next axes cyclically, the id): the first list
   takes a radix sort and a sort of each run of equal coordinates; the others then take one radix
   sort each, from the last axis down, since points in the order of axis a + 1 that are stably
   sorted along axis a are in the order of axis a.
   Work: one radix sort per axis. If many first coordinates are equal, the first list takes one
         radix sort per axis as well.
   Data flow: make_columns, one thread per point: input -> columns, ids; for each axis: gather_keys
              (column -> keys in the current order), radix sort (-> list), then sort_runs, one
              thread per run of equal coordinates, in place; find_duplicates, one thread per
              position: list -> flags. */
#ifndef KD_POINTS_PAPERS_BROWN_PRESORT_CUH
#define KD_POINTS_PAPERS_BROWN_PRESORT_CUH
#include "core/device/device_sort.cuh"
#include "points/papers/brown_lists.cuh"

namespace lists {

constexpr uint32_t RUN = 24; /* longest run of equal coordinates sorted by one thread */

__device__ inline uint32_t order_bits(float coordinate) {
    return pointtree_order_bits(coordinate);
}

__device__ inline uint64_t order_bits(double coordinate) {
    return pointtree_order_bits_double(coordinate);
}

template <typename real> struct presort {
    typedef typename sort_key<real>::type key;
    const real *points;
    uint64_t stride;
    uint32_t dims, count;
    uint32_t *list[POINT_DIMS_MAX + 1]; /* the last one is a spare buffer */
    key *column[POINT_DIMS_MAX];        /* the coordinates of one axis, by point */
    key *keys, *keys_sorted;
    uint8_t *differs;    /* 1 where a point differs from the previous one */
    uint32_t *long_runs; /* flag: there are longer runs; later: number of points kept */
    void *cub;
    size_t cub_bytes;
    cudaStream_t stream;
};

/* Copies the points to columns and writes the ids in order to the spare list. */
template <typename real> __global__ __launch_bounds__(BLOCK) void make_columns(presort<real> p) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= p.count) return;
    const real *point = p.points + i * p.stride;
#pragma unroll
    for (uint32_t axis = 0; axis < POINT_DIMS_MAX; ++axis)
        if (axis < p.dims) p.column[axis][i] = order_bits(point[axis]);
    p.list[p.dims][i] = i;
}

template <typename real>
__global__ __launch_bounds__(BLOCK) void gather_keys(presort<real> p, uint32_t axis,
                                                     const uint32_t *order) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < p.count) p.keys[i] = p.column[axis][order[i]];
}

/* Compares two points by the axes after `axis`, cyclically: -1, 0 or 1. */
template <typename real>
__device__ inline int compare_others(const presort<real> &p, uint32_t a, uint32_t b,
                                     uint32_t axis) {
    for (uint32_t i = 1; i < p.dims; ++i) {
        axis = axis + 1 == p.dims ? 0 : axis + 1;
        const typename presort<real>::key x = p.column[axis][a], y = p.column[axis][b];
        if (x != y) return x < y ? -1 : 1;
    }
    return 0;
}

/* Sorts the run of equal coordinates that begins at this thread's position by the other axes; the
   run arrives in the order of ids. Also marks which points differ from their predecessors in all
   axes. */
template <typename real>
__global__ __launch_bounds__(BLOCK) void sort_runs(presort<real> p, uint32_t *list) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= p.count) return;
    const typename presort<real>::key key = p.keys_sorted[i];
    if (i && p.keys_sorted[i - 1] == key) return;
    p.differs[i] = 1;
    if (i + 1 == p.count || p.keys_sorted[i + 1] != key) return;
    uint32_t run = 2;
    while (run <= RUN && i + run < p.count && p.keys_sorted[i + run] == key) ++run;
    if (run > RUN) {
        *p.long_runs = 1;
        return;
    }
    for (uint32_t j = 1; j < run; ++j) {
        const uint32_t id = list[i + j];
        uint32_t hole = i + j;
        int side = 1;
        for (; hole > i && (side = compare_others(p, id, list[hole - 1], 0)) < 0; --hole) {
            list[hole] = list[hole - 1];
            p.differs[hole] = p.differs[hole - 1];
        }
        list[hole] = id;
        if (hole < i + j) p.differs[hole + 1] = 1;
        p.differs[hole] = hole == i || side != 0;
    }
}

template <typename real>
__global__ __launch_bounds__(BLOCK) void find_duplicates(presort<real> p, const uint32_t *list) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= p.count) return;
    p.differs[i] = i == 0 || p.keys_sorted[i] != p.keys_sorted[i - 1] ||
                   compare_others(p, list[i], list[i - 1], 0) != 0;
}

/* Scratch bytes of CUB's sort and selection. */
template <typename real> kd_status cub_scratch(size_t *bytes, uint32_t count) {
    typedef typename sort_key<real>::type key;
    size_t sort = 0, select = 0;
    KD_TRY(device_sort_pairs(NULL, &sort, (const key *)NULL, (key *)NULL, NULL, NULL, count,
                             8 * (int)sizeof(key), 0));
    KD_TRY(device_keep_flagged(NULL, &select, NULL, NULL, NULL, NULL, count, 0));
    *bytes = sort > select ? sort : select;
    return KD_OK;
}

/* Writes to `to` the points of `from`, stably sorted along an axis; `from` NULL stands for all
   points in the order of ids. */
template <typename real>
kd_status sort_along(const presort<real> &p, uint32_t axis, const uint32_t *from, uint32_t *to) {
    size_t bytes = p.cub_bytes;
    if (from) {
        gather_keys<real><<<cuda_blocks(p.count, BLOCK), BLOCK, 0, p.stream>>>(p, axis, from);
        KD_CUDA_LAUNCHED("gather_keys");
    }
    return device_sort_pairs(p.cub, &bytes, from ? p.keys : p.column[axis], p.keys_sorted,
                             from ? from : p.list[p.dims], to, p.count, 8 * (int)sizeof(*p.keys),
                             p.stream);
}

inline kd_status read_word(uint32_t *host, const uint32_t *device, cudaStream_t stream) {
    KD_CUDA(cudaMemcpyAsync(host, device, sizeof *host, cudaMemcpyDeviceToHost, stream));
    KD_CUDA(cudaStreamSynchronize(stream));
    return KD_OK;
}

/* Sorts the first axis' list by the super key and marks the points that differ from their
   predecessors. Synchronises with the stream. */
template <typename real> kd_status sort_first(const presort<real> &p) {
    uint32_t long_runs = 0;
    KD_TRY(sort_along(p, 0, (const uint32_t *)NULL, p.list[0]));
    KD_CUDA(cudaMemsetAsync(p.long_runs, 0, sizeof *p.long_runs, p.stream));
    sort_runs<real><<<cuda_blocks(p.count, BLOCK), BLOCK, 0, p.stream>>>(p, p.list[0]);
    KD_CUDA_LAUNCHED("sort_runs");
    KD_TRY(read_word(&long_runs, p.long_runs, p.stream));
    if (!long_runs) return KD_OK;
    const uint32_t *from = NULL;
    for (uint32_t axis = p.dims; axis-- > 0; from = p.list[axis])
        KD_TRY(sort_along(p, axis, from, p.list[axis]));
    find_duplicates<real><<<cuda_blocks(p.count, BLOCK), BLOCK, 0, p.stream>>>(p, p.list[0]);
    KD_CUDA_LAUNCHED("find_duplicates");
    return KD_OK;
}

/* Keeps, of equal points, which are adjacent in the first list, only the one with the least id.
   Synchronises with the stream. */
template <typename real> kd_status keep_unique(presort<real> *p) {
    size_t bytes = p->cub_bytes;
    uint32_t *target = p->list[p->dims], kept = 0;
    KD_TRY(device_keep_flagged(p->cub, &bytes, p->list[0], p->differs, target, p->long_runs,
                               p->count, p->stream));
    KD_TRY(read_word(&kept, p->long_runs, p->stream));
    p->list[p->dims] = p->list[0];
    p->list[0] = target;
    p->count = kept;
    return KD_OK;
}

template <typename real> kd_status presort_by_super_key(presort<real> *p, bool unique) {
    KD_TRY(sort_first(*p));
    if (unique) KD_TRY(keep_unique(p));
    for (uint32_t axis = p->dims; axis-- > 1;)
        KD_TRY(sort_along(*p, axis, p->list[axis + 1 == p->dims ? 0 : axis + 1], p->list[axis]));
    return KD_OK;
}

template <typename real> kd_status presort_by_coordinate(const presort<real> &p) {
    for (uint32_t axis = 0; axis < p.dims; ++axis)
        KD_TRY(sort_along(p, axis, (const uint32_t *)NULL, p.list[axis]));
    return KD_OK;
}

} // namespace lists
#endif
