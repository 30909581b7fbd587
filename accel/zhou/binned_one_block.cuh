/* Large nodes of at most CHUNK references, and the list that blocks take tasks from while others
   add to it, so that no level of the large stage waits for another one.
   Idea: one block splits such a node, from histograms to scatter, keeps one of its large children
   and lists the other. Who wants a task draws a ticket and waits for the list's entry of that
   number, which nobody else looks at; an entry is one 64-bit word that is not 0. Tasks that are
   listed and not done are counted: who brings the count to 0 lists for each block that it may go
   home. All blocks of the kernel must run at the same time. */
#ifndef KD_ACCEL_ZHOU_BINNED_ONE_BLOCK_CUH
#define KD_ACCEL_ZHOU_BINNED_ONE_BLOCK_CUH
#include "accel/zhou/exact_planes.cuh"

/* --- the list of tasks ------------------------------------------------------------------------ */

enum task_kind { TASK_GO_HOME = 1, TASK_WHOLE, TASK_LOOK, TASK_REFINE, TASK_SCATTER };

struct large_task {
    task_kind kind;
    uint32_t node;  /* in the list of its kind */
    uint32_t chunk; /* the first one */
};

__device__ __forceinline__ unsigned long long task_pack(task_kind kind, uint32_t node,
                                                        uint32_t chunk) {
    return (unsigned long long)chunk << 32 | node << 3 | (uint32_t)kind;
}

/* What the task says was written by this thread, or by others of its block before a barrier. */
__device__ __forceinline__ void queue_put(const binned &k, uint32_t place,
                                          unsigned long long packed) {
    __threadfence();
    *(volatile unsigned long long *)(k.queue + place) = packed;
}

/* Places for `count` tasks, which are pending from now on; KD_NONE: there is no room, nor for any
   later ones. One thread. */
__device__ __forceinline__ uint32_t queue_reserve(const binned &k, uint32_t count) {
    atomicAdd(&k.count->pending, count);
    const uint32_t first = atomicAdd(&k.count->queued, count);
    if (first <= k.queue_room && count <= k.queue_room - first) return first;
    exhaust(k, EXHAUSTED_LISTS, 0);
    atomicMin(&k.count->queue_end, first);
    atomicAdd(&k.count->pending, 0u - count);
    return KD_NONE;
}

/* A task, once it is done and has listed what follows from it. True: it was the last of all. One
   thread. */
__device__ __forceinline__ bool queue_done(const binned &k) {
    return atomicAdd(&k.count->pending, ~0u) == 1;
}

/* By the block that was done last: each block's ticket that no task will come for. */
__device__ __forceinline__ void queue_close(const binned &k) {
    const uint32_t end = min(atomicAdd(&k.count->queued, 0u), atomicAdd(&k.count->queue_end, 0u));
    for (uint32_t i = threadIdx.x; i < gridDim.x; i += blockDim.x)
        queue_put(k, end + i, task_pack(TASK_GO_HOME, 0, 0));
}

/* Waits for a task. One thread; a barrier lets its block read what the task says. */
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

/* --- nodes ------------------------------------------------------------------------------------ */

__device__ __forceinline__ bool is_leaf(const binned &k, const work &node, float cost) {
    return !(cost < k.costs.intersect * (float)node.count) || node.depth >= k.max_depth;
}

/* A child that is not large goes to where its size belongs. One thread. */
__device__ inline void hand_on(const binned &k, const work &child) {
    if (child.count == 0) {
        k.raw[child.at] = raw_leaf(0, 0);
        return;
    }
    const int size = small_class(child.count);
    const uint32_t i = atomicAdd(&k.count->small[0][size], 1u);
    if (i < k.small_room)
        k.small[0][size][i] = child;
    else
        exhaust(k, EXHAUSTED_LISTS, 0);
}

/* Lists a node of at most one chunk; its references are in place. One thread. */
__device__ inline void list_whole(const binned &k, const work &node) {
    const uint32_t i = atomicAdd(&k.count->medium, 1u);
    if (i >= k.medium_room) {
        exhaust(k, EXHAUSTED_LISTS, 0);
        return;
    }
    k.medium[i] = node;
    const uint32_t place = queue_reserve(k, 1);
    if (place != KD_NONE) queue_put(k, place, task_pack(TASK_WHOLE, i, 0));
}

/* Room for a node's two children, references and raw nodes. One thread; false: there is none. */
__device__ inline bool reserve_children(const binned &k, const work &node, int axis, float plane,
                                        uint32_t references, uint32_t *first, uint32_t *children) {
    *first = atomicAdd(&k.count->pool, references);
    *children = atomicAdd(&k.count->nodes, 2u);
    if (*first > k.pool_room - references || *children + 2 > k.raw_room) {
        exhaust(k, *children + 2 > k.raw_room ? EXHAUSTED_NODES : EXHAUSTED_POOL, 0);
        return false;
    }
    make_inner(k, node, axis, plane, *children);
    return true;
}

/* By the whole block. */
__device__ inline void make_large_leaf(const binned &k, large_shared &s) {
    if (threadIdx.x == 0) {
        s.children = atomicAdd(&k.count->leaf_ids, s.node.count);
        s.stop = s.children > k.leaf_room - s.node.count;
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

/* s.node becomes one of its children, if one is large: true. By the whole block. */
__device__ inline bool split_whole_once(const binned &k, large_shared &s) {
    clear_bins(s.bins, 1);
    if (threadIdx.x < 3) {
        const int a = threadIdx.x;
        s.of[a] = sah_axis_of(box_of(s.node), a);
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
        s.waits[is_right] = child.count > SMALL_MOST;
        s.child[is_right] = child;
        if (!s.waits[is_right]) hand_on(k, child);
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
