/* Makes a node of eight cells, and its leaves, from the plans of a k-d tree. The same bytes on a
   CPU and on a device.
   Idea: the node's subtree is opened as its plan says; what is left are the children. A leaf of
         the k-d tree with more triangles than a leaf may have here becomes a node, whose
         children share its triangles; their cells are empty, so that no hit in one is taken for
         the nearest of all. Lanes: rays that look for any hit take children in the order of
         their lanes, so those that are leaves, then those of large boxes, get the lanes that
         come first. */
#ifndef KD_ACCEL_PACKED_PACKED_NODE_H
#define KD_ACCEL_PACKED_PACKED_NODE_H
#include "accel/packed/packed_measure.h"

enum { PACKED_OPENED = 2 * PACKED_CELLS - 1, PACKED_NOWHERE = 255 };

/* A k-d tree whose nodes are measured; borrows everything. */
typedef struct packed_source {
    tritree_view tree;        /* its nodes are those of the next */
    const packed_subtree *at; /* a node */
    float least_side;         /* of a node's grid */
} packed_source;

/* What becomes a node: a subtree of the k-d tree, or some references of a large leaf. */
typedef struct packed_item {
    box3 cell; /* of the k-d tree, sides without a plane infinite */
    uint32_t node;
    uint32_t first, count; /* references; count 0: the whole subtree */
} packed_item;

/* A node's children, lane by lane. */
typedef struct packed_children {
    int count, inner;
    packed_item items[PACKED_CELLS];
    box3 boxes[PACKED_CELLS];
    uint32_t triangles[PACKED_CELLS]; /* 0: a node */
    uint32_t order[4];                /* packed_row */
} packed_children;

/* Part of a subtree while it is opened. */
typedef struct packed_part {
    packed_item item;
    uint8_t axis, low, high, lane, slots; /* low, high: the parts it was opened into */
} packed_part;

/* What whoever goes down has to know of a subtree. */
typedef struct packed_head {
    tritree_node node;
    uint64_t plan;
} packed_head;

KD_FN packed_head packed_head_of(const packed_source *from, uint32_t node) {
    packed_head head;
    head.node = from->at[node].node;
    head.plan = from->at[node].plan;
    return head;
}

/* The smallest subtree that has all that the item's has, and its head; how many triangles it has as
   a leaf, 0: it is opened further, if it is a node of its own. Its cell stays: what is left out is
   empty. */
KD_FN uint32_t packed_settle(const packed_source *from, packed_item *item, packed_head *head) {
    for (;;) {
        *head = packed_head_of(from, item->node);
        const int kind = packed_kind(head->plan);
        if (kind != PACKED_LOW && kind != PACKED_HIGH) break;
        item->node = tritree_left(head->node) + (kind == PACKED_HIGH ? 1 : 0);
    }
    if (packed_kind(head->plan) == PACKED_INNER) return 0;
    if (!tritree_is_leaf(head->node)) return packed_distinct(head->plan);
    if (tritree_count(head->node) <= PACKED_LEAF_MOST) return tritree_count(head->node);
    item->first = tritree_first(head->node);
    item->count = tritree_count(head->node);
    return 0;
}

/* Opens parts[0], a subtree that is a node, by its plan; how many parts there are then. */
KD_FN int packed_open(const packed_source *from, packed_part *parts) {
    packed_head head;
    int used = 1;
    parts[0].slots = PACKED_CELLS;
    for (int at = 0; at < used; ++at) {
        packed_part *p = parts + at;
        const uint64_t plan = from->at[p->item.node].plan;
        const int slots = at == 0 ? PACKED_CELLS : packed_worth(plan, p->slots);
        p->low = p->high = p->lane = PACKED_NOWHERE;
        if (slots == 1 || packed_kind(plan) == PACKED_EMPTY || p->item.count) continue;
        if (packed_kind(plan) == PACKED_LEAF && tritree_is_leaf(from->at[p->item.node].node))
            continue;
        const tritree_node node = from->at[p->item.node].node;
        const int low_slots = packed_low_slots(plan, slots);
        p->axis = (uint8_t)tritree_axis(node);
        p->low = (uint8_t)used++;
        p->high = (uint8_t)used++;
        for (int side = 0; side < 2; ++side) {
            packed_part *child = parts + (side ? p->high : p->low);
            child->item = p->item;
            child->item.node = tritree_left(node) + (uint32_t)side;
            vec3_set_axis(side ? &child->item.cell.lo : &child->item.cell.hi, p->axis, node.split);
            child->slots = (uint8_t)(side ? slots - low_slots : low_slots);
            packed_settle(from, &child->item, &head);
        }
    }
    return used;
}

/* The lanes of all parts in the order of rays of this octant, a nibble each. */
KD_FN uint32_t packed_order(const packed_part *parts, int octant) {
    uint8_t stack[PACKED_CELLS];
    int waiting = 0, taken = 0, at = 0;
    uint32_t order = 0;
    for (;;) {
        const packed_part *p = parts + at;
        if (p->low != PACKED_NOWHERE) {
            const bool backwards = octant >> p->axis & 1;
            stack[waiting++] = backwards ? p->low : p->high;
            at = backwards ? p->high : p->low;
            continue;
        }
        order |= (uint32_t)p->lane << (4 * taken++);
        if (waiting == 0) break;
        at = stack[--waiting];
    }
    for (; taken < PACKED_CELLS; ++taken) order |= (uint32_t)taken << (4 * taken);
    return order;
}

/* The lane that the next child gets, of `count`: first those that come first for any hit. */
KD_FN int packed_lane(int taken, int count) {
    const uint32_t sequence = 0x04152637; /* 7, 3, 6, 2, 5, 1, 4, 0 */
    for (int k = 0;; ++k) {
        const int lane = (int)(sequence >> (4 * k) & 15);
        if (lane < count && taken-- == 0) return lane;
    }
}

/* The parts that are children, low sides first; how many. */
KD_FN int packed_list(const packed_part *parts, uint8_t *list) {
    uint8_t stack[PACKED_CELLS];
    int waiting = 0, count = 0, at = 0;
    for (;;) {
        if (parts[at].low != PACKED_NOWHERE) {
            stack[waiting++] = parts[at].high;
            at = parts[at].low;
            continue;
        }
        list[count++] = (uint8_t)at;
        if (waiting == 0) return count;
        at = stack[--waiting];
    }
}

/* What says which child comes first for any hit: leaves do, then large boxes. */
KD_FN uint32_t packed_priority(box3 box, bool leaf) {
    const float area = packed_area(box);
    return float_bits(area <= FLT_MAX ? area : FLT_MAX) | (leaf ? 1u << 31 : 0);
}

/* Gives the parts that are children their lanes. */
KD_FN void packed_take_lanes(const packed_source *from, packed_part *parts, packed_children *out) {
    uint32_t priority[PACKED_CELLS];
    uint8_t list[PACKED_CELLS];
    packed_head head;
    out->count = packed_list(parts, list);
    for (int i = 0; i < out->count; ++i) {
        packed_item *item = &parts[list[i]].item;
        priority[i] =
            packed_priority(from->at[item->node].box, packed_settle(from, item, &head) > 0);
    }
    for (int i = 0; i < out->count; ++i) {
        int before = 0;
        for (int k = 0; k < out->count; ++k)
            before += priority[k] > priority[i] || (priority[k] == priority[i] && k < i);
        const int lane = packed_lane(before, out->count);
        packed_part *part = &parts[list[i]];
        part->lane = (uint8_t)lane;
        out->items[lane] = part->item;
        out->boxes[lane] = from->at[part->item.node].box;
        out->triangles[lane] = packed_settle(from, &out->items[lane], &head);
    }
}

/* Of the references of a large leaf: to how many children, how many to child i. */
KD_FN uint32_t packed_shares(uint32_t count) {
    const uint32_t leaves = (count + PACKED_LEAF_MOST - 1) / PACKED_LEAF_MOST;
    return leaves < PACKED_CELLS ? leaves : (uint32_t)PACKED_CELLS;
}
KD_FN uint32_t packed_share_begin(uint32_t count, uint32_t i) {
    return (uint32_t)((uint64_t)count * i / packed_shares(count));
}
KD_FN uint32_t packed_share_of(uint32_t count, uint32_t i) {
    return packed_share_begin(count, i + 1) - packed_share_begin(count, i);
}

/* Shares references of a large leaf out to children. */
KD_FN void packed_share(const packed_source *from, const packed_item *of, packed_children *out) {
    const box3 nothing = box3_empty();
    out->count = (int)packed_shares(of->count);
    for (uint32_t i = 0; i < (uint32_t)out->count; ++i) {
        packed_item *item = &out->items[i];
        *item = *of;
        item->first = of->first + packed_share_begin(of->count, i);
        item->count = packed_share_of(of->count, i);
        out->triangles[i] = item->count <= PACKED_LEAF_MOST ? item->count : 0;
        out->boxes[i] = nothing;
        for (uint32_t k = item->first; k < item->first + item->count; ++k)
            box3_join(&out->boxes[i],
                      packed_cut_id(&from->tree, from->tree.references[k], of->cell));
    }
    for (int octant = 0; octant < 4; ++octant) out->order[octant] = 0x76543210;
}

KD_FN uint32_t packed_aligned(uint32_t units) {
    return (units + PACKED_NODE_UNITS - 1) / PACKED_NODE_UNITS * PACKED_NODE_UNITS;
}

KD_FN void packed_children_find(const packed_source *from, const packed_item *of,
                                packed_children *out) {
    if (of->count) {
        packed_share(from, of, out);
    } else {
        packed_part parts[PACKED_OPENED];
        packed_head head;
        parts[0].item = *of;
        packed_settle(from, &parts[0].item, &head);
        packed_open(from, parts);
        packed_take_lanes(from, parts, out);
        for (int octant = 0; octant < 4; ++octant) out->order[octant] = packed_order(parts, octant);
    }
    out->inner = 0;
    for (int lane = 0; lane < out->count; ++lane) out->inner += out->triangles[lane] == 0;
}

/* Where a child lies in the block of all of them, in units. */
KD_FN uint32_t packed_place(const packed_children *of, int lane) {
    uint32_t nodes = 0, leaves = 0;
    for (int i = 0; i < PACKED_CELLS && i < lane; ++i)
        if (of->triangles[i])
            leaves += packed_leaf_units(of->triangles[i]);
        else
            ++nodes;
    if (of->triangles[lane] == 0) return PACKED_NODE_UNITS * nodes;
    return PACKED_NODE_UNITS * (uint32_t)of->inner + leaves + 1;
}

/* Units of the block, a multiple of PACKED_NODE_UNITS. */
KD_FN uint32_t packed_block_units(const packed_children *of) {
    uint32_t units = 0;
    for (int i = 0; i < of->count; ++i)
        units +=
            of->triangles[i] ? packed_leaf_units(of->triangles[i]) : (uint32_t)PACKED_NODE_UNITS;
    return packed_aligned(units);
}

KD_FN uint8_t packed_byte(double x) {
    return x > 0 ? (uint8_t)(x < 255 ? x : 255) : (uint8_t)0;
}

/* The node whose children's block begins at unit `base`. */
KD_FN void packed_node_make(const packed_source *from, const packed_children *of, uint32_t base,
                            packed_node *out) {
    box3 box = box3_empty();
    for (int lane = 0; lane < of->count; ++lane) box3_join(&box, of->boxes[lane]);
    const float side = float_max(vec3_largest(box3_size(box)), from->least_side);
    memset(out, 0, sizeof *out);
    out->inv_e = (float)(254.9 / (double)side);
    for (int axis = 0; axis < 3; ++axis) out->p[axis] = vec3_axis(box.lo, axis) + 0.0f; /* no -0 */
    for (int lane = 0; lane < PACKED_CELLS; ++lane) {
        const int pair = (lane & 1) | lane >> 2 << 1, second = lane >> 1 & 1;
        for (int axis = 0; axis < 3; ++axis) {
            uint8_t *to = out->box[axis][pair] + 2 * second;
            to[0] = 255;
            if (lane >= of->count) continue;
            const double p = (double)out->p[axis], scale = (double)out->inv_e;
            to[0] = packed_byte(floor(((double)vec3_axis(of->boxes[lane].lo, axis) - p) * scale));
            to[1] = packed_byte(ceil(((double)vec3_axis(of->boxes[lane].hi, axis) - p) * scale));
        }
    }
    for (int octant = 0; octant < 4; ++octant) {
        for (int lane = 0; lane < of->count; ++lane)
            out->rows[octant].meta[lane] = (uint8_t)(128 | packed_place(of, lane));
        out->rows[octant].base =
            (uint32_t)of->inner << PACKED_INNER_SHIFT | base / PACKED_NODE_UNITS;
        out->rows[octant].order = of->order[octant];
    }
}

/* The id of triangle i of a child that is a leaf. */
KD_FN uint32_t packed_leaf_id(const packed_source *from, const packed_item *of, uint32_t i) {
    if (of->count) return from->tree.references[of->first + i];
    const tritree_node node = from->at[of->node].node;
    if (tritree_is_leaf(node)) return from->tree.references[tritree_first(node) + i];
    return from->at[of->node].ids[i];
}

KD_FN packed_leaf packed_leaf_make(const packed_item *of, uint32_t triangles) {
    packed_leaf leaf;
    for (int axis = 0; axis < 3; ++axis) {
        leaf.lo[axis] = of->count ? INFINITY : vec3_axis(of->cell.lo, axis);
        leaf.hi[axis] = of->count ? -INFINITY : vec3_axis(of->cell.hi, axis);
    }
    leaf.count = triangles;
    leaf.spare = 0;
    return leaf;
}

KD_FN packed_triangle packed_triangle_make(const tritree_view *tree, uint32_t id, bool last) {
    packed_triangle made;
    for (int k = 0; k < 3; ++k) {
        const vec3 p = tree->positions[tree->triangles[3 * (uint64_t)id + (uint32_t)k]];
        for (int axis = 0; axis < 3; ++axis) made.axis[axis].corner[k] = vec3_axis(p, axis);
    }
    for (int axis = 0; axis < 3; ++axis) made.axis[axis].word = id | (last ? PACKED_LAST : 0);
    return made;
}

#endif
