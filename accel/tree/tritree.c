/* Options, input checks, statistics and views of a triangle tree, independent of the builder. */
#include "accel/tree/tritree.h"
#include "accel/tree/build.h"
#include "accel/tree/triangle.h"
#include "core/hash.h"
#include "core/parallel/parallel.h"

enum { CHECK_PIECES = 64, CHECK_ALONE = 16384 }; /* fewer triangles are checked by one thread */

tritree_options tritree_options_default(void) {
    tritree_options options;
    options.traversal_cost = 1.5f;
    options.intersect_cost = 1;
    options.empty_factor = 1;
    options.max_depth = 0;
    return options;
}

int32_t tritree_depth_limit(const tritree_options *options, uint32_t triangle_count) {
    int32_t limit = options->max_depth;
    if (limit <= 0) limit = 8 + (int32_t)(1.3 * log2(triangle_count > 1 ? triangle_count : 1));
    return limit < TRITREE_MAX_DEPTH ? limit : TRITREE_MAX_DEPTH;
}

kd_status tritree_check_options(const tritree_options *options) {
    KD_REQUIRE(
        options->traversal_cost >= 0 && options->traversal_cost <= FLT_MAX &&
            options->intersect_cost > 0 && options->intersect_cost <= FLT_MAX,
        KD_ERROR_USAGE,
        "`traversal_cost` is %g, expected at least 0; `intersect_cost` is %g, expected above 0",
        (double)options->traversal_cost, (double)options->intersect_cost);
    KD_REQUIRE(options->empty_factor > 0 && options->empty_factor <= 1, KD_ERROR_USAGE,
               "`empty_factor` is %g; expected above 0 and at most 1",
               (double)options->empty_factor);
    return KD_OK;
}

/* Returns an error that describes what is wrong with a triangle. */
static kd_status check_triangle(const tritree_input *input, uint32_t id) {
    const uint32_t *index = input->triangles + 3 * (uint64_t)id;
    for (int k = 0; k < 3; ++k) {
        KD_REQUIRE(index[k] < input->position_count, KD_ERROR_INPUT,
                   "triangle %u has vertex index %u; the mesh has %u vertices", id, index[k],
                   input->position_count);
        const vec3 corner = input->positions[index[k]];
        KD_REQUIRE(vec3_is_finite(corner), KD_ERROR_INPUT,
                   "triangle %u has the vertex (%g, %g, %g); coordinates must be finite", id,
                   (double)corner.x, (double)corner.y, (double)corner.z);
    }
    return KD_OK;
}

typedef struct checked_piece {
    box3 box;
    uint32_t degenerate, wrong; /* wrong: the first invalid triangle, or the end */
} checked_piece;

typedef struct check_work {
    const tritree_input *input;
    checked_piece piece[CHECK_PIECES];
} check_work;

static uint32_t piece_begin(const tritree_input *input, int64_t piece) {
    return (uint32_t)((uint64_t)input->triangle_count * (uint64_t)piece / CHECK_PIECES);
}

static void check_piece(const tritree_input *input, uint32_t begin, uint32_t end,
                        checked_piece *out) {
    out->box = box3_empty();
    out->degenerate = 0;
    for (out->wrong = begin; out->wrong < end; ++out->wrong) {
        const uint32_t *index = input->triangles + 3 * (uint64_t)out->wrong;
        vec3 corner[3];
        for (int k = 0; k < 3; ++k) {
            if (index[k] >= input->position_count) return;
            corner[k] = input->positions[index[k]];
            if (!vec3_is_finite(corner[k])) return;
        }
        if (triangle_is_degenerate(corner[0], corner[1], corner[2])) {
            ++out->degenerate;
            continue;
        }
        for (int k = 0; k < 3; ++k) box3_include(&out->box, corner[k]);
    }
}

static void check_pieces(void *context, int64_t begin, int64_t end, int thread) {
    check_work *work = (check_work *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i)
        check_piece(work->input, piece_begin(work->input, i), piece_begin(work->input, i + 1),
                    &work->piece[i]);
}

kd_status tritree_check_triangles(tritree *out) {
    check_work work;
    work.input = &out->input;
    parallel_for(CHECK_PIECES, work.input->triangle_count < CHECK_ALONE ? CHECK_PIECES : 1,
                 check_pieces, &work);
    out->box = box3_empty();
    for (int64_t i = 0; i < CHECK_PIECES; ++i) {
        const checked_piece *piece = &work.piece[i];
        if (piece->wrong < piece_begin(&out->input, i + 1))
            return check_triangle(&out->input, piece->wrong);
        out->statistics.degenerate_triangles += piece->degenerate;
        box3_join(&out->box, piece->box);
    }
    return KD_OK;
}

static double box_area(box3 box) {
    const double x = (double)box.hi.x - (double)box.lo.x, y = (double)box.hi.y - (double)box.lo.y,
                 z = (double)box.hi.z - (double)box.lo.z;
    return 2 * (x * y + y * z + z * x);
}

typedef struct pending {
    uint32_t node, depth;
    box3 box;
} pending;

void tritree_take_stock(tritree *tree) {
    tritree_statistics *s = &tree->statistics;
    pending stack[TRITREE_MAX_DEPTH + 2];
    int waiting = 0;
    double inner_area = 0, leaf_area = 0;
    pending at = {0, 0, tree->box};
    s->nodes = tree->node_count;
    s->references = tree->reference_count;
    for (;;) {
        const tritree_node node = tree->nodes[at.node];
        if (at.depth > s->depth) s->depth = at.depth;
        if (!tritree_is_leaf(node)) {
            inner_area += box_area(at.box);
            pending right = at;
            const int axis = tritree_axis(node);
            at.node = tritree_left(node);
            right.node = at.node + 1;
            right.depth = ++at.depth;
            vec3_set_axis(&at.box.hi, axis, node.split);
            vec3_set_axis(&right.box.lo, axis, node.split);
            stack[waiting++] = right;
            continue;
        }
        ++s->leaves;
        if (tritree_count(node) == 0)
            ++s->empty_leaves;
        else
            leaf_area += tritree_count(node) * box_area(at.box);
        if (waiting == 0) break;
        at = stack[--waiting];
    }
    const double root_area = box_area(tree->box);
    if (tree->reference_count && root_area > 0)
        s->sah_cost = ((double)tree->options.traversal_cost * inner_area +
                       (double)tree->options.intersect_cost * leaf_area) /
                      root_area;
    if (tree->input.triangle_count)
        s->references_per_triangle =
            (double)tree->reference_count / (double)tree->input.triangle_count;
}

tritree_view tritree_get_view(const tritree *tree) {
    tritree_view view;
    view.nodes = tree->nodes;
    view.references = tree->references;
    view.positions = tree->input.positions;
    view.triangles = tree->input.triangles;
    view.box = tree->box;
    view.node_count = tree->node_count;
    view.reference_count = tree->reference_count;
    view.triangle_count = tree->input.triangle_count;
    view.rows = tree->rows;
    view.wide = tree->wide;
    view.indexed = false;
    view.compressed = NULL;
    return view;
}

uint64_t tritree_hash(const tritree *tree) {
    const uint64_t nodes = hash_bytes(tree->nodes, tree->node_count * sizeof *tree->nodes);
    return hash_combine(nodes, tree->references, tree->reference_count * sizeof *tree->references);
}
