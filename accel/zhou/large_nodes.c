#include "accel/zhou/build_zhou.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

enum { CHUNK = 4096, TRIANGLES_AT_ONCE = 4096 };

static void corners_of(const tritree_input *input, uint32_t id, vec3 corner[3]) {
    for (int k = 0; k < 3; ++k)
        corner[k] = zhou_corner(input->positions[input->triangles[3 * (uint64_t)id + (uint64_t)k]]);
}

static bool can_be_hit(const tritree_input *input, uint32_t id, box3 *box) {
    vec3 corner[3];
    corners_of(input, id, corner);
    *box = triangle_box(corner[0], corner[1], corner[2]);
    return !triangle_is_degenerate(corner[0], corner[1], corner[2]);
}

typedef struct starting {
    const tritree_input *input;
    zhou_part *parts;
    /* per piece of triangles: number that can be hit; then, number in earlier pieces */
    uint32_t *counts;
} starting;

static void count_piece(void *context, int64_t begin, int64_t end, int thread) {
    const starting *start = (const starting *)context;
    (void)thread;
    uint32_t count = 0;
    box3 box;
    for (int64_t id = begin; id < end; ++id) count += can_be_hit(start->input, (uint32_t)id, &box);
    start->counts[begin / TRIANGLES_AT_ONCE] = count;
}

static void start_piece(void *context, int64_t begin, int64_t end, int thread) {
    const starting *start = (const starting *)context;
    (void)thread;
    zhou_part *to = start->parts + start->counts[begin / TRIANGLES_AT_ONCE];
    for (int64_t id = begin; id < end; ++id) {
        zhou_part part;
        part.id = (uint32_t)id;
        if (can_be_hit(start->input, part.id, &part.box)) *to++ = part;
    }
}

kd_status zhou_first_parts(zhou_part **parts, uint32_t *count, const tritree_input *input) {
    const uint32_t n = input->triangle_count, pieces = n / TRIANGLES_AT_ONCE + 1;
    starting start = {input, NULL, NULL};
    kd_status status = KD_OK;
    *count = 0;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(start.counts, pieces));
    parallel_for(n, TRIANGLES_AT_ONCE, count_piece, &start);
    for (uint32_t i = 0; i < pieces; ++i) {
        const uint32_t value = start.counts[i];
        start.counts[i] = *count;
        *count += value;
    }
    KD_TRY_GOTO(KD_RESERVE(start.parts, *count));
    *parts = start.parts;
    if (*count > 0) parallel_for(n, TRIANGLES_AT_ONCE, start_piece, &start);
done:
    memory_free(start.counts);
    return status;
}

/* --- One node --- */

/* A piece of a node's parts. */
typedef struct chunk {
    uint32_t first, count;
    uint32_t side_count[2]; /* of parts that go there; later, where they are stored */
    box3 tight[2];          /* bounds of the parts that go left and right */
    uint64_t middles[2][3]; /* sums of zhou_middle in the children's boxes, if plan.means */
} chunk;

typedef struct division {
    const tritree_input *input;
    const zhou_part *parts;
    zhou_split *split;
    chunk chunks[TASK_EACH_MAX];
    int chunk_count;
} division;

static uint32_t sides_of(const zhou_plan *plan, const zhou_part *part) {
    return zhou_sides(vec3_axis(part->box.lo, plan->axis), vec3_axis(part->box.hi, plan->axis),
                      plan->plane);
}

static void count_chunk(void *context, int i) {
    division *divided = (division *)context;
    chunk *piece = divided->chunks + i;
    uint32_t left = 0, right = 0;
    for (uint32_t k = 0; k < piece->count; ++k) {
        const uint32_t sides = sides_of(&divided->split->plan, divided->parts + piece->first + k);
        left += sides & 1;
        right += sides >> 1;
    }
    piece->side_count[0] = left;
    piece->side_count[1] = right;
}

static zhou_part clip_part(const division *division, zhou_part part, int side) {
    const zhou_plan *plan = &division->split->plan;
    vec3 corner[3];
    corners_of(division->input, part.id, corner);
    vec3_set_axis(side ? &part.box.lo : &part.box.hi, plan->axis, plan->plane);
    part.box = zhou_clip(corner[0], corner[1], corner[2], plan->axis, plan->plane, side, part.box);
    return part;
}

/* Zhou 2008, algorithm 2: "sort and clip triangles to child nodes". */
static void scatter_chunk(void *context, int i) {
    division *divided = (division *)context;
    const zhou_split *split = divided->split;
    chunk *piece = divided->chunks + i;
    zhou_part *to[2];
    for (int side = 0; side < 2; ++side) {
        to[side] = split->parts[side] + piece->side_count[side];
        piece->tight[side] = box3_empty();
        for (int k = 0; k < 3; ++k) piece->middles[side][k] = 0;
    }
    for (uint32_t k = 0; k < piece->count; ++k) {
        const zhou_part *whole = divided->parts + piece->first + k;
        const uint32_t sides = sides_of(&split->plan, whole);
        for (int side = 0; side < 2; ++side) {
            if (!(sides >> side & 1)) continue;
            const zhou_part part = sides == 3 ? clip_part(divided, *whole, side) : *whole;
            box3_join(&piece->tight[side], part.box);
            for (int c = 0; c < 3 && split->plan.means; ++c)
                piece->middles[side][c] +=
                    zhou_middle(split->child[side].box, c, vec3_axis(part.box.lo, c),
                                vec3_axis(part.box.hi, c));
            *to[side]++ = part;
        }
    }
}

static kd_status write_leaf(zhou_build *build, const zhou_node *node, const zhou_part *parts) {
    uint32_t *ids = NULL;
    KD_TRY(tree_writer_leaf(&build->writer, node->at, node->count, &ids));
    for (uint32_t i = 0; i < node->count; ++i) ids[i] = parts[i].id;
    return KD_OK;
}

/* Writes a split: its cuts, each with an empty leaf, then the inner node. */
static kd_status write_split(zhou_build *build, uint32_t at, zhou_split *split) {
    const zhou_plan *plan = &split->plan;
    uint32_t pair = 0, *none = NULL;
    split->empty_count = 0;
    for (int i = 0; i < plan->cuts; ++i) {
        const bool upper = plan->cut_side[i] & 1;
        KD_TRY(tree_writer_inner(&build->writer, at, plan->cut_side[i] / 2, plan->cut[i], &pair));
        if (upper)
            split->empty_right[split->empty_count++] = pair + 1;
        else
            KD_TRY(tree_writer_leaf(&build->writer, pair, 0, &none));
        at = upper ? pair : pair + 1;
    }
    KD_TRY(tree_writer_inner(&build->writer, at, plan->axis, plan->plane, &pair));
    split->child[0].at = pair;
    split->child[1].at = pair + 1;
    return KD_OK;
}

static void begin_child(zhou_split *split, int side, uint32_t count, float growth) {
    zhou_node *child = split->child + side;
    memset(child, 0, sizeof *child);
    child->box = split->plan.box;
    vec3_set_axis(side ? &child->box.lo : &child->box.hi, split->plan.axis, split->plan.plane);
    child->tight = box3_empty();
    child->growth = growth;
    child->depth = split->plan.depth + 1;
    child->count = count;
}

static void finish_child(const division *division, int side) {
    zhou_node *child = division->split->child + side;
    uint64_t middles[3] = {0, 0, 0};
    for (int i = 0; i < division->chunk_count; ++i) {
        box3_join(&child->tight, division->chunks[i].tight[side]);
        for (int k = 0; k < 3; ++k) middles[k] += division->chunks[i].middles[side][k];
    }
    for (int k = 0; k < 3; ++k) child->mean[k] = zhou_mean(child->box, k, middles[k], child->count);
}

/* Turns the counts of chunks into offsets; returns the sum. */
static uint32_t add_up(division *division, int side) {
    uint32_t sum = 0;
    for (int i = 0; i < division->chunk_count; ++i) {
        const uint32_t value = division->chunks[i].side_count[side];
        division->chunks[i].side_count[side] = sum;
        sum += value;
    }
    return sum;
}

kd_status zhou_large_step(zhou_build *build, const zhou_node *node, const zhou_part *parts,
                          bool *leaf, zhou_split *out) {
    division division = {.input = build->input, .parts = parts, .split = out};
    KD_REQUIRE(!job_cancelled(build->job), KD_INTERRUPTED,
               "building the triangle tree was cancelled");
    zhou_plan_make(&out->plan, node, build->max_depth);
    *leaf = true;
    if (out->plan.axis == ZHOU_NO_AXIS) return write_leaf(build, node, parts);
    const uint32_t chunks = node->count / CHUNK + 1;
    division.chunk_count = chunks < TASK_EACH_MAX ? (int)chunks : TASK_EACH_MAX;
    for (int i = 0; i < division.chunk_count; ++i) {
        const uint64_t maximum = (uint64_t)division.chunk_count, k = (uint64_t)i;
        division.chunks[i].first = (uint32_t)(node->count * k / maximum);
        division.chunks[i].count =
            (uint32_t)(node->count * (k + 1) / maximum) - division.chunks[i].first;
    }
    task_each(build->pool, division.chunk_count, count_chunk, &division);
    const uint32_t left = add_up(&division, 0), right = add_up(&division, 1);
    const float growth = zhou_growth_left(node->growth, node->count, left, right);
    if (growth < 1) return write_leaf(build, node, parts);
    *leaf = false;
    begin_child(out, 0, left, growth);
    begin_child(out, 1, right, growth);
    KD_TRY(KD_RESERVE(out->parts[0], (uint64_t)left + right));
    out->parts[1] = out->parts[0] + left;
    task_each(build->pool, division.chunk_count, scatter_chunk, &division);
    finish_child(&division, 0);
    finish_child(&division, 1);
    return write_split(build, node->at, out);
}
