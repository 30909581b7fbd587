/* From raw nodes to the layout: depth first, a pair of children at a time, ids in a leaf ascending.
   Idea: leaves report to their parents how many nodes and references lie below; who comes second
   goes on up. A node's place is then a sum of differences along its way to the root, taken
   PLACE_STEP levels at a time: first for nodes down to that depth, whose sums the next pass builds
   on. */
#ifndef KD_ACCEL_KANDELA_PLACE_CUH
#define KD_ACCEL_KANDELA_PLACE_CUH
#include "accel/kandela_state.cuh"

enum { PLACE_BLOCK = 256, PLACE_STEP = 8, RANKED_MOST = 64 };

#define FOR_RAW(k, id)                                                                             \
    for (uint32_t id = blockIdx.x * PLACE_BLOCK + threadIdx.x, raw_count_ = (k).count->nodes;      \
         id < raw_count_; id += gridDim.x * PLACE_BLOCK)

/* sizes: inner nodes and references of a subtree. */
__global__ __launch_bounds__(PLACE_BLOCK) void sum_sizes(const kandela k) {
    if (k.count->exhausted) return;
    FOR_RAW(k, id) {
        const raw_node leaf = k.raw[id];
        if ((leaf.kind & 3) != 3) continue;
        k.sizes[id] = make_uint2(0, leaf.count);
        for (uint32_t at = id; at != 0;) {
            const uint32_t pair = at >> 1;
            __threadfence(); /* the size before the report */
            if (atomicAdd(&k.pairs[pair].y, 1u) == 0) break;
            __threadfence();
            const uint2 left = __ldcg(&k.sizes[2 * pair]), right = __ldcg(&k.sizes[2 * pair + 1]);
            at = k.pairs[pair].x;
            k.sizes[at] = make_uint2(1 + left.x + right.x, left.y + right.y);
        }
    }
}

/* Restores the heap order below `at`. */
__device__ inline void sift(uint32_t *ids, uint32_t at, uint32_t count) {
    const uint32_t moved = ids[at];
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && ids[child + 1] > ids[child]) ++child;
        if (ids[child] <= moved) break;
        ids[at] = ids[child];
    }
    ids[at] = moved;
}

__device__ inline void copy_sorted(uint32_t *to, const uint32_t *from, uint32_t count) {
    if (count <= RANKED_MOST) {
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t id = from[i];
            uint32_t rank = 0;
            for (uint32_t j = 0; j < count; ++j) rank += from[j] < id;
            to[rank] = id;
        }
        return;
    }
    for (uint32_t i = 0; i < count; ++i) to[i] = from[i];
    for (uint32_t i = count / 2; i-- > 0;) sift(to, i, count);
    for (uint32_t end = count - 1; end > 0; --end) {
        const uint32_t last = to[0];
        to[0] = to[end];
        to[end] = last;
        sift(to, 0, end);
    }
}

/* What a child's place is beyond its parent's: first node and first reference below it. */
__device__ __forceinline__ uint2 step_from_parent(const kandela &k, uint32_t id) {
    if (!(id & 1)) return make_uint2(2, 0);
    const uint2 left = k.sizes[id - 1];
    return make_uint2(2 + 2 * left.x, left.y);
}

/* Nodes deeper than `above` by at most PLACE_STEP. */
__global__ __launch_bounds__(PLACE_BLOCK) void place_nodes(const kandela k, uint32_t above) {
    const counters *c = k.count;
    const uint2 total = k.sizes[0];
    if (c->exhausted || 2 * total.x + 1 > k.node_room || total.y > k.reference_room) return;
    FOR_RAW(k, id) {
        const raw_node node = k.raw[id];
        const uint32_t depth = node.kind >> 4;
        const bool is_root = id == 0 && above == 0;
        if (!is_root && (depth <= above || depth > above + PLACE_STEP)) continue;
        uint2 step = make_uint2(0, 0), place = make_uint2(1, 0);
        uint32_t at = id;
        if (!is_root) {
            step = step_from_parent(k, id);
            uint2 sum = step;
            at = k.pairs[id >> 1].x;
            for (uint32_t up = depth - 1; up > above; --up) {
                const uint2 next = step_from_parent(k, at);
                sum.x += next.x, sum.y += next.y;
                at = k.pairs[at >> 1].x;
            }
            if (at != 0) place = k.places[at];
            place.x += sum.x, place.y += sum.y;
        }
        if (depth == above + PLACE_STEP) k.places[id] = place;
        const uint32_t index = is_root ? 0 : place.x - step.x + (id & 1);
        if ((node.kind & 3) != 3) {
            k.nodes[index] = tritree_inner((int)(node.kind & 3), node.split, place.x);
        } else {
            k.nodes[index] = tritree_leaf(place.y, node.count);
            copy_sorted(k.references + place.y, k.leaf_ids + node.first, node.count);
        }
    }
}

__global__ void report(const kandela k) {
    const counters *c = k.count;
    tritree_built built;
    built.box.lo =
        vec3_make(unordered(c->box_lo[0]), unordered(c->box_lo[1]), unordered(c->box_lo[2]));
    built.box.hi =
        vec3_make(unordered(c->box_hi[0]), unordered(c->box_hi[1]), unordered(c->box_hi[2]));
    built.node_count = 2 * k.sizes[0].x + 1;
    built.reference_count = k.sizes[0].y;
    built.degenerate_count = c->degenerate;
    built.exhausted = c->exhausted;
    built.needed_bytes = 0;
    if (built.node_count > k.node_room) built.exhausted |= EXHAUSTED_NODES;
    if (built.reference_count > k.reference_room) built.exhausted |= EXHAUSTED_LEAVES;
    *k.built = built;
}

#endif
