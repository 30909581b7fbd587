#include "accel/zhou/small_nodes.h"
#include "core/memory.h"

typedef struct small_stage {
    zhou_candidates all;
    const zhou_part *parts;
    sah_costs costs;
    uint32_t max_depth;
    zhou_output *to;
    uint64_t node_begin, id_begin;
} small_stage;

/* A node of the small stage. */
typedef struct small_subset {
    uint64_t set; /* of the root's triangles */
    box3 box;
    uint32_t depth;
    uint64_t at; /* in the output; TOP: the root */
} small_subset;
#define TOP UINT64_MAX

/* Zhou 2008, algorithm 4: the sets of every candidate. */
void zhou_candidates_make(zhou_candidates *out, const zhou_part *parts, uint32_t count) {
    out->count = count;
    for (int side = 0; side < ZHOU_SIDES; ++side)
        for (uint32_t i = 0; i < count; ++i)
            out->plane[side][i] = vec3_axis(side & 1 ? parts[i].box.hi : parts[i].box.lo, side / 2);
    for (int side = 0; side < ZHOU_SIDES; ++side) {
        const float *lo = out->plane[side & ~1], *hi = out->plane[side | 1];
        for (uint32_t i = 0; i < count; ++i) {
            const float plane = out->plane[side][i];
            uint64_t left = 0, right = 0;
            for (uint32_t j = 0; j < count; ++j) {
                const uint64_t sides = zhou_candidate_sides(lo[j], hi[j], plane, side);
                left |= (sides & 1) << j;
                right |= sides >> 1 << j;
            }
            out->left[side][i] = left;
            out->right[side][i] = right;
        }
    }
}

static uint32_t count_of(uint64_t set) {
    return (uint32_t)__builtin_popcountll(set);
}

/* Zhou 2008, algorithm 5: the best candidate whose triangle is in the set. */
static zhou_choice search(const small_stage *stage, const small_subset *node) {
    zhou_choice best = zhou_choice_none();
    for (int side = 0; side < ZHOU_SIDES; ++side) {
        const sah_axis of = zhou_axis_of(node->box, side / 2);
        for (uint64_t left_over = node->set; left_over; left_over &= left_over - 1) {
            const uint32_t i = (uint32_t)__builtin_ctzll(left_over);
            zhou_choice tried = {0, stage->all.plane[side][i], side, i};
            if (!zhou_is_candidate(&of, tried.plane, side)) continue;
            tried.cost = sah_split_cost(&stage->costs, &of, tried.plane,
                                        count_of(node->set & stage->all.left[side][i]),
                                        count_of(node->set & stage->all.right[side][i]));
            if (zhou_choice_better(&tried, &best)) best = tried;
        }
    }
    return best;
}

static void put(small_stage *stage, zhou_root *root, const small_subset *node, tritree_node made) {
    if (node->at == TOP)
        root->top = made;
    else
        stage->to->nodes[node->at] = made;
}

static kd_status write_leaf(small_stage *stage, zhou_root *root, const small_subset *node) {
    zhou_output *to = stage->to;
    const uint32_t count = count_of(node->set);
    if (to->id_count + count > to->id_room) {
        to->id_room = 2 * to->id_room + 1024;
        KD_TRY(KD_GROW(to->ids, to->id_count, to->id_room));
    }
    put(stage, root, node, tritree_leaf((uint32_t)(to->id_count - stage->id_begin), count));
    for (uint64_t set = node->set; set; set &= set - 1)
        to->ids[to->id_count++] = stage->parts[__builtin_ctzll(set)].id;
    return KD_OK;
}

static kd_status subdivide(small_stage *stage, zhou_root *root, const small_subset *node) {
    zhou_output *to = stage->to;
    const uint32_t count = count_of(node->set);
    zhou_choice best = zhou_choice_none();
    if (zhou_may_split(&stage->costs, count, node->depth, stage->max_depth))
        best = search(stage, node);
    if (!(best.cost < stage->costs.intersect * (float)count)) return write_leaf(stage, root, node);
    if (to->node_count + 2 > to->node_room) {
        to->node_room = 2 * to->node_room + 1024;
        KD_TRY(KD_GROW(to->nodes, to->node_count, to->node_room));
    }
    small_subset left = *node, right = *node;
    left.depth = right.depth = node->depth + 1;
    left.at = to->node_count;
    right.at = left.at + 1;
    left.set &= stage->all.left[best.side][best.from];
    right.set &= stage->all.right[best.side][best.from];
    vec3_set_axis(&left.box.hi, best.side / 2, best.plane);
    vec3_set_axis(&right.box.lo, best.side / 2, best.plane);
    to->node_count += 2;
    put(stage, root, node,
        tritree_inner(best.side / 2, best.plane, (uint32_t)(left.at - stage->node_begin)));
    KD_TRY(subdivide(stage, root, &left));
    return subdivide(stage, root, &right);
}

kd_status zhou_small_build(zhou_root *out, zhou_output *to, const zhou_node *node,
                           const zhou_part *parts, const sah_costs *costs, uint32_t max_depth) {
    small_stage stage;
    stage.parts = parts;
    stage.costs = *costs;
    stage.max_depth = max_depth;
    stage.to = to;
    out->node_begin = stage.node_begin = to->node_count;
    out->id_begin = stage.id_begin = to->id_count;
    zhou_candidates_make(&stage.all, parts, node->count);
    const uint64_t set = node->count == 64 ? UINT64_MAX : (1ull << node->count) - 1;
    const small_subset top = {set, node->box, node->depth, TOP};
    KD_TRY(subdivide(&stage, out, &top));
    out->node_count = (uint32_t)(to->node_count - out->node_begin);
    out->id_count = (uint32_t)(to->id_count - out->id_begin);
    return KD_OK;
}

void zhou_output_close(zhou_output *owned) {
    memory_free(owned->nodes);
    memory_free(owned->ids);
    memset(owned, 0, sizeof *owned);
}
