/* Builds the tree of nearest.h, level by level from the leaves up, on all cores. */
#include "accel/rays/nearest.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "core/parallel/select_keys.h"
#include "core/parallel/tasks.h"

enum { PARALLEL_MIN = 4096 }; /* triangles from which on a half is offered to another thread */

typedef struct making {
    nearest_tree *out;
    uint32_t *ids;
    vec3 *centres;
    uint64_t *keys;
    task_pool *pool;
} making;

typedef struct part {
    task offered;
    const making *m;
    uint32_t begin, count;
} part;

static void corners_of(const nearest_view *view, uint32_t id, vec3 corner[3]) {
    for (uint64_t k = 0; k < 3; ++k)
        corner[k] = view->positions[view->triangles[3 * (uint64_t)id + k]];
}

static box3 box_of(const nearest_view *view, uint32_t id) {
    vec3 corner[3];
    corners_of(view, id, corner);
    box3 box = {vec3_min(corner[0], vec3_min(corner[1], corner[2])),
                vec3_max(corner[0], vec3_max(corner[1], corner[2]))};
    return box;
}

/* Maps floats to integers of the same order. */
static uint32_t key_of(float x) {
    const uint32_t bits = float_bits(x == 0 ? 0 : x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/* Returns the largest power of two times NEAREST_WIDE that is less than `count`. */
static uint32_t left_of(uint32_t count) {
    uint64_t left = NEAREST_WIDE;
    while (2 * left < count) left *= 2;
    return (uint32_t)left;
}

static void split(const making *m, uint32_t begin, uint32_t count);

static void run_part(task *self) {
    const part *p = (const part *)(void *)self;
    split(p->m, p->begin, p->count);
}

static void split(const making *m, uint32_t begin, uint32_t count) {
    if (count <= NEAREST_WIDE) return;
    uint32_t *ids = m->ids + begin;
    uint64_t *keys = m->keys + begin;
    box3 box = box3_empty();
    for (uint32_t i = 0; i < count; ++i) box3_include(&box, m->centres[ids[i]]);
    const int axis = box3_longest_axis(box);
    for (uint32_t i = 0; i < count; ++i)
        keys[i] = (uint64_t)key_of(vec3_axis(m->centres[ids[i]], axis)) << 32 | ids[i];
    const uint32_t left = left_of(count);
    keys_select(keys, count, left - 1);
    for (uint32_t i = 0; i < count; ++i) ids[i] = (uint32_t)keys[i];
    part other = {.m = m, .begin = begin + left, .count = count - left};
    const bool parallel = other.count >= PARALLEL_MIN;
    other.offered.run = run_part;
    other.offered.kind = TASK_BRANCH;
    if (parallel) task_offer(m->pool, &other.offered);
    split(m, begin, left);
    if (!parallel || !task_join(m->pool, &other.offered)) run_part(&other.offered);
}

static void split_all(task_pool *pool, void *context) {
    making *m = (making *)context;
    m->pool = pool;
    split(m, 0, m->out->view.triangle_count);
}

static void take_centres(void *context, int64_t begin, int64_t end, int thread) {
    const making *m = (const making *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const box3 box = box_of(&m->out->view, (uint32_t)i);
        m->ids[i] = (uint32_t)i;
        m->centres[i] = box3_centre(box);
    }
}

/* Stores the corners of the leaves, sorted, and the boxes of leaves in the lowest level. */
static void fill_leaves(void *context, int64_t begin, int64_t end, int thread) {
    const making *m = (const making *)context;
    const nearest_view *view = &m->out->view;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        float *leaf = m->out->leaves + i * NEAREST_LEAF_FLOATS;
        box3 box = box3_empty();
        for (uint32_t lane = 0; lane < NEAREST_WIDE; ++lane) {
            const uint64_t at = (uint64_t)i * NEAREST_WIDE + lane;
            const uint32_t id = at < view->triangle_count ? m->ids[at] : KD_NONE;
            vec3 corner[3] = {vec3_all(0), vec3_all(0), vec3_all(0)};
            int order[3] = {0, 1, 2};
            if (id != KD_NONE) {
                corners_of(view, id, corner);
                near_order(corner, order);
                box3_join(&box, box_of(view, id));
            }
            for (int k = 0; k < 3; ++k)
                for (int axis = 0; axis < 3; ++axis)
                    leaf[(3 * k + axis) * NEAREST_WIDE + (int)lane] =
                        vec3_axis(corner[order[k]], axis);
            leaf[9 * NEAREST_WIDE + lane] = float_from_bits(id);
        }
        nearest_node *node = m->out->nodes + i / NEAREST_WIDE;
        for (int axis = 0; axis < 3; ++axis) {
            node->bound[2 * axis][i % NEAREST_WIDE] = vec3_axis(box.lo, axis) * view->scale;
            node->bound[2 * axis + 1][i % NEAREST_WIDE] = vec3_axis(box.hi, axis) * view->scale;
        }
    }
}

/* Computes a level from the one below it. */
static void fill_level(nearest_tree *out, uint32_t level) {
    const nearest_view *view = &out->view;
    for (uint32_t i = 0; i < view->count[level - 1]; ++i) {
        const nearest_node *from = out->nodes + view->first[level - 1] + i;
        nearest_node *to = out->nodes + view->first[level] + i / NEAREST_WIDE;
        const uint32_t children = level > 1 ? view->count[level - 2] : view->leaf_count;
        const uint32_t left = children - NEAREST_WIDE * i;
        for (int row = 0; row < 6; ++row) {
            float bound = from->bound[row][0];
            for (uint32_t k = 1; k < NEAREST_WIDE && k < left; ++k)
                bound = row % 2 ? float_max(bound, from->bound[row][k])
                                : float_min(bound, from->bound[row][k]);
            to->bound[row][i % NEAREST_WIDE] = bound;
        }
    }
}

/* Returns the power of two that scales the largest coordinate to [1, 2), within the range of
   float. */
static float scale_of(box3 box) {
    int exponent = 0;
    const float maximum = vec3_largest(vec3_max(box.hi, vec3_negate(box.lo)));
    if (!(maximum > 0)) return 1;
    frexpf(maximum, &exponent);
    return ldexpf(1, exponent > 0 ? 1 - exponent : exponent < -120 ? 121 : 1 - exponent);
}

static void lay_out(nearest_tree *out) {
    nearest_view *view = &out->view;
    view->leaf_count =
        (uint32_t)(((uint64_t)view->triangle_count + NEAREST_WIDE - 1) / NEAREST_WIDE);
    for (uint32_t below = view->leaf_count; below > 0;) {
        const uint32_t count = (below + NEAREST_WIDE - 1) / NEAREST_WIDE;
        view->first[view->levels] = out->node_count;
        view->count[view->levels++] = count;
        out->node_count += count;
        below = count > 1 ? count : 0;
    }
    view->box = box3_empty();
    for (uint32_t id = 0; id < view->triangle_count; ++id) box3_join(&view->box, box_of(view, id));
    view->scale = scale_of(view->box);
}

static kd_status build(making *m) {
    nearest_tree *out = m->out;
    nearest_view *view = &out->view;
    lay_out(out);
    KD_TRY(KD_RESERVE(m->ids, view->triangle_count));
    KD_TRY(KD_RESERVE(m->centres, view->triangle_count));
    KD_TRY(KD_RESERVE(m->keys, view->triangle_count));
    KD_TRY(KD_RESERVE_ZEROED(out->nodes, out->node_count));
    KD_TRY(KD_RESERVE(out->leaves, (uint64_t)view->leaf_count * NEAREST_LEAF_FLOATS));
    view->nodes = out->nodes;
    view->leaves = out->leaves;
    parallel_for(view->triangle_count, 1024, take_centres, m);
    task_pool_run(split_all, m);
    parallel_for(view->leaf_count, 128, fill_leaves, m);
    for (uint32_t level = 1; level < view->levels; ++level) fill_level(out, level);
    return KD_OK;
}

kd_status nearest_tree_open(nearest_tree *out, const vec3 *positions, const uint32_t *triangles,
                            uint32_t triangle_count) {
    making m = {.out = out};
    memset(out, 0, sizeof *out);
    out->view.positions = positions;
    out->view.triangles = triangles;
    out->view.triangle_count = triangle_count;
    const kd_status status = build(&m);
    memory_free(m.ids);
    memory_free(m.centres);
    memory_free(m.keys);
    if (status != KD_OK) nearest_tree_close(out);
    return status;
}

void nearest_tree_close(nearest_tree *owned) {
    memory_free(owned->nodes);
    memory_free(owned->leaves);
    memset(owned, 0, sizeof *owned);
}

uint64_t nearest_tree_bytes(const nearest_tree *tree) {
    return tree->node_count * sizeof *tree->nodes +
           (uint64_t)tree->view.leaf_count * NEAREST_LEAF_FLOATS * sizeof *tree->leaves;
}
