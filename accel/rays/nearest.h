/* The nearest point of a triangle to a given point.
   Source: Ericson 2005, "Real-Time Collision Detection", 5.1.5, for the regions.
   Idea: compute in double with the query point as the origin. The result is the least of the
   distances to the three edges and, where the query projects into the triangle, to the projection.
   Each distance is measured to a mean of the corners with non-negative weights, so rounding errors
   of the weights only move that point within the triangle.
   Invariants: corners are sorted by x, y, z, so the distance to a shared edge or corner is the same
   for each of its triangles, bit for bit, and ties between them are exact. The error of a distance
   is at most 2^-48 of that to the triangle's farthest corner. Triangles without area count as edges
   or corners. Must be compiled without contraction. */
#ifndef KD_ACCEL_RAYS_NEAREST_H
#define KD_ACCEL_RAYS_NEAREST_H
#include "core/device/cuda_stubs.h"
#include "core/math/geometry.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A vector of doubles, relative to the query point. */
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

/* Returns the parameter of the nearest point on the edge from a to b, in [0, 1]. */
KD_FN double near_edge_place(near3 a, near3 b) {
    const near3 d = near3_sub(b, a);
    const double along = -near3_dot(a, d), length2 = near3_dot(d, d);
    return !(along > 0) ? 0 : along < length2 ? along / length2 : 1;
}
/* Returns the squared distance to that point. */
KD_FN double near_edge_distance2(near3 a, near3 b) {
    const double t = near_edge_place(a, b);
    const near3 q = near3_along(a, t, near3_sub(b, a));
    return t == 0 ? near3_dot(a, a) : t == 1 ? near3_dot(b, b) : near3_dot(q, q);
}

/* Computes the barycentric coordinates of the projection of the query to the plane. Returns false
   if it lies outside the triangle. */
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

KD_FN double near_min(double a, double b) {
    return a < b ? a : b;
}

/* Returns the squared distance to the triangle, whose corners are sorted. */
KD_FN double near_triangle_distance2(near3 a, near3 b, near3 c) {
    double weight[3];
    const double edges = near_min(near_edge_distance2(a, b),
                                  near_min(near_edge_distance2(a, c), near_edge_distance2(b, c)));
    if (!near_face_weights(a, b, c, weight)) return edges;
    const near3 q = near_face_place(a, b, c, weight);
    return near_min(near3_dot(q, q), edges);
}

/* Sort the corners by x, then y, then z: near_comes_before compares two, and near_order stores the
   indices of the first, second and third. */
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

/* The nearest point of a triangle, as kd_near_triangle in <kandela/triangles.h>. */
typedef struct near_place {
    vec3 point;
    float distance;
    float u, v;        /* barycentric coordinates of the second and third corner */
    uint32_t triangle; /* KD_NONE: no triangle within the maximum distance */
    /* 0: interior; 1, 2, 3: the edge that starts at corner 0, 1, 2; 4, 5, 6: a corner */
    uint32_t feature;
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

/* Computes the weights of the nearest point, for sorted corners. Of equally near points a corner
   comes before an edge, an edge before the interior. */
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
        if (weight[k] == 0) feature = 1 + (k + 1) % 3; /* the edge opposite corner k */
    }
    return feature;
}

/* Returns the complete result for triangle `id`, whose corners are in the order of the mesh. */
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

/* A balanced tree of the triangles' bounding boxes for nearest-triangle queries.
   Idea: the triangles' centres are split recursively at the median of the widest axis; the left
   half has the largest power of two times eight triangles that leaves some for the right. So all
   leaves but the last have eight triangles and are contiguous, and the eight leaves or nodes that
   are children of a node follow from its index: the tree is implicit, without pointers. A node
   stores the boxes of its children as a structure of arrays. Unlike the tree for rays it contains
   every triangle once, also those without area.
   Work: O(n log n), halves in parallel.
   Memory: 44 bytes per triangle; 24 more during the build.
   Invariants: the tree does not depend on the number of threads. Boxes are scaled by a power of
   two, so that squared distances are in the range of float for meshes of any size. */

enum {
    NEAREST_WIDE = 8,
    NEAREST_LEVELS = 11,
    NEAREST_LEAF_FLOATS = 10 * NEAREST_WIDE, /* by corner and axis; then ids */
    NEAREST_STACK = (NEAREST_WIDE - 1) * NEAREST_LEVELS + NEAREST_WIDE
};

typedef struct nearest_node {
    float bound[6][NEAREST_WIDE]; /* lo x, hi x, lo y, ...; 0 for missing children */
} nearest_node;

/* View of the tree for queries, on a CPU or a device. Owns nothing. */
typedef struct nearest_view {
    const nearest_node *nodes; /* level by level, the lowest first; the root comes last */
    const float *leaves;       /* NEAREST_LEAF_FLOATS each; unused lanes have corners at 0 */
    const vec3 *positions;
    const uint32_t *triangles; /* 3 vertex indices per triangle */
    uint32_t triangle_count;
    uint32_t leaf_count, levels;
    uint32_t first[NEAREST_LEVELS]; /* first node of each level */
    uint32_t count[NEAREST_LEVELS]; /* nodes of each level */
    float scale;                    /* factor of the boxes, a power of two */
    box3 box;                       /* bounds of all triangles, not scaled */
} nearest_view;

typedef struct nearest_tree {
    nearest_view view;
    nearest_node *nodes;
    float *leaves;
    uint32_t node_count;
} nearest_tree;

/* Builds the tree of a checked mesh, whose arrays must outlive it. */
kd_status nearest_tree_open(nearest_tree *out, const vec3 *positions, const uint32_t *triangles,
                            uint32_t triangle_count);
void nearest_tree_close(nearest_tree *owned); /* accepts a zeroed tree */
uint64_t nearest_tree_bytes(const nearest_tree *tree);

/* nearest[i]: the nearest triangle to points[i] within max_distance. Uses all cores. */
kd_status nearest_find(const nearest_view *view, const vec3 *points, uint64_t count,
                       float max_distance, near_place *nearest);

/* Nearest triangles on a CUDA device. Without CUDA in the build every call fails with
   KD_ERROR_DEVICE. */

/* nearest_find with one thread per point. The arrays of the view, the points and the results are
   memory of the current device. Enqueued on the stream; does not synchronise. */
KD_DEVICE_CALL(nearest_find_cuda, (const nearest_view *view, const vec3 *points, uint64_t count,
                                   float max_distance, near_place *nearest, void *stream));

#ifdef __cplusplus
}
#endif

#endif
