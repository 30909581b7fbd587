/* Host side of building the compressed wide form: plans the scratch memory, launches the kernels of
   compressed_cuts.cuh, compressed_measures.cuh and compressed_stages.cuh, and retries with more
   memory if a capacity was exceeded. */
#include "accel/wide/compressed_form.h"
#include "accel/wide/compressed_stages.cuh"
#include "core/device/cuda.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"

namespace {

/* Layout of the scratch memory; the same code measures and assigns it. */
void lay_out_cuts(compressed_cutter *c, cuda_arena *arena) {
    const uint64_t nodes = c->tree.node_count;
    c->at =
        (compressed_subtree *)cuda_arena_take(arena, c->node_capacity, sizeof(compressed_subtree));
    c->references = (uint32_t *)cuda_arena_take(arena, c->reference_capacity, sizeof(uint32_t));
    c->costs =
        (compressed_costs *)cuda_arena_take(arena, c->node_capacity, sizeof(compressed_costs));
    c->parts = (compressed_part_task *)cuda_arena_take(arena, c->part_capacity,
                                                       sizeof(compressed_part_task));
    c->up = (uint2 *)cuda_arena_take(arena, nodes / 2 + 1, sizeof(uint2));
    c->report = (uint32_t *)cuda_arena_take(arena, nodes / 2 + 1, sizeof(uint32_t));
    c->pairs = (uint32_t *)cuda_arena_take(arena, nodes / 2 + 1, sizeof(uint32_t));
    c->large = (uint32_t *)cuda_arena_take(
        arena, c->tree.reference_count / COMPRESSED_FINER_MAX + 1, sizeof(uint32_t));
    c->counts = (compressed_cut_counts *)cuda_arena_take(arena, 1, sizeof(compressed_cut_counts));
}

void lay_out_items(compressed_maker *m, cuda_arena *arena, unsigned blocks) {
    m->children = (uint4 *)cuda_arena_take(arena, 3 * COMPRESSED_GROUP * (uint64_t)m->item_capacity,
                                           sizeof(uint4));
    m->origins = (uint32_t *)cuda_arena_take(arena, m->item_capacity, sizeof(uint32_t));
    m->places = (uint2 *)cuda_arena_take(arena, m->item_capacity, sizeof(uint2));
    m->sums = (uint2 *)cuda_arena_take(arena, blocks, sizeof(uint2));
    m->results = (compressed_found *)cuda_arena_take(arena, 1, sizeof(compressed_found));
}

kd_status cut_leaves(const compressed_cutter *c, cudaStream_t stream) {
    const unsigned each_node = cuda_blocks(c->tree.node_count, COMPRESSED_MAKE_BLOCK);
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, compressed_cut_level, COMPRESSED_MAKE_BLOCK));
    KD_CUDA(cudaMemcpyAsync(c->references, c->tree.references,
                            c->tree.reference_count * sizeof(uint32_t), cudaMemcpyDefault, stream));
    compressed_list_parents<<<each_node, COMPRESSED_MAKE_BLOCK, 0, stream>>>(*c);
    KD_CUDA_LAUNCHED("compressed_list_parents");
    compressed_list_leaves<<<each_node, COMPRESSED_MAKE_BLOCK, 0, stream>>>(*c);
    KD_CUDA_LAUNCHED("compressed_list_leaves");
    compressed_large_leaves<<<blocks, COMPRESSED_MAKE_BLOCK, 0, stream>>>(*c);
    KD_CUDA_LAUNCHED("compressed_large_leaves");
    for (uint32_t level = 0; level <= COMPRESSED_FINER_LEVELS; ++level) {
        if (level < COMPRESSED_FINER_LEVELS)
            KD_CUDA(cudaMemcpyAsync(&c->counts->before[level], &c->counts->cut,
                                    sizeof c->counts->cut, cudaMemcpyDefault, stream));
        compressed_cut_level<<<blocks, COMPRESSED_MAKE_BLOCK, 0, stream>>>(*c, level);
        KD_CUDA_LAUNCHED("compressed_cut_level");
    }
    return KD_OK;
}

kd_status measure_nodes(const compressed_cutter *c, cudaStream_t stream) {
    const unsigned pairs = (c->tree.node_count - 1) / 2;
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, compressed_measure_cuts, COMPRESSED_MAKE_BLOCK));
    for (uint32_t level = COMPRESSED_FINER_LEVELS; level-- > 0;) {
        compressed_measure_cuts<<<blocks, COMPRESSED_MAKE_BLOCK, 0, stream>>>(*c, level);
        KD_CUDA_LAUNCHED("compressed_measure_cuts");
    }
    if (pairs == 0) return KD_OK;
    KD_TRY(cuda_resident_blocks(&blocks, compressed_measure_rest, COMPRESSED_WINDOW));
    compressed_measure_pairs<<<(pairs + COMPRESSED_WINDOW - 1) / COMPRESSED_WINDOW,
                               COMPRESSED_WINDOW, 0, stream>>>(*c);
    KD_CUDA_LAUNCHED("compressed_measure_pairs");
    compressed_measure_rest<<<blocks, COMPRESSED_WINDOW, 0, stream>>>(*c);
    KD_CUDA_LAUNCHED("compressed_measure_rest");
    return KD_OK;
}

/* Builds the refined tree with its plans, in *scratch. */
kd_status make_finer(compressed_cutter *c, void **scratch, cudaStream_t stream) {
    cuda_arena arena = {NULL, 0};
    KD_REQUIRE(
        c->node_capacity <= COMPRESSED_UNITS_MAX && c->reference_capacity <= UINT32_MAX,
        KD_ERROR_MEMORY,
        "splitting large leaves makes more nodes or references than the compressed tree can have");
    c->part_capacity = c->node_capacity - c->tree.node_count + c->tree.node_count / 2 + 1;
    lay_out_cuts(c, &arena);
    KD_TRY(device_pool_reserve(scratch, arena.used, stream));
    arena.base = (char *)*scratch;
    arena.used = 0;
    lay_out_cuts(c, &arena);
    KD_TRY(cut_leaves(c, stream));
    return measure_nodes(c, stream);
}

kd_status find_items(compressed_maker *m, unsigned blocks, compressed_found *compressed_found,
                     cudaStream_t stream) {
    void *arguments[] = {m};
    KD_CUDA(cuda_launch_cooperative(compressed_find_items, blocks, COMPRESSED_MAKE_BLOCK, arguments,
                                    stream));
    KD_CUDA_LAUNCHED("compressed_find_items");
    KD_CUDA(cudaMemcpyAsync(compressed_found, m->results, sizeof *compressed_found,
                            cudaMemcpyDeviceToHost, stream));
    KD_CUDA(cudaStreamSynchronize(stream));
    return KD_OK;
}

kd_status make(compressed_maker *m, void **units, uint64_t *bytes,
               compressed_found *compressed_found, unsigned blocks, cudaStream_t stream) {
    KD_TRY(find_items(m, blocks, compressed_found, stream));
    if (compressed_found->units == 0) return KD_OK;
    const uint64_t used = COMPRESSED_UNIT * (uint64_t)compressed_found->units,
                   padding = COMPRESSED_UNIT * COMPRESSED_SPARE_UNITS;
    KD_TRY(device_pool_reserve(units, used + padding, stream));
    *bytes = used + padding;
    m->units = (uint8_t *)*units;
    compressed_write<<<cuda_blocks(COMPRESSED_GROUP * (uint64_t)compressed_found->items,
                                   COMPRESSED_MAKE_BLOCK),
                       COMPRESSED_MAKE_BLOCK, 0, stream>>>(*m);
    KD_CUDA_LAUNCHED("compressed_write");
    KD_CUDA(cudaMemsetAsync(m->units + used, 0, padding, stream));
    return KD_OK;
}

/* Builds the compressed form of the refined tree m->from with the current capacity for items. */
kd_status pack_within(compressed_maker *m, void **units, uint64_t *bytes,
                      compressed_found *compressed_found, cudaStream_t stream) {
    cuda_arena arena = {NULL, 0};
    unsigned blocks = 0;
    void *scratch = NULL;
    KD_TRY(cuda_resident_blocks(&blocks, compressed_find_items, COMPRESSED_MAKE_BLOCK));
    lay_out_items(m, &arena, blocks);
    KD_TRY(device_pool_reserve(&scratch, arena.used, stream));
    arena.base = (char *)scratch;
    arena.used = 0;
    lay_out_items(m, &arena, blocks);
    const kd_status status = make(m, units, bytes, compressed_found, blocks, stream);
    device_pool_release(scratch, stream);
    return status;
}

/* Most nodes have eight children, each with several k-d leaves. In the worst case each k-d node
   with children becomes a node, and so do parts of large leaves, which have more than five
   triangles each. Sets *fits to whether the capacity for the refined tree sufficed. */
kd_status pack(const compressed_cutter *c, void **units, uint64_t *bytes, bool *fits,
               cudaStream_t stream) {
    const uint64_t maximum = c->node_capacity / 2 + 2 + c->reference_capacity / 5;
    compressed_maker m;
    compressed_found compressed_found;
    memset(&m, 0, sizeof m);
    m.source.tree = c->tree;
    m.source.tree.nodes = NULL;
    m.source.tree.references = c->references;
    m.source.at = c->at;
    m.source.min_side = compressed_min_side(c->tree.box);
    m.counts = c->counts;
    m.node_capacity = c->node_capacity;
    m.reference_capacity = c->reference_capacity;
    m.item_capacity = (uint32_t)(c->node_capacity / 12 + 1024);
    for (;;) {
        m.item_capacity = (uint32_t)min((uint64_t)m.item_capacity, maximum);
        KD_TRY(pack_within(&m, units, bytes, &compressed_found, stream));
        *fits = compressed_found.fits != 0;
        if (compressed_found.needed == 0) return KD_OK;
        m.item_capacity = (uint32_t)min(2 * (uint64_t)compressed_found.needed, maximum);
    }
}

/* The refined tree has about 2.2 times the nodes of a tree with C_t 1.5. If the capacity does not
   suffice, it is doubled. */
kd_status make_and_pack(void **scratch, void **units, uint64_t *bytes, const tritree_view *tree,
                        cudaStream_t stream) {
    compressed_cutter c;
    memset(&c, 0, sizeof c);
    c.tree = *tree;
    c.node_capacity = 5 * (uint64_t)tree->node_count / 2 + 64;
    c.reference_capacity = 3 * (uint64_t)tree->reference_count + 64;
    for (bool fits = false;;) {
        KD_TRY(make_finer(&c, scratch, stream));
        KD_TRY(pack(&c, units, bytes, &fits, stream));
        if (fits) return KD_OK;
        device_pool_release(*scratch, stream);
        *scratch = NULL;
        c.node_capacity *= 2;
        c.reference_capacity *= 2;
    }
}

} // namespace

kd_status compressed_device_open(void **units, uint64_t *bytes, const tritree_view *tree,
                                 void *stream) {
    void *scratch = NULL;
    *units = NULL;
    *bytes = 0;
    if (tree->reference_count == 0) return KD_OK;
    const kd_status status = make_and_pack(&scratch, units, bytes, tree, (cudaStream_t)stream);
    device_pool_release(scratch, stream);
    if (status != KD_OK) {
        device_memory_free(*units);
        *units = NULL;
        *bytes = 0;
    }
    return status;
}
