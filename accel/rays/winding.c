#include "accel/rays/winding.h"
#include "accel/rays/nearest_walk.h"
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include <assert.h>

enum { NUMBERS_GRAIN = 16, CROSSINGS_GRAIN = 128, LEAVES_GRAIN = 256 };

/* --- dipoles -------------------------------------------------------------------------------- */

/* The part of a dipole that adds up, before its centre is known. */
static void dipole_include(winding_dipole *sum, const double centre[3], const double normal[3],
                           double area) {
    for (int axis = 0; axis < 3; ++axis) {
        sum->normal[axis] += normal[axis];
        sum->centre[axis] += area * centre[axis];
    }
    sum->area += area;
}

/* Divides by the area; a part without area gets the given centre. */
static void dipole_place(winding_dipole *sum, const double centre[3]) {
    for (int axis = 0; axis < 3; ++axis)
        sum->centre[axis] = sum->area > 0 ? sum->centre[axis] / sum->area : centre[axis];
}

/* Adds the field of an area vector at an offset from the centre. */
static void dipole_spread(winding_dipole *sum, const double d[3], const double n[3]) {
    for (int axis = 0; axis < 3; ++axis) sum->spread[axis] += d[axis] * n[axis];
    sum->spread[3] += d[0] * n[1] + d[1] * n[0];
    sum->spread[4] += d[0] * n[2] + d[2] * n[0];
    sum->spread[5] += d[1] * n[2] + d[2] * n[1];
}

static double length_of(const double d[3]) {
    return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

static void corners_of(const nearest_view *view, uint32_t id, double corner[3][3]) {
    for (uint64_t k = 0; k < 3; ++k) {
        const vec3 p = view->positions[view->triangles[3 * (uint64_t)id + k]];
        corner[k][0] = (double)p.x;
        corner[k][1] = (double)p.y;
        corner[k][2] = (double)p.z;
    }
}

/* A triangle's centroid and area vector. */
static void triangle_dipole(double corner[3][3], double centre[3], double normal[3]) {
    double ab[3], ac[3];
    for (int axis = 0; axis < 3; ++axis) {
        ab[axis] = corner[1][axis] - corner[0][axis];
        ac[axis] = corner[2][axis] - corner[0][axis];
        centre[axis] = (corner[0][axis] + corner[1][axis] + corner[2][axis]) / 3;
    }
    for (int axis = 0; axis < 3; ++axis) {
        const int next = (axis + 1) % 3, last = (axis + 2) % 3;
        normal[axis] = 0.5 * (ab[next] * ac[last] - ab[last] * ac[next]);
    }
}

static uint32_t leaf_ids(const nearest_view *view, uint32_t leaf, uint32_t ids[NEAREST_WIDE]) {
    const float *at = view->leaves + (uint64_t)leaf * NEAREST_LEAF_FLOATS + 9 * NEAREST_WIDE;
    uint32_t count = 0;
    for (; count < NEAREST_WIDE && float_bits(at[count]) != KD_NONE; ++count)
        ids[count] = float_bits(at[count]);
    return count;
}

typedef struct making {
    const nearest_view *view;
    winding_dipole *dipoles;
    uint32_t level;
} making;

static void make_leaves(void *context, int64_t begin, int64_t end, int thread) {
    const making *m = (const making *)context;
    (void)thread;
    for (int64_t leaf = begin; leaf < end; ++leaf) {
        winding_dipole *to = &m->dipoles[leaf];
        double corner[NEAREST_WIDE][3][3], centre[NEAREST_WIDE][3], normal[NEAREST_WIDE][3];
        uint32_t ids[NEAREST_WIDE];
        const uint32_t count = leaf_ids(m->view, (uint32_t)leaf, ids);
        memset(to, 0, sizeof *to);
        if (count == 0) continue;
        for (uint32_t i = 0; i < count; ++i) {
            corners_of(m->view, ids[i], corner[i]);
            triangle_dipole(corner[i], centre[i], normal[i]);
            dipole_include(to, centre[i], normal[i], length_of(normal[i]));
        }
        dipole_place(to, centre[0]);
        for (uint32_t i = 0; i < count; ++i) {
            double d[3];
            for (int axis = 0; axis < 3; ++axis) d[axis] = centre[i][axis] - to->centre[axis];
            dipole_spread(to, d, normal[i]);
            for (int k = 0; k < 3; ++k) {
                for (int axis = 0; axis < 3; ++axis)
                    d[axis] = corner[i][k][axis] - to->centre[axis];
                to->radius = fmax(to->radius, length_of(d));
            }
        }
    }
}

/* The farthest that the boxes of a node's children reach from its centre. */
static double box_radius(const nearest_view *view, const nearest_node *node, uint32_t children,
                         const double centre[3]) {
    double farthest[3] = {0, 0, 0};
    for (int axis = 0; axis < 3; ++axis)
        for (uint32_t i = 0; i < children; ++i)
            for (int side = 0; side < 2; ++side) {
                const double x = (double)node->bound[2 * axis + side][i] / (double)view->scale;
                farthest[axis] = fmax(farthest[axis], fabs(x - centre[axis]));
            }
    return length_of(farthest);
}

/* Index of the dipole of a node's first child. */
static uint64_t first_child(const nearest_view *view, uint32_t level, uint32_t index) {
    return (level ? view->leaf_count + view->first[level - 1] : 0) + (uint64_t)NEAREST_WIDE * index;
}

static void make_nodes(void *context, int64_t begin, int64_t end, int thread) {
    const making *m = (const making *)context;
    const nearest_view *view = m->view;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const uint32_t index = (uint32_t)i, children = nearest_children(view, m->level, index);
        const uint64_t node = view->first[m->level] + (uint64_t)index;
        const winding_dipole *from = m->dipoles + first_child(view, m->level, index);
        winding_dipole *to = m->dipoles + view->leaf_count + node;
        memset(to, 0, sizeof *to);
        for (uint32_t k = 0; k < children; ++k)
            dipole_include(to, from[k].centre, from[k].normal, from[k].area);
        dipole_place(to, from[0].centre);
        for (uint32_t k = 0; k < children; ++k) {
            double d[3];
            for (int axis = 0; axis < 3; ++axis) d[axis] = from[k].centre[axis] - to->centre[axis];
            dipole_spread(to, d, from[k].normal);
            for (int at = 0; at < 6; ++at) to->spread[at] += from[k].spread[at];
            to->radius = fmax(to->radius, length_of(d) + from[k].radius);
        }
        to->radius = fmin(to->radius, box_radius(view, view->nodes + node, children, to->centre));
    }
}

static uint64_t dipole_count(const nearest_view *view) {
    const uint32_t top = view->levels;
    return top ? (uint64_t)view->leaf_count + view->first[top - 1] + view->count[top - 1] : 0;
}

uint64_t winding_dipoles_bytes(const nearest_view *view) {
    return dipole_count(view) * sizeof(winding_dipole);
}

kd_status winding_dipoles_make(winding_dipole **out, const nearest_view *view) {
    KD_TRY(KD_RESERVE(*out, dipole_count(view)));
    making m = {view, *out, 0};
    parallel_for(view->leaf_count, LEAVES_GRAIN, make_leaves, &m);
    for (; m.level < view->levels; ++m.level)
        parallel_for(view->count[m.level], LEAVES_GRAIN, make_nodes, &m);
    return KD_OK;
}

/* --- winding numbers ------------------------------------------------------------------------ */

/* A traversal of the tree for one point. */
typedef struct winding_walk {
    const nearest_view *view;
    const winding_dipole *dipoles;
    double accuracy2;
    vec3 from;
} winding_walk;

typedef struct winding_entry {
    uint32_t level, index; /* level 0: a leaf; else a node of level - 1 */
} winding_entry;

/* The solid angle of a dipole; false if the point is too close to it. */
static bool dipole_angle(const winding_walk *walk, const winding_dipole *dipole, double *angle) {
    const double from[3] = {(double)walk->from.x, (double)walk->from.y, (double)walk->from.z};
    double d[3];
    for (int axis = 0; axis < 3; ++axis) d[axis] = dipole->centre[axis] - from[axis];
    const double length2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    if (!(length2 > walk->accuracy2 * dipole->radius * dipole->radius)) return false;
    const double *n = dipole->normal, *s = dipole->spread;
    const double along = n[0] * d[0] + n[1] * d[1] + n[2] * d[2];
    const double second = s[0] * d[0] * d[0] + s[1] * d[1] * d[1] + s[2] * d[2] * d[2] +
                          s[3] * d[0] * d[1] + s[4] * d[0] * d[2] + s[5] * d[1] * d[2];
    *angle = (along + s[0] + s[1] + s[2] - 3 * second / length2) / (length2 * sqrt(length2));
    return true;
}

static double triangle_angle(near3 a, near3 b, near3 c) {
    const double la = sqrt(near3_dot(a, a)), lb = sqrt(near3_dot(b, b)), lc = sqrt(near3_dot(c, c));
    const double volume = near3_dot(a, near3_cross(b, c));
    const double below =
        la * lb * lc + near3_dot(a, b) * lc + near3_dot(b, c) * la + near3_dot(c, a) * lb;
    return 2 * atan2(volume, below);
}

static double leaf_angle(const winding_walk *walk, uint32_t leaf) {
    uint32_t ids[NEAREST_WIDE];
    const uint32_t count = leaf_ids(walk->view, leaf, ids);
    double sum = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t *at = walk->view->triangles + 3 * (uint64_t)ids[i];
        const vec3 *p = walk->view->positions;
        sum +=
            triangle_angle(near3_between(walk->from, p[at[0]]), near3_between(walk->from, p[at[1]]),
                           near3_between(walk->from, p[at[2]]));
    }
    return sum;
}

static double winding_one(const winding_walk *walk) {
    const nearest_view *view = walk->view;
    winding_entry stack[NEAREST_STACK];
    int waiting = 0;
    double sum = 0, angle;
    if (!vec3_is_finite(walk->from)) return (double)NAN;
    if (view->leaf_count == 0) return 0;
    stack[waiting++] = (winding_entry){view->levels, 0};
    while (waiting > 0) {
        const winding_entry next = stack[--waiting];
        const uint64_t dipole =
            next.level ? view->leaf_count + view->first[next.level - 1] + (uint64_t)next.index
                       : next.index;
        if (dipole_angle(walk, walk->dipoles + dipole, &angle)) {
            sum += angle;
        } else if (next.level == 0) {
            sum += leaf_angle(walk, next.index);
        } else {
            const uint32_t children = nearest_children(view, next.level - 1, next.index);
            assert(waiting + (int)children <= NEAREST_STACK);
            for (uint32_t i = children; i-- > 0;)
                stack[waiting++] = (winding_entry){next.level - 1, NEAREST_WIDE * next.index + i};
        }
    }
    return sum / (4 * 3.14159265358979323846);
}

typedef struct winding_request {
    const nearest_view *view;
    const winding_dipole *dipoles;
    const vec3 *points;
    double accuracy, *numbers;
    uint32_t *crossings;
    int32_t *winding;
} winding_request;

static void some_numbers(void *context, int64_t begin, int64_t end, int thread) {
    const winding_request *a = (const winding_request *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const winding_walk walk = {a->view, a->dipoles, a->accuracy * a->accuracy, a->points[i]};
        a->numbers[i] = winding_one(&walk);
    }
}

kd_status winding_numbers(const nearest_view *view, const winding_dipole *dipoles,
                          const vec3 *points, uint64_t count, double accuracy, double *winding) {
    winding_request a = {view, dipoles, points, accuracy, winding, NULL, NULL};
    return parallel_for_stage("query", (int64_t)count, NUMBERS_GRAIN, some_numbers, &a);
}

/* --- crossings ------------------------------------------------------------------------------ */

/* Sign of the side of the point on which the projected edge from a to b passes; of a point on the
   edge, that of the point moved by an infinitesimal amount along y and a much smaller one along
   z. 0 if the edge has no length. `p` and `q` are a and b before the point was subtracted. */
static int edge_side(near3 a, near3 b, vec3 p, vec3 q) {
    const double side = a.y * b.z - a.z * b.y;
    if (side != 0) return side > 0 ? 1 : -1;
    if (p.z != q.z) return p.z > q.z ? 1 : -1;
    return q.y != p.y ? (q.y > p.y ? 1 : -1) : 0;
}

/* Returns true if the point, which lies in the plane of the triangle, lies on it. For a triangle
   with an area this is decided by the signs of the areas that its edges span with the point. */
static bool is_on_triangle(const near3 c[3]) {
    const near3 n = near3_cross(near3_sub(c[1], c[0]), near3_sub(c[2], c[0]));
    const double x = fabs(n.x), y = fabs(n.y), z = fabs(n.z);
    bool left = false, right = false;
    if (x == 0 && y == 0 && z == 0) return near_triangle_distance2(c[0], c[1], c[2]) == 0;
    for (int k = 0; k < 3; ++k) {
        const near3 part = near3_cross(c[k], c[(k + 1) % 3]);
        const double area = x >= y && x >= z ? part.x : y >= z ? part.y : part.z;
        left |= area > 0;
        right |= area < 0;
    }
    return !(left && right);
}

typedef struct crossing_count {
    uint32_t all;
    int32_t sum;
    bool on_surface;
} crossing_count;

static void cross_triangle(const nearest_view *view, vec3 from, uint32_t id,
                           crossing_count *count) {
    vec3 p[3];
    near3 c[3];
    for (uint64_t k = 0; k < 3; ++k) {
        p[k] = view->positions[view->triangles[3 * (uint64_t)id + k]];
        c[k] = near3_between(from, p[k]);
    }
    const double depth = near3_dot(c[0], near3_cross(c[1], c[2]));
    if (depth == 0 && is_on_triangle(c)) count->on_surface = true;
    const int side = edge_side(c[0], c[1], p[0], p[1]);
    if (side == 0 || side != edge_side(c[1], c[2], p[1], p[2]) ||
        side != edge_side(c[2], c[0], p[2], p[0]) || !(side > 0 ? depth > 0 : depth < 0))
        return;
    ++count->all;
    count->sum += side;
}

/* Returns a mask of a leaf's triangles whose projections may hold the point. */
static uint32_t leaf_candidates(const float *leaf, vec3 from) {
    enum { Y = NEAREST_WIDE, Z = 2 * NEAREST_WIDE, CORNER = 3 * NEAREST_WIDE };
    const double y = (double)from.y, z = (double)from.z;
    uint32_t mask = 0;
    for (uint32_t lane = 0; lane < NEAREST_WIDE; ++lane) {
        const float *at = leaf + lane;
        const double ay = (double)at[Y] - y, az = (double)at[Z] - z,
                     by = (double)at[CORNER + Y] - y, bz = (double)at[CORNER + Z] - z,
                     cy = (double)at[2 * CORNER + Y] - y, cz = (double)at[2 * CORNER + Z] - z;
        const double ab = ay * bz - az * by, bc = by * cz - bz * cy, ca = cy * az - cz * ay;
        const int left = (ab > 0) | (bc > 0) | (ca > 0), right = (ab < 0) | (bc < 0) | (ca < 0);
        mask |= (uint32_t) !(left & right) << lane;
    }
    return mask;
}

static crossing_count cross_one(const nearest_view *view, vec3 from) {
    winding_entry stack[NEAREST_STACK];
    crossing_count count = {0, 0, false};
    int waiting = 0;
    if (!vec3_is_finite(from) || view->leaf_count == 0) return count;
    const vec3 scaled = vec3_scale(from, view->scale);
    stack[waiting++] = (winding_entry){view->levels, 0};
    while (waiting > 0 && !count.on_surface) {
        const winding_entry next = stack[--waiting];
        if (next.level == 0) {
            const float *leaf = view->leaves + (uint64_t)next.index * NEAREST_LEAF_FLOATS;
            for (uint32_t mask = leaf_candidates(leaf, from); mask; mask &= mask - 1) {
                const uint32_t id = float_bits(leaf[9 * NEAREST_WIDE + __builtin_ctz(mask)]);
                if (id != KD_NONE) cross_triangle(view, from, id, &count);
            }
            continue;
        }
        const nearest_node *node = view->nodes + view->first[next.level - 1] + next.index;
        const uint32_t children = nearest_children(view, next.level - 1, next.index);
        assert(waiting + (int)children <= NEAREST_STACK);
        for (uint32_t i = 0; i < children; ++i)
            if (node->bound[1][i] >= scaled.x && node->bound[2][i] <= scaled.y &&
                node->bound[3][i] >= scaled.y && node->bound[4][i] <= scaled.z &&
                node->bound[5][i] >= scaled.z)
                stack[waiting++] = (winding_entry){next.level - 1, NEAREST_WIDE * next.index + i};
    }
    if (count.on_surface) count.all = 0, count.sum = 0;
    return count;
}

static void some_crossings(void *context, int64_t begin, int64_t end, int thread) {
    const winding_request *a = (const winding_request *)context;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const crossing_count count = cross_one(a->view, a->points[i]);
        if (a->crossings) a->crossings[i] = count.all;
        if (a->winding) a->winding[i] = count.sum;
    }
}

kd_status winding_crossings(const nearest_view *view, const vec3 *points, uint64_t count,
                            uint32_t *crossings, int32_t *winding) {
    winding_request a = {view, NULL, points, 0, NULL, crossings, winding};
    return parallel_for_stage("query", (int64_t)count, CROSSINGS_GRAIN, some_crossings, &a);
}
