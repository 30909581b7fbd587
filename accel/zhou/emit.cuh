/* The last stage of the CUDA builders: from raw nodes to the layout, depth first, both children of
   a node at once, ids in a leaf ascending.
   Source: Zhou, Hou, Wang, Guo 2008, section 3.3 (sizes from the leaves up, then places from the
   root down).
   Idea: one thread per pair of siblings. Sizes are summed upwards from pairs of two leaves: the
   size of a sibling that is a leaf is known immediately; of two inner siblings the second to arrive
   continues upwards. A pair's place is then a sum of differences along its path to the root, or to
   the first pair on it whose place another thread has stored. Pairs are allocated after their
   parents, so most paths are short. The rule defines what a raw leaf stands for, by overloads for
   the type of its state: size_of, the size of its subtree, and place_leaf.
   Data flow: sum_sizes, one thread per pair, from the leaves up: raw nodes -> the subtree sizes of
   each pair. Then place_nodes, one thread per pair: sizes -> the places of pairs, and the layout's
   nodes and references. */
#ifndef KD_ACCEL_ZHOU_EMIT_CUH
#define KD_ACCEL_ZHOU_EMIT_CUH
#include "accel/zhou/state.cuh"

enum { PLACE_BLOCK = 256 };

#define FOR_PAIRS(k, pair)                                                                         \
    for (uint32_t pair = blockIdx.x * PLACE_BLOCK + threadIdx.x,                                   \
                  pair_count_ = (k).count->nodes >> 1;                                             \
         pair < pair_count_; pair += gridDim.x * PLACE_BLOCK)

/* Combines the sizes of `at` and its sibling, which is an inner node, too. Returns true for the
   second to arrive, whose `size` is then the sum. */
template <class state>
__device__ __forceinline__ bool join_sibling(const state &k, uint32_t at, uint2 *size) {
    raw_pair *pair = k.pairs + (at >> 1);
    const bool is_right = at & 1;
    (is_right ? pair->right : pair->left) = *size;
    __threadfence(); /* makes the size visible before the report */
    if ((atomicAdd(&pair->state, 1u) & 3) == 0) return false;
    __threadfence();
    const uint2 other = __ldcg(is_right ? &pair->left : &pair->right);
    *size = make_uint2(size->x + other.x, size->y + other.y);
    return true;
}

/* Sums up sizes: inner nodes and references of each subtree. */
template <class state> __global__ __launch_bounds__(PLACE_BLOCK) void sum_sizes(const state k) {
    auto *c = k.count;
    if (c->exhausted & state::SIZES_UNKNOWN) return;
    FOR_PAIRS(k, pair) {
        if (pair == 0) { /* the root has no sibling */
            if (is_raw_leaf(k.raw[0].kind)) c->total = size_of(k, k.raw[0]);
            continue;
        }
        if (k.pairs[pair].state == PAIR_HOLE) continue;
        const raw_node left = k.raw[2 * pair], right = k.raw[2 * pair + 1];
        if (!is_raw_leaf(left.kind) || !is_raw_leaf(right.kind)) continue;
        const uint2 first = size_of(k, left), second = size_of(k, right);
        uint2 size = make_uint2(1 + first.x + second.x, first.y + second.y);
        k.pairs[pair].left = first;
        uint32_t at = k.pairs[pair].parent;
        while (at != 0) {
            raw_pair *up = k.pairs + (at >> 1);
            const uint32_t parent = up->parent;
            const raw_node sibling = k.raw[at ^ 1];
            if (is_raw_leaf(sibling.kind)) {
                const uint2 leaf = size_of(k, sibling);
                up->left = at & 1 ? leaf : size;
                size.x += leaf.x, size.y += leaf.y;
            } else if (!join_sibling(k, at, &size)) {
                break;
            }
            ++size.x;
            at = parent;
        }
        if (at == 0) c->total = size;
    }
}

/* `place`: the first node and the first reference below the node. */
template <class state>
__device__ __forceinline__ void place_node(const state &k, uint32_t id, uint32_t index,
                                           uint2 place) {
    const raw_node node = k.raw[id];
    if (!is_raw_leaf(node.kind))
        k.nodes[index] = tritree_inner((int)(node.kind & 3), node.split, place.x);
    else
        place_leaf(k, id, node, index, place);
}

template <class state> __device__ __forceinline__ bool layout_fits(const state &k) {
    return !k.count->exhausted && 2 * k.count->total.x + 1 <= k.node_capacity &&
           k.count->total.y <= k.reference_capacity;
}

template <class state> __device__ inline void report(const state &k) {
    const auto *c = k.count;
    tritree_built built;
    built.box = unordered_box(c->box_lo, c->box_hi);
    built.node_count = 2 * c->total.x + 1;
    built.reference_count = c->total.y;
    built.degenerate_count = c->degenerate;
    built.exhausted = c->exhausted;
    if (built.node_count > k.node_capacity) built.exhausted |= EXHAUSTED_NODES;
    if (built.reference_count > k.reference_capacity) built.exhausted |= EXHAUSTED_LEAVES;
    built.needed_bytes = needed_bytes(k, built);
    *k.built = built;
}

/* Returns the place of a pair below the raw node `at`. */
template <class state> __device__ __forceinline__ uint2 place_below(const state &k, uint32_t at) {
    uint2 place = make_uint2(0, 0);
    while (at != 0) {
        const raw_pair *pair = k.pairs + (at >> 1);
        const unsigned long long known = *(const volatile unsigned long long *)&pair->place;
        place.x += 2 + (uint32_t)known, place.y += (uint32_t)(known >> 32);
        if (at & 1) place.x += 2 * pair->left.x, place.y += pair->left.y;
        if (known) return place;
        at = pair->parent;
    }
    return make_uint2(place.x + 1, place.y);
}

/* Also writes the result of the build. */
template <class state> __global__ __launch_bounds__(PLACE_BLOCK) void place_nodes(const state k) {
    if (blockIdx.x == 0 && threadIdx.x == 0) report(k);
    if (!layout_fits(k)) return;
    FOR_PAIRS(k, pair) {
        if (pair == 0) place_node(k, 0, 0, make_uint2(1, 0));
        const raw_pair raw = k.pairs[pair];
        if (raw.state == PAIR_HOLE) continue;
        const uint2 place = place_below(k, raw.parent);
        *(volatile unsigned long long *)&k.pairs[pair].place =
            (unsigned long long)place.y << 32 | place.x;
        const uint2 left = make_uint2(place.x + 2, place.y);
        const uint2 right = make_uint2(left.x + 2 * raw.left.x, left.y + raw.left.y);
        place_node(k, 2 * pair, place.x, left);
        place_node(k, 2 * pair + 1, place.x + 1, right);
    }
}

template <class state> kd_status emit(const state &k, unsigned blocks, cudaStream_t stream) {
    sum_sizes<state><<<blocks, PLACE_BLOCK, 0, stream>>>(k);
    KD_CUDA_LAUNCHED("sum_sizes");
    place_nodes<state><<<blocks, PLACE_BLOCK, 0, stream>>>(k);
    KD_CUDA_LAUNCHED("place_nodes");
    return KD_OK;
}

#endif
