/* One thread per query, for few neighbours and queries close to each other.
   Kept because, if queries are sparse among the points, it is 1.05 to 1.6 times as fast as the next
   best method for k up to 12. Each of its kernels is 1.1 to 1.4 times as fast as the kernel for the
   next larger k (tools/bench/results/h200-variants.txt).
   Idea: descend a binary tree of pairs of boxes to the nearer child first and push the other one on
         a stack with its distance. Half leaves of 16 points are read four points at a time; the k
         nearest are kept as sorted keys in registers. Queries in the order of a space-filling curve
         keep the threads of a warp on one path.
   Work: a pair is one line of 64 bytes.
   Data flow: one thread per query, in curve order: query, pairs of boxes, half leaves -> keys in
              registers -> the row of the query. */
#ifndef KD_POINTS_NEIGHBOURS_THREAD_PER_QUERY_CUH
#define KD_POINTS_NEIGHBOURS_THREAD_PER_QUERY_CUH
#include "points/neighbours/warp_per_query.cuh"

namespace point_index {

constexpr int THREADS_BLOCK = 128, STACK_DEPTH = 30;

/* (dist2, id) as one integer of the same order. */
typedef unsigned long long answer_key;

/* Sorted keys; the bound is the dist2 of the last. */
template <int K> struct nearest_list {
    answer_key key[K];

    __device__ void open(float bound2) {
#pragma unroll
        for (int i = 0; i < K; ++i) key[i] = (answer_key)__float_as_uint(bound2) << 32 | KD_NONE;
    }
    __device__ float bound2() const {
        return __uint_as_float((uint32_t)(key[K - 1] >> 32));
    }
    __device__ bool is_full() const {
        return (uint32_t)key[K - 1] != KD_NONE;
    }
    __device__ void offer(float dist2, uint32_t id) {
        const answer_key item = (answer_key)__float_as_uint(dist2) << 32 | id;
        if (item < key[K - 1]) insert(item);
    }
    /* Shifts the elements after the item by one, each independently of the others; drops the
       last. */
    __device__ void insert(answer_key item) {
#pragma unroll
        for (int i = K - 1; i > 0; --i)
            key[i] = item < key[i - 1] ? key[i - 1] : item < key[i] ? item : key[i];
        key[0] = item < key[0] ? item : key[0];
    }
};

/* Stores a row, four results at a time if it is aligned. */
template <int K>
__device__ inline void store_list(const answer_rows &out, uint32_t which, uint32_t k,
                                  const nearest_list<K> &best, bool any) {
    uint32_t count = 0, id[K], dist2[K];
#pragma unroll
    for (int i = 0; i < K; ++i) {
        const bool valid = any && (uint32_t)best.key[i] != KD_NONE;
        id[i] = valid ? (uint32_t)best.key[i] : KD_NONE;
        dist2[i] = valid ? (uint32_t)(best.key[i] >> 32) : __float_as_uint(INFINITY);
        count += valid && i < k;
    }
    const uint64_t row = (uint64_t)which * k;
    const uintptr_t places = (uintptr_t)out.ids | (uintptr_t)out.dist2;
    if (K % 4 == 0 && k % 4 == 0 && places % sizeof(uint4) == 0) {
#pragma unroll
        for (int i = 0; i + 3 < K; i += 4) {
            if (i >= k) break;
            if (out.ids)
                *(uint4 *)(out.ids + row + i) = make_uint4(id[i], id[i + 1], id[i + 2], id[i + 3]);
            if (out.dist2)
                *(uint4 *)(out.dist2 + row + i) =
                    make_uint4(dist2[i], dist2[i + 1], dist2[i + 2], dist2[i + 3]);
        }
    } else {
#pragma unroll
        for (int i = 0; i < K; ++i)
            if (i < k) store_answer(out, row + i, id[i], dist2[i]);
    }
    if (out.counts) out.counts[which] = count;
}

/* Distances to the boxes of both children. */
__device__ inline float2 pair_dist2(const view &index, uint32_t node, vec3 q) {
    const float4 *at = index.pairs + 4ull * node;
    const float4 a = at[0], b = at[1], c = at[2];
    return make_float2(box_dist2(a.x, a.y, a.z, a.w, b.x, b.y, q),
                       box_dist2(b.z, b.w, c.x, c.y, c.z, c.w, q));
}

template <class LIST>
__device__ inline void visit_run(const view &index, uint32_t run, vec3 q, LIST &best) {
    const point_range range = run_range(index, run);
    for (uint32_t i = range.begin; i < range.end; i += 4) {
        float4 p[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) p[j] = index.points[min(i + j, range.end - 1)];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float dist2 = pointtree_dist2(q, xyz(p[j]));
            if ((dist2 <= best.bound2()) & (i + j < range.end))
                best.offer(dist2, __float_as_uint(p[j].w));
        }
    }
}

template <int K>
__global__ __launch_bounds__(THREADS_BLOCK) void nearest_by_threads(
    const __grid_constant__ view index, point_queries queries, uint32_t k, answer_rows out) {
    const uint32_t turn = blockIdx.x * THREADS_BLOCK + threadIdx.x;
    if (turn >= queries.count) return;
    const uint32_t which = queries.order ? queries.order[turn] : turn;
    const vec3 q = query_point(queries, which);
    const float bound2 = query_limit2(queries, which, q);
    nearest_list<K> best;
    best.open(bound2);
    uint2 stack[STACK_DEPTH];
    int depth = 0;
    uint32_t node = 0;
    bool going = bound2 >= 0;
    while (going) {
        bool in_reach = true;
        while (in_reach & (node < index.pair_count)) {
            const float2 dist2 = pair_dist2(index, node, q);
            const bool right = dist2.y < dist2.x;
            const float near = right ? dist2.y : dist2.x, far = right ? dist2.x : dist2.y;
            if (far <= best.bound2())
                stack[depth++] = make_uint2(2 * node + 2 - right, __float_as_uint(far));
            in_reach = near <= best.bound2();
            node = 2 * node + 1 + right;
        }
        if (in_reach) visit_run(index, node - index.pair_count, q, best);
        do {
            going = depth > 0;
            if (!going) break;
            node = stack[--depth].x;
        } while (!(__uint_as_float(stack[depth].y) <= best.bound2()));
    }
    store_list(out, which, k, best, bound2 >= 0);
}

} // namespace point_index
#endif
