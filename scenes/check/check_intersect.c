/* Self-intersections.
   Idea: two triangles that share a point are both in the leaf of the triangle tree that contains
     the point, so it suffices to test the pairs within each leaf. A pair intersects if an edge of
     one crosses the interior of the other, or if both are coplanar and overlap. Predicates are
     exact; touching does not count, so that adjacent triangles need no special treatment.
   Work: the pairs of all leaves, smallest leaves first, limited by CHECK_WORK and
     CHECK_PAIRS_EACH. Degenerate input with many triangles in one place exceeds the limit, and the
     report says so. The result does not depend on the number of threads. */
#include "core/memory.h"
#include "core/parallel/parallel.h"
#include "scenes/check/check_parts.h"
#include <stdatomic.h>

enum { GRAIN = 4096 };

typedef struct partner_cell {
    _Atomic uint32_t first; /* KD_NONE: empty */
} partner_cell;

typedef struct cutting {
    const examination *check;
    const tritree *tree;
    partner_cell *partner; /* per triangle: the first preceding triangle that it intersects */
    uint64_t pairs_max;    /* leaves with more pairs are skipped */
    bool left_out;
} cutting;

typedef struct corner3 {
    vec3 p[3];
    uint32_t place[3];
} corner3;

static corner3 corners_of(const examination *check, uint32_t triangle) {
    corner3 c;
    for (int k = 0; k < 3; ++k) {
        c.p[k] = check_point(check, triangle, k);
        c.place[k] = check_place(check, triangle, k);
    }
    return c;
}

static bool has_place(const corner3 *corners, uint32_t place) {
    return corners->place[0] == place || corners->place[1] == place || corners->place[2] == place;
}

static bool boxes_overlap(const corner3 *a, const corner3 *b) {
    for (int axis = 0; axis < 3; ++axis) {
        float low[2], high[2];
        for (int s = 0; s < 2; ++s) {
            const vec3 *p = s ? b->p : a->p;
            const float x = vec3_axis(p[0], axis), y = vec3_axis(p[1], axis);
            const float z = vec3_axis(p[2], axis);
            low[s] = float_min(x, float_min(y, z));
            high[s] = float_max(x, float_max(y, z));
        }
        if (low[0] > high[1] || low[1] > high[0]) return false;
    }
    return true;
}

/* --- projections along an axis ---------------------------------------------------------------- */

static int turn_of(const corner3 *corners, int i, int j) {
    return exact_turn(corners->p[0], corners->p[1], corners->p[2], i, j);
}

/* Returns true if all of `b` is on or outside an edge of `a`. */
static bool edge_parts(const corner3 *a, int turn, const corner3 *b, int i, int j) {
    for (int k = 0; k < 3; ++k) {
        const int l = (k + 1) % 3;
        bool parts = true;
        for (int c = 0; c < 3 && parts; ++c) {
            if (b->place[c] == a->place[k] || b->place[c] == a->place[l]) continue;
            parts = turn * exact_turn(a->p[k], a->p[l], b->p[c], i, j) <= 0;
        }
        if (parts) return true;
    }
    return false;
}

/* Returns true if the projections along an axis do not overlap. */
static bool shadows_part(const corner3 *a, const corner3 *b, int axis) {
    const int i = (axis + 1) % 3, j = (axis + 2) % 3;
    const int turn_a = turn_of(a, i, j), turn_b = turn_of(b, i, j);
    return (turn_a != 0 && edge_parts(a, turn_a, b, i, j)) ||
           (turn_b != 0 && edge_parts(b, turn_b, a, i, j));
}

static int widest_axis(const corner3 *corners) {
    const vec3 u = vec3_sub(corners->p[1], corners->p[0]),
               v = vec3_sub(corners->p[2], corners->p[0]);
    double best = -1;
    int axis = 0;
    for (int k = 0; k < 3; ++k) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        const double area = fabs((double)vec3_axis(u, i) * (double)vec3_axis(v, j) -
                                 (double)vec3_axis(u, j) * (double)vec3_axis(v, i));
        if (area > best) {
            best = area;
            axis = k;
        }
    }
    return axis;
}

/* --- edges through triangles ------------------------------------------------------------------ */

/* Returns true if the end points are on opposite sides and the line passes through the triangle or
   an edge. A corner on the edge counts as touching only. */
static bool edge_cuts(vec3 p, vec3 q, const corner3 *corners) {
    const vec3 a = corners->p[0], b = corners->p[1], c = corners->p[2];
    if (exact_side(a, b, c, p) * exact_side(a, b, c, q) >= 0) return false;
    const int x = exact_side(p, q, a, b), y = exact_side(p, q, b, c), z = exact_side(p, q, c, a);
    if ((x == 0) + (y == 0) + (z == 0) > 1) return false;
    return (x >= 0 && y >= 0 && z >= 0) || (x <= 0 && y <= 0 && z <= 0);
}

/* Returns true if `b` does not cross the plane of `a`. */
static bool all_on_one_side(const corner3 *a, const corner3 *b, bool *in_plane) {
    int low = 1, high = -1;
    for (int k = 0; k < 3; ++k) {
        const int side =
            has_place(a, b->place[k]) ? 0 : exact_side(a->p[0], a->p[1], a->p[2], b->p[k]);
        low = side < low ? side : low;
        high = side > high ? side : high;
    }
    *in_plane = low == 0 && high == 0;
    return !*in_plane && (low >= 0 || high <= 0);
}

static bool edges_cut(const corner3 *a, const corner3 *b) {
    for (int k = 0; k < 3; ++k) {
        const int l = (k + 1) % 3;
        if (has_place(b, a->place[k]) || has_place(b, a->place[l])) continue;
        if (edge_cuts(a->p[k], a->p[l], b)) return true;
    }
    return false;
}

/* Ignores triangles with the same three vertices: duplicates are reported elsewhere. */
static bool pair_cuts(const corner3 *a, const corner3 *b) {
    if (!boxes_overlap(a, b)) return false;
    const int axis = widest_axis(a);
    if (shadows_part(a, b, axis)) return false;
    bool in_plane = false;
    if (all_on_one_side(a, b, &in_plane)) return false;
    if (in_plane) return true; /* since the projections overlap */
    return edges_cut(a, b) || edges_cut(b, a);
}

static void partner_keep(cutting *c, uint32_t later, uint32_t earlier) {
    uint32_t current = atomic_load_explicit(&c->partner[later].first, memory_order_relaxed);
    while (earlier < current &&
           !atomic_compare_exchange_weak_explicit(&c->partner[later].first, &current, earlier,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

static uint64_t leaf_pairs(tritree_node node) {
    const uint64_t count = tritree_is_leaf(node) ? tritree_count(node) : 0;
    return count > 1 ? count * (count - 1) / 2 : 0;
}

static void leaf_examine(cutting *c, tritree_node node) {
    const uint32_t *ids = c->tree->references + tritree_first(node);
    const uint32_t count = tritree_count(node);
    for (uint32_t i = 0; i < count; ++i) {
        if (job_cancelled(c->check->job)) return;
        if (c->check->marks[ids[i]] & CHECK_IDLE) continue;
        const corner3 a = corners_of(c->check, ids[i]);
        for (uint32_t j = i + 1; j < count; ++j) {
            if (c->check->marks[ids[j]] & CHECK_IDLE) continue;
            const corner3 b = corners_of(c->check, ids[j]);
            if (!pair_cuts(&a, &b)) continue;
            const bool rising = ids[i] < ids[j];
            partner_keep(c, rising ? ids[j] : ids[i], rising ? ids[i] : ids[j]);
        }
    }
}

static void nodes_body(void *context, int64_t begin, int64_t end, int thread) {
    (void)thread;
    cutting *c = (cutting *)context;
    for (int64_t i = begin; i < end; ++i) {
        const tritree_node node = c->tree->nodes[i];
        const uint64_t pairs = leaf_pairs(node);
        if (pairs > 0 && pairs <= c->pairs_max) leaf_examine(c, node);
    }
}

/* Finds the largest power of two such that skipping leaves with more pairs keeps the total within
   the limit. Returns the number of pairs. */
static uint64_t bound_find(cutting *c) {
    const uint64_t maximum =
        CHECK_WORK + CHECK_PAIRS_EACH * (uint64_t)c->check->body.triangle_count;
    uint64_t pairs_of[65] = {0}, sum = 0; /* indexed by the number of bits of (pairs - 1) */
    for (uint64_t i = 0; i < c->tree->node_count; ++i) {
        const uint64_t pairs = leaf_pairs(c->tree->nodes[i]);
        int bits = 0;
        while (pairs > 0 && (pairs - 1) >> bits) ++bits;
        pairs_of[bits] += pairs;
    }
    for (int bits = 0; bits < 64; ++bits) {
        if (sum + pairs_of[bits] > maximum) {
            c->left_out = true;
            break;
        }
        sum += pairs_of[bits];
        c->pairs_max = (uint64_t)1 << bits;
    }
    return sum;
}

static void pairs_report(examination *check, const cutting *c) {
    for (uint32_t i = 0; i < check->body.triangle_count; ++i) {
        const uint32_t other = atomic_load_explicit(&c->partner[i].first, memory_order_relaxed);
        if (other == KD_NONE) continue;
        if (check->lines)
            check_triangle_note(check, i, "self-intersection", CHECK_WARNING,
                                "found an intersection with the face of line %u, expected none",
                                check->lines[other]);
        else
            check_triangle_note(check, i, "self-intersection", CHECK_WARNING,
                                "found an intersection with triangle %u, expected none", other);
    }
    if (c->left_out)
        check_note(check, check->path, 0, "intersections-unfinished", CHECK_NOTE,
                   "found too many triangles at one place to check all pairs for intersections");
}

kd_status check_intersections(examination *check, const tritree *tree) {
    cutting c;
    memset(&c, 0, sizeof c);
    c.check = check;
    c.tree = tree;
    KD_TRY(KD_RESERVE(c.partner, check->body.triangle_count));
    for (uint32_t i = 0; i < check->body.triangle_count; ++i)
        atomic_init(&c.partner[i].first, KD_NONE);
    check->report->pairs = bound_find(&c);
    parallel_for(tree->node_count, GRAIN, nodes_body, &c);
    const kd_status status = check_interruption(check);
    if (status == KD_OK) pairs_report(check, &c);
    memory_free(c.partner);
    return status;
}

/* An expansion: an exact sum of non-overlapping doubles, smallest first. */
typedef struct expansion {
    double part[64];
    int count;
} expansion;

static void expansion_add(expansion *expansion, double more) {
    int kept = 0;
    for (int i = 0; i < expansion->count; ++i) {
        const double a = expansion->part[i], sum = more + a;
        const double b = sum - more;
        const double error = (more - (sum - b)) + (a - b);
        if (error < 0 || error > 0) expansion->part[kept++] = error;
        more = sum;
    }
    if (more < 0 || more > 0) expansion->part[kept++] = more;
    expansion->count = kept;
}

/* The product of two floats is exact in double. */
static void add_product(expansion *expansion, float a, float b, double sign) {
    expansion_add(expansion, sign * (double)a * (double)b);
}

/* Product of three floats, exact: the first product is split into halves. */
static void add_product3(expansion *expansion, float a, float b, float c, double sign) {
    const double ab = sign * (double)a * (double)b, wide = 134217729.0 * ab;
    const double high = wide - (wide - ab), low = ab - high;
    expansion_add(expansion, low * (double)c);
    expansion_add(expansion, high * (double)c);
}

static int expansion_sign(const expansion *expansion) {
    if (expansion->count == 0) return 0;
    return expansion->part[expansion->count - 1] > 0 ? 1 : -1;
}

int exact_turn(vec3 a, vec3 b, vec3 c, int i, int j) {
    const float ax = vec3_axis(a, i), ay = vec3_axis(a, j), bx = vec3_axis(b, i);
    const float by = vec3_axis(b, j), cx = vec3_axis(c, i), cy = vec3_axis(c, j);
    const double left = ((double)ax - (double)cx) * ((double)by - (double)cy);
    const double right = ((double)ay - (double)cy) * ((double)bx - (double)cx);
    const double turn = left - right, bound = 0x1p-50 * (fabs(left) + fabs(right));
    if (turn > bound) return 1;
    if (turn < -bound) return -1;
    expansion sum = {{0}, 0};
    add_product(&sum, ax, by, 1);
    add_product(&sum, bx, cy, 1);
    add_product(&sum, cx, ay, 1);
    add_product(&sum, ay, bx, -1);
    add_product(&sum, by, cx, -1);
    add_product(&sum, cy, ax, -1);
    return expansion_sign(&sum);
}

bool exact_is_flat(vec3 a, vec3 b, vec3 c) {
    return exact_turn(a, b, c, 0, 1) == 0 && exact_turn(a, b, c, 1, 2) == 0 &&
           exact_turn(a, b, c, 2, 0) == 0;
}

/* Adds sign times the determinant of three points. */
static void add_determinant(expansion *expansion, vec3 a, vec3 b, vec3 c, double sign) {
    add_product3(expansion, a.x, b.y, c.z, sign);
    add_product3(expansion, a.y, b.z, c.x, sign);
    add_product3(expansion, a.z, b.x, c.y, sign);
    add_product3(expansion, a.x, b.z, c.y, -sign);
    add_product3(expansion, a.y, b.x, c.z, -sign);
    add_product3(expansion, a.z, b.y, c.x, -sign);
}

static int side_exactly(vec3 a, vec3 b, vec3 c, vec3 d) {
    expansion sum = {{0}, 0};
    add_determinant(&sum, a, b, c, 1);
    add_determinant(&sum, a, b, d, -1);
    add_determinant(&sum, a, c, d, 1);
    add_determinant(&sum, b, c, d, -1);
    return expansion_sign(&sum);
}

int exact_side(vec3 a, vec3 b, vec3 c, vec3 d) {
    const double ax = (double)a.x - (double)d.x, ay = (double)a.y - (double)d.y;
    const double az = (double)a.z - (double)d.z, bx = (double)b.x - (double)d.x;
    const double by = (double)b.y - (double)d.y, bz = (double)b.z - (double)d.z;
    const double cx = (double)c.x - (double)d.x, cy = (double)c.y - (double)d.y;
    const double cz = (double)c.z - (double)d.z;
    const double bycz = by * cz, bzcy = bz * cy, cyaz = cy * az, czay = cz * ay;
    const double aybz = ay * bz, azby = az * by;
    const double side = ax * (bycz - bzcy) + bx * (cyaz - czay) + cx * (aybz - azby);
    const double size = fabs(ax) * (fabs(bycz) + fabs(bzcy)) +
                        fabs(bx) * (fabs(cyaz) + fabs(czay)) + fabs(cx) * (fabs(aybz) + fabs(azby));
    const double bound = 0x1p-49 * size;
    if (side > bound) return 1;
    if (side < -bound) return -1;
    return side_exactly(a, b, c, d);
}
