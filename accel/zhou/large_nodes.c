#include "accel/zhou/build_zhou.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"

enum { CHUNK = 4096, NODES_AT_ONCE = 64, TRIANGLES_AT_ONCE = 4096 };

/* Reserves capacity for `more` items at the end of a list. */
#define LIST_ROOM(list, more)                                                                      \
    list_room((void **)&(list)->items, &(list)->count, &(list)->room, (more), sizeof *(list)->items)
static kd_status list_room(void **items, const uint64_t *count, uint64_t *room, uint64_t more,
                           size_t item_bytes) {
    if (*count + more <= *room) return KD_OK;
    const uint64_t wanted = (*count + more) + (*count + more) / 2 + 64;
    KD_TRY(memory_grow(items, *count, wanted, item_bytes));
    *room = wanted;
    return KD_OK;
}

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
    zhou_large *stage;
    /* per piece of triangles: number that can be hit; then, number in earlier pieces */
    uint32_t *counts;
} starting;

static void count_piece(void *context, int64_t begin, int64_t end, int thread) {
    const starting *of = (const starting *)context;
    (void)thread;
    uint32_t count = 0;
    box3 box;
    for (int64_t id = begin; id < end; ++id)
        count += can_be_hit(of->stage->input, (uint32_t)id, &box);
    of->counts[begin / TRIANGLES_AT_ONCE] = count;
}

static void start_piece(void *context, int64_t begin, int64_t end, int thread) {
    const starting *of = (const starting *)context;
    (void)thread;
    zhou_part *to = of->stage->next_parts.items + of->counts[begin / TRIANGLES_AT_ONCE];
    for (int64_t id = begin; id < end; ++id) {
        zhou_part part;
        part.id = (uint32_t)id;
        if (can_be_hit(of->stage->input, part.id, &part.box)) *to++ = part;
    }
}

/* Adds a child, whose parts are stored, to the list for its size. */
static kd_status hand_on(zhou_large *stage, const zhou_node *child) {
    zhou_raw *raw = stage->raw.items + child->at;
    if (child->count == 0) {
        *raw = zhou_raw_make(ZHOU_RAW_LEAF, 0, 0, 0);
    } else if (child->count <= ZHOU_SMALL_MOST) {
        *raw = zhou_raw_make(ZHOU_RAW_ROOT, 0, (uint32_t)stage->roots.count, 0);
        KD_TRY(LIST_ROOM(&stage->roots, 1));
        stage->roots.items[stage->roots.count++] = *child;
    } else {
        KD_TRY(LIST_ROOM(&stage->next_nodes, 1));
        stage->next_nodes.items[stage->next_nodes.count++] = *child;
    }
    return KD_OK;
}

static void next_level(zhou_large *stage) {
    const zhou_nodes nodes = stage->nodes;
    stage->nodes = stage->next_nodes;
    stage->next_nodes = nodes;
    stage->next_nodes.count = 0;
    const zhou_parts parts = stage->parts;
    stage->parts = stage->next_parts;
    stage->next_parts = parts;
    stage->next_parts.count = 0;
}

kd_status zhou_large_open(zhou_large *out, const tritree_input *input, box3 box, uint32_t max_depth,
                          const job *watched) {
    memset(out, 0, sizeof *out);
    out->input = input;
    out->max_depth = max_depth;
    out->watched = watched;
    const uint32_t n = input->triangle_count;
    starting of = {out, NULL};
    kd_status status = KD_OK;
    const uint32_t pieces = n / TRIANGLES_AT_ONCE + 1;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(of.counts, pieces));
    parallel_for(n, TRIANGLES_AT_ONCE, count_piece, &of);
    uint32_t count = 0;
    for (uint32_t i = 0; i < pieces; ++i) {
        const uint32_t here = of.counts[i];
        of.counts[i] = count;
        count += here;
    }
    KD_TRY_GOTO(LIST_ROOM(&out->next_parts, count));
    out->next_parts.count = count;
    parallel_for(n, TRIANGLES_AT_ONCE, start_piece, &of);
    zhou_node root;
    root.box.lo = zhou_corner(box.lo);
    root.box.hi = zhou_corner(box.hi);
    root.tight = root.box;
    for (int k = 0; k < 3; ++k) root.mean[k] = 0;
    root.growth = ZHOU_GROWTH_MOST;
    root.first = root.depth = root.at = 0;
    root.count = count;
    KD_TRY_GOTO(LIST_ROOM(&out->raw, 1));
    out->raw.count = 1;
    KD_TRY_GOTO(hand_on(out, &root));
    if (count <= ZHOU_SMALL_MOST) {
        KD_TRY_GOTO(LIST_ROOM(&out->small_parts, count));
        for (uint32_t i = 0; i < count; ++i) out->small_parts.items[i] = out->next_parts.items[i];
    }
    next_level(out);
done:
    memory_free(of.counts);
    return status;
}

/* --- One level --- */

static void plan_nodes(void *context, int64_t begin, int64_t end, int thread) {
    zhou_large *stage = (zhou_large *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i)
        zhou_plan_make(&stage->splits.items[i].plan, stage->nodes.items + i, stage->max_depth);
}

static kd_status make_chunks(zhou_large *stage) {
    stage->chunks.count = 0;
    for (uint32_t i = 0; i < stage->nodes.count; ++i) {
        const zhou_node *node = stage->nodes.items + i;
        KD_TRY(LIST_ROOM(&stage->chunks, node->count / CHUNK + 1));
        for (uint32_t first = 0; first < node->count; first += CHUNK) {
            zhou_chunk *chunk = stage->chunks.items + stage->chunks.count++;
            chunk->node = i;
            chunk->first = node->first + first;
            chunk->count = node->count - first < CHUNK ? node->count - first : CHUNK;
        }
    }
    return KD_OK;
}

static uint32_t sides_of(const zhou_plan *plan, const zhou_part *part) {
    return zhou_sides(vec3_axis(part->box.lo, plan->axis), vec3_axis(part->box.hi, plan->axis),
                      plan->plane);
}

static void count_chunks(void *context, int64_t begin, int64_t end, int thread) {
    zhou_large *stage = (zhou_large *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        zhou_chunk *chunk = stage->chunks.items + i;
        const zhou_plan *plan = &stage->splits.items[chunk->node].plan;
        chunk->left = chunk->right = 0;
        if (plan->axis == ZHOU_NO_AXIS) continue;
        for (uint32_t k = 0; k < chunk->count; ++k) {
            const uint32_t sides = sides_of(plan, stage->parts.items + chunk->first + k);
            chunk->left += sides & 1;
            chunk->right += sides >> 1;
        }
    }
}

/* Adds a pair of raw nodes below `at`. */
static kd_status add_pair(zhou_large *stage, uint32_t at, int axis, float split, uint32_t *pair) {
    KD_TRY(LIST_ROOM(&stage->raw, 2));
    *pair = (uint32_t)stage->raw.count;
    stage->raw.count += 2;
    stage->raw.items[at] = zhou_raw_make((uint32_t)axis, split, *pair, 0);
    return KD_OK;
}

/* Adds the raw nodes of a split: its cuts, each with an empty leaf, then the two children. */
static kd_status add_raw(zhou_large *stage, uint32_t at, zhou_split *split) {
    const zhou_plan *plan = &split->plan;
    uint32_t pair = 0;
    for (int i = 0; i < plan->cuts; ++i) {
        const uint32_t upper = (uint32_t)plan->cut_side[i] & 1;
        KD_TRY(add_pair(stage, at, plan->cut_side[i] / 2, plan->cut[i], &pair));
        stage->raw.items[pair + upper] = zhou_raw_make(ZHOU_RAW_LEAF, 0, 0, 0);
        at = pair + (upper ^ 1);
    }
    KD_TRY(add_pair(stage, at, plan->axis, plan->plane, &pair));
    split->child[0].at = pair;
    split->child[1].at = pair + 1;
    return KD_OK;
}

static kd_status add_leaf(zhou_large *stage, const zhou_node *node) {
    KD_TRY(LIST_ROOM(&stage->ids, node->count));
    stage->raw.items[node->at] =
        zhou_raw_make(ZHOU_RAW_LEAF, 0, (uint32_t)stage->ids.count, node->count);
    for (uint32_t i = 0; i < node->count; ++i)
        stage->ids.items[stage->ids.count++] = stage->parts.items[node->first + i].id;
    return KD_OK;
}

/* Reserves space for a child's parts in the buffer for its size. */
static kd_status place_child(zhou_large *stage, zhou_node *child) {
    zhou_parts *to = child->count <= ZHOU_SMALL_MOST ? &stage->small_parts : &stage->next_parts;
    KD_TRY(LIST_ROOM(to, child->count));
    child->first = (uint32_t)to->count;
    to->count += child->count;
    KD_REQUIRE(
        to->count < KD_NONE, KD_ERROR_MEMORY,
        "a level of the triangle tree needs more than %u references, the limit of builder zhou",
        KD_NONE);
    return KD_OK;
}

/* Turns the counts of a node's chunks into offsets; decides whether the node becomes a leaf. */
static kd_status decide(zhou_large *stage, uint32_t index, zhou_chunk *chunks, uint32_t count) {
    const zhou_node *node = stage->nodes.items + index;
    zhou_split *split = stage->splits.items + index;
    uint32_t left = 0, right = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t left_here = chunks[i].left, right_here = chunks[i].right;
        chunks[i].left = left;
        chunks[i].right = right;
        left += left_here;
        right += right_here;
    }
    const float growth = zhou_growth_left(node->growth, node->count, left, right);
    split->leaf = split->plan.axis == ZHOU_NO_AXIS || growth < 1;
    if (split->leaf) return add_leaf(stage, node);
    for (int side = 0; side < 2; ++side) {
        zhou_node *child = split->child + side;
        child->box = split->plan.box;
        vec3_set_axis(side ? &child->box.lo : &child->box.hi, split->plan.axis, split->plan.plane);
        child->tight = box3_empty();
        for (int k = 0; k < 3; ++k) split->middles[side][k] = 0;
        child->growth = growth;
        child->depth = split->plan.depth + 1;
        child->count = side ? right : left;
        KD_TRY(place_child(stage, child));
    }
    return add_raw(stage, node->at, split);
}

/* Zhou 2008, algorithm 2: "sort and clip triangles to child nodes". */
static void scatter_chunks(void *context, int64_t begin, int64_t end, int thread) {
    zhou_large *stage = (zhou_large *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        zhou_chunk *chunk = stage->chunks.items + i;
        const zhou_split *split = stage->splits.items + chunk->node;
        if (split->leaf) continue;
        zhou_part *to[2];
        for (int side = 0; side < 2; ++side) {
            const zhou_node *child = split->child + side;
            to[side] = (child->count <= ZHOU_SMALL_MOST ? stage->small_parts.items
                                                        : stage->next_parts.items) +
                       child->first + (side ? chunk->right : chunk->left);
            chunk->tight[side] = box3_empty();
            for (int k = 0; k < 3; ++k) chunk->middles[side][k] = 0;
        }
        const int axis = split->plan.axis;
        for (uint32_t k = 0; k < chunk->count; ++k) {
            const zhou_part whole = stage->parts.items[chunk->first + k];
            const uint32_t sides = sides_of(&split->plan, &whole);
            for (int side = 0; side < 2; ++side) {
                if (!(sides >> side & 1)) continue;
                zhou_part part = whole;
                if (sides == 3) {
                    vec3 corner[3];
                    corners_of(stage->input, part.id, corner);
                    vec3_set_axis(side ? &part.box.lo : &part.box.hi, axis, split->plan.plane);
                    part.box = zhou_clip(corner[0], corner[1], corner[2], axis, split->plan.plane,
                                         side, part.box);
                }
                box3_join(&chunk->tight[side], part.box);
                for (int c = 0; c < 3 && split->plan.means; ++c)
                    chunk->middles[side][c] +=
                        zhou_middle(split->child[side].box, c, vec3_axis(part.box.lo, c),
                                    vec3_axis(part.box.hi, c));
                *to[side]++ = part;
            }
        }
    }
}

static kd_status hand_on_children(zhou_large *stage) {
    for (uint64_t i = 0; i < stage->chunks.count; ++i) {
        const zhou_chunk *chunk = stage->chunks.items + i;
        zhou_split *split = stage->splits.items + chunk->node;
        if (split->leaf) continue;
        for (int side = 0; side < 2; ++side) {
            box3_join(&split->child[side].tight, chunk->tight[side]);
            for (int k = 0; k < 3; ++k) split->middles[side][k] += chunk->middles[side][k];
        }
    }
    for (uint64_t i = 0; i < stage->nodes.count; ++i) {
        zhou_split *split = stage->splits.items + i;
        for (int side = 0; side < 2 && !split->leaf; ++side) {
            zhou_node *child = split->child + side;
            for (int k = 0; k < 3; ++k)
                child->mean[k] = zhou_mean(child->box, k, split->middles[side][k], child->count);
            KD_TRY(hand_on(stage, child));
        }
    }
    return KD_OK;
}

kd_status zhou_large_run(zhou_large *stage) {
    while (stage->nodes.count) {
        KD_REQUIRE(!job_cancelled(stage->watched), KD_INTERRUPTED,
                   "building the triangle tree was cancelled");
        KD_TRY(LIST_ROOM(&stage->splits, stage->nodes.count));
        parallel_for((int64_t)stage->nodes.count, NODES_AT_ONCE, plan_nodes, stage);
        KD_TRY(make_chunks(stage));
        /* a piece has as many triangles as a full chunk */
        const int64_t chunks = (int64_t)stage->chunks.count;
        const int64_t grain = 1 + CHUNK * chunks / (1 + (int64_t)stage->parts.count);
        parallel_for(chunks, grain, count_chunks, stage);
        uint64_t chunk = 0;
        for (uint32_t i = 0; i < stage->nodes.count; ++i) {
            const uint32_t count = (stage->nodes.items[i].count + CHUNK - 1) / CHUNK;
            KD_TRY(decide(stage, i, stage->chunks.items + chunk, count));
            chunk += count;
        }
        parallel_for(chunks, grain, scatter_chunks, stage);
        KD_TRY(hand_on_children(stage));
        next_level(stage);
    }
    return KD_OK;
}

void zhou_large_close(zhou_large *owned) {
    memory_free(owned->parts.items);
    memory_free(owned->next_parts.items);
    memory_free(owned->small_parts.items);
    memory_free(owned->nodes.items);
    memory_free(owned->next_nodes.items);
    memory_free(owned->roots.items);
    memory_free(owned->chunks.items);
    memory_free(owned->splits.items);
    memory_free(owned->raw.items);
    memory_free(owned->ids.items);
    memset(owned, 0, sizeof *owned);
}
