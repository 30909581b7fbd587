/* What lies in each subtree of a k-d tree, and into which parts of it a node of eight cells is best
   opened. The same bits on a CPU and on a device.
   Source: Ylitie, Karras, Laine 2017, section 3.1: least cost over 1 to 8 slots a subtree, bottom
   up. Wald and Havran 2006 for what is cut to a cell.
   Idea: a step costs the box's surface, a leaf less, and a little for each triangle. Subtrees of at
   most four distinct triangles may become one leaf; children that are empty take no slot. */
#ifndef KD_ACCEL_PACKED_PACKED_MEASURE_H
#define KD_ACCEL_PACKED_PACKED_MEASURE_H
#include "accel/packed/packed_cut.h"
#include "accel/packed/packed_form.h"

enum { PACKED_FEW = 4 /* triangles that a subtree of several leaves may have as one leaf */ };

/* What becomes of a node of the k-d tree. */
enum {
    PACKED_EMPTY,
    PACKED_LEAF,
    PACKED_INNER,
    PACKED_LOW, /* only its low child is not empty: that one stands for it */
    PACKED_HIGH
};

/* A plan: bits 0 to 2 the kind, 3 to 5 how many distinct triangles, PACKED_FEW + 1: more; from 8 on
   for 1 to 8 slots how many are worth using, less 1; from 32 on for 2 to 8 slots how many of them
   the low child gets. */
KD_FN int packed_kind(uint64_t plan) {
    return (int)(plan & 7);
}
KD_FN uint32_t packed_distinct(uint64_t plan) {
    return (uint32_t)(plan >> 3 & 7);
}
KD_FN int packed_worth(uint64_t plan, int slots) {
    return (int)(plan >> (8 + 3 * (slots - 1)) & 7) + 1;
}
KD_FN int packed_low_slots(uint64_t plan, int slots) {
    return (int)(plan >> (32 + 3 * (slots - 2)) & 7);
}

/* A node of the finer tree and what is known of what lies in it: two sectors of memory, of which
   whoever goes down reads the first. */
typedef struct packed_subtree {
    tritree_node node;
    uint64_t plan;
    uint32_t ids[PACKED_FEW]; /* its distinct triangles, if there are no more */
    box3 box;                 /* around them */
    uint32_t unused[2];
} packed_subtree;

typedef struct packed_measure {
    box3 box;
    float cost[PACKED_CELLS]; /* for 1 to 8 slots */
    uint32_t distinct;
    uint32_t ids[PACKED_FEW];
} packed_measure;

KD_FN float packed_area(box3 box) {
    const vec3 size = box3_size(box);
    return size.x >= 0 ? size.x * size.y + size.y * size.z + size.z * size.x : 0;
}
KD_FN float packed_leaf_cost(float area, uint32_t triangles) {
    return area * (0.3f + 0.2f * (float)triangles);
}

KD_FN box3 packed_cut_id(const tritree_view *tree, uint32_t id, box3 cell) {
    const uint32_t *corner = tree->triangles + 3 * (uint64_t)id;
    return packed_cut(tree->positions[corner[0]], tree->positions[corner[1]],
                      tree->positions[corner[2]], cell);
}

KD_FN void packed_measure_add(packed_measure *to, uint32_t id) {
    if (to->distinct > PACKED_FEW) return;
    for (uint32_t i = 0; i < PACKED_FEW; ++i)
        if (i < to->distinct && to->ids[i] == id) return;
    for (uint32_t i = 0; i < PACKED_FEW; ++i)
        if (i == to->distinct) to->ids[i] = id;
    ++to->distinct;
}

/* Of a leaf of the k-d tree, all of which lies in that box; its plan. */
KD_FN uint64_t packed_measure_leaf(packed_measure *out, const tritree_view *tree, tritree_node leaf,
                                   box3 box) {
    const uint32_t *ids = tree->references + tritree_first(leaf);
    const uint32_t count = tritree_count(leaf);
    out->box = box;
    out->distinct = 0;
    for (uint32_t i = 0; i < PACKED_FEW; ++i) out->ids[i] = KD_NONE;
    for (uint32_t i = 0; i < count && out->distinct <= PACKED_FEW; ++i)
        packed_measure_add(out, ids[i]);
    const float cost = count ? packed_leaf_cost(packed_area(out->box), count) : 0;
    for (int k = 0; k < PACKED_CELLS; ++k) out->cost[k] = cost;
    return (uint64_t)(count ? PACKED_LEAF : PACKED_EMPTY) | (uint64_t)out->distinct << 3;
}

/* The best split of so many slots among both children: its cost; *low: of them the low one's. */
KD_FN float packed_split_cost(const float low[PACKED_CELLS], const float high[PACKED_CELLS],
                              int slots, int *low_slots) {
    float best = INFINITY;
    for (int k = 1; k < PACKED_CELLS; ++k) {
        if (k >= slots) break;
        const float cost = low[k - 1] + high[slots - k - 1];
        if (cost < best) {
            best = cost;
            *low_slots = k;
        }
    }
    return best;
}

/* Of an inner node of so large a box and so many distinct triangles, whose children, neither of
   them empty, have these costs: low[] becomes the node's. */
KD_FN uint64_t packed_measure_slots(float low[PACKED_CELLS], const float high[PACKED_CELLS],
                                    float area, uint32_t distinct) {
    float cost[PACKED_CELLS];
    uint64_t plan = 0;
    for (int slots = 2; slots <= PACKED_CELLS; ++slots) {
        int low_slots = 1;
        cost[slots - 1] = packed_split_cost(low, high, slots, &low_slots);
        plan |= (uint64_t)low_slots << (32 + 3 * (slots - 2));
    }
    const float closed = distinct <= PACKED_FEW ? packed_leaf_cost(area, distinct) : INFINITY;
    const float open = area + cost[PACKED_CELLS - 1];
    cost[0] = float_min(closed, open);
    int worth = 1;
    for (int slots = 2; slots <= PACKED_CELLS; ++slots) {
        if (cost[slots - 1] < cost[slots - 2])
            worth = slots;
        else
            cost[slots - 1] = cost[slots - 2];
        plan |= (uint64_t)(worth - 1) << (8 + 3 * (slots - 1));
    }
    for (int k = 0; k < PACKED_CELLS; ++k) low[k] = cost[k];
    const bool is_leaf = distinct <= PACKED_FEW && closed <= open; /* areas may overflow */
    return plan | (uint64_t)(is_leaf ? PACKED_LEAF : PACKED_INNER) | (uint64_t)distinct << 3;
}

/* Of an inner node whose children are measured: *low becomes what the node is. */
KD_FN uint64_t packed_measure_join(packed_measure *low, const packed_measure *high) {
    if (high->distinct == 0)
        return (uint64_t)(low->distinct ? PACKED_LOW : PACKED_EMPTY) | (uint64_t)low->distinct << 3;
    if (low->distinct == 0) {
        *low = *high;
        return (uint64_t)PACKED_HIGH | (uint64_t)low->distinct << 3;
    }
    box3_join(&low->box, high->box);
    if (high->distinct > PACKED_FEW) low->distinct = PACKED_FEW + 1;
    for (uint32_t i = 0; i < PACKED_FEW; ++i)
        if (high->distinct <= PACKED_FEW && i < high->distinct)
            packed_measure_add(low, high->ids[i]);
    return packed_measure_slots(low->cost, high->cost, packed_area(low->box), low->distinct);
}

#endif
