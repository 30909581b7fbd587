#include "tools/lab/tree_levels.h"
#include "accel/tree/sah.h"
#include "accel/tree/walk.h"
#include "core/math/rng.h"
#include <math.h>
#include <string.h>

typedef struct visiting {
    const tritree *tree;
    uint32_t most_level;
    tree_visitor visit;
    void *context;
} visiting;

static void visit_below(const visiting *v, uint32_t at, uint32_t level, box3 box) {
    const tritree_node node = v->tree->nodes[at];
    v->visit(v->context, at, level, box);
    if (tritree_is_leaf(node) || level == v->most_level) return;
    const int axis = tritree_axis(node);
    box3 left = box, right = box;
    vec3_set_axis(&left.hi, axis, node.split);
    vec3_set_axis(&right.lo, axis, node.split);
    visit_below(v, tritree_left(node), level + 1, left);
    visit_below(v, tritree_left(node) + 1, level + 1, right);
}

void tree_visit(const tritree *tree, uint32_t most_level, tree_visitor visit, void *context) {
    const visiting all = {tree, most_level, visit, context};
    if (tree->statistics.nodes > 0) visit_below(&all, 0, 0, tritree_get_view(tree).box);
}

typedef struct counting {
    tree_levels *out;
    const tritree *tree;
    double root_area;
} counting;

static tree_level *level_of(tree_levels *of, uint32_t level) {
    const uint32_t at = level < TREE_LEVELS ? level : TREE_LEVELS - 1;
    if (at >= of->count) of->count = at + 1;
    return &of->levels[at];
}

static void count_node(void *context, uint32_t at, uint32_t level, box3 box) {
    counting *c = (counting *)context;
    tree_level *to = level_of(c->out, level);
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

/* --- lines --------------------------------------------------------------------------------------
 */

typedef struct line {
    double origin[3], way[3];
} line;

static void on_sphere(double out[3], const double centre[3], double radius, float u, float v) {
    const double z = 2 * (double)u - 1, ring = sqrt(fmax(0, 1 - z * z));
    const double angle = 2 * 3.14159265358979323846 * (double)v;
    out[0] = centre[0] + radius * ring * cos(angle);
    out[1] = centre[1] + radius * ring * sin(angle);
    out[2] = centre[2] + radius * z;
}

/* From a point of the sphere about the box to another, the way's length 1 for t from 0 to 1. */
static line draw_line(box3 box, uint64_t number) {
    const rng_block r = rng_draw(rng_key_make(11, 0, number), 0, 0);
    double centre[3], end[3], radius = 0;
    line drawn;
    for (int axis = 0; axis < 3; ++axis) {
        const double lo = (double)vec3_axis(box.lo, axis), hi = (double)vec3_axis(box.hi, axis);
        centre[axis] = 0.5 * (lo + hi);
        radius += 0.25 * (hi - lo) * (hi - lo);
    }
    radius = 1.0001 * sqrt(radius);
    on_sphere(drawn.origin, centre, radius, r.value[0], r.value[1]);
    on_sphere(end, centre, radius, r.value[2], r.value[3]);
    for (int axis = 0; axis < 3; ++axis) drawn.way[axis] = end[axis] - drawn.origin[axis];
    return drawn;
}

/* The stretch of the line in the box; false if it misses. */
static bool cut_box(const line *of, box3 box, double *near, double *far) {
    *near = 0;
    *far = 1;
    for (int axis = 0; axis < 3; ++axis) {
        const double lo = (double)vec3_axis(box.lo, axis), hi = (double)vec3_axis(box.hi, axis);
        const double way = of->way[axis];
        const double a = (lo - of->origin[axis]) / way, b = (hi - of->origin[axis]) / way;
        if (way == 0) {
            if (of->origin[axis] < lo || of->origin[axis] > hi) return false;
            continue;
        }
        *near = fmax(*near, fmin(a, b));
        *far = fmin(*far, fmax(a, b));
    }
    return *near <= *far;
}

static void pierce(tree_levels *to, const tritree *tree, const line *of, uint32_t at,
                   uint32_t level, double near, double far) {
    const tritree_node node = tree->nodes[at];
    level_of(to, level)->met += 1;
    if (tritree_is_leaf(node)) return;
    const int axis = tritree_axis(node);
    const double t = ((double)node.split - of->origin[axis]) / of->way[axis];
    const uint32_t first = tritree_left(node) + (of->way[axis] < 0), left = tritree_left(node);
    const uint32_t second = first == left ? left + 1 : left;
    if (near <= t) pierce(to, tree, of, first, level + 1, near, fmin(far, t));
    if (far >= t) pierce(to, tree, of, second, level + 1, fmax(near, t), far);
}

/* The same line as a ray, which stops at its hit. */
static void cast_line(tree_levels *to, const tritree_view *view, const line *of) {
    ray cast;
    memset(&cast, 0, sizeof cast);
    cast.origin = vec3_make((float)of->origin[0], (float)of->origin[1], (float)of->origin[2]);
    cast.direction = vec3_make((float)of->way[0], (float)of->way[1], (float)of->way[2]);
    cast.tmin = 0;
    cast.tmax = 1;
    tritree_counts counts = {0, 0, 0};
    tritree_closest_counted(view, cast, &counts);
    to->nodes_read += (double)counts.nodes;
    to->leaves_read += (double)counts.leaves;
    to->triangles_tested += (double)counts.triangles;
}

static void cast_lines(tree_levels *to, const tritree *tree, uint64_t lines) {
    const tritree_view view = tritree_get_view(tree);
    for (uint64_t number = 0; to->lines < lines && number < 64 * lines; ++number) {
        const line drawn = draw_line(view.box, number);
        double near, far;
        if (!cut_box(&drawn, view.box, &near, &far)) continue;
        ++to->lines;
        pierce(to, tree, &drawn, 0, 0, near, far);
        cast_line(to, &view, &drawn);
    }
    const double each = to->lines ? 1.0 / (double)to->lines : 0;
    for (uint32_t level = 0; level < to->count; ++level) to->levels[level].met *= each;
    to->nodes_read *= each;
    to->leaves_read *= each;
    to->triangles_tested *= each;
}

void tree_levels_measure(tree_levels *out, const tritree *tree, uint64_t lines) {
    memset(out, 0, sizeof *out);
    counting all = {out, tree, sah_half_area(tritree_get_view(tree).box)};
    tree_visit(tree, UINT32_MAX, count_node, &all);
    if (out->count && all.root_area > 0) cast_lines(out, tree, lines);
}
