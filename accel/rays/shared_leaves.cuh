/* The loop for the fast test's rays of an image: one thread a ray, leaves' triangles dealt
   out; 1.36 to 1.5 x persistent threads (tools/bench/results/h200-variants.txt).
   Idea: an image's last warps run alone, and what they wait for is one triangle after the other,
   each read by few lanes: some rays of a tile are in leaves of many triangles, others in empty
   ones. So where dealing takes clearly fewer turns than the fullest leaf has triangles, all pairs
   of a ray and a triangle in its leaf are numbered through the warp, and lane l tests pair l, then
   the 32nd behind it. Elsewhere each lane walks its own leaf.
   Work: a deal costs some 40 instructions and 70 a turn, a lane's own triangle 25 to 50.
   Invariants: hits go back to their rays in the order of the pairs, so that each ray takes the same
   ones as on its own, bit for bit. All lanes of a warp are in all deals: rays that are done hold no
   triangle.
   Data flow: a thread a ray of an image's tile; within a warp pairs of ray and triangle go to
              other lanes and their hits back, through registers and shared memory. Out: a hit
              at its ray's place. */
#ifndef KD_ACCEL_RAYS_SHARED_LEAVES_CUH
#define KD_ACCEL_RAYS_SHARED_LEAVES_CUH
#include "accel/rays/planes.cuh"

enum {
    SHARED_BLOCKS = 12, /* on a multiprocessor: 40 registers each */
    DEAL_FROM = 4       /* triangles that one lane has more than there are turns */
};

struct walk_shared : walk_planes {
    /* u or v where lane `from`'s ray is at t. */
    __device__ __forceinline__ float weight_of(float4 p, float t, int from) const {
        float start = fmaf(__shfl_sync(~0u, oz, from), p.z, p.w);
        start = fmaf(__shfl_sync(~0u, oy, from), p.y, start);
        start = fmaf(__shfl_sync(~0u, ox, from), p.x, start);
        float along = __shfl_sync(~0u, dz, from) * p.z;
        along = fmaf(__shfl_sync(~0u, dy, from), p.y, along);
        along = fmaf(__shfl_sync(~0u, dx, from), p.x, along);
        return fmaf(t, along, start);
    }

    /* Where lane `from`'s ray meets the plane of the triangle. */
    __device__ __forceinline__ float meet_plane(float4 n, int from) const {
        float height = fmaf(__shfl_sync(~0u, oz, from), n.z, n.w);
        height = fmaf(__shfl_sync(~0u, oy, from), n.y, height);
        height = fmaf(__shfl_sync(~0u, ox, from), n.x, height);
        float sink = __shfl_sync(~0u, dz, from) * n.z;
        sink = fmaf(__shfl_sync(~0u, dy, from), n.y, sink);
        sink = fmaf(__shfl_sync(~0u, dx, from), n.x, sink);
        return -height * quick_inverse(sink);
    }

    /* Triangle k with lane `from`'s ray, if that is a pair; by all lanes, a pair each. */
    __device__ __forceinline__ void test_pair(const caster &c, uint32_t k, int from, bool is_pair,
                                              float low, float &high) {
        const float4 *row = c.planes + 3 * (uint64_t)k;
        const float4 none = make_float4(0, 0, 0, 0);
        const float t = meet_plane(is_pair ? __ldg(row) : none, from);
        const bool above = t > __shfl_sync(~0u, low, from),
                   below = t < __shfl_sync(~0u, high, from);
        const bool near_by = is_pair && above && below;
        if (!__any_sync(~0u, near_by)) return;
        const float u = weight_of(near_by ? __ldg(row + 1) : none, t, from);
        const float v = weight_of(near_by ? __ldg(row + 2) : none, t, from);
        unsigned hits = __ballot_sync(~0u, near_by && u >= 0 && v >= 0 && u + v <= 1);
        for (; hits; hits &= hits - 1) {
            const int by = __ffs((int)hits) - 1;
            const bool own = __shfl_sync(~0u, from, by) == (int)(threadIdx.x & 31);
            const float own_t = __shfl_sync(~0u, t, by);
            const uint32_t own_k = __shfl_sync(~0u, k, by);
            if (own && own_t < high) nearest = high = own_t, best = own_k;
        }
    }

    /* By all lanes: `count` triangles of this lane's leaf, `all` of the warp's. */
    __device__ __forceinline__ void deal(const caster &c, uint32_t count, uint32_t all,
                                         uint8_t *holder) {
        const uint32_t lane = threadIdx.x & 31;
        const float length = fminf(fminf(fabsf(ix), fabsf(iy)), fabsf(iz));
        const float off = fmaf(fabsf(far), 1e-4f, c.margin * length);
        const float low = fmaxf(tmin, near - off);
        float high = fminf(nearest, far + off);
        uint32_t upto = count;
#pragma unroll
        for (int step = 1; step < 32; step <<= 1) {
            const uint32_t other = __shfl_up_sync(~0u, upto, step);
            if (lane >= (uint32_t)step) upto += other;
        }
        const uint32_t first = upto - count;
        const unsigned holders = __ballot_sync(~0u, count != 0);
        if (count) holder[__popc(holders & ((1u << lane) - 1))] = (uint8_t)lane;
        __syncwarp();
#pragma unroll 1
        for (uint32_t turn = 0; turn < all; turn += 32) {
            /* how many leaves begin up to this lane's pair */
            const bool here = count && first - turn < 32;
            const unsigned begins = __reduce_add_sync(~0u, here ? 1u << (first - turn) : 0u);
            const uint32_t before = __popc(__ballot_sync(~0u, count && first < turn));
            const bool is_pair = turn + lane < all;
            const int from = holder[is_pair ? before + __popc(begins & ((2u << lane) - 1)) - 1 : 0];
            const uint32_t k = __shfl_sync(~0u, at - first, from) + turn + lane;
            test_pair(c, k, from, is_pair, low, high);
        }
        __syncwarp(); /* before holder is written again */
    }

    /* True: the ray's answer is known. By all lanes, of which only those that are `busy` have a
       leaf. */
    __device__ __forceinline__ bool test_leaves(const caster &c, bool busy, uint8_t *holder) {
        const uint32_t count = busy ? end - at : 0;
        const uint32_t most = __reduce_max_sync(~0u, count);
        if (most >= DEAL_FROM) {
            const uint32_t all = __reduce_add_sync(~0u, count);
            if (most >= DEAL_FROM + (all - 1) / 32) {
                deal(c, count, all, holder);
                return nearest <= fmaf(fabsf(far), 1e-6f, far);
            }
        }
        return busy && test<false>(c);
    }
};

/* The nearest hits of an image's rays. */
static __global__
__launch_bounds__(CAST_BLOCK, SHARED_BLOCKS) void cast_shared(const __grid_constant__ caster c) {
    __shared__ uint8_t holders[CAST_BLOCK]; /* a warp's 32: lanes with triangles, in order */
    if (is_for_other_loop(c, false)) return;
    const uint32_t i = ray_of_tile(c);
    if (i == KD_NONE) return; /* the whole warp */
    walk_shared on;
    walk_shared::entry stack[CAST_STACK];
    on.begin(c, i);
    bool busy = true;
    do {
        if (busy) on.descend(c, stack);
        __syncwarp();
        const bool known = on.test_leaves(c, busy, holders + (threadIdx.x & ~31u));
        busy = busy && !known && on.pop(stack);
    } while (__any_sync(~0u, busy));
    on.store<false>(c, i);
}

#endif
