/* Builder `zhou` on the CPU, multithreaded.
   Source: Zhou, Hou, Wang, Guo 2008, "Real-time kd-tree construction on graphics hardware", as
   built and timed by Choi and Ye 2020.
   Idea: empty space is cut off large nodes (large_nodes.c), which are then split at the spatial
   median of their longest side. In a node of at most 64 triangles the sides of its triangles' boxes
   are the candidate planes for its whole subtree, each with bit masks of the triangles on both
   sides, so that an SAH cost takes two population counts. The decisions are in stages.h, which the
   GPU version (build_zhou.cu) shares. Nodes are processed depth first; the right child is offered
   to other threads, as in the builder `parallel`.
   Work: O(n log n).
   Memory: about 400 bytes per triangle.
   Invariants: the tree is a function of its input, the same for any number of threads and on a GPU;
   ids in a leaf ascend.
   Differs from the paper in: the points listed in stages.h; nodes are not processed level by level,
   which gives the same nodes. */
#include "accel/zhou/build_zhou.h"
#include "accel/tree/build.h"
#include "core/memory.h"
#include <stdio.h>

/* --- Small nodes --- */

typedef struct small_stage {
    zhou_candidates all;
    const zhou_part *parts;
    zhou_build *build;
} small_stage;

/* A node of the small-node stage. */
typedef struct small_subset {
    uint64_t set; /* bits of the root's triangles */
    box3 box;
    uint32_t depth;
    uint32_t at; /* index in the tree */
} small_subset;

/* Zhou 2008, algorithm 4: the masks of every candidate. */
void zhou_candidates_make(zhou_candidates *out, const zhou_part *parts, uint32_t count) {
    out->count = count;
    for (int side = 0; side < ZHOU_SIDES; ++side)
        for (uint32_t i = 0; i < count; ++i)
            out->plane[side][i] = vec3_axis(side & 1 ? parts[i].box.hi : parts[i].box.lo, side / 2);
    for (int side = 0; side < ZHOU_SIDES; ++side) {
        const float *lo = out->plane[side & ~1], *hi = out->plane[side | 1];
        for (uint32_t i = 0; i < count; ++i) {
            const float plane = out->plane[side][i];
            uint64_t left = 0, right = 0;
            for (uint32_t j = 0; j < count; ++j) {
                const uint64_t sides = zhou_candidate_sides(lo[j], hi[j], plane, side);
                left |= (sides & 1) << j;
                right |= sides >> 1 << j;
            }
            out->left[side][i] = left;
            out->right[side][i] = right;
        }
    }
}

static uint32_t count_of(uint64_t set) {
    return (uint32_t)__builtin_popcountll(set);
}

/* Zhou 2008, algorithm 5: the best candidate whose triangle is in the node. */
static zhou_choice search(const small_stage *stage, const small_subset *node) {
    zhou_choice best = zhou_choice_none();
    for (int side = 0; side < ZHOU_SIDES; ++side) {
        const sah_axis areas = zhou_axis_of(node->box, side / 2);
        for (uint64_t left_over = node->set; left_over; left_over &= left_over - 1) {
            const uint32_t i = (uint32_t)__builtin_ctzll(left_over);
            zhou_choice tried = {0, stage->all.plane[side][i], side, i};
            if (!zhou_is_candidate(&areas, tried.plane, side)) continue;
            tried.cost = sah_split_cost(&stage->build->costs, &areas, tried.plane,
                                        count_of(node->set & stage->all.left[side][i]),
                                        count_of(node->set & stage->all.right[side][i]));
            if (zhou_choice_better(&tried, &best)) best = tried;
        }
    }
    return best;
}

static kd_status write_leaf(const small_stage *stage, const small_subset *node) {
    uint32_t *ids = NULL;
    KD_TRY(tree_writer_leaf(&stage->build->writer, node->at, count_of(node->set), &ids));
    for (uint64_t set = node->set; set; set &= set - 1)
        *ids++ = stage->parts[__builtin_ctzll(set)].id;
    return KD_OK;
}

static kd_status subdivide(const small_stage *stage, const small_subset *node) {
    zhou_build *build = stage->build;
    const uint32_t count = count_of(node->set);
    zhou_choice best = zhou_choice_none();
    if (zhou_may_split(&build->costs, count, node->depth, build->max_depth))
        best = search(stage, node);
    if (!(best.cost < build->costs.intersect * (float)count)) return write_leaf(stage, node);
    small_subset left = *node, right = *node;
    KD_TRY(tree_writer_inner(&build->writer, node->at, best.side / 2, best.plane, &left.at));
    right.at = left.at + 1;
    left.depth = right.depth = node->depth + 1;
    left.set &= stage->all.left[best.side][best.from];
    right.set &= stage->all.right[best.side][best.from];
    vec3_set_axis(&left.box.hi, best.side / 2, best.plane);
    vec3_set_axis(&right.box.lo, best.side / 2, best.plane);
    KD_TRY(subdivide(stage, &left));
    return subdivide(stage, &right);
}

/* Builds the subtree of a node of at most ZHOU_SMALL_MAX triangles. */
static kd_status build_small(zhou_build *build, const zhou_node *node, const zhou_part *parts) {
    small_stage stage;
    stage.parts = parts;
    stage.build = build;
    zhou_candidates_make(&stage.all, parts, node->count);
    const uint64_t set = node->count == 64 ? UINT64_MAX : (1ull << node->count) - 1;
    const small_subset top = {set, node->box, node->depth, node->at};
    return subdivide(&stage, &top);
}

/* --- The tree --- */

enum { BRANCH_TRIANGLES = 1024 }; /* minimum size for a task */

/* A child offered to other threads. */
typedef struct branch {
    task base;
    const zhou_build *from;
    const zhou_node *node;
    const zhou_part *parts;
    zhou_build build; /* state of the thread that builds it */
    kd_status status;
    char message[256];
} branch;

static uint64_t build_zhou_scratch_bytes(uint32_t triangle_count) {
    return 400 * (uint64_t)triangle_count;
}

static kd_status grow(zhou_build *build, const zhou_node *node, const zhou_part *parts);

static void grow_branch(task *self) {
    branch *job = (branch *)(void *)self;
    zhou_node root = *job->node;
    root.at = 0;
    job->build = *job->from;
    job->build.seconds[0] = job->build.seconds[1] = 0;
    job->status =
        tree_writer_open(&job->build.writer, 4 * (uint64_t)root.count, 4 * (uint64_t)root.count);
    if (job->status == KD_OK) job->status = grow(&job->build, &root, job->parts);
    if (job->status != KD_OK) snprintf(job->message, sizeof job->message, "%s", kd_last_error());
}

static kd_status append(zhou_build *build, uint32_t at, const branch *grown) {
    KD_REQUIRE(grown->status == KD_OK, grown->status, "%s", grown->message);
    for (int i = 0; i < 2; ++i) build->seconds[i] += grown->build.seconds[i];
    return tree_writer_append(&build->writer, at, &grown->build.writer, build->pool);
}

/* Processes both children of a node; the right one on another thread if one is idle. */
static kd_status grow_apart(zhou_build *build, const zhou_split *split) {
    const zhou_node *left = split->child, *right = split->child + 1;
    branch other;
    memset(&other, 0, sizeof other);
    other.base.run = grow_branch;
    other.base.kind = TASK_BRANCH;
    other.from = build;
    other.node = right;
    other.parts = split->parts[1];
    task_offer(build->pool, &other.base);
    kd_status status = grow(build, left, split->parts[0]);
    const bool taken = task_join(build->pool, &other.base);
    if (status == KD_OK)
        status = taken ? append(build, right->at, &other) : grow(build, right, split->parts[1]);
    if (taken) tree_writer_close(&other.build.writer);
    return status;
}

static kd_status grow_children(zhou_build *build, zhou_split *split) {
    uint32_t *none = NULL;
    if (split->child[0].count >= BRANCH_TRIANGLES && split->child[1].count >= BRANCH_TRIANGLES) {
        KD_TRY(grow_apart(build, split));
    } else {
        KD_TRY(grow(build, split->child, split->parts[0]));
        KD_TRY(grow(build, split->child + 1, split->parts[1]));
    }
    while (split->empty_count > 0)
        KD_TRY(
            tree_writer_leaf(&build->writer, split->empty_right[--split->empty_count], 0, &none));
    return KD_OK;
}

static kd_status grow(zhou_build *build, const zhou_node *node, const zhou_part *parts) {
    const bool small = node->count <= ZHOU_SMALL_MAX;
    const double started = timing_now();
    bool leaf = true;
    zhou_split split;
    memset(&split, 0, sizeof split);
    kd_status status = KD_OK;
    if (small)
        KD_TRY_GOTO(build_small(build, node, parts));
    else
        KD_TRY_GOTO(zhou_large_step(build, node, parts, &leaf, &split));
    build->seconds[small] += timing_now() - started;
    if (!leaf) KD_TRY_GOTO(grow_children(build, &split));
done:
    memory_free(split.parts[0]);
    return status;
}

typedef struct whole_tree {
    zhou_build build;
    zhou_node root;
    zhou_part *parts;
    kd_status status;
} whole_tree;

static void grow_tree(task_pool *pool, void *context) {
    whole_tree *tree = (whole_tree *)context;
    tree->build.pool = pool;
    tree->status = grow(&tree->build, &tree->root, tree->parts);
}

/* Fills the stages' seconds. Threads process large and small nodes at the same time, so these get
   shares of the time, in proportion to the time that the threads spent. */
static void share_seconds(double stages[TRITREE_STAGES], const double spent[2], double elapsed) {
    const double all = spent[0] + spent[1];
    stages[TRITREE_LARGE] = all > 0 ? elapsed * spent[0] / all : 0;
    stages[TRITREE_SMALL] = all > 0 ? elapsed * spent[1] / all : 0;
}

static void begin_root(zhou_node *root, box3 box) {
    memset(root, 0, sizeof *root);
    root->box.lo = zhou_corner(box.lo);
    root->box.hi = zhou_corner(box.hi);
    root->tight = root->box;
    root->growth = ZHOU_GROWTH_MAX;
}

static kd_status build_zhou(tritree *out, const tritree_input *input,
                            const tritree_options *options, job_control *job) {
    whole_tree tree;
    memset(&tree, 0, sizeof tree);
    zhou_build *build = &tree.build;
    build->input = input;
    build->costs =
        (sah_costs){options->traversal_cost, options->intersect_cost, options->empty_factor};
    build->max_depth = (uint32_t)tritree_depth_limit(options, input->triangle_count);
    build->job = job;
    begin_root(&tree.root, out->box);
    kd_status status = KD_OK;
    const double started = timing_now();
    KD_TRY_GOTO(zhou_first_parts(&tree.parts, &tree.root.count, input));
    const uint64_t expected = 4 * (uint64_t)tree.root.count;
    KD_TRY_GOTO(tree_writer_open(&build->writer, expected, expected));
    const double start = timing_now();
    out->stage_seconds[TRITREE_INIT] = start - started;
    task_pool_run(grow_tree, &tree);
    KD_TRY_GOTO(tree.status);
    share_seconds(out->stage_seconds, build->seconds, timing_now() - start);
    tree_writer_finish(&build->writer, out);
done:
    tree_writer_close(&build->writer);
    memory_free(tree.parts);
    return status;
}

const tritree_builder tritree_builder_zhou = {
    .name = "zhou",
    .source = "Zhou, Hou, Wang, Guo 2008: spatial median, then SAH with bit masks",
    .scratch_bytes = build_zhou_scratch_bytes,
    .references = 4,
    .build = build_zhou,
    .all_cores = true};
