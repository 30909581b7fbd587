/* Shared parts of the wavefront kernels, which advance many paths by one surface interaction at a
   time: camera paths (render/frame) and photons (photon/emission).
   Idea: shading has a large code footprint, so warps that execute it independently stall on
         instruction fetch most of the time. Paths are therefore sorted into one list per kind of
         material. A block takes 256 paths of one list and its warps synchronise after each step, so
         that an instruction fetched by one warp serves all. Frequent kinds have specialised kernels
         in which the kind is a compile-time constant.
   Memory: one word per path and kind.
   Invariants: within 512 paths the lists keep their order, so neighbouring paths stay together. */
#ifndef KD_CORE_DEVICE_WAVE_PARTS_CUH
#define KD_CORE_DEVICE_WAVE_PARTS_CUH
#include "core/device/cuda.h"
#include "core/math/geometry.h"
#include <stdint.h>

enum {
    SHADE_KERNELS = 3, /* kernels that may share the lists of one wave */
    KIND_BLOCK = 512,
    KIND_WARPS = KIND_BLOCK / 32,
    SHADE_BLOCK = 256,
    SHADE_DIFFUSE_EACH = 3, /* blocks per multiprocessor: 80 registers */
    SHADE_OTHER_EACH = 2    /* 128 registers */
};

/* Number of paths in each list of the current wave, and for each kernel that shades lists a cursor
   of the next chunk. */
template <uint32_t KINDS> struct kind_counts {
    uint32_t listed[KINDS];
    uint32_t chunk[SHADE_KERNELS];
};

/* Indices of paths, by the kind of material that the path hit. */
struct kind_lists {
    uint32_t *lists; /* one array of `capacity` indices per kind */
    uint32_t capacity;

    __device__ __forceinline__ uint32_t *of(uint32_t kind) const {
        return lists + (uint64_t)kind * capacity;
    }
};

/* --- memory ----------------------------------------------------------------------------------- */

/* Returns a new position in a list for each active lane, with one atomic per warp (warp-aggregated
   increment). */
template <class COUNT> __device__ __forceinline__ COUNT take_place(COUNT *counter) {
    const unsigned lanes = __activemask();
    const int lane = threadIdx.x & 31, leader = __ffs(lanes) - 1;
    COUNT first = 0;
    if (lane == leader) first = atomicAdd(counter, (COUNT)__popc(lanes));
    return __shfl_sync(lanes, first, leader) + __popc(lanes & ((1u << lane) - 1));
}

__device__ __forceinline__ float4 with_fourth(vec3 v, float fourth) {
    return make_float4(v.x, v.y, v.z, fourth);
}
__device__ __forceinline__ vec3 first_three(const float4 &v) {
    return vec3_make(v.x, v.y, v.z);
}

__device__ __forceinline__ void store_ray(float4 *to, uint32_t at, const ray &ray) {
    to[2 * (uint64_t)at] = with_fourth(ray.origin, ray.tmin);
    to[2 * (uint64_t)at + 1] = with_fourth(ray.direction, ray.tmax);
}
__device__ __forceinline__ ray load_stored_ray(const float4 *from, uint32_t at) {
    const float4 o = from[2 * (uint64_t)at], d = from[2 * (uint64_t)at + 1];
    return ray_make(first_three(o), first_three(d), o.w, d.w);
}
__device__ __forceinline__ ray_hit load_stored_hit(const float4 *from, uint32_t at) {
    const float4 h = from[at];
    const ray_hit hit = {h.x, h.y, h.z, __float_as_uint(h.w)};
    return hit;
}

/* Prefetches a cache line into L2. */
__device__ __forceinline__ void fetch_ahead(const void *at) {
#ifdef KD_CUDA_EMULATED
    (void)at;
#else
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

/* --- lists ------------------------------------------------------------------------------------ */

/* Sorts paths by kind. To be called by all blocks, of KIND_BLOCK threads each.
   Data flow: kind_of(i) of `count` paths -> one list of indices per kind and its length,
              counts->listed. */
template <uint32_t KINDS, class KIND_OF>
__device__ __forceinline__ void list_by_kind(const kind_lists &lists, uint32_t count,
                                             kind_counts<KINDS> *counts, const KIND_OF &kind_of) {
    __shared__ uint32_t places[KINDS][KIND_WARPS];
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (uint32_t base = blockIdx.x * KIND_BLOCK; base < count; base += gridDim.x * KIND_BLOCK) {
        const uint32_t i = base + threadIdx.x;
        const uint32_t kind = i < count ? (uint32_t)kind_of(i) : KINDS;
        unsigned alike = 0;
        for (uint32_t k = 0; k < KINDS; ++k) {
            const unsigned lanes = __ballot_sync(~0u, kind == k);
            if (lane == 0) places[k][warp] = (uint32_t)__popc(lanes);
            if (kind == k) alike = lanes;
        }
        __syncthreads();
        if (warp < KINDS) { /* exclusive scan of the counts, one warp per kind */
            const uint32_t number = lane < KIND_WARPS ? places[warp][lane] : 0;
            uint32_t upto = number, first = 0;
            for (uint32_t step = 1; step < KIND_WARPS; step *= 2) {
                const uint32_t more = __shfl_up_sync(~0u, upto, step);
                if (lane >= step) upto += more;
            }
            if (lane == KIND_WARPS - 1 && upto) first = atomicAdd(&counts->listed[warp], upto);
            first = __shfl_sync(~0u, first, KIND_WARPS - 1);
            if (lane < KIND_WARPS) places[warp][lane] = first + upto - number;
        }
        __syncthreads();
        if (i < count) lists.of(kind)[places[kind][warp] + __popc(alike & ((1u << lane) - 1))] = i;
        __syncthreads();
    }
}

/* A range of one list that a block shades at a time. */
struct shade_chunk {
    uint32_t kind, first;

    /* Returns the calling thread's path, or KD_NONE. */
    template <uint32_t KINDS>
    __device__ __forceinline__ uint32_t path(const kind_lists &lists,
                                             const kind_counts<KINDS> *counts) const {
        const uint32_t i = first + threadIdx.x;
        return i < counts->listed[kind] ? lists.of(kind)[i] : KD_NONE;
    }
};

/* Finds chunk `number` among the lists [begin, end). Returns false if there are fewer chunks. */
template <uint32_t KINDS>
__device__ __forceinline__ bool find_chunk(const kind_counts<KINDS> *counts, uint32_t begin,
                                           uint32_t end, uint32_t number, shade_chunk *out) {
    for (uint32_t kind = begin; kind < end; ++kind) {
        const uint32_t chunks = (counts->listed[kind] + SHADE_BLOCK - 1) / SHADE_BLOCK;
        out->kind = kind;
        out->first = number * SHADE_BLOCK;
        if (number < chunks) return true;
        number -= chunks;
    }
    return false;
}

/* Shades the lists [begin, end). To be called by all blocks, of SHADE_BLOCK threads each; blocks
   take chunks in order through `cursor`. fetch(i) prefetches data of path i, the thread's next one;
   shade(i) is called by all threads of the block, with KD_NONE by those without a path. */
template <uint32_t KINDS, class FETCH, class SHADE>
__device__ __forceinline__ void
shade_chunks(const kind_lists &lists, const kind_counts<KINDS> *counts, uint32_t *cursor,
             uint32_t begin, uint32_t end, const FETCH &fetch, const SHADE &shade) {
    __shared__ uint32_t taken;
    shade_chunk chunk;
    bool more = find_chunk(counts, begin, end, blockIdx.x, &chunk);
    while (more) {
        const uint32_t i = chunk.path(lists, counts);
        if (threadIdx.x == 0) taken = gridDim.x + atomicAdd(cursor, 1u);
        __syncthreads();
        more = find_chunk(counts, begin, end, taken, &chunk);
        const uint32_t coming = more ? chunk.path(lists, counts) : KD_NONE;
        if (coming != KD_NONE) fetch(coming);
        shade(i);
    }
}

/* Distribution of few items over many threads.
   Idea: a warp takes as long as its slowest lane, and longer the more its lanes diverge. If
         there are fewer items than threads, each warp therefore takes as few items as possible,
         and neighbouring items stay in the same warp as far as possible. */

/* Returns how many of `count` items a warp takes in its first iteration; 32 if there are at least
   as many items as threads. */
__device__ __forceinline__ uint32_t spread_each(uint32_t count) {
    const uint32_t warps = gridDim.x * (blockDim.x / 32);
    return count >= 32 * warps ? 32 : (count + warps - 1) / warps;
}

/* Returns the thread's first item, or `count` or more if it has none. Further items follow with a
   stride of the total number of threads. */
__device__ __forceinline__ uint32_t spread_first(uint32_t count) {
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, each = spread_each(count);
    if (each == 32) return thread;
    return thread % 32 < each ? thread / 32 * each + thread % 32 : count;
}

#endif
