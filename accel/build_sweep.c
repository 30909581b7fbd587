/* The exact SAH builder, serial: the oracle of all others.
   Source: Wald and Havran 2006, "On building fast kd-trees for ray tracing, and on doing that in
   O(n log n)", section 4.3.
   Idea: events (where clipped boxes begin and end) are sorted once for each axis; a node's best
   plane is found by one sweep over its three lists; lists of children are filtered from their
   parent's, and only what is cut anew is sorted and merged in. Work: O(n log n). Memory: 3 lists of
   8-byte events, a node's above those of its ancestors: about 250 bytes a triangle. Invariants:
   lists are sorted by (position, type) and hold each triangle once; of planes of equal cost the
   first by (axis, position) wins, so the tree is a function of its input; ids in a leaf ascend.
   Differs from the paper in: planes only strictly inside the node; triangles are clipped from the
   original to both children at once. */
#include "accel/build.h"
#include "accel/small_nodes.h"
#include "accel/sweep_events.h"
#include "core/memory.h"
#include "shaders/sah.h"
#include "shaders/triangle_clip.h"
#include <stdlib.h>

enum { SIDE_BOTH = 0, SIDE_LEFT = 1, SIDE_RIGHT = 2 };

typedef struct event_list { /* in the axis' stack */
    uint64_t first;
    uint32_t count;
} event_list;

typedef struct sweep_node {
    box3 box;
    event_list list[3];
    uint32_t count; /* triangles */
    uint32_t at;    /* index in the tree */
    int32_t depth;
} sweep_node;

typedef struct event_stack {
    sweep_event *events;
    uint64_t room;
} event_stack;

typedef struct fresh_list { /* of triangles cut anew, for one child and one axis */
    sweep_event *events;
    uint64_t count;
} fresh_list;

typedef struct sweep_build {
    const tritree_input *input;
    sah_costs costs;
    int32_t max_depth;
    tree_writer writer;
    event_stack stack[3];
    uint8_t *sides;       /* of each triangle (or its slot), for the node at hand */
    uint32_t *straddlers; /* of the node at hand */
    fresh_list fresh[2][3];
    sweep_event *scratch;
    uint64_t fresh_room; /* triangles */
    const job *watched;
} sweep_build;

uint64_t build_sweep_scratch_bytes(uint32_t triangle_count) {
    return 250 * (uint64_t)triangle_count;
}

/* Walks one axis' events once; every event is tried as a plane. Where several events share a
   position the counts in between are too high, never too low, so only true costs can win. */
static void sweep_axis(const sweep_build *build, const sweep_node *node, int axis,
                       sah_split *best) {
    const sah_axis of = sah_axis_of(node->box, axis);
    const sweep_event *event = build->stack[axis].events + node->list[axis].first;
    const sweep_event *end = event + node->list[axis].count;
    uint32_t left = 0, right = node->count;
    for (; event < end; ++event) {
        const uint32_t type = sweep_event_type(*event);
        const float plane = event->position;
        right -= type != EVENT_START;
        if (plane > of.lo && plane < of.hi) {
            float cost = sah_split_cost(&build->costs, &of, plane, left, right);
            if (type == EVENT_PLANAR) {
                uint32_t planar = 1;
                while (event + 1 < end && event[1].position == plane &&
                       sweep_event_type(event[1]) == EVENT_PLANAR) {
                    ++event;
                    ++planar;
                    --right;
                }
                const float to_left =
                    sah_split_cost(&build->costs, &of, plane, left + planar, right);
                const float to_right =
                    sah_split_cost(&build->costs, &of, plane, left, right + planar);
                cost = float_min(to_left, to_right);
                left += planar - 1;
            }
            if (cost < best->cost) {
                best->cost = cost;
                best->axis = axis;
                best->position = plane;
                /* false: not known yet */
                best->planar_left =
                    type != EVENT_PLANAR && (event + 1 == end || event[1].position > plane);
            }
        }
        left += type != EVENT_END;
    }
}

/* The side of triangles in the plane: the cheaper one, the left one of equals. */
static bool planar_goes_left(const sweep_build *build, const sweep_node *node,
                             const sah_split *split) {
    const sweep_event *event = build->stack[split->axis].events + node->list[split->axis].first;
    uint32_t left = 0, right = 0, planar = 0;
    for (uint32_t i = 0; i < node->list[split->axis].count; ++i) {
        const uint32_t type = sweep_event_type(event[i]);
        left += type != EVENT_END && event[i].position < split->position;
        right += type != EVENT_START && event[i].position > split->position;
        planar += type == EVENT_PLANAR && event[i].position == split->position;
    }
    const sah_axis of = sah_axis_of(node->box, split->axis);
    return sah_split_cost(&build->costs, &of, split->position, left + planar, right) <=
           sah_split_cost(&build->costs, &of, split->position, left, right + planar);
}

static sah_split find_split(const sweep_build *build, const sweep_node *node) {
    sah_split best = sah_split_none();
    for (int axis = 0; axis < 3; ++axis) sweep_axis(build, node, axis, &best);
    if (!best.planar_left) best.planar_left = planar_goes_left(build, node, &best);
    return best;
}

/* Marks each triangle of the node with its side; lists those on both. */
static uint32_t classify(sweep_build *build, const sweep_node *node, const sah_split *split,
                         uint32_t *left_count, uint32_t *right_count) {
    const sweep_event *event = build->stack[split->axis].events + node->list[split->axis].first;
    uint32_t straddlers = 0, left = 0, right = 0;
    for (uint32_t i = 0; i < node->list[split->axis].count; ++i) {
        const uint32_t type = sweep_event_type(event[i]), id = sweep_event_id(event[i]);
        const float position = event[i].position;
        if (type == EVENT_START) {
            const bool is_right = position >= split->position;
            build->sides[id] = is_right ? SIDE_RIGHT : SIDE_BOTH;
            right += is_right;
        } else if (type == EVENT_END) {
            if (position <= split->position) {
                build->sides[id] = SIDE_LEFT;
                ++left;
            } else if (build->sides[id] == SIDE_BOTH) {
                build->straddlers[straddlers++] = id;
            }
        } else {
            const bool is_left =
                position < split->position || (position == split->position && split->planar_left);
            build->sides[id] = is_left ? SIDE_LEFT : SIDE_RIGHT;
            left += is_left;
            right += !is_left;
        }
    }
    *left_count = left;
    *right_count = right;
    return straddlers;
}

static kd_status reserve_fresh(sweep_build *build, uint32_t straddlers) {
    if (straddlers <= build->fresh_room) return KD_OK;
    const uint64_t room = 2 * (uint64_t)straddlers;
    for (int i = 0; i < 6; ++i) KD_TRY(KD_GROW(build->fresh[i / 3][i % 3].events, 0, 2 * room));
    KD_TRY(KD_GROW(build->scratch, 0, 2 * room));
    build->fresh_room = room;
    return KD_OK;
}

/* Cuts the straddlers in two; their parts' events go to the fresh lists, sorted. */
static kd_status cut_straddlers(sweep_build *build, const sweep_node *node, const sah_split *split,
                                uint32_t straddlers, uint32_t *left_count, uint32_t *right_count) {
    KD_TRY(reserve_fresh(build, straddlers));
    for (int i = 0; i < 6; ++i) build->fresh[i / 3][i % 3].count = 0;
    for (uint32_t i = 0; i < straddlers; ++i) {
        const uint32_t id = build->straddlers[i];
        const uint32_t *index = build->input->triangles + 3 * (uint64_t)id;
        const vec3 *corner = build->input->positions;
        box3 part[2];
        const int parts =
            triangle_clip_halves(corner[index[0]], corner[index[1]], corner[index[2]], node->box,
                                 split->axis, split->position, &part[0], &part[1]);
        *left_count += parts & 1;
        *right_count += (uint32_t)parts >> 1;
        for (int side = 0; side < 2; ++side) {
            if (!(parts >> side & 1)) continue;
            for (int axis = 0; axis < 3; ++axis) {
                fresh_list *list = &build->fresh[side][axis];
                list->count += sweep_events_of(list->events + list->count, part[side], axis, id);
            }
        }
    }
    for (int i = 0; i < 6; ++i)
        sweep_events_sort(build->fresh[i / 3][i % 3].events, build->scratch,
                          build->fresh[i / 3][i % 3].count);
    return KD_OK;
}

/* The children's lists on one axis: the right one's above the node's own, the left one's on top. */
static kd_status split_list(sweep_build *build, const sweep_node *node, int axis, sweep_node *left,
                            sweep_node *right) {
    event_stack *stack = &build->stack[axis];
    const event_list from = node->list[axis];
    right->list[axis].first = from.first + from.count;
    left->list[axis].first = right->list[axis].first + 2 * (uint64_t)right->count;
    const uint64_t top = left->list[axis].first + 2 * (uint64_t)left->count + 1;
    if (top > stack->room) {
        KD_TRY(KD_GROW(stack->events, from.first + from.count, top + top / 2));
        stack->room = top + top / 2;
    }
    const sweep_event *event = stack->events + from.first;
    const fresh_list *left_fresh = &build->fresh[0][axis], *right_fresh = &build->fresh[1][axis];
    sweep_event *left_to = stack->events + left->list[axis].first + left_fresh->count;
    sweep_event *right_to = stack->events + right->list[axis].first + right_fresh->count;
    uint64_t left_kept = 0, right_kept = 0;
    for (uint32_t i = 0; i < from.count; ++i) {
        const uint8_t side = build->sides[sweep_event_id(event[i])];
        if (side == SIDE_LEFT) left_to[left_kept++] = event[i];
        if (side == SIDE_RIGHT) right_to[right_kept++] = event[i];
    }
    sweep_events_merge(left_to - left_fresh->count, left_kept, left_fresh->events,
                       left_fresh->count);
    sweep_events_merge(right_to - right_fresh->count, right_kept, right_fresh->events,
                       right_fresh->count);
    left->list[axis].count = (uint32_t)(left_kept + left_fresh->count);
    right->list[axis].count = (uint32_t)(right_kept + right_fresh->count);
    return KD_OK;
}

static int ascending(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The node's triangles, ids ascending. */
static void list_ids(const sweep_build *build, const sweep_node *node, uint32_t *ids) {
    const sweep_event *event = build->stack[0].events + node->list[0].first;
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->list[0].count; ++i)
        if (sweep_event_type(event[i]) != EVENT_END) ids[count++] = sweep_event_id(event[i]);
    assert(count == node->count);
    qsort(ids, count, sizeof *ids, ascending);
}

static kd_status make_leaf(sweep_build *build, const sweep_node *node) {
    uint32_t *ids = NULL;
    KD_TRY(tree_writer_leaf(&build->writer, node->at, node->count, &ids));
    list_ids(build, node, ids);
    return KD_OK;
}

/* From events back to boxes: the rest of the way goes without sorted lists. */
static kd_status finish_small(sweep_build *build, const sweep_node *node) {
    small_node small;
    small.box = node->box;
    small.at = node->at;
    small.depth = node->depth;
    small.count = node->count;
    list_ids(build, node, small.id);
    for (uint32_t i = 0; i < small.count; ++i) build->sides[small.id[i]] = (uint8_t)i;
    for (int axis = 0; axis < 3; ++axis) {
        const sweep_event *event = build->stack[axis].events + node->list[axis].first;
        for (uint32_t i = 0; i < node->list[axis].count; ++i) {
            const uint32_t type = sweep_event_type(event[i]);
            const uint8_t slot = build->sides[sweep_event_id(event[i])];
            if (type != EVENT_END) small.lo[axis][slot] = event[i].position;
            if (type != EVENT_START) small.hi[axis][slot] = event[i].position;
        }
    }
    const small_build rest = {build->input, build->costs, build->max_depth, &build->writer};
    return small_nodes_build(&rest, &small);
}

static kd_status subdivide(sweep_build *build, const sweep_node *node) {
    KD_REQUIRE(!job_cancelled(build->watched), KD_INTERRUPTED, "the tree's build was cancelled");
    if (node->count <= SMALL_NODE_MOST) return finish_small(build, node);
    sah_split split = sah_split_none();
    if (node->depth < build->max_depth) split = find_split(build, node);
    if (!(split.cost < build->costs.intersect * (float)node->count)) return make_leaf(build, node);
    sweep_node left = *node, right = *node;
    const uint32_t straddlers = classify(build, node, &split, &left.count, &right.count);
    KD_TRY(cut_straddlers(build, node, &split, straddlers, &left.count, &right.count));
    for (int axis = 0; axis < 3; ++axis) KD_TRY(split_list(build, node, axis, &left, &right));
    KD_TRY(tree_writer_inner(&build->writer, node->at, split.axis, split.position, &left.at));
    right.at = left.at + 1;
    left.depth = right.depth = node->depth + 1;
    vec3_set_axis(&left.box.hi, split.axis, split.position);
    vec3_set_axis(&right.box.lo, split.axis, split.position);
    KD_TRY(subdivide(build, &left));
    return subdivide(build, &right);
}

static kd_status make_root(sweep_build *build, sweep_node *root) {
    const tritree_input *input = build->input;
    const uint64_t n = input->triangle_count;
    for (int axis = 0; axis < 3; ++axis) {
        build->stack[axis].room = 6 * n + 1;
        KD_TRY(KD_RESERVE(build->stack[axis].events, build->stack[axis].room));
    }
    for (uint32_t id = 0; id < n; ++id) {
        const uint32_t *index = input->triangles + 3 * (uint64_t)id;
        const vec3 a = input->positions[index[0]], b = input->positions[index[1]],
                   c = input->positions[index[2]];
        if (triangle_is_degenerate(a, b, c)) continue;
        ++root->count;
        for (int axis = 0; axis < 3; ++axis)
            root->list[axis].count +=
                sweep_events_of(build->stack[axis].events + root->list[axis].count,
                                triangle_box(a, b, c), axis, id);
    }
    for (int axis = 0; axis < 3; ++axis)
        sweep_events_sort(build->stack[axis].events,
                          build->stack[axis].events + root->list[axis].count,
                          root->list[axis].count);
    return KD_OK;
}

kd_status build_sweep(tritree *out, const tritree_input *input, const tritree_options *options,
                      job *watched) {
    const uint32_t n = input->triangle_count;
    KD_REQUIRE(n < 1u << EVENT_ID_BITS, KD_ERROR_MEMORY, "%u triangles, expected less than 2^%d", n,
               EVENT_ID_BITS);
    sweep_build build = {.input = input, .watched = watched};
    build.costs =
        (sah_costs){options->traversal_cost, options->intersect_cost, options->empty_factor};
    build.max_depth = tritree_depth_limit(options, n);
    sweep_node root = {.box = out->box};
    kd_status status = KD_OK;
    KD_TRY_GOTO(tree_writer_open(&build.writer, 4 * (uint64_t)n, 4 * (uint64_t)n));
    KD_TRY_GOTO(KD_RESERVE(build.sides, n));
    KD_TRY_GOTO(KD_RESERVE(build.straddlers, n));
    KD_TRY_GOTO(make_root(&build, &root));
    KD_TRY_GOTO(subdivide(&build, &root));
    tree_writer_finish(&build.writer, out);
done:
    for (int i = 0; i < 6; ++i) memory_free(build.fresh[i / 3][i % 3].events);
    for (int axis = 0; axis < 3; ++axis) memory_free(build.stack[axis].events);
    memory_free(build.scratch);
    memory_free(build.straddlers);
    memory_free(build.sides);
    tree_writer_close(&build.writer);
    return status;
}
