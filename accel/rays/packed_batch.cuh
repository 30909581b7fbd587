/* The kernels that cast batches of rays through the packed form of the tree.
   Idea: a batch is a `work` of accel/packed/packed_loops.cuh; what its rays put off goes to a list
   in device memory. Should the list be full the ray is left open in the place of its answer, and
   settle_batch looks through all answers for such rays. It also clears the cursor for the next
   batch, once all of its blocks have read it: a batch is two launches and no more. Its blocks are
   made ready while the last rays are on their way (core/device/follow.cuh).
   Data flow: cast_packed, warps that fetch rays by a cursor: rays, packed form -> answers, and
              the list of what was put off; settle_batch, the next launch: list, tree -> the
              rest of the answers, the cursor back to 0. cast_packed_once: a thread a ray,
              settles its own. */
#ifndef KD_ACCEL_RAYS_PACKED_BATCH_CUH
#define KD_ACCEL_RAYS_PACKED_BATCH_CUH
#include "accel/packed/packed_loops.cuh"
#include "accel/rays/loops.cuh"
#include "core/device/follow.cuh"

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
