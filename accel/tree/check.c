/* The checker of tritree.h for the invariants T1 to T7. */
#include "accel/tree/sah.h"
#include "accel/tree/triangle_clip.h"
#include "accel/tree/tritree.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

typedef struct check_sums {
    uint64_t nodes, leaves, empty_leaves, references;
    uint32_t depth;
    double volume, inner_area, leaf_area;
} check_sums;

typedef struct check {
    const tritree *tree;
    uint8_t *reached;    /* per node */
    uint32_t *last_leaf; /* per triangle: the last leaf that contained it */
    uint8_t *owned;      /* per reference: belongs to a leaf */
    box3 box;            /* bounds of all triangles that can be hit */
    uint64_t degenerate;
    check_sums sums;
    uint32_t uncovered; /* smallest id of a triangle that some leaf lacks; KD_NONE: none */
} check;

static void corners_of(const tritree_input *input, uint32_t id, vec3 corner[3]) {
    for (uint64_t k = 0; k < 3; ++k)
        corner[k] = input->positions[input->triangles[3 * (uint64_t)id + k]];
}

static bool can_be_hit(const tritree_input *input, uint32_t id) {
    vec3 corner[3];
    corners_of(input, id, corner);
    return !triangle_is_degenerate(corner[0], corner[1], corner[2]);
}

static double box_volume(box3 box) {
    return ((double)box.hi.x - (double)box.lo.x) * ((double)box.hi.y - (double)box.lo.y) *
           ((double)box.hi.z - (double)box.lo.z);
}

static kd_status check_leaf(check *c, uint32_t at, tritree_node node) {
    const uint32_t first = tritree_first(node), count = tritree_count(node);
    KD_REQUIRE((uint64_t)first + count <= c->tree->reference_count, KD_ERROR_CHECK,
               "T4: leaf %u has references %u to %llu, but the tree has only %u", at, first,
               (unsigned long long)first + count, c->tree->reference_count);
    for (uint32_t i = first; i < first + count; ++i) {
        const uint32_t id = c->tree->references[i];
        KD_REQUIRE(id < c->tree->input.triangle_count, KD_ERROR_CHECK,
                   "T4: leaf %u refers to triangle %u, but the mesh has only %u", at, id,
                   c->tree->input.triangle_count);
        KD_REQUIRE(can_be_hit(&c->tree->input, id), KD_ERROR_CHECK,
                   "T4: leaf %u refers to triangle %u, which has no area", at, id);
        KD_REQUIRE(!c->owned[i], KD_ERROR_CHECK,
                   "T4: leaf %u shares reference %u with another leaf", at, i);
        c->owned[i] = 1;
        KD_REQUIRE(c->last_leaf[id] != at, KD_ERROR_CHECK,
                   "T3: leaf %u refers to triangle %u twice", at, id);
        c->last_leaf[id] = at;
    }
    return KD_OK;
}

static kd_status check_node(check *c, uint32_t at, box3 box, uint32_t depth) {
    KD_REQUIRE(at < c->tree->node_count, KD_ERROR_CHECK,
               "T1: a child is node %u, but the tree has only %u nodes", at, c->tree->node_count);
    KD_REQUIRE(!c->reached[at], KD_ERROR_CHECK, "T1: node %u is reached twice", at);
    c->reached[at] = 1;
    const tritree_node node = c->tree->nodes[at];
    check_sums *sums = &c->sums;
    ++sums->nodes;
    if (depth > sums->depth) sums->depth = depth;
    const int32_t limit = tritree_depth_limit(&c->tree->options, c->tree->input.triangle_count);
    KD_REQUIRE(depth <= (uint32_t)limit, KD_ERROR_CHECK,
               "T5: node %u has depth %u; the limit is %d", at, depth, limit);
    if (tritree_is_leaf(node)) {
        const uint32_t count = tritree_count(node);
        ++sums->leaves;
        sums->empty_leaves += count == 0;
        sums->references += count;
        sums->volume += box_volume(box);
        if (count) sums->leaf_area += count * sah_half_area(box);
        return check_leaf(c, at, node);
    }
    sums->inner_area += sah_half_area(box);
    const int axis = tritree_axis(node);
    KD_REQUIRE(
        node.split >= vec3_axis(box.lo, axis) && node.split <= vec3_axis(box.hi, axis),
        KD_ERROR_CHECK, "T2: node %u splits at %.9g on axis %d, outside its box [%.9g, %.9g]", at,
        (double)node.split, axis, (double)vec3_axis(box.lo, axis), (double)vec3_axis(box.hi, axis));
    box3 left = box, right = box;
    vec3_set_axis(&left.hi, axis, node.split);
    vec3_set_axis(&right.lo, axis, node.split);
    KD_TRY(check_node(c, tritree_left(node), left, depth + 1));
    return check_node(c, tritree_left(node) + 1, right, depth + 1);
}

/* Twice the area of a polygon. */
static double polygon_area(const triangle_polygon *polygon) {
    double x = 0, y = 0, z = 0;
    for (int i = 2; i < polygon->count; ++i) {
        double u[3], v[3];
        for (int k = 0; k < 3; ++k) {
            u[k] = polygon->corner[i - 1][k] - polygon->corner[0][k];
            v[k] = polygon->corner[i][k] - polygon->corner[0][k];
        }
        x += u[1] * v[2] - u[2] * v[1];
        y += u[2] * v[0] - u[0] * v[2];
        z += u[0] * v[1] - u[1] * v[0];
    }
    return sqrt(x * x + y * y + z * z);
}

typedef struct coverage {
    const tritree *tree;
    uint32_t id;
    double negligible; /* area indistinguishable from zero in double arithmetic */
} coverage;

/* Returns true if the leaf's ids contain `id`. Uses binary search first, as most builders sort ids
   in leaves; ids need not be sorted. */
static bool names(const uint32_t *ids, uint32_t count, uint32_t id) {
    uint32_t first = 0, end = count;
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        if (ids[middle] < id)
            first = middle + 1;
        else
            end = middle;
    }
    if (first < count && ids[first] == id) return true;
    for (uint32_t i = 0; i < count; ++i)
        if (ids[i] == id) return true;
    return false;
}

static bool lies_on_plane(const triangle_polygon *polygon, int axis, double plane) {
    for (int i = 0; i < polygon->count; ++i)
        if (polygon->corner[i][axis] != plane) return false;
    return true;
}

/* Returns true if all leaves whose interior intersects this part of the triangle contain it. If a
   piece of a triangle lies in the splitting plane but the triangle does not, the piece is a line
   segment, even if it has an area because of rounding. */
static bool is_covered(const coverage *coverage, uint32_t at, const triangle_polygon *part) {
    const tritree_node node = coverage->tree->nodes[at];
    if (tritree_is_leaf(node)) {
        return names(coverage->tree->references + tritree_first(node), tritree_count(node),
                     coverage->id);
    }
    const int axis = tritree_axis(node);
    if (lies_on_plane(part, axis, (double)node.split))
        return is_covered(coverage, tritree_left(node), part) ||
               is_covered(coverage, tritree_left(node) + 1, part);
    for (uint32_t side = 0; side < 2; ++side) {
        triangle_polygon piece = *part;
        triangle_polygon_clip(&piece, axis, (double)node.split, side ? 1 : -1);
        if (polygon_area(&piece) > coverage->negligible &&
            !lies_on_plane(&piece, axis, (double)node.split) &&
            !is_covered(coverage, tritree_left(node) + side, &piece))
            return false;
    }
    return true;
}

static void cover_triangles(void *context, int64_t begin, int64_t end, int thread) {
    check *c = (check *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const uint32_t id = (uint32_t)i;
        if (!can_be_hit(&c->tree->input, id)) continue;
        vec3 corner[3];
        corners_of(&c->tree->input, id, corner);
        const triangle_polygon whole = triangle_polygon_make(corner[0], corner[1], corner[2]);
        double largest = 0, longest = 0;
        for (int k = 0; k < 3; ++k) {
            const double *p = whole.corner[k], *q = whole.corner[(k + 1) % 3];
            for (int axis = 0; axis < 3; ++axis) {
                largest = fmax(largest, fabs(p[axis]));
                longest = fmax(longest, fabs(p[axis] - q[axis]));
            }
        }
        const coverage coverage = {c->tree, id, 0x1p-44 * largest * longest};
        if (is_covered(&coverage, 0, &whole)) continue;
        uint32_t seen = __atomic_load_n(&c->uncovered, __ATOMIC_RELAXED);
        while (id < seen && !__atomic_compare_exchange_n(&c->uncovered, &seen, id, false,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        }
    }
}

static bool nearly(double a, double b) {
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static kd_status check_statistics(const check *c) {
    const tritree_statistics *said = &c->tree->statistics;
    const check_sums *sums = &c->sums;
    KD_REQUIRE(said->nodes == sums->nodes && said->leaves == sums->leaves &&
                   said->empty_leaves == sums->empty_leaves &&
                   said->references == sums->references && said->depth == sums->depth &&
                   said->degenerate_triangles == c->degenerate,
               KD_ERROR_CHECK,
               "T7: the builder reports %llu nodes, %llu leaves, %llu references and depth %u; "
               "counted: %llu, %llu, %llu and %u",
               (unsigned long long)said->nodes, (unsigned long long)said->leaves,
               (unsigned long long)said->references, said->depth, (unsigned long long)sums->nodes,
               (unsigned long long)sums->leaves, (unsigned long long)sums->references, sums->depth);
    const double area = sah_half_area(c->box);
    double cost = 0;
    if (sums->references && area > 0)
        cost = ((double)c->tree->options.traversal_cost * sums->inner_area +
                (double)c->tree->options.intersect_cost * sums->leaf_area) /
               area;
    KD_REQUIRE(nearly(said->sah_cost, cost), KD_ERROR_CHECK,
               "T7: the builder reports SAH cost %.12g; recomputed: %.12g", said->sah_cost, cost);
    return KD_OK;
}

static bool same_box(box3 a, box3 b) { /* 0 and -0 are equal */
    for (int axis = 0; axis < 3; ++axis)
        if (vec3_axis(a.lo, axis) != vec3_axis(b.lo, axis) ||
            vec3_axis(a.hi, axis) != vec3_axis(b.hi, axis))
            return false;
    return true;
}

static kd_status check_all(check *c) {
    const tritree *tree = c->tree;
    KD_TRY(KD_RESERVE_ZEROED(c->reached, tree->node_count));
    KD_TRY(KD_RESERVE_ZEROED(c->owned, tree->reference_count));
    KD_TRY(KD_RESERVE(c->last_leaf, tree->input.triangle_count));
    for (uint32_t id = 0; id < tree->input.triangle_count; ++id) {
        c->last_leaf[id] = KD_NONE;
        vec3 corner[3];
        corners_of(&tree->input, id, corner);
        if (!can_be_hit(&tree->input, id))
            ++c->degenerate;
        else
            box3_join(&c->box, triangle_box(corner[0], corner[1], corner[2]));
    }
    KD_TRY(check_node(c, 0, tree->box, 0));
    KD_REQUIRE(c->sums.nodes == tree->node_count, KD_ERROR_CHECK,
               "T1: only %llu of %u nodes can be reached from the root",
               (unsigned long long)c->sums.nodes, tree->node_count);
    KD_REQUIRE(c->sums.references == tree->reference_count, KD_ERROR_CHECK,
               "T4: only %llu of %u references belong to a leaf",
               (unsigned long long)c->sums.references, tree->reference_count);
    if (box3_is_empty(c->box)) {
        KD_REQUIRE(tree->node_count == 1 && box3_is_empty(tree->box), KD_ERROR_CHECK,
                   "T6: no triangle has an area, but the tree has %u nodes instead of 1, or a "
                   "non-empty box",
                   tree->node_count);
        return check_statistics(c);
    }
    KD_REQUIRE(same_box(c->box, tree->box) && nearly(c->sums.volume, box_volume(c->box)),
               KD_ERROR_CHECK,
               "T6: the leaves have a total volume of %.12g; the box of all triangles has %.12g",
               c->sums.volume, box_volume(c->box));
    c->uncovered = KD_NONE;
    parallel_for(tree->input.triangle_count, 1024, cover_triangles, c);
    KD_REQUIRE(c->uncovered == KD_NONE, KD_ERROR_CHECK,
               "T3: triangle %u overlaps a leaf that does not refer to it", c->uncovered);
    return check_statistics(c);
}

kd_status tritree_check(const tritree *tree) {
    check c = {.tree = tree, .box = box3_empty()};
    const kd_status status = check_all(&c);
    memory_free(c.reached);
    memory_free(c.owned);
    memory_free(c.last_leaf);
    return status;
}
