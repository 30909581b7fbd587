/* A valid closed mesh, and functions that add one defect each. */
#ifndef KD_TESTS_SCENES_DOCTOR_BODIES_H
#define KD_TESTS_SCENES_DOCTOR_BODIES_H
#include "core/math/geometry.h"
#include "tests/test.h"

enum { BODY_ROOM = 4096, BODY_FAULT = 100 /* the triangle that is modified */ };

typedef struct body {
    vec3 positions[BODY_ROOM];
    uint32_t triangles[BODY_ROOM][3];
    uint32_t position_count, triangle_count;
} body;

static inline uint32_t body_position(body *body, vec3 at) {
    assert_true(body->position_count < BODY_ROOM);
    body->positions[body->position_count] = at;
    return body->position_count++;
}

static inline void body_triangle(body *body, uint32_t a, uint32_t b, uint32_t c) {
    assert_true(body->triangle_count < BODY_ROOM);
    uint32_t *t = body->triangles[body->triangle_count++];
    t[0] = a;
    t[1] = b;
    t[2] = c;
}

/* Returns the vertex at the middle of an edge, normalised; both triangles of the edge share it. */
static inline uint32_t body_middle(body *body, uint32_t a, uint32_t b) {
    const vec3 at = vec3_normalize(vec3_add(body->positions[a], body->positions[b]));
    for (uint32_t i = 0; i < body->position_count; ++i)
        if (memcmp(&body->positions[i], &at, sizeof at) == 0) return i;
    return body_position(body, at);
}

/* An octahedron subdivided three times: 512 triangles of a unit sphere, facing outward. */
static inline void body_make(body *out) {
    static const uint32_t eight[8][3] = {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4},
                                         {2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}};
    memset(out, 0, sizeof *out);
    for (int axis = 0; axis < 3; ++axis)
        for (int sign = 1; sign >= -1; sign -= 2) {
            vec3 at = vec3_all(0);
            vec3_set_axis(&at, axis, (float)sign);
            body_position(out, at);
        }
    for (int i = 0; i < 8; ++i) body_triangle(out, eight[i][0], eight[i][1], eight[i][2]);
    for (int round = 0; round < 3; ++round) {
        const uint32_t count = out->triangle_count;
        for (uint32_t i = 0; i < count; ++i) {
            uint32_t *t = out->triangles[i];
            const uint32_t a = t[0], b = t[1], c = t[2], ab = body_middle(out, a, b);
            const uint32_t bc = body_middle(out, b, c), ca = body_middle(out, c, a);
            body_triangle(out, ab, b, bc);
            body_triangle(out, ca, bc, c);
            body_triangle(out, ab, bc, ca);
            t[1] = ab;
            t[2] = ca;
        }
    }
}

static inline void body_write(FILE *file, const body *body, double scale) {
    for (uint32_t i = 0; i < body->position_count; ++i)
        fprintf(file, "v %.9g %.9g %.9g\n", scale * (double)body->positions[i].x,
                scale * (double)body->positions[i].y, scale * (double)body->positions[i].z);
    for (uint32_t i = 0; i < body->triangle_count; ++i)
        fprintf(file, "f %u %u %u\n", body->triangles[i][0] + 1, body->triangles[i][1] + 1,
                body->triangles[i][2] + 1);
}

static inline void body_turn(body *body, uint32_t triangle) {
    uint32_t *t = body->triangles[triangle];
    const uint32_t moved = t[1];
    t[1] = t[2];
    t[2] = moved;
}

/* Adds a copy of the first 512 triangles: scaled, moved along (1, 2, 3) / 4, with reversed winding
   if requested. */
static inline void body_add_copy(body *body, float scale, float moved, bool turned) {
    const uint32_t positions = body->position_count, triangles = body->triangle_count;
    const vec3 direction = vec3_make(0.25f * moved, 0.5f * moved, 0.75f * moved);
    for (uint32_t i = 0; i < positions; ++i)
        body_position(body, vec3_along(direction, scale, body->positions[i]));
    for (uint32_t i = 0; i < triangles; ++i) {
        const uint32_t *t = body->triangles[i];
        body_triangle(body, positions + t[0], positions + t[1], positions + t[2]);
        if (turned) body_turn(body, body->triangle_count - 1);
    }
}

static inline void inject_nothing(body *body) {
    (void)body;
}
static inline void body_remove(body *body, uint32_t triangle) {
    memcpy(body->triangles[triangle], body->triangles[--body->triangle_count],
           sizeof body->triangles[0]);
}
static inline void inject_hole(body *body) {
    body_remove(body, BODY_FAULT);
}
static inline void inject_two_holes(body *body) {
    body_remove(body, 5); /* in opposite octants: they share no vertex */
    body_remove(body, 6);
}
static inline void inject_flip(body *body) {
    body_turn(body, BODY_FAULT);
}
static inline void inject_inside_out(body *body) {
    for (uint32_t i = 0; i < body->triangle_count; ++i) body_turn(body, i);
}
static inline void inject_inside_out_hole(body *body) {
    inject_inside_out(body);
    inject_hole(body);
}
static inline void inject_cavity(body *body) {
    body_add_copy(body, 0.5f, 0.1f, true);
}
static inline void inject_body_within(body *body) {
    body_add_copy(body, 0.5f, 0.1f, false);
}
static inline void inject_room(body *body) {
    inject_inside_out(body);
    body_add_copy(body, 0.5f, 0.1f, true);
}
static inline void inject_two_inwards(body *body) {
    inject_inside_out(body);
    body_add_copy(body, 0.5f, 0.1f, false);
}
static inline void inject_copy(body *body) {
    const uint32_t *t = body->triangles[BODY_FAULT];
    body_triangle(body, t[1], t[2], t[0]);
}
static inline void inject_reversed_copy(body *body) {
    const uint32_t *t = body->triangles[BODY_FAULT];
    body_triangle(body, t[1], t[0], t[2]);
}
static inline void inject_unused(body *body) {
    body_position(body, vec3_make(0.1f, 0.2f, 0.3f));
}
static inline void inject_unwelded(body *body) {
    uint32_t *t = body->triangles[BODY_FAULT];
    t[1] = body_position(body, body->positions[t[1]]);
}
static inline void inject_flat(body *body) {
    const uint32_t *t = body->triangles[BODY_FAULT];
    body_triangle(body, t[0], t[1], t[1]);
}
/* Splits the triangle in two by a vertex on an edge, without splitting its neighbour. */
static inline void inject_tjunction(body *body) {
    uint32_t *t = body->triangles[BODY_FAULT];
    const uint32_t a = t[0], b = t[1], c = t[2];
    const uint32_t m =
        body_position(body, vec3_scale(vec3_add(body->positions[a], body->positions[b]), 0.5f));
    t[1] = m;
    body_triangle(body, m, b, c);
}
/* Splits the triangle in three by a vertex inside it, close to an edge. */
static inline void inject_sliver(body *body) {
    uint32_t *t = body->triangles[BODY_FAULT];
    const uint32_t a = t[0], b = t[1], c = t[2];
    const vec3 middle = vec3_scale(vec3_add(body->positions[a], body->positions[b]), 0.4999f);
    const uint32_t m = body_position(body, vec3_along(middle, 0.0002f, body->positions[c]));
    t[2] = m;
    body_triangle(body, b, c, m);
    body_triangle(body, c, a, m);
}
/* Adds a tetrahedron facing outward. */
static inline void body_add_tetrahedron(body *body, uint32_t a, uint32_t b, uint32_t c,
                                        uint32_t d) {
    const vec3 o = body->positions[a], p = vec3_sub(body->positions[b], o);
    const vec3 q = vec3_sub(body->positions[c], o), r = vec3_sub(body->positions[d], o);
    const uint32_t first = body->triangle_count;
    body_triangle(body, a, c, b);
    body_triangle(body, a, b, d);
    body_triangle(body, a, d, c);
    body_triangle(body, b, c, d);
    for (uint32_t i = first; vec3_dot(p, vec3_cross(q, r)) < 0 && i < body->triangle_count; ++i)
        body_turn(body, i);
}
static inline void inject_edge(body *body) {
    const uint32_t *t = body->triangles[BODY_FAULT];
    const uint32_t a = t[0], b = t[1];
    const vec3 out = vec3_add(body->positions[a], body->positions[b]);
    const vec3 sideways = vec3_cross(out, vec3_sub(body->positions[b], body->positions[a]));
    const uint32_t c = body_position(body, vec3_along(out, 0.3f, sideways));
    const uint32_t d = body_position(body, vec3_along(out, -0.3f, sideways));
    body_add_tetrahedron(body, a, b, c, d);
}
static inline void inject_vertex(body *body) {
    const uint32_t a = body->triangles[BODY_FAULT][0];
    const vec3 out = vec3_scale(body->positions[a], 2);
    const uint32_t b = body_position(body, vec3_add(out, vec3_make(0.1f, 0, 0)));
    const uint32_t c = body_position(body, vec3_add(out, vec3_make(0, 0.1f, 0)));
    const uint32_t d = body_position(body, vec3_add(out, vec3_make(0, 0, 0.1f)));
    body_add_tetrahedron(body, a, b, c, d);
}

#endif
