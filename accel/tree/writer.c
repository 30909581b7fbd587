#include "accel/tree/writer.h"
#include "accel/tree/tritree.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

enum { LAYOUT_LIMIT = 1 << 30 }; /* nodes and references are addressed with 30 bits */
enum { APPEND_NODES = 1 << 16, APPEND_PIECES = 8 }; /* smaller trees are copied in one piece */

kd_status tree_writer_open(tree_writer *writer, uint64_t nodes_expected,
                           uint64_t references_expected) {
    memset(writer, 0, sizeof *writer);
    writer->node_capacity = nodes_expected > 1 ? nodes_expected : 1;
    writer->reference_capacity = references_expected;
    KD_TRY(KD_RESERVE(writer->nodes, writer->node_capacity));
    KD_TRY(KD_RESERVE(writer->references, writer->reference_capacity));
    large_pages_prefer(writer->nodes, writer->node_capacity * sizeof *writer->nodes);
    large_pages_prefer(writer->references, references_expected * sizeof *writer->references);
    writer->node_count = 1;
    return KD_OK;
}

void tree_writer_close(tree_writer *writer) {
    memory_free(writer->nodes);
    memory_free(writer->references);
    memset(writer, 0, sizeof *writer);
}

static kd_status need_nodes(tree_writer *writer, uint64_t needed) {
    if (needed <= writer->node_capacity) return KD_OK;
    KD_REQUIRE(needed <= LAYOUT_LIMIT, KD_ERROR_MEMORY,
               "the triangle tree needs more than %d nodes, the limit of its layout", LAYOUT_LIMIT);
    KD_TRY(KD_GROW(writer->nodes, writer->node_count, needed + needed / 2));
    writer->node_capacity = needed + needed / 2;
    return KD_OK;
}

static kd_status need_references(tree_writer *writer, uint64_t needed) {
    if (needed <= writer->reference_capacity) return KD_OK;
    KD_REQUIRE(needed <= LAYOUT_LIMIT, KD_ERROR_MEMORY,
               "the triangle tree needs more than %d references, the limit of its layout",
               LAYOUT_LIMIT);
    KD_TRY(KD_GROW(writer->references, writer->reference_count, needed + needed / 2));
    writer->reference_capacity = needed + needed / 2;
    return KD_OK;
}

kd_status tree_writer_inner(tree_writer *writer, uint32_t at, int axis, float split,
                            uint32_t *left) {
    KD_TRY(need_nodes(writer, writer->node_count + 2));
    *left = (uint32_t)writer->node_count;
    writer->nodes[at] = tritree_inner(axis, split, *left);
    writer->node_count += 2;
    return KD_OK;
}

kd_status tree_writer_leaf(tree_writer *writer, uint32_t at, uint32_t count, uint32_t **ids) {
    KD_TRY(need_references(writer, writer->reference_count + count));
    writer->nodes[at] = tritree_leaf((uint32_t)writer->reference_count, count);
    *ids = writer->references + writer->reference_count;
    writer->reference_count += count;
    return KD_OK;
}

/* A tree to be appended, in pieces that are copied in parallel. */
typedef struct appendix {
    tree_writer *writer;
    const tree_writer *part;
    uint32_t at, nodes_before, references_before;
    int pieces;
} appendix;

static void append_piece(void *context, int piece) {
    const appendix *tail = (const appendix *)context;
    const tree_writer *part = tail->part;
    const uint64_t pieces = (uint64_t)tail->pieces, i = (uint64_t)piece;
    const uint64_t end = part->node_count * (i + 1) / pieces;
    for (uint64_t k = part->node_count * i / pieces; k < end; ++k) {
        const tritree_node node = part->nodes[k];
        tail->writer->nodes[k ? tail->nodes_before + k : tail->at] =
            tritree_is_leaf(node)
                ? tritree_leaf(tritree_first(node) + tail->references_before, tritree_count(node))
                : tritree_inner(tritree_axis(node), node.split,
                                tritree_left(node) + tail->nodes_before);
    }
    const uint64_t first = part->reference_count * i / pieces;
    const uint64_t count = part->reference_count * (i + 1) / pieces - first;
    if (count)
        memcpy(tail->writer->references + tail->references_before + first, part->references + first,
               count * sizeof *part->references);
}

kd_status tree_writer_append(tree_writer *writer, uint32_t at, const tree_writer *part,
                             task_pool *pool) {
    KD_TRY(need_nodes(writer, writer->node_count + part->node_count - 1));
    KD_TRY(need_references(writer, writer->reference_count + part->reference_count));
    appendix appendix = {.writer = writer, .part = part, .at = at};
    appendix.nodes_before =
        (uint32_t)writer->node_count - 1; /* the part's root becomes node `at` */
    appendix.references_before = (uint32_t)writer->reference_count;
    appendix.pieces = part->node_count < APPEND_NODES ? 1 : APPEND_PIECES;
    task_each(pool, appendix.pieces, append_piece, &appendix);
    writer->node_count += part->node_count - 1;
    writer->reference_count += part->reference_count;
    return KD_OK;
}

void tree_writer_finish(tree_writer *writer, tritree *out) {
    out->nodes = writer->nodes;
    out->node_count = (uint32_t)writer->node_count;
    out->references = writer->references;
    out->reference_count = (uint32_t)writer->reference_count;
    memset(writer, 0, sizeof *writer);
}

enum { GRAIN = 4096 };

static void fill_rows(void *context, int64_t begin, int64_t end, int thread) {
    tritree *tree = (tritree *)context;
    const vec3 *corner = tree->input.positions;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const uint32_t *index = tree->input.triangles + 3 * i;
        tree->rows[i] = triangle_rows_make(corner[index[0]], corner[index[1]], corner[index[2]]);
    }
}

kd_status tree_rows_fill(tritree *tree) {
    KD_TRY(KD_RESERVE(tree->rows, tree->input.triangle_count));
    large_pages_prefer(tree->rows, tree->input.triangle_count * sizeof *tree->rows);
    parallel_for(tree->input.triangle_count, GRAIN, fill_rows, tree);
    return KD_OK;
}
