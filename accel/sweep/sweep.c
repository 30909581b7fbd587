#include "accel/sweep/sweep.h"
#include "accel/sweep/clip_halves.h"
#include "accel/sweep/small_nodes.h"
#include "core/memory.h"
#include <stdlib.h>

enum { SIDE_BOTH = 0, SIDE_LEFT = 1, SIDE_RIGHT = 2 }; /* bit 0: stays left, bit 1: right */
enum { TASK_TRIANGLES = 4096, CUT_TRIANGLES = 1024, CUT_PIECES = 8 }; /* what is worth a task */

uint64_t sweep_scratch_bytes(uint32_t triangle_count) {
    return 250 * (uint64_t)triangle_count;
}

/* One step of a node that is done axis by axis. */
typedef struct axis_step {
    sweep *work;
    const sweep_node *node;
    float limit; /* planes that do not cost less are of no use */
    sah_split best[3];
    const sah_split *split;
    sweep_node *left, *right;
    int axis;             /* of the split */
    uint32_t first_right; /* of that axis' events: those from here on are above the plane */
    bool alone;           /* one axis after the other */
    kd_status (*run)(struct axis_step *step, int axis);
    kd_status status[3];
} axis_step;

static void run_axis(void *context, int axis) {
    axis_step *step = (axis_step *)context;
    step->status[axis] = step->run(step, axis);
}

static kd_status each_axis(axis_step *step, kd_status (*run)(axis_step *step, int axis)) {
    step->alone = !step->work->pool || step->node->count < TASK_TRIANGLES;
    if (step->alone) {
        for (int axis = 0; axis < 3; ++axis) KD_TRY(run(step, axis));
        return KD_OK;
    }
    step->run = run;
    task_each(step->work->pool, 3, run_axis, step);
    /* what went wrong was said on another thread */
    for (int axis = 0; axis < 3; ++axis)
        KD_REQUIRE(step->status[axis] == KD_OK, step->status[axis],
                   "out of memory for the events of axis %d", axis);
    return KD_OK;
}

static sweep_line line_of(const sweep *work, const sweep_node *node, int axis) {
    const event_list list = node->list[axis];
    const sweep_line line = {work->stack[axis].events + list.first, list.count, node->count,
                             node->box, axis};
    return line;
}

static kd_status search_one(axis_step *step, int axis) {
    const sweep_line line = line_of(step->work, step->node, axis);
    step->best[axis] =
        sweep_search(&line, &step->work->costs, step->limit, &step->work->blocks[axis]);
    if (step->alone) step->limit = float_min(step->limit, step->best[axis].cost);
    return KD_OK;
}

/* The best plane if it beats a leaf, and where it cuts its axis' events. */
static kd_status find_split(sweep *work, const sweep_node *node, sah_split *split,
                            sweep_place *place) {
    axis_step step = {.work = work, .node = node};
    step.limit = work->costs.intersect * (float)node->count;
    KD_TRY(each_axis(&step, search_one));
    *split = step.best[0];
    for (int axis = 1; axis < 3; ++axis)
        if (step.best[axis].cost < split->cost) *split = step.best[axis];
    if (!(split->cost < INFINITY)) return KD_OK;
    const sweep_line line = line_of(work, node, split->axis);
    *place = sweep_find_place(&line, split->position, &work->blocks[split->axis]);
    /* triangles in the plane go to the cheaper side, the left one of equals; those in the node's
       own side are parted from all else */
    const sah_axis of = sah_axis_of(node->box, split->axis);
    const uint32_t planar = place->beyond - place->planar, right = node->count - place->ended;
    split->planar_left =
        split->position == of.lo ||
        (split->position != of.hi &&
         sah_split_cost(&work->costs, &of, split->position, place->begun + planar, right) <=
             sah_split_cost(&work->costs, &of, split->position, place->begun, right + planar));
    return KD_OK;
}

/* Marks each triangle of the node with its side; lists those on both. */
static uint32_t classify(sweep *work, const sweep_node *node, const sah_split *split,
                         const sweep_place *place) {
    const sweep_event *event = work->stack[split->axis].events + node->list[split->axis].first;
    uint8_t *sides = work->sides;
    for (uint32_t i = 0; i < place->planar; ++i) /* what began and has not ended is on both */
        sides[sweep_event_id(event[i])] =
            sweep_event_type(event[i]) == EVENT_START ? SIDE_BOTH : SIDE_LEFT;
    for (uint32_t i = place->planar; i < place->beyond; ++i)
        sides[sweep_event_id(event[i])] = split->planar_left ? SIDE_LEFT : SIDE_RIGHT;
    uint32_t straddlers = 0;
    for (uint32_t i = place->beyond; i < node->list[split->axis].count; ++i) {
        const uint32_t id = sweep_event_id(event[i]);
        const uint8_t side = sweep_event_type(event[i]) == EVENT_END ? sides[id] : SIDE_RIGHT;
        sides[id] = side;
        work->straddlers[straddlers] = id;
        straddlers += side == SIDE_BOTH;
    }
    return straddlers;
}

static kd_status reserve_fresh(sweep *work, uint32_t straddlers) {
    if (straddlers < work->fresh_room) return KD_OK;
    const uint64_t room = 2 * (uint64_t)straddlers + 1;
    for (int i = 0; i < 6; ++i) KD_TRY(KD_GROW(work->fresh[i / 3][i % 3].events, 0, 2 * room));
    for (int axis = 0; axis < 3; ++axis) KD_TRY(KD_GROW(work->scratch[axis], 0, 2 * room));
    KD_TRY(KD_GROW(work->cuts, 0, room));
    work->fresh_room = room;
    return KD_OK;
}

static void cut_some(sweep *work, const sweep_node *node, const sah_split *split, uint32_t begin,
                     uint32_t end) {
    const clip_split by = clip_split_make(node->box, split->axis, split->position);
    const vec3 *at = work->input->positions;
    for (uint32_t i = begin; i < end; ++i) {
        const uint32_t *index =
            work->input->triangles + 3 * (uint64_t)work->ids[work->straddlers[i]];
        const float4v corner[3] = {float4v_of(at[index[0]]), float4v_of(at[index[1]]),
                                   float4v_of(at[index[2]])};
        clip_part part[2];
        work->cuts[i].parts = clip_halves(&by, corner, part);
        for (int side = 0; side < 2; ++side) work->cuts[i].part[side] = clip_part_box(&part[side]);
    }
}

static void cut_piece(void *context, int piece) {
    const axis_step *step = (const axis_step *)context;
    const uint64_t count = step->work->straddler_count, i = (uint64_t)piece;
    cut_some(step->work, step->node, step->split, (uint32_t)(count * i / CUT_PIECES),
             (uint32_t)(count * (i + 1) / CUT_PIECES));
}

/* Cuts the straddlers in two. */
static kd_status cut_straddlers(axis_step *step) {
    sweep *work = step->work;
    const uint32_t straddlers = work->straddler_count;
    KD_TRY(reserve_fresh(work, straddlers));
    if (work->pool && straddlers >= CUT_TRIANGLES)
        task_each(work->pool, CUT_PIECES, cut_piece, step);
    else
        cut_some(work, step->node, step->split, 0, straddlers);
    return KD_OK;
}

/* Events of the straddlers' parts on an axis, sorted. */
static void make_fresh(sweep *work, int axis) {
    fresh_list *below = &work->fresh[0][axis], *above = &work->fresh[1][axis];
    below->count = above->count = 0;
    for (uint32_t i = 0; i < work->straddler_count; ++i) {
        const sweep_cut *cut = &work->cuts[i];
        const uint32_t id = work->straddlers[i];
        if (cut->parts & 1)
            below->count += sweep_events_of(below->events + below->count, cut->part[0], axis, id);
        if (cut->parts & 2)
            above->count += sweep_events_of(above->events + above->count, cut->part[1], axis, id);
    }
    sweep_events_sort(below->events, work->scratch[axis], below->count);
    sweep_events_sort(above->events, work->scratch[axis], above->count);
    below->events[below->count] = above->events[above->count] = INT64_MAX;
}

/* A child's list that is written, and the fresh events to be merged in. */
typedef struct child_list {
    sweep_event *to;
    const sweep_event *fresh;
} child_list;

/* Fresh events that come before `until`. */
static inline void merge_fresh(child_list *child, sweep_event until) {
    while (*child->fresh < until) *child->to++ = *child->fresh++;
}

/* Shares sorted events out to both children. No branch on sides: they are hard to predict. */
static void share_out(const sweep_event *event, uint32_t count, const uint8_t *sides,
                      child_list *left, child_list *right) {
    child_list l = *left, r = *right;
    sweep_event next = INT64_MIN;
    for (uint32_t i = 0; i < count; ++i) {
        if (event[i] > next) {
            merge_fresh(&l, event[i]);
            merge_fresh(&r, event[i]);
            next = *l.fresh < *r.fresh ? *l.fresh : *r.fresh;
        }
        const uint8_t side = sides[sweep_event_id(event[i])];
        *l.to = *r.to = event[i];
        l.to += side & SIDE_LEFT;
        r.to += side >> 1;
    }
    *left = l;
    *right = r;
}

/* Events on one side of the split are that child's, but those of straddlers. */
static void keep(const sweep_event *event, uint32_t count, const uint8_t *sides,
                 child_list *child) {
    child_list c = *child;
    for (uint32_t i = 0; i < count; ++i) {
        if (event[i] > *c.fresh) merge_fresh(&c, event[i]);
        *c.to = event[i];
        c.to += sides[sweep_event_id(event[i])] != SIDE_BOTH;
    }
    *child = c;
}

/* The children's lists on one axis: the right one's above the node's own, the left one's on top. */
static kd_status split_list(axis_step *step, int axis) {
    sweep *work = step->work;
    sweep_node *left = step->left, *right = step->right;
    event_stack *stack = &work->stack[axis];
    const event_list from = step->node->list[axis];
    right->list[axis].first = from.first + from.count;
    left->list[axis].first = right->list[axis].first + 2 * (uint64_t)right->count + 1;
    const uint64_t top = left->list[axis].first + 2 * (uint64_t)left->count + 1;
    if (top > stack->room) {
        pthread_mutex_lock(&work->moving);
        const kd_status grown = KD_GROW(stack->events, from.first + from.count, top + top / 2);
        pthread_mutex_unlock(&work->moving);
        KD_TRY(grown);
        stack->room = top + top / 2;
    }
    make_fresh(work, axis);
    const sweep_event *event = stack->events + from.first;
    sweep_event *left_events = stack->events + left->list[axis].first;
    sweep_event *right_events = stack->events + right->list[axis].first;
    child_list below = {left_events, work->fresh[0][axis].events};
    child_list above = {right_events, work->fresh[1][axis].events};
    if (axis == step->axis) {
        keep(event, step->first_right, work->sides, &below);
        keep(event + step->first_right, from.count - step->first_right, work->sides, &above);
    } else {
        share_out(event, from.count, work->sides, &below, &above);
    }
    merge_fresh(&below, INT64_MAX);
    merge_fresh(&above, INT64_MAX);
    left->list[axis].count = (uint32_t)(below.to - left_events);
    right->list[axis].count = (uint32_t)(above.to - right_events);
    return KD_OK;
}

static int ascending(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void list_ids(const sweep *work, const sweep_node *node, uint32_t *ids) {
    const sweep_event *event = work->stack[0].events + node->list[0].first;
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->list[0].count; ++i)
        if (sweep_event_type(event[i]) != EVENT_END) ids[count++] = sweep_event_id(event[i]);
    assert(count == node->count);
}

static kd_status make_leaf(sweep *work, const sweep_node *node) {
    uint32_t *ids = NULL;
    KD_TRY(tree_writer_leaf(&work->writer, node->at, node->count, &ids));
    list_ids(work, node, ids);
    for (uint32_t i = 0; i < node->count; ++i) ids[i] = work->ids[ids[i]];
    qsort(ids, node->count, sizeof *ids, ascending);
    return KD_OK;
}

/* Ascending; each id's place is told by how many are less. */
static void list_ids_sorted(const sweep *work, const sweep_node *node, uint32_t *ids) {
    uint32_t listed[SMALL_NODE_MOST + 1]; /* one more is written, if it is of no use */
    const sweep_event *event = work->stack[0].events + node->list[0].first;
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->list[0].count; ++i) {
        listed[count] = sweep_event_id(event[i]);
        count += sweep_event_type(event[i]) != EVENT_END;
    }
    assert(count == node->count);
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t before = 0;
        for (uint32_t k = 0; k < count; ++k) before += listed[k] < listed[i];
        ids[before] = listed[i];
    }
}

/* From events back to boxes: the rest of the way goes without sorted lists. */
static kd_status finish_small(sweep *work, const sweep_node *node) {
    small_node small;
    uint32_t ids[SMALL_NODE_MOST];
    small.box = node->box;
    small.at = node->at;
    small.depth = node->depth;
    small.count = node->count;
    list_ids_sorted(work, node, ids);
    for (uint32_t i = 0; i < small.count; ++i) work->sides[ids[i]] = (uint8_t)i;
    for (int axis = 0; axis < 3; ++axis) {
        const sweep_event *event = work->stack[axis].events + node->list[axis].first;
        for (uint32_t i = 0; i < node->list[axis].count; ++i) {
            const uint32_t type = sweep_event_type(event[i]);
            const uint8_t slot = work->sides[sweep_event_id(event[i])];
            float *row = type == EVENT_END ? small.hi[axis] : small.lo[axis];
            row[slot] = sweep_event_position(event[i]);
            if (type == EVENT_PLANAR) small.hi[axis][slot] = row[slot];
        }
    }
    for (uint32_t i = 0; i < small.count; ++i) ids[i] = work->ids[ids[i]];
    small_build rest = {work->input, work->costs, work->max_depth, &work->writer, ids, NULL};
    return small_nodes_build(&rest, &small);
}

kd_status sweep_step(sweep *work, const sweep_node *node, bool *split, sweep_node *left,
                     sweep_node *right) {
    *split = false;
    KD_REQUIRE(!job_cancelled(work->watched), KD_INTERRUPTED, "the tree's build was cancelled");
    if (node->count <= SMALL_NODE_MOST) return finish_small(work, node);
    sah_split plane = sah_split_none();
    sweep_place place = {0};
    if (node->depth < work->max_depth && node->growth <= EXACT_GROWTH_MOST)
        KD_TRY(find_split(work, node, &plane, &place));
    if (!(plane.cost < INFINITY)) return make_leaf(work, node);
    *left = *right = *node;
    work->straddler_count = classify(work, node, &plane, &place);
    axis_step step = {.work = work, .node = node, .split = &plane, .left = left, .right = right};
    step.axis = plane.axis;
    step.first_right = plane.planar_left ? place.beyond : place.planar;
    KD_TRY(cut_straddlers(&step));
    const uint32_t in_plane = place.beyond - place.planar;
    left->count = place.ended - (plane.planar_left ? 0 : in_plane);
    right->count = node->count - left->count - work->straddler_count;
    for (uint32_t i = 0; i < work->straddler_count; ++i) {
        left->count += (uint32_t)work->cuts[i].parts & 1;
        right->count += (uint32_t)work->cuts[i].parts >> 1;
    }
    left->growth = right->growth =
        node->growth * (((double)left->count + (double)right->count) / (double)node->count);
    KD_TRY(each_axis(&step, split_list));
    KD_TRY(tree_writer_inner(&work->writer, node->at, plane.axis, plane.position, &left->at));
    right->at = left->at + 1;
    left->depth = right->depth = node->depth + 1;
    vec3_set_axis(&left->box.hi, plane.axis, plane.position);
    vec3_set_axis(&right->box.lo, plane.axis, plane.position);
    *split = true;
    return KD_OK;
}
