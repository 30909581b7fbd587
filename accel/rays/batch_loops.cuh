/* What all kernels that cast rays have in common: rays and answers, tiles of an image, and the walk
   of a tree without a packed form. */
#ifndef KD_ACCEL_RAYS_BATCH_LOOPS_CUH
#define KD_ACCEL_RAYS_BATCH_LOOPS_CUH
#include "accel/rays/batch_device.h"
#include "accel/tree/walk.h"
#include "accel/wide/packed_loops.cuh"
#include "core/device/follow.cuh"
#include <stdint.h>

enum {
    CAST_BLOCK = 128,
    TILES_WIDTH = 16, /* pixels of an image that a block takes */
    TILES_HEIGHT = 8
};

/* What a kernel is given. */
struct caster {
    box3 box;
    bool empty;         /* no triangle can be hit */
    const float4 *rays; /* two a ray: origin and tmin, direction and tmax; NULL: in `arrays` */
    float4 *hits;       /* t, u, v, triangle; NULL: in `arrays` */
    trace_arrays arrays;
    uint8_t *blocked;
    uint32_t count;
    uint32_t width;   /* of the image that the rays are, row by row; 0: they are none */
    uint32_t *cursor; /* the next ray that persistent warps fetch */
    bool measured;    /* warps see for themselves whether their rays run alike */
};

/* Ray i: origin and tmin, direction and tmax. */
__device__ __forceinline__ void load_ray(const caster &c, uint32_t i, float4 &o, float4 &d) {
    if (c.rays) {
        o = __ldg(c.rays + 2 * (uint64_t)i), d = __ldg(c.rays + 2 * (uint64_t)i + 1);
        return;
    }
    const trace_arrays &a = c.arrays;
    o = make_float4(a.origin[0][i], a.origin[1][i], a.origin[2][i], a.tmin ? a.tmin[i] : 0);
    d = make_float4(a.direction[0][i], a.direction[1][i], a.direction[2][i],
                    a.tmax ? a.tmax[i] : INFINITY);
}

/* Whether all numbers that must be finite are, and the ray has a part to be looked at. */
__device__ __forceinline__ bool ray_is_sound(const float4 &o, const float4 &d) {
    return (o.x * 0 + o.y * 0) + (o.z * 0 + d.x * 0) + (d.y * 0 + d.z * 0) == 0 && o.w < d.w;
}

__device__ __forceinline__ void store_hit(const caster &c, uint32_t i, float t, float u, float v,
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

/* The rows of an image's blocks from its middle out, one below, one above: blocks start in the
   order of their numbers, and the last to end, which run alone, should be short. What takes long
   mostly lies in the middle. */
__device__ __forceinline__ uint32_t row_of_tiles(void) {
    const uint32_t step = blockIdx.y, middle = (gridDim.y - 1) / 2;
    return step % 2 ? middle + (step + 1) / 2 : middle - step / 2;
}

/* Which ray of an image a thread casts, or KD_NONE: each block takes 16 by 8 pixels, each of its
   warps 8 by 4 of them, whose rays have more of their way in common than those of 32 pixels in a
   row. The image's sides are multiples of 8 and 4. */
__device__ __forceinline__ uint32_t ray_of_tile(const caster &c) {
    const uint32_t warp = threadIdx.x / 32;
    const uint32_t x = blockIdx.x * TILES_WIDTH + warp % 2 * 8;
    const uint32_t y = row_of_tiles() * TILES_HEIGHT + warp / 2 * 4;
    if (x >= c.width || y * c.width >= c.count) return KD_NONE;
    return (y + threadIdx.x / 8 % 4) * c.width + x + threadIdx.x % 8;
}

/* Ray i by the nodes of a tree without a packed form. */
template <bool any>
__device__ __forceinline__ void cast_by_nodes(const tritree_view &tree, const caster &c,
                                              uint32_t i) {
    float4 o, d;
    load_ray(c, i, o, d);
    ray_hit hit = {d.w, 0, 0, KD_NONE};
    if (ray_is_sound(o, d))
        hit = tritree_device_cast_here(
            &tree, ray_make(vec3_make(o.x, o.y, o.z), vec3_make(d.x, d.y, d.z), o.w, d.w), any);
    if (any)
        c.blocked[i] = hit.triangle != KD_NONE;
    else
        store_hit(c, i, hit.t, hit.u, hit.v, hit.triangle);
}

/* The kernels that cast batches of rays through the packed form of the tree.
   Idea: a batch is a `work` of accel/wide/packed_loops.cuh; what its rays put off goes to a list
   in device memory. Should the list be full the ray is left open in the place of its answer, and
   settle_batch looks through all answers for such rays. It also clears the cursor for the next
   batch, once all of its blocks have read it: a batch is two launches and no more. Its blocks are
   made ready while the last rays are on their way (core/device/follow.cuh).
   Data flow: cast_packed, warps that fetch rays by a cursor: rays, packed form -> answers, and
              the list of what was put off; settle_batch, the next launch: list, tree -> the
              rest of the answers, the cursor back to 0. cast_packed_once: a thread a ray,
              settles its own. */

/* Words of a batch's cursor, zero between batches. */
enum {
    CURSOR_NEXT,    /* the ray that nobody has fetched */
    CURSOR_PUT_OFF, /* records, also of those for which there was no room */
    CURSOR_READ     /* blocks of settle_batch that have read the others */
};

const uint32_t CAST_OPEN = KD_NONE - 1; /* instead of a triangle: nobody knows yet */

/* Where rays go that are not done. */
struct put_off_list {
    packed_record *records;
    uint32_t room;
};

/* Instead of a hit: the ray is to be cast again. */
template <bool any> __device__ __forceinline__ void leave_open(const caster &c, uint32_t i) {
    if (any)
        c.blocked[i] = 2;
    else
        store_hit(c, i, NAN, NAN, NAN, CAST_OPEN);
}
__device__ __forceinline__ bool is_left_open(const caster &c, uint32_t i) {
    if (c.blocked) return c.blocked[i] == 2;
    /* a ray whose end is NaN hits nothing and is stored with that end: casting it again is right */
    if (c.hits) return isnan(c.hits[i].x);
    const float *any = c.arrays.t ? c.arrays.t : c.arrays.u ? c.arrays.u : c.arrays.v;
    return any ? isnan(any[i]) : c.arrays.triangle[i] == CAST_OPEN;
}

template <bool any> struct batch_work {
    const caster &c;
    const put_off_list &list;

    __device__ __forceinline__ uint32_t fetch(unsigned idle) const {
        return packed_fetch(c.cursor + CURSOR_NEXT, idle);
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
    __device__ __forceinline__ void put_off(const packed_record &record) const {
        const uint32_t place = atomicAdd(c.cursor + CURSOR_PUT_OFF, 1u);
        if (place < list.room)
            list.records[place] = record;
        else
            leave_open<any>(c, record.number);
    }
};

template <bool any>
__global__ __launch_bounds__(PACKED_BLOCK, PACKED_BLOCKS) void cast_packed(
    const __grid_constant__ caster c, const __grid_constant__ packed_scene scene,
    const __grid_constant__ put_off_list list) {
    grid_lets_next_begin();
    const batch_work<any> work = {c, list};
    packed_persistent<any, any>(scene, work, c.measured);
}

/* Each thread one ray; of an image by tiles. */
template <bool any, bool tiles>
__global__ __launch_bounds__(PACKED_BLOCK, PACKED_BLOCKS) void cast_packed_once(
    const __grid_constant__ caster c, const __grid_constant__ tritree_view tree,
    const __grid_constant__ put_off_list none) {
    const batch_work<any> work = {c, none};
    uint32_t i = tiles ? ray_of_tile(c) : blockIdx.x * PACKED_BLOCK + threadIdx.x;
    if (!tiles && i >= c.count) i = KD_NONE;
    packed_alone<any, any>(tree, work, i);
}

/* What the rays of cast_packed put off. */
template <bool any>
__global__
__launch_bounds__(PACKED_BLOCK) void settle_batch(const __grid_constant__ caster c,
                                                  const __grid_constant__ tritree_view tree,
                                                  const __grid_constant__ put_off_list list) {
    grid_waits_for_last();
    const uint32_t put_off = *(volatile uint32_t *)(c.cursor + CURSOR_PUT_OFF);
    const uint32_t threads = gridDim.x * PACKED_BLOCK,
                   from = blockIdx.x * PACKED_BLOCK + threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(c.cursor + CURSOR_READ, 1u) == gridDim.x - 1)
        c.cursor[CURSOR_NEXT] = c.cursor[CURSOR_PUT_OFF] = c.cursor[CURSOR_READ] = 0;
    const batch_work<any> work = {c, list};
    const bool is_full = put_off > list.room;
    packed_settle<any>(tree, work, list.records, is_full ? list.room : put_off, from, threads);
    for (uint32_t i = from; is_full && i < c.count; i += threads) {
        if (!is_left_open(c, i)) continue;
        float4 o, d;
        load_ray(c, i, o, d);
        const ray_hit none = {0, 0, 0, KD_NONE};
        const ray_hit hit = packed_answer(tree, o, d, none, NULL, PACKED_DOUBTS + 1, any);
        work.store(i, hit.t, hit.u, hit.v, hit.triangle);
    }
}

#endif
