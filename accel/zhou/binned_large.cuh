/* Large nodes: one cooperative kernel that runs until all nodes have at most SMALL_MAX references.
   Idea: there are no levels and no grid-wide barriers; blocks take tasks from a list
   (binned_one_block.cuh). A node of at most CHUNK references is one task. A larger one is divided
   into chunks, a few per task, and processed in two rounds: the refinement of promising bins, and
   the scatter, which also counts the children's bins while their references are written. The block
   that finishes a round last completes it and lists the next one. (Only the root's bins are counted
   in a separate round.)
   Data flow: blocks take tasks in any order; references and bins of a node, written by the block
   that listed the task -> its children's references, bins, raw nodes and tasks. A task's entry is
   written last, after a fence, and read first. */
#ifndef KD_ACCEL_ZHOU_BINNED_LARGE_CUH
#define KD_ACCEL_ZHOU_BINNED_LARGE_CUH
#include "accel/zhou/binned_one_block.cuh"
#include "accel/zhou/references.cuh"

/* Refinement of the bins of a node of several chunks.
   Idea: all bins whose bound is below the cost of the best edge are subdivided evenly, into as many
   parts as the histogram has space for: m bins of an axis into 128 / m parts or more each, with m
   up to 16. Refining only the bin of the lowest bound misses the best plane in scenes with small
   objects far apart (see the notebook). A part is a bin of a finer histogram, which only counts
   starts and ends in promising bins; each of these has a slot, and its parts are contiguous. */

enum {
    SLOT_BITS = 4,
    SLOTS = 1 << SLOT_BITS,
    NO_SLOT = 255,
    LIMIT_HALVED_MAX = 6,
    SLOT_WORDS = BINS / 4 /* one byte per bin */
};

static_assert(BINS_EACH == 4 && BINS / SLOTS >= BINS_EACH, "a lane's parts are of one bin");

/* The refinement of a node: each bin's slot, and the data of each slot's bin. */
struct bin_refinement {
    uint32_t slots[3][SLOT_WORDS];
    uint32_t bin[3][SLOTS];
    uint32_t begun[3][SLOTS], ended[3][SLOTS]; /* references that begin, and end, below it */
};

/* Finds the bins of axis a whose bound is below the cost of the best edge. If there are more than
   SLOTS, the limit is lowered halfway to the lowest bound, repeatedly. All lanes of a warp must
   call it. */
__device__ __forceinline__ void promise_axis(large_shared &s, const sah_costs &costs, int a,
                                             bin_refinement *refinement) {
    const int lane = threadIdx.x & 31;
    const sah_axis areas = s.areas[a];
    const uint32_t *begins = s.bins[0][a][0] + lane * BINS_EACH,
                   *ends = s.bins[0][a][1] + lane * BINS_EACH;
    uint32_t sum_begins = 0, sum_ends = 0;
#pragma unroll
    for (int i = 0; i < BINS_EACH; ++i) sum_begins += begins[i], sum_ends += ends[i];
    const uint32_t first_begun = warp_scan(sum_begins) - sum_begins;
    const uint32_t first_ended = warp_scan(sum_ends) - sum_ends;
    uint32_t begun = first_begun, ended = first_ended;
    float bound[BINS_EACH], minimum = INFINITY;
#pragma unroll
    for (int i = 0; i < BINS_EACH; ++i) {
        const int bin = lane * BINS_EACH + i;
        const uint32_t right = s.node.count - ended - ends[i];
        bound[i] = begins[i] + ends[i] == 0
                       ? INFINITY
                       : bin_bound(costs, areas, bin_edge(areas.lo, areas.hi, bin),
                                   bin_edge(areas.lo, areas.hi, bin + 1), begun, right);
        minimum = fminf(minimum, bound[i]);
        begun += begins[i], ended += ends[i];
    }
#pragma unroll
    for (int step = 16; step; step >>= 1)
        minimum = fminf(minimum, __shfl_xor_sync(WARP_ALL, minimum, step));
    float limit = s.split.cost;
    uint32_t slot = 0, all = 0;
#pragma unroll 1
    for (int halved = 0;; ++halved) {
        uint32_t thread_count = 0;
#pragma unroll
        for (int i = 0; i < BINS_EACH; ++i) thread_count += bound[i] < limit ? 1 : 0;
        const uint32_t upto = warp_scan(thread_count);
        slot = upto - thread_count;
        all = __shfl_sync(WARP_ALL, upto, 31);
        if (all <= SLOTS || halved == LIMIT_HALVED_MAX) break;
        limit = minimum + (limit - minimum) * 0.5f;
    }
    uint32_t word = 0;
    begun = first_begun, ended = first_ended;
#pragma unroll
    for (int i = 0; i < BINS_EACH; ++i) {
        const bool has = bound[i] < limit && slot < SLOTS;
        word |= (has ? slot : (uint32_t)NO_SLOT) << 8 * i;
        if (has) {
            refinement->bin[a][slot] = (uint32_t)(lane * BINS_EACH + i);
            refinement->begun[a][slot] = begun;
            refinement->ended[a][slot] = ended;
            ++slot;
        }
        begun += begins[i], ended += ends[i];
    }
    refinement->slots[a][lane] = word;
    if (lane != 0) return;
    const uint32_t promised = min(all, (uint32_t)SLOTS);
    s.split.promised[a] = promised;
    s.split.refined[a] = BIN_BITS - (promised > 1 ? 32 - __clz((int)promised - 1) : 0);
}

/* The same for all axes, once the best edge is known. All threads of the block must call it. */
__device__ __forceinline__ void promise_refined(large_shared &s, const sah_costs &costs,
                                                bin_refinement *refinement) {
    const int warp = threadIdx.x >> 5;
    __syncthreads();
    if (warp < 3) promise_axis(s, costs, warp, refinement);
    __syncthreads();
}

__device__ __forceinline__ bool wants_refinement(const big_split &split) {
    return split.promised[0] || split.promised[1] || split.promised[2];
}

/* Loads the data needed for counting; the next barrier makes them visible. */
__device__ __forceinline__ void begin_refined(large_shared &s, const bin_refinement &refinement) {
    for (int i = threadIdx.x; i < 3 * SLOT_WORDS; i += LARGE_BLOCK)
        ((uint32_t *)&s.slots[0][0])[i] = (&refinement.slots[0][0])[i];
    if (threadIdx.x < 3)
        s.refined_scale[threadIdx.x] =
            fminf(s.scale[threadIdx.x] * (float)(1u << s.split.refined[threadIdx.x]), FLT_MAX);
}

__device__ __forceinline__ void count_refined(large_shared &s, int a, int ends, float x) {
    const int refined = (int)s.split.refined[a], parts = 1 << refined;
    const int part =
        min(max((int)((x - s.node.lo[a]) * s.refined_scale[a]), 0), (BINS << refined) - 1);
    const uint32_t slot = s.slots[a][part >> refined];
    if (slot != NO_SLOT)
        atomicAdd(&s.bins[0][a][ends][(slot << refined) + (uint32_t)(part & (parts - 1))], 1u);
}

__device__ __forceinline__ void count_refs_refined(large_shared &s) {
    FOR_THREAD(s, i) {
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            if (s.split.promised[a] == 0) continue;
            count_refined(s, a, 0, s.lo[a][i]);
            count_refined(s, a, 1, s.hi[a][i]);
        }
    }
}

/* Returns the best edge of axis a between parts of bins. All lanes of a warp must call it. */
__device__ __forceinline__ plane_choice choose_part(const large_shared &s, const sah_costs &costs,
                                                    int a, const bin_refinement &refinement) {
    const int first = (threadIdx.x & 31) * BINS_EACH, refined = (int)s.split.refined[a];
    const uint32_t slot = (uint32_t)(first >> refined), count = s.node.count;
    const sah_axis areas = s.areas[a];
    uint32_t begins[BINS_EACH], ends[BINS_EACH], sum_begins, sum_ends;
    load_bins(s, a, begins, ends, sum_begins, sum_ends);
    const int width = (1 << refined) / BINS_EACH;
    uint32_t begun = group_scan(sum_begins, width) - sum_begins;
    uint32_t ended = group_scan(sum_ends, width) - sum_ends;
    plane_choice best = {INFINITY, 0, (uint32_t)a};
    if (slot < s.split.promised[a]) {
        begun += refinement.begun[a][slot];
        ended += refinement.ended[a][slot];
        const int part = ((int)refinement.bin[a][slot] << refined) + (first & ((1 << refined) - 1));
        const float share = 1.0f / (float)(BINS << refined);
        try_edges(best, costs, areas, begins, ends, begun, ended, count, [&](int i) {
            return areas.lo + (areas.hi - areas.lo) * ((float)(part + i) * share);
        });
    }
    return best_of_lanes<32>(best);
}

/* Replaces edges by better refined ones; s.bins[0] holds the complete counts. All threads of the
   block must call it. */
__device__ __forceinline__ void choose_refined(large_shared &s, const sah_costs &costs,
                                               const bin_refinement &refinement) {
    const int warp = threadIdx.x >> 5;
    __syncthreads();
    if (warp < 3 && s.split.promised[warp]) {
        const plane_choice best = choose_part(s, costs, warp, refinement);
        if ((threadIdx.x & 31) == 0 && best.cost < s.split.axes[warp].cost)
            s.split.axes[warp] = best;
    }
    __syncthreads();
    if (threadIdx.x == 0) choose_axis(s.split);
    __syncthreads();
}

enum { SPAN_MAX = 8 };

/* A node of several chunks. */
struct big_node {
    work node;
    big_split split;
    bin_refinement refined;
    uint32_t arrived;     /* finished tasks of the round */
    uint32_t left, right; /* references written to each side */
    bin_counts bins[2];   /* the refinement's in the first; later those of both children */
};

__device__ __forceinline__ uint32_t tasks_of(const work &node, uint32_t span) {
    const uint32_t maximum = span * CHUNK;
    return (node.count + maximum - 1) / maximum;
}

/* Lists a round of a node's tasks. All threads of the block must call it. */
__device__ inline void list_round(const binned &k, large_shared &s, uint32_t index,
                                  task_kind kind) {
    const uint32_t tasks = tasks_of(s.node, s.span);
    __syncthreads(); /* the tasks' data is written */
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
        s.areas[a] = sah_axis_of(box_of(s.node), a);
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

/* Adds s.node to the list of nodes; returns KD_NONE if its capacity is exceeded. All threads of the
   block must call it. */
__device__ inline uint32_t add_big(const binned &k, large_shared &s) {
    if (threadIdx.x == 0) {
        s.first_task = atomicAdd(&k.count->big, 1u);
        if (s.first_task >= k.big_capacity) {
            exhaust(k, EXHAUSTED_LISTS, 0);
            s.first_task = KD_NONE;
        }
    }
    __syncthreads();
    const uint32_t index = s.first_task;
    if (index == KD_NONE) return index;
    big_node *big = k.big + index;
    for (int i = threadIdx.x; i < 12 * BINS; i += LARGE_BLOCK) (&big->bins[0][0][0][0])[i] = 0;
    /* Tasks that count load the whole struct, even before the split is known. */
    for (uint32_t i = threadIdx.x; i < sizeof big->split / 4; i += LARGE_BLOCK)
        ((uint32_t *)&big->split)[i] = 0;
    if (threadIdx.x == 0) {
        big->node = s.node;
        big->arrived = big->left = big->right = 0;
    }
    return index;
}

/* Loads bins that other blocks counted to s.bins[0], bypassing the L1 cache, and clears them for
   the next round. */
__device__ __forceinline__ void take_bins(large_shared &s, bin_counts *bins) {
    uint32_t *counts = &(*bins)[0][0][0];
    for (int i = threadIdx.x; i < 6 * BINS; i += LARGE_BLOCK) {
        (&s.bins[0][0][0][0])[i] = __ldcg(&counts[i]);
        counts[i] = 0;
    }
}

/* After the refinement: makes the node a leaf, or lists the scatter. */
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

/* Given the counts of s.node in s.bins[0], lists the refinement, or decides without one. */
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

/* Adds the block's bins to the node's. Returns true for the round's last task. */
__device__ inline bool report_bins(const binned &k, large_shared &s, big_node *big, int nodes) {
    __syncthreads();
    uint32_t *sums = &big->bins[0][0][0][0];
    for (int i = threadIdx.x; i < nodes * 6 * BINS; i += LARGE_BLOCK) {
        const uint32_t value = (&s.bins[0][0][0][0])[i];
        if (value) atomicAdd(&sums[i], value);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence(); /* makes the sums visible before the report */
        s.last = atomicAdd(&big->arrived, 1u) + 1 == tasks_of(s.node, s.span);
        __threadfence();
    }
    __syncthreads();
    return s.last;
}

__device__ inline void refine(const binned &k, large_shared &s, const large_task &task) {
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

/* Called when all references are written and counted in the children's bins. */
__device__ inline void make_big_children(const binned &k, large_shared &s, big_node *big) {
    for (int side = 0; side < 2; ++side) {
        __syncthreads(); /* protects shared memory from the other side */
        if (threadIdx.x == 0) {
            const work node = big->node;
            const uint32_t first = big->split.first;
            s.node = child_of(node, big->split.axis, big->split.plane, side);
            s.node.first = side ? first + node.count : first;
            s.node.count = __ldcg(side ? &big->right : &big->left);
            s.node.at = big->split.children + side;
            if (s.node.count <= SMALL_MAX)
                enqueue_child(k, s.node);
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
            const uint32_t straddlers = straddling(sorted.all);
            s.base_left = s.split.first + atomicAdd(&big->left, left_only(sorted.all) + straddlers);
            s.base_right = s.split.first + s.node.count +
                           atomicAdd(&big->right, right_only(sorted.all) + straddlers);
        }
        __syncthreads();
        move_refs<true>(k, s, sorted);
    }
    if (report_bins(k, s, big, 2)) make_big_children(k, s, big);
}

/* Lists the first task. All threads of the block must call it. */
__device__ inline void begin_tree(const binned &k, large_shared &s) {
    const counters *c = k.count;
    if (threadIdx.x == 0) {
        for (int a = 0; a < 3; ++a) {
            s.node.lo[a] = unordered(c->box_lo[a]);
            s.node.hi[a] = unordered(c->box_hi[a]);
        }
        s.node.first = s.node.at = s.node.depth = 0;
        s.node.count = c->valid;
        if (s.node.count <= SMALL_MAX)
            enqueue_child(k, s.node);
        else if (s.node.count <= CHUNK)
            list_whole(k, s.node);
    }
    __syncthreads();
    if (s.node.count > CHUNK) {
        const uint32_t index = add_big(k, s);
        if (index != KD_NONE) list_round(k, s, index, TASK_BIN);
    }
}

__global__ __launch_bounds__(LARGE_BLOCK, LARGE_BLOCKS) void large_nodes(const binned k) {
    __shared__ large_shared s;
    __shared__ large_task task;
    if (threadIdx.x == 0)
        s.span = min(max(k.count->valid / (CHUNK * 2 * gridDim.x), 1u), (uint32_t)SPAN_MAX);
    __syncthreads();
    if (blockIdx.x == 0) begin_tree(k, s);
    for (bool begun = blockIdx.x == 0;; begun = true) {
        __syncthreads(); /* protects shared memory from the previous task */
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
        case TASK_EXIT: return;
        case TASK_WHOLE: split_whole(k, s, task.node); break;
        case TASK_BIN:
        case TASK_REFINE: refine(k, s, task); break;
        case TASK_SCATTER: scatter(k, s, task); break;
        }
    }
}

#endif
