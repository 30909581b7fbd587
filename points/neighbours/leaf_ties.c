/* Assigns points with equal coordinates to the same buckets, for leaf_index.c.
   Idea: where many points lie in the splitting planes (as on a grid), the medians of the tree
         separate points with equal coordinates, and boxes overlap. Here points are split next to
         those planes instead of through them, into twice as many buckets, half of which stay
         empty. A split counts the points on both sides of a plane, and moves them, by the columns
         of points/select, only if it is balanced enough. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "points/neighbours/leaf_index.h"
#include "points/select/columns.h"

/* The points in order, from left to right. Coordinates are compared as floats relative to the
   minimum of the axis, so they are non-negative, and their bits have the same order. */
typedef struct tied_points {
    const pointtree_nd_view *tree;
    const leaf_shape *shape;
    float *rows;     /* `dims` coordinates per point */
    uint32_t *nodes; /* tree node of each point */
    /* two columns: values to compare, and indices of points; a split moves both to the other
       buffer */
    int32_t *columns[2];
    uint64_t stride; /* from column to column */
    const leaf_slots *out;
} tied_points;

/* Points that are split; `flipped`: they are in the second buffer. */
typedef struct tied_range {
    uint32_t begin, count;
    bool flipped;
} tied_range;

/* A split: points whose value is less than `pivot` go to the left. */
typedef struct tied_cut {
    uint32_t left;
    int32_t pivot;
} tied_cut;

enum {
    TIED_LEVELS = 12, /* bucket levels that one task processes */
    TIED_SPACE = 80   /* values between columns, which must not begin at the same page offset */
};

static float tied_coordinate(const pointtree_nd_view *tree, uint32_t node, uint32_t axis) {
    return (float)(pointtree_nd_coordinate(tree, node, axis) - tree->box.lo[axis] + 0.0);
}

static int32_t *tied_values(const tied_points *points, tied_range range) {
    return points->columns[range.flipped] + range.begin;
}

static void tied_load(const tied_points *points, tied_range range, uint32_t axis) {
    int32_t *values = tied_values(points, range);
    const int32_t *index = values + points->stride;
    const float *column = points->rows + axis;
    const uint32_t dims = points->tree->dims;
    for (uint32_t i = 0; i < range.count; ++i)
        values[i] = (int32_t)float_bits(column[(uint64_t)(uint32_t)index[i] * dims]);
}

/* Returns the value of `rank`; the other buffer is scratch. */
static int32_t tied_select(const tied_points *points, tied_range range, uint32_t rank) {
    const int32_t *values = tied_values(points, range);
    range.flipped = !range.flipped;
    int32_t *scratch[2] = {tied_values(points, range), tied_values(points, range) + points->stride};
    return column_select(values, range.count, rank, scratch).value;
}

/* The split just below or just above all points in the plane, whichever is closer to the
   middle. */
static tied_cut tied_cut_beside(const tied_points *points, tied_range range, int32_t plane) {
    const int32_t *values = tied_values(points, range);
    uint32_t less = 0, maximum = 0;
    for (uint32_t i = 0; i < range.count; ++i) {
        less += values[i] < plane;
        maximum += values[i] <= plane;
    }
    const bool above = less == 0 || (maximum < range.count && maximum + less < range.count);
    const tied_cut cut = {above ? maximum : less, plane + above};
    return cut;
}

/* Fallback if no split between different coordinates is balanced enough: by id, into whole
   buckets. */
static tied_cut tied_cut_equal(const tied_points *points, tied_range range) {
    int32_t *values = tied_values(points, range);
    const int32_t *index = values + points->stride;
    for (uint32_t i = 0; i < range.count; ++i)
        values[i] = (int32_t)points->tree->ids[points->nodes[index[i]]];
    tied_cut cut = {(range.count / 2 + LEAF_POINTS - 1) / LEAF_POINTS * LEAF_POINTS, 0};
    cut.pivot = tied_select(points, range, cut.left - 1) + 1;
    return cut;
}

static bool tied_cut_serves(uint32_t cut, uint32_t count, uint32_t capacity) {
    const uint32_t side = cut < count - cut ? cut : count - cut;
    return 4 * side >= count && count - side <= capacity;
}

/* A split along the widest axis that gives a sufficiently balanced one, beside the median. */
static tied_cut tied_share(const tied_points *points, tied_range range, uint32_t capacity) {
    const uint32_t dims = points->tree->dims;
    const int32_t *index = tied_values(points, range) + points->stride;
    float lo[POINT_DIMS_MAX], hi[POINT_DIMS_MAX];
    for (uint32_t axis = 0; axis < dims; ++axis) {
        lo[axis] = INFINITY;
        hi[axis] = 0;
    }
    for (uint32_t i = 0; i < range.count; ++i) {
        const float *row = points->rows + (uint64_t)(uint32_t)index[i] * dims;
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
        tied_load(points, range, widest);
        const int32_t middle = tied_select(points, range, range.count / 2);
        const tied_cut cut = tied_cut_beside(points, range, middle);
        if (tied_cut_serves(cut.left, range.count, capacity)) return cut;
    }
    return tied_cut_equal(points, range);
}

/* Moves the points of a range to the other buffer, in two parts. */
static void tied_move(const tied_points *points, tied_range *range, tied_cut cut) {
    const columns_source from = {tied_values(points, *range), points->stride, range->count, 0};
    const column_pivot pivot = {cut.pivot, INT32_MIN, false};
    range->flipped = !range->flipped;
    const columns_target to = {tied_values(points, *range), 0, cut.left, cut.left, range->count};
    columns_partition(from, to, pivot, 2);
}

/* Distributes the points of a range to `leaves` buckets recursively: beside the plane of a tree
   node, if the split is balanced enough, else at one that tied_share chooses. The points are those
   of `node`, except for some that lie in planes. */
static void tied_split(const tied_points *points, tied_range range, uint32_t first, uint32_t leaves,
                       uint32_t node) {
    const pointtree_nd_view *tree = points->tree;
    while (range.count > LEAF_POINTS) {
        const uint32_t capacity = (leaves /= 2) * LEAF_POINTS;
        tied_cut cut = {0, 0};
        if (node < tree->count) {
            const uint32_t axis = pointtree_nd_axis(tree, node);
            tied_load(points, range, axis);
            cut = tied_cut_beside(points, range,
                                  (int32_t)float_bits(tied_coordinate(tree, node, axis)));
        }
        if (!tied_cut_serves(cut.left, range.count, capacity))
            cut = tied_share(points, range, capacity);
        tied_move(points, &range, cut);
        const tied_range right = {range.begin + cut.left, range.count - cut.left, range.flipped};
        tied_split(points, right, first + leaves, leaves, 2 * node + 2);
        range.count = cut.left;
        node = 2 * node + 1;
    }
    const int32_t *index = tied_values(points, range) + points->stride;
    points->out->filled[first] = range.count;
    for (uint32_t i = 0; i < range.count; ++i)
        points->out->nodes[(uint64_t)first * LEAF_POINTS + i] = points->nodes[index[i]];
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
            points->columns[0][points->stride + i] = (int32_t)i;
            for (uint32_t axis = 0; axis < tree->dims; ++axis)
                points->rows[(uint64_t)i * tree->dims + axis] =
                    tied_coordinate(tree, points->nodes[i], axis);
        }
        const tied_range range = {at, filled - at, false};
        tied_split(points, range, part * leaves, leaves, node);
    }
}

kd_status leaf_slots_open(leaf_slots *out, const pointtree_nd_view *tree, const leaf_shape *shape) {
    kd_status status = KD_OK;
    tied_points points = {tree, shape, NULL, NULL, {NULL, NULL}, tree->count + TIED_SPACE, out};
    memset(out, 0, sizeof *out);
    KD_TRY_GOTO(KD_RESERVE(out->nodes, (uint64_t)shape->leaf_count * LEAF_POINTS));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(out->filled, shape->leaf_count));
    KD_TRY_GOTO(KD_RESERVE(points.rows, (uint64_t)tree->count * tree->dims));
    KD_TRY_GOTO(KD_RESERVE(points.nodes, tree->count));
    for (int i = 0; i < 2; ++i) KD_TRY_GOTO(KD_RESERVE(points.columns[i], 2 * points.stride));
    large_pages_prefer(points.rows, (uint64_t)tree->count * tree->dims * sizeof *points.rows);
    large_pages_prefer(out->nodes, (uint64_t)shape->leaf_count * LEAF_POINTS * sizeof *out->nodes);
    for (int i = 0; i < 2; ++i)
        large_pages_prefer(points.columns[i], 2 * points.stride * sizeof *points.columns[i]);
    parallel_for(1u << (shape->bucket_level - tied_levels(shape)), 1, tied_piece, &points);
done:
    memory_free(points.rows);
    memory_free(points.nodes);
    for (int i = 0; i < 2; ++i) memory_free(points.columns[i]);
    if (status != KD_OK) leaf_slots_close(out);
    return status;
}

void leaf_slots_close(leaf_slots *owned) {
    memory_free(owned->nodes);
    memory_free(owned->filled);
    memset(owned, 0, sizeof *owned);
}
