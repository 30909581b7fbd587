/* The packed form of a tree (accel/packed) made plainly, level by level, on the CPU: the oracle of
   packed_make.cu, which makes the same bytes. */
#ifndef KD_TESTS_ACCEL_PACKED_ORACLE_H
#define KD_TESTS_ACCEL_PACKED_ORACLE_H
#include "accel/packed/packed_finer.h"
#include "accel/packed/packed_node.h"
#include "core/memory.h"
#include "core/status.h"

typedef struct packed_tree {
    uint8_t *units; /* PACKED_UNIT bytes each; NULL: the tree has no packed form */
    uint64_t unit_count;
    uint32_t nodes, leaves, depth;
    uint64_t triangles; /* in all leaves */
} packed_tree;

static inline void packed_tree_close(packed_tree *owned) {
    memory_free(owned->units);
    memset(owned, 0, sizeof *owned);
}

typedef struct maker {
    tritree_view tree;  /* as it was given */
    packed_source from; /* of the finer one, whose arrays follow */
    packed_subtree *at;
    uint32_t *references;
    uint64_t node_room, reference_room;
    packed_item *items; /* level by level */
    uint32_t *places;   /* an item: the node's unit */
    uint64_t item_room, unit_room;
    packed_tree *out;
} maker;

/* Two more nodes; *left: the first. */
static inline kd_status add_pair(maker *m, uint32_t *left) {
    tritree_view *to = &m->from.tree;
    KD_REQUIRE(to->node_count < PACKED_MOST_UNITS - 2, KD_ERROR_MEMORY,
               "leaves that are cut further make more than 2^30 nodes");
    if (to->node_count + 2 > m->node_room) {
        KD_TRY(KD_GROW(m->at, m->node_room, 2 * m->node_room + 2));
        m->node_room = 2 * m->node_room + 2;
    }
    *left = to->node_count;
    to->node_count += 2;
    return KD_OK;
}

/* The node becomes a leaf of these triangles of a leaf of the tree. */
static inline kd_status add_leaf(maker *m, uint32_t at, const uint32_t *ids, uint32_t which) {
    tritree_view *to = &m->from.tree;
    uint32_t count = 0;
    if (to->reference_count + (uint64_t)PACKED_FINER_MOST > m->reference_room) {
        const uint64_t room = 2 * m->reference_room + PACKED_FINER_MOST;
        KD_TRY(KD_GROW(m->references, m->reference_room, room));
        m->reference_room = room;
    }
    for (uint32_t i = 0; packed_has_next(which, &i); ++i)
        m->references[to->reference_count + count++] = ids[i];
    m->at[at].node = tritree_leaf(to->reference_count, count);
    to->reference_count += count;
    return KD_OK;
}

/* Triangles of a leaf of the tree, whose references are `ids`, in a node of the finer one. */
static inline kd_status cut_few(maker *m, uint32_t at, const uint32_t *ids, const packed_few *few,
                                uint32_t level) {
    packed_few part;
    int axis = 0;
    float plane = 0;
    uint32_t left = 0;
    m->at[at].box = few->box;
    if (!packed_may_be_finer(few->count, few->flat, level) || !packed_finer_cut(few, &axis, &plane))
        return level > 0 ? add_leaf(m, at, ids, few->which) : KD_OK;
    KD_TRY(add_pair(m, &left));
    m->at[at].node = tritree_inner(axis, plane, left);
    for (uint32_t side = 0; side < 2; ++side) {
        box3 cell = few->cell;
        vec3_set_axis(side ? &cell.lo : &cell.hi, axis, plane);
        packed_few_make(&part, &m->tree, ids, packed_few_side(few, axis, plane, side == 1), cell);
        part.flat = few->flat;
        KD_TRY(cut_few(m, left + side, ids, &part, level + 1));
    }
    return KD_OK;
}

static inline kd_status cut_leaves(maker *m, uint32_t at, box3 cell) {
    const tritree_node node = m->tree.nodes[at];
    if (tritree_is_leaf(node)) {
        const uint32_t *ids = m->tree.references + tritree_first(node);
        packed_few few;
        m->at[at].box = packed_leaf_box(&m->tree, node, cell);
        if (!packed_may_be_finer(tritree_count(node), true, 0)) return KD_OK;
        packed_few_make(&few, &m->tree, ids, (1u << tritree_count(node)) - 1, cell);
        return cut_few(m, at, ids, &few, 0);
    }
    for (uint32_t side = 0; side < 2; ++side) {
        box3 part = cell;
        vec3_set_axis(side ? &part.lo : &part.hi, tritree_axis(node), node.split);
        KD_TRY(cut_leaves(m, tritree_left(node) + side, part));
    }
    return KD_OK;
}

static inline void measure(maker *m, uint32_t at, packed_measure *out) {
    const tritree_view *tree = &m->from.tree;
    packed_subtree *to = &m->at[at];
    if (tritree_is_leaf(to->node)) {
        to->plan = packed_measure_leaf(out, tree, to->node, to->box);
    } else {
        packed_measure high;
        measure(m, tritree_left(to->node), out);
        measure(m, tritree_left(to->node) + 1, &high);
        to->plan = packed_measure_join(out, &high);
    }
    to->box = out->box;
    memcpy(to->ids, out->ids, sizeof out->ids);
}

static inline kd_status make_finer(maker *m) {
    const tritree_view *from = &m->tree;
    box3 all;
    all.lo = vec3_all(-INFINITY);
    all.hi = vec3_all(INFINITY);
    m->node_room = from->node_count;
    m->reference_room = from->reference_count;
    KD_TRY(KD_RESERVE(m->at, m->node_room));
    KD_TRY(KD_RESERVE(m->references, m->reference_room));
    for (uint32_t i = 0; i < from->node_count; ++i) m->at[i].node = from->nodes[i];
    memcpy(m->references, from->references, from->reference_count * sizeof *m->references);
    m->from.tree = *from;
    KD_TRY(cut_leaves(m, 0, all));
    m->from.tree.nodes = NULL;
    m->from.tree.references = m->references;
    return KD_OK;
}

static inline void measure_all(maker *m) {
    packed_measure whole;
    m->from.at = m->at;
    m->from.least_side = packed_least_side(m->tree.box);
    measure(m, 0, &whole);
}

static inline void fill_leaf(const maker *m, const packed_item *of, uint32_t triangles,
                             uint8_t *at) {
    const packed_leaf leaf = packed_leaf_make(of, triangles);
    memcpy(at - PACKED_UNIT, &leaf, sizeof leaf);
    for (uint32_t i = 0; i < triangles; ++i) {
        const packed_triangle row = packed_triangle_make(
            &m->from.tree, packed_leaf_id(&m->from, of, i), i + 1 == triangles);
        memcpy(at + sizeof row * i, &row, sizeof row);
    }
}

static inline kd_status make_room(maker *m, uint64_t items, uint64_t units) {
    packed_tree *out = m->out;
    if (items > m->item_room) {
        KD_TRY(KD_GROW(m->items, m->item_room, 2 * items));
        KD_TRY(KD_GROW(m->places, m->item_room, 2 * items));
        m->item_room = 2 * items;
    }
    if (units > m->unit_room) {
        KD_TRY(KD_GROW(out->units, PACKED_UNIT * out->unit_count, 2 * PACKED_UNIT * units));
        m->unit_room = 2 * units;
    }
    return KD_OK;
}

/* Makes item i's node and leaves; its children that are nodes become items. */
static inline kd_status make_node(maker *m, uint64_t i, uint64_t *item_count) {
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
    memcpy(out->units + PACKED_UNIT * (uint64_t)m->places[i], &node, sizeof node);
    for (int lane = 0; lane < children.count; ++lane) {
        const uint32_t unit = (uint32_t)base + packed_place(&children, lane);
        if (children.triangles[lane]) {
            fill_leaf(m, &children.items[lane], children.triangles[lane],
                      out->units + PACKED_UNIT * (uint64_t)unit);
            out->triangles += children.triangles[lane];
            ++out->leaves;
        } else {
            m->items[*item_count] = children.items[lane];
            m->places[(*item_count)++] = unit;
        }
    }
    ++out->nodes;
    return KD_OK;
}

static inline kd_status make_levels(maker *m) {
    uint64_t made = 0, end = 1;
    packed_tree *out = m->out;
    KD_TRY(make_room(m, 1, PACKED_NODE_UNITS));
    out->unit_count = PACKED_NODE_UNITS;
    memset(&m->items[0], 0, sizeof m->items[0]);
    m->items[0].cell.lo = vec3_all(-INFINITY);
    m->items[0].cell.hi = vec3_all(INFINITY);
    m->places[0] = 0;
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

static inline kd_status packed_tree_open(packed_tree *out, const tritree_view *from) {
    maker m;
    memset(&m, 0, sizeof m);
    memset(out, 0, sizeof *out);
    m.out = out;
    if (from->reference_count == 0) return KD_OK;
    m.tree = *from;
    kd_status status = make_finer(&m);
    if (status == KD_OK) {
        measure_all(&m);
        status = make_levels(&m);
    }
    if (status != KD_OK) packed_tree_close(out);
    memory_free(m.at);
    memory_free(m.references);
    memory_free(m.items);
    memory_free(m.places);
    return status;
}

#endif
