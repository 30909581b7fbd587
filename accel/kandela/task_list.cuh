/* Work of the large stage: a list that blocks take tasks from while others add to it, so that no
   level waits for another one.
   Idea: who wants a task draws a ticket and waits for the list's entry of that number, which nobody
   else looks at; an entry is one 64-bit word that is not 0. Tasks that are listed and not done are
   counted: who brings the count to 0 lists for each block that it may go home. All blocks of the
   kernel must run at the same time. */
#ifndef KD_ACCEL_KANDELA_TASK_LIST_CUH
#define KD_ACCEL_KANDELA_TASK_LIST_CUH
#include "accel/kandela/state.cuh"

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
__device__ __forceinline__ void queue_put(const kandela &k, uint32_t place,
                                          unsigned long long packed) {
    __threadfence();
    *(volatile unsigned long long *)(k.queue + place) = packed;
}

/* Places for `count` tasks, which are pending from now on; KD_NONE: there is no room, nor for any
   later ones. One thread. */
__device__ __forceinline__ uint32_t queue_reserve(const kandela &k, uint32_t count) {
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
__device__ __forceinline__ bool queue_done(const kandela &k) {
    return atomicAdd(&k.count->pending, ~0u) == 1;
}

/* By the block that was done last: each block's ticket that no task will come for. */
__device__ __forceinline__ void queue_close(const kandela &k) {
    const uint32_t end = min(atomicAdd(&k.count->queued, 0u), atomicAdd(&k.count->queue_end, 0u));
    for (uint32_t i = threadIdx.x; i < gridDim.x; i += blockDim.x)
        queue_put(k, end + i, task_pack(TASK_GO_HOME, 0, 0));
}

/* Waits for a task. One thread; a barrier lets its block read what the task says. */
__device__ inline large_task queue_take(const kandela &k) {
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

#endif
