/* The children of a compressed wide node on a CPU: which subtrees of the k-d tree they are, their
   lanes, their places in the node's block, and the node's bytes. The counterpart on a GPU, with the
   same results, is compressed_group.cuh. */
#ifndef KD_ACCEL_WIDE_COMPRESSED_LIST_H
#define KD_ACCEL_WIDE_COMPRESSED_LIST_H
#include "accel/wide/compressed_node.h"

/* The children of a node, by lane. */
typedef struct compressed_list {
    int count, inner;
    bool indexed;
    compressed_item items[COMPRESSED_CHILDREN];
    box3 boxes[COMPRESSED_CHILDREN];
    uint32_t triangles[COMPRESSED_CHILDREN]; /* 0 for a child that is a node */
    uint32_t order[4];                       /* encoding: see compressed_row */
} compressed_list;

/* Expands the subtree parts[0], an inner node, as planned; returns the number of parts. */
KD_FN int compressed_list_open(const compressed_source *source, compressed_part *parts) {
    compressed_head head;
    int used = 1;
    parts[0].slots = COMPRESSED_CHILDREN;
    for (int at = 0; at < used; ++at) {
        compressed_part *p = parts + at;
        const uint64_t plan = source->at[p->item.node].plan;
        const int slots = at == 0 ? COMPRESSED_CHILDREN : compressed_slots_used(plan, p->slots);
        p->low = p->high = p->lane = COMPRESSED_NOWHERE;
        if (slots == 1 || compressed_kind(plan) == COMPRESSED_EMPTY || p->item.count) continue;
        const tritree_node node = source->at[p->item.node].node;
        if (compressed_kind(plan) == COMPRESSED_LEAF && tritree_is_leaf(node)) continue;
        const int low_slots = compressed_low_slots(plan, slots);
        p->axis = (uint8_t)tritree_axis(node);
        p->low = (uint8_t)used++;
        p->high = (uint8_t)used++;
        for (int side = 0; side < 2; ++side) {
            compressed_part *child = parts + (side ? p->high : p->low);
            child->item = p->item;
            child->item.node = tritree_left(node) + (uint32_t)side;
            vec3_set_axis(side ? &child->item.cell.lo : &child->item.cell.hi, p->axis, node.split);
            child->slots = (uint8_t)(side ? slots - low_slots : low_slots);
            compressed_resolve(source, &child->item, &head);
        }
    }
    return used;
}

/* Lists the parts that become children, low sides first; returns their number. */
KD_FN int compressed_list_items(const compressed_part *parts, uint8_t *list) {
    uint8_t stack[COMPRESSED_CHILDREN];
    int waiting = 0, count = 0, at = 0;
    for (;;) {
        if (parts[at].low != COMPRESSED_NOWHERE) {
            stack[waiting++] = parts[at].high;
            at = parts[at].low;
            continue;
        }
        list[count++] = (uint8_t)at;
        if (waiting == 0) return count;
        at = stack[--waiting];
    }
}

/* Assigns lanes to the parts that are children. */
KD_FN void compressed_list_lanes(const compressed_source *source, compressed_part *parts,
                                 compressed_list *out) {
    uint32_t priority[COMPRESSED_CHILDREN];
    uint8_t list[COMPRESSED_CHILDREN];
    compressed_head head;
    out->count = compressed_list_items(parts, list);
    for (int i = 0; i < out->count; ++i) {
        compressed_item *item = &parts[list[i]].item;
        priority[i] = compressed_priority(source->at[item->node].box,
                                          compressed_resolve(source, item, &head) > 0);
    }
    for (int i = 0; i < out->count; ++i) {
        int before = 0;
        for (int k = 0; k < out->count; ++k)
            before += priority[k] > priority[i] || (priority[k] == priority[i] && k < i);
        const int lane = compressed_lane(before, out->count);
        compressed_part *part = &parts[list[i]];
        part->lane = (uint8_t)lane;
        out->items[lane] = part->item;
        out->boxes[lane] = source->at[part->item.node].box;
        out->triangles[lane] = compressed_resolve(source, &out->items[lane], &head);
    }
}

/* Distributes the references of a large leaf among children. */
KD_FN void compressed_list_shares(const compressed_source *source, const compressed_item *parent,
                                  compressed_list *out) {
    const box3 nothing = box3_empty();
    out->count = (int)compressed_shares(parent->count);
    for (uint32_t i = 0; i < (uint32_t)out->count; ++i) {
        compressed_item *item = &out->items[i];
        *item = *parent;
        item->first = parent->first + compressed_share_begin(parent->count, i);
        item->count = compressed_share_of(parent->count, i);
        out->triangles[i] = item->count <= COMPRESSED_LEAF_MAX ? item->count : 0;
        out->boxes[i] = nothing;
        for (uint32_t k = item->first; k < item->first + item->count; ++k)
            box3_join(&out->boxes[i],
                      compressed_cut_id(&source->tree, source->tree.references[k], parent->cell));
    }
    for (int octant = 0; octant < 4; ++octant) out->order[octant] = 0x76543210;
}

KD_FN void compressed_list_find(const compressed_source *source, const compressed_item *item,
                                compressed_list *out) {
    if (item->count) {
        compressed_list_shares(source, item, out);
    } else {
        compressed_part parts[COMPRESSED_OPENED];
        compressed_head head;
        parts[0].item = *item;
        compressed_resolve(source, &parts[0].item, &head);
        compressed_list_open(source, parts);
        compressed_list_lanes(source, parts, out);
        for (int octant = 0; octant < 4; ++octant)
            out->order[octant] = compressed_order(parts, octant);
    }
    out->inner = 0;
    out->indexed = source->indexed;
    for (int lane = 0; lane < out->count; ++lane) out->inner += out->triangles[lane] == 0;
}

/* Returns the offset of a child in the block of all children, in units. */
KD_FN uint32_t compressed_list_place(const compressed_list *list, int lane) {
    uint32_t nodes = 0, leaves = 0;
    for (int i = 0; i < COMPRESSED_CHILDREN && i < lane; ++i)
        if (list->triangles[i])
            leaves += compressed_leaf_units(list->triangles[i], list->indexed);
        else
            ++nodes;
    if (list->triangles[lane] == 0) return COMPRESSED_NODE_UNITS * nodes;
    return COMPRESSED_NODE_UNITS * (uint32_t)list->inner + leaves + 1;
}

/* Returns the units of the block, a multiple of its alignment. */
KD_FN uint32_t compressed_list_units(const compressed_source *source, const compressed_list *list) {
    uint32_t units = 0;
    for (int i = 0; i < list->count; ++i)
        units += list->triangles[i] ? compressed_leaf_units(list->triangles[i], list->indexed)
                                    : (uint32_t)COMPRESSED_NODE_UNITS;
    return compressed_aligned(source, units);
}

/* Encodes a node whose children's block begins at unit `base`. */
KD_FN void compressed_list_write(const compressed_source *source, const compressed_list *list,
                                 uint32_t base, compressed_node *out) {
    box3 box = box3_empty();
    for (int lane = 0; lane < list->count; ++lane) box3_join(&box, list->boxes[lane]);
    const float side = float_max(vec3_largest(box3_size(box)), source->min_side);
    memset(out, 0, sizeof *out);
    out->inv_e = (float)(254.9 / (double)side);
    /* turns -0 into +0 */
    for (int axis = 0; axis < 3; ++axis) out->p[axis] = vec3_axis(box.lo, axis) + 0.0f;
    for (int lane = 0; lane < COMPRESSED_CHILDREN; ++lane) {
        const int pair = (lane & 1) | lane >> 2 << 1, second = lane >> 1 & 1;
        for (int axis = 0; axis < 3; ++axis) {
            uint8_t *to = out->box[axis][pair] + 2 * second;
            to[0] = 255;
            if (lane >= list->count) continue;
            const double p = (double)out->p[axis], scale = (double)out->inv_e;
            to[0] =
                compressed_byte(floor(((double)vec3_axis(list->boxes[lane].lo, axis) - p) * scale));
            to[1] =
                compressed_byte(ceil(((double)vec3_axis(list->boxes[lane].hi, axis) - p) * scale));
        }
    }
    for (int octant = 0; octant < 4; ++octant) {
        for (int lane = 0; lane < list->count; ++lane)
            out->rows[octant].meta[lane] = (uint8_t)(128 | compressed_list_place(list, lane));
        out->rows[octant].base = compressed_base((uint32_t)list->inner, base, source->alignment);
        out->rows[octant].order = list->order[octant];
    }
}

#endif
