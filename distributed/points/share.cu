/* Operations on a share in device memory.
   Idea: counting uses a grid-stride loop over the points, with bins in shared memory if they fit;
         dividing is a stable sort of the indices by the few bits of a part's number, followed by a
         single move.
   Work: one pass over the points for each round of counting; 24 bytes per point to sort, 28 to
         move.
   Memory: 16 bytes per point while they are divided, in addition to the copy.
   Data flow: scan_slice, one thread per several points: points -> their box. For each round of
              counting count_bins, likewise: points, planes so far -> bins of brackets. Then
              find_targets: points, planes -> the number of each point's part; a sort of these;
              find_begins: sorted numbers -> the range of each part; move_points: points in that
              order. Each launch waits for the previous one. */
#include "core/device/cuda.h"
#include "core/device/device_memory.h"
#include "core/device/device_sort.cuh"
#include "core/device/device_stream.h"
#include "core/memory.h"
#include "distributed/points/share.h"
#include <math.h>

namespace {
typedef unsigned long long word;
constexpr int BLOCK = 256, BLOCKS_MAX = 1024;
constexpr uint32_t SHARED_BRACKETS = 4; /* number of brackets whose bins fit into shared memory: 32
                                           KB */

int blocks_for(uint64_t count) {
    const uint64_t blocks = (count + BLOCK - 1) / BLOCK;
    return blocks < 1 ? 1 : blocks < BLOCKS_MAX ? (int)blocks : BLOCKS_MAX;
}

kd_status upload(device_guard *guard, const void *from, uint64_t bytes) {
    KD_TRY(guard->take(bytes));
    return device_copy(guard->memory, from, bytes, NULL);
}

/* --- the bounding box ----------------------------------------------------------------------- */

/* Order-preserving integers; upper sides are complemented, so that all are minima. */
struct scan_box {
    word lo[POINT_DIMS_MAX], not_hi[POINT_DIMS_MAX], bad;
};

__global__ void scan_slice(point_array points, scan_box *out) {
    const uint64_t step = (uint64_t)gridDim.x * BLOCK;
    for (uint32_t axis = 0; axis < points.dims; ++axis) {
        word lo = ~0ull, not_hi = ~0ull, bad = ~0ull;
        for (uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; i < points.count; i += step) {
            const double x = point_array_coordinate(&points, i, axis);
            const word key = pointtree_order_bits_double(x);
            if (!isfinite(x) && i < bad) bad = i;
            lo = key < lo ? key : lo;
            not_hi = ~key < not_hi ? ~key : not_hi;
        }
        if (lo < out->lo[axis]) atomicMin(&out->lo[axis], lo);
        if (not_hi < out->not_hi[axis]) atomicMin(&out->not_hi[axis], not_hi);
        if (bad != ~0ull) atomicMin(&out->bad, bad);
    }
}

double coordinate_of(word key) {
    const word raw = key >> 63 ? key & ~(1ull << 63) : ~key;
    double x;
    memcpy(&x, &raw, sizeof x);
    return x;
}

/* --- counting ------------------------------------------------------------------------------- */

template <bool SHARED>
__global__ void count_bins(point_share share, const top_node *nodes, const uint32_t *slots,
                           const top_bracket *brackets, uint32_t bracket_count, word *bins) {
    __shared__ uint32_t block_bins[SHARED ? SHARED_BRACKETS * TOP_BINS : 1];
    const uint32_t all = bracket_count * TOP_BINS;
    if (SHARED) {
        for (uint32_t b = threadIdx.x; b < all; b += BLOCK) block_bins[b] = 0;
        __syncthreads();
    }
    const uint64_t step = (uint64_t)gridDim.x * BLOCK;
    const point_scalar scalar = share.points.scalar;
    for (uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; i < share.points.count;
         i += step) {
        const void *point = point_array_at(&share.points, i);
        const uint32_t slot = slots[top_descend(nodes, point, scalar, share.first + i)];
        if (slot == 0xffffffffu) continue;
        const uint32_t bin = top_bin(&brackets[slot], point, scalar, share.first + i);
        if (bin >= TOP_BINS) continue;
        if (SHARED)
            atomicAdd(&block_bins[slot * TOP_BINS + bin], 1u);
        else
            atomicAdd(&bins[(uint64_t)slot * TOP_BINS + bin], (word)1);
    }
    if (!SHARED) return;
    __syncthreads();
    for (uint32_t b = threadIdx.x; b < all; b += BLOCK)
        if (block_bins[b]) atomicAdd(&bins[b], (word)block_bins[b]);
}

/* --- dividing ------------------------------------------------------------------------------- */

__global__ void find_targets(point_share share, const top_node *nodes, uint32_t *targets,
                             uint32_t *indices) {
    const uint64_t step = (uint64_t)gridDim.x * BLOCK;
    for (uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; i < share.points.count;
         i += step) {
        const uint32_t node = top_descend(nodes, point_array_at(&share.points, i),
                                          share.points.scalar, share.first + i);
        targets[i] = nodes[node].first;
        indices[i] = (uint32_t)i;
    }
}

/* Finds the range of each part among the sorted points: parts + 1 positions. */
__global__ void find_begins(const uint32_t *sorted, uint64_t count, uint32_t parts, word *begins) {
    const uint64_t step = (uint64_t)gridDim.x * BLOCK;
    for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at <= count; at += step) {
        const uint32_t next = at < count ? sorted[at] : parts;
        for (uint32_t p = at ? sorted[at - 1] + 1 : 0; p <= next; ++p) begins[p] = at;
    }
}

__global__ void move_points(point_share share, const uint32_t *indices, void *coordinates,
                            void *numbers) {
    const uint64_t step = (uint64_t)gridDim.x * BLOCK;
    const uint32_t dims = share.points.dims;
    for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at < share.points.count;
         at += step) {
        const uint32_t i = indices[at];
        const void *point = point_array_at(&share.points, i);
        for (uint32_t axis = 0; axis < dims; ++axis) {
            if (share.points.scalar == POINT_DOUBLE)
                ((double *)coordinates)[at * dims + axis] = ((const double *)point)[axis];
            else
                ((float *)coordinates)[at * dims + axis] = ((const float *)point)[axis];
        }
        if (share.wide)
            ((uint64_t *)numbers)[at] = share.first + i;
        else
            ((uint32_t *)numbers)[at] = (uint32_t)(share.first + i);
    }
}

struct divide_scratch {
    device_guard nodes, begins, targets, indices, sorted_targets, sorted, scratch;
};

kd_status sort_targets(divide_scratch *split_scratch, uint64_t count, uint32_t parts) {
    size_t bytes = 0;
    int bits = 1;
    while (bits < 32 && (1u << bits) < parts) ++bits;
    for (int turn = 0; turn < 2; ++turn) {
        if (turn) KD_TRY(split_scratch->scratch.take(bytes));
        KD_TRY(device_sort_pairs(
            split_scratch->scratch.memory, &bytes, (const uint32_t *)split_scratch->targets.memory,
            (uint32_t *)split_scratch->sorted_targets.memory,
            (const uint32_t *)split_scratch->indices.memory,
            (uint32_t *)split_scratch->sorted.memory, (uint32_t)count, bits, (cudaStream_t)NULL));
    }
    return KD_OK;
}

kd_status divide(share_split *out, divide_scratch *split_scratch, const point_share *share,
                 const top_node *nodes, uint32_t node_count, uint32_t parts) {
    const uint64_t count = share->points.count, some = count ? count : 1;
    const int blocks = blocks_for(count);
    KD_TRY(upload(&split_scratch->nodes, nodes, node_count * sizeof *nodes));
    KD_TRY(split_scratch->begins.take((parts + 1ull) * sizeof(word)));
    KD_TRY(split_scratch->targets.take(some * sizeof(uint32_t)));
    KD_TRY(split_scratch->indices.take(some * sizeof(uint32_t)));
    KD_TRY(split_scratch->sorted_targets.take(some * sizeof(uint32_t)));
    KD_TRY(split_scratch->sorted.take(some * sizeof(uint32_t)));
    KD_TRY(device_memory_reserve(&out->coordinates, some * share->points.dims *
                                                        point_scalar_bytes(share->points.scalar)));
    KD_TRY(device_memory_reserve(&out->numbers, some * share_number_bytes(share->wide)));
    find_targets<<<blocks, BLOCK>>>(*share, (const top_node *)split_scratch->nodes.memory,
                                    (uint32_t *)split_scratch->targets.memory,
                                    (uint32_t *)split_scratch->indices.memory);
    KD_CUDA_LAUNCHED("find_targets");
    if (count) KD_TRY(sort_targets(split_scratch, count, parts));
    find_begins<<<blocks, BLOCK>>>((const uint32_t *)split_scratch->sorted_targets.memory, count,
                                   parts, (word *)split_scratch->begins.memory);
    KD_CUDA_LAUNCHED("find_begins");
    move_points<<<blocks, BLOCK>>>(*share, (const uint32_t *)split_scratch->sorted.memory,
                                   out->coordinates, out->numbers);
    KD_CUDA_LAUNCHED("move_points");
    KD_TRY(device_copy(out->begins, split_scratch->begins.memory, (parts + 1ull) * sizeof(word),
                       NULL));
    KD_TRY(device_stream_wait(NULL));
    return KD_OK;
}
} // namespace

#ifdef KD_CUDA_EMULATED
kd_status share_device_reach(int32_t) { /* a single device */
    return KD_OK;
}
#else
namespace {
/* Memory pools have separate access rights: cudaDeviceEnablePeerAccess covers only memory from
   cudaMalloc. */
kd_status reach_pool(int now, int other) {
    cudaMemPool_t pool;
    cudaMemAccessDesc right;
    memset(&right, 0, sizeof right);
    right.location.type = cudaMemLocationTypeDevice;
    right.location.id = now;
    right.flags = cudaMemAccessFlagsProtReadWrite;
    KD_CUDA(cudaDeviceGetDefaultMemPool(&pool, other));
    KD_CUDA(cudaMemPoolSetAccess(pool, &right, 1));
    return KD_OK;
}
} // namespace

kd_status share_device_reach(int32_t other) {
    int now = 0, can = 0;
    KD_CUDA(cudaGetDevice(&now));
    if (now == other) return KD_OK;
    KD_CUDA(cudaDeviceCanAccessPeer(&can, now, other));
    if (!can) return KD_OK;
    const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled)
        cudaGetLastError();
    else
        KD_CUDA(error);
    return reach_pool(now, other);
}
#endif

kd_status share_device_scan(point_box *box, const point_array *points) {
    device_guard split_scratch;
    scan_box scan;
    *box = point_box_empty();
    memset(&scan, 0xff, sizeof scan);
    KD_TRY(upload(&split_scratch, &scan, sizeof scan));
    scan_slice<<<blocks_for(points->count), BLOCK>>>(*points, (scan_box *)split_scratch.memory);
    KD_CUDA_LAUNCHED("scan_slice");
    KD_TRY(device_copy(&scan, split_scratch.memory, sizeof scan, NULL));
    KD_TRY(device_stream_wait(NULL));
    KD_REQUIRE(scan.bad == ~0ull, KD_ERROR_INPUT,
               "point %llu of a device's part has a coordinate that is not finite; coordinates "
               "must be finite",
               (unsigned long long)scan.bad);
    for (uint32_t axis = 0; points->count && axis < points->dims; ++axis) {
        point_box_include(box, axis, coordinate_of(scan.lo[axis]));
        point_box_include(box, axis, coordinate_of(~scan.not_hi[axis]));
    }
    return KD_OK;
}

kd_status share_device_count(const point_share *share, const top_node *nodes, uint32_t node_count,
                             const uint32_t *slots, const top_bracket *brackets,
                             uint32_t bracket_count, int64_t *bins) {
    device_guard on_nodes, on_slots, on_brackets, on_bins;
    const uint64_t bytes = (uint64_t)bracket_count * TOP_BINS * sizeof(word);
    const int blocks = blocks_for(share->points.count);
    KD_TRY(upload(&on_nodes, nodes, node_count * sizeof *nodes));
    KD_TRY(upload(&on_slots, slots, node_count * sizeof *slots));
    KD_TRY(upload(&on_brackets, brackets, bracket_count * sizeof *brackets));
    KD_TRY(on_bins.take(bytes));
    KD_CUDA(cudaMemsetAsync(on_bins.memory, 0, bytes, (cudaStream_t)NULL));
    if (bracket_count <= SHARED_BRACKETS)
        count_bins<true><<<blocks, BLOCK>>>(
            *share, (const top_node *)on_nodes.memory, (const uint32_t *)on_slots.memory,
            (const top_bracket *)on_brackets.memory, bracket_count, (word *)on_bins.memory);
    else
        count_bins<false><<<blocks, BLOCK>>>(
            *share, (const top_node *)on_nodes.memory, (const uint32_t *)on_slots.memory,
            (const top_bracket *)on_brackets.memory, bracket_count, (word *)on_bins.memory);
    KD_CUDA_LAUNCHED("count_bins");
    KD_TRY(device_copy(bins, on_bins.memory, bytes, NULL));
    return device_stream_wait(NULL);
}

kd_status share_device_divide(share_split *out, const point_share *share, const top_node *nodes,
                              uint32_t node_count, uint32_t parts) {
    divide_scratch split_scratch;
    memset(out, 0, sizeof *out);
    kd_status status = KD_RESERVE(out->begins, parts + 1ull);
    if (status == KD_OK) status = divide(out, &split_scratch, share, nodes, node_count, parts);
    if (status == KD_OK) return KD_OK;
    device_memory_free(out->coordinates);
    device_memory_free(out->numbers);
    memory_free(out->begins);
    memset(out, 0, sizeof *out);
    return status;
}
