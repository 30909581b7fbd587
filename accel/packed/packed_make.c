#include "accel/packed/packed_make.h"
#include "accel/packed/packed_finer.h"
#include "accel/packed/packed_node.h"
#include "core/memory.h"

typedef struct maker {
    tritree_view tree;  /* as it was given */
    packed_source from; /* of the finer one, whose arrays follow */
    tritree_node *nodes;
    uint32_t *references;
    uint64_t node_room, reference_room;
    box3 *boxes;
    uint64_t *plans;
    uint32_t *ids;
    packed_item *items; /* level by level */
    uint32_t *at;       /* an item: the node's unit */
    uint64_t item_room, unit_room;
    packed_tree *out;
} maker;

float packed_least_side(box3 box) {
    return float_max(vec3_largest(box3_size(box)) * 0x1p-20f, 0x1p-100f);
}

/* Two more nodes; *left: the first. */
static kd_status add_pair(maker *m, uint32_t *left) {
    tritree_view *to = &m->from.tree;
    KD_REQUIRE(to->node_count < PACKED_MOST_UNITS - 2, KD_ERROR_MEMORY,
               "leaves that are cut further make more than 2^30 nodes");
    if (to->node_count + 2 > m->node_room) {
        KD_TRY(KD_GROW(m->nodes, m->node_room, 2 * m->node_room + 2));
        KD_TRY(KD_GROW(m->boxes, m->node_room, 2 * m->node_room + 2));
        m->node_room = 2 * m->node_room + 2;
    }
    *left = to->node_count;
    to->node_count += 2;
    return KD_OK;
}

/* The node becomes a leaf of these triangles of a leaf of the tree. */
static kd_status add_leaf(maker *m, uint32_t at, const uint32_t *ids, uint32_t which) {
    tritree_view *to = &m->from.tree;
    uint32_t count = 0;
    if (to->reference_count + (uint64_t)PACKED_FINER_MOST > m->reference_room) {
        const uint64_t room = 2 * m->reference_room + PACKED_FINER_MOST;
        KD_TRY(KD_GROW(m->references, m->reference_room, room));
        m->reference_room = room;
    }
    for (uint32_t i = 0; packed_has_next(which, &i); ++i)
        m->references[to->reference_count + count++] = ids[i];
    m->nodes[at] = tritree_leaf(to->reference_count, count);
    to->reference_count += count;
    return KD_OK;
}

/* Triangles of a leaf of the tree, whose references are `ids`, in a node of the finer one. */
static kd_status cut_few(maker *m, uint32_t at, const uint32_t *ids, uint32_t which, box3 cell,
                         int level) {
    packed_few few;
    int axis = 0;
    float plane = 0;
    uint32_t left = 0;
    packed_few_make(&few, &m->tree, ids, which, cell);
    m->boxes[at] = few.box;
    if (level == PACKED_FINER_LEVELS || !packed_finer_cut(&few, &axis, &plane))
        return level > 0 ? add_leaf(m, at, ids, which) : KD_OK;
    KD_TRY(add_pair(m, &left));
    m->nodes[at] = tritree_inner(axis, plane, left);
    for (uint32_t side = 0; side < 2; ++side) {
        box3 part = cell;
        vec3_set_axis(side ? &part.lo : &part.hi, axis, plane);
        KD_TRY(cut_few(m, left + side, ids, packed_few_side(&few, axis, plane, side == 1), part,
                       level + 1));
    }
    return KD_OK;
}

static kd_status cut_leaves(maker *m, uint32_t at, box3 cell) {
    const tritree_node node = m->tree.nodes[at];
    if (tritree_is_leaf(node)) {
        const uint32_t count = tritree_count(node);
        m->boxes[at] = packed_leaf_box(&m->tree, node, cell);
        if (!packed_may_be_finer(node)) return KD_OK;
        return cut_few(m, at, m->tree.references + tritree_first(node), (1u << count) - 1, cell, 0);
    }
    for (uint32_t side = 0; side < 2; ++side) {
        box3 part = cell;
        vec3_set_axis(side ? &part.lo : &part.hi, tritree_axis(node), node.split);
        KD_TRY(cut_leaves(m, tritree_left(node) + side, part));
    }
    return KD_OK;
}

static void measure(maker *m, uint32_t at, packed_measure *out) {
    const tritree_view *tree = &m->from.tree;
    const tritree_node node = tree->nodes[at];
    if (tritree_is_leaf(node)) {
        m->plans[at] = packed_measure_leaf(out, tree, node, m->boxes[at]);
    } else {
        packed_measure high;
        measure(m, tritree_left(node), out);
        measure(m, tritree_left(node) + 1, &high);
        m->plans[at] = packed_measure_join(out, &high);
    }
    m->boxes[at] = out->box;
    memcpy(m->ids + PACKED_FEW * (uint64_t)at, out->ids, sizeof out->ids);
}

static kd_status make_finer(maker *m) {
    const tritree_view *from = &m->tree;
    box3 all;
    all.lo = vec3_all(-INFINITY);
    all.hi = vec3_all(INFINITY);
    m->node_room = from->node_count;
    m->reference_room = from->reference_count;
    KD_TRY(KD_RESERVE(m->nodes, m->node_room));
    KD_TRY(KD_RESERVE(m->references, m->reference_room));
    KD_TRY(KD_RESERVE(m->boxes, m->node_room));
    memcpy(m->nodes, from->nodes, from->node_count * sizeof *m->nodes);
    memcpy(m->references, from->references, from->reference_count * sizeof *m->references);
    m->from.tree = *from;
    KD_TRY(cut_leaves(m, 0, all));
    m->from.tree.nodes = m->nodes;
    m->from.tree.references = m->references;
    return KD_OK;
}

static kd_status measure_all(maker *m) {
    packed_measure whole;
    const uint64_t nodes = m->from.tree.node_count;
    KD_TRY(KD_RESERVE(m->plans, nodes));
    KD_TRY(KD_RESERVE(m->ids, PACKED_FEW * nodes));
    m->from.boxes = m->boxes;
    m->from.plans = m->plans;
    m->from.ids = m->ids;
    m->from.least_side = packed_least_side(m->tree.box);
    measure(m, 0, &whole);
    return KD_OK;
}

static void fill_leaf(const maker *m, const packed_item *of, uint32_t triangles, uint8_t *at) {
    const packed_leaf leaf = packed_leaf_make(of, triangles);
    memcpy(at - PACKED_UNIT, &leaf, sizeof leaf);
    for (uint32_t i = 0; i < triangles; ++i) {
        const packed_triangle row = packed_triangle_make(
            &m->from.tree, packed_leaf_id(&m->from, of, i), i + 1 == triangles);
        memcpy(at + sizeof row * i, &row, sizeof row);
    }
}

static kd_status make_room(maker *m, uint64_t items, uint64_t units) {
    packed_tree *out = m->out;
    if (items > m->item_room) {
        KD_TRY(KD_GROW(m->items, m->item_room, 2 * items));
        KD_TRY(KD_GROW(m->at, m->item_room, 2 * items));
        m->item_room = 2 * items;
    }
    if (units > m->unit_room) {
        KD_TRY(KD_GROW(out->units, PACKED_UNIT * out->unit_count, 2 * PACKED_UNIT * units));
        m->unit_room = 2 * units;
    }
    return KD_OK;
}

/* Makes item i's node and leaves; its children that are nodes become items. */
static kd_status make_node(maker *m, uint64_t i, uint64_t *item_count) {
    packed_tree *out = m->out;
    packed_children children;
    packed_node node;
    packed_children_find(&m->from, &m->items[i], &children);
    const uint64_t base = out->unit_count, units = packed_block_units(&children);
    if (base + units > PACKED_MOST_UNITS) return KD_OK; /* of this size it has no packed form */
    KD_TRY(make_room(m, *item_count + PACKED_CELLS, base + units + PACKED_SPARE_UNITS));
    memset(out->units + PACKED_UNIT * base, 0, PACKED_UNIT * units);
    out->unit_count += units;
    packed_node_make(&m->from, &children, (uint32_t)base, &node);
    memcpy(out->units + PACKED_UNIT * (uint64_t)m->at[i], &node, sizeof node);
    for (int lane = 0; lane < children.count; ++lane) {
        const uint32_t unit = (uint32_t)base + packed_place(&children, lane);
        if (children.triangles[lane]) {
            fill_leaf(m, &children.items[lane], children.triangles[lane],
                      out->units + PACKED_UNIT * (uint64_t)unit);
            out->triangles += children.triangles[lane];
            ++out->leaves;
        } else {
            m->items[*item_count] = children.items[lane];
            m->at[(*item_count)++] = unit;
        }
    }
    ++out->nodes;
    return KD_OK;
}

static kd_status make_levels(maker *m) {
    uint64_t made = 0, end = 1;
    packed_tree *out = m->out;
    KD_TRY(make_room(m, 1, PACKED_NODE_UNITS));
    out->unit_count = PACKED_NODE_UNITS;
    memset(&m->items[0], 0, sizeof m->items[0]);
    m->items[0].cell.lo = vec3_all(-INFINITY);
    m->items[0].cell.hi = vec3_all(INFINITY);
    m->at[0] = 0;
    while (made < end && out->depth < PACKED_MAX_DEPTH) {
        uint64_t next = end;
        for (; made < end; ++made) KD_TRY(make_node(m, made, &next));
        if (out->nodes < made) break; /* too many units */
        end = next;
        ++out->depth;
    }
    if (made < end || out->nodes < made) {
        packed_tree_close(out);
        return KD_OK;
    }
    memset(out->units + PACKED_UNIT * out->unit_count, 0, PACKED_UNIT * PACKED_SPARE_UNITS);
    out->unit_count += PACKED_SPARE_UNITS;
    return KD_OK;
}

kd_status packed_tree_open(packed_tree *out, const tritree_view *from) {
    maker m;
    memset(&m, 0, sizeof m);
    memset(out, 0, sizeof *out);
    m.out = out;
    if (from->reference_count == 0) return KD_OK;
    m.tree = *from;
    kd_status status = make_finer(&m);
    if (status == KD_OK) status = measure_all(&m);
    if (status == KD_OK) status = make_levels(&m);
    if (status != KD_OK) packed_tree_close(out);
    memory_free(m.nodes);
    memory_free(m.references);
    memory_free(m.boxes);
    memory_free(m.plans);
    memory_free(m.ids);
    memory_free(m.items);
    memory_free(m.at);
    return status;
}

/* A unit and 48 bytes for each triangle of a leaf, four units a node: leaves are cut further than
   those of the tree, as far as packed_finer.h says. */
uint64_t packed_tree_bytes_most(uint64_t triangles) {
    enum { A_TRIANGLE = 410, SMALL = 1 << 12 };
    return triangles * A_TRIANGLE + SMALL;
}

void packed_tree_close(packed_tree *owned) {
    memory_free(owned->units);
    memset(owned, 0, sizeof *owned);
}
