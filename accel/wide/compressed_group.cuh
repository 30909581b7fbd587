/* Builds a compressed wide node with eight lanes of a warp; the result equals that of
   compressed_node.h.
   Idea: the lane of slot s descends to the child that gets slot s, guided by the plans alone: the
   first slots of a node belong to its low child. A lane whose slot is unused, or is not the first
   of its child's slots, is idle. The data that a child needs of its siblings (their number,
   priorities and units) are exchanged by shuffles; its position in an octant's order is the number
   of siblings that its path passes on their near side. Nothing is kept in local memory, and the
   eight lanes' loads are concurrent. */
#ifndef KD_ACCEL_WIDE_COMPRESSED_GROUP_CUH
#define KD_ACCEL_WIDE_COMPRESSED_GROUP_CUH
#include "accel/wide/compressed_node.h"

enum { COMPRESSED_GROUP = COMPRESSED_CHILDREN, COMPRESSED_STEPS_MAX = COMPRESSED_CHILDREN - 1 };

/* A lane's child and the path to it. */
struct compressed_child {
    compressed_item item;
    box3 box;
    uint32_t triangles; /* 0: it becomes a node */
    bool is;            /* the lane has a child; else it is idle */
    uint32_t all;       /* mask of the group's lanes that have a child */
    uint32_t lane;      /* lane of the slot within its node */
    uint32_t steps;
    /* bits 0, 1: axis; 2: high side; from 8 on: mask of the other side's slots */
    uint16_t steps_word[COMPRESSED_STEPS_MAX];
};

__device__ __forceinline__ uint32_t compressed_group_lane(void) {
    return threadIdx.x & (COMPRESSED_GROUP - 1);
}
/* Returns the group's part of a ballot. */
__device__ __forceinline__ uint32_t compressed_group_ballot(bool is) {
    const uint32_t warp = __ballot_sync(~0u, is);
    return warp >> (threadIdx.x & 31 & ~(COMPRESSED_GROUP - 1)) & ((1u << COMPRESSED_GROUP) - 1);
}
template <class value>
__device__ __forceinline__ value compressed_from(value lane_value, uint32_t lane) {
    return __shfl_sync(~0u, lane_value, (int)lane, COMPRESSED_GROUP);
}

__device__ __forceinline__ uint32_t compressed_slots(uint32_t first, uint32_t count) {
    return ((1u << count) - 1) << first;
}

/* Descends from a subtree to the lane's child. */
__device__ __forceinline__ void compressed_descend(const compressed_source &source,
                                                   compressed_child &c) {
    const uint32_t me = compressed_group_lane();
    uint32_t base = 0, slots = COMPRESSED_CHILDREN;
    compressed_head head;
    c.triangles = compressed_resolve(&source, &c.item, &head);
    for (bool is_root = true;; is_root = false) {
        const uint64_t plan = head.plan;
        const tritree_node node = head.node;
        if (!is_root) slots = (uint32_t)compressed_slots_used(plan, (int)slots);
        if (slots == 1 || tritree_is_leaf(node) || c.item.count) break;
        const uint32_t low = (uint32_t)compressed_low_slots(plan, (int)slots);
        const bool high = me >= base + low;
        if (me >= base + slots) return; /* unused slot */
        const uint32_t axis = (uint32_t)tritree_axis(node);
        const uint32_t sibling_slots =
            high ? compressed_slots(base, low) : compressed_slots(base + low, slots - low);
#pragma unroll
        for (uint32_t k = 0; k < COMPRESSED_STEPS_MAX; ++k)
            if (k == c.steps)
                c.steps_word[k] = (uint16_t)(axis | (high ? 4u : 0u) | sibling_slots << 8);
        ++c.steps;
        c.item.node = tritree_left(node) + (high ? 1 : 0);
        if (high)
            vec3_set_axis(&c.item.cell.lo, (int)axis, node.split);
        else
            vec3_set_axis(&c.item.cell.hi, (int)axis, node.split);
        base = high ? base + low : base;
        slots = high ? slots - low : low;
        c.triangles = compressed_resolve(&source, &c.item, &head);
    }
    c.is = me == base;
}

/* Finds the lane's child of an item; `is` is false if the group has no item. All lanes of a warp
   must call it. */
__device__ __forceinline__ void compressed_child_find(const compressed_source &source,
                                                      const compressed_item &item, bool is,
                                                      compressed_child &c) {
    const uint32_t me = compressed_group_lane();
    c.item = item;
    c.is = false;
    c.triangles = c.steps = 0;
    if (is && item.count) {
        c.is = me < compressed_shares(item.count);
        if (c.is) {
            c.item.first = item.first + compressed_share_begin(item.count, me);
            c.item.count = compressed_share_of(item.count, me);
            c.triangles = c.item.count <= COMPRESSED_LEAF_MAX ? c.item.count : 0;
        }
    } else if (is) {
        compressed_descend(source, c);
    }
    __syncwarp();
    c.all = compressed_group_ballot(c.is);
}

/* Returns the units that the children take, not yet aligned; *inner: how many are nodes. */
__device__ __forceinline__ uint32_t compressed_group_units(const compressed_source &source,
                                                           const compressed_child &c,
                                                           uint32_t *inner) {
    uint32_t units = !c.is         ? 0
                     : c.triangles ? compressed_leaf_units(c.triangles, source.indexed)
                                   : (uint32_t)COMPRESSED_NODE_UNITS;
    for (uint32_t step = 1; step < COMPRESSED_GROUP; step <<= 1)
        units += __shfl_xor_sync(~0u, units, (int)step, COMPRESSED_GROUP);
    *inner = (uint32_t)__popc(compressed_group_ballot(c.is && c.triangles == 0));
    return units;
}

/* Computes the bounds of the child; `shares`: it is one of the children that share the triangles of
   a large leaf. */
__device__ __forceinline__ void compressed_child_box(const compressed_source &source, bool shares,
                                                     compressed_child &c) {
    c.box = box3_empty();
    if (c.is && shares)
        for (uint32_t k = c.item.first; k < c.item.first + c.item.count; ++k)
            box3_join(&c.box,
                      compressed_cut_id(&source.tree, source.tree.references[k], c.item.cell));
    else if (c.is)
        c.box = source.at[c.item.node].box;
    __syncwarp();
}

/* Assigns the child, whose box is known, its lane of the node; returns its offset in the block. */
__device__ __forceinline__ uint32_t compressed_group_place(const compressed_source &source,
                                                           const compressed_item &item,
                                                           compressed_child &c) {
    const uint32_t me = compressed_group_lane(), count = (uint32_t)__popc(c.all);
    const uint32_t units = c.triangles ? compressed_leaf_units(c.triangles, source.indexed) : 0;
    const uint32_t priority = compressed_priority(c.box, c.triangles > 0);
    uint32_t before = 0, nodes = 0, leaves = 0;
    for (uint32_t k = 0; k < COMPRESSED_GROUP; ++k) {
        const uint32_t other = compressed_from(priority, k);
        if (c.all >> k & 1) before += other > priority || (other == priority && k < me);
    }
    c.lane = item.count ? me : c.is ? (uint32_t)compressed_lane((int)before, (int)count) : 0;
    for (uint32_t k = 0; k < COMPRESSED_GROUP; ++k) {
        const uint32_t lane = compressed_from(c.lane, k), its = compressed_from(units, k);
        if (!(c.all >> k & 1) || lane >= c.lane) continue;
        leaves += its;
        nodes += its == 0;
    }
    const uint32_t inner = (uint32_t)__popc(compressed_group_ballot(c.is && c.triangles == 0));
    return c.triangles ? COMPRESSED_NODE_UNITS * inner + leaves + 1 : COMPRESSED_NODE_UNITS * nodes;
}

/* Returns compressed_order of an octant. */
__device__ __forceinline__ uint32_t compressed_group_order(const compressed_child &c,
                                                           uint32_t octant) {
    uint32_t first = 0;
#pragma unroll
    for (uint32_t k = 0; k < COMPRESSED_STEPS_MAX; ++k) {
        if (k >= c.steps) continue;
        const bool backwards = octant >> (c.steps_word[k] & 3) & 1, high = c.steps_word[k] & 4;
        if (high != backwards) first += (uint32_t)__popc(c.all & c.steps_word[k] >> 8);
    }
    uint32_t order = c.is ? c.lane << (4 * first) : 0;
    for (uint32_t step = 1; step < COMPRESSED_GROUP; step <<= 1)
        order |= __shfl_xor_sync(~0u, order, (int)step, COMPRESSED_GROUP);
    const uint32_t taken = 4 * (uint32_t)__popc(c.all);
    return taken < 32 ? order | (0x76543210u >> taken << taken) : order;
}

__device__ __forceinline__ float compressed_group_min(float x) {
    for (uint32_t step = 1; step < COMPRESSED_GROUP; step <<= 1)
        x = float_min(x, __shfl_xor_sync(~0u, x, (int)step, COMPRESSED_GROUP));
    return x;
}

/* Returns the orders of the node's four rows, in lanes 0 to 3. */
__device__ __forceinline__ uint32_t compressed_group_orders(const compressed_item &item,
                                                            const compressed_child &c) {
    uint32_t order = 0;
    for (uint32_t octant = 0; octant < 4; ++octant) {
        const uint32_t octant_order = compressed_group_order(c, octant);
        if (compressed_group_lane() == octant) order = item.count ? 0x76543210u : octant_order;
    }
    return order;
}

/* Writes the group's node, whose block of children begins at unit `base`, to shared memory. */
__device__ __forceinline__ void compressed_group_node(const compressed_source &source,
                                                      const compressed_child &c, uint32_t place,
                                                      uint32_t base, uint32_t order,
                                                      compressed_node *out) {
    const uint32_t me = compressed_group_lane();
    const uint32_t inner = (uint32_t)__popc(compressed_group_ballot(c.is && c.triangles == 0));
    float low[3], side = source.min_side;
    for (int axis = 0; axis < 3; ++axis) {
        low[axis] = compressed_group_min(vec3_axis(c.box.lo, axis));
        const float high = -compressed_group_min(-vec3_axis(c.box.hi, axis));
        side = float_max(side, high - low[axis]);
    }
    const float inv_e = (float)(254.9 / (double)side);
    if (me < 4) {
        for (uint32_t k = 0; k < COMPRESSED_CHILDREN; ++k) out->rows[me].meta[k] = 0;
        out->rows[me].base = compressed_base(inner, base, source.alignment);
        out->rows[me].order = order;
    }
    if (me < 3) out->p[me] = (me == 0 ? low[0] : me == 1 ? low[1] : low[2]) + 0.0f;
    if (me == 3) out->inv_e = inv_e;
    for (uint32_t k = me; k < 12; k += COMPRESSED_GROUP) {
        uint8_t *word = out->box[k / 4][k % 4];
        word[0] = word[2] = 255, word[1] = word[3] = 0;
    }
    __syncwarp();
    if (!c.is) return;
    const uint32_t pair = (c.lane & 1) | c.lane >> 2 << 1, second = c.lane >> 1 & 1;
    for (int axis = 0; axis < 3; ++axis) {
        const double p = (double)low[axis], scale = (double)inv_e;
        uint8_t *to = out->box[axis][pair] + 2 * second;
        to[0] = compressed_byte(floor(((double)vec3_axis(c.box.lo, axis) - p) * scale));
        to[1] = compressed_byte(ceil(((double)vec3_axis(c.box.hi, axis) - p) * scale));
    }
    for (int row = 0; row < 4; ++row) out->rows[row].meta[c.lane] = (uint8_t)(128 | place);
}

#endif
