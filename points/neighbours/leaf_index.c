/* Buckets of points under groups of eight boxes.
   Source: the wide nodes of Wald, Benthin, Boulos 2008, "Getting rid of packets", on the buckets
           that the lowest levels of a left-balanced tree are anyway.
   Idea: a bucket is a sub-tree of four levels with the node that follows it in order, so the
         buckets in order are all points in order, and three levels of the tree are a group of eight
         boxes. A query looks at eight boxes or sixteen points at once, nearest box first.
         Where many points lie in the planes of nodes (a grid's) that tears equal ones apart, and
         boxes overlap: then, if asked for, points are cut beside those planes, not through them,
         into twice as many buckets, of which half stay empty.
   Memory: 256 bytes a bucket of 9 to 16 points, 128 of up to eight; 224 bytes a group; with ties
           256 bytes a bucket and twice as many. The buckets hold all that the tree does: it can be
           had back from them.
   Invariants: a box's distance is rounded like a point's, hence never above that of a point in it:
           the answers are exact. */
#include "points/neighbours/leaf_index.h"
#include "core/large_pages.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/select_keys.h"

enum { BUCKET_LEVELS = 4 }; /* of the tree below a bucket's root: 15 points at most */

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
    /* a bucket has seven nodes above the last level, eight of it while they last, and one more */
    const uint32_t low = count - pointtree_level_begin(tree_levels - 1);
    shape.wide_leaves = shape.bucket_level > 0 ? (low + 7) / 8 : shape.leaf_count;
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
    if (s + 1 < shape->leaf_count) { /* the node that follows in order */
        const uint32_t up = (uint32_t)__builtin_ctz(s + 1) + 1;
        nodes[filled++] = pointtree_level_begin(shape->bucket_level - up) + (s >> up);
    }
    return filled;
}

typedef struct index_work {
    const pointtree_nd_view *tree;
    leafindex *out;
} index_work;

typedef struct group_work {
    leaf_group *groups;
    const leaf_shape *shape;
    uint32_t level; /* of groups, whose boxes go up */
} group_work;

void leaf_group_set(leaf_group *groups, const leaf_shape *shape, uint32_t level, uint32_t child,
                    const box3 *box, uint32_t least_id) {
    leaf_group *group = &groups[shape->level_begin[level] + child / LEAF_GROUP];
    group->least_id[child % LEAF_GROUP] = least_id;
    for (int axis = 0; axis < 3; ++axis) {
        group->lo[axis][child % LEAF_GROUP] = vec3_axis(box->lo, axis);
        group->hi[axis][child % LEAF_GROUP] = vec3_axis(box->hi, axis);
    }
}

/* A bucket's points, by place. */
typedef struct bucket_points {
    float at[LEAF_POINTS][3];
    uint32_t id[LEAF_POINTS];
} bucket_points;

/* The points of bucket s in the order of leaf_members, what is not there being the first of them
   again, of no id. Returns how many there are. */
static uint32_t bucket_gather(const index_work *work, uint32_t s, bucket_points *to) {
    const pointtree_nd_view *tree = work->tree;
    uint32_t nodes[LEAF_POINTS];
    const uint32_t filled = leaf_members(&work->out->shape, s, nodes);
    for (uint32_t i = 0; i < LEAF_POINTS; ++i) {
        const uint32_t node = nodes[i < filled ? i : 0];
        const float *c = (const float *)tree->coordinates + (uint64_t)node * tree->dims;
        to->at[i][0] = c[0];
        to->at[i][1] = tree->dims > 1 ? c[1] : 0;
        to->at[i][2] = tree->dims == 3 ? c[2] : 0;
        to->id[i] = i < filled ? tree->ids[node] : KD_NONE;
    }
    return filled;
}

/* The same for `places` - 1 points of three floats with the one that follows: runs of 1, 2, 4 and
   8 nodes. */
static uint32_t bucket_gather_full(const index_work *work, uint32_t s, int places,
                                   bucket_points *to) {
    const vec3 *from = (const vec3 *)work->tree->coordinates;
    const uint32_t *ids = work->tree->ids, level = work->out->shape.bucket_level;
    const uint32_t node = pointtree_level_begin(level) + s, up = (uint32_t)__builtin_ctz(s + 1) + 1;
    const uint32_t next = pointtree_level_begin(level - up) + (s >> up);
    memcpy(to->at[0], from + node, sizeof to->at[0]);
    memcpy(to->at[1], from + 2 * node + 1, 2 * sizeof to->at[0]);
    memcpy(to->at[3], from + 4 * node + 3, 4 * sizeof to->at[0]);
    to->id[0] = ids[node];
    memcpy(to->id + 1, ids + 2 * node + 1, 2 * sizeof *ids);
    memcpy(to->id + 3, ids + 4 * node + 3, 4 * sizeof *ids);
    if (places == LEAF_POINTS) {
        memcpy(to->at[7], from + 8 * node + 7, 8 * sizeof to->at[0]);
        memcpy(to->id + 7, ids + 8 * node + 7, 8 * sizeof *ids);
    }
    memcpy(to->at[places - 1], from + next, sizeof to->at[0]);
    to->id[places - 1] = ids[next];
    return (uint32_t)places;
}

/* Whether bucket s has as many points as places. */
static bool bucket_is_full(const leaf_shape *shape, uint32_t s) {
    const uint32_t node = pointtree_level_begin(shape->bucket_level) + s;
    if (s + 1 >= shape->leaf_count) return false;
    return s >= shape->wide_leaves || 8 * node + 14 < shape->count;
}

static void bucket_fill(const index_work *work, uint32_t s) {
    leafindex *index = work->out;
    const leaf_points leaf = leafindex_bucket(index, s);
    float *at = index->leaves + (leaf.x - index->leaves);
    bucket_points points;
    const uint32_t filled = work->tree->dims == 3 && bucket_is_full(&index->shape, s)
                                ? bucket_gather_full(work, s, leaf.places, &points)
                                : bucket_gather(work, s, &points);
    box3 box = box3_empty();
    for (int axis = 0; axis < 3; ++axis, at += leaf.places) {
        float lo = points.at[0][axis], hi = lo;
        for (int i = 0; i < leaf.places; ++i) {
            const float x = points.at[i][axis];
            at[i] = x;
            lo = x < lo ? x : lo;
            hi = x > hi ? x : hi;
        }
        vec3_set_axis(&box.lo, axis, lo);
        vec3_set_axis(&box.hi, axis, hi);
        for (int i = (int)filled; i < leaf.places; ++i) at[i] = NAN;
    }
    memcpy(at, points.id, (size_t)leaf.places * sizeof *points.id);
    uint32_t least_id = KD_NONE;
    for (int i = 0; i < leaf.places; ++i)
        least_id = points.id[i] < least_id ? points.id[i] : least_id;
    if (index->shape.levels)
        leaf_group_set(index->groups, &index->shape, index->shape.levels - 1, s, &box, least_id);
}

static void bucket_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    for (int64_t s = begin; s < end; ++s) bucket_fill((const index_work *)context, (uint32_t)s);
}

/* Where each id is. */
static void place_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const index_work *work = (const index_work *)context;
    for (int64_t node = begin; node < end; ++node)
        work->out->nodes[work->tree->ids[node]] = (uint32_t)node;
}

static void group_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const group_work *work = (const group_work *)context;
    for (int64_t g = begin; g < end; ++g) {
        const leaf_group *group = &work->groups[work->shape->level_begin[work->level] + g];
        box3 box = box3_empty();
        uint32_t least_id = KD_NONE;
        for (int i = 0; i < LEAF_GROUP; ++i) {
            if (group->least_id[i] < least_id) least_id = group->least_id[i];
            box3_include(&box, vec3_make(group->lo[0][i], group->lo[1][i], group->lo[2][i]));
            box3_include(&box, vec3_make(group->hi[0][i], group->hi[1][i], group->hi[2][i]));
        }
        leaf_group_set(work->groups, work->shape, work->level - 1, (uint32_t)g, &box, least_id);
    }
}

void leaf_groups_fill(leaf_group *groups, const leaf_shape *shape) {
    group_work work = {groups, shape, shape->levels};
    while (work.level > 1) {
        --work.level;
        parallel_for(leaf_groups(shape, work.level), 512, group_piece, &work);
    }
}

static uint64_t leaf_floats(const leaf_shape *shape) {
    return 4 * (uint64_t)(LEAF_POINTS / 2) * ((uint64_t)shape->leaf_count + shape->wide_leaves);
}

kd_status leafindex_open(leafindex *out, const pointtree_nd_view *tree, bool places) {
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    out->shape = leaf_shape_of(tree->count);
    if (tree->count == 0) return KD_OK;
    assert(tree->scalar == POINT_FLOAT && tree->dims <= 3);
    index_work work = {tree, out};
    const uint64_t group_bytes = out->shape.groups * sizeof *out->groups;
    const uint64_t floats = leaf_floats(&out->shape);
    KD_TRY_GOTO(KD_RESERVE(out->leaves, floats));
    KD_TRY_GOTO(KD_RESERVE(out->groups, out->shape.groups));
    if (places) KD_TRY_GOTO(KD_RESERVE(out->nodes, tree->count));
    large_pages_prefer(out->leaves, floats * sizeof *out->leaves);
    large_pages_prefer(out->groups, group_bytes);
    if (places) large_pages_prefer(out->nodes, tree->count * sizeof *out->nodes);
    memset(out->groups, 0, group_bytes); /* the root may have less than eight */
    parallel_for(out->shape.leaf_count, 512, bucket_piece, &work);
    leaf_groups_fill(out->groups, &out->shape);
    if (places) parallel_for(tree->count, 1 << 14, place_piece, &work);
done:
    if (status != KD_OK) leafindex_close(out);
    return status;
}

void leafindex_close(leafindex *owned) {
    memory_free(owned->leaves);
    memory_free(owned->groups);
    memory_free(owned->nodes);
    memset(owned, 0, sizeof *owned);
}

uint64_t leafindex_bytes(const leafindex *index) {
    return leafindex_bytes_of(index->shape.count, index->nodes != NULL);
}

uint64_t leafindex_bytes_of(uint64_t count, bool places) {
    const leaf_shape shape = leaf_shape_of((uint32_t)count);
    return leaf_floats(&shape) * sizeof(float) + shape.groups * sizeof(leaf_group) +
           (places ? count * sizeof(uint32_t) : 0);
}

typedef struct restoring {
    const leafindex *from;
    uint32_t dims;
    float *coordinates;
    uint32_t *ids;
} restoring;

static void restore_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    const restoring *work = (const restoring *)context;
    for (int64_t s = begin; s < end; ++s) {
        uint32_t nodes[LEAF_POINTS];
        const uint32_t filled = leaf_members(&work->from->shape, (uint32_t)s, nodes);
        const leaf_points leaf = leafindex_bucket(work->from, (uint32_t)s);
        const float *const columns[3] = {leaf.x, leaf.y, leaf.z};
        for (uint32_t i = 0; work->ids && i < filled; ++i) work->ids[nodes[i]] = leaf.id[i];
        for (uint32_t axis = 0; work->coordinates && axis < work->dims; ++axis)
            for (uint32_t i = 0; i < filled; ++i)
                work->coordinates[(uint64_t)nodes[i] * work->dims + axis] = columns[axis][i];
    }
}

void leafindex_restore(const leafindex *index, uint32_t dims, float *coordinates, uint32_t *ids) {
    restoring work = {index, dims, coordinates, ids};
    parallel_for(index->shape.leaf_count, 512, restore_piece, &work);
}

/* --- ties ----------------------------------------------------------------------------------------
 */

/* How ties are told, of the nodes above buckets' roots: a point to the left lies in the plane too,
   at another place, or all of them do, at the same one. */
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
    enum { ASKED = 64, MOST_LEVELS = 26 }; /* 2^31 places of buckets */
    leaf_shape shape = leaf_shape_of(tree->count);
    if (shape.bucket_level < 2 || shape.bucket_level > MOST_LEVELS) return shape;
    const uint32_t level = shape.bucket_level - 1, width = 1u << level;
    const uint32_t asked = width < ASKED ? width : ASKED;
    uint32_t tied = 0;
    for (uint32_t i = 0; i < asked; ++i)
        tied += plane_is_tied(tree, pointtree_level_begin(level) + i * (width / asked));
    if (2 * tied < asked) return shape;
    shape_levels(&shape, shape.bucket_level + 1);
    shape.ties = true;
    return shape;
}

/* Points from left to right; floats tell coordinates apart, counted from the least. */
typedef struct tied_points {
    const pointtree_nd_view *tree;
    const leaf_shape *shape;
    float *rows;     /* `dims` of each point */
    uint32_t *nodes; /* of each point */
    uint64_t *keys;  /* what is compared, above the number of a point */
    const leaf_slots *out;
} tied_points;

enum { TIED_LEVELS = 12 }; /* of buckets below a node of the tree that are shared out together */

static float tied_coordinate(const pointtree_nd_view *tree, uint32_t node, uint32_t axis) {
    return (float)(pointtree_nd_coordinate(tree, node, axis) - tree->box.lo[axis]);
}

/* Cuts keys[0, count) beside the points that lie in a plane, where it is nearer to the middle.
   Returns how many come first. */
static uint32_t tied_cut(const tied_points *points, uint64_t *keys, uint32_t count, uint32_t axis,
                         float plane) {
    const uint32_t dims = points->tree->dims;
    uint32_t less = 0, most = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t point = (uint32_t)keys[i];
        const float x = points->rows[(uint64_t)point * dims + axis];
        keys[i] = (uint64_t)float_bits(x) << 32 | point;
        less += x < plane;
        most += x <= plane;
    }
    const bool above = less == 0 || (most < count && most + less < count);
    return keys_partition(keys, count, (uint64_t)(float_bits(plane) + above) << 32);
}

/* The same by the point in the middle. */
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

/* Without a place between unequal coordinates: by id, whole buckets. */
static uint32_t tied_cut_equal(const tied_points *points, uint64_t *keys, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t point = (uint32_t)keys[i];
        keys[i] = (uint64_t)points->tree->ids[points->nodes[point]] << 32 | point;
    }
    const uint32_t half = (count / 2 + LEAF_POINTS - 1) / LEAF_POINTS * LEAF_POINTS;
    keys_select(keys, count, half - 1);
    return half;
}

static bool tied_cut_serves(uint32_t cut, uint32_t count, uint32_t room) {
    const uint32_t side = cut < count - cut ? cut : count - cut;
    return 4 * side >= count && count - side <= room;
}

/* By the widest axis along which points can be parted evenly enough. */
static uint32_t tied_share(const tied_points *points, uint64_t *keys, uint32_t count,
                           uint32_t room) {
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
        if (tied_cut_serves(cut, count, room)) return cut;
    }
    return tied_cut_equal(points, keys, count);
}

/* Shares out keys[0, count) to `leaves` buckets: by the plane of a node of the tree, whose points
   they are but for some in planes, or by one of their own. */
static void tied_split(const tied_points *points, uint64_t *keys, uint32_t count, uint32_t first,
                       uint32_t leaves, uint32_t node) {
    const pointtree_nd_view *tree = points->tree;
    while (count > LEAF_POINTS) {
        const uint32_t room = (leaves /= 2) * LEAF_POINTS;
        uint32_t cut = 0;
        if (node < tree->count) {
            const uint32_t axis = pointtree_nd_axis(tree, node);
            cut = tied_cut(points, keys, count, axis, tied_coordinate(tree, node, axis));
        }
        if (!tied_cut_serves(cut, count, room)) cut = tied_share(points, keys, count, room);
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
