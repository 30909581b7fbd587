/* The builder of Zhou et al. on the CPU, all cores.
   Source: Zhou, Hou, Wang, Guo 2008, "Real-time kd-tree construction on graphics hardware", as
           built and timed by Choi and Ye 2020.
   Idea: large nodes, level by level, lose empty space and are halved across their longest side;
         a node of at most 64 triangles is a small root, whose triangles' sides are all the
         planes that are tried below it, each with the sets of triangles before and behind it as
         masks, so that the SAH takes two population counts. What is decided is in stages.h, for
         the GPU's twin too (build_zhou.cu).
   Work: O(n log n).
   Memory: about 400 B a triangle.
   Invariants: the tree is a function of its input, the same on any number of threads and on a
               GPU; ids in a leaf ascend.
   Differs from the paper in: what stages.h says; below a small root the order is depth first,
         not level by level, which gives the same nodes. */
#include "accel/tree/build.h"
#include "accel/zhou/large_nodes.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

enum { ROOTS_AT_ONCE = 32, RAW_AT_ONCE = 256 };

typedef struct place {
    uint32_t node, id; /* sizes: how many below; places: where they begin */
} place;

typedef struct zhou_build {
    zhou_large large;
    zhou_root *roots;
    zhou_output *outputs; /* of ROOTS_AT_ONCE roots each */
    kd_status *failed;
    place *sizes, *places; /* of raw nodes */
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

static kd_status small_stage(zhou_build *build) {
    const uint64_t roots = build->large.roots.count, pieces = roots / ROOTS_AT_ONCE + 1;
    KD_TRY(KD_RESERVE_ZEROED(build->roots, roots));
    KD_TRY(KD_RESERVE_ZEROED(build->outputs, pieces));
    KD_TRY(KD_RESERVE_ZEROED(build->failed, pieces));
    parallel_for((int64_t)roots, ROOTS_AT_ONCE, build_roots, build);
    for (uint64_t i = 0; i < pieces; ++i)
        KD_REQUIRE(build->failed[i] == KD_OK, build->failed[i],
                   "no memory for what is below small nodes");
    KD_REQUIRE(!job_cancelled(build->watched), KD_INTERRUPTED, "the tree's build was cancelled");
    return KD_OK;
}

/* Zhou 2008, section 3.3: sizes from the leaves up, then places from the root down. Children are
   behind their parents, so one run each way does. Places are where a subtree's nodes begin, its
   root apart. */
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
        KD_REQUIRE(nodes <= 1u << 30 && ids <= 1u << 30, KD_ERROR_MEMORY,
                   "the tree needs more than %u nodes or references", 1u << 30);
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

/* Writes the children of inner raw nodes: a pair lies where its parent's subtree begins. */
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
    KD_TRY_GOTO(small_stage(&build));
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
