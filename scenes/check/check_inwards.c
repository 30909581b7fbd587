/* Inverted shells: closed surfaces whose front faces inwards.
   Idea: a shell is a body if it is closed except for holes that are small relative to it. With
     lids over the holes its volume has a sign, determined by its winding. A negative volume is a
     fault unless the shell is the wall of a cavity (the winding number inside, given the shells
     around it, is not negative), or of a room (it contains something that is open or faces
     outwards), or unless it emits light. Nesting is determined by a ray from each shell, from the
     signs of the triangles that it crosses, found with the triangle tree.
   Work: O(n), and one ray per shell if some shell is inverted, limited by CHECK_WORK and
     CHECK_RAY_TESTS_EACH. Beyond the limit cavities and rooms cannot be told from faults: no body
     is reported as inverted, and the report says so. */
#include "core/memory.h"
#include "scenes/check/check_parts.h"
#include <stdlib.h>

/* A shell is considered a body if its holes have less than this fraction of its area. */
static const double hole_share = 0.05;

typedef struct bodies {
    examination *check;
    const tritree *tree;
    double *volume, *area, *open; /* per shell, indexed by its first triangle */
    uint8_t *buffer;              /* per shell: it contains another one */
    uint32_t *shells;             /* first triangles of all shells */
    uint32_t shell_count;
    /* The current ray, and the triangles that it hits. */
    double from[3];
    uint32_t *hits;
    uint64_t hit_count, hit_capacity, ray_tests, ray_tests_max;
    kd_status status;
} bodies;

typedef struct wide3 {
    double x[3];
} wide3;

static wide3 difference(vec3 a, vec3 from) {
    const wide3 made = {
        {(double)a.x - (double)from.x, (double)a.y - (double)from.y, (double)a.z - (double)from.z}};
    return made;
}

static wide3 cross(wide3 a, wide3 b) {
    const wide3 made = {{a.x[1] * b.x[2] - a.x[2] * b.x[1], a.x[2] * b.x[0] - a.x[0] * b.x[2],
                         a.x[0] * b.x[1] - a.x[1] * b.x[0]}};
    return made;
}

static double dot(wide3 a, wide3 b) {
    return a.x[0] * b.x[0] + a.x[1] * b.x[1] + a.x[2] * b.x[2];
}

static double double_area_of(const examination *check, uint64_t triangle) {
    return check->marks[triangle] & CHECK_AGAINST ? -1 : 1;
}

/* Computes six times the volume and twice the area, with the winding of the majority. */
static void shells_measure(bodies *b) {
    const examination *check = b->check;
    for (uint32_t i = 0; i < check->body.triangle_count; ++i) {
        const uint32_t shell = check->shell[i];
        if (shell == KD_NONE) continue;
        if (shell == i) b->shells[b->shell_count++] = i;
        const vec3 o = check_point(check, shell, 0), a = check_point(check, i, 0);
        const wide3 ab = difference(check_point(check, i, 1), a),
                    ac = difference(check_point(check, i, 2), a);
        const wide3 normal = cross(ab, ac);
        b->volume[shell] += double_area_of(check, i) * dot(difference(a, o), normal);
        b->area[shell] += sqrt(dot(normal, normal));
    }
}

/* Adds lids over the holes: fans around a point of each boundary loop. */
static kd_status lids_measure(bodies *b) {
    const examination *check = b->check;
    const vec3 *p = check->body.positions;
    uint32_t *loop = NULL;
    wide3 *lid = NULL;
    kd_status status;
    KD_TRY_GOTO(check_loops(check, &loop));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(lid, check->rim_count));
    for (uint64_t i = 0; i < check->rim_count; ++i) {
        const check_half *half = &check->rim[i];
        const uint32_t shell = check->shell[half->triangle];
        const vec3 r = p[check->rim[loop[i]].from];
        const wide3 from = difference(p[half->from], r), to = difference(p[half->to], r);
        /* the lid traverses the edge in the opposite direction */
        const wide3 normal = cross(to, from);
        const double area = double_area_of(check, half->triangle);
        b->volume[shell] += area * dot(difference(r, check_point(check, shell, 0)), normal);
        for (int k = 0; k < 3; ++k) lid[loop[i]].x[k] += area * normal.x[k];
    }
    for (uint64_t i = 0; i < check->rim_count; ++i)
        if (loop[i] == i)
            b->open[check->shell[check->rim[i].triangle]] += sqrt(dot(lid[i], lid[i]));
done:
    memory_free(loop);
    memory_free(lid);
    return status;
}

static bool is_body(const bodies *b, uint32_t shell) {
    return !(b->check->marks[shell] & CHECK_ONE_SIDED) &&
           b->open[shell] <= hole_share * b->area[shell];
}

static bool is_inwards(const bodies *b, uint32_t shell) {
    return is_body(b, shell) && b->volume[shell] < 0;
}

/* --- the ray: from a point of a shell along z ------------------------------------------------- */

static void keep_hit(bodies *b, uint32_t triangle) {
    if (b->hit_count == b->hit_capacity) {
        const uint64_t buffer = b->hit_capacity ? 2 * b->hit_capacity : 64;
        if (KD_GROW(b->hits, b->hit_count, buffer) != KD_OK) {
            b->status = KD_ERROR_MEMORY;
            return;
        }
        b->hit_capacity = buffer;
    }
    b->hits[b->hit_count++] = triangle;
}

/* Returns the side of an edge on which the ray passes; computed identically for both triangles of
   the edge. */
static int side_of(const bodies *b, uint32_t from, uint32_t to) {
    const bool turned = from > to;
    const vec3 p = b->check->body.positions[turned ? to : from];
    const vec3 q = b->check->body.positions[turned ? from : to];
    const double area = ((double)q.x - (double)p.x) * (b->from[1] - (double)p.y) -
                        ((double)q.y - (double)p.y) * (b->from[0] - (double)p.x);
    return (area >= 0) != turned ? 1 : -1;
}

/* Returns 1 if the ray leaves through the triangle's front, -1 if it enters, 0 if it misses. */
static int test_triangle(const bodies *b, uint32_t triangle) {
    const examination *check = b->check;
    const int side = side_of(b, check_place(check, triangle, 0), check_place(check, triangle, 1));
    for (int k = 1; k < 3; ++k)
        if (side_of(b, check_place(check, triangle, k),
                    check_place(check, triangle, (k + 1) % 3)) != side)
            return 0;
    const vec3 a = check_point(check, triangle, 0);
    const wide3 normal = cross(difference(check_point(check, triangle, 1), a),
                               difference(check_point(check, triangle, 2), a));
    const double above = (b->from[0] - (double)a.x) * normal.x[0] +
                         (b->from[1] - (double)a.y) * normal.x[1] +
                         (b->from[2] - (double)a.z) * normal.x[2];
    if ((side > 0 ? above : -above) >= 0) return 0; /* behind the ray's origin */
    return side;
}

static void node_walk(bodies *b, uint32_t at) {
    while (b->ray_tests < b->ray_tests_max) {
        const tritree_node node = b->tree->nodes[at];
        if (tritree_is_leaf(node)) {
            const uint32_t *ids = b->tree->references + tritree_first(node);
            b->ray_tests += tritree_count(node) + 1;
            for (uint32_t i = 0; i < tritree_count(node); ++i)
                if (!(b->check->marks[ids[i]] & CHECK_IDLE) && test_triangle(b, ids[i]) != 0)
                    keep_hit(b, ids[i]);
            return;
        }
        const int axis = tritree_axis(node);
        const uint32_t left = tritree_left(node);
        const double split = (double)node.split;
        if (b->from[axis] <= split) {
            if (axis == 2 || !(b->from[axis] < split)) node_walk(b, left + 1);
            at = left;
        } else {
            at = left + 1;
        }
    }
}

static int number_order(const void *a, const void *b) {
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* Computes the winding number of all other bodies around a point of the shell, and marks bodies
   that contain it. */
static kd_status surroundings_test(bodies *b, uint32_t shell, int *winding) {
    const examination *check = b->check;
    uint64_t *sorted = NULL;
    static const double weight[3] = {0.31, 0.33, 0.36};
    memset(b->from, 0, sizeof b->from);
    for (int k = 0; k < 3; ++k)
        for (int axis = 0; axis < 3; ++axis)
            b->from[axis] += weight[k] * (double)vec3_axis(check_point(check, shell, k), axis);
    b->hit_count = 0;
    *winding = 0;
    node_walk(b, 0);
    KD_TRY(b->status);
    KD_TRY(KD_RESERVE(sorted, b->hit_count));
    for (uint64_t i = 0; i < b->hit_count; ++i)
        sorted[i] = (uint64_t)check->shell[b->hits[i]] << 32 | b->hits[i];
    if (b->hit_count) qsort(sorted, b->hit_count, sizeof *sorted, number_order);
    for (uint64_t begin = 0, end; begin < b->hit_count; begin = end) {
        const uint32_t other = (uint32_t)(sorted[begin] >> 32);
        int sum = 0;
        for (end = begin; end < b->hit_count && sorted[end] >> 32 == other; ++end) {
            const uint32_t triangle = (uint32_t)sorted[end];
            /* listed in several leaves */
            if (end > begin && sorted[end] == sorted[end - 1]) continue;
            sum += test_triangle(b, triangle) * (check->marks[triangle] & CHECK_AGAINST ? -1 : 1);
        }
        if (other == shell || sum == 0 || !is_body(b, other)) continue;
        *winding += sum > 0 ? 1 : -1;
        if (!is_body(b, shell) || b->volume[shell] > 0) b->buffer[other] = 1;
    }
    memory_free(sorted);
    return KD_OK;
}

/* --- what is a fault -------------------------------------------------------------------------- */

static void lamps_mark(bodies *b) {
    const mesh *body = &b->check->body;
    for (uint64_t i = 0; i < body->triangle_count; ++i) {
        const material *made = &body->materials[body->triangle_materials[i]].record;
        if (b->check->shell[i] != KD_NONE &&
            (!vec3_is_zero(made->emission) || material_bounds_media(made)))
            b->buffer[b->check->shell[i]] = 1; /* check_shells.c reports glass */
    }
}

static bool is_beyond(const bodies *b) {
    return b->ray_tests >= b->ray_tests_max;
}

static kd_status shells_judge(bodies *b) {
    examination *check = b->check;
    int32_t *winding = NULL;
    KD_TRY(KD_RESERVE(winding, b->shell_count));
    kd_status status = KD_OK;
    b->ray_tests_max = CHECK_WORK + CHECK_RAY_TESTS_EACH * (uint64_t)b->shell_count;
    for (uint32_t i = 0; status == KD_OK && i < b->shell_count && !is_beyond(b); ++i) {
        status = surroundings_test(b, b->shells[i], &winding[i]);
        if (status == KD_OK) status = check_interruption(check);
    }
    check->report->ray_tests = b->ray_tests;
    if (status == KD_OK && is_beyond(b)) {
        check_note(check, check->path, 0, "inside-out-unfinished", CHECK_NOTE,
                   "found too many bodies at one place to check which are wound inside out");
        memory_free(winding);
        return KD_OK;
    }
    uint8_t *wrong = b->buffer; /* reused: 2 marks an inverted shell */
    for (uint32_t i = 0; status == KD_OK && i < b->shell_count; ++i) {
        const uint32_t shell = b->shells[i];
        if (!is_inwards(b, shell) || winding[i] > 0 || b->buffer[shell]) continue;
        wrong[shell] = 2;
        check_triangle_note(
            check, shell, "inside-out", CHECK_WARNING,
            "found a body wound inside out (volume %g), expected front faces on the outside",
            b->volume[shell] / 6);
    }
    for (uint64_t i = 0; status == KD_OK && i < check->body.triangle_count; ++i)
        if (check->shell[i] != KD_NONE && wrong[check->shell[i]] == 2)
            check->marks[i] |= CHECK_INWARDS;
    memory_free(winding);
    return status;
}

kd_status check_inwards(examination *check, const tritree *tree) {
    const uint64_t count = check->body.triangle_count;
    bodies b;
    bool any = false;
    kd_status status;
    memset(&b, 0, sizeof b);
    b.check = check;
    b.tree = tree;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(b.volume, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(b.area, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(b.open, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(b.buffer, count));
    KD_TRY_GOTO(KD_RESERVE(b.shells, count));
    shells_measure(&b);
    KD_TRY_GOTO(lids_measure(&b));
    lamps_mark(&b);
    for (uint32_t i = 0; i < b.shell_count; ++i) any = any || is_inwards(&b, b.shells[i]);
    if (any) status = shells_judge(&b);
done:
    memory_free(b.volume);
    memory_free(b.area);
    memory_free(b.open);
    memory_free(b.buffer);
    memory_free(b.shells);
    memory_free(b.hits);
    return status;
}
