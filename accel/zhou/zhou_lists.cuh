/* Lists and parts of the large nodes of `zhou`: space for the parts of a level, children that are
   added to the next level, to the small roots or to the slabs.
   Idea: each level writes its parts to the other end of the pool. A node of several chunks gets space
   for the parts of both children in advance. */
#ifndef KD_ACCEL_ZHOU_ZHOU_LISTS_CUH
#define KD_ACCEL_ZHOU_ZHOU_LISTS_CUH
#include "accel/zhou/zhou_state.cuh"

/* A level, and the counters of its parts. */
struct zhou_level : build_level {
    int parts_now, parts_next, parts_after, parts_cleared;
    bool is_first;
};

enum { ZHOU_BEFORE_FIRST = 11 /* has the counters of a level before level 0 */ };

__device__ __forceinline__ zhou_level zhou_level_at(int depth) {
    zhou_level level;
    *(build_level *)&level = level_at(depth);
    level.parts_now = depth & 3, level.parts_next = (depth + 1) & 3;
    level.parts_after = (depth + 2) & 3, level.parts_cleared = (depth + 3) & 3;
    level.is_first = depth == 0;
    return level;
}

/* Returns the space that the parts of both children of a node of several chunks get. Planes cut few
   of the triangles of a large node. */
__device__ __forceinline__ uint32_t zhou_capacity_of(const zhou_device &k, uint32_t count) {
    return k.is_tight ? min(2 * count, count + count / 8 + ZHOU_CHUNK / 2) : 2 * count;
}

/* Reserves space in the pool: from its front for even levels, from its end for odd ones (`to`).
   Returns KD_NONE if there is none. */
__device__ __forceinline__ uint32_t zhou_take_parts(const zhou_device &k, uint32_t *counter, int to,
                                                    uint32_t count) {
    const uint32_t before = atomicAdd(counter, count);
    if ((uint64_t)before + count > k.part_capacity) return KD_NONE;
    return to ? k.part_capacity - before - count : before;
}

/* Returns true if the space does not overlap the parts that the level reads. */
__device__ __forceinline__ bool zhou_is_apart(const zhou_device &k, const zhou_level &level,
                                              uint32_t first, uint32_t count) {
    const uint32_t held = k.count->parts[level.parts_now];
    return level.to ? first >= held : (uint64_t)first + count + held <= k.part_capacity;
}

/* Adds a child that waits to the list of slabs. Returns the place of its parts, or KD_NONE. */
__device__ inline uint32_t zhou_enqueue_slab(const zhou_device &k, const zhou_node &child) {
    const uint32_t slab = atomicAdd(&k.count->slabs, 1u),
                   first = atomicAdd(&k.count->waiting, child.count);
    if (slab >= k.slab_capacity || (uint64_t)first + child.count > k.waiting_capacity)
        return KD_NONE;
    k.slabs[slab] = child;
    k.slabs[slab].first = first;
    return first;
}

/* Adds a child, whose parts are stored, to the list for its size. All lanes of a warp must call
   it. */
__device__ inline void zhou_enqueue_child(const zhou_device &k, const zhou_level &level,
                                          const zhou_node &child) {
    zhou_counters *c = k.count;
    const uint32_t lane = threadIdx.x & 31;
    if (child.count == 0) {
        if (lane == 0) k.raw[child.at] = raw_leaf(0, 0);
        return;
    }
    if (child.count <= ZHOU_SMALL_MAX) {
        if (lane != 0) return;
        const uint32_t i = atomicAdd(&c->roots, 1u);
        k.raw[child.at] = raw_inner(RAW_ROOT, 0, i);
        if (i >= k.root_capacity) {
            exhaust(k, EXHAUSTED_LISTS, level.next);
            return;
        }
        zhou_small_root *root = k.roots + i;
        root->box = child.box;
        root->first = child.first, root->count = child.count;
        root->depth = child.depth, root->at = child.at;
        return;
    }
    const uint32_t chunks = (child.count + ZHOU_CHUNK - 1) / ZHOU_CHUNK;
    const bool waits = k.stops && child.count <= k.slab_max;
    uint32_t slot = 0, first = 0, place = 0;
    if (lane == 0) {
        slot = atomicAdd(&c->level_nodes[level.next], 1u);
        first = atomicAdd(&c->tasks[level.next], chunks);
        if (waits)
            place = zhou_enqueue_slab(k, child);
        else if (chunks > 1)
            place = zhou_take_parts(k, &c->parts[level.parts_after], level.from,
                                    zhou_capacity_of(k, child.count));
        if (slot >= k.level_capacity || first + chunks > k.task_capacity || place == KD_NONE) {
            exhaust(k, EXHAUSTED_LISTS, level.next);
            slot = KD_NONE;
        }
    }
    slot = __shfl_sync(WARP_ALL, slot, 0);
    first = __shfl_sync(WARP_ALL, first, 0);
    if (slot == KD_NONE) return;
    for (uint32_t i = lane; i < chunks; i += 32) k.tasks[level.to][first + i] = make_uint2(slot, i);
    if (lane != 0) return;
    k.level_nodes[level.to][slot] = child;
    if (chunks == 1 && !waits) return;
    zhou_merge *merge = k.merges[level.to] + slot;
    merge->first = place;
    merge->count[0] = merge->count[1] = merge->done = 0;
    for (int i = 0; i < 12; ++i) merge->box[i / 6][i % 6] = ordered(INFINITY);
    for (int i = 0; i < 6; ++i) merge->middles[i / 3][i % 3] = 0;
}

/* Returns a part of the level. */
__device__ __forceinline__ clipped zhou_part_at(const zhou_device &k, const zhou_level &level,
                                                uint32_t i) {
    if (!(k.resumes && level.is_first)) return k.pool[i];
    clipped part;
    part.lo = k.waiting_lo[i];
    part.hi = k.waiting_hi[i];
    return part;
}

#endif
