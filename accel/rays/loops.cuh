/* What all kernels that cast rays have in common, and the loop for rays that run alike.
   Source: Aila and Laine 2009, "Understanding the efficiency of ray traversal on GPUs":
           while-while.
   Idea: a ray goes down to its next leaf, tests that leaf, takes the next subtree from its stack.
         cast_once gives each thread one ray; a warp is as slow as its slowest ray, and coherent
         rays, whose neighbours take the same way, fare best. Rays that run apart have loops of
         their own (persistent.cuh, packed_batch.cuh). A walk (planes.cuh, watertight.cuh) holds
         one ray on its way through the tree:
     bool begin(caster, i)         false: the ray misses the tree's box
     void descend(caster, stack)   to the next leaf
     bool test<any>(caster)        that leaf; true: the answer is known
     bool pop(stack)               the next subtree; false: there is none
     void store<any>(caster, i)
   The stack is an array apart from the walk, which thus stays in registers.
   Data flow: measure_order, one block: 32 rays of each group -> whether the batch runs apart,
              read by the next launch. cast_once, a thread a ray: caster's rays, tree -> hits,
              each at its ray's place. */
#ifndef KD_ACCEL_RAYS_LOOPS_CUH
#define KD_ACCEL_RAYS_LOOPS_CUH
#include "accel/rays/batch_device.h"
#include "accel/tree/walk.h"
#include <stdint.h>

enum {
    CAST_BLOCK = 128,
    TILES_WIDTH = 16, /* pixels of an image that a block takes */
    TILES_HEIGHT = 8,
    CAST_STACK = TRITREE_MAX_DEPTH + 2,
    MEASURE_BLOCK = 256,
    MEASURE_EACH = 4 /* groups a warp */
};

/* What a kernel is given. */
struct caster {
    const uint2 *nodes; /* tritree_cuda: pairs */
    const float4 *planes, *leaf_rows;
    const uint32_t *references;
    box3 box;
    float margin;       /* a length: 1e-4 of the box's three sides */
    float error;        /* a length: 2^-20 of the box's largest coordinate */
    bool empty;         /* no triangle can be hit */
    const float4 *rays; /* two a ray: origin and tmin, direction and tmax; NULL: in `arrays` */
    float4 *hits;       /* t, u, v, triangle; NULL: in `arrays` */
    trace_arrays arrays;
    uint8_t *blocked;
    uint32_t count;
    uint32_t width;   /* of the image that the rays are, row by row; 0: they are none */
    uint32_t *cursor; /* the next ray that nobody has fetched; behind it measure_order's answer */
    bool measured;    /* whether that answer decides which loop runs */
};

/* Whether the other loop casts these rays. */
__device__ __forceinline__ bool is_for_other_loop(const caster &c, bool persistent) {
    return c.measured && (c.cursor[1] != 0) != persistent;
}

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

/* The ray's result without a walk: nothing was met. */
template <bool any> __device__ __forceinline__ void store_miss(const caster &c, uint32_t i) {
    if (any) {
        c.blocked[i] = 0;
        return;
    }
    float4 o, d;
    load_ray(c, i, o, d);
    store_hit(c, i, d.w, 0, 0, KD_NONE);
}

/* 1 / x to 2^-23; infinite for x below 2^-126, 0 for x above 2^126. */
__device__ __forceinline__ float quick_inverse(float x) {
#ifdef KD_CUDA_EMULATED
    return fabsf(x) < 0x1p-126f ? copysignf(INFINITY, x) : fabsf(x) > 0x1p126f ? 0 : 1 / x;
#else
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
    return inverse;
#endif
}

/* The next ray for each of these lanes of the warp; one atomic for all. */
__device__ __forceinline__ uint32_t fetch_for(uint32_t *cursor, unsigned lanes) {
    const int lane = threadIdx.x & 31, leader = __ffs(lanes) - 1;
    uint32_t first = 0;
    if (lane == leader) first = atomicAdd(cursor, (uint32_t)__popc(lanes));
    return __shfl_sync(lanes, first, leader) + __popc(lanes & ((1u << lane) - 1));
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

/* By one block, each warp a few of the batch's groups of 32 rays: the persistent loop is for rays
   that do not both start and point alike. Alike: starts within a sixteenth of the box's sides, and
   directions within about 25 degrees of the group's first, for half of the rays. */
static __global__ __launch_bounds__(MEASURE_BLOCK) void measure_order(const caster c) {
    __shared__ uint32_t alike;
    if (threadIdx.x == 0) alike = 0;
    __syncthreads();
    const uint32_t groups = c.count / 32, warp = threadIdx.x / 32, warps = MEASURE_BLOCK / 32;
    const vec3 size = box3_size(c.box);
    const float near = size.x + size.y + size.z;
    for (uint32_t k = 0; k < MEASURE_EACH && groups; ++k) {
        const uint32_t group =
            (uint32_t)((uint64_t)groups * (k * warps + warp) / (MEASURE_EACH * warps));
        float4 o, d;
        load_ray(c, 32 * group + threadIdx.x % 32, o, d);
        const float x = __shfl_sync(~0u, d.x, 0), y = __shfl_sync(~0u, d.y, 0),
                    z = __shfl_sync(~0u, d.z, 0);
        const float along = x * d.x + y * d.y + z * d.z;
        const float square = (x * x + y * y + z * z) * (d.x * d.x + d.y * d.y + d.z * d.z);
        const float off = fabsf(__shfl_sync(~0u, o.x, 0) - o.x) +
                          fabsf(__shfl_sync(~0u, o.y, 0) - o.y) +
                          fabsf(__shfl_sync(~0u, o.z, 0) - o.z);
        const bool is_alike = off <= near * 0.0625f && along > 0 && along * along > 0.8f * square;
        if (is_alike) atomicAdd(&alike, 1u);
    }
    __syncthreads();
    if (threadIdx.x == 0) c.cursor[1] = groups && alike < MEASURE_EACH * MEASURE_BLOCK / 2;
}

template <class walk, bool any, bool tiles>
__global__ __launch_bounds__(CAST_BLOCK, walk::blocks) void cast_once(const caster c) {
    if (is_for_other_loop(c, false)) return;
    const uint32_t i = tiles ? ray_of_tile(c) : blockIdx.x * CAST_BLOCK + threadIdx.x;
    if (tiles ? i == KD_NONE : i >= c.count) return;
    walk on;
    typename walk::entry stack[CAST_STACK];
    if (!on.begin(c, i)) {
        store_miss<any>(c, i);
        return;
    }
    do {
        on.descend(c, stack);
    } while (!on.template test<any>(c) && on.pop(stack));
    on.template store<any>(c, i);
}

#endif
