/* How a block of a builder's set-up finds its triangles' places and the box of all: everything is
   brought together in shared memory first, so that a block meets the others at one counter a round
   and at the box once. (An atomic a warp on seven words that all share took 42 us of the bunny's
   builds.) */
#ifndef KD_ACCEL_TREE_SET_UP_CUH
#define KD_ACCEL_TREE_SET_UP_CUH
#include <stdint.h>

enum { SET_UP_BLOCK = 256, SET_UP_WARPS = SET_UP_BLOCK / 32, SET_UP_BLOCKS_A_PROCESSOR = 8 };

struct set_up_shared {
    uint32_t valid[SET_UP_WARPS], flat[SET_UP_WARPS]; /* in each warp; then, how many before it */
    uint32_t first;
    int box[6][SET_UP_WARPS];
};

/* No more blocks than have triangles; at least one. */
static inline unsigned set_up_blocks(unsigned processors, uint32_t triangle_count) {
    const uint32_t most = (triangle_count + SET_UP_BLOCK - 1) / SET_UP_BLOCK;
    const unsigned blocks = processors * SET_UP_BLOCKS_A_PROCESSOR;
    return most < 1 ? 1 : most < blocks ? most : blocks;
}

/* A place for each thread that says `valid`; counters of those and of all that say `flat`. By all
   threads of a block. */
__device__ __forceinline__ uint32_t set_up_place(set_up_shared &s, bool valid, bool flat,
                                                 uint32_t *valid_count, uint32_t *flat_count) {
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const unsigned lanes = __ballot_sync(0xffffffff, valid);
    const unsigned flats = __ballot_sync(0xffffffff, flat);
    __syncthreads(); /* the round before is done with */
    if (lane == 0) s.valid[warp] = (uint32_t)__popc(lanes), s.flat[warp] = (uint32_t)__popc(flats);
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t valid_sum = 0, flat_sum = 0;
        for (int w = 0; w < SET_UP_WARPS; ++w) {
            const uint32_t here = s.valid[w];
            s.valid[w] = valid_sum;
            valid_sum += here;
            flat_sum += s.flat[w];
        }
        s.first = atomicAdd(valid_count, valid_sum);
        if (flat_sum) atomicAdd(flat_count, flat_sum);
    }
    __syncthreads();
    return s.first + s.valid[warp] + (uint32_t)__popc(lanes & ((1u << lane) - 1));
}

/* Least and most of all threads' values, as integers of the floats' order. By all threads of a
   block. */
__device__ __forceinline__ void set_up_box(set_up_shared &s, const int least[3], const int most[3],
                                           int *box_lo, int *box_hi) {
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        const int lo = __reduce_min_sync(0xffffffff, least[a]);
        const int hi = __reduce_max_sync(0xffffffff, most[a]);
        if (lane == 0) s.box[a][warp] = lo, s.box[3 + a][warp] = hi;
    }
    __syncthreads();
    if (threadIdx.x >= 6) return;
    const bool is_hi = threadIdx.x >= 3;
    const int *of = s.box[threadIdx.x];
    int best = of[0];
    for (int w = 1; w < SET_UP_WARPS; ++w) best = is_hi ? max(best, of[w]) : min(best, of[w]);
    if (is_hi)
        atomicMax(&box_hi[threadIdx.x - 3], best);
    else
        atomicMin(&box_lo[threadIdx.x], best);
}

#endif
