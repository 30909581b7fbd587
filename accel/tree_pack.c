#include "accel/tree_pack.h"
#include "core/memory.h"
#include "core/parallel.h"

enum { GRAIN = 4096 };

static void fill_leaf(tritree *tree, uint32_t at) {
    const tritree_node leaf = tree->nodes[at];
    const uint32_t count = tritree_count(leaf);
    const uint32_t *ids = tree->references + tritree_first(leaf);
    triangle_block *block = tree->blocks + tritree_first(tree->packed_nodes[at]);
    for (uint32_t i = 0; i < (count + TRIANGLE_BLOCK - 1) / TRIANGLE_BLOCK * TRIANGLE_BLOCK; ++i) {
        const uint32_t lane = i % TRIANGLE_BLOCK;
        triangle_block *to = block + i / TRIANGLE_BLOCK;
        /* the last triangle fills the block up */
        const uint32_t id = ids[i < count ? i : count - 1];
        to->id[lane] = i < count ? id : KD_NONE;
        for (uint64_t corner = 0; corner < 3; ++corner) {
            const vec3 p = tree->input.positions[tree->input.triangles[3 * (uint64_t)id + corner]];
            for (int axis = 0; axis < 3; ++axis)
                to->corner[corner][axis][lane] = vec3_axis(p, axis);
        }
    }
}

static void fill_leaves(void *context, int64_t begin, int64_t end, int thread) {
    tritree *tree = (tritree *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i)
        if (tritree_is_leaf(tree->nodes[i])) fill_leaf(tree, (uint32_t)i);
}

kd_status tree_pack(tritree *tree) {
    KD_TRY(KD_RESERVE(tree->packed_nodes, tree->node_count));
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < tree->node_count; ++i) {
        tree->packed_nodes[i] = tree->nodes[i];
        if (!tritree_is_leaf(tree->nodes[i])) continue;
        const uint32_t count = tritree_count(tree->nodes[i]);
        tree->packed_nodes[i] = tritree_leaf((uint32_t)blocks, count);
        blocks += (count + TRIANGLE_BLOCK - 1) / TRIANGLE_BLOCK;
    }
    KD_TRY(KD_RESERVE(tree->blocks, blocks));
    parallel_for(tree->node_count, GRAIN, fill_leaves, tree);
    return KD_OK;
}

static void fill_fast(void *context, int64_t begin, int64_t end, int thread) {
    tritree *tree = (tritree *)context;
    const vec3 *corner = tree->input.positions;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const uint32_t *index = tree->input.triangles + 3 * (uint64_t)tree->references[i];
        tree->fast[i] = triangle_fast_make(corner[index[0]], corner[index[1]], corner[index[2]]);
    }
}

kd_status tritree_prepare_fast(tritree *tree) {
    if (tree->fast) return KD_OK;
    KD_TRY(KD_RESERVE(tree->fast, tree->reference_count));
    parallel_for(tree->reference_count, GRAIN, fill_fast, tree);
    return KD_OK;
}
