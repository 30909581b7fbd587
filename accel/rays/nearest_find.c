/* Nearest triangles of many points, on all cores. The traversal of a point is vectorised: eight
   boxes at once, and the triangles of a leaf four at a time, each lane with the operations of
   near_triangle_distance2. */
#include "accel/rays/nearest_walk.h"
#include "accel/tree/vectors.h"
#include "core/parallel/parallel.h"

enum { GRAIN = 256, LANES = 4 };

typedef double double4 __attribute__((vector_size(8 * LANES)));
typedef float float4n __attribute__((vector_size(4 * LANES)));
typedef int64_t long4 __attribute__((vector_size(8 * LANES)));

typedef struct near12 {
    double4 x, y, z;
} near12;

VECTOR8_FN double4 all4(double x) {
    const double4 v = {x, x, x, x};
    return v;
}
VECTOR8_FN double4 select4(long4 mask, double4 if_set, double4 if_clear) {
    return (double4)((mask & (long4)if_set) | (~mask & (long4)if_clear));
}
VECTOR8_FN double4 least4(double4 a, double4 b) {
    return select4(a < b, a, b);
}
VECTOR8_FN void sub12(near12 *to, const near12 *a, const near12 *b) {
    to->x = a->x - b->x;
    to->y = a->y - b->y;
    to->z = a->z - b->z;
}
VECTOR8_FN double4 dot12(const near12 *a, const near12 *b) {
    return a->x * b->x + a->y * b->y + a->z * b->z;
}
/* n . (a x b) */
VECTOR8_FN double4 volume12(const near12 *n, const near12 *a, const near12 *b) {
    const near12 cross = {a->y * b->z - a->z * b->y, a->z * b->x - a->x * b->z,
                          a->x * b->y - a->y * b->x};
    return dot12(n, &cross);
}

VECTOR8_FN double4 load4(const float *from, float less) {
    float4n v;
    memcpy(&v, from, sizeof v);
    return __builtin_convertvector(v, double4) - (double)less;
}
VECTOR8_FN void load12(near12 *near12, const float *at, vec3 from) {
    near12->x = load4(at, from.x);
    near12->y = load4(at + NEAREST_WIDE, from.y);
    near12->z = load4(at + 2 * NEAREST_WIDE, from.z);
}

/* near_edge_distance2 for the edge from a along d; a2 and b2 are the squared distances to its
   ends. */
VECTOR8_FN double4 edge_distance2(const near12 *a, const near12 *d, double4 a2, double4 b2) {
    const double4 along = -dot12(a, d), length2 = dot12(d, d), t = along / length2;
    const near12 q = {a->x + t * d->x, a->y + t * d->y, a->z + t * d->z};
    const long4 after = along > all4(0), before = along < length2;
    /* A parameter that rounds to 0 or 1 counts as that end. */
    const double4 inner = select4(t == all4(1), b2, select4(t == all4(0), a2, dot12(&q, &q)));
    return select4(after, select4(before, inner, b2), a2);
}

VECTOR8_FN double4 face_distance2(const near12 corner[3], const near12 *ab, const near12 *ac,
                                  double4 edges) {
    const near12 *a = corner, *b = corner + 1, *c = corner + 2;
    const near12 n = {ab->y * ac->z - ab->z * ac->y, ab->z * ac->x - ab->x * ac->z,
                      ab->x * ac->y - ab->y * ac->x};
    const double4 zero = all4(0);
    double4 wa = volume12(&n, b, c), wb = volume12(&n, c, a), wc = volume12(&n, a, b);
    const double4 sum = wa + wb + wc;
    const long4 over = (wa >= zero) & (wb >= zero) & (wc >= zero) & (sum > zero);
    wa /= sum;
    wb /= sum;
    wc /= sum;
    const near12 q = {wa * a->x + wb * b->x + wc * c->x, wa * a->y + wb * b->y + wc * c->y,
                      wa * a->z + wb * b->z + wc * c->z};
    return select4(over, least4(dot12(&q, &q), edges), edges);
}

VECTOR8_FN double4 triangles_distance2(const float *leaf, vec3 from) {
    near12 corner[3], ab, ac, bc;
    double4 length2[3];
    for (int k = 0; k < 3; ++k) {
        load12(&corner[k], leaf + 3 * NEAREST_WIDE * k, from);
        length2[k] = dot12(&corner[k], &corner[k]);
    }
    sub12(&ab, &corner[1], &corner[0]);
    sub12(&ac, &corner[2], &corner[0]);
    sub12(&bc, &corner[2], &corner[1]);
    const double4 edges = least4(edge_distance2(&corner[0], &ab, length2[0], length2[1]),
                                 least4(edge_distance2(&corner[0], &ac, length2[0], length2[2]),
                                        edge_distance2(&corner[1], &bc, length2[1], length2[2])));
    return face_distance2(corner, &ab, &ac, edges);
}

/* Returns a mask of the leaf's triangles whose boxes are near enough. */
VECTOR8_FN uint32_t boxes_near(const nearest_walk *walk, const float *leaf, float scale) {
    const float from[3] = {walk->scaled.x, walk->scaled.y, walk->scaled.z};
    float8 distance2 = float8_all(0);
    for (int axis = 0; axis < 3; ++axis) {
        const float8 p = float8_all(from[axis]), a = float8_load(leaf + NEAREST_WIDE * axis),
                     b = float8_load(leaf + NEAREST_WIDE * (3 + axis)),
                     c = float8_load(leaf + NEAREST_WIDE * (6 + axis));
        const float8 below = float8_min(a, float8_min(b, c)) * scale - p;
        const float8 above = p - float8_max(a, float8_max(b, c)) * scale;
        const float8 outside = float8_max(float8_max(below, above), float8_all(0));
        distance2 = float8_multiply_add(outside, outside, distance2);
    }
    return ~int8_bits(distance2 > float8_all(walk->bound));
}

VECTOR8_FN void visit_leaf(nearest_walk *walk, const nearest_view *view, uint32_t index) {
    const float *leaf = view->leaves + (uint64_t)index * NEAREST_LEAF_FLOATS;
    const uint32_t near = boxes_near(walk, leaf, view->scale);
    bool found = false;
    for (uint32_t half = 0; half < NEAREST_WIDE; half += LANES) {
        if (!(near >> half & ((1u << LANES) - 1))) continue;
        const double4 distance2 = triangles_distance2(leaf + half, walk->from);
        const long4 good = distance2 <= all4(walk->best.distance2);
        if (!((good[0] | good[1]) | (good[2] | good[3]))) continue;
        for (uint32_t lane = 0; lane < LANES; ++lane) {
            const uint32_t id = float_bits(leaf[9 * NEAREST_WIDE + half + lane]);
            if (good[lane] && id != KD_NONE) found |= nearest_take(walk, distance2[lane], id);
        }
    }
    if (found) nearest_bind(walk, view->scale);
}

VECTOR8_FN void visit_node(const nearest_walk *walk, const nearest_view *view, nearest_entry *stack,
                           int *waiting, uint32_t level, uint32_t index) {
    const nearest_node *node = view->nodes + view->first[level] + index;
    const float from[3] = {walk->scaled.x, walk->scaled.y, walk->scaled.z};
    const int begin = *waiting;
    float8 distance2 = float8_all(0);
    for (int axis = 0; axis < 3; ++axis) {
        const float8 p = float8_all(from[axis]);
        const float8 below = float8_load(node->bound[2 * axis]) - p;
        const float8 above = p - float8_load(node->bound[2 * axis + 1]);
        const float8 outside = float8_max(float8_max(below, above), float8_all(0));
        distance2 = float8_multiply_add(outside, outside, distance2);
    }
    uint32_t near = ~int8_bits(distance2 > float8_all(walk->bound));
    for (near &= (1u << nearest_children(view, level, index)) - 1; near; near &= near - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(near);
        nearest_push(stack, begin, waiting, distance2[i], level, NEAREST_WIDE * index + i);
    }
}

static near_place find_one(const nearest_view *view, vec3 from, float max_distance) {
    nearest_walk walk;
    nearest_entry stack[NEAREST_STACK];
    int waiting = 0;
    if (!nearest_begin(&walk, view, from, max_distance)) return near_place_none();
    visit_node(&walk, view, stack, &waiting, view->levels - 1, 0);
    while (waiting > 0) {
        const nearest_entry next = stack[--waiting];
        if (next.distance2 > walk.bound) continue;
        if (next.level == 0)
            visit_leaf(&walk, view, next.index);
        else
            visit_node(&walk, view, stack, &waiting, next.level - 1, next.index);
    }
    return nearest_answer(&walk, view);
}

typedef struct find_request {
    const nearest_view *view;
    const vec3 *points;
    near_place *nearest;
    float max_distance;
} find_request;

static void find_some(void *context, int64_t begin, int64_t end, int thread) {
    const find_request *a = (const find_request *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i)
        a->nearest[i] = find_one(a->view, a->points[i], a->max_distance);
}

kd_status nearest_find(const nearest_view *view, const vec3 *points, uint64_t count,
                       float max_distance, near_place *nearest) {
    find_request a = {view, points, nearest, max_distance};
    return parallel_for_stage("query", (int64_t)count, GRAIN, find_some, &a);
}
