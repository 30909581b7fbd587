#include "tools/lab/trace_walk.h"
#include "core/memory.h"
#include <assert.h>

typedef struct walking {
    const tritree_view *tree;
    ray cast;
    tritree_asked asked;
    tritree_walk walk;
    trace_walk *out;
    uint64_t room; /* for leaves */
} walking;

static void visit_leaf(walking *w, trace_leaf at, tritree_node leaf) {
    trace_walk *out = w->out;
    at.triangles = tritree_count(leaf);
    at.found = tritree_leaf_meet(&w->asked, leaf);
    out->hit = w->asked.best;
    assert(out->counts.leaves < w->room);
    out->leaves[out->counts.leaves++] = at;
    out->counts.triangles += at.triangles;
    out->empty_leaves += at.triangles == 0;
}

/* Front to back, as tritree_cast does it with a stack. */
static void visit(walking *w, trace_leaf at) {
    const tritree_node node = w->tree->nodes[at.node];
    const tritree_walk *walk = &w->walk;
    ++w->out->counts.nodes;
    if (tritree_is_leaf(node)) {
        visit_leaf(w, at, node);
        return;
    }
    const int axis = tritree_axis(node);
    const float t = (node.split - walk->origin[axis]) * walk->inverse[axis];
    const float low = t - walk->slack[axis], high = t + walk->slack[axis];
    const bool only_first = low > at.far, only_second = at.near > high;
    trace_leaf first = at, second = at;
    first.node = tritree_left(node) + (walk->negative[axis] ? 1 : 0);
    second.node = tritree_left(node) + (walk->negative[axis] ? 0 : 1);
    first.depth = second.depth = at.depth + 1;
    first.far = float_min(high, at.far);
    if (only_second) {
        visit(w, second);
        return;
    }
    visit(w, first);
    second.near = float_max(low, at.near);
    if (!only_first && second.near <= w->out->hit.t + walk->slack_t) visit(w, second);
}

kd_status trace_walk_open(trace_walk *out, const tritree_view *tree, ray cast) {
    memset(out, 0, sizeof *out);
    out->hit.t = cast.tmax;
    out->hit.triangle = KD_NONE;
    walking w = {.tree = tree, .cast = cast, .out = out};
    w.asked.tree = tree;
    w.asked.tmin = cast.tmin;
    w.asked.best = out->hit;
    if (!tritree_walk_begin(&w.walk, tree, cast)) return KD_OK;
    tritree_counts counts = {0, 0, 0};
    tritree_closest_counted(tree, cast, &counts);
    w.room = counts.leaves;
    KD_TRY(KD_RESERVE(out->leaves, w.room));
    w.asked.caster = triangle_caster_make(cast);
    const trace_leaf root = {.near = w.walk.near, .far = w.walk.far};
    visit(&w, root);
    assert(memcmp(&counts, &out->counts, sizeof counts) == 0);
    return KD_OK;
}

void trace_walk_close(trace_walk *owned) {
    memory_free(owned->leaves);
    memset(owned, 0, sizeof *owned);
}
