#include "accel/sweep/sweep.h"
#include "accel/sweep/clip_halves.h"

enum { LANES = VECTOR8_LANES };
/* minimum sizes for a task */
enum { TASK_TRIANGLES = 4096, PIECES_TRIANGLES = 32768, PIECES_MAX = 8 };

uint64_t sweep_scratch_bytes(uint32_t triangle_count) {
    return 150 * (uint64_t)triangle_count;
}

static sweep_line line_of(const sweep_node *node, int axis) {
    const sweep_line line = {node->rows.lo[axis], node->rows.hi[axis], node->count,
                             sah_axis_of(node->box, axis)};
    return line;
}

/* Arguments of a search per axis. */
typedef struct axis_step {
    sweep *work;
    const sweep_node *node;
    sah_split best[3]; /* best of each axis */
    kd_status status[3];
} axis_step;

static void count_axis(void *context, int axis) {
    axis_step *step = (axis_step *)context;
    const sweep_line line = line_of(step->node, axis);
    sweep_bins_count(&step->work->bins[axis], &line, &step->work->costs);
}

static void search_axis(void *context, int axis) {
    axis_step *step = (axis_step *)context;
    const sweep_line line = line_of(step->node, axis);
    sweep_bins *bins = &step->work->bins[axis];
    sweep_try_sides(bins, &line, &step->work->costs, axis, &step->best[axis]);
    step->status[axis] =
        sweep_bins_search(bins, &line, &step->work->costs, axis, 0, bins->count, &step->best[axis]);
}

/* Searches the most promising bin and its neighbours first: the cost of their best plane rules out
   most other bins. */
static kd_status search_first(const axis_step *step, sah_split *best) {
    int axis = 0;
    uint32_t bin = 0;
    float minimum = INFINITY;
    for (int i = 0; i < 3; ++i) {
        const sweep_bins *bins = &step->work->bins[i];
        for (uint32_t b = 0; b < bins->count; ++b)
            if (bins->bound[b] < minimum) {
                minimum = bins->bound[b];
                axis = i;
                bin = b;
            }
    }
    if (!(minimum <= best->cost)) return KD_OK;
    const sweep_line line = line_of(step->node, axis);
    sweep_bins *bins = &step->work->bins[axis];
    const uint32_t first = bin ? bin - 1 : 0;
    const uint32_t beyond = bin + 2 < bins->count ? bin + 2 : bins->count;
    return sweep_bins_search(bins, &line, &step->work->costs, axis, first, beyond, best);
}

/* Finds the best plane if it is cheaper than a leaf, else sets axis -1. */
static kd_status find_split(sweep *work, const sweep_node *node, sah_split *split,
                            sweep_sides *sides) {
    task_pool *pool = node->count >= TASK_TRIANGLES ? work->pool : NULL;
    axis_step step = {.work = work, .node = node};
    split->cost = work->costs.intersect * (float)node->count;
    split->axis = -1;
    task_each(pool, 3, count_axis, &step);
    KD_TRY(search_first(&step, split));
    if (pool) {
        for (int axis = 0; axis < 3; ++axis) step.best[axis] = *split;
        task_each(pool, 3, search_axis, &step);
        for (int axis = 0; axis < 3; ++axis) {
            KD_REQUIRE(step.status[axis] == KD_OK, step.status[axis],
                       "out of memory for the events of axis %d", axis);
            if (sah_split_before(&step.best[axis], split)) *split = step.best[axis];
        }
    } else {
        for (int axis = 0; axis < 3; ++axis) {
            step.best[axis] = *split;
            search_axis(&step, axis);
            KD_TRY(step.status[axis]);
            *split = step.best[axis];
        }
    }
    if (split->axis < 0) return KD_OK;
    split->position += 0.0f; /* -0 becomes 0 */
    const sweep_line line = line_of(node, split->axis);
    *sides = sweep_count_sides(&line, split->position);
    /* Planar triangles go to the cheaper side, or to the left at equal cost. Those in a face of the
       node are separated from all others. */
    split->planar_left =
        split->position == line.areas.lo ||
        (split->position != line.areas.hi &&
         sah_split_cost(&work->costs, &line.areas, split->position, sides->left + sides->planar,
                        sides->right) <= sah_split_cost(&work->costs, &line.areas, split->position,
                                                        sides->left, sides->right + sides->planar));
    return KD_OK;
}

/* Distribution of a node's triangles to its children, in pieces. */
typedef struct sharing {
    const sweep *work;
    const sweep_node *node;
    const sah_split *split;
    sweep_node *left, *right;
    int pieces;
    uint32_t first[2][PIECES_MAX + 1]; /* per piece: its first triangle in either child */
    uint32_t lost[2][PIECES_MAX];      /* straddling triangles with no part in the child */
} sharing;

/* Computes masks of the eight triangles from `k` on that go left, and right. */
VECTOR8_FN void sides_of(const sharing *split_work, uint32_t k, uint32_t end, uint32_t to[2]) {
    const float position = split_work->split->position;
    const uint32_t valid = end - k < LANES ? (1u << (end - k)) - 1 : 0xffu;
    const uint32_t left =
        int8_bits(float8_load(split_work->node->rows.lo[split_work->split->axis] + k) < position);
    const uint32_t right =
        int8_bits(float8_load(split_work->node->rows.hi[split_work->split->axis] + k) > position);
    const uint32_t planar = ~(left | right);
    to[0] = (left | (split_work->split->planar_left ? planar : 0)) & valid;
    to[1] = (right | (split_work->split->planar_left ? 0 : planar)) & valid;
}

static uint32_t piece_begin(const sharing *split_work, int i) {
    const uint64_t vectors = (uint64_t)split_work->node->count / LANES;
    if (i == split_work->pieces) return split_work->node->count;
    return (uint32_t)(vectors * (uint64_t)i / (uint64_t)split_work->pieces * LANES);
}

static void count_piece(void *context, int i) {
    sharing *split_work = (sharing *)context;
    const uint32_t end = piece_begin(split_work, i + 1);
    uint32_t count[2] = {0, 0};
    for (uint32_t k = piece_begin(split_work, i); k < end; k += LANES) {
        uint32_t to[2];
        sides_of(split_work, k, end, to);
        for (int side = 0; side < 2; ++side) count[side] += (uint32_t)__builtin_popcount(to[side]);
    }
    for (int side = 0; side < 2; ++side) split_work->first[side][i + 1] = count[side];
}

static void set_part(const sweep_rows *rows, uint32_t at, const clip_part *part) {
    for (int axis = 0; axis < 3; ++axis) {
        rows->lo[axis][at] = part->lo[axis];
        rows->hi[axis][at] = part->hi[axis];
    }
}

static uint32_t cut_straddler(const sharing *split_work, const clip_split *split, uint32_t left,
                              uint32_t right) {
    const vec3 *at = split_work->work->input->positions;
    const uint32_t *index =
        split_work->work->input->triangles + 3 * (uint64_t)split_work->left->rows.id[left];
    const float4v corner[3] = {float4v_of(at[index[0]]), float4v_of(at[index[1]]),
                               float4v_of(at[index[2]])};
    clip_part part[2];
    const uint32_t parts = (uint32_t)clip_halves(split, corner, part);
    set_part(&split_work->left->rows, left, &part[0]);
    set_part(&split_work->right->rows, right, &part[1]);
    return parts;
}

#define NOTHING_LEFT UINT32_MAX /* in place of an id: the triangle has no part in the child */

static void assign(const sharing *split_work, int side, uint32_t to, uint32_t end, uint32_t k,
                   uint32_t mask) {
    const sweep_rows *child = side ? &split_work->right->rows : &split_work->left->rows,
                     *rows = &split_work->node->rows;
    if (end - to >= LANES) {
        rows_give(child, to, rows, k, mask);
        return;
    }
    /* no whole vectors, since the output of another piece follows */
    for (; mask; mask &= mask - 1, ++to) {
        const uint32_t i = k + (uint32_t)__builtin_ctz(mask);
        child->id[to] = rows->id[i];
        for (int axis = 0; axis < 3; ++axis) {
            child->lo[axis][to] = rows->lo[axis][i];
            child->hi[axis][to] = rows->hi[axis][i];
        }
    }
}

static void share_piece(void *context, int i) {
    sharing *split_work = (sharing *)context;
    const clip_split split = clip_split_make(split_work->node->box, split_work->split->axis,
                                             split_work->split->position);
    const uint32_t end = piece_begin(split_work, i + 1);
    uint32_t at[2], last[2], lost[2] = {0, 0};
    for (int side = 0; side < 2; ++side) {
        at[side] = split_work->first[side][i];
        last[side] = i + 1 < split_work->pieces ? split_work->first[side][i + 1] : UINT32_MAX;
    }
    for (uint32_t k = piece_begin(split_work, i); k < end; k += LANES) {
        uint32_t to[2];
        sides_of(split_work, k, end, to);
        for (int side = 0; side < 2; ++side)
            assign(split_work, side, at[side], last[side], k, to[side]);
        for (uint32_t straddlers = to[0] & to[1]; straddlers; straddlers &= straddlers - 1) {
            const uint32_t below = (straddlers & (0u - straddlers)) - 1;
            uint32_t place[2];
            for (int side = 0; side < 2; ++side)
                place[side] = at[side] + (uint32_t)__builtin_popcount(to[side] & below);
            const uint32_t parts = cut_straddler(split_work, &split, place[0], place[1]);
            if (parts == 3) continue;
            for (int side = 0; side < 2; ++side) {
                if (parts >> side & 1) continue;
                (side ? split_work->right : split_work->left)->rows.id[place[side]] = NOTHING_LEFT;
                ++lost[side];
            }
        }
        for (int side = 0; side < 2; ++side) at[side] += (uint32_t)__builtin_popcount(to[side]);
    }
    for (int side = 0; side < 2; ++side) split_work->lost[side][i] = lost[side];
}

static void drop_lost(sweep_node *child) {
    const sweep_rows *rows = &child->rows;
    uint32_t to = 0;
    for (uint32_t i = 0; i < child->count; ++i) {
        if (rows->id[i] == NOTHING_LEFT) continue;
        rows->id[to] = rows->id[i];
        for (int axis = 0; axis < 3; ++axis) {
            rows->lo[axis][to] = rows->lo[axis][i];
            rows->hi[axis][to] = rows->hi[axis][i];
        }
        ++to;
    }
    child->count = to;
}

/* Fills the rows of both children. The right child overwrites the node unless other threads are
   reading it. */
static kd_status share_out(sweep *work, const sweep_node *node, const sah_split *split,
                           const sweep_sides *sides, sweep_node *left, sweep_node *right) {
    sharing split_work = {.work = work, .node = node, .split = split, .left = left, .right = right};
    const bool parallel = work->pool && node->count >= PIECES_TRIANGLES;
    split_work.pieces = parallel ? PIECES_MAX : 1;
    left->count = sides->left + (split->planar_left ? sides->planar : 0);
    right->count = sides->right + (split->planar_left ? 0 : sides->planar);
    if (parallel) {
        KD_TRY(rows_push(&work->stack, right->count, &right->rows));
        task_each(work->pool, split_work.pieces, count_piece, &split_work);
        for (int side = 0; side < 2; ++side)
            for (int i = 0; i < split_work.pieces; ++i)
                split_work.first[side][i + 1] += split_work.first[side][i];
    }
    KD_TRY(rows_push(&work->stack, left->count, &left->rows));
    task_each(parallel ? work->pool : NULL, split_work.pieces, share_piece, &split_work);
    uint32_t lost[2] = {0, 0};
    for (int side = 0; side < 2; ++side)
        for (int i = 0; i < split_work.pieces; ++i) lost[side] += split_work.lost[side][i];
    if (lost[0]) drop_lost(left);
    if (lost[1]) drop_lost(right);
    return KD_OK;
}

static kd_status make_leaf(sweep *work, const sweep_node *node) {
    uint32_t *ids = NULL;
    KD_TRY(tree_writer_leaf(&work->writer, node->at, node->count, &ids));
    memcpy(ids, node->rows.id, node->count * sizeof *ids);
    return KD_OK;
}

static kd_status finish_small(sweep *work, const sweep_node *node) {
    KD_TRY(small_node_open(&work->small));
    small_node *small = work->small;
    small->box = node->box;
    small->at = node->at;
    small->depth = node->depth;
    small->count = node->count;
    for (int axis = 0; axis < 3; ++axis) {
        memcpy(small->lo[axis], node->rows.lo[axis], node->count * sizeof(float));
        memcpy(small->hi[axis], node->rows.hi[axis], node->count * sizeof(float));
    }
    small_build rest = {work->input,   work->costs,   work->max_depth,
                        &work->writer, node->rows.id, NULL};
    return small_nodes_build(&rest, small);
}

/* Reports the triangles of a subtree that is complete, without the references that splits added. */
static void advance(const sweep *work, const sweep_node *node) {
    job_advance(work->job, (int64_t)((double)node->count / node->growth));
}

kd_status sweep_step(sweep *work, const sweep_node *node, bool *split, sweep_node *left,
                     sweep_node *right) {
    *split = false;
    KD_REQUIRE(!job_cancelled(work->job), KD_INTERRUPTED,
               "building the triangle tree was cancelled");
    if (node->count <= SMALL_NODE_MAX) {
        advance(work, node);
        return finish_small(work, node);
    }
    sah_split plane = {.axis = -1};
    sweep_sides sides = {0, 0, 0};
    if (node->depth < work->max_depth &&
        (node->growth <= EXACT_GROWTH_MAX || node->count <= EXACT_SMALL_MAX))
        KD_TRY(find_split(work, node, &plane, &sides));
    if (plane.axis < 0) {
        advance(work, node);
        return make_leaf(work, node);
    }
    *left = *right = *node;
    KD_TRY(share_out(work, node, &plane, &sides, left, right));
    left->growth = right->growth =
        node->growth * (((double)left->count + (double)right->count) / (double)node->count);
    KD_TRY(tree_writer_inner(&work->writer, node->at, plane.axis, plane.position, &left->at));
    right->at = left->at + 1;
    left->depth = right->depth = node->depth + 1;
    vec3_set_axis(&left->box.hi, plane.axis, plane.position);
    vec3_set_axis(&right->box.lo, plane.axis, plane.position);
    *split = true;
    return KD_OK;
}
