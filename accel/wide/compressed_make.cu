/* Host side of building the compressed wide form: plans the scratch memory, launches the kernels of
   compressed_cuts.cuh, compressed_measures.cuh and compressed_stages.cuh, and retries with more
   memory if a capacity was exceeded.
   Idea: a tree of more nodes than a slab may have is converted in slabs (compressed_top.h), which
   use the same scratch memory one after another. The size of the form is not known before all have
   been converted: the first slab predicts it. If that does not suffice, the remaining slabs are
   only measured, and all of them are converted again into as much memory as they need.
   Memory: some 740 to 950 bytes of scratch per node of the tree or the slab; a thirty-second of a
   large tree. If memory is short, slabs become smaller, and they are measured first. */
#include "accel/wide/compressed_form.h"
#include "accel/wide/compressed_slab.cuh"
#include "accel/wide/compressed_stages.cuh"
#include "accel/wide/compressed_top.h"
#include "core/device/cuda.h"
#include "core/device/device_memory.h"
#include "core/device/device_stream.h"

namespace {

/* Scratch memory that grows: of the device's pool, in the order of a stream. */
struct scratch {
    void *memory;
    uint64_t bytes;
};

kd_status scratch_hold(scratch *held, uint64_t bytes, cudaStream_t stream) {
    if (bytes <= held->bytes) return KD_OK;
    device_pool_release(held->memory, stream);
    held->memory = NULL;
    held->bytes = 0;
    KD_TRY(device_pool_reserve(&held->memory, bytes, stream));
    held->bytes = bytes;
    return KD_OK;
}

/* The conversion of a tree or of one slab after another. */
struct conversion {
    compressed_cutter cutter;
    compressed_maker maker;
    compressed_found found;
    scratch finer, items, nodes; /* nodes: those of a slab */
    cudaStream_t stream;
    bool indexed;
    uint32_t alignment;
    /* the form, while slabs are converted */
    void *units;
    uint64_t capacity; /* units */
};

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
    c->cells = (box3 *)cuda_arena_take(arena, c->leaf_capacity, sizeof(box3));
    c->boxes = (compressed_box *)cuda_arena_take(arena, c->box_capacity, sizeof(compressed_box));
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

/* Builds the refined tree with its plans. */
kd_status make_finer(conversion *run) {
    compressed_cutter *c = &run->cutter;
    cuda_arena arena = {NULL, 0};
    KD_REQUIRE(
        c->node_capacity <= COMPRESSED_TREE_MAX && c->reference_capacity <= UINT32_MAX,
        KD_ERROR_MEMORY,
        "splitting large leaves makes %llu nodes and %llu references; the compressed tree can "
        "have %llu and %llu",
        (unsigned long long)c->node_capacity, (unsigned long long)c->reference_capacity,
        (unsigned long long)COMPRESSED_TREE_MAX, (unsigned long long)UINT32_MAX);
    KD_REQUIRE(c->box_capacity <= UINT32_MAX, KD_ERROR_MEMORY,
               "splitting large leaves makes %llu boxes; at most %llu are supported",
               (unsigned long long)c->box_capacity, (unsigned long long)UINT32_MAX);
    c->leaf_capacity = c->tree.node_count / 2 + 1;
    c->part_capacity = c->node_capacity - c->tree.node_count + c->leaf_capacity;
    lay_out_cuts(c, &arena);
    KD_TRY(scratch_hold(&run->finer, arena.used, run->stream));
    arena.base = (char *)run->finer.memory;
    arena.used = 0;
    lay_out_cuts(c, &arena);
    KD_TRY(cut_leaves(c, run->stream));
    return measure_nodes(c, run->stream);
}

/* Finds the items of the refined tree with the current capacity for items. */
kd_status find_within(conversion *run) {
    compressed_maker *m = &run->maker;
    cuda_arena arena = {NULL, 0};
    unsigned blocks = 0;
    KD_TRY(cuda_resident_blocks(&blocks, compressed_find_items, COMPRESSED_MAKE_BLOCK));
    lay_out_items(m, &arena, blocks);
    KD_TRY(scratch_hold(&run->items, arena.used, run->stream));
    arena.base = (char *)run->items.memory;
    arena.used = 0;
    lay_out_items(m, &arena, blocks);
    void *arguments[] = {m};
    KD_CUDA(cuda_launch_cooperative(compressed_find_items, blocks, COMPRESSED_MAKE_BLOCK, arguments,
                                    run->stream));
    KD_CUDA_LAUNCHED("compressed_find_items");
    KD_CUDA(cudaMemcpyAsync(&run->found, m->results, sizeof run->found, cudaMemcpyDeviceToHost,
                            run->stream));
    KD_CUDA(cudaStreamSynchronize(run->stream));
    return KD_OK;
}

/* Most nodes have eight children, each with several k-d leaves. In the worst case each k-d node
   with children becomes a node, and so do parts of large leaves, which have more than five
   triangles each. */
kd_status find_items(conversion *run) {
    const compressed_cutter *c = &run->cutter;
    compressed_maker *m = &run->maker;
    const uint64_t maximum = c->node_capacity / 2 + 2 + c->reference_capacity / 5;
    m->source.tree = c->tree;
    m->source.tree.nodes = NULL;
    m->source.tree.references = c->references;
    m->source.at = c->at;
    m->source.min_side = compressed_min_side(c->tree.box);
    m->source.indexed = run->indexed;
    m->source.alignment = run->alignment;
    m->cell = c->cell;
    m->counts = c->counts;
    m->node_capacity = c->node_capacity;
    m->reference_capacity = c->reference_capacity;
    m->box_capacity = c->box_capacity;
    m->item_capacity = (uint32_t)(c->node_capacity / 12 + 1024);
    for (;;) {
        m->item_capacity = (uint32_t)min((uint64_t)m->item_capacity, maximum);
        KD_TRY(find_within(run));
        if (run->found.needed == 0) return KD_OK;
        m->item_capacity = (uint32_t)min(2 * (uint64_t)run->found.needed, maximum);
    }
}

/* Converts the tree or slab up to the positions of its items, whose root gets the unit `first`. The
   refined tree has about 2.2 times the nodes of a tree with C_t 1.5, and 1.6 to 1.8 nodes per
   reference of one with C_t 1.5 or 2; splits make 3.3 to 3.5 boxes per reference. If the capacity
   does not suffice, it is doubled, and all is done again. */
kd_status plan_items(conversion *run, const tritree_view *tree, box3 cell, uint32_t first) {
    compressed_cutter *c = &run->cutter;
    memset(c, 0, sizeof *c);
    memset(&run->maker, 0, sizeof run->maker);
    c->tree = *tree;
    c->cell = cell;
    c->node_capacity =
        max(5 * (uint64_t)tree->node_count / 2, 2 * (uint64_t)tree->reference_count) + 64;
    c->reference_capacity = 3 * (uint64_t)tree->reference_count + 64;
    c->box_capacity = 4 * (uint64_t)tree->reference_count + 64;
    run->maker.first_unit = first;
    for (;;) {
        KD_TRY(make_finer(run));
        KD_TRY(find_items(run));
        if (run->found.fits) return KD_OK;
        c->node_capacity *= 2;
        c->reference_capacity *= 2;
        c->box_capacity *= 2;
    }
}

kd_status write_items(conversion *run) {
    run->maker.units = (uint8_t *)run->units;
    compressed_write<<<cuda_blocks(COMPRESSED_GROUP * (uint64_t)run->found.items,
                                   COMPRESSED_MAKE_BLOCK),
                       COMPRESSED_MAKE_BLOCK, 0, run->stream>>>(run->maker);
    KD_CUDA_LAUNCHED("compressed_write");
    return KD_OK;
}

kd_status reserve_units(conversion *run, uint64_t count) {
    const uint64_t all = count + COMPRESSED_SPARE_UNITS;
    KD_TRY(device_pool_reserve(&run->units, COMPRESSED_UNIT * all, run->stream));
    run->capacity = count;
    return KD_OK;
}

/* Clears the padding behind the last unit. */
kd_status end_units(const conversion *run, uint64_t count) {
    KD_CUDA(cudaMemsetAsync((char *)run->units + COMPRESSED_UNIT * count, 0,
                            COMPRESSED_UNIT * COMPRESSED_SPARE_UNITS, run->stream));
    return KD_OK;
}

kd_status convert_whole(conversion *run, const tritree_view *tree, uint64_t *count) {
    box3 cell;
    cell.lo = vec3_all(-INFINITY);
    cell.hi = vec3_all(INFINITY);
    *count = 0;
    KD_TRY(plan_items(run, tree, cell, 0));
    if (run->found.units == 0) return KD_OK;
    KD_TRY(reserve_units(run, run->found.units));
    KD_TRY(write_items(run));
    *count = run->found.units;
    return end_units(run, *count);
}

/* --- slabs ------------------------------------------------------------------------------------ */

/* Copies the slab's nodes and makes *out a view of it. */
kd_status view_slab(conversion *run, const tritree_view *tree, const compressed_slab *slab,
                    tritree_view *out) {
    const uint32_t count = 1 + slab->end - slab->first;
    slab_references found, *on_device = NULL;
    cuda_arena arena = {NULL, 0};
    slab_copy copy = {tree->nodes, slab->root, slab->first, count, NULL, NULL};
    for (int pass = 0; pass < 2; ++pass) {
        copy.references = (slab_references *)cuda_arena_take(&arena, 1, sizeof found);
        copy.nodes = (tritree_node *)cuda_arena_take(&arena, count, sizeof(tritree_node));
        if (pass == 0) KD_TRY(scratch_hold(&run->nodes, arena.used, run->stream));
        if (pass == 0) arena = {(char *)run->nodes.memory, 0};
    }
    on_device = copy.references;
    const unsigned blocks = cuda_blocks(count, COMPRESSED_MAKE_BLOCK);
    KD_CUDA(cudaMemsetAsync(on_device, 0, sizeof found, run->stream));
    slab_find_references<<<blocks, COMPRESSED_MAKE_BLOCK, 0, run->stream>>>(copy);
    KD_CUDA_LAUNCHED("slab_find_references");
    slab_copy_nodes<<<blocks, COMPRESSED_MAKE_BLOCK, 0, run->stream>>>(copy);
    KD_CUDA_LAUNCHED("slab_copy_nodes");
    KD_CUDA(cudaMemcpyAsync(&found, on_device, sizeof found, cudaMemcpyDeviceToHost, run->stream));
    KD_CUDA(cudaStreamSynchronize(run->stream));
    *out = *tree;
    out->nodes = copy.nodes;
    out->node_count = count;
    out->references = tree->references + (found.count ? ~found.not_first : 0);
    out->reference_count = (uint32_t)found.count;
    return KD_OK;
}

/* Writes the slab that was measured last, if the form's memory suffices, and copies its root's data
   to the host. */
kd_status write_slab(conversion *run, compressed_slab *slab) {
    compressed_costs costs;
    KD_CUDA(cudaMemcpyAsync(&slab->subtree, run->cutter.at, sizeof slab->subtree,
                            cudaMemcpyDeviceToHost, run->stream));
    KD_CUDA(cudaMemcpyAsync(&costs, run->cutter.costs, sizeof costs, cudaMemcpyDeviceToHost,
                            run->stream));
    if (run->found.units <= run->capacity) {
        const uint64_t root = COMPRESSED_UNIT * (uint64_t)run->maker.first_unit;
        KD_TRY(write_items(run));
        KD_CUDA(cudaMemcpyAsync(&slab->node, (char *)run->units + root, sizeof slab->node,
                                cudaMemcpyDeviceToHost, run->stream));
    }
    KD_CUDA(cudaStreamSynchronize(run->stream));
    slab->cost = costs.low.x;
    slab->depth = run->found.depth;
    return KD_OK;
}

/* Predicts the units of the form from one slab. */
uint64_t predicted_units(const conversion *run, const compressed_top *top, uint32_t node_count) {
    const uint64_t begin = compressed_top_units(top);
    const double units = (double)(run->found.units - run->maker.first_unit),
                 slabs = (double)(node_count + top->slab_count) / run->cutter.tree.node_count;
    return begin +
           (uint64_t)(1.03 * units * slabs) / COMPRESSED_NODE_UNITS * COMPRESSED_NODE_UNITS +
           1024 * COMPRESSED_NODE_UNITS;
}

/* Converts all slabs; *end becomes the end of the last one. Slabs beyond the form's memory are only
   measured. `predict`: reserves memory once the first slab has been measured. Sets *end to 0 if the
   tree has no compressed form. */
kd_status convert_slabs(conversion *run, const tritree_view *tree, compressed_top *top,
                        bool predict, uint64_t *end) {
    uint64_t first = compressed_top_units(top);
    *end = 0;
    for (uint64_t i = 0; i < top->slab_count; ++i) {
        compressed_slab *slab = &top->slabs[i];
        tritree_view view;
        if (first > compressed_units_max(run->alignment) - COMPRESSED_NODE_UNITS) return KD_OK;
        KD_TRY(view_slab(run, tree, slab, &view));
        slab->empty = view.reference_count == 0;
        if (slab->empty) continue;
        KD_TRY(plan_items(run, &view, slab->cell, (uint32_t)first));
        if (run->found.units == 0) return KD_OK;
        if (predict && !run->units)
            KD_TRY(reserve_units(run, predicted_units(run, top, tree->node_count)));
        KD_TRY(write_slab(run, slab));
        first = run->found.units;
    }
    *end = first;
    return KD_OK;
}

/* Replaces the form's memory, if a tenth of it is unused and a second copy fits. */
kd_status shrink_units(conversion *run, uint64_t count) {
    void *const larger = run->units;
    const uint64_t bytes = COMPRESSED_UNIT * (count + COMPRESSED_SPARE_UNITS);
    if (count > run->capacity / 10 * 9) return KD_OK;
    const kd_status status = reserve_units(run, count);
    if (status != KD_OK) {
        status_clear();
        run->units = larger;
        return KD_OK;
    }
    KD_CUDA(cudaMemcpyAsync(run->units, larger, bytes, cudaMemcpyDefault, run->stream));
    device_pool_release(larger, run->stream);
    return KD_OK;
}

kd_status convert_in_slabs(conversion *run, const tritree_view *tree, compressed_top *top,
                           bool predict, uint64_t *count) {
    uint64_t end = 0;
    *count = 0;
    KD_TRY(convert_slabs(run, tree, top, predict, &end));
    if (end == 0 || end + COMPRESSED_SPARE_UNITS > compressed_units_max(run->alignment))
        return KD_OK;
    if (end > run->capacity) {
        device_pool_release(run->units, run->stream);
        run->units = NULL;
        KD_TRY(reserve_units(run, end));
        KD_TRY(convert_slabs(run, tree, top, false, &end));
    }
    KD_TRY(compressed_top_write(top));
    if (top->depth > COMPRESSED_MAX_DEPTH) return KD_OK;
    const uint64_t top_bytes = COMPRESSED_UNIT * compressed_top_units(top);
    KD_CUDA(
        cudaMemcpyAsync(run->units, top->units, top_bytes, cudaMemcpyHostToDevice, run->stream));
    KD_CUDA(cudaStreamSynchronize(run->stream));
    KD_TRY(end_units(run, end));
    KD_TRY(shrink_units(run, end));
    *count = end;
    return KD_OK;
}

/* Converts the tree, in slabs if it has more than `maximum` nodes. */
kd_status convert(conversion *run, const tritree_view *tree, uint32_t maximum, bool predict,
                  uint64_t *count) {
    compressed_top top;
    memset(&top, 0, sizeof top);
    if (tree->node_count <= maximum) return convert_whole(run, tree, count);
    kd_status status = device_stream_wait(run->stream);
    if (status == KD_OK) status = compressed_top_open(&top, tree, maximum);
    top.alignment = run->alignment;
    if (status == KD_OK)
        status = top.slab_count ? convert_in_slabs(run, tree, &top, predict, count)
                                : convert_whole(run, tree, count);
    compressed_top_close(&top);
    return status;
}

/* Returns whether the tree was converted; frees the scratch memory. */
kd_status convert_within(void **units, uint64_t *bytes, const tritree_view *tree, uint32_t maximum,
                         bool indexed, bool predict, cudaStream_t stream) {
    conversion run;
    uint64_t count = 0;
    memset(&run, 0, sizeof run);
    run.stream = stream;
    run.indexed = indexed;
    run.alignment = compressed_alignment(indexed, tree->triangle_count);
    const kd_status status = convert(&run, tree, maximum, predict, &count);
    device_pool_release(run.finer.memory, stream);
    device_pool_release(run.items.memory, stream);
    device_pool_release(run.nodes.memory, stream);
    if (status != KD_OK || count == 0) {
        device_pool_release(run.units, stream);
        return status;
    }
    *units = run.units;
    *bytes = COMPRESSED_UNIT * (count + COMPRESSED_SPARE_UNITS);
    return KD_OK;
}

/* Returns the nodes of a slab if the caller does not choose: for indexed leaves, where memory
   counts, so few that the scratch takes a fifth of the form. */
uint32_t slab_nodes_of(const tritree_view *tree, bool indexed) {
    const uint32_t part = max(tree->node_count / 32, (uint32_t)COMPRESSED_SLAB_NODES_MIN);
    return indexed ? min(part, (uint32_t)COMPRESSED_SLAB_NODES) : (uint32_t)COMPRESSED_SLAB_NODES;
}

} // namespace

kd_status compressed_device_open(void **units, uint64_t *bytes, const tritree_view *tree,
                                 uint32_t slab_nodes, bool indexed, void *stream) {
    *units = NULL;
    *bytes = 0;
    if (tree->reference_count == 0) return KD_OK;
    uint32_t maximum = slab_nodes ? slab_nodes : slab_nodes_of(tree, indexed);
    for (bool predict = true;; predict = false) {
        const kd_status status =
            convert_within(units, bytes, tree, maximum, indexed, predict, (cudaStream_t)stream);
        if (status != KD_ERROR_MEMORY || maximum <= COMPRESSED_SLAB_NODES_MIN) return status;
        status_clear();
        KD_TRY(device_pool_trim());
        maximum /= 4;
    }
}
