/* Builder `zhou` on the CPU, multithreaded.
   Source: Zhou, Hou, Wang, Guo 2008, "Real-time kd-tree construction on graphics hardware", as
   built and timed by Choi and Ye 2020.
   Idea: large nodes, level by level, lose empty space and are split at the spatial median of their
   longest side. A node of at most 64 triangles is a small root: the sides of its triangles' boxes
   are the candidate planes for its whole subtree, each with bit masks of the triangles on both
   sides, so that an SAH cost takes two population counts. The decisions are in stages.h, which the
   GPU version (build_zhou.cu) shares.
   Work: O(n log n).
   Memory: about 400 bytes per triangle.
   Invariants: the tree is a function of its input, the same for any number of threads and on a GPU;
   ids in a leaf ascend.
   Differs from the paper in: the points listed in stages.h; below a small root nodes are processed
   depth first, not level by level, which gives the same nodes. */
#include "accel/zhou/build_zhou.h"
#include "accel/tree/build.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

typedef struct small_stage {
    zhou_candidates all;
    const zhou_part *parts;
    sah_costs costs;
    uint32_t max_depth;
    zhou_output *to;
    uint64_t node_begin, id_begin;
} small_stage;

/* A node of the small-node stage. */
typedef struct small_subset {
    uint64_t set; /* of the root's triangles */
    box3 box;
    uint32_t depth;
    uint64_t at; /* index in the output; TOP: the root */
} small_subset;
#define TOP UINT64_MAX

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
        const sah_axis of = zhou_axis_of(node->box, side / 2);
        for (uint64_t left_over = node->set; left_over; left_over &= left_over - 1) {
            const uint32_t i = (uint32_t)__builtin_ctzll(left_over);
            zhou_choice tried = {0, stage->all.plane[side][i], side, i};
            if (!zhou_is_candidate(&of, tried.plane, side)) continue;
            tried.cost = sah_split_cost(&stage->costs, &of, tried.plane,
                                        count_of(node->set & stage->all.left[side][i]),
                                        count_of(node->set & stage->all.right[side][i]));
            if (zhou_choice_better(&tried, &best)) best = tried;
        }
    }
    return best;
}

static void put(small_stage *stage, zhou_root *root, const small_subset *node, tritree_node made) {
    if (node->at == TOP)
        root->top = made;
    else
        stage->to->nodes[node->at] = made;
}

static kd_status write_leaf(small_stage *stage, zhou_root *root, const small_subset *node) {
    zhou_output *to = stage->to;
    const uint32_t count = count_of(node->set);
    if (to->id_count + count > to->id_room) {
        to->id_room = 2 * to->id_room + 1024;
        KD_TRY(KD_GROW(to->ids, to->id_count, to->id_room));
    }
    put(stage, root, node, tritree_leaf((uint32_t)(to->id_count - stage->id_begin), count));
    for (uint64_t set = node->set; set; set &= set - 1)
        to->ids[to->id_count++] = stage->parts[__builtin_ctzll(set)].id;
    return KD_OK;
}

static kd_status subdivide(small_stage *stage, zhou_root *root, const small_subset *node) {
    zhou_output *to = stage->to;
    const uint32_t count = count_of(node->set);
    zhou_choice best = zhou_choice_none();
    if (zhou_may_split(&stage->costs, count, node->depth, stage->max_depth))
        best = search(stage, node);
    if (!(best.cost < stage->costs.intersect * (float)count)) return write_leaf(stage, root, node);
    if (to->node_count + 2 > to->node_room) {
        to->node_room = 2 * to->node_room + 1024;
        KD_TRY(KD_GROW(to->nodes, to->node_count, to->node_room));
    }
    small_subset left = *node, right = *node;
    left.depth = right.depth = node->depth + 1;
    left.at = to->node_count;
    right.at = left.at + 1;
    left.set &= stage->all.left[best.side][best.from];
    right.set &= stage->all.right[best.side][best.from];
    vec3_set_axis(&left.box.hi, best.side / 2, best.plane);
    vec3_set_axis(&right.box.lo, best.side / 2, best.plane);
    to->node_count += 2;
    put(stage, root, node,
        tritree_inner(best.side / 2, best.plane, (uint32_t)(left.at - stage->node_begin)));
    KD_TRY(subdivide(stage, root, &left));
    return subdivide(stage, root, &right);
}

kd_status zhou_small_build(zhou_root *out, zhou_output *to, const zhou_node *node,
                           const zhou_part *parts, const sah_costs *costs, uint32_t max_depth) {
    small_stage stage;
    stage.parts = parts;
    stage.costs = *costs;
    stage.max_depth = max_depth;
    stage.to = to;
    out->node_begin = stage.node_begin = to->node_count;
    out->id_begin = stage.id_begin = to->id_count;
    zhou_candidates_make(&stage.all, parts, node->count);
    const uint64_t set = node->count == 64 ? UINT64_MAX : (1ull << node->count) - 1;
    const small_subset top = {set, node->box, node->depth, TOP};
    KD_TRY(subdivide(&stage, out, &top));
    out->node_count = (uint32_t)(to->node_count - out->node_begin);
    out->id_count = (uint32_t)(to->id_count - out->id_begin);
    return KD_OK;
}

void zhou_output_close(zhou_output *owned) {
    memory_free(owned->nodes);
    memory_free(owned->ids);
    memset(owned, 0, sizeof *owned);
}

enum { ROOTS_AT_ONCE = 32, RAW_AT_ONCE = 256 };

typedef struct place {
    uint32_t node, id; /* as a size: number below; as a place: where they begin */
} place;

typedef struct zhou_build {
    zhou_large large;
    zhou_root *roots;
    zhou_output *outputs; /* ROOTS_AT_ONCE roots each */
    kd_status *failed;
    place *sizes, *places; /* per raw node */
    sah_costs costs;
    uint32_t max_depth;
    const job *watched;
    tritree *out;
} zhou_build;

static uint64_t build_zhou_scratch_bytes(uint32_t triangle_count) {
    return 400 * (uint64_t)triangle_count;
}

static void build_roots(void *context, int64_t begin, int64_t end, int thread) {
    const zhou_build *build = (const zhou_build *)context;
    const zhou_large *large = &build->large;
    zhou_output *to = build->outputs + begin / ROOTS_AT_ONCE;
    kd_status status = KD_OK;
    (void)thread;
    for (int64_t i = begin; i < end && status == KD_OK && !job_cancelled(build->watched); ++i) {
        const zhou_node *node = large->roots.items + i;
        status =
            zhou_small_build(build->roots + i, to, node, large->small_parts.items + node->first,
                             &build->costs, build->max_depth);
    }
    build->failed[begin / ROOTS_AT_ONCE] = status;
}

static kd_status build_small_roots(zhou_build *build) {
    const uint64_t roots = build->large.roots.count, pieces = roots / ROOTS_AT_ONCE + 1;
    KD_TRY(KD_RESERVE_ZEROED(build->roots, roots));
    KD_TRY(KD_RESERVE_ZEROED(build->outputs, pieces));
    KD_TRY(KD_RESERVE_ZEROED(build->failed, pieces));
    parallel_for((int64_t)roots, ROOTS_AT_ONCE, build_roots, build);
    for (uint64_t i = 0; i < pieces; ++i)
        KD_REQUIRE(build->failed[i] == KD_OK, build->failed[i],
                   "out of memory for the subtrees of small nodes");
    KD_REQUIRE(!job_cancelled(build->watched), KD_INTERRUPTED,
               "building the triangle tree was cancelled");
    return KD_OK;
}

/* Zhou 2008, section 3.3: computes sizes from the leaves up, then places from the root down.
   Children come after their parents, so one pass in each direction suffices. A place is where the
   nodes of a subtree begin, except its root. */
static kd_status place_raw(zhou_build *build) {
    const zhou_raw *raw = build->large.raw.items;
    const uint64_t count = build->large.raw.count;
    KD_TRY(KD_RESERVE(build->sizes, count));
    KD_TRY(KD_RESERVE(build->places, count));
    place *sizes = build->sizes, *places = build->places;
    uint64_t nodes = 1, ids = 0;
    for (uint64_t i = count; i-- > 0;) {
        const uint32_t first = raw[i].first;
        if (raw[i].kind == ZHOU_RAW_LEAF) {
            sizes[i] = (place){0, raw[i].count};
            ids += raw[i].count;
        } else if (raw[i].kind == ZHOU_RAW_ROOT) {
            sizes[i] = (place){build->roots[first].node_count, build->roots[first].id_count};
            ids += sizes[i].id;
            nodes += sizes[i].node;
        } else {
            sizes[i] = (place){2 + sizes[first].node + sizes[first + 1].node,
                               sizes[first].id + sizes[first + 1].id};
            nodes += 2;
        }
        KD_REQUIRE(
            nodes <= 1u << 30 && ids <= 1u << 30, KD_ERROR_MEMORY,
            "the triangle tree needs more than %u nodes or references, the limit of builder zhou",
            1u << 30);
    }
    places[0] = (place){1, 0};
    for (uint64_t i = 0; i < count; ++i) {
        if (raw[i].kind >= ZHOU_RAW_LEAF) continue;
        const uint32_t left = raw[i].first;
        places[left] = (place){places[i].node + 2, places[i].id};
        places[left + 1] =
            (place){places[left].node + sizes[left].node, places[left].id + sizes[left].id};
    }
    return KD_OK;
}

static tritree_node moved(tritree_node node, place by) {
    if (tritree_is_leaf(node))
        return tritree_leaf(tritree_first(node) + by.id, tritree_count(node));
    return tritree_inner(tritree_axis(node), node.split, tritree_left(node) + by.node);
}

static void write_root(const zhou_build *build, uint32_t index, uint32_t at, place to) {
    const zhou_root *root = build->roots + index;
    const zhou_output *from = build->outputs + index / ROOTS_AT_ONCE;
    build->out->nodes[at] = moved(root->top, to);
    for (uint32_t i = 0; i < root->node_count; ++i)
        build->out->nodes[to.node + i] = moved(from->nodes[root->node_begin + i], to);
    for (uint32_t i = 0; i < root->id_count; ++i)
        build->out->references[to.id + i] = from->ids[root->id_begin + i];
}

/* Writes the children of inner raw nodes; a pair is stored where its parent's subtree begins. */
static void write_node(const zhou_build *build, uint32_t index, uint32_t at) {
    const zhou_raw raw = build->large.raw.items[index];
    const place to = build->places[index];
    if (raw.kind == ZHOU_RAW_ROOT) {
        write_root(build, raw.first, at, to);
    } else if (raw.kind == ZHOU_RAW_LEAF) {
        build->out->nodes[at] = tritree_leaf(to.id, raw.count);
        for (uint32_t i = 0; i < raw.count; ++i)
            build->out->references[to.id + i] = build->large.ids.items[raw.first + i];
    } else {
        build->out->nodes[at] = tritree_inner((int)raw.kind, raw.split, to.node);
    }
}

static void write_children(void *context, int64_t begin, int64_t end, int thread) {
    const zhou_build *build = (const zhou_build *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const zhou_raw raw = build->large.raw.items[i];
        if (raw.kind >= ZHOU_RAW_LEAF) continue;
        for (uint32_t side = 0; side < 2; ++side)
            write_node(build, raw.first + side, build->places[i].node + side);
    }
}

static kd_status write_tree(zhou_build *build) {
    KD_TRY(place_raw(build));
    tritree *out = build->out;
    out->node_count = 1 + build->sizes[0].node;
    out->reference_count = build->sizes[0].id;
    KD_TRY(KD_RESERVE(out->nodes, out->node_count));
    KD_TRY(KD_RESERVE(out->references, out->reference_count));
    write_node(build, 0, 0);
    parallel_for((int64_t)build->large.raw.count, RAW_AT_ONCE, write_children, build);
    return KD_OK;
}

static void close_build(zhou_build *owned) {
    for (uint64_t i = 0; owned->outputs && i < owned->large.roots.count / ROOTS_AT_ONCE + 1; ++i)
        zhou_output_close(owned->outputs + i);
    memory_free(owned->outputs);
    memory_free(owned->failed);
    memory_free(owned->roots);
    memory_free(owned->sizes);
    memory_free(owned->places);
    zhou_large_close(&owned->large);
}

static kd_status build_zhou(tritree *out, const tritree_input *input,
                            const tritree_options *options, job *watched) {
    zhou_build build;
    memset(&build, 0, sizeof build);
    build.out = out;
    build.costs =
        (sah_costs){options->traversal_cost, options->intersect_cost, options->empty_factor};
    build.max_depth = (uint32_t)tritree_depth_limit(options, input->triangle_count);
    build.watched = watched;
    kd_status status = KD_OK;
    double now = timing_now(), *seconds = out->stage_seconds;
    KD_TRY_GOTO(zhou_large_open(&build.large, input, out->box, build.max_depth, watched));
    seconds[TRITREE_INIT] = timing_now() - now;
    now = timing_now();
    KD_TRY_GOTO(zhou_large_run(&build.large));
    seconds[TRITREE_LARGE] = timing_now() - now;
    now = timing_now();
    KD_TRY_GOTO(build_small_roots(&build));
    seconds[TRITREE_SMALL] = timing_now() - now;
    now = timing_now();
    KD_TRY_GOTO(write_tree(&build));
    seconds[TRITREE_OTHER] = timing_now() - now;
done:
    close_build(&build);
    return status;
}

const tritree_builder tritree_builder_zhou = {
    .name = "zhou",
    .source = "Zhou, Hou, Wang, Guo 2008: spatial median, then SAH by masks",
    .scratch_bytes = build_zhou_scratch_bytes,
    .references = 4,
    .build = build_zhou,
    .all_cores = true};
