/* Buckets of points under groups of eight boxes.
   Source: the wide nodes of Wald, Benthin, Boulos 2008, "Getting rid of packets", on the buckets
           that the lowest levels of a left-balanced tree are anyway.
   Idea: a bucket is a sub-tree of four levels with the node that follows it in order, so the
         buckets in order are all points in order, and three levels of the tree are a group of eight
         boxes. A query looks at eight boxes or sixteen points at once, nearest box first.
   Memory: 256 bytes a bucket of 8 to 16 points, 192 bytes a group, 4 bytes a point.
   Invariants: a box's distance is rounded like a point's, hence never above that of a point in it:
           the answers are exact. */
#include "photon/leafindex.h"
#include "core/memory.h"
#include "core/pages.h"
#include "core/parallel.h"

enum { BUCKET_LEVELS = 4 }; /* of the tree below a bucket's root: 15 points at most */

typedef struct index_work {
    const pointtree_nd_view *tree;
    leafindex *out;
    uint32_t bucket_level; /* of the buckets' roots */
    uint32_t level;        /* of groups, whose boxes go up */
} index_work;

static void bucket_add(index_work *work, leaf_points *leaf, uint32_t *filled, box3 *box,
                       uint32_t node) {
    const pointtree_nd_view *tree = work->tree;
    const float *c = (const float *)tree->coordinates + (uint64_t)node * tree->dims;
    const vec3 point = vec3_make(c[0], c[1], tree->dims == 3 ? c[2] : 0);
    leaf->x[*filled] = point.x;
    leaf->y[*filled] = point.y;
    leaf->z[*filled] = point.z;
    leaf->id[*filled] = tree->ids[node];
    work->out->nodes[leaf->id[*filled]] = node;
    ++*filled;
    box3_include(box, point);
}

static void group_set(leafindex *index, uint32_t level, uint32_t child, const box3 *box) {
    leaf_group *group = &index->groups[index->level_begin[level] + child / LEAF_GROUP];
    for (int axis = 0; axis < 3; ++axis) {
        group->lo[axis][child % LEAF_GROUP] = vec3_axis(box->lo, axis);
        group->hi[axis][child % LEAF_GROUP] = vec3_axis(box->hi, axis);
    }
}

static void bucket_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    index_work *work = (index_work *)context;
    leafindex *index = work->out;
    for (uint32_t s = (uint32_t)begin; s < (uint32_t)end; ++s) {
        leaf_points *leaf = &index->leaves[s];
        box3 box = box3_empty();
        uint32_t filled = 0, row = pointtree_level_begin(work->bucket_level) + s;
        for (uint32_t width = 1; width < 1u << BUCKET_LEVELS; width *= 2, row = 2 * row + 1)
            for (uint32_t node = row; node < row + width && node < index->count; ++node)
                bucket_add(work, leaf, &filled, &box, node);
        if (s + 1 < index->leaf_count) { /* the node that follows in order */
            const uint32_t up = (uint32_t)__builtin_ctz(s + 1) + 1;
            bucket_add(work, leaf, &filled, &box,
                       pointtree_level_begin(work->bucket_level - up) + (s >> up));
        }
        for (; filled < LEAF_POINTS; ++filled) {
            leaf->x[filled] = leaf->y[filled] = leaf->z[filled] = NAN;
            leaf->id[filled] = KD_NONE;
        }
        if (index->levels) group_set(index, index->levels - 1, s, &box);
    }
}

static void group_piece(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    index_work *work = (index_work *)context;
    for (int64_t g = begin; g < end; ++g) {
        const leaf_group *group = &work->out->groups[work->out->level_begin[work->level] + g];
        box3 box = box3_empty();
        for (int lane = 0; lane < LEAF_GROUP; ++lane) {
            box3_include(&box,
                         vec3_make(group->lo[0][lane], group->lo[1][lane], group->lo[2][lane]));
            box3_include(&box,
                         vec3_make(group->hi[0][lane], group->hi[1][lane], group->hi[2][lane]));
        }
        group_set(work->out, work->level - 1, (uint32_t)g, &box);
    }
}

static uint32_t group_count(const leafindex *index, uint32_t level) {
    return level == 0 ? 1 : index->leaf_count >> 3 * (index->levels - level);
}

kd_status leafindex_open(leafindex *out, const pointtree_nd_view *tree) {
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    out->count = tree->count;
    if (tree->count == 0) return KD_OK;
    assert(tree->scalar == POINT_FLOAT && tree->dims <= 3);
    const uint32_t tree_levels = pointtree_levels(tree->count);
    const uint32_t bucket_level = tree_levels > BUCKET_LEVELS ? tree_levels - BUCKET_LEVELS : 0;
    index_work work = {tree, out, bucket_level, 0};
    out->leaf_count = 1u << bucket_level;
    out->levels = (bucket_level + 2) / 3;
    uint32_t groups = 0;
    for (uint32_t level = 0; level < out->levels; ++level) {
        out->level_begin[level] = groups;
        groups += group_count(out, level);
    }
    if (out->levels) out->root_children = out->leaf_count >> 3 * (out->levels - 1);
    KD_TRY_GOTO(KD_RESERVE(out->leaves, out->leaf_count));
    KD_TRY_GOTO(KD_RESERVE(out->groups, groups));
    if (groups) memset(out->groups, 0, sizeof *out->groups); /* the root may have less than eight */
    KD_TRY_GOTO(KD_RESERVE(out->nodes, out->count));
    pages_prefer_large(out->leaves, out->leaf_count * sizeof *out->leaves);
    pages_prefer_large(out->groups, groups * sizeof *out->groups);
    pages_prefer_large(out->nodes, out->count * sizeof *out->nodes);
    parallel_for(out->leaf_count, 512, bucket_piece, &work);
    for (work.level = out->levels; work.level-- > 1;)
        parallel_for(group_count(out, work.level), 512, group_piece, &work);
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
    uint64_t groups = 0;
    for (uint32_t level = 0; level < index->levels; ++level) groups += group_count(index, level);
    return index->leaf_count * sizeof(leaf_points) + groups * sizeof(leaf_group) +
           index->count * sizeof(uint32_t);
}
