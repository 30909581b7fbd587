/* Merges the rows of several trees.
   Idea: one thread per row. For the nearest, a forward pass finds how many elements of each row are
         among the first k, and a backward pass stores them in place, so that no row has to be
         copied; most rows of a small tree are empty and cost one load.
   Data flow: rows of the first tree, rows of the next -> merge_nearest, in place, once per tree; or
              rows of all trees -> merge_within, once. */
#include "core/device/cuda.h"
#include "points/api/device_kernels.h"

namespace {
constexpr int BLOCK = 128;

template <typename real>
__global__ void merge_nearest(dynamic_rows first, dynamic_rows second, uint64_t count, uint32_t k) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count) return;
    const uint32_t first_count = first.counts[i], second_count = second.counts[i];
    if (second_count == 0) return;
    real *const first_dist2 = (real *)first.dist2 + i * k;
    const real *const second_dist2 = (const real *)second.dist2 + i * k;
    uint32_t *const ids = first.ids ? first.ids + i * k : NULL;
    const uint32_t *const more = second.ids + i * k;
    uint32_t a = 0, b = 0;
    while (a + b < k && (a < first_count || b < second_count))
        if (b == second_count || (a < first_count && !(second_dist2[b] < first_dist2[a])))
            ++a;
        else
            ++b;
    first.counts[i] = a + b;
    while (b > 0) {
        const uint32_t place = a + b - 1;
        const bool from_mine = a > 0 && second_dist2[b - 1] < first_dist2[a - 1];
        from_mine ? --a : --b;
        first_dist2[place] = from_mine ? first_dist2[a] : second_dist2[b];
        if (ids) ids[place] = from_mine ? ids[a] : more[b];
    }
}

struct all_rows {
    dynamic_rows rows[DYNAMIC_LAYERS_MAX];
    int layers;
};

template <typename real>
__global__ void merge_within(dynamic_rows out, const __grid_constant__ all_rows rows,
                             uint64_t count) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count) return;
    uint64_t at[DYNAMIC_LAYERS_MAX];
    for (int l = 0; l < rows.layers; ++l) at[l] = rows.rows[l].offsets[i];
    for (uint64_t made = out.offsets[i]; made < out.offsets[i + 1]; ++made) {
        int minimum = -1;
        real min_dist2 = 0;
        for (int l = 0; l < rows.layers; ++l) {
            if (at[l] == rows.rows[l].offsets[i + 1]) continue;
            const real dist2 = ((const real *)rows.rows[l].dist2)[at[l]];
            if (minimum >= 0 && !(dist2 < min_dist2)) continue;
            minimum = l;
            min_dist2 = dist2;
        }
        if (minimum < 0) return;
        if (out.ids) out.ids[made] = rows.rows[minimum].ids[at[minimum]];
        if (out.dist2) ((real *)out.dist2)[made] = min_dist2;
        ++at[minimum];
    }
}

__global__ void add_offsets(uint64_t *sums, const uint64_t *more, uint64_t count) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) sums[i] += more[i];
}
} // namespace

extern "C" kd_status dynamic_merge_nearest(const dynamic_rows *first, const dynamic_rows *second,
                                           uint64_t count, uint32_t k, point_scalar scalar,
                                           void *stream) {
    if (count == 0) return KD_OK;
    (scalar == POINT_DOUBLE
         ? merge_nearest<double>
         : merge_nearest<float>)<<<cuda_blocks(count, BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(
        *first, *second, count, k);
    KD_CUDA_LAUNCHED("merge_nearest");
    return KD_OK;
}

extern "C" kd_status dynamic_add_offsets(uint64_t *sums, const uint64_t *more, uint64_t count,
                                         void *stream) {
    add_offsets<<<cuda_blocks(count, BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(sums, more, count);
    KD_CUDA_LAUNCHED("add_offsets");
    return KD_OK;
}

extern "C" kd_status dynamic_merge_within(const dynamic_rows *out, const dynamic_rows *rows,
                                          int layers, uint64_t count, point_scalar scalar,
                                          void *stream) {
    all_rows all = {};
    if (count == 0) return KD_OK;
    for (int l = 0; l < layers; ++l) all.rows[l] = rows[l];
    all.layers = layers;
    (scalar == POINT_DOUBLE
         ? merge_within<double>
         : merge_within<float>)<<<cuda_blocks(count, BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(
        *out, all, count);
    KD_CUDA_LAUNCHED("merge_within");
    return KD_OK;
}
