/* Validation of arguments in device memory.
   Idea: a grid of fixed size strides over the points; each block reduces its share to a box and the
         first invalid index in shared memory, and combines them with those of the other blocks by
         atomics on order-preserving integers.
   Work: one pass, limited by memory bandwidth.
   Memory: 144 bytes.
   Data flow: one pass over the caller's array, one thread per several elements, blocks combined by
              atomics: scan_* -> box and least invalid index; find_* -> the least invalid index;
              rename_ids, one thread per id, in place. The host reads the result after synchronising
              with the stream. */
#include "core/device/cuda.h"
#include "core/math/platform.h"
#include "points/api/arguments.h"
#include <math.h>

namespace {
typedef unsigned long long word;
constexpr int BLOCK = 256, BLOCKS_MAX = 2048;

/* Initially all ones, as all fields are minima; upper sides are complemented. */
struct scan_result {
    word lo[POINT_DIMS_MAX], not_hi[POINT_DIMS_MAX]; /* order-preserving integers */
    word bad;                                        /* first invalid index */
};

/* Maps a double to an unsigned integer of the same order; -0 is next to +0. */
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

/* Combines a block's result with those of the other blocks. */
__device__ void join_scan(scan_result &part, uint32_t dims, scan_result *out) {
    __syncthreads();
    if (threadIdx.x < dims) {
        atomicMin(&out->lo[threadIdx.x], part.lo[threadIdx.x]);
        atomicMin(&out->not_hi[threadIdx.x], part.not_hi[threadIdx.x]);
    }
    if (threadIdx.x == 0 && part.bad != ~0ull) atomicMin(&out->bad, part.bad);
}

__device__ void open_part(scan_result &part) {
    if (threadIdx.x < POINT_DIMS_MAX) part.lo[threadIdx.x] = part.not_hi[threadIdx.x] = ~0ull;
    if (threadIdx.x == 0) part.bad = ~0ull;
    __syncthreads();
}

__global__ void scan_points(point_array points, scan_result *out) {
    __shared__ scan_result part;
    open_part(part);
    const uint64_t step = (uint64_t)gridDim.x * BLOCK;
    const uint64_t first = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
    word bad = ~0ull;
    for (uint32_t axis = 0; axis < points.dims; ++axis) {
        word lo = ~0ull, not_hi = ~0ull;
        for (uint64_t i = first; i < points.count; i += step) {
            const double x = point_array_coordinate(&points, i, axis);
            const word key = sortable(x + 0.0);
            if (!isfinite(x) && i < bad) bad = i;
            lo = key < lo ? key : lo;
            not_hi = ~key < not_hi ? ~key : not_hi;
        }
        if (first >= points.count) continue;
        atomicMin(&part.lo[axis], lo);
        atomicMin(&part.not_hi[axis], not_hi);
    }
    if (bad != ~0ull) atomicMin(&part.bad, bad);
    join_scan(part, points.dims, out);
}

/* scan_points for three floats, which reads each point once. */
__global__ void scan_three_floats(const float *points, uint32_t stride, uint64_t count,
                                  scan_result *out) {
    __shared__ scan_result part;
    open_part(part);
    const uint64_t step = (uint64_t)gridDim.x * BLOCK;
    float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    word bad = ~0ull;
    for (uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; i < count; i += step) {
        const float *p = points + i * stride;
        bool finite = true;
#pragma unroll
        for (int axis = 0; axis < 3; ++axis) {
            const float x = p[axis];
            finite = finite && isfinite(x);
            lo[axis] = fminf(lo[axis], x), hi[axis] = fmaxf(hi[axis], x);
        }
        if (!finite && i < bad) bad = i;
    }
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
        for (int lanes = 16; lanes > 0; lanes /= 2) {
            lo[axis] = fminf(lo[axis], __shfl_xor_sync(0xffffffffu, lo[axis], lanes));
            hi[axis] = fmaxf(hi[axis], __shfl_xor_sync(0xffffffffu, hi[axis], lanes));
        }
        if (threadIdx.x % 32) continue;
        atomicMin(&part.lo[axis], sortable((double)lo[axis] + 0.0));
        atomicMin(&part.not_hi[axis], ~sortable((double)hi[axis] + 0.0));
    }
    if (bad != ~0ull) atomicMin(&part.bad, bad);
    join_scan(part, 3, out);
}

/* Writes `out` rarely, as it is in host memory. */
__global__ void find_bad_points(point_array points, word *out) {
    const uint64_t step = (uint64_t)gridDim.x * BLOCK;
    for (uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; i < points.count; i += step) {
        bool finite = true;
        for (uint32_t axis = 0; axis < points.dims; ++axis)
            finite = finite && isfinite(point_array_coordinate(&points, i, axis));
        if (!finite) atomicMin(out, (word)i);
    }
}

__global__ void find_bad_radii(point_array radii, word *out) {
    const uint64_t step = (uint64_t)gridDim.x * BLOCK;
    for (uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; i < radii.count; i += step)
        if (!(point_array_coordinate(&radii, i, 0) >= 0)) atomicMin(out, (word)i);
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
    return (unsigned)(blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX);
}

/* Reads back what kernels wrote to `device`, an allocation of the pool, and releases it. */
kd_status collect(void *host, void *device, size_t bytes, cudaStream_t stream) {
    cudaError_t error = cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
    device_pool_release(device, stream);
    KD_CUDA(error);
    return KD_OK;
}

/* Allocates a word for the first invalid index, initially all ones. */
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

kd_status report_bad_point(const point_array *points, uint64_t bad) {
    for (uint32_t axis = 0; bad != ~0ull && axis < points->dims; ++axis) {
        const double x = read_scalar(points, bad, axis);
        KD_REQUIRE(isfinite(x), KD_ERROR_INPUT,
                   "coordinate %u of point %llu is %g; coordinates must be finite", axis,
                   (unsigned long long)bad, x);
    }
    return KD_OK;
}
} // namespace

static cudaError_t start_scan(scan_result *out, const point_array *points, cudaStream_t stream) {
    const cudaError_t error = cudaMemsetAsync(out, 0xff, sizeof *out, stream);
    if (error != cudaSuccess) return error;
    if (points->dims == 3 && points->scalar == POINT_FLOAT)
        scan_three_floats<<<blocks_for(points->count), BLOCK, 0, stream>>>(
            (const float *)points->coordinates, (uint32_t)(points->stride_bytes / sizeof(float)),
            points->count, out);
    else
        scan_points<<<blocks_for(points->count), BLOCK, 0, stream>>>(*points, out);
    return cudaPeekAtLastError();
}

extern "C" kd_status points_device_scan_begin(points_scan *out, const point_array *points,
                                              void *stream) {
    *out = {NULL, NULL};
    if (points->count == 0) return KD_OK;
    KD_TRY(device_staging_take(&out->staging));
    KD_TRY(device_pool_reserve(&out->device_copy, sizeof(scan_result), stream));
    KD_CUDA(start_scan((scan_result *)out->device_copy, points, (cudaStream_t)stream));
    KD_CUDA(cudaMemcpyAsync(out->staging, out->device_copy, sizeof(scan_result),
                            cudaMemcpyDeviceToHost, (cudaStream_t)stream));
    return KD_OK;
}

extern "C" kd_status points_device_scan_end(points_scan *scan, point_box *box,
                                            const point_array *points, void *stream) {
    scan_result host;
    *box = point_box_empty();
    if (!scan->staging) return KD_OK;
    const cudaError_t error = cudaStreamSynchronize((cudaStream_t)stream);
    memcpy(&host, scan->staging, sizeof host);
    device_pool_release(scan->device_copy, stream);
    device_staging_give(scan->staging);
    *scan = {NULL, NULL};
    KD_CUDA(error);
    for (uint32_t axis = 0; axis < points->dims; ++axis) {
        box->lo[axis] = number_of(host.lo[axis]);
        box->hi[axis] = number_of(~host.not_hi[axis]);
    }
    return report_bad_point(points, host.bad);
}

extern "C" kd_status points_device_scan(point_box *box, const point_array *points, void *stream) {
    points_scan scan;
    const kd_status begun = points_device_scan_begin(&scan, points, stream);
    const kd_status ended = points_device_scan_end(&scan, box, points, stream);
    return begun != KD_OK ? begun : ended;
}

extern "C" kd_status points_device_find_bad(points_bad *out, const point_array *points,
                                            const point_array *radii, void *stream) {
    const cudaStream_t s = (cudaStream_t)stream;
    static_assert(sizeof(word) == sizeof out->point, "a word of both");
    if (points->count)
        find_bad_points<<<blocks_for(points->count), BLOCK, 0, s>>>(*points, (word *)&out->point);
    if (radii->count)
        find_bad_radii<<<blocks_for(radii->count), BLOCK, 0, s>>>(*radii, (word *)&out->radius);
    KD_CUDA_LAUNCHED("find_bad");
    return KD_OK;
}

extern "C" kd_status points_device_report_bad(const points_bad *result, const point_array *points,
                                              const point_array *radii) {
    KD_TRY(report_bad_point(points, result->point));
    KD_REQUIRE(result->radius == ~0ull, KD_ERROR_INPUT, "radius %llu is %g; expected 0 or more",
               (unsigned long long)result->radius, read_scalar(radii, result->radius, 0));
    return KD_OK;
}

extern "C" kd_status points_device_check_offsets(const uint64_t *offsets, const uint64_t *right,
                                                 uint64_t count, void *stream) {
    word first = ~0ull, *place = NULL;
    KD_TRY(open_place(&place, (cudaStream_t)stream));
    find_difference<<<blocks_for(count), BLOCK, 0, (cudaStream_t)stream>>>(offsets, right, count,
                                                                           place);
    KD_TRY(collect(&first, place, sizeof first, (cudaStream_t)stream));
    KD_REQUIRE(first == ~0ull, KD_ERROR_USAGE,
               "`offsets` (entry %llu) do not match the results; pass those of the count call with "
               "the same query",
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
