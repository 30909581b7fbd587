/* From raw nodes to the layout: depth first, a pair of children at a time, ids in a leaf ascending.
   Idea: a thread a pair of children. From pairs of two leaves on, sizes go up: a sibling that is a
   leaf is known at once, of two inner siblings the one that comes second goes on up. A node's place
   is then a sum of differences along its way to the root, taken `step` levels at a time: first
   for nodes down to that depth, whose sums the next pass builds on.
   Data flow: sum_sizes, a thread a pair, from the leaves up: raw nodes -> the size left of each
              pair. Then place_nodes, once for each `step` levels: sizes and the places of the
              pass before -> the layout's nodes and references. */
#ifndef KD_ACCEL_ZHOU_BINNED_PLACE_CUH
#define KD_ACCEL_ZHOU_BINNED_PLACE_CUH
#include "accel/zhou/binned_state.cuh"

enum { PLACE_BLOCK = 256, PLACE_STEP_MOST = 14, RANKED_MOST = 64 };

#define FOR_PAIRS(k, pair)                                                                         \
    for (uint32_t pair = blockIdx.x * PLACE_BLOCK + threadIdx.x,                                   \
                  pair_count_ = (k).count->nodes >> 1;                                             \
         pair < pair_count_; pair += gridDim.x * PLACE_BLOCK)

__device__ __forceinline__ bool is_raw_leaf(uint32_t kind) {
    return (kind & 3) == 3;
}

/* The sizes of `at` and its sibling, an inner node too, meet: true for who comes second, whose
   `size` is then that of both. */
__device__ __forceinline__ bool meet_sibling(const binned &k, uint32_t at, uint2 *size) {
    raw_pair *pair = k.pairs + (at >> 1);
    const bool is_right = at & 1;
    (is_right ? pair->right : pair->left) = *size;
    __threadfence(); /* the size before the report */
    if ((atomicAdd(&pair->state, 1u) & 3) == 0) return false;
    __threadfence();
    const uint2 other = __ldcg(is_right ? &pair->left : &pair->right);
    *size = make_uint2(size->x + other.x, size->y + other.y);
    return true;
}

/* sizes: inner nodes and references of a subtree. */
__global__ __launch_bounds__(PLACE_BLOCK) void sum_sizes(const binned k) {
    counters *c = k.count;
    if (c->exhausted) return;
    FOR_PAIRS(k, pair) {
        if (pair == 0) { /* the root's, who has no sibling */
            if (is_raw_leaf(k.raw[0].kind)) c->total = make_uint2(0, k.raw[0].count);
            continue;
        }
        if (k.pairs[pair].state == PAIR_HOLE) continue;
        const raw_node left = k.raw[2 * pair], right = k.raw[2 * pair + 1];
        if (!is_raw_leaf(left.kind) || !is_raw_leaf(right.kind)) continue;
        uint2 size = make_uint2(1, left.count + right.count);
        k.pairs[pair].left = make_uint2(0, left.count);
        uint32_t at = k.pairs[pair].parent;
        while (at != 0) {
            raw_pair *up = k.pairs + (at >> 1);
            const uint32_t parent = up->parent;
            const raw_node sibling = k.raw[at ^ 1];
            if (is_raw_leaf(sibling.kind)) {
                up->left = at & 1 ? make_uint2(0, sibling.count) : size;
                size.y += sibling.count;
            } else if (!meet_sibling(k, at, &size)) {
                break;
            }
            ++size.x;
            at = parent;
        }
        if (at == 0) c->total = size;
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

/* At most MOST ids, by registers. */
template <int MOST>
__device__ __forceinline__ void copy_ranked(uint32_t *to, const uint32_t *from, uint32_t count) {
    uint32_t id[MOST];
#pragma unroll
    for (int i = 0; i < MOST; ++i) id[i] = (uint32_t)i < count ? from[i] : KD_NONE;
#pragma unroll
    for (int i = 0; i < MOST; ++i) {
        uint32_t rank = 0;
#pragma unroll
        for (int j = 0; j < MOST; ++j) rank += id[j] < id[i];
        if ((uint32_t)i < count) to[rank] = id[i];
    }
}

__device__ inline void copy_sorted(uint32_t *to, const uint32_t *from, uint32_t count) {
    if (count <= 4) {
        copy_ranked<4>(to, from, count);
        return;
    }
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

/* `place`: the first node and the first reference below the node. */
__device__ __forceinline__ void place_node(const binned &k, uint32_t id, uint32_t index,
                                           uint2 place) {
    const raw_node node = k.raw[id];
    if (!is_raw_leaf(node.kind)) {
        k.nodes[index] = tritree_inner((int)(node.kind & 3), node.split, place.x);
    } else {
        k.nodes[index] = tritree_leaf(place.y, node.count);
        if (node.count == 1)
            k.references[place.y] = node.first;
        else
            copy_sorted(k.references + place.y, k.leaf_ids + node.first, node.count);
    }
}

__device__ inline void report(const binned k) {
    const counters *c = k.count;
    tritree_built built;
    built.box = unordered_box(c->box_lo, c->box_hi);
    built.node_count = 2 * c->total.x + 1;
    built.reference_count = c->total.y;
    built.degenerate_count = c->degenerate;
    built.exhausted = c->exhausted;
    built.needed_bytes = 0;
    if (built.node_count > k.node_room) built.exhausted |= EXHAUSTED_NODES;
    if (built.reference_count > k.reference_room) built.exhausted |= EXHAUSTED_LEAVES;
    *k.built = built;
}

/* Nodes deeper than `above` by at most `step`. The first call says what has been built. */
__global__ __launch_bounds__(PLACE_BLOCK) void place_nodes(const binned k, uint32_t above,
                                                           uint32_t step) {
    const counters *c = k.count;
    if (above == 0 && blockIdx.x == 0 && threadIdx.x == 0) report(k);
    if (c->exhausted || 2 * c->total.x + 1 > k.node_room || c->total.y > k.reference_room) return;
    FOR_PAIRS(k, pair) {
        if (pair == 0 && above == 0) place_node(k, 0, 0, make_uint2(1, 0));
        const uint32_t depth = k.pairs[pair].state >> 2; /* a hole's is 0: it has nothing else */
        if (depth <= above || depth > above + step) continue;
        const raw_pair own = k.pairs[pair];
        uint2 place = make_uint2(0, 0); /* of the parent */
        uint32_t at = own.parent;
        for (uint32_t up = depth - 1; up > above; --up) {
            const raw_pair next = k.pairs[at >> 1];
            place.x += 2;
            if (at & 1) place.x += 2 * next.left.x, place.y += next.left.y;
            at = next.parent;
        }
        const uint2 top = at == 0 ? make_uint2(1, 0) : k.places[at];
        place.x += top.x, place.y += top.y;
        const uint2 left = make_uint2(place.x + 2, place.y);
        const uint2 right = make_uint2(left.x + 2 * own.left.x, left.y + own.left.y);
        if (depth == above + step) k.places[2 * pair] = left, k.places[2 * pair + 1] = right;
        place_node(k, 2 * pair, place.x, left);
        place_node(k, 2 * pair + 1, place.x + 1, right);
    }
}

#endif
