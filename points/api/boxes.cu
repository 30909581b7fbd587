/* Box queries on a CUDA device.
   Idea: one thread per box, with the walk of points/tree/walk_box.h.
   Work: that of the walk; the ids of a box are sorted in place.
   Data flow: count_boxes, one thread per box: tree, boxes -> counts; a scan computes the offsets;
              fill_boxes, the same walk: -> ids of each row from its offset on. */
#include "core/device/cuda.h"
#include "core/device/device_sort.cuh"
#include "core/device/device_stream.h"
#include "points/api/device_kernels.h"
#include "points/tree/walk_box.h"

namespace {
constexpr int BLOCK = 128;

__global__ __launch_bounds__(BLOCK) void count_boxes(pointtree_nd_view tree, point_boxes boxes,
                                                     uint64_t *counts) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i < boxes.lo.count)
        counts[i] = pointtree_box_ids(&tree, point_array_at(&boxes.lo, i),
                                      point_array_at(&boxes.hi, i), 0, NULL);
}

__global__ __launch_bounds__(BLOCK) void fill_boxes(pointtree_nd_view tree, point_boxes boxes,
                                                    const uint64_t *offsets,
                                                    const uint32_t *renamed, uint32_t *ids) {
    const uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= boxes.lo.count) return;
    uint32_t *row = ids + offsets[i];
    const uint32_t count = (uint32_t)(offsets[i + 1] - offsets[i]);
    pointtree_box_ids(&tree, point_array_at(&boxes.lo, i), point_array_at(&boxes.hi, i), count,
                      row);
    box_ids_sort(row, count);
    for (uint32_t j = 0; renamed && j < count; ++j) row[j] = renamed[row[j]];
}
} // namespace

extern "C" kd_status points_device_count_boxes(const pointtree_nd_view *tree,
                                               const point_boxes *boxes, uint64_t *offsets,
                                               void *stream) {
    const cudaStream_t s = (cudaStream_t)stream;
    const uint64_t count = boxes->lo.count;
    void *scratch = NULL;
    size_t bytes = 0;
    KD_CUDA(cudaMemsetAsync(offsets + count, 0, sizeof *offsets, s));
    if (count == 0) return KD_OK;
    count_boxes<<<cuda_blocks(count, BLOCK), BLOCK, 0, s>>>(*tree, *boxes, offsets);
    KD_CUDA_LAUNCHED("count_boxes");
    KD_TRY(device_prefix_sum(NULL, &bytes, offsets, count + 1, s));
    KD_TRY(device_pool_reserve(&scratch, bytes, stream));
    const kd_status status = device_prefix_sum(scratch, &bytes, offsets, count + 1, s);
    device_pool_release(scratch, stream);
    return status;
}

extern "C" kd_status points_device_fill_boxes(const pointtree_nd_view *tree,
                                              const point_boxes *boxes, const uint64_t *offsets,
                                              const uint32_t *renamed, uint32_t *ids,
                                              void *stream) {
    if (boxes->lo.count == 0) return KD_OK;
    fill_boxes<<<cuda_blocks(boxes->lo.count, BLOCK), BLOCK, 0, (cudaStream_t)stream>>>(
        *tree, *boxes, offsets, renamed, ids);
    KD_CUDA_LAUNCHED("fill_boxes");
    return KD_OK;
}
