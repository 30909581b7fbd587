/* The last stage of `zhou`: from raw nodes and small roots to the layout (Zhou 2008, section 3.3:
   preorder, sizes from the leaves up, then places from the root down).
   Idea: leaves report to their parents how much lies below; who comes second goes on up. A raw
   node's place is then a sum along its way to the root; there are few raw nodes, as what is below
   small roots has its order already and is only moved.
   Data flow: zhou_sum_sizes: raw nodes, sizes of small roots -> sizes below each raw node;
              zhou_sort_leaves, a block a leaf, in place; zhou_place_raw: sizes -> raw nodes in
              the layout, places of small roots and large leaves; zhou_move_roots, a warp a
              root, and zhou_move_leaves: segments and lists -> the layout; zhou_report, one
              thread: counters -> what the host reads. Launches in this order. */
#ifndef KD_ACCEL_ZHOU_PLACE_CUH
#define KD_ACCEL_ZHOU_PLACE_CUH
#include "accel/zhou/state.cuh"

enum { ZHOU_PLACE_BLOCK = 256, ZHOU_SORT_BLOCK = 512 };

#define ZHOU_FOR(id, count)                                                                        \
    for (uint32_t id = blockIdx.x * blockDim.x + threadIdx.x, end_##id = (count); id < end_##id;   \
         id += gridDim.x * blockDim.x)

/* sizes: nodes and references below. Those of small roots are there. */
__global__ __launch_bounds__(ZHOU_PLACE_BLOCK) void zhou_sum_sizes(const zhou_device k) {
    if (k.count->exhausted & (ZHOU_EXHAUSTED_PARTS | ZHOU_EXHAUSTED_LISTS)) return;
    ZHOU_FOR(id, k.count->raw) {
        if (id == 1) continue; /* beside the root there is nothing, not even written */
        const zhou_raw leaf = k.raw[id];
        if (leaf.kind < ZHOU_RAW_LEAF) continue;
        if (leaf.kind == ZHOU_RAW_LEAF) k.sizes[id] = make_uint2(0, leaf.count);
        for (uint32_t at = id; at != 0;) {
            const uint32_t pair = at >> 1;
            __threadfence(); /* the size before the report */
            if (atomicAdd(&k.pairs[pair].y, 1u) == 0) break;
            __threadfence();
            const uint2 left = __ldcg(&k.sizes[2 * pair]), right = __ldcg(&k.sizes[2 * pair + 1]);
            at = k.pairs[pair].x;
            k.sizes[at] = make_uint2(2 + left.x + right.x, left.y + right.y);
        }
    }
}

__device__ __forceinline__ bool zhou_fits(const zhou_device &k) {
    return !k.count->exhausted && k.sizes[0].x + 1 <= k.node_room &&
           k.sizes[0].y <= k.reference_room;
}

/* Orders a large leaf's ids, one block a leaf: a bitonic network for any count, whose pairs are
   all put in the same order. */
__global__ __launch_bounds__(ZHOU_SORT_BLOCK) void zhou_sort_leaves(const zhou_device k) {
    if (!zhou_fits(k)) return;
    for (uint32_t i = blockIdx.x; i < k.count->leaves; i += gridDim.x) {
        const zhou_raw leaf = k.raw[k.leaves[i]];
        uint32_t *ids = k.ids + leaf.first;
        for (uint32_t size = 2; size / 2 < leaf.count; size *= 2)
            for (uint32_t step = size / 2; step; step /= 2) {
                for (uint32_t j = threadIdx.x; j < leaf.count; j += ZHOU_SORT_BLOCK) {
                    const uint32_t other = step == size / 2 ? j ^ (size - 1) : j ^ step;
                    if (other <= j || other >= leaf.count) continue;
                    const uint32_t a = ids[j], b = ids[other];
                    if (a > b) ids[j] = b, ids[other] = a;
                }
                __syncthreads();
            }
    }
}

/* Where raw nodes go; small roots and large leaves learn where what is theirs goes. */
__global__ __launch_bounds__(ZHOU_PLACE_BLOCK) void zhou_place_raw(const zhou_device k) {
    if (!zhou_fits(k)) return;
    ZHOU_FOR(id, k.count->raw) {
        if (id == 1) continue; /* nobody's */
        const zhou_raw raw = k.raw[id];
        uint32_t nodes = 1, ids = 0, index = 0;
        for (uint32_t at = id; at != 0; at = k.pairs[at >> 1].x) {
            const uint2 left = at & 1 ? k.sizes[at - 1] : make_uint2(0, 0);
            if (at == id) index = 0u - 2 - left.x + (id & 1);
            nodes += 2 + left.x, ids += left.y;
        }
        if (id != 0) index += nodes; /* its pair lies where its parent's subtree begins */
        if (raw.kind < ZHOU_RAW_LEAF) {
            k.nodes[index] = tritree_inner((int)raw.kind, raw.split, nodes);
        } else if (raw.kind == ZHOU_RAW_LEAF) {
            k.nodes[index] = tritree_leaf(ids, raw.count);
            k.raw[id].split = __uint_as_float(ids); /* where its ids go */
        } else {
            zhou_small_root *root = k.roots + raw.first;
            root->node_place = nodes, root->id_place = ids;
            const tritree_node top = root->top;
            k.nodes[index] = tritree_is_leaf(top)
                                 ? tritree_leaf(ids, tritree_count(top))
                                 : tritree_inner(tritree_axis(top), top.split, nodes);
        }
    }
}

__device__ __forceinline__ tritree_node zhou_moved(tritree_node node, uint32_t nodes,
                                                   uint32_t ids) {
    if (tritree_is_leaf(node)) return tritree_leaf(tritree_first(node) + ids, tritree_count(node));
    return tritree_inner(tritree_axis(node), node.split, tritree_left(node) + nodes);
}

/* What is below small roots, a warp each. */
__global__ __launch_bounds__(ZHOU_PLACE_BLOCK) void zhou_move_roots(const zhou_device k) {
    if (!zhou_fits(k)) return;
    const uint32_t lane = threadIdx.x & 31, warps = gridDim.x * ZHOU_PLACE_BLOCK / 32;
    for (uint32_t i = (blockIdx.x * ZHOU_PLACE_BLOCK + threadIdx.x) / 32; i < k.count->roots;
         i += warps) {
        const zhou_small_root *root = k.roots + i;
        const uint32_t nodes = root->node_place, ids = root->id_place;
        uint32_t from = root->node_first;
        for (uint32_t done = 0, all = root->node_count; done < all;) {
            const uint32_t here = min(all - done, ZHOU_SEGMENT - from % ZHOU_SEGMENT);
            for (uint32_t j = lane; j < here; j += 32)
                k.nodes[nodes + done + j] = zhou_moved(k.segments[from + j], nodes, ids);
            done += here;
            if (done < all) from = k.node_next[from / ZHOU_SEGMENT] * ZHOU_SEGMENT;
        }
        from = root->id_first;
        for (uint32_t done = 0, all = root->id_count; done < all;) {
            const uint32_t here = min(all - done, ZHOU_SEGMENT - from % ZHOU_SEGMENT);
            for (uint32_t j = lane; j < here; j += 32)
                k.references[ids + done + j] = k.id_segments[from + j];
            done += here;
            if (done < all) from = k.id_next[from / ZHOU_SEGMENT] * ZHOU_SEGMENT;
        }
    }
}

__global__ __launch_bounds__(ZHOU_PLACE_BLOCK) void zhou_move_leaves(const zhou_device k) {
    if (!zhou_fits(k)) return;
    for (uint32_t i = blockIdx.x; i < k.count->leaves; i += gridDim.x) {
        const zhou_raw leaf = k.raw[k.leaves[i]];
        for (uint32_t j = threadIdx.x; j < leaf.count; j += ZHOU_PLACE_BLOCK)
            k.references[__float_as_uint(leaf.split) + j] = k.ids[leaf.first + j];
    }
}

/* If the small stage ran out of segments, it went on counting: what the tree needs is known. */
__global__ void zhou_report(const zhou_device k) {
    const zhou_counters *c = k.count;
    tritree_built built;
    built.box = unordered_box(c->box_lo, c->box_hi);
    built.node_count = 1 + k.sizes[0].x;
    built.reference_count = k.sizes[0].y;
    built.degenerate_count = c->degenerate;
    built.exhausted = c->exhausted;
    built.needed_bytes = 0;
    if (built.node_count > k.node_room) built.exhausted |= ZHOU_EXHAUSTED_NODES;
    if (built.reference_count > k.reference_room) built.exhausted |= ZHOU_EXHAUSTED_REFERENCES;
    if (built.exhausted && !(c->exhausted & (ZHOU_EXHAUSTED_PARTS | ZHOU_EXHAUSTED_LISTS))) {
        built.needed_bytes = k.memory_bytes;
        if (built.node_count > k.node_room)
            built.needed_bytes += 2ull * sizeof(tritree_node) * (built.node_count - k.node_room);
        if (built.reference_count > k.reference_room)
            built.needed_bytes +=
                2ull * sizeof(uint32_t) * (built.reference_count - k.reference_room);
    }
    *k.built = built;
}

#endif
