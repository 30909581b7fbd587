/* Large nodes of at most CHUNK references, and the task list, from which blocks take tasks while
   others add to it, so that no part of the large-node stage waits for another.
   Idea: one block splits such a node, from histograms to scatter, continues with one of its large
   children and lists the other. To get a task, a block draws a ticket and waits for the list's
   entry of that number, which no other block accesses; an entry is one 64-bit word that is not 0.
   Tasks that are listed but not done are counted; the block that decrements the count to 0 lists a
   termination task for each block. All blocks of the kernel must be resident. */
#ifndef KD_ACCEL_ZHOU_BINNED_ONE_BLOCK_CUH
#define KD_ACCEL_ZHOU_BINNED_ONE_BLOCK_CUH
#include "accel/zhou/references.cuh"

/* The best plane of a large node of at most CHUNK references, exactly.
   Idea: a bin is ruled out if its lower bound (bins.cuh) is at least the cost of the best edge. The
   starts and ends in the remaining bins are listed bin by bin, and each of these sides is tried as
   a plane. Counts before its bin are known from prefix sums, so only the sides in the same bin are
   counted. */

/* A side of a reference: index in the chunk, axis << 9, and SIDE_ENDS if it is the end. */
enum { SIDE_ENDS = 1 << 11 };

__device__ __forceinline__ float side_at(const large_shared &s, uint32_t side, int axis) {
    const uint32_t i = side & (CHUNK - 1);
    return side & SIDE_ENDS ? s.hi[axis][i] : s.lo[axis][i];
}

/* In this file s.bins[1] holds for each bin of an axis: the first of its listed sides and their
   number; the numbers of references that begin, and end, below it. Each pair is packed into 2 x 16
   bits. */
__device__ __forceinline__ uint32_t pack_pair(uint32_t low, uint32_t high) {
    return low | high << 16;
}

/* Finds the bins of axis a whose bound is below the cost of the best edge, and assigns their sides
   to ranges that start at 0. Returns the number of these sides. Clears s.bins[0], which then counts
   the listed sides. All lanes of a warp must call it. */
__device__ __forceinline__ uint32_t promise_bins(large_shared &s, const sah_costs &costs, int a) {
    const int lane = threadIdx.x & 31;
    const sah_axis areas = s.areas[a];
    const uint32_t count = s.node.count;
    uint32_t counts[BINS_EACH], sum = 0; /* begins, ends */
#pragma unroll
    for (int i = 0; i < BINS_EACH; ++i) {
        const int bin = lane * BINS_EACH + i;
        sum += counts[i] = pack_pair(s.bins[0][a][0][bin], s.bins[0][a][1][bin]);
        s.bins[0][a][0][bin] = 0;
    }
    uint32_t below = warp_scan(sum) - sum, listed[BINS_EACH], all = 0;
#pragma unroll
    for (int i = 0; i < BINS_EACH; ++i) {
        const int bin = lane * BINS_EACH + i;
        const float edge = bin_edge(areas.lo, areas.hi, bin),
                    next = bin_edge(areas.lo, areas.hi, bin + 1);
        const uint32_t begun = below & 0xffff, right = count - (below >> 16) - (counts[i] >> 16);
        listed[i] = bin_bound(costs, areas, edge, next, begun, right) < s.split.cost
                        ? (counts[i] & 0xffff) + (counts[i] >> 16)
                        : 0;
        s.bins[1][a][1][bin] = below;
        all += listed[i];
        below += counts[i];
    }
    const uint32_t upto = warp_scan(all);
    uint32_t first = upto - all;
#pragma unroll
    for (int i = 0; i < BINS_EACH; ++i) {
        s.bins[1][a][0][lane * BINS_EACH + i] = pack_pair(first, listed[i]);
        first += listed[i];
    }
    return __shfl_sync(WARP_ALL, upto, 31);
}

/* The same for all axes; returns the number of sides. All threads of the block must call it. */
__device__ __forceinline__ uint32_t promise_sides(large_shared &s, const sah_costs &costs) {
    const int warp = threadIdx.x >> 5;
    __syncthreads(); /* the best edge is known */
    if (warp < 3) {
        const uint32_t promised = promise_bins(s, costs, warp);
        if ((threadIdx.x & 31) == 0) s.promised[warp] = promised;
    }
    __syncthreads();
    return s.promised[0] + s.promised[1] + s.promised[2];
}

__device__ __forceinline__ void list_sides(large_shared &s) {
    FOR_THREAD(s, i) {
        uint32_t first = 0;
#pragma unroll
        for (int a = 0; a < 3; ++a) {
#pragma unroll
            for (int ends = 0; ends < 2; ++ends) {
                const int bin = bin_of(ends ? s.hi[a][i] : s.lo[a][i], s.node.lo[a], s.scale[a]);
                const uint32_t capacity = s.bins[1][a][0][bin];
                if (capacity >> 16 == 0) continue;
                const uint32_t at = (capacity & 0xffff) + atomicAdd(&s.bins[0][a][0][bin], 1u);
                s.sides[first + at] =
                    (uint16_t)(i | (uint32_t)a << 9 | (ends ? (uint32_t)SIDE_ENDS : 0u));
            }
            first += s.promised[a];
        }
    }
}

/* Tries a listed side. */
__device__ __forceinline__ void try_side(plane_choice &best, const large_shared &s,
                                         const sah_costs &costs, uint32_t side) {
    const int axis = (int)(side >> 9 & 3);
    const uint32_t ref = side & (CHUNK - 1);
    const float plane = side_at(s, side, axis);
    const sah_axis areas = s.areas[axis];
    if (!is_candidate(areas, plane, s.lo[axis][ref] == s.hi[axis][ref])) return;
    const int bin = bin_of(plane, s.node.lo[axis], s.scale[axis]);
    const uint32_t capacity = s.bins[1][axis][0][bin], below = s.bins[1][axis][1][bin];
    uint32_t begin = capacity & 0xffff, in = 0;
    if (axis > 0) begin += s.promised[0];
    if (axis > 1) begin += s.promised[1];
    uint32_t left = below & 0xffff, ended = below >> 16;
#pragma unroll 1
    for (uint32_t j = begin, end = begin + (capacity >> 16); j < end; ++j) {
        const uint32_t other = s.sides[j];
        const float at = side_at(s, other, axis);
        if (other & SIDE_ENDS) {
            ended += at <= plane;
            in += at == plane && s.lo[axis][other & (CHUNK - 1)] == plane;
        } else {
            left += at < plane;
        }
    }
    /* References in the plane have ended, and have not begun before it. */
    const uint32_t count = s.node.count, right = count - ended;
    plane_choice tried = {cost_of(costs, areas, plane, left + in, right, count), plane,
                          (uint32_t)axis};
    if (plane < areas.hi && is_better(tried, best)) best = tried;
    if (in == 0 || plane == areas.lo) return;
    tried.cost = cost_of(costs, areas, plane, left, right + in, count);
    tried.code |= 4;
    if (is_better(tried, best)) best = tried;
}

/* Replaces s.split, an edge so far, by the best plane. All threads of the block must call it. */
__device__ __forceinline__ void choose_side(large_shared &s, const sah_costs &costs,
                                            uint32_t promised) {
    const int warp = threadIdx.x >> 5;
    list_sides(s);
    __syncthreads();
    plane_choice best = {INFINITY, 0, 8};
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < promised; i += LARGE_BLOCK)
        try_side(best, s, costs, s.sides[i]);
    best = best_of_lanes<32>(best);
    if ((threadIdx.x & 31) == 0) s.best[warp] = best;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < LARGE_WARPS; ++w)
            if (is_better(s.best[w], best)) best = s.best[w];
        if (best.cost < s.split.cost) {
            s.split.cost = best.cost;
            s.split.plane = best.plane;
            s.split.axis = (int)(best.code & 3);
            s.right_side = (best.code & 4) != 0;
        }
    }
    __syncthreads();
}

/* --- The task list --- */

enum task_kind { TASK_EXIT = 1, TASK_WHOLE, TASK_BIN, TASK_REFINE, TASK_SCATTER };

struct large_task {
    task_kind kind;
    uint32_t node;  /* index in the list of its kind */
    uint32_t chunk; /* the first chunk */
};

__device__ __forceinline__ unsigned long long task_pack(task_kind kind, uint32_t node,
                                                        uint32_t chunk) {
    return (unsigned long long)chunk << 32 | node << 3 | (uint32_t)kind;
}

/* Publishes a task. Its data must have been written by this thread, or by others of its block
   before a barrier. */
__device__ __forceinline__ void queue_put(const binned &k, uint32_t place,
                                          unsigned long long packed) {
    __threadfence();
    *(volatile unsigned long long *)(k.queue + place) = packed;
}

/* Reserves entries for `count` tasks, which are pending from now on. Returns KD_NONE if the
   capacity is exceeded, which also holds for all later calls. Called by one thread. */
__device__ __forceinline__ uint32_t queue_reserve(const binned &k, uint32_t count) {
    atomicAdd(&k.count->pending, count);
    const uint32_t first = atomicAdd(&k.count->queued, count);
    if (first <= k.queue_capacity && count <= k.queue_capacity - first) return first;
    exhaust(k, EXHAUSTED_LISTS, 0);
    atomicMin(&k.count->queue_end, first);
    atomicAdd(&k.count->pending, 0u - count);
    return KD_NONE;
}

/* Reports a task that is done and has listed its successors. Returns true if it was the last of
   all. Called by one thread. */
__device__ __forceinline__ bool queue_done(const binned &k) {
    return atomicAdd(&k.count->pending, ~0u) == 1;
}

/* Lists a termination task for each block. Called by the block that finished last. */
__device__ __forceinline__ void queue_close(const binned &k) {
    const uint32_t end = min(atomicAdd(&k.count->queued, 0u), atomicAdd(&k.count->queue_end, 0u));
    for (uint32_t i = threadIdx.x; i < gridDim.x; i += blockDim.x)
        queue_put(k, end + i, task_pack(TASK_EXIT, 0, 0));
}

/* Waits for a task. Called by one thread; after a barrier its block may read the task's data. */
__device__ inline large_task queue_take(const binned &k) {
    const uint32_t ticket = atomicAdd(&k.count->taken, 1u);
    unsigned long long packed;
    while (!(packed = *(volatile unsigned long long *)(k.queue + ticket))) __nanosleep(100);
    __threadfence();
    large_task task;
    task.kind = (task_kind)(packed & 7);
    task.node = (uint32_t)packed >> 3;
    task.chunk = (uint32_t)(packed >> 32);
    return task;
}

/* --- Nodes --- */

__device__ __forceinline__ bool is_leaf(const binned &k, const work &node, float cost) {
    return !(cost < k.costs.intersect * (float)node.count) || node.depth >= k.max_depth;
}

/* Adds a child that is not large to the list for its size. Called by one thread. */
__device__ inline void enqueue_child(const binned &k, const work &child) {
    if (child.count == 0) {
        k.raw[child.at] = raw_leaf(0, 0);
        return;
    }
    const int size = small_class(child.count);
    const uint32_t i = atomicAdd(&k.count->small[0][size], 1u);
    if (i < k.small_capacity)
        k.small[0][size][i] = child;
    else
        exhaust(k, EXHAUSTED_LISTS, 0);
}

/* Lists a node of at most one chunk, whose references are stored. Called by one thread. */
__device__ inline void list_whole(const binned &k, const work &node) {
    const uint32_t i = atomicAdd(&k.count->medium, 1u);
    if (i >= k.medium_capacity) {
        exhaust(k, EXHAUSTED_LISTS, 0);
        return;
    }
    k.medium[i] = node;
    const uint32_t place = queue_reserve(k, 1);
    if (place != KD_NONE) queue_put(k, place, task_pack(TASK_WHOLE, i, 0));
}

/* Reserves references and raw nodes for a node's two children. Returns false if a capacity is
   exceeded. Called by one thread. */
__device__ inline bool reserve_children(const binned &k, const work &node, int axis, float plane,
                                        uint32_t references, uint32_t *first, uint32_t *children) {
    *first = atomicAdd(&k.count->pool, references);
    *children = atomicAdd(&k.count->nodes, 2u);
    if (*first > k.pool_capacity - references || *children + 2 > k.raw_capacity) {
        exhaust(k, *children + 2 > k.raw_capacity ? EXHAUSTED_NODES : EXHAUSTED_POOL, 0);
        return false;
    }
    make_inner(k, node, axis, plane, *children);
    return true;
}

/* All threads of the block must call it. */
__device__ inline void make_large_leaf(const binned &k, large_shared &s) {
    if (threadIdx.x == 0) {
        s.children = atomicAdd(&k.count->leaf_ids, s.node.count);
        s.stop = s.children > k.leaf_capacity - s.node.count;
        if (s.stop)
            exhaust(k, EXHAUSTED_LEAVES, 0);
        else
            k.raw[s.node.at] = raw_leaf(s.children, s.node.count);
    }
    __syncthreads();
    if (s.stop) return;
    for (uint32_t i = threadIdx.x; i < s.node.count; i += LARGE_BLOCK)
        k.leaf_ids[s.children + i] = __float_as_uint(k.pool[s.node.first + i].lo.w);
}

/* Splits s.node. Returns true if s.node has been replaced by a large child, which is to be split
   next. All threads of the block must call it. */
__device__ inline bool split_whole_once(const binned &k, large_shared &s) {
    clear_bins(s.bins, 1);
    if (threadIdx.x < 3) {
        const int a = threadIdx.x;
        s.areas[a] = sah_axis_of(box_of(s.node), a);
        s.scale[a] = bin_scale(s.node.lo[a], s.node.hi[a]);
    }
    load_refs(k, s, s.node.first, s.node.count);
    count_refs(s);
    choose_edges(s, k.costs);
    if (threadIdx.x == 0) {
        choose_axis(s.split);
        s.right_side = false;
    }
    choose_side(s, k.costs, promise_sides(s, k.costs));
    if (is_leaf(k, s.node, s.split.cost)) {
        make_large_leaf(k, s);
        return false;
    }
    const sorted_refs sorted = sort_refs(s);
    const uint32_t left = left_only(sorted.all) + straddling(sorted.all),
                   right = right_only(sorted.all) + straddling(sorted.all);
    if (threadIdx.x == 0) {
        s.stop = !reserve_children(k, s.node, s.split.axis, s.split.plane, left + right,
                                   &s.base_left, &s.children);
        s.base_right = s.base_left + left;
    }
    __syncthreads();
    if (s.stop) return false;
    move_refs<false>(k, s, sorted);
    if (threadIdx.x == 0 || threadIdx.x == 32) {
        const bool is_right = threadIdx.x == 32;
        work child = child_of(s.node, s.split.axis, s.split.plane, is_right);
        child.first = is_right ? s.base_right : s.base_left;
        child.count = is_right ? right : left;
        child.at = s.children + is_right;
        s.waits[is_right] = child.count > SMALL_MAX;
        s.child[is_right] = child;
        if (!s.waits[is_right]) enqueue_child(k, child);
    }
    __syncthreads(); /* references and children are written */
    const bool again = s.waits[0] || s.waits[1];
    if (threadIdx.x == 0) {
        s.node = s.child[s.waits[0] ? 0 : 1];
        if (s.waits[0] && s.waits[1]) list_whole(k, s.child[1]);
    }
    __syncthreads();
    return again;
}

__device__ inline void split_whole(const binned &k, large_shared &s, uint32_t index) {
    if (threadIdx.x < sizeof(work) / 4)
        ((uint32_t *)&s.node)[threadIdx.x] = ((const uint32_t *)(k.medium + index))[threadIdx.x];
    __syncthreads();
    while (split_whole_once(k, s)) continue;
}

#endif
