/* Rays whose number is only known on the device.
   Idea: the loops of batch_loops.cuh with a grid that fills the device, whose blocks read the
   number and iterate. Without a compressed form, one thread per ray traverses `nodes`.
   Data flow: rays, *count -> hits or blocked, records of rays with deferred triangles; then these
   -> hits or blocked. */
#include "accel/rays/batch_device.h"
#include "accel/rays/batch_loops.cuh"
#include "core/device/async.h"
#include "core/device/cuda.h"
#include "core/device/wave_parts.cuh"

namespace {

static_assert(sizeof(compressed_record) == TRACE_COUNTED_SCRATCH, "what callers reserve");

__device__ __forceinline__ ray_batch with_count(const ray_batch &c, const uint32_t *counted) {
    ray_batch batch = c;
    batch.count = *counted;
    return batch;
}

template <bool any>
__global__ __launch_bounds__(CAST_BLOCK,
                             8) void cast_counted_nodes(const __grid_constant__ tritree_view tree,
                                                        const __grid_constant__ ray_batch c,
                                                        const uint32_t *counted) {
    const uint32_t count = *counted;
    for (uint32_t i = blockIdx.x * CAST_BLOCK + threadIdx.x; i < count; i += gridDim.x * CAST_BLOCK)
        cast_by_nodes<any>(tree, c, i);
}

/* Few rays are distributed over all warps: the time of a small wave is that of its slowest warp. */
template <bool any> struct counted_work {
    batch_work<any> all;

    __device__ __forceinline__ uint32_t fetch(unsigned idle) const {
        const uint32_t each = spread_each(all.c.count);
        const unsigned takers = each == 32 ? idle : idle & ((1u << each) - 1);
        if (!(takers >> (threadIdx.x & 31) & 1u)) return KD_NONE;
        return compressed_fetch(all.c.cursor + CURSOR_NEXT, takers);
    }
    __device__ __forceinline__ bool has(uint32_t number) const { return all.has(number); }
    __device__ __forceinline__ void load(uint32_t number, float4 &o, float4 &d) const {
        all.load(number, o, d);
    }
    __device__ __forceinline__ void store(uint32_t number, float t, float u, float v,
                                          uint32_t id) const {
        all.store(number, t, u, v, id);
    }
    __device__ __forceinline__ void defer(const compressed_record &record) const {
        all.defer(record);
    }
};

/* One ray per thread; grid-stride loop. */
template <bool any, bool indexed>
__global__ __launch_bounds__(COMPRESSED_BLOCK, COMPRESSED_BLOCKS) void cast_counted_alone(
    const __grid_constant__ ray_batch c, const __grid_constant__ tritree_view tree,
    const uint32_t *counted) {
    const ray_batch batch = with_count(c, counted);
    const deferred_rays none = {NULL, 0};
    const batch_work<any> work = {batch, none};
    for (uint32_t base = blockIdx.x * COMPRESSED_BLOCK; base < batch.count;
         base += gridDim.x * COMPRESSED_BLOCK) {
        const uint32_t i = base + threadIdx.x;
        compressed_alone<any, any, indexed>(tree, work, i < batch.count ? i : KD_NONE);
    }
}

template <bool any, bool bounded, bool indexed>
__global__ __launch_bounds__(COMPRESSED_BLOCK, COMPRESSED_BLOCKS) void cast_counted_compressed(
    const __grid_constant__ ray_batch c, const __grid_constant__ compressed_scene scene,
    const __grid_constant__ deferred_rays list, const uint32_t *counted) {
    const ray_batch batch = with_count(c, counted);
    const counted_work<any> work = {{batch, list}};
    compressed_persistent<any, bounded, indexed>(scene, work, false);
}

template <bool any>
__global__ __launch_bounds__(COMPRESSED_BLOCK) void resolve_counted(
    const __grid_constant__ ray_batch c, const __grid_constant__ tritree_view tree,
    const __grid_constant__ deferred_rays list, const uint32_t *counted) {
    const ray_batch batch = with_count(c, counted);
    const batch_work<any> work = {batch, list};
    const uint32_t deferred = c.cursor[CURSOR_DEFERRED], threads = gridDim.x * COMPRESSED_BLOCK;
    const uint32_t from = blockIdx.x * COMPRESSED_BLOCK + threadIdx.x;
    const bool is_full = deferred > list.capacity;
    compressed_resolve<any>(tree, work, list.records, is_full ? list.capacity : deferred, from,
                            threads);
    for (uint32_t i = from; is_full && i < batch.count; i += threads) {
        if (!is_left_open(batch, i)) continue;
        float4 o, d;
        load_ray(batch, i, o, d);
        const ray_hit none = {0, 0, 0, KD_NONE};
        const ray_hit hit =
            compressed_answer(tree, o, d, none, NULL, COMPRESSED_UNCERTAIN + 1, any);
        work.store(i, hit.t, hit.u, hit.v, hit.triangle);
    }
}

ray_batch counted_batch(const tritree_cuda *tree, const trace_counted *rays) {
    ray_batch c;
    memset(&c, 0, sizeof c);
    c.box = tree->view.box;
    c.empty = tree->view.reference_count == 0;
    c.rays = (const float4 *)rays->rays;
    c.hits = (float4 *)rays->hits;
    c.blocked = rays->blocked;
    c.cursor = rays->cursor;
    return c;
}

template <bool any, bool bounded, bool indexed>
kd_status launch_compressed(const tritree_cuda *tree, const trace_counted *rays) {
    const ray_batch c = counted_batch(tree, rays);
    const deferred_rays list = {(compressed_record *)rays->scratch, rays->capacity};
    const cudaStream_t stream = (cudaStream_t)device_thread_stream();
    unsigned blocks = 0;
    const compressed_scene scene = compressed_scene_of(tree->view);
    const auto cast = cast_counted_compressed<any, bounded, indexed>;
    KD_TRY(cuda_resident_blocks(&blocks, cast, COMPRESSED_BLOCK));
    cast<<<blocks, COMPRESSED_BLOCK, 0, stream>>>(c, scene, list, rays->count);
    KD_CUDA_LAUNCHED("cast_counted_compressed");
    KD_TRY(cuda_resident_blocks(&blocks, resolve_counted<any>, COMPRESSED_BLOCK));
    resolve_counted<any><<<blocks, COMPRESSED_BLOCK, 0, stream>>>(c, tree->view, list, rays->count);
    KD_CUDA_LAUNCHED("resolve_counted");
    return KD_OK;
}

template <bool any> kd_status launch_counted(const tritree_cuda *tree, const trace_counted *rays) {
    const ray_batch c = counted_batch(tree, rays);
    const cudaStream_t stream = (cudaStream_t)device_thread_stream();
    unsigned blocks = 0;
    if (!tree->view.compressed) {
        KD_TRY(cuda_resident_blocks(&blocks, cast_counted_nodes<any>, CAST_BLOCK));
        cast_counted_nodes<any><<<4 * blocks, CAST_BLOCK, 0, stream>>>(tree->view, c, rays->count);
        KD_CUDA_LAUNCHED("cast_counted_nodes");
        return KD_OK;
    }
    if (!rays->coherent && tree->view.indexed)
        return any || rays->bounded ? launch_compressed<any, true, true>(tree, rays)
                                    : launch_compressed<any, any, true>(tree, rays);
    if (!rays->coherent)
        return any || rays->bounded ? launch_compressed<any, true, false>(tree, rays)
                                    : launch_compressed<any, any, false>(tree, rays);
    const auto cast =
        tree->view.indexed ? cast_counted_alone<any, true> : cast_counted_alone<any, false>;
    KD_TRY(cuda_resident_blocks(&blocks, cast, COMPRESSED_BLOCK));
    cast<<<4 * blocks, COMPRESSED_BLOCK, 0, stream>>>(c, tree->view, rays->count);
    KD_CUDA_LAUNCHED("cast_counted_alone");
    return KD_OK;
}

} // namespace

kd_status trace_counted_cuda(const tritree_cuda *tree, const trace_counted *rays) {
    return rays->hits ? launch_counted<false>(tree, rays) : launch_counted<true>(tree, rays);
}
