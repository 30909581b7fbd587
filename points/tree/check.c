#include "points/tree/check.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

static const void *node_point(const pointtree_nd_view *tree, uint32_t node) {
    return (const char *)tree->coordinates +
           node * (uint64_t)tree->dims * point_scalar_bytes(tree->scalar);
}

static kd_status check_permutation(const pointtree_nd_view *tree, const point_array *input) {
    kd_status status = KD_OK;
    uint8_t *seen = NULL;
    KD_TRY(KD_RESERVE_ZEROED(seen, input->count));
    const size_t bytes = tree->dims * point_scalar_bytes(tree->scalar);
    for (uint32_t node = 0; node < tree->count && status == KD_OK; ++node) {
        const uint32_t id = tree->ids[node];
        if (id >= input->count)
            status = status_fail(KD_ERROR_CHECK, __FILE__, __LINE__,
                                 "P1: node %u has point id %u; there are %llu points", node, id,
                                 (unsigned long long)input->count);
        else if (seen[id]++)
            status =
                status_fail(KD_ERROR_CHECK, __FILE__, __LINE__,
                            "P1: point id %u occurs twice, the second time at node %u", id, node);
        else if (memcmp(node_point(tree, node), point_array_at(input, id), bytes) != 0)
            status = status_fail(
                KD_ERROR_CHECK, __FILE__, __LINE__,
                "P1: the coordinates of node %u differ from its point %u of the input", node, id);
    }
    memory_free(seen);
    return status;
}

typedef struct order_check {
    const pointtree_nd_view *tree;
    uint8_t *bad; /* per node: the number of the violated invariant, or 0 */
} order_check;

/* Compares only the coordinates (or cells): returns -1, 0 or 1 if `node` is before, equal to or
   after `other`. */
static int compare_on(const pointtree_nd_view *tree, uint32_t node, uint32_t other, uint32_t axis) {
    double a = pointtree_nd_coordinate(tree, node, axis);
    double b = pointtree_nd_coordinate(tree, other, axis);
    if (tree->order == POINTTREE_BY_CELL) {
        a = pointtree_cell(a, tree->cells);
        b = pointtree_cell(b, tree->cells);
    }
    return (a > b) - (a < b);
}

/* Returns whether `node` comes after its ancestor in the tree's total order on the ancestor's
   axis. */
static bool is_behind(const pointtree_nd_view *tree, uint32_t node, uint32_t ancestor) {
    const uint32_t axis = pointtree_nd_axis(tree, ancestor);
    int side = compare_on(tree, node, ancestor, axis);
    for (uint32_t i = 1; tree->order == POINTTREE_BY_SUPER_KEY && !side && i < tree->dims; ++i)
        side = compare_on(tree, node, ancestor, (axis + i) % tree->dims);
    uint32_t above = ancestor;
    while (tree->order == POINTTREE_BY_CELL && !side && above > 0) {
        above = (above - 1) / 2;
        side = compare_on(tree, node, ancestor, pointtree_nd_axis(tree, above));
    }
    return side ? side > 0 : tree->ids[node] > tree->ids[ancestor];
}

/* Checks one node on the path to the root: it must lie on the correct side of each ancestor in
   the total order, and its axis must be the widest of its region, which the ancestors' planes
   clip. Returns 2 or 3 for a violation of P2 or P3, else 0. */
static uint8_t node_check(const pointtree_nd_view *tree, uint32_t node) {
    point_box domain = tree->box;
    for (uint32_t child = node; child > 0;) {
        const uint32_t parent = (child - 1) / 2, axis = pointtree_nd_axis(tree, parent);
        const bool right = child == 2 * parent + 2;
        const double above = pointtree_nd_coordinate(tree, parent, axis);
        if (is_behind(tree, node, parent) != right) return 2;
        point_box_clip(&domain, axis, above, right);
        child = parent;
    }
    const uint32_t widest = point_box_widest(&domain, tree->dims, tree->scalar);
    return tree->axes && tree->axes[node] != widest ? 3 : 0;
}

static void check_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    order_check *check = (order_check *)context;
    for (int64_t node = begin; node < end; ++node)
        check->bad[node] = node_check(check->tree, (uint32_t)node);
}

kd_status pointtree_check_nd(const pointtree_nd_view *tree, const point_array *input) {
    KD_REQUIRE(tree->count == input->count || (tree->unique && tree->count < input->count),
               KD_ERROR_CHECK, "P1: the tree has %u nodes, but the input has %llu points",
               tree->count, (unsigned long long)input->count);
    if (tree->count == 0) return KD_OK;
    KD_REQUIRE(tree->dims == input->dims && tree->scalar == input->scalar, KD_ERROR_CHECK,
               "P1: the tree has %u dimensions of scalar type %d, but the input has %u of type %d",
               tree->dims, (int)tree->scalar, input->dims, (int)input->scalar);
    KD_TRY(check_permutation(tree, input));
    for (uint32_t node = 0; tree->axes && node < tree->count; ++node)
        KD_REQUIRE(tree->axes[node] < tree->dims, KD_ERROR_CHECK,
                   "P3: node %u splits axis %u, which the points do not have", node,
                   tree->axes[node]);
    order_check check = {tree, NULL};
    KD_TRY(KD_RESERVE_ZEROED(check.bad, tree->count));
    parallel_for(tree->count, 4096, check_piece, &check);
    uint32_t first = 0;
    while (first < tree->count && !check.bad[first]) ++first;
    const int invariant = first < tree->count ? check.bad[first] : 0;
    memory_free(check.bad);
    KD_REQUIRE(invariant != 2, KD_ERROR_CHECK,
               "P2: node %u (point %u) is on the wrong side of an ancestor", first,
               tree->ids[first]);
    KD_REQUIRE(invariant != 3, KD_ERROR_CHECK,
               "P3: node %u splits axis %u, which is not the widest side of its domain", first,
               tree->axes[first]);
    return KD_OK;
}
