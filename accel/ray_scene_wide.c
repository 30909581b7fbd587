/* The top level for closest and any hits on a CPU: boxes of instances, and nodes of eight children.
   Idea: the box of a rotated box is up to five times as large as that of the mesh in it. So the box
   of an instance is that of the transformed boxes of up to 64 nodes of the mesh's tree. Nodes of
   eight children replace those of the binary tree, largest first.
   Memory: 216 bytes per instance, and at most 128 for nodes. */
#include "accel/ray_scene.h"
#include "core/memory.h"

/* --- Boxes of instances --- */

/* Sets a box of a hull to that of a child of a wide node; the word of the child to words[at]. */
static void hull_set(shape_hull *hull, uint32_t *words, uint32_t at, const wide_tree *tree,
                     uint32_t node, uint32_t child) {
    const wide_node from = wide_node_at(tree, node);
    for (uint32_t axis = 0; axis < 3; ++axis) {
        const float lo = from.bounds[2 * axis * tree->children + child],
                    hi = from.bounds[(2 * axis + 1) * tree->children + child];
        hull->centre[axis][at] = (lo + hi) / 2;
        hull->half[axis][at] = (hi - lo) / 2;
    }
    words[at] = from.words[child];
}

static uint32_t hull_open(shape_hull *hull, uint32_t *words, uint32_t at, uint32_t count,
                          const wide_tree *tree, uint32_t node) {
    bool first = true;
    for (uint32_t child = 0; child < tree->children; ++child) {
        if (!(wide_node_at(tree, node).bounds[child] < INFINITY)) continue;
        hull_set(hull, words, first ? at : count++, tree, node, child);
        first = false;
    }
    return count;
}

/* Opens the largest nodes of a tree until the hull is full. */
void scene_hull_make(shape_hull *hull, const wide_tree *tree) {
    uint32_t words[HULL_BOXES], count = hull_open(hull, words, 0, 1, tree, 0);
    while (count + tree->children <= HULL_BOXES) {
        uint32_t largest = KD_NONE;
        float size = 0;
        for (uint32_t i = 0; i < count; ++i) {
            const float sum = hull->half[0][i] + hull->half[1][i] + hull->half[2][i];
            if ((words[i] & WIDE_COUNT_MASK) || !(sum > size)) continue;
            largest = i;
            size = sum;
        }
        if (largest == KD_NONE) break;
        count = hull_open(hull, words, largest, count, tree, words[largest] >> WIDE_COUNT_BITS);
    }
    for (; count % HULL_LANES; ++count)
        for (int axis = 0; axis < 3; ++axis) {
            hull->centre[axis][count] = hull->centre[axis][0];
            hull->half[axis][count] = hull->half[axis][0];
        }
    hull->count = count;
}

/* Computes the extent of a hull along a direction whose largest component is 1. */
static void hull_extent(const shape_hull *hull, const float along[3], float *lo, float *hi) {
    float4v least = float4v_all(INFINITY), most = float4v_all(-INFINITY);
    for (uint32_t i = 0; i < hull->count; i += HULL_LANES) {
        float4v at = float4v_all(0), half = float4v_all(0);
        for (int axis = 0; axis < 3; ++axis) {
            at += along[axis] * float4v_load(hull->centre[axis] + i);
            half += fabsf(along[axis]) * float4v_load(hull->half[axis] + i);
        }
        least = float4v_min(at - half, least);
        most = float4v_max(at + half, most);
    }
    *lo = float_min(float_min(least[0], least[1]), float_min(least[2], least[3]));
    *hi = float_max(float_max(most[0], most[1]), float_max(most[2], most[3]));
}

/* Returns the world-space bounds of an instance: those of instance_box, reduced to the hull's.
   Sums of floats have an error of at most 8 units of the mesh's size, of which `error` has 16. */
box3 scene_hull_box(const shape_hull *hull, const instance *made, const instanced_shape *shape) {
    box3 box = instance_box(made, shape->box);
    if (!hull->count || box3_is_empty(box)) return box;
    const vec3 size = box3_size(shape->box), centre = shape->tree.wide->centre;
    float *lo = &box.lo.x, *hi = &box.hi.x;
    const double error = 0x1p-20 * ((double)size.x + (double)size.y + (double)size.z);
    for (int row = 0; row < 3; ++row) {
        const double *m = made->to_world.m[row];
        const double largest = fmax(fabs(m[0]), fmax(fabs(m[1]), fabs(m[2])));
        const double at =
            m[0] * (double)centre.x + m[1] * (double)centre.y + m[2] * (double)centre.z + m[3];
        const float along[3] = {(float)(m[0] / largest), (float)(m[1] / largest),
                                (float)(m[2] / largest)};
        float least, most;
        hull_extent(hull, along, &least, &most);
        const float a = float_down((float)(at + ((double)least - error) * largest));
        const float b = float_up((float)(at + ((double)most + error) * largest));
        lo[row] = a > lo[row] ? a : lo[row];
        hi[row] = b < hi[row] ? b : hi[row];
    }
    return box;
}

/* --- Nodes --- */

/* A child of a wide node while it is opened. */
typedef struct wide_child {
    box3 box;
    uint32_t node; /* index of a node of the binary tree; KD_NONE: an instance */
    uint32_t instance;
} wide_child;

static wide_child child_of_node(const kd_ray_scene *scene, uint32_t at) {
    const instance_node *node = scene->nodes + at;
    const bool alone = node->count == 1;
    const wide_child made = {node->box, alone ? (uint32_t)KD_NONE : at,
                             alone ? scene->order[node->first] : (uint32_t)KD_NONE};
    return made;
}

/* Replaces the largest child that can be opened by its two children. Returns false if there is
   none. */
static bool open_largest(const kd_ray_scene *scene, const box3 *boxes, wide_child *children,
                         uint32_t count) {
    wide_child *best = NULL;
    float largest = -1;
    for (uint32_t i = 0; i < count; ++i) {
        const vec3 s = box3_size(children[i].box);
        const float area = s.x * s.y + s.y * s.z + s.z * s.x;
        if (children[i].node == KD_NONE || (best && !(area > largest))) continue;
        best = &children[i];
        largest = area;
    }
    if (!best) return false;
    const instance_node *node = scene->nodes + best->node;
    for (uint32_t i = 0; i < 2; ++i) {
        wide_child *child = i ? &children[count] : best;
        if (node->count) { /* of two instances */
            child->node = KD_NONE;
            child->instance = scene->order[node->first + i];
            child->box = boxes[child->instance];
        } else {
            *child = child_of_node(scene, node->first + i);
        }
    }
    return true;
}

/* Makes the wide node of a node of the binary tree, and those below it; *used is the index of the
   next one. Returns the box of its instances. */
box3 scene_wide_make(const kd_ray_scene *scene, const box3 *boxes, uint32_t from, uint32_t *used) {
    wide_child children[SCENE_WIDE];
    scene_wide_node *node = scene->wide.nodes + (*used)++;
    box3 whole = box3_empty();
    uint32_t count = 1;
    children[0] = child_of_node(scene, from);
    while (count < SCENE_WIDE && open_largest(scene, boxes, children, count)) ++count;
    for (uint32_t i = 0; i < SCENE_WIDE; ++i) {
        box3 box = box3_empty();
        uint32_t word = *used;
        if (i < count && children[i].node == KD_NONE) {
            word = SCENE_LEAF | children[i].instance;
            box = instance_place_box(scene->wide.places + children[i].instance);
        } else if (i < count) {
            box = scene_wide_make(scene, boxes, children[i].node, used);
        }
        box3_join(&whole, box);
        for (int axis = 0; axis < 3; ++axis) {
            node->bounds[2 * axis][i] = vec3_axis(box.lo, axis);
            node->bounds[2 * axis + 1][i] = vec3_axis(box.hi, axis);
        }
        node->words[i] = word;
    }
    return whole;
}

/* Reserves the wide nodes of each world. A node with fewer than eight children has only instances
   as children, at least two, or is a root with one: so there are at most 4/7 of a node for each
   instance, rounded up for each world. */
kd_status scene_wide_reserve(kd_ray_scene *scene, const uint32_t *begins, uint64_t groups) {
    scene_wide *wide = &scene->wide;
    uint64_t total = 0;
    if (scene->device >= 0) return KD_OK;
    KD_TRY(KD_RESERVE(wide->roots, groups));
    for (uint64_t world = 0; world < groups; ++world) {
        const uint64_t count = begins[world + 1] - begins[world];
        wide->roots[world] = count ? (uint32_t)total : (uint32_t)KD_NONE;
        total += (4 * count + 6) / 7;
    }
    wide->node_count = total;
    KD_TRY(KD_RESERVE(wide->nodes, total + 1));
    return KD_OK;
}
