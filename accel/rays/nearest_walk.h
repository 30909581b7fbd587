/* Nearest-triangle query for one point: the reference traversal, which the GPU uses, and the
   functions that it shares with the vectorised traversal (nearest_find.c).
   Idea: nearest box first, with a stack. Subtrees are culled by float distances with a margin: the
   distance of a box has a relative error below 2^-21, that of a triangle an error of 2^-48 of the
   distance to the tree's farthest corner; the margins are 2^-18 and 2^-46.
   Invariants: the result equals that of near_triangle_distance2 over all triangles: the least
   distance, and of equally near triangles the smallest id. */
#ifndef KD_ACCEL_RAYS_NEAREST_WALK_H
#define KD_ACCEL_RAYS_NEAREST_WALK_H
#include "accel/rays/nearest.h"

typedef struct nearest_best {
    double distance2;
    uint32_t id;
} nearest_best;

typedef struct nearest_entry {
    float distance2;       /* distance of its box, squared and scaled */
    uint32_t level, index; /* level 0: a leaf; else a node of level - 1 */
} nearest_entry;

typedef struct nearest_walk {
    vec3 from, scaled;
    double slack;
    float bound; /* boxes beyond this squared distance are culled */
    nearest_best best;
} nearest_walk;

KD_FN void nearest_bind(nearest_walk *walk, float scale) {
    const double reach = sqrt(walk->best.distance2) * (1 + 0x1p-18) + walk->slack;
    const double scaled = reach * (double)scale;
    const double bound = scaled * scaled + 0x1p-140;
    walk->bound = bound < (double)FLT_MAX ? (float)bound : INFINITY;
}

/* Sets up a query. Returns false if the point is not finite or the tree is empty. */
KD_FN bool nearest_begin(nearest_walk *walk, const nearest_view *view, vec3 from,
                         float max_distance) {
    walk->from = from;
    walk->scaled = vec3_scale(from, view->scale);
    walk->slack = 0;
    walk->bound = INFINITY;
    walk->best.distance2 = (double)max_distance * (double)max_distance;
    walk->best.id = KD_NONE;
    if (!vec3_is_finite(from) || view->leaf_count == 0) return false;
    double far2 = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const double p = (double)vec3_axis(from, axis);
        const double below = fabs(p - (double)vec3_axis(view->box.lo, axis));
        const double above = fabs(p - (double)vec3_axis(view->box.hi, axis));
        const double far = below > above ? below : above;
        far2 += far * far;
    }
    walk->slack = 0x1p-46 * sqrt(far2);
    nearest_bind(walk, view->scale);
    return true;
}

KD_FN bool nearest_take(nearest_walk *walk, double distance2, uint32_t id) {
    if (!(distance2 < walk->best.distance2 ||
          (distance2 == walk->best.distance2 && id < walk->best.id)))
        return false;
    walk->best.distance2 = distance2;
    walk->best.id = id;
    return true;
}

/* Returns the number of children of node `index` of a level. */
KD_FN uint32_t nearest_children(const nearest_view *view, uint32_t level, uint32_t index) {
    const uint32_t below = level ? view->count[level - 1] : view->leaf_count;
    const uint32_t left = below - NEAREST_WIDE * index;
    return left < NEAREST_WIDE ? left : (uint32_t)NEAREST_WIDE;
}

/* Inserts an entry into those from `begin` on, which are sorted with the nearest last. */
KD_FN void nearest_push(nearest_entry *stack, int begin, int *waiting, float distance2,
                        uint32_t level, uint32_t index) {
    int at = (*waiting)++;
    for (; at > begin && stack[at - 1].distance2 < distance2; --at) stack[at] = stack[at - 1];
    stack[at].distance2 = distance2;
    stack[at].level = level;
    stack[at].index = index;
}

KD_FN float nearest_outside(float lo, float hi, float p) {
    const float below = lo - p, above = p - hi;
    return float_max(float_max(below, above), 0.0f);
}

KD_FN near3 nearest_corner(const float *leaf, uint32_t corner, uint32_t lane, vec3 from) {
    const float *at = leaf + 3 * NEAREST_WIDE * corner + lane;
    return near3_between(from, vec3_make(at[0], at[NEAREST_WIDE], at[2 * NEAREST_WIDE]));
}

KD_FN void nearest_visit_leaf(nearest_walk *walk, const nearest_view *view, uint32_t index) {
    const float *leaf = view->leaves + (uint64_t)index * NEAREST_LEAF_FLOATS;
    bool found = false;
    for (uint32_t lane = 0; lane < NEAREST_WIDE; ++lane) {
        const uint32_t id = float_bits(leaf[9 * NEAREST_WIDE + lane]);
        if (id == KD_NONE) break;
        found |= nearest_take(walk,
                              near_triangle_distance2(nearest_corner(leaf, 0, lane, walk->from),
                                                      nearest_corner(leaf, 1, lane, walk->from),
                                                      nearest_corner(leaf, 2, lane, walk->from)),
                              id);
    }
    if (found) nearest_bind(walk, view->scale);
}

KD_FN void nearest_visit_node(const nearest_walk *walk, const nearest_view *view,
                              nearest_entry *stack, int *waiting, uint32_t level, uint32_t index) {
    const nearest_node *node = view->nodes + view->first[level] + index;
    const uint32_t children = nearest_children(view, level, index);
    const int begin = *waiting;
    for (uint32_t i = 0; i < children; ++i) {
        const float x = nearest_outside(node->bound[0][i], node->bound[1][i], walk->scaled.x);
        const float y = nearest_outside(node->bound[2][i], node->bound[3][i], walk->scaled.y);
        const float z = nearest_outside(node->bound[4][i], node->bound[5][i], walk->scaled.z);
        const float distance2 = x * x + y * y + z * z;
        if (!(distance2 > walk->bound))
            nearest_push(stack, begin, waiting, distance2, level, NEAREST_WIDE * index + i);
    }
}

/* Returns the complete result of a finished query. */
KD_FN near_place nearest_answer(const nearest_walk *walk, const nearest_view *view) {
    if (walk->best.id == KD_NONE) return near_place_none();
    vec3 corner[3];
    for (uint32_t k = 0; k < 3; ++k)
        corner[k] = view->positions[view->triangles[3 * (uint64_t)walk->best.id + k]];
    return near_describe(walk->from, corner, walk->best.id);
}

KD_FN near_place nearest_plain(const nearest_view *view, vec3 from, float max_distance) {
    nearest_walk walk;
    nearest_entry stack[NEAREST_STACK];
    int waiting = 0;
    if (!nearest_begin(&walk, view, from, max_distance)) return near_place_none();
    nearest_visit_node(&walk, view, stack, &waiting, view->levels - 1, 0);
    while (waiting > 0) {
        const nearest_entry next = stack[--waiting];
        if (next.distance2 > walk.bound) continue;
        if (next.level == 0)
            nearest_visit_leaf(&walk, view, next.index);
        else
            nearest_visit_node(&walk, view, stack, &waiting, next.level - 1, next.index);
    }
    return nearest_answer(&walk, view);
}

#endif
