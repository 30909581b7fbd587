/* Shells whose fronts look inwards.
   Idea: a shell is closed, or nearly: its holes are small beside it. Its volume is then signed
         by its winding, once each hole has a lid. A shell wound inwards is a fault unless it is
         the wall of a cavity (the shells around it make it so: the winding number inside is not
         negative), or of a room: something lies in it that is open or has its front outside, or
         it emits light. What lies in what is told by the signs of the triangles that a ray from
         each shell meets, found by the triangle tree.
   Work: O(n), and a ray a shell where any is wound inwards: bounded by CHECK_WORK and
         CHECK_MEETINGS_EACH. Beyond that nobody knows what is a cavity or a room: no body is
         told as inside out then, and the report says so. */
#include "core/memory.h"
#include "scenes/check/check_parts.h"
#include <stdlib.h>

/* Holes of this share of a shell's area leave it a body. */
static const double hole_share = 0.05;

typedef struct bodies {
    examination *of;
    const tritree *tree;
    double *volume, *area, *open; /* of each shell, by its first triangle */
    uint8_t *room;                /* of each: something is in it */
    uint32_t *shells;             /* those there are */
    uint32_t shell_count;
    /* the ray that is cast, and the triangles that it meets */
    double from[3];
    uint32_t *met;
    uint64_t met_count, met_room, meetings, meetings_most;
    kd_status status;
} bodies;

typedef struct wide3 {
    double x[3];
} wide3;

static wide3 apart(vec3 a, vec3 from) {
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

static double way_of(const examination *of, uint64_t triangle) {
    return of->marks[triangle] & CHECK_AGAINST ? -1 : 1;
}

/* Six times the volume and twice the area, as most of the shell is wound. */
static void shells_measure(bodies *b) {
    const examination *of = b->of;
    for (uint32_t i = 0; i < of->body.triangle_count; ++i) {
        const uint32_t shell = of->shell[i];
        if (shell == KD_NONE) continue;
        if (shell == i) b->shells[b->shell_count++] = i;
        const vec3 o = check_point(of, shell, 0), a = check_point(of, i, 0);
        const wide3 ab = apart(check_point(of, i, 1), a), ac = apart(check_point(of, i, 2), a);
        const wide3 normal = cross(ab, ac);
        b->volume[shell] += way_of(of, i) * dot(apart(a, o), normal);
        b->area[shell] += sqrt(dot(normal, normal));
    }
}

/* The lids of holes: fans around a point of each. */
static kd_status lids_measure(bodies *b) {
    const examination *of = b->of;
    const vec3 *p = of->body.positions;
    uint32_t *loop = NULL;
    wide3 *lid = NULL;
    kd_status status;
    KD_TRY_GOTO(check_loops(of, &loop));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(lid, of->rim_count));
    for (uint64_t i = 0; i < of->rim_count; ++i) {
        const check_half *half = &of->rim[i];
        const uint32_t shell = of->shell[half->triangle];
        const vec3 r = p[of->rim[loop[i]].from];
        const wide3 from = apart(p[half->from], r), to = apart(p[half->to], r);
        const wide3 normal = cross(to, from); /* it runs against the rim */
        const double way = way_of(of, half->triangle);
        b->volume[shell] += way * dot(apart(r, check_point(of, shell, 0)), normal);
        for (int k = 0; k < 3; ++k) lid[loop[i]].x[k] += way * normal.x[k];
    }
    for (uint64_t i = 0; i < of->rim_count; ++i)
        if (loop[i] == i) b->open[of->shell[of->rim[i].triangle]] += sqrt(dot(lid[i], lid[i]));
done:
    memory_free(loop);
    memory_free(lid);
    return status;
}

static bool is_body(const bodies *b, uint32_t shell) {
    return !(b->of->marks[shell] & CHECK_ONE_SIDED) &&
           b->open[shell] <= hole_share * b->area[shell];
}

static bool is_inwards(const bodies *b, uint32_t shell) {
    return is_body(b, shell) && b->volume[shell] < 0;
}

/* --- the ray: from a point of a shell along z ------------------------------------------------- */

static void met_keep(bodies *b, uint32_t triangle) {
    if (b->met_count == b->met_room) {
        const uint64_t room = b->met_room ? 2 * b->met_room : 64;
        if (KD_GROW(b->met, b->met_count, room) != KD_OK) {
            b->status = KD_ERROR_MEMORY;
            return;
        }
        b->met_room = room;
    }
    b->met[b->met_count++] = triangle;
}

/* On which side of the edge the ray runs; the same numbers for both triangles of the edge. */
static int side_of(const bodies *b, uint32_t from, uint32_t to) {
    const bool turned = from > to;
    const vec3 p = b->of->body.positions[turned ? to : from];
    const vec3 q = b->of->body.positions[turned ? from : to];
    const double area = ((double)q.x - (double)p.x) * (b->from[1] - (double)p.y) -
                        ((double)q.y - (double)p.y) * (b->from[0] - (double)p.x);
    return (area >= 0) != turned ? 1 : -1;
}

/* 1 where the ray leaves through the triangle's front, -1 where it enters, 0: not met. */
static int meet(const bodies *b, uint32_t triangle) {
    const examination *of = b->of;
    const int side = side_of(b, check_place(of, triangle, 0), check_place(of, triangle, 1));
    for (int k = 1; k < 3; ++k)
        if (side_of(b, check_place(of, triangle, k), check_place(of, triangle, (k + 1) % 3)) !=
            side)
            return 0;
    const vec3 a = check_point(of, triangle, 0);
    const wide3 normal =
        cross(apart(check_point(of, triangle, 1), a), apart(check_point(of, triangle, 2), a));
    const double above = (b->from[0] - (double)a.x) * normal.x[0] +
                         (b->from[1] - (double)a.y) * normal.x[1] +
                         (b->from[2] - (double)a.z) * normal.x[2];
    if ((side > 0 ? above : -above) >= 0) return 0; /* below where the ray begins */
    return side;
}

static void node_walk(bodies *b, uint32_t at) {
    while (b->meetings < b->meetings_most) {
        const tritree_node node = b->tree->nodes[at];
        if (tritree_is_leaf(node)) {
            const uint32_t *ids = b->tree->references + tritree_first(node);
            b->meetings += tritree_count(node) + 1;
            for (uint32_t i = 0; i < tritree_count(node); ++i)
                if (!(b->of->marks[ids[i]] & CHECK_IDLE) && meet(b, ids[i]) != 0)
                    met_keep(b, ids[i]);
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

/* *winding = the winding number of all other bodies around the shell's point; marks those that have
   something in them. */
static kd_status surroundings_look(bodies *b, uint32_t shell, int *winding) {
    const examination *of = b->of;
    uint64_t *sorted = NULL;
    static const double weight[3] = {0.31, 0.33, 0.36};
    memset(b->from, 0, sizeof b->from);
    for (int k = 0; k < 3; ++k)
        for (int axis = 0; axis < 3; ++axis)
            b->from[axis] += weight[k] * (double)vec3_axis(check_point(of, shell, k), axis);
    b->met_count = 0;
    *winding = 0;
    node_walk(b, 0);
    KD_TRY(b->status);
    KD_TRY(KD_RESERVE(sorted, b->met_count));
    for (uint64_t i = 0; i < b->met_count; ++i)
        sorted[i] = (uint64_t)of->shell[b->met[i]] << 32 | b->met[i];
    if (b->met_count) qsort(sorted, b->met_count, sizeof *sorted, number_order);
    for (uint64_t begin = 0, end; begin < b->met_count; begin = end) {
        const uint32_t other = (uint32_t)(sorted[begin] >> 32);
        int sum = 0;
        for (end = begin; end < b->met_count && sorted[end] >> 32 == other; ++end) {
            const uint32_t triangle = (uint32_t)sorted[end];
            if (end > begin && sorted[end] == sorted[end - 1]) continue; /* in several leaves */
            sum += meet(b, triangle) * (of->marks[triangle] & CHECK_AGAINST ? -1 : 1);
        }
        if (other == shell || sum == 0 || !is_body(b, other)) continue;
        *winding += sum > 0 ? 1 : -1;
        if (!is_body(b, shell) || b->volume[shell] > 0) b->room[other] = 1;
    }
    memory_free(sorted);
    return KD_OK;
}

/* --- what is a fault -------------------------------------------------------------------------- */

static void lamps_mark(bodies *b) {
    const mesh *body = &b->of->body;
    for (uint64_t i = 0; i < body->triangle_count; ++i) {
        const material *made = &body->materials[body->triangle_materials[i]].record;
        if (b->of->shell[i] != KD_NONE &&
            (!vec3_is_zero(made->emission) || material_bounds_media(made)))
            b->room[b->of->shell[i]] = 1; /* glass has findings of its own */
    }
}

static bool is_beyond(const bodies *b) {
    return b->meetings >= b->meetings_most;
}

static kd_status shells_judge(bodies *b) {
    examination *of = b->of;
    int32_t *winding = NULL;
    KD_TRY(KD_RESERVE(winding, b->shell_count));
    kd_status status = KD_OK;
    b->meetings_most = CHECK_WORK + CHECK_MEETINGS_EACH * (uint64_t)b->shell_count;
    for (uint32_t i = 0; status == KD_OK && i < b->shell_count && !is_beyond(b); ++i) {
        status = surroundings_look(b, b->shells[i], &winding[i]);
        if (status == KD_OK) status = check_interruption(of);
    }
    of->report->meetings = b->meetings;
    if (status == KD_OK && is_beyond(b)) {
        check_note(of, of->path, 0, "inside-out-unfinished", CHECK_NOTE,
                   "found too many bodies at one place to tell which are wound inside out");
        memory_free(winding);
        return KD_OK;
    }
    uint8_t *wrong = b->room; /* reused: 2 says so */
    for (uint32_t i = 0; status == KD_OK && i < b->shell_count; ++i) {
        const uint32_t shell = b->shells[i];
        if (!is_inwards(b, shell) || winding[i] > 0 || b->room[shell]) continue;
        wrong[shell] = 2;
        check_triangle_note(of, shell, "inside-out", CHECK_WARNING,
                            "found a body wound inside out (volume %g), expected its fronts "
                            "outside",
                            b->volume[shell] / 6);
    }
    for (uint64_t i = 0; status == KD_OK && i < of->body.triangle_count; ++i)
        if (of->shell[i] != KD_NONE && wrong[of->shell[i]] == 2) of->marks[i] |= CHECK_INWARDS;
    memory_free(winding);
    return status;
}

kd_status check_inwards(examination *of, const tritree *tree) {
    const uint64_t count = of->body.triangle_count;
    bodies b;
    bool any = false;
    kd_status status;
    memset(&b, 0, sizeof b);
    b.of = of;
    b.tree = tree;
    KD_TRY_GOTO(KD_RESERVE_ZEROED(b.volume, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(b.area, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(b.open, count));
    KD_TRY_GOTO(KD_RESERVE_ZEROED(b.room, count));
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
    memory_free(b.room);
    memory_free(b.shells);
    memory_free(b.met);
    return status;
}
