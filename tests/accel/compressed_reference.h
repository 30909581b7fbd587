/* Compresses a tree (accel/wide/compressed_form.h) level by level on the CPU, in the simplest way.
   Reference for compressed_make.cu, which must produce the same bytes. */
#ifndef KD_TESTS_ACCEL_COMPRESSED_REFERENCE_H
#define KD_TESTS_ACCEL_COMPRESSED_REFERENCE_H
#include "accel/wide/compressed_list.h"
#include "core/memory.h"
#include "core/status.h"

typedef struct compressed_copy {
    uint8_t *units; /* COMPRESSED_UNIT bytes each; NULL if the tree has no compressed form */
    uint64_t unit_count, triangles; /* triangles: total of all leaves */
    uint32_t nodes, leaves, depth;
} compressed_copy;

static inline void compressed_copy_close(compressed_copy *owned) {
    memory_free(owned->units);
    memset(owned, 0, sizeof *owned);
}

/* Some of the triangles of a leaf, clipped to its cell and at the planes of splits. */
typedef struct clipped_group {
    uint32_t which; /* bit i: reference i of the leaf */
    uint32_t count;
    bool flat; /* some of the boxes are flat along an axis */
    box3 box;  /* bounds of all boxes */
    box3 boxes[COMPRESSED_FINER_MAX];
} clipped_group;

/* Counts the boxes on either side of a plane. */
KD_FN void count_sides(const clipped_group *set, int axis, float plane, bool at_end, uint32_t *low,
                       uint32_t *high) {
    *low = *high = 0;
    for (uint32_t i = 0; i < set->count; ++i) {
        const float lo = vec3_axis(set->boxes[i].lo, axis), hi = vec3_axis(set->boxes[i].hi, axis);
        *high += compressed_is_high(lo, hi, plane, at_end);
        *low += compressed_is_low(lo, hi, plane, at_end);
    }
}

/* Finds the best plane to split or cut these triangles; returns false if no split pays. */
KD_FN bool finer_cut(const clipped_group *set, int *axis, float *plane) {
    const sah_costs costs = {0.3f, 1, 1};
    float best = (float)set->count;
    bool found = false;
    const double area = sah_half_area(set->box);
    if (!(area > 0)) return false;
    for (int k = 0; k < 3; ++k) {
        const sah_axis along = compressed_axis_of(set->box, k, 1 / area);
        for (uint32_t i = 0; i < 2 * set->count; ++i) {
            const box3 *box = &set->boxes[i >> 1];
            const float lo = vec3_axis(box->lo, k), hi = vec3_axis(box->hi, k),
                        at = i & 1 ? hi : lo;
            const bool inside = at > along.lo && at < along.hi;
            uint32_t low, high;
            if (inside ? set->count < COMPRESSED_FINER_MIN : lo < hi) continue;
            count_sides(set, k, at, at == along.hi, &low, &high);
            const float cost = sah_split_cost(&costs, &along, at, low, high);
            if (low == 0 || high == 0 || !(cost < best)) continue;
            best = cost;
            *axis = k;
            *plane = at;
            found = true;
        }
    }
    return found;
}

/* Returns the bounds of a leaf's triangles, clipped to its cell, for any number of triangles. */
KD_FN box3 leaf_bounds(const tritree_view *tree, tritree_node leaf, box3 cell) {
    const uint32_t *ids = tree->references + tritree_first(leaf);
    box3 box = box3_empty();
    for (uint32_t i = 0; i < tritree_count(leaf); ++i)
        box3_join(&box, compressed_cut_id(tree, ids[i], cell));
    return box;
}

KD_FN void clipped_group_add(clipped_group *to, uint32_t i, box3 box) {
    to->which |= 1u << i;
    box3_join(&to->box, box);
    to->boxes[to->count++] = box;
}

/* Collects the boxes of a leaf's triangles; `ids`: its references. */
KD_FN void clipped_group_make(clipped_group *out, const tritree_view *tree, const uint32_t *ids,
                              uint32_t count, box3 cell) {
    out->which = out->count = 0, out->flat = false;
    out->box = box3_empty();
    for (uint32_t i = 0; i < count; ++i) {
        const box3 box = compressed_cut_id(tree, ids[i], cell);
        if (compressed_is_flat(box)) out->flat = true;
        clipped_group_add(out, i, box);
    }
}

/* Collects the parts of a group on one side of a plane. */
KD_FN void clipped_group_cut(clipped_group *out, const tritree_view *tree, const uint32_t *ids,
                             const clipped_group *from, int axis, float plane, bool high) {
    const bool at_end = plane == vec3_axis(from->box.hi, axis);
    uint32_t i = 0;
    out->which = out->count = 0, out->flat = from->flat;
    out->box = box3_empty();
    for (uint32_t k = 0; k < from->count; ++k, ++i) {
        const box3 box = from->boxes[k];
        const float lo = vec3_axis(box.lo, axis), hi = vec3_axis(box.hi, axis);
        while (!(from->which >> i & 1)) ++i;
        if (lo < plane && hi > plane)
            clipped_group_add(out, i, compressed_cut_half_id(tree, ids[i], box, axis, plane, high));
        else if ((high ? compressed_is_high : compressed_is_low)(lo, hi, plane, at_end))
            clipped_group_add(out, i, box);
    }
}

/* Returns the id of triangle i of a child that is a leaf. */
KD_FN uint32_t leaf_id(const compressed_source *source, const compressed_item *item, uint32_t i) {
    if (item->count) return source->tree.references[item->first + i];
    const tritree_node node = source->at[item->node].node;
    if (tritree_is_leaf(node)) return source->tree.references[tritree_first(node) + i];
    return source->at[item->node].ids[i];
}

typedef struct maker {
    tritree_view tree;      /* the input */
    compressed_source from; /* view of the refined tree, whose arrays follow */
    compressed_subtree *at;
    uint32_t *references;
    uint64_t node_capacity, reference_capacity, item_capacity, unit_capacity;
    compressed_item *items; /* in order of their level */
    uint32_t *places;       /* position of each item's node, in units */
    compressed_copy *out;
} maker;

/* Adds two nodes; *left: the first. */
static inline kd_status add_pair(maker *m, uint32_t *left) {
    tritree_view *to = &m->from.tree;
    KD_REQUIRE(to->node_count < COMPRESSED_TREE_MAX - 2, KD_ERROR_MEMORY, "too many nodes");
    if (to->node_count + 2 > m->node_capacity) {
        KD_TRY(KD_GROW(m->at, m->node_capacity, 2 * m->node_capacity + 2));
        m->node_capacity = 2 * m->node_capacity + 2;
    }
    *left = to->node_count;
    to->node_count += 2;
    return KD_OK;
}

/* Makes the node a leaf with the triangles `which` of the leaf whose references are `ids`. */
static inline kd_status add_leaf(maker *m, uint32_t at, const uint32_t *ids, uint32_t which) {
    tritree_view *to = &m->from.tree;
    uint32_t count = 0;
    if (to->reference_count + (uint64_t)COMPRESSED_FINER_MAX > m->reference_capacity) {
        const uint64_t capacity = 2 * m->reference_capacity + COMPRESSED_FINER_MAX;
        KD_TRY(KD_GROW(m->references, m->reference_capacity, capacity));
        m->reference_capacity = capacity;
    }
    for (uint32_t i = 0; i < COMPRESSED_FINER_MAX; ++i)
        if (which >> i & 1) m->references[to->reference_count + count++] = ids[i];
    m->at[at].node = tritree_leaf(to->reference_count, count);
    to->reference_count += count;
    return KD_OK;
}

/* Splits the triangles of a leaf with references `ids` below a node of the refined tree. */
static inline kd_status cut_few(maker *m, uint32_t at, const uint32_t *ids,
                                const clipped_group *few, uint32_t level) {
    clipped_group part;
    int axis = 0;
    float plane = 0;
    uint32_t left = 0;
    m->at[at].box = few->box;
    if (!compressed_may_be_finer(few->count, few->flat, level) || !finer_cut(few, &axis, &plane))
        return level > 0 ? add_leaf(m, at, ids, few->which) : KD_OK;
    KD_TRY(add_pair(m, &left));
    m->at[at].node = tritree_inner(axis, plane, left);
    for (uint32_t side = 0; side < 2; ++side) {
        clipped_group_cut(&part, &m->tree, ids, few, axis, plane, side == 1);
        KD_TRY(cut_few(m, left + side, ids, &part, level + 1));
    }
    return KD_OK;
}

static inline kd_status cut_leaves(maker *m, uint32_t at, box3 cell) {
    const tritree_node node = m->tree.nodes[at];
    if (tritree_is_leaf(node)) {
        const uint32_t *ids = m->tree.references + tritree_first(node);
        clipped_group few;
        m->at[at].box = leaf_bounds(&m->tree, node, cell);
        if (!compressed_may_be_finer(tritree_count(node), true, 0)) return KD_OK;
        clipped_group_make(&few, &m->tree, ids, tritree_count(node), cell);
        return cut_few(m, at, ids, &few, 0);
    }
    for (uint32_t side = 0; side < 2; ++side) {
        box3 part = cell;
        vec3_set_axis(side ? &part.lo : &part.hi, tritree_axis(node), node.split);
        KD_TRY(cut_leaves(m, tritree_left(node) + side, part));
    }
    return KD_OK;
}

static inline void measure(maker *m, uint32_t at, compressed_measure *out) {
    const tritree_view *tree = &m->from.tree;
    compressed_subtree *to = &m->at[at];
    if (tritree_is_leaf(to->node)) {
        to->plan = compressed_measure_leaf(out, tree, to->node, to->box);
    } else {
        compressed_measure high;
        measure(m, tritree_left(to->node), out);
        measure(m, tritree_left(to->node) + 1, &high);
        to->plan = compressed_measure_join(out, &high);
    }
    to->box = out->box;
    memcpy(to->ids, out->ids, sizeof out->ids);
}

static inline kd_status make_finer(maker *m) {
    const tritree_view *from = &m->tree;
    box3 all;
    all.lo = vec3_all(-INFINITY);
    all.hi = vec3_all(INFINITY);
    m->node_capacity = from->node_count;
    m->reference_capacity = from->reference_count;
    KD_TRY(KD_RESERVE(m->at, m->node_capacity));
    KD_TRY(KD_RESERVE(m->references, m->reference_capacity));
    for (uint32_t i = 0; i < from->node_count; ++i) m->at[i].node = from->nodes[i];
    memcpy(m->references, from->references, from->reference_count * sizeof *m->references);
    m->from.tree = *from;
    KD_TRY(cut_leaves(m, 0, all));
    m->from.tree.nodes = NULL;
    m->from.tree.references = m->references;
    return KD_OK;
}

static inline void measure_all(maker *m) {
    compressed_measure whole;
    m->from.at = m->at;
    m->from.min_side = compressed_min_side(m->tree.box);
    measure(m, 0, &whole);
}

static inline void fill_leaf(const maker *m, const compressed_item *item, uint32_t triangles,
                             uint8_t *at) {
    const compressed_leaf leaf = compressed_leaf_make(item);
    const compressed_indexed_leaf indexed = compressed_indexed_leaf_make(&m->from, item);
    memcpy(at - COMPRESSED_UNIT, m->from.indexed ? (const void *)&indexed : &leaf, COMPRESSED_UNIT);
    for (uint32_t i = 0; i < triangles; ++i) {
        const uint32_t id = leaf_id(&m->from, item, i);
        const bool last = i + 1 == triangles;
        const uint32_t entry = id | (last ? COMPRESSED_LAST : 0);
        const compressed_triangle row = compressed_triangle_make(&m->from.tree, id, last);
        if (m->from.indexed)
            memcpy(at - sizeof indexed.list + sizeof entry * i, &entry, sizeof entry);
        else
            memcpy(at + sizeof row * i, &row, sizeof row);
    }
}

static inline kd_status grow(maker *m, uint64_t items, uint64_t units) {
    compressed_copy *out = m->out;
    if (items > m->item_capacity) {
        KD_TRY(KD_GROW(m->items, m->item_capacity, 2 * items));
        KD_TRY(KD_GROW(m->places, m->item_capacity, 2 * items));
        m->item_capacity = 2 * items;
    }
    if (units > m->unit_capacity) {
        KD_TRY(KD_GROW(out->units, COMPRESSED_UNIT * out->unit_count, 2 * COMPRESSED_UNIT * units));
        m->unit_capacity = 2 * units;
    }
    return KD_OK;
}

/* Encodes item i: its node and leaves. Its children that are nodes become items. */
static inline kd_status make_node(maker *m, uint64_t i, uint64_t *item_count) {
    compressed_copy *out = m->out;
    compressed_list children;
    compressed_node node;
    compressed_list_find(&m->from, &m->items[i], &children);
    const uint64_t base = out->unit_count, units = compressed_list_units(&m->from, &children);
    if (base + units > compressed_units_max(m->from.alignment))
        return KD_OK; /* too large for the compressed form */
    KD_TRY(grow(m, *item_count + COMPRESSED_CHILDREN, base + units + COMPRESSED_SPARE_UNITS));
    memset(out->units + COMPRESSED_UNIT * base, 0, COMPRESSED_UNIT * units);
    out->unit_count += units;
    compressed_list_write(&m->from, &children, (uint32_t)base, &node);
    memcpy(out->units + COMPRESSED_UNIT * (uint64_t)m->places[i], &node, sizeof node);
    for (int lane = 0; lane < children.count; ++lane) {
        const uint32_t unit = (uint32_t)base + compressed_list_place(&children, lane);
        if (children.triangles[lane]) {
            fill_leaf(m, &children.items[lane], children.triangles[lane],
                      out->units + COMPRESSED_UNIT * (uint64_t)unit);
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
    compressed_copy *out = m->out;
    KD_TRY(grow(m, 1, COMPRESSED_NODE_UNITS));
    out->unit_count = COMPRESSED_NODE_UNITS;
    memset(&m->items[0], 0, sizeof m->items[0]);
    m->items[0].cell.lo = vec3_all(-INFINITY);
    m->items[0].cell.hi = vec3_all(INFINITY);
    m->places[0] = 0;
    while (made < end && out->depth < COMPRESSED_MAX_DEPTH) {
        uint64_t next = end;
        for (; made < end; ++made) KD_TRY(make_node(m, made, &next));
        if (out->nodes < made) break; /* stopped, because the form would be too large */
        end = next;
        ++out->depth;
    }
    if (made < end || out->nodes < made) {
        compressed_copy_close(out);
        return KD_OK;
    }
    memset(out->units + COMPRESSED_UNIT * out->unit_count, 0,
           COMPRESSED_UNIT * COMPRESSED_SPARE_UNITS);
    out->unit_count += COMPRESSED_SPARE_UNITS;
    return KD_OK;
}

static inline kd_status compressed_copy_open(compressed_copy *out, const tritree_view *view,
                                             bool indexed) {
    maker m;
    memset(&m, 0, sizeof m);
    memset(out, 0, sizeof *out);
    m.out = out;
    if (view->reference_count == 0) return KD_OK;
    m.tree = *view;
    m.from.indexed = indexed;
    m.from.alignment = compressed_alignment(indexed, view->triangle_count);
    kd_status status = make_finer(&m);
    if (status == KD_OK) {
        measure_all(&m);
        status = make_levels(&m);
    }
    if (status != KD_OK) compressed_copy_close(out);
    memory_free(m.at);
    memory_free(m.references);
    memory_free(m.items);
    memory_free(m.places);
    return status;
}

#endif
