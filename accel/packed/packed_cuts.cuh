/* The kernels that cut leaves of a k-d tree in device memory further (packed_finer.h): what
   packed_make.c does.
   Idea: the finer tree begins with the nodes of the given one. Each of its leaves is a task of a
         lane, which goes down one half of what it cuts and keeps the other; lanes that are done
         fetch the next leaf. New nodes and references lie in the order in which lanes come to
         them: nothing of the packed form depends on it.
   Memory: 36 bytes a node, 4 a reference, 32 a leaf that is not empty. Where rooms are too small
           nothing is written, and who asked makes them larger. */
#ifndef KD_ACCEL_PACKED_PACKED_CUTS_CUH
#define KD_ACCEL_PACKED_PACKED_CUTS_CUH
#include "accel/packed/packed_finer.h"
#include <stdint.h>

enum { PACKED_MAKE_BLOCK = 128 };

/* Counters; the first two are what rooms should have had. */
typedef struct packed_cut_counts {
    unsigned long long nodes, references, leaves; /* leaves: tasks */
    uint32_t next, spare;                         /* of the tasks */
} packed_cut_counts;

typedef struct packed_leaf_task {
    box3 cell;
    uint32_t node, spare;
} packed_leaf_task;

typedef struct packed_cutter {
    tritree_view tree; /* as it was given */
    uint64_t node_room, reference_room;
    tritree_node *nodes; /* of the finer one */
    uint32_t *references;
    box3 *boxes;                /* a leaf's */
    uint32_t *parents, *report; /* a pair of nodes: whose they are, how many of both are measured */
    packed_leaf_task *tasks;
    packed_cut_counts *counts;
} packed_cutter;

__device__ __forceinline__ uint32_t packed_pair_of(uint32_t node) {
    return (node - 1) >> 1;
}

/* The nodes of the given tree. */
__global__ __launch_bounds__(PACKED_MAKE_BLOCK) void packed_copy_nodes(
    const __grid_constant__ packed_cutter c) {
    const uint32_t i = blockIdx.x * PACKED_MAKE_BLOCK + threadIdx.x;
    if (i == 0) {
        c.counts->nodes = c.tree.node_count;
        c.counts->references = c.tree.reference_count;
        c.counts->leaves = c.counts->next = 0;
    }
    if (i >= c.tree.node_count) return;
    const tritree_node node = c.tree.nodes[i];
    c.nodes[i] = node;
    if (tritree_is_leaf(node)) return;
    c.parents[packed_pair_of(tritree_left(node))] = i;
    c.report[packed_pair_of(tritree_left(node))] = 0;
}

/* The cell of a node: its side on each axis is the nearest plane above that bounds it. */
__device__ __forceinline__ box3 packed_cell_of(const packed_cutter &c, uint32_t at) {
    box3 cell;
    cell.lo = vec3_all(-INFINITY);
    cell.hi = vec3_all(INFINITY);
    uint32_t open = 63;
    while (at != 0 && open != 0) {
        const uint32_t parent = __ldg(c.parents + packed_pair_of(at));
        const tritree_node node = c.tree.nodes[parent];
        const int axis = tritree_axis(node);
        const bool low = at & 1; /* then the plane is its upper side */
        const uint32_t side = low ? 1u << axis : 8u << axis;
        if (open & side) vec3_set_axis(low ? &cell.hi : &cell.lo, axis, node.split);
        open &= ~side;
        at = parent;
    }
    return cell;
}

/* Places for so many items of each lane of a warp, of a counter of all: one atomic for the warp. */
__device__ __forceinline__ unsigned long long packed_take(unsigned long long *counter,
                                                          uint32_t mine) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t upto = mine;
    for (uint32_t step = 1; step < 32; step <<= 1) {
        const uint32_t lower = __shfl_up_sync(~0u, upto, (int)step);
        if (lane >= step) upto += lower;
    }
    const uint32_t all = __shfl_sync(~0u, upto, 31);
    unsigned long long first = 0;
    if (lane == 0 && all) first = atomicAdd(counter, (unsigned long long)all);
    return __shfl_sync(~0u, first, 0) + (upto - mine);
}

__global__ __launch_bounds__(PACKED_MAKE_BLOCK) void packed_list_leaves(
    const __grid_constant__ packed_cutter c) {
    const uint32_t i = blockIdx.x * PACKED_MAKE_BLOCK + threadIdx.x;
    uint32_t count = 0;
    if (i < c.tree.node_count && tritree_is_leaf(c.tree.nodes[i])) {
        count = tritree_count(c.tree.nodes[i]);
        if (count == 0) c.boxes[i] = box3_empty();
    }
    __syncwarp();
    const unsigned long long place = packed_take(&c.counts->leaves, count ? 1 : 0);
    if (count == 0) return;
    packed_leaf_task task;
    task.cell = packed_cell_of(c, i);
    task.node = i;
    task.spare = 0;
    c.tasks[place] = task;
}

/* A part of a leaf that waits for its lane. */
typedef struct packed_waiting {
    box3 cell;
    uint32_t node, which, level;
} packed_waiting;

/* A lane's leaf of the given tree, some of whose parts it has yet to look at. */
struct packed_cut_lane {
    const uint32_t *ids;
    packed_waiting now;
    int waiting; /* on the stack */
    bool busy;

    __device__ __forceinline__ void begin(const packed_cutter &c, uint32_t number) {
        const packed_leaf_task task = c.tasks[number];
        const tritree_node leaf = c.tree.nodes[task.node];
        if (!packed_may_be_finer(leaf)) {
            c.boxes[task.node] = packed_leaf_box(&c.tree, leaf, task.cell);
            return;
        }
        ids = c.tree.references + tritree_first(leaf);
        now.cell = task.cell;
        now.node = task.node;
        now.which = (1u << tritree_count(leaf)) - 1;
        now.level = waiting = 0;
        busy = true;
    }
    __device__ __forceinline__ void next(const packed_waiting *stack) {
        busy = waiting > 0;
        if (busy) now = stack[--waiting];
    }
    /* The part at hand becomes a leaf. */
    __device__ __forceinline__ void end(const packed_cutter &c, const packed_few &few,
                                        unsigned long long first) {
        uint32_t k = 0;
        if (now.level == 0 || first + few.count > c.reference_room) return;
        for (uint32_t i = 0; packed_has_next(few.which, &i); ++i)
            c.references[first + k++] = ids[i];
        c.nodes[now.node] = tritree_leaf((uint32_t)first, few.count);
    }
    /* The part at hand is cut: its low side is next, the high one waits. */
    __device__ __forceinline__ void cut(const packed_cutter &c, const packed_few &few, int axis,
                                        float plane, uint32_t left, packed_waiting *stack) {
        c.nodes[now.node] = tritree_inner(axis, plane, left);
        c.parents[packed_pair_of(left)] = now.node;
        c.report[packed_pair_of(left)] = 0;
        packed_waiting *high = stack + waiting++;
        *high = now;
        high->node = left + 1;
        high->which = packed_few_side(&few, axis, plane, true);
        vec3_set_axis(&high->cell.lo, axis, plane);
        now.node = left;
        now.which = packed_few_side(&few, axis, plane, false);
        vec3_set_axis(&now.cell.hi, axis, plane);
        high->level = ++now.level;
    }
    /* The part at hand is cut or becomes a leaf. By a whole warp. */
    __device__ __forceinline__ void go_on(const packed_cutter &c, packed_waiting *stack) {
        packed_few few;
        int axis = 0;
        float plane = 0;
        bool cuts = false;
        few.count = 0;
        if (busy) {
            packed_few_make(&few, &c.tree, ids, now.which, now.cell);
            c.boxes[now.node] = few.box;
            cuts = now.level < PACKED_FINER_LEVELS && packed_finer_cut(&few, &axis, &plane);
        }
        __syncwarp();
        const bool ends = busy && !cuts && now.level > 0;
        const unsigned long long left = packed_take(&c.counts->nodes, cuts ? 2 : 0);
        const unsigned long long first = packed_take(&c.counts->references, ends ? few.count : 0);
        if (cuts && left + 2 <= c.node_room) {
            cut(c, few, axis, plane, (uint32_t)left, stack);
        } else if (busy) {
            if (ends) end(c, few, first);
            next(stack);
        }
        __syncwarp();
    }
};

/* By as many blocks as run together. */
__global__ __launch_bounds__(PACKED_MAKE_BLOCK) void packed_cut_leaves(
    const __grid_constant__ packed_cutter c) {
    const uint32_t leaves = (uint32_t)c.counts->leaves;
    packed_waiting stack[PACKED_FINER_LEVELS];
    packed_cut_lane lane;
    bool drained = false;
    lane.busy = false;
    for (;;) {
        const unsigned idle = __ballot_sync(~0u, !lane.busy);
        if (idle && !drained) {
            const int first = __ffs((int)idle) - 1, me = (int)(threadIdx.x & 31);
            uint32_t number = 0;
            if (me == first) number = atomicAdd(&c.counts->next, (uint32_t)__popc(idle));
            number = __shfl_sync(~0u, number, first);
            drained = number + __popc(idle) >= leaves;
            number += __popc(idle & ((1u << me) - 1));
            if (!lane.busy && number < leaves) lane.begin(c, number);
        } else if (idle == ~0u) {
            return;
        }
        __syncwarp();
        lane.go_on(c, stack);
    }
}

#endif
