/* The loop over the rays or points of a query on a CPU, for the instruction set that this file is
   compiled for.
   Idea: closest and any hit descend the top level by nodes of eight children, whose boxes are
   tested at once, nearest child first. Rays with extreme numbers, and all other queries, take the
   traversal that devices have, too (ray_scene_walk.h).
   Invariants: boxes are tested with the slack of instance_walk. */
#include "accel/instance_wide.h"
#include "accel/ray_scene.h"
#include "core/memory.h"

typedef struct scene_entry {
    float near;
    uint32_t word;
} scene_entry;

/* The top level as a ray sees it. */
typedef struct scene_aim {
    float8 origin[3], inverse[3], slack[3];
    uint32_t nearer[3]; /* offset of the bounds of an axis that the ray enters by */
    float begin, slack_t;
} scene_aim;

enum { STACK = (SCENE_WIDE - 1) * INSTANCE_STACK + SCENE_WIDE, FLIGHTS = 16 };
#define OVER 0xffffffffu /* word below the entries of a stack; no instance has this number */

/* Sets up a ray for the box of a world. Returns false if vectors cannot handle the ray. */
VECTOR8_FN bool aim_begin(scene_aim *aim, const world_ray *world, const ray *ray, const box3 *box) {
    const float4v d = float4v_of(ray->direction), size = float4v_abs(d);
    const float largest = float4v_largest(size);
    const float4v far = float4v_max(float4v_abs(float4v_of(box->lo) - world->origin),
                                    float4v_abs(float4v_of(box->hi) - world->origin));
    const float reach = float4v_largest(far);
    const int4v sign = (int4v)d & INT32_MIN;
    const float4v safe =
        (float4v)((int4v)float4v_max(size, float4v_all(largest * 0x1p-26f)) | sign);
    const float4v inverse = 1 / safe, slack = reach * TRITREE_SLACK * float4v_abs(inverse);
    for (int axis = 0; axis < 3; ++axis) {
        aim->origin[axis] = float8_all(world->origin[axis]);
        aim->inverse[axis] = float8_all(inverse[axis]);
        aim->slack[axis] = float8_all(slack[axis]);
        aim->nearer[axis] = SCENE_WIDE * (2 * (uint32_t)axis + (inverse[axis] < 0));
    }
    aim->slack_t = reach * world->slack_t;
    aim->begin = ray->tmin - aim->slack_t;
    return wide_is_usual(largest, aim->slack_t);
}

/* Pushes the children of a node that the ray hits, nearest last. Returns the number of entries. */
VECTOR8_FN uint32_t push_children(const scene_aim *aim, const scene_wide_node *node, float limit,
                                  scene_entry *stack, uint32_t waiting) {
    float8 near = float8_all(aim->begin), far = float8_all(limit);
    float nears[SCENE_WIDE];
    const uint32_t begin = waiting;
    for (int axis = 0; axis < 3; ++axis) {
        const float *bounds = node->bounds[0];
        const float8 inverse = aim->inverse[axis], slack = aim->slack[axis];
        const float8 in = float8_load(bounds + aim->nearer[axis]) - aim->origin[axis];
        const float8 out =
            float8_load(bounds + (aim->nearer[axis] ^ SCENE_WIDE)) - aim->origin[axis];
        near = float8_max(float8_multiply_add(in, inverse, -slack), near);
        far = float8_min(float8_multiply_add(out, inverse, slack), far);
    }
    memcpy(nears, &near, sizeof nears);
    for (uint32_t hit = int8_bits(near <= far); hit; hit &= hit - 1) {
        const uint32_t child = (uint32_t)__builtin_ctz(hit);
        uint32_t at = waiting++;
        for (; at > begin && stack[at - 1].near < nears[child]; --at) stack[at] = stack[at - 1];
        stack[at].near = nears[child];
        stack[at].word = node->words[child];
    }
    return waiting;
}

/* --- Rays in flight --- */

typedef enum flight_kind { AT_BOXES, AT_INSTANCE, AT_NODE, AT_LEAF, FLIGHT_KINDS } flight_kind;

typedef struct flight {
    wide_ray at; /* the ray in object space */
    wide_far margin;
    float slack;
    const wide_tree *tree;
    uint32_t number; /* index of the instance */
    uint32_t group;  /* world, or the number of worlds for the instances of every world */
    uint32_t word, waiting;
    bool sheared; /* ray.base.precomputed is set */
    scene_ray ray;
    uint64_t index;
    world_ray world;
    scene_aim aim;
    scene_entry stack[STACK + 1];
    uint32_t words[2 * WIDE_STACK];
} flight;

typedef struct flight_lists {
    flight *list[FLIGHT_KINDS][FLIGHTS];
    uint32_t count[FLIGHT_KINDS];
    const scene_rays_view *view;
    const scene_wide *wide;
    const scene_query *query;
    uint64_t next, end; /* rays that have not begun */
} flight_lists;

VECTOR8_FN void join(flight_lists *lists, flight *f, flight_kind kind) {
    lists->list[kind][lists->count[kind]++] = f;
}

VECTOR8_FN void shear(flight *f) {
    if (!f->sheared) f->ray.base.precomputed = precomputed_ray_make(f->ray.base.ray);
    f->sheared = true;
}

/* Goes to a node or an instance of the top level. */
VECTOR8_FN void go_to(flight_lists *lists, flight *f, uint32_t word) {
    const bool leaf = word & SCENE_LEAF;
    const char *to = leaf ? (const char *)(lists->wide->places + (word ^ SCENE_LEAF))
                          : (const char *)(lists->wide->nodes + word);
    for (int line = 0; line < 4; ++line) __builtin_prefetch(to + 64 * line);
    f->word = word;
    join(lists, f, leaf ? AT_INSTANCE : AT_BOXES);
}

/* Pops the next entry of the top level. Returns false if there is none. */
VECTOR8_FN bool pop(flight_lists *lists, flight *f) {
    const float limit = f->ray.base.best.at.t + f->aim.slack_t;
    uint32_t waiting = f->waiting;
    do --waiting;
    while (f->stack[waiting].near > limit);
    f->waiting = waiting;
    if (f->stack[waiting].word == OVER) return false;
    go_to(lists, f, f->stack[waiting].word);
    return true;
}

/* Begins the traversal of the instances of a world. Returns false if there is none, or it has
   ended. */
VECTOR8_FN bool begin_group(flight_lists *lists, flight *f, uint32_t group) {
    const scene_rays_view *view = lists->view;
    const uint32_t root = view->roots[group];
    f->group = group;
    if (root == KD_NONE) return false;
    if (!aim_begin(&f->aim, &f->world, &f->ray.base.ray, &view->instances.nodes[root].box)) {
        shear(f);
        if (instance_walk(&view->instances, root, f->ray.base.ray, &f->ray.limit, scene_visit,
                          &f->ray))
            f->group = view->world_count;
        return false;
    }
    f->waiting = 1;
    f->word = lists->wide->roots[group];
    join(lists, f, AT_BOXES);
    return true;
}

/* Begins the next ray that traverses anything. */
VECTOR8_FN void begin_next(flight_lists *lists, flight *f) {
    while (lists->next < lists->end) {
        f->index = lists->next++;
        const uint32_t group = scene_ray_begin(&f->ray, lists->view, lists->query, f->index);
        if (group != KD_NONE) {
            f->world = world_ray_make(&f->ray.base.ray);
            f->sheared = false;
            if (begin_group(lists, f, group)) return;
            if (f->group != lists->view->world_count &&
                begin_group(lists, f, lists->view->world_count))
                return;
        }
        scene_ray_end(&f->ray, lists->query, f->index, f->ray.base.ray.tmax);
    }
}

/* Goes on with the next entry of the top level, the next group, or the next ray. */
VECTOR8_FN void go_on(flight_lists *lists, flight *f, bool ended) {
    const uint32_t last = lists->view->world_count;
    if (!ended && (pop(lists, f) || (f->group != last && begin_group(lists, f, last)))) return;
    scene_ray_end(&f->ray, lists->query, f->index, f->ray.base.ray.tmax);
    begin_next(lists, f);
}

VECTOR8_FN void enter_instance(flight_lists *lists, flight *f, bool any) {
    scene_ray *ray = &f->ray;
    const instance_place *place = lists->wide->places + (f->word ^ SCENE_LEAF);
    const tritree_view *tree = &ray->base.view->shapes[place->shape].tree;
    f->number = f->word ^ SCENE_LEAF;
    f->tree = tree->wide;
    shear(f);
    if (!(place->mask & ray->mask)) {
        go_on(lists, f, false);
    } else if (tree->wide && instance_wide_begin(&f->at, &f->margin, &f->slack, place, &f->world,
                                                 ray->base.ray.tmin, ray->base.best.at.t)) {
        join(lists, f, AT_NODE);
    } else {
        const box3 box = instance_place_box(place);
        const bool found = scene_visit(ray, f->number, &box);
        go_on(lists, f, any && found);
    }
}

VECTOR8_FN void go_on_in_mesh(flight_lists *lists, flight *f) {
    const uint32_t word = f->at.word;
    if (word == WIDE_OVER) {
        go_on(lists, f, false);
        return;
    }
    expect_alone(f->tree, word);
    join(lists, f, word & WIDE_COUNT_MASK ? AT_LEAF : AT_NODE);
}

VECTOR8_FN void visit_leaf(flight_lists *lists, flight *f, bool any) {
    const bool found = instance_wide_visit(&f->ray.base, f->number, f->tree, &f->at, f->slack, any);
    if (any && found)
        go_on(lists, f, true);
    else
        go_on_in_mesh(lists, f);
}

VECTOR8_FN void visit_boxes(flight_lists *lists, flight *f) {
    const uint32_t before = f->waiting;
    const uint32_t waiting =
        push_children(&f->aim, lists->wide->nodes + f->word, f->ray.base.best.at.t + f->aim.slack_t,
                      f->stack, before);
    if (waiting > before) {
        f->waiting = waiting - 1;
        go_to(lists, f, f->stack[waiting - 1].word);
    } else {
        go_on(lists, f, false);
    }
}

/* Takes the rays of a list. Returns their number. */
VECTOR8_FN uint32_t take(flight_lists *lists, flight_kind kind, flight *now[FLIGHTS]) {
    const uint32_t count = lists->count[kind];
    for (uint32_t i = 0; i < count; ++i) now[i] = lists->list[kind][i];
    lists->count[kind] = 0;
    return count;
}

VECTOR8_FN void visit_node(flight_lists *lists, flight *f, bool any) {
    wide_step(&f->at, f->tree, WIDE_STACK, any, &f->margin);
    go_on_in_mesh(lists, f);
}

VECTOR8_FN void prepare(flight *f) {
    f->stack[0].near = -INFINITY;
    f->stack[0].word = OVER;
    wide_stack_empty(&f->at, f->words, (float *)(void *)(f->words + WIDE_STACK));
}

/* Answers rays in turns. */
VECTOR8_FN void answer_together(flight_lists *lists, flight *flights, uint32_t count, bool any) {
    flight *now[FLIGHTS];
    for (uint32_t i = 0; i < count; ++i) {
        prepare(flights + i);
        begin_next(lists, flights + i);
    }
    for (uint32_t taken = 1; taken;) {
        uint32_t some = taken = take(lists, AT_BOXES, now);
        for (uint32_t i = 0; i < some; ++i) visit_boxes(lists, now[i]);
        taken += some = take(lists, AT_INSTANCE, now);
        for (uint32_t i = 0; i < some; ++i) enter_instance(lists, now[i], any);
        taken += some = take(lists, AT_NODE, now);
        for (uint32_t i = 0; i < some; ++i) visit_node(lists, now[i], any);
        taken += some = take(lists, AT_LEAF, now);
        for (uint32_t i = 0; i < some; ++i) visit_leaf(lists, now[i], any);
    }
}

static __attribute__((noinline)) void closest_together(flight_lists *lists, flight *flights,
                                                       uint32_t count) {
    answer_together(lists, flights, count, false);
}
static __attribute__((noinline)) void any_together(flight_lists *lists, flight *flights,
                                                   uint32_t count) {
    answer_together(lists, flights, count, true);
}
void ray_scene_answer(const scene_rays_view *view, const scene_wide *wide, const scene_query *query,
                      uint64_t begin, uint64_t end) {
    uint32_t fault = 0;
    scene_query some = *query;
    some.fault = &fault;
    const uint32_t count = end - begin < FLIGHTS ? (uint32_t)(end - begin) : FLIGHTS;
    flight *flights = some.kind == SCENE_CLOSEST || some.kind == SCENE_ANY
                          ? (flight *)memory_try_allocate(count * sizeof *flights)
                          : NULL;
    if (flights) {
        flight_lists lists = {
            .view = view, .wide = wide, .query = &some, .next = begin, .end = end};
        (some.kind == SCENE_ANY ? any_together : closest_together)(&lists, flights, count);
        memory_free(flights);
    } else {
        for (uint64_t i = begin; i < end; ++i) scene_query_one(view, &some, i);
    }
    if (fault) __atomic_store_n(query->fault, 1, __ATOMIC_RELAXED);
}
