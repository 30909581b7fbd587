/* Transforms of instances, and the top-level tree of their boxes.
   Source: Wald 2007, "On fast construction of SAH-based bounding volume hierarchies".
   Idea: binned SAH with 16 bins per axis over the boxes' centres. Where no split lowers the cost,
   or the tree becomes too deep, the list is divided at its median.
   Work: O(n log n).
   Memory: 28 bytes per instance besides the tree, temporarily. */
#include "accel/builders.h"
#include "accel/instances.h"
#include "core/memory.h"

enum { BINS = 16, LEAF_MAX = 2, SAH_DEPTH = 40 };

/* --- Instances --- */

kd_status instance_make(instance *out, const transform *to_world, uint32_t shape) {
    double c[3][3];
    const double volume = transform_determinant(to_world);
    const double anisotropy = transform_anisotropy(to_world);
    memset(out, 0, sizeof *out);
    KD_REQUIRE(
        fabs(volume) > 0 && isfinite(volume), KD_ERROR_INPUT,
        "the transform of an instance has determinant %g; expected a finite value other than 0",
        volume);
    KD_REQUIRE(
        anisotropy <= INSTANCE_ANISOTROPY_MAX, KD_ERROR_INPUT,
        "the transform of an instance scales its axes in a ratio of %g; supported: at most %g",
        anisotropy, INSTANCE_ANISOTROPY_MAX);
    out->to_world = *to_world;
    out->shape = shape;
    transform_cofactors(to_world, c);
    double spread = 0;
    for (int row = 0; row < 3; ++row) {
        double sum = 0;
        for (int column = 0; column < 3; ++column) {
            out->back[row][column] = c[column][row] / volume;
            sum += fabs(out->back[row][column]);
        }
        spread = fmax(spread, sum);
    }
    out->spread = float_up((float)spread);
    return KD_OK;
}

box3 instance_box(const instance *instance, box3 local_box) {
    double lo[3], hi[3];
    if (box3_is_empty(local_box)) return local_box;
    for (int row = 0; row < 3; ++row) {
        const double *m = instance->to_world.m[row];
        lo[row] = hi[row] = m[3];
        for (int column = 0; column < 3; ++column) {
            const double p = m[column] * (double)vec3_axis(local_box.lo, column);
            const double q = m[column] * (double)vec3_axis(local_box.hi, column);
            lo[row] += fmin(p, q);
            hi[row] += fmax(p, q);
        }
    }
    /* Rounded outwards by one more float, because transform_point sums the terms of a corner in a
       different order. */
    box3 box;
    box.lo =
        vec3_make(float_down((float)lo[0]), float_down((float)lo[1]), float_down((float)lo[2]));
    box.hi = vec3_make(float_up((float)hi[0]), float_up((float)hi[1]), float_up((float)hi[2]));
    return box;
}

/* --- Top-level tree --- */

typedef struct box_work {
    const box3 *boxes; /* one box per instance */
    uint32_t *order;
    instance_node *nodes;
    uint32_t node_count;
} box_work;

typedef struct box_cut {
    int axis; /* -1: no split */
    float lo, scale;
    int bin; /* first bin of the right side */
} box_cut;

static float half_area(box3 box) {
    const vec3 s = box3_size(box);
    return box3_is_empty(box) ? 0 : s.x * s.y + s.y * s.z + s.z * s.x;
}

static int bin_of(const box_cut *cut, box3 box) {
    const int bin = (int)((vec3_axis(box3_centre(box), cut->axis) - cut->lo) * cut->scale);
    return bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin;
}

/* Finds the best split along one axis; returns its cost in half areas times counts. */
static float cut_along(const box_work *work, uint32_t begin, uint32_t end, box3 centres, int axis,
                       box_cut *cut) {
    box3 bins[BINS], right[BINS];
    uint32_t counts[BINS] = {0};
    float best = INFINITY;
    cut->axis = axis;
    cut->lo = vec3_axis(centres.lo, axis);
    cut->scale = (float)BINS / (vec3_axis(centres.hi, axis) - cut->lo);
    if (!(cut->scale <= FLT_MAX)) return best;
    for (int i = 0; i < BINS; ++i) bins[i] = box3_empty();
    for (uint32_t i = begin; i < end; ++i) {
        const box3 box = work->boxes[work->order[i]];
        const int bin = bin_of(cut, box);
        box3_join(&bins[bin], box);
        ++counts[bin];
    }
    box3 sum = box3_empty();
    for (int i = BINS - 1; i > 0; --i) {
        box3_join(&sum, bins[i]);
        right[i] = sum;
    }
    sum = box3_empty();
    uint32_t left = 0;
    for (int i = 1; i < BINS; ++i) {
        box3_join(&sum, bins[i - 1]);
        left += counts[i - 1];
        const float cost =
            half_area(sum) * (float)left + half_area(right[i]) * (float)(end - begin - left);
        if (left == 0 || left == end - begin || !(cost < best)) continue;
        best = cost;
        cut->bin = i;
    }
    return best;
}

/* Partitions the list at the best split; returns where the right side begins. */
static uint32_t part(const box_work *work, uint32_t begin, uint32_t end, int depth) {
    box3 centres = box3_empty();
    box_cut best = {.axis = -1};
    float minimum = INFINITY;
    for (uint32_t i = begin; i < end; ++i)
        box3_include(&centres, box3_centre(work->boxes[work->order[i]]));
    for (int axis = 0; axis < 3 && depth < SAH_DEPTH; ++axis) {
        box_cut cut;
        const float cost = cut_along(work, begin, end, centres, axis, &cut);
        if (!(cost < minimum)) continue;
        minimum = cost;
        best = cut;
    }
    if (best.axis < 0) return begin + (end - begin) / 2;
    uint32_t middle = begin;
    for (uint32_t i = begin; i < end; ++i) {
        const uint32_t id = work->order[i];
        if (bin_of(&best, work->boxes[id]) >= best.bin) continue;
        work->order[i] = work->order[middle];
        work->order[middle++] = id;
    }
    return middle;
}

static void build_boxes(box_work *work, uint32_t at, uint32_t begin, uint32_t end, int depth) {
    instance_node *node = work->nodes + at;
    node->box = box3_empty();
    for (uint32_t i = begin; i < end; ++i) box3_join(&node->box, work->boxes[work->order[i]]);
    node->first = begin;
    node->count = end - begin;
    if (node->count <= LEAF_MAX) return;
    const uint32_t middle = part(work, begin, end, depth), left = work->node_count;
    node->first = left;
    node->count = 0;
    work->node_count += 2;
    build_boxes(work, left, begin, middle, depth + 1);
    build_boxes(work, left + 1, middle, end, depth + 1);
}

uint32_t instance_tree_build(instance_node *nodes, uint32_t root, uint32_t *order,
                             const box3 *boxes, uint32_t begin, uint32_t end) {
    box_work work = {boxes, order, nodes, root + 1};
    build_boxes(&work, root, begin, end, 0);
    return work.node_count - root;
}

kd_status instance_boxes_build(instance_trees *out, const instance_view *view) {
    box3 *boxes = NULL;
    uint32_t used = 0;
    KD_TRY(KD_RESERVE(boxes, view->count));
    kd_status status = KD_RESERVE(out->order, view->count);
    if (status == KD_OK) status = KD_RESERVE_ZEROED(out->nodes, 2 * (uint64_t)view->count + 1);
    for (uint32_t i = 0; status == KD_OK && i < view->count; ++i) {
        boxes[i] = instance_box(&view->list[i], view->shapes[view->list[i].shape].box);
        if (!box3_is_empty(boxes[i])) out->order[used++] = i; /* otherwise it cannot be hit */
    }
    if (status == KD_OK)
        out->node_count = instance_tree_build(out->nodes, 0, out->order, boxes, 0, used);
    memory_free(boxes);
    return status;
}

/* --- Trees of shapes --- */

static kd_status build_shapes(instance_trees *out, const instance_view *view,
                              const tritree_input *scene, const tritree_options *options,
                              const char *builder, job_control *job) {
    for (uint32_t i = 0; i < view->shape_count; ++i) {
        instanced_shape *shape = out->shapes + i;
        *shape = view->shapes[i];
        const tritree_input input = {scene->positions, scene->triangles + 3 * (size_t)shape->first,
                                     scene->position_count, shape->count};
        KD_TRY(tritree_open(out->trees + i, &input, options, builder, job));
        ++out->shape_count;
        shape->tree = tritree_get_view(out->trees + i);
        shape->box = shape->tree.box;
    }
    return KD_OK;
}

kd_status instance_trees_open(instance_trees *out, instance_view *view, const tritree_input *scene,
                              const tritree_options *options, const char *builder,
                              job_control *job) {
    memset(out, 0, sizeof *out);
    if (view->count == 0) return KD_OK;
    kd_status status = KD_RESERVE_ZEROED(out->trees, view->shape_count);
    if (status == KD_OK) status = KD_RESERVE_ZEROED(out->shapes, view->shape_count);
    if (status == KD_OK) status = build_shapes(out, view, scene, options, builder, job);
    if (status == KD_OK) {
        instance_view made = *view;
        made.shapes = out->shapes;
        status = instance_boxes_build(out, &made);
        made.nodes = out->nodes;
        made.order = out->order;
        made.node_count = out->node_count;
        if (box3_is_empty(out->nodes[0].box)) made.count = 0; /* none of them can be hit */
        if (status == KD_OK) *view = made;
    }
    if (status != KD_OK) instance_trees_close(out);
    return status;
}

void instance_trees_close(instance_trees *owned) {
    for (uint32_t i = 0; i < owned->shape_count; ++i) tritree_close(owned->trees + i);
    memory_free(owned->trees);
    memory_free(owned->shapes);
    memory_free(owned->nodes);
    memory_free(owned->order);
    memset(owned, 0, sizeof *owned);
}
