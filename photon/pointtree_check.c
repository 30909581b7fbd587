#include "photon/pointtree_check.h"
#include "core/memory.h"
#include "core/parallel.h"

static kd_status check_permutation(const pointtree_view *tree, const vec3 *input) {
    kd_status status = KD_OK;
    uint8_t *seen = NULL;
    KD_TRY(KD_RESERVE_ZEROED(seen, tree->count));
    for (uint32_t node = 0; node < tree->count && status == KD_OK; ++node) {
        const uint32_t id = tree->ids[node];
        if (id >= tree->count)
            status = status_fail(KD_ERROR_CHECK, __FILE__, __LINE__,
                                 "P1: node %u has id %u of %u points", node, id, tree->count);
        else if (seen[id]++)
            status = status_fail(KD_ERROR_CHECK, __FILE__, __LINE__,
                                 "P1: id %u is in the tree twice, again at node %u", id, node);
        else if (memcmp(&tree->points[node], &input[id], sizeof(vec3)) != 0)
            status = status_fail(KD_ERROR_CHECK, __FILE__, __LINE__,
                                 "P1: node %u is not point %u of the input", node, id);
    }
    memory_free(seen);
    return status;
}

typedef struct order_check {
    const pointtree_view *tree;
    uint8_t *bad; /* per node: the invariant that does not hold, or 0 */
} order_check;

static uint64_t node_key(const pointtree_view *tree, uint32_t node, int axis) {
    return pointtree_key(vec3_axis(tree->points[node], axis), tree->ids[node]);
}

/* Follows one node up to the root: each ancestor must lie on its right side in the order, and the
   planes on the way clip the domain that the node's own axis must be the widest of. */
static uint8_t node_check(const pointtree_view *tree, uint32_t node) {
    box3 domain = tree->box;
    for (uint32_t child = node; child > 0;) {
        const uint32_t parent = (child - 1) / 2;
        const bool right = child == 2 * parent + 2;
        const int axis = pointtree_axis(tree, parent);
        const uint64_t here = node_key(tree, node, axis), above = node_key(tree, parent, axis);
        if (right ? here < above : here > above) return 2;
        const float plane = vec3_axis(tree->points[parent], axis);
        const box3 clip = pointtree_child_domain(tree->box, axis, plane, right);
        domain.lo = vec3_max(domain.lo, clip.lo);
        domain.hi = vec3_min(domain.hi, clip.hi);
        child = parent;
    }
    return tree->axes && tree->axes[node] != box3_longest_axis(domain) ? 3 : 0;
}

static void check_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    order_check *check = (order_check *)context;
    for (int64_t node = begin; node < end; ++node)
        check->bad[node] = node_check(check->tree, (uint32_t)node);
}

kd_status pointtree_check(const pointtree_view *tree, const vec3 *input, uint64_t count) {
    KD_REQUIRE(tree->count == count, KD_ERROR_CHECK, "P1: the tree has %u nodes for %llu points",
               tree->count, (unsigned long long)count);
    KD_TRY(check_permutation(tree, input));
    for (uint32_t node = 0; tree->axes && node < tree->count; ++node)
        KD_REQUIRE(tree->axes[node] < 3, KD_ERROR_CHECK, "P3: node %u has axis %u", node,
                   tree->axes[node]);
    order_check check = {tree, NULL};
    KD_TRY(KD_RESERVE_ZEROED(check.bad, count));
    parallel_for((int64_t)count, 4096, check_piece, &check);
    uint32_t first = 0;
    while (first < tree->count && !check.bad[first]) ++first;
    const int invariant = first < tree->count ? check.bad[first] : 0;
    memory_free(check.bad);
    KD_REQUIRE(invariant != 2, KD_ERROR_CHECK,
               "P2: node %u (point %u) lies on the wrong side of an ancestor", first,
               tree->ids[first]);
    KD_REQUIRE(invariant != 3, KD_ERROR_CHECK,
               "P3: node %u splits axis %u, which is not the widest side of its domain", first,
               tree->axes[first]);
    return KD_OK;
}
