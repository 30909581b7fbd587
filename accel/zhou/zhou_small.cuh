/* The small-node stage of `zhou`: one warp builds the subtree of a small root.
   Idea: the root's candidates and their masks (Zhou 2008, algorithm 4) stay in shared memory while
   the warp processes the subtree depth first, which is the order of the layout: nodes and ids are
   appended to segments that the warp allocates as needed, with indices relative to the subtree. A
   node's candidates are distributed over the lanes (algorithm 5).
   Data flow: small roots and their parts -> masks and candidates in the warp's shared memory ->
   nodes and ids in segments that the warp allocates atomically, and the root's size. No warp reads
   what another writes. */
#ifndef KD_ACCEL_ZHOU_ZHOU_SMALL_CUH
#define KD_ACCEL_ZHOU_ZHOU_SMALL_CUH
#include "accel/zhou/zhou_state.cuh"

enum { ZHOU_SMALL_WARPS = 4, ZHOU_SMALL_BLOCK = 32 * ZHOU_SMALL_WARPS };

/* A node of the small-node stage. */
struct zhou_subset {
    unsigned long long set; /* bits of the root's triangles */
    float lo[3], hi[3];
    uint32_t depth;
    uint32_t at; /* index in the segments; KD_NONE: the root */
};

struct zhou_small_shared {
    unsigned long long left[ZHOU_SIDES][ZHOU_SMALL_MAX], right[ZHOU_SIDES][ZHOU_SMALL_MAX];
    float plane[ZHOU_SIDES][ZHOU_SMALL_MAX];
    zhou_subset waiting[TRITREE_MAX_DEPTH + 1];
    uint32_t id[ZHOU_SMALL_MAX];
    uint8_t member[ZHOU_SMALL_MAX]; /* members of the node's set */
};

/* The output of a warp. */
struct zhou_warp_output {
    /* next index in a segment; a multiple of ZHOU_SEGMENT: the segment is full */
    uint32_t node, id;
    uint32_t node_count, id_count; /* written below this root */
    uint32_t node_first, id_first;
};

/* Allocates a segment and links it to the previous one. Returns KD_NONE in all lanes if there is
   none left; nodes or ids are then only counted. */
__device__ __forceinline__ uint32_t zhou_take_segment(const zhou_device &k, uint32_t *counter,
                                                      uint32_t *next, uint32_t capacity,
                                                      uint32_t place, uint32_t what) {
    uint32_t taken = 0;
    if ((threadIdx.x & 31) == 0) {
        taken = atomicAdd(counter, 1u);
        if (taken >= capacity) {
            atomicOr(&k.count->exhausted, what);
            taken = KD_NONE;
        }
        if (place != KD_NONE && taken != KD_NONE) next[(place - 1) / ZHOU_SEGMENT] = taken;
    }
    return __shfl_sync(WARP_ALL, taken, 0);
}

/* Returns the index of a new pair of nodes; KD_NONE if there is no space. */
__device__ __forceinline__ uint32_t zhou_take_pair(const zhou_device &k, zhou_warp_output &output) {
    if (output.node == KD_NONE || output.node % ZHOU_SEGMENT == 0) {
        const uint32_t segment =
            zhou_take_segment(k, &k.count->node_segments, k.node_next, k.segment_capacity,
                              output.node, EXHAUSTED_NODES);
        output.node = segment == KD_NONE ? KD_NONE : segment * ZHOU_SEGMENT;
    }
    const uint32_t at = output.node;
    if (output.node_count == 0) output.node_first = at;
    output.node_count += 2;
    if (at != KD_NONE) output.node += 2;
    return at;
}

/* Loads the root's parts, ascending by id, and computes its candidates. */
__device__ inline void zhou_make_candidates(const zhou_device &k, zhou_small_shared &s,
                                            const zhou_small_root &root) {
    const uint32_t lane = threadIdx.x & 31, count = root.count;
    clipped part[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const uint32_t i = lane + 32 * half;
        if (i < count) part[half] = k.small_parts[root.first + i];
        /* temporarily ids */
        s.plane[0][i] = i < count ? part[half].lo.w : __uint_as_float(KD_NONE);
    }
    __syncwarp();
    uint32_t rank[2] = {0, 0};
    for (uint32_t j = 0; j < count; ++j) {
        const uint32_t id = __float_as_uint(s.plane[0][j]);
        rank[0] += id < __float_as_uint(part[0].lo.w);
        rank[1] += id < __float_as_uint(part[1].lo.w);
    }
    __syncwarp();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        if (lane + 32 * half >= count) continue;
        const uint32_t i = rank[half];
        s.id[i] = __float_as_uint(part[half].lo.w);
        s.plane[0][i] = part[half].lo.x, s.plane[1][i] = part[half].hi.x;
        s.plane[2][i] = part[half].lo.y, s.plane[3][i] = part[half].hi.y;
        s.plane[4][i] = part[half].lo.z, s.plane[5][i] = part[half].hi.z;
    }
    __syncwarp();
#pragma unroll 1
    for (int side = 0; side < ZHOU_SIDES; ++side) {
        const float *los = s.plane[side & ~1], *his = s.plane[side | 1];
        const float plane[2] = {s.plane[side][lane], s.plane[side][lane + 32]};
        uint32_t left[2][2] = {}, right[2][2] = {};
#pragma unroll
        for (uint32_t word = 0; word < 2; ++word)
            for (uint32_t j = 0; j < 32 && word * 32 + j < count; ++j) {
                const float lo = los[word * 32 + j], hi = his[word * 32 + j];
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const uint32_t sides = zhou_candidate_sides(lo, hi, plane[half], side);
                    left[half][word] |= (sides & 1) << j;
                    right[half][word] |= sides >> 1 << j;
                }
            }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            if (lane + 32 * half >= count) continue;
            s.left[side][lane + 32 * half] = left[half][0] | (unsigned long long)left[half][1]
                                                                 << 32;
            s.right[side][lane + 32 * half] = right[half][0] | (unsigned long long)right[half][1]
                                                                   << 32;
        }
    }
    __syncwarp();
}

/* Returns the best candidate of a node in all lanes. */
__device__ inline zhou_choice zhou_search(const zhou_device &k, zhou_small_shared &s,
                                          const zhou_subset &node, uint32_t count) {
    const uint32_t lane = threadIdx.x & 31;
    const uint32_t low = (uint32_t)node.set, high = (uint32_t)(node.set >> 32);
    const uint32_t below = (1u << lane) - 1;
    if (low >> lane & 1) s.member[__popc(low & below)] = (uint8_t)lane;
    if (high >> lane & 1) s.member[__popc(low) + __popc(high & below)] = (uint8_t)(lane + 32);
    box3 box;
    box.lo = vec3_make(node.lo[0], node.lo[1], node.lo[2]);
    box.hi = vec3_make(node.hi[0], node.hi[1], node.hi[2]);
    const sah_axis axis_areas = zhou_axis_of(box, lane % 3); /* axis lane % 3 */
    __syncwarp();
    zhou_choice best = zhou_choice_none();
    const float inverse = 1.0f / (float)count;
    const uint32_t tries = ZHOU_SIDES * count;
    for (uint32_t first = 0; first < tries; first += 32) {
        const uint32_t i = first + lane;
        const int side = (int)(((float)i + 0.5f) * inverse);
        const int axis = min(side >> 1, 2);
        sah_axis areas;
        areas.lo = __shfl_sync(WARP_ALL, axis_areas.lo, axis);
        areas.hi = __shfl_sync(WARP_ALL, axis_areas.hi, axis);
        areas.base = __shfl_sync(WARP_ALL, axis_areas.base, axis);
        areas.slope = __shfl_sync(WARP_ALL, axis_areas.slope, axis);
        if (i >= tries) continue;
        zhou_choice tried;
        tried.from = s.member[i - (uint32_t)side * count];
        tried.side = side;
        tried.plane = s.plane[side][tried.from];
        if (!zhou_is_candidate(&areas, tried.plane, tried.side)) continue;
        tried.cost = sah_split_cost(&k.costs, &areas, tried.plane,
                                    (uint32_t)__popcll(node.set & s.left[side][tried.from]),
                                    (uint32_t)__popcll(node.set & s.right[side][tried.from]));
        if (zhou_choice_better(&tried, &best)) best = tried;
    }
    __syncwarp();
    /* Minimum by (cost, side, plane). Costs are not negative, so their bits sort like integers. */
    const uint32_t cost = __reduce_min_sync(WARP_ALL, __float_as_uint(best.cost));
    bool is_best = __float_as_uint(best.cost) == cost;
    unsigned lanes = __ballot_sync(WARP_ALL, is_best);
    if (lanes & (lanes - 1)) {
        const uint32_t side =
            __reduce_min_sync(WARP_ALL, is_best ? (uint32_t)best.side : (uint32_t)ZHOU_SIDES);
        is_best = is_best && (uint32_t)best.side == side;
        const int minimum =
            __reduce_min_sync(WARP_ALL, is_best ? ordered(best.plane) : ordered(INFINITY));
        lanes = __ballot_sync(WARP_ALL, is_best && ordered(best.plane) == minimum);
    }
    const int winner = __ffs((int)lanes) - 1;
    best.cost = __uint_as_float(cost);
    best.plane = __shfl_sync(WARP_ALL, best.plane, winner);
    best.side = __shfl_sync(WARP_ALL, best.side, winner);
    best.from = __shfl_sync(WARP_ALL, best.from, winner);
    return best;
}

__device__ __forceinline__ void zhou_put(const zhou_device &k, zhou_small_root *root, uint32_t at,
                                         tritree_node made, uint32_t node_count) {
    if ((threadIdx.x & 31) != 0) return;
    if (at != KD_NONE)
        k.segments[at] = made;
    else if (node_count <= 2) /* a larger count: a node for which there was no space */
        root->top = made;
}

__device__ inline void zhou_write_leaf(const zhou_device &k, const zhou_small_shared &s,
                                       zhou_warp_output &output, zhou_small_root *root,
                                       const zhou_subset &node, uint32_t count) {
    const uint32_t lane = threadIdx.x & 31;
    zhou_put(k, root, node.at, tritree_leaf(output.id_count, count), output.node_count);
    const uint32_t low = (uint32_t)node.set, high = (uint32_t)(node.set >> 32);
    const uint32_t below = (1u << lane) - 1;
    if (output.id_count == 0) output.id_first = output.id;
    for (uint32_t done = 0; done < count;) {
        if (output.id == KD_NONE || output.id % ZHOU_SEGMENT == 0) {
            const uint32_t segment =
                zhou_take_segment(k, &k.count->id_segments, k.id_next, k.id_segment_capacity,
                                  output.id, EXHAUSTED_LEAVES);
            output.id = segment == KD_NONE ? KD_NONE : segment * ZHOU_SEGMENT;
            if (output.id_count == 0 && done == 0) output.id_first = output.id;
        }
        if (output.id == KD_NONE) break;
        const uint32_t step = min(count - done, ZHOU_SEGMENT - output.id % ZHOU_SEGMENT);
        const uint32_t first = __popc(low & below) - done;
        if ((low >> lane & 1) && first < step) k.id_segments[output.id + first] = s.id[lane];
        const uint32_t second = __popc(low) + __popc(high & below) - done;
        if ((high >> lane & 1) && second < step)
            k.id_segments[output.id + second] = s.id[lane + 32];
        done += step;
        output.id += step;
    }
    output.id_count += count;
}

/* Splits the node: `node` becomes its left child, the right one is pushed. */
__device__ inline void zhou_split_small(const zhou_device &k, zhou_small_shared &s,
                                        zhou_warp_output &output, zhou_small_root *root,
                                        zhou_subset &node, const zhou_choice &best,
                                        uint32_t waiting) {
    const uint32_t place = output.node_count, pair = zhou_take_pair(k, output);
    const int axis = best.side >> 1;
    zhou_put(k, root, node.at, tritree_inner(axis, best.plane, place), place);
    zhou_subset right = node;
    node.set &= s.left[best.side][best.from];
    right.set &= s.right[best.side][best.from];
    node.depth = right.depth = node.depth + 1;
#pragma unroll
    for (int a = 0; a < 3; ++a)
        if (a == axis) node.hi[a] = right.lo[a] = best.plane;
    node.at = pair;
    right.at = pair == KD_NONE ? KD_NONE : pair + 1;
    if ((threadIdx.x & 31) == 0) s.waiting[waiting] = right;
    __syncwarp();
}

__device__ inline void zhou_build_root(const zhou_device &k, zhou_small_shared &s,
                                       zhou_warp_output &output, zhou_small_root *root) {
    const zhou_small_root from = *root;
    zhou_make_candidates(k, s, from);
    zhou_subset node;
    node.set = from.count == 64 ? ~0ull : (1ull << from.count) - 1;
    for (int a = 0; a < 3; ++a)
        node.lo[a] = vec3_axis(from.box.lo, a), node.hi[a] = vec3_axis(from.box.hi, a);
    node.depth = from.depth;
    node.at = KD_NONE;
    output.node_count = output.id_count = 0;
    output.node_first = output.id_first = KD_NONE;
    for (uint32_t waiting = 0;;) {
        const uint32_t count = (uint32_t)__popcll(node.set);
        zhou_choice best = zhou_choice_none();
        if (zhou_may_split(&k.costs, count, node.depth, k.max_depth))
            best = zhou_search(k, s, node, count);
        if (best.cost < k.costs.intersect * (float)count) {
            zhou_split_small(k, s, output, root, node, best, waiting++);
            continue;
        }
        zhou_write_leaf(k, s, output, root, node, count);
        if (waiting == 0) break;
        node = s.waiting[--waiting];
        __syncwarp();
    }
    if ((threadIdx.x & 31) != 0) return;
    raw_node *raw = k.raw + root->at;
    raw->split = __uint_as_float(output.node_count / 2); /* see size_of */
    raw->count = output.id_count;
    root->node_first = output.node_first, root->id_first = output.id_first;
}

__global__ __launch_bounds__(ZHOU_SMALL_BLOCK) void zhou_small_nodes(const zhou_device k) {
    __shared__ zhou_small_shared shared[ZHOU_SMALL_WARPS];
    zhou_small_shared &s = shared[threadIdx.x >> 5];
    if (k.count->exhausted & zhou_device::SIZES_UNKNOWN) return;
    const uint32_t roots = k.count->roots;
    zhou_warp_output output;
    output.node = output.id = KD_NONE;
    for (;;) {
        uint32_t i = 0;
        if ((threadIdx.x & 31) == 0) i = atomicAdd(&k.count->next_root, 1u);
        i = __shfl_sync(WARP_ALL, i, 0);
        if (i >= roots) return;
        zhou_build_root(k, s, output, k.roots + i);
        __syncwarp();
    }
}

#endif
