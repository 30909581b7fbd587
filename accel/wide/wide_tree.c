#include "accel/wide/wide_tree.h"
#include "accel/tree/triangle_clip.h"
#include "accel/wide/wide_build.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

enum { LIMIT = 1 << (32 - WIDE_COUNT_BITS), ROOTS = 512 /* subtrees that are built in parallel */ };

/* The value of a child for occlusion queries. */
typedef struct occlusion_value {
    double stops, cost; /* probability that a ray that enters it ends there; expected cost */
} occlusion_value;

/* Positions of the next nodes and triangles, or their numbers. */
typedef struct place {
    uint64_t nodes, triangles;
    uint32_t depth;
} place;

typedef struct root {
    wide_part part;
    uint32_t level;
    place from; /* where its descendants are stored; for a node of the top: its leaves */
    occlusion_value value;
} root;

typedef struct wide_maker {
    wide_children children;
    wide_tree *out;
    root *roots; /* the nodes of the top, then the subtrees below them */
    uint32_t top, count;
} wide_maker;

/* Adds the nodes and triangles below a subtree's root to *sum. */
static void count_below(const wide_children *children, const wide_part *part, place *sum,
                        uint32_t depth) {
    wide_parts at;
    wide_parts_list(&at, children, part, false);
    if (depth > sum->depth) sum->depth = depth;
    for (int i = 0; i < at.count; ++i) {
        if (at.parts[i].triangles != WIDE_OPEN) {
            sum->triangles += at.parts[i].triangles;
            continue;
        }
        ++sum->nodes;
        count_below(children, at.parts + i, sum, depth + 1);
    }
}

static double triangle_area(const triangle_rows *rows) {
    double u[3], v[3];
    for (int axis = 0; axis < 3; ++axis) {
        u[axis] = (double)rows->axis[axis][1] - (double)rows->axis[axis][0];
        v[axis] = (double)rows->axis[axis][2] - (double)rows->axis[axis][0];
    }
    const double x = u[1] * v[2] - u[2] * v[1], y = u[2] * v[0] - u[0] * v[2],
                 z = u[0] * v[1] - u[1] * v[0];
    return 0.5 * sqrt(x * x + y * y + z * z);
}

/* Estimates the area of a triangle's part in a box, in proportion to the area of its bounding
   box. */
static double area_within(const triangle_rows *rows, box3 box) {
    const box3 row_box = wide_box_of(rows);
    const double whole = wide_area(row_box), part = wide_area(wide_box_cut(row_box, box));
    return whole > 0 && part < whole ? triangle_area(rows) * part / whole : triangle_area(rows);
}

/* Stores a leaf's corners and ids; returns its value. */
static occlusion_value fill_leaf(const wide_maker *m, const wide_part *part, uint64_t first) {
    const uint32_t count = part->triangles;
    float *leaf = m->out->leaves + first * WIDE_LEAF_FLOATS;
    wide_ids held;
    double area = 0;
    wide_part_ids(&m->children, part, &held);
    for (uint32_t i = 0; i < count; ++i) {
        const triangle_rows *rows = m->children.tree->rows + held.ids[i];
        for (uint32_t k = 0; k < 9; ++k) leaf[k * count + i] = rows->axis[k / 3][k % 3];
        leaf[9 * count + i] = float_from_bits(held.ids[i]);
        area += area_within(rows, part->box);
    }
    const double surface = 2 * wide_area(part->box);
    const occlusion_value value = {surface > 0 && 2 * area < surface ? 2 * area / surface : 1,
                                   (double)wide_leaf_cost + (double)wide_triangle_cost * count};
    return value;
}

static void set_bounds(const wide_tree *out, wide_node node, uint32_t lane, box3 box) {
    const uint32_t children = out->children;
    for (uint32_t axis = 0; axis < 3; ++axis) {
        const double from = (double)vec3_axis(out->centre, (int)axis), margin = (double)out->margin;
        float *lo = node.bounds + (uint64_t)2 * axis * children + lane;
        lo[0] = float_not_above((double)vec3_axis(box.lo, (int)axis) - from - margin);
        lo[children] = float_not_below((double)vec3_axis(box.hi, (int)axis) - from + margin);
    }
}

/* Assigns lanes to the parts; the best for occlusion queries get the last lanes, which are visited
   first. */
static void choose_lanes(const occlusion_value *values, int count,
                         uint8_t part_of[WIDE_CHILDREN_MAX]) {
    double ratios[WIDE_CHILDREN_MAX]; /* in the order of part_of */
    for (int i = 0; i < count; ++i) {
        const double ratio = values[i].stops / values[i].cost;
        int k = i;
        for (; k > 0 && !(ratios[k - 1] <= ratio); --k) {
            ratios[k] = ratios[k - 1];
            part_of[k] = part_of[k - 1];
        }
        ratios[k] = ratio;
        part_of[k] = (uint8_t)i;
    }
}

static void set_orders(const wide_parts *parts, wide_node node, uint32_t children,
                       const uint8_t lane_of[WIDE_CHILDREN_MAX]) {
    const uint32_t numbers = children / 8; /* 1 or 2: no divisions by it */
    for (int octant = 0; octant < 4; ++octant) {
        uint8_t order[WIDE_CHILDREN_MAX];
        uint64_t backwards[2] = {0, 0}, forwards[2] = {0, 0};
        wide_parts_order(parts, octant, order);
        for (uint32_t i = 0; i < children; ++i) {
            const uint32_t count = (uint32_t)parts->count, at = i & (numbers - 1),
                           by = i >> (numbers - 1) << 2;
            const uint64_t last = i < count ? lane_of[order[count - 1 - i]] : i;
            const uint64_t first = i < count ? lane_of[order[i]] : i;
            backwards[at] |= last << by;
            forwards[at] |= first << by;
        }
        for (uint32_t k = 0; k < numbers; ++k) {
            node.orders[(uint32_t)octant * numbers + k] = (uint32_t)backwards[k];
            node.orders[(uint32_t)(7 - octant) * numbers + k] = (uint32_t)forwards[k];
        }
    }
}

/* Writes a node, given the words and values of its parts; returns its value. */
static occlusion_value finish_node(const wide_tree *out, uint32_t index, const wide_parts *parts,
                                   box3 box, const uint32_t *words, const occlusion_value *values) {
    uint8_t part_of[WIDE_CHILDREN_MAX], lane_of[WIDE_CHILDREN_MAX];
    const wide_node node = wide_node_at(out, index);
    const double area = wide_area(box);
    occlusion_value value = {0, (double)wide_node_cost};
    double going = 1; /* probability that the ray has not ended yet */
    choose_lanes(values, parts->count, part_of);
    for (uint32_t axis = 0; axis < 3; ++axis)
        for (uint32_t lane = 0; lane < out->children; ++lane) {
            node.bounds[2 * axis * out->children + lane] = INFINITY;
            node.bounds[(2 * axis + 1) * out->children + lane] = -INFINITY;
        }
    memset(node.words, 0, out->children * sizeof *node.words);
    for (int lane = parts->count - 1; lane >= 0; --lane) {
        const int i = part_of[lane];
        const wide_part *part = parts->parts + i;
        lane_of[i] = (uint8_t)lane;
        set_bounds(out, node, (uint32_t)lane, part->box);
        node.words[lane] = words[i];
        const double within = wide_area(part->box), enters = within < area ? within / area : 1;
        value.cost += going * enters * values[i].cost;
        going *= 1 - enters * values[i].stops;
    }
    set_orders(parts, node, out->children, lane_of);
    value.stops = 1 - going;
    return value;
}

/* Builds a node and its descendants; returns its value. */
static occlusion_value make_node(const wide_maker *m, uint32_t index, const wide_part *subtree,
                                 place *next) {
    wide_parts parts;
    uint32_t words[WIDE_CHILDREN_MAX];
    occlusion_value values[WIDE_CHILDREN_MAX];
    wide_parts_list(&parts, &m->children, subtree, true);
    for (int i = 0; i < parts.count; ++i) /* siblings are contiguous */
        if (parts.parts[i].triangles == WIDE_OPEN)
            words[i] = (uint32_t)next->nodes++ << WIDE_COUNT_BITS;
    for (int i = 0; i < parts.count; ++i) {
        const wide_part *part = parts.parts + i;
        if (part->triangles == WIDE_OPEN) {
            values[i] = make_node(m, words[i] >> WIDE_COUNT_BITS, part, next);
            continue;
        }
        words[i] = (uint32_t)next->triangles << WIDE_COUNT_BITS | part->triangles;
        values[i] = fill_leaf(m, part, next->triangles);
        next->triangles += part->triangles;
    }
    return finish_node(m->out, index, &parts, subtree->box, words, values);
}

static void count_roots(void *context, int64_t begin, int64_t end, int thread) {
    const wide_maker *m = (const wide_maker *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        root *r = m->roots + m->top + i;
        memset(&r->from, 0, sizeof r->from);
        count_below(&m->children, &r->part, &r->from, 1);
    }
}

static void make_roots(void *context, int64_t begin, int64_t end, int thread) {
    const wide_maker *m = (const wide_maker *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const uint32_t index = m->top + (uint32_t)i;
        root *r = m->roots + index;
        r->value = make_node(m, index, &r->part, &r->from);
    }
}

/* Opens the tree from the root until there are enough subtrees for all threads. Nodes of the top
   are numbered in the order in which they are opened. Adds the nodes and triangles of the top to
   *sum. */
static void open_top(wide_maker *m, place *sum) {
    wide_parts parts;
    m->roots[0].part = wide_part_of_all(&m->children);
    m->roots[0].level = 0;
    m->top = 0;
    m->count = 1;
    while (m->top < m->count && m->count + WIDE_CHILDREN_MAX <= ROOTS) {
        root *r = m->roots + m->top++;
        r->from.triangles = sum->triangles;
        wide_parts_list(&parts, &m->children, &r->part, true);
        if (r->level + 1 > sum->depth) sum->depth = r->level + 1;
        for (int i = 0; i < parts.count; ++i)
            if (parts.parts[i].triangles == WIDE_OPEN) {
                m->roots[m->count].part = parts.parts[i];
                m->roots[m->count++].level = r->level + 1;
            } else {
                sum->triangles += parts.parts[i].triangles;
            }
    }
    sum->nodes = m->count;
}

/* Builds the nodes of the top after all subtrees, the last one first. */
static void make_top(const wide_maker *m) {
    uint32_t child = m->count;
    for (uint32_t index = m->top; index-- > 0;) {
        root *r = m->roots + index;
        wide_parts parts;
        uint32_t words[WIDE_CHILDREN_MAX];
        occlusion_value values[WIDE_CHILDREN_MAX];
        wide_parts_list(&parts, &m->children, &r->part, true);
        for (int i = parts.count - 1; i >= 0; --i)
            if (parts.parts[i].triangles == WIDE_OPEN) {
                words[i] = --child << WIDE_COUNT_BITS;
                values[i] = m->roots[child].value;
            }
        for (int i = 0; i < parts.count; ++i)
            if (parts.parts[i].triangles != WIDE_OPEN) {
                const uint64_t first = r->from.triangles;
                words[i] = (uint32_t)first << WIDE_COUNT_BITS | parts.parts[i].triangles;
                values[i] = fill_leaf(m, parts.parts + i, first);
                r->from.triangles += parts.parts[i].triangles;
            }
        r->value = finish_node(m->out, index, &parts, r->part.box, words, values);
    }
}

/* Assigns each subtree the place after the preceding ones. On entry *sum holds the nodes and
   triangles of the top, on return those of the whole tree. */
static void place_roots(const wide_maker *m, place *sum) {
    for (uint32_t i = m->top; i < m->count; ++i) {
        root *r = m->roots + i;
        const place slot = r->from;
        r->from.nodes = sum->nodes;
        r->from.triangles = sum->triangles;
        sum->nodes += slot.nodes;
        sum->triangles += slot.triangles;
        if (r->level + slot.depth > sum->depth) sum->depth = r->level + slot.depth;
    }
}

static void set_centre(wide_tree *out, box3 box) {
    double sum = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const double size = (double)vec3_axis(box.hi, axis) - (double)vec3_axis(box.lo, axis);
        sum += size * size;
    }
    out->centre = box3_centre(box);
    out->reach = (float)(WIDE_REACH * sqrt(sum));
    out->margin = out->reach * 0x1p-20f;
}

/* Builds the tree. *fits is false if there are more nodes or triangles than a word can address. */
static kd_status make_all(wide_maker *m, bool *fits) {
    wide_tree *out = m->out;
    place sum = {0, 0, 0};
    KD_TRY(KD_RESERVE(m->roots, ROOTS));
    open_top(m, &sum);
    parallel_for(m->count - m->top, 1, count_roots, m);
    place_roots(m, &sum);
    *fits = sum.nodes < LIMIT && sum.triangles < LIMIT;
    if (!*fits) return KD_OK;
    KD_REQUIRE(sum.depth <= WIDE_MAX_DEPTH, KD_ERROR_CHECK,
               "the wide tree has more than %d levels, the limit", WIDE_MAX_DEPTH);
    out->node_count = (uint32_t)sum.nodes;
    out->leaf_triangles = (uint32_t)sum.triangles;
    out->depth = sum.depth;
    /* A vector load reads up to seven numbers beyond the last leaf. */
    const uint64_t floats = sum.triangles * WIDE_LEAF_FLOATS;
    KD_TRY(KD_RESERVE(out->nodes, sum.nodes * wide_node_floats(out->children)));
    KD_TRY(KD_RESERVE(out->leaves, floats + WIDE_LEAF_MAX));
    large_pages_prefer(out->nodes,
                       sum.nodes * wide_node_floats(out->children) * sizeof *out->nodes);
    large_pages_prefer(out->leaves, floats * sizeof *out->leaves);
    memset(out->leaves + floats, 0, WIDE_LEAF_MAX * sizeof *out->leaves);
    parallel_for(m->count - m->top, 1, make_roots, m);
    make_top(m);
    return KD_OK;
}

kd_status wide_tree_make(wide_tree **out, const tritree_view *view, uint32_t children) {
    kd_status status = KD_OK;
    wide_maker m;
    bool made = false;
    *out = NULL;
    memset(&m, 0, sizeof m);
    if (view->reference_count == 0) return KD_OK;
    KD_TRY_GOTO(wide_children_open(&m.children, view, children));
    if (m.children.kinds[0] == WIDE_EMPTY) goto done;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(m.out, 1));
    m.out->children = children;
    set_centre(m.out, view->box);
    KD_TRY_GOTO(make_all(&m, &made));
    if (made) *out = m.out;
done:
    if (!*out) wide_tree_close(m.out);
    wide_children_close(&m.children);
    memory_free(m.roots);
    return status;
}

kd_status wide_tree_open(wide_tree **out, const tritree_view *view) {
    return wide_tree_make(out, view, wide_children_best());
}

void wide_tree_close(wide_tree *owned) {
    if (!owned) return;
    memory_free(owned->nodes);
    memory_free(owned->leaves);
    memory_free(owned);
}

/* Assumes one wide node per six references with 8 children, per twelve with 16. */
uint64_t wide_tree_bytes_max(uint64_t nodes, uint64_t references, uint32_t children) {
    const uint64_t node = wide_node_floats(children) * sizeof(float), held = children * 3 / 4;
    const uint64_t leaves = references * WIDE_LEAF_FLOATS * sizeof(float);
    return wide_children_bytes(nodes) + ROOTS * sizeof(root) + sizeof(wide_tree) +
           (references / held + 1) * node + leaves + WIDE_LEAF_MAX * sizeof(float);
}

uint64_t wide_tree_bytes(const wide_tree *tree) {
    if (!tree) return 0;
    const uint64_t nodes = tree->node_count * wide_node_floats(tree->children),
                   leaves = (uint64_t)tree->leaf_triangles * WIDE_LEAF_FLOATS + WIDE_LEAF_MAX;
    return sizeof *tree + (nodes + leaves) * sizeof(float);
}
