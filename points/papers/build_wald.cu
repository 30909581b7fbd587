/* Left-balanced point k-d tree on a CUDA device by tag and sort.
   Source: Wald 2022, "GPU-friendly, parallel, and (almost-)in-place construction of left-balanced
           k-d trees", sections 3 and 4.
   Idea: each point carries a tag: the deepest node known to be above it, or its final position. For
         each level, points are sorted by (tag, coordinate on the node's axis, id); comparing a
         point's position with that of its node's pivot then gives its tag on the next level. After
         the last level all tags are final positions.
   Work: one sort per level, O(n log n) each by comparison, O(n) by radix; one update kernel per
         level.
   Memory: a tag per point, and for the sorts an id per point and axis and two pairs of key and id.
   Invariants: after level l the tags of the nodes above level l+1 are final; equal coordinates are
               ordered by id, so the tree is that of every other builder.
   Differs from the paper in: the sort by (tag, coordinate, id) is a stable radix sort from the last
         key to the first. Its (coordinate, id) half does not depend on the level, so it is done
         once per axis; each level sorts by tag alone, l + 1 bits.
   Data flow: for each axis: presort_keys (points -> keys), sort -> order (for the widest side:
              take_side, invert_order -> box, ranks). For each level: gather_tags (order, tags ->
              keys) or gather_tags_and_ranks, sort -> ids by tag, drop_ranks; update_tags, one
              thread per position: ids by tag -> tags, ids of the tree. place_last_level: tags ->
              ids. One thread per element each. */
#include "core/device/cuda.h"
#include "core/device/device_sort.cuh"
#include "points/tree/build_device.h"
#include "points/tree/widest.cuh"

namespace {

enum { BLOCK = 256 };

/* Scratch of the builder. `lists` holds, for each of the `dims` axes, the ids ordered by
   (coordinate, id), or the inverse of that permutation. */
struct wald_scratch {
    uint32_t *tags; /* indexed by id */
    uint32_t *lists;
    void *keys, *keys_sorted; /* `count` keys of 4 or 8 bytes */
    uint32_t *ids, *ids_sorted;
    point_box *box;
    void *cub;
    size_t cub_bytes;
};

uint32_t count_of(const point_build_cuda *a) {
    return (uint32_t)a->points.count;
}

int dims_of(const point_build_cuda *a) {
    return (int)a->points.dims;
}

template <typename real> const real *points_of(const point_build_cuda *a) {
    return (const real *)a->points.coordinates;
}

template <typename real> int stride_of(const point_build_cuda *a) {
    return (int)(a->points.stride_bytes / sizeof(real));
}

__device__ uint32_t order_bits(float coordinate) {
    return pointtree_order_bits(coordinate);
}

__device__ uint64_t order_bits(double coordinate) {
    return pointtree_order_bits_double(coordinate);
}

template <typename real, typename key>
__global__ void presort_keys(const real *points, int stride, int axis, uint32_t count, key *keys,
                             uint32_t *ids) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count) return;
    keys[i] = order_bits(points[(uint64_t)i * stride + axis]);
    ids[i] = i;
}

__global__ void gather_tags(const uint32_t *ids, const uint32_t *tags, uint32_t count,
                            uint32_t *keys) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) keys[i] = tags[ids[i]];
}

/* Section 3.2: points before their node's pivot go left, those after it go right, and the pivot
   becomes the node. */
__global__ void update_tags(const uint32_t *keys, const uint32_t *ids, uint32_t count,
                            uint32_t level, uint32_t *tags, uint32_t *tree_ids) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count || i < pointtree_level_begin(level)) return;
    const uint32_t node = keys[i];
    const uint32_t pivot =
        pointtree_segment_begin(node, count) + pointtree_subtree_size(2 * node + 1, count);
    if (i == pivot)
        tree_ids[node] = ids[i];
    else
        tags[ids[i]] = 2 * node + (i < pivot ? 1 : 2);
}

/* The last level: exactly one point has each remaining tag. */
__global__ void place_last_level(const uint32_t *tags, uint32_t count, uint32_t level,
                                 uint32_t *tree_ids) {
    const uint32_t id = blockIdx.x * BLOCK + threadIdx.x;
    if (id < count && tags[id] >= pointtree_level_begin(level)) tree_ids[tags[id]] = id;
}

/* Inverts a permutation: the rank of each id. */
__global__ void invert_order(const uint32_t *order, uint32_t count, uint32_t *ranks) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) ranks[order[i]] = i;
}

/* Sort keys if each node has its own axis: (tag, rank on the tag's axis) as one integer. A rank
   determines (coordinate, id). Points that are already nodes need no rank. */
__global__ void gather_tags_and_ranks(const uint32_t *tags, const uint32_t *ranks,
                                      const uint8_t *axes, uint32_t count, uint32_t level,
                                      int rank_bits, uint64_t *keys, uint32_t *ids) {
    const uint32_t id = blockIdx.x * BLOCK + threadIdx.x;
    if (id >= count) return;
    const uint32_t tag = tags[id];
    const uint32_t rank =
        tag < pointtree_level_begin(level) ? 0 : ranks[(uint64_t)axes[tag] * count + id];
    keys[id] = (uint64_t)tag << rank_bits | rank;
    ids[id] = id;
}

__global__ void drop_ranks(const uint64_t *keys, uint32_t count, int rank_bits, uint32_t *tags) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) tags[i] = (uint32_t)(keys[i] >> rank_bits);
}

template <typename real>
widest::tree widest_tree(const wald_scratch *s, const point_build_cuda *a) {
    return {a->points.coordinates,
            (uint64_t)stride_of<real>(a),
            a->points.dims,
            count_of(a),
            s->box,
            a->ids,
            a->axes,
            false};
}

template <typename key>
kd_status sort_pairs(void *scratch, size_t *bytes, const void *keys, void *keys_sorted,
                     const uint32_t *ids, uint32_t *ids_sorted, uint32_t count, int bits,
                     cudaStream_t stream) {
    return device_sort_pairs(scratch, bytes, (const key *)keys, (key *)keys_sorted, ids, ids_sorted,
                             count, bits, stream);
}

kd_status lay_out(wald_scratch *s, cuda_arena *arena, const point_build_cuda *a) {
    const uint64_t n = a->points.count;
    const bool wide = a->points.scalar == POINT_DOUBLE || a->split == POINTTREE_WIDEST;
    const size_t key_bytes = wide ? sizeof(uint64_t) : sizeof(uint32_t);
    s->tags = (uint32_t *)cuda_arena_take(arena, n, sizeof(uint32_t));
    s->lists = (uint32_t *)cuda_arena_take(arena, n * a->points.dims, sizeof(uint32_t));
    s->keys = cuda_arena_take(arena, n, key_bytes);
    s->keys_sorted = cuda_arena_take(arena, n, key_bytes);
    s->ids = (uint32_t *)cuda_arena_take(arena, n, sizeof(uint32_t));
    s->ids_sorted = (uint32_t *)cuda_arena_take(arena, n, sizeof(uint32_t));
    s->box = (point_box *)cuda_arena_take(arena, 1, sizeof(point_box));
    size_t narrow_bytes = 0, wide_bytes = 0;
    KD_TRY(sort_pairs<uint32_t>(NULL, &narrow_bytes, NULL, NULL, NULL, NULL, (uint32_t)n, 32, 0));
    if (wide)
        KD_TRY(sort_pairs<uint64_t>(NULL, &wide_bytes, NULL, NULL, NULL, NULL, (uint32_t)n, 64, 0));
    s->cub_bytes = narrow_bytes > wide_bytes ? narrow_bytes : wide_bytes;
    s->cub = cuda_arena_take(arena, s->cub_bytes, 1);
    return KD_OK;
}

/* Sorts the points along each axis; for the widest-side rule also finds the bounding box and
   inverts the orders. */
template <typename real, typename key>
kd_status presort(const wald_scratch *s, const point_build_cuda *a, cudaStream_t stream) {
    const real *points = points_of<real>(a);
    const unsigned blocks = cuda_blocks(count_of(a), BLOCK);
    const bool widest = a->split == POINTTREE_WIDEST;
    size_t cub_bytes = s->cub_bytes;
    for (int axis = 0; axis < dims_of(a); ++axis) {
        uint32_t *list = s->lists + (uint64_t)axis * count_of(a);
        uint32_t *order = widest ? s->ids_sorted : list;
        presort_keys<real, key><<<blocks, BLOCK, 0, stream>>>(points, stride_of<real>(a), axis,
                                                              count_of(a), (key *)s->keys, s->ids);
        KD_CUDA_LAUNCHED("presort_keys");
        KD_TRY(sort_pairs<key>(s->cub, &cub_bytes, s->keys, s->keys_sorted, s->ids, order,
                               count_of(a), 8 * (int)sizeof(key), stream));
        if (!widest) continue;
        widest::take_side<real>
            <<<1, 1, 0, stream>>>(widest_tree<real>(s, a), axis, order, count_of(a), s->box);
        KD_CUDA_LAUNCHED("take_side");
        invert_order<<<blocks, BLOCK, 0, stream>>>(order, count_of(a), list);
        KD_CUDA_LAUNCHED("invert_order");
    }
    return KD_OK;
}

/* Sorts one level whose nodes all split the same axis: its order, stably sorted by tag. */
kd_status sort_level(const wald_scratch *s, const point_build_cuda *a, uint32_t level,
                     cudaStream_t stream) {
    const uint32_t *order = s->lists + (uint64_t)(level % a->points.dims) * count_of(a);
    size_t cub_bytes = s->cub_bytes;
    gather_tags<<<cuda_blocks(count_of(a), BLOCK), BLOCK, 0, stream>>>(order, s->tags, count_of(a),
                                                                       (uint32_t *)s->keys);
    KD_CUDA_LAUNCHED("gather_tags");
    return sort_pairs<uint32_t>(s->cub, &cub_bytes, s->keys, s->keys_sorted, order, s->ids_sorted,
                                count_of(a), (int)level + 1, stream);
}

/* Sorts one level whose nodes split their widest axes. */
template <typename real>
kd_status sort_level_widest(const wald_scratch *s, const point_build_cuda *a, uint32_t level,
                            cudaStream_t stream) {
    const unsigned blocks = cuda_blocks(count_of(a), BLOCK);
    const int rank_bits = (int)pointtree_log2(count_of(a)) + 1;
    size_t cub_bytes = s->cub_bytes;
    KD_TRY(widest::choose_level<real>(widest_tree<real>(s, a), level, stream));
    gather_tags_and_ranks<<<blocks, BLOCK, 0, stream>>>(
        s->tags, s->lists, a->axes, count_of(a), level, rank_bits, (uint64_t *)s->keys, s->ids);
    KD_CUDA_LAUNCHED("gather_tags_and_ranks");
    KD_TRY(sort_pairs<uint64_t>(s->cub, &cub_bytes, s->keys, s->keys_sorted, s->ids, s->ids_sorted,
                                count_of(a), rank_bits + (int)level + 1, stream));
    drop_ranks<<<blocks, BLOCK, 0, stream>>>((const uint64_t *)s->keys_sorted, count_of(a),
                                             rank_bits, (uint32_t *)s->keys);
    KD_CUDA_LAUNCHED("drop_ranks");
    return KD_OK;
}

template <typename real, typename key> kd_status build(const point_build_cuda *a) {
    cudaStream_t stream = (cudaStream_t)a->stream;
    const unsigned blocks = cuda_blocks(count_of(a), BLOCK);
    const bool widest = a->split == POINTTREE_WIDEST;
    cuda_arena arena = {(char *)a->scratch, 0};
    wald_scratch s;
    KD_TRY(lay_out(&s, &arena, a));
    KD_TRY(point_build_cuda_check(a, arena.used));
    KD_TRY((presort<real, key>(&s, a, stream)));
    KD_CUDA(cudaMemsetAsync(s.tags, 0, a->points.count * sizeof(uint32_t), stream));
    const uint32_t last = pointtree_levels(count_of(a)) - 1;
    for (uint32_t level = 0; level < last; ++level) {
        KD_TRY(widest ? sort_level_widest<real>(&s, a, level, stream)
                      : sort_level(&s, a, level, stream));
        const uint32_t *tags = (const uint32_t *)(widest ? s.keys : s.keys_sorted);
        update_tags<<<blocks, BLOCK, 0, stream>>>(tags, s.ids_sorted, count_of(a), level, s.tags,
                                                  a->ids);
        KD_CUDA_LAUNCHED("update_tags");
    }
    place_last_level<<<blocks, BLOCK, 0, stream>>>(s.tags, count_of(a), last, a->ids);
    KD_CUDA_LAUNCHED("place_last_level");
    if (!widest) return KD_OK;
    return widest::choose_level<real>(widest_tree<real>(&s, a), last, stream);
}
} // namespace

static kd_status build_wald_cuda_scratch_bytes(size_t *bytes, const point_build_cuda *a) {
    cuda_arena counted = {NULL, 0};
    wald_scratch s;
    KD_TRY(point_build_cuda_check(a, 0));
    KD_TRY(lay_out(&s, &counted, a));
    *bytes = counted.used;
    return KD_OK;
}

static kd_status build_wald_cuda(const point_build_cuda *a) {
    KD_TRY(point_build_cuda_check(a, 0));
    if (count_of(a) == 0) return KD_OK;
    return a->points.scalar == POINT_DOUBLE ? build<double, uint64_t>(a)
                                            : build<float, uint32_t>(a);
}

extern "C" {
extern const point_builder_cuda point_builder_cuda_wald;
const point_builder_cuda point_builder_cuda_wald = {"wald", build_wald_cuda_scratch_bytes,
                                                    build_wald_cuda, false, false};
}
