/* The top of a compressed form that is made in slabs (compressed_top.h). */
#include "accel/wide/compressed_top.h"
#include "accel/wide/compressed_form.h"
#include "core/device/device_memory.h"
#include "core/memory.h"

/* A subtree of the given tree while slabs are sought. */
typedef struct top_range {
    tritree_node node;
    uint32_t node_index, first, end; /* descendants are [first, end) */
    uint64_t at;                     /* index of its entry */
    box3 cell;
} top_range;

static kd_status add_slab(compressed_top *top, const top_range *range) {
    if (top->slab_count == top->slab_capacity) {
        const uint64_t capacity = 2 * top->slab_capacity + 16;
        KD_TRY(KD_GROW(top->slabs, top->slab_capacity, capacity));
        top->slab_capacity = capacity;
    }
    compressed_slab *slab = &top->slabs[top->slab_count++];
    memset(slab, 0, sizeof *slab);
    slab->root = range->node_index;
    slab->first = range->first;
    slab->end = range->end;
    slab->cell = range->cell;
    top->at[range->at].unused[0] = (uint32_t)top->slab_count;
    return KD_OK;
}

static kd_status add_pair(compressed_top *top, uint64_t *left) {
    if (top->count + 2 > top->capacity) {
        KD_TRY(KD_GROW(top->at, top->capacity, 2 * top->capacity + 2));
        top->capacity = 2 * top->capacity + 2;
    }
    *left = top->count;
    memset(top->at + top->count, 0, 2 * sizeof *top->at);
    top->count += 2;
    return KD_OK;
}

/* Sets *ordered to false if the subtree is not stored depth first. */
static kd_status divide(compressed_top *top, const tritree_view *tree, const top_range *range,
                        uint32_t maximum, bool *ordered) {
    const tritree_node node = range->node;
    if (tritree_is_leaf(node) && tritree_count(node) == 0) return KD_OK;
    if (tritree_is_leaf(node) || range->end - range->first < maximum) return add_slab(top, range);
    const uint32_t left = tritree_left(node);
    tritree_node pair[2];
    *ordered = left == range->first && left + 2 <= range->end;
    if (!*ordered) return KD_OK;
    KD_TRY(device_memory_download(pair, tree->nodes + left, sizeof pair));
    const uint32_t middle = tritree_is_leaf(pair[1]) ? range->end : tritree_left(pair[1]);
    *ordered = left + 2 <= middle && middle <= range->end;
    uint64_t at = 0;
    KD_TRY(add_pair(top, &at));
    top->at[range->at].node = tritree_inner(tritree_axis(node), node.split, (uint32_t)at);
    for (uint32_t side = 0; side < 2 && *ordered; ++side) {
        top_range half = *range;
        half.node = pair[side];
        half.node_index = left + side;
        half.first = side ? middle : left + 2;
        half.end = side ? range->end : middle;
        half.at = at + side;
        vec3_set_axis(side ? &half.cell.lo : &half.cell.hi, tritree_axis(node), node.split);
        KD_TRY(divide(top, tree, &half, maximum, ordered));
    }
    return KD_OK;
}

kd_status compressed_top_open(compressed_top *out, const tritree_view *tree, uint32_t maximum) {
    bool ordered = true;
    top_range whole;
    memset(out, 0, sizeof *out);
    memset(&whole, 0, sizeof whole);
    whole.first = 1;
    whole.end = tree->node_count;
    whole.cell.lo = vec3_all(-INFINITY);
    whole.cell.hi = vec3_all(INFINITY);
    out->min_side = compressed_min_side(tree->box);
    KD_TRY(device_memory_download(&whole.node, tree->nodes, sizeof whole.node));
    KD_TRY(KD_RESERVE(out->at, 1));
    memset(out->at, 0, sizeof *out->at);
    out->count = out->capacity = 1;
    KD_TRY(divide(out, tree, &whole, maximum < 1 ? 1 : maximum, &ordered));
    if (!ordered) out->slab_count = 0;
    return KD_OK;
}

void compressed_top_close(compressed_top *owned) {
    memory_free(owned->at);
    memory_free(owned->slabs);
    memory_free(owned->units);
    memset(owned, 0, sizeof *owned);
}

uint64_t compressed_top_units(const compressed_top *top) {
    return COMPRESSED_NODE_UNITS * (top->count + 1);
}

/* Measures a subtree of the top and sets its plan. A slab takes one slot, however many there are,
   and is never joined with others in a leaf. */
static void measure(compressed_top *top, uint64_t at, compressed_measure *out) {
    compressed_subtree *to = &top->at[at];
    const uint32_t number = to->unused[0];
    memset(out, 0, sizeof *out);
    out->box = box3_empty();
    for (uint32_t i = 0; i < COMPRESSED_FEW; ++i) out->ids[i] = KD_NONE;
    to->plan = COMPRESSED_EMPTY;
    if (number && !top->slabs[number - 1].empty) {
        out->box = top->slabs[number - 1].subtree.box;
        out->distinct = COMPRESSED_FEW + 1;
        for (int k = 0; k < COMPRESSED_CHILDREN; ++k) out->cost[k] = top->slabs[number - 1].cost;
        to->plan = COMPRESSED_INNER | (uint64_t)out->distinct << 3;
    } else if (!number && tritree_left(to->node)) {
        compressed_measure high;
        measure(top, tritree_left(to->node), out);
        measure(top, tritree_left(to->node) + 1, &high);
        to->plan = compressed_measure_join(out, &high);
    }
    to->box = out->box;
}

/* A node of the top that is to be made. */
typedef struct top_item {
    compressed_item item;
    uint32_t unit, level;
} top_item;

static void copy_slab(compressed_top *top, uint32_t number, uint32_t unit, uint32_t level) {
    const compressed_slab *slab = &top->slabs[number - 1];
    memcpy(top->units + COMPRESSED_UNIT * (uint64_t)unit, &slab->node, sizeof slab->node);
    if (level + slab->depth > top->depth) top->depth = level + slab->depth;
}

/* Makes the node of items[made]; lists its children that are nodes of the top. */
static void make_node(compressed_top *top, const compressed_source *source, top_item *items,
                      uint64_t made, uint64_t *end) {
    const top_item item = items[made];
    compressed_list children;
    compressed_node node;
    compressed_list_find(source, &item.item, &children);
    const uint32_t base = top->unit_count;
    top->unit_count += compressed_list_units(source, &children);
    compressed_list_write(source, &children, base, &node);
    memcpy(top->units + COMPRESSED_UNIT * (uint64_t)item.unit, &node, sizeof node);
    for (int lane = 0; lane < children.count; ++lane) {
        const uint32_t unit = base + compressed_list_place(&children, lane);
        const uint32_t number = top->at[children.items[lane].node].unused[0];
        if (number)
            copy_slab(top, number, unit, item.level + 1);
        else
            items[(*end)++] = (top_item){children.items[lane], unit, item.level + 1};
    }
}

kd_status compressed_top_write(compressed_top *top) {
    compressed_source source;
    compressed_measure whole;
    compressed_head head;
    top_item *items = NULL;
    memset(&source, 0, sizeof source);
    measure(top, 0, &whole);
    source.at = top->at;
    source.min_side = top->min_side;
    source.alignment = top->alignment;
    KD_TRY(KD_RESERVE_ZEROED(top->units, COMPRESSED_UNIT * compressed_top_units(top)));
    KD_TRY(KD_RESERVE_ZEROED(items, top->count));
    items[0].item.cell.lo = vec3_all(-INFINITY);
    items[0].item.cell.hi = vec3_all(INFINITY);
    top->unit_count = COMPRESSED_NODE_UNITS;
    top->depth = 0;
    compressed_item root = items[0].item;
    compressed_resolve(&source, &root, &head);
    if (top->at[root.node].unused[0]) {
        copy_slab(top, top->at[root.node].unused[0], 0, 0);
    } else {
        uint64_t end = 1;
        for (uint64_t made = 0; made < end; ++made) make_node(top, &source, items, made, &end);
    }
    memory_free(items);
    return KD_OK;
}
