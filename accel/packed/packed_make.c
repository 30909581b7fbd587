#include "accel/packed/packed_make.h"
#include "accel/packed/packed_node.h"
#include "core/memory.h"

typedef struct maker {
    packed_source from;
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

static void measure(maker *m, uint32_t at, box3 cell, packed_measure *out) {
    const tritree_view *tree = &m->from.tree;
    const tritree_node node = tree->nodes[at];
    if (tritree_is_leaf(node)) {
        m->plans[at] = packed_measure_leaf(out, tree, node, cell);
    } else {
        packed_measure high;
        box3 low_cell = cell, high_cell = cell;
        vec3_set_axis(&low_cell.hi, tritree_axis(node), node.split);
        vec3_set_axis(&high_cell.lo, tritree_axis(node), node.split);
        measure(m, tritree_left(node), low_cell, out);
        measure(m, tritree_left(node) + 1, high_cell, &high);
        m->plans[at] = packed_measure_join(out, &high);
    }
    m->boxes[at] = out->box;
    memcpy(m->ids + PACKED_FEW * (uint64_t)at, out->ids, sizeof out->ids);
}

static kd_status measure_all(maker *m, const tritree_view *from) {
    packed_measure whole;
    box3 all;
    KD_TRY(KD_RESERVE(m->boxes, from->node_count));
    KD_TRY(KD_RESERVE(m->plans, from->node_count));
    KD_TRY(KD_RESERVE(m->ids, PACKED_FEW * (uint64_t)from->node_count));
    m->from.tree = *from;
    m->from.boxes = m->boxes;
    m->from.plans = m->plans;
    m->from.ids = m->ids;
    m->from.least_side = packed_least_side(from->box);
    all.lo = vec3_all(-INFINITY);
    all.hi = vec3_all(INFINITY);
    measure(m, 0, all, &whole);
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
    kd_status status = measure_all(&m, from);
    if (status == KD_OK) status = make_levels(&m);
    if (status != KD_OK) packed_tree_close(out);
    memory_free(m.boxes);
    memory_free(m.plans);
    memory_free(m.ids);
    memory_free(m.items);
    memory_free(m.at);
    return status;
}

void packed_tree_close(packed_tree *owned) {
    memory_free(owned->units);
    memset(owned, 0, sizeof *owned);
}
