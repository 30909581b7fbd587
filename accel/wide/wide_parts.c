#include "accel/wide/wide_parts.h"

/* A subtree without its empty ends. */
static uint32_t without_empty_ends(const wide_cells *cells, uint32_t node) {
    const tritree_node *nodes = cells->tree->nodes;
    while (!tritree_is_leaf(nodes[node])) {
        const uint32_t left = tritree_left(nodes[node]);
        const bool low = cells->kinds[left] != WIDE_EMPTY,
                   high = cells->kinds[left + 1] != WIDE_EMPTY;
        if (low && high) break;
        node = low ? left : left + 1;
    }
    return node;
}

static wide_part part_of_node(const wide_cells *cells, uint32_t node) {
    wide_part made;
    memset(&made, 0, sizeof made);
    made.node = node;
    made.triangles = cells->kinds[node];
    made.box = cells->boxes[node];
    const tritree_node at = cells->tree->nodes[node];
    if (made.triangles == WIDE_OPEN && tritree_is_leaf(at)) {
        made.first = tritree_first(at);
        made.count = tritree_count(at);
    }
    return made;
}

wide_part wide_part_of_all(const wide_cells *cells) {
    return part_of_node(cells, without_empty_ends(cells, 0));
}

/* The parts of a large leaf, in a row: each of eight triangles times a power of the node's cells.
 */
static void list_row(wide_parts *out, const wide_cells *cells, const wide_part *of, bool boxes) {
    const tritree_view *tree = cells->tree;
    uint64_t each = WIDE_LEAF_MOST;
    while (each * cells->cells < of->count) each *= cells->cells;
    for (uint32_t from = 0; from < of->count; from += (uint32_t)each) {
        wide_part *p = out->parts + out->count++;
        *p = *of;
        p->first += from;
        p->count = of->count - from < each ? of->count - from : (uint32_t)each;
        p->triangles = p->count <= WIDE_LEAF_MOST ? p->count : WIDE_OPEN;
        if (!boxes) continue;
        p->box = box3_empty();
        for (uint32_t i = 0; i < p->count; ++i)
            box3_join(
                &p->box,
                wide_box_cut(wide_box_of(tree->rows + tree->references[p->first + i]), of->box));
    }
    out->splits[0] = (wide_split){WIDE_ROW, 0, out->count};
    out->split_count = 1;
}

/* Shares `room` cells out to a subtree; the number of its split. */
static int share_out(wide_parts *out, const wide_cells *cells, uint32_t node, uint32_t room,
                     bool top) {
    const int me = out->split_count++;
    node = without_empty_ends(cells, node);
    const tritree_node at = cells->tree->nodes[node];
    const uint64_t way = cells->ways[node];
    const uint32_t opened = (uint32_t)way & 15;
    const bool whole = tritree_is_leaf(at) || room == 1 || (!top && !(opened && room > opened));
    if (whole) {
        out->splits[me] = (wide_split){WIDE_PART, out->count, 0};
        out->parts[out->count++] = part_of_node(cells, node);
        return me;
    }
    const uint32_t share = (uint32_t)(way >> 4 * (room - 1)) & 15;
    out->splits[me].axis = tritree_axis(at);
    const int low = share_out(out, cells, tritree_left(at), share, false);
    const int high = share_out(out, cells, tritree_left(at) + 1, room - share, false);
    out->splits[me].low = low;
    out->splits[me].high = high;
    return me;
}

void wide_parts_list(wide_parts *out, const wide_cells *cells, const wide_part *of, bool boxes) {
    out->count = out->split_count = 0;
    if (of->count)
        list_row(out, cells, of, boxes);
    else
        share_out(out, cells, of->node, cells->cells, of->triangles == WIDE_OPEN);
}

static int order_split(const wide_parts *of, int at, int octant, uint8_t *order, int count) {
    const wide_split *s = of->splits + at;
    if (s->axis >= WIDE_PART) {
        const int end = s->axis == WIDE_PART ? s->low + 1 : s->high;
        for (int i = s->low; i < end; ++i) order[count++] = (uint8_t)i;
        return count;
    }
    const bool backwards = octant >> s->axis & 1;
    count = order_split(of, backwards ? s->high : s->low, octant, order, count);
    return order_split(of, backwards ? s->low : s->high, octant, order, count);
}

void wide_parts_order(const wide_parts *of, int octant, uint8_t order[WIDE_CELLS_MOST]) {
    order_split(of, 0, octant, order, 0);
}

void wide_part_ids(const wide_cells *cells, const wide_part *of, wide_ids *ids) {
    ids->count = 0;
    if (!of->count) {
        wide_ids_collect(ids, cells->tree, of->node);
        return;
    }
    for (uint32_t i = 0; i < of->count; ++i)
        wide_ids_add(ids, cells->tree->references[of->first + i]);
}
