/* A thread a query, for few neighbours and queries near each other.
   Idea: down a binary tree of pairs of boxes, the nearer child first, the other on a stack with its
   distance; runs of 8 to 16 points, read four at a time; the k nearest as sorted keys in registers.
   Queries in the order of a space-filling curve keep the threads of a warp on one path.
   Work: a pair is one line of 64 bytes. */
#ifndef KD_PHOTON_QUERY_CUDA_THREADS_CUH
#define KD_PHOTON_QUERY_CUDA_THREADS_CUH
#include "photon/query_cuda_leaves.cuh"

namespace point_index {

constexpr int THREADS_BLOCK = 128, STACK_DEPTH = 30;

/* (dist2, id) as one number of the same order. */
typedef unsigned long long answer_key;

/* Sorted keys; the bound is that of the last. */
template <int K> struct nearest_list {
    answer_key key[K];

    __device__ void open(float bound2) {
#pragma unroll
        for (int i = 0; i < K; ++i) key[i] = (answer_key)__float_as_uint(bound2) << 32 | KD_NONE;
    }
    __device__ float bound2() const {
        return __uint_as_float((uint32_t)(key[K - 1] >> 32));
    }
    __device__ void offer(float dist2, uint32_t id) {
        answer_key item = (answer_key)__float_as_uint(dist2) << 32 | id;
        if (!(item < key[K - 1])) return;
#pragma unroll
        for (int i = 0; i < K; ++i) {
            const answer_key held = key[i];
            const bool first = item < held;
            key[i] = first ? item : held;
            item = first ? held : item;
        }
    }
};

/* Both children's distances. */
__device__ inline float2 pair_dist2(const view &index, uint32_t node, vec3 q) {
    const float4 *at = index.pairs + 4ull * node;
    const float4 a = at[0], b = at[1], c = at[2];
    return make_float2(box_dist2(a.x, a.y, a.z, a.w, b.x, b.y, q),
                       box_dist2(b.z, b.w, c.x, c.y, c.z, c.w, q));
}

template <class LIST>
__device__ inline void look_at_run(const view &index, uint32_t run, vec3 q, LIST &best) {
    const uint32_t end = leaf_begin(index, run + 1, RUN_WIDTH);
    for (uint32_t i = leaf_begin(index, run, RUN_WIDTH); i < end; i += 4) {
        float4 p[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) p[j] = index.points[min(i + j, end - 1)];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float dist2 = pointtree_dist2(q, xyz(p[j]));
            if ((dist2 <= best.bound2()) & (i + j < end))
                best.offer(dist2, __float_as_uint(p[j].w));
        }
    }
}

template <int K>
__global__ __launch_bounds__(THREADS_BLOCK) void nearest_by_threads(
    const __grid_constant__ view index, asked queries, uint32_t k, answer_rows out) {
    const uint32_t turn = blockIdx.x * THREADS_BLOCK + threadIdx.x;
    if (turn >= queries.count) return;
    const uint32_t which = queries.order ? queries.order[turn] : turn;
    const vec3 q = asked_point(queries, which);
    const float bound2 = asked_bound2(queries, which, q);
    nearest_list<K> best;
    best.open(bound2);
    uint2 stack[STACK_DEPTH];
    int depth = 0;
    uint32_t node = 0;
    bool going = bound2 >= 0;
    while (going) {
        bool in_reach = true;
        while (in_reach & (node < index.pair_count)) {
            const float2 of = pair_dist2(index, node, q);
            const bool right = of.y < of.x;
            const float near = right ? of.y : of.x, far = right ? of.x : of.y;
            if (far <= best.bound2())
                stack[depth++] = make_uint2(2 * node + 2 - right, __float_as_uint(far));
            in_reach = near <= best.bound2();
            node = 2 * node + 1 + right;
        }
        if (in_reach) look_at_run(index, node - index.pair_count, q, best);
        do {
            going = depth > 0;
            if (!going) break;
            node = stack[--depth].x;
        } while (!(__uint_as_float(stack[depth].y) <= best.bound2()));
    }
    uint32_t count = 0;
#pragma unroll
    for (int i = 0; i < K; ++i) {
        const bool there = bound2 >= 0 && (uint32_t)best.key[i] != KD_NONE;
        if (i >= k) continue;
        count += there;
        store_answer(out, (uint64_t)which * k + i, there ? (uint32_t)best.key[i] : KD_NONE,
                     there ? (uint32_t)(best.key[i] >> 32) : __float_as_uint(INFINITY));
    }
    if (out.counts) out.counts[which] = count;
}

} // namespace point_index
#endif
