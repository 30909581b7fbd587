#include "accel/packed/packed_device.h"
#include "accel/packed/packed_stages.cuh"
#include "core/device/cuda.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"

namespace {

unsigned blocks_for(uint64_t count) {
    return (unsigned)((count + PACKED_MAKE_BLOCK - 1) / PACKED_MAKE_BLOCK);
}

/* Scratch memory, measured and handed out by the same code. */
void lay_out(packed_maker *m, cuda_arena *arena, unsigned blocks) {
    const uint64_t nodes = m->from.tree.node_count;
    m->boxes = (box3 *)cuda_arena_take(arena, nodes, sizeof(box3));
    m->plans = (uint64_t *)cuda_arena_take(arena, nodes, sizeof(uint64_t));
    m->ids = (uint4 *)cuda_arena_take(arena, nodes, sizeof(uint4));
    m->costs = (packed_costs *)cuda_arena_take(arena, nodes, sizeof(packed_costs));
    m->parents = (uint32_t *)cuda_arena_take(arena, nodes / 2, sizeof(uint32_t));
    m->report = (uint32_t *)cuda_arena_take(arena, nodes / 2, sizeof(uint32_t));
    m->items = (packed_item *)cuda_arena_take(arena, m->item_room, sizeof(packed_item));
    m->places = (uint2 *)cuda_arena_take(arena, m->item_room, sizeof(uint2));
    m->sums = (uint2 *)cuda_arena_take(arena, blocks, sizeof(uint2));
    m->found = (packed_found *)cuda_arena_take(arena, 1, sizeof(packed_found));
    m->from.boxes = m->boxes;
    m->from.plans = m->plans;
    m->from.ids = (const uint32_t *)m->ids;
}

kd_status find_items(packed_maker *m, unsigned blocks, packed_found *found, cudaStream_t stream) {
    const unsigned each_node = blocks_for(m->from.tree.node_count);
    packed_tell_parents<<<each_node, PACKED_MAKE_BLOCK, 0, stream>>>(*m);
    KD_CUDA_LAUNCHED("packed_tell_parents");
    packed_measure_nodes<<<each_node, PACKED_MAKE_BLOCK, 0, stream>>>(*m);
    KD_CUDA_LAUNCHED("packed_measure_nodes");
    void *arguments[] = {m};
    KD_CUDA(cudaLaunchCooperativeKernel(packed_find_items, dim3(blocks), dim3(PACKED_MAKE_BLOCK),
                                        arguments, 0, stream));
    KD_CUDA_LAUNCHED("packed_find_items");
    KD_CUDA(cudaMemcpyAsync(found, m->found, sizeof *found, cudaMemcpyDeviceToHost, stream));
    KD_CUDA(cudaStreamSynchronize(stream));
    return KD_OK;
}

kd_status make(packed_maker *m, void **units, uint64_t *bytes, unsigned blocks,
               cudaStream_t stream) {
    packed_found found;
    KD_TRY(find_items(m, blocks, &found, stream));
    if (found.units == 0) return KD_OK;
    const uint64_t used = PACKED_UNIT * (uint64_t)found.units,
                   spare = PACKED_UNIT * PACKED_SPARE_UNITS;
    KD_TRY(device_memory_reserve(units, used + spare));
    *bytes = used + spare;
    m->units = (uint8_t *)*units;
    packed_write<<<blocks_for(found.items), PACKED_MAKE_BLOCK, 0, stream>>>(*m);
    KD_CUDA_LAUNCHED("packed_write");
    KD_CUDA(cudaMemsetAsync(m->units + used, 0, spare, stream));
    return KD_OK;
}

} // namespace

kd_status packed_device_open(void **units, uint64_t *bytes, const tritree_view *tree,
                             void *stream) {
    packed_maker m;
    cuda_arena arena = {NULL, 0};
    unsigned blocks = 0;
    *units = NULL;
    *bytes = 0;
    if (tree->reference_count == 0) return KD_OK;
    KD_TRY(cuda_resident_blocks(&blocks, packed_find_items, PACKED_MAKE_BLOCK));
    memset(&m, 0, sizeof m);
    m.from.tree = *tree;
    m.from.least_side = packed_least_side(tree->box);
    /* each node of the k-d tree with children may be one; so may parts of large leaves, of which
       even those of nodes whose parts are leaves have more than five triangles each */
    m.item_room = tree->node_count / 2 + 2 + tree->reference_count / 5;
    lay_out(&m, &arena, blocks);
    void *scratch = NULL;
    KD_TRY(device_pool_reserve(&scratch, arena.used, stream));
    arena.base = (char *)scratch;
    arena.used = 0;
    lay_out(&m, &arena, blocks);
    const kd_status status = make(&m, units, bytes, blocks, (cudaStream_t)stream);
    device_pool_release(scratch, stream);
    if (status != KD_OK) {
        device_memory_free(*units);
        *units = NULL;
        *bytes = 0;
    }
    return status;
}
