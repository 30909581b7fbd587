/* Distribution of a large node's references to its children. A block holds a chunk of references in
   shared memory, because in registers they would halve the number of resident blocks. Straddling
   triangles are listed first and clipped afterwards, one part per thread: they are few, and
   clipping one in a divergent warp costs as much as clipping 32. */
#ifndef KD_ACCEL_ZHOU_REFERENCES_CUH
#define KD_ACCEL_ZHOU_REFERENCES_CUH
#include "accel/zhou/bins.cuh"

/* Loop over the thread's references of the chunk. */
#define FOR_THREAD(s, i)                                                                           \
    _Pragma("unroll 2") for (uint32_t i = threadIdx.x; i < (s).ref_count; i += LARGE_BLOCK)

/* Loads a chunk. All threads of the block must call it; each may read its own references at
   once. */
__device__ __forceinline__ void load_refs(const binned &k, large_shared &s, uint32_t first,
                                          uint32_t count) {
    __syncthreads(); /* protects shared memory from the previous chunk */
    if (threadIdx.x == 0) s.ref_count = count;
#pragma unroll
    for (int j = 0; j < LARGE_EACH; ++j) {
        const uint32_t i = j * LARGE_BLOCK + threadIdx.x;
        if (i >= count) continue;
        const clipped ref = k.pool[first + i];
        s.lo[0][i] = ref.lo.x, s.lo[1][i] = ref.lo.y, s.lo[2][i] = ref.lo.z;
        s.hi[0][i] = ref.hi.x, s.hi[1][i] = ref.hi.y, s.hi[2][i] = ref.hi.z;
        s.id[i] = __float_as_uint(ref.lo.w);
    }
    __syncthreads();
}

__device__ __forceinline__ void count_refs(large_shared &s) {
    FOR_THREAD(s, i) {
        const float lo[3] = {s.lo[0][i], s.lo[1][i], s.lo[2][i]};
        const float hi[3] = {s.hi[0][i], s.hi[1][i], s.hi[2][i]};
        count_bins(s.bins[0], lo, hi, s.node.lo, s.scale);
    }
}

/* Returns on which sides a reference lies; bit 0: left, bit 1: right. */
__device__ __forceinline__ uint32_t sides_of(float lo, float hi, float plane, bool right_side) {
    const uint32_t sides = (lo < plane ? 1u : 0u) | (hi > plane ? 2u : 0u);
    return sides ? sides : right_side ? 2u : 1u;
}

/* Numbers of a chunk's references that go left, right and both, 10 bits each: of those before the
   thread's, and of all. */
struct sorted_refs {
    uint32_t before, all;
};

__device__ __forceinline__ uint32_t packed_sides(uint32_t sides) {
    return sides == 0 ? 0 : 1u << 10 * (sides - 1);
}
__device__ __forceinline__ uint32_t left_only(uint32_t packed) {
    return packed & 1023;
}
__device__ __forceinline__ uint32_t right_only(uint32_t packed) {
    return packed >> 10 & 1023;
}
__device__ __forceinline__ uint32_t straddling(uint32_t packed) {
    return packed >> 20;
}

__device__ __forceinline__ sorted_refs sort_refs(large_shared &s) {
    const int axis = s.split.axis, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const float plane = s.split.plane;
    uint32_t thread_count = 0;
    FOR_THREAD(s, i) {
        thread_count += packed_sides(sides_of(s.lo[axis][i], s.hi[axis][i], plane, s.right_side));
    }
    const uint32_t upto = warp_scan(thread_count);
    if (lane == 31) s.sorted[warp] = upto;
    __syncthreads();
    sorted_refs sorted = {upto - thread_count, 0};
#pragma unroll
    for (int w = 0; w < LARGE_WARPS; ++w) {
        const uint32_t value = s.sorted[w];
        if (w < warp) sorted.before += value;
        sorted.all += value;
    }
    return sorted;
}

__device__ __forceinline__ void count_child_bins(large_shared &s, const clipped &ref, bool right) {
    const float lo[3] = {ref.lo.x, ref.lo.y, ref.lo.z}, hi[3] = {ref.hi.x, ref.hi.y, ref.hi.z};
    count_bins(s.bins[right], lo, hi, s.child_lo[right], s.child_scale[right]);
}

__device__ __forceinline__ clipped ref_at(const large_shared &s, uint32_t i) {
    clipped ref;
    ref.lo = make_float4(s.lo[0][i], s.lo[1][i], s.lo[2][i], __uint_as_float(s.id[i]));
    ref.hi = make_float4(s.hi[0][i], s.hi[1][i], s.hi[2][i], 0);
    return ref;
}

/* Writes references to s.base_left and s.base_right: first those of one side, then the parts of
   straddling ones. into_bins: counts them in the children's bins. */
template <bool into_bins>
__device__ __forceinline__ void move_refs(const binned &k, large_shared &s, sorted_refs sorted) {
    const int axis = s.split.axis;
    const float plane = s.split.plane;
    uint32_t to_left = s.base_left + left_only(sorted.before),
             to_right = s.base_right + right_only(sorted.before),
             straddler = straddling(sorted.before);
    FOR_THREAD(s, i) {
        const clipped ref = ref_at(s, i);
        const uint32_t sides = sides_of(s.lo[axis][i], s.hi[axis][i], plane, s.right_side);
        if (sides == 3) {
            s.straddlers[straddler++] = (uint16_t)i;
            continue;
        }
        const bool right = sides == 2;
        k.pool[right ? to_right++ : to_left++] = ref;
        if (into_bins) count_child_bins(s, ref, right);
    }
    const uint32_t straddlers = straddling(sorted.all);
    if (straddlers == 0) return;
    __syncthreads();
    to_left = s.base_left + left_only(sorted.all);
    to_right = s.base_right + right_only(sorted.all);
#pragma unroll 1
    for (uint32_t part = threadIdx.x; part < 2 * straddlers; part += LARGE_BLOCK) {
        const bool right = part >= straddlers;
        const uint32_t i = right ? part - straddlers : part;
        const clipped ref = clip_side(k, ref_at(s, s.straddlers[i]), axis, plane, right);
        k.pool[i + (right ? to_right : to_left)] = ref;
        if (into_bins) count_child_bins(s, ref, right);
    }
}

#endif
