/* Builds the index of leaf_index.h: gathers the points of each bucket, then computes the boxes
   bottom-up. */
#include "points/neighbours/leaf_index.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

/* k-d tree levels in a bucket's sub-tree: at most 15 points */
enum { BUCKET_LEVELS = 4, GRAIN = 512 };

static void shape_levels(leaf_shape *shape, uint32_t bucket_level) {
    shape->bucket_level = bucket_level;
    shape->leaf_count = 1u << bucket_level;
    shape->levels = (bucket_level + 2) / 3;
    shape->groups = 0;
    for (uint32_t level = 0; level < shape->levels; ++level) {
        shape->level_begin[level] = shape->groups;
        shape->groups += leaf_groups(shape, level);
    }
    if (shape->levels) shape->root_children = shape->leaf_count >> 3 * (shape->levels - 1);
}

leaf_shape leaf_shape_of(uint32_t count) {
    leaf_shape shape;
    memset(&shape, 0, sizeof shape);
    shape.count = count;
    if (count == 0) return shape;
    const uint32_t tree_levels = pointtree_levels(count);
    shape_levels(&shape, tree_levels > BUCKET_LEVELS ? tree_levels - BUCKET_LEVELS : 0);
    /* A bucket holds seven nodes above the last level, up to eight of the last level, which is
       filled from the left, and one more node. Without last-level nodes eight slots are enough. */
    const uint32_t low = count - pointtree_level_begin(tree_levels - 1);
    shape.wide_leaves = shape.bucket_level > 0 ? (low + 7) / 8 : shape.leaf_count;
    return shape;
}

/* Returns whether the plane of a node, just above the buckets, is tied: a point in the bucket to
   its left lies in the same plane at a different position, or all points of that bucket coincide
   with the node's point. */
static bool plane_is_tied(const pointtree_nd_view *tree, uint32_t node) {
    const uint32_t axis = pointtree_nd_axis(tree, node);
    const double plane = pointtree_nd_coordinate(tree, node, axis);
    uint32_t row = 2 * node + 1;
    bool all = true;
    for (uint32_t width = 1; width < 1u << BUCKET_LEVELS; width *= 2, row = 2 * row + 1)
        for (uint32_t i = row; i < row + width && i < tree->count; ++i) {
            if (pointtree_nd_coordinate(tree, i, axis) != plane) {
                all = false;
                continue;
            }
            for (uint32_t other = 0; other < tree->dims; ++other)
                if (pointtree_nd_coordinate(tree, i, other) !=
                    pointtree_nd_coordinate(tree, node, other))
                    return true;
        }
    return all;
}

leaf_shape leaf_shape_tied(const pointtree_nd_view *tree) {
    enum { SAMPLED = 64, MAX_LEVELS = 26 }; /* limits the number of slots to 2^31 */
    leaf_shape shape = leaf_shape_of(tree->count);
    if (shape.bucket_level < 2 || shape.bucket_level > MAX_LEVELS) return shape;
    const uint32_t level = shape.bucket_level - 1, width = 1u << level;
    const uint32_t sample_count = width < SAMPLED ? width : SAMPLED;
    uint32_t tied = 0;
    for (uint32_t i = 0; i < sample_count; ++i)
        tied += plane_is_tied(tree, pointtree_level_begin(level) + i * (width / sample_count));
    if (2 * tied < sample_count) return shape;
    shape_levels(&shape, shape.bucket_level + 1);
    shape.ties = true;
    return shape;
}

uint32_t leaf_groups(const leaf_shape *shape, uint32_t level) {
    return level == 0 ? 1 : shape->leaf_count >> 3 * (shape->levels - level);
}

uint32_t leaf_members(const leaf_shape *shape, uint32_t s, uint32_t nodes[LEAF_POINTS]) {
    uint32_t filled = 0, row = pointtree_level_begin(shape->bucket_level) + s;
    for (uint32_t width = 1; width < 1u << BUCKET_LEVELS; width *= 2, row = 2 * row + 1)
        for (uint32_t node = row; node < row + width && node < shape->count; ++node)
            nodes[filled++] = node;
    if (s + 1 < shape->leaf_count) { /* the in-order successor of the sub-tree */
        const uint32_t up = (uint32_t)__builtin_ctz(s + 1) + 1;
        nodes[filled++] = pointtree_level_begin(shape->bucket_level - up) + (s >> up);
    }
    return filled;
}

/* --- buckets -------------------------------------------------------------------------------- */

typedef struct index_work {
    const pointtree_nd_view *tree;
    leafindex *out;
    leaf_slots slots; /* assignment of points with ties; else empty */
    uint32_t level;   /* level of the groups whose boxes are propagated up */
} index_work;

/* Returns the lower sides, along the first axis, of the eight boxes that include `child`. The
   upper sides follow after LEAF_GROUP floats, the next axis after twice as many. */
static inline float *sides_at(const leafindex *index, uint32_t level, uint32_t child) {
    const uint64_t group = index->shape.level_begin[level] + child / LEAF_GROUP;
    return index->boxes + group * index->columns * 2 * LEAF_GROUP;
}

static inline uint32_t *min_id_at(const leafindex *index, uint32_t level, uint32_t child) {
    return &index->min_ids[(uint64_t)index->shape.level_begin[level] * LEAF_GROUP + child];
}

/* Minimum and maximum of a column of eight or sixteen slots. */
#define COLUMN_ENDS(name, real)                                                                    \
    LANES_FN void name(const real *x, int places, double *lo, double *hi) {                        \
        real minimum[LEAF_GROUP], maximum[LEAF_GROUP];                                             \
        for (int i = 0; i < LEAF_GROUP; ++i) minimum[i] = maximum[i] = x[i];                       \
        for (int i = LEAF_GROUP; i < places; ++i) {                                                \
            const int lane = i - LEAF_GROUP;                                                       \
            minimum[lane] = x[i] < minimum[lane] ? x[i] : minimum[lane];                           \
            maximum[lane] = x[i] > maximum[lane] ? x[i] : maximum[lane];                           \
        }                                                                                          \
        for (int lane = 1; lane < LEAF_GROUP; ++lane) {                                            \
            minimum[0] = minimum[lane] < minimum[0] ? minimum[lane] : minimum[0];                  \
            maximum[0] = maximum[lane] > maximum[0] ? maximum[lane] : maximum[0];                  \
        }                                                                                          \
        *lo = (double)minimum[0];                                                                  \
        *hi = (double)maximum[0];                                                                  \
    }
COLUMN_ENDS(ends_of_floats, float)
COLUMN_ENDS(ends_of_doubles, double)

/* Copies the coordinates and ids of these nodes to a bucket. Unused slots get the first point's
   coordinates, so that they do not enlarge the box, and the id KD_NONE. Returns the least id. */
LANES_FN uint32_t bucket_gather(uint32_t dims, uint32_t columns, uint32_t bytes,
                                const pointtree_nd_view *tree, const leaf_points *leaf,
                                const uint32_t *nodes, uint32_t filled) {
    char *at = (char *)(uintptr_t)leaf->at; /* casts away const: the memory belongs to this index */
    uint32_t *ids = (uint32_t *)(uintptr_t)leaf->id, minimum = KD_NONE;
    const uint32_t places = (uint32_t)leaf->places;
    for (uint32_t i = 0; i < places; ++i) {
        const uint32_t node = nodes[i < filled ? i : 0];
        const char *from = (const char *)tree->coordinates + (uint64_t)node * dims * bytes;
        for (uint32_t axis = 0; axis < dims; ++axis)
            memcpy(at + (axis * places + i) * bytes, from + axis * bytes, bytes);
        for (uint32_t axis = dims; axis < columns; ++axis)
            memset(at + (axis * places + i) * bytes, 0, bytes);
        ids[i] = i < filled ? tree->ids[node] : KD_NONE;
        minimum = ids[i] < minimum ? ids[i] : minimum;
    }
    return minimum;
}

/* Computes the sides of the bucket's box along an axis, then sets the unused slots to NaN, which
   no search finds. */
LANES_FN void column_close(bool wide, const leaf_points *leaf, uint32_t axis, uint32_t filled,
                           double frame, float sides[2]) {
    const uint32_t places = (uint32_t)leaf->places;
    double lo, hi, unused;
    if (wide) {
        double *x = (double *)(uintptr_t)leaf->at + axis * places;
        ends_of_doubles(x, leaf->places, &lo, &hi);
        for (uint32_t i = filled; i < places; ++i) x[i] = (double)NAN;
        difference_bounds(lo, frame, &lo, &unused);
        difference_bounds(hi, frame, &unused, &hi);
    } else {
        float *x = (float *)(uintptr_t)leaf->at + axis * places;
        ends_of_floats(x, leaf->places, &lo, &hi);
        for (uint32_t i = filled; i < places; ++i) x[i] = NAN;
    }
    sides[0] = filled ? (wide ? rounded_down(lo) : (float)lo) : INFINITY;
    sides[1] = filled ? (wide ? rounded_up(hi) : (float)hi) : -INFINITY;
}

#define BUCKET_GATHER(dims, columns)                                                               \
    case dims:                                                                                     \
        min_id = bucket_gather(dims, columns, bytes, work->tree, &leaf, nodes, filled);            \
        break;
LANES_FN void bucket_fill(uint32_t dims, uint32_t columns, bool wide, const index_work *work,
                          uint32_t s, const uint32_t *nodes, uint32_t filled) {
    const leafindex *index = work->out;
    const leaf_points leaf = leafindex_bucket(index, s);
    const uint32_t bytes = wide ? sizeof(double) : sizeof(float);
    uint32_t min_id = KD_NONE;
    switch (dims) { /* one copy of the loop per number of dimensions: a bucket has few points */
        BUCKET_GATHER(1, 3)
        BUCKET_GATHER(2, 3)
        BUCKET_GATHER(3, 3)
        BUCKET_GATHER(4, 4)
        BUCKET_GATHER(5, 5)
        BUCKET_GATHER(6, 6)
        BUCKET_GATHER(7, 7)
        BUCKET_GATHER(8, 8)
    }
    const uint32_t last = index->shape.levels - 1;
    float *to = index->shape.levels ? sides_at(index, last, s) + s % LEAF_GROUP : NULL;
    if (to) *min_id_at(index, last, s) = min_id;
    const double *frame = to ? leafindex_frame(index, last, s / LEAF_GROUP) : NULL;
    for (uint32_t axis = 0; axis < columns; ++axis) {
        float sides[2];
        column_close(wide, &leaf, axis, filled, frame ? frame[axis] : 0, sides);
        for (int side = 0; to && side < 2; ++side, to += LEAF_GROUP) *to = sides[side];
    }
}

/* Returns the nodes of a bucket and their number; `members` has space for them. */
static const uint32_t *bucket_nodes(const index_work *work, uint32_t s,
                                    uint32_t members[LEAF_POINTS], uint32_t *filled) {
    if (!work->slots.nodes) {
        *filled = leaf_members(&work->out->shape, s, members);
        return members;
    }
    *filled = work->slots.filled[s];
    return *filled ? work->slots.nodes + (uint64_t)s * LEAF_POINTS : members;
}

static void bucket_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const index_work *work = (const index_work *)context;
    const leafindex *index = work->out;
    const bool wide = index->scalar == POINT_DOUBLE;
    for (uint32_t s = (uint32_t)begin; s < (uint32_t)end; ++s) {
        uint32_t members[LEAF_POINTS] = {0}, filled;
        const uint32_t *nodes = bucket_nodes(work, s, members, &filled);
        if (index->dims == 3 && wide)
            bucket_fill(3, 3, true, work, s, nodes, filled);
        else if (index->dims == 3)
            bucket_fill(3, 3, false, work, s, nodes, filled);
        else if (wide)
            bucket_fill(index->dims, index->columns, true, work, s, nodes, filled);
        else
            bucket_fill(index->dims, index->columns, false, work, s, nodes, filled);
    }
}

/* Sets the frames of groups on the last level to a point in them, the others to that of a child.
   The middle is preferred: outliers are at the ends. */
static void frame_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const index_work *work = (const index_work *)context;
    const leafindex *index = work->out;
    const uint64_t row = index->columns;
    const uint32_t level = work->level, children = level ? LEAF_GROUP : index->shape.root_children;
    for (uint32_t g = (uint32_t)begin; g < (uint32_t)end; ++g) {
        double *frame = index->frames + (index->shape.level_begin[level] + (uint64_t)g) * row;
        if (level + 1 < index->shape.levels) {
            memcpy(frame, leafindex_frame(index, level + 1, g * LEAF_GROUP + children / 2),
                   row * sizeof *frame);
            continue;
        }
        uint32_t members[LEAF_POINTS] = {0}, filled = 0;
        const uint32_t *nodes = members;
        for (uint32_t i = 0; !filled && i < children; ++i)
            nodes = bucket_nodes(work, g * LEAF_GROUP + (children / 2 + i) % children, members,
                                 &filled);
        for (uint32_t axis = 0; axis < row; ++axis)
            frame[axis] = filled && axis < index->dims
                              ? pointtree_nd_coordinate(work->tree, nodes[0], axis)
                              : 0;
    }
}

/* Records the tree node of each id. */
static void place_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const index_work *work = (const index_work *)context;
    for (int64_t node = begin; node < end; ++node)
        work->out->nodes[work->tree->ids[node]] = (uint32_t)node;
}

/* Converts the sides of a box along one axis from a frame to another. */
static void sides_move(double from, double to, float *lo, float *hi) {
    double low, high;
    difference_bounds(from, to, &low, &high);
    low += (double)*lo;
    high += (double)*hi;
    *lo = rounded_down(low - fabs(low) * 0x1p-52);
    *hi = rounded_up(high + fabs(high) * 0x1p-52);
}

static void group_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const index_work *work = (const index_work *)context;
    const leafindex *index = work->out;
    for (uint32_t g = (uint32_t)begin; g < (uint32_t)end; ++g) {
        const float *from = sides_at(index, work->level, g * LEAF_GROUP);
        float *to = sides_at(index, work->level - 1, g) + g % LEAF_GROUP;
        const double *frame = leafindex_frame(index, work->level, g);
        const double *above = leafindex_frame(index, work->level - 1, g / LEAF_GROUP);
        uint32_t min_id = KD_NONE;
        for (uint32_t i = 0; i < LEAF_GROUP; ++i) {
            const uint32_t id = *min_id_at(index, work->level, g * LEAF_GROUP + i);
            if (id < min_id) min_id = id;
        }
        *min_id_at(index, work->level - 1, g) = min_id;
        for (uint32_t axis = 0; axis < index->columns; ++axis) {
            float lo = INFINITY, hi = -INFINITY;
            for (int lane = 0; lane < LEAF_GROUP; ++lane) {
                lo = float_min(from[lane], lo);
                hi = float_max(from[LEAF_GROUP + lane], hi);
            }
            if (frame && lo <= hi) sides_move(frame[axis], above[axis], &lo, &hi);
            to[0] = lo;
            to[LEAF_GROUP] = hi;
            from += 2 * LEAF_GROUP;
            to += 2 * LEAF_GROUP;
        }
    }
}

/* --- the whole index ------------------------------------------------------------------------ */

static uint64_t leaves_bytes(const leafindex *index) {
    return (uint64_t)(LEAF_POINTS / 2) *
           ((uint64_t)index->shape.leaf_count + index->shape.wide_leaves) *
           (index->columns * point_scalar_bytes(index->scalar) + sizeof(uint32_t));
}

static uint64_t boxes_bytes(const leafindex *index) {
    return (uint64_t)index->shape.groups * index->columns * 2 * LEAF_GROUP * sizeof *index->boxes;
}

static kd_status reserve(leafindex *out, bool places, bool frames) {
    const uint64_t leaves = leaves_bytes(out), boxes = boxes_bytes(out);
    KD_TRY(memory_reserve(&out->leaves, leaves, 1));
    KD_TRY(memory_reserve((void **)&out->boxes, boxes, 1));
    KD_TRY(KD_RESERVE_ZEROED(out->min_ids, (uint64_t)out->shape.groups * LEAF_GROUP));
    if (frames) KD_TRY(KD_RESERVE(out->frames, (uint64_t)out->shape.groups * out->columns));
    if (places) KD_TRY(KD_RESERVE(out->nodes, out->shape.count));
    large_pages_prefer(out->leaves, leaves);
    large_pages_prefer(out->boxes, boxes);
    if (places) large_pages_prefer(out->nodes, out->shape.count * sizeof *out->nodes);
    memset(out->boxes, 0, boxes); /* the root may have fewer than eight children */
    return KD_OK;
}

/* Returns whether floats are too coarse for the boxes of doubles: whether in an eighth of a sample
   of buckets their spacing exceeds 1/32 of the bucket's side. Buckets of equal points do not
   count. */
static bool needs_frames(const pointtree_nd_view *tree) {
    enum { SAMPLED = 64 };
    const leaf_shape shape = leaf_shape_of(tree->count);
    const uint32_t samples = shape.leaf_count < SAMPLED ? shape.leaf_count : SAMPLED;
    uint32_t coarse = 0, all = 0;
    for (uint32_t i = 0; i < samples; ++i) {
        uint32_t nodes[LEAF_POINTS];
        const uint32_t filled = leaf_members(&shape, i * (shape.leaf_count / samples), nodes);
        double side = 0, farthest = 0;
        for (uint32_t axis = 0; axis < tree->dims; ++axis) {
            const double first = pointtree_nd_coordinate(tree, nodes[0], axis);
            double lo = first, hi = first;
            for (uint32_t k = 1; k < filled; ++k) {
                lo = fmin(lo, pointtree_nd_coordinate(tree, nodes[k], axis));
                hi = fmax(hi, pointtree_nd_coordinate(tree, nodes[k], axis));
            }
            side = fmax(side, hi - lo);
            farthest = fmax(farthest, fmax(-lo, hi));
        }
        all += side > 0;
        coarse += side > 0 && farthest * 0x1p-23 > side / 32;
    }
    return 8 * coarse > all;
}

static void begin(leafindex *out, const pointtree_nd_view *tree) {
    memset(out, 0, sizeof *out);
    out->dims = tree->dims;
    out->columns = tree->dims < LEAF_COLUMNS_MIN ? LEAF_COLUMNS_MIN : tree->dims;
    out->scalar = tree->scalar;
    out->shape = tree->dims > LEAF_COLUMNS_MIN ? leaf_shape_tied(tree) : leaf_shape_of(tree->count);
    if (tree->dims > LEAF_COLUMNS_MIN || tree->scalar == POINT_DOUBLE)
        out->shape.wide_leaves = out->shape.leaf_count;
}

kd_status leafindex_open(leafindex *out, const pointtree_nd_view *tree, bool places) {
    kd_status status = KD_OK;
    index_work work = {tree, out, {NULL, NULL}, 0};
    begin(out, tree);
    if (tree->count == 0) return KD_OK;
    KD_TRY_GOTO(reserve(out, places, tree->scalar == POINT_DOUBLE && needs_frames(tree)));
    if (out->shape.ties) KD_TRY_GOTO(leaf_slots_open(&work.slots, tree, &out->shape));
    for (work.level = out->frames ? out->shape.levels : 0; work.level-- > 0;)
        parallel_for(leaf_groups(&out->shape, work.level), GRAIN, frame_piece, &work);
    parallel_for(out->shape.leaf_count, GRAIN, bucket_piece, &work);
    for (work.level = out->shape.levels; work.level-- > 1;)
        parallel_for(leaf_groups(&out->shape, work.level), GRAIN, group_piece, &work);
    if (places) parallel_for(tree->count, 1 << 14, place_piece, &work);
done:
    leaf_slots_close(&work.slots);
    if (status != KD_OK) leafindex_close(out);
    return status;
}

void leafindex_close(leafindex *owned) {
    memory_free(owned->leaves);
    memory_free(owned->boxes);
    memory_free(owned->min_ids);
    memory_free(owned->nodes);
    memory_free(owned->frames);
    memset(owned, 0, sizeof *owned);
}

uint64_t leafindex_bytes(const leafindex *index) {
    return leaves_bytes(index) + boxes_bytes(index) +
           (uint64_t)index->shape.groups * LEAF_GROUP * sizeof *index->min_ids +
           (index->frames ? index->shape.groups * index->columns * sizeof *index->frames : 0) +
           (index->nodes ? index->shape.count * sizeof *index->nodes : 0);
}

uint64_t leafindex_bytes_of(uint64_t count, bool places) {
    pointtree_nd_view tree;
    leafindex index;
    memset(&tree, 0, sizeof tree);
    tree.count = (uint32_t)count;
    tree.dims = 3;
    begin(&index, &tree);
    return leafindex_bytes(&index) + (places ? count * sizeof *index.nodes : 0);
}

/* --- restoring the tree --------------------------------------------------------------------- */

typedef struct restoring {
    const leafindex *index;
    float *coordinates;
    uint32_t *ids;
} restoring;

static void restore_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const restoring *work = (const restoring *)context;
    const uint32_t dims = work->index->dims;
    for (int64_t s = begin; s < end; ++s) {
        uint32_t nodes[LEAF_POINTS];
        const uint32_t filled = leaf_members(&work->index->shape, (uint32_t)s, nodes);
        const leaf_points leaf = leafindex_bucket(work->index, (uint32_t)s);
        const float *column = (const float *)leaf.at;
        for (uint32_t i = 0; work->ids && i < filled; ++i) work->ids[nodes[i]] = leaf.id[i];
        for (uint32_t axis = 0; work->coordinates && axis < dims; ++axis, column += leaf.places)
            for (uint32_t i = 0; i < filled; ++i)
                work->coordinates[(uint64_t)nodes[i] * dims + axis] = column[i];
    }
}

void leafindex_restore(const leafindex *index, float *coordinates, uint32_t *ids) {
    restoring work = {index, coordinates, ids};
    parallel_for(index->shape.leaf_count, GRAIN, restore_piece, &work);
}
