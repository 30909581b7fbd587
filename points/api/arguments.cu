/* Idea: a grid of a fixed size strides over the points; each block reduces its part to a box and
         the first bad place in shared memory, then joins them with the others' by atomics on
         integers of the same order.
   Work: one pass, bound by bandwidth.
   Memory: 144 bytes. */
#include "core/device/cuda.h"
#include "core/math/platform.h"
#include "points/api/arguments.h"
#include <math.h>

namespace {
typedef unsigned long long word;
constexpr int BLOCK = 256, BLOCKS_MOST = 2048;

struct scan_result {
    word lo[POINT_DIMS_MAX], hi[POINT_DIMS_MAX]; /* sortable bits */
    word bad;                                    /* first place, all ones: none */
};

/* Integers in the order of the numbers, -0 next to +0. */
__device__ word sortable(double x) {
    word bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

double number_of(word bits) {
    const word raw = bits >> 63 ? bits & ~(1ull << 63) : ~bits;
    double x;
    memcpy(&x, &raw, sizeof x);
    return x + 0.0;
}

__global__ void scan_points(point_array points, scan_result *out) {
    __shared__ scan_result part;
    if (threadIdx.x < POINT_DIMS_MAX) {
        part.lo[threadIdx.x] = ~0ull;
        part.hi[threadIdx.x] = 0;
    }
    if (threadIdx.x == 0) part.bad = ~0ull;
    __syncthreads();
    const uint64_t step = (uint64_t)gridDim.x * BLOCK;
    const uint64_t first = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    word bad = ~0ull;
    for (uint32_t axis = 0; axis < points.dims; ++axis) {
        word lo = ~0ull, hi = 0;
        for (uint64_t i = first; i < points.count; i += step) {
            const double x = point_array_coordinate(&points, i, axis);
            const word key = sortable(x + 0.0);
            if (!isfinite(x) && i < bad) bad = i;
            lo = key < lo ? key : lo;
            hi = key > hi ? key : hi;
        }
        if (first >= points.count) continue;
        atomicMin(&part.lo[axis], lo);
        atomicMax(&part.hi[axis], hi);
    }
    if (bad != ~0ull) atomicMin(&part.bad, bad);
    __syncthreads();
    if (threadIdx.x < points.dims) {
        atomicMin(&out->lo[threadIdx.x], part.lo[threadIdx.x]);
        atomicMax(&out->hi[threadIdx.x], part.hi[threadIdx.x]);
    }
    if (threadIdx.x == 0) atomicMin(&out->bad, part.bad);
}

__global__ void find_bad_radius(point_array radii, word *first) {
    const uint64_t step = (uint64_t)gridDim.x * BLOCK;
    for (uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; i < radii.count; i += step)
        if (!(point_array_coordinate(&radii, i, 0) >= 0)) atomicMin(first, (word)i);
}

__global__ void find_difference(const uint64_t *a, const uint64_t *b, uint64_t count, word *first) {
    const uint64_t step = (uint64_t)gridDim.x * BLOCK;
    for (uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; i < count; i += step)
        if (a[i] != b[i]) atomicMin(first, (word)i);
}

__global__ void rename_ids(uint32_t *ids, uint64_t count, const uint32_t *renamed) {
    const uint64_t step = (uint64_t)gridDim.x * BLOCK;
    for (uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; i < count; i += step)
        if (ids[i] != KD_NONE) ids[i] = renamed[ids[i]];
}

unsigned blocks_for(uint64_t count) {
    const uint64_t blocks = (count + BLOCK - 1) / BLOCK;
    return (unsigned)(blocks < BLOCKS_MOST ? blocks : BLOCKS_MOST);
}

/* Reads what kernels left in `device` (of the pool) and gives it back. */
kd_status collect(void *host, void *device, size_t bytes, cudaStream_t stream) {
    cudaError_t error = cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
    device_pool_release(device, stream);
    KD_CUDA(error);
    return KD_OK;
}

/* A place to leave the first bad index in, all ones at first. */
kd_status open_place(word **out, cudaStream_t stream) {
    KD_TRY(device_pool_reserve((void **)out, sizeof **out, stream));
    const cudaError_t error = cudaMemsetAsync(*out, 0xff, sizeof **out, stream);
    if (error != cudaSuccess) device_pool_release(*out, stream);
    KD_CUDA(error);
    return KD_OK;
}

double read_scalar(const point_array *points, uint64_t i, uint32_t axis) {
    double x = 0;
    float narrow = 0;
    const size_t bytes = (size_t)point_scalar_bytes(points->scalar);
    const char *from = (const char *)point_array_at(points, i) + axis * bytes;
    cudaMemcpy(points->scalar == POINT_DOUBLE ? (void *)&x : (void *)&narrow, from, bytes,
               cudaMemcpyDeviceToHost);
    return points->scalar == POINT_DOUBLE ? x : (double)narrow;
}
} // namespace

extern "C" kd_status points_device_scan(point_box *box, const point_array *points, void *stream) {
    const cudaStream_t s = (cudaStream_t)stream;
    *box = point_box_empty();
    if (points->count == 0) return KD_OK;
    scan_result host, *device = NULL;
    memset(&host, 0xff, sizeof host);
    memset(host.hi, 0, sizeof host.hi);
    KD_TRY(device_pool_reserve((void **)&device, sizeof host, stream));
    cudaError_t error = cudaMemcpyAsync(device, &host, sizeof host, cudaMemcpyHostToDevice, s);
    if (error == cudaSuccess) {
        scan_points<<<blocks_for(points->count), BLOCK, 0, s>>>(*points, device);
        error = cudaPeekAtLastError();
    }
    if (error != cudaSuccess) device_pool_release(device, stream);
    KD_CUDA(error);
    KD_TRY(collect(&host, device, sizeof host, s));
    for (uint32_t axis = 0; axis < points->dims; ++axis) {
        box->lo[axis] = number_of(host.lo[axis]);
        box->hi[axis] = number_of(host.hi[axis]);
    }
    for (uint32_t axis = 0; host.bad != ~0ull && axis < points->dims; ++axis) {
        const double x = read_scalar(points, host.bad, axis);
        KD_REQUIRE(isfinite(x), KD_ERROR_INPUT,
                   "coordinate %u of point %llu is %g, expected a finite number", axis, host.bad,
                   x);
    }
    return KD_OK;
}

extern "C" kd_status points_device_check_radii(const point_array *radii, void *stream) {
    word first = ~0ull, *place = NULL;
    if (radii->count == 0) return KD_OK;
    KD_TRY(open_place(&place, (cudaStream_t)stream));
    find_bad_radius<<<blocks_for(radii->count), BLOCK, 0, (cudaStream_t)stream>>>(*radii, place);
    KD_TRY(collect(&first, place, sizeof first, (cudaStream_t)stream));
    KD_REQUIRE(first == ~0ull, KD_ERROR_INPUT, "radius %llu is %g, expected 0 or more", first,
               read_scalar(radii, first, 0));
    return KD_OK;
}

extern "C" kd_status points_device_check_offsets(const uint64_t *given, const uint64_t *right,
                                                 uint64_t count, void *stream) {
    word first = ~0ull, *place = NULL;
    KD_TRY(open_place(&place, (cudaStream_t)stream));
    find_difference<<<blocks_for(count), BLOCK, 0, (cudaStream_t)stream>>>(given, right, count,
                                                                           place);
    KD_TRY(collect(&first, place, sizeof first, (cudaStream_t)stream));
    KD_REQUIRE(first == ~0ull, KD_ERROR_USAGE,
               "offset %llu does not fit the answers, expected the offsets of the same query's "
               "count",
               first);
    return KD_OK;
}

extern "C" kd_status points_device_rename(uint32_t *ids, uint64_t count, const uint32_t *renamed,
                                          void *stream) {
    if (count == 0) return KD_OK;
    rename_ids<<<blocks_for(count), BLOCK, 0, (cudaStream_t)stream>>>(ids, count, renamed);
    KD_CUDA_LAUNCHED("rename_ids");
    return KD_OK;
}
