/* What all kernels that cast rays have in common: rays and answers, tiles of an image, and the walk
   of a tree without a packed form. */
#ifndef KD_ACCEL_RAYS_LOOPS_CUH
#define KD_ACCEL_RAYS_LOOPS_CUH
#include "accel/rays/batch_device.h"
#include "accel/tree/walk.h"
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
    uint32_t *cursor; /* packed_batch.cuh */
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

#endif
