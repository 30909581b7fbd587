/* Reconstructs a point tree from a stored order, such as that of a file: verifies it instead of
   building it.
   Idea: on the way down, each ancestor bounds its descendants along its axis; the nearest ancestor
         on either side of an axis gives the tightest bound, so six numbers represent all ancestors.
   Work: one pass over the points, on all cores.
   Memory: one bit per point in addition to the tree. */
#include "core/job.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/papers/build_wald.h"
#include "points/select/builders.h"
#include "points/tree/bounds.h"
#include "points/tree/build.h"
#include <stdatomic.h>
#include <string.h>

enum { SHARED_LEVEL = 8 }; /* sub-trees from this level on are distributed to threads */

/* Bounds in the order (coordinate, id) on all nodes of a sub-tree, exclusive. */
typedef struct adopt_bounds {
    uint64_t lo[3], hi[3];
} adopt_bounds;

typedef struct adopt_work {
    const pointtree *tree;
    atomic_bool wrong;
} adopt_work;

static uint64_t place_on(const pointtree *tree, uint32_t node, int axis) {
    const uint32_t bits = pointtree_order_bits(vec3_axis(tree->points[node], axis));
    return (uint64_t)bits << 32 | tree->ids[node];
}

static adopt_bounds bounds_none(void) {
    const adopt_bounds all = {{0, 0, 0}, {UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    return all;
}

/* Returns whether the nodes from this one down to level `last` are within their bounds. */
static bool in_order(const pointtree *tree, uint32_t node, uint32_t level, uint32_t last,
                     const adopt_bounds *bounds) {
    uint64_t place[3];
    for (int axis = 0; axis < 3; ++axis) {
        place[axis] = place_on(tree, node, axis);
        if (place[axis] <= bounds->lo[axis] || place[axis] >= bounds->hi[axis]) return false;
    }
    const uint32_t left = 2 * node + 1, axis = level % 3;
    if (level == last || left >= tree->count) return true;
    adopt_bounds part = *bounds;
    part.hi[axis] = place[axis];
    if (!in_order(tree, left, level + 1, last, &part)) return false;
    if (left + 1 >= tree->count) return true;
    part = *bounds;
    part.lo[axis] = place[axis];
    return in_order(tree, left + 1, level + 1, last, &part);
}

/* The bounds of a node from its ancestors, which must be in order. */
static adopt_bounds bounds_of(const pointtree *tree, uint32_t node) {
    adopt_bounds bounds = bounds_none();
    for (uint32_t child = node; child > 0; child = (child - 1) / 2) {
        const uint32_t parent = (child - 1) / 2;
        const int axis = (int)(pointtree_level_of(parent) % 3);
        const uint64_t place = place_on(tree, parent, axis);
        if (child == 2 * parent + 2)
            bounds.lo[axis] = bounds.lo[axis] > place ? bounds.lo[axis] : place;
        else
            bounds.hi[axis] = bounds.hi[axis] < place ? bounds.hi[axis] : place;
    }
    return bounds;
}

static void check_subtrees(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    adopt_work *work = (adopt_work *)context;
    for (int64_t i = begin; i < end; ++i) {
        const uint32_t node = pointtree_level_begin(SHARED_LEVEL) + (uint32_t)i;
        if (node >= work->tree->count) continue;
        const adopt_bounds bounds = bounds_of(work->tree, node);
        if (!in_order(work->tree, node, SHARED_LEVEL, UINT32_MAX, &bounds))
            atomic_store(&work->wrong, true);
    }
}

static kd_status check_permutation(const uint32_t *ids, uint64_t count) {
    uint64_t *seen = NULL;
    KD_TRY(KD_RESERVE_ZEROED(seen, count / 64 + 1));
    for (uint64_t i = 0; i < count; ++i) {
        const uint32_t id = ids[i];
        if (id >= count || (seen[id / 64] >> id % 64 & 1)) {
            memory_free(seen);
            KD_FAIL(KD_ERROR_INPUT,
                    "node %llu of the tree has point id %u; there are %llu points%s",
                    (unsigned long long)i, id, (unsigned long long)count,
                    id < count ? ", and this id occurs twice" : "");
        }
        seen[id / 64] |= (uint64_t)1 << id % 64;
    }
    memory_free(seen);
    return KD_OK;
}

kd_status pointtree_adopt(pointtree *out, const vec3 *points, uint64_t count, const uint32_t *ids) {
    memset(out, 0, sizeof *out);
    kd_status status = KD_OK;
    const double started = timing_now();
    const point_array array = point_array_make(points, count, 3, POINT_FLOAT);
    const pointtree_options defaults = {POINTTREE_ROUND_ROBIN, false, 0};
    KD_TRY(pointtree_check_request(&array, &defaults, pointtree_builders[0]));
    KD_TRY(check_permutation(ids, count));
    out->count = (uint32_t)count;
    out->dims = 3;
    out->scalar = POINT_FLOAT;
    out->order = POINTTREE_BY_COORDINATE;
    KD_TRY_GOTO(point_scan(&out->box, &array));
    KD_TRY_GOTO(KD_RESERVE(out->points, count));
    KD_TRY_GOTO(KD_RESERVE(out->ids, count));
    if (count == 0) goto done;
    memcpy(out->ids, ids, count * sizeof *ids);
    pointtree_gather(out, &array);
    const adopt_bounds all = bounds_none();
    adopt_work work = {out, !in_order(out, 0, 0, SHARED_LEVEL, &all)};
    if (!atomic_load(&work.wrong))
        parallel_for((int64_t)1 << SHARED_LEVEL, 1, check_subtrees, &work);
    if (atomic_load(&work.wrong))
        status = status_fail(KD_ERROR_INPUT, __FILE__, __LINE__,
                             "the tree of %llu points is not left-balanced; build it again",
                             (unsigned long long)count);
    out->build_seconds = timing_now() - started;
done:
    if (status != KD_OK) pointtree_close(out);
    return status;
}
