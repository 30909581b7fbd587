#include "accel/wide/wide_build.h"
#include "accel/tree/vectors.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

enum { SPLIT_DEPTH = 8, PARTS = 1 << SPLIT_DEPTH };

typedef struct subtree {
    float cost[WIDE_CHILDREN_MAX]; /* least cost with 1, 2, ... children */
    box3 box;
    wide_ids ids;
} subtree;

/* The subtrees at depth SPLIT_DEPTH, which are processed in parallel, and their results, which the
   top of the tree joins. */
typedef struct measure {
    wide_children *children;
    double unit; /* 1 / half area of the tree's box, or 0 */
    uint32_t nodes[PARTS];
    box3 boxes[PARTS];
    subtree *subtrees; /* PARTS entries */
    uint32_t count, next;
} measure;

double wide_area(box3 box) {
    if (box3_is_empty(box)) return 0;
    const double x = (double)box.hi.x - (double)box.lo.x, y = (double)box.hi.y - (double)box.lo.y,
                 z = (double)box.hi.z - (double)box.lo.z;
    return x * y + y * z + z * x;
}

box3 wide_box_of(const triangle_rows *rows) {
    float lo[3], hi[3];
    for (int axis = 0; axis < 3; ++axis) {
        const float *x = rows->axis[axis];
        lo[axis] = float_min(x[0], float_min(x[1], x[2]));
        hi[axis] = float_max(x[0], float_max(x[1], x[2]));
    }
    const box3 box = {vec3_make(lo[0], lo[1], lo[2]), vec3_make(hi[0], hi[1], hi[2])};
    return box;
}

box3 wide_box_cut(box3 box, box3 cell) {
    box.lo = vec3_max(box.lo, cell.lo);
    box.hi = vec3_min(box.hi, cell.hi);
    return box;
}

void wide_ids_add(wide_ids *ids, uint32_t id) {
    if (ids->count == WIDE_OPEN) return;
    for (uint32_t i = 0; i < ids->count; ++i)
        if (ids->ids[i] == id) return;
    if (ids->count < WIDE_LEAF_MAX) ids->ids[ids->count] = id;
    ++ids->count;
}

void wide_ids_collect(wide_ids *wide_ids, const tritree_view *tree, uint32_t node) {
    const tritree_node at = tree->nodes[node];
    if (tritree_is_leaf(at)) {
        const uint32_t *ids = tree->references + tritree_first(at);
        for (uint32_t i = 0; i < tritree_count(at); ++i) wide_ids_add(wide_ids, ids[i]);
        return;
    }
    wide_ids_collect(wide_ids, tree, tritree_left(at));
    wide_ids_collect(wide_ids, tree, tritree_left(at) + 1);
}

static float cost_closed(float area, uint32_t triangles) {
    return area * (wide_leaf_cost + wide_triangle_cost * (float)triangles);
}

/* A large leaf costs as much as the leaves of eight triangles that replace it, all of which are
   visited. */
static float cost_large(float area, uint32_t triangles) {
    const uint32_t leaves = (triangles + WIDE_LEAF_MAX - 1) / WIDE_LEAF_MAX;
    return area * wide_node_cost + (float)leaves * cost_closed(area, WIDE_LEAF_MAX);
}

static uint8_t measure_leaf(const measure *m, tritree_node leaf, box3 cell, subtree *out) {
    const tritree_view *tree = m->children->tree;
    const uint32_t *ids = tree->references + tritree_first(leaf);
    const uint32_t count = tritree_count(leaf);
    out->box = box3_empty();
    out->ids.count = 0;
    for (uint32_t i = 0; i < count; ++i) {
        box3_join(&out->box, wide_box_cut(wide_box_of(tree->rows + ids[i]), cell));
        wide_ids_add(&out->ids, ids[i]);
    }
    const float area = (float)(wide_area(out->box) * m->unit);
    const float cost = count == 0                    ? 0
                       : out->ids.count == WIDE_OPEN ? cost_large(area, count)
                                                     : cost_closed(area, out->ids.count);
    for (uint32_t k = 0; k < WIDE_CHILDREN_MAX; ++k) out->cost[k] = cost;
    return (uint8_t)out->ids.count;
}

/* Sets split[k - 1] to the least cost of k > 1 children for both halves together. Returns the entry
   of wide_children.choices, except for nibble 0. */
static uint64_t share_out(const float *left, const float *right, uint32_t children, float *split) {
    float
        before[2 * WIDE_CHILDREN_MAX]; /* the right half's costs; INFINITY for no child or fewer */
    uint64_t split_choice = 0;
    for (uint32_t k = 0; k < WIDE_CHILDREN_MAX; ++k) {
        before[k] = INFINITY;
        before[WIDE_CHILDREN_MAX + k] = right[k];
    }
    for (uint32_t from = 0; from < children; from += VECTOR8_LANES) {
        float8 best = float8_all(INFINITY);
        int8 share = {1, 1, 1, 1, 1, 1, 1, 1};
        for (uint32_t k = 1; k < children; ++k) {
            const float8 cost =
                float8_all(left[k - 1]) + float8_load(before + WIDE_CHILDREN_MAX + from - k);
            const int8 better = cost < best;
            best = float8_select(better, cost, best);
            share = int8_select(better, (int8){0} + (int32_t)k, share);
        }
        float8_store(split + from, best);
        for (uint32_t i = 0; i < VECTOR8_LANES; ++i)
            split_choice |= (uint64_t)(uint32_t)share[i] << 4 * (from + i);
    }
    return split_choice & ~(uint64_t)15;
}

/* Joins the results of both children in `out`. */
static void measure_inner(const measure *m, uint32_t node, subtree *out, const subtree *right) {
    const uint32_t children = m->children->children;
    const bool has_both = out->ids.count && right->ids.count;
    box3_join(&out->box, right->box);
    if (!has_both) {
        if (right->ids.count) {
            out->ids = right->ids;
            memcpy(out->cost, right->cost, sizeof out->cost);
        }
        m->children->kinds[node] = (uint8_t)out->ids.count;
        return;
    }
    if (right->ids.count == WIDE_OPEN)
        out->ids.count = WIDE_OPEN;
    else
        for (uint32_t i = 0; i < right->ids.count; ++i) wide_ids_add(&out->ids, right->ids.ids[i]);
    float split[WIDE_CHILDREN_MAX];
    const uint64_t split_choice = share_out(out->cost, right->cost, children, split);
    const float area = (float)(wide_area(out->box) * m->unit);
    float one = area * wide_node_cost + split[children - 1];
    uint8_t kind = WIDE_OPEN;
    if (out->ids.count != WIDE_OPEN && cost_closed(area, out->ids.count) <= one) {
        kind = (uint8_t)out->ids.count;
        one = cost_closed(area, out->ids.count);
    }
    uint32_t opened = 0;
    for (uint32_t k = children - 1; k > 0 && split[k] < one; --k) opened = k;
    out->cost[0] = one;
    for (uint32_t k = 1; k < children; ++k) out->cost[k] = float_min(split[k], one);
    m->children->choices[node] = split_choice | opened;
    m->children->kinds[node] = kind;
}

static void halve_cell(tritree_node at, box3 cell, box3 *low, box3 *high) {
    *low = *high = cell;
    vec3_set_axis(&low->hi, tritree_axis(at), at.split);
    vec3_set_axis(&high->lo, tritree_axis(at), at.split);
}

/* join: NULL inside a parallel subtree; otherwise the results at depth SPLIT_DEPTH are taken from
   it. */
static void measure_node(const measure *m, uint32_t node, box3 cell, measure *join, int depth,
                         subtree *out) {
    const tritree_node at = m->children->tree->nodes[node];
    if (join && depth == SPLIT_DEPTH) {
        *out = join->subtrees[join->next++];
        return;
    }
    if (tritree_is_leaf(at)) {
        m->children->kinds[node] = measure_leaf(m, at, cell, out);
    } else {
        subtree right;
        box3 low, high;
        halve_cell(at, cell, &low, &high);
        measure_node(m, tritree_left(at), low, join, depth + 1, out);
        measure_node(m, tritree_left(at) + 1, high, join, depth + 1, &right);
        measure_inner(m, node, out, &right);
    }
    m->children->boxes[node] = out->box;
}

static void list_parts(measure *measure, uint32_t node, box3 cell, int depth) {
    const tritree_node at = measure->children->tree->nodes[node];
    if (depth == SPLIT_DEPTH) {
        measure->nodes[measure->count] = node;
        measure->boxes[measure->count++] = cell;
    } else if (!tritree_is_leaf(at)) {
        box3 low, high;
        halve_cell(at, cell, &low, &high);
        list_parts(measure, tritree_left(at), low, depth + 1);
        list_parts(measure, tritree_left(at) + 1, high, depth + 1);
    }
}

static void measure_parts(void *context, int64_t begin, int64_t end, int thread) {
    const measure *m = (const measure *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i)
        measure_node(m, m->nodes[i], m->boxes[i], NULL, 0, &m->subtrees[i]);
}

kd_status wide_children_open(wide_children *out, const tritree_view *tree, uint32_t children) {
    kd_status status = KD_OK;
    measure m;
    subtree whole;
    const double area = wide_area(tree->box);
    memset(out, 0, sizeof *out);
    m.subtrees = NULL;
    out->tree = tree;
    out->children = children;
    KD_TRY_GOTO(KD_RESERVE(out->boxes, tree->node_count));
    KD_TRY_GOTO(KD_RESERVE(out->choices, tree->node_count));
    KD_TRY_GOTO(KD_RESERVE(out->kinds, tree->node_count));
    KD_TRY_GOTO(KD_RESERVE(m.subtrees, PARTS));
    large_pages_prefer(out->boxes, tree->node_count * sizeof *out->boxes);
    large_pages_prefer(out->choices, tree->node_count * sizeof *out->choices);
    m.children = out;
    m.unit = area > 0 ? 1 / area : 0;
    m.count = m.next = 0;
    list_parts(&m, 0, tree->box, 0);
    parallel_for(m.count, 1, measure_parts, &m);
    measure_node(&m, 0, tree->box, &m, 0, &whole);
done:
    memory_free(m.subtrees);
    if (status != KD_OK) wide_children_close(out);
    return status;
}

uint64_t wide_children_bytes(uint64_t nodes) {
    return nodes * (sizeof(box3) + sizeof(uint64_t) + sizeof(uint8_t)) + PARTS * sizeof(subtree);
}

void wide_children_close(wide_children *owned) {
    memory_free(owned->boxes);
    memory_free(owned->choices);
    memory_free(owned->kinds);
    memset(owned, 0, sizeof *owned);
}

/* Descends past nodes with one empty child. */
static uint32_t without_empty_ends(const wide_children *children, uint32_t node) {
    const tritree_node *nodes = children->tree->nodes;
    while (!tritree_is_leaf(nodes[node])) {
        const uint32_t left = tritree_left(nodes[node]);
        const bool low = children->kinds[left] != WIDE_EMPTY,
                   high = children->kinds[left + 1] != WIDE_EMPTY;
        if (low && high) break;
        node = low ? left : left + 1;
    }
    return node;
}

static wide_part part_of_node(const wide_children *children, uint32_t node, bool boxes) {
    wide_part made;
    memset(&made, 0, sizeof made);
    made.node = node;
    made.triangles = children->kinds[node];
    if (boxes) made.box = children->boxes[node];
    const tritree_node at = children->tree->nodes[node];
    if (made.triangles == WIDE_OPEN && tritree_is_leaf(at)) {
        made.first = tritree_first(at);
        made.count = tritree_count(at);
    }
    return made;
}

wide_part wide_part_of_all(const wide_children *children) {
    return part_of_node(children, without_empty_ends(children, 0), true);
}

/* Splits a large leaf into parts of 8 c^k triangles, where c is the number of children per node. */
static void list_row(wide_parts *out, const wide_children *children, const wide_part *part,
                     bool boxes) {
    const tritree_view *tree = children->tree;
    uint64_t each = WIDE_LEAF_MAX;
    while (each * children->children < part->count) each *= children->children;
    for (uint32_t from = 0; from < part->count; from += (uint32_t)each) {
        wide_part *p = out->parts + out->count++;
        *p = *part;
        p->first += from;
        p->count = part->count - from < each ? part->count - from : (uint32_t)each;
        p->triangles = p->count <= WIDE_LEAF_MAX ? p->count : WIDE_OPEN;
        if (!boxes) continue;
        p->box = box3_empty();
        for (uint32_t i = 0; i < p->count; ++i)
            box3_join(
                &p->box,
                wide_box_cut(wide_box_of(tree->rows + tree->references[p->first + i]), part->box));
    }
    out->splits[0] = (wide_split){WIDE_ROW, 0, out->count};
    out->split_count = 1;
}

/* Distributes `capacity` children over a subtree. Returns the index of its split. */
static int open_children(wide_parts *out, const wide_children *children, uint32_t node,
                         uint32_t capacity, bool top, bool boxes) {
    const int me = out->split_count++;
    node = without_empty_ends(children, node);
    const tritree_node at = children->tree->nodes[node];
    const uint64_t split_choice = children->choices[node];
    const uint32_t opened = (uint32_t)split_choice & 15;
    const bool whole =
        tritree_is_leaf(at) || capacity == 1 || (!top && !(opened && capacity > opened));
    if (whole) {
        out->splits[me] = (wide_split){WIDE_PART, out->count, 0};
        out->parts[out->count++] = part_of_node(children, node, boxes);
        return me;
    }
    const uint32_t share = (uint32_t)(split_choice >> 4 * (capacity - 1)) & 15;
    out->splits[me].axis = tritree_axis(at);
    const uint32_t left = tritree_left(at);
    const int low = open_children(out, children, left, share, false, boxes);
    const int high = open_children(out, children, left + 1, capacity - share, false, boxes);
    out->splits[me].low = low;
    out->splits[me].high = high;
    return me;
}

void wide_parts_list(wide_parts *out, const wide_children *children, const wide_part *part,
                     bool boxes) {
    out->count = out->split_count = 0;
    if (part->count)
        list_row(out, children, part, boxes);
    else
        open_children(out, children, part->node, children->children, part->triangles == WIDE_OPEN,
                      boxes);
}

static int order_split(const wide_parts *parts, int at, int octant, uint8_t *order, int count) {
    const wide_split *s = parts->splits + at;
    if (s->axis >= WIDE_PART) {
        const int end = s->axis == WIDE_PART ? s->low + 1 : s->high;
        for (int i = s->low; i < end; ++i) order[count++] = (uint8_t)i;
        return count;
    }
    const bool backwards = octant >> s->axis & 1;
    count = order_split(parts, backwards ? s->high : s->low, octant, order, count);
    return order_split(parts, backwards ? s->low : s->high, octant, order, count);
}

void wide_parts_order(const wide_parts *parts, int octant, uint8_t order[WIDE_CHILDREN_MAX]) {
    order_split(parts, 0, octant, order, 0);
}

void wide_part_ids(const wide_children *children, const wide_part *part, wide_ids *ids) {
    ids->count = 0;
    if (!part->count) {
        wide_ids_collect(ids, children->tree, part->node);
        return;
    }
    for (uint32_t i = 0; i < part->count; ++i)
        wide_ids_add(ids, children->tree->references[part->first + i]);
}
