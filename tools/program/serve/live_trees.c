/* Queries of the triangle tree, answered by the thread that renders. */
#include "accel/tree/levels.h"
#include "render/frame/frame.h"
#include "shaders/transmittance.h"
#include "tools/program/serve/live_answers.h"
#include <stdlib.h>
#include <string.h>

enum { RAY_NODES_MAX = 4096 };

/* --- boxes of the tree ------------------------------------------------------------------------ */

typedef struct sent_box {
    float lo[3], hi[3];
    uint32_t flags; /* 1: leaf */
} sent_box;

typedef struct box_list {
    const scene_view *scene;
    uint32_t level; /* whose boxes are collected */
    sent_box *boxes;
    uint64_t count, capacity;
    uint32_t total;
    bool failed;
} box_list;

static void add_box(box_list *list, box3 box, bool leaf) {
    ++list->total;
    if (list->failed || list->count == LIVE_BOXES_MAX) return;
    if (list->count == list->capacity) {
        const uint64_t capacity = list->capacity ? 2 * list->capacity : 1024;
        sent_box *more = (sent_box *)realloc(list->boxes, capacity * sizeof *more);
        list->failed = !more;
        if (!more) return;
        list->boxes = more;
        list->capacity = capacity;
    }
    sent_box *to = list->boxes + list->count++;
    live_world_position(to->lo, list->scene, box.lo);
    live_world_position(to->hi, list->scene, box.hi);
    to->flags = leaf ? 1 : 0;
}

static void visit_box(void *context, uint32_t node, uint32_t level, box3 box) {
    box_list *list = (box_list *)context;
    if (level == list->level) add_box(list, box, tritree_is_leaf(list->scene->tree.nodes[node]));
}

/* The tree as its owner has it, for tree_visit and tree_levels_count, which do not change it. */
static tritree tree_of(const render_moment *now) {
    const tritree_view *view = &now->frame->scene->tree;
    const kd_render_options *options = now->frame->options;
    tritree tree = {.nodes = (tritree_node *)(uintptr_t)view->nodes,
                    .node_count = view->node_count,
                    .box = view->box,
                    .statistics = now->out->tree};
    tree.options.traversal_cost = options->sah_traversal_cost;
    tree.options.intersect_cost = options->sah_intersect_cost;
    return tree;
}

void live_query_boxes(live_query *query, live_session *live, const render_moment *now) {
    box_list list = {.scene = now->frame->scene, .level = (uint32_t)query->limit};
    const tritree tree = tree_of(now);
    (void)live;
    if (tree.nodes && tree.node_count) tree_visit(&tree, list.level, visit_box, &list);
    const sent_header header = {(uint32_t)list.count, sizeof(sent_box), list.total};
    char *bytes =
        list.failed ? NULL : (char *)malloc(sizeof header + list.count * sizeof(sent_box));
    if (bytes) {
        memcpy(bytes, &header, sizeof header);
        if (list.count) memcpy(bytes + sizeof header, list.boxes, list.count * sizeof(sent_box));
    }
    free(list.boxes);
    live_finish(query, bytes, sizeof header + list.count * sizeof(sent_box));
}

/* --- its cost --------------------------------------------------------------------------------- */

static void add_numbers(cJSON *to, const char *const names[], const double *values, int count) {
    for (int i = 0; i < count; ++i) cJSON_AddNumberToObject(to, names[i], values[i]);
}

static cJSON *describe_level(const tree_level *level, uint32_t number) {
    static const char *const names[] = {"level", "inner", "leaves", "triangles", "cost"};
    const double values[] = {number, (double)(level->nodes - level->leaves), (double)level->leaves,
                             (double)level->references, level->inner_cost + level->leaf_cost};
    cJSON *object = cJSON_CreateObject();
    add_numbers(object, names, values, sizeof values / sizeof *values);
    return object;
}

void live_query_tree(live_query *query, live_session *live, const render_moment *now) {
    static const char *const names[] = {"cost",       "traversal_cost",  "intersect_cost",
                                        "nodes",      "leaf_count",      "empty_leaves",
                                        "references", "triangles_total", "depth"};
    const tritree tree = tree_of(now);
    const tritree_statistics *sums = &tree.statistics;
    const double values[] = {sums->sah_cost,
                             (double)tree.options.traversal_cost,
                             (double)tree.options.intersect_cost,
                             (double)sums->nodes,
                             (double)sums->leaves,
                             (double)sums->empty_leaves,
                             (double)sums->references,
                             (double)now->frame->scene->tree.triangle_count,
                             (double)sums->depth};
    tree_levels *measured = (tree_levels *)malloc(sizeof *measured);
    (void)live;
    if (!measured) {
        live_finish(query, NULL, 0);
        return;
    }
    tree_levels_count(measured, &tree);
    cJSON *root = cJSON_CreateObject(), *levels = cJSON_AddArrayToObject(root, "levels");
    for (uint32_t l = 0; l < measured->count; ++l)
        cJSON_AddItemToArray(levels, describe_level(&measured->levels[l], l));
    cJSON *leaves = cJSON_AddArrayToObject(root, "leaves");
    for (int i = 0; i < LEAF_SIZES; ++i)
        cJSON_AddItemToArray(leaves, cJSON_CreateNumber((double)measured->leaf_sizes[i]));
    add_numbers(root, names, values, sizeof values / sizeof *values);
    free(measured);
    live_finish_json(query, root);
}

/* --- a ray through the tree ------------------------------------------------------------------- */

typedef struct ray_walk {
    const scene_view *scene;
    tritree_walk walk;
    leaf_query leaf;
    cJSON *nodes; /* NULL: they are only counted */
    uint32_t steps;
} ray_walk;

static void add_node(ray_walk *w, box3 box, bool leaf, uint32_t triangles) {
    float lo[3], hi[3];
    if (w->steps++ >= RAY_NODES_MAX || !w->nodes) return;
    live_world_position(lo, w->scene, box.lo);
    live_world_position(hi, w->scene, box.hi);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToObject(object, "min", cJSON_CreateFloatArray(lo, 3));
    cJSON_AddItemToObject(object, "max", cJSON_CreateFloatArray(hi, 3));
    cJSON_AddBoolToObject(object, "leaf", leaf);
    cJSON_AddNumberToObject(object, "triangles", triangles);
    cJSON_AddItemToArray(w->nodes, object);
}

static void split_box(box3 box, int axis, float split, box3 *left, box3 *right) {
    *left = *right = box;
    vec3_set_axis(&left->hi, axis, split);
    vec3_set_axis(&right->lo, axis, split);
}

/* Front to back, as the traversal of accel/tree/walk.h. */
static void visit(ray_walk *w, uint32_t index, box3 box, float near, float far) {
    const tritree_node node = w->scene->tree.nodes[index];
    const tritree_walk *walk = &w->walk;
    const bool is_leaf = tritree_is_leaf(node);
    add_node(w, box, is_leaf, is_leaf ? tritree_count(node) : 0);
    if (is_leaf) {
        tritree_leaf_intersect(&w->leaf, node);
        return;
    }
    const int axis = tritree_axis(node);
    const float t = (node.split - walk->origin[axis]) * walk->inverse[axis];
    const float low = t - walk->slack[axis], high = t + walk->slack[axis];
    const uint32_t turned = walk->negative[axis] ? 1 : 0;
    box3 sides[2];
    split_box(box, axis, node.split, &sides[0], &sides[1]);
    const uint32_t first = tritree_left(node) + turned, second = tritree_left(node) + 1 - turned;
    if (!(near > high)) visit(w, first, sides[turned], near, float_min(high, far));
    const float from = float_max(low, near);
    if (!(low > far) && from <= w->leaf.best.t + walk->slack_t)
        visit(w, second, sides[1 - turned], from, far);
}

static ray_walk walk_tree(const scene_view *scene, ray ray, cJSON *nodes) {
    ray_walk w = {.scene = scene, .nodes = nodes};
    w.leaf.tree = &scene->tree;
    w.leaf.tmin = ray.tmin;
    w.leaf.best = (ray_hit){ray.tmax, 0, 0, KD_NONE};
    w.leaf.precomputed = precomputed_ray_make(ray);
    if (scene->tree.node_count && tritree_walk_begin(&w.walk, &scene->tree, ray))
        visit(&w, 0, scene->tree.box, w.walk.near, w.walk.far);
    return w;
}

uint32_t live_ray_nodes(const scene_view *scene, ray ray) {
    return walk_tree(scene, ray, NULL).steps;
}

void live_query_ray(live_query *query, live_session *live, const render_moment *now) {
    const scene_view *scene = now->frame->scene;
    ray ray;
    (void)live;
    if (!live_centre_ray(&ray, query, now)) return;
    cJSON *root = cJSON_CreateObject();
    const ray_walk w = walk_tree(scene, ray, cJSON_AddArrayToObject(root, "nodes"));
    const ray_hit hit = w.leaf.best;
    cJSON_AddItemToObject(root, "origin", live_position_json(scene, ray.origin));
    cJSON_AddItemToObject(root, "direction", live_vector_json(ray.direction));
    if (hit.triangle != KD_NONE) {
        cJSON *object = cJSON_AddObjectToObject(root, "hit");
        cJSON_AddItemToObject(
            object, "position",
            live_position_json(scene, vec3_along(ray.origin, hit.t, ray.direction)));
        cJSON_AddNumberToObject(object, "distance", (double)hit.t);
        cJSON_AddNumberToObject(object, "triangle", hit.triangle);
    } else {
        cJSON_AddNullToObject(root, "hit");
    }
    cJSON_AddNumberToObject(root, "steps", w.steps);
    live_finish_json(query, root);
}
