/* Large nodes: one cooperative kernel until all nodes have at most SMALL_MOST references.
   Idea: no levels and no grid-wide barriers; blocks take tasks from a list (binned_one_block.cuh). A
   node of at most CHUNK references is one task. A larger one is cut into
   chunks, a few of them a task, in two rounds: the look into the bins that promise more, and the
   scatter, in which the children's bins are counted as their references are written. Who is done
   last in a round brings it to its end and lists the next. (Only the root's bins are counted in a
   round of their own.)
   Data flow: blocks take tasks in any order; references and bins of a node, written by whoever
              listed the task -> its children's references, bins, raw nodes and tasks. A task's
              entry is written last, behind a fence, and read first. */
#ifndef KD_ACCEL_ZHOU_BINNED_LARGE_CUH
#define KD_ACCEL_ZHOU_BINNED_LARGE_CUH
#include "accel/zhou/binned_one_block.cuh"
#include "accel/zhou/refine_bins.cuh"

enum { SPAN_MOST = 8 };

/* A node of several chunks. */
struct big_node {
    work node;
    big_split split;
    bin_refinement refined;
    uint32_t arrived;     /* tasks of the round that are done */
    uint32_t left, right; /* references that have been written to each side */
    bin_counts bins[2];   /* the second look's in the first; then, both children's */
};

__device__ __forceinline__ uint32_t tasks_of(const work &node, uint32_t span) {
    const uint32_t most = span * CHUNK;
    return (node.count + most - 1) / most;
}

/* Lists a round of a node's tasks. By the whole block. */
__device__ inline void list_round(const binned &k, large_shared &s, uint32_t index,
                                  task_kind kind) {
    const uint32_t tasks = tasks_of(s.node, s.span);
    __syncthreads(); /* what they say is written */
    if (threadIdx.x == 0) s.first_task = queue_reserve(k, tasks);
    __syncthreads();
    if (s.first_task == KD_NONE) return;
    for (uint32_t i = threadIdx.x; i < tasks; i += LARGE_BLOCK)
        queue_put(k, s.first_task + i, task_pack(kind, index, i * s.span));
}

__device__ __forceinline__ void measure_node(large_shared &s) {
    __syncthreads();
    if (threadIdx.x < 3) {
        const int a = threadIdx.x;
        s.of[a] = sah_axis_of(box_of(s.node), a);
        s.scale[a] = bin_scale(s.node.lo[a], s.node.hi[a]);
    }
    __syncthreads();
}

__device__ __forceinline__ void begin_big(large_shared &s, const big_node *big) {
    if (threadIdx.x < sizeof(work) / 4)
        ((uint32_t *)&s.node)[threadIdx.x] = ((const uint32_t *)&big->node)[threadIdx.x];
    for (uint32_t i = threadIdx.x; i < sizeof s.split / 4; i += LARGE_BLOCK)
        ((uint32_t *)&s.split)[i] = ((const uint32_t *)&big->split)[i];
    clear_bins(s.bins, 2);
    measure_node(s);
}

/* s.node in the list of nodes; KD_NONE: there is no room. By the whole block. */
__device__ inline uint32_t add_big(const binned &k, large_shared &s) {
    if (threadIdx.x == 0) {
        s.first_task = atomicAdd(&k.count->big, 1u);
        if (s.first_task >= k.big_room) {
            exhaust(k, EXHAUSTED_LISTS, 0);
            s.first_task = KD_NONE;
        }
    }
    __syncthreads();
    const uint32_t index = s.first_task;
    if (index == KD_NONE) return index;
    big_node *big = k.big + index;
    for (int i = threadIdx.x; i < 12 * BINS; i += LARGE_BLOCK) (&big->bins[0][0][0][0])[i] = 0;
    /* blocks that look read all of it, before there is a split */
    for (uint32_t i = threadIdx.x; i < sizeof big->split / 4; i += LARGE_BLOCK)
        ((uint32_t *)&big->split)[i] = 0;
    if (threadIdx.x == 0) {
        big->node = s.node;
        big->arrived = big->left = big->right = 0;
    }
    return index;
}

/* Bins that other blocks counted, into s.bins[0]: not to be read from this multiprocessor's cache.
   They are cleared for the next round. */
__device__ __forceinline__ void take_bins(large_shared &s, bin_counts *bins) {
    uint32_t *counts = &(*bins)[0][0][0];
    for (int i = threadIdx.x; i < 6 * BINS; i += LARGE_BLOCK) {
        (&s.bins[0][0][0][0])[i] = __ldcg(&counts[i]);
        counts[i] = 0;
    }
}

/* After all looks: leaf, or a round of scatter. */
__device__ inline void decide_big(const binned &k, large_shared &s, uint32_t index) {
    __syncthreads();
    if (is_leaf(k, s.node, s.split.cost)) {
        make_large_leaf(k, s);
        return;
    }
    if (threadIdx.x == 0) {
        s.stop = !reserve_children(k, s.node, s.split.axis, s.split.plane, 2 * s.node.count,
                                   &s.split.first, &s.split.children);
        k.big[index].split = s.split;
        k.big[index].arrived = 0;
    }
    __syncthreads();
    if (!s.stop) list_round(k, s, index, TASK_SCATTER);
}

/* From the counts of s.node in s.bins[0]: a second look, or the decision. */
__device__ inline void choose_big(const binned &k, large_shared &s, uint32_t index) {
    choose_edges(s, k.costs);
    if (threadIdx.x == 0) choose_axis(s.split);
    promise_refined(s, k.costs, &k.big[index].refined);
    if (threadIdx.x == 0) {
        k.big[index].split = s.split;
        k.big[index].arrived = 0;
    }
    if (wants_refinement(s.split))
        list_round(k, s, index, TASK_REFINE);
    else
        decide_big(k, s, index);
}

/* Adds the block's bins to the node's; true for the round's last task. */
__device__ inline bool report_bins(const binned &k, large_shared &s, big_node *big, int nodes) {
    __syncthreads();
    uint32_t *sums = &big->bins[0][0][0][0];
    for (int i = threadIdx.x; i < nodes * 6 * BINS; i += LARGE_BLOCK) {
        const uint32_t value = (&s.bins[0][0][0][0])[i];
        if (value) atomicAdd(&sums[i], value);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence(); /* sums before the announcement */
        s.last = atomicAdd(&big->arrived, 1u) + 1 == tasks_of(s.node, s.span);
        __threadfence();
    }
    __syncthreads();
    return s.last;
}

__device__ inline void look(const binned &k, large_shared &s, const large_task &task) {
    const bool refined = task.kind == TASK_REFINE;
    big_node *big = k.big + task.node;
    begin_big(s, big);
    if (refined) begin_refined(s, big->refined);
    const uint32_t begin = task.chunk * CHUNK, end = min(s.node.count, begin + s.span * CHUNK);
    for (uint32_t at = begin; at < end; at += CHUNK) {
        load_refs(k, s, s.node.first + at, min((uint32_t)CHUNK, end - at));
        if (refined)
            count_refs_refined(s);
        else
            count_refs(s);
    }
    if (!report_bins(k, s, big, 1)) return;
    take_bins(s, big->bins);
    if (refined) {
        choose_refined(s, k.costs, big->refined);
        decide_big(k, s, task.node);
    } else {
        choose_big(k, s, task.node);
    }
}

/* All references are written, and counted in the children's bins. */
__device__ inline void make_big_children(const binned &k, large_shared &s, big_node *big) {
    for (int side = 0; side < 2; ++side) {
        __syncthreads(); /* the other side is done with */
        if (threadIdx.x == 0) {
            const work node = big->node;
            const uint32_t first = big->split.first;
            s.node = child_of(node, big->split.axis, big->split.plane, side);
            s.node.first = side ? first + node.count : first;
            s.node.count = __ldcg(side ? &big->right : &big->left);
            s.node.at = big->split.children + side;
            if (s.node.count <= SMALL_MOST)
                hand_on(k, s.node);
            else if (s.node.count <= CHUNK)
                list_whole(k, s.node);
        }
        __syncthreads();
        if (s.node.count <= CHUNK) continue;
        const uint32_t index = add_big(k, s);
        if (index == KD_NONE) continue;
        take_bins(s, big->bins + side);
        measure_node(s);
        choose_big(k, s, index);
    }
}

__device__ inline void scatter(const binned &k, large_shared &s, const large_task &task) {
    big_node *big = k.big + task.node;
    begin_big(s, big);
    if (threadIdx.x < 6) {
        const int a = threadIdx.x % 3, side = threadIdx.x / 3;
        const bool cut = a == s.split.axis;
        const float lo = cut && side == 1 ? s.split.plane : s.node.lo[a];
        const float hi = cut && side == 0 ? s.split.plane : s.node.hi[a];
        s.child_lo[side][a] = lo;
        s.child_scale[side][a] = bin_scale(lo, hi);
        s.right_side = false;
    }
    __syncthreads();
    const uint32_t begin = task.chunk * CHUNK, end = min(s.node.count, begin + s.span * CHUNK);
    for (uint32_t at = begin; at < end; at += CHUNK) {
        load_refs(k, s, s.node.first + at, min((uint32_t)CHUNK, end - at));
        const sorted_refs sorted = sort_refs(s);
        if (threadIdx.x == 0) {
            const uint32_t both = straddling(sorted.all);
            s.base_left = s.split.first + atomicAdd(&big->left, left_only(sorted.all) + both);
            s.base_right = s.split.first + s.node.count +
                           atomicAdd(&big->right, right_only(sorted.all) + both);
        }
        __syncthreads();
        move_refs<true>(k, s, sorted);
    }
    if (report_bins(k, s, big, 2)) make_big_children(k, s, big);
}

/* The first task. By the whole block. */
__device__ inline void begin_tree(const binned &k, large_shared &s) {
    const counters *c = k.count;
    if (threadIdx.x == 0) {
        for (int a = 0; a < 3; ++a) {
            s.node.lo[a] = unordered(c->box_lo[a]);
            s.node.hi[a] = unordered(c->box_hi[a]);
        }
        s.node.first = s.node.at = s.node.depth = 0;
        s.node.count = c->valid;
        if (s.node.count <= SMALL_MOST)
            hand_on(k, s.node);
        else if (s.node.count <= CHUNK)
            list_whole(k, s.node);
    }
    __syncthreads();
    if (s.node.count > CHUNK) {
        const uint32_t index = add_big(k, s);
        if (index != KD_NONE) list_round(k, s, index, TASK_LOOK);
    }
}

__global__ __launch_bounds__(LARGE_BLOCK, LARGE_BLOCKS) void large_nodes(const binned k) {
    __shared__ large_shared s;
    __shared__ large_task task;
    if (threadIdx.x == 0)
        s.span = min(max(k.count->valid / (CHUNK * 2 * gridDim.x), 1u), (uint32_t)SPAN_MOST);
    __syncthreads();
    if (blockIdx.x == 0) begin_tree(k, s);
    for (bool begun = blockIdx.x == 0;; begun = true) {
        __syncthreads(); /* the task before is done with */
        if (threadIdx.x == 0) {
            s.last = begun && queue_done(k);
            if (!s.last) task = queue_take(k);
        }
        __syncthreads();
        if (s.last) {
            queue_close(k);
            return;
        }
        switch (task.kind) {
        case TASK_GO_HOME: return;
        case TASK_WHOLE: split_whole(k, s, task.node); break;
        case TASK_LOOK:
        case TASK_REFINE: look(k, s, task); break;
        case TASK_SCATTER: scatter(k, s, task); break;
        }
    }
}

#endif
