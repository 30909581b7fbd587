/* Assigns points with equal coordinates to the same buckets, for leaf_index.c.
   Idea: where many points lie in the splitting planes (as on a grid), the medians of the tree
         separate points with equal coordinates, and boxes overlap. Here points are split next to
         those planes instead of through them, into twice as many buckets, half of which stay
         empty. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/select_keys.h"
#include "points/neighbours/leaf_index.h"

/* The points in order, from left to right. Coordinates are compared as floats relative to the
   minimum of the axis, so they are non-negative. */
typedef struct tied_points {
    const pointtree_nd_view *tree;
    const leaf_shape *shape;
    float *rows;     /* `dims` coordinates per point */
    uint32_t *nodes; /* tree node of each point */
    uint64_t *keys;  /* value to compare << 32 | index of the point */
    const leaf_slots *out;
} tied_points;

/* bucket levels that one task processes */
enum { TIED_LEVELS = 12 };

static float tied_coordinate(const pointtree_nd_view *tree, uint32_t node, uint32_t axis) {
    return (float)(pointtree_nd_coordinate(tree, node, axis) - tree->box.lo[axis]);
}

/* Partitions keys[0, count) just below or just above all points in the plane, whichever is
   closer to the middle. Returns the number of points in the first part. */
static uint32_t tied_cut(const tied_points *points, uint64_t *keys, uint32_t count, uint32_t axis,
                         float plane) {
    const uint32_t dims = points->tree->dims;
    uint32_t less = 0, maximum = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t point = (uint32_t)keys[i];
        const float x = points->rows[(uint64_t)point * dims + axis];
        keys[i] = (uint64_t)float_bits(x) << 32 | point;
        less += x < plane;
        maximum += x <= plane;
    }
    const bool above = less == 0 || (maximum < count && maximum + less < count);
    return keys_partition(keys, count, (uint64_t)(float_bits(plane) + above) << 32);
}

/* tied_cut at the coordinate of the median point. */
static uint32_t tied_cut_middle(const tied_points *points, uint64_t *keys, uint32_t count,
                                uint32_t axis) {
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t point = (uint32_t)keys[i];
        const float x = points->rows[point * points->tree->dims + axis];
        keys[i] = (uint64_t)float_bits(x) << 32 | point;
    }
    const uint64_t middle = keys_select(keys, count, count / 2);
    return tied_cut(points, keys, count, axis, float_from_bits((uint32_t)(middle >> 32)));
}

/* Fallback if no split between different coordinates is balanced enough: partitions by id into
   whole buckets. */
static uint32_t tied_cut_equal(const tied_points *points, uint64_t *keys, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t point = (uint32_t)keys[i];
        keys[i] = (uint64_t)points->tree->ids[points->nodes[point]] << 32 | point;
    }
    const uint32_t half = (count / 2 + LEAF_POINTS - 1) / LEAF_POINTS * LEAF_POINTS;
    keys_select(keys, count, half - 1);
    return half;
}

static bool tied_cut_serves(uint32_t cut, uint32_t count, uint32_t capacity) {
    const uint32_t side = cut < count - cut ? cut : count - cut;
    return 4 * side >= count && count - side <= capacity;
}

/* Partitions along the widest axis that gives a sufficiently balanced split. */
static uint32_t tied_share(const tied_points *points, uint64_t *keys, uint32_t count,
                           uint32_t capacity) {
    const uint32_t dims = points->tree->dims;
    float lo[POINT_DIMS_MAX], hi[POINT_DIMS_MAX];
    for (uint32_t axis = 0; axis < dims; ++axis) {
        lo[axis] = INFINITY;
        hi[axis] = 0;
    }
    for (uint32_t i = 0; i < count; ++i) {
        const float *row = points->rows + (uint64_t)(uint32_t)keys[i] * dims;
        for (uint32_t axis = 0; axis < dims; ++axis) {
            lo[axis] = row[axis] < lo[axis] ? row[axis] : lo[axis];
            hi[axis] = row[axis] > hi[axis] ? row[axis] : hi[axis];
        }
    }
    for (uint32_t turn = 0; turn < dims; ++turn) {
        uint32_t widest = 0;
        for (uint32_t axis = 1; axis < dims; ++axis)
            if (hi[axis] - lo[axis] > hi[widest] - lo[widest]) widest = axis;
        if (!(hi[widest] > lo[widest])) break;
        hi[widest] = lo[widest];
        const uint32_t cut = tied_cut_middle(points, keys, count, widest);
        if (tied_cut_serves(cut, count, capacity)) return cut;
    }
    return tied_cut_equal(points, keys, count);
}

/* Distributes keys[0, count) to `leaves` buckets recursively: at the plane of a tree node, if
   the split is balanced enough, else at one that tied_share chooses. The points are those of
   `node`, except for some that lie in planes. */
static void tied_split(const tied_points *points, uint64_t *keys, uint32_t count, uint32_t first,
                       uint32_t leaves, uint32_t node) {
    const pointtree_nd_view *tree = points->tree;
    while (count > LEAF_POINTS) {
        const uint32_t capacity = (leaves /= 2) * LEAF_POINTS;
        uint32_t cut = 0;
        if (node < tree->count) {
            const uint32_t axis = pointtree_nd_axis(tree, node);
            cut = tied_cut(points, keys, count, axis, tied_coordinate(tree, node, axis));
        }
        if (!tied_cut_serves(cut, count, capacity)) cut = tied_share(points, keys, count, capacity);
        tied_split(points, keys + cut, count - cut, first + leaves, leaves, 2 * node + 2);
        count = cut;
        node = 2 * node + 1;
    }
    points->out->filled[first] = count;
    for (uint32_t i = 0; i < count; ++i)
        points->out->nodes[(uint64_t)first * LEAF_POINTS + i] = points->nodes[(uint32_t)keys[i]];
}

static uint32_t tied_levels(const leaf_shape *shape) {
    return shape->bucket_level < TIED_LEVELS ? shape->bucket_level : TIED_LEVELS;
}

static void tied_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const tied_points *points = (const tied_points *)context;
    const pointtree_nd_view *tree = points->tree;
    const uint32_t level = points->shape->bucket_level - tied_levels(points->shape);
    const uint32_t leaves = 1u << tied_levels(points->shape);
    for (uint32_t part = (uint32_t)begin; part < (uint32_t)end; ++part) {
        const uint32_t node = pointtree_level_begin(level) + part;
        const uint32_t at = pointtree_inorder_begin(node, tree->count);
        uint32_t filled = at;
        for (uint32_t s = part * leaves; s < (part + 1) * leaves; ++s)
            filled += leaf_members(points->shape, s, points->nodes + filled);
        for (uint32_t i = at; i < filled; ++i) {
            points->keys[i] = i;
            for (uint32_t axis = 0; axis < tree->dims; ++axis)
                points->rows[(uint64_t)i * tree->dims + axis] =
                    tied_coordinate(tree, points->nodes[i], axis);
        }
        tied_split(points, points->keys + at, filled - at, part * leaves, leaves, node);
    }
}

kd_status leaf_slots_open(leaf_slots *out, const pointtree_nd_view *tree, const leaf_shape *shape) {
    kd_status status = KD_OK;
    tied_points points = {tree, shape, NULL, NULL, NULL, out};
    memset(out, 0, sizeof *out);
    KD_TRY_GOTO(KD_RESERVE(out->nodes, (uint64_t)shape->leaf_count * LEAF_POINTS));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(out->filled, shape->leaf_count));
    KD_TRY_GOTO(KD_RESERVE(points.rows, (uint64_t)tree->count * tree->dims));
    KD_TRY_GOTO(KD_RESERVE(points.nodes, tree->count));
    KD_TRY_GOTO(KD_RESERVE(points.keys, tree->count));
    parallel_for(1u << (shape->bucket_level - tied_levels(shape)), 1, tied_piece, &points);
done:
    memory_free(points.rows);
    memory_free(points.nodes);
    memory_free(points.keys);
    if (status != KD_OK) leaf_slots_close(out);
    return status;
}

void leaf_slots_close(leaf_slots *owned) {
    memory_free(owned->nodes);
    memory_free(owned->filled);
    memset(owned, 0, sizeof *owned);
}
