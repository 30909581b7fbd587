/* Builder `zhou` on a CUDA device, as a rule of the pipeline (pipeline.cuh).
   Source: Zhou, Hou, Wang, Guo 2008, "Real-time kd-tree construction on graphics hardware", as
   built and timed by Choi and Ye 2020.
   Idea: that of build_zhou.c, with the same tree, bit for bit; both use stages.h. Stages: set_up,
   large_nodes.cuh, small_nodes.cuh, and emission of the layout below.
   Work: O(n log n).
   Memory: see lay_out_zhou; about 1 kB per triangle and 0.1 GB.
   Invariants: nothing depends on the order of lists; nothing is allocated, and nothing is copied to
   the host before the end.
   Differs from the paper in: the points listed in stages.h; a level of the large-node stage is one
   pass, in which the children's boxes are reduced while their parts are written; a small root's
   subtree is built by one warp, depth first, with its masks in shared memory.
   Data flow: zhou_clear, set_up (one thread per triangle: input -> corners, the root's parts and
   box), zhou_large_nodes (parts -> raw nodes, small roots), zhou_small_nodes (small roots ->
   segments of nodes and ids), then zhou_sum_sizes to zhou_report: all on one stream, each reads
   what the previous ones wrote. */
#include "accel/zhou/large_nodes.cuh"
#include "accel/zhou/small_nodes.cuh"
#include "accel/zhou/state.cuh"

/* The last stage of `zhou`: from raw nodes and small roots to the layout (Zhou 2008, section 3.3:
   preorder, sizes from the leaves up, then places from the root down).
   Idea: leaves report their size to their parents; the second child to report continues upwards. A
   raw node's place is then a sum along its path to the root. There are few raw nodes, because
   subtrees of small roots are already in order and are only moved.
   Data flow: zhou_sum_sizes: raw nodes, sizes of small roots -> sizes below each raw node;
   zhou_sort_leaves, one block per leaf, in place; zhou_place_raw: sizes -> raw nodes in the layout,
   places of small roots and large leaves; zhou_move_roots, one warp per root, and zhou_move_leaves:
   segments and lists -> the layout; zhou_report, one thread: counters -> the result for the host.
   Launched in this order. */

enum { ZHOU_PLACE_BLOCK = 256, ZHOU_SORT_BLOCK = 512 };

#define ZHOU_FOR(id, count)                                                                        \
    for (uint32_t id = blockIdx.x * blockDim.x + threadIdx.x, end_##id = (count); id < end_##id;   \
         id += gridDim.x * blockDim.x)

/* Computes `sizes`: nodes and references below each raw node. Those of small roots are already
   set. */
__global__ __launch_bounds__(ZHOU_PLACE_BLOCK) void zhou_sum_sizes(const zhou_device k) {
    if (k.count->exhausted & (ZHOU_EXHAUSTED_PARTS | ZHOU_EXHAUSTED_LISTS)) return;
    ZHOU_FOR(id, k.count->raw) {
        if (id == 1) continue; /* raw node 1 is unused and uninitialised */
        const zhou_raw leaf = k.raw[id];
        if (leaf.kind < ZHOU_RAW_LEAF) continue;
        if (leaf.kind == ZHOU_RAW_LEAF) k.sizes[id] = make_uint2(0, leaf.count);
        for (uint32_t at = id; at != 0;) {
            const uint32_t pair = at >> 1;
            __threadfence(); /* makes the size visible before the report */
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

/* Sorts the ids of large leaves, one block per leaf, by a bitonic network for arbitrary counts, in
   which all comparators have the same direction. */
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

/* Computes the places of raw nodes; passes theirs to small roots and large leaves. */
__global__ __launch_bounds__(ZHOU_PLACE_BLOCK) void zhou_place_raw(const zhou_device k) {
    if (!zhou_fits(k)) return;
    ZHOU_FOR(id, k.count->raw) {
        if (id == 1) continue; /* unused */
        const zhou_raw raw = k.raw[id];
        uint32_t nodes = 1, ids = 0, index = 0;
        for (uint32_t at = id; at != 0; at = k.pairs[at >> 1].x) {
            const uint2 left = at & 1 ? k.sizes[at - 1] : make_uint2(0, 0);
            if (at == id) index = 0u - 2 - left.x + (id & 1);
            nodes += 2 + left.x, ids += left.y;
        }
        if (id != 0) index += nodes; /* a pair is stored where its parent's subtree begins */
        if (raw.kind < ZHOU_RAW_LEAF) {
            k.nodes[index] = tritree_inner((int)raw.kind, raw.split, nodes);
        } else if (raw.kind == ZHOU_RAW_LEAF) {
            k.nodes[index] = tritree_leaf(ids, raw.count);
            k.raw[id].split = __uint_as_float(ids); /* the place of its ids */
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

/* Moves the subtrees of small roots, one warp each. */
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

/* If the small-node stage exceeded its segments, it kept counting, so the required memory is
   known. */
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

namespace {

__global__ void zhou_clear(const zhou_device k) {
    zhou_counters *c = k.count;
    for (uint32_t i = threadIdx.x; i < sizeof *c / 4; i += blockDim.x) ((uint32_t *)c)[i] = 0;
    __syncthreads();
    if (threadIdx.x != 0) return;
    c->raw = 2; /* the root; 1 is unused, so that pairs begin at even indices */
    k.sizes[0] = make_uint2(0, 0);
    for (int a = 0; a < 3; ++a) {
        c->box_lo[a] = ordered(INFINITY);
        c->box_hi[a] = ordered(-INFINITY);
    }
}

uint32_t at_most_2_31(uint64_t count) {
    return (uint32_t)(count < 1ull << 31 ? count : 1ull << 31);
}

/* Capacities by triangle count. ZHOU_GROWTH_MOST bounds the references of the large-node stage,
   twice as many where both children share a buffer; most meshes need less than a fourth of that.
   The other capacities are estimates, whose constant part is for what warps allocate in advance. */
void lay_out_zhou(zhou_device *k, cuda_arena *arena, uint64_t n, uint32_t doubled) {
    const uint64_t growth =
        doubled < 2 ? (uint64_t)ZHOU_GROWTH_MOST >> (2 - doubled) : (uint64_t)ZHOU_GROWTH_MOST;
    const uint64_t most = growth * n + n / 64 + 4096;
    k->part_room = at_most_2_31(2 * most);
    k->small_room = k->id_room = at_most_2_31(most);
    k->node_room_level = k->leaf_room = at_most_2_31((n / 16 + 16384) << doubled);
    k->task_room = at_most_2_31((n / 8 + 16384) << doubled);
    k->root_room = at_most_2_31((n / 4 + 16384) << doubled);
    k->raw_room = at_most_2_31((n / 2 + 65536) << doubled);
    take(&k->corners, arena, 3 * n);
    take(&k->small_parts, arena, k->small_room);
    for (int i = 0; i < 2; ++i) {
        take(&k->parts[i], arena, k->part_room);
        take(&k->level_nodes[i], arena, k->node_room_level);
        take(&k->tasks[i], arena, k->task_room);
        take(&k->merges[i], arena, k->node_room_level);
    }
    take(&k->roots, arena, k->root_room);
    take(&k->raw, arena, k->raw_room);
    take(&k->pairs, arena, k->raw_room / 2);
    take(&k->sizes, arena, k->raw_room);
    take(&k->ids, arena, k->id_room);
    take(&k->leaves, arena, k->leaf_room);
    /* One partly filled segment for each resident warp. */
    k->segment_room = k->node_room / ZHOU_SEGMENT + 16384;
    k->id_segment_room = k->reference_room / ZHOU_SEGMENT + 16384;
    take(&k->segments, arena, (uint64_t)k->segment_room * ZHOU_SEGMENT);
    take(&k->id_segments, arena, (uint64_t)k->id_segment_room * ZHOU_SEGMENT);
    take(&k->node_next, arena, k->segment_room);
    take(&k->id_next, arena, k->id_segment_room);
    take(&k->count, arena, 1);
}

/* Large nodes are split at the spatial median, with empty space cut off; small ones by SAH with bit
   masks. */
struct zhou_rule {
    typedef zhou_device state;
    static const bool positive_zero = true; /* zhou_corner */

    static void plan(zhou_device *k, uint64_t n, uint32_t doubled) {
        k->node_room = at_most_2_31((12 * n + 1000000) << doubled);
        k->reference_room = at_most_2_31((10 * n + 2000000) << doubled);
    }
    static void lay_out(zhou_device *k, cuda_arena *arena, uint64_t n, uint32_t doubled) {
        lay_out_zhou(k, arena, n, doubled);
        k->memory_bytes = arena->used + (uint64_t)k->node_room * sizeof(tritree_node) +
                          (uint64_t)k->reference_room * sizeof(uint32_t);
    }
    static clipped *first_parts(const zhou_device &k) { return k.parts[0]; }
    static set_up_counts counts(const zhou_device &k) {
        return {&k.count->valid, &k.count->degenerate, k.count->box_lo, k.count->box_hi};
    }
    static kd_status clear(const zhou_device *k, unsigned, cudaStream_t stream) {
        zhou_clear<<<1, 128, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_clear");
        return KD_OK;
    }
    static kd_status large(zhou_device *k, unsigned, cudaStream_t stream) {
        return launch_cooperative(zhou_large_nodes, ZHOU_BLOCK, k, stream, "zhou_large_nodes");
    }
    static kd_status small(const zhou_device *k, unsigned, cudaStream_t stream) {
        unsigned blocks = 0;
        KD_TRY(cuda_resident_blocks(&blocks, zhou_small_nodes, ZHOU_SMALL_BLOCK));
        zhou_small_nodes<<<blocks, ZHOU_SMALL_BLOCK, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_small_nodes");
        return KD_OK;
    }
    static kd_status emit(const zhou_device *k, unsigned blocks, cudaStream_t stream) {
        zhou_sum_sizes<<<blocks, ZHOU_PLACE_BLOCK, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_sum_sizes");
        zhou_sort_leaves<<<blocks, ZHOU_SORT_BLOCK, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_sort_leaves");
        zhou_place_raw<<<blocks, ZHOU_PLACE_BLOCK, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_place_raw");
        zhou_move_roots<<<blocks, ZHOU_PLACE_BLOCK, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_move_roots");
        zhou_move_leaves<<<blocks, ZHOU_PLACE_BLOCK, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_move_leaves");
        zhou_report<<<1, 1, 0, stream>>>(*k);
        KD_CUDA_LAUNCHED("zhou_report");
        return KD_OK;
    }
};

} // namespace

extern "C" {
extern const tritree_builder_cuda tritree_builder_cuda_zhou;
const tritree_builder_cuda tritree_builder_cuda_zhou = {
    "zhou",
    "Zhou, Hou, Wang, Guo 2008: the CPU's tree",
    pipeline_plan<zhou_rule>,
    pipeline_build<zhou_rule>,
    true,
    1.3 /* the spatial median is not chosen by cost */};
}
