/* Small nodes, split exactly by a warp or part of one.
   Idea: each lane holds one or two of the node's references and tries their sides as planes. The
   references on both sides of a plane are counted by broadcasting all references to the lanes.
   Children of up to 16 references are left to the second kernel, whose warps process two to eight
   nodes at once.
   Data flow: references of nodes that large_nodes listed as small -> raw nodes, ids of leaves;
   nodes of 16 or fewer references from small_nodes are listed for smallest_nodes, the next
   launch. */
#ifndef KD_ACCEL_ZHOU_BINNED_SMALL_CUH
#define KD_ACCEL_ZHOU_BINNED_SMALL_CUH
#include "accel/zhou/binned_one_block.cuh"
#include "accel/zhou/bins.cuh"
#include <cooperative_groups.h>

enum {
    SMALL_BLOCK = 128,
    SMALL_CUT = 3, /* smaller classes belong to the second kernel */
    COUNT_STEP = 4
};

enum { POOL_PIECE = 1024, NODE_PIECE = 128, LEAF_PIECE = 512 };

/* Warps allocate references, nodes and leaf ids in pieces and suballocate from these. */

/* A warp's current piece of one kind. */
struct warp_piece {
    uint32_t next, end;
};

struct warp_pieces {
    warp_piece pool, nodes, leaf_ids;
};

__device__ __forceinline__ uint32_t take_piece(uint32_t *counter, uint32_t piece) {
    uint32_t first = 0;
    if ((threadIdx.x & 31) == 0) first = atomicAdd(counter, piece);
    return __shfl_sync(WARP_ALL, first, 0);
}

/* Marks the unused rest of the piece of nodes. */
__device__ __forceinline__ void drop_nodes(const binned &k, const warp_pieces &pieces) {
    for (uint32_t i = pieces.nodes.next / 2 + (threadIdx.x & 31); i < pieces.nodes.end / 2; i += 32)
        k.pairs[i].state = PAIR_HOLE;
}

/* Allocates `count` items, the same number in all lanes, from a new piece if the current one is too
   small; `left` is called before that. If the capacity `maximum` is exceeded, sets `what` in
   `exhausted`, so the build is void, and returns 0, where writes are harmless. */
template <class leave>
__device__ __forceinline__ uint32_t allocate(const binned &k, warp_piece &target, uint32_t count,
                                             uint32_t *counter, uint32_t piece, uint32_t maximum,
                                             uint32_t what, int next, leave left) {
    if (target.next + count > target.end) {
        left();
        target.next = take_piece(counter, piece);
        if (target.next > maximum - piece) {
            exhaust(k, what, next);
            target.next = 0;
        }
        target.end = target.next + piece;
    }
    target.next += count;
    return target.next - count;
}

__device__ __forceinline__ uint32_t take_pool(const binned &k, warp_pieces &pieces, uint32_t count,
                                              int next) {
    return allocate(k, pieces.pool, count, &k.count->pool, POOL_PIECE, k.pool_capacity,
                    EXHAUSTED_POOL, next, [] {});
}
__device__ __forceinline__ uint32_t take_nodes(const binned &k, warp_pieces &pieces, uint32_t count,
                                               int next) {
    return allocate(k, pieces.nodes, count, &k.count->nodes, NODE_PIECE, k.raw_capacity,
                    EXHAUSTED_NODES, next, [&] { drop_nodes(k, pieces); });
}
__device__ __forceinline__ uint32_t take_leaf_ids(const binned &k, warp_pieces &pieces,
                                                  uint32_t count, int next) {
    return allocate(k, pieces.leaf_ids, count, &k.count->leaf_ids, LEAF_PIECE, k.leaf_capacity,
                    EXHAUSTED_LEAVES, next, [] {});
}

/* The lanes' references. A lane without one has id KD_NONE and a box that intersects no plane. */
template <int EACH> struct lane_refs {
    clipped ref[EACH];
    __device__ __forceinline__ bool has(int j) const {
        return __float_as_uint(ref[j].lo.w) != KD_NONE;
    }
};

/* Adds the counts of references i, i + 1, ...: COUNT_STEP of them, which are independent. */
template <int LANES, int EACH, bool flat>
__device__ __forceinline__ void count_some(uint32_t (&counts)[EACH][2], const float (&lo)[EACH],
                                           const float (&hi)[EACH], float from_lo, float from_hi,
                                           uint32_t i) {
#pragma unroll
    for (int k = 0; k < COUNT_STEP; ++k) {
        const float begin = __shfl_sync(WARP_ALL, from_lo, i + k, LANES);
        const float end = __shfl_sync(WARP_ALL, from_hi, i + k, LANES);
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            counts[j][0] += (begin < lo[j] ? 1u : 0u) + (end > lo[j] ? 1u << 10 : 0u);
            counts[j][1] += (begin < hi[j] ? 1u : 0u) + (end > hi[j] ? 1u << 10 : 0u);
            if (!flat) continue;
            counts[j][0] += begin == lo[j] && end == lo[j] ? 1u << 20 : 0u;
            counts[j][1] += begin == hi[j] && end == hi[j] ? 1u << 20 : 0u;
        }
    }
}

/* Counts for both sides of the lane's references, as planes: references before the plane | after it
   << 10 | in it << 20. `flat` is false for most nodes, which have no flat references. */
template <int LANES, int EACH, bool flat>
__device__ __forceinline__ void count_round(uint32_t (&counts)[EACH][2], const float (&lo)[EACH],
                                            const float (&hi)[EACH], uint32_t maximum) {
#pragma unroll
    for (int from = 0; from < EACH; ++from) {
        const uint32_t end =
            maximum > from * LANES ? min(maximum - from * LANES, (uint32_t)LANES) : 0;
#pragma unroll 1
        for (uint32_t i = 0; i < end; i += COUNT_STEP) /* lanes without a reference add nothing */
            count_some<LANES, EACH, flat>(counts, lo, hi, lo[from], hi[from], i);
    }
}

/* Tries the node's faces if references lie in them. These are separated from all others: they go
   left in the lower face, right in the upper one. */
template <int EACH>
__device__ __forceinline__ void
try_own_sides(plane_choice &best, const lane_refs<EACH> &refs, const float (&lo)[EACH],
              const float (&hi)[EACH], const uint32_t (&counts)[EACH][2], int axis,
              const sah_axis &areas, const sah_costs &costs, uint32_t count) {
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
        const float plane = lo[j];
        const bool lower = plane == areas.lo, upper = plane == areas.hi;
        if (!refs.has(j) || plane != hi[j] || lower == upper) continue;
        const uint32_t packed = counts[j][0];
        const uint32_t left = packed & 1023, right = packed >> 10 & 1023, in = packed >> 20;
        const plane_choice tried = {cost_of(costs, areas, plane, lower ? left + in : left,
                                            lower ? right : right + in, count),
                                    plane, (uint32_t)axis | (lower ? 0u : 4u)};
        if (is_better(tried, best)) best = tried;
    }
}

/* Tries both sides of the lane's references on one axis. */
template <int LANES, int EACH>
__device__ __forceinline__ void try_axis(plane_choice &best, const lane_refs<EACH> &refs, int axis,
                                         const sah_axis &areas, const sah_costs &costs,
                                         uint32_t count, uint32_t maximum) {
    float lo[EACH], hi[EACH];
    uint32_t counts[EACH][2] = {};
    bool flat = false;
#pragma unroll
    for (int j = 0; j < EACH; ++j)
        lo[j] = pick4(refs.ref[j].lo, axis), hi[j] = pick4(refs.ref[j].hi, axis);
#pragma unroll
    for (int j = 0; j < EACH; ++j) flat |= lo[j] == hi[j];
    if (__any_sync(WARP_ALL, flat))
        count_round<LANES, EACH, true>(counts, lo, hi, maximum);
    else
        count_round<LANES, EACH, false>(counts, lo, hi, maximum);
    bool in_side = false; /* a reference lies in a face of the node */
#pragma unroll
    for (int j = 0; j < EACH; ++j) {
#pragma unroll
        for (int side = 0; side < 2; ++side) {
            const float plane = side ? hi[j] : lo[j];
            if (!refs.has(j) || !(plane > areas.lo && plane < areas.hi)) continue;
            const uint32_t packed = counts[j][side];
            const uint32_t left = packed & 1023, right = packed >> 10 & 1023, in = packed >> 20;
            plane_choice tried = {cost_of(costs, areas, plane, left + in, right, count), plane,
                                  (uint32_t)axis};
            if (is_better(tried, best)) best = tried;
            if (in == 0) continue;
            tried.cost = cost_of(costs, areas, plane, left, right + in, count);
            tried.code |= 4;
            if (is_better(tried, best)) best = tried;
        }
        in_side |= refs.has(j) && lo[j] == hi[j] && (lo[j] == areas.lo || lo[j] == areas.hi);
    }
    if (in_side) try_own_sides(best, refs, lo, hi, counts, axis, areas, costs, count);
}

template <int LANES, int EACH>
__device__ __forceinline__ plane_choice choose_plane(const binned &k, const work &node,
                                                     const lane_refs<EACH> &refs) {
    plane_choice best = {INFINITY, 0, 8};
    const uint32_t maximum = __reduce_max_sync(WARP_ALL, node.count);
    const node_areas areas = areas_of(node);
    /* unrolled, the code of the kernels exceeds the instruction cache */
#pragma unroll 1
    for (int axis = 0; axis < 3; ++axis)
        try_axis<LANES, EACH>(best, refs, axis, axis_of(node, areas, axis), k.costs, node.count,
                              maximum);
    return best_of_lanes<LANES>(best);
}

/* Splits one node per group of LANES lanes. `low`: children of smaller classes go to list 0, for
   the second kernel. */
template <int LANES, int EACH> struct small_splitter {
    const binned &k;
    const build_level level;
    const int low;
    warp_pieces &pieces;
    uint16_t *straddlers; /* shared memory, two entries per reference of the warp */
    int lane, place;      /* lane in the warp, position in the group */
    unsigned group;       /* mask of the group's lanes */
    work node;
    lane_refs<EACH> refs;
    /* index of each reference in the left, right child */
    uint32_t sides[EACH], left_at[EACH], right_at[EACH];
    uint32_t left, right; /* sizes of the children */
    /* in lanes 0 and 1 of a group: first and last reference of the left, right child */
    uint32_t first_id, last_id;

    __device__ __forceinline__ small_splitter(const binned &k, const build_level &level, int low,
                                              warp_pieces &pieces, uint16_t *straddlers)
        : k(k), level(level), low(low), pieces(pieces), straddlers(straddlers) {
        lane = threadIdx.x & 31;
        place = lane & (LANES - 1);
        group = LANES == 32 ? WARP_ALL : ((1u << (LANES & 31)) - 1) << (lane - place);
    }

    __device__ __forceinline__ void load(const work *list, uint32_t index, uint32_t count) {
        node.count = node.first = node.at = node.depth = 0;
        for (int a = 0; a < 3; ++a) node.lo[a] = 0, node.hi[a] = 1;
        if (index < count) node = list[index];
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            refs.ref[j].lo = make_float4(INFINITY, INFINITY, INFINITY, __uint_as_float(KD_NONE));
            refs.ref[j].hi = make_float4(-INFINITY, -INFINITY, -INFINITY, 0);
            const uint32_t i = j * LANES + place;
            if (i < node.count) refs.ref[j] = k.pool[node.first + i];
        }
    }

    __device__ __forceinline__ void make_leaves(bool leaf) {
        const bool first = place == 0 && leaf;
        if (!__any_sync(WARP_ALL, first)) return;
        const bool listed = node.count > RAW_IDS;
        const uint32_t count = first && listed ? node.count : 0, upto = warp_scan(count);
        const uint32_t total = __shfl_sync(WARP_ALL, upto, 31);
        uint32_t at = take_leaf_ids(k, pieces, total, level.next);
        at += __shfl_sync(WARP_ALL, upto - count, 0, LANES);
        const uint32_t id = __float_as_uint(refs.ref[0].lo.w),
                       second = __shfl_down_sync(WARP_ALL, id, 1, LANES);
        if (!leaf) return;
        if (!listed) {
            if (first) k.raw[node.at] = raw_leaf_with(id, second, node.count);
            return;
        }
#pragma unroll
        for (int j = 0; j < EACH; ++j)
            if (refs.has(j)) k.leaf_ids[at + j * LANES + place] = __float_as_uint(refs.ref[j].lo.w);
        if (first) k.raw[node.at] = raw_leaf(at, node.count);
    }

    __device__ __forceinline__ void sort_out(bool split, const plane_choice &best) {
        const int axis = best.code & 3;
        left = right = 0;
        first_id = last_id = KD_NONE;
        const unsigned below = (1u << lane) - 1;
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            sides[j] = 0;
            if (split && refs.has(j))
                sides[j] = sides_of(pick4(refs.ref[j].lo, axis), pick4(refs.ref[j].hi, axis),
                                    best.plane, best.code & 4);
            const unsigned left_lanes = __ballot_sync(WARP_ALL, sides[j] & 1) & group;
            const unsigned right_lanes = __ballot_sync(WARP_ALL, sides[j] & 2) & group;
            left_at[j] = left + __popc(left_lanes & below);
            right_at[j] = right + __popc(right_lanes & below);
            left += __popc(left_lanes);
            right += __popc(right_lanes);
            const unsigned side_lanes = place == 1 ? right_lanes : left_lanes;
            const uint32_t id = __float_as_uint(refs.ref[j].lo.w);
            const uint32_t first = __shfl_sync(WARP_ALL, id, (__ffs((int)side_lanes) - 1) & 31),
                           last = __shfl_sync(WARP_ALL, id, (31 - __clz((int)side_lanes)) & 31);
            if (!side_lanes) continue;
            if (first_id == KD_NONE) first_id = first;
            last_id = last;
        }
    }

    /* Returns how many references of a child are to be stored: none if it is a leaf whose ids fit
       into its raw node, because no split can cost less. */
    __device__ __forceinline__ uint32_t stored(uint32_t count) const {
        const bool ends = count <= RAW_IDS && k.costs.intersect * (float)count <= k.costs.traversal;
        return ends ? 0 : count;
    }

    /* Clips straddling references by all lanes of the warp, one part per lane. */
    __device__ __forceinline__ void clip_shared(const plane_choice &best, uint32_t to_left,
                                                uint32_t to_right) {
        const unsigned lefts = __ballot_sync(WARP_ALL, sides[0] == 3 && stored(left)),
                       rights = __ballot_sync(WARP_ALL, sides[0] == 3 && stored(right));
        const unsigned below = (1u << lane) - 1;
        const int parts = __popc(lefts) + __popc(rights);
        if (lefts >> lane & 1) straddlers[__popc(lefts & below)] = (uint16_t)lane;
        if (rights >> lane & 1)
            straddlers[__popc(lefts) + __popc(rights & below)] = (uint16_t)(lane | 32);
        __syncwarp();
        for (int begin = 0; begin < parts; begin += 32) {
            const int part = begin + lane;
            const bool on = part < parts;
            const int listed = straddlers[on ? part : 0], from = listed & 31;
            const bool is_right = listed & 32;
            const float4 lo = refs.ref[0].lo, hi = refs.ref[0].hi;
            clipped ref;
            ref.lo.x = __shfl_sync(WARP_ALL, lo.x, from);
            ref.lo.y = __shfl_sync(WARP_ALL, lo.y, from);
            ref.lo.z = __shfl_sync(WARP_ALL, lo.z, from);
            ref.lo.w = __shfl_sync(WARP_ALL, lo.w, from);
            ref.hi.x = __shfl_sync(WARP_ALL, hi.x, from);
            ref.hi.y = __shfl_sync(WARP_ALL, hi.y, from);
            ref.hi.z = __shfl_sync(WARP_ALL, hi.z, from);
            ref.hi.w = 0;
            const float plane = __shfl_sync(WARP_ALL, best.plane, from);
            const uint32_t code = __shfl_sync(WARP_ALL, best.code, from);
            const uint32_t at_left = __shfl_sync(WARP_ALL, to_left, from);
            const uint32_t at_right = __shfl_sync(WARP_ALL, to_right, from);
            if (on)
                k.pool[is_right ? at_right : at_left] =
                    clip_side(k, ref, code & 3, plane, is_right);
        }
        __syncwarp();
    }

    /* Lists one side's parts of references j of the lanes; `to`: their place in the children. */
    __device__ __forceinline__ void list_parts(bool on, int j, uint32_t to, bool is_right,
                                               uint32_t &count) {
        const unsigned lanes = __ballot_sync(WARP_ALL, on);
        if (on)
            straddlers[count + __popc(lanes & ((1u << lane) - 1))] =
                (uint16_t)((uint32_t)(j * LANES + place) | to << 6 | (is_right ? 1u << 14 : 0));
        count += __popc(lanes);
    }

    /* The same for groups whose lanes hold several references, all of one node: straddling
       references are loaded again. */
    __device__ __forceinline__ void clip_listed(const plane_choice &best, uint32_t base) {
        static_assert(LANES * EACH <= 64, "6 bits for a reference, 8 for its place");
        uint32_t count = 0;
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            list_parts(sides[j] == 3 && stored(left), j, left_at[j], false, count);
            list_parts(sides[j] == 3 && stored(right), j, stored(left) + right_at[j], true, count);
        }
        __syncwarp();
#pragma unroll 1
        for (uint32_t part = lane; part < count; part += 32) {
            const uint32_t listed = straddlers[part];
            k.pool[base + (listed >> 6 & 255)] = clip_side(k, k.pool[node.first + (listed & 63)],
                                                           best.code & 3, best.plane, listed >> 14);
        }
        __syncwarp();
    }

    __device__ __forceinline__ void move(const plane_choice &best, uint32_t base) {
        const uint32_t base_right = base + stored(left);
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            if (sides[j] == 1 && stored(left)) k.pool[base + left_at[j]] = refs.ref[j];
            if (sides[j] == 2 && stored(right)) k.pool[base_right + right_at[j]] = refs.ref[j];
        }
        if constexpr (EACH == 1)
            clip_shared(best, base + left_at[0], base_right + right_at[0]);
        else
            clip_listed(best, base);
    }

    /* The first lane of a group lists its node's left child, the second the right one. */
    __device__ __forceinline__ void make_children(bool split, const plane_choice &best,
                                                  uint32_t base, uint32_t children) {
        const int axis = best.code & 3;
        int size = -1;
        work child = node;
        if (split && place < 2) {
            const bool is_right = place == 1;
            child = child_of(node, axis, best.plane, is_right);
            child.first = is_right ? base + stored(left) : base;
            child.count = is_right ? right : left;
            child.at = children + place;
            if (!stored(child.count))
                k.raw[child.at] = raw_leaf_with(first_id, last_id, child.count);
            else
                size = small_class(child.count);
            if (!is_right) make_inner(k, node, axis, best.plane, children);
        }
        list_children(child, size);
    }

    /* Appends children to the lists of their classes; size -1: no child. All lanes must call it.
       One lane per class allocates, so the warp waits only once. */
    __device__ __forceinline__ void list_children(const work &child, int size) {
        uint32_t count = 0, before = 0;
#pragma unroll
        for (int c = 0; c < SMALL_CLASSES; ++c) {
            if (LANES * EACH < 4 << c) break;
            const unsigned lanes = __ballot_sync(WARP_ALL, size == c);
            if (lane == c) count = (uint32_t)__popc(lanes);
            if (size == c) before = (uint32_t)__popc(lanes & ((1u << lane) - 1));
        }
        uint32_t first = 0;
        if (count) first = atomicAdd(&k.count->small[lane < low ? 0 : level.next][lane], count);
        first = __shfl_sync(WARP_ALL, first, size < 0 ? 0 : size);
        if (size < 0) return;
        const uint32_t i = first + before;
        if (i < k.small_capacity)
            k.small[size < low ? 0 : level.to][size][i] = child;
        else
            exhaust(k, EXHAUSTED_LISTS, level.next);
    }

    __device__ __forceinline__ void run() {
        const plane_choice best = choose_plane<LANES, EACH>(k, node, refs);
        const bool split = node.count > 0 && !is_leaf(k, node, best.cost);
        make_leaves(node.count > 0 && !split);
        const unsigned splits = __ballot_sync(WARP_ALL, split && place == 0);
        if (!splits) return;
        sort_out(split, best);
        const uint32_t count = place == 0 ? stored(left) + stored(right) : 0,
                       upto = warp_scan(count);
        uint32_t base = take_pool(k, pieces, __shfl_sync(WARP_ALL, upto, 31), level.next);
        base += __shfl_sync(WARP_ALL, upto - count, 0, LANES);
        uint32_t children = take_nodes(k, pieces, 2 * __popc(splits), level.next);
        children += 2 * __popc(splits & ((1u << (lane - place)) - 1));
        move(best, base);
        make_children(split, best, base, children);
    }
};

/* `taken`: warps that already have a unit of this level. The next class continues with the others,
   so that a level of few nodes takes one unit per warp, not one per class. */
template <int LANES, int EACH>
__device__ __forceinline__ void split_class(const binned &k, const build_level &level, int size,
                                            int low, warp_pieces &pieces, uint16_t *straddlers,
                                            uint32_t &taken) {
    const uint32_t count = min(k.count->small[level.now][size], k.small_capacity);
    const uint32_t warps = gridDim.x * (SMALL_BLOCK / 32), nodes = 32 / LANES;
    /* few units are spread over many blocks */
    const uint32_t warp = (threadIdx.x >> 5) * gridDim.x + blockIdx.x;
    const uint32_t units = (count + nodes - 1) / nodes;
    for (uint32_t unit = warp < taken ? warp + warps - taken : warp - taken; unit < units;
         unit += warps) {
        small_splitter<LANES, EACH> splitter(k, level, low, pieces, straddlers);
        splitter.load(k.small[level.from][size], unit * nodes + (threadIdx.x & 31) / LANES, count);
        splitter.run();
    }
    taken = (taken + units) % warps;
}

/* Processes levels until the classes of this kernel are empty. */
template <bool second> __device__ __forceinline__ void split_small(const binned &k) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    __shared__ uint16_t shared_straddlers[SMALL_BLOCK / 32][128];
    uint16_t *straddlers = shared_straddlers[threadIdx.x >> 5];
    const int first = second ? 0 : SMALL_CUT, end = second ? SMALL_CUT : SMALL_CLASSES;
    const int low = second ? 0 : SMALL_CUT;
    warp_pieces pieces = {};
    counters *c = k.count;
    for (int depth = 0;; ++depth) {
        const build_level level = level_at(depth);
        uint32_t any = 0;
        for (int i = first; i < end; ++i) any |= c->small[level.now][i];
        if (any == 0 || c->stop[level.now]) break;
        if (blockIdx.x == 0 && threadIdx.x < end - first)
            c->small[level.after][first + threadIdx.x] = 0;
        uint32_t taken = 0;
        if (second) {
            split_class<16, 1>(k, level, 2, low, pieces, straddlers, taken);
            split_class<8, 1>(k, level, 1, low, pieces, straddlers, taken);
            split_class<4, 1>(k, level, 0, low, pieces, straddlers, taken);
        } else {
            split_class<32, 2>(k, level, 4, low, pieces, straddlers, taken);
            split_class<32, 1>(k, level, 3, low, pieces, straddlers, taken);
        }
        grid.sync();
    }
    drop_nodes(k, pieces);
}

__global__ __launch_bounds__(SMALL_BLOCK, 5) void small_nodes(const binned k) {
    split_small<false>(k);
}
__global__ __launch_bounds__(SMALL_BLOCK, 5) void smallest_nodes(const binned k) {
    split_small<true>(k);
}

#endif
