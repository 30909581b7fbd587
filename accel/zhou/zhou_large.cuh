/* The large-node stage of `zhou`: one cooperative kernel, level by level.
   Idea: a block takes a chunk of a node's references, finds the node's cuts and its split from its
   cell and the bounds of its parts, distributes and clips its references to the children, and
   reduces their bounds. For a node of several chunks, the block that finishes last merges the
   chunks' bounds and counts and creates the children (Zhou 2008, section 3.1: the reduction in two
   steps). So a level takes one barrier.
   Data flow: each level: nodes and their parts in one of two lists -> raw nodes, children and their
   parts in the other, or small roots; a grid-wide barrier ends the level. */
#ifndef KD_ACCEL_ZHOU_ZHOU_LARGE_CUH
#define KD_ACCEL_ZHOU_ZHOU_LARGE_CUH
#include "accel/zhou/zhou_lists.cuh"
#include <cooperative_groups.h>

enum { ZHOU_WARPS = ZHOU_BLOCK / 32 };

struct zhou_shared {
    zhou_node node;
    zhou_plan plan;
    zhou_merge merge;                   /* merge state of the block */
    uint32_t warp_count[2][ZHOU_WARPS]; /* number in each warp; later the number in earlier warps */
    clipped *to[2];
    uint32_t first[2]; /* the children's parts, if the node has several chunks */
    zhou_node child[2];
    uint32_t leaf_first;
    bool leaf, stop, last;
};

/* References of a chunk, in registers. */
struct zhou_refs {
    clipped ref[ZHOU_EACH];
    uint32_t sides[ZHOU_EACH]; /* 0: no reference */
};

__device__ __forceinline__ void zhou_load(zhou_refs &refs, const zhou_device &k,
                                          const zhou_level &level, uint32_t first, uint32_t count) {
#pragma unroll
    for (int j = 0; j < ZHOU_EACH; ++j) {
        const uint32_t i = j * ZHOU_BLOCK + threadIdx.x;
        refs.sides[j] = i < count;
        if (i < count) refs.ref[j] = zhou_part_at(k, level, first + i);
    }
}

/* Moves the parts of a chunk of a node that waits. */
__device__ __forceinline__ void zhou_set_aside(const zhou_device &k, const zhou_refs &refs,
                                               uint32_t first) {
#pragma unroll
    for (int j = 0; j < ZHOU_EACH; ++j) {
        if (!refs.sides[j]) continue;
        const uint32_t i = first + j * ZHOU_BLOCK + threadIdx.x;
        k.waiting_lo[i] = refs.ref[j].lo;
        k.waiting_hi[i] = refs.ref[j].hi;
    }
}

__device__ __noinline__ clipped zhou_clip_part(const vec3 *positions, const uint32_t *triangles,
                                               int axis, float plane, bool right, clipped part) {
    const uint32_t *index = triangles + 3 * (uint64_t)__float_as_uint(part.lo.w);
    const vec3 a = zhou_corner(positions[index[0]]), b = zhou_corner(positions[index[1]]),
               c = zhou_corner(positions[index[2]]);
    box3 box;
    box.lo = vec3_make(part.lo.x, part.lo.y, part.lo.z);
    box.hi = vec3_make(part.hi.x, part.hi.y, part.hi.z);
    vec3_set_axis(right ? &box.lo : &box.hi, axis, plane);
    box = zhou_clip(a, b, c, axis, plane, right, box);
    part.lo = make_float4(box.lo.x, box.lo.y, box.lo.z, part.lo.w);
    part.hi = make_float4(box.hi.x, box.hi.y, box.hi.z, 0);
    return part;
}

/* Counts the block's references on each side; before[side] receives the number that belong to
   earlier threads. */
__device__ __forceinline__ void zhou_count(zhou_shared &s, zhou_refs &refs, uint32_t before[2]) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, axis = s.plan.axis;
    uint32_t thread_count = 0; /* left | right << 16 */
#pragma unroll
    for (int j = 0; j < ZHOU_EACH; ++j) {
        if (!refs.sides[j]) continue;
        refs.sides[j] =
            zhou_sides(pick4(refs.ref[j].lo, axis), pick4(refs.ref[j].hi, axis), s.plan.plane);
        thread_count += (refs.sides[j] & 1) | (refs.sides[j] >> 1) << 16;
    }
    const uint32_t upto = warp_scan(thread_count);
    if (lane == 31) s.warp_count[0][warp] = upto & 0xffff, s.warp_count[1][warp] = upto >> 16;
    __syncthreads();
    if (threadIdx.x < 2) {
        uint32_t sum = 0;
        for (int w = 0; w < ZHOU_WARPS; ++w) {
            const uint32_t value = s.warp_count[threadIdx.x][w];
            s.warp_count[threadIdx.x][w] = sum;
            sum += value;
        }
        s.merge.count[threadIdx.x] = sum;
    }
    __syncthreads();
    before[0] = s.warp_count[0][warp] + ((upto - thread_count) & 0xffff);
    before[1] = s.warp_count[1][warp] + ((upto - thread_count) >> 16);
}

/* Returns the cell of a child. */
__device__ __forceinline__ box3 zhou_child_box(const zhou_plan &plan, uint32_t side) {
    box3 box = plan.box;
    vec3_set_axis(side ? &box.lo : &box.hi, plan.axis, plan.plane);
    return box;
}

/* Adds the lanes' sums to those of the block. All lanes of a warp must call it. */
__device__ __forceinline__ void zhou_add_middles(zhou_shared &s, uint32_t side,
                                                 const uint32_t middles[3]) {
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        const uint32_t sum = __reduce_add_sync(WARP_ALL, middles[a]);
        if ((threadIdx.x & 31) == 0) atomicAdd(&s.merge.middles[side][a], (unsigned long long)sum);
    }
}

/* Zhou 2008, algorithm 2: "sort and clip triangles to child nodes"; also reduces the children's
   bounds. */
__device__ __forceinline__ void zhou_scatter(const zhou_device &k, zhou_shared &s,
                                             const zhou_refs &refs, uint32_t before[2]) {
    const int axis = s.plan.axis, lane = threadIdx.x & 31;
    const float plane = s.plan.plane;
#pragma unroll 1
    for (uint32_t side = 0; side < 2; ++side) {
        float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
        clipped *to = s.to[side] + before[side];
        const box3 box = zhou_child_box(s.plan, side);
        uint32_t middles[3] = {0, 0, 0};
#pragma unroll
        for (int j = 0; j < ZHOU_EACH; ++j) {
            if (!(refs.sides[j] >> side & 1)) continue;
            clipped part = refs.ref[j];
            if (refs.sides[j] == 3)
                part = zhou_clip_part(k.input.positions, k.input.triangles, axis, plane, side != 0,
                                      part);
            *to++ = part;
            if (s.plan.means) {
                middles[0] += zhou_middle(box, 0, part.lo.x, part.hi.x);
                middles[1] += zhou_middle(box, 1, part.lo.y, part.hi.y);
                middles[2] += zhou_middle(box, 2, part.lo.z, part.hi.z);
            }
            lo[0] = fminf(lo[0], part.lo.x), hi[0] = fmaxf(hi[0], part.hi.x);
            lo[1] = fminf(lo[1], part.lo.y), hi[1] = fmaxf(hi[1], part.hi.y);
            lo[2] = fminf(lo[2], part.lo.z), hi[2] = fmaxf(hi[2], part.hi.z);
        }
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            const int minimum = __reduce_min_sync(WARP_ALL, ordered(lo[a]));
            const int maximum = __reduce_min_sync(WARP_ALL, ordered(-hi[a]));
            if (lane != 0) continue;
            atomicMin(&s.merge.box[side][a], minimum);
            atomicMin(&s.merge.box[side][3 + a], maximum);
        }
        if (s.plan.means) zhou_add_middles(s, side, middles);
    }
}

/* Makes the node a large leaf. All threads of the block must call it. */
__device__ inline void zhou_make_leaf(const zhou_device &k, const zhou_level &level,
                                      zhou_shared &s) {
    if (threadIdx.x == 0) {
        s.leaf_first = atomicAdd(&k.count->ids, s.node.count);
        const uint32_t i = atomicAdd(&k.count->leaves, 1u);
        s.stop = s.leaf_first + s.node.count > k.id_capacity || i >= k.leaf_capacity;
        if (s.stop)
            exhaust(k, EXHAUSTED_LISTS, level.next);
        else
            k.leaves[i] = s.node.at;
        k.raw[s.node.at] = raw_leaf(s.leaf_first, s.node.count);
    }
    __syncthreads();
    if (s.stop) return;
    for (uint32_t i = threadIdx.x; i < s.node.count; i += ZHOU_BLOCK)
        k.ids[s.leaf_first + i] = __float_as_uint(zhou_part_at(k, level, s.node.first + i).lo.w);
}

/* Adds the raw nodes of a split: its cuts, each with an empty leaf, then the two children. Called
   by one thread. Returns false if the capacity is exceeded. */
__device__ inline bool zhou_add_raw(const zhou_device &k, const zhou_level &level, zhou_shared &s) {
    const zhou_plan *plan = &s.plan;
    const uint32_t more = 2 * (uint32_t)(plan->cuts + 1);
    uint32_t pair = atomicAdd(&k.count->nodes, more);
    struct {
        uint32_t at, depth;
    } node = {s.node.at, s.node.depth};
    if (pair + more > k.raw_capacity) {
        exhaust(k, EXHAUSTED_LISTS, level.next);
        return false;
    }
    for (int i = 0; i < plan->cuts; ++i, pair += 2) {
        const uint32_t upper = (uint32_t)plan->cut_side[i] & 1;
        make_inner(k, node, plan->cut_side[i] / 2, plan->cut[i], pair);
        k.raw[pair + upper] = raw_leaf(0, 0);
        node.at = pair + (upper ^ 1);
        ++node.depth;
    }
    make_inner(k, node, plan->axis, plan->plane, pair);
    s.child[0].at = pair;
    s.child[1].at = pair + 1;
    return true;
}

/* Decides from the counts of both sides whether the node becomes a leaf; sets everything of its
   children that does not depend on their parts. Called by one thread. */
__device__ inline void zhou_decide(const zhou_device &k, const zhou_level &level, zhou_shared &s) {
    const uint32_t left = s.merge.count[0], right = s.merge.count[1];
    const float growth = zhou_growth_left(s.node.growth, s.node.count, left, right);
    s.leaf = growth < 1;
    s.stop = false;
    if (s.leaf) return;
    for (int side = 0; side < 2; ++side) {
        zhou_node *child = s.child + side;
        child->box = zhou_child_box(s.plan, (uint32_t)side);
        child->growth = growth;
        child->depth = s.plan.depth + 1;
        child->count = side ? right : left;
    }
    s.stop = !zhou_add_raw(k, level, s);
}

/* Reserves space for a child's parts in the buffer for its size. Called by one thread. */
__device__ inline clipped *zhou_place_child(const zhou_device &k, const zhou_level &level,
                                            zhou_node *child) {
    const bool small = child->count <= ZHOU_SMALL_MAX;
    child->first =
        small ? atomicAdd(&k.count->small_parts, child->count)
              : zhou_take_parts(k, &k.count->parts[level.parts_next], level.to, child->count);
    if (small ? (uint64_t)child->first + child->count > k.small_capacity
              : child->first == KD_NONE || !zhou_is_apart(k, level, child->first, child->count)) {
        exhaust(k, EXHAUSTED_POOL, level.next);
        return NULL;
    }
    return (small ? k.small_parts : k.pool) + child->first;
}

__device__ __forceinline__ void zhou_take_boxes(zhou_shared &s) {
    for (int side = 0; side < 2; ++side) {
        const int *box = s.merge.box[side];
        s.child[side].tight.lo = vec3_make(unordered(box[0]), unordered(box[1]), unordered(box[2]));
        s.child[side].tight.hi =
            vec3_make(-unordered(box[3]), -unordered(box[4]), -unordered(box[5]));
        for (int a = 0; a < 3; ++a)
            s.child[side].mean[a] =
                zhou_mean(s.child[side].box, a, s.merge.middles[side][a], s.child[side].count);
    }
}

__device__ __forceinline__ void zhou_enqueue_children(const zhou_device &k, const zhou_level &level,
                                                      zhou_shared &s) {
    if (threadIdx.x == 0) zhou_take_boxes(s);
    __syncthreads();
    if (threadIdx.x < 64) zhou_enqueue_child(k, level, s.child[threadIdx.x >> 5]);
}

/* Splits a node of a single chunk. */
__device__ inline void zhou_split_whole(const zhou_device &k, const zhou_level &level,
                                        zhou_shared &s, zhou_refs &refs) {
    uint32_t before[2];
    zhou_count(s, refs, before);
    if (threadIdx.x == 0) {
        zhou_decide(k, level, s);
        for (int side = 0; side < 2 && !s.leaf && !s.stop; ++side) {
            s.to[side] = zhou_place_child(k, level, s.child + side);
            s.stop = s.stop || !s.to[side];
        }
    }
    __syncthreads();
    if (s.leaf) {
        zhou_make_leaf(k, level, s);
        return;
    }
    if (s.stop) return;
    zhou_scatter(k, s, refs, before);
    __syncthreads();
    zhou_enqueue_children(k, level, s);
}

/* Choi and Ye 2020, algorithm 1: the second step of the reduction, by the chunk that finishes last.
   Small children's parts are moved to the buffer of the small-node stage. */
__device__ inline void zhou_finish(const zhou_device &k, const zhou_level &level, zhou_shared &s,
                                   zhou_merge *merge) {
    if (threadIdx.x < 12)
        s.merge.box[threadIdx.x / 6][threadIdx.x % 6] =
            __ldcg(&merge->box[threadIdx.x / 6][threadIdx.x % 6]);
    if (threadIdx.x < 2) s.merge.count[threadIdx.x] = __ldcg(&merge->count[threadIdx.x]);
    if (threadIdx.x < 6)
        s.merge.middles[threadIdx.x / 3][threadIdx.x % 3] =
            __ldcg(&merge->middles[threadIdx.x / 3][threadIdx.x % 3]);
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint32_t capacity = zhou_capacity_of(k, s.node.count);
        zhou_decide(k, level, s);
        if (!s.leaf && s.merge.count[0] + s.merge.count[1] > capacity) { /* the parts overlap */
            exhaust(k, EXHAUSTED_POOL, level.next);
            s.stop = true;
        }
        s.first[0] = merge->first, s.first[1] = merge->first + capacity - s.merge.count[1];
        for (int side = 0; side < 2 && !s.leaf && !s.stop; ++side) {
            zhou_node *child = s.child + side;
            child->first = s.first[side];
            s.to[side] = NULL;
            if (child->count == 0 || child->count > ZHOU_SMALL_MAX) continue;
            s.to[side] = zhou_place_child(k, level, child);
            s.stop = s.stop || !s.to[side];
        }
    }
    __syncthreads();
    if (s.leaf) {
        zhou_make_leaf(k, level, s);
        return;
    }
    if (s.stop) return;
    const uint32_t side = threadIdx.x >> 6, i = threadIdx.x & 63; /* two warps per child */
    if (s.to[side] && i < s.child[side].count) {
        const clipped *from = k.pool + s.first[side] + i;
        clipped part;
        part.lo = __ldcg(&from->lo);
        part.hi = __ldcg(&from->hi);
        s.to[side][i] = part;
    }
    zhou_enqueue_children(k, level, s);
}

/* Processes a chunk of a node with several chunks. */
__device__ inline void zhou_split_chunk(const zhou_device &k, const zhou_level &level,
                                        zhou_shared &s, zhou_refs &refs, zhou_merge *merge) {
    uint32_t before[2];
    const uint32_t capacity = zhou_capacity_of(k, s.node.count);
    if (!zhou_is_apart(k, level, merge->first, capacity)) {
        if (threadIdx.x == 0) exhaust(k, EXHAUSTED_POOL, level.next);
        return;
    }
    zhou_count(s, refs, before);
    if (threadIdx.x < 2) {
        const uint32_t count = s.merge.count[threadIdx.x],
                       placed = atomicAdd(&merge->count[threadIdx.x], count);
        s.to[threadIdx.x] =
            k.pool + merge->first + (threadIdx.x ? capacity - placed - count : placed);
    }
    __syncthreads();
    zhou_scatter(k, s, refs, before);
    __threadfence(); /* makes the parts visible before the report */
    __syncthreads();
    if (threadIdx.x < 12)
        atomicMin(&merge->box[threadIdx.x / 6][threadIdx.x % 6],
                  s.merge.box[threadIdx.x / 6][threadIdx.x % 6]);
    if (threadIdx.x < 6 && s.plan.means)
        atomicAdd(&merge->middles[threadIdx.x / 3][threadIdx.x % 3],
                  s.merge.middles[threadIdx.x / 3][threadIdx.x % 3]);
    __threadfence();
    __syncthreads();
    const uint32_t chunks = (s.node.count + ZHOU_CHUNK - 1) / ZHOU_CHUNK;
    if (threadIdx.x == 0) s.last = atomicAdd(&merge->done, 1u) == chunks - 1;
    __syncthreads();
    if (!s.last) return;
    __threadfence();
    zhou_finish(k, level, s, merge);
}

__device__ inline void zhou_process(const zhou_device &k, const zhou_level &level, zhou_shared &s,
                                    uint2 task) {
    __syncthreads(); /* protects shared memory from the previous task */
    if (threadIdx.x < sizeof(zhou_node) / 4)
        ((uint32_t *)&s.node)[threadIdx.x] =
            ((const uint32_t *)(k.level_nodes[level.from] + task.x))[threadIdx.x];
    if (threadIdx.x >= 64 && threadIdx.x < 76)
        (&s.merge.box[0][0])[threadIdx.x - 64] = ordered(INFINITY);
    if (threadIdx.x >= 96 && threadIdx.x < 102) (&s.merge.middles[0][0])[threadIdx.x - 96] = 0;
    __syncthreads();
    zhou_refs refs;
    const uint32_t skipped = task.y * ZHOU_CHUNK;
    zhou_load(refs, k, level, s.node.first + skipped,
              min((uint32_t)ZHOU_CHUNK, s.node.count - skipped));
    if (k.stops && s.node.count <= k.slab_max) {
        zhou_set_aside(k, refs, k.merges[level.from][task.x].first + skipped);
        return;
    }
    if (threadIdx.x == 0) zhou_plan_make(&s.plan, &s.node, k.max_depth);
    __syncthreads();
    if (s.plan.axis == ZHOU_NO_AXIS) {
        if (task.y == 0) zhou_make_leaf(k, level, s);
    } else if (s.node.count <= ZHOU_CHUNK) {
        zhou_split_whole(k, level, s, refs);
    } else {
        zhou_split_chunk(k, level, s, refs, k.merges[level.from] + task.x);
    }
}

/* Creates the root, by one block; copies the parts of a small root to the buffer of small parts. */
__device__ inline void zhou_start(const zhou_device &k, zhou_shared &s) {
    zhou_counters *c = k.count;
    if (threadIdx.x == 0) {
        zhou_node *root = &s.node;
        root->box = root->tight = unordered_box(c->box_lo, c->box_hi);
        for (int a = 0; a < 3; ++a) root->mean[a] = 0;
        root->growth = ZHOU_GROWTH_MAX;
        root->first = root->depth = root->at = 0;
        root->count = c->parts[0] = c->valid;
    }
    __syncthreads();
    if (s.node.count <= ZHOU_SMALL_MAX && threadIdx.x < s.node.count)
        k.small_parts[threadIdx.x] = k.pool[threadIdx.x];
    if (threadIdx.x < 32) zhou_enqueue_child(k, zhou_level_at(ZHOU_BEFORE_FIRST), s.node);
}

/* Takes the next nodes that wait and together have at most slab_max parts, by one block. */
__device__ inline void zhou_resume(const zhou_device &k, zhou_shared &s) {
    zhou_counters *c = k.count;
    const uint32_t from = c->slab_next, end = c->slabs;
    uint32_t next = from;
    for (uint32_t sum = 0; next < end && sum + k.slabs[next].count <= k.slab_max; ++next)
        sum += k.slabs[next].count;
    __syncthreads();
    if (threadIdx.x == 0) {
        c->slab_next = next;
        c->small_parts = 0;
        c->next_root = c->roots;
        for (int i = 0; i < 3; ++i) c->level_nodes[i] = c->tasks[i] = 0;
        for (int i = 0; i < 4; ++i) c->parts[i] = 0;
    }
    __syncthreads();
    for (uint32_t i = from; i < next && threadIdx.x < 32; ++i)
        zhou_enqueue_child(k, zhou_level_at(ZHOU_BEFORE_FIRST), k.slabs[i]);
}

__global__ __launch_bounds__(ZHOU_BLOCK, 6) void zhou_large_nodes(const zhou_device k) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    __shared__ zhou_shared s;
    zhou_counters *c = k.count;
    if (k.resumes) {
        if (c->exhausted & zhou_device::SIZES_UNKNOWN || c->slab_next == c->slabs) return;
        grid.sync();
    }
    if (blockIdx.x == 0) k.resumes ? zhou_resume(k, s) : zhou_start(k, s);
    grid.sync();
    for (int depth = 0;; ++depth) {
        const zhou_level level = zhou_level_at(depth);
        const uint32_t tasks = c->tasks[level.now];
        if (tasks == 0 || c->stop[level.now]) return;
        if (blockIdx.x == 0 && threadIdx.x == 0)
            c->tasks[level.after] = c->level_nodes[level.after] = c->parts[level.parts_cleared] = 0;
        for (uint32_t i = blockIdx.x; i < tasks; i += gridDim.x)
            zhou_process(k, level, s, k.tasks[level.from][i]);
        grid.sync();
    }
}

#endif
