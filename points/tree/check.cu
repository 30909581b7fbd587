/* The invariants of check.h on a CUDA device.
   Idea: one bit per point records whether its id has occurred. Then each node walks up to the root:
         it must lie on the correct side of each ancestor in the tree's total order, and its axis
         must be the widest side of its region, which the ancestors' planes clip. Independent of the
         builder.
   Source: Robinson's verifier on GPUs, which is breadth-first as well.
   Work: O(n log n).
   Memory: one bit per point.
   Data flow: check_ids, one thread per node: ids -> bits of the ids that occurred, the first
              invalid node by atomicMin; after the host has read it, check_order, one thread per
              node: ids, axes, points -> the first invalid node. */
#include "core/device/cuda.h"
#include "core/device/device_memory.h"
#include "points/tree/check_device.h"

namespace {
constexpr int BLOCK = 256;
typedef unsigned long long word;

struct checked_tree {
    point_array points;
    const uint32_t *ids;
    const uint8_t *axes;
    uint32_t count;
    pointtree_order order;
    double cells;
    point_box box;
};

/* Records the first invalid node, with the number of the invariant in the two lowest bits; all
   ones if there is none. */
__device__ void report(word *bad, uint32_t node, word invariant) {
    atomicMin(bad, (word)node << 2 | invariant);
}

__global__ __launch_bounds__(BLOCK) void check_ids(checked_tree t, uint32_t *seen, word *bad) {
    const uint32_t node = blockIdx.x * BLOCK + threadIdx.x;
    if (node >= t.count) return;
    const uint32_t id = t.ids[node], bit = 1u << (id & 31);
    const bool wrong = id >= t.points.count || (t.axes && t.axes[node] >= t.points.dims) ||
                       (atomicOr(&seen[id >> 5], bit) & bit);
    if (wrong) report(bad, node, 1);
}

__device__ uint32_t axis_of(const checked_tree &t, uint32_t node) {
    return t.axes ? t.axes[node] : pointtree_level_of(node) % t.points.dims;
}

/* Compares only the coordinates (or cells): returns -1, 0 or 1 if point `a` is before, equal to or
   after point `b`. */
__device__ int compare_on(const checked_tree &t, uint32_t a, uint32_t b, uint32_t axis) {
    double x = point_array_coordinate(&t.points, a, axis);
    double y = point_array_coordinate(&t.points, b, axis);
    if (t.order == POINTTREE_BY_CELL) {
        x = pointtree_cell(x, t.cells);
        y = pointtree_cell(y, t.cells);
    }
    return (x > y) - (x < y);
}

/* Returns whether point `a` comes after `b`, the point of `node`, in the tree's total order on
   the node's axis. */
__device__ bool is_behind(const checked_tree &t, uint32_t a, uint32_t b, uint32_t node) {
    const uint32_t axis = axis_of(t, node);
    int side = compare_on(t, a, b, axis);
    for (uint32_t i = 1; t.order == POINTTREE_BY_SUPER_KEY && !side && i < t.points.dims; ++i)
        side = compare_on(t, a, b, (axis + i) % t.points.dims);
    for (uint32_t above = node; t.order == POINTTREE_BY_CELL && !side && above > 0;) {
        above = (above - 1) / 2;
        side = compare_on(t, a, b, axis_of(t, above));
    }
    return side ? side > 0 : a > b;
}

__global__ __launch_bounds__(BLOCK) void check_order(checked_tree t, word *bad) {
    const uint32_t node = blockIdx.x * BLOCK + threadIdx.x;
    if (node >= t.count) return;
    const uint32_t id = t.ids[node];
    point_box domain = t.box;
    for (uint32_t child = node; child > 0;) {
        const uint32_t parent = (child - 1) / 2, above = t.ids[parent];
        const bool right = !(child & 1);
        if (is_behind(t, id, above, parent) != right) {
            report(bad, node, 2);
            return;
        }
        if (t.axes) {
            const uint32_t axis = t.axes[parent];
            point_box_clip(&domain, axis, point_array_coordinate(&t.points, above, axis), right);
        }
        child = parent;
    }
    if (t.axes && t.axes[node] != point_box_widest(&domain, t.points.dims, t.points.scalar))
        report(bad, node, 3);
}

/* `memory` holds the word for the first invalid node, followed by one bit per point. */
kd_status run_checks(const checked_tree &t, void *memory, size_t bytes, cudaStream_t stream) {
    word *first = (word *)memory, value = 0;
    KD_CUDA(cudaMemsetAsync(memory, 0, bytes, stream));
    KD_CUDA(cudaMemsetAsync(first, 0xff, sizeof *first, stream));
    check_ids<<<cuda_blocks(t.count, BLOCK), BLOCK, 0, stream>>>(t, (uint32_t *)(first + 1), first);
    KD_CUDA_LAUNCHED("check_ids");
    KD_CUDA(cudaMemcpyAsync(&value, first, sizeof value, cudaMemcpyDeviceToHost, stream));
    KD_CUDA(cudaStreamSynchronize(stream));
    KD_REQUIRE(value == ~0ull, KD_ERROR_CHECK,
               "P1: node %llu has an invalid axis, or a point id that is invalid or occurs twice",
               value >> 2);
    check_order<<<cuda_blocks(t.count, BLOCK), BLOCK, 0, stream>>>(t, first);
    KD_CUDA_LAUNCHED("check_order");
    KD_CUDA(cudaMemcpyAsync(&value, first, sizeof value, cudaMemcpyDeviceToHost, stream));
    KD_CUDA(cudaStreamSynchronize(stream));
    KD_REQUIRE(value == ~0ull || (value & 3) != 2, KD_ERROR_CHECK,
               "P2: node %llu is on the wrong side of an ancestor", value >> 2);
    KD_REQUIRE(value == ~0ull, KD_ERROR_CHECK,
               "P3: node %llu splits an axis that is not the widest side of its domain",
               value >> 2);
    return KD_OK;
}
} // namespace

extern "C" kd_status point_check_cuda(const point_build_cuda *a, uint64_t count,
                                      pointtree_order order, const point_box *box) {
    KD_TRY(point_build_cuda_check(a, 0));
    KD_REQUIRE(count == a->points.count || (a->unique && count && count < a->points.count),
               KD_ERROR_CHECK, "P1: the tree has %llu nodes, but the input has %llu points",
               (unsigned long long)count, (unsigned long long)a->points.count);
    if (count == 0) return KD_OK;
    checked_tree t = {a->points, a->ids, a->axes, (uint32_t)count, order, a->cells, *box};
    void *memory = NULL;
    const size_t bytes = sizeof(word) + (size_t)(a->points.count / 32 + 1) * sizeof(uint32_t);
    KD_TRY(device_memory_reserve(&memory, bytes));
    const kd_status status = run_checks(t, memory, bytes, (cudaStream_t)a->stream);
    device_memory_free(memory);
    return status;
}
