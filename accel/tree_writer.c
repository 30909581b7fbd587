#include "accel/tree_writer.h"
#include "core/memory.h"

enum { LAYOUT_LIMIT = 1 << 30 }; /* nodes and references are addressed with 30 bits */

kd_status tree_writer_open(tree_writer *writer, uint64_t nodes_expected,
                           uint64_t references_expected) {
    memset(writer, 0, sizeof *writer);
    writer->node_room = nodes_expected > 1 ? nodes_expected : 1;
    writer->reference_room = references_expected;
    KD_TRY(KD_RESERVE(writer->nodes, writer->node_room));
    KD_TRY(KD_RESERVE(writer->references, writer->reference_room));
    writer->node_count = 1;
    return KD_OK;
}

void tree_writer_close(tree_writer *writer) {
    memory_free(writer->nodes);
    memory_free(writer->references);
    memset(writer, 0, sizeof *writer);
}

kd_status tree_writer_inner(tree_writer *writer, uint32_t at, int axis, float split,
                            uint32_t *left) {
    if (writer->node_count + 2 > writer->node_room) {
        KD_REQUIRE(writer->node_count + 2 <= LAYOUT_LIMIT, KD_ERROR_MEMORY,
                   "the tree needs more than %d nodes", LAYOUT_LIMIT);
        const uint64_t room = writer->node_room + writer->node_room / 2 + 2;
        KD_TRY(KD_GROW(writer->nodes, writer->node_count, room));
        writer->node_room = room;
    }
    *left = (uint32_t)writer->node_count;
    writer->nodes[at] = tritree_inner(axis, split, *left);
    writer->node_count += 2;
    return KD_OK;
}

kd_status tree_writer_leaf(tree_writer *writer, uint32_t at, uint32_t count, uint32_t **ids) {
    const uint64_t needed = writer->reference_count + count;
    if (needed > writer->reference_room) {
        KD_REQUIRE(needed <= LAYOUT_LIMIT, KD_ERROR_MEMORY,
                   "the tree needs more than %d references", LAYOUT_LIMIT);
        const uint64_t room = needed + needed / 2;
        KD_TRY(KD_GROW(writer->references, writer->reference_count, room));
        writer->reference_room = room;
    }
    writer->nodes[at] = tritree_leaf((uint32_t)writer->reference_count, count);
    *ids = writer->references + writer->reference_count;
    writer->reference_count = needed;
    return KD_OK;
}

void tree_writer_finish(tree_writer *writer, tritree *out) {
    out->nodes = writer->nodes;
    out->node_count = (uint32_t)writer->node_count;
    out->references = writer->references;
    out->reference_count = (uint32_t)writer->reference_count;
    memset(writer, 0, sizeof *writer);
}
