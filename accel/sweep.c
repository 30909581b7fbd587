#include "accel/sweep.h"
#include "accel/sah8.h"
#include "accel/small_nodes.h"
#include "core/memory.h"
#include "shaders/triangle_clip.h"
#include <stdlib.h>

enum { SIDE_BOTH = 0, SIDE_LEFT = 1, SIDE_RIGHT = 2 };
enum { TASK_TRIANGLES = 4096, CUT_PIECE = 1024 }; /* what is worth a task */

uint64_t sweep_scratch_bytes(uint32_t triangle_count) {
    return 250 * (uint64_t)triangle_count;
}

/* Where a walk over one axis' events stands. */
typedef struct axis_walk {
    const sah_costs *costs;
    sah_axis of;
    const sweep_event *event, *end;
    uint32_t left, right; /* triangles that began, that have not ended */
} axis_walk;

/* Tries the event's plane, or that of a whole group of planar events, and goes past it. */
static inline void try_event(axis_walk *walk, float *least, float *where) {
    const float plane = walk->event->position;
    const uint32_t type = sweep_event_type(*walk->event);
    walk->right -= type != EVENT_START;
    float cost = sah_split_cost(walk->costs, &walk->of, plane, walk->left, walk->right);
    if (type == EVENT_PLANAR) {
        uint32_t planar = 1;
        while (walk->event + 1 < walk->end && walk->event[1].position == plane &&
               sweep_event_type(walk->event[1]) == EVENT_PLANAR) {
            ++walk->event;
            ++planar;
            --walk->right;
        }
        cost = float_min(
            sah_split_cost(walk->costs, &walk->of, plane, walk->left + planar, walk->right),
            sah_split_cost(walk->costs, &walk->of, plane, walk->left, walk->right + planar));
        walk->left += planar - 1;
    }
    walk->left += type != EVENT_END;
    ++walk->event;
    if (plane > walk->of.lo && plane < walk->of.hi && cost < *least) {
        *least = cost;
        *where = plane;
    }
}

/* Walks one axis' events once; every event is tried as a plane, eight at a time where none is
   planar. Where several events share a position the counts in between are too high, never too low,
   so only true costs can win. */
VECTOR8_FN void sweep_axis(const sweep *work, const sweep_node *node, int axis, sah_split *best) {
    axis_walk walk = {.costs = &work->costs, .of = sah_axis_of(node->box, axis)};
    walk.event = work->stack[axis].events + node->list[axis].first;
    walk.end = walk.event + node->list[axis].count;
    walk.right = node->count;
    float least = INFINITY, where = 0;
    float8 least8 = float8_all(INFINITY), where8 = float8_all(0);
    while (walk.event < walk.end) {
        float position[VECTOR8_LANES];
        int32_t left[VECTOR8_LANES], right[VECTOR8_LANES];
        uint32_t l = walk.left, r = walk.right, planar = 0;
        const bool whole = walk.end - walk.event >= VECTOR8_LANES;
        for (int k = 0; whole && k < VECTOR8_LANES; ++k) {
            const uint32_t type = sweep_event_type(walk.event[k]);
            position[k] = walk.event[k].position;
            planar |= type & EVENT_PLANAR;
            r -= type != EVENT_START;
            left[k] = (int32_t)l;
            right[k] = (int32_t)r;
            l += type != EVENT_END;
        }
        if (!whole || planar) {
            const sweep_event *until = whole ? walk.event + VECTOR8_LANES : walk.end;
            while (walk.event < until) try_event(&walk, &least, &where);
            continue;
        }
        const float8 plane = float8_load(position);
        int8 left8, right8;
        memcpy(&left8, left, sizeof left8);
        memcpy(&right8, right, sizeof right8);
        const float8 cost = sah_split_cost8(walk.costs, &walk.of, plane, left8, right8);
        const int8 better = (cost < least8) & (plane > walk.of.lo) & (plane < walk.of.hi);
        least8 = float8_select(better, cost, least8);
        where8 = float8_select(better, plane, where8);
        walk.event += VECTOR8_LANES;
        walk.left = l;
        walk.right = r;
    }
    for (int k = 0; k < VECTOR8_LANES; ++k)
        if (least8[k] < least || (least8[k] == least && where8[k] < where)) {
            least = least8[k];
            where = where8[k];
        }
    best->cost = least;
    best->position = where;
    best->axis = axis;
}

static void sweep_axis_here(const sweep *work, const sweep_node *node, int axis, sah_split *best) {
    sweep_axis(work, node, axis, best);
}

#ifdef VECTOR8_DISPATCH
VECTOR8_AVX2 static void sweep_axis_avx2(const sweep *work, const sweep_node *node, int axis,
                                         sah_split *best) {
    sweep_axis(work, node, axis, best);
}
#else
#define sweep_axis_avx2 sweep_axis_here
#endif

/* Whether some triangle lies in the split's plane. */
static bool has_planar(const sweep *work, const sweep_node *node, const sah_split *split) {
    const sweep_event *event = work->stack[split->axis].events + node->list[split->axis].first;
    const uint32_t count = node->list[split->axis].count;
    uint32_t first = 0, beyond = count; /* the first event at the plane or above it */
    while (first < beyond) {
        const uint32_t middle = first + (beyond - first) / 2;
        if (event[middle].position < split->position)
            first = middle + 1;
        else
            beyond = middle;
    }
    for (; first < count && event[first].position == split->position; ++first)
        if (sweep_event_type(event[first]) == EVENT_PLANAR) return true;
    return false;
}

/* The side of triangles in the plane: the cheaper one, the left one of equals. */
static bool planar_goes_left(const sweep *work, const sweep_node *node, const sah_split *split) {
    const sweep_event *event = work->stack[split->axis].events + node->list[split->axis].first;
    uint32_t left = 0, right = 0, planar = 0;
    for (uint32_t i = 0; i < node->list[split->axis].count; ++i) {
        const uint32_t type = sweep_event_type(event[i]);
        left += type != EVENT_END && event[i].position < split->position;
        right += type != EVENT_START && event[i].position > split->position;
        planar += type == EVENT_PLANAR && event[i].position == split->position;
    }
    const sah_axis of = sah_axis_of(node->box, split->axis);
    return sah_split_cost(&work->costs, &of, split->position, left + planar, right) <=
           sah_split_cost(&work->costs, &of, split->position, left, right + planar);
}

/* One step of a node that is done axis by axis. */
typedef struct axis_step {
    sweep *work;
    const sweep_node *node;
    sah_split best[3];
    sweep_node *left, *right;
} axis_step;

static kd_status each_axis(axis_step *step, kd_status (*run)(axis_step *step, int axis)) {
    if (!step->work->tasks || step->node->count < TASK_TRIANGLES) {
        for (int axis = 0; axis < 3; ++axis) KD_TRY(run(step, axis));
        return KD_OK;
    }
    kd_status status[3] = {KD_OK, KD_OK, KD_OK};
#pragma omp taskgroup
    for (int axis = 0; axis < 3; ++axis) {
#pragma omp task firstprivate(axis, step, run) shared(status)
        status[axis] = run(step, axis);
    }
    /* what went wrong was said on another thread */
    for (int axis = 0; axis < 3; ++axis)
        KD_REQUIRE(status[axis] == KD_OK, status[axis], "out of memory for the events of axis %d",
                   axis);
    return KD_OK;
}

static kd_status search_one(axis_step *step, int axis) {
    step->best[axis] = sah_split_none();
    (vector8_has_avx2() ? sweep_axis_avx2 : sweep_axis_here)(step->work, step->node, axis,
                                                             &step->best[axis]);
    return KD_OK;
}

static kd_status find_split(sweep *work, const sweep_node *node, sah_split *split) {
    axis_step step = {.work = work, .node = node};
    KD_TRY(each_axis(&step, search_one));
    *split = step.best[0];
    for (int axis = 1; axis < 3; ++axis)
        if (step.best[axis].cost < split->cost) *split = step.best[axis];
    if (split->cost < INFINITY && has_planar(work, node, split))
        split->planar_left = planar_goes_left(work, node, split);
    return KD_OK;
}

/* Marks each triangle of the node with its side; lists those on both. */
static uint32_t classify(sweep *work, const sweep_node *node, const sah_split *split,
                         uint32_t *left_count, uint32_t *right_count) {
    const sweep_event *event = work->stack[split->axis].events + node->list[split->axis].first;
    uint32_t straddlers = 0, left = 0, right = 0;
    for (uint32_t i = 0; i < node->list[split->axis].count; ++i) {
        const uint32_t type = sweep_event_type(event[i]), id = sweep_event_id(event[i]);
        const float position = event[i].position;
        if (type == EVENT_START) {
            const bool is_right = position >= split->position;
            work->sides[id] = is_right ? SIDE_RIGHT : SIDE_BOTH;
            right += is_right;
        } else if (type == EVENT_END) {
            if (position <= split->position) {
                work->sides[id] = SIDE_LEFT;
                ++left;
            } else if (work->sides[id] == SIDE_BOTH) {
                work->straddlers[straddlers++] = id;
            }
        } else {
            const bool is_left =
                position < split->position || (position == split->position && split->planar_left);
            work->sides[id] = is_left ? SIDE_LEFT : SIDE_RIGHT;
            left += is_left;
            right += !is_left;
        }
    }
    *left_count = left;
    *right_count = right;
    return straddlers;
}

static kd_status reserve_fresh(sweep *work, uint32_t straddlers) {
    if (straddlers <= work->fresh_room) return KD_OK;
    const uint64_t room = 2 * (uint64_t)straddlers;
    for (int i = 0; i < 6; ++i) KD_TRY(KD_GROW(work->fresh[i / 3][i % 3].events, 0, 2 * room));
    for (int axis = 0; axis < 3; ++axis) KD_TRY(KD_GROW(work->scratch[axis], 0, 2 * room));
    KD_TRY(KD_GROW(work->cuts, 0, room));
    work->fresh_room = room;
    return KD_OK;
}

static void cut_some(sweep *work, const sweep_node *node, const sah_split *split, uint32_t begin,
                     uint32_t end) {
    const vec3 *corner = work->input->positions;
    for (uint32_t i = begin; i < end; ++i) {
        const uint32_t *index =
            work->input->triangles + 3 * (uint64_t)work->ids[work->straddlers[i]];
        sweep_cut *cut = &work->cuts[i];
        cut->parts =
            triangle_clip_halves(corner[index[0]], corner[index[1]], corner[index[2]], node->box,
                                 split->axis, split->position, &cut->part[0], &cut->part[1]);
    }
}

/* Cuts the straddlers in two. */
static kd_status cut_straddlers(sweep *work, const sweep_node *node, const sah_split *split,
                                uint32_t straddlers) {
    KD_TRY(reserve_fresh(work, straddlers));
    if (!work->tasks || straddlers < CUT_PIECE) {
        cut_some(work, node, split, 0, straddlers);
        return KD_OK;
    }
#pragma omp taskgroup
    for (uint32_t begin = 0; begin < straddlers; begin += CUT_PIECE) {
        const uint32_t end = straddlers - begin < CUT_PIECE ? straddlers : begin + CUT_PIECE;
#pragma omp task firstprivate(begin, end)
        cut_some(work, node, split, begin, end);
    }
    return KD_OK;
}

/* What a list keeps of its parent's goes behind room for the fresh events, which are merged in. */
static void finish_list(event_list *list, const fresh_list *fresh, sweep_event *to, uint64_t kept) {
    sweep_events_merge(to - fresh->count, kept, fresh->events, fresh->count);
    list->count = (uint32_t)(kept + fresh->count);
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
        KD_TRY(KD_GROW(stack->events, from.first + from.count, top + top / 2));
        stack->room = top + top / 2;
    }
    make_fresh(work, axis);
    const fresh_list *left_fresh = &work->fresh[0][axis], *right_fresh = &work->fresh[1][axis];
    const sweep_event *event = stack->events + from.first;
    sweep_event *left_to = stack->events + left->list[axis].first + left_fresh->count;
    sweep_event *right_to = stack->events + right->list[axis].first + right_fresh->count;
    uint64_t left_kept = 0, right_kept = 0;
    for (uint32_t i = 0; i < from.count; ++i) { /* no branch: sides are hard to predict */
        const uint8_t side = work->sides[sweep_event_id(event[i])];
        left_to[left_kept] = event[i];
        right_to[right_kept] = event[i];
        left_kept += side == SIDE_LEFT;
        right_kept += side == SIDE_RIGHT;
    }
    finish_list(&left->list[axis], left_fresh, left_to, left_kept);
    finish_list(&right->list[axis], right_fresh, right_to, right_kept);
    return KD_OK;
}

static int ascending(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The node's triangles, ids ascending. */
static void list_ids(const sweep *work, const sweep_node *node, uint32_t *ids) {
    const sweep_event *event = work->stack[0].events + node->list[0].first;
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->list[0].count; ++i)
        if (sweep_event_type(event[i]) != EVENT_END) ids[count++] = sweep_event_id(event[i]);
    assert(count == node->count);
    qsort(ids, count, sizeof *ids, ascending);
}

static kd_status make_leaf(sweep *work, const sweep_node *node) {
    uint32_t *ids = NULL;
    KD_TRY(tree_writer_leaf(&work->writer, node->at, node->count, &ids));
    list_ids(work, node, ids);
    for (uint32_t i = 0; i < node->count; ++i) ids[i] = work->ids[ids[i]];
    return KD_OK;
}

/* From events back to boxes: the rest of the way goes without sorted lists. */
static kd_status finish_small(sweep *work, const sweep_node *node) {
    small_node small;
    small.box = node->box;
    small.at = node->at;
    small.depth = node->depth;
    small.count = node->count;
    list_ids(work, node, small.id);
    for (uint32_t i = 0; i < small.count; ++i) work->sides[small.id[i]] = (uint8_t)i;
    for (int axis = 0; axis < 3; ++axis) {
        const sweep_event *event = work->stack[axis].events + node->list[axis].first;
        for (uint32_t i = 0; i < node->list[axis].count; ++i) {
            const uint32_t type = sweep_event_type(event[i]);
            const uint8_t slot = work->sides[sweep_event_id(event[i])];
            if (type != EVENT_END) small.lo[axis][slot] = event[i].position;
            if (type != EVENT_START) small.hi[axis][slot] = event[i].position;
        }
    }
    for (uint32_t i = 0; i < small.count; ++i) small.id[i] = work->ids[small.id[i]];
    const small_build rest = {work->input, work->costs, work->max_depth, &work->writer};
    return small_nodes_build(&rest, &small);
}

kd_status sweep_step(sweep *work, const sweep_node *node, bool *split, sweep_node *left,
                     sweep_node *right) {
    *split = false;
    KD_REQUIRE(!job_cancelled(work->watched), KD_INTERRUPTED, "the tree's build was cancelled");
    if (node->count <= SMALL_NODE_MOST) return finish_small(work, node);
    sah_split plane = sah_split_none();
    if (node->depth < work->max_depth) KD_TRY(find_split(work, node, &plane));
    if (!(plane.cost < work->costs.intersect * (float)node->count)) return make_leaf(work, node);
    *left = *right = *node;
    work->straddler_count = classify(work, node, &plane, &left->count, &right->count);
    KD_TRY(cut_straddlers(work, node, &plane, work->straddler_count));
    for (uint32_t i = 0; i < work->straddler_count; ++i) {
        left->count += (uint32_t)work->cuts[i].parts & 1;
        right->count += (uint32_t)work->cuts[i].parts >> 1;
    }
    axis_step step = {.work = work, .node = node, .left = left, .right = right};
    KD_TRY(each_axis(&step, split_list));
    KD_TRY(tree_writer_inner(&work->writer, node->at, plane.axis, plane.position, &left->at));
    right->at = left->at + 1;
    left->depth = right->depth = node->depth + 1;
    vec3_set_axis(&left->box.hi, plane.axis, plane.position);
    vec3_set_axis(&right->box.lo, plane.axis, plane.position);
    *split = true;
    return KD_OK;
}
