/* Inverted shells: closed surfaces whose front faces inwards.
   Idea: a shell is a body if it is closed except for holes that are small relative to it. With
     lids over the holes its volume has a sign, determined by its winding. A negative volume is a
     fault unless the shell is the wall of a cavity (the winding number inside, given the shells
     around it, is not negative), or of a room (it contains something that is open or faces
     outwards), or unless it emits light. To determine nesting, a ray is cast from each shell, and
     the signs of the triangles that it crosses are added; the triangle tree finds these triangles.
   Work: O(n), and one ray per shell if some shell is inverted, limited by CHECK_WORK and
     CHECK_RAY_TESTS_EACH. Beyond the limit cavities and rooms cannot be told from faults: no body
     is reported as inverted, and the report says so. */
#include "core/memory.h"
#include "scenes/check/check_parts.h"

/* A shell is considered a body if its holes have less than this fraction of its area. */
static const double hole_share = 0.05;

typedef struct bodies {
    examination *check;
    double *volume, *area, *open; /* per shell, indexed by its first triangle */
    uint8_t *buffer;              /* per shell: it contains another one */
    uint32_t *shells;             /* first triangles of all shells */
    uint32_t shell_count;
    check_ray ray;
} bodies;

static double dot(check_vector a, check_vector b) {
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
        const check_vector ab = check_difference(check_point(check, i, 1), a),
                           ac = check_difference(check_point(check, i, 2), a);
        const check_vector normal = check_cross(ab, ac);
        b->volume[shell] += double_area_of(check, i) * dot(check_difference(a, o), normal);
        b->area[shell] += sqrt(dot(normal, normal));
    }
}

/* Adds lids over the holes: fans around a point of each boundary loop. */
static kd_status lids_measure(bodies *b) {
    const examination *check = b->check;
    const vec3 *p = check->body.positions;
    uint32_t *loop = NULL;
    check_vector *lid = NULL;
    kd_status status;
    KD_TRY_GOTO(check_loops(check, &loop));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(lid, check->rim_count));
    for (uint64_t i = 0; i < check->rim_count; ++i) {
        const check_half *half = &check->rim[i];
        const uint32_t shell = check->shell[half->triangle];
        const vec3 r = p[check->rim[loop[i]].from];
        const check_vector from = check_difference(p[half->from], r),
                           to = check_difference(p[half->to], r);
        /* the lid traverses the edge in the opposite direction */
        const check_vector normal = check_cross(to, from);
        const double area = double_area_of(check, half->triangle);
        b->volume[shell] += area * dot(check_difference(r, check_point(check, shell, 0)), normal);
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

/* Computes the winding number of all other bodies around a point of the shell, and marks bodies
   that contain it. */
static kd_status surroundings_test(bodies *b, uint32_t shell, int *winding) {
    const examination *check = b->check;
    const check_ray *ray = &b->ray;
    *winding = 0;
    KD_TRY(check_ray_cast(&b->ray, shell));
    for (uint64_t begin = 0, end; begin < ray->hit_count; begin = end) {
        const uint32_t other = check->shell[ray->hits[begin]];
        int sum = 0;
        for (end = begin; end < ray->hit_count && check->shell[ray->hits[end]] == other; ++end) {
            const uint32_t triangle = ray->hits[end];
            sum +=
                check_ray_side(ray, triangle) * (check->marks[triangle] & CHECK_AGAINST ? -1 : 1);
        }
        if (other == shell || sum == 0 || !is_body(b, other)) continue;
        *winding += sum > 0 ? 1 : -1;
        if (!is_body(b, shell) || b->volume[shell] > 0) b->buffer[other] = 1;
    }
    return KD_OK;
}

/* --- inverted shells -------------------------------------------------------------------------- */

static void lamps_mark(bodies *b) {
    const mesh *body = &b->check->body;
    for (uint64_t i = 0; i < body->triangle_count; ++i) {
        const material *made = &body->materials[body->triangle_materials[i]].record;
        if (b->check->shell[i] != KD_NONE &&
            (!vec3_is_zero(made->emission) || material_bounds_media(made) ||
             check_is_glass(b->check, i)))
            b->buffer[b->check->shell[i]] = 1; /* check_shells.c reports glass */
    }
}

static bool is_beyond(const bodies *b) {
    return b->ray.tests >= b->ray.tests_max;
}

static kd_status shells_judge(bodies *b) {
    examination *check = b->check;
    int32_t *winding = NULL;
    KD_TRY(KD_RESERVE(winding, b->shell_count));
    kd_status status = KD_OK;
    b->ray.tests_max = CHECK_WORK + CHECK_RAY_TESTS_EACH * (uint64_t)b->shell_count;
    for (uint32_t i = 0; status == KD_OK && i < b->shell_count && !is_beyond(b); ++i) {
        status = surroundings_test(b, b->shells[i], &winding[i]);
        if (status == KD_OK) status = check_interruption(check);
    }
    check->report->ray_tests = b->ray.tests;
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
    b.ray.check = check;
    b.ray.tree = tree;
    b.ray.groups = check->shell;
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
    check_ray_close(&b.ray);
    return status;
}
