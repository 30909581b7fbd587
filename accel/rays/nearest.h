/* The point of a triangle that is nearest to another point: the plain test.
   Source: Ericson 2005, "Real-Time Collision Detection", 5.1.5, for the regions.
   Idea: in double, with the asked point as the origin: the least of the distances to three edges
   and, where the point lies over the triangle, to the place below it. Every distance is that of a
   place which is a mean of corners by weights that are not negative, so what rounding does to the
   weights moves the place within the triangle only.
   Invariants: corners come in one order (by x, y, z), so an edge or a corner that triangles share
   is as far away from each of them to the bit, and ties among them are real. A distance is off by
   at most 2^-48 of that to the triangle's farthest corner. Triangles without area are edges or
   corners. Must be compiled without contraction. */
#ifndef KD_ACCEL_RAYS_NEAREST_H
#define KD_ACCEL_RAYS_NEAREST_H
#include "core/device/absent.h"
#include "core/math/geometry.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Doubles, less the asked point. */
typedef struct near3 {
    double x, y, z;
} near3;

KD_FN near3 near3_between(vec3 from, vec3 to) {
    near3 v;
    v.x = (double)to.x - (double)from.x;
    v.y = (double)to.y - (double)from.y;
    v.z = (double)to.z - (double)from.z;
    return v;
}
KD_FN near3 near3_sub(near3 a, near3 b) {
    near3 v;
    v.x = a.x - b.x;
    v.y = a.y - b.y;
    v.z = a.z - b.z;
    return v;
}
KD_FN double near3_dot(near3 a, near3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
KD_FN near3 near3_cross(near3 a, near3 b) {
    near3 v;
    v.x = a.y * b.z - a.z * b.y;
    v.y = a.z * b.x - a.x * b.z;
    v.z = a.x * b.y - a.y * b.x;
    return v;
}
KD_FN near3 near3_along(near3 a, double t, near3 b) {
    near3 v;
    v.x = a.x + t * b.x;
    v.y = a.y + t * b.y;
    v.z = a.z + t * b.z;
    return v;
}

/* Where on the edge from a to b; 0 and 1 at its ends. */
KD_FN double near_edge_place(near3 a, near3 b) {
    const near3 d = near3_sub(b, a);
    const double along = -near3_dot(a, d), length2 = near3_dot(d, d);
    return !(along > 0) ? 0 : along < length2 ? along / length2 : 1;
}
/* The square of the distance to it. */
KD_FN double near_edge_distance2(near3 a, near3 b) {
    const double t = near_edge_place(a, b);
    const near3 q = near3_along(a, t, near3_sub(b, a));
    return t == 0 ? near3_dot(a, a) : t == 1 ? near3_dot(b, b) : near3_dot(q, q);
}

/* Weights of the corners at the foot of the plumb line, all positive or 0, or false. */
KD_FN bool near_face_weights(near3 a, near3 b, near3 c, double weight[3]) {
    const near3 n = near3_cross(near3_sub(b, a), near3_sub(c, a));
    weight[0] = near3_dot(n, near3_cross(b, c));
    weight[1] = near3_dot(n, near3_cross(c, a));
    weight[2] = near3_dot(n, near3_cross(a, b));
    const double sum = weight[0] + weight[1] + weight[2];
    if (!(weight[0] >= 0 && weight[1] >= 0 && weight[2] >= 0 && sum > 0)) return false;
    for (int k = 0; k < 3; ++k) weight[k] /= sum;
    return true;
}
KD_FN near3 near_face_place(near3 a, near3 b, near3 c, const double weight[3]) {
    near3 q;
    q.x = weight[0] * a.x + weight[1] * b.x + weight[2] * c.x;
    q.y = weight[0] * a.y + weight[1] * b.y + weight[2] * c.y;
    q.z = weight[0] * a.z + weight[1] * b.z + weight[2] * c.z;
    return q;
}

KD_FN double near_least(double a, double b) {
    return a < b ? a : b;
}

/* The square of the distance to the triangle, whose corners are in order. */
KD_FN double near_triangle_distance2(near3 a, near3 b, near3 c) {
    double weight[3];
    const double edges =
        near_least(near_edge_distance2(a, b),
                   near_least(near_edge_distance2(a, c), near_edge_distance2(b, c)));
    if (!near_face_weights(a, b, c, weight)) return edges;
    const near3 q = near_face_place(a, b, c, weight);
    return near_least(near3_dot(q, q), edges);
}

/* The corners' order: by x, then y, then z; `order` says which comes first, second, third. */
KD_FN bool near_comes_before(vec3 a, vec3 b) {
    return a.x != b.x ? a.x < b.x : a.y != b.y ? a.y < b.y : a.z < b.z;
}
KD_FN void near_order(const vec3 corner[3], int order[3]) {
    for (int k = 0; k < 3; ++k) order[k] = k;
    for (int k = 0; k < 3; ++k) {
        const int at = k == 1 ? 1 : 0, first = order[at], second = order[at + 1];
        if (!near_comes_before(corner[second], corner[first])) continue;
        order[at] = second;
        order[at + 1] = first;
    }
}

/* What is nearest on a triangle, in the words of <kandela/triangles.h>. */
typedef struct near_place {
    vec3 point;
    float distance;
    float u, v;        /* weights of the second and third corner */
    uint32_t triangle; /* KD_NONE: nothing is near */
    uint32_t feature;  /* 0: inside; 1, 2, 3: the edge from corner 0, 1, 2 on; 4, 5, 6: a corner */
} near_place;

KD_FN near_place near_place_none(void) {
    near_place none;
    none.point = vec3_all(0);
    none.distance = INFINITY;
    none.u = none.v = 0;
    none.triangle = KD_NONE;
    none.feature = 0;
    return none;
}

/* Fills `weight`, in order, of the nearest place: of those as near a corner before an edge before
   the inside. */
KD_FN void near_weights(const near3 p[3], double distance2, double weight[3]) {
    weight[0] = weight[1] = weight[2] = 0;
    for (int k = 0; k < 3; ++k)
        if (near3_dot(p[k], p[k]) == distance2) {
            weight[k] = 1;
            return;
        }
    for (int first = 0; first < 2; ++first)
        for (int second = first + 1; second < 3; ++second)
            if (near_edge_distance2(p[first], p[second]) == distance2) {
                weight[second] = near_edge_place(p[first], p[second]);
                weight[first] = 1 - weight[second];
                return;
            }
    near_face_weights(p[0], p[1], p[2], weight);
}

KD_FN uint32_t near_feature(const double weight[3]) {
    uint32_t feature = 0;
    for (uint32_t k = 0; k < 3; ++k) {
        if (weight[k] == 1) return 4 + k;
        if (weight[k] == 0) feature = 1 + (k + 1) % 3; /* the edge that lies across */
    }
    return feature;
}

/* All about the nearest place of triangle `id`, from its corners as the mesh has them. */
KD_FN near_place near_describe(vec3 from, const vec3 corner[3], uint32_t id) {
    int order[3];
    near3 p[3];
    double sorted[3], weight[3];
    near_place place;
    near_order(corner, order);
    for (int k = 0; k < 3; ++k) p[k] = near3_between(from, corner[order[k]]);
    const double distance2 = near_triangle_distance2(p[0], p[1], p[2]);
    near_weights(p, distance2, sorted);
    for (int k = 0; k < 3; ++k) weight[order[k]] = sorted[k];
    const near3 q = near_face_place(p[0], p[1], p[2], sorted);
    place.point = vec3_make((float)((double)from.x + q.x), (float)((double)from.y + q.y),
                            (float)((double)from.z + q.z));
    place.distance = (float)sqrt(distance2);
    place.u = (float)weight[1];
    place.v = (float)weight[2];
    place.triangle = id;
    place.feature = near_feature(weight);
    return place;
}

/* A k-d tree over triangles that knows their boxes: for the triangle nearest to a point.
   Idea: triangles' centres are halved again and again at the median across the widest axis, a
         left half being the largest power of two times eight that leaves something. So leaves
         are of eight triangles each, one after the other, and eight leaves, or eight nodes, are
         the children of a node by their place alone: there are no pointers. A node has its
         children's boxes side by side. Unlike the tree for rays it holds every triangle once,
         and those without area, too.
   Work: O(n log n), halves side by side.
   Memory: 44 bytes a triangle; 24 more while it is made.
   Invariants: the same tree for any number of threads. Boxes are times a power of two, so that
               the squares of distances are in a float's range whatever the mesh's size. */

enum {
    NEAREST_WIDE = 8,
    NEAREST_LEVELS = 11,
    NEAREST_LEAF_FLOATS = 10 * NEAREST_WIDE, /* by corner and axis; then ids */
    NEAREST_STACK = (NEAREST_WIDE - 1) * NEAREST_LEVELS + NEAREST_WIDE
};

typedef struct nearest_node {
    float bound[6][NEAREST_WIDE]; /* lo x, hi x, lo y, ...; where there is no child: 0 */
} nearest_node;

/* What a search reads, on a CPU or a device; borrows everything. */
typedef struct nearest_view {
    const nearest_node *nodes; /* level by level, the lowest first; the root is the last */
    const float *leaves;       /* NEAREST_LEAF_FLOATS each; a place left over has corners at 0 */
    const vec3 *positions;
    const uint32_t *triangles; /* 3 vertex indices each */
    uint32_t triangle_count;
    uint32_t leaf_count, levels;
    uint32_t first[NEAREST_LEVELS]; /* node of a level */
    uint32_t count[NEAREST_LEVELS]; /* nodes of a level */
    float scale;                    /* of boxes, a power of two */
    box3 box;                       /* of all triangles, not scaled */
} nearest_view;

typedef struct nearest_tree {
    nearest_view view;
    nearest_node *nodes;
    float *leaves;
    uint32_t node_count;
} nearest_tree;

/* Of a mesh that was checked; borrows its arrays. */
kd_status nearest_tree_open(nearest_tree *out, const vec3 *positions, const uint32_t *triangles,
                            uint32_t triangle_count);
void nearest_tree_close(nearest_tree *owned); /* takes a zeroed one */
uint64_t nearest_tree_bytes(const nearest_tree *of);

/* nearest[i]: what is nearest to points[i], no farther than max_distance. */
void nearest_find(const nearest_view *view, const vec3 *points, uint64_t count, float max_distance,
                  near_place *nearest);

/* Nearest triangles on a CUDA device. Without CUDA in the build: KD_ERROR_DEVICE. */

/* nearest_find, a thread a point; the view's arrays, the points and the answers are memory of the
   current device. On the stream, not waited for. */
KD_DEVICE_CALL(nearest_find_cuda, (const nearest_view *view, const vec3 *points, uint64_t count,
                                   float max_distance, near_place *nearest, void *stream));

#ifdef __cplusplus
}
#endif

#endif
