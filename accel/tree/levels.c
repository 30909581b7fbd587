#include "accel/tree/levels.h"
#include "accel/tree/sah.h"
#include <string.h>

typedef struct visiting {
    const tritree *tree;
    uint32_t max_level;
    tree_visitor visit;
    void *context;
} visiting;

static void visit_below(const visiting *v, uint32_t at, uint32_t level, box3 box) {
    const tritree_node node = v->tree->nodes[at];
    v->visit(v->context, at, level, box);
    if (tritree_is_leaf(node) || level == v->max_level) return;
    const int axis = tritree_axis(node);
    box3 left = box, right = box;
    vec3_set_axis(&left.hi, axis, node.split);
    vec3_set_axis(&right.lo, axis, node.split);
    visit_below(v, tritree_left(node), level + 1, left);
    visit_below(v, tritree_left(node) + 1, level + 1, right);
}

void tree_visit(const tritree *tree, uint32_t max_level, tree_visitor visit, void *context) {
    const visiting all = {tree, max_level, visit, context};
    if (tree->statistics.nodes > 0) visit_below(&all, 0, 0, tritree_get_view(tree).box);
}

typedef struct counting {
    tree_levels *out;
    const tritree *tree;
    double root_area;
} counting;

tree_level *tree_level_at(tree_levels *levels, uint32_t level) {
    const uint32_t at = level < TREE_LEVELS ? level : TREE_LEVELS - 1;
    if (at >= levels->count) levels->count = at + 1;
    return &levels->levels[at];
}

static void count_node(void *context, uint32_t at, uint32_t level, box3 box) {
    counting *c = (counting *)context;
    tree_level *to = tree_level_at(c->out, level);
    const tritree_node node = c->tree->nodes[at];
    const double share = c->root_area > 0 ? sah_half_area(box) / c->root_area : 1;
    ++to->nodes;
    to->expected += share;
    if (!tritree_is_leaf(node)) {
        to->inner_cost += (double)c->tree->options.traversal_cost * share;
        return;
    }
    const uint32_t triangles = tritree_count(node);
    ++to->leaves;
    to->empty_leaves += triangles == 0;
    to->references += triangles;
    to->leaf_cost += (double)c->tree->options.intersect_cost * triangles * share;
    ++c->out->leaf_sizes[triangles < LEAF_SIZES ? triangles : LEAF_SIZES - 1];
}

void tree_levels_count(tree_levels *out, const tritree *tree) {
    memset(out, 0, sizeof *out);
    counting all = {out, tree, sah_half_area(tritree_get_view(tree).box)};
    tree_visit(tree, UINT32_MAX, count_node, &all);
}
