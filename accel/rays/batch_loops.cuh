/* Code shared by all ray-casting kernels: loading rays and storing results, tiles of an image,
   traversal of a tree without a compressed form; and the kernels for batches. */
#ifndef KD_ACCEL_RAYS_BATCH_LOOPS_CUH
#define KD_ACCEL_RAYS_BATCH_LOOPS_CUH
#include "accel/rays/batch_device.h"
#include "accel/tree/walk.h"
#include "accel/wide/compressed_loops.cuh"
#include "core/device/dependent_launch.cuh"
#include <stdint.h>

enum {
    CAST_BLOCK = 128,
    TILES_WIDTH = 16, /* pixels of an image per block */
    TILES_HEIGHT = 8
};

/* Arguments of a kernel. */
struct ray_batch {
    box3 box;
    bool empty;         /* no triangle can be hit */
    const float4 *rays; /* two per ray: origin and tmin, direction and tmax; NULL: in `arrays` */
    float4 *hits;       /* t, u, v, triangle; NULL: in `arrays` */
    trace_arrays arrays;
    uint8_t *blocked;
    uint32_t count;
    uint32_t width;   /* if the rays are the pixels of an image, row by row: its width; else 0 */
    uint32_t *cursor; /* next ray for persistent warps */
    bool measured;    /* warps test whether their rays are coherent */
};

/* Loads ray i: origin and tmin, direction and tmax. */
__device__ __forceinline__ void load_ray(const ray_batch &c, uint32_t i, float4 &o, float4 &d) {
    if (c.rays) {
        o = __ldg(c.rays + 2 * (uint64_t)i), d = __ldg(c.rays + 2 * (uint64_t)i + 1);
        return;
    }
    const trace_arrays &a = c.arrays;
    o = make_float4(a.origin[0][i], a.origin[1][i], a.origin[2][i], a.tmin ? a.tmin[i] : 0);
    d = make_float4(a.direction[0][i], a.direction[1][i], a.direction[2][i],
                    a.tmax ? a.tmax[i] : INFINITY);
}

/* Returns true if origin and direction are finite and the interval is not empty. */
__device__ __forceinline__ bool ray_is_valid(const float4 &o, const float4 &d) {
    return (o.x * 0 + o.y * 0) + (o.z * 0 + d.x * 0) + (d.y * 0 + d.z * 0) == 0 && o.w < d.w;
}

__device__ __forceinline__ void store_hit(const ray_batch &c, uint32_t i, float t, float u, float v,
                                          uint32_t triangle) {
    if (c.hits) {
        c.hits[i] = make_float4(t, u, v, __uint_as_float(triangle));
        return;
    }
    const trace_arrays &a = c.arrays;
    if (a.t) a.t[i] = t;
    if (a.u) a.u[i] = u;
    if (a.v) a.v[i] = v;
    if (a.triangle) a.triangle[i] = triangle;
}

/* Returns the row of tiles that this block processes: rows are ordered from the middle of the image
   outwards, alternately below and above. Blocks start in the order of their indices, and the last
   ones, which run on a nearly empty device, should be short; expensive pixels are mostly in the
   middle. */
__device__ __forceinline__ uint32_t row_of_tiles(void) {
    const uint32_t step = blockIdx.y, middle = (gridDim.y - 1) / 2;
    return step % 2 ? middle + (step + 1) / 2 : middle - step / 2;
}

/* Returns the index of the thread's ray in an image, or KD_NONE: each block takes 16 x 8 pixels,
   each of its warps 8 x 4 of them, whose rays are more coherent than those of 32 pixels in a row.
   The image's width is a multiple of 8, its height of 4. */
__device__ __forceinline__ uint32_t ray_of_tile(const ray_batch &c) {
    const uint32_t warp = threadIdx.x / 32;
    const uint32_t x = blockIdx.x * TILES_WIDTH + warp % 2 * 8;
    const uint32_t y = row_of_tiles() * TILES_HEIGHT + warp / 2 * 4;
    if (x >= c.width || y * c.width >= c.count) return KD_NONE;
    return (y + threadIdx.x / 8 % 4) * c.width + x + threadIdx.x % 8;
}

/* Casts ray i through the binary tree (`tree.nodes`). */
template <bool any>
__device__ __forceinline__ void cast_by_nodes(const tritree_view &tree, const ray_batch &c,
                                              uint32_t i) {
    float4 o, d;
    load_ray(c, i, o, d);
    ray_hit hit = {d.w, 0, 0, KD_NONE};
    if (ray_is_valid(o, d))
        hit = tritree_device_cast_inline(
            &tree, ray_make(vec3_make(o.x, o.y, o.z), vec3_make(d.x, d.y, d.z), o.w, d.w), any);
    if (any)
        c.blocked[i] = hit.triangle != KD_NONE;
    else
        store_hit(c, i, hit.t, hit.u, hit.v, hit.triangle);
}

/* The kernels that cast batches of rays through the compressed wide form.
   Idea: batch_work implements the interface `work` of accel/wide/compressed_loops.cuh. Records of
   rays with deferred triangles go to a list in device memory. If the list is full, the ray's result
   is marked as open, and resolve_batch scans all results for such rays. resolve_batch also resets
   the cursor for the next batch, once all of its blocks have read it, so a batch takes exactly two
   launches. Its blocks are launched while the last rays are still in flight
   (core/device/dependent_launch.cuh).
   Data flow: cast_compressed, persistent warps that fetch rays by a cursor: rays, compressed form
   -> results, and the list of deferred triangles; resolve_batch, the next launch: list, tree -> the
   remaining results, the cursor reset to 0. cast_compressed_once: one thread per ray, which
   resolves its own deferred triangles. */

/* The words of a batch's cursor, which are zero between batches. */
enum {
    CURSOR_NEXT,     /* the next ray to be fetched */
    CURSOR_DEFERRED, /* records, including those that exceeded the list's capacity */
    CURSOR_READ      /* blocks of resolve_batch that have read the other words */
};

const uint32_t CAST_OPEN = KD_NONE - 1; /* triangle index that marks an open result */

/* List of rays with deferred triangles. */
struct deferred_rays {
    compressed_record *records;
    uint32_t capacity;
};

/* Marks a result as open: resolve_batch casts the ray again. */
template <bool any> __device__ __forceinline__ void mark_open(const ray_batch &c, uint32_t i) {
    if (any)
        c.blocked[i] = 2;
    else
        store_hit(c, i, NAN, NAN, NAN, CAST_OPEN);
}
__device__ __forceinline__ bool is_left_open(const ray_batch &c, uint32_t i) {
    if (c.blocked) return c.blocked[i] == 2;
    /* A ray whose tmax is NaN hits nothing and has t = NaN, too; casting it again is harmless. */
    if (c.hits) return isnan(c.hits[i].x);
    const float *any = c.arrays.t ? c.arrays.t : c.arrays.u ? c.arrays.u : c.arrays.v;
    return any ? isnan(any[i]) : c.arrays.triangle[i] == CAST_OPEN;
}

template <bool any> struct batch_work {
    const ray_batch &c;
    const deferred_rays &list;

    __device__ __forceinline__ uint32_t fetch(unsigned idle) const {
        return compressed_fetch(c.cursor + CURSOR_NEXT, idle);
    }
    __device__ __forceinline__ bool has(uint32_t number) const { return number < c.count; }
    __device__ __forceinline__ void load(uint32_t number, float4 &o, float4 &d) const {
        load_ray(c, number, o, d);
    }
    __device__ __forceinline__ void store(uint32_t number, float t, float u, float v,
                                          uint32_t id) const {
        if (any)
            c.blocked[number] = id != KD_NONE;
        else
            store_hit(c, number, t, u, v, id);
    }
    __device__ __forceinline__ void defer(const compressed_record &record) const {
        const uint32_t place = atomicAdd(c.cursor + CURSOR_DEFERRED, 1u);
        if (place < list.capacity)
            list.records[place] = record;
        else
            mark_open<any>(c, record.number);
    }
};

template <bool any, bool indexed>
__global__ __launch_bounds__(COMPRESSED_BLOCK, COMPRESSED_BLOCKS) void cast_compressed(
    const __grid_constant__ ray_batch c, const __grid_constant__ compressed_scene scene,
    const __grid_constant__ deferred_rays list) {
    grid_lets_next_begin();
    const batch_work<any> work = {c, list};
    compressed_persistent<any, any, indexed>(scene, work, c.measured);
}

/* One thread per ray, in tiles if the rays are an image. */
template <bool any, bool tiles, bool indexed>
__global__ __launch_bounds__(COMPRESSED_BLOCK, COMPRESSED_BLOCKS) void cast_compressed_once(
    const __grid_constant__ ray_batch c, const __grid_constant__ tritree_view tree,
    const __grid_constant__ deferred_rays none) {
    const batch_work<any> work = {c, none};
    uint32_t i = tiles ? ray_of_tile(c) : blockIdx.x * COMPRESSED_BLOCK + threadIdx.x;
    if (!tiles && i >= c.count) i = KD_NONE;
    compressed_alone<any, any, indexed>(tree, work, i);
}

/* Resolves the deferred triangles of cast_compressed. */
template <bool any>
__global__
__launch_bounds__(COMPRESSED_BLOCK) void resolve_batch(const __grid_constant__ ray_batch c,
                                                       const __grid_constant__ tritree_view tree,
                                                       const __grid_constant__ deferred_rays list) {
    grid_waits_for_last();
    const uint32_t deferred = *(volatile uint32_t *)(c.cursor + CURSOR_DEFERRED);
    const uint32_t threads = gridDim.x * COMPRESSED_BLOCK,
                   from = blockIdx.x * COMPRESSED_BLOCK + threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(c.cursor + CURSOR_READ, 1u) == gridDim.x - 1)
        c.cursor[CURSOR_NEXT] = c.cursor[CURSOR_DEFERRED] = c.cursor[CURSOR_READ] = 0;
    const batch_work<any> work = {c, list};
    const bool is_full = deferred > list.capacity;
    compressed_resolve<any>(tree, work, list.records, is_full ? list.capacity : deferred, from,
                            threads);
    for (uint32_t i = from; is_full && i < c.count; i += threads) {
        if (!is_left_open(c, i)) continue;
        float4 o, d;
        load_ray(c, i, o, d);
        const ray_hit none = {0, 0, 0, KD_NONE};
        const ray_hit hit =
            compressed_answer(tree, o, d, none, NULL, COMPRESSED_UNCERTAIN + 1, any);
        work.store(i, hit.t, hit.u, hit.v, hit.triangle);
    }
}

#endif
