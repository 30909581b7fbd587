#include "accel/wide/wide_cells.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

enum { SPLIT_DEPTH = 6, PARTS = 1 << SPLIT_DEPTH };

/* Costs of a wide walk, by the surface area heuristic: a leaf, each triangle in it, and what a
   split adds to the wide node that holds it. */
static const double leaf_cost = 1, triangle_cost = 0.05, split_cost = 0.3;

typedef struct subtree {
    box3 box;
    double cost;
    uint64_t leaf_triangles;
    wide_ids ids;
} subtree;

/* Subtrees that are measured side by side, and the measures of the top that joins them. */
typedef struct measure {
    wide_cells *cells;
    uint32_t nodes[PARTS];
    box3 boxes[PARTS];
    subtree found[PARTS];
    uint32_t count, next;
} measure;

double wide_area(box3 box) {
    if (box3_is_empty(box)) return 0;
    const double x = (double)box.hi.x - (double)box.lo.x, y = (double)box.hi.y - (double)box.lo.y,
                 z = (double)box.hi.z - (double)box.lo.z;
    return x * y + y * z + z * x;
}

box3 wide_cell_of(const tritree_view *tree, uint32_t id, box3 cell) {
    const triangle_rows *rows = tree->rows + id;
    float lo[3], hi[3];
    for (int axis = 0; axis < 3; ++axis) {
        const float *x = rows->axis[axis];
        lo[axis] = float_min(x[0], float_min(x[1], x[2]));
        hi[axis] = float_max(x[0], float_max(x[1], x[2]));
    }
    box3 box;
    box.lo = vec3_max(vec3_make(lo[0], lo[1], lo[2]), cell.lo);
    box.hi = vec3_min(vec3_make(hi[0], hi[1], hi[2]), cell.hi);
    return box;
}

void wide_ids_add(wide_ids *to, uint32_t id) {
    if (to->count == WIDE_OPEN) return;
    for (uint32_t i = 0; i < to->count; ++i)
        if (to->ids[i] == id) return;
    if (to->count < WIDE_CELLS) to->ids[to->count] = id;
    ++to->count;
}

void wide_ids_collect(wide_ids *to, const tritree_view *tree, uint32_t node) {
    const tritree_node at = tree->nodes[node];
    if (tritree_is_leaf(at)) {
        const uint32_t *ids = tree->references + tritree_first(at);
        for (uint32_t i = 0; i < tritree_count(at); ++i) wide_ids_add(to, ids[i]);
        return;
    }
    wide_ids_collect(to, tree, tritree_left(at));
    wide_ids_collect(to, tree, tritree_left(at) + 1);
}

static double cost_closed(const subtree *of, uint32_t triangles) {
    return wide_area(of->box) * (leaf_cost + triangle_cost * triangles);
}

static uint8_t measure_leaf(const tritree_view *tree, tritree_node leaf, box3 cell, subtree *out) {
    const uint32_t *ids = tree->references + tritree_first(leaf);
    const uint32_t count = tritree_count(leaf);
    out->box = box3_empty();
    out->ids.count = 0;
    for (uint32_t i = 0; i < count; ++i) {
        box3_join(&out->box, wide_cell_of(tree, ids[i], cell));
        wide_ids_add(&out->ids, ids[i]);
    }
    out->cost = count ? cost_closed(out, count) : 0;
    out->leaf_triangles = count;
    return (uint8_t)out->ids.count;
}

/* Joins the measures of both children in `out`; the node's kind. */
static uint8_t measure_inner(subtree *out, const subtree *right) {
    const bool both = out->ids.count && right->ids.count;
    box3_join(&out->box, right->box);
    if (right->ids.count == WIDE_OPEN)
        out->ids.count = WIDE_OPEN;
    else
        for (uint32_t i = 0; i < right->ids.count; ++i) wide_ids_add(&out->ids, right->ids.ids[i]);
    out->cost += right->cost + (both ? wide_area(out->box) * split_cost : 0);
    out->leaf_triangles += right->leaf_triangles;
    if (out->ids.count == 0 || out->ids.count == WIDE_OPEN) return (uint8_t)out->ids.count;
    const double closed = cost_closed(out, out->ids.count);
    if (closed > out->cost) return WIDE_OPEN;
    out->cost = closed;
    out->leaf_triangles = out->ids.count;
    return (uint8_t)out->ids.count;
}

/* `join`: not NULL above SPLIT_DEPTH, where the measures of subtrees are found ready. */
static void measure_node(wide_cells *cells, uint32_t node, box3 cell, measure *join, int depth,
                         subtree *out) {
    const tritree_node at = cells->tree->nodes[node];
    if (join && depth == SPLIT_DEPTH) {
        *out = join->found[join->next++];
        return;
    }
    if (tritree_is_leaf(at)) {
        cells->kinds[node] = measure_leaf(cells->tree, at, cell, out);
    } else {
        subtree right;
        box3 low = cell, high = cell;
        vec3_set_axis(&low.hi, tritree_axis(at), at.split);
        vec3_set_axis(&high.lo, tritree_axis(at), at.split);
        measure_node(cells, tritree_left(at), low, join, depth + 1, out);
        measure_node(cells, tritree_left(at) + 1, high, join, depth + 1, &right);
        cells->kinds[node] = measure_inner(out, &right);
    }
    cells->boxes[node] = out->box;
}

static void list_parts(measure *to, uint32_t node, box3 cell, int depth) {
    const tritree_node at = to->cells->tree->nodes[node];
    if (depth == SPLIT_DEPTH) {
        to->nodes[to->count] = node;
        to->boxes[to->count++] = cell;
    } else if (!tritree_is_leaf(at)) {
        box3 low = cell, high = cell;
        vec3_set_axis(&low.hi, tritree_axis(at), at.split);
        vec3_set_axis(&high.lo, tritree_axis(at), at.split);
        list_parts(to, tritree_left(at), low, depth + 1);
        list_parts(to, tritree_left(at) + 1, high, depth + 1);
    }
}

static void measure_parts(void *context, int64_t begin, int64_t end, int thread) {
    measure *m = (measure *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i)
        measure_node(m->cells, m->nodes[i], m->boxes[i], NULL, 0, &m->found[i]);
}

kd_status wide_cells_open(wide_cells *out, const tritree_view *tree) {
    kd_status status = KD_OK;
    measure m;
    subtree whole;
    memset(out, 0, sizeof *out);
    out->tree = tree;
    KD_TRY_GOTO(KD_RESERVE(out->boxes, tree->node_count));
    KD_TRY_GOTO(KD_RESERVE(out->kinds, tree->node_count));
    m.cells = out;
    m.count = m.next = 0;
    list_parts(&m, 0, tree->box, 0);
    parallel_for(m.count, 1, measure_parts, &m);
    measure_node(out, 0, tree->box, &m, 0, &whole);
    out->leaf_triangles = whole.leaf_triangles;
done:
    if (status != KD_OK) wide_cells_close(out);
    return status;
}

void wide_cells_close(wide_cells *owned) {
    memory_free(owned->boxes);
    memory_free(owned->kinds);
    memset(owned, 0, sizeof *owned);
}
