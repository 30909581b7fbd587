/* Insertion and removal of points on a CUDA device.
   Idea: an id is searched in the sorted list only if the filter bit of its low 22 bits is set: few
         ids are removed at a time, so most points cost one load from half a megabyte that stays in
         the cache. A removed point becomes NaN in the leaves, where no search finds it; boxes stay
         as they are, correct but slightly too large. Positions in the input of the next tree are
         ranks among the remaining points.
   Work: one pass over the ids of the points, and one over those of the leaves.
   Memory: one bit per point for those removed earlier, and one for those removed now.
   Data flow: ids -> sorted, filter (fill_filter); one warp per 32 points: filter, sorted ->
              matched, a word of hits (mark_points) -> list_missing, one thread per id; hits ->
              tombstones (add_hits), one thread per word -> points of leaves (empty_leaves), one
              thread per point; tombstones -> ranks (count_live, a scan) -> gather_points, one
              thread per node. */
#include "core/device/cuda.h"
#include "core/device/device_sort.cuh"
#include "core/device/device_stream.h"
#include "points/api/device_kernels.h"

namespace {
constexpr int BLOCK = 256;

__device__ bool bit_of(const uint32_t *bits, uint32_t at) {
    return bits[at / 32] >> at % 32 & 1;
}

__global__ void fill_filter(const uint32_t *ids, uint32_t count, uint32_t *filter) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count) return;
    const uint32_t bit = ids[i] % DYNAMIC_FILTER_BITS;
    atomicOr(&filter[bit / 32], 1u << bit % 32);
}

/* Returns the index of an id in the sorted list, the first of equal ones, or the count if it is
   absent. */
__device__ uint32_t find_id(const dynamic_ids &ids, uint32_t id) {
    uint32_t first = 0, last = ids.count;
    while (first < last) {
        const uint32_t middle = first + (last - first) / 2;
        if (ids.sorted[middle] < id)
            first = middle + 1;
        else
            last = middle;
    }
    return first < ids.count && ids.sorted[first] == id ? first : ids.count;
}

__global__ void mark_points(const __grid_constant__ dynamic_layer layer, uint32_t count,
                            const __grid_constant__ dynamic_ids ids, uint32_t *hit_count) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    bool goes = false;
    if (i < count && !(layer.tombstones && bit_of(layer.tombstones, i))) {
        const uint32_t id = layer.renamed ? layer.renamed[i] : i;
        if (bit_of(ids.filter, id % DYNAMIC_FILTER_BITS)) {
            const uint32_t place = find_id(ids, id);
            goes = place < ids.count;
            if (goes) ids.matched[place] = 1; /* other threads write the same value */
        }
    }
    const unsigned word = __ballot_sync(0xffffffffu, goes);
    if (threadIdx.x % 32 || i >= count) return;
    layer.hits[i / 32] = word;
    if (word) atomicAdd(hit_count, __popc(word));
}

__global__ void list_missing(const __grid_constant__ dynamic_ids ids,
                             dynamic_found *dynamic_found) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= ids.count || ids.matched[i] || (i && ids.sorted[i] == ids.sorted[i - 1])) return;
    atomicAdd(&dynamic_found->missing, 1u);
    atomicMin(&dynamic_found->min_missing, ids.sorted[i]);
}

__global__ void add_hits(uint32_t *tombstones, const uint32_t *hits, uint32_t words) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < words) tombstones[i] |= hits[i];
}

__global__ void empty_leaves(float4 *points, uint32_t count, const uint32_t *hits) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count && bit_of(hits, __float_as_uint(points[i].w))) points[i].x = NAN;
}

__global__ void count_live(const uint32_t *tombstones, uint32_t words, uint32_t *live) {
    const uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < words) live[i] = __popc(~tombstones[i]);
}

/* A point has `words` words of four bytes. */
__global__ void gather_points(const __grid_constant__ dynamic_layer layer,
                              const __grid_constant__ pointtree_nd_view tree, const uint32_t *ranks,
                              uint64_t first, uint32_t words, uint32_t *coordinates,
                              uint32_t *ids) {
    const uint32_t node = blockIdx.x * BLOCK + threadIdx.x;
    if (node >= tree.count) return;
    const uint32_t index = tree.ids[node], bit = index % 32;
    uint32_t rank = index;
    if (ranks) {
        if (bit_of(layer.tombstones, index)) return;
        rank = ranks[index / 32] + __popc(~layer.tombstones[index / 32] & ((1u << bit) - 1));
    }
    const uint64_t place = first + rank;
    const uint32_t *from = (const uint32_t *)tree.coordinates + (uint64_t)node * words;
    for (uint32_t w = 0; w < words; ++w) coordinates[place * words + w] = from[w];
    ids[place] = layer.renamed ? layer.renamed[index] : index;
}

__global__ void number_points(uint32_t *ids, uint64_t count, uint32_t first) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) ids[i] = first + (uint32_t)i;
}

__global__ void pack_points(uint32_t *to, const uint32_t *from, uint64_t stride, uint64_t words,
                            uint64_t count) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < count * words) to[i] = from[i / words * stride + i % words];
}

/* Computes, for each word of `tombstones`, the rank of its first point among the remaining ones. */
kd_status rank_words(uint32_t *ranks, const uint32_t *tombstones, uint32_t words,
                     cudaStream_t stream) {
    size_t bytes = 0;
    void *scratch = NULL;
    count_live<<<cuda_blocks(words, BLOCK), BLOCK, 0, stream>>>(tombstones, words, ranks);
    KD_CUDA_LAUNCHED("count_live");
    KD_TRY(device_prefix_sum(NULL, &bytes, ranks, words, stream));
    KD_TRY(device_pool_reserve(&scratch, bytes, stream));
    const kd_status status = device_prefix_sum(scratch, &bytes, ranks, words, stream);
    device_pool_release(scratch, stream);
    return status;
}
} // namespace

extern "C" kd_status dynamic_ids_open(const dynamic_ids *ids, const uint32_t *new_ids,
                                      void *stream) {
    const cudaStream_t s = (cudaStream_t)stream;
    size_t bytes = 0;
    void *scratch = NULL;
    KD_CUDA(cudaMemsetAsync(ids->filter, 0, DYNAMIC_FILTER_BITS / 8, s));
    KD_CUDA(cudaMemsetAsync(ids->matched, 0, ids->count * sizeof *ids->matched, s));
    fill_filter<<<cuda_blocks(ids->count, BLOCK), BLOCK, 0, s>>>(new_ids, ids->count, ids->filter);
    KD_CUDA_LAUNCHED("fill_filter");
    KD_TRY(device_sort_keys(NULL, &bytes, new_ids, ids->sorted, ids->count, 32, s));
    KD_TRY(device_pool_reserve(&scratch, bytes, stream));
    const kd_status status =
        device_sort_keys(scratch, &bytes, new_ids, ids->sorted, ids->count, 32, s);
    device_pool_release(scratch, stream);
    return status;
}

extern "C" kd_status dynamic_mark(const dynamic_layer *layer, const dynamic_ids *ids,
                                  uint32_t *hit_count, void *stream) {
    const uint32_t count = layer->tree->tree.count;
    if (count == 0) return KD_OK;
    mark_points<<<cuda_blocks(count, BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(*layer, count, *ids,
                                                                               hit_count);
    KD_CUDA_LAUNCHED("mark_points");
    return KD_OK;
}

extern "C" kd_status dynamic_marks_read(dynamic_found *out, dynamic_found *dynamic,
                                        const dynamic_ids *ids, void *stream) {
    list_missing<<<cuda_blocks(ids->count, BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(*ids, dynamic);
    KD_CUDA_LAUNCHED("list_missing");
    KD_TRY(device_copy(out, dynamic, sizeof *out, stream));
    return device_stream_wait(stream);
}

extern "C" kd_status dynamic_set_tombstones(const dynamic_layer *layer, void *stream) {
    const cudaStream_t s = (cudaStream_t)stream;
    const uint32_t count = layer->tree->tree.count, words = (uint32_t)dynamic_words(count);
    if (count == 0) return KD_OK;
    add_hits<<<cuda_blocks(words, BLOCK), BLOCK, 0, s>>>(layer->tombstones, layer->hits, words);
    KD_CUDA_LAUNCHED("add_hits");
    if (!layer->tree->points) return KD_OK;
    empty_leaves<<<cuda_blocks(count, BLOCK), BLOCK, 0, s>>>((float4 *)layer->tree->points, count,
                                                             layer->hits);
    KD_CUDA_LAUNCHED("empty_leaves");
    return KD_OK;
}

extern "C" kd_status dynamic_gather(const dynamic_layer *layer, uint64_t first, void *coordinates,
                                    uint32_t *ids, void *stream) {
    const pointtree_nd_view tree = layer->tree->tree;
    const cudaStream_t s = (cudaStream_t)stream;
    const uint32_t words = (uint32_t)(tree.dims * point_scalar_bytes(tree.scalar) / 4);
    uint32_t *ranks = NULL;
    if (tree.count == 0) return KD_OK;
    if (layer->tombstones) {
        const uint64_t rows = dynamic_words(tree.count);
        KD_TRY(device_pool_reserve((void **)&ranks, rows * sizeof *ranks, stream));
        const kd_status ranked = rank_words(ranks, layer->tombstones, (uint32_t)rows, s);
        if (ranked != KD_OK) device_pool_release(ranks, stream);
        KD_TRY(ranked);
    }
    gather_points<<<cuda_blocks(tree.count, BLOCK), BLOCK, 0, s>>>(
        *layer, tree, ranks, first, words, (uint32_t *)coordinates, ids);
    const cudaError_t error = cudaPeekAtLastError();
    device_pool_release(ranks, stream);
    KD_CUDA(error);
    return KD_OK;
}

extern "C" kd_status dynamic_clear(void *memory, uint64_t bytes, void *stream) {
    KD_CUDA(cudaMemsetAsync(memory, 0, bytes, (cudaStream_t)stream));
    return KD_OK;
}

extern "C" kd_status dynamic_number(uint32_t *ids, uint64_t count, uint32_t first, void *stream) {
    if (count == 0) return KD_OK;
    number_points<<<cuda_blocks(count, BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(ids, count, first);
    KD_CUDA_LAUNCHED("number_points");
    return KD_OK;
}

extern "C" kd_status dynamic_pack(void *to, const point_array *points, void *stream) {
    const uint64_t words = points->dims * point_scalar_bytes(points->scalar) / 4;
    if (points->count == 0) return KD_OK;
    pack_points<<<cuda_blocks(points->count * words, BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(
        (uint32_t *)to, (const uint32_t *)points->coordinates, points->stride_bytes / 4, words,
        points->count);
    KD_CUDA_LAUNCHED("pack_points");
    return KD_OK;
}
