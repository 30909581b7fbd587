/* The tree of lights, built from the root down. A node divides its lights into two, then repeatedly
   the costliest part, until it has four children or each is a single light.
   Source: Conty Estevez and Kulla 2018, "Importance Sampling of Many Lights with Adaptive Tree
           Splitting", section 4.4: a split minimises power x size x spread of orientations, over
           planes between buckets of each axis.
   Idea: the spread of a set of directions is estimated from the length of their mean, which is 1
   if they agree and 0 if they cancel. Sums suffice for it, and no angles. The cone of a node is
   measured afterwards, exactly, over all its lights.
   Invariants: no function of the C library except sqrt; ties are resolved by order. */
#include "scenes/assembly/scene_light_tree.h"
#include "core/memory.h"

enum { BUCKETS = 12 };

/* One light in the nodes' coordinates. */
typedef struct light_extent {
    double lo[3], hi[3];
    double axis[3];            /* zero: emits in all directions */
    double cos_cone, sin_cone; /* half angle of full intensity about the axis */
    double cos_spread;
    double power; /* fraction of the whole, > 0 */
    bool two_sided;
} light_extent;

/* Sums over some lights, from which the cost of a node with them is estimated. */
typedef struct light_group {
    double lo[3], hi[3];
    double axis[3]; /* sum of axes */
    double power;
    uint32_t count;
} light_group;

typedef struct light_range {
    uint32_t begin, end; /* range in `order` */
    double cost;
} light_range;

/* A node whose children are not made yet. */
typedef struct light_task {
    uint32_t begin, end, node, level, trail;
} light_task;

typedef struct light_builder {
    const light_tree_input *input;
    light_extent *extents; /* extent of each light */
    uint32_t *order, *passed;
    light_task *tasks; /* a stack */
    uint32_t task_count;
    light_node *nodes;
    uint32_t node_count, *trails;
} light_builder;

static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double largest(double a, double b) {
    return a > b ? a : b;
}

static double smallest(double a, double b) {
    return a < b ? a : b;
}

static double sine_of(double cosine) {
    return sqrt(largest(1 - cosine * cosine, 0));
}

/* --- One light --- */

static void include_point(light_extent *to, const light_tree_input *input, vec3 point,
                          double scale) {
    for (int i = 0; i < 3; ++i) {
        const double at =
            ((double)vec3_axis(point, i) - (double)vec3_axis(input->centre, i)) * scale;
        to->lo[i] = smallest(to->lo[i], at);
        to->hi[i] = largest(to->hi[i], at);
    }
}

/* `scale` converts to the nodes' unit, `whole` is the power of all lights. */
static light_extent extent_of(const light_tree_input *input, uint32_t which, double scale,
                              double whole) {
    const light *lamp = input->lights + which;
    light_extent made;
    memset(&made, 0, sizeof made);
    for (int i = 0; i < 3; ++i) {
        made.lo[i] = (double)INFINITY;
        made.hi[i] = -(double)INFINITY;
    }
    made.power = largest((double)lamp->power / whole, 0x1p-60);
    made.cos_cone = 1;
    if (lamp->kind == LIGHT_TRIANGLE) {
        const uint32_t *corner = input->triangles + 3 * (size_t)lamp->triangle;
        for (int c = 0; c < 3; ++c) include_point(&made, input, input->positions[corner[c]], scale);
        made.two_sided = lamp->two_sided != 0;
    } else {
        include_point(&made, input, lamp->position, scale);
    }
    if (lamp->cos_outer > 0 || lamp->kind == LIGHT_SPOT) {
        const double outer = (double)lamp->cos_outer;
        const bool grid = lamp->kind == LIGHT_TRIANGLE && !(lamp->cos_inner > lamp->cos_outer);
        const double inner = grid ? 1 : (double)lamp->cos_inner;
        made.cos_cone = inner;
        made.sin_cone = sine_of(inner);
        made.cos_spread = outer * inner + sine_of(outer) * made.sin_cone;
    }
    for (int i = 0; i < 3 && lamp->kind != LIGHT_POINT; ++i)
        made.axis[i] = (double)vec3_axis(lamp->direction, i);
    if (!(dot(made.axis, made.axis) > 0)) made.cos_cone = -1;
    return made;
}

/* --- Groups of lights --- */

static void group_join(light_group *to, const light_group *with) {
    if (with->count == 0) return;
    if (to->count == 0) {
        *to = *with;
        return;
    }
    for (int i = 0; i < 3; ++i) {
        to->lo[i] = smallest(to->lo[i], with->lo[i]);
        to->hi[i] = largest(to->hi[i], with->hi[i]);
        to->axis[i] += with->axis[i];
    }
    to->power += with->power;
    to->count += with->count;
}

/* Adds a light. Axes of two-sided ones are turned to the side of `facing`. */
static void group_add(light_group *to, const light_extent *extent, const double facing[3]) {
    light_group one;
    const double sign = extent->two_sided && dot(extent->axis, facing) < 0 ? -1 : 1;
    for (int i = 0; i < 3; ++i) {
        one.lo[i] = extent->lo[i];
        one.hi[i] = extent->hi[i];
        one.axis[i] = sign * extent->axis[i];
    }
    one.power = extent->power;
    one.count = 1;
    group_join(to, &one);
}

static double group_cost(const light_group *of) {
    double square = 0;
    if (of->count == 0) return 0;
    for (int i = 0; i < 3; ++i) square += (of->hi[i] - of->lo[i]) * (of->hi[i] - of->lo[i]);
    const double agreement = sqrt(dot(of->axis, of->axis)) / of->count;
    return of->power * square * (1 + 3 * sqrt(largest(1 - agreement, 0)));
}

static light_group group_of(const light_builder *with, uint32_t begin, uint32_t end) {
    light_group made;
    memset(&made, 0, sizeof made);
    const light_extent *first = with->extents + with->order[begin];
    for (uint32_t i = begin; i < end; ++i)
        group_add(&made, with->extents + with->order[i], first->axis);
    return made;
}

/* --- Splits --- */

typedef struct light_split {
    int axis, bucket; /* the lights of buckets up to this one go to the left; axis < 0: none */
    double cost;
} light_split;

/* Twice the centre of a light's box. */
static double middle_of(const light_extent *extent, int axis) {
    return extent->lo[axis] + extent->hi[axis];
}

static int bucket_of(const light_extent *extent, int axis, const double range[2]) {
    const double at = BUCKETS * ((middle_of(extent, axis) - range[0]) / (range[1] - range[0]));
    return at < BUCKETS ? (int)at : BUCKETS - 1;
}

/* Keeps the best split along an axis if it is cheaper than *best. */
static void try_axis(const light_builder *with, light_range over, int axis, const double range[2],
                     double longest, light_split *best) {
    light_group buckets[BUCKETS], right[BUCKETS];
    const double *facing = with->extents[with->order[over.begin]].axis;
    memset(buckets, 0, sizeof buckets);
    memset(right, 0, sizeof right);
    for (uint32_t i = over.begin; i < over.end; ++i) {
        const light_extent *extent = with->extents + with->order[i];
        group_add(buckets + bucket_of(extent, axis, range), extent, facing);
    }
    right[BUCKETS - 1] = buckets[BUCKETS - 1];
    for (int b = BUCKETS - 2; b > 0; --b) {
        right[b] = right[b + 1];
        group_join(right + b, buckets + b);
    }
    light_group left = buckets[0];
    for (int b = 0; b + 1 < BUCKETS; ++b) {
        if (b > 0) group_join(&left, buckets + b);
        if (left.count == 0 || right[b + 1].count == 0) continue;
        const double cost = (group_cost(&left) + group_cost(right + b + 1)) *
                            (longest / (range[1] - range[0])); /* prefer to cut the longest axis */
        if (cost < best->cost) *best = (light_split){axis, b, cost};
    }
}

/* Moves the lights of the left half to the front and returns where the right half begins. Both
   halves keep their order. */
static uint32_t partition(const light_builder *with, light_range over, const light_split *by,
                          const double range[2]) {
    uint32_t left = over.begin, right = 0;
    for (uint32_t i = over.begin; i < over.end; ++i) {
        const uint32_t which = with->order[i];
        if (bucket_of(with->extents + which, by->axis, range) <= by->bucket)
            with->order[left++] = which;
        else
            with->passed[right++] = which;
    }
    memcpy(with->order + left, with->passed, right * sizeof *with->order);
    return left;
}

/* Divides a range of at least two lights. */
static uint32_t divide(const light_builder *with, light_range over) {
    double range[3][2], longest = 0;
    light_split best = {-1, 0, (double)INFINITY};
    for (int axis = 0; axis < 3; ++axis) {
        range[axis][0] = (double)INFINITY;
        range[axis][1] = -(double)INFINITY;
        for (uint32_t i = over.begin; i < over.end; ++i) {
            const double at = middle_of(with->extents + with->order[i], axis);
            range[axis][0] = smallest(range[axis][0], at);
            range[axis][1] = largest(range[axis][1], at);
        }
        longest = largest(longest, range[axis][1] - range[axis][0]);
    }
    for (int axis = 0; axis < 3; ++axis)
        if (range[axis][1] > range[axis][0])
            try_axis(with, over, axis, range[axis], longest, &best);
    if (best.axis < 0) return over.begin + (over.end - over.begin) / 2;
    return partition(with, over, &best, range[best.axis]);
}

static light_range range_make(const light_builder *with, uint32_t begin, uint32_t end) {
    light_range made = {begin, end, -1}; /* a single light cannot be divided */
    if (end - begin < 2) return made;
    const light_group all = group_of(with, begin, end);
    made.cost = group_cost(&all);
    return made;
}

/* Divides the lights of a node among children and returns their number. */
static uint32_t divide_into_children(const light_builder *with, const light_task *task,
                                     light_range children[LIGHT_NODE_CHILDREN]) {
    uint32_t count = 1;
    children[0] = range_make(with, task->begin, task->end);
    while (count < LIGHT_NODE_CHILDREN) {
        uint32_t worst = 0;
        for (uint32_t i = 1; i < count; ++i)
            if (children[i].cost > children[worst].cost) worst = i;
        const light_range over = children[worst];
        if (over.cost < 0) break;
        const uint32_t middle = divide(with, over);
        children[worst] = range_make(with, over.begin, middle);
        children[count++] = range_make(with, middle, over.end);
    }
    /* levels that remain below the children hold this many lights each, or more than there are */
    const uint32_t levels = LIGHT_TREE_DEPTH - 1 - task->level;
    const uint64_t most = (uint64_t)1 << 2 * levels;
    bool fits = true;
    for (uint32_t i = 0; i < count; ++i) fits &= children[i].end - children[i].begin <= most;
    if (fits) return count;
    const uint64_t all = task->end - task->begin;
    for (uint32_t i = 0; i < LIGHT_NODE_CHILDREN; ++i)
        children[i] =
            (light_range){task->begin + (uint32_t)(all * i / LIGHT_NODE_CHILDREN),
                          task->begin + (uint32_t)(all * (i + 1) / LIGHT_NODE_CHILDREN), 0};
    return LIGHT_NODE_CHILDREN;
}

/* --- Nodes --- */

/* Bounds of some lights, as a node stores them. */
typedef struct light_bounds {
    double centre[3], half[3], radius;
    double axis[3], cos_cone, cos_spread;
    double power;
    bool two_sided;
} light_bounds;

/* Narrowest cone about the mean axis with the cones of all lights. */
static void bound_cone(light_bounds *bounds, const light_builder *with, light_range over,
                       const double sum[3]) {
    const double length = sqrt(dot(sum, sum));
    bounds->cos_cone = length > 0x1p-20 ? 1 : -1;
    bounds->axis[2] = 1;
    for (int i = 0; i < 3 && length > 0x1p-20; ++i) bounds->axis[i] = sum[i] / length;
    for (uint32_t i = over.begin; i < over.end && bounds->cos_cone > -1; ++i) {
        const light_extent *one = with->extents + with->order[i];
        double cosine = dot(bounds->axis, one->axis);
        if (bounds->two_sided) cosine = fabs(cosine);
        cosine = smallest(cosine, 1);
        /* cosine of the sum of two angles; -1 if the sum exceeds pi */
        const double outer = cosine * one->cos_cone - sine_of(cosine) * one->sin_cone;
        const bool all = one->cos_cone <= -1 || (one->sin_cone > 0 && cosine < -one->cos_cone);
        bounds->cos_cone = smallest(bounds->cos_cone, all ? -1 : outer);
    }
    /* axes are floats of about unit length */
    bounds->cos_cone = largest(bounds->cos_cone - 0x1p-20, -1);
}

static light_bounds bounds_of(const light_builder *with, light_range over) {
    const light_group all = group_of(with, over.begin, over.end);
    const bool single = over.end - over.begin == 1;
    light_bounds bounds;
    memset(&bounds, 0, sizeof bounds);
    double square = 0;
    for (int i = 0; i < 3; ++i) {
        bounds.centre[i] = 0.5 * (all.lo[i] + all.hi[i]);
        bounds.half[i] = 0.5 * (all.hi[i] - all.lo[i]);
    }
    bounds.cos_spread = single ? 1 : 0; /* the estimate for several children needs a right angle */
    for (uint32_t i = over.begin; i < over.end; ++i) {
        const light_extent *one = with->extents + with->order[i];
        double corner = 0;
        for (int k = 0; k < 3; ++k) {
            const double reach =
                largest(bounds.centre[k] - one->lo[k], one->hi[k] - bounds.centre[k]);
            corner += reach * reach;
        }
        square = largest(square, corner);
        bounds.cos_spread = smallest(bounds.cos_spread, one->cos_spread);
        bounds.two_sided |= one->two_sided;
    }
    bounds.radius = sqrt(square);
    bounds.power = all.power;
    bound_cone(&bounds, with, over, all.axis);
    return bounds;
}

static void store_child(light_node *node, uint32_t at, const light_bounds *bounds, uint32_t child) {
    node->centre_x[at] = (float)bounds->centre[0];
    node->centre_y[at] = (float)bounds->centre[1];
    node->centre_z[at] = (float)bounds->centre[2];
    /* enlarged by the rounding of coordinates, which are about 1 */
    node->half_x[at] = (float)(bounds->half[0] * (1 + 0x1p-20) + 0x1p-22);
    node->half_y[at] = (float)(bounds->half[1] * (1 + 0x1p-20) + 0x1p-22);
    node->half_z[at] = (float)(bounds->half[2] * (1 + 0x1p-20) + 0x1p-22);
    node->radius[at] = (float)(bounds->radius * (1 + 0x1p-20) + 0x1p-21);
    node->axis_x[at] = (float)bounds->axis[0];
    node->axis_y[at] = (float)bounds->axis[1];
    node->axis_z[at] = (float)bounds->axis[2];
    node->cos_cone[at] = (float)bounds->cos_cone;
    node->sin_cone[at] = (float)sine_of(bounds->cos_cone);
    const double cos_spread = bounds->cos_spread;
    node->cos_spread[at] = (float)cos_spread;
    node->per_spread[at] = (float)(1 / largest(1 - cos_spread, 0x1p-16));
    node->side[at] = bounds->two_sided ? -1 : 1;
    node->power[at] = (float)bounds->power;
    node->child[at] = child;
}

static void make_node(light_builder *with, const light_task *task) {
    light_range children[LIGHT_NODE_CHILDREN];
    light_node *node = with->nodes + task->node;
    const uint32_t count = divide_into_children(with, task, children);
    memset(node, 0, sizeof *node);
    for (uint32_t i = 0; i < count; ++i) {
        const light_range over = children[i];
        const light_bounds bounds = bounds_of(with, over);
        const uint32_t trail = task->trail | i << 2 * task->level;
        if (over.end - over.begin == 1) {
            store_child(node, i, &bounds, with->order[over.begin] | LIGHT_NODE_LEAF);
            with->trails[with->order[over.begin]] = trail;
            continue;
        }
        store_child(node, i, &bounds, with->node_count);
        with->tasks[with->task_count++] =
            (light_task){over.begin, over.end, with->node_count++, task->level + 1, trail};
    }
    for (uint32_t i = count; i < LIGHT_NODE_CHILDREN; ++i) /* not 0 / 0 */
        node->radius[i] = node->half_x[i] = 1;
}

/* Returns the unit of the nodes' coordinates: the radius of the scene, unless a light is more than
   2^20 times as far away, where fourth powers of distances would overflow. */
static double unit_of(const light_tree_input *input) {
    double unit = input->radius >= FLT_MIN ? (double)input->radius : 0, square = 0;
    for (uint32_t i = 0; i < input->count; ++i) {
        double one = 0;
        for (int axis = 0; axis < 3; ++axis) {
            const double away = (double)vec3_axis(input->lights[i].position, axis) -
                                (double)vec3_axis(input->centre, axis);
            one += away * away;
        }
        square = largest(square, one);
    }
    unit = largest(unit, sqrt(square) * 0x1p-20);
    return unit >= (double)FLT_MIN ? unit : 1;
}

uint32_t light_tree_nodes_max(uint32_t count) {
    return count - 1; /* every node has two children or more */
}

kd_status light_tree_build(light_tree_view *out, light_node *nodes, uint32_t *trails,
                           const light_tree_input *input) {
    const uint32_t count = input->count;
    light_builder with = {.input = input, .nodes = nodes, .trails = trails, .node_count = 1};
    /* the last child is made first, and each level of the stack keeps three siblings at most */
    enum { TASKS = LIGHT_NODE_CHILDREN * (LIGHT_TREE_DEPTH + 1) };
    light_task tasks[TASKS];
    double whole = 0;
    kd_status status = KD_OK;
    memset(out, 0, sizeof *out);
    KD_TRY_GOTO(KD_RESERVE(with.extents, count));
    KD_TRY_GOTO(KD_RESERVE(with.order, count));
    KD_TRY_GOTO(KD_RESERVE(with.passed, count));
    for (uint32_t i = 0; i < count; ++i) whole += (double)input->lights[i].power;
    const float per_unit = (float)(1 / unit_of(input));
    for (uint32_t i = 0; i < count; ++i) {
        with.extents[i] = extent_of(input, i, (double)per_unit, whole);
        with.order[i] = i;
    }
    with.tasks = tasks;
    with.tasks[with.task_count++] = (light_task){0, count, 0, 0, 0};
    while (with.task_count) {
        const light_task task = with.tasks[--with.task_count];
        make_node(&with, &task);
    }
    *out = (light_tree_view){nodes, trails, with.node_count, count, input->centre, per_unit};
done:
    memory_free(with.extents);
    memory_free(with.order);
    memory_free(with.passed);
    return status;
}
